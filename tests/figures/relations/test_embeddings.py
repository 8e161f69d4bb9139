"""The figure of embeddings: one network merges its classes, the other does not, and the panels say so."""

import numpy as np
import pytest

from genlaws.figures import get_figure
from genlaws.figures.relations.learned import CLASS_COLORS, color_key, draw_courses, draw_places, element_colors
from genlaws.relations import Relation, less_than, modulo
from genlaws.relations.networks.network import train_networks
from genlaws.relations.networks.runs import class_spread, element_groups

# The ratio of the printed figure at larger rates, so that a third of the steps is enough.
FAST_SETTINGS = {"memorizing_rates": (1e-4, 1e-2), "steps": 900, "times": 4}
MAX_MERGED_SPREAD, MIN_SEPARATE_SPREAD = 0.2, 1.0


@pytest.fixture(scope="module")
def frame():
    return get_figure("relations.embeddings").data(FAST_SETTINGS)


def test_one_network_merges_and_the_other_memorizes(frame):
    last = get_figure("relations.embeddings").summary(frame, FAST_SETTINGS).groupby("ratio").last()
    merging, memorizing = last.loc[0.1], last.loc[100.0]
    assert merging["test_accuracy"] > 0.95
    assert merging["spread"] < MAX_MERGED_SPREAD
    assert memorizing["train_accuracy"] > 0.95
    assert memorizing["test_accuracy"] < 0.75
    assert memorizing["spread"] > MIN_SEPARATE_SPREAD


def test_both_start_from_the_same_embeddings_and_times_are_even_in_log_time(frame):
    first, second = (table[table["step"] == 0] for _, table in frame.groupby("ratio"))
    np.testing.assert_array_equal(first[["x", "y"]], second[["x", "y"]])
    assert sorted(set(frame["step"])) == [0, 27, 156, 900]
    panel = frame[(frame["ratio"] == 0.1) & (frame["step"] == 900)]
    spread = class_spread(panel[["x", "y"]].to_numpy(), panel["element"].to_numpy() % 3)
    assert panel["spread"].to_numpy() == pytest.approx(float(spread))


def test_panels_hold_every_element_on_one_scale(frame):
    picture = get_figure("relations.embeddings").draw(frame, FAST_SETTINGS)
    assert len(picture.axes) == 8
    assert {len(axes.collections[0].get_offsets()) for axes in picture.axes} == {30}
    assert len({axes.get_xlim() for axes in picture.axes[:4]}) == 1
    words = [axes.get_ylabel() for axes in picture.axes]
    assert words[0].startswith("generalizes")
    assert words[4].startswith("memorizes")


def test_an_order_has_no_spread():
    figure = get_figure("relations.embeddings")
    settings = {"relation": "less-than", "steps": 100, "times": 2, "width": 5, "depth": 1}
    frame = figure.data(settings)
    assert frame["spread"].isna().all()
    assert "spread" not in figure.summary(frame, settings)
    figure.draw(frame, settings)


def test_classes_have_the_palette_and_orders_go_from_dark_to_light():
    groups = element_groups(modulo(6, 3))
    assert element_colors(groups) == [*CLASS_COLORS[:3], *CLASS_COLORS[:3]]
    assert [words for words, _ in color_key(groups)] == ["class 1", "class 2", "class 3"]
    many = element_groups(modulo(20, 10))
    assert len(set(element_colors(many))) == 10
    assert [words for words, _ in color_key(many)] == ["class 1", "class 10"]
    order = element_groups(less_than(5))
    assert len(set(element_colors(order))) == 5
    assert [words for words, _ in color_key(order)] == ["0 elements before it", "4 elements before it"]
    alike = element_groups(Relation.from_matrix(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])))
    assert len(color_key(alike)) == 1


def test_courses_show_every_network_and_their_mean():
    runs = train_networks("mod3", seeds=range(3), steps=20, log_at=[1, 5, 20], width=4, depth=1)
    accuracy, loss = draw_courses(runs.to_frame(), runs.majority_accuracy).axes
    assert np.ptp(loss.get_xlim()) == 19.0
    drawn = [line.get_ydata() for line in accuracy.get_lines()]
    for course in runs.test_accuracy[:, 1:]:
        assert any(np.array_equal(one, course) for one in drawn)
    assert any(np.allclose(one, runs.test_accuracy[:, 1:].mean(axis=0)) for one in drawn if len(one) == 3)
    assert any(np.array_equal(one, [runs.majority_accuracy] * 2) for one in drawn)


def test_names_that_would_meet_share_one():
    groups = element_groups(modulo(4, 2))
    places = np.array([[0.0, 0.0], [5.0, 5.0], [0.01, 0.0], [5.0, 0.0]])
    axes = draw_places(places, groups, ["a", "b", "c", "$d"], "title", 2).axes[0]
    assert [text.get_text() for text in axes.texts] == ["a +1", "b", r"\$d"]
