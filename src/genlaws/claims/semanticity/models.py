"""Checks of what language and vision models do, from answers bundled with the library and from an encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genlaws.claims.claim import FAILS, HOLDS, LIMITED, UNTESTED, Finding
from genlaws.figures.bundled import bundled_table
from genlaws.probes.encoders.load import load_encoder
from genlaws.probes.encoders.stimuli import embedding_stimuli
from genlaws.probes.layers.embeddings import measure_layers
from genlaws.semanticity.theory.tradeoff import homogeneous_front

if TYPE_CHECKING:
    import pandas as pd

YEARS_FIGURE, LAYERS_FIGURE = "semanticity.years", "semanticity.layers"
CLAIMED_YEARS = (70.0, 80.0)  # resolutions of the paper's language models
EXPONENT_TOLERANCE = 0.25  # of an exponent to 1; set after the exponents had been seen
MAX_UNEXPLAINED = 0.5  # of the similarity's profile, before a resolution means nothing


def _bundled_frame(figure: str, table: pd.DataFrame | None) -> pd.DataFrame:
    return bundled_table(figure).frame if table is None else table


def check_paper_models(quick: bool) -> Finding:
    """Explain why the paper's language models are not run."""
    return Finding(
        UNTESTED,
        {"needed": "Gemma-2-2B, Llama-3.2-3B or Qwen2.5-7B; 5 to 15 GB of weights each"},
        "The weights of the paper's language models are not available here. With them, genlaws semanticity probe runs "
        "the same trials; the smaller SmolLM2-135M is judged in the next claims.",
    )


def check_answers_follow_distance(quick: bool, table: pd.DataFrame | None = None) -> Finding:
    """See whether the bundled answers of SmolLM2 about years are above chance where a resolution must show."""
    excess = _bundled_frame(YEARS_FIGURE, table).query("what == 'excess'").set_index("template")
    above = [str(name) for name, row in excess.iterrows() if row["low"] > 0 and bool(row["determined"])]
    return Finding(
        HOLDS if len(above) == len(excess) else LIMITED if above else FAILS,
        {f"{name}_above_chance": row["value"] for name, row in excess.iterrows()}
        | {f"{name}_upper_end": row["high"] for name, row in excess.iterrows()},
        "Over all similarity and two-anchor trials the answers of SmolLM2-135M are "
        + (f"above chance with {', '.join(above)}." if above else "not above chance with any of three templates:")
        + ("" if above else " it has no resolution to report. The paper's models are 15 to 50 times larger."),
    )


def check_language_collapse(quick: bool, table: pd.DataFrame | None = None) -> Finding:
    """Compare the exponent of 1/n in the bundled answers with 1, where a template identifies beyond chance."""
    rows = _bundled_frame(YEARS_FIGURE, table)
    limits, exponents = (
        rows[rows["what"] == what].set_index("template") for what in ("collapse_constant", "collapse_exponent")
    )
    able = [name for name in limits.index if limits.loc[name, "low"] > 1.0]
    right = [name for name in able if exponents.loc[name, "low"] <= 1.0 <= exponents.loc[name, "high"]]
    near = [name for name in able if abs(exponents.loc[name, "value"] - 1.0) < EXPONENT_TOLERANCE]
    shown = ", ".join(
        f"{name} {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        for name, row in exponents.loc[able].iterrows()
    )
    return Finding(
        HOLDS if right == able == list(limits.index) else LIMITED if able and near == able else FAILS,
        {f"{name}_exponent": exponents.loc[name, "value"] for name in limits.index}
        | {f"{name}_collapse_constant": limits.loc[name, "value"] for name in limits.index},
        f"SmolLM2-135M identifies beyond chance with {', '.join(map(str, able)) or 'no template'}; there the exponent "
        f"is {shown or 'unknown'}, and 1/n is {'not rejected' if right == able else 'rejected where it excludes 1'}. "
        "Guessing falls as 1/n, too, so the other templates are uninformative.",
    )


def check_encoder_resolution(quick: bool) -> Finding:
    """Measure the resolution of years in the output of a sentence encoder."""
    stimuli = embedding_stimuli("years", count=120 if quick else 200, seed=0)
    encoder = load_encoder("minilm", kind="text")
    found = measure_layers(encoder, stimuli=stimuli, layers=("output",), control="none", seed=0)
    row = found.to_frame().iloc[0]
    low, high, explained = float(row["resolution_low"]), float(row["resolution_high"]), float(row["explained"])
    finite = explained > MAX_UNEXPLAINED and np.isfinite(high)
    inside = low <= CLAIMED_YEARS[1] and high >= CLAIMED_YEARS[0]
    return Finding(
        FAILS if not finite else HOLDS if inside else LIMITED,
        {
            "resolution_in_years": row["resolution"],
            "lower_end": low,
            "upper_end": high,
            "explained_by_the_shape": explained,
            "shape": str(row["shape"]),
        },
        f"Years in the output of all-MiniLM-L6-v2 have a finite resolution of {row['resolution']:.0f} [{low:.0f}, "
        f"{high:.0f}] years ({row['shape']}, explaining {100 * explained:.0f} % of the profile); the paper's models, "
        "prompted in words, have 70 to 80.",
    )


def check_layers_trade(quick: bool, table: pd.DataFrame | None = None) -> Finding:
    """Look for layers of SmolLM2 that generalize beyond chance at a threshold between the finest and the coarsest."""
    layers = _bundled_frame(LAYERS_FIGURE, table).query(
        "what == 'layer' and weights == 'trained' and template == 'list'"
    )
    inside = layers["best_ball_mass"].between(0.0, 1.0, inclusive="neither")
    able = layers[inside & (layers["best_generalization_low"] > layers["chance"])]
    share = len(able) / len(layers)
    best = layers.iloc[int(layers["best_generalization"].to_numpy().argmax())]
    bound = float(homogeneous_front(np.clip(best["identification_there"], 0.5, 1.0)))
    return Finding(
        HOLDS if share == 1.0 else LIMITED if share > 0.5 else FAILS,
        {
            "layers_that_generalize_beyond_chance": share,
            "largest_generalization": best["best_generalization"],
            "layer_of_largest": best["layer"],
            "identification_at_layer": best["identification_there"],
            "finest_threshold_identifies": best["best_identification"],
            "theorem_1_at_identification": bound,
        },
        f"In {len(able)} of {len(layers)} layers of SmolLM2-135M an intermediate threshold generalizes beyond chance, "
        f"{best['best_generalization']:.3f} at most (layer {best['layer']:.0f}) at identification "
        f"{best['identification_there']:.3f}, below the {bound:.3f} of Theorem 1; a fine one identifies with "
        f"{best['best_identification']:.3f}. One small model; the paper leaves this curve open.",
    )


def check_vision_shapes(quick: bool) -> Finding:
    """Explain why the paper's vision models are not run."""
    return _no_vision_model("shapes")


def check_vision_colors(quick: bool) -> Finding:
    """Explain why the paper's vision models are not run about colors and numbered squares."""
    return _no_vision_model("colors")


def _no_vision_model(task: str) -> Finding:
    return Finding(
        UNTESTED,
        {"needed": "Gemma-3-12B, Qwen2.5-VL-7B or another vision-language model"},
        f"No vision-language model comes with the library. genlaws semanticity probe MODEL --task {task} draws the "
        "pictures, queries the model, and fits a resolution with a preference for every answer.",
    )
