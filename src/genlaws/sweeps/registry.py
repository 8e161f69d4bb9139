"""The registry of experiments, whose code is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from genlaws.core.errors import InputError
from genlaws.core.imports import EXTRAS, how_to_install
from genlaws.core.papers import RELATIONS_PAPER, RULES_FACTS_PAPER, SEMANTICITY_PAPER
from genlaws.core.result import Result, Row, Summary, question
from genlaws.sweeps.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            name="rules-facts.samples",
            title="Errors of a learner against the samples per dimension",
            citation=f"{RULES_FACTS_PAPER}, Figures 6, 7 and 16",
            cost="10 to 500 ms for 81 points",
            procedure="genlaws.sweeps.experiments.rules_facts:ALONG_SAMPLES",
            figure="rules-facts.16",
        ),
        Experiment(
            name="rules-facts.angles",
            title="Errors of a learner against the kernel angle",
            citation=f"{RULES_FACTS_PAPER}, Figures 3 and 12",
            cost="10 to 500 ms for 240 angles",
            procedure="genlaws.sweeps.experiments.rules_facts:ALONG_ANGLES",
            figure="rules-facts.3",
        ),
        Experiment(
            name="rules-facts.gaussian-runs",
            title="Errors of a learner trained on Gaussian rules and facts of finite size",
            citation=f"{RULES_FACTS_PAPER}, Figures 1, 2 and 13",
            cost="0.1 to 2 s at 200 dimensions",
            procedure="genlaws.sweeps.experiments.rules_facts:GAUSSIAN_RUN",
            figure="rules-facts.13",
        ),
        Experiment(
            name="rules-facts.labeled-runs",
            title="Errors of kernels on rules and facts made of labeled data",
            citation=f"{RULES_FACTS_PAPER}, Figures 5, 14 and 15",
            cost="1 s on digits; on 3,072 images about 40 s (square) and 4 min (hinge) for 15 kernels, one thread",
            procedure="genlaws.sweeps.experiments.rules_facts:LABELED_RUN",
            figure="rules-facts.5",
        ),
        Experiment(
            name="rules-facts.message-passing",
            title="The Bayes-optimal rule learner at finite size, iteration by iteration",
            citation=f"{RULES_FACTS_PAPER}, Section 2.1",
            cost="1 s at 1,000 dimensions",
            procedure="genlaws.sweeps.experiments.rules_facts:MESSAGE_PASSING_RUN",
            figure="rules-facts.message-passing",
        ),
        Experiment(
            name="rules-facts.two-layer",
            title="Two-layer networks with trained features on rules and facts",
            citation=f"{RULES_FACTS_PAPER}, Section 3.5",
            cost="3 to 5 s at 50 dimensions, 200 units and 16 samples per dimension, in a stack",
            procedure="genlaws.sweeps.experiments.two_layer:TWO_LAYER",
            figure="rules-facts.two-layer",
        ),
        Experiment(
            name="semanticity.relu-network",
            title="Both tests, the profile and the distance from the front along the training of ReLU networks",
            citation=f"{SEMANTICITY_PAPER}, experiments with ReLU networks",
            cost="0.7 s for 50 stimuli and 7,500 steps, ten of them trained together",
            procedure="genlaws.sweeps.experiments.semanticity:RELU_NETWORK",
            figure="semanticity.relu-network",
        ),
        Experiment(
            name="semanticity.slot-network",
            title="Both tests along the training of networks with one map per feature, or one map for all features",
            citation=f"{SEMANTICITY_PAPER}, experiments with compositional stimuli",
            cost="0.2 to 1 s, ten of them trained together",
            procedure="genlaws.sweeps.experiments.semanticity:SLOT_NETWORK",
            figure="semanticity.slots",
        ),
        Experiment(
            name="semanticity.convolutional",
            title="Both tests on images after fine-tuning on their classes and on the distances between classes",
            citation=f"{SEMANTICITY_PAPER}, experiments with a convolutional network",
            cost="3 s for a small network on digits, five of them trained together",
            procedure="genlaws.sweeps.experiments.semanticity:CONVOLUTIONAL",
            figure="semanticity.convolutional",
        ),
        Experiment(
            name="relations.bound",
            title="Best accuracy on a random training set of a relation",
            citation=f"{RELATIONS_PAPER}, Figure 2",
            cost="1 to 400 ms at 30 elements, seconds at 200",
            procedure="genlaws.sweeps.experiments.relations:BEST_ACCURACY",
        ),
        Experiment(
            name="relations.curve",
            title="Best accuracy along a growing training set of a relation, and the paper's estimate",
            citation=f"{RELATIONS_PAPER}, Figure 2",
            cost="0.1 to 3 s for 31 training fractions of 30 elements",
            procedure="genlaws.sweeps.experiments.relations:CURVE",
            figure="relations.2",
        ),
        Experiment(
            name="relations.collisions",
            title="Fraction of random starts from which repons merge",
            citation=f"{RELATIONS_PAPER}, Theorem 3",
            cost="about 0.1 ms a draw",
            procedure="genlaws.sweeps.experiments.relations:COLLISIONS",
        ),
        Experiment(
            name="relations.network",
            title="A network that learns a relation from some of its entries",
            citation=f"{RELATIONS_PAPER}, Sections II.C and III, Figures 3 and 5 to 8",
            cost="about 8 s for 10,000 steps of the default network on one core, in a stack; 10 ms on an H200",
            procedure="genlaws.sweeps.experiments.relation_networks:RELATION_NETWORK",
            figure="relations.5",
        ),
    )
}


def get_experiment(name: str) -> Experiment:
    """Return the experiment of a name such as ``relations.bound``."""
    if name not in EXPERIMENTS:
        raise InputError(f"experiment must be one of {', '.join(EXPERIMENTS)}; got {name!r}.")
    return EXPERIMENTS[name]


@dataclass(frozen=True)
class ListedExperiment:
    """An experiment and its settings.

    Attributes
    ----------
    name, title, citation, figure, cost : str
        See :class:`~genlaws.sweeps.Experiment`.
    settings : dict or None
        The default of each setting; None if a library is missing.
    needs : str or None
        How to install the library that is missing.
    """

    name: str
    title: str
    citation: str
    figure: str
    cost: str
    settings: Mapping[str, Any] | None
    needs: str | None


@dataclass(frozen=True, eq=False, repr=False)
class ExperimentList(Result):
    """Experiments that a sweep can run."""

    experiments: tuple[ListedExperiment, ...]

    def summary(self) -> Summary:
        """Return name and title of every experiment; of a single one also its settings."""
        if len(self.experiments) > 1:
            rows = [Row(one.name, one.title) for one in self.experiments]
            return Summary(rows, ["With its settings: genlaws sweep list NAME"])
        (one,) = self.experiments
        settings = one.needs or ", ".join(f"{name}={value}" for name, value in (one.settings or {}).items())
        rows = [Row("paper", one.citation), Row("figure", one.figure or "none"), Row("one cell", one.cost)]
        return Summary([*rows, Row("settings", settings)], headline=[f"{one.name}: {one.title}"])

    def columns(self) -> dict[str, Any]:
        """Return the attributes of the experiments, with one element for each experiment."""
        rows = [vars(one) for one in self.experiments]
        return {name: [row[name] for row in rows] for name in rows[0]}


@question
def list_experiments(name: str | None = None) -> ExperimentList:
    """List the experiments, with the paper they belong to, what a cell costs, and their settings.

    Parameters
    ----------
    name : str, optional
        Of one experiment; all of them if left out.
    """
    chosen = EXPERIMENTS.values() if name is None else [get_experiment(name)]
    return ExperimentList(tuple(map(_listed, chosen)))


def _listed(experiment: Experiment) -> ListedExperiment:
    """Return an experiment with its settings; without them if a library that it needs is missing."""
    settings, needs = None, None
    try:
        fields = experiment.load().settings.model_fields
        settings = {name: _default(field.default) for name, field in fields.items()}
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRAS:
            raise
        needs = how_to_install(library)
    about = {name: getattr(experiment, name) for name in ("name", "title", "citation", "figure", "cost")}
    return ListedExperiment(**about, settings=settings, needs=needs)


def _default(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
