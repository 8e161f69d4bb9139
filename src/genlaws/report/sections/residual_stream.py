"""The report on the residual stream: drawn walks compared with exact laws, and networks with walks of their steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from genlaws import models, probes
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.core.panel import curve_of_estimates
from genlaws.core.running import Running
from genlaws.models.texts import WRITE_EXAMPLES_CODE, example_texts
from genlaws.render import Curve, Panel
from genlaws.render.copied_commands import with_new_file
from genlaws.render.html import brackets, formula, inline, number, over, power, root, sign, symbol
from genlaws.render.walk_panels import neighbors_panel, rotations_panel, shares_panel
from genlaws.report.ledger import agreement
from genlaws.report.section import WITHOUT_TORCH, Section, has_torch
from genlaws.residual_stream.dynamics.portraits import rotations
from genlaws.residual_stream.measures.correlations import unit_correlations
from genlaws.residual_stream.surrogates.walk_comparison import NORMAL, WalkComparison, compare_with_walk, path_shares_of
from genlaws.residual_stream.surrogates.walks import draw_walk, geometric_walk

PERSISTENCES = (0.0, 0.4)
STEP_GROWTH = 20.0
PLANE_COMPONENTS = 2  # components
_H, _S, _V, _PHI = symbol("h", "l"), symbol("s", "k"), symbol("v", "k"), symbol("φ")
_SUM = f"<munder>{sign('∑')}<mrow>{symbol('k')}{sign('<')}{symbol('l')}</mrow></munder>"
STREAM_LAW = (
    "<p>Read before and after every block, the state of a network makes a path,</p>"
    + formula(_H, sign("="), symbol("h", "0"), sign("+"), _SUM, _S)
    + f"<p>Let the steps be random, of the sizes {inline(_V)} that were measured, each correlated with the next by "
    f"{inline(_PHI)} (0 for a plain walk). The covariance {inline(symbol('C'))} of the sites follows, and with it what "
    "is often read as structure: the correlation of a unit with itself one site later,</p>"
    + formula(
        symbol("r", "l"),
        sign("="),
        over(symbol("C", "l,l+1"), root(symbol("C", "l,l"), symbol("C", "l+1,l+1"))),
    )
    + "<p>how flat the path is (the eigenvalues of the centered covariance; for equal steps and L sites</p>"
    + formula(
        symbol("λ", "k"),
        sign("="),
        over(
            number("1"),
            "<mrow>"
            + number("4")
            + power(symbol("sin"), number("2"))
            + brackets(over(f"<mrow>{symbol('k')}{symbol('π')}</mrow>", f"<mrow>{number('2')}{symbol('L')}</mrow>"))
            + "</mrow>",
        ),
    )
    + "<p>so that two components hold three quarters), and how often a unit rotates in the plane of its activation and "
    "its gradient: the mean angle between successive tangents, an exact integral. A stream shows more than its step "
    "sizes only where it differs from these curves.</p>"
)
STREAM_IMPLICATIONS = (
    "Correlated sites, growing steps, rotating units and a path that looks flat in two components follow from "
    "small steps alone. Compare each with the walk of your model's steps before you interpret it as dynamics.",
    "Where a stream leaves its walk, look at the direction of its steps. Steps that continue in one direction (φ > 0) "
    "make states longer than the walk's, as training does to the digit network; norms after the sum, or writes that "
    "cancel earlier ones, make them shorter. Other networks may do neither: SmolLM2-135M has φ near 0.",
    "The report shows these pictures for your own model if you give its name.",
)
STREAM_CODE = """import numpy as np

from genlaws.residual_stream.dynamics.portraits import rotations
from genlaws.residual_stream.surrogates.walks import draw_walk, geometric_walk

