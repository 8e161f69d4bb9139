"""The figure of slot networks: its table, its summary, and what it shows."""

import pandas as pd
import pytest

from genlaws.core.errors import InputError
from genlaws.figures import get_figure

SMALL = {
    "slots": (1, 3),
    "ring_sizes": (6,),
    "followed": (1, 3),
    "followed_ring": 6,
    "repeats": 3,
    "steps": 400,
    "stimulus_count": 30,
    "logs": 5,
}


@pytest.fixture(scope="module")
def table():
    return get_figure("semanticity.slots").data(SMALL)


def test_every_network_has_a_course_and_an_excess(table):
    assert table.groupby(["network", "series", "slots"]).ngroups == 5 * 2 * 2
    course = table[table["series"] == "course"]
    assert (course.groupby(["network", "slots"]).size() == 6).all()
    assert course["step"].min() == 0
    assert course["step"].max() == 400


def test_one_feature_ends_the_same_whatever_the_network(table):
    """With one feature, maximum, product and a shared map are one network."""
    ends = table[(table["series"] == "excess") & (table["slots"] == 1)]["final_generalization"]
    assert ends.max() - ends.min() < 0.01
    assert ends.min() > 0.8


def test_products_lie_above_one_radial_similarity_and_the_largest_does_not(table):
    three = table[(table["series"] == "excess") & (table["slots"] == 3)].set_index("network")
    assert three.loc["product", "peak_above_set_low"] > 0.05
    assert three.loc["max", "peak_above_set_high"] < 0.05
    assert (three["peak_above_set_low"] <= three["peak_above_set"]).all()


def test_summary_is_the_excess_alone(table):
    figure = get_figure("semanticity.slots")
    summary = figure.summary(table, SMALL)
    assert len(summary) == 10
    assert not summary.isna().to_numpy().any()
    assert "step" not in summary


def test_picture_comes_from_the_table_alone(table, tmp_path):
    figure = get_figure("semanticity.slots")
    table.to_csv(tmp_path / "table.csv", index=False)
    picture = figure.draw(pd.read_csv(tmp_path / "table.csv"), SMALL)
    assert len(picture.axes) == 10
    (legend,) = picture.legends
    assert {"$S=1$", "$S=3$"} < {text.get_text() for text in legend.get_texts()}


@pytest.mark.parametrize("wrong", [{"followed": (2,)}, {"followed_ring": 7}, {"repeats": 1}, {"slots": (1,)}])
def test_settings_are_checked(wrong):
    with pytest.raises(InputError, match="is not accepted"):
        get_figure("semanticity.slots").settings({**SMALL, **wrong})
