r"""Loss and gradient of many networks on pairs in one launch of a Triton kernel: one program for each network.

Each program goes through its pairs in tiles. Embeddings, weights, activations and gradients of a tile stay on the
chip; device memory is read and written once for each parameter. The products run on matrix units: each factor is the
sum of two numbers of half precision, and three products of halves make one of nearly single precision.

This module needs Triton, which comes with CUDA builds of torch; `fused_pairs_fit` checks if a network is supported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from genlaws.ensembles.losses import row_shares

if TYPE_CHECKING:
    from genlaws.ensembles.architecture import Tensors
    from genlaws.ensembles.perceptron import PairPerceptron

MAX_HIDDEN_UNITS = 63  # and one for the bias; wider layers do not stay on the chip
MAX_HIDDEN_LAYERS = 3
MAX_DECODER_INPUTS = 15  # one more column holds the bias
MAX_FUSED_ELEMENTS = 128
PADDED_INPUTS = 16  # of the decoder, with the bias, padded to the size of matrix units
PAIRS_PER_TILE = 32
WARPS_PER_NETWORK = 4
LOSS_CODES = {"logistic": 0, "squared": 1, "hinge": 2}
MODE_CODES = {"concatenate": 0, "difference": 1}


def fused_pairs_fit(network: PairPerceptron) -> bool:
    """Return whether the kernel can compute a network.

    The decoder must be small, with inputs linear in the embeddings, tanh hidden layers of equal width and one output.
    """
    sizes = network.decoder.sizes
    hidden = sizes[1:-1]
    return (
        network.mode in MODE_CODES
        and network.decoder.activation == "tanh"
        and 1 <= len(hidden) <= MAX_HIDDEN_LAYERS
        and len(set(hidden)) == 1
        and hidden[0] <= MAX_HIDDEN_UNITS
        and sizes[-1] == 1
        and sizes[0] <= MAX_DECODER_INPUTS
        and network.elements <= MAX_FUSED_ELEMENTS
    )


def fused_loss_and_gradient(
    network: PairPerceptron,
    rows: Tensor,
    batch: Tensors,
    gradient: Tensor,
    *,
    tile: int = PAIRS_PER_TILE,
    columns: int = PADDED_INPUTS,
    warps: int = WARPS_PER_NETWORK,
) -> Tensor:
    """Write the gradient of every network and return the losses, (networks,).

    Parameters
    ----------
    network : PairPerceptron
    rows, gradient : float32 tensors of shape (networks, size)
    batch : mapping
        As `PairPerceptron` takes it.
    tile, warps : int
        Pairs at once, and groups of 32 threads for each network.
    """
    count = len(rows)
    first, second = batch["first"].contiguous(), batch["second"].contiguous()
    target = batch["target"].to(torch.float32).contiguous()
    pairs = first.shape[1]
    share = row_shares(target, batch.get("weight"))
    shares = share if isinstance(share, Tensor) else torch.full((1, pairs, 1), share, device=rows.device)
    shares = shares.to(torch.float32).contiguous()
    losses = torch.empty(count, device=rows.device)
    places = network.layout.places
    hidden = network.decoder.sizes[1]
    depth = network.decoder.depth - 1
    starts = [places[f"weight_{layer}"].start for layer in range(1, depth + 2)]
    _pair_gradient[(count,)](
        rows,
        gradient,
        losses,
        first,
        second,
        target,
        shares,
        rows.stride(0),
        _stride(first),
        _stride(second),
        _stride(target),
        _stride(shares),
        places["embedding"].start,
        starts[0],
        starts[1] if depth >= 2 else 0,
        starts[2] if depth >= 3 else 0,
        starts[-1],
        pairs=pairs,
        columns=columns,
        elements=network.elements,
        padded_elements=max(16, triton.next_power_of_2(network.elements)),
        dimension=network.dimension,
        mode=MODE_CODES[network.mode],
        hidden=hidden,
        padded=max(16, triton.next_power_of_2(hidden + 1)),
        depth=depth,
        loss=LOSS_CODES[network.decoder.loss],
        tile=tile,
        num_warps=warps,
        num_stages=1,
    )
    return losses


def _stride(values: Tensor) -> int:
    """Return how far apart the numbers of two networks lie; 0 if all share them."""
    return 0 if values.shape[0] == 1 else values.stride(0)


@triton.jit
def _tanh(z, size):
    """Return the hyperbolic tangent of z times a size."""
    twice_in_powers_of_two: tl.constexpr = 2.8853900817779268
    return 1.0 - 2.0 / (tl.exp2((twice_in_powers_of_two * size) * z) + 1.0)


@triton.jit
def _halves(x):
    """Return numbers as two of half precision: the nearest, and 2048 times the remainder.

    Together they hold 22 binary digits. Without the factor the rest of a small number would be below half precision.
    """
    high = x.to(tl.float16)
    return high, ((x - high.to(tl.float32)) * 2048.0).to(tl.float16)


@triton.jit
def _product(a, a_rest, b, b_rest):
    """Return the product of two matrices given in halves; what is left out is below single precision."""
    small = tl.dot(a, b_rest, tl.dot(a_rest, b))
    return tl.dot(a, b) + small * (1.0 / 2048.0)


@triton.jit
def _slope(high, low):
    """Return the derivative of tanh where it is the sum of two halves; halves take fewer registers."""
    h = high.to(tl.float32) + low.to(tl.float32) * (1.0 / 2048.0)
    return 1.0 - h * h


@triton.jit
def _loss(kind: tl.constexpr, output, target):
    """Return the loss of each pair and its derivative with respect to the output."""
    if kind == 0:
        rare = tl.exp(-tl.abs(output))
        value = (tl.maximum(output, 0.0) - target * output) + tl.where(rare < 1e-4, rare, tl.log(1.0 + rare))
        slope = 1.0 / (1.0 + tl.exp(-output)) - target
    elif kind == 1:
        value = (output - target) * (output - target)
        slope = 2.0 * (output - target)
    else:
        value = tl.maximum(1.0 - target * output, 0.0)
        slope = tl.where(value > 0.0, -target, 0.0)
    return value, slope


@triton.jit
def _power_of_two_above(largest):
    """Return a power of two near the largest number, to divide by without rounding; 1 if all are zero."""
    return tl.where(largest > 0.0, tl.exp2(tl.ceil(tl.log2(tl.maximum(largest, 1e-35)))), 1.0)


@triton.jit
def _scaled_halves(x):
    """Return numbers in halves, in units of a power of two near the largest of them, and that unit."""
    size = _power_of_two_above(tl.max(tl.abs(x)))
    high, rest = _halves(x * (1.0 / size))
    return high, rest, size


@triton.jit
def _layer(weights, inputs: tl.constexpr, filled: tl.constexpr, hidden: tl.constexpr, padded: tl.constexpr):
    """Return the weights into hidden units, (filled, padded); the row after the inputs holds the biases.

    In memory the biases follow the weights, so this is one block. A unit that is always 1 goes with that row.
    """
    row, unit = tl.arange(0, filled), tl.arange(0, padded)
    inside = (row[:, None] <= inputs) & (unit[None, :] < hidden)
    return tl.load(weights + row[:, None] * hidden + unit[None, :], mask=inside, other=0.0)


@triton.jit
def _store_layer(
    weights, gradient, inputs: tl.constexpr, filled: tl.constexpr, hidden: tl.constexpr, padded: tl.constexpr
):
    """Write the gradient of a layer, weights and biases."""
    row, unit = tl.arange(0, filled), tl.arange(0, padded)
    inside = (row[:, None] <= inputs) & (unit[None, :] < hidden)
    tl.store(weights + row[:, None] * hidden + unit[None, :], gradient, mask=inside)


@triton.jit
def _hidden(z, size, hidden: tl.constexpr, padded: tl.constexpr):
    """Return the activations of sums in units of a size, and 1 for the unit that stands for the next layer's bias."""
    unit = tl.arange(0, padded)
    return tl.where(unit[None, :] == hidden, 1.0, _tanh(z, size))


