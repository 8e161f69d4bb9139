"""Comparison of a statistic of a stream with the same statistic of its surrogates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, whole_number
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of, stack_frames
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.seeds import name_in_seed
from genlaws.models.stream import Stream
from genlaws.residual_stream.dynamics.portraits import portraits, tangent_rotations
from genlaws.residual_stream.measures.curves import no_numbers
from genlaws.residual_stream.parameters import (
    Draws,
    Seed,
)
from genlaws.residual_stream.surrogates.kinds import SUPPLIED_SURROGATES, SURROGATES

DEFAULT_SURROGATES = ("random walk", "phase-randomized", "layer shuffle", "basis rotation")
PERMUTED_POINTS = "permuted points"
SURROGATE_SIGNIFICANCE_LEVEL = 0.05
RELATIVE_ROUNDING = 1e-9  # relative; a surrogate that varies less leaves the statistic as it is


@dataclass(frozen=True)
class SurrogateComparison:
    """A statistic and its values under one surrogate; all arrays have the shape of the statistic.

    Attributes
    ----------
    observed : array
    mean, standard_deviation : arrays
        Of the draws; the deviation is NaN for a single draw.
    z_score : array
        Distance of the observed value from the mean in standard deviations; NaN where the surrogate does not change
        the statistic, infinite where it makes it constant at another value.
    p_value : array
        (1 + k)/(1 + n) with k of the n draws at least as far from the common mean of all n + 1 values as the observed
        one: two-sided, and exact where the stream is one more draw.
    draw_count : int
    draws : array, one more axis in front
        Values under the surrogate.
    """

    observed: Array
    mean: Array
    standard_deviation: Array
    z_score: Array
    p_value: Array
    draw_count: int
    draws: Array = field(default_factory=no_numbers, kw_only=True, metadata=UNWRITTEN)


@dataclass(frozen=True, eq=False, repr=False)
class SurrogateTest(Result):
    """A statistic of a stream against several surrogates.

    Attributes
    ----------
    observed : array
        The statistic of the stream: one number, or an array.
    against : mapping
        Name of a surrogate to the :class:`SurrogateComparison` with it.
    labels : tuple of str
        Names of the entries of the statistic, or empty.
    """

    observed: Array
    against: Mapping[str, SurrogateComparison]
    labels: tuple[str, ...] = ()

    def of_mean(self) -> SurrogateTest:
        """Return the test of the mean over all entries of the statistic."""
        means = {name: one.draws.reshape(len(one.draws), -1).mean(axis=1) for name, one in self.against.items()}
        observed = np.asarray(self.observed.mean())
        return SurrogateTest(observed, {name: compare(observed, draws) for name, draws in means.items()})

    def to_frame(self) -> DataFrame:
        """Return one row per surrogate and entry of the statistic."""
        entries = self.labels or range(self.observed.size)
        tables = [
            frame_of(
                {
                    "surrogate": name,
                    "entry": entries,
                    "observed": one.observed.ravel(),
                    "surrogate_mean": one.mean.ravel(),
                    "surrogate_sd": one.standard_deviation.ravel(),
                    "z_score": one.z_score.ravel(),
                    "p_value": one.p_value.ravel(),
                    "draws": one.draw_count,
                }
            )
            for name, one in self.against.items()
        ]
        return stack_frames(tables)

    def summary(self) -> Summary:
        """Return one row per surrogate; for many entries, that of their mean and how many stand out.

        A test that was read from JSON has no draws, and then only the latter.
        """
        if self.observed.size > 1 and not all(one.draws.size for one in self.against.values()):
            return Summary([Row(name, _format_share(one)) for name, one in self.against.items()])
        shown = self if self.observed.size == 1 else self.of_mean()
        of = "" if self.observed.size == 1 else f" (mean of {self.observed.size})"
        rows = [Row("observed", f"{float(shown.observed.ravel()[0]):.4g}{of}")]
        for name, one in shown.against.items():
            mean, sd, z, p = (
                float(value.ravel()[0]) for value in (one.mean, one.standard_deviation, one.z_score, one.p_value)
            )
            alone = f", {_format_share(self.against[name])}" if of else ""
            text = (
                f"mean {mean:.4g}, standard deviation {sd:.2g}, z = {z:.2f}, p = {p:.2g} (n = {one.draw_count}){alone}"
            )
            rows.append(Row(name, text))
        return Summary(rows)


def _format_share(one: SurrogateComparison) -> str:
    """Return how many entries stand out."""
    share = float((one.p_value <= SURROGATE_SIGNIFICANCE_LEVEL).mean())
    return f"{share:.0%} of single entries with p ≤ {SURROGATE_SIGNIFICANCE_LEVEL}"


@question
def against_surrogates(
    stream: Stream,
    statistic: Callable[[Stream], ArrayLike],
    *,
    surrogates: Sequence[str] = DEFAULT_SURROGATES,
    draws: Draws = 200,
    seed: Seed,
    supplied: Mapping[str, Stream | Sequence[Stream]] | None = None,
    labels: Sequence[str] = (),
) -> SurrogateTest:
    """Compare a statistic of a stream with the same statistic of surrogates.

    Parameters
    ----------
    stream : Stream
        For a statistic of the mean over texts, give the mean path: the result has the same distribution and is faster
        to compute.
    statistic : function of a Stream
        Returns a number or an array, of the same shape for every stream.
    surrogates : names
        Of ``random walk``, ``step signs``, ``phase-randomized``, ``phase-randomized steps``, ``layer shuffle`` and
        ``basis rotation``.
    draws : int >= 2
        Surrogates of each kind. A p-value cannot be smaller than 1/(1 + draws).
    seed : int
        A kind gives the same draws whichever others are requested.
    supplied : mapping of name to Stream, or to several
        Surrogates that need a model or other texts, such as ``random weights`` or ``shuffled tokens``. One stream
        alone has no spread: its value is shown, its z-score is NaN and its p-value 1.
    labels : names of the entries of the statistic, optional
    """
    given = _supplied_streams(supplied or {})
    _check_names(surrogates, given)
    observed = np.asarray(statistic(stream), dtype=np.float64)
    if labels and len(labels) != observed.size:
        raise InputError(f"labels must name the {observed.size} entries of the statistic; got {len(labels)}.")
    drawn = {name: _drawn(stream, name, draws, seed) for name in surrogates}
    against = {}
    for name, streams in (drawn | given).items():
        values = [_surrogate_value(statistic, one, observed, name) for one in streams]
        against[name] = compare(observed, np.stack(values))
    return SurrogateTest(observed, against, tuple(labels))


def _drawn(stream: Stream, name: str, draws: int, seed: int) -> Iterator[Stream]:
    """Yield surrogates of one kind."""
    generator = np.random.default_rng([seed, *name_in_seed(name).encode()])
    return (SURROGATES[name](stream, generator) for _ in range(draws))


def against_permuted_points(stream: Stream, *, draws: int = 1000, seed: int) -> SurrogateTest:
    """Compare the tangent's rotations of every unit with those of its points in random order, the paper's control.

    Activation and gradient are permuted together, a permutation for each unit, so the gradient no longer belongs to
    the path. The mean over orders is zero for every path: see
    :func:`genlaws.residual_stream.dynamics.portraits.tangent_rotations`. The layer shuffle, which computes the gradient
    again, is an informative control.
    """
    draws, seed = whole_number("draws", draws, at_least=2), whole_number("seed", seed)
    drawn = portraits(stream)
    generator = np.random.default_rng([seed, *PERMUTED_POINTS.encode()])
    order = np.repeat(np.arange(drawn.activation.shape[0])[:, None], stream.unit_count, axis=1)
    counts = np.empty((draws, stream.unit_count))
    for row in counts:
        generator.permuted(order, axis=0, out=order)
        row[:] = tangent_rotations(
            *(np.take_along_axis(one, order, axis=0) for one in (drawn.activation, drawn.gradient))
        )
    observed = tangent_rotations(drawn.activation, drawn.gradient)
    return SurrogateTest(observed, {PERMUTED_POINTS: compare(observed, counts)})


def compare(observed: Array, draws: Array) -> SurrogateComparison:
    """Return z-scores and two-sided rank p-values of observed values against draws, the first axis over draws."""
    count = len(draws)
    mean = np.asarray(draws.mean(axis=0))
    spread = np.asarray(draws.std(axis=0, ddof=1)) if count > 1 else np.full(observed.shape, np.nan)
    rounding = RELATIVE_ROUNDING * np.maximum(np.abs(observed), np.abs(mean))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (observed - mean) / np.where(spread <= rounding, 0.0, spread)
    z = np.where((spread <= rounding) & (np.abs(observed - mean) <= rounding), np.nan, z)
    center = (mean * count + observed) / (count + 1.0)
    far = np.abs(draws - center) >= np.abs(observed - center) - rounding
    p = (1.0 + far.sum(axis=0)) / (1.0 + count)
    valid = np.isfinite(observed) & np.isfinite(mean)
    p_value = np.asarray(np.where(valid, p, np.nan))
    return SurrogateComparison(observed, mean, spread, np.asarray(z), p_value, count, draws=draws)


def _surrogate_value(statistic: Callable[[Stream], ArrayLike], stream: Stream, observed: Array, name: str) -> Array:
    """Return the statistic of a surrogate; raise if its shape is not that of the stream's own."""
    value = np.asarray(statistic(stream), dtype=np.float64)
    if value.shape != observed.shape:
        raise InputError(
            f"statistic must have the same shape for every stream; got {observed.shape} for the stream and "
            f"{value.shape} for the surrogate {name}."
        )
    return value


