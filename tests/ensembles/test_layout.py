"""Where parameters lie in a row, what they start from, and settings for parts and networks."""

import numpy as np
import pytest
import torch
from scipy import stats

from genlaws.ensembles import Layout, ParameterArray, Perceptron
from genlaws.ensembles.architecture import linear_start, per_network

UNLIKELY = 1e-4  # p-value; the seeds are fixed


def mixed():
    """Return parameters of two parts that alternate."""
    return Layout(
        [
            ParameterArray("a", (2, 3), "one", "uniform", -0.5, 2.0),
            ParameterArray("b", (), "two", "normal", high=3.0),
            ParameterArray("c", (4,), "one", "zeros"),
            ParameterArray("d", (1, 2), "two", "uniform"),
        ]
    )


def test_parts_lie_together_and_views_share_memory():
    layout = mixed()
    assert layout.parts == ("one", "two")
    assert [one.name for one in layout.parameters] == ["a", "c", "b", "d"]
    assert layout.columns == {"one": slice(0, 10), "two": slice(10, 13)}
    assert layout.size == 13
    rows = torch.arange(26.0).view(2, 13)
    views = layout.views(rows)
    assert {name: tuple(one.shape) for name, one in views.items()} == {
        "a": (2, 2, 3),
        "c": (2, 4),
        "b": (2,),
        "d": (2, 1, 2),
    }
    assert views["b"].tolist() == [10.0, 23.0]
    views["c"][1, 0] = -1.0
    assert rows[1, 6] == -1.0


def test_untrained_parts():
    layout = Layout([ParameterArray("w", (2,)), ParameterArray("mean", (2,), "buffers", trained=False)])
    assert layout.trained_parts == ("weights",)
    with pytest.raises(ValueError, match="'weights' holds both trained and other parameters"):
        Layout([ParameterArray("w", (2,)), ParameterArray("mean", (2,), trained=False)])


@pytest.mark.parametrize("parameters", [[], [ParameterArray("w", (2,)), ParameterArray("w", (3,))]])
def test_names_must_differ(parameters):
    with pytest.raises(ValueError, match="each with a name of its own"):
        Layout(parameters)


def test_unknown_start():
    with pytest.raises(ValueError, match="start must be one of linear, uniform, normal, zeros, given; got 'ones'"):
        ParameterArray("w", (2,), start="ones")


def test_start_distributions():
    values = mixed().views(mixed().start(range(3000)))
    assert stats.kstest(values["a"].numpy().ravel(), stats.uniform(-0.5, 2.5).cdf).pvalue > UNLIKELY
    assert stats.kstest(values["b"].numpy(), stats.norm(0.0, 3.0).cdf).pvalue > UNLIKELY
    assert stats.kstest(values["d"].numpy().ravel(), "uniform").pvalue > UNLIKELY
    assert not values["c"].any()
    assert values["a"].dtype == torch.float64


def test_linear_layers_start_as_torch_has_them():
    torch.manual_seed(0)
    weights = torch.nn.Linear(16, 5000).weight.detach()
    start = linear_start(16)
    assert start["high"] == -start["low"] == 0.25
    assert stats.kstest(weights.numpy().ravel(), stats.uniform(-0.25, 0.5).cdf).pvalue > UNLIKELY


def test_parameters_without_a_start_are_drawn_as_the_layers_of_a_perceptron():
    sizes = (16, 9, 4)
    layout = Layout([ParameterArray(f"w{n}", shape, "decoder") for n, shape in enumerate([(16, 9), (9, 4)])])
    assert torch.equal(layout.start(range(5)), Perceptron(sizes, bias=False).layout.start(range(5)))


@pytest.mark.parametrize(
    ("shape", "bound"), [((), 1.0), ((25,), 0.2), ((4, 7), 0.5), ((5, 5, 4, 3), 0.1), ((0, 3), 1.0)]
)
def test_the_number_of_inputs_sets_the_scale(shape, bound):
    drawn = (
        Layout([ParameterArray("w", shape), ParameterArray("rest", (1,), "rest")])
        .start(range(500))[:, :-1]
        .numpy()
        .ravel()
    )
    assert np.abs(drawn).max(initial=0.0) <= bound
    assert drawn.size == 0 or stats.kstest(drawn, stats.uniform(-bound, 2 * bound).cdf).pvalue > UNLIKELY


