"""What a question answers with: numbers under names, the call that gave them, a summary, a table and files.

A *question* is a public function that a user comes with, such as :func:`genlaws.rules_facts.solve`. It returns one
`Result`, a frozen dataclass, whose call is recorded: the function and its arguments, with a fingerprint in place of a
large array.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial, wraps
from html import escape
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from genlaws.core.estimate import Estimate, interval_columns
from genlaws.core.files import write_contents
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.imports import installed_versions, load_named
from genlaws.core.parameters import checks_of
from genlaws.core.plain import UNWRITTEN, from_plain, parts_of, to_plain, types_of

SCHEMA = 1  # of the dictionaries; grows when a name or a form changes
PICTURE_KINDS, PICTURE_DPI = ("png", "pdf"), 300
DRAWN_IN = "genlaws.render.style:pictures_in_style"
PAGE_SUFFIXES = (".html", ".htm")
LINE_WIDTH, MAX_ROWS_SHOWN = 120, 60  # of printed sentences and of a printed table
MAX_VALUE_WIDTH = 40  # of values whose meanings are aligned; after a longer one its meaning follows at once
WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
MAX_RECORDED_NUMBERS = 10_000  # of an array that is recorded whole; a larger one is recorded by its fingerprint
HASHED_AT_ONCE = 2**20  # numbers
RUNNING = ("running", "checkpoint", "store", "engine")  # parameters on how it runs, which do not change the answer
Given = ParamSpec("Given")
Found = TypeVar("Found", bound="Result")


@dataclass(frozen=True)
class Call:
    """A question and its arguments.

    Attributes
    ----------
    function : str
        Name of the question below ``genlaws``.
    arguments : dict
        As given, in a form that JSON can hold; for a large array its shape, type and fingerprint.
    """

    function: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One number of a summary as text."""

    label: str
    value: str
    meaning: str = ""


