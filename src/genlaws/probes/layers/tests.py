r"""Generalization and identification in every layer of a language model, from its residual stream, in context.

A trial shows n items at places ("Born in 1066: Anna") and ends with the place of the probe ("Born closest to 1100:").
The states at these places are the items and the probe. An item counts as alike to the probe when the states lie within
a threshold of each other; as the threshold grows, each layer has its own curve of :math:`p_S^n` against :math:`p_I^n`,
to compare with the closed forms of the theory (:cite:p:`nurisso2026`, Theorems 1 and 3). The read-out of each layer
shows what the model would answer from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import CONFIDENCE, Estimate, bootstrap_mean, from_replicates, wilson_interval
from genlaws.core.result import question
from genlaws.core.running import Running, checked_running
from genlaws.core.seeds import generator_of
from genlaws.models.language import TransformersModel
from genlaws.probes.domains import domain_of
from genlaws.probes.layers.results import (
    LayerTest,
    LayerTests,
    PlaceStates,
    StateComparison,
    others_of,
    right_nearest,
    right_within,
    state_distances,
    thresholds_of,
)
from genlaws.probes.layers.states import layer_states
from genlaws.probes.parameters import (
    MIN_LAYER_TRIALS,
    MIN_REPLICATES,
    ByRole,
    Center,
    DomainChoice,
    LayerItems,
    LayerTrials,
    OneTemplate,
    Replicates,
    Seed,
    Standardize,
    StateSimilarity,
    TokenPooling,
)
from genlaws.probes.templates import template_of
from genlaws.probes.trials import TRIAL_KINDS, draw_trials


@question
def layer_tests(
    model: TransformersModel,
    *,
    domain: DomainChoice,
    template: OneTemplate = "list",
    item_count: LayerItems = 2,
    trial_count: LayerTrials = 200,
    seed: Seed = 0,
    pooling: TokenPooling = "last",
    similarity: StateSimilarity = "cosine",
    center: Center = True,
    by_role: ByRole = None,
    standardize: Standardize = False,
    replicates: Replicates = 500,
    running: Running | None = None,
) -> LayerTests:
    """Return both tests in every layer of a language model, with the control of exchanged probes.

    For a second control pass a model with random weights, as
    `randomized <genlaws.probes.layers.states.randomized>` makes it.

    Parameters
    ----------
    model : TransformersModel
        With a fast tokenizer, and built like Llama, GPT-2 or GPT-NeoX.
    domain : Domain or str
    template : str, path or Template
    item_count : int from 2 to 100
    trial_count : int, at least 4
        Of each test.
    seed : int
        Of the trials, of the exchange and of the bootstrap.
    pooling : {"last", "mean"}
        The state of a place is that of its last token, or the mean over its tokens.
    similarity : {"cosine", "euclidean"}
    center, standardize : bool
        As `StateComparison <genlaws.probes.layers.results.StateComparison>` has them.
    by_role : bool, optional
        As there; if not given, items and probes are centered separately wherever states are centered.
    replicates : int, at least 20
        Of the bootstrap over trials.
    running : Running, optional
        Its steps are the prompts, two for each of ``trial_count``.
    """
    comparison = StateComparison(similarity, center, center if by_role is None else by_role, standardize)
    places = domain_of(domain) if isinstance(domain, str) else domain
    words = template_of(places, template)
    generator = generator_of(seed)
    trials = [draw_trials(places, kind, item_count, trial_count, seed=generator) for kind in TRIAL_KINDS]
    shown = checked_running(running)
    shown.start(2 * trial_count, f"layers, {words.name}")
    groups = [layer_states(model, one, places, words, pooling=pooling, running=shown.part()) for one in trials]
    exchanged = [one.exchanged(_exchange(trial_count, generator)) for one in groups]
    left_out = [int(np.isnan(one.options[0, :, 0]).sum()) for one in groups]
    return LayerTests(
        model.source,
        places.name,
        words.name,
        item_count,
        trial_count,
        pooling,
        comparison,
        judge_states(groups, comparison, replicates=replicates, seed=generator),
        judge_states(exchanged, comparison, replicates=replicates, seed=generator),
        (left_out[0], left_out[1]),
        float(np.mean([one.single.mean() for one in groups])),
    )


def _exchange(count: int, generator: np.random.Generator) -> Whole:
    """Return an order of trials in which each has the place of another: one random cycle."""
    cycle = generator.permutation(count)
    order = np.empty(count, dtype=np.int64)
    order[cycle] = np.roll(cycle, 1)
    return order


def judge_states(
    groups: Sequence[PlaceStates],
    comparison: StateComparison,
    *,
    replicates: int = 500,
    seed: int | np.random.Generator = 0,
) -> tuple[LayerTest, ...]:
    """Return both tests in every layer from states, wherever they come from.

    Parameters
    ----------
    groups : two PlaceStates
        Of the trials of similarity and of those of identification, with the same layers and numbers of items.
    comparison : StateComparison
    replicates : int, at least 20
        Of the bootstrap over trials; the same trials are drawn in every layer.
    seed : int or Generator
    """
    if len(groups) != 2 or groups[0].names != groups[1].names or groups[0].items.shape[2] != groups[1].items.shape[2]:
        raise InputError("groups must be the states of two tests, with the same layers and numbers of items.")
    if min(len(one.right) for one in groups) < MIN_LAYER_TRIALS:
        raise InputError(f"Each test must have at least {MIN_LAYER_TRIALS} trials; one has fewer.")
    generator = generator_of(seed)
    times = whole_number("replicates", replicates, at_least=MIN_REPLICATES)
    # How often each trial is in each replicate, as a share: (replicates, trials).
    counts = [len(one.right) for one in groups]
    weights = [generator.multinomial(n, np.full(n, 1.0 / n), size=times) / n for n in counts]
    return tuple(_layer(groups, layer, comparison, weights) for layer in range(len(groups[0].names)))


def _layer(
    groups: Sequence[PlaceStates], layer: int, comparison: StateComparison, weights: Sequence[Array]
) -> LayerTest:
    """Return both tests in one layer."""
    rights = [one.right for one in groups]
    apart = state_distances(groups, layer, comparison)
    pairs = np.sort(np.concatenate([apart[0].ravel(), others_of(apart[1], rights[1])]))
    thresholds = thresholds_of(pairs)
    mass = np.searchsorted(pairs, thresholds, side="right") / pairs.size
    chosen = [right_within(one, right, thresholds) for one, right in zip(apart, rights, strict=True)]
    lows, highs = zip(*(_ends(weight @ one) for weight, one in zip(weights, chosen, strict=True)), strict=True)
    best, own = _best_by_half(chosen[0]), _best_by_half(chosen[1])
    read = [one.options[layer, np.arange(len(one.right)), one.right] for one in groups]
    nearest = [right_nearest(one, right) for one, right in zip(apart, rights, strict=True)]
    return LayerTest(
        layer,
        groups[0].names[layer],
        thresholds,
        mass,
        chosen[0].mean(axis=0),
        lows[0],
        highs[0],
        chosen[1].mean(axis=0),
        lows[1],
        highs[1],
        _crossed(chosen[0], best, weights[0]),
        _crossed(chosen[1], best, weights[1]),
        _crossed(chosen[1], own, weights[1]),
        float(mass[list(best)].mean()),
        _share(nearest[0]),
        _share(nearest[1]),
        bootstrap_mean(read[0], replicates=len(weights[0])),
        bootstrap_mean(read[1], replicates=len(weights[1])),
    )


def _ends(replicates: Array) -> tuple[Array, Array]:
    """Return both ends of the percentile interval at each threshold."""
    low, high = np.quantile(replicates, [0.5 * (1.0 - CONFIDENCE), 0.5 * (1.0 + CONFIDENCE)], axis=0)
    return low, high


def _best_by_half(chosen: Array) -> tuple[int, int]:
    """Return the thresholds that are best on the trials of even and of odd number."""
    return int(chosen[::2].mean(axis=0).argmax()), int(chosen[1::2].mean(axis=0).argmax())


def _crossed(chosen: Array, best: tuple[int, int], weights: Array) -> Estimate:
    """Return the mean over trials, each at the threshold that was chosen on the other half."""
    values = chosen[:, best[1]].copy()  # even trials, judged at what odd ones chose
    values[1::2] = chosen[1::2, best[0]]
    return from_replicates(float(values.mean()), weights @ values, len(values))


def _share(hits: Array) -> Estimate:
    """Return a share with Wilson's interval; a share that is no whole number lies between two that are."""
    total, count = float(hits.sum()), len(hits)
    below, above = math.floor(total + 1e-9), math.ceil(total - 1e-9)
    return Estimate(
        total / count, wilson_interval(below, count).low, wilson_interval(max(above, below), count).high, count
    )