walk = geometric_walk({sites}, growth={growth:g})
drawn = rotations(draw_walk(walk, 1, {units}, seed=np.random.default_rng([{seed}, 4]))).as_printed
print(walk.rotations[-1], drawn.mean(), geometric_walk(32, growth={growth:g}).path_shares(256)[1])"""
STREAM_COMMANDS = (
    'genlaws residual-stream analyze minilm --texts "$file" --measures paths,correlations,dimensions,rotations '
    "--seed {seed}"
)


@dataclass(frozen=True)
class Compared:
    """One number of a law compared with runs.

    Attributes
    ----------
    name : str
    at : float
        Where on the picture's axis.
    theory : float
    run : Estimate
    z : float
        Distance in standard errors.
    """

    name: str
    at: float
    theory: float
    run: Estimate
    z: float


@dataclass(frozen=True)
class WalkRuns:
    """Walks drawn for this report: rotations by persistence, correlations, and shares of the path."""

    rotations: dict[float, tuple[Compared, ...]]
    correlation: tuple[Compared, ...]
    shares: tuple[Compared, ...]

    @property
    def all(self) -> tuple[Compared, ...]:
        """All comparisons."""
        return (*(one for part in self.rotations.values() for one in part), *self.correlation, *self.shares)


def draw_walks(sites: tuple[int, ...], units: int, walks: int, seed: int) -> WalkRuns:
    """Return walks compared with their exact laws.

    Parameters
    ----------
    sites : tuple of int
        For the rotations.
    units : int
        Of each walk whose rotations are counted.
    walks : int
        For the shares.
    seed : int
    """
    generator = np.random.default_rng([seed, 4])
    rotations = {phi: tuple(_rotations(count, phi, units, generator) for count in sites) for phi in PERSISTENCES}
    return WalkRuns(rotations, _correlations(generator), _shares(walks, generator))


def _rotations(sites: int, persistence: float, units: int, generator: np.random.Generator) -> Compared:
    walk = geometric_walk(sites, growth=STEP_GROWTH, persistence=persistence)
    turned = rotations(draw_walk(walk, 1, units, seed=generator)).as_printed
    return _compared(f"rotations in {sites} sites, φ = {persistence:g}", sites, float(walk.rotations[-1]), turned)


def _correlations(
    generator: np.random.Generator, sites: int = 32, texts: int = 400, units: int = 48
) -> tuple[Compared, ...]:
    r"""Return r at some steps; that of N texts is too low by r(1 - r²)/2N, which the theory here includes."""
    walk = geometric_walk(sites, growth=STEP_GROWTH, persistence=PERSISTENCES[1])
    found = unit_correlations(draw_walk(walk, texts, units, seed=generator)).r
    exact = walk.correlation - walk.correlation * (1.0 - walk.correlation**2) / (2.0 * texts)
    return tuple(_compared(f"r at step {at} of {sites - 1}", at, float(exact[at]), found[at]) for at in (1, 10, 28))


def _shares(walks: int, generator: np.random.Generator, sites: int = 32, units: int = 256) -> tuple[Compared, ...]:
    walk = geometric_walk(sites, growth=STEP_GROWTH)
    drawn = np.array([path_shares_of(draw_walk(walk, 1, units, seed=generator).states[0]) for _ in range(walks)])
    exact = walk.path_shares(units)
    return tuple(
        _compared(
            f"share along {k} component{'s' if k > 1 else ''}, {sites} sites", k, float(exact[k - 1]), drawn[:, k - 1]
        )
        for k in (1, PLANE_COMPONENTS, 4)
    )


def _compared(name: str, at: float, theory: float, drawn: np.ndarray) -> Compared:
    mean, error = float(drawn.mean()), float(drawn.std(ddof=1) / np.sqrt(drawn.size))
    return Compared(name, at, theory, from_standard_error(mean, error, drawn.size), (mean - theory) / error)


@dataclass(frozen=True)
class Streams:
    """Streams of networks compared with walks of the same steps, by name, and why some are missing."""

    found: dict[str, WalkComparison]
    colors: dict[str, str]
    accuracy: Estimate | None
    missing: tuple[str, ...]


def run_streams(blocks: int, epochs: int, texts: int, seed: int, running: Running) -> Streams:
    """Train a network on digits, and read a packaged encoder if it is installed.

    Parameters
    ----------
    blocks, epochs : int
        Of the network.
    texts : int
        For the encoder; it is left out if there are none.
    seed : int
    running : Running
        Gets a step after each of the two.
    """
    from genlaws.residual_stream.digit_network import digit_stream  # noqa: PLC0415 - torch

    digits = digit_stream(blocks=blocks, epochs=epochs, seed=seed)
    found = {
        "digits, untrained": compare_with_walk(digits.untrained),
        "digits, trained": compare_with_walk(digits.stream),
    }
    running.advance()
    missing: tuple[str, ...] = ()
    if texts:
        try:
            found["MiniLM"] = compare_with_walk(_encoder_stream(texts))
        except InputError as problem:
            missing = (f"Not compared with a language model: {problem}",)
    running.advance()
    colors = {"digits, untrained": "sky", "digits, trained": "blue", "MiniLM": "orange"}
    return Streams(found, colors, digits.accuracy, missing)


def _encoder_stream(texts: int) -> Any:
    encoder: Any = probes.encoders.load.load_encoder("minilm", kind="text")
    return models.capture.capture_texts(encoder.network, encoder.tokenizer, list(example_texts(texts))).stream


@dataclass(frozen=True)
class StreamSectionSizes:
    """How much is run."""

    sites: tuple[int, ...] = (8, 16, 32, 48, 64)
    units: int = 3000
    walks: int = 60
    blocks: int = 12
    epochs: int = 12
    texts: int = 60


QUICK_STREAM_SIZES = StreamSectionSizes(sites=(8, 24), units=400, walks=20, blocks=5, epochs=1, texts=0)


def residual_stream_section(running: Running, seed: int, *, quick: bool = False) -> Section:
    """Run walks and networks and compare them with the laws of walks.

    `quick`: much smaller runs, and no language model, for a quick check.
    """
    sizes = QUICK_STREAM_SIZES if quick else StreamSectionSizes()
    running.start(3, "residual stream")
    walks = draw_walks(sizes.sites, sizes.units, sizes.walks, seed)
    running.advance()
    if has_torch():
        streams = run_streams(sizes.blocks, sizes.epochs, sizes.texts, seed, running)
    else:
        streams = Streams({}, {}, None, (WITHOUT_TORCH,))
        running.advance(2)
    ran = {"sites": sizes.sites[0], "growth": STEP_GROWTH, "units": sizes.units, "seed": seed}
    measured = with_new_file(
        "texts.txt", WRITE_EXAMPLES_CODE.format(count=sizes.texts), STREAM_COMMANDS.format(seed=seed)
    )
    return Section(
        name="residual-stream",
        title="Residual stream",
        question="Which motion of a network's states does a random walk also show?",
        law=STREAM_LAW,
        panels=_panels(walks, streams),
        numbers=(*map(_walk_number, walks.all), *_stream_numbers(streams)),
        findings=(*_findings(walks, streams), *streams.missing),
        implications=STREAM_IMPLICATIONS,
        python=STREAM_CODE.format(**ran),
        command=measured if "MiniLM" in streams.found else "",
    )


def _panels(walks: WalkRuns, streams: Streams) -> tuple[Panel, ...]:
    own = [
        curve_of_estimates(name, [one.walk.site_count], [one.rotations[-1]], streams.colors[name])
        for name, one in streams.found.items()
    ]
    rotations = rotations_panel(
        [*_turn_lines(walks), *own],
        before="stream-",
        x_label="number of sites L",
        caption=f"Lines: exact, for walks whose steps grow {STEP_GROWTH:g} times. Points: walks drawn for this report, "
        "and the mean over units of networks (their steps differ from the lines'; the numbers below have the walk of "
        "each). 95 % intervals over units.",
    )
    if not streams.found:
        return (rotations,)
    return rotations, _neighbors(streams), _share_panel(streams)


def _turn_lines(walks: WalkRuns) -> list[Curve]:
    curves = []
    for (phi, found), color in zip(walks.rotations.items(), ("ink", "green"), strict=True):
        sites = np.unique(np.geomspace(4, max(one.at for one in found), 16).round().astype(int)).tolist()
        line = [float(geometric_walk(one, growth=STEP_GROWTH, persistence=phi).rotations[-1]) for one in sites]
        curves.append(Curve(f"walk, φ = {phi:g}, theory", "theory", sites, line, color))
        at, runs = [one.at for one in found], [one.run for one in found]
        curves.append(curve_of_estimates(f"walk, φ = {phi:g}, drawn", at, runs, color))
    return curves


def _neighbors(streams: Streams) -> Panel:
    curves = []
    for name, one in streams.found.items():
        depth = ((np.arange(one.walk.site_count - 1) + 0.5) / (one.walk.site_count - 1)).tolist()
        color, found = streams.colors[name], one.correlation_random_axes
        curves.append(Curve(f"{name}: walk with its steps", "theory", depth, one.walk.correlation.tolist(), color))
        curves.append(curve_of_estimates(name, depth, found, color))
    caption = (
        "How far the correlation of an axis with itself one site later is below 1, mean over random axes, with 95 % "
        "intervals over inputs. Lines: a random walk with the same step sizes, exact. Points below the line have steps "
        "that continue in one direction, points above it steps that cancel what was written."
    )
    return neighbors_panel(curves, before="stream-", caption=caption, x_label="depth (share of all steps)")


def _share_panel(streams: Streams) -> Panel:
    curves = []
    for name, one in streams.found.items():
        color, numbers = streams.colors[name], range(1, one.shares.value.size + 1)
        curves.append(walk_shares(f"{name}: 95 % of walks", one, color))
        curves.append(curve_of_estimates(name, numbers, one.shares, color))
    return shares_panel(curves, before="stream-")


def walk_shares(name: str, one: WalkComparison, color: str) -> Curve:
    """Return the shares of a walk's path along its first components, and between which 95 % of walks lie."""
    value, half = one.walk.path_shares(one.units), NORMAL * one.walk.path_share_deviations(one.units)
    ends = {"low": (value - half).tolist(), "high": np.minimum(value + half, 1.0).tolist()}
    return Curve(name, "theory", list(range(1, value.size + 1)), value.tolist(), color, **ends)


