"""How often networks generalise against the ratio of their learning rates: beside the laws, with other optimisers."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field

from genlaws.figures.progress import Progress
from genlaws.figures.relations_cells import (
    Fraction,
    NetworkFigureSettings,
    Rate,
    Scale,
    Steps,
    grouped,
    log_every,
    networks,
    share_columns,
    threshold_columns,
)
from genlaws.numerics.arguments import Array
from genlaws.relations.repons import collision_probability, collision_rate_ratio, sign_collision_probability

Ratios = Annotated[tuple[Rate, ...], Field(min_length=2, max_length=60)]
Variant = tuple[str, Annotated[int, Field(ge=1)] | None, Scale]
DIMENSION = 2  # of the embeddings
FIRST_WEIGHTS = 1.0 / np.sqrt(3.0 * 2 * DIMENSION)  # width of torch's uniform start with both embeddings as inputs
LAWS = ("eq12", "sign_law", "first_layer")
# Read from the paper's Figure 6: factor on the initial values, then ratio and share of what look like 50 networks.
PAPER_SHARES = {
    1.0: ((30.0, 0.46), (10.0, 0.36), (5.0, 0.14), (1.0, 0.02), (10 ** (-1 / 3), 0.0)),
    0.5: ((30.0, 0.72), (10.0, 0.60), (5.0, 0.44), (1.0, 0.14), (10 ** (-1 / 3), 0.02), (10 ** (-2 / 3), 0.0)),
}


class SuccessSettings(NetworkFigureSettings):
    """Ratios of the rates at one decoder rate, and factors on the initial embeddings.

    The defaults are a reduced size for a processor. The paper's figure has 50 networks at each point; its steps and
    rates are not stated.
    """

    relation: str = "mod3"
    ratios: Ratios = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    scales: Annotated[tuple[Rate, ...], Field(min_length=1, max_length=4)] = (1.0, 0.5)
    optimisers: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)] = ("adam", "sgd")
    adam_rate: Rate = 1e-2
    sgd_rate: Rate = 1.0
    train_fraction: Fraction = 0.75
    target: Fraction = 0.9
    width: Annotated[int, Field(ge=1, le=10_000)] = 20
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 10
    steps: Steps = 4000


class ControlSettings(NetworkFigureSettings):
    """The same with other optimisers and batches.

    `variants` holds the optimiser, the batch size (none: all entries) and the weight decay of both parts.
    """

    relation: str = "mod3"
    ratios: Ratios = (10.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    variants: Annotated[tuple[Variant, ...], Field(min_length=1, max_length=7)] = (
        ("adam", None, 0.0),
        ("adam", 128, 0.0),
        ("adam", 32, 0.0),
        ("adamw", None, 1.0),
        ("sgd", None, 0.0),
        ("sgd", 32, 0.0),
    )
    adam_rate: Rate = 1e-2
    sgd_rate: Rate = 1.0
    train_fraction: Fraction = 0.75
    target: Fraction = 0.9
    width: Annotated[int, Field(ge=1, le=10_000)] = 20
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 8
    steps: Steps = 4000


def success_data(settings: SuccessSettings, progress: Progress) -> pd.DataFrame:
    """Return the share of networks that generalise by optimiser, scale and ratio, beside three laws."""
    rows, outputs = [], first_layer_outputs(settings)
    for optimiser in settings.optimisers:
        rate = settings.sgd_rate if optimiser == "sgd" else settings.adam_rate
        axes = {"embedding_scale": settings.scales, "encoder_rate": tuple(rate * one for one in settings.ratios)}
        base = _shared(settings, optimiser, rate)
        table = networks(base, axes, settings.repeats, settings.seed, progress)
        for place, group in grouped(table, ["embedding_scale", "encoder_rate"]):
            ratio, scale = place["encoder_rate"] / rate, place["embedding_scale"]
            rows.append(
                {
                    "optimiser": optimiser,
                    **place,
                    "decoder_rate": rate,
                    "ratio": ratio,
                    **share_columns("success", group["test_accuracy"] > settings.target),
                    **share_columns("reached", group["test_step"] >= 0),
                    **share_columns("memorised", group["phase"] == "memorisation"),
                    "mean_test_accuracy": group["test_accuracy"].mean(),
                    "networks": len(group),
                    **{name: float(one) for name, one in laws(ratio, scale, outputs).items()},
                }
            )
    return pd.DataFrame(rows)


def laws(ratio: ArrayLike, scale: float, outputs: int) -> dict[str, Array]:
    r"""Return the chance that two repons of one class merge, by three laws.

    ``eq12`` and ``sign_law`` are those of a line with one output as the paper draws Eq. 12,

    .. math:: \tfrac2\pi\arctan\frac{x}{s}, \quad x = \sqrt{\tfrac{\eta_{enc}}{2\eta_{dec}}}, \qquad
        \tfrac2\pi\arctan\frac{2x^2}{s},

    with decoder entries of width 1 and the factor :math:`s` as the width of *half the separation*; :math:`s = 1` is the
    black line of its Figure 6. Embeddings drawn with that width, as the networks' are, have half separations of
    width :math:`s/\sqrt2`: read so, Eq. 12 moves to ratios 2 times and the sign law to ratios :math:`\sqrt2` times
    smaller.

    ``first_layer`` is the exact law in two dimensions for what the networks start with: each embedding (not half the
    separation) has width :math:`s`, and the linear map is the decoder's first layer as torch starts it. An element
    is met as the first and as the second argument, so both halves of the layer hold it, one above the other:
    their sum :math:`W_L^TW_L + W_R^TW_R` is what gradient flow ties to the embeddings. The law is for normal
    weights; torch's are uniform with the same width.

    Parameters
    ----------
    ratio : array_like > 0
        Encoder rate over decoder rate.
    scale : float > 0
        Factor on the initial embeddings.
    outputs : int
        Rows of both halves together: :func:`first_layer_outputs`.

    References
    ----------
    :cite:p:`baek2024`, Eq. 12 and Figure 6; the other two laws are ours.
    """
    return {
        "eq12": collision_probability(ratio, 1.0, scale, 1.0, encoder_scale_of="half-separation"),
        "sign_law": sign_collision_probability(ratio, 1.0, scale, 1.0, encoder_scale_of="half-separation"),
        "first_layer": collision_probability(
            ratio, 1.0, scale, FIRST_WEIGHTS, encoder_scale_of="repon", dimension=DIMENSION, outputs=outputs
        ),
    }


def first_layer_outputs(settings: SuccessSettings) -> int:
    """Return how many outputs of the first layer see an element: as first and as second argument."""
    return 2 * (settings.width if settings.depth else 1)


def control_data(settings: ControlSettings, progress: Progress) -> pd.DataFrame:
    """Return the share of networks that generalise by variant and ratio."""
    rows = []
    for optimiser, batch_size, decay in settings.variants:
        rate = settings.sgd_rate if optimiser == "sgd" else settings.adam_rate
        axes = {"encoder_rate": tuple(rate * one for one in settings.ratios)}
        base = _shared(settings, optimiser, rate) | {
            "batch_size": batch_size,
            "encoder_decay": decay,
            "decoder_decay": decay,
        }
        table = networks(base, axes, settings.repeats, settings.seed, progress)
        for place, group in grouped(table, ["encoder_rate"]):
            rows.append(
                {
                    "optimiser": optimiser,
                    "batch_size": 0 if batch_size is None else batch_size,
                    "weight_decay": decay,
                    "ratio": place["encoder_rate"] / rate,
                    **share_columns("success", group["test_accuracy"] > settings.target),
                    **share_columns("memorised", group["phase"] == "memorisation"),
                    "mean_test_accuracy": group["test_accuracy"].mean(),
                    "networks": len(group),
                }
            )
    return pd.DataFrame(rows)


def success_summary(frame: pd.DataFrame, settings: SuccessSettings) -> pd.DataFrame:
    """Return the ratio at which every other network generalises, for each optimiser and scale, beside that of each law.

    ``above_eq12`` and ``below_eq12`` count the ratios at which the whole interval lies above or below Eq. 12, which
    the paper calls an upper bound.
    """
    table = _thresholds(frame, ["optimiser", "embedding_scale"])
    scales, counts = table["embedding_scale"].to_numpy(), []
    for _, group in grouped(frame, ["optimiser", "embedding_scale"]):
        beyond = (group["success_low"] > group["eq12"], group["success_high"] < group["eq12"])
        counts.append([int(one.sum()) for one in beyond])
    above, below = zip(*counts, strict=True)
    outputs = first_layer_outputs(settings)
    return table.assign(
        eq12_half_ratio=collision_rate_ratio(0.5, scales),
        sign_law_half_ratio=scales,
        first_layer_half_ratio=collision_rate_ratio(
            0.5, scales, FIRST_WEIGHTS, encoder_scale_of="repon", dimension=DIMENSION, outputs=outputs
        ),
        above_eq12=above,
        below_eq12=below,
        ratios=len(settings.ratios),
    )


def control_summary(frame: pd.DataFrame, settings: ControlSettings) -> pd.DataFrame:
    """Return the ratio at which every other network generalises, for each variant."""
    return _thresholds(frame, ["optimiser", "batch_size", "weight_decay"])


def _thresholds(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    rows = [
        place
        | threshold_columns("half_ratio", group, "ratio")
        | {
            "networks": int(group["networks"].sum()),
            "success": float(np.average(group["success"], weights=group["networks"])),
        }
        for place, group in grouped(frame, by)
    ]
    return pd.DataFrame(rows)


def _shared(settings: SuccessSettings | ControlSettings, optimiser: str, rate: float) -> dict[str, object]:
    return {
        "relation": settings.relation,
        "optimiser": optimiser,
        "decoder_rate": rate,
        "train_fraction": settings.train_fraction,
        "depth": settings.depth,
        "width": settings.width,
        "steps": settings.steps,
        "log_every": log_every(settings.steps),
        "target": settings.target,
        "stop_at": settings.target,
        "device": settings.device,
    }
