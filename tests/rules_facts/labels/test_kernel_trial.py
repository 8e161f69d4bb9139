"""Kernels tried on one training set: measured angles, left-out outputs, regularizations in the kernel's units."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts import Kernel, draw_gaussian
from genlaws.rules_facts.finite_size import gram_numbers, inner_products, left_out_outputs
from genlaws.rules_facts.labels.kernel_trials import MAX_ANGLE_SAMPLES, PARAMETER_RANGES, KernelTrial, wrong_signs

RELATIVE = np.geomspace(1e-4, 10.0, 4)
# Of a measured angle at 60 dimensions: the theory's numbers are the limit.
ANGLE_ACCURACY = 0.03


def trial(loss="square", family="gaussian", inputs=None, normalize=True):
    draw = draw_gaussian(60, 2.0, 0.2, test_count=1)
    products = inner_products(draw.inputs if inputs is None else inputs, normalize=normalize)
    labels = draw.labels if inputs is None else np.where(np.arange(len(inputs)) % 2, 1.0, -1.0)
    return KernelTrial(products, labels, loss, family, 4, 0)


@pytest.mark.parametrize("family", PARAMETER_RANGES)
def test_angles_are_those_of_the_theory_on_gaussian_inputs(family):
    parameters = np.geomspace(*PARAMETER_RANGES[family], 6)[1:-1]
    expected = [Kernel.from_name(f"{family}:{one}").kernel_angle for one in parameters]
    assert trial(family=family).angles(parameters) == pytest.approx(expected, abs=ANGLE_ACCURACY)


def test_sorted_samples_have_the_same_angle():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(MAX_ANGLE_SAMPLES + 100, 20))
    inputs[: MAX_ANGLE_SAMPLES // 2] *= 0.3  # as if sorted by class
    sorted_trial = trial(inputs=inputs, normalize=False)
    whole = gram_numbers(sorted_trial.gram(1.0), sorted_trial.products).kernel.kernel_angle
    assert sorted_trial.angles(np.array([1.0]))[0] == pytest.approx(float(whole), abs=0.01)


@pytest.mark.parametrize("loss", ["square", "hinge"])
@pytest.mark.parametrize("family", ["gaussian", "exponential"])
def test_what_was_tried(loss, family):
    one = trial(loss, family)
    tried = one.evaluate(0.3, RELATIVE)
    gram = one.gram(0.3)
    assert tried.regularization == pytest.approx(RELATIVE * np.diagonal(gram).mean())
    expected = left_out_outputs(gram, one.labels, loss, tried.regularization, folds=4, tolerance=1e-5, seed=0)
    assert tried.left_out == pytest.approx(expected, abs=1e-8)
    # Without regularization every label is remembered; with strong regularization not.
    assert tried.forgotten[:, 0].mean() == 0.0
    assert tried.forgotten[:, -1].mean() > 0.05
    assert tried.left_out.shape == tried.forgotten.shape == (120, 4)


def test_long_inputs_shorten_the_range_of_the_exponential():
    long = trial(family="exponential", inputs=3.0 * np.random.default_rng(0).normal(size=(40, 20)), normalize=False)
    low, high = long.parameter_range
    assert low == PARAMETER_RANGES["exponential"][0]
    assert high * long.products.left.max() == pytest.approx(PARAMETER_RANGES["exponential"][1])
    assert trial(family="exponential").parameter_range == pytest.approx(PARAMETER_RANGES["exponential"])
    with pytest.raises(InputError, match="parameters must be smaller: the squares of exponential:20 overflow"):
        long.gram(20.0)


def test_wrong_signs_count_zeros_half():
    outputs = np.array([[1.0, -1.0], [0.0, 2.0], [-3.0, 0.0]])
    assert wrong_signs(outputs, np.array([1.0, 1.0, -1.0])).tolist() == [[0.0, 1.0], [0.5, 0.0], [0.0, 0.5]]
