"""Write the golden answers: python tests/golden/record.py [--sentences] [part ...] [part:key-prefix ...].

With ``--sentences`` only the sentences are written anew, and nothing at all if a number, name or exit code differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.compare import answer_of, chosen, differences_of
from golden.store import read, rounded, split_sentences, this_platform, write


def main(arguments: list[str]) -> int:
    only_sentences = "--sentences" in arguments
    for part, cases in chosen([name for name in arguments if name != "--sentences"]).items():
        frozen, sentences = read(part) or {"platform": {}, "answers": {}}, read(f"{part}.sentences")
        for key, case in cases.items():
            print(f"{part} {key}", file=sys.stderr, flush=True)
            answer = answer_of(case)
            if only_sentences and (lines := differences_of(part, key, case, answer)):
                print(f"{part} {key} differs in more than sentences; nothing is written.", *lines, sep="\n  ")
                return 1
            structure, sentences[key] = split_sentences(answer)
            frozen["answers"][key] = rounded(structure)
        frozen["platform"] = this_platform()
        if not only_sentences:
            print(write(part, frozen))
        print(write(f"{part}.sentences", {key: lines for key, lines in sentences.items() if lines}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
