"""``genlaws rules-facts advise``: which kernel and regularization to use for labeled data."""

from __future__ import annotations

from typing import Any

from genlaws import rules_facts
from genlaws.cli.questions import command_of, fills
from genlaws.core.errors import InputError
from genlaws.rules_facts import draw_labeled, load_labeled
from genlaws.rules_facts.labels.data import largest_sample_count, pools_of
from genlaws.rules_facts.labels.fact_fraction import MIN_SAMPLES
from genlaws.rules_facts.parameters import FACT_FRACTION

# Default limit of samples; a thousand take seconds with the square loss, half a minute with the hinge loss.
MAX_SAMPLES = 1000
# Cross-validation replaces a test set; a draw needs one sample of each class.
TEST_COUNT = 2


@fills("inputs", "labels", "is_fact", "fact_fraction", "name")
def labeled_task(
    data: str = "digits",
    /,
    *,
    rule_classes: tuple[str, str],
    fact_fraction: float | None = None,
    fact_classes: tuple[str, ...] = (),
    sample_count: int | None = None,
    sample_ratio: float | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the task: made of rule and facts, or with the given labels if no share of facts is given.

    Parameters
    ----------
    data : str
        digits, a table with a column of labels (.csv, .tsv, .parquet), arrays X and y (.npz), or the folder of
        CIFAR-10's batches.
    rule_classes : str, str
        The two classes of the rule, by value or name.
    fact_fraction : float, optional
        Make this share of the samples facts: coin-flip labels on other classes. If left out, estimate.
    fact_classes : str, ...
        Classes whose samples become facts; all others if left out.
    sample_count : int, optional
        Samples; as many as there are, up to 1,000, if left out.
    sample_ratio : float, optional
        Samples per dimension, instead of --sample-count.
    seed : int
        Seed of whatever is random; recorded with the result.
    """
    if fact_fraction is None and fact_classes:
        raise InputError("fact_classes must come with fact_fraction; without it no sample is made a fact.")
    epsilon = float(FACT_FRACTION.checked("fact_fraction", fact_fraction or 0.0))
    if epsilon == 1.0:
        raise InputError("fact_fraction must be below 1: when every label is a fact there is no rule to learn.")
    labeled = load_labeled(data)
    chosen = list(fact_classes) or None
    count = sample_count
    if count is None and sample_ratio is None:
        pools = pools_of(labeled, rule_classes, chosen, epsilon)
        count = max(1, largest_sample_count(pools, epsilon, TEST_COUNT, MAX_SAMPLES))
    draw = draw_labeled(
        labeled,
        rule_classes,
        fact_fraction=epsilon,
        sample_count=count,
        sample_ratio=sample_ratio,
        fact_classes=chosen,
        test_count=TEST_COUNT,
        seed=seed,
    )
    if draw.sample_count < MIN_SAMPLES:
        raise InputError(
            f"sample_count must be at least {MIN_SAMPLES}; got {draw.sample_count} samples of {labeled.name}."
        )
    is_fact = None if fact_fraction is None else draw.is_fact
    return {
        "inputs": draw.inputs,
        "labels": draw.labels,
        "is_fact": is_fact,
        "fact_fraction": None,
        "name": draw.name,
    }


advise = command_of(
    rules_facts.advise,
    labeled_task,
    about="With --fact-fraction the two classes are the rule and samples of other classes, with coin-flip labels, the "
    "facts. Without it the labels of the two classes are taken as they are, and the share of facts among them is "
    "estimated. With --out the answer, its picture and their table are written.",
)
