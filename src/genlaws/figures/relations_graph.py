"""Relations of a real knowledge graph: how much of each a network must see, against the bits that describe it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import stats

from genlaws.figures.progress import Progress
from genlaws.figures.relations_cells import (
    NetworkFigureSettings,
    Rate,
    Steps,
    grouped,
    interval_columns,
    mean_columns,
    networks,
)
from genlaws.figures.relations_learning import Shares
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import from_replicates
from genlaws.relations.description_length import description_length_exact
from genlaws.relations.induction_gap import crossing
from genlaws.relations.knowledge_graph import read_knowledge_graph
from genlaws.relations.relation import Relation
from genlaws.relations.relation_text import relation_to_text

BOOTSTRAPS = 2000


class GraphSettings(NetworkFigureSettings):
    """A knowledge-graph file, and how much of each relation to show.

    Accuracy is balanced: relations of a graph are rare, and always answering no would be right almost everywhere.
    """

    file: str = ""
    fewest_pairs: Annotated[int, Field(ge=1)] = 100
    train_fractions: Shares = (0.05, 0.2, 0.5, 0.8)
    dimension: Annotated[int, Field(ge=1, le=1000)] = 6
    width: Annotated[int, Field(ge=1, le=10_000)] = 20
    learning_rate: Rate = 1e-2
    target: Annotated[float, Field(gt=0.5, lt=1)] = 0.75
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 3
    steps: Steps = 300


def graph_data(settings: GraphSettings, progress: Progress) -> pd.DataFrame:
    """Return accuracies on what was not shown, by relation and train fraction, with the bits of the relation."""
    rows = []
    for relation in _relations(settings):
        base = {
            "relation": relation.label,
            "matrix": relation_to_text(relation),
            "dimension": settings.dimension,
            "depth": settings.depth,
            "width": settings.width,
            "encoder_rate": settings.learning_rate,
            "decoder_rate": settings.learning_rate,
            "steps": settings.steps,
            "log_every": settings.steps,
            "device": settings.device,
        }
        axes = {"train_fraction": settings.train_fractions}
        table = networks(base, axes, settings.repeats, settings.seed, progress)
        about = {
            "elements": relation.element_count,
            "pairs": len(relation.pairs),
            "description_length": description_length_exact(relation),
            "majority_accuracy": relation.majority_accuracy,
        }
        for place, group in grouped(table, ["relation", "train_fraction"]):
            accuracies = {name: mean_columns(name, group[name]) for name in ("balanced_accuracy", "test_accuracy")}
            rows.append(
                {
                    **place,
                    **about,
                    **accuracies["balanced_accuracy"],
                    **accuracies["test_accuracy"],
                    "networks": len(group),
                }
            )
    return pd.DataFrame(rows)


def _relations(settings: GraphSettings) -> list[Relation]:
    if not settings.file:
        raise InputError("file must name a knowledge graph: lines of head, relation and tail (.tsv, .csv, .txt, .gz).")
    graph = read_knowledge_graph(settings.file)
    found = [name for name, count in graph.counts.items() if count >= settings.fewest_pairs]
    if not found:
        raise InputError(
            f"fewest_pairs must leave some relation of {settings.file}; the largest has {max(graph.counts.values())}."
        )
    return [graph.relation(name, "all") for name in found]


def graph_summary(frame: pd.DataFrame, settings: GraphSettings) -> pd.DataFrame:
    """Return the share each relation needs for the target, and its rank correlation with the bits."""
    rows: list[dict[str, Any]] = []
    for place, group in grouped(frame, ["relation", "pairs", "description_length"]):
        bits_share = place["description_length"] / float(group["elements"].iloc[0]) ** 2
        rows.append(place | {"bits_per_entry": bits_share} | _needed(group, settings.target))
    table = pd.DataFrame(rows)
    return table.assign(**_correlation(table, "description_length"), **_correlation(table, "pairs"))


def _needed(group: pd.DataFrame, target: float) -> dict[str, float]:
    """Return where the mean accuracy reaches the target, and where the ends of its interval do.

    Infinity means nowhere among the fractions shown; a share equal to the least of them may be smaller still.
    """
    known = group.dropna(subset="balanced_accuracy").sort_values("train_fraction")
    found = {}
    for end, column in (("", ""), ("_low", "_high"), ("_high", "_low")):
        curve = known[f"balanced_accuracy{column}"].fillna(known["balanced_accuracy"])
        name = f"train_fraction_needed{end}"
        found[name] = crossing(known["train_fraction"], curve, target) if len(known) > 1 else float("nan")
    return found


def _correlation(table: pd.DataFrame, name: str) -> dict[str, float]:
    """Return Spearman's correlation of a column with the share needed, with a bootstrap interval over relations.

    A relation whose target is never reached needs the most; one without accuracies is left out.
    """
    table = table.dropna(subset="train_fraction_needed")
    x, y = table[name].to_numpy(), table["train_fraction_needed"].replace(np.inf, 2.0).to_numpy()
    column = f"rank_correlation_with_{name}"
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return dict.fromkeys((column, f"{column}_low", f"{column}_high"), float("nan"))
    generator = np.random.default_rng(0)
    draws = generator.integers(len(x), size=(BOOTSTRAPS, len(x)))
    ranks = [stats.rankdata(one[draws], axis=1) for one in (x, y)]
    first, second = (one - one.mean(axis=1, keepdims=True) for one in ranks)
    spread = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    told = spread > 0
    replicates = (first * second).sum(axis=1)[told] / spread[told]
    return interval_columns(column, from_replicates(float(stats.spearmanr(x, y).statistic), replicates, len(x)))
