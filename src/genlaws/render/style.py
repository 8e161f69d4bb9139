"""How every figure of the project looks: one palette, one size of type, one way to label a curve.

The colors are Okabe and Ito's, which remain distinct to color-blind readers. A thing keeps its color in every
figure. Ordered quantities (sample ratio, width, angle) take evenly spaced steps of a perceptually uniform map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.style import context as style_sheet
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pandas import DataFrame

BLACK, ORANGE, SKY_BLUE, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GRAY, DARK_GRAY, LIGHT_GRAY = "#7F7F7F", "#4D4D4D", "#BFBFBF"

LOSS_COLORS = {"square": BLUE, "hinge": VERMILLION}
BAYES_COLOR = BLACK
KERNEL_COLORS = {
    "linear": GRAY,
    "erf": ORANGE,
    "relu": GREEN,
    "sign": YELLOW,
    "gaussian": PURPLE,
    "exponential": SKY_BLUE,
    "geometric": SKY_BLUE,
    "polynomial": DARK_GRAY,
}
KERNEL_NAMES = {"relu": "ReLU", "gaussian": "Gaussian"}

# The ends of a regularization path, as the paper marks them.
ZERO_MARKER: dict[str, Any] = {"marker": "^", "color": BLACK, "markersize": 4.5, "linestyle": "none", "zorder": 5}
INFINITE_MARKER: dict[str, Any] = {"marker": "s", "color": BLACK, "markersize": 4.0, "linestyle": "none", "zorder": 5}

COLUMN, PAGE = 3.4, 7.0  # inches: one column of a two-column page, and the whole page
SMALL_TYPE = 6.5

ORDERED_MAP = "viridis"
ORDERED_RANGE = (0.0, 0.82)  # the palest end is lost on paper
MAP_COLORS = "cividis"
LUMINANCE_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])  # of red, green and blue
MAX_TEXT_LUMINANCE = 0.5  # luminance above which small type on white is hard to read
BAND_ALPHA = 0.2  # opacity of the band of an interval

GENERALIZATION_ERROR_LABEL = r"generalization error $\varepsilon_{\mathrm{gen}}$"
MEMORIZATION_ERROR_LABEL = r"memorization error $\varepsilon_{\mathrm{mem}}$"
PLANE_LABELS = {"xlabel": "identification $p_I$ (probability)", "ylabel": "generalization $p_S$ (probability)"}
SAMPLE_RATIO_LABEL = r"samples per dimension $\alpha$"
FACT_FRACTION_LABEL = r"fact fraction $\varepsilon$"
ANGLE_TICKS = ["0", "π/8", "π/4", "3π/8", "π/2"]
KERNEL_ANGLE_LABEL = r"kernel angle $\theta$ (rad)"

_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 6.5,
    "legend.title_fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    "mathtext.fontset": "dejavusans",
    "axes.formatter.use_mathtext": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "genlaws",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "path.simplify_threshold": 0.05,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save inside this, whatever the user's own matplotlib settings are."""
    with style_sheet(_STYLE, after_reset=True):
        yield


