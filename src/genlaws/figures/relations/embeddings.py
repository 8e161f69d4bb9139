"""Embeddings of a relation network along its training: classes that merge, and classes that do not."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from genlaws.core.running import Running
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations.cells import Depth, Fraction, Rate, Scale, Steps, Width
from genlaws.figures.relations.learned import LEARNED_ACCURACY, key_handles, scatter_elements
from genlaws.relations.networks.network import train_networks
from genlaws.relations.networks.runs import ElementGroups, RelationRuns, class_spread, element_groups
from genlaws.relations.structure.families import named_relation
from genlaws.render import style
from genlaws.sweeps.experiment import Settings

Rates = tuple[Rate, Rate]
FIRST_LOG_FRACTION = 0.03  # of all steps: where the logarithmic grid begins
PANEL_COLUMNS = ["ratio", "step"]
LEGEND_TITLE = (
    "first dimension of the embedding across, second up, one scale in a row; below: accuracy on training and on test\n"
    "entries, and the spread inside classes over the distance between them"
)


class EmbeddingSettings(Settings):
    """One network at each pair of rates (encoder, decoder), seen at a few times: the start, then evenly in log time."""

    relation: str = "mod3"
    merging_rates: Rates = (1e-2, 1e-3)
    memorizing_rates: Rates = (1e-5, 1e-3)
    train_fraction: Fraction = 0.75
    embedding_scale: Scale = 0.3
    depth: Depth = 3
    width: Width = 50
    steps: Annotated[Steps, Field(ge=100)] = 3000
    times: Annotated[int, Field(ge=2, le=6)] = 5
    seed: Annotated[int, Field(ge=0)] = 0


def embeddings_data(settings: EmbeddingSettings, running: Running) -> pd.DataFrame:
    """Return where every element is at each time, for both pairs of rates.

    ``ratio`` is the decoder rate over the encoder rate; ``class`` what the color stands for, classes counted from 0;
    ``spread`` the spread inside classes over the distance between them, empty if the relation has no classes.
    """
    running.start(2 * settings.steps, "steps of two networks")
    relation = named_relation(settings.relation)
    groups = element_groups(relation)
    later = np.geomspace(max(1.0, FIRST_LOG_FRACTION * settings.steps), settings.steps, settings.times - 1)
    tables = []
    for encoder_rate, decoder_rate in (settings.merging_rates, settings.memorizing_rates):
        runs = train_networks(
            relation,
            seeds=(settings.seed,),
            encoder_rate=encoder_rate,
            decoder_rate=decoder_rate,
            log_at=[0, *later.round().astype(int).tolist()],
            keep_embeddings=True,
            running=running.part(),
            **settings.model_dump(include={"train_fraction", "embedding_scale", "depth", "width", "steps"}),
        )
        rates = {"encoder_rate": encoder_rate, "decoder_rate": decoder_rate, "ratio": decoder_rate / encoder_rate}
        tables.append(_tabulate_run(runs, groups).assign(**rates))
    return pd.concat(tables, ignore_index=True)


def _tabulate_run(runs: RelationRuns, groups: ElementGroups) -> pd.DataFrame:
    """Return a row for each time and element of one network."""
    places = runs.embeddings[0].astype(np.float64)
    logs, count, _ = places.shape
    spread = class_spread(places, groups.value) if groups.separate else np.full(logs, np.nan)
    at_time = {
        "step": runs.steps,
        "train_accuracy": runs.train_accuracy[0],
        "test_accuracy": runs.test_accuracy[0],
        "spread": spread,
    }
    columns = {name: np.repeat(values, count) for name, values in at_time.items()}
    columns |= {"element": np.tile(np.arange(count), logs), "class": np.tile(groups.value, logs)}
    return pd.DataFrame({**columns, "x": places[..., 0].ravel(), "y": places[..., 1].ravel(), "color": groups.kind})


def embeddings_summary(frame: pd.DataFrame, settings: EmbeddingSettings) -> pd.DataFrame:
    """Return both accuracies and the spread of each panel."""
    numbers = ["encoder_rate", "decoder_rate", "train_accuracy", "test_accuracy", "spread"]
    panels = frame.groupby(PANEL_COLUMNS, sort=False)[numbers].first().reset_index()
    return panels.dropna(axis=1, how="all")


def draw_embeddings(frame: pd.DataFrame, settings: EmbeddingSettings) -> Figure:
    """Draw a row for each pair of rates and a column for each time; both rows have axes of their own."""
    ratios = list(dict.fromkeys(frame["ratio"]))
    steps = list(dict.fromkeys(frame["step"]))
    side = (style.PAGE - 0.5) / len(steps)
    figure = style.new_figure(style.PAGE, min(4.8, len(ratios) * (side + 0.4) + 0.8))
    panels = figure.subplots(len(ratios), len(steps), squeeze=False)
    # The colors are those of one panel; every panel has the same elements in the same order.
    one = frame[(frame["ratio"] == ratios[0]) & (frame["step"] == steps[0])]
    groups = ElementGroups(str(one["color"].iloc[0]), one["class"].to_numpy())
    for row, ratio in zip(panels, ratios, strict=True):
        course = frame[frame["ratio"] == ratio]
        for axes, step in zip(row, steps, strict=True):
            _draw_panel(axes, course[course["step"] == step], groups)
        _set_common_box(row, course)
        row[0].set_ylabel(f"{_format_outcome(course)}\n" + rf"$\eta_{{dec}}/\eta_{{enc}}={style.plain_power(ratio)}$")
    for axes, step in zip(panels[0], steps, strict=True):
        axes.set_title(f"step {int(step):,}")
    handles = key_handles(groups)
    legend = figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), title=LEGEND_TITLE)
    legend.get_title().set_multialignment("center")
    return figure


def _draw_panel(axes: Axes, table: pd.DataFrame, groups: ElementGroups) -> None:
    scatter_elements(axes, table[["x", "y"]].to_numpy(), groups, size=13.0)
    first = table.iloc[0]
    lines = [f"train {first['train_accuracy']:.2f}, test {first['test_accuracy']:.2f}"]
    if np.isfinite(first["spread"]):
        lines.append(f"spread {first['spread']:.2f}")
    axes.set_xlabel("\n".join(lines), fontsize=style.SMALL_TYPE)
    axes.set(xticks=[], yticks=[])
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)
    axes.spines[:].set_color(style.LIGHT_GRAY)


def _set_common_box(row: np.ndarray, course: pd.DataFrame) -> None:
    """Give the panels of a row one square box around all of its embeddings."""
    low, high = course[["x", "y"]].min().to_numpy(), course[["x", "y"]].max().to_numpy()
    middle, half = 0.5 * (low + high), 0.55 * float((high - low).max()) or 1.0
    for axes in row:
        axes.set_xlim(middle[0] - half, middle[0] + half)
        axes.set_ylim(middle[1] - half, middle[1] + half)
        axes.set_box_aspect(1.0)


def _format_outcome(course: pd.DataFrame) -> str:
    """Return whether the network generalizes, memorizes or fits neither at its last time."""
    last = course[course["step"] == course["step"].max()].iloc[0]
    if last["test_accuracy"] > LEARNED_ACCURACY:
        return "generalizes"
    return "memorizes" if last["train_accuracy"] > LEARNED_ACCURACY else "fits neither"


EMBEDDINGS = Recipe(EmbeddingSettings, embeddings_data, draw_embeddings, embeddings_summary)
