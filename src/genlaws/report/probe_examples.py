"""Trials of a probe as they were asked and answered, for its page. What a model wrote is quoted and never trusted."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import fields
from io import BytesIO

import numpy as np

from genlaws.report.page import escaped, number_table, quoted
from genlaws.semanticity.probes.outcomes import Shown
from genlaws.semanticity.probes.probe import Example, ProbeResult
from genlaws.semanticity.probes.vision_trials import VisionTrial

PICTURE_SIDE = 360  # pixels of a picture that was shown, made smaller
QUESTIONS = {
    "similarity": "Generalisation: which is nearest?",
    "identification": "Identification: which is exactly there?",
    "resolution": "Two anchors: which is nearer?",
}


def examples(result: ProbeResult) -> str:
    """Return the first trial of each kind as it was asked and answered."""
    firsts = {trial.kind: trial for trial in reversed(result.given.trials)}
    return "".join(_example(one, firsts[one.kind]) for one in result.examples)


def unread(result: ProbeResult) -> str:
    """Return the first replies that could not be read; empty if all could."""
    if not result.unread:
        return ""
    numbers = np.flatnonzero(result.given.unparsed).tolist()
    shown = [_example(one, result.given.trials[number]) for one, number in zip(result.unread, numbers, strict=False)]
    said = f"The first {len(shown)} of {len(numbers):,} replies that name no item, or several."
    return f'<h3>Replies that could not be read</h3><p class="soft">{escaped(said)}</p>{"".join(shown)}'


def _example(one: Example, trial: Shown) -> str:
    heading = f"{QUESTIONS.get(one.kind, one.kind)} Right: {one.right}."
    parts = [f"<p><strong>{escaped(heading)}</strong></p>"]
    if isinstance(trial, VisionTrial):
        parts.append(_picture(trial))
    parts += [quoted(one.asked), '<p class="soft">Answered:</p>', quoted(one.answer or "(nothing)")]
    return f'<div class="example">{"".join(parts)}</div>'


def _picture(trial: VisionTrial) -> str:
    """Return the picture of a trial inside the page."""
    from genlaws.semanticity.probes.vision_stimuli import picture_of  # noqa: PLC0415, needs Pillow

    stream = BytesIO()
    picture_of(trial).resize((PICTURE_SIDE, PICTURE_SIDE)).save(stream, format="PNG", optimize=True)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    described = f"The picture that was shown: {', '.join(trial.options)}"
    size = f'width="{PICTURE_SIDE}" height="{PICTURE_SIDE}"'
    return f'<img class="shown" {size} alt="{escaped(described)}" src="data:image/png;base64,{data}">'


def settings(result: ProbeResult) -> str:
    """Return what was asked of which model, in which words."""
    plan = result.plan
    modes = {
        "probability": "the probabilities of all answers are compared; nothing is sampled",
        "text": "the words of the reply are read, strictly: exactly one item must be named",
    }
    rows = [
        ("model", result.model, "with every setting that changes an answer, such as temperature and seed"),
        ("task", plan.task, f"distances in {plan.unit}" if plan.unit else ""),
        ("mode", result.mode, modes[result.mode]),
        ("trials", f"{len(plan.trials):,}", f"drawn with seed {plan.seed}; {result.asking}"),
    ]
    return number_table([*rows, *_words(result)], wrapped=True)


def _words(result: ProbeResult) -> Iterable[tuple[str, str, str]]:
    """Yield the parts of the template that are not empty."""
    template = result.plan.template
    for field in fields(template):
        value = getattr(template, field.name)
        if field.name == "name":
            yield "template", str(value), ""
        elif value not in ("", False):
            yield f"template, {field.name.replace('_', ' ')}", repr(value) if isinstance(value, str) else "yes", ""
