"""Which experiments there are. Listing them loads no numerical library."""

from __future__ import annotations

from genlaws.experiments.experiment import Experiment
from genlaws.numerics.errors import InputError

RULES_FACTS = "Farné, Boncoraglio and Zdeborová (2026), arXiv:2603.25579"
RELATIONS = "Baek, Liu and Tegmark (2024), arXiv:2402.05916"

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            name="rules-facts.samples",
            title="Errors of a learner against the samples per dimension",
            citation=f"{RULES_FACTS}, Figures 6, 7 and 16",
            cost="10 to 500 ms for 81 points",
            procedure="genlaws.experiments.rules_facts:ALONG_SAMPLES",
            figure="rules-facts.16",
        ),
        Experiment(
            name="rules-facts.angles",
            title="Errors of a learner against the kernel angle",
            citation=f"{RULES_FACTS}, Figures 3 and 12",
            cost="10 to 500 ms for 240 angles",
            procedure="genlaws.experiments.rules_facts:ALONG_ANGLES",
            figure="rules-facts.3",
        ),
        Experiment(
            name="rules-facts.gaussian-runs",
            title="Errors of a learner trained on Gaussian rules and facts of finite size",
            citation=f"{RULES_FACTS}, Figures 1, 2 and 13",
            cost="0.1 to 2 s at 200 dimensions",
            procedure="genlaws.experiments.rules_facts_runs:GAUSSIAN_RUN",
            figure="rules-facts.13",
        ),
        Experiment(
            name="rules-facts.labelled-runs",
            title="Errors of kernels on rules and facts made of labelled data",
            citation=f"{RULES_FACTS}, Figures 5, 14 and 15",
            cost="1 s on digits; on 3,072 images about 40 s (square) and 4 min (hinge) for 15 kernels, one thread",
            procedure="genlaws.experiments.rules_facts_runs:LABELLED_RUN",
            figure="rules-facts.5",
        ),
        Experiment(
            name="rules-facts.message-passing",
            title="The Bayes-optimal rule learner at finite size, iteration by iteration",
            citation=f"{RULES_FACTS}, Section 2.1",
            cost="1 s at 1,000 dimensions",
            procedure="genlaws.experiments.rules_facts_runs:MESSAGE_PASSING_RUN",
            figure="rules-facts.message-passing",
        ),
        Experiment(
            name="relations.bound",
            title="Best accuracy on a random training set of a relation",
            citation=f"{RELATIONS}, Figure 2",
            cost="1 to 400 ms at 30 elements, seconds at 200",
            procedure="genlaws.experiments.relations:BEST_ACCURACY",
        ),
        Experiment(
            name="relations.curve",
            title="Best accuracy along a growing training set of a relation, beside the paper's estimate",
            citation=f"{RELATIONS}, Figure 2",
            cost="0.1 to 3 s for 31 shares of 30 elements",
            procedure="genlaws.experiments.relations:CURVE",
            figure="relations.2",
        ),
        Experiment(
            name="relations.collisions",
            title="Share of random starts from which repons merge",
            citation=f"{RELATIONS}, Theorem 3",
            cost="about 0.1 ms a draw",
            procedure="genlaws.experiments.relations:COLLISIONS",
        ),
    )
}


def experiment_names() -> list[str]:
    """Return the names in the order of the papers."""
    return list(EXPERIMENTS)


def get_experiment(name: str) -> Experiment:
    """Return the experiment of a name such as ``relations.bound``."""
    if name not in EXPERIMENTS:
        raise InputError(f"experiment must be one of {', '.join(EXPERIMENTS)}; got {name!r}.")
    return EXPERIMENTS[name]
