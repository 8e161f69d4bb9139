"""Bad and extreme values for every option of every command: command_fuzz.py [--jobs 2] [command].

Each case is a small valid call of a command with one value replaced. A case runs in this program's own process for
commands, which is killed where it hangs, in a new folder and without a network.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.pool import ThreadPool
from pathlib import Path
from threading import Lock
from unittest.mock import patch

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
os.environ |= {"MPLBACKEND": "Agg", "HF_HUB_OFFLINE": "1", "COLUMNS": "250"}
sys.path.insert(0, str(Path(__file__).parents[1]))

from genlaws.cli.numbers import MAY_BE_EMPTY  # noqa: E402 - after the environment is set
from integer_options import commands  # noqa: E402

REPORT = "--quick --sections semanticity --out out"
# A small call of every command that is answered with 0.
BASES = {
    "rules-facts advise": "labeled.npz --rule-classes 0 1 --fact-fraction 0.3 --sample-count 30 --parameters 1",
    "rules-facts solve": "--sample-ratio 2 --fact-fraction 0.2 --loss square --regularization 0.3",
    "rules-facts bayes": "--sample-ratio 2 --fact-fraction 0.2",
    "rules-facts threshold": "--fact-fraction 0.2 --loss logistic",
    "rules-facts kernel": "--kernel-angle 0.7 --family gaussian",
    "semanticity front": "--space circle --similarity linear --ball-mass 0.1 --items 2",
    "semanticity fit-choices": "choices_long.csv --shape exponential --lapse 0",
    "semanticity measure": "embeddings.npy --positions places.npy --metric circle --items 2 --no-intervals --no-fronts",
    "semanticity probe": "model --task years --items 2 --trials 3 --no-anchors",
    "relations describe": "mod3 --elements 6",
    "relations bound": "mod3 --elements 6 --train-fraction 0.2 --repeats 1",
    "relations data-needed": "mod3 --elements 6 --repeats 2",
    "relations next-pair": "mod3 --elements 6 --train-fraction 0.2",
    "relations learn": "mod3 --elements 4 --steps 4 --width 4 --depth 1 --seeds 1",
    "relations repons": "--encoder-rate 1e-3 --decoder-rate 1e-3",
    "relations advise": "mod3 --elements 4 --quick --width 4 --depth 1 --steps 4",
    "relations phases": "mod3 --elements 4 --grid 2 --seeds 2 --steps 4 --width 4 --depth 1",
    "residual-stream analyze": "model --texts texts.txt --at-most 4 --measures paths --surrogates random-walk"
    " --draws 2",
    "residual-stream semanticity": "model --count 10 --controls permuted",
    "sweep list": "",
    "sweep run": "relations.bound --folder sweep --axis relation=mod3 --set elements=4",
    "sweep status": "stored",
    "sweep export": "stored --to csv",
    "figure": "relations.6 --bundled --out out",
    "claims list": "",
    "claims show": "relations.table-1",
    "claims run": "relations.order-in-text",
    "report": REPORT,
    "explore": "--no-browser --port 0",
}
SERVER = "--dry-run --server http://127.0.0.1:9/v1 --label one --retries 0"
GRAPH = "graph.tsv --relation knows --entities all"
# Calls for options that matter only together with others.
CALLS = BASES | {
    "rules-facts kernel --mu-1": "--mu-1 0.3 --mu-star 0.4",
    "rules-facts kernel --mu-star": "--mu-1 0.3 --mu-star 0.4",
    "rules-facts kernel --kernel": "--kernel relu",
    "rules-facts kernel --degree": "--kernel-angle 0.7 --family polynomial --degree 3",
    "rules-facts solve --mu-1": "--sample-ratio 2 --fact-fraction 0.2 --mu-1 0.6 --mu-star 0.8",
    "rules-facts solve --mu-star": "--sample-ratio 2 --fact-fraction 0.2 --mu-1 0.6 --mu-star 0.8",
    "rules-facts threshold --mu-1": "--fact-fraction 0.2 --mu-1 0.6 --mu-star 0.8",
    "rules-facts threshold --mu-star": "--fact-fraction 0.2 --mu-1 0.6 --mu-star 0.8",
    "rules-facts advise --folds": "labeled.npz --rule-classes 0 1 --fact-fraction 0.3 --loss hinge --parameters 1",
    "rules-facts advise --sample-ratio": "labeled.npz --rule-classes 0 1 --fact-fraction 0.3 --sample-ratio 5"
    " --parameters 1",
    "rules-facts advise --fact-classes": "labeled.npz --rule-classes 0 1 --fact-fraction 0.3 --fact-classes 2"
    " --sample-count 30 --parameters 1",
    "rules-facts solve --width-ratio": "--sample-ratio 2 --fact-fraction 0.2 --kernel relu --width-ratio 2",
    "rules-facts threshold --width-ratio": "--fact-fraction 0.2 --loss logistic --kernel relu --width-ratio 2",
    "semanticity front --resolution": "--space circle --similarity linear --resolution 0.2 --items 2",
    "semanticity front --dimension": "--space sphere --dimension 2 --similarity linear --resolution 0.4 --items 2",
    "semanticity front --branching": "--space tree --branching 2 --depth 3 --resolution 2.5 --items 2",
    "semanticity front --depth": "--space tree --branching 2 --depth 3 --resolution 2.5 --items 2",
    "semanticity front --exponent": "--similarity power-law --exponent 3 --ball-mass 0.1 --items 2",
    "semanticity front --distances": "--distances distances.csv --similarity gaussian --resolution 0.3 --items 2",
    "semanticity front --weights": "--distances distances.csv --weights weights.csv --resolution 0.3 --items 2",
    "semanticity front --set-size": "--set-size 5 --ball-mass 0.5 --items 2",
    "semanticity fit-choices --exponent": "choices_long.csv --shape power-law --exponent 1.5 --lapse 0",
    "semanticity fit-choices --folds": "choices.csv --shape all --folds 2 --lapse 0 --background 0",
    "semanticity fit-choices --distinguish": "choices.csv --distinguish exponential,gaussian --lapse 0",
    "semanticity fit-choices --period": "circle.csv --metric circle --period 360 --shape exponential --lapse 0",
    "semanticity fit-choices --offsets": "choices.csv --shape exponential --lapse 0 --offsets none",
    "semanticity fit-choices --position-effects": "choices_long.csv --shape exponential --lapse 0"
    " --position-effects none",
    "semanticity measure --bandwidth": "embeddings.npy --positions places.npy --metric circle --items 2"
    " --similarity gaussian --bandwidth 1 --no-intervals --no-fronts",
    "semanticity measure --threshold": "embeddings.npy --positions places.npy --metric circle --items 2"
    " --similarity threshold --threshold 0.5 --no-intervals --no-fronts",
    "semanticity measure --batch-count": "embeddings.npy --positions places.npy --metric circle --items 2 --memory 2e-5"
    " --batch-size 12 --batch-count 2 --no-fronts",
    "semanticity measure --batch-size": "embeddings.npy --positions places.npy --metric circle --items 2 --memory 2e-5"
    " --batch-size 12 --batch-count 2 --no-fronts",
    "semanticity measure --tie-tolerance": "embeddings.npy --positions groups.csv --metric tree --items 2"
    " --no-intervals --no-fronts --tie-tolerance 0.1",
    "semanticity measure --labels": "embeddings.npy --positions leaves.nwk --metric tree --labels leaves.txt --items 2"
    " --no-intervals --no-fronts",
    "semanticity measure --precision": "embeddings.npy --positions places.npy --metric circle --items 2 --memory 2e-5"
    " --batch-size 12 --batch-count 2 --no-fronts --precision 0.5",
    "semanticity measure --seed": "embeddings.npy --positions places.npy --metric circle --items 2 --memory 2e-5"
    " --batch-size 12 --batch-count 2 --no-fronts --seed 3",
    "semanticity probe --layer-trials": "model --items 2 --trials 3 --no-anchors --layers --layer-trials 5",
    "semanticity probe --phrase": "model --mode embedding --task numbers --trials 20 --phrase {place}",
    "semanticity probe --pooling": "model --mode embedding --task numbers --trials 20 --pooling last",
    "semanticity probe --center": "model --mode embedding --task numbers --trials 20 --no-center",
    "semanticity probe --save-pictures": "model --task colors --items 2 --trials 3 --no-anchors --dry-run --out out",
    "semanticity probe --half-separations": "model --items 2 --trials 3 --shifts=-50,50 --half-separations 20",
    "semanticity probe --shifts": "model --items 2 --trials 3 --shifts=-50,50 --half-separations 20",
    "semanticity probe --price": "model --items 2 --trials 3 --no-anchors --dry-run --price 1,2",
    "semanticity probe --max-tokens": "model --task numbers --items 2 --trials 2 --no-anchors --mode text"
    " --max-tokens 2",
    **{
        f"semanticity probe --{option}": f"model --task numbers --items 2 --trials 2 --no-anchors {SERVER}"
        for option in ("server", "key-variable", "label", "timeout", "retries", "concurrency")
    },
    "semanticity probe --temperature": "model --task numbers --items 2 --trials 2 --no-anchors --mode text"
    " --max-tokens 2 --temperature 0.5",
    "relations describe SOURCE": "mod3",
    "relations describe --relation": "graph.tsv --relation knows",
    "relations describe --entities": "graph.tsv --relation knows --entities all",
    "relations bound SOURCE": "mod3 --train-fraction 0.2 --repeats 1",
    "relations bound --train": "--train known.csv --class total-order",
    "relations bound --names": "--train known.csv --class equivalence-2 --names names.txt",
    "relations bound --prior": "mod3 --elements 6 --train-fraction 0.2 --repeats 1 --class equivalence-3",
    "relations bound --relation": "graph.tsv --relation knows --train-fraction 0.5 --repeats 1",
    "relations data-needed --relation": "graph.tsv --relation likes --repeats 2",
    "relations data-needed --prior": "mod3 --elements 6 --repeats 2 --class equivalence-3",
    "relations next-pair --relation": "graph.tsv --relation knows --train-fraction 0.2 --class total-order",
    "relations next-pair --prior": "mod3 --elements 6 --train-fraction 0.2 --class equivalence-3",
    "relations next-pair --train": "--train known.csv --class equivalence-3",
    "relations next-pair --names": "--train known.csv --class equivalence-3 --names names.txt",
    "relations next-pair --queries": "mod3 --elements 6 --curve --queries 2 --repeats 2",
    "relations next-pair --repeats": "mod3 --elements 6 --curve --queries 2 --repeats 2",
    "relations learn --batch-size": "mod3 --elements 4 --steps 4 --width 4 --depth 1 --batch-size 2",
    "relations learn --label-noise": "mod3 --elements 4 --steps 4 --width 4 --depth 1 --label-noise 0.1",
    "relations learn --relation": f"{GRAPH} --steps 4 --width 4 --depth 1",
    "relations learn --entities": f"{GRAPH} --steps 4 --width 4 --depth 1",
    "relations advise --relation": "graph.tsv --relation large --quick --width 4 --depth 1 --steps 4",
    "relations advise --entities": "graph.tsv --relation large --entities all --quick --width 4 --depth 1 --steps 4",
    "relations phases --relation": f"{GRAPH} --grid 2 --seeds 2 --steps 4 --width 4 --depth 1",
    "relations phases --entities": f"{GRAPH} --grid 2 --seeds 2 --steps 4 --width 4 --depth 1",
    "relations repons --class-size": "--encoder-rate 1e-2 --decoder-rate 1e-3 --class-size 4 --outputs 2",
    "relations repons --outputs": "--encoder-rate 1e-2 --decoder-rate 1e-3 --class-size 4 --outputs 2",
    "relations repons --simulate": "--encoder-rate 1e-2 --decoder-rate 1e-3 --simulate 10",
    "relations repons --seed": "--encoder-rate 1e-2 --decoder-rate 1e-3 --simulate 10",
    "residual-stream analyze --estimators": "model --texts texts.txt --measures information --estimators binned"
    " --surrogates none",
    "residual-stream semanticity --count": "model --task letters --count 10 --controls permuted",
    "residual-stream semanticity --bandwidth": "model --count 10 --controls permuted --similarity gaussian"
    " --bandwidth 1",
    "residual-stream semanticity --threshold": "model --count 10 --controls permuted --similarity threshold"
    " --threshold 0.5",
    "sweep run --resume": "--folder stored --resume",
    "figure --set": "rules-facts.3 --set angle_points=2 --out out",
    "report --data": f"{REPORT} --data embeddings.npy",
    "report --positions": f"{REPORT} --data embeddings.npy --positions places.npy",
    "report --texts": "--quick --sections residual-stream --model model --texts texts.txt --out out",
    "report --model": "--quick --sections residual-stream --model model --texts texts.txt --out out",
    "report --sections": REPORT,
}
ONE_AT_A_TIME = Lock()
STORED = "sweep run relations.bound --folder stored --axis relation=mod3 --set elements=4"
HUGE, LONG_TEXT = str(10**30), "x" * 10_000
EMPTY = {"empty": "", "blank": "   "}
WORDS = {
    "word": "word",
    "emoji": "🙂",
    "right-to-left": "שלום",
    "surrogate": "\udcff",
    "long": LONG_TEXT,
    "dash": "-x",
}
NUMBERS = {
    **{one: one for one in ("nan", "inf", "-inf", "-1", "0", "2.5", "1e400", "1e-400")},
    "huge": HUGE,
    "billion": "1000000000",
    **{one: one for one in ("1,,2", "1:2", "1:2:0", "0:1:3:log", "2:1:5")},
}
PATHS = {
    "no file": "gone.csv",
    "no folder": "gone/gone.npy",
    "folder": "folder",
    "empty csv": "empty.csv",
    "empty npy": "empty.npy",
    "binary csv": "binary.csv",
    "binary npy": "binary.npy",
    "file in the way": "occupied/out",
    "unreadable": "unreadable.csv",
    "read-only": "readonly/out",
}
ROOT = os.geteuid() == 0  # to whom nothing is unreadable
LIMIT_SECONDS, MEMORY_BYTES, LONGEST_MESSAGE = 20.0, 12 * 2**30, 500
NOISE = re.compile(
    r"Traceback|<class |<function |object at 0x|PosixPath\(|NoneType|np\.\w+\(|array\(|typing\.|Errno|Error\("
)
BAR = re.compile(r"-:--:--|\d:\d\d:\d\d$", re.MULTILINE)
EXIT_CODES = {0, 1, 2, 130}


@dataclass(frozen=True)
class Case:
    """One call: the command, the option, what kind of value it was given, that value, and all words."""

    command: str
    option: str
    kind: str
    value: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        shown = " ".join(word if word and not word.isspace() else repr(word) for word in self.words)
        return f"{self.option} {self.kind}: " + shown.replace(LONG_TEXT, "xxx…").encode("utf-8", "replace").decode()


@dataclass(frozen=True)
class Outcome:
    """Exit code, what was printed, seconds, and files opened for writing outside of the folder."""

    code: int
    out: str
    err: str
    seconds: float
    escaped: str = ""


def base_words(name: str) -> tuple[str, ...]:
    """Return the words of a valid call."""
    command = max((one for one in BASES if name.startswith(one)), key=len)
    return (*command.split(), *CALLS.get(name, BASES[command]).split())


def all_cases(prefix: str = "") -> list[Case]:
    """Return the cases of all commands that begin with `prefix`."""
    return [case for path, app in commands() if " ".join(path).startswith(prefix) for case in _cases_of(path, app)]


def _cases_of(path: tuple[str, ...], app) -> Iterator[Case]:
    command = " ".join(path)
    for number, argument in enumerate(app.assemble_argument_collection()):
        if argument.name == "*":
            continue
        base = base_words(f"{command} {argument.name}")
        given = values_for(argument.hint)
        if not argument.name.startswith("-"):
            place = len(path)  # every base begins with its positional
            for kind, value in given.items():
                changed = (*base[:place], value, *base[place + 1 :])
                if value.startswith("-"):  # after two dashes every word is a positional
                    changed = (*base[:place], *base[place + 1 :], "--", value)
                yield Case(command, argument.name, kind, value, _with_json(changed, kind, number))
            continue
        rest = _without(base, argument.name)
        for kind, value in given.items():
            added = (f"{argument.name}={value}",) if kind == "dash" or argument.hint is bool else (argument.name, value)
            yield Case(command, argument.name, kind, value, _with_json((*rest, *added), kind, number))
        if argument.hint is not bool:
            yield Case(command, argument.name, "no value", "", (*rest, argument.name))
        if near := _near_miss(base, argument):
            added = (argument.name, near)
            yield Case(command, argument.name, "near miss", near, _with_json((*rest, *added), "near", number))
        twice = (argument.name,) if argument.hint is bool else (argument.name, "1")
        yield Case(command, argument.name, "twice", "1", (*rest, *twice, *twice))
        wrong = f"{argument.name}x"
        yield Case(command, wrong, "unknown option", wrong, (*base, wrong, "1"))


def _with_json(words: tuple[str, ...], kind: str, number: int) -> tuple[str, ...]:
    """Return the words, every other time with ``--json``."""
    if "--json" in words or (len(kind) + number) % 2:
        return words
    place = words.index("--") if "--" in words else len(words)
    return (*words[:place], "--json", *words[place:])


def _without(base: Sequence[str], option: str) -> tuple[str, ...]:
    """Return the words without an option and its values."""
    if option not in base:
        return tuple(base)
    start = list(base).index(option)
    end = next((place for place in range(start + 1, len(base)) if base[place].startswith("--")), len(base))
    return (*base[:start], *base[end:])


def _near_miss(base: Sequence[str], argument) -> str:
    """Return the default or base value of an option with a letter missing."""
    if argument.hint is bool:
        return ""
    default = argument.field_info.default
    value = base[list(base).index(argument.name) + 1] if argument.name in base else default
    return value[:-1] if isinstance(value, str) and value.replace("-", "").isalpha() and len(value) > 3 else ""


def values_for(hint: object) -> dict[str, str]:
    """Return kinds of values, and a value of each, for an option of a type."""
    text = str(hint)
    if hint is bool:
        return EMPTY | {"word": "word", "nan": "nan", "2": "2"}
    if "Path" in text:
        return EMPTY | {kind: value for kind, value in (WORDS | PATHS).items() if not (ROOT and "read" in kind)}
    if "str" in text:
        return (
            EMPTY | WORDS | NUMBERS | {kind: PATHS[kind] for kind in ("no file", "folder", "empty csv", "binary csv")}
        )
    return EMPTY | WORDS | NUMBERS


def failures(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with an outcome."""
    if outcome.code not in EXIT_CODES:
        yield f"exit code {outcome.code}"
    if "Traceback" in outcome.err:
        yield "a traceback"
    if "Warning: " in outcome.err:
        yield "a warning of Python"
    if outcome.escaped:
        yield f"written outside of the folder: {outcome.escaped}"
    if case.kind in {"empty", "blank"} and outcome.code == 0 and case.option not in MAY_BE_EMPTY:
        yield "an empty value was accepted"
    if "--json" in case.words and outcome.out.strip():
        try:
            document = json.loads(outcome.out, parse_constant=_refuse_constant)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            yield "standard output is not one JSON object"
    if outcome.code in {1, 2}:
        yield from _unclear(case, outcome)


