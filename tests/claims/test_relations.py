"""Claims of the relations paper: quick checks give the recorded verdicts, and other ones for planted numbers."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from genlaws import relations as rel
from genlaws.claims import Finding, get_claim, run_claim
from genlaws.claims.claim import FAILS, HOLDS
from genlaws.claims.records import bundled_records, missing_libraries, read_claims
from genlaws.claims.relations import bound, learning
from genlaws.claims.relations import bound as procedure
from genlaws.claims.relations import collisions as collision
from genlaws.claims.relations import description_length as bits
from genlaws.claims.relations import description_length as symmetry
from genlaws.claims.relations import phases as network
from genlaws.claims.relations import repons as gradient
from genlaws.claims.relations import repons as repon
from genlaws.figures.bundled import bundled_table

CLAIMS = read_claims("relations")
TRUE_BOUNDARIES, TRUE_LOSS = network.fitted_boundaries, gradient.loss


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_the_quick_verdict_is_the_recorded_one(claim):
    if missing := missing_libraries(claim):
        pytest.skip(f"needs {missing[0]}")
    finding = run_claim(claim, quick=True)
    assert isinstance(finding, Finding)
    assert finding.sentence.endswith(".")
    assert all(isinstance(one, str) or np.isfinite(one) for one in finding.numbers.values())
    assert finding.verdict == bundled_records()[claim.id].verdict


def scaled(function, factor):
    """Return a function whose numbers are off by a factor."""
    return lambda *args, **kwargs: factor * function(*args, **kwargs)


def shifted(function, amount):
    """Return a function whose numbers are off by an amount."""
    return lambda *args, **kwargs: function(*args, **kwargs) + amount


def table_with(**changes):
    """Return a way to read bundled tables in which some columns are given by functions of the table."""

    def read(figure):
        table = bundled_table(figure)
        return replace(table, frame=table.frame.assign(**changes))

    return read


def boundaries_with(**columns):
    """Return fitted boundaries in which some columns have one value."""
    return lambda rates: TRUE_BOUNDARIES(rates).assign(**columns)


def exact_estimate(factor):
    """Return a way to find the data needed in which Eq. 4 is a factor from it."""

    def find(relation, **how):
        return SimpleNamespace(fraction_formula=0.1 * factor, train_fraction=SimpleNamespace(value=0.1))

    return find


def straight(start, end):
    """Return a path of gain and separation with given ends, whatever the start."""
    return lambda a0, c0, until: np.linspace(start, end, 60).T


def turning(a0, c0, until):
    return np.stack([np.cos(np.linspace(0.0, 9.0, 60)), np.sin(np.linspace(0.0, 9.0, 60))])


def counted_classes(name, *, element_count, class_count):
    return rel.description_length_count(name, element_count=element_count, class_count=class_count)


def counted_antisymmetric(name, *, element_count):
    return rel.description_length_count(name, element_count=element_count)


def enough_for_chains(name, *, element_count, chain_length):
    return 107.0 if element_count == 30 else 7.0


def wrong_limit(*start, **rates):
    found = rel.pair_limit(*start, **rates)
    return found._replace(merges=~found.merges)


def without_squares(frame):
    return frame["table_accuracy"].where(~frame["mode"].isin(["squared_difference", "difference"]), 0.5)


def always_right(frame):
    return frame["table_accuracy"].where(frame["mode"] == "bound", 1.0)


def with_encoder():
    return SimpleNamespace(is_encoder_decoder=True)


GREATER = symmetry.STATED_LAWS | {"greater-than": (rel.less_than(30), ("symmetric",))}
AT_ONE = {"slope": 1.0, "slope_low": 0.9, "slope_high": 1.1}
PLANTED = [
    ("table-1", symmetry, "STATED_LAWS", GREATER, FAILS),
    ("orbit-formula", symmetry, "description_length_exact", shifted(rel.description_length_exact, 1.0), FAILS),
    ("order-in-text", bits, "TEXT_DIVISOR", np.e, HOLDS),
    ("bipartite-automorphisms", symmetry, "complete_bipartite", lambda a, c: rel.less_than(a + c), FAILS),
    ("large-graphs", symmetry, "MAX_SECONDS", 0.0, FAILS),
    ("table-2-plain", bits, "description_length_table", shifted(rel.description_length_table, 1.0), FAILS),
    ("table-2-antisymmetric", bits, "description_length_table", counted_antisymmetric, HOLDS),
    ("table-2-transitive", bits, "description_length_table", enough_for_chains, HOLDS),
    ("table-2-equivalence", bits, "description_length_table", counted_classes, HOLDS),
    ("table-2-total-order", bits, "description_length_table", scaled(rel.description_length_table, 0.5), FAILS),
    ("table-2-complete-bipartite", bits, "description_length_table", shifted(rel.description_length_table, -1), HOLDS),
    ("table-2-incomplete-bipartite", bits, "description_length_table", shifted(rel.description_length_table, 1), FAILS),
    ("table-2-tree", bits, "description_length_table", lambda relation: 137.0, HOLDS),
    ("at-least-b", bound, "description_length_exact", scaled(rel.description_length_exact, 2.0), FAILS),
    ("eq-3", bound, "inferable_fraction", scaled(rel.inferable_fraction, 1.01), FAILS),
    ("eq-4", bound, "critical_fraction", scaled(rel.critical_fraction, 1.01), FAILS),
    ("eq-4-as-estimate", bound, "data_needed", exact_estimate(1.1), HOLDS),
    ("eq-4-as-estimate", bound, "data_needed", exact_estimate(10.0), FAILS),
    ("eq-5", bound, "paper_accuracy", lambda n, known, shares: np.ones(len(shares)), HOLDS),
    ("guess-classes", bound, "guess_accuracy", lambda known: 0.4, FAILS),
    ("guess-order", bound, "guess_accuracy", lambda known: 2 / 3, HOLDS),
    ("zero-nine", bound, "posterior", lambda known, kind: SimpleNamespace(bits_left=5.0), HOLDS),
    ("four-five", bound, "posterior", lambda known, kind: SimpleNamespace(probability=np.zeros((10, 10))), FAILS),
    ("fig-2", bound, "paper_accuracy", lambda n, known, shares: np.zeros(len(shares)), FAILS),
    ("fig-2-caption", bound, "inferable_fraction", lambda m, b: rel.accuracy_formula(m / 900, 30, b, 1 / 3), HOLDS),
    ("appendix-d-classes", procedure, "paper_bound", lambda one, seen: procedure._two_class_bound(seen), HOLDS),
    ("appendix-d-orders", procedure, "_gain_of_guess", lambda draws: 0.0, HOLDS),
    ("appendix-d-orders", procedure, "_gain_of_guess", lambda draws: 0.1, FAILS),
    ("theorem-1", repon, "CLASS_COUNT", 1, HOLDS),
    ("eq-8", gradient, "loss", lambda pair: TRUE_LOSS(pair) ** 2, FAILS),
    ("appendix-c-bias", gradient, "loss", lambda p: TRUE_LOSS(p) - 0.5 * ((p.bias - p.target) ** 2).sum(), HOLDS),
    ("appendix-c-center", gradient, "ETA_X", 0.0, HOLDS),
    ("repulsion", repon, "_integrate_path", straight((1.0, 1.0), (0.0, 2.0)), HOLDS),
    ("two-limits", repon, "_integrate_flow", lambda a, r, *rest: (0.0 * a, 0.0 * r), HOLDS),
    ("two-limits", repon, "_integrate_flow", lambda a, r, *rest: (a, r), FAILS),
    ("theorem-2", repon, "separation_limit", shifted(rel.separation_limit, 0.1), FAILS),
    ("eq-9", repon, "_integrate_flow", lambda a, r, *rest: (a, 0.5 * r), HOLDS),
    ("eq-11", repon, "pair_invariant", scaled(rel.pair_invariant, 1.1), FAILS),
    ("oscillator", repon, "_integrate_path", turning, HOLDS),
    ("fig-4", repon, "pair_limit", wrong_limit, FAILS),
    ("eq-12", collision, "collision_probability", scaled(rel.collision_probability, 1.01), FAILS),
    ("eq-12-region", collision, "_eq_12_probability", lambda *args, **kwargs: 0.578, HOLDS),
    ("eq-12-width", collision, "_eq_12_probability", lambda *args, **kwargs: 0.5, HOLDS),
    ("theorem-3-ratio", collision, "_pairs_that_merge", lambda a, r, ratio: np.arange(len(a)) % 1000 < 392, HOLDS),
    ("theorem-3-two-repons", collision, "simulate_repons", lambda *a, **k: SimpleNamespace(merged=[0.0]), HOLDS),
    ("eq-13", collision, "decoder_pull", lambda count: 2.0, FAILS),
    ("fig-5-sign", collision, "collision_probability", lambda encoder, decoder: encoder * decoder, HOLDS),
    ("fig-3-delay", learning, "bundled_table", table_with(table_accuracy=always_right), FAILS),
    ("fig-3-scale", learning, "description_length_table", scaled(rel.description_length_table, 10.0), FAILS),
    ("fig-3-classes", learning, "bundled_table", table_with(table_accuracy=without_squares), FAILS),
    ("fig-3-orders", learning, "bundled_table", table_with(table_accuracy=without_squares), FAILS),
    ("inductive-bias", learning, "bundled_table", table_with(table_accuracy=without_squares), FAILS),
    ("statics-conclusion", learning, "bundled_table", table_with(description_length=lambda f: -f["pairs"]), HOLDS),
    ("table-3", learning, "TABLE_III_SETTINGS", {"width": 10}, FAILS),
    ("table-4", network, "classify_phases", lambda train, test: 0, FAILS),
    ("fig-5-slope", network, "fitted_boundaries", boundaries_with(**AT_ONE), HOLDS),
    ("fig-5-slope", network, "fitted_boundaries", boundaries_with(slope=-1.0, slope_low=-1.1, slope_high=-0.9), FAILS),
    ("fig-5-intercept", network, "fitted_boundaries", boundaries_with(critical_ratio=10.0), HOLDS),
    ("rule-of-thumb", network, "fitted_boundaries", boundaries_with(critical_ratio=10.0), HOLDS),
    ("rule-of-thumb", network, "fitted_boundaries", boundaries_with(critical_ratio=1000.0), FAILS),
    ("fig-6-bound", network, "bundled_table", table_with(success_low=0.0), HOLDS),
    ("fig-6-scale", network, "bundled_table", table_with(embedding_scale=lambda f: 0.25 / f["embedding_scale"]), FAILS),
    ("fig-7-band", network, "bundled_table", table_with(success=1.0), FAILS),
    ("fig-7-band", network, "bundled_table", table_with(success=lambda f: f["depth"].between(3, 10) * 1.0), HOLDS),
    ("fig-7-sweet-spot", network, "bundled_table", table_with(success=1.0), FAILS),
    ("fig-7-too-deep", network, "bundled_table", table_with(fitted=1.0), HOLDS),
    ("fig-7-too-deep", network, "bundled_table", table_with(fitted=0.0), FAILS),
    ("fig-8", network, "bundled_table", table_with(generalization=0, grokking=0), HOLDS),
]
APART = {"relations.encoder-decoder-models", "relations.collision-necessary"}


@pytest.mark.parametrize(("name", "module", "part", "wrong", "verdict"), PLANTED, ids=[one[0] for one in PLANTED])
def test_planted_numbers_decide_the_verdict(name, module, part, wrong, verdict, monkeypatch):
    claim = get_claim(f"relations.{name}")
    if missing := missing_libraries(claim):
        pytest.skip(f"needs {missing[0]}")
    monkeypatch.setattr(module if part in vars(module) else module.relations, part, wrong)
    assert run_claim(claim, quick=True).verdict == verdict


def test_every_claim_is_planted_with_another_verdict():
    recorded = bundled_records()
    other = {f"relations.{one[0]}" for one in PLANTED if one[4] != recorded[f"relations.{one[0]}"].verdict}
    assert other | APART == {claim.id for claim in CLAIMS}


def test_models_with_encoders_would_bear_the_paper_out(monkeypatch):
    models = SimpleNamespace(LlamaConfig=with_encoder, GemmaConfig=with_encoder)
    monkeypatch.setitem(sys.modules, "transformers", models)
    assert run_claim(get_claim("relations.encoder-decoder-models"), quick=True).verdict == HOLDS


def test_merged_classes_would_bear_the_paper_out(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("genlaws.claims.relations.learning.class_spread", lambda places, classes: np.zeros(len(places)))
    assert run_claim(get_claim("relations.collision-necessary"), quick=True).verdict == HOLDS
