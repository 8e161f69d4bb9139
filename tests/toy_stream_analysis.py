"""Analyses of small streams: measured where that is quick, and with made-up numbers where it would need a model."""

from dataclasses import replace

import numpy as np

from genlaws.core.estimate import Estimate
from genlaws.models.stream import Site, Stream
from genlaws.residual_stream.analysis import analyze_stream
from genlaws.residual_stream.dynamics.teleports import square_grid
from genlaws.residual_stream.measures.curves import SiteCurve
from genlaws.residual_stream.results import Compression, Lyapunov, Perturbation, StreamClaim, Teleport, Training

LAYERS, TEXTS, UNITS = 4, 14, 7
MEASURES = ("paths", "correlations", "information", "dimensions", "rotations", "dynamics")
SURROGATES = ("random walk", "step signs", "layer shuffle", "basis rotation", "random weights", "shuffled tokens")


def sites_of(places=("attention", "mlp"), layers=LAYERS):
    return (*(Site(layer, place) for layer in range(layers) for place in places), Site(layers, "end"))


def walk(seed, *, places=("attention", "mlp"), texts=TEXTS, constant=False):
    """Return random walks of texts with a common drift; the first state may be the same in all texts."""
    generator, sites = np.random.default_rng(seed), sites_of(places)
    first = np.repeat(generator.standard_normal((1, 1, UNITS)), texts, axis=0)
    if not constant:
        first = first + generator.standard_normal((texts, 1, UNITS))
    steps = generator.standard_normal((texts, len(sites) - 1, UNITS)) + generator.standard_normal(
        (len(sites) - 1, UNITS)
    )
    return Stream(np.concatenate([first, first + np.cumsum(0.4 * steps, axis=1)], axis=1), sites)


def measured(*, constant=False, places=("attention", "mlp"), texts=TEXTS, measures=MEASURES):
    """Return what can be measured of a random walk, beside two others."""
    others = {
        name: walk(seed, places=places, texts=texts) for seed, name in ((2, "random weights"), (3, "shuffled tokens"))
    }
    stream = walk(1, places=places, texts=texts, constant=constant)
    return analyze_stream(stream, name="toy", measures=measures, surrogates=SURROGATES, supplied=others, draws=10)


def curve(name, labels, seed=0):
    value = 0.2 + np.random.default_rng([seed, *name.encode()]).random(len(labels))
    return SiteCurve.from_arrays(name, labels, (value, value - 0.1, value + 0.1), TEXTS)


def compression(labels, normalized):
    about = {"training": Training((1.0,), (1.0,), 1, False), "normalized": normalized}
    counts = {"training_texts": 8, "validation_texts": 3, "test_texts": 3}
    return Compression(
        (UNITS, 2),
        labels,
        (curve("path 1", labels, normalized), curve("path 2", labels, normalized)),
        curve("step length", labels[:-1], normalized),
        curve("explained variance", labels, normalized),
        curve("explained variance of components", labels, normalized),
        Estimate(0.5),
        Estimate(0.4),
        **about,
        **counts,
    )


def perturbation(labels, seed=0):
    """Return disturbances at the attention of every layer."""
    disturbed = labels[:-1:2]
    along = tuple(curve("distance", labels[2 * number :], seed) for number in range(len(disturbed)))
    rates = [curve(name, disturbed, seed) for name in ("rate", "relative rate", "divergence", "top change")]
    return Perturbation("noise", 0.1, disturbed, along, along, (), (), *rates, 4, TEXTS, "")


def teleport(labels, place, keep_rest):
    """Return states that all end at the path, but the first, which ends twice as far away."""
    grid = square_grid(-1.0, 1.0, 3)
    control = np.column_stack([np.linspace(-0.9, 0.7, len(labels)), np.linspace(0.3, -0.5, len(labels))])
    later = labels[place:]
    coordinates = np.stack([grid, np.repeat(control[-1:], len(grid), axis=0)], axis=1)
    first = np.linalg.norm(grid - control[place], axis=1)
    last = np.where(np.arange(len(grid)) == 0, 2.0, 0.5) * first
    in_plane, across = np.stack([first, last], axis=1), np.ones((len(grid), 2))
    nothing = np.full(len(grid), np.nan)
    lengths, steps = np.array([1.0, 2.0]), len(later) - 1
    about = (control, labels, lengths, nothing, nothing, 12, steps, "")
    states = {"coordinates": coordinates, "in_plane": in_plane, "out_of_plane": across}
    return Teleport(labels[place], (later[0], later[-1]), keep_rest, *about, **states)


def exponents(site):
    ranks = ("1", "2", "3")
    curves = (
        curve("exponent", ranks),
        curve("relative exponent", ranks, 1),
        curve("typical growth", ("any", "relative")),
    )
    return Lyapunov(site, "end", 4, np.ones((2, 3)), *curves, np.full(2, np.nan), 0.0, True, "")


def whole(*, constant=False):
    """Return an analysis with everything, some of it made up."""
    found = measured(constant=constant)
    labels = found.site_names
    references = dict(found.references)
    references["random weights"] = replace(references["random weights"], perturbation=perturbation(labels, 1))
    return replace(
        found,
        identity="next = this + write",
        identity_error=2.5e-7,
        compression=compression(labels, False),
        compression_normalized=compression(labels, True),
        perturbation=perturbation(labels),
        teleports=tuple(teleport(labels, place, kept) for place in (0, 4) for kept in (False, True)),
        lyapunov=(exponents("0.attention"), exponents("2.attention")),
        references=references,
        claims=(
            *found.claims[:-1],
            StreamClaim("self-correction", "It returns.", "rate −0.1", "none", "holds", "It does."),
        ),
    )
