"""The pictures of a probe show the numbers they were given, and say where there are none."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.figures.semanticity import layers as layer_pictures
from genlaws.figures.semanticity import probe as pictures
from genlaws.figures.semanticity import probe as preferences
from genlaws.probes.plan import plan_probe
from genlaws.probes.probe import run_probe
from genlaws.probes.simulated import SimulatedModel
from genlaws.probes.vision import pictures as vision_stimuli
from genlaws.render import style
from genlaws.semanticity.theory.many_items import generalization_of_many, identification_of_many

PLANTED = 75.0  # years


def probed(task, mode, resolution, trials, item_counts=None, *, template=None, **model):
    plan = plan_probe(task, item_counts, trials, template=template, seed=1)
    chooser = SimulatedModel(plan.domain, resolution, **model)
    chooser.register(plan.trials, plan.prompts())
    return run_probe(chooser, plan, mode, shapes=("exponential",), replicates=20)


@pytest.fixture(scope="module")
def planted():
    return probed("years", "probability", PLANTED, 28, (2, 4, 8), background=0.05)


@pytest.fixture(scope="module")
def guessing():
    return probed("years", "text", 1e6, 14, (2, 8, 16))


@pytest.fixture(scope="module")
def shapes():
    with pytest.MonkeyPatch.context() as patch:  # what stands for the picture is as different as the picture
        patch.setattr(vision_stimuli, "png_of", lambda trial: repr(trial).encode())
        liked = {"circle": 0.0, "square": 0.0, "star": -0.5, "triangle": 1.0}
        return probed("shapes", "probability", 150.0, 12, offsets=liked)


def drawn_points(axes):
    """Return x and y of every marker."""
    marked = [line for line in axes.get_lines() if line.get_marker() not in ("None", None, "")]
    return np.concatenate([line.get_xydata() for line in marked])


def has_point(axes, x, y):
    return bool(np.isclose(drawn_points(axes), [x, y], rtol=0.05, atol=1e-12).all(axis=1).any())


def test_resolution_curve_shows_each_separation_with_its_fit(planted):
    figure = pictures.draw_resolution_curve(planted)
    halves = planted.curve.half_separations
    assert len(figure.axes) == len(halves)
    for axes, half in zip(figure.axes, halves, strict=True):
        assert f"{half:g} years" in axes.get_title()
        points = planted.curve.at(half)
        expected = [(one.shift, one.probability.value) for one in points]
        assert np.allclose(drawn_points(axes), expected)
        line = next(line for line in axes.get_lines() if line.get_color() == style.GREEN)
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert np.allclose(y, planted.resolution.upper_probability(half, x))
        assert np.abs(x).max() <= max(abs(one.shift) for one in points)
        assert len(axes.collections) == len(points)  # an interval for each
    assert figure.get_suptitle() == ""


def test_resolution_curve_of_a_guesser_has_no_fit_and_says_so(guessing):
    assert not guessing.resolution.determined
    figure = pictures.draw_resolution_curve(guessing)
    assert "do not determine a resolution" in figure.get_suptitle()
    assert not any(line.get_color() == style.GREEN for axes in figure.axes for line in axes.get_lines())
    assert "answers naming" in figure.get_supylabel()
    shares = [one.upper.value for one in guessing.curve.at(guessing.curve.half_separations[0])]
    assert np.allclose(drawn_points(figure.axes[0])[:, 1], shares)


def test_items_show_both_tests_chance_and_laws(planted):
    figure = pictures.draw_items(planted)
    axes = figure.axes[0]
    for kind in ("similarity", "identification"):
        for one in planted.rates.of(kind):
            assert has_point(axes, one.item_count, one.best.value)
    assert [tick for tick in axes.get_xticks() if tick in (2, 4, 8)] == [2, 4, 8]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    c = planted.collapse.constant.value
    assert any(name.startswith(f"${c:.3g}/n$") for name in names)
    curves = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    chance = curves["chance $1/n$"]
    assert np.allclose(chance[:, 0] * chance[:, 1], 1.0)
    inverse = next(curve for name, curve in curves.items() if name.startswith(f"${c:.3g}/n$"))
    assert np.allclose(inverse[:, 0] * inverse[:, 1], c)
    many = curves["law of $n$ items"]
    assert np.allclose(many[:, 1], planted.collapse.laws["n items"].predict(many[:, 0]))


def test_a_share_of_zero_stands_at_the_edge_of_the_log_axis(guessing):
    tests = [one for kind in ("similarity", "identification") for one in guessing.rates.of(kind)]
    never = sum(one.best.value == 0.0 for one in tests)
    assert never  # 14 guesses among 16 items
    axes = pictures.draw_items(guessing).axes[0]
    edge = [line.get_ydata()[0] for line in axes.get_lines() if line.get_marker() == "v"]
    assert edge == [pytest.approx(axes.get_ylim()[0])] * never


def test_distances_have_a_curve_for_each_number_of_items(planted):
    figure = pictures.draw_distances(planted)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    for count in (2, 4, 8):
        points = planted.distances.of(count)
        expected = [(one.distance, one.probability.value) for one in points]
        assert np.allclose(lines[f"$n={count}$"].get_xydata(), expected)
    guides = [line for line in figure.axes[0].get_lines() if line.get_color() == style.LIGHT_GRAY]
    assert [line.get_ydata()[0] for line in guides] == [1 / 2, 1 / 4, 1 / 8]


def test_options_show_the_liking_for_each_answer(shapes):
    assert shapes.curve is None
    axes = preferences.draw_options(shapes).axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    found = {names[int(y)]: x for x, y in drawn_points(axes)}
    assert found == {name: pytest.approx(one.value) for name, one in shapes.resolution.offsets.items()}
    assert found["triangle"] == pytest.approx(1.0, abs=1e-3)
    assert "circle" in axes.get_xlabel()


def test_numbers_as_answers_are_in_their_own_order(shapes):
    liked = {name: Estimate(0.1, 0.0, 0.2, 9) for name in ("1", "10", "2")}
    changed = replace(shapes, resolution=replace(shapes.resolution, offsets=liked))
    axes = preferences.draw_options(changed).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["10", "2", "1"]


def test_templates_stand_side_by_side_with_chance(planted, guessing):
    odd = replace(planted, template="a $x^ b$")
    figure = preferences.draw_templates([odd, guessing])
    figure.draw_without_rendering()  # a name with signs of a formula is no formula
    for axes, kind in zip(figure.axes, ("similarity", "identification"), strict=True):
        expected = sorted(one.best.value for result in (odd, guessing) for one in result.rates.of(kind))
        assert sorted(drawn_points(axes)[:, 1]) == pytest.approx(expected)
        assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "4", "8", "16"]
    assert len(figure.legends[0].get_texts()) == 2


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (pictures.draw_resolution_curve, "no two-anchor test"),
        (pictures.draw_items, "no test of similarity"),
        (pictures.draw_distances, "No similarity test"),
        (preferences.draw_options, "No preferences"),
        (lambda result: preferences.draw_templates([result]), "no test of similarity"),
        (lambda result: preferences.draw_templates([]), "got none"),
    ],
)
def test_missing_tests_are_not_drawn(draw, sentence, planted):
    empty = replace(
        planted,
        curve=None,
        rates=replace(planted.rates, rates=()),
        distances=replace(planted.distances, points=()),
    )
    with pytest.raises(InputError, match=sentence):
        draw(empty)


def layer_tables(count):
    """Return the two tables of a made-up model whose layers lie below the front, further down the deeper."""
    curves, rows = [], []
    mass = np.linspace(0.0, 1.0, 21)
    for layer in range(4):
        share = 1.0 - 0.2 * layer
        p_s = 1 / count + share * (generalization_of_many(mass, count) - 1 / count)
        p_i = identification_of_many(mass, count)
        part = pd.DataFrame({"layer": layer, "threshold": mass, "generalization": p_s, "identification": p_i})
        for test in ("generalization", "identification"):
            part[f"{test}_low"], part[f"{test}_high"] = part[test] - 0.03, part[test] + 0.03
            part[f"control_{test}"] = 1 / count
        curves.append(part)
        row = {"layer": layer, "name": f"block {layer}", "chance": 1 / count}
        for name in ("best_generalization", "best_identification", "read_generalization", "read_identification"):
            value = 0.6 + 0.05 * layer
            row |= {name: value, f"{name}_low": value - 0.04, f"{name}_high": value + 0.04, f"control_{name}": 0.5}
        rows.append(row)
    return pd.concat(curves, ignore_index=True), pd.DataFrame(rows)


@pytest.mark.parametrize("count", [2, 4])
def test_layers_draw_their_tradeoff_beside_the_front(count):
    curves, _ = layer_tables(count)
    figure = layer_pictures.draw_layer_tradeoff(curves, count)
    axes = figure.axes[0]
    front = next(line for line in axes.get_lines() if line.get_color() == style.BLACK).get_xydata()
    if count == 2:  # Theorem 1
        assert np.allclose(front[:, 1], 0.5 + 2 * (1 - front[:, 0]) * (2 * front[:, 0] - 1))
    drawn = [line.get_xydata() for line in axes.get_lines() if len(line.get_xdata()) == 21]
    for layer in range(4):
        expected = curves.loc[curves["layer"] == layer, ["identification", "generalization"]].to_numpy()
        assert any(np.allclose(one, expected) for one in drawn)
    assert has_point(axes, 1 / count, 1 / count)
    assert figure.axes[1].get_ylabel() == "layer"
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert f"constant similarity, Theorem {1 if count == 2 else 3}" in names


def test_a_threshold_within_which_nothing_lies_is_not_joined_to_the_next():
    curves, _ = layer_tables(2)
    curves.loc[curves["threshold"] == 0, ["identification", "generalization"]] = 0.5
    axes = layer_pictures.draw_layer_tradeoff(curves).axes[0]
    lines = [line.get_xydata() for line in axes.get_lines() if line.get_linewidth() == 0.9]
    assert [len(one) for one in lines] == [20] * 4


def test_layer_profile_shows_best_and_read_out_with_controls():
    _, table = layer_tables(2)
    for axes, name in zip(
        layer_pictures.draw_layer_profile(table).axes, ("generalization", "identification"), strict=True
    ):
        heights = [np.asarray(line.get_ydata()) for line in axes.get_lines()]
        for column in (f"best_{name}", f"read_{name}", f"control_best_{name}"):
            assert any(len(one) == 4 and np.allclose(one, table[column]) for one in heights)
        assert len(axes.collections) == 2  # intervals of both


def test_a_table_without_its_columns_is_refused():
    with pytest.raises(InputError, match="must have rows and the columns layer"):
        layer_pictures.draw_layer_tradeoff(pd.DataFrame({"layer": [0]}))
    with pytest.raises(InputError, match="must have rows and the columns layer"):
        layer_pictures.draw_layer_profile(pd.DataFrame({"layer": [0]}))
