"""Command lines that ask each question on semanticity, with one number and with several."""

import numpy as np

from genlaws import semanticity
from genlaws.semanticity.choices.model import ChoiceModel
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.networks import convolutional, relu, slots

COMMANDS = {
    "semanticity.front_points": [
        "semanticity front --ball-mass 0.5",
        "semanticity front --similarity exponential --resolution 0.1",
        "semanticity front --ball-mass 0.1:0.5:3 --items 2,10 --background 0,0.05",
        "semanticity front --space sphere --similarity power-law --exponent 3 --resolution 1",
        "semanticity front --set-size 21 --ball-mass 0.25,0.5",
        "semanticity front --distances distances.csv --weights weights.csv --resolution 0.3",
        "semanticity front --distances distances.csv --set-size 8 --resolution 0.3",
    ],
    "semanticity.front": [
        "semanticity front --sweep --similarity linear --ball-mass 0.2,0.5 --background 0.1",
        "semanticity front --sweep --set-size 21 --items 3",
    ],
}

COMMANDS["semanticity.measure"] = [
    "semanticity measure embeddings.npy --positions places.npy --metric circle --items 2,3 --seed 3",
    "semanticity measure embeddings.csv --positions places.csv --metric euclidean --similarity gaussian --center "
    "--items 2 --no-intervals --no-fronts --ties drop",
    "semanticity measure embeddings.npy --positions groups.csv --metric tree --similarity threshold --no-fronts",
    "semanticity measure embeddings.npy --positions places.npy --metric circle --items 2 --memory 2e-5 --batch-size 12 "
    "--batch-count 2",
]

COMMANDS["semanticity.fit_choices"] = [
    "semanticity fit-choices choices.csv --shape exponential",
    "semanticity fit-choices choices_long.csv --shape power-law --exponent 1.5 --lapse 0 --position-effects fit "
    "--distinguish exponential,gaussian",
    "semanticity fit-choices choices.csv --shape exponential,gaussian --folds 2 --offsets none --intervals resolution",
]

TRIALS = Trials.from_lists(np.random.default_rng(0).uniform(0, 100, (60, 3)))
CHOOSER = ChoiceModel("gaussian", 25.0, 0.03, lapse=0.03)


def train_slot_networks():
    return slots.train_slot_networks(
        slots=2, ring_size=4, width=3, seeds=range(2), steps=2, batch_size=8, log_at=[0, 2], stimulus_count=8
    )


def fine_tune():
    images = np.random.default_rng(1).random((24, 8, 8, 1)), np.arange(24) % 3
    return convolutional.fine_tune(
        "small", data=images, similarity_weight=[0.0, 1.0], epochs=1, batch_size=4, most_stimuli=6
    )


# Questions without a command.
EXAMPLES = {
    "semanticity.train_relu_networks": lambda: relu.train_relu_networks(
        stimulus_count=8, hidden=3, seeds=[0, 1], steps=4, batch_size=8, log_every=2
    ),
    "semanticity.train_slot_networks": train_slot_networks,
    "semanticity.fine_tune": fine_tune,
    "semanticity.trials_to_distinguish": lambda: semanticity.trials_to_distinguish(
        TRIALS, truth=CHOOSER, alternative="exponential"
    ),
}
