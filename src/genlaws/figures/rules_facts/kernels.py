"""Figure 10: where common kernels lie, and the parameter that gives each family the best angle."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Recipe
from genlaws.render import style
from genlaws.rules_facts import Kernel, optimal_angle, parameter_for_angle
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.sweeps.experiment import Settings

FIXED_KERNELS = ("linear", "sign", "erf", "relu")
# Family, degree of the polynomial (0 where there is none), label of the curve, dashes.
FAMILY_CURVES = (
    ("polynomial", 2, "degree 2", "-"),
    ("polynomial", 3, "degree 3", "--"),
    ("exponential", 0, "exponential", "-"),
    ("geometric", 0, "geometric", "--"),
    ("gaussian", 0, "Gaussian", "-"),
)
PARAMETER_LABELS = {
    "polynomial": r"offset $c$",
    "geometric": r"ratio $\gamma$",
    "gaussian": r"exponential, rate $\gamma$",
}
ANGLE_RANGE = (0.15, 1.5)  # of the curves in the plane of coefficients
MAX_COEFFICIENT = 2.2  # largest coefficient in the picture


class FamiliesSettings(Settings):
    """The ray is drawn at ``fact_fraction``; the parameters run over all fact fractions."""

    fact_fraction: InnerShare = 0.2
    curve_points: Points = 160
    fact_points: Points = 99


def families_data(settings: FamiliesSettings, running: Running) -> pd.DataFrame:
    """Return coefficients and parameters.

    ``series`` is ``fixed`` (kernels without a parameter), ``family`` (a curve in the plane), ``optimal`` (the family at
    the best angle of ``fact_fraction``) or ``matching`` (the same along the fact fraction). A kernel without a
    parameter has parameter 0, one that is no polynomial degree 0.
    """
    shares = np.linspace(0.0, 1.0, settings.fact_points + 2)[1:-1]
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    running.start(len(FAMILY_CURVES), "families")
    tables = [
        _rows("fixed", name, Kernel.from_name(name), degree=0, parameter=0.0, fact_fraction=settings.fact_fraction)
        for name in FIXED_KERNELS
    ]
    for family, degree, _, _ in FAMILY_CURVES:
        series = (
            ("family", np.linspace(*ANGLE_RANGE, settings.curve_points), settings.fact_fraction),
            ("optimal", np.array([best]), settings.fact_fraction),
            ("matching", np.asarray(optimal_angle("square", fact_fraction=shares)), shares),
        )
        for name, angles, share in series:
            parameter = parameter_for_angle(family, angles, **({"degree": degree} if degree else {}))
            kernel = _kernel(family, degree, parameter)
            tables.append(_rows(name, family, kernel, degree=degree, parameter=parameter, fact_fraction=share))
        running.advance(1)
    return pd.concat(tables, ignore_index=True)


def _kernel(family: str, degree: int, parameter: np.ndarray) -> Kernel:
    squares = FAMILIES[family].squares(*([degree] if degree else []), np.ravel(parameter))
    return Kernel(np.sqrt(squares[0]), np.sqrt(squares[1]), family)


def _rows(series: str, family: str, kernel: Kernel, **given: float | np.ndarray) -> pd.DataFrame:
    columns = given | {name: getattr(kernel, name) for name in ("mu_1", "mu_star", "kernel_angle")}
    spread = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value)) for value in columns.values()))
    return pd.DataFrame({"series": series, "kernel": family, **dict(zip(columns, spread, strict=True))})


def draw_families(frame: pd.DataFrame, settings: FamiliesSettings) -> Figure:
    """Draw the plane of coefficients (left) and the matching parameters (right)."""
    figure = style.new_figure(style.PAGE, 3.3)
    left, right = figure.subplots(1, 2)
    plane = _draw_plane(left, frame, settings)
    matching = _draw_matching(right, frame, settings)
    style.legend_below(figure, [line for line in left.get_lines() if not str(line.get_label()).startswith("_")])
    direct_labels(left, *plane)
    direct_labels(right, *matching)
    return figure


def _draw_plane(axes: Axes, frame: pd.DataFrame, settings: FamiliesSettings) -> tuple[list[Line2D], list[str]]:
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    axes.set_xlim(0.0, MAX_COEFFICIENT)
    axes.set_ylim(0.0, MAX_COEFFICIENT)
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MultipleLocator(0.5))
    lines, labels = [], []
    fixed = frame[frame["series"] == "fixed"]
    for name, mu_1, mu_star in zip(fixed["kernel"], fixed["mu_1"], fixed["mu_star"], strict=True):
        _draw_dot(axes, (mu_star, mu_1), "D", style.KERNEL_COLORS[name], f"{style.kernel_label(name)} kernel")
    for family, degree, label, dashes in FAMILY_CURVES:
        here = frame[(frame["kernel"] == family) & (frame["degree"] == degree)]
        curve, match = here[here["series"] == "family"], here[here["series"] == "optimal"]
        lines += axes.plot(curve["mu_star"], curve["mu_1"], dashes, color=style.KERNEL_COLORS[family])
        labels.append(f"polynomial, {label}" if degree else label)
        _draw_dot(axes, (match["mu_star"].iloc[0], match["mu_1"].iloc[0]), "o", style.KERNEL_COLORS[family])
    _draw_dot(axes, (np.nan, np.nan), "o", "white", "family at the best angle")
    reach = 2.0 * MAX_COEFFICIENT
    lines += axes.plot(
        [0.0, reach * np.cos(best)], [0.0, reach * np.sin(best)], color=style.BLACK, linewidth=0.9, linestyle=":"
    )
    labels.append(rf"$\theta_{{\mathrm{{opt}}}}={best:.3f}$")
    axes.set_xlabel(r"non-linear coefficient $\mu_\star$")
    axes.set_ylabel(r"linear coefficient $\mu_1$")
    axes.set_title(rf"kernels, and the best angle at $\varepsilon={settings.fact_fraction:g}$")
    return lines, labels


def _draw_dot(axes: Axes, place: tuple[float, float], marker: str, color: str, label: str | None = None) -> None:
    (dot,) = axes.plot(*place, marker, color=color, markersize=4.2, clip_on=False, zorder=4, label=label)
    dot.set_markeredgecolor(style.BLACK)
    dot.set_markeredgewidth(0.5)


def _draw_matching(axes: Axes, frame: pd.DataFrame, settings: FamiliesSettings) -> tuple[list[Line2D], list[str]]:
    here = frame[frame["series"] == "matching"]
    lines, labels = [], []
    for family, degree, label, dashes in FAMILY_CURVES:
        if family == "exponential":
            continue
        curve = here[(here["kernel"] == family) & (here["degree"] == degree)]
        lines += axes.plot(curve["fact_fraction"], curve["parameter"], dashes, color=style.KERNEL_COLORS[family])
        labels.append(f"{label}, {PARAMETER_LABELS[family]}")
    axes.axvline(settings.fact_fraction, color=style.BLACK, linewidth=0.8, linestyle=":")
    axes.set_xlim(0.0, 1.0)
    style.log_axis(axes, "y", 0.03, 20.0)
    axes.set_xlabel(style.FACT_FRACTION_LABEL)
    axes.set_ylabel("parameter of the family")
    axes.set_title("parameter that gives the best angle")
    return lines, labels


KERNEL_FAMILIES = Recipe(FamiliesSettings, families_data, draw_families)
