"""Shell commands that a page shows to be copied."""

from __future__ import annotations

import shlex


def with_new_file(name: str, program: str, command: str) -> str:
    """Return a command that reads ``"$file"``, after Python has written that file into a new folder.

    No file of the reader is overwritten, wherever the command is run.

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
