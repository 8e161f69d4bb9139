"""The pictures of a residual stream show the given numbers and surrogates, and hatch cells without a value."""

from dataclasses import replace

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.figures.residual_stream import dimensions, drawing, units
from genlaws.figures.residual_stream import perturbation as disturbed
from genlaws.figures.residual_stream import portraits as turning
from genlaws.figures.residual_stream.dimensions import draw_compression_explained, draw_compression_steps
from genlaws.figures.residual_stream.entries import PICTURES, pictures_of
from genlaws.render import style
from toy_stream_analysis import UNITS, measured, whole


@pytest.fixture(scope="module")
def analysis():
    return whole()


@pytest.fixture(scope="module")
def constant():
    return measured(constant=True, measures=("paths", "correlations", "information"))


def lines_of(axes, color):
    return [line for line in axes.get_lines() if line.get_color() == color]


def values_of(axes, color):
    return np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines_of(axes, color)])


def mesh_of(axes):
    (mesh,) = (one for one in axes.collections if hasattr(one, "get_coordinates"))
    return np.ma.filled(mesh.get_array().astype(float), np.nan)


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def by_write(curve):
    """Return the values of a curve over steps as they are drawn: attention first, then the MLP."""
    return np.concatenate([curve.value[::2], curve.value[1::2]])


def test_layers_are_units_of_the_axis_and_writes_stand_between_states(analysis):
    assert drawing.site_places(analysis.sites).tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    assert drawing.step_places(analysis.sites)[:3].tolist() == [0.25, 0.75, 1.25]
    assert drawing.cell_edges(np.array([0.0, 0.5, 1.0])).tolist() == [-0.25, 0.25, 0.75, 1.25]
    axes = units.draw_cosine(analysis).axes[0]
    assert axes.get_xlabel() == "layer"
    assert all(float(tick).is_integer() for tick in axes.get_xticks())
    (attention,) = lines_of(axes, style.VERMILLION)
    assert np.allclose(attention.get_xdata(), [0.25, 1.25, 2.25, 3.25])


def test_means_are_drawn_in_the_order_of_the_last_site(analysis):
    axes = units.draw_means(analysis).axes[0]
    drawn = mesh_of(axes)
    assert np.allclose(drawn, analysis.means.ordered.T)
    assert (np.diff(drawn[:, -1]) >= 0).all()


@pytest.mark.parametrize(
    ("draw", "measures"), [(units.draw_cosine, ["cosine"]), (units.draw_velocity, ["speed", "relative_speed"])]
)
def test_path_curves_have_both_writes_intervals_and_surrogates(analysis, draw, measures):
    figure = draw(analysis)
    assert {"attention writes", "MLP writes", "random weights", "shuffled tokens"} == set(legend_of(figure))
    for axes, measure in zip(figure.axes, measures, strict=True):
        curve = getattr(analysis.paths, measure)
        found = np.concatenate([values_of(axes, style.VERMILLION), values_of(axes, style.BLUE)])
        assert np.allclose(found, by_write(curve))
        assert len(axes.collections) == 2  # intervals of the two writes
        others = [by_write(getattr(one.paths, measure)) for one in analysis.references.values()]
        assert np.allclose(values_of(axes, style.GRAY), np.concatenate(others))


def test_correlations_have_a_heat_map_a_mean_and_random_axes(analysis):
    figure = units.draw_correlations(analysis)
    upper, lower = figure.axes[:2]
    assert np.allclose(mesh_of(upper), analysis.correlations.r[:, analysis.means.order].T)
    assert np.allclose(values_of(lower, style.VERMILLION), analysis.correlations.mean.value[::2])
    assert "basis rotation" in legend_of(figure)
    turned = analysis.correlation_test.against["basis rotation"].mean
    assert any(np.allclose(line.get_ydata(), turned[::2]) for line in lines_of(lower, style.GRAY))


def test_units_that_are_constant_are_hatched_and_named(constant):
    for draw in (units.draw_correlations, units.draw_information):
        figure = draw(constant)
        drawn = mesh_of(figure.axes[0])
        assert np.isnan(drawn[:, 0]).all()
        assert np.isfinite(drawn[:, 1:]).all()
        assert figure.axes[0].patch.get_hatch()
        assert units.NO_VALUE_LABEL in legend_of(figure)
        figure.draw_without_rendering()


def test_nothing_is_hatched_where_everything_has_a_value(analysis):
    figure = units.draw_correlations(analysis)
    assert not figure.axes[0].patch.get_hatch()
    assert units.NO_VALUE_LABEL not in legend_of(figure)


