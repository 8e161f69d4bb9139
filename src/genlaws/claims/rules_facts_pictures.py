"""Claims of the Rules-and-Facts paper that its figures, its table and its discussion make."""

from __future__ import annotations

from functools import partial

from genlaws.claims.entries import make_claim

HERE = "genlaws.claims.rules_facts_"
LIMIT = f"{HERE}limit_checks:check_"
KERNEL = f"{HERE}kernel_checks:check_"
ANGLE = f"{HERE}angle_checks:check_"
TRADE = f"{HERE}tradeoff_checks:check_"
RUN = f"{HERE}run_checks:check_"
DATA = f"{HERE}data_checks:check_"
DRAW = "genlaws figure rules-facts."
_claim = partial(make_claim, "rules-facts")

PICTURES = (
    _claim(
        "fig-1-linear",
        "figure",
        "The perceptron trades: memory fades as λ grows, the rule is found best in between, and no λ serves both.",
        "Sec. 3.1, Fig. 1",
        "exact",
        f"{TRADE}linear_tradeoff",
        f"{DRAW}1",
    ),
    _claim(
        "fig-1-kernels",
        "figure",
        "Kernels serve both: the ReLU kernel remembers with a low rule error; the erf kernel does not do both well.",
        "Sec. 3.2, Fig. 1",
        "exact",
        f"{TRADE}kernels_serve_both",
        f"{DRAW}1",
    ),
    _claim(
        "fig-2",
        "figure",
        "Wider random features are better at both and converge to the kernel; perfect memory needs enough width.",
        "Sec. 3.2, Fig. 2",
        "exact",
        f"{TRADE}width",
        f"{DRAW}2",
    ),
    _claim(
        "fig-3-table",
        "table",
        "Sixteen rule errors at ε = 0.2: Bayes, ridge at the best angle, hinge at its best, hinge at λ → 0.",
        "Sec. 3.3, table below Fig. 3",
        "exact",
        f"{ANGLE}table_of_errors",
        f"{DRAW}3",
    ),
    _claim(
        "fig-3-hinge",
        "figure",
        "At λ → 0 the hinge loss has nearly, but not exactly, the best angle and error of ridge regression.",
        "Sec. 3.3, Fig. 3",
        "exact",
        f"{ANGLE}hinge_angle",
        f"{DRAW}3",
    ),
    _claim(
        "fig-3-hinge-forgets",
        "figure",
        "The hinge loss finds more of the rule at a positive λ, at the expense of memory, and at another angle.",
        "Sec. 3.3, Fig. 3",
        "exact",
        f"{ANGLE}hinge_gives_up_memory",
        f"{DRAW}3",
    ),
    _claim(
        "fig-4",
        "figure",
        "Trade-off curves at the best angle reach both ends at once; larger and smaller angles do not.",
        "Sec. 3.3, Fig. 4",
        "exact",
        f"{TRADE}best_angle_paths",
        f"{DRAW}4",
    ),
    _claim(
        "fig-5-theory",
        "figure",
        "Gaussian kernel: one bandwidth realises the best angle; the hinge loss prefers a larger γ at λ → 0 than at "
        "the best λ.",
        "Sec. 3.3, Figs. 5 and 15, Eq. 41",
        "exact",
        f"{KERNEL}bandwidth_theory",
        f"{DRAW}5",
    ),
    _claim(
        "fig-5-images",
        "figure",
        "On images ridge regression prefers a larger bandwidth parameter at λ → 0 than at the best λ.",
        "Sec. 3.4, Fig. 5",
        "simulation",
        f"{DATA}bandwidth_ridge",
        f"{DRAW}5",
    ),
    _claim(
        "fig-6",
        "figure",
        "Rule error against samples: Bayes falls as 1/α, ridge and support vector machine as 1/√α.",
        "Sec. 3.5, Fig. 6",
        "exact",
        f"{LIMIT}decay_figure",
        f"{DRAW}6",
    ),
    _claim(
        "fig-7",
        "figure",
        "The Bayes-optimal error grows with the facts, to one half, at any number of samples.",
        "App. B.1, Fig. 7",
        "exact",
        f"{TRADE}bayes_map",
        f"{DRAW}7",
    ),
    _claim(
        "fig-8",
        "figure",
        "The perceptron at λ → 0 remembers perfectly up to the threshold of its loss and not beyond.",
        "App. C.1.1, Fig. 8",
        "exact",
        f"{LIMIT}perceptron_figure",
        f"{DRAW}8",
    ),
    _claim(
        "fig-10",
        "figure",
        "Each family of kernels reaches the best angle at a parameter given by an equation.",
        "App. D.1, Eqs. 212-217, Fig. 10",
        "exact",
        f"{KERNEL}parameters_of_families",
        f"{DRAW}10",
    ),
    _claim(
        "fig-11",
        "figure",
        "The best angle separates kernels whose best λ is zero from those whose best λ is positive; for the hinge "
        "it splits in two.",
        "App. D.2, Fig. 11",
        "exact",
        f"{TRADE}angle_transition",
        f"{DRAW}11",
    ),
    _claim(
        "fig-12",
        "figure",
        "With more facts the phenomenology is the same.",
        "App. D.2, Fig. 12",
        "exact",
        f"{ANGLE}more_facts",
        f"{DRAW}12",
    ),
    _claim(
        "fig-14",
        "figure",
        "On structured data kernels with equal (μ1, μ*) no longer perform alike.",
        "App. D.4, Fig. 14",
        "simulation",
        f"{DATA}matched_kernels_on_digits",
        f"{DRAW}14",
    ),
    _claim(
        "fig-15-images",
        "figure",
        "On images support vector machines prefer a larger bandwidth parameter at λ → 0 than at the best λ.",
        "App. D.4, Fig. 15",
        "simulation",
        f"{DATA}bandwidth_hinge",
        f"{DRAW}15",
    ),
    _claim(
        "svm-drift",
        "finding",
        "At large λ support vector machines on images drift towards guessing because of finite size.",
        "App. D.4",
        "simulation",
        f"{DATA}intercept",
        "",
    ),
    _claim(
        "fig-16",
        "figure",
        "Linear model: error high with few samples and many facts, low in the opposite corner, a smooth boundary "
        "between.",
        "App. E, Fig. 16",
        "exact",
        f"{TRADE}linear_map",
        f"{DRAW}16",
    ),
    _claim(
        "message-passing",
        "finding",
        "Approximate message passing reaches the Bayes-optimal error.",
        "Sec. 3.5",
        "simulation",
        f"{RUN}message_passing",
        f"{DRAW}message-passing",
    ),
    _claim(
        "bayes-forgets",
        "finding",
        "A learner that matches the Bayes-optimal one does not have the capacity to memorise the facts.",
        "Sec. 3.5",
        "simulation",
        f"{RUN}bayes_forgets",
        f"{DRAW}message-passing",
    ),
    _claim(
        "kernels-too-slow",
        "finding",
        "No kernel method has the rate 1/α and memorises the facts.",
        "Sec. 3.5",
        "exact",
        f"{LIMIT}kernels_are_too_slow",
        f"{DRAW}6",
    ),
    _claim(
        "two-layer",
        "finding",
        "A wide two-layer network with a trained first layer may reach 1/α and memorise the facts (open question).",
        "Sec. 3.5",
        "kept table",
        f"{DATA}two_layer",
        f"{DRAW}two-layer",
    ),
)
