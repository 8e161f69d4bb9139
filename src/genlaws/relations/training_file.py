"""Read the entries a learner has seen from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from genlaws.numerics.errors import InputError
from genlaws.relations.text_rows import read_rows
from genlaws.relations.training_set import TrainingSet

HEADER = ("first", "second", "value")
ANSWERS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}


def read_training_set(path: str | os.PathLike[str], *, elements: Sequence[str] = ()) -> TrainingSet:
    """Return the training set of a file with the columns first, second, value, separated by tabs or commas.

    A value is 1 if the relation holds from the first element to the second and 0 if it does not; yes, no, true and
    false are understood. The header ``first,second,value`` may be left out.

    Parameters
    ----------
    path : path
    elements : sequence of str
        Every element the learner knows of, also those in no line; those in the file alone follow.
    """
    file = Path(path)
    lines = read_rows(file)
    start = int(bool(lines) and tuple(word.strip().lower() for word in lines[0]) == HEADER)
    rows = []
    for number, row in enumerate(lines[start:], start=start + 1):
        if not any(row):
            continue
        cells = [cell.strip() for cell in row]
        if len(cells) != 3 or not all(cells):
            raise InputError(f"{file.name}, line {number} must hold first, second and value; got {row}.")
        if cells[2].lower() not in ANSWERS:
            raise InputError(f"{file.name}, line {number}: the value must be 0 or 1; got {cells[2]!r}.")
        rows.append((cells[0], cells[1], ANSWERS[cells[2].lower()]))
    return TrainingSet.from_names(rows, elements=elements)