def test_what_is_not_trained_starts_at_zero_unless_told():
    averages = Layout([ParameterArray("mean", (2,), trained=False)])
    assert not averages.start([1, 2]).any()
    features = Layout([ParameterArray("features", (2, 2), start="linear", trained=False)])
    assert features.start([1, 2]).all()


def test_start_depends_on_the_seed_of_the_part_alone():
    layout = mixed()
    rows = layout.start([3, 4, 5])
    assert torch.equal(layout.start([5])[0], rows[2])
    split = layout.views(layout.start({"one": [5, 5], "two": [4, 3]}))
    assert torch.equal(split["a"][0], layout.views(rows)["a"][2])
    assert torch.equal(split["d"][1], layout.views(rows)["d"][0])


def test_parts_are_not_drawn_from_the_same_numbers():
    layout = Layout([ParameterArray("a", (4,), "one", "uniform"), ParameterArray("b", (4,), "two", "uniform")])
    values = layout.views(layout.start([3]))
    assert not torch.isclose(values["a"], values["b"]).any()


def test_initial_scale_for_each_part_and_network():
    layout = mixed()
    rows = layout.start([3, 4])
    scaled = layout.start([3, 4], {"one": [2.0, 0.0], "two": 3.0})
    assert torch.equal(scaled[:, :10], rows[:, :10] * torch.tensor([[2.0], [0.0]]))
    assert torch.equal(scaled[:, 10:], 3.0 * rows[:, 10:])


@pytest.mark.parametrize(
    ("seeds", "sentence"),
    [
        ({"one": [1]}, "seeds must name the parts one, two; got one"),
        ({"one": [1], "two": [1], "three": [1]}, "seeds must name the parts one, two; got one, two, three"),
        ({"one": [1], "two": [1, 2]}, "Every part needs one seed for each network"),
        ([-1], "seeds must not be negative; got -1"),
        ([1.5], "seeds must be whole numbers; got 1.5"),
        (["a"], "seeds must be whole numbers; got 'a'"),
    ],
)
def test_wrong_seeds(seeds, sentence):
    with pytest.raises(ValueError, match=sentence):
        mixed().start(seeds)


def test_long_seeds_and_numpy_seeds():
    layout = mixed()
    assert torch.equal(layout.start(np.array([7, 8])), layout.start([7, 8]))
    assert not torch.equal(layout.start([2**64 + 7]), layout.start([7]))


def test_given_values_are_not_drawn():
    with pytest.raises(ValueError, match="initial values of 'w' are not drawn; give them to train as start"):
        Layout([ParameterArray("w", (2,), start="given")]).start([0])


def test_per_network_from_whatever_is_given():
    parts = ("one", "two")
    assert {part: one.tolist() for part, one in per_network(2, "rate", parts, 3).items()} == {
        "one": [2.0] * 3,
        "two": [2.0] * 3,
    }
    found = per_network({"one": [1, 2, 3], "two": 0.5}, "rate", parts, 3)
    assert found["one"].tolist() == [1.0, 2.0, 3.0]
    assert found["two"].tolist() == [0.5] * 3
    assert set(per_network({"one": 1.0, "two": 2.0}, "rate", ("one",), 3, parts)) == {"one"}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"one": 1.0}, "rate must name the parts one, two; got one"),
        ({"one": 1.0, "two": 1.0, "x": 1.0}, "rate must name the parts one, two; got one, two, x"),
        ([1.0, 2.0], "rate must be a number or 3 numbers, one for each network; got shape"),
        ([[1.0, 2.0, 3.0]], "got shape \\(1, 3\\)"),
        (-1.0, "rate must be finite and not negative; got -1.0 to -1.0"),
        ([1.0, np.nan, 2.0], "rate must be finite and not negative"),
        (np.inf, "rate must be finite and not negative"),
    ],
)
def test_per_network_refuses(value, sentence):
    with pytest.raises(ValueError, match=sentence):
        per_network(value, "rate", ("one", "two"), 3)
