"""The parameters of the questions put to models, each described once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import non_negative, positive, real, whole_number
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter
from genlaws.core.tables import is_finite
from genlaws.models.interface import MODES
from genlaws.probes.domains import DOMAINS, Domain
from genlaws.probes.store import ReplyStore
from genlaws.probes.templates import Template, VisionTemplate
from genlaws.probes.trials import MAX_TRIALS
from genlaws.semanticity.measurement.stimuli import Compare
from genlaws.semanticity.theory.finite_sets import TIES
from genlaws.semanticity.theory.similarity import SHAPES

# Tasks with pictures; ``numbers`` as a task is the domain in text, so numbered squares have another name.
PICTURE_TASKS = {"shapes": "shapes", "colors": "colors", "squares": "numbers"}
STATE_SIMILARITIES = ("cosine", "euclidean")
EMBEDDING = "embedding"  # a mode of the command: no prompts are sent
ROW_POOLINGS = ("mean", "last", "first", "max")
TOKEN_POOLINGS = ("last", "mean")
PERMUTED, UNTRAINED = "permuted", "random weights"
CONTROLS = (PERMUTED, UNTRAINED)
MIN_LAYER_TRIALS = 4  # two in each half
MIN_REPLICATES = 20
TemplateSource: TypeAlias = str | os.PathLike[str] | Template | VisionTemplate


def _known_task(name: str, value: Any, hint: str = "") -> str:
    if not isinstance(value, str) or not (value in {*DOMAINS, *PICTURE_TASKS} or value.startswith("table:")):
        known = ", ".join([*DOMAINS, *PICTURE_TASKS])
        raise InputError(f"{name} must be one of {known}, or table:FILE; got {value!r}.")
    return value


def _item_counts(name: str, value: Any, hint: str = "") -> tuple[int, ...]:
    real(name, value, hint)
    counts = tuple(sorted({whole_number(name, one, at_least=2) for one in np.atleast_1d(value).flat}))
    if not counts:
        raise InputError(f"{name} must name at least one number of items; got none.")
    return counts


def _price(name: str, value: Any, hint: str = "") -> tuple[float, float]:
    parts = value.split(",") if isinstance(value, str) else []
    given = [float(part) for part in parts] if all(map(is_finite, parts)) and parts else value
    prices = np.atleast_1d(np.nan if isinstance(given, str) else non_negative(name, given))
    if prices.shape != (2,):
        raise InputError(f"{name} must be two numbers, READ,WRITTEN, for a million tokens; got {value!r}.")
    return float(prices[0]), float(prices[1])


TASK = Parameter(
    f"In words: {', '.join(DOMAINS)}, or table:FILE (item, value). In pictures: {', '.join(PICTURE_TASKS)}.",
    check=_known_task,
)
ITEMS = Parameter(
    "Numbers of items; if left out, those the task allows.", symbol="n", label="items", check=_item_counts, listed=True
)
TRIALS = Parameter(
    "Trials of each kind and number of items, and for each half separation of the two-anchor test.",
    check=partial(whole_number, at_least=1, at_most=MAX_TRIALS),
)
TEMPLATE = Parameter(
    "Templates: list, sentences, chat, deutsch (years), options (pictures), or a JSON file; several with commas are "
    "compared on the same trials."
)
SEED = Parameter("Seed of the trials and of everything else that is random.", check=whole_number)
REPLICATES = Parameter("Resamplings of the bootstrap.", check=partial(whole_number, at_least=MIN_REPLICATES))

Task = Annotated[str, TASK]
Items = Annotated[Sequence[int] | None, ITEMS]
Trials = Annotated[int, TRIALS]
TemplateChoice = Annotated[TemplateSource | Sequence[TemplateSource] | None, TEMPLATE]
Mode = Annotated[
    str | None,
    Parameter(
        "probability compares the log-probabilities of all answers, text reads the reply; if left out, text for a "
        "server and probability otherwise.",
        choices=MODES,
    ),
]
CommandMode = Annotated[
    str | None,
    Parameter(
        "probability compares the log-probabilities of all answers, text reads the reply, embedding measures the "
        "representation of single stimuli layer by layer; if left out, text for a server and probability otherwise.",
        choices=(*MODES, EMBEDDING),
    ),
]
DryRun = Annotated[bool, Parameter("Show three prompts and the workload; send nothing to the model.")]
Anchors = Annotated[bool, Parameter("Add the two-anchor resolution test.")]
HalfSeparations = Annotated[
    ArrayLike | None,
    Parameter("Of the two-anchor test, in units of the task.", symbol="D", check=positive, listed=True),
]
Shifts = Annotated[
    ArrayLike | None,
    Parameter("Of the two-anchor test, in units of the task; 0 is left out.", symbol="δ", listed=True),
]
Layers = Annotated[
    bool, Parameter("Also measure p_S and p_I in each layer, from states at the queried places; model on this machine.")
]
LayerTrials = Annotated[
    int, Parameter("Trials of each kind for the layers.", check=partial(whole_number, at_least=MIN_LAYER_TRIALS))
]
BatchSize = Annotated[int, Parameter("Prompts read together, at most.", check=partial(whole_number, at_least=1))]
Price = Annotated[
    str | Sequence[float] | None,
    Parameter("READ,WRITTEN: price of a million tokens, for the estimate.", check=_price),
]
MaxTokens = Annotated[int, Parameter("Most tokens of a text reply.", check=partial(whole_number, at_least=1))]
Store = Annotated[
    ReplyStore | str | os.PathLike[str] | None,
    Parameter("Where answers are stored, and looked up before a prompt is sent."),
]
PictureFolder = Annotated[str | os.PathLike[str] | None, Parameter("Folder to which the pictures of the prompts go.")]
Seed = Annotated[int, SEED]

StateSimilarity = Annotated[str, Parameter("How states are compared.", choices=STATE_SIMILARITIES)]
TokenPooling = Annotated[
    str, Parameter("Which state a place has: of its last token, or the mean.", choices=TOKEN_POOLINGS)
]
DomainChoice = Annotated[Domain | str, Parameter("Items and their places.")]
OneTemplate = Annotated[str | os.PathLike[str] | Template, Parameter("Wording of the trials.")]
LayerItems = Annotated[int, Parameter("Items of a trial.", symbol="n", check=partial(whole_number, at_least=2))]
Center = Annotated[bool, Parameter("Subtract the mean over the stimuli, or over the states, from each layer first.")]
ByRole = Annotated[bool | None, Parameter("Whether items and probes have means of their own.")]
Standardize = Annotated[bool, Parameter("Divide each coordinate by its standard deviation.")]
Replicates = Annotated[int, REPLICATES]
RowPooling = Annotated[
    str | None,
    Parameter("With mode embedding: how the states of tokens become one row; mean if left out.", choices=ROW_POOLINGS),
]
Phrase = Annotated[str | None, Parameter("With mode embedding: how a place is written, such as 'the year {place}'.")]
RowSimilarity = Annotated[str | Compare, Parameter("How two rows of numbers are compared.")]
Ties = Annotated[str, Parameter("What to do with items equally near.", choices=TIES)]
Control = Annotated[
    str | Sequence[str] | None,
    Parameter("What is measured for comparison; all that there are if left out.", choices=CONTROLS, listed=True),
]
Intervals = Annotated[bool, Parameter("Estimate intervals.")]
Fronts = Annotated[bool, Parameter("Compare with the fronts of the fit and of the constant similarity.")]
Shapes = Annotated[Sequence[str] | str, Parameter("Similarities to compare.", choices=tuple(SHAPES), listed=True)]
