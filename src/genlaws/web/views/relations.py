"""The view on relations: how much data a relation needs, and when representations merge."""

from __future__ import annotations

import math
from typing import Any, Literal

from genlaws.web.view import Answer, Number, View, ViewSettings, choice, log_slider, rounded, slider
from genlaws.web.views.data_needed import (
    BUNDLED_TRAINING_SETS,
    TRAIN_FRACTION_RANGE,
    Described,
    bundled_bound,
    data_panel,
    described,
    library_name,
    nearest_element_count,
)
from genlaws.web.views.merging import MergingPair, critical_ratio, merging_panel, path_panel, probability

SIMULATED_DRAWS = 500
DATA_QUESTION, MERGING_QUESTION = "how much data", "when representations merge"
IN_DATA, IN_MERGING = {"question": DATA_QUESTION}, {"question": MERGING_QUESTION}
IN_DECADES: dict[str, Any] = {"step": 0.05, "log": True, "when": IN_MERGING}


class RelationSettings(ViewSettings):
    """A relation and how much of it is seen; the rates and widths of two representations and their decoder."""

    question: Literal["how much data", "when representations merge"] = choice(
        "how much data", "question", about="Which of the two questions the sliders are for; both are always answered."
    )
    relation: Literal["modulo", "less-than", "bipartite", "binary-tree", "divisibility"] = choice(
        "modulo", "relation", about="Which pairs of elements are related.", when=IN_DATA
    )
    class_count: int = slider(
        3,
        2,
        5,
        "classes k",
        step=1.0,
        about="Two elements are related if they are equal modulo k.",
        when={**IN_DATA, "relation": "modulo"},
    )
    element_count: int = slider(
        30, 10, 30, "elements n", step=5.0, about="A relation of n elements has n² pairs.", when=IN_DATA
    )
    train_fraction: float = log_slider(
        0.05, *TRAIN_FRACTION_RANGE, "training fraction p", about="Share of the pairs, chosen at random.", when=IN_DATA
    )
    target_accuracy: float = slider(
        0.9, 0.6, 0.999, "target accuracy", step=0.005, about="To be reached on all pairs.", when=IN_DATA
    )
    update: Literal["flow", "sign"] = choice(
        "flow", "optimizer", about="Gradient flow (SGD), or sign updates as of Adam with small steps.", when=IN_MERGING
    )
    encoder_rate: float = slider(
        1e-3, 1e-5, 1e-1, "encoder rate η_x", about="Learning rate of the representations.", **IN_DECADES
    )
    decoder_rate: float = slider(
        1e-3, 1e-5, 1e-1, "decoder rate η_A", about="Learning rate of the decoder.", **IN_DECADES
    )
    encoder_scale: float = slider(
        1.0,
        0.1,
        10.0,
        "width of half the separation s_c",
        about="At the start; the width of each representation is √2 times this.",
        **IN_DECADES,
    )
    decoder_scale: float = slider(
        1.0, 0.1, 10.0, "width of the decoder's entries s_a", about="At the start.", **IN_DECADES
    )
    dimension: int = slider(1, 1, 3, "dimension d", step=1.0, about="Of the representations.", when=IN_MERGING)
    outputs: int = slider(1, 1, 8, "outputs K", step=1.0, about="Of the decoder.", when=IN_MERGING)
    cluster: int = slider(
        1, 1, 16, "cluster N", step=1.0, about="One representation against this many coincident ones.", when=IN_MERGING
    )
    start_gain: float = slider(
        1.0, 0.1, 3.0, "gain at the start a", step=0.05, about="Of the pair whose path is drawn.", when=IN_MERGING
    )
    start_separation: float = slider(
        1.0,
        0.1,
        3.0,
        "half the separation at the start c",
        step=0.05,
        about="Of the pair whose path is drawn.",
        when=IN_MERGING,
    )


