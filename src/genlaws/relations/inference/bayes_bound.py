r"""The Bayes bound: the best accuracy from some entries, averaged over all relations of a class that agree with them.

.. math:: f = \frac1{n^2}\sum_{ij}\max(P_{ij}, 1-P_{ij})

with :math:`P_{ij}` the share of all relations of the class consistent with the training set for which
:math:`R_{ij}=1`. It is exact for two classes, for k classes and for total orders where the relations can be counted;
elsewhere a Markov chain samples them, and the result reports it. No learner does better on average over these
relations. On a single one of them a learner can do better, above all in entrywise classes, where an entry determines
only its mirror image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Mask, Whole, one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.seeds import generator_of
from genlaws.relations.inference import equivalences
from genlaws.relations.inference.color_chain import sample_proper_colorings
from genlaws.relations.inference.hypotheses import CompleteBipartite, Entrywise, Equivalence, Hypotheses, TotalOrder
from genlaws.relations.inference.order_chain import sample_orders
from genlaws.relations.inference.orders import known_order, order_posterior
from genlaws.relations.inference.posterior import Posterior, as_partitions, bound, sampled_posterior
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import CONTRADICTION_HINT, TrainingSet

# The pairs (R_ij, R_ji) each rule allows; all are equally likely before anything is seen.
ALLOWED_PAIRS: dict[str, list[tuple[int, int]]] = {
    "free": [(0, 0), (0, 1), (1, 0), (1, 1)],
    "symmetric": [(0, 0), (1, 1)],
    "antisymmetric": [(0, 0), (0, 1), (1, 0)],
    "tournament": [(0, 1), (1, 0)],
}
ALLOWED_DIAGONAL = {"free": [0, 1], "ones": [1], "zeros": [0]}
BOUND_METHODS = ("auto", "exact", "chain")
DEFAULT_DRAWS, MAX_DRAWS = 2000, 1_000_000


def entrywise_posterior(training_set: TrainingSet, hypotheses: Entrywise) -> Posterior:
    """Return the posterior when all relations that obey the rules for mirror images and diagonal are equally likely."""
    n = training_set.element_count
    known = np.full((n, n), -1)
    known[training_set.pairs[:, 0], training_set.pairs[:, 1]] = training_set.values
    options = np.array(ALLOWED_PAIRS[hypotheses.pair_rule])
    fits = ((known[..., None] < 0) | (known[..., None] == options[:, 0])) & (
        (known.T[..., None] < 0) | (known.T[..., None] == options[:, 1])
    )
    alone = np.array(ALLOWED_DIAGONAL[hypotheses.diagonal])
    fits_alone = (known.diagonal()[:, None] < 0) | (known.diagonal()[:, None] == alone)
    count, count_alone = fits.sum(axis=2), fits_alone.sum(axis=1)
    np.fill_diagonal(count, count_alone)
    if (count == 0).any():
        i, j = np.argwhere(count == 0)[0]
        first, second = training_set.names[i], training_set.names[j]
        entries = f"({first}, {second})" if i == j else f"({first}, {second}) and ({second}, {first})"
        raise InputError(f"The training set contradicts the class '{hypotheses}' at {entries}. {CONTRADICTION_HINT}")
    probability = (fits * options[:, 0]).sum(axis=2) / count
    np.fill_diagonal(probability, (fits_alone * alone).sum(axis=1) / count_alone)
    bits_left = float(np.log2(count[np.triu_indices(n)]).sum())

    def draw(draws: int, generator: np.random.Generator) -> Mask:
        """Return this many tables that agree with the known entries."""
        chosen = _pick(fits, draws, generator)
        tables = np.triu(options[chosen, 0], 1) + np.swapaxes(np.triu(options[chosen, 1], 1), 1, 2)
        own = alone[_pick(fits_alone, draws, generator)]
        tables[:, np.arange(n), np.arange(n)] = own
        return np.asarray(tables == 1)

    return Posterior(training_set, probability, bound(probability), bits_left, draw_tables=draw)


def _pick(fits: Mask, draws: int, generator: np.random.Generator) -> Whole:
    """Return for each draw one of the options (last axis) that fit, each with the same probability."""
    fitting_first = np.argsort(~fits, axis=-1, kind="stable")
    number = generator.integers(0, np.maximum(fits.sum(axis=-1), 1), (draws, *fits.shape[:-1]))
    return np.take_along_axis(fitting_first[None], number[..., None], axis=-1)[..., 0]


def posterior(
    training_set: TrainingSet,
    hypotheses: Hypotheses,
    *,
    method: str = "auto",
    truth: Relation | None = None,
    draws: int = DEFAULT_DRAWS,
    seed: int | np.random.Generator = 0,
) -> Posterior:
    """Return what can be known about every entry from a training set and the class of the relation.

    Parameters
    ----------
    training_set : TrainingSet
        Its values are taken as certain.
    hypotheses : Equivalence, CompleteBipartite, TotalOrder or Entrywise
    method : str
        ``exact``, which raises if it would take too long; ``chain``, the Markov chain; ``auto``, exact where possible.
    truth : Relation, optional
        The relation behind the training set. A Markov chain over classes then also starts from it, to check its
        convergence; the result does not use it otherwise.
    draws : int
        Independent draws of the Markov chain.
    seed : int or numpy Generator
        Used only by the Markov chain.

    Raises
    ------
    InputError
        If the training set contradicts the class.
    ConvergenceError
        If the Markov chain found nothing consistent.

    References
    ----------
    :cite:p:`baek2024`, Section II and Appendix D, where the probabilities are sampled.
    """
    one_of("method", method, BOUND_METHODS)
    whole_number("draws", draws, at_least=100, at_most=MAX_DRAWS, hint="They are draws of the Markov chain.")
    if isinstance(hypotheses, Entrywise):
        return entrywise_posterior(training_set, hypotheses)
    chain = _Chain(method, draws, generator_of(seed), truth)
    if isinstance(hypotheses, TotalOrder):
        return _total_order(training_set, hypotheses, chain)
    if isinstance(hypotheses, Equivalence | CompleteBipartite):
        return _classes(training_set, hypotheses, chain)
    raise InputError(f"hypotheses must be a class of relations; got {type(hypotheses).__name__}.")


@dataclass(frozen=True)
class _Chain:
    """Options of the Markov chain, in case it is needed."""

    method: str
    draws: int
    generator: np.random.Generator
    truth: Relation | None

    def check_allowed(self) -> None:
        if self.method == "exact":
            raise InputError("Too many relations are possible for an exact count; use method 'auto' or 'chain'.")


def _total_order(training_set: TrainingSet, hypotheses: TotalOrder, chain: _Chain) -> Posterior:
    reflexive = hypotheses.reflexive
    below = known_order(training_set, reflexive)
    law = None if chain.method == "chain" else order_posterior(below)
    if law is None:
        chain.check_allowed()
        sample = sample_orders(below, chain.draws, chain.generator)
        return sampled_posterior(training_set, sample, lambda ranks: _order_tables(ranks, reflexive))
    back = np.argsort(law.elements)
    probability = law.before[np.ix_(back, back)]
    np.fill_diagonal(probability, float(reflexive))

    def draw(count: int, generator: np.random.Generator) -> Mask:
        return _order_tables(np.argsort(law.draw(count, generator), axis=1), reflexive)

    return Posterior(training_set, probability, bound(probability), law.log2_count, draw_tables=draw)


def _order_tables(rank: Whole, reflexive: bool) -> Mask:
    """Return the tables of total orders from the ranks of their elements."""
    first, second = rank[:, :, None], rank[:, None, :]
    return np.asarray(first <= second if reflexive else first < second)


def _classes(training_set: TrainingSet, hypotheses: Equivalence | CompleteBipartite, chain: _Chain) -> Posterior:
    bipartite = isinstance(hypotheses, CompleteBipartite)
    class_count = 2 if isinstance(hypotheses, CompleteBipartite) else hypotheses.class_count
    if hypotheses.prior == "relations" and class_count > training_set.element_count:
        raise InputError(f"{class_count} classes of {training_set.element_count} elements would leave some empty.")
    values = training_set.values
    components = equivalences.known_components(training_set, ~values if bipartite else values)
    of_element = components.of_element
    law = (
        None
        if chain.method == "chain"
        else equivalences.same_class_probability(components, class_count, hypotheses.prior)
    )
    if law is None:
        chain.check_allowed()
        start = None if chain.truth is None else _colors_of(chain.truth, components, class_count, bipartite)
        sample = sample_proper_colorings(components.neighbors, class_count, chain.draws, chain.generator, start)
        partitions = as_partitions(sample, class_count, hypotheses.prior)
        return sampled_posterior(
            training_set, partitions, lambda colors: _class_tables(colors[:, of_element], bipartite)
        )
    probability = 1.0 - law.probability if bipartite else law.probability

    def draw(count: int, generator: np.random.Generator) -> Mask:
        classes = equivalences.draw_classes(components, class_count, hypotheses.prior, count, generator)
        return _class_tables(classes, bipartite)

    return Posterior(training_set, probability, bound(probability), law.bits_left, draw_tables=draw)


def _class_tables(classes: Whole, bipartite: bool) -> Mask:
    """Return the tables of equivalences, or of complete bipartite relations, from the classes of their elements."""
    first, second = classes[:, :, None], classes[:, None, :]
    return np.asarray(first != second if bipartite else first == second)


def _colors_of(truth: Relation, components: equivalences.Components, class_count: int, bipartite: bool) -> Whole | None:
    """Return the classes of the true relation, one for each component, or None if it has too many."""
    if truth.element_count != len(components.of_element):
        raise InputError(f"truth must have {len(components.of_element)} elements; got {truth.element_count}.")
    table = ~truth.matrix if bipartite else truth.matrix
    classes = equivalences.class_numbers(table)
    _, first = np.unique(components.of_element, return_index=True)
    colors = classes[first]
    joined = (colors[components.of_element] == classes).all()
    apart = all(colors[one] != colors[other] for one, near in enumerate(components.neighbors) for other in near)
    if not (joined and apart):
        raise InputError("truth must be in the class and agree with the training set; it is the relation behind it.")
    return colors if classes.max() < class_count else None
