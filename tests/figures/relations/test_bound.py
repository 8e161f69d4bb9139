"""The tables behind the bound and the asking figure, against the library called point by point."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.figures import get_figure
from genlaws.relations import complete_bipartite, modulo, paper_bound
from genlaws.relations.structure.training_set import draw_order, training_set_of
from genlaws.sweeps import Axis, get_experiment, make_sweep

SMALL = {"relations": ("mod3", "bipartite-15-15"), "points": 4, "repeats": 3, "largest_fraction": 0.1, "seed": 5}


@pytest.fixture(scope="module")
def table():
    return get_figure("relations.2").data(SMALL)


def test_bound_table_has_a_row_for_each_relation_and_share(table):
    shares = 0.1 * np.linspace(0, 1, 4) ** 1.5
    for label, majority in (("modulo 3", 2 / 3), ("bipartite 15-15", 0.5)):
        rows = table[table["relation"] == label]
        assert rows["train_fraction"].tolist() == pytest.approx(shares.tolist())
        assert rows["majority_accuracy"].tolist() == pytest.approx([majority] * 4)
        assert (rows["accuracy_low"] <= rows["accuracy"] + 1e-12).all()
        assert (rows["accuracy"] <= rows["accuracy_high"] + 1e-12).all()


def test_nothing_seen_gives_the_prior_by_all_routes(table):
    start = table[table["train_fraction"] == 0.0].set_index("relation")
    assert start.loc["modulo 3", "accuracy"] == pytest.approx(1 / 30 + 29 / 30 * 2 / 3)
    assert start.loc["modulo 3", "paper_procedure"] == pytest.approx(1 / 30 + 29 / 30 * 2 / 3)
    assert start.loc["bipartite 15-15", "accuracy_formula"] == pytest.approx(0.5)


def seeds():
    """The seeds of the training sets, from the cells of the sweep written out."""
    base = {"largest_fraction": 0.1, "points": 4}
    sweep = make_sweep(get_experiment("relations.curve"), base, [Axis("relation", SMALL["relations"])], 3, 5)
    return {
        name: [cell.seed for cell in sweep.cells() if cell.settings.relation == name] for name in SMALL["relations"]
    }


def test_two_classes_follow_their_components(table):
    """1/2 + Σ|c|²/2n² over the components of the sampled pairs, written out."""
    relation, share = complete_bipartite(15, 15), 0.1 * (2 / 3) ** 1.5
    expected = []
    for seed in seeds()["bipartite-15-15"]:
        seen = training_set_of(relation, draw_order(30, np.random.default_rng(seed))[: round(share * 900)])
        component = np.arange(30)
        for i, j in seen.pairs:
            component[component == component[i]] = component[j]
        expected.append(0.5 + (np.bincount(component) ** 2).sum() / 1800)
    row = table[(table["relation"] == "bipartite 15-15") & np.isclose(table["train_fraction"], share)]
    assert row["accuracy"].item() == pytest.approx(np.mean(expected), abs=1e-12)


def test_procedure_is_the_papers(table):
    relation = modulo(30, 3)
    orders = [draw_order(30, np.random.default_rng(seed)) for seed in seeds()["mod3"]]
    values = [paper_bound(relation, training_set_of(relation, order[:90])) for order in orders]
    row = table[(table["relation"] == "modulo 3") & np.isclose(table["train_fraction"], 0.1)]
    assert row["paper_procedure"].item() == pytest.approx(np.mean(values), abs=1e-12)


def test_asking_table_loses_at_most_one_bit_an_answer():
    settings = {"relations": ("bipartite-15-15",), "queries": 35, "repeats": 2}
    table = get_figure("relations.queries").data(settings)
    for strategy, rows in table.groupby("strategy"):
        bits = rows.sort_values("queries")["bits_left"].to_numpy()
        assert bits[0] == 29.0
        assert (np.diff(bits) >= -1.0 - 1e-12).all()
        assert (bits[29] == 0.0) == (strategy == "best")


@pytest.mark.parametrize(
    ("figure", "settings"),
    [
        ("relations.2", {"largest_fraction": 0.0}),
        ("relations.2", {"repeats": 1}),
        ("relations.2", {"relations": ()}),
        ("relations.queries", {"queries": 1}),
    ],
)
def test_wrong_settings_are_refused(figure, settings):
    with pytest.raises(InputError, match="is not accepted"):
        get_figure(figure).data(settings)
