"""Claims of the relations paper on representations that attract each other."""

from __future__ import annotations

from functools import partial

from genlaws.claims.entries import make_claim

HERE = "genlaws.claims.relations_"
GRADIENT = f"{HERE}gradient_checks:check_"
REPON = f"{HERE}repon_checks:check_"
COLLISION = f"{HERE}collision_checks:check_"
DRAW = "genlaws figure relations."
_claim = partial(make_claim, "relations")

DYNAMICS = (
    _claim(
        "theorem-1",
        "theorem",
        "With an injective decoder and no training loss, elements of one class have one embedding and others differ.",
        "Theorem 1",
        "exact",
        f"{REPON}theorem_1",
        "",
    ),
    _claim(
        "eq-8",
        "equation",
        "Two repons of one class obey dA/dt = -2η_A A r rᵀ and dr/dt = -η_x AᵀA r.",
        "Eqs. 6-8",
        "exact",
        f"{GRADIENT}eq_8",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3",
    ),
    _claim(
        "appendix-c-bias",
        "equation",
        "The bias obeys db/dt = -η_A (A(x1 + x2) + b - y).",
        "App. C, Eq. C1",
        "exact",
        f"{GRADIENT}bias_equation",
        "",
    ),
    _claim(
        "appendix-c-centre",
        "finding",
        "Without loss of generality x1 + x2 = 0.",
        "App. C",
        "exact",
        f"{GRADIENT}centre",
        "",
    ),
    _claim(
        "repulsion",
        "finding",
        "Attraction between repons of one class fosters generalisation, repulsion results in overfitting.",
        "Sec. IV",
        "exact",
        f"{REPON}repulsion",
        f"{DRAW}4",
    ),
    _claim(
        "two-limits",
        "finding",
        "With the decoder held the repons collide; with the repons held the decoder converges to zero.",
        "Sec. IV, after Eq. 8",
        "exact",
        f"{REPON}two_limits",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3",
    ),
    _claim(
        "theorem-2",
        "theorem",
        "The distance of two repons always converges to zero or to a positive constant.",
        "Theorem 2",
        "exact",
        f"{REPON}theorem_2",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3",
    ),
    _claim(
        "eq-9",
        "equation",
        "Eq. 8 has solutions A = a A0 + b A0 r0 r0ᵀ, r = c r0.",
        "Eq. 9",
        "exact",
        f"{REPON}eq_9",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3",
    ),
    _claim(
        "eq-11",
        "equation",
        "C = a²/(2η_A) - c²/η_x is conserved; its sign decides between collision and memorisation.",
        "Eqs. 10-11",
        "exact",
        f"{REPON}eq_11",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3",
    ),
    _claim(
        "oscillator",
        "finding",
        "The conserved quantity is like the energy of a harmonic oscillator.",
        "Sec. IV",
        "exact",
        f"{REPON}oscillator",
        f"{DRAW}4",
    ),
    _claim(
        "fig-4",
        "figure",
        "Starts in a sector around the axis of the decoder's gain collide, all others do not.",
        "Fig. 4",
        "exact",
        f"{REPON}fig_4",
        f"{DRAW}4",
    ),
    _claim(
        "eq-12",
        "equation",
        "From normal starts two repons collide with probability (2/π) arctan((σ_a/σ_c)√(η_x/2η_A)).",
        "Theorem 3, Eq. 12",
        "simulation",
        f"{COLLISION}eq_12",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3",
    ),
    _claim(
        "eq-12-region",
        "equation",
        "Eq. 12 is the integral over c < √(η_x/2η_A) and a < √(η_x/2η_A).",
        "Eq. 12",
        "simulation",
        f"{COLLISION}region",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3",
    ),
    _claim(
        "eq-12-width",
        "equation",
        "σ_c is the width from which initial values are drawn.",
        "Eq. 12 and Fig. 6",
        "simulation",
        f"{COLLISION}width_of_repons",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3 --scale-of repon",
    ),
    _claim(
        "theorem-3-ratio",
        "theorem",
        "The probability depends only on the ratio of the learning rates (and the initial widths).",
        "Theorem 3",
        "simulation",
        f"{COLLISION}only_the_ratio",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3 --dimension 2 --outputs 5",
    ),
    _claim(
        "theorem-3-two-repons",
        "theorem",
        "Eq. 12 is an upper bound: for two repons whose decoder has a bias that learns.",
        "Theorem 3",
        "simulation",
        f"{COLLISION}target",
        f"{DRAW}collisions",
    ),
    _claim(
        "eq-13",
        "equation",
        "One repon against N at one place: 2 becomes 4/(1 + 1/N) in Eq. 12.",
        "Eq. 13",
        "exact",
        f"{COLLISION}eq_13",
        "genlaws relations repons --encoder-rate 1e-3 --decoder-rate 1e-3 --cluster 10",
    ),
    _claim(
        "fig-5-sign",
        "figure",
        "In the plane of logarithmic rates the boundary has slope -1.",
        "Sec. IV, text on Fig. 5",
        "exact",
        f"{COLLISION}slope_of_eq_12",
        f"{DRAW}5 --kept",
    ),
)