def answer(settings: RelationSettings) -> Answer:
    """Return how much data the relation needs and how likely the representations merge.

    The bound takes seconds, so it is bundled for the positions of its sliders; a number typed between two is moved to
    the nearer position, which the answer states.
    """
    count = nearest_element_count(settings.element_count)
    name = library_name(settings.relation, settings.class_count, count)
    bound = bundled_bound(name, count)
    share, target = bound.accuracy.nearest(settings.train_fraction), bound.needed.nearest(settings.target_accuracy)
    pair = MergingPair(
        update=settings.update,
        encoder_rate=rounded(settings.encoder_rate),
        decoder_rate=rounded(settings.decoder_rate),
        encoder_scale=rounded(settings.encoder_scale),
        decoder_scale=rounded(settings.decoder_scale),
        dimension=settings.dimension,
        outputs=settings.outputs,
        cluster=settings.cluster,
        gain=rounded(settings.start_gain),
        separation=rounded(settings.start_separation),
    )
    data = settings.question == DATA_QUESTION
    about = described(name, count)
    return Answer(
        panels=(data_panel(name, count, share, target), merging_panel(pair), path_panel(pair)),
        numbers=(*_data_numbers(about, name, share, target), *_pair_numbers(pair)),
        sentence=_data_sentence(about, name, share, target) if data else _pair_sentence(pair),
        python=_data_python(about, name, share, target) if data else _pair_python(pair),
        command=_data_command(about, name, share, target) if data else _pair_command(pair),
    )


def _data_numbers(about: Described, name: str, share: float, target: float) -> tuple[Number, ...]:
    count = about.relation.element_count
    bound = bundled_bound(name, count)
    needed = bound.needed.at(target)
    by_paper, by_exact = (about.fraction_formula(target, one) for one in (about.paper_length, about.exact_length))
    majority = "with the majority answer for undetermined pairs"
    learner = majority if about.entrywise else "by the best learner"
    return (
        Number("description length", f"{about.exact_length:.2f} bits", "log2 of the number of labeled copies"),
        Number("description length, paper", f"{about.paper_length:.2f} bits", f"its Table II, class: {about.known}"),
        Number(
            "average over its class" if about.entrywise else "best accuracy",
            str(bound.accuracy.at(share)),
            f"from {share:g} of the pairs of {count} elements; exact, mean of {BUNDLED_TRAINING_SETS} training sets; "
            "95 % interval",
        ),
        Number(
            "share needed for the target",
            str(needed),
            f"for {target:g}, {learner}: {needed.value * count**2:.0f} of {count**2} pairs; 95 % interval",
        ),
        Number(
            "share needed, the paper's Eq. 4",
            f"{by_paper:.3f}",
            f"{by_exact:.3f} with the exact description length; values above 1 cannot be reached",
        ),
    )


def _pair_numbers(pair: MergingPair) -> tuple[Number, ...]:
    chance, critical = probability(pair), critical_ratio(pair)
    law = "no law" if math.isnan(chance) else f"{chance:.4f}"
    never = "fewer outputs than dimensions" if pair.has_law else "no law for sign updates in several dimensions"
    share = "share of random pairs that merge" if pair.has_law else f"{never}; the points are simulated"
    half = ("none", never)
    if not math.isnan(critical):
        half = (f"{critical:.4g}", "encoder over decoder rate at which every second pair merges")
    border = f"from this start pairs merge from a ratio of {pair.merging_ratio:.4g} on; it is {pair.ratio:.4g}"
    return (
        Number("collision probability", law, share),
        Number("critical ratio of the rates", *half),
        Number("this pair", "merges" if pair.merges else "stays apart", border),
    )


def _data_sentence(about: Described, name: str, share: float, target: float) -> str:
    relation = about.relation
    bound = bundled_bound(name, relation.element_count)
    value, needed = bound.accuracy.at(share).value, bound.needed.at(target).value
    chance = f"Always answering {relation.majority_answer} is right on {relation.majority_accuracy:.1%}"
    if about.entrywise:
        return (
            f"{chance} of all pairs of {relation.label}. With that answer wherever the training pairs leave it open, "
            f"{target:.1%} is reached from about {needed:.1%} of the pairs; a learner that finds structure may need "
            f"fewer. The average over all relations of its class, {value:.1%} from {share:.1%} of the pairs, is no "
            "bound for this one."
        )
    return (
        f"From {share:.1%} of the pairs of {relation.label} the best learner that knows only its class is right on "
        f"{value:.1%} of all pairs, on average. {chance}. It takes about {needed:.1%} of the pairs to reach "
        f"{target:.1%}."
    )


