"""What holds for every architecture: in a stack it is trained as if it were alone, and as plain torch does it."""

import numpy as np
import pytest
import torch
from kinds import KINDS

from genlaws.ensembles import Adam, AdamW, Sgd, train

DOUBLE = 1e-10  # relative to the largest parameter, after a few dozen updates in double precision
SINGLE = 2e-4  # the same in single precision: rounding of 1e-7, grown over the updates
PLACE = 3  # of the network that is also trained alone
OPTIMIZERS = {
    "adam": (Adam(), torch.optim.Adam, {}),
    "adamw": (AdamW(0.8, 0.99, 1e-6), torch.optim.AdamW, {"betas": (0.8, 0.99), "eps": 1e-6}),
    "sgd": (Sgd(), torch.optim.SGD, {}),
    "momentum": (Sgd(momentum=0.7), torch.optim.SGD, {"momentum": 0.7}),
}

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def rate_of(part, network):
    """Return a learning rate that differs between parts and networks."""
    return 1e-3 * (1 + len(part) % 3) * (1 + network % 4)


def trained(kind, seeds, *, steps=25, **settings):
    """Return a trained stack; the learning rate of a network follows from its seed."""
    rates = {part: [rate_of(part, seed - 10) for seed in seeds] for part in kind.architecture.layout.trained_parts}
    settings = {"dtype": torch.float64, "learning_rate": rates, "seeds": seeds, "start": kind.start(seeds), **settings}
    return train(kind.architecture, kind.batches(seeds), steps=steps, **settings)


@every_kind
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, DOUBLE), (torch.float32, SINGLE)], ids=str)
def test_alone_or_among_500(kind, dtype, tolerance):
    seeds, logs = list(range(10, 510)), range(kind.steps + 1)
    together = trained(kind, seeds, steps=kind.steps, dtype=dtype, log_at=logs)
    for place in (0, PLACE, 499):
        alone = trained(kind, [seeds[place]], steps=kind.steps, dtype=dtype, log_at=logs)
        largest = together.rows[place].abs().max()
        assert (alone.rows[0] - together.rows[place]).abs().max() <= tolerance * largest
        losses = (alone.measured["loss"][0, 1:], together.measured["loss"][place, 1:])
        np.testing.assert_allclose(*losses, rtol=10 * tolerance, atol=tolerance)


@every_kind
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_equals_plain_torch(kind, name):
    optimizer, plain, settings = OPTIMIZERS[name]
    seeds, decay = list(range(10, 15)), 0.05
    batches = kind.batches(seeds).to(torch.device("cpu"), torch.float64)
    layout, start = kind.architecture.layout, kind.start(seeds, 0.9)
    stack = trained(kind, seeds, optimizer=optimizer, weight_decay=decay, start=start, log_at=range(26))
    named, loss = kind.alone(layout.views(start), PLACE)
    parts = {one.name: one.part for one in layout.parameters}
    groups = [{"params": [one], "lr": rate_of(parts[key], PLACE)} for key, one in named.items()]
    alone = plain(groups, weight_decay=decay, **settings)
    losses = []
    for step in range(25):
        batches.prepare(step)
        batch = {key: one[PLACE] for key, one in batches.at(torch.tensor(step)).items()}
        alone.zero_grad()
        losses.append(loss(batch))
        losses[-1].backward()
        alone.step()
    for key, one in named.items():
        expected = one.detach().T if key.startswith("weight_") else one.detach()
        torch.testing.assert_close(stack.values[key][PLACE], expected, rtol=0, atol=DOUBLE * 10)
    expected = [one.item() for one in losses]
    np.testing.assert_allclose(stack.measured["loss"][PLACE, 1:], expected, rtol=10 * DOUBLE, atol=DOUBLE)


@pytest.mark.parametrize("kind", [one for one in KINDS if one.name != "module"], ids=lambda kind: kind.name)
def test_initial_values_are_drawn_by_the_layout(kind):
    seeds = [10, 11]
    drawn = train(kind.architecture, kind.batches(seeds), seeds=seeds, steps=0, initial_scale=0.9, dtype=torch.float64)
    assert torch.equal(drawn.rows, kind.start(seeds, 0.9))


@every_kind
def test_single_precision_follows_double(kind):
    seeds = list(range(10, 14))
    single, double = (trained(kind, seeds, dtype=dtype) for dtype in (torch.float32, torch.float64))
    assert single.rows.dtype == torch.float32
    moved = (double.rows - kind.start(seeds)).norm()
    assert (single.rows.double() - double.rows).norm() <= SINGLE * moved


@every_kind
@pytest.mark.parametrize("poison", [np.nan, np.inf], ids=str)
def test_a_broken_network_touches_no_other(kind, poison):
    seeds, steps = list(range(10, 16)), kind.steps
    start = kind.start(seeds)
    sound = trained(kind, seeds, start=start, steps=steps, log_at=[0, 2, steps])
    start[2] = poison
    broken = trained(kind, seeds, start=start, steps=steps, log_at=[0, 2, steps])
    others = [0, 1, 3, 4, 5]
    assert torch.equal(sound.rows[others], broken.rows[others])
    assert broken.failed.tolist() == [place == 2 for place in range(6)]
    assert broken.failed_at[2] == 0
    assert np.isnan(broken.measured["loss"][2]).all()
    np.testing.assert_array_equal(broken.measured["loss"][others], sound.measured["loss"][others])


@every_kind
def test_same_seed_same_bits(kind):
    seeds = [10, 11, 10]
    first, second = (trained(kind, seeds) for _ in range(2))
    assert torch.equal(first.rows, second.rows)
    assert not torch.equal(first.rows[0], first.rows[1])
