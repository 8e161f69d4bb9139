"""Lines of Python and shell commands that a page shows for copying."""

from __future__ import annotations

import json
import shlex

READ_TABLE = "from genlaws.core.tables import read_table"  # before lines with `table_code`


def table_code(name: str, file: str, options: str = "") -> str:
    """Return Python for the values of the table `name` in a file, with further arguments such as ``, words=True``."""
    return f"read_table({json.dumps(name)}, {json.dumps(file)}{options}).values"


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