def test_histogram_of_correlations_is_its_table(analysis):
    figure = units.draw_correlation_histogram(analysis)
    table = analysis.tables()["correlation_histogram"]
    shares = table[table["stream"] == "model"]["share"].to_numpy().reshape(UNITS, -1)
    assert np.allclose(mesh_of(figure.axes[1]), shares[analysis.means.order], equal_nan=True)
    below = (analysis.correlations.r < 0).mean()
    assert ("below 0" in figure.axes[0].get_title(loc="left")) == bool(below)


def test_information_stands_beside_shuffled_texts_and_the_gaussian_of_its_correlations(analysis):
    figure = units.draw_information(analysis)
    axes, found = figure.axes[1], analysis.information["copula"]
    measured_values = np.array([one.value for one in found.means])
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in lines_of(axes, style.VERMILLION)]
    implied = (-0.5 * np.log1p(-(analysis.correlations.r**2))).mean(axis=1)
    assert any(np.allclose(one, measured_values[::2]) for one in drawn)
    assert any(np.allclose(one, implied[::2]) for one in drawn)
    baseline = [one.value for one in found.baselines]
    assert any(
        np.allclose(line.get_ydata(), baseline) for line in lines_of(axes, style.GRAY) if len(line.get_ydata()) == 8
    )
    assert "nats" in axes.get_ylabel()


def test_portraits_show_units_from_few_turns_to_many(analysis):
    figure = turning.draw_portraits(analysis)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert len(titles) == UNITS
    counts = [float(title.split(": ")[1].split()[0].replace("−", "-")) for title in titles]
    assert counts == sorted(counts)
    unit = int(titles[0].split()[1].rstrip(":"))
    drawn = figure.axes[0].collections[1].get_offsets()
    assert np.allclose(drawn[:, 0], analysis.portraits.activation[:, unit])
    assert np.allclose(drawn[:, 1], analysis.portraits.gradient[:, unit])


def test_rotations_stand_beside_every_surrogate(analysis):
    figure = turning.draw_rotations(analysis)
    strip, by_unit = figure.axes[1], figure.axes[2]
    assert [text.get_text() for text in strip.get_yticklabels()] == list(analysis.rotation_test.against)
    (line,) = lines_of(strip, style.BLACK)
    assert line.get_xdata()[0] == pytest.approx(analysis.rotations.as_printed.mean())
    assert np.allclose(values_of(by_unit, style.BLACK), np.sort(analysis.rotations.as_printed))
    assert "central 95 % of the random walk" in legend_of(figure)


def test_a_test_with_the_other_sign_gives_the_same_picture(analysis):
    test = analysis.rotation_test
    against = {name: replace(one, draws=-one.draws) for name, one in test.against.items()}
    turned = replace(analysis, rotation_test=replace(test, observed=-test.observed, against=against))
    one, other = (turning.draw_rotations(given).axes[1] for given in (analysis, turned))
    assert np.allclose(values_of(one, style.GRAY), values_of(other, style.GRAY))
    points = [[line.get_xdata()[0] for line in axes.get_lines()] for axes in (one, other)]
    assert np.allclose(*points)


def test_modes_are_in_the_plane_with_the_unit_circle(analysis):
    axes = turning.draw_dynamics(analysis).axes[0]
    (line,) = lines_of(axes, style.GREEN)
    assert np.allclose(line.get_xdata(), analysis.modes.eigenvalues.real)
    left, right = axes.get_xlim()
    assert left <= min(1.0, line.get_xdata().min())
    assert right >= max(1.0, line.get_xdata().max())


def test_paths_show_texts_and_their_mean(analysis):
    figure = dimensions.draw_pca_paths(analysis)
    pieces = next(one for one in figure.axes[0].collections if hasattr(one, "get_segments")).get_segments()
    assert len(pieces) == analysis.text_count * (len(analysis.sites) - 1)
    mean = lines_of(figure.axes[0], style.BLACK)[0]
    assert np.allclose(mean.get_xydata(), analysis.projected.mean)
    assert f"{100 * analysis.projected.axes.share[0]:.0f} %" in figure.axes[0].get_xlabel()


def test_explained_variance_has_pooled_and_own_components(analysis):
    figure = dimensions.draw_explained(analysis)
    lower = figure.axes[2]
    count = int(lower.get_ylabel().split()[2])
    for found, color in ((analysis.explained_pooled, style.PURPLE), (analysis.explained_site, style.GREEN)):
        assert np.allclose(values_of(lower, color), found.curve(count).value, equal_nan=True)
    assert len(lines_of(lower, style.GRAY)) == 4  # two surrogates, two kinds of components
    ratios = dimensions.draw_participation(analysis).axes[0]
    assert np.allclose(values_of(ratios, style.GREEN), analysis.participation.curve.value)


