"""Claims of the Rules-and-Facts paper: its equations and limits, then its pictures and findings."""

from __future__ import annotations

from functools import partial

from genlaws.claims.claim import Claim
from genlaws.claims.entries import make_claim
from genlaws.claims.rules_facts_pictures import PICTURES

HERE = "genlaws.claims.rules_facts_"
STATE = f"{HERE}state_checks:check_"
WIDTH = f"{HERE}width_checks:check_"
LIMIT = f"{HERE}limit_checks:check_"
KERNEL = f"{HERE}kernel_checks:check_"
ANGLE = f"{HERE}angle_checks:check_"
RUN = f"{HERE}run_checks:check_"
DRAW = "genlaws figure rules-facts."
_claim = partial(make_claim, "rules-facts")

EQUATIONS = (
    _claim(
        "task",
        "finding",
        "In high dimension the errors concentrate: one draw of the data is as good as the average.",
        "Sec. 1, Eq. 11",
        "simulation",
        f"{RUN}self_averaging",
        "",
    ),
    _claim(
        "bayes-equations",
        "equation",
        "The least rule error any learner can reach follows from two coupled equations; with facts only it is one "
        "half.",
        "Sec. 2.1, Eqs. 16-18",
        "exact",
        f"{STATE}bayes_equations",
        "genlaws rules-facts bayes --sample-ratio 2,4,10 --fact-fraction 0.2",
    ),
    _claim(
        "bayes-unique",
        "finding",
        "The equations of the Bayes-optimal overlap have exactly one solution.",
        "Sec. 2.1",
        "exact",
        f"{STATE}bayes_unique",
        "genlaws rules-facts bayes --sample-ratio 2,4,10 --fact-fraction 0.2",
    ),
    _claim(
        "bayes-lower-bound",
        "finding",
        "The Bayes-optimal error is a lower bound on the rule error of every estimator.",
        "Sec. 2.1",
        "exact",
        f"{STATE}bayes_is_lowest",
        "genlaws rules-facts bayes --sample-ratio 2,4,10 --fact-fraction 0.2",
    ),
    _claim(
        "state-equations",
        "equation",
        "Six scalar equations give overlap, norm and response of a kernel learner with any convex loss, and its "
        "rule error.",
        "Sec. 2.2, Eqs. 21-26",
        "exact",
        f"{STATE}state_equations",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --loss hinge --kernel relu --regularisation 1",
    ),
    _claim(
        "theory-at-finite-size",
        "finding",
        "Kernels and random features trained on draws of finite size have the errors of the theory.",
        "Sec. 2.2, App. D.3, Fig. 13",
        "simulation",
        f"{RUN}theory_against_runs",
        f"{DRAW}finite-size",
    ),
    _claim(
        "order-parameters",
        "equation",
        "m and q are the overlap of the trained weights with the teacher and their squared length.",
        "Sec. 2.2, Eq. 31",
        "simulation",
        f"{RUN}order_parameters",
        "",
    ),
    _claim(
        "memory-error",
        "equation",
        "The memorisation error is half of erfc(V/√(2q)), for the square and the hinge loss alike.",
        "Eqs. 22, 36, 160",
        "exact",
        f"{STATE}memory_formula",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --loss hinge --kernel erf --regularisation 0.3",
    ),
    _claim(
        "square-loss",
        "equation",
        "For the square loss the state equations close in a quadratic for the response.",
        "Eqs. 34-36, App. B.3",
        "exact",
        f"{STATE}square_loss",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --kernel relu --regularisation 0.1",
    ),
    _claim(
        "kernel-numbers",
        "equation",
        "A kernel enters through μ1² = k'(0) and μ*² = k(1) - k(0) - k'(0), the first Hermite coefficient and the "
        "rest.",
        "Sec. 2.2, Eq. 30; App. A.5",
        "exact",
        f"{KERNEL}kernel_numbers",
        "genlaws rules-facts kernel --kernel relu",
    ),
    _claim(
        "table-1",
        "table",
        "Closed forms of both numbers for eight kernels and activations.",
        "Eq. 33 and App. D.1, Table 1",
        "exact",
        f"{KERNEL}table_of_kernels",
        "genlaws rules-facts kernel --kernel relu",
    ),
    _claim(
        "only-two-numbers",
        "finding",
        "Different kernels with equal (μ1, μ*) perform alike on Gaussian data.",
        "Sec. 2.2 and App. D.3, Fig. 13",
        "simulation",
        f"{RUN}matched_kernels",
        f"{DRAW}13",
    ),
    _claim(
        "angle-invariance",
        "equation",
        "Scaling (μ1, μ*) by c and λ by c² changes nothing: at λ → 0 and at the best λ only the angle matters.",
        "Sec. 3.3, Eq. 38; App. A.6, Eq. 121",
        "exact",
        f"{STATE}invariance",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --kernel-angle 0.7",
    ),
    _claim(
        "finite-width",
        "equation",
        "Random features of finite width obey twelve coupled equations.",
        "App. A.4, Eq. 88",
        "exact",
        f"{WIDTH}finite_width",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --kernel erf --width-ratio 2",
    ),
    _claim(
        "kernel-limit",
        "finding",
        "As the width grows random features become kernel regression.",
        "App. A.5",
        "exact",
        f"{WIDTH}kernel_limit",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --kernel relu --width-ratio 10,100",
    ),
    _claim(
        "square-threshold",
        "equation",
        "Ridgeless linear regression has closed errors and fits every label up to one sample per dimension, "
        "whatever the facts.",
        "App. C.1.1, Eqs. 162-169",
        "exact",
        f"{LIMIT}ridgeless_linear",
        "genlaws rules-facts threshold --fact-fraction 0.2 --loss square",
    ),
    _claim(
        "hinge-threshold",
        "equation",
        "The hinge loss fits every label up to a threshold that is 2 with facts only and diverges as ε to the power "
        "-1/3.",
        "Sec. 3.1, Eq. 37; App. C.1.1",
        "exact",
        f"{LIMIT}hinge_threshold",
        "genlaws rules-facts threshold --fact-fraction 0.2",
    ),
    _claim(
        "hinge-threshold-runs",
        "finding",
        "Below the threshold a hyperplane separates the labels, above it none does.",
        "Sec. 3.1, Eq. 37",
        "simulation",
        f"{LIMIT}threshold_runs",
        "genlaws rules-facts threshold --fact-fraction 0.2",
    ),
    _claim(
        "kernels-remember",
        "finding",
        "Every kernel with μ* > 0 has memorisation error zero at λ → 0, for all losses and any number of samples.",
        "Sec. 3.3, App. C.1.2",
        "exact",
        f"{LIMIT}kernels_remember",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --loss hinge --kernel erf --regularisation 0",
    ),
    _claim(
        "infinite-regularisation",
        "equation",
        "As λ → ∞ all losses give the same errors, in closed form.",
        "App. C.2, Eqs. 190-192",
        "exact",
        f"{LIMIT}infinite_regularisation",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --kernel relu --regularisation inf",
    ),
    _claim(
        "eq-39",
        "equation",
        "At λ → 0 ridge regression finds the rule best at the angle arcsin((1 - ε)√(2/π)), whatever the samples.",
        "Sec. 3.3, Eq. 39",
        "exact",
        f"{ANGLE}optimal_angle",
        "genlaws rules-facts kernel --kernel-angle 0.6923 --family gaussian",
    ),
    _claim(
        "eq-40",
        "equation",
        "The best regularisation of ridge regression has a closed form that does not depend on the samples.",
        "Sec. 3.3, Eq. 40; App. B.3",
        "exact",
        f"{ANGLE}optimal_regularisation",
        "genlaws rules-facts solve --sample-ratio 4 --fact-fraction 0.2 --kernel linear",
    ),
    _claim(
        "both-at-once",
        "finding",
        "Up to the best angle the best λ is zero and memory perfect; from it on the best rule error is the same. At "
        "it both come together.",
        "Sec. 3.3, after Eq. 40",
        "exact",
        f"{ANGLE}both_at_once",
        f"{DRAW}3",
    ),
    _claim(
        "eq-42",
        "equation",
        "With many samples ridge regression falls as 1/√α with one coefficient for all kernels and λ.",
        "Sec. 3.5, Eq. 42; App. C.3.2",
        "exact",
        f"{LIMIT}ridge_decay",
        f"{DRAW}6",
    ),
    _claim(
        "bayes-decay",
        "equation",
        "The Bayes-optimal error falls as 1/α at every fact fraction, with 0.44/α at none.",
        "App. C.3.1, Eqs. 201-203",
        "exact",
        f"{LIMIT}bayes_decay",
        f"{DRAW}6",
    ),
    _claim(
        "hinge-conjecture",
        "finding",
        "Conjecture: with facts the support vector machine falls as 1/√α for every kernel and regularisation.",
        "Sec. 3.5, App. C.3.3, Fig. 9",
        "exact",
        f"{LIMIT}hinge_conjecture",
        f"{DRAW}9",
    ),
    _claim(
        "hinge-without-facts",
        "finding",
        "Without facts a linear support vector machine has the Bayes-optimal rate 1/α.",
        "Sec. 3.5",
        "exact",
        f"{LIMIT}hinge_without_facts",
        "genlaws rules-facts solve --loss hinge --sample-ratio 100,1000 --fact-fraction 0 --regularisation 0",
    ),
)
CLAIMS: tuple[Claim, ...] = (*EQUATIONS, *PICTURES)
