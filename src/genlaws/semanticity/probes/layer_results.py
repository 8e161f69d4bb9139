"""Both tests in every layer of a language model, as a result: curves, best points, nearest items, read-out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from genlaws.numerics.arguments import Array
from genlaws.numerics.intervals import Estimate
from genlaws.semanticity.many_items import generalisation_of_many, identification_of_many
from genlaws.semanticity.probes.state_tests import Comparison

if TYPE_CHECKING:
    import pandas as pd

ESTIMATES = (
    "best_generalisation",
    "identification_there",
    "best_identification",
    "nearest_generalisation",
    "nearest_identification",
    "read_generalisation",
    "read_identification",
)
CURVES = (
    "threshold",
    "ball_mass",
    "generalisation",
    "generalisation_low",
    "generalisation_high",
    "identification",
    "identification_low",
    "identification_high",
)


@dataclass(frozen=True)
class LayerTest:
    """Both tests in one layer.

    Attributes
    ----------
    layer : int
        0 for the embeddings, l for the residual stream after block l.
    name : str
    threshold : array
        Distances within which an item counts as alike to the probe, increasing from 0.
    ball_mass : array
        Share of pairs of a probe and an item that is no copy of it within the threshold, over both tests.
    generalisation, identification : arrays
        :math:`p_S^n` and :math:`p_I^n` at each threshold; ``_low`` and ``_high`` are the ends of bootstrap intervals
        over trials, at fixed thresholds.
    best_generalisation, identification_there : Estimate
        Both at the threshold that is best for generalisation. It is chosen on one half of the trials and judged on the
        other, and the other way round, so that choosing does not flatter; the interval is for the two thresholds
        chosen.
    best_identification : Estimate
        At the threshold that is best for identification, in the same way.
    best_ball_mass : float
        Ball mass at the threshold best for generalisation, mean of the two halves.
    nearest_generalisation, nearest_identification : Estimate
        Share of trials in which the item nearest in representation is right, a tie among k counted as 1/k, with
        Wilson's interval.
    read_generalisation, read_identification : Estimate
        Mean probability of the right option in the read-out of the layer, with a bootstrap interval.
    """

    layer: int
    name: str
    threshold: Array
    ball_mass: Array
    generalisation: Array
    generalisation_low: Array
    generalisation_high: Array
    identification: Array
    identification_low: Array
    identification_high: Array
    best_generalisation: Estimate
    identification_there: Estimate
    best_identification: Estimate
    best_ball_mass: float
    nearest_generalisation: Estimate
    nearest_identification: Estimate
    read_generalisation: Estimate
    read_identification: Estimate


@dataclass(frozen=True)
class LayerTests:
    """Both tests in every layer of a language model.

    Attributes
    ----------
    model, domain, template : str
        What they are called.
    item_count, trial_count : int
        Items of a trial; trials of each test.
    pooling : str
    comparison : Comparison
    layers : tuple of LayerTest
    control : tuple of LayerTest
        The same with the probes exchanged between trials, and the read-out judged by the answers of others. It is at
        chance, 1/n, but for generalisation in a layer that knows the places: there it is what the layout of the items
        gives without the probe, as an item that stands apart is the nearest to most probes.
    unread : (int, int)
        Trials of similarity and of identification that no read-out counts, because two options begin with one token.
    single : float
        Share of trials whose options are one token each; in the others the read-out is of first tokens.
    """

    model: str
    domain: str
    template: str
    item_count: int
    trial_count: int
    pooling: str
    comparison: Comparison
    layers: tuple[LayerTest, ...]
    control: tuple[LayerTest, ...]
    unread: tuple[int, int]
    single: float

    @property
    def chance(self) -> float:
        """One over the number of items."""
        return 1.0 / self.item_count

    def to_frame(self) -> pd.DataFrame:
        """Return one row per layer; every estimate has its value and both ends, and ``control_`` beside it."""
        import pandas as pd  # noqa: PLC0415

        rows = []
        for one, control in zip(self.layers, self.control, strict=True):
            row: dict[str, str | float] = {"layer": one.layer, "name": one.name}
            for name in ESTIMATES:
                told: Estimate = getattr(one, name)
                row |= {name: told.value, f"{name}_low": told.low, f"{name}_high": told.high}
                row[f"control_{name}"] = getattr(control, name).value
            rows.append(row | {"best_ball_mass": one.best_ball_mass, "chance": self.chance})
        return pd.DataFrame(rows)

    def curves_frame(self) -> pd.DataFrame:
        """Return one row per layer and threshold, with the closed forms of a homogeneous space beside both tests.

        The closed forms are Theorem 3 at the ball mass of the row. They take a probe's copy to be at distance 0; in a
        text it is not, so identification may lie below.
        """
        return _Curves(self).to_frame()

    def __str__(self) -> str:
        how = [self.comparison.similarity, f"{self.pooling} token" if self.pooling == "last" else "mean of tokens"]
        how += ["centred by role" if self.comparison.by_role else "centred"] if self.comparison.centre else []
        how += ["standardised"] if self.comparison.standardise else []
        first = (
            f"{self.model}: {self.domain}, {self.template}, {self.item_count} items, {self.trial_count} trials of each "
            f"test, chance {self.chance:.3g}; {', '.join(how)}"
        )
        heads = ("best p_S", "p_I there", "best p_I", "nearest p_S", "nearest p_I", "read-out p_S", "read-out p_I")
        lines = [f"{'layer':<16}" + "".join(f"{head:>14}" for head in heads)]
        lines += [_line(one.name, [getattr(one, name).value for name in ESTIMATES]) for one in self.layers]
        means = [sum(getattr(one, name).value for one in self.control) / len(self.control) for name in ESTIMATES]
        lines.append(_line("exchanged, mean", means))
        return "\n".join([first, *lines, self._read_out_note()])

    def _read_out_note(self) -> str:
        """Return what the read-out rests on."""
        return (
            f"read-out: first tokens of the options, the whole option in {self.single:.0%} of trials; left out because "
            f"two options begin alike: {self.unread[0]} and {self.unread[1]} trials"
        )


@dataclass(frozen=True)
class _Curves:
    """The curves of all layers as one table."""

    tests: LayerTests

    def to_frame(self) -> pd.DataFrame:
        """Return one row per layer and threshold."""
        import pandas as pd  # noqa: PLC0415

        count = self.tests.item_count
        parts = []
        for one, control in zip(self.tests.layers, self.tests.control, strict=True):
            part = pd.DataFrame({name: getattr(one, name) for name in CURVES})
            part["homogeneous_generalisation"] = generalisation_of_many(one.ball_mass, count)
            part["homogeneous_identification"] = identification_of_many(one.ball_mass, count)
            part["control_generalisation"] = control.generalisation
            part["control_identification"] = control.identification
            part.insert(0, "name", one.name)
            part.insert(0, "layer", one.layer)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)


def _line(name: str, values: list[float]) -> str:
    return f"{name:<16}" + "".join(f"{value:>14.3f}" for value in values)