def _walk_number(one: Compared) -> tuple[str, str, str]:
    return f"walk: {one.name}", f"theory {one.theory:.4f}, drawn {one.run}", f"z = {one.z:+.1f}"


def _stream_numbers(streams: Streams) -> list[tuple[str, str, str]]:
    rows = []
    for name, one in streams.found.items():
        share = f"walk {_plane(one)}, network {one.shares[PLANE_COMPONENTS - 1]}"
        rotations = f"walk {one.walk.rotations[-1]:.2f}, network {one.rotations[-1]}"
        middle = (one.walk.site_count - 1) // 2
        turned = one.correlation_random_axes[middle]
        r = f"walk {one.walk.correlation[middle]:.3f}, network {one.correlation[middle]}, in random axes {turned}"
        rows += [
            (f"{name}: r in the middle", r, "of a unit, one site later"),
            (f"{name}: rotations", rotations, f"in {one.walk.site_count} sites"),
            (f"{name}: share in a plane", share, "± of the walk: 95 % of walks"),
            (f"{name}: persistence", f"{one.persistence:+.2f}", "mean cosine between a step and the next"),
        ]
    if streams.accuracy is not None:
        rows.append(("digits, trained: accuracy", str(streams.accuracy), "on digits left out"))
    return rows


def _plane(one: WalkComparison) -> Estimate:
    value = float(one.walk.path_shares(one.units)[PLANE_COMPONENTS - 1])
    half = NORMAL * float(one.walk.path_share_deviations(one.units)[PLANE_COMPONENTS - 1])
    return Estimate(value, value - half, value + half)