def pictures_in_style(draw: Callable[[Any], dict[str, Figure]], given: Any) -> dict[str, Figure]:
    """Return the pictures of `given` in the house style, whose layout is the same wherever they are saved."""
    with house_style():
        pictures = draw(given)
        for picture in pictures.values():
            picture.draw_without_rendering()
            picture.set_layout_engine("none")
    return pictures


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, independent of pyplot and any window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def one_panel(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure of a size in inches, and its only panel."""
    figure = new_figure(width, height)
    return figure, figure.subplots()


def ordered_colors(count: int) -> list[Any]:
    """Return `count` colors in order, dark to light."""
    low, high = ORDERED_RANGE
    return [mpl.colormaps[ORDERED_MAP](value) for value in np.linspace(low, high, max(count, 1))]


def shades(color: str, count: int, darkest: float = 0.25) -> list[tuple[float, float, float]]:
    """Return `count` shades of a color, from nearly black to itself."""
    red, green, blue = to_rgb(color)
    return [(red * share, green * share, blue * share) for share in np.linspace(darkest, 1.0, count).tolist()]


def angle_colors() -> ListedColormap:
    """Return the color map of kernel angles; the palest end is left out."""
    return ListedColormap(mpl.colormaps[ORDERED_MAP](np.linspace(0.0, 0.93, 256)), "kernel angle")


def angle_color(angle: float) -> Any:
    """Return the color of a kernel angle, the same in every figure."""
    return angle_colors()(angle / (np.pi / 2))


def text_color(color: Any) -> tuple[float, ...]:
    """Return a color dark enough to be read as small type on white."""
    full = np.array(to_rgb(color))
    luminance = float(full @ LUMINANCE_WEIGHTS)
    return tuple(float(part) for part in full * min(1.0, MAX_TEXT_LUMINANCE / max(luminance, 1e-9)))


def literal(text: str) -> str:
    """Return a text in which matplotlib reads no dollar sign as a formula."""
    return text.replace("$", r"\$")


def kernel_label(name: str) -> str:
    """Return the name of a kernel as it is written in a figure."""
    return KERNEL_NAMES.get(name, name)


def log_axis(axes: Axes, which: str, low: float, high: float) -> None:
    """Make the x or y axis logarithmic from `low` to `high`, with ticks a person can read."""
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"set_{which}lim")(low, high)
    axis = axes.xaxis if which == "x" else axes.yaxis
    decades = np.log10(high / low)
    subs = (1.0,) if decades >= 2.0 else (1.0, 2.0, 5.0)
    every = max(1.0, np.ceil(decades / 6.0))
    axis.set_major_locator(LogLocator(base=10.0**every if len(subs) == 1 else 10.0, subs=subs, numticks=20))
    axis.set_minor_locator(LogLocator(subs=tuple(range(1, 10)), numticks=100))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_power(value)))
    axis.set_minor_formatter(NullFormatter())


def set_ticks(axis: Axis, ticks: Sequence[float]) -> None:
    """Give an axis these ticks as plain numbers, and no others."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def plain_power(value: float) -> str:
    """Return 0.01, 0.1, 1, … 1000 as they are and other powers of ten as powers."""
    if value <= 0.0:
        return ""
    if 0.999e-2 < value < 1.001e3:
        return f"{value:g}"
    exponent = int(np.floor(np.log10(value) + 1e-9))
    leading = value / 10.0**exponent
    power = f"10^{{{exponent}}}"
    return f"${power}$" if abs(leading - 1.0) < 1e-6 else rf"${leading:g}\times{power}$"


def angle_axis(axes: Axes) -> None:
    """Give the x axis the range of kernel angles, 0 to π/2."""
    axes.set_xlim(0.0, np.pi / 2 * 1.02)
    axes.xaxis.set_major_locator(FixedLocator([0.0, np.pi / 8, np.pi / 4, 3 * np.pi / 8, np.pi / 2]))
    axes.set_xticklabels(ANGLE_TICKS)
    axes.set_xlabel(KERNEL_ANGLE_LABEL)


def mark_path_ends(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Mark a path from regularization zero (first point, triangle) to infinity (last point, square)."""
    axes.plot(x[0], y[0], clip_on=False, **ZERO_MARKER)
    axes.plot(x[-1], y[-1], clip_on=False, **INFINITE_MARKER)


def plot_with_band(
    axes: Axes, table: DataFrame, x: str, name: str, color: Any, *, alpha: float = 0.2, **look: Any
) -> list[Line2D]:
    """Draw a column as a line with a pale band from ``<name>_low`` to ``<name>_high``, and return the line."""
    axes.fill_between(table[x], table[f"{name}_low"], table[f"{name}_high"], color=color, alpha=alpha, linewidth=0)
    return axes.plot(table[x], table[name], color=color, **look)


def legend_below(figure: Figure, handles: Sequence[Line2D]) -> None:
    """Write a legend in one row below the panels, where it covers nothing."""
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handletextpad=0.5, columnspacing=2.0)


def path_end_handles(measured: tuple[float, float] | None = None) -> list[Line2D]:
    """Return legend entries of the two markers; `measured` names the regularizations at which runs end instead."""
    first, last = r"no regularization, $\lambda\to0$", r"infinite regularization, $\lambda\to\infty$"
    if measured is not None:
        low, high = (plain_power(strength) for strength in measured)
        first, last = rf"$\lambda\to0$ (measured: {low})", rf"$\lambda\to\infty$ (measured: {high})"
    return [Line2D([], [], label=first, **ZERO_MARKER), Line2D([], [], label=last, **INFINITE_MARKER)]