def _refuse_constant(text: str) -> None:
    raise ValueError(text)


def _unclear(case: Case, outcome: Outcome) -> Iterator[str]:
    if (start := outcome.err.rfind("\ngenlaws: ")) < 0 and not outcome.err.startswith("genlaws: "):
        yield "no message that begins with genlaws: "
        return
    message = outcome.err[start + 1 :].strip()
    if outcome.code == 2 and BAR.search(outcome.err):
        yield "a bar above the message"
    if len(message) > LONGEST_MESSAGE:
        yield f"a message of {len(message)} characters"
    if noise := NOISE.search(message):
        yield f"{noise.group()} in the message"
    # An option of the call, a word of its name, or the value; a name may be singular, and what is not text is escaped.
    options = [case.option, *(word for word in case.words if word.startswith("--") and word != "--json")]
    words = {word.removesuffix("s") for option in options for word in option.lower().split("-") if len(word) > 1}
    named = words | {ascii(case.value.strip()[:20])[1:-1].lower(), case.value.strip()[:20].lower()}
    if outcome.code == 2 and not any(part and part in message.lower() for part in named):
        yield "neither the option nor the value is in the message"


class _Opened:
    """Records files that are opened for writing outside of the temporary folder."""

    def __init__(self, inside: Path) -> None:
        self.inside, self.found = f"{inside}{os.sep}", ""
        sys.addaudithook(self.look)

    def look(self, event: str, arguments: tuple) -> None:
        if event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            path = os.path.abspath(arguments[0])
            if (
                not path.startswith((self.inside, "/dev/", "/proc/"))
                and not path.endswith(".pyc")
                and "__pycache__" not in path
            ):
                self.found = path


