"""Generalisation against identification in the layers of a language model, from its states at the places asked for."""

from __future__ import annotations

import pandas as pd
from pydantic import Field

from genlaws.figures.progress import Progress
from genlaws.figures.semanticity_years import SIMULATED, ModelSettings, load_model
from genlaws.numerics.errors import InputError

TRAINED, RANDOM = "trained", "random weights"
CURVE, LAYER = "curve", "layer"
CURVE_COLUMNS = (
    *("layer", "name", "threshold", "ball_mass", "generalisation", "generalisation_low", "generalisation_high"),
    *("identification", "identification_low", "identification_high"),
    *("control_generalisation", "control_identification"),
)


class LayersSettings(ModelSettings):
    """Settings of the figure.

    Attributes
    ----------
    item_count, trials : int
        Items of a trial; trials of each test.
    by_role : bool
        Whether the states at items and at questions are centred apart from each other.
    replicates : int
        Of the bootstrap over trials.
    """

    templates: tuple[str, ...] = Field(default=("list",), min_length=1)
    item_count: int = Field(default=2, ge=2, le=100)
    trials: int = Field(default=60, ge=4, le=10_000)
    by_role: bool = True
    replicates: int = Field(default=200, ge=20)


def layers_data(settings: LayersSettings, progress: Progress) -> pd.DataFrame:
    """Return the numbers of each layer, of the model and of one with random weights, and the curves of the model.

    Curves are those of the first template.
    """
    if settings.model == SIMULATED:
        raise InputError("model must be one with layers; a simulated one has none.")
    from genlaws.semanticity.probes.layer_states import randomised  # noqa: PLC0415, needs torch
    from genlaws.semanticity.probes.layer_tests import layer_tests  # noqa: PLC0415

    model = load_model(settings)
    progress.start(4 * settings.trials * len(settings.templates), "layers")
    parts = []
    for weights, network in ((TRAINED, model), (RANDOM, randomised(model, settings.seed))):
        for template in settings.templates:
            found = layer_tests(
                network,
                settings.task,
                template,
                item_count=settings.item_count,
                trial_count=settings.trials,
                seed=settings.seed,
                by_role=settings.by_role,
                replicates=settings.replicates,
                advance=progress.advance,
            )
            tables = {LAYER: found.to_frame()}
            if weights == TRAINED and template == settings.templates[0]:
                tables[CURVE] = found.curves_frame()[[*CURVE_COLUMNS]]
            parts += [_labelled(table, weights, template, what) for what, table in tables.items()]
    return pd.concat(parts, ignore_index=True)


def _labelled(table: pd.DataFrame, weights: str, template: str, what: str) -> pd.DataFrame:
    """Return a table with what it belongs to in its first columns."""
    return pd.concat(
        [pd.DataFrame({"weights": weights, "template": template, "what": what}, table.index), table], axis=1
    )
