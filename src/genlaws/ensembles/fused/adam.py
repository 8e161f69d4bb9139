"""Adam and AdamW in one launch of a Triton kernel: each number of a part is read and written once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from genlaws.ensembles.optimizers import Adam, AdamW, PartRates, Portion

NUMBERS_PER_PROGRAM = 1024


def fused_adam(optimizer: Adam, part: Portion, rates: PartRates, step: Tensor) -> None:
    """Change the rows of one part in place, as `Adam.update` or `AdamW.update` does."""
    networks, numbers = part.rows.shape
    first, second = part.moments
    # In double precision, as Adam's own; in single precision 1 - 0.999^t would lose digits.
    corrections = torch.stack([1.0 - optimizer.first_decay**step, (1.0 - optimizer.second_decay**step).sqrt()])
    _adam[(networks, triton.cdiv(numbers, NUMBERS_PER_PROGRAM))](
        part.rows,
        part.gradient,
        first,
        second,
        rates.learning_rate,
        rates.weight_decay,
        corrections.to(torch.float32),
        part.rows.stride(0),
        numbers,
        optimizer.first_decay,
        optimizer.second_decay,
        optimizer.epsilon,
        decoupled=isinstance(optimizer, AdamW),
        block=NUMBERS_PER_PROGRAM,
    )


@triton.jit
def _adam(
    rows,
    gradient,
    first,
    second,
    learning_rate,
    weight_decay,
    corrections,
    stride,
    numbers,
    first_decay,
    second_decay,
    epsilon,
    decoupled: tl.constexpr,
    block: tl.constexpr,
):
    network = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * block + tl.arange(0, block)
    there = place < numbers
    at = network * stride + place
    value = tl.load(rows + at, mask=there)
    slope = tl.load(gradient + at, mask=there)
    m = tl.load(first + at, mask=there)
    v = tl.load(second + at, mask=there)
    rate = tl.load(learning_rate + network)
    decay = tl.load(weight_decay + network)
    first_correction = tl.load(corrections)
    second_correction = tl.load(corrections + 1)
    if decoupled:
        value = value * (1.0 - rate * decay)
    else:
        slope = slope + decay * value
    m = m + (1.0 - first_decay) * (slope - m)
    v = second_decay * v + (1.0 - second_decay) * slope * slope
    denominator = tl.sqrt(v) / second_correction + epsilon
    value = value - rate / first_correction * (m / denominator)
    tl.store(rows + at, value, mask=there)
    tl.store(first + at, m, mask=there)
    tl.store(second + at, v, mask=there)