def serve_cases(connection: Connection, folder: Path) -> None:
    """Run the words that come in, one call after the other, until the connection closes."""
    os.setsid()  # so that a hanging call can be killed with the processes it started
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    tempfile.tempdir = str(folder / "temporary")
    os.environ["TMPDIR"] = tempfile.tempdir
    Path(tempfile.tempdir).mkdir(exist_ok=True)
    import uvicorn

    import genlaws.report.document  # noqa: F401 - so that no first import counts as a call
    from genlaws.cli import run

    opened = _Opened(folder)
    here = folder / f"call{os.getpid()}"
    with (
        patch.object(uvicorn.Server, "run", lambda self, sockets=None: None),  # the page is made and not served
        patch.object(socket.socket, "connect", _refuse_connection),
    ):
        while (words := connection.recv()) is not None:
            shutil.copytree(folder / "inputs", here)
            connection.send(_call(run, words, here, opened))
            shutil.rmtree(here)


def _refuse_connection(self: socket.socket, address: object) -> None:
    raise ConnectionRefusedError(111, "Connection refused")


def _call(run, words: Sequence[str], here: Path, opened: _Opened) -> Outcome:
    """Run one call in a new folder."""
    # Strict as a terminal is: what is not text raises an error on standard output.
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    begun, opened.found = time.monotonic(), ""
    with chdir(here), redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            code = run(words)
        except BaseException:
            import traceback

            code = -1
            traceback.print_exc(file=err)
    return Outcome(code, _text(out), _text(err), time.monotonic() - begun, opened.found)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def make_inputs(folder: Path) -> None:
    """Write the files that the calls read."""
    from genlaws.cli import run
    from golden.inputs import MODEL, STIMULI, working_folder, write_model

    inputs = folder / "inputs"
    with working_folder(with_model=False) as made:
        shutil.copytree(made, inputs)
    write_model(inputs / MODEL)
    (inputs / "folder").mkdir()
    for name in ("empty.csv", "empty.npy", "occupied"):
        (inputs / name).touch()
    for name in ("binary.csv", "binary.npy"):
        (inputs / name).write_bytes(bytes(range(256)) * 4)
    leaves = [f"s{number}" for number in range(STIMULI)]
    (inputs / "leaves.txt").write_text("\n".join(leaves) + "\n", encoding="utf-8")
    (inputs / "leaves.nwk").write_text("(" + ",".join(f"{leaf}:1" for leaf in leaves) + ");", encoding="utf-8")
    circle = ["trial,probe,item,chosen"]
    circle += [
        f"{trial},{37 * trial % 360},{90 * item},{int(item == trial % 4)}" for trial in range(60) for item in range(4)
    ]
    (inputs / "circle.csv").write_text("\n".join(circle) + "\n", encoding="utf-8")
    with (inputs / "graph.tsv").open("a", encoding="utf-8") as file:
        file.writelines(f"a{one}\tlarge\ta{other}\n" for one in range(5) for other in range(one))
    if not ROOT:
        (inputs / "unreadable.csv").write_text("1,2\n", encoding="utf-8")
        (inputs / "unreadable.csv").chmod(0)
        (inputs / "readonly").mkdir(mode=0o500)
    with chdir(inputs), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        run(STORED.split())


