"""Draw the picture of the front page: one law of each system as a line, runs as points.

It takes about forty seconds on one core::

    python examples/four_laws.py --out docs/pictures
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from genlaws import relations, residual_stream, rules_facts, semanticity
from genlaws.figures.bundled import bundled_table
from genlaws.render.style import BLACK, BLUE, GRAY, GREEN, ORANGE, PAGE, VERMILLION, house_style, new_figure
from genlaws.rules_facts.finite_size import learn_path

LAW_LINE, RUN_STYLE = "solid", {"linestyle": "none", "marker": "o", "markersize": 3.2, "elinewidth": 0.8}
# Sites, and rotations of a unit by the paper's count. From docs/residual_stream.md; the last is the paper's own.
ROTATIONS = {
    "stories260K": (11, 1.32),
    "MiniLM": (13, 1.90),
    "SmolLM2": (61, 10.38),
    "Llama, the paper": (64, 10.74),
}
LABEL_OFFSETS = (((7, -8), "left"), ((7, -4), "left"), ((-6, 3), "right"), ((3, -25), "center"))
FILE_COLORS, DOTS_PER_INCH = 64, 200  # of the picture file
ERROR_NAMES = ("generalization", "memorization")
TITLE = "Four laws"
CAPTION = "Lines are laws, points are runs with 95 % intervals, gray is chance or the best learner."


def draw_semanticity(axes: Axes) -> None:
    """Draw the front of linear decay on the circle, and random places measured at several resolutions."""
    circle, rng = semanticity.space("circle"), np.random.default_rng(0)
    front = semanticity.front(
        circle, similarity=semanticity.similarity("linear", 0.25), resolutions=np.geomspace(0.02, 0.5, 80)
    )
    axes.plot(front.identification, front.generalization, color=BLUE, linestyle=LAW_LINE)
    for resolution in (0.05, 0.1, 0.17, 0.25, 0.31, 0.4, 0.5):
        places = rng.random(60)
        apart = np.abs(places[:, None] - places)
        apart = np.minimum(apart, 1 - apart)
        found = semanticity.measure(
            np.maximum(0, 1 - apart / resolution), similarity="precomputed", distances=apart, items=(2,), fronts=False
        )
        p_s, p_i = found.generalization, found.identification
        axes.errorbar(p_i.value, p_s.value, p_s.high - p_s.value, p_i.high - p_i.value, color=BLUE, **RUN_STYLE)
    axes.set(xlabel="identification $p_I$", ylabel="generalization $p_S$", xlim=(0.66, 1.0), ylim=(0.58, 0.86))
    axes.text(0.8, 0.63, "theory, and 60 random\nplaces each, measured", color=BLUE, fontsize=6.5, ha="center")
    axes.set_title("Semanticity: generalization\ncosts identification")


def draw_rules_facts(axes: Axes) -> None:
    """Draw generalization error against memorization error along the regularization, with runs in 300 dimensions."""
    task = {"sample_ratio": 5, "fact_fraction": 0.2}
    for loss, color, strengths in (
        ("square", BLUE, (0.03, 0.1, 0.3, 3)),
        ("hinge", VERMILLION, (0.03, 0.06, 0.15, 1)),
    ):
        law = rules_facts.solve(loss, **task, kernel="erf", regularization=np.geomspace(1e-2, 30, 60))
        axes.plot(law.memorization_error, law.generalization_error, color=color, linestyle=LAW_LINE)
        runs = [
            learn_path(
                rules_facts.draw_gaussian(dimension=300, **task, test_count=8000, seed=seed),
                loss=loss,
                kernel="erf",
                regularization=strengths,
                normalize=True,
            )
            for seed in range(16)
        ]
        rule, facts = (np.array([getattr(one, f"{name}_error") for one in runs]) for name in ERROR_NAMES)
        spread = [2.13 * one.std(axis=0, ddof=1) / np.sqrt(len(runs)) for one in (rule, facts)]
        axes.errorbar(facts.mean(axis=0), rule.mean(axis=0), *spread, color=color, **RUN_STYLE)
    best = rules_facts.bayes_optimal(**task).generalization_error
    axes.axhline(best, color=GRAY, linewidth=0.8)
    axes.text(0.0, best - 0.001, "no learner can do better", color=GRAY, fontsize=6.5, va="top")
    axes.text(0.22, 0.1765, "ridge regression", color=BLUE, fontsize=6.5, ha="center", va="bottom")
    axes.text(0.02, 0.1575, "support vectors", color=VERMILLION, fontsize=6.5, va="top")
    axes.set(
        xlabel="memorization error (facts)", ylabel="generalization error (rule)", xlim=(-0.01, 0.4), ylim=(0.14, 0.2)
    )
    axes.set_title("Rules and facts: memorizing\ncoin flips costs generalization")


def draw_relations(axes: Axes) -> None:
    """Draw the bound of a relation, and the networks that come with the library."""
    table = bundled_table("relations.3").frame
    share = np.linspace(0, 0.6, 31)
    bound = relations.bound_curve(relations.named_relation("mod3"), train_fraction=share[share <= 0.2], repeats=10)
    best = [point.accuracy.value for point in bound.points] + [1.0] * int((share > 0.2).sum())
    axes.plot(share, best, color=BLACK, linestyle=LAW_LINE)
    networks = table[table["relation"] == "mod3"]
    for mode, depth, color in (("squared_difference", 0, GREEN), ("concatenate", 3, ORANGE)):
        chosen = networks[(networks["mode"] == mode) & (networks["depth"] == depth)]
        runs = chosen.groupby("train_fraction")["table_accuracy"].agg(["mean", "std", "count"])
        error = 1.96 * runs["std"] / np.sqrt(runs["count"])
        axes.errorbar(runs.index, runs["mean"], error, color=color, **RUN_STYLE)
    axes.text(0.09, 1.01, "best learner, exact", color=BLACK, fontsize=6.5, va="bottom")
    axes.text(0.3, 0.62, "networks with the right symmetry", color=GREEN, fontsize=6.5)
    axes.text(0.3, 0.57, "plain networks", color=ORANGE, fontsize=6.5)
    axes.set(xlabel="training fraction", ylabel="accuracy on all pairs", xlim=(0, 0.62), ylim=(0.45, 1.05))
    axes.set_title("Relations: how much must be seen\n(equal modulo 3, 30 elements)")


def draw_residual_stream(axes: Axes) -> None:
    """Draw the rotations of units in random walks and in models."""
    sites, rng = np.arange(5, 71, 5), np.random.default_rng(0)
    walks = [residual_stream.rotations(rng.standard_normal((count, 4000)).cumsum(axis=0)).as_printed for count in sites]
    axes.fill_between(sites, *np.quantile(walks, [0.1, 0.9], axis=1), color=GRAY, alpha=0.25, linewidth=0)
    axes.plot(sites, np.mean(walks, axis=1), color=GRAY, linestyle=LAW_LINE)
    for place, (name, (count, rotations)) in enumerate(ROTATIONS.items()):
        color = BLACK if "paper" in name else VERMILLION
        axes.plot(count, rotations, "o", color=color, markersize=4)
        offset, side = LABEL_OFFSETS[place]
        style = {"textcoords": "offset points", "fontsize": 6.5, "color": color, "ha": side}
        axes.annotate(name, (count, rotations), xytext=offset, **style)
    axes.text(31, 7.6, "random walks\n(8 in 10 units)", color=GRAY, fontsize=6.5, ha="right")
    axes.set(xlabel="places where the state is read", ylabel="rotations of a unit", xlim=(5, 74), ylim=(0, 14))
    axes.set_title("Residual stream: units rotate\nas often as in random walks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    with house_style():
        figure = new_figure(PAGE, 5.0)
        first, second, third, fourth = figure.subplots(2, 2).ravel()
        draw_semanticity(first)
        draw_rules_facts(second)
        draw_relations(third)
        draw_residual_stream(fourth)
        figure.savefig(folder / "four_laws.png", dpi=DOTS_PER_INCH, metadata={"Title": TITLE, "Description": CAPTION})
    with Image.open(folder / "four_laws.png") as drawn:  # few colors make a small file
        drawn.convert("RGB").quantize(FILE_COLORS, dither=Image.Dither.NONE).save(
            folder / "four_laws.png", optimize=True
        )


if __name__ == "__main__":
    main()
