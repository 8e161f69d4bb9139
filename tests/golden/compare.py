"""Compare with the golden answers: python tests/golden/compare.py [--sentences] [--quick] [part ...] [part:prefix ...].

With ``--sentences`` the sentences that changed are printed, old above new, to be read before they are recorded.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

# Trained networks differ in their last digits with the number of threads; set before numpy and torch are loaded.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.parts import PARTS, cases_of
from golden.store import Case, differences, read, split_sentences, this_platform


def chosen(arguments: Iterable[str], quick: bool = False) -> dict[str, dict[str, Case]]:
    """Return the cases of the named parts, all parts if none is named; ``part:prefix`` takes some keys of a part."""
    names = list(arguments) or list(PARTS)
    found: dict[str, dict[str, Case]] = {}
    for name in names:
        part, _, prefix = name.partition(":")
        cases = {key: case for key, case in cases_of(part).items() if key.startswith(prefix)}
        found.setdefault(part, {}).update({key: case for key, case in cases.items() if case.quick or not quick})
    return found


def answer_of(case: Case) -> object:
    """Return the answer as JSON gives it back."""
    return json.loads(json.dumps(case.answer()))


def differences_of(part: str, key: str, case: Case, answer: object) -> list[str]:
    """Return one line per difference from the recorded numbers, names and structure."""
    record = read(part)
    if key not in record.get("answers", {}):
        return ["was never recorded"]
    numbers = case.kind != "trained" or record["platform"] == this_platform()
    structure, _ = split_sentences(answer)
    return list(differences(record["answers"][key], structure, case.kind, case.places, numbers))


def changed_sentences(part: str, key: str, answer: object) -> list[str]:
    """Return the sentences that are not the recorded ones, old above new."""
    old, new = read(f"{part}.sentences").get(key, {}), split_sentences(answer)[1]
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return [line for path in paths for line in (f"{path}", f"  - {old.get(path, '')}", f"  + {new.get(path, '')}")]


def main(arguments: list[str]) -> int:
    options = {name for name in arguments if name.startswith("--")}
    parts = chosen([name for name in arguments if name not in options], quick="--quick" in options)
    count, differ = 0, 0
    for part, cases in parts.items():
        for key, case in cases.items():
            answer = answer_of(case)
            lines = differences_of(part, key, case, answer)
            count, differ = count + 1, differ + bool(lines)
            if "--sentences" in options:
                lines += changed_sentences(part, key, answer)
            if lines:
                print(f"{part} {key}", *lines, sep="\n  ", flush=True)
    print(f"{count} answers compared, {differ} differ in numbers, names or structure.")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
