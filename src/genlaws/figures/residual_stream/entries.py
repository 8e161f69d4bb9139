"""Every picture of an analyzed residual stream: which figure of the paper it is, its tables, and how to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from genlaws.figures.residual_stream import dimensions, perturbation, portraits, units
from genlaws.render.style import house_style

if TYPE_CHECKING:
    from genlaws.residual_stream.results import Analysis


@dataclass(frozen=True)
class StreamPicture:
    """One picture of an analysis.

    Attributes
    ----------
    name : str
        Name of its file.
    figure : str
        The figure of the paper it stands for, such as ``1B``; empty where the paper has none.
    draw : callable
        From an analysis to the picture.
    needs : tuple of str
        Attributes of an analysis of which at least one must be there.
    tables : tuple of str
        Names of the tables it is drawn from, as far as they were measured; ``*`` stands for the rest of several names.
    caption : str
        What the picture shows, and what it does not.
    wide : bool
        Whether it takes the whole width of a page.
    """

    name: str
    figure: str
    draw: Callable[[Analysis], Figure]
    needs: tuple[str, ...]
    tables: tuple[str, ...]
    caption: str
    wide: bool = False


PICTURES = (
    StreamPicture(
        "means",
        "1B",
        units.draw_means,
        ("means",),
        ("means",),
        "Mean activation of every unit over the texts, units ordered by the mean at the last site. Colors are cut "
        "at the 98th percentile of the sizes. A picture of means does not describe single texts.",
    ),
    StreamPicture(
        "correlations",
        "1C",
        units.draw_correlations,
        ("correlations",),
        ("correlations", "correlation_means", "correlation_test"),
        "Correlation over the texts of every unit with itself one site later; below, its mean over units with 95 % "
        "intervals. Gray, with the same markers: surrogates. Any stream with small steps has a high r, in every basis; "
        "only the difference from random weights is due to training.",
    ),
    StreamPicture(
        "correlation_histogram",
        "1D",
        units.draw_correlation_histogram,
        ("correlations",),
        ("correlation_histogram", "correlations"),
        "Histograms of the correlations of each unit over the steps and, above, of those of all units. They do not "
        "show at which layer a unit is weakly correlated; the heat map of correlations does.",
    ),
    StreamPicture(
        "cosine",
        "1E",
        units.draw_cosine,
        ("paths",),
        ("paths",),
        "Cosine of the angle between a state and the next, mean over the texts with 95 % intervals, for writes of "
        "attention and of the MLP. Gray, with the same markers: surrogates. It depends on a few units of large "
        "activation, if there are any.",
    ),
    StreamPicture(
        "velocity",
        "1F",
        units.draw_velocity,
        ("paths",),
        ("paths",),
        "Length of the steps, also relative to the state they start from. The paper shows only the former; a stream "
        "whose states grow has longer steps without changing direction faster. Intervals are 95 %; gray, with the same "
        "markers: surrogates.",
    ),
    StreamPicture(
        "information",
        "1G and 1H",
        units.draw_information,
        ("information",),
        ("information_*", "correlations"),
        "Mutual information of every unit with itself one site later, and its mean over units with 95 % intervals. "
        "Dotted: what the correlation alone implies for a Gaussian, −½ ln(1 − r²); where both agree, the information "
        "adds nothing. Thin gray: other texts at the next site, which is the bias of the estimator.",
    ),
    StreamPicture(
        "portraits",
        "2A",
        portraits.draw_portraits,
        ("portraits",),
        ("portraits",),
        "Mean activation of eight units against its gradient, from the unit that rotates least to the one that rotates "
        "most; the ring is the first site. Where the gradient is positive the activation grows, so every path that "
        "comes back rotates clockwise. Gray: the same steps with random signs, drawn once.",
        wide=True,
    ),
    StreamPicture(
        "rotations",
        "2B and 2C",
        portraits.draw_rotations,
        ("rotations",),
        ("rotations", "rotation_test"),
        "Clockwise rotations of units, counted as in the paper: all units, their mean and the central 95 % of each "
        "surrogate, and unit by unit. A count within the gray occurs in random walks too, and is no evidence.",
    ),
    StreamPicture(
        "dynamics",
        "",
        portraits.draw_dynamics,
        ("modes",),
        ("modes", "rotation_fit", "dynamics_test"),
        "Eigenvalues of the one linear map that fits all steps best on the first principal components, and the share "
        "of the mean path's steps that one rotation explains, compared with surrogates. One map for all layers is a "
        "summary; single layers may differ.",
    ),
    StreamPicture(
        "compression_path",
        "3B",
        dimensions.draw_compression_path,
        ("compression", "compression_normalized"),
        ("compression",),
        "Mean path of the test texts in the bottleneck of an autoencoder, with 95 % intervals; the ring is the first "
        "site. The bottleneck has no units and no axes of its own: another training gives another curve.",
    ),
    StreamPicture(
        "compression_steps",
        "3C",
        dimensions.draw_compression_steps,
        ("compression", "compression_normalized"),
        ("compression",),
        "Distance in the bottleneck from each site to the next, with 95 % intervals. Only ratios of these lengths mean "
        "something, and only within one training.",
    ),
    StreamPicture(
        "compression_explained",
        "3D",
        dimensions.draw_compression_explained,
        ("compression", "compression_normalized"),
        ("compression",),
        "Share of the variance over test texts that the autoencoder and equally many principal components "
        "reconstruct, with 95 % intervals; below zero the mean would be the better prediction (cut at −1). Without "
        "normalization the large states of late sites decide the training.",
    ),
    StreamPicture(
        "pca_paths",
        "4A",
        dimensions.draw_pca_paths,
        ("projected",),
        ("projected", "path_test"),
        "Paths of up to 200 texts along the two directions in which all states vary most, and their mean; below, the "
        "share of the mean path that two directions explain, compared with surrogates. A random walk lies mostly in "
        "a plane, so a curved path there is no finding by itself.",
    ),
    StreamPicture(
        "explained",
        "4B and 4C",
        dimensions.draw_explained,
        ("explained_pooled", "explained_site", "explained_normalized"),
        ("explained", "explained_normalized"),
        "Share of the variance over the texts along principal components of all sites pooled, as in the paper, and of "
        "each site by itself. Pooled components follow the sites with large states: only the curve of each site shows "
        "whether late states have fewer dimensions. Intervals are 95 %; gray, with the same markers: surrogates.",
    ),
    StreamPicture(
        "participation",
        "",
        dimensions.draw_participation,
        ("participation",),
        ("participation",),
        "Number of directions in which the texts differ at every site, with 95 % intervals. Gray: surrogates. It "
        "counts directions by their variance, so that one large direction can hide many small ones.",
    ),
    StreamPicture(
        "teleports",
        "4D",
        perturbation.draw_teleports,
        ("teleports",),
        ("teleports",),
        "The state of a text's last token, put at points of the plane of two components, and its path. As in the paper "
        "everything outside the plane is lost, so a return mixes regrowth of the lost part with attraction. Last "
        "panel: median share of the distance in the plane that is left, and the middle 80 % of the points. One prompt; "
        "no interval over texts.",
        wide=True,
    ),
    StreamPicture(
        "teleports_rest_kept",
        "",
        partial(perturbation.draw_teleports, keep_rest=True),
        ("teleports",),
        ("teleports",),
        "The same with everything outside the plane retained, so that a state comes nearer by attraction and not by "
        "regrowth. Last panel: median share of the distance in the plane that is left, and the middle 80 % of the "
        "points. One prompt; no interval over texts.",
        wide=True,
    ),
    StreamPicture(
        "perturbation",
        "",
        perturbation.draw_perturbation,
        ("perturbation",),
        ("perturbation",),
        "Distance from the undisturbed state after a small random disturbance, as it is and in units of the state's "
        "length, and the rates at which both grow, with 95 % intervals over texts. Below zero the disturbance decays: "
        "self-correction needs a negative rate, more negative than with random weights (gray).",
    ),
    StreamPicture(
        "lyapunov",
        "",
        perturbation.draw_lyapunov,
        ("lyapunov",),
        ("lyapunov",),
        "Growth per site of infinitely small disturbances in their own directions, the fastest first, with 95 % "
        "intervals over texts. Above zero they grow. Large disturbances may behave differently.",
    ),
)


def pictures_of(analysis: Analysis) -> list[StreamPicture]:
    """Return the pictures that can be drawn of an analysis, in the order of the paper."""
    return [one for one in PICTURES if any(_is_available(analysis, one.name, need) for need in one.needs)]


def stream_pictures(analysis: Analysis) -> dict[str, Figure]:
    """Return every picture that can be drawn of an analysis, by its name."""
    with house_style():
        return {one.name: one.draw(analysis) for one in pictures_of(analysis)}


def _is_available(analysis: Analysis, picture: str, need: str) -> bool:
    """Return whether an analysis has the results a picture is drawn from."""
    if need == "teleports":
        wanted = picture == "teleports_rest_kept"
        return any(one.keep_rest == wanted and one.coordinates.size for one in analysis.teleports)
    return bool(getattr(analysis, need))