def _pair_sentence(pair: MergingPair) -> str:
    one = "The pair drawn merges" if pair.merges else "The pair drawn stays apart"
    if not pair.has_law:
        return f"Sign updates in {pair.dimension} dimensions have no law; the points are simulated. {one} on its line."
    return (
        f"From random starts two representations of one class merge {probability(pair):.1%} of the time, so that what "
        f"is learned about one holds for the other. {one}."
    )


def _data_python(about: Described, name: str, share: float, target: float) -> str:
    return (
        "from genlaws import relations\n\n"
        f'relation = relations.named_relation("{name}", {about.relation.element_count})\n'
        "print(relations.description_length_exact(relation))\n"
        f"print(relations.bound_curve(relation, train_fraction={share:g}).points[0].accuracy)\n"
        f"print(relations.data_needed(relation, target_accuracy={target:g}).train_fraction)\n"
    )


def _data_command(about: Described, name: str, share: float, target: float) -> str:
    source = name if name.startswith("bipartite") else f"{name} --elements {about.relation.element_count}"
    return (
        f"genlaws relations bound {source} --train-fraction {share:g}\n"
        f"genlaws relations data-needed {source} --target-accuracy {target:g}"
    )


def _pair_python(pair: MergingPair) -> str:
    rates = f"encoder_rate={pair.encoder_rate:g}, decoder_rate={pair.decoder_rate:g}"
    cluster = f", cluster={pair.cluster}" if pair.update == "flow" else ""
    shape = f"dimension={pair.dimension}, outputs={pair.outputs}{cluster}"
    scales = f"{pair.encoder_scale:g}, {pair.decoder_scale:g}"
    numbers = f"{rates}, encoder_scale={pair.encoder_scale:g}, decoder_scale={pair.decoder_scale:g}"
    simulate = "" if pair.has_law else f", simulate={SIMULATED_DRAWS}"
    lines = [
        "from genlaws import relations\n",
        "found = relations.merging_probability(",
        f'    {numbers},\n    {shape}, update="{pair.update}"{simulate},\n)',
        "print(found.collision_probability)",
    ]
    if pair.update == "flow":
        lines.append(f"print(relations.pair_limit({pair.gain:g}, {pair.separation:g}, {rates}{cluster}).merges)")
        if not math.isnan(critical_ratio(pair)):
            lines.append(f"print(relations.collision_rate_ratio(0.5, {scales}, {shape}))")
    elif pair.has_law:
        ratio = f"{pair.encoder_rate:g} / {pair.decoder_rate:g}"
        lines.append(f"print({ratio} >= {pair.separation:g} / {pair.gain:g})  # the pair drawn merges")
    return "\n".join(lines) + "\n"


def _pair_command(pair: MergingPair) -> str:
    simulate = "" if pair.has_law else f" --simulate {SIMULATED_DRAWS}"
    cluster = f" --cluster {pair.cluster}" if pair.update == "flow" else ""
    return (
        f"genlaws relations repons --encoder-rate {pair.encoder_rate:g} --decoder-rate {pair.decoder_rate:g} "
        f"--encoder-scale {pair.encoder_scale:g} --decoder-scale {pair.decoder_scale:g} "
        f"--dimension {pair.dimension} --outputs {pair.outputs}{cluster} --update {pair.update}{simulate}"
    )


VIEW = View(
    name="relations",
    title="Relations",
    question="How much of a relation must be seen, and when do representations merge?",
    about="A relation such as equal modulo 3 or less-than can be filled in from part of its pairs; the exact bound "
    "is the best average accuracy of a learner that knows only its class. A network can do so if the representations "
    "of elements that behave alike merge, which the ratio of two learning rates decides: that of the representations "
    "and that of the decoder that reads them.",
    settings=RelationSettings,
    answer=answer,
)