def _supplied_streams(supplied: Mapping[str, Stream | Sequence[Stream]]) -> dict[str, tuple[Stream, ...]]:
    """Return the streams given under each name; raise if there are none."""
    given = {name: (one,) if isinstance(one, Stream) else tuple(one) for name, one in supplied.items()}
    empty = [name for name, streams in given.items() if not streams]
    if empty:
        raise InputError(f"supplied must hold at least one stream under each name; got none for {empty[0]}.")
    return given


def _check_names(surrogates: Sequence[str], supplied: Mapping[str, object]) -> None:
    """Raise for a name that is unknown, needs a stream, or is taken."""
    if isinstance(surrogates, str):
        raise InputError(f"surrogates must be a sequence of names; got the text {surrogates!r}.")
    if not surrogates and not supplied:
        raise InputError("surrogates must name at least one kind, or supplied hold one; got neither.")
    for name in surrogates:
        if name in SUPPLIED_SURROGATES:
            raise InputError(f"surrogates must not name {name!r}: it needs a model; give its stream in supplied.")
        if name not in SURROGATES:
            raise InputError(f"surrogates must be of {', '.join(SURROGATES)}; got {name!r}.")
    taken = [name for name in supplied if name in SURROGATES]
    if taken:
        raise InputError(f"supplied must not use the name of a built-in surrogate; got {taken[0]!r}.")
