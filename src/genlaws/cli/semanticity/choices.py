"""``genlaws semanticity fit-choices``: estimate resolution, background and shape of the similarity from choices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from genlaws import semanticity
from genlaws.cli.questions import command_of, fills

TABLE_FORMAT = (
    "CSV file. Long, one row per option: trial, distance (or probe and item), chosen (1 or 0) and, if wanted, option "
    "(the name of the answer), place (in the list) and score (its probability). Wide, one row per trial: distance_1, "
    "distance_2, ... (or probe and item_1, ...), chosen (the number from 1, or the name, of an option) and, if wanted, "
    "option_1, ... and score_1, ...; nothing, or the word unparsed, for an answer that could not be read."
)
TrialsFile = Annotated[Path, Parameter(help=TABLE_FORMAT)]
Metric = Annotated[str, Parameter(help="How probe and item become a distance: absolute or circle.")]
Period = Annotated[float | None, Parameter(help="Circumference, for --metric circle; 360 for a hue.")]


@fills("trials")
def recorded_trials(trials: TrialsFile, /, *, metric: Metric = "absolute", period: Period = None) -> dict[str, Any]:
    """Return the trials of a file."""
    return {"trials": semanticity.read_trials(trials, metric=metric, period=period)}


fit_choices = command_of(
    semanticity.fit_choices,
    recorded_trials,
    about="A trial without an answer is counted and reported; a row that is not understood is refused with its line.",
)
