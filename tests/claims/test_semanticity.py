"""Each claim about semanticity: its quick check gives the recorded verdict, and another one for planted numbers."""

import numpy as np
import pytest

from genlaws.claims import Finding, run_claim
from genlaws.claims.claim import CORRECTED, FAILS, HOLDS, LIMITED, UNTESTED
from genlaws.claims.records import bundled_records, missing_libraries, read_claims
from genlaws.claims.semanticity import many_items as many
from genlaws.claims.semanticity import methods, models, networks, shapes
from genlaws.claims.semanticity import two_items as two
from genlaws.claims.semanticity.trials import TRIAL_PLACES, ball_moments, constant, luce, play
from genlaws.claims.semanticity.two_items import by_counting
from genlaws.figures.bundled import bundled_table

CLAIMS = read_claims("semanticity")
NAMES = [claim.id for claim in CLAIMS]


@pytest.fixture(scope="module")
def found():
    """Return findings of quick checks, each made once."""
    made = {}

    def find(claim):
        if claim.id not in made:
            made[claim.id] = run_claim(claim, quick=True)
        return made[claim.id]

    return find


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_the_quick_verdict_is_the_recorded_one(claim, found):
    if missing := missing_libraries(claim):
        pytest.skip(f"needs {missing[0]}")
    finding = found(claim)
    assert isinstance(finding, Finding)
    assert finding.sentence.endswith(".")
    assert len(finding.numbers) > 0
    assert all(isinstance(one, str) or np.isfinite(one) for one in finding.numbers.values())
    assert (finding.verdict == UNTESTED) == (claim.route == "none")
    assert finding.verdict == bundled_records()[claim.id].verdict


@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [
        (lambda: two.check_theorem_1(True, generalization=lambda b, v, d: 0.5 + b - b**2), FAILS),
        (lambda: two.check_theorem_1(True, identification=lambda b, d: 1.0 - b**2 / 2), FAILS),
        (lambda: two.check_theorem_2(True, identification=lambda b, d: 1.0 - b / 2), FAILS),
        (lambda: two.check_heterogeneity(True, variance_term=lambda variance: 2.0 * variance), FAILS),
        (lambda: two.check_homogeneous_front(True, curve=lambda p: 0.5 + (1.0 - p) * (2.0 * p - 1.0)), FAILS),
        (lambda: two.check_peak(True, height=0.8), FAILS),
        (lambda: two.check_segment_moments(True, variance=lambda e: 2.0 / 3.0 * e**3 - e**4), FAILS),
        (
            lambda: many.check_theorem_3_identification(True, closed=lambda b, n: (1 - (1 - b) ** (n - 1)) / (n * b)),
            FAILS,
        ),
        (lambda: many.check_theorem_3_generalization(True, formula=lambda b, n: by_counting(np.array(b), n)[1]), FAILS),
        (lambda: many.check_theorem_3_noise(True, identification=lambda b, n, d: (1 - (1 - b) ** n) / (n * b)), FAILS),
        (lambda: many.check_collapse(True, constant_of=lambda b: 1.0 / b**2), FAILS),
        (lambda: many.check_not_monotone(True, ball_mass=0.9), FAILS),
        (lambda: many.check_peak_identity(True, factor=lambda n: n - 1.0), FAILS),
        (lambda: shapes.check_proposition_1(True, formula=lambda b: (0.5 + b - b**2, 1.0 - b / 2)), FAILS),
        (lambda: shapes.check_proposition_1_peak(True, place=0.5, height=0.75), FAILS),
        (lambda: shapes.check_exponential_form(True, formula=lambda e: (0.7, 0.9)), FAILS),
        (lambda: shapes.check_one_front_for_all(True, shapes=()), HOLDS),
        (lambda: shapes.check_front_is_a_bound(True, shape=constant), HOLDS),
        (lambda: shapes.check_exponential_trades(True, floors=(0.0,)), FAILS),
        (lambda: shapes.check_finite_set(True, stimuli=1000), HOLDS),
        (lambda: methods.check_answer_preferences(True, preference=0.0), HOLDS),
        (lambda: methods.check_repeated_years(True, people=2), HOLDS),
        (lambda: methods.check_names_in_names(True, options=("Anna", "Bert")), HOLDS),
        (lambda: methods.check_dropped_replies(True, refusals=0.0), HOLDS),
        (lambda: methods.check_sampled_scores(True, temperature=1.0), HOLDS),
        (lambda: methods.check_threshold_units(True, {"arc": 0.25, "chord": 2.0**0.5}), HOLDS),
        (lambda: methods.check_tie_term(True, squared=True), HOLDS),
    ],
)
def test_other_numbers_give_another_verdict(wrong, verdict):
    assert wrong().verdict == verdict


