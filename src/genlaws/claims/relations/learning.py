"""Checks of the learning curves of the relations paper, its defaults, and its statements on large models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from genlaws.claims.claim import Finding, corrected_if, graded, holds_if, number_id
from genlaws.core.arguments import Array
from genlaws.figures.bundled import bundled_table
from genlaws.figures.relations.cells import grouped
from genlaws.relations import description_length_table, named_relation
from genlaws.relations.inference.bound_curve import crossing
from genlaws.relations.inference.paper import TARGET_ACCURACY
from genlaws.relations.networks.runs import class_spread

if TYPE_CHECKING:
    import pandas as pd

# Smallest induction gap by the paper: how the embeddings are joined, and hidden layers.
SMALLEST_DECODERS = {"mod3": ("squared_difference", 0), "less-than": ("difference", 0)}
DEFAULT_DECODER = ("concatenate", 3)
# Table III.
TABLE_III_SETTINGS = {"dimension": 2, "decoder_decay": 0.0, "encoder_rate": 1e-3, "decoder_rate": 1e-3,
            "train_fraction": 0.75, "depth": 3, "width": 50, "activation": "tanh"}  # fmt: skip


def _accuracy_curves(relation: str) -> tuple[Array, dict[tuple[str, int], Array]]:
    """Return the training fractions and, by architecture, accuracies on the whole table, one row for each network."""
    frame: pd.DataFrame = bundled_table("relations.3").frame
    frame = frame[frame["relation"] == relation]
    curves = {}
    for place, group in grouped(frame, ["mode", "depth"]):
        wide = group.pivot_table(index="run", columns="train_fraction", values="table_accuracy")
        curves[str(place["mode"]), int(place["depth"])] = wide.to_numpy(dtype=np.float64)
        shares = wide.columns.to_numpy(dtype=np.float64)
    return shares, curves


def _fractions_needed(relation: str) -> dict[tuple[str, int], float]:
    """Return the share of entries at which the mean of each architecture reaches the target; infinite if never."""
    shares, curves = _accuracy_curves(relation)
    return {name: crossing(shares, one.mean(axis=0), TARGET_ACCURACY) for name, one in curves.items()}


def check_gap_of_classes(quick: bool) -> Finding:
    """Find the architecture that needs the fewest entries of modulo 3."""
    return _smallest_gap("mod3")


def check_gap_of_orders(quick: bool) -> Finding:
    """Find the architecture that needs the fewest entries of less-than."""
    return _smallest_gap("less-than")


def _smallest_gap(relation: str) -> Finding:
    needed = _fractions_needed(relation)
    bound = needed.pop(("bound", 0))
    best = min(needed, key=lambda name: needed[name])
    others = [one for name, one in needed.items() if name != best]
    numbers = {f"share_over_bound_{mode}_{depth}_layers": one / bound for (mode, depth), one in needed.items()}
    return holds_if(
        best == SMALLEST_DECODERS[relation] and min(others) > 1.1 * needed[best],
        {"share_of_the_best_learner": bound, **numbers},
        f"The smallest gap is that of {best[0].replace('_', ' ')} without hidden layers, as in the paper.",
    )


def check_bias_helps(quick: bool) -> Finding:
    """Compare the default network with one that has the relation's symmetry built in, and with a wrong one."""
    numbers: dict[str, float] = {}
    helps = []
    for relation, right in SMALLEST_DECODERS.items():
        needed = _fractions_needed(relation)
        wrong = SMALLEST_DECODERS["less-than" if relation == "mod3" else "mod3"]
        numbers |= {
            number_id(f"{relation}_default"): needed[DEFAULT_DECODER],
            number_id(f"{relation}_right_symmetry"): needed[right],
            number_id(f"{relation}_wrong_symmetry"): needed[wrong],
        }
        helps.append(needed[right] < 0.6 * needed[DEFAULT_DECODER] and needed[wrong] == np.inf)
    return holds_if(
        all(helps),
        numbers,
        "A decoder with the relation's symmetry needs half of the default's entries or fewer; one with the wrong "
        "symmetry never gets there.",
    )


def check_behind_the_bound(quick: bool) -> Finding:
    """Compare all learning curves with the exact bound."""
    excess, delays = -np.inf, []
    for relation in SMALLEST_DECODERS:
        _, curves = _accuracy_curves(relation)
        bound = curves.pop(("bound", 0))
        limit = bound.mean(axis=0) + 3.0 * bound.std(axis=0, ddof=1) / np.sqrt(len(bound))
        excess = max(excess, *(float((one.mean(axis=0) - limit).max()) for one in curves.values()))
        needed = _fractions_needed(relation)
        delays += [one / needed["bound", 0] for name, one in needed.items() if name[0] != "bound" and one < np.inf]
    return graded(
        excess <= 0.0 and max(delays) < 1.5,
        excess <= 0.0,
        {"largest_excess_over_the_bound": excess, "smallest_delay": min(delays), "largest_delay": max(delays)},
        "No network is above the bound, and all follow it closely.",
        "No network is above the bound on average. The delay is not slight: networks need 1.3 to 6 times the entries "
        "of the best learner.",
    )


