"""``python -m genlaws`` is the ``genlaws`` command."""

from genlaws.cli import main

if __name__ == "__main__":
    main()