@dataclass(frozen=True)
class Summary:
    """A short answer: a headline, a table or rows of numbers, what they mean, and what to be careful about."""

    rows: Sequence[Row] = ()
    sentences: Sequence[str] = ()
    warnings: Sequence[str] = ()
    table: str = ""
    headline: Sequence[str] = ()

    def __str__(self) -> str:
        width = max((len(row.label) for row in self.rows), default=0)
        widths = [len(row.value) for row in self.rows if row.meaning]
        value_width = max((one for one in widths if one <= MAX_VALUE_WIDTH), default=0)
        rows = [f"{row.label:<{width}}  {row.value:<{value_width}}  {row.meaning}".rstrip() for row in self.rows]
        table = [self.table] if self.table else []
        first = [*self.headline, *[""] * bool(self.headline), *table, *[""] * bool(table and rows)]
        sentences = [line for sentence in (*self.sentences, *self.warnings) for line in sentence.split("\n")]
        return "\n".join([*first, *rows, *(fill(line, LINE_WIDTH, **WHOLE_WORDS) for line in sentences)])


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The answer to a question.

    Attributes
    ----------
    call : Call or None
        The question and its arguments; None if the result was made in another way.
    """

    derived: ClassVar[tuple[str, ...]] = ()
    """Properties that are written with the attributes."""

    drawn_by: ClassVar[str] = ""
    """Where its pictures are made, as ``module:function``; loaded when it is drawn or saved."""

    page_by: ClassVar[str] = "genlaws.render.pages:result_page"
    """Where its page is made, likewise."""

    default_out: ClassVar[str] = ""
    """Where its command saves it if ``--out`` is left out; nowhere if empty."""

    call: Call | None = field(default=None, kw_only=True, metadata=UNWRITTEN)  # written on its own

    def summary(self) -> Summary:
        """Return the answer in a few lines: single numbers as they are, and the size and range of arrays."""
        parts = {**parts_of(self), **{name: getattr(self, name) for name in self.derived}}
        shown = {name.replace("_", " "): _shown(part) for name, part in parts.items()}
        return Summary([Row(label, text) for label, text in shown.items() if text])

    @property
    def unanswered(self) -> str:
        """Why there is no answer, in one sentence; empty if there is one. A command then exits with 1."""
        return ""

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: the schema, the question with its inputs, and every attribute under its name."""
        call = self.call or Call("", {})
        header = {"schema": SCHEMA, "question": call.function, "inputs": to_plain(call.arguments)}
        written: dict[str, Any] = header | to_plain(self)
        return written

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the result that `to_dict` wrote."""
        kinds = types_of(cls)
        names = [one.name for one in fields(cls) if one.name in plain]
        parts = {name: from_plain(kinds[name], plain[name]) for name in names}
        return cls(**parts, call=Call(plain["question"], plain["inputs"]) if plain["question"] else None)

    def columns(self) -> dict[str, Any]:
        """Return inputs and attributes as columns of one length, in C order."""
        given = {} if self.call is None else self.call.arguments
        parts = {name: value for name, value in {**given, **parts_of(self)}.items() if value is not None}
        flat = {name: value for part in parts.items() for name, value in _flat(*part).items()}
        arrays = {name: np.asarray(value) for name, value in flat.items()}
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        return {name: np.broadcast_to(array, shape).ravel() for name, array in arrays.items()}

    def to_frame(self) -> DataFrame:
        """Return one row for each element, with the inputs as the first columns."""
        return frame_of(self.columns())

    def table(self, *hidden: str) -> str:
        """Return the table as text, without some of its columns and without the middle of a long one."""
        shown = {name: column for name, column in self.columns().items() if name not in hidden}
        frame = frame_of(shown)
        text = frame.to_string(index=False, float_format="{:.6g}".format, max_rows=MAX_ROWS_SHOWN)
        return text if len(frame) <= MAX_ROWS_SHOWN else f"{text}\n{len(frame):,} rows; to_frame() gives all of them."

    def tables(self) -> dict[str, DataFrame]:
        """Return every table of the result by the name of its file."""
        return {"result": self.to_frame()}

    def pictures(self) -> dict[str, Any]:
        """Return its matplotlib pictures by name; none where numbers say it all."""
        if not self.drawn_by:
            return {}
        drawn: dict[str, Any] = load_named(DRAWN_IN)(load_named(self.drawn_by), self)
        return drawn

    def titles(self) -> Mapping[str, tuple[str, str]]:
        """Return title and caption of its pictures, which their files hold."""
        return {}

    def plot(self) -> Any:
        """Return the first picture, or None."""
        return next(iter(self.pictures().values()), None)

    def page(self) -> str:
        """Return one HTML page with the answer, its tables and its pictures, which needs no network."""
        text: str = load_named(self.page_by)(self)
        return text

    def files(self) -> dict[str, str | bytes]:
        """Return the content of every file that `save` writes, by its name."""
        texts: dict[str, str | bytes] = {"result.json": json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"}
        texts |= {f"{name}.csv": table.to_csv(index=False) for name, table in self.tables().items()}
        titles = self.titles()
        for name, picture in self.pictures().items():
            texts |= {f"{name}.{kind}": picture_bytes(picture, kind, *titles.get(name, ())) for kind in PICTURE_KINDS}
        return texts | {"report.html": self.page()}

    def save(self, out: Path | str) -> list[Path]:
        """Write numbers, tables, pictures and a page into a folder, all or none, and return their paths.

        If `out` ends in ``.html``, only the page is written.
        """
        path = Path(out)
        if is_page(path):
            return write_contents(path.parent, {path.name: self.page()})
        return write_contents(path, self.files())


def is_page(path: Path) -> bool:
    """Return whether results are saved there as one page; otherwise the path is a folder."""
    return path.suffix.lower() in PAGE_SUFFIXES


def _shown(part: Any) -> str:
    """Return a part of a result in a few words: a number as it is, and of an array its size and range."""
    if isinstance(part, bool | int | str) or (is_dataclass(part) and "__str__" in vars(type(part))):
        return str(part)
    if isinstance(part, float):
        return f"{part:.6g}"
    if isinstance(part, np.ndarray) and part.size and part.dtype.kind in "iuf":
        return f"{' × '.join(map(str, part.shape))} numbers from {np.nanmin(part):.6g} to {np.nanmax(part):.6g}"
    if isinstance(part, Mapping | tuple | list | np.ndarray):
        return f"{len(part)} of them" if len(part) else "none"
    return type(part).__name__ if part is not None else ""


def picture_bytes(picture: Any, kind: str, title: str = "", caption: str = "") -> bytes:
    """Return a matplotlib picture as a pdf, png or svg; without a date the same picture gives the same bytes."""
    content, maker = BytesIO(), " ".join(["genlaws", *installed_versions(["genlaws"]).values()])
    metadata: dict[str, dict[str, Any]] = {
        "pdf": {"Title": title, "Subject": caption, "Creator": maker, "CreationDate": None},
        "png": {"Title": title, "Description": caption, "Software": maker},
        "svg": {"Title": title, "Description": caption, "Creator": maker, "Date": None},
    }
    with load_named("genlaws.render.style:house_style")():
        picture.savefig(content, format=kind, dpi=PICTURE_DPI, metadata=metadata[kind])
    return content.getvalue()


def _flat(name: str, value: Any) -> dict[str, Any]:
    """Return an argument or attribute as columns: an interval as three, a recorded object as its parts but the name."""
    if isinstance(value, Estimate):
        return interval_columns(name, value)
    if not isinstance(value, Mapping):
        return {name: value}
    return {part: one for part, one in value.items() if part != "name"}


def question(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Return a function that checks its arguments and whose result records the call, and register it as a question."""
    name = f"{function.__module__.split('.')[1]}.{function.__name__}"
    signature = inspect.signature(function)
    checks = cache(partial(checks_of, function))  # read when it is used first: annotations are loaded then

    @wraps(function)
    def answer(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        bound = signature.bind(*args, **kwargs)
        given = dict(bound.arguments)
        for key, value in given.items():
            bound.arguments[key] = checks()[key](key, value)
        if _ANSWERING.get():  # a part of another question, which records its own call
            return function(*bound.args, **bound.kwargs)
        token = _ANSWERING.set(True)
        try:
            found = function(*bound.args, **bound.kwargs)
        finally:
            _ANSWERING.reset(token)
        bound.arguments.update(given)
        bound.apply_defaults()
        inputs = {key: recorded(value) for key, value in bound.arguments.items() if key not in RUNNING}
        object.__setattr__(found, "call", Call(name, inputs))
        return found

    QUESTIONS[name] = answer
    return answer


def called_separately(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a function gives if the questions it asks are no parts of another: each records its own call."""
    token = _ANSWERING.set(False)
    try:
        return function(*args, **kwargs)
    finally:
        _ANSWERING.reset(token)


_ANSWERING: ContextVar[bool] = ContextVar("answering", default=False)
QUESTIONS: dict[str, Callable[..., Result]] = {}
"""Every question by its name below ``genlaws``, as far as its system is imported."""


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Return the SHA-256 of the numbers of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        rows = 1 + HASHED_AT_ONCE * len(array) // max(array.size, 1)
        for start in range(0, len(array), rows):  # an array on disk is not loaded whole
            digest.update(array[start : start + rows].tobytes())
    return digest.hexdigest()


def recorded(value: Any) -> Any:
    """Return an argument as a call records it."""
    if isinstance(value, np.ndarray) and value.size > MAX_RECORDED_NUMBERS:
        return {"shape": list(value.shape), "dtype": str(value.dtype), "sha256": fingerprint(value)}
    form = _own_form(value)
    if isinstance(form, Mapping):
        return {str(key): recorded(part) for key, part in form.items()}
    if isinstance(form, list | tuple) and any(isinstance(one, np.ndarray) or is_dataclass(one) for one in form):
        return [recorded(one) for one in form]
    try:
        return to_plain(form)
    except TypeError:  # what has no plain form, such as a function, a model or a list of tensors
        return getattr(value, "__name__", type(value).__name__)


def _own_form(value: Any) -> Any:
    """Return an object as the parts it gives for a call, else as its own text, else as its fields."""
    if hasattr(value, "call_parts"):
        return value.call_parts()
    if is_dataclass(value) and not isinstance(value, type):
        return str(value) if "__str__" in vars(type(value)) else parts_of(value)
    return value
