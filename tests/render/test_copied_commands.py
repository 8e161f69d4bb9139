"""A copied command leaves the reader's files alone."""

import os
import subprocess
import sys

from genlaws.render.copied_commands import with_new_file


def test_a_file_of_the_reader_with_the_same_name_stays(tmp_path):
    folder, tools = tmp_path / "folder", tmp_path / "tools"
    folder.mkdir()
    tools.mkdir()
    (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', encoding="utf-8")
    (tools / "python").chmod(0o755)
    (folder / "texts.txt").write_text("mine", encoding="utf-8")
    program = 'import sys; open(sys.argv[1], "w").write("\\n".join(["a $b", "c `d`"]))'
    command = with_new_file("texts.txt", program, 'cat "$file"')
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "a $b\nc `d`"
    assert [(path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir()] == [("texts.txt", "mine")]