def _findings(walks: WalkRuns, streams: Streams) -> list[str]:
    found = [agreement([one.z for one in walks.all]).sentence("numbers of walks (rotations, correlations, shares)")]
    return found + list(map(partial(_finding, streams), streams.found))


def _finding(streams: Streams, name: str) -> str:
    """Return where a network differs from its walk, and where it does not."""
    one = streams.found[name]
    return f"{name}: " + "; ".join(beyond_walk(one)) + "."


def beyond_walk(one: WalkComparison) -> list[str]:
    """Return how a stream differs from the walk with its steps: rotations, plane, correlation, last length."""
    scatter = (one.rotations.high[-1] - one.rotations.low[-1]) / (2 * NORMAL) * np.sqrt(one.units)
    apart = float((one.rotations.value[-1] - one.walk.rotations[-1]) / scatter)
    turning = "no sign of orbits" if apart < 1.0 else "more than a walk"
    plane, share = _plane(one), one.shares[PLANE_COMPONENTS - 1]
    flat = "flatter than 95 % of walks" if share.low > plane.high else "no flatter than walks"
    away = float(np.nanmax(np.abs(one.correlation_random_axes.value - one.walk.correlation)))
    longer = float(one.size.value[-1] / one.walk.size[-1])
    return [
        f"units rotate {one.rotations.value[-1]:.2f} times and in the walk {one.walk.rotations[-1]:.2f}, a difference "
        f"of {abs(apart):.1f} times one unit's scatter ({turning})",
        f"a plane holds {share.value:.0%} of the mean path and {plane.value:.0%} of a walk's ({flat})",
        f"r of neighboring sites in random axes is at most {away:.3f} from the walk's",
        f"the last state is {longer:.2f} times as long as the walk's (persistence of steps {one.persistence:+.2f})",
    ]
