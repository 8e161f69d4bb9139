"""How ``genlaws relations repons`` answers: what decides, and the sentences for a person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from genlaws.commands.output import aligned

# Columns of use to a person; the others would only widen a printed table.
TABLE_COLUMNS = (
    "encoder_rate",
    "decoder_rate",
    "encoder_scale",
    "decoder_scale",
    "collision_probability",
    "simulation",
    "unsettled_draws",
)


@dataclass(frozen=True)
class Question:
    """What was asked, apart from the numbers that may vary."""

    dimension: int
    outputs: int
    cluster: float
    update: str
    class_size: int | None
    encoder_scale_of: str

    @property
    def has_law(self) -> bool:
        """Whether the probability is known exactly."""
        return self.update == "flow" or self.dimension == 1

    @property
    def is_plane(self) -> bool:
        """Whether the plane of figure 4 shows this question."""
        return self.update == "flow" and self.class_size is None and self.dimension == self.outputs == 1

    @property
    def who(self) -> str:
        """Who merges, in words."""
        if self.class_size is not None:
            return f"all {self.class_size} representations of a class"
        if self.cluster > 1:
            many = "infinitely many" if math.isinf(self.cluster) else f"{self.cluster:g}"
            return f"a representation and {many} coincident ones of its class"
        return "two representations of one class"

    @property
    def pull(self) -> float:
        """How strongly the decoder gives way: 2 for a pair."""
        return 4.0 / (1.0 + 1.0 / self.cluster)

    def boundary_slope(self, rate_ratio: float) -> float | None:
        """Half the separation over the decoder's gain below which a pair on a line merges."""
        if self.dimension > 1 or self.outputs > 1 or self.class_size is not None:
            return None
        return rate_ratio if self.update == "sign" else math.sqrt(rate_ratio / self.pull)


def explanation(question: Question) -> dict[str, Any]:
    """Return what decides, in words and formulas."""
    if question.update == "sign":
        decides = (
            "half the range of the class, at the encoder's rate, vanishes before the largest gain of the decoder, at "
            "the decoder's rate"
        )
        return {
            "law": "sign updates, one dimension" if question.has_law else "none: simulated",
            "merges_if": decides if question.has_law else "not known in closed form",
            "conserved": None,
        }
    if question.class_size is not None:
        return {
            "law": "class: largest root of two Wishart matrices",
            "merges_if": "the conserved matrix has no negative eigenvalue",
            "conserved": "A^T A / decoder_rate - sum_i (x_i - mean)(x_i - mean)^T / encoder_rate",
        }
    name = "Eq. 12" if question.cluster == 1 else "Eq. 13"
    return {
        "law": f"pair, {name}" if question.dimension == question.outputs == 1 else f"pair, {name} in any dimension",
        "merges_if": "the conserved matrix has no negative eigenvalue",
        "conserved": f"A^T A / ({question.pull:.6g} decoder_rate) - r r^T / encoder_rate, r half the separation",
    }


def explain_one(question: Question, answer: dict[str, Any], draws: int | None) -> str:
    """Return one answer: the number, what it means, and how sure it is."""
    explained = explanation(question)
    rows = {
        "collision probability": f"{answer['collision_probability']:.6f}",
        "law": explained["law"],
        "encoder over decoder rate": f"{answer['rate_ratio']:.6g}",
        "encoder scale": f"{answer['encoder_scale']:.6g} (of {_scale_words(question)})",
        "decoder scale": f"{answer['decoder_scale']:.6g}",
    }
    if draws is not None:
        rows["simulated"] = answer["simulation"]
    if explained["conserved"]:
        rows["conserved"] = explained["conserved"]
    return "\n".join([aligned(rows), *_sentences(question, answer, draws)])


def _sentences(question: Question, answer: dict[str, Any], draws: int | None) -> list[str]:
    explained = explanation(question)
    chance = answer["collision_probability"]
    lines = [f"From random starts {question.who} merge {chance:.1%} of the time; otherwise they stay apart."]
    if question.update == "flow" and question.outputs < question.dimension:
        lines.append("With fewer outputs than dimensions the decoder is blind to a direction, so none ever merge.")
    elif answer["boundary_slope"] is not None:
        slope = f"{answer['boundary_slope']:.6g}"
        lines.append(f"They merge if half their separation starts below {slope} times the decoder's gain.")
    elif question.has_law:
        lines.append(f"They merge if {explained['merges_if']}.")
    else:
        lines.append("There is no law for sign updates in more than one dimension: this is the simulated share.")
    if draws is not None and answer["unsettled_draws"]:
        lines.append(f"{answer['unsettled_draws']} of {draws} draws were still moving and count as they stood.")
    lines.append("Exact for a linear decoder whose bias is at its best value; it is no bound on a network.")
    return lines if question.has_law else lines[:-1]


def explain_table(question: Question, answers: list[dict[str, Any]]) -> str:
    """Return several answers as an aligned table."""
    import pandas as pd

    table = pd.DataFrame(answers)
    table = table[[name for name in TABLE_COLUMNS if name in table]]
    lines = [
        str(table.to_string(index=False, float_format=lambda x: f"{x:.6g}")),
        f"Each row is the chance that {question.who} merge, from random starts; "
        f"encoder_scale is the width of {_scale_words(question)}.",
    ]
    if not question.has_law:
        lines.append("There is no law for sign updates in more than one dimension: these are simulated shares.")
    return "\n".join(lines)


def _scale_words(question: Question) -> str:
    return "half the separation" if question.encoder_scale_of == "half-separation" else "each representation"
