"""From a representation to similarities: by formula, from modules and functions, without changing either."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.stimuli import comparison, embed, pair_up, to_array

ROUNDING = 1e-13
QUICK = {"items": (2,), "intervals": False, "fronts": False}


def rows(n=8, dimension=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dimension))


def paired(representation, similarity="cosine", **options):
    count = len(representation)
    given = {"distances": None, "positions": np.arange(float(count)), "metric": "euclidean"} | options
    return pair_up(representation, similarity, **given)


# --- similarities -----------------------------------------------------------------------------------------------------


def by_hand(kind, one, other, h):
    product = one @ other
    return {
        "cosine": max(product / np.sqrt((one @ one) * (other @ other)), 0),
        "relu-dot": max(product, 0),
        "gaussian": np.exp(-((one - other) @ (one - other)) / (2 * h**2)),
        "threshold": np.sqrt((one - other) @ (one - other)),
    }[kind]


@pytest.mark.parametrize("kind", ["cosine", "relu-dot", "gaussian", "threshold"])
def test_each_similarity_by_hand(kind):
    z = rows()
    h = 0.7
    found = paired(z, kind, bandwidth=h if kind == "gaussian" else None).similarities()
    expected = [[by_hand(kind, one, other, h) for other in z] for one in z]
    np.testing.assert_allclose(found, expected, atol=ROUNDING)


def test_a_dot_product_of_positive_embeddings():
    z = np.abs(rows())
    np.testing.assert_allclose(paired(z, "dot").similarities(), z @ z.T, rtol=ROUNDING)
    with pytest.raises(InputError, match="the smallest is -"):
        paired(rows(), "dot").similarities()


def test_the_default_bandwidth_is_the_median_distance():
    z = rows(9)
    apart = [np.linalg.norm(z[i] - z[j]) for i in range(9) for j in range(i)]
    default, given = (paired(z, "gaussian", bandwidth=h).similarities() for h in (None, np.median(apart)))
    np.testing.assert_allclose(default, given, rtol=ROUNDING)


@pytest.mark.parametrize("kind", ["cosine", "relu-dot"])
@pytest.mark.parametrize(("stored", "gone"), [(np.float64, 1e-15), (np.float32, 1e-7), (np.float16, 1e-3)])
def test_products_within_rounding_are_zero_and_no_others(kind, stored, gone):
    # The product of the first two is `gone`, as little as the type can tell from zero; of the third, a hundred of it.
    z = np.array([[1, 0], [gone, 1], [100 * gone, 1]]).astype(stored)
    found = paired(z, kind).similarities()
    assert found[0, 1] == 0
    assert found[0, 2] == pytest.approx(100 * gone, rel=0.01)


def test_a_function_is_called_with_rows_of_numbers():
    seen = []

    def mine(one, other):
        seen.append((one.shape, one.dtype, other.shape))
        return np.ones((len(one), len(other)), dtype=int)

    stimuli = paired(rows(8, 6).reshape(8, 2, 3).astype(np.float32), mine)
    assert stimuli.similarities().dtype == np.float64
    assert stimuli.similarities(np.array([1, 5])).shape == (2, 2)
    assert seen == [((8, 6), np.float64, (8, 6)), ((2, 6), np.float64, (2, 6))]


@pytest.mark.parametrize("kind", ["cosine", "precomputed"])
def test_a_part_of_the_stimuli_is_that_part_of_the_whole(kind):
    z = np.abs(rows(8, 8))
    d = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0))) ** 2
    stimuli = paired(z, kind, distances=d, positions=None, metric=None)
    chosen = np.array([0, 3, 6])
    np.testing.assert_allclose(stimuli.similarities(chosen), stimuli.similarities()[np.ix_(chosen, chosen)])
    np.testing.assert_allclose(stimuli.distances(chosen), d[np.ix_(chosen, chosen)])


def test_only_named_comparisons_are_made():
    with pytest.raises(InputError, match="similarity must be one of"):
        comparison("precomputed", rows())


# --- modules and functions --------------------------------------------------------------------------------------------


def test_a_function_embeds_its_inputs():
    x = np.linspace(0, 1, 9, endpoint=False)

    def circle(places):
        return np.stack([np.cos(2 * np.pi * places), np.sin(2 * np.pi * places)], axis=1)

    given = {"positions": x, "metric": "circle", **QUICK}
    assert measure(circle, inputs=x, **given).generalization == measure(circle(x), **given).generalization
    # A mapping is one argument of a function.
    found = measure(lambda both: circle(both["places"]), inputs={"places": x}, **given)
    assert found.generalization == measure(circle(x), **given).generalization


def test_lists_become_arrays_and_arrays_stay():
    z = rows()
    assert to_array(z, "embeddings") is z
    np.testing.assert_array_equal(to_array(z.tolist(), "embeddings"), z)
    with pytest.raises(InputError, match="embeddings must be a table"):
        to_array([[1.0], [2.0, 3.0]], "embeddings")


def test_torch_modules_stay_in_their_mode():
    torch = pytest.importorskip("torch", reason="torch is not installed; modules are tested where it is")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 4))
    module[2].eval()
    inputs = torch.randn(12, 3)
    one, again = embed(module, inputs), embed(module, inputs)
    np.testing.assert_array_equal(one, again)
    assert [module.training, module[0].training, module[1].training, module[2].training] == [True, True, True, False]
    module.eval()
    np.testing.assert_allclose(one, module(inputs).detach().numpy())
    found = measure(module, inputs=inputs, positions=np.arange(12) / 12, metric="circle", **QUICK)
    assert found.stimulus_count == 12


def test_a_torch_module_that_fails_is_put_back():
    torch = pytest.importorskip("torch", reason="torch is not installed; modules are tested where it is")
    module = torch.nn.Linear(3, 4).train()
    with pytest.raises(RuntimeError):
        embed(module, torch.zeros(5, 2))
    assert module.training


def test_torch_mappings_tensors_and_tuples():
    torch = pytest.importorskip("torch", reason="torch is not installed; modules are tested where it is")

    class Sum(torch.nn.Module):
        def forward(self, left, right):
            return left + right

    class Pair(torch.nn.Module):
        def forward(self, values):
            return values, values

    z = torch.tensor(rows(12), requires_grad=True)
    place = {"positions": torch.arange(12.0) / 12, "metric": "circle", **QUICK}
    expected = measure(rows(12), positions=np.arange(12) / 12, metric="circle", **QUICK).generalization.value
    # Doubles stay doubles, and places in single precision keep their order and their ties.
    assert measure(z, **place).generalization.value == pytest.approx(expected, abs=1e-14)
    both = measure(Sum(), inputs={"left": z, "right": torch.zeros(12, 3)}, **place)
    assert both.generalization.value == pytest.approx(expected, abs=1e-14)
    for small in (torch.bfloat16, torch.float16):
        rounded = measure(z.detach().to(small), **place).generalization.value
        assert rounded == pytest.approx(expected, abs=0.02)
    with pytest.raises(InputError, match="got tuple"):
        measure(Pair(), inputs=z, **place)
    d = torch.cdist(z.detach(), z.detach())
    assert measure(z, distances=d, **QUICK).stimulus_count == 12
