"""One update of a stack by Triton kernels, where there is a kernel for its network."""

from __future__ import annotations

from importlib.util import find_spec

import torch

from genlaws.ensembles.optimizers import Adam
from genlaws.ensembles.perceptron import PairPerceptron
from genlaws.ensembles.stack import Stack

MAX_FAST_ELEMENTS = 64  # in the table of embeddings


def fused_fits(stack: Stack) -> bool:
    """Return whether a stack can be updated by the kernels: networks on pairs of moderate size, in single precision."""
    network = stack.architecture
    if not isinstance(network, PairPerceptron) or stack.rows.dtype != torch.float32 or find_spec("triton") is None:
        return False
    from genlaws.ensembles.fused.pairs import fused_pairs_fit  # noqa: PLC0415

    return fused_pairs_fit(network)


def fused_pays(stack: Stack) -> bool:
    """Return whether the kernels are the fastest path of a stack they fit.

    Each pair picks its elements by a product with the whole table. With more than 64 elements, padded to 128, that
    takes longer than the layers; the measured rates are in ``benchmarks/README.md``.
    """
    network = stack.architecture
    return isinstance(network, PairPerceptron) and network.elements <= MAX_FAST_ELEMENTS


def fused_update(stack: Stack) -> None:
    """Make one update of every network, as `Stack.update` does; optimizers other than Adam and AdamW are torch's."""
    from genlaws.ensembles.fused.adam import fused_adam  # noqa: PLC0415
    from genlaws.ensembles.fused.pairs import fused_loss_and_gradient  # noqa: PLC0415

    network = stack.architecture
    assert isinstance(network, PairPerceptron)
    batch = stack.batches.at(stack.step)
    stack.loss.copy_(fused_loss_and_gradient(network, stack.rows, batch, stack.gradient))
    stack.optimize(fused_adam if isinstance(stack.optimizer, Adam) else None)
