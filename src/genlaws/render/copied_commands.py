"""Shell commands that a page shows for copying."""

from __future__ import annotations

import shlex


def with_new_file(name: str, program: str, command: str) -> str:
    """Return a command that writes ``"$file"`` into a new folder with Python and then reads it.

    It overwrites no existing file.

    Parameters
    ----------
    name : str
        Of the file, such as ``texts.txt``.
    program : str
        Lines of Python that write to the path ``sys.argv[1]``.
    command : str
        With ``"$file"`` where the file belongs.
    """
    return f'file=$(mktemp -d)/{name} && python -c {shlex.quote(program)} "$file" && {command}'
