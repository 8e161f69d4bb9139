"""Command lines that ask each question on rules facts, with one number and with several."""

import numpy as np

from genlaws import rules_facts
from genlaws.rules_facts import finite_size
from genlaws.rules_facts.networks import two_layer

COMMANDS = {
    "rules_facts.solve": [
        "rules-facts solve --sample-ratio 10 --fact-fraction 0.2",
        "rules-facts solve --sample-ratio 10 --fact-fraction 0.2 --loss hinge --kernel relu --regularization 0",
        "rules-facts solve --sample-ratio 2,10 --fact-fraction 0:0.4:3 --kernel-angle 0.5,1.2 --regularization 0.1,1",
        "rules-facts solve --sample-ratio 2,10 --fact-fraction 0:0.4:3 --mu-1 0.5 --mu-star 0.3,0.4 --width-ratio 2,3",
    ],
    "rules_facts.bayes_optimal": [
        "rules-facts bayes --sample-ratio 10 --fact-fraction 0.2",
        "rules-facts bayes --sample-ratio 2,10 --fact-fraction 0:0.4:3",
    ],
    "rules_facts.threshold": [
        "rules-facts threshold --fact-fraction 0.2",
        "rules-facts threshold --fact-fraction 0,0.3 --kernel erf --width-ratio 2",
    ],
    "rules_facts.describe_kernel": [
        "rules-facts kernel --kernel relu",
        "rules-facts kernel --kernel-angle 0.3,0.7 --family gaussian",
    ],
    "rules_facts.advise": [
        "rules-facts advise --rule-classes 3 8 --sample-count 40 --parameters 0.5,2",
    ],
}

DRAW = rules_facts.draw_gaussian(12, 3.0, 0.2, test_count=20, seed=1)
PRODUCTS = finite_size.inner_products(DRAW.inputs)
RATIOS, ERRORS = np.array([4.0, 8.0, 16.0]), 0.3 + 0.1 * np.random.default_rng(0).random((3, 3, 2))


def train_two_layer():
    return two_layer.train_two_layer(
        dimension=6, sample_ratio=3, fact_fraction=0.2, width=8, seeds=[0, 1], steps=5, log_at=[0, 5], test_count=10
    )


def path_errors():
    train, test = finite_size.DrawProducts.of(DRAW).grams("relu")
    return finite_size.path_errors(DRAW, train=train, test=test, regularization=[0.1, 1.0])


# Questions without a command.
EXAMPLES = {
    "rules_facts.fit_decay": lambda: rules_facts.fit_decay(RATIOS, 0.4 / RATIOS),
    "rules_facts.message_passing": lambda: rules_facts.message_passing(DRAW.inputs, DRAW.labels, fact_fraction=None),
    "rules_facts.state_evolution": lambda: rules_facts.state_evolution(sample_ratio=2, fact_fraction=0.2, iterations=3),
    "rules_facts.learn_path": lambda: finite_size.learn_path(DRAW, loss="hinge", kernel="erf", regularization=[0.1]),
    "rules_facts.path_errors": path_errors,
    "rules_facts.extrapolate": lambda: finite_size.extrapolate([100, 200], [0.3, 0.28], [0.01, 0.01]),
    "rules_facts.preferred_parameters": lambda: finite_size.preferred_parameters(
        [1.0, 2.0, 4.0], ERRORS, replicates=20
    ),
    "rules_facts.gram_numbers": lambda: finite_size.gram_numbers(PRODUCTS.gram("relu"), PRODUCTS),
    "rules_facts.train_two_layer": train_two_layer,
}
