"""The figures of ReLU networks: their tables, their summaries, and what they show."""

import numpy as np
import pandas as pd
import pytest

from genlaws.core.errors import InputError
from genlaws.figures import get_figure
from genlaws.figures.semanticity.relu import drawn_logs, mark_places

SMALL = {"stimulus_count": 20, "repeats": 3, "steps": 1000, "log_every": 20, "marks": (0, 310, 1000, 4000)}
SIZES = {**SMALL, "hidden_widths": (2, 8), "item_counts": (2, 6), "many_items": (2, 6, 18), "hidden": 8}


@pytest.fixture(scope="module")
def network():
    return get_figure("semanticity.relu-network").data(SMALL)


@pytest.fixture(scope="module")
def profile():
    return get_figure("semanticity.relu-profile").data(SMALL)


@pytest.fixture(scope="module")
def sizes():
    return get_figure("semanticity.relu-sizes").data(SIZES)


def test_network_has_fronts_runs_means_and_ends(network):
    counts = network.groupby(["network", "series"]).size().unstack()
    assert counts.loc["circle", "front"] == counts.loc["segment", "front"] == 2 * 401
    assert (counts["run"] == 3 * counts["mean"]).all()
    assert (counts["ends"] == 1).all()
    means = network[(network["series"] == "mean") & (network["network"] == "circle")]
    assert {0, 300, 320, 1000} & {*means["step"]} >= {0, 1000}
    runs = network[(network["series"] == "run") & (network["network"] == "circle")]
    np.testing.assert_allclose(runs.groupby("step")["generalization"].mean(), means["generalization"], rtol=1e-12)


def test_networks_slide_along_their_fronts_and_reconstruction_does_not(network):
    ends = network[network["series"] == "ends"].set_index("network")
    assert (ends.loc[["circle", "segment"], "mean_space_distance"] < 0.03).all()
    assert ends.loc["reconstruction", "mean_space_distance"] > 0.05
    assert ends.loc["circle", "peak_generalization_low"] > ends.loc["segment", "peak_generalization_high"]
    assert abs(ends.loc["circle", "first_generalization"] - 0.5) < 0.02
    assert ends.loc["reconstruction", "peak_generalization"] < 0.6


def test_profile_narrows(profile):
    for _, table in profile.groupby("network"):
        widths = table[(table["series"] == "width") & (table["step"] >= 300)]
        assert widths["resolution"].iloc[-1] < widths["resolution"].iloc[0]
        assert widths["cut_share"].iloc[-1] == 1.0
        shapes = table[table["series"] == "profile"]
        assert shapes["step"].unique().tolist() == [0, 300, 1000]
        assert (shapes.loc[shapes["distance"] == 0, "relative_similarity"] == 1.0).all()
        assert shapes[(shapes["step"] == 1000)]["relative_similarity"].iloc[-1] < 0.05


def test_two_hidden_units_are_too_few_and_many_items_collapse(sizes):
    reached = sizes[sizes["series"] == "reached"].set_index(["varied", "size"])
    assert reached.loc[("hidden", 8), "peak_generalization_low"] > reached.loc[("hidden", 2), "peak_generalization"]
    same = reached.loc[("hidden", 8)], reached.loc[("item_count", 2)]
    assert same[0]["peak_generalization"] == same[1]["peak_generalization"]
    many = sizes[(sizes["series"] == "many") & (sizes["varied"] == "item_count")]
    last = many[many["tested_items"] == 18]
    assert (np.abs(np.log(last["many_identification"] / last["collapse_law"])) < 0.3).all()
    assert (many.groupby("size")["many_identification"].diff().dropna() < 0).all()


@pytest.mark.parametrize("name", ["network", "profile", "sizes"])
def test_picture_and_summary_come_from_the_table_alone(name, tmp_path, request):
    figure, given = get_figure(f"semanticity.relu-{name}"), SIZES if name == "sizes" else SMALL
    request.getfixturevalue(name).to_csv(tmp_path / "table.csv", index=False)
    table = pd.read_csv(tmp_path / "table.csv")
    assert len(figure.draw(table, given).axes) == {"network": 3, "profile": 4, "sizes": 8}[name]
    summary = figure.summary(table, given)
    assert len(summary) == {"network": 4, "profile": 6, "sizes": 4}[name]


def test_logs_that_are_shown_hold_the_marks():
    steps = np.arange(0, 7501, 20)
    drawn = steps[drawn_logs(steps, (0, 310, 4000, 9000))]
    assert {0, 300, 4000, 7500} <= {*drawn.tolist()}
    assert (np.diff(drawn) > 0).all()
    assert len(drawn) < 100
    assert mark_places(steps, (310, 9000)) == [15]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("network", {"repeats": 1}),
        ("network", {"marks": ()}),
        ("profile", {"steps": 10}),
        ("sizes", {"many_items": (2, 20)}),
        ("sizes", {"hidden_widths": (5,)}),
    ],
)
def test_settings_are_checked(name, wrong):
    with pytest.raises(InputError, match="is not accepted"):
        get_figure(f"semanticity.relu-{name}").settings({**(SIZES if name == "sizes" else SMALL), **wrong})