class Caller:
    """A process that runs calls; it is killed and replaced where one hangs or kills it."""

    def __init__(self, folder: Path, limit: float) -> None:
        self.folder, self.limit = folder, limit
        self.start()

    def start(self) -> None:
        """Start the process."""
        context = get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve_cases, args=(other, self.folder))
        self.process.start()
        other.close()

    def stop(self) -> None:
        """Kill the process and what it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:  # ended, or not yet the leader of a group
            self.process.kill()
        self.process.join()
        self.connection.close()

    def outcome(self, words: Sequence[str]) -> Outcome:
        """Return what a call does."""
        self.connection.send(tuple(words))
        try:
            if self.connection.poll(self.limit):
                return self.connection.recv()
            found = Outcome(-2, "", "no answer in time", self.limit)
        except (EOFError, OSError):
            found = Outcome(-3, "", "the process died", 0.0)
        self.stop()
        self.start()
        return found


def run_cases(cases: Sequence[Case], limit: float = LIMIT_SECONDS) -> Iterator[tuple[Case, Outcome]]:
    """Yield each case with its outcome."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with ONE_AT_A_TIME:  # it imports transformers and changes the folder of the process
            make_inputs(folder)
            caller = Caller(folder, limit)
        try:
            for case in cases:
                yield case, caller.outcome(case.words)
        finally:
            caller.stop()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("command", nargs="*")
    given = parser.parse_args(arguments)
    cases, begun = all_cases(" ".join(given.command)), time.monotonic()
    parts = [cases[start :: given.jobs] for start in range(given.jobs)]
    codes: Counter[int] = Counter()
    failed = 0
    with ThreadPool(given.jobs) as pool:
        for found in pool.imap_unordered(lambda part: list(run_cases(part)), parts):
            for case, outcome in found:
                codes[outcome.code] += 1
                for problem in failures(case, outcome):
                    failed += 1
                    print(
                        f"{case.command} {case}\n    {problem}; {outcome.seconds:.1f} s: {outcome.err.strip()[-300:]}"
                    )
    counted = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))
    print(f"{len(cases)} cases in {time.monotonic() - begun:.0f} s: {counted}; {failed} failures.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