def test_networks_are_held_against_the_right_front():
    pytest.importorskip("torch")
    from genlaws.semanticity.theory.tradeoff import PlaneCurve

    p_i = np.linspace(0.5, 1.0, 50)
    theorem_1 = PlaneCurve(0.5 + 2.0 * (1.0 - p_i) * (2.0 * p_i - 1.0), p_i)
    assert networks.check_relu_front(True, curve=lambda: theorem_1).verdict == FAILS
    assert networks.check_relu_climb(True, claimed=0.75).verdict == FAILS


def planted(figure, what, **values):
    table = bundled_table(figure).frame.copy()
    rows = table["what"] == what
    for name, value in values.items():
        table.loc[rows, name] = value
    return table


def test_answers_above_chance_in_all_templates_would_hold():
    table = planted("semanticity.years", "excess", low=0.05, determined=True)
    assert models.check_answers_follow_distance(True, table).verdict == HOLDS


def test_a_collapse_of_another_power_would_not_be_reproduced():
    table = planted("semanticity.years", "collapse_exponent", value=0.5, low=0.4, high=0.6)
    assert models.check_language_collapse(True, table).verdict == FAILS


def test_a_collapse_as_one_over_n_in_every_template_would_hold():
    table = planted("semanticity.years", "collapse_exponent", value=1.0, low=0.9, high=1.1)
    table.loc[table["what"] == "collapse_constant", "low"] = 1.1
    assert models.check_language_collapse(True, table).verdict == HOLDS


def test_a_model_that_guesses_shows_nothing_about_the_collapse():
    table = planted("semanticity.years", "collapse_constant", low=0.9)
    assert models.check_language_collapse(True, table).verdict == FAILS


@pytest.mark.parametrize(("low", "verdict"), [(0.55, HOLDS), (0.45, FAILS)])
def test_layers_are_counted(low, verdict):
    table = planted("semanticity.layers", "layer", best_generalization_low=low)
    assert models.check_layers_trade(True, table).verdict == verdict


def test_every_kind_of_verdict_occurs():
    verdicts = [record.verdict for name, record in bundled_records().items() if name.startswith("semanticity.")]
    assert {HOLDS, LIMITED, CORRECTED, FAILS, UNTESTED} == set(verdicts)


@pytest.mark.parametrize(("place", "resolution"), [("circle", 0.2), ("torus", 0.3), ("sphere", 0.7), ("uneven", 0.1)])
def test_ball_moments_agree_with_draws(place, resolution):
    rng = np.random.default_rng(3)
    probes, others = (TRIAL_PLACES[place].draw(rng, (400, count)) for count in (1, 2000))
    shares = (TRIAL_PLACES[place].distance(others, probes) <= resolution).mean(axis=1)
    mean, variance = ball_moments(place, resolution)
    error = np.sqrt(shares.var() / 400)
    assert abs(shares.mean() - mean) < 4 * error
    assert abs(shares.var() - variance - mean * (1 - mean) / 2000) < 0.2 * variance + 1e-4


def test_luce_guesses_where_nothing_is_similar():
    assert luce(np.array([[0.0, 0.0], [1.0, 3.0]])).tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_play_guesses_with_a_similarity_that_sees_nothing():
    played = play("circle", np.ones_like, 4, trials=100)
    assert (played.generalization, played.identification) == (0.25, 0.25)
