"""How ``genlaws semanticity front`` answers: the values of the JSON object, and the sentences for a person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genlaws.commands.output import aligned

if TYPE_CHECKING:
    from genlaws.semanticity import Front, FrontPoint

POINT_COLUMNS = (
    "generalisation",
    "identification",
    "resolution",
    "ball_mass",
    "ball_mass_variance",
    "item_count",
    "collapse_constant",
)
BEST_COLUMNS = ("resolution", "ball_mass", "generalisation")
# Columns of use to a person; the others would only widen a printed table.
TABLE_COLUMNS = (
    "background",
    "item_count",
    "resolution",
    "ball_mass",
    "generalisation",
    "identification",
    "best_resolution",
    "best_ball_mass",
    "best_generalisation",
)
SWEEP_COLUMNS = ("resolution", "ball_mass", "generalisation", "identification")
AS_GOOD = 1e-6  # a generalisation this close to the best one is the best one for a reader
ROUNDING = 1e-15  # a variance below it is zero
NO_BOUND = "A front belongs to one similarity and to Luce's choice rule; it is no bound on every system."


@dataclass(frozen=True)
class FrontQuestion:
    """What was asked about, apart from the numbers that may vary."""

    space: str
    similarity: str
    cut: float | None
    exponent: float | None
    set_size: int | None
    ties: str

    def named(self) -> dict[str, Any]:
        """Return what was asked about, under the names of the options."""
        return dict(vars(self))

    def title(self, background: float, item_count: int) -> str:
        """Return two lines for the head of a picture."""
        floor = f", background {background:g}" if background else ""
        return f"{self.similarity} similarity{floor}\n{item_count} items {self.place()}"

    def place(self) -> str:
        """Return where the items come from, in words."""
        if self.set_size is not None:
            return f"from {self.set_size} stimuli, none twice"
        return "from the given places" if self.space == "matrix" else f"on the {self.space}"


def point_answer(points: Sequence[tuple[float, FrontPoint, FrontPoint | None]]) -> dict[str, Any]:
    """Return the columns of points, given with their background and the best point; scalars where there is one."""
    columns: dict[str, list[Any]] = {name: [getattr(point, name) for _, point, _ in points] for name in POINT_COLUMNS}
    columns["background"] = [background for background, _, _ in points]
    for name in BEST_COLUMNS:
        columns[f"best_{name}"] = [None if best is None else getattr(best, name) for _, _, best in points]
    if len(points) == 1:
        return {name: values[0] for name, values in columns.items()}
    return dict(columns)


def sweep_answer(found: Front, marked: Sequence[FrontPoint]) -> dict[str, Any]:
    """Return the columns of a front, its peak, and the points to mark."""
    columns = {name: [getattr(point, name) for point in found.points] for name in POINT_COLUMNS}
    peak = found.peak
    best = {f"best_{name}": None if peak is None else getattr(peak, name) for name in BEST_COLUMNS}
    return {
        **columns,
        "peak": None if peak is None else dict(vars(peak)),
        **best,
        "marked": [dict(vars(point)) for point in marked],
        "message": found.message,
    }


def explain_point(question: FrontQuestion, answer: dict[str, Any]) -> str:
    """Return one answer: the numbers, what they mean, and how far they go."""
    mass = f"{answer['ball_mass']:.6g}"
    if answer["ball_mass_variance"] > ROUNDING:
        mass += f" on average, variance over probes {answer['ball_mass_variance']:.3g}"
    rows = {
        "generalisation": f"{answer['generalisation']:.6f}",
        "identification": f"{answer['identification']:.6f}",
        "resolution": _plain(answer["resolution"]),
        "ball mass": mass,
        "collapse constant": _collapse(answer["collapse_constant"], question.set_size),
        "best resolution": _best(answer),
    }
    count = answer["item_count"]
    rows = {name: value for name, value in rows.items() if value}
    return (
        f"{aligned(rows)}\n"
        f"With {count} items {question.place()}, the one nearest to a new probe is chosen "
        f"{answer['generalisation']:.1%} of the time, the original of a copied probe {answer['identification']:.1%}.\n"
        f"{_side(answer)}\n"
        f"{NO_BOUND}"
    )


def explain_table(question: FrontQuestion, answer: dict[str, Any]) -> str:
    """Return several answers as an aligned table."""
    import pandas as pd

    table = pd.DataFrame({name: answer[name] for name in TABLE_COLUMNS}).astype(float).astype({"item_count": int})
    table = table.dropna(axis="columns", how="all")
    meant = f"The similarity is {question.similarity}; the items are drawn {question.place()}."
    return f"{_aligned_table(table)}\n{meant}\n{NO_BOUND}"


def explain_sweep(found: Front, marked: Sequence[FrontPoint]) -> str:
    """Return a front as an aligned table with its peak in words."""
    table = found.to_frame()[list(SWEEP_COLUMNS)].dropna(axis="columns", how="all")
    lines = [_aligned_table(table), _peak(found)]
    for point in marked:
        best = {f"best_{name}": None if found.peak is None else getattr(found.peak, name) for name in BEST_COLUMNS}
        lines.append(
            f"Marked: generalisation {point.generalisation:.6f} and identification {point.identification:.6f} at "
            f"{_where(point)}. {_side({**vars(point), **best})}"
        )
    return "\n".join([*lines, NO_BOUND])


def _aligned_table(table: Any) -> str:
    return str(table.to_string(index=False, float_format=lambda x: f"{x:.6g}"))


def _peak(found: Front) -> str:
    peak = found.peak
    if peak is None:
        if found.points[0].generalisation > found.points[-1].generalisation:
            return (
                "There is no peak: down to the finest resolution here generalisation grows, and identification with it."
            )
        return "There is no peak inside these resolutions."
    crossing = " The front crosses the diagonal there." if abs(peak.diagonal_gap) < AS_GOOD else ""
    return (
        f"The peak is generalisation {peak.generalisation:.6f} at {_where(peak)}, "
        f"where identification is {peak.identification:.6f}.{crossing}"
    )


def _where(point: FrontPoint) -> str:
    mass = f"ball mass {point.ball_mass:.6g}"
    return mass if math.isnan(point.resolution) else f"resolution {point.resolution:.6g} ({mass})"


def _plain(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def _collapse(constant: float, set_size: int | None) -> str:
    number = f"{constant:.6g}"
    return f"{number} (with many items n, identification tends to {number}/n)" if set_size is None else number


def _best(answer: dict[str, Any]) -> str:
    if answer["best_generalisation"] is None:
        return "none"
    mass = f"ball mass {answer['best_ball_mass']:.6g}"
    radius = _plain(answer["best_resolution"])
    return f"{radius or mass}, generalisation {answer['best_generalisation']:.6f}" + (f" ({mass})" if radius else "")


def _side(answer: dict[str, Any]) -> str:
    """Say on which side of the peak a point lies."""
    if answer["best_generalisation"] is None:
        return "Generalisation has no peak here, so no resolution is best."
    if answer["best_generalisation"] - answer["generalisation"] < AS_GOOD:
        return "No other resolution generalises better."
    key = "ball_mass" if math.isnan(answer["resolution"]) else "resolution"
    if answer[key] < answer[f"best_{key}"]:
        return "This is finer than the best resolution: coarser generalises better, at the price of identification."
    return "This is coarser than the best resolution: finer, up to the best, does both better."