@triton.jit
def _entries(
    table,
    columns: tl.constexpr,
    elements: tl.constexpr,
    padded: tl.constexpr,
    dimension: tl.constexpr,
    mode: tl.constexpr,
):
    """Return what each entry adds to the decoder's inputs, (2 padded, columns): as first of a pair, then as second.

    The column after the inputs is for the bias. Every pair has exactly one first entry, which adds the 1.
    """
    row, column = tl.arange(0, 2 * padded), tl.arange(0, columns)
    is_first = (row < padded)[:, None]
    element = tl.where(row < padded, row, row - padded)[:, None]
    shift: tl.constexpr = dimension if mode == 0 else 0
    inputs: tl.constexpr = dimension + shift
    place = tl.where(is_first, column[None, :], column[None, :] - shift)
    inside = (element < elements) & (place >= 0) & (place < dimension)
    brought = tl.load(table + element * dimension + place, mask=inside, other=0.0)
    if mode == 1:
        brought = tl.where(is_first, brought, -brought)
    return tl.where(is_first & (column[None, :] == inputs), 1.0, brought)


@triton.jit
def _store_table(
    spot,
    by_entry,
    columns: tl.constexpr,
    elements: tl.constexpr,
    padded: tl.constexpr,
    dimension: tl.constexpr,
    mode: tl.constexpr,
):
    """Write the gradient of the table: the part from first entries, plus the part from second entries."""
    row, column = tl.arange(0, 2 * padded), tl.arange(0, columns)
    element = tl.where(row < padded, row, row - padded)
    shift: tl.constexpr = dimension if mode == 0 else 0
    is_first = (row < elements)[:, None] & (column[None, :] < dimension)
    is_second = (row >= padded) & (element < elements)
    is_second = is_second[:, None] & (column[None, :] >= shift) & (column[None, :] < shift + dimension)
    sign: tl.constexpr = 1.0 if mode == 0 else -1.0
    at = spot + element[:, None] * dimension + column[None, :]
    tl.store(at, by_entry, mask=is_first)
    tl.debug_barrier()
    so_far = tl.load(at - shift, mask=is_second, other=0.0)
    tl.store(at - shift, so_far + sign * by_entry, mask=is_second)