def test_compression_is_drawn_as_it_is_and_normalized(analysis):
    both = (analysis.compression, analysis.compression_normalized)
    for axes, one in zip(draw_compression_steps(analysis).axes, both, strict=True):
        drawn = np.concatenate([values_of(axes, style.VERMILLION), values_of(axes, style.BLUE)])
        assert np.allclose(drawn, by_write(one.step_length))
        assert ("root mean square" in axes.get_title()) == one.normalized
    for axes, one in zip(draw_compression_explained(analysis).axes, both, strict=True):
        assert np.allclose(values_of(axes, style.GREEN), one.explained.value)
        assert np.allclose(values_of(axes, style.GRAY), one.components_explained.value)


@pytest.mark.parametrize("keep_rest", [False, True])
def test_arrows_of_teleports_show_what_came_nearer(analysis, keep_rest):
    figure = disturbed.draw_teleports(analysis, keep_rest=keep_rest)
    assert len(figure.axes) == 3  # two sites and the shares
    first = next(one for one in analysis.teleports if one.keep_rest == keep_rest)
    arrows = next(one for one in figure.axes[0].collections if hasattr(one, "U"))
    assert np.allclose(np.column_stack([arrows.U, arrows.V]), first.movement)
    colors = {tuple(color) for color in arrows.get_facecolors()[1:]}
    assert len(colors) == 1
    assert tuple(arrows.get_facecolors()[0]) not in colors
    shares = [line for line in figure.axes[2].get_lines() if line.get_marker() == "o"]
    assert np.allclose(shares[0].get_ydata(), 0.5)
    relative = [line for line in figure.axes[2].get_lines() if line.get_marker() == "^"]
    assert np.allclose(relative[0].get_ydata(), 0.25)


def test_arrows_are_shortened_until_they_do_not_cover_one_another():
    start = np.array([[0.0, 0.0], [8.0, 8.0]])
    assert disturbed._arrow_factor(start, np.full((2, 2), 0.5)) == 1
    assert disturbed._arrow_factor(start, np.full((2, 2), 10.0)) == 20


def test_disturbances_have_rates_beside_random_weights(analysis):
    axes = disturbed.draw_perturbation(analysis).axes[2]
    assert np.allclose(values_of(axes, style.PURPLE), analysis.perturbation.rate.value)
    other = analysis.references["random weights"].perturbation
    assert np.allclose(values_of(axes, style.GRAY), other.relative_rate.value)
    spectra = disturbed.draw_lyapunov(analysis).axes[0]
    drawn = [line.get_ydata() for line in spectra.get_lines()]
    assert any(np.allclose(one, analysis.lyapunov[0].exponents.value) for one in drawn if len(one) == 3)


def test_what_can_be_drawn_follows_from_what_was_measured(analysis, constant):
    assert [one.name for one in pictures_of(analysis)] == [one.name for one in PICTURES]
    names = [one.name for one in pictures_of(constant)]
    assert names == ["means", "correlations", "correlation_histogram", "cosine", "velocity", "information"]
    known = set(analysis.tables())
    for one in PICTURES:
        assert any(table in known or table.endswith("*") for table in one.tables)
    with pytest.raises(InputError, match="no compression"):
        draw_compression_steps(constant)
    with pytest.raises(InputError, match="teleports"):
        disturbed.draw_teleports(constant)


@pytest.mark.parametrize("given", [{"texts": 1}, {"places": ("block",)}, {"places": ("block",), "texts": 1}])
def test_one_text_and_whole_blocks_are_drawn_without_complaint(given):
    analysis = measured(**given)
    shown = pictures_of(analysis)
    assert {"means", "cosine", "velocity"} <= {one.name for one in shown}
    for one in shown:
        figure = one.draw(analysis)
        if one.name in ("cosine", "correlations"):
            figure.draw_without_rendering()
            kinds = {"whole blocks write"} if "places" in given else {"attention writes", "MLP writes"}
            assert kinds <= set(legend_of(figure))


def test_a_name_with_signs_of_a_formula_is_no_formula(analysis):
    odd = replace(analysis, references={"a $x^ b$": analysis.references["random weights"]})
    figure = units.draw_cosine(odd)
    figure.draw_without_rendering()
    assert any("x^ b" in name and r"\$" in name for name in legend_of(figure))
