"""Layers of an encoder against the plain measurement of their rows, and controls against chance."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.probes.encoders.stimuli import word_stimuli
from genlaws.probes.layers.embeddings import measure_layers
from genlaws.semanticity.measurement.measure import measure

WIDTHS = {"fine": 0.05, "coarse": 0.3}  # of the bumps, in units of the line
SEEDS = 40


@dataclass(frozen=True)
class Bumps:
    """Rows are bumps along the line, finer or coarser, over a common part; a layer of noise comes first."""

    name: str = "bumps"
    layers: tuple[str, ...] = ("noise", *WIDTHS)
    requested: list = field(default_factory=list)

    def embed(self, stimuli):
        self.requested.append(len(stimuli))
        x = np.linspace(0, 1, len(stimuli))
        rng = np.random.default_rng(0)
        found = {"noise": rng.normal(size=(len(x), 30)) + 1.0}
        for name, width in WIDTHS.items():
            found[name] = np.exp(-0.5 * ((x[:, None] - np.linspace(0, 1, 40)) / width) ** 2) + 0.2
        return found

    def with_random_weights(self, seed):
        return Noise(seed)


@dataclass(frozen=True)
class Noise:
    seed: int
    name: str = "noise"
    layers: tuple[str, ...] = ("noise", *WIDTHS)

    def embed(self, stimuli):
        rng = np.random.default_rng(self.seed)
        return {layer: rng.normal(size=(len(stimuli), 50)) + 1.0 for layer in self.layers}


@pytest.fixture(scope="module")
def stimuli():
    return word_stimuli("years", count=60)


@pytest.fixture(scope="module")
def found(stimuli):
    return measure_layers(Bumps(), stimuli=stimuli, center=False, control=("permuted", "random weights"), seed=4)


def test_each_layer_is_measured_as_its_rows_are(found, stimuli):
    rows = Bumps().embed(stimuli)
    for layer, one in zip(found.layers, found.measurements, strict=True):
        plain = measure(rows[layer], positions=stimuli.positions, metric="euclidean", seed=4)
        assert one.generalization == plain.generalization
        assert one.identification == plain.identification
        assert one.fit.resolution == plain.fit.resolution
        assert np.array_equal(one.distance_to_front, plain.distance_to_front, equal_nan=True)


def test_centering_takes_the_mean_over_stimuli_off(stimuli):
    rows = Bumps().embed(stimuli)["coarse"]
    centered = measure(rows - rows.mean(0), positions=stimuli.positions, metric="euclidean", fronts=False)
    found = measure_layers(Bumps(), stimuli=stimuli, layers=("coarse",), control="none", fronts=False)
    assert found.measurements[0].generalization.value == pytest.approx(centered.generalization.value, abs=1e-12)
    assert found.controls == {}


def test_controls_are_at_chance_within_their_intervals(found):
    assert set(found.controls) == {"permuted", "random weights"}
    for one in (*found.controls["permuted"], *found.controls["random weights"]):
        assert one.generalization.low <= 0.5 <= one.generalization.high
        assert one.front is None
    for one, permuted in zip(found.measurements, found.controls["permuted"], strict=True):
        assert permuted.identification.value == pytest.approx(one.identification.value, abs=1e-12)
    for one, permuted in zip(found.measurements[1:], found.controls["permuted"][1:], strict=True):
        assert one.generalization.low > permuted.generalization.high


def test_permuted_intervals_hold_one_half_as_often_as_they_say(stimuli):
    held = 0
    for seed in range(SEEDS):
        reported = measure_layers(
            Bumps(),
            stimuli=stimuli,
            center=False,
            layers=("fine",),
            control="permuted",
            seed=seed,
            fronts=False,
            items=(2,),
        )
        one = reported.controls["permuted"][0].generalization
        held += one.low <= 0.5 <= one.high
    # Jackknife intervals may be too wide but not too narrow: fewer than 34 of 40 at 95 % has a probability below 0.01.
    assert held >= 34


def test_the_table_has_a_row_for_each_layer_and_condition(found):
    frame = found.to_frame()
    assert len(frame) == 9
    assert list(frame["condition"].unique()) == ["as loaded", "permuted", "random weights"]
    row = frame[(frame.layer == "fine") & (frame.condition == "as loaded")].iloc[0]
    one = found.measurements[1]
    assert row.generalization_low == one.generalization.low
    assert row.resolution == one.fit.resolution.value
    assert row.background_high == one.fit.background.high
    assert row.distance_to_front == one.distance_to_front
    assert frame[frame.condition != "as loaded"].distance_to_front.isna().all()


def test_the_best_layer_comes_with_its_caveat(found):
    values = dict(zip(found.layers, [one.generalization.value for one in found.measurements], strict=True))
    assert found.best == max(values, key=values.get)
    assert "largest of 3 layers on the same stimuli, so the choice biases it upward" in found.message
    assert found.message in " ".join(str(found).split())
    assert "Control permuted: generalization from 0." in found.message


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"control": "shuffled"}, "control must be one of permuted, random-weights; got 'shuffled'"),
        ({"layers": ("last",)}, "layers must be one of noise, fine, coarse; got 'last'"),
        ({"layers": ()}, "layers must name at least one layer"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"similarity": "taste"}, "similarity must be one of"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(stimuli, options, sentence):
    with pytest.raises(InputError, match=sentence):
        measure_layers(Bumps(), stimuli=stimuli, **options)


def test_arguments_are_checked_before_anything_is_embedded(stimuli):
    encoder = Bumps()
    with pytest.raises(InputError):
        measure_layers(encoder, stimuli=stimuli, control="shuffled")
    with pytest.raises(InputError, match="stimuli must be an EmbeddingStimuli"):
        measure_layers(encoder, stimuli=["a", "b", "c", "d"])
    assert encoder.requested == []