@triton.jit
def _pair_gradient(
    rows,
    gradient,
    losses,
    first,
    second,
    target,
    shares,
    row_stride,
    first_stride,
    second_stride,
    target_stride,
    share_stride,
    embedding_at,
    weight_1,
    weight_2,
    weight_3,
    last_at,
    pairs: tl.constexpr,
    columns: tl.constexpr,
    elements: tl.constexpr,
    padded_elements: tl.constexpr,
    dimension: tl.constexpr,
    mode: tl.constexpr,
    hidden: tl.constexpr,
    padded: tl.constexpr,
    depth: tl.constexpr,
    loss: tl.constexpr,
    tile: tl.constexpr,
):
    network = tl.program_id(0).to(tl.int64)
    own, out = rows + network * row_stride, gradient + network * row_stride
    inputs: tl.constexpr = 2 * dimension if mode == 0 else dimension
    unit, entry = tl.arange(0, padded), tl.arange(0, 2 * padded_elements)
    # The first layer is linear in the table, so it is applied to the entries, once, and its gradient comes from theirs.
    layer_1, rest_1, size_1 = _scaled_halves(_layer(own + weight_1, inputs, columns, hidden, padded))
    entries = _entries(own + embedding_at, columns, elements, padded_elements, dimension, mode)
    brought, brought_rest, brought_size = _scaled_halves(entries)
    sums = brought_size * size_1 * _product(brought, brought_rest, layer_1, rest_1)
    from_entry, rest_0, size_0 = _scaled_halves(sums)
    by_sums = tl.zeros((2 * padded_elements, padded), tl.float32)
    last = tl.load(own + last_at + unit, mask=unit <= hidden, other=0.0)
    last_size = _power_of_two_above(tl.max(tl.abs(last)))
    by_last = tl.zeros((padded,), tl.float32)
    total = tl.zeros((tile,), tl.float32)
    if depth >= 2:
        layer_2, rest_2, size_2 = _scaled_halves(_layer(own + weight_2, hidden, padded, hidden, padded))
        by_layer_2 = tl.zeros((padded, padded), tl.float32)
    if depth == 3:
        layer_3, rest_3, size_3 = _scaled_halves(_layer(own + weight_3, hidden, padded, hidden, padded))
        by_layer_3 = tl.zeros((padded, padded), tl.float32)

    for begin in range(0, pairs, tile):
        pair = begin + tl.arange(0, tile)
        there = pair < pairs
        one = tl.load(first + network * first_stride + pair, mask=there, other=0).to(tl.int32)
        other = tl.load(second + network * second_stride + pair, mask=there, other=0).to(tl.int32)
        wanted = tl.load(target + network * target_stride + pair, mask=there, other=0.0)
        share = tl.load(shares + network * share_stride + pair, mask=there, other=0.0)
        # Forward pass.
        is_first = (entry[None, :] < padded_elements) & (one[:, None] == entry[None, :])
        is_second = other[:, None] + padded_elements == entry[None, :]
        chosen = (is_first | is_second).to(tl.float16)
        z = tl.dot(chosen, from_entry) + tl.dot(chosen, rest_0) * (1.0 / 2048.0)
        top = _hidden(z, size_0, hidden, padded)
        if depth >= 2:
            high_1, low_1 = _halves(top)
            top = _hidden(_product(high_1, low_1, layer_2, rest_2), size_2, hidden, padded)
        if depth == 3:
            high_2, low_2 = _halves(top)
            top = _hidden(_product(high_2, low_2, layer_3, rest_3), size_3, hidden, padded)
        value, slope = _loss(loss, tl.sum(top * last[None, :], 1), wanted)
        total += value * share
        slope = slope * share
        by_last += tl.sum(top * slope[:, None], 0)
        # Backward pass, in units of the slopes and of the layers passed so far, which keep all numbers of order 1.
        size = _power_of_two_above(tl.max(tl.abs(slope)))
        high, low = _halves((slope / size)[:, None] * (last / last_size)[None, :] * (1.0 - top * top))
        size = size * last_size
        if depth == 3:
            by_layer_3 += size * _product(tl.trans(high_2), tl.trans(low_2), high, low)
            high, low = _halves(_product(high, low, tl.trans(layer_3), tl.trans(rest_3)) * _slope(high_2, low_2))
            size = size * size_3
        if depth >= 2:
            by_layer_2 += size * _product(tl.trans(high_1), tl.trans(low_1), high, low)
            high, low = _halves(_product(high, low, tl.trans(layer_2), tl.trans(rest_2)) * _slope(high_1, low_1))
            size = size * size_2
        by_sums += size * (tl.dot(tl.trans(chosen), high) + tl.dot(tl.trans(chosen), low) * (1.0 / 2048.0))

    tl.store(losses + network, tl.sum(total))
    high, low, size = _scaled_halves(by_sums)
    by_layer_1 = brought_size * size * _product(tl.trans(brought), tl.trans(brought_rest), high, low)
    by_entry = size_1 * size * _product(high, low, tl.trans(layer_1), tl.trans(rest_1))
    _store_layer(out + weight_1, by_layer_1, inputs, columns, hidden, padded)
    if depth >= 2:
        _store_layer(out + weight_2, by_layer_2, hidden, padded, hidden, padded)
    if depth == 3:
        _store_layer(out + weight_3, by_layer_3, hidden, padded, hidden, padded)
    tl.store(out + last_at + unit, by_last, mask=unit <= hidden)
    _store_table(out + embedding_at, by_entry, columns, elements, padded_elements, dimension, mode)