def check_transition_scale(quick: bool) -> Finding:
    """Compare b/n² with where the bound and the default networks reach 0.9."""
    numbers: dict[str, float] = {}
    near = {"bound": True, "network": True}
    for relation in SMALLEST_DECODERS:
        scale = float(description_length_table(named_relation(relation))) / 900
        needed = _fractions_needed(relation)
        found = {"bound": needed["bound", 0], "network": needed[DEFAULT_DECODER]}
        numbers[number_id(f"bits_per_entry_{relation}")] = scale
        for name, share in found.items():
            numbers[number_id(f"share_at_0_9_{relation}_{name}")] = share
            near[name] &= 0.5 < share / scale < 2.0
    return graded(
        all(near.values()),
        near["bound"],
        numbers,
        "b/n² is the scale of both.",
        "b/n² is the scale of the best learner within a factor of 1.25; default networks need 3 to 8 times as much.",
    )


def check_statics_of_graphs(quick: bool) -> Finding:
    """Rank 21 relations of a knowledge graph by their bits and by the share of entries networks need."""
    frame = bundled_table("relations.graph").frame
    target = float(bundled_table("relations.graph").settings["target"])
    bits, pairs, needed = [], [], []
    for _, group in frame.groupby("relation"):
        rows = group.sort_values("train_fraction")
        bits.append(float(rows["description_length"].iloc[0]))
        pairs.append(float(rows["pairs"].iloc[0]))
        shares, curve = (rows[name].to_numpy(dtype=np.float64) for name in ("train_fraction", "balanced_accuracy"))
        needed.append(min(crossing(shares, curve, target), 1.0))
    by_bits, by_pairs = stats.spearmanr(bits, needed), stats.spearmanr(pairs, needed)
    return holds_if(
        by_bits.statistic > 0.0 and by_bits.pvalue < 0.05,
        {
            "relations": len(bits),
            "rank_correlation_with_description_length": by_bits.statistic,
            "p_value": by_bits.pvalue,
            "rank_correlation_with_pair_count": by_pairs.statistic,
        },
        "Relations of a longer description need more entries.",
        "Not for real relations: the share of entries that networks need does not grow with the description length; "
        "how rare the related pairs are predicts more.",
    )


def check_defaults(quick: bool) -> Finding:
    """Compare Table III with the defaults of the library's networks."""
    from genlaws.sweeps.experiments.relation_networks import RelationNetworkSettings  # noqa: PLC0415

    fields = RelationNetworkSettings.model_fields
    other = {
        name: str(fields[name].default) for name, value in TABLE_III_SETTINGS.items() if fields[name].default != value
    }
    return holds_if(
        not other,
        {"defaults_compared": len(TABLE_III_SETTINGS), "defaults_that_differ": len(other), **other},
        "The defaults are those of Table III. Optimizer, batch, steps and initial values are not in it; here Adam, all "
        "training entries, 10,000 steps and standard normal embeddings.",
    )


def check_collision_is_needed(quick: bool) -> Finding:
    """Train networks from standard normal embeddings and see whether those that generalize have merged classes."""
    from genlaws.relations.networks.network import train_networks  # noqa: PLC0415

    seeds, steps = (range(3), 500) if quick else (range(10), 10_000)
    runs = train_networks("mod3", seeds=seeds, width=20, encoder_rate=1e-2, decoder_rate=1e-3, steps=steps)
    spread = np.asarray(class_spread(runs.final_embeddings, np.arange(30) % 3))
    right = np.asarray(runs.final("test_accuracy"))
    return corrected_if(
        (spread < 0.1).all() or (right < TARGET_ACCURACY).any(),
        (spread > 0.1).any(),
        {
            "least_accuracy_on_other_entries": right.min(),
            "least_spread": spread.min(),
            "mean_spread": spread.mean(),
        },
        "Sufficient, not necessary: networks generalize although the spread inside classes stays a good part of the "
        "distance between them.",
    )


def check_encoder_decoder(quick: bool) -> Finding:
    """Check in the published configurations of two of the named models whether they have an encoder."""
    from transformers import GemmaConfig, LlamaConfig  # noqa: PLC0415

    found = {"LLaMA": LlamaConfig().is_encoder_decoder, "Gemma": GemmaConfig().is_encoder_decoder}
    numbers = {number_id(f"{name}_has_encoder_and_decoder"): str(bool(one)) for name, one in found.items()}
    return corrected_if(
        all(found.values()),
        not any(found.values()),
        {**numbers, "gpt_4_has_encoder_and_decoder": "not published"},
        "LLaMA and Gemma are decoders only; they have no encoder.",
    )
