"""How ``genlaws relations learn`` answers: the numbers under their names, and the sentences for a person."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from genlaws.commands.output import aligned, paragraph

if TYPE_CHECKING:
    from genlaws.numerics.arguments import Array, Whole
    from genlaws.numerics.intervals import Estimate
    from genlaws.relations.posterior import Posterior
    from genlaws.relations.relation import Relation
    from genlaws.relations.relation_runs import RelationRuns

LARGEST_BOUND = 100  # elements; beyond, the best accuracy takes longer than the networks
MOST_BOUNDS = 20  # training sets it is averaged over
TARGET = 0.9
ACCURACIES = ("train_accuracy", "test_accuracy", "balanced_accuracy", "table_accuracy")


def summary(known: Relation, runs: RelationRuns, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return everything that is told, under the names of the library."""
    from genlaws.relations.phases import PHASES, classify

    train, test = runs.steps_to("train_accuracy", TARGET), runs.steps_to("test_accuracy", TARGET)
    phases = [PHASES[place] for place in classify(train, test)]
    answer: dict[str, Any] = {
        "relation": known.label,
        "element_count": known.element_count,
        "entry_count": known.pair_count,
        "shown_count": int(runs.shown[0].sum()),
    }
    for name in ACCURACIES:
        answer |= _estimate(name, runs.final(name))
    answer |= {
        "majority_accuracy": runs.majority_accuracy,
        "train_step": _steps(train),
        "test_step": _steps(test),
        "phase": phases,
        "phase_counts": {name: phases.count(name) for name in PHASES if name in phases},
        "failed": int(runs.failed.sum()),
        "invariant_drift": _drift(runs) if chosen["optimiser"] == "sgd" else None,
        **best_accuracy(known, runs, chosen["seed"]),
        "settings": chosen,
        "computed_on": runs.device,
    }
    return answer


def _estimate(name: str, values: Array) -> dict[str, Any]:
    """Return the mean over networks with its interval where there are several, and the value of each."""
    found = _mean(values)
    return {name: found.value, f"{name}_interval": [found.low, found.high], f"{name}_each": values.tolist()}


def _steps(reached: Whole) -> list[int | None]:
    return [None if one < 0 else int(one) for one in reached.tolist()]


def _drift(runs: RelationRuns) -> float:
    """Return the largest drift of any network at its last measurement."""
    import numpy as np

    courses = (course[np.isfinite(course)] for course in runs.invariant_drift)
    return max((float(course[-1]) for course in courses if course.size), default=math.nan)


def best_accuracy(known: Relation, runs: RelationRuns, seed: int) -> dict[str, Any]:
    """Return the Bayes bound for the very entries the networks were shown, or the sentence why there is none."""
    import numpy as np

    from genlaws.numerics.errors import ConvergenceError
    from genlaws.relations.bayes_bound import posterior
    from genlaws.relations.hypotheses import average_meaning, hypotheses_of
    from genlaws.relations.training_set import training_set_of

    names = ("best_accuracy", "best_accuracy_interval", "best_unseen_accuracy", "best_unseen_accuracy_interval")
    none: dict[str, Any] = {**dict.fromkeys(names), "best_class": None, "best_meaning": None, "best_count": 0}
    if known.element_count > LARGEST_BOUND:
        return {**none, "best_message": f"It is not computed beyond {LARGEST_BOUND} elements."}
    hypotheses = hypotheses_of(known)
    try:
        laws = [
            posterior(training_set_of(known, np.flatnonzero(shown)), hypotheses, truth=known, seed=seed)
            for shown in runs.shown[:MOST_BOUNDS]
        ]
    except ConvergenceError as error:
        return {**none, "best_message": f"It could not be computed: {error}"}
    whole, unseen = (_mean(np.array([getattr(law, name) for law in laws])) for name in ("accuracy", "unseen_accuracy"))
    values = (whole.value, [whole.low, whole.high], unseen.value, [unseen.low, unseen.high])
    told = {
        "best_class": str(hypotheses),
        "best_meaning": average_meaning(hypotheses),
        "best_count": len(laws),
        "best_message": _how(laws),
    }
    return {**dict(zip(names, values, strict=True)), **told}


