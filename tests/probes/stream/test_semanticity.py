"""Both tests along a residual stream: planted writes, equality with the measurement, controls, and a real model."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the package torch")

from genlaws.core.errors import InputError
from genlaws.figures.residual_stream.semanticity import draw_stream_semanticity
from genlaws.models.capture import capture_texts
from genlaws.models.stream import Site, Stream
from genlaws.models.untrained import random_weights
from genlaws.probes.encoders.stimuli import EmbeddingStimuli, hue_stimuli, word_stimuli
from genlaws.probes.stream.semanticity import measure_stream, stream_semanticity
from genlaws.semanticity.measurement.measure import measure

ROUNDING = 1e-9
COUNT, COMMON, WIDTH = 60, 0.5, 15  # stimuli on a circle; share of the common part; units of a box
SITES = (Site(0, "attention"), Site(0, "mlp"), Site(1, "end"))


def circle():
    places = np.arange(COUNT, dtype=float)
    return EmbeddingStimuli("circle", "text", tuple(map(str, range(COUNT))), places, "circle", float(COUNT))


def planted():
    """Return a stream: distinct states with a common part, without it, and boxes that overlap with their neighbors."""
    states = np.zeros((COUNT, 3, COUNT + 1))
    states[:, :2, :COUNT] = np.eye(COUNT)[:, None]
    states[:, 0, COUNT] = np.sqrt(COMMON / (1 - COMMON))  # so that all cosines are COMMON
    for place in range(COUNT):
        states[place, 2, (place + np.arange(WIDTH)) % COUNT] = 1.0
    return Stream(states, SITES)


@pytest.fixture(scope="module")
def toy():
    return measure_stream(planted(), circle(), center=False, fronts=False)


def test_planted_writes_have_their_known_values(toy):
    first, middle, last = toy.measurements
    assert first.generalization.value == pytest.approx(0.5, abs=ROUNDING)
    assert first.identification.value == pytest.approx(1 / (1 + COMMON), abs=ROUNDING)
    assert middle.generalization.value == pytest.approx(0.5, abs=ROUNDING)
    assert middle.identification.value == pytest.approx(1.0, abs=ROUNDING)
    # Boxes overlap by max(0, 1 - d/WIDTH): linear decay on the circle, whose closed form leaves terms of 1/COUNT.
    ball = 2 * WIDTH / COUNT
    assert last.generalization.value == pytest.approx(0.5 + ball - (1.5 - np.log(2)) * ball**2, abs=1.5 / COUNT)
    assert last.identification.value == pytest.approx(1 - (1 - np.log(2)) * ball, abs=1.5 / COUNT)


def test_planted_writes_are_told_apart(toy):
    sharpens, builds = toy.writes
    assert sharpens.site.name == "0.attention"
    assert sharpens.identification.estimate.value == pytest.approx(1 - 1 / (1 + COMMON), abs=ROUNDING)
    assert (sharpens.identification.direction, sharpens.generalization.direction) == ("up", "unclear")
    assert (builds.identification.direction, builds.generalization.direction) == ("down", "up")
    frame = toy.tables()["writes"]
    assert list(frame["write"]) == ["0.attention", "0.mlp"] * 2
    assert list(frame["condition"]) == ["as loaded"] * 2 + ["permuted"] * 2
    assert {one.kind: one.write_count for one in toy.totals} == {"attention": 1, "mlp": 1}
    assert "4 tests" in str(toy)


def test_permuted_states_are_at_chance_and_identify_as_before():
    rng = np.random.default_rng(0)
    places = np.sort(rng.uniform(0, 1, 80))
    near = np.exp(-(((places[:, None] - np.linspace(0, 1, 30)) / 0.1) ** 2))
    states = np.stack([rng.normal(size=near.shape), near, near + 0.1 * rng.normal(size=near.shape)], axis=1)
    stimuli = EmbeddingStimuli("line", "text", tuple(map(str, range(80))), places)
    found = measure_stream(Stream(states, SITES), stimuli, fronts=False)
    permuted = found.conditions["permuted"]
    assert found.measurements[1].generalization.value > 0.7
    for one, other in zip(permuted.measurements, found.measurements, strict=True):
        half = one.generalization.high - one.generalization.value
        assert abs(one.generalization.value - 0.5) < 2 * half
        assert one.identification.value == pytest.approx(other.identification.value, abs=ROUNDING)
    assert all(write.generalization.direction == "unclear" for write in permuted.writes)


def test_a_site_with_one_state_for_all_stimuli_is_left_out():
    stream = planted()
    stream.states[:, 0] = 1.0
    found = measure_stream(stream, circle(), permuted=False, fronts=False)
    assert [site.name for site in found.sites] == ["0.mlp", "end"]
    assert [one.site.name for one in found.writes] == ["0.mlp"]
    assert "same state at 0.attention" in found.messages[0]
    stream.states[:] = 1.0
    with pytest.raises(InputError, match="must differ"):
        measure_stream(stream, circle())


@pytest.fixture(scope="module")
def years():
    return word_stimuli("years", count=40)


@pytest.fixture(scope="module")
def found(stories, years):
    return stream_semanticity(*stories, years, name="stories260K", batch_size=20)


def test_a_real_stream_is_measured_as_its_captured_states_are(stories, years, found):
    model, tokenizer = stories
    read = capture_texts(model, tokenizer, list(years.contents))
    fresh = capture_texts(random_weights(model, 0), tokenizer, list(years.contents))
    assert found.sites == read.sites
    assert len(found.writes) == len(read.sites) - 1
    for place in (1, len(read.sites) - 1):
        for name, states in (("as loaded", read.stream.states), ("random weights", fresh.stream.states)):
            rows = states[:, place] - states[:, place].mean(axis=0)
            reported = measure(rows, **years.truth, items=(2,), fronts=False)
            one = found.conditions[name].measurements[place]
            assert one.generalization.value == pytest.approx(reported.generalization.value, abs=1e-5)
            assert one.identification.value == pytest.approx(reported.identification.value, abs=1e-5)
    assert 0 < found.identity_error < 1e-5
    assert any("different states" in message for message in found.messages)


def test_changes_of_a_real_stream_sum_to_the_way_from_first_to_last(found):
    for test in ("generalization", "identification"):
        way = getattr(found.measurements[-1], test).value - getattr(found.measurements[0], test).value
        changes = [getattr(one, test).estimate.value for one in found.writes]
        totals = [getattr(one, test).estimate.value for one in found.totals]
        assert sum(changes) == pytest.approx(way, abs=ROUNDING)
        assert sum(totals) == pytest.approx(way, abs=ROUNDING)


def test_tables_and_picture_of_a_real_stream(found):
    sites, writes = found.to_frame(), found.tables()["writes"]
    assert len(sites) == 3 * len(found.sites)
    assert list(sites["sublayer"][: len(found.sites)]) == list(range(len(found.sites)))
    assert {"resolution", "background", "distance_to_front", "explained"} <= set(sites.columns)
    assert len(writes) == 3 * len(found.writes)
    assert (writes["generalization_low"] <= writes["generalization_change"]).all()
    assert (writes["generalization_holm"] >= writes["generalization_p"]).all()
    picture = draw_stream_semanticity(found)
    assert len(picture.axes) == 3
    with pytest.raises(InputError, match="StreamSemanticity"):
        draw_stream_semanticity("stories")


def test_mean_over_tokens_leaves_marks_out(stories, years):
    model, tokenizer = stories
    found = stream_semanticity(model, tokenizer, years, position="mean", controls="none", fronts=False)
    read = capture_texts(model, tokenizer, list(years.contents), position="all")
    rows = np.stack([read.stream.states[read.text_numbers == text, 3].mean(axis=0) for text in range(len(years))])
    reported = measure(rows - rows.mean(axis=0), **years.truth, items=(2,), fronts=False)
    assert found.measurements[3].generalization.value == pytest.approx(reported.generalization.value, abs=1e-5)
    assert list(found.conditions) == ["as loaded"]
    assert any("tokens" in message for message in found.messages)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"stimuli": "years"}, "stimuli must be an EmbeddingStimuli"),
        ({"stimuli": hue_stimuli(8)}, "stimuli must be words"),
        ({"position": "first"}, "position must be one of last, mean"),
        ({"controls": "shuffled"}, "controls must be one of permuted, random-weights"),
        ({"similarity": "precomputed"}, "similarity must be one of cosine, relu-dot"),
        ({"ties": "keep"}, "ties must be one of split, drop"),
        ({"memory": 2e-5}, "At the site 0.attention: stimuli must be few enough"),
    ],
)
def test_wrong_arguments_are_named(stories, years, change, complaint):
    given = {"stimuli": years, "controls": "none", "fronts": False, **change}
    with pytest.raises(InputError, match=complaint):
        stream_semanticity(*stories, given.pop("stimuli"), **given)


def test_a_stream_of_other_stimuli_is_refused():
    with pytest.raises(InputError, match="one row for each of the 40 stimuli"):
        measure_stream(planted(), word_stimuli("years", count=40))
