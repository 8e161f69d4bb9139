"""The options of ``genlaws semanticity probe``, in groups: what is asked, of a model here, of a server."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from genlaws.commands.output import Output
from genlaws.numerics.errors import InputError

QUESTIONS, HERE, SERVER = Group("What is asked"), Group("A model on this machine"), Group("A model behind a server")


@Parameter(name="*", group=QUESTIONS)
@dataclass(frozen=True)
class Questions:
    """What is asked."""

    task: Annotated[
        str,
        Parameter(
            help="In words: years, numbers, dates, temperatures, latitudes, letters, or table:FILE (item, value). In "
            "pictures: shapes, colours, squares."
        ),
    ] = "years"

    items: str | None = None
    """Numbers of items, such as 2,4,8,16; those the task allows if left out."""

    trials: int = 200
    """Trials of each kind and number of items, and for each half separation of the two-anchor test."""

    template: Annotated[
        str | None,
        Parameter(
            help="Words to use: list, sentences, chat, deutsch (years), options (pictures), or a JSON file; several "
            "with commas are compared on the same trials."
        ),
    ] = None

    mode: Annotated[
        str | None,
        Parameter(
            help="probability compares the log-probabilities of all answers, text reads the words, embedding measures "
            "the representation of single stimuli layer by layer; text for a server, otherwise probability."
        ),
    ] = None

    anchors: Annotated[bool, Parameter(help="Ask the two-anchor resolution test as well.")] = True

    half_separations: str | None = None
    """Of the two-anchor test, such as 5,20,50, in units of the task."""

    shifts: str | None = None
    """Of the two-anchor test, such as -100:100:9, in units of the task; 0 is left out."""

    temperature: float = 0.0
    """Of answers in words; 0 is greedy."""

    max_tokens: int = 16
    """Most tokens of an answer in words."""


@Parameter(name="*", group=HERE)
@dataclass(frozen=True)
class Here:
    """A model on this machine."""

    device: str = "cpu"
    """cpu, cuda, cuda:1 or mps."""

    dtype: str = "float32"
    """float32, bfloat16 or float16."""

    batch_size: int = 16
    """Prompts read together, at most."""

    download: Annotated[bool, Parameter(negative="", help="Let a Hugging Face id be downloaded.")] = False

    layers: Annotated[
        bool, Parameter(negative="", help="Also p_S and p_I in each layer, from the states at the places asked for.")
    ] = False

    layer_trials: int = 200
    """Trials of each kind for --layers."""

    pooling: str = "mean"
    """For --mode embedding: mean, last, first or max over the tokens."""

    phrase: str | None = None
    """For --mode embedding: how a place is written, such as 'the year {place}'."""

    centre: Annotated[
        bool, Parameter(help="For --mode embedding: take the mean over the stimuli off each layer first.")
    ] = True


@Parameter(name="*", group=SERVER)
@dataclass(frozen=True)
class Remote:
    """A model behind a server."""

    server: str | None = None
    """Address of an OpenAI-compatible server, such as http://localhost:8000/v1; MODEL is its name there."""

    key_variable: str | None = "OPENAI_API_KEY"
    """Environment variable that holds the key; the key itself is never kept."""

    concurrency: int = 4
    """Requests under way at once."""

    timeout: float = 60.0
    """Seconds a server may be silent."""

    retries: int = 4
    """How often each request is tried again, after a wait that doubles or that the server asks for."""

    label: str = ""
    """What the server is called in kept answers; its address if left out."""

    price: str | None = None
    """READ,WRITTEN: money for a million tokens, for the estimate."""


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@dataclass(frozen=True)
class Call:
    """All options of one call."""

    questions: Questions
    here: Here
    remote: Remote
    output: Output

    @property
    def mode(self) -> str:
        """How answers are read."""
        return self.questions.mode or ("probability" if self.remote.server is None else "text")

    @property
    def price(self) -> tuple[float, float] | None:
        """Money for a million tokens, read and written."""
        if self.remote.price is None:
            return None
        both = [float(one) for one in self.remote.price.split(",") if _is_number(one)]
        if len(both) != 2 or min(both) < 0:
            raise InputError(
                f"price must be two numbers, READ,WRITTEN for a million tokens; got {self.remote.price!r}."
            )
        return both[0], both[1]


DEFAULT_QUESTIONS, DEFAULT_HERE, DEFAULT_REMOTE = Questions(), Here(), Remote()