def _mean(values: Array) -> Estimate:
    """Return the mean of the finite values with Student's interval: a bootstrap of two or three would be too narrow."""
    import numpy as np

    from genlaws.numerics.intervals import Estimate, from_standard_error

    finite = values[np.isfinite(values)]
    if finite.size < 2:
        return Estimate(float(finite[0]) if finite.size else math.nan, count=finite.size)
    return from_standard_error(float(finite.mean()), float(finite.std(ddof=1) / math.sqrt(finite.size)), finite.size)


def _how(laws: list[Posterior]) -> str:
    if not all(law.converged for law in laws):
        return "A Markov chain behind it has NOT converged: do not trust the number."
    exact = sum(law.method == "exact" for law in laws)
    return (
        "It is exact." if exact == len(laws) else f"It rests on a Markov chain for {len(laws) - exact} of {len(laws)}."
    )


def explain(answer: dict[str, Any]) -> str:
    """Return the answer for a person: first the numbers, then what they mean."""
    rows = {
        "accuracy on other entries": _told(answer, "test_accuracy", "none: every entry was shown"),
        "balanced over both answers": _told(answer, "balanced_accuracy", "none: one of the answers is missing there"),
        "accuracy on entries shown": _told(answer, "train_accuracy", "none"),
        "accuracy on the whole table": _told(answer, "table_accuracy", "none"),
        "always the commoner answer": f"{answer['majority_accuracy']:.4f} of the table",
        "class average, same entries": _best_words(answer),
        "steps to 90 % on shown": _steps_words(answer["train_step"]),
        "steps to 90 % on others": _steps_words(answer["test_step"]),
        "phase": ", ".join(_counted(name, count, answer) for name, count in answer["phase_counts"].items()),
    }
    if answer["invariant_drift"] is not None and math.isfinite(answer["invariant_drift"]):
        rows["drift of the invariant"] = f"{answer['invariant_drift']:.2e} of its size, at most"
    return "\n".join([aligned(rows), *_sentences(answer)])


def _told(answer: dict[str, Any], name: str, otherwise: str) -> str:
    """Return an accuracy with its interval, or words where it does not exist."""
    from genlaws.numerics.intervals import Estimate

    value, each = answer[name], [one for one in answer[f"{name}_each"] if math.isfinite(one)]
    if not each:
        return "none: every network failed" if answer["failed"] == len(answer["phase"]) else otherwise
    low, high = answer[f"{name}_interval"]
    return f"{value:.4f}" if len(each) == 1 else str(Estimate(value, low, high, len(each)))


def _best_words(answer: dict[str, Any]) -> str:
    if answer["best_accuracy"] is None:
        return "none"
    whole = f"{answer['best_accuracy']:.4f} of the table"
    unseen = answer["best_unseen_accuracy"]
    return whole if not math.isfinite(unseen) else f"{unseen:.4f} of the others, {whole}"


def _steps_words(steps: list[int | None]) -> str:
    """Return when an accuracy was reached: the step, or the middle and the ends of several."""
    import numpy as np

    reached = [one for one in steps if one is not None]
    if not reached:
        return "never"
    if len(steps) == 1:
        return f"{reached[0]:,}"
    middle = f"{round(float(np.median(reached))):,} [{min(reached):,} to {max(reached):,}]"
    missing = len(steps) - len(reached)
    return f"{middle}, {missing} of {len(steps)} never" if missing else middle


def _counted(name: str, count: int, answer: dict[str, Any]) -> str:
    total = len(answer["phase"])
    return name if total == 1 else f"{name} {count} of {total}"


def _sentences(answer: dict[str, Any]) -> list[str]:
    chosen, total = answer["settings"], len(answer["phase"])
    who = "One network was" if total == 1 else f"{total} networks were"
    noise = f", {chosen['label_noise']:g} of the labels turned round" if chosen["label_noise"] else ""
    lines = [
        f"{who} shown {answer['shown_count']:,} of the {answer['entry_count']:,} entries of {answer['relation']}{noise}"
        f", for {chosen['steps']:,} steps of {chosen['optimiser']}."
    ]
    if answer["best_accuracy"] is None:
        lines.append(f"The class average from the same entries is missing. {answer['best_message']}")
    else:
        right = ", with the right labels" if chosen["label_noise"] else ""
        lines.append(
            paragraph(
                f"The class average is the best mean accuracy over a class from the same entries{right}.",
                answer["best_meaning"],
                answer["best_message"],
            )
        )
    if answer["failed"]:
        lines.append(f"{answer['failed']} of {total} broke off at numbers that are not finite; try smaller rates.")
    return lines
