"""Command lines that ask each question on relations, with one number and with several."""

import numpy as np

from genlaws import relations

COMMANDS = {
    "relations.data_needed": [
        "relations data-needed mod3 --elements 9 --repeats 3 --seed 5",
        "relations data-needed less-than --elements 6 --repeats 2 --class tournament",
        "relations data-needed bipartite-2-2 --prior relations --target-accuracy 1",
    ],
    "relations.describe_relation": [
        "relations describe mod3 --method closed-form",
        "relations describe graph.tsv --relation knows --entities all",
        "relations describe matrix.csv --method search",
    ],
    "relations.describe_graph": [
        "relations describe graph.tsv",
    ],
    "relations.bound_curve": [
        "relations bound mod3 --elements 6 --train-fraction 0.2 --repeats 3 --seed 5",
        "relations bound less-than --elements 6 --train-fraction 0.1:0.3:3 --method chain",
    ],
    "relations.learn_relation": [
        "relations learn mod3 --elements 6 --steps 30 --width 4 --seeds 2 --seed 5",
        "relations learn matrix.csv --steps 20 --width 4 --depth 1 --optimizer sgd --mode squared_difference",
        "relations learn graph.tsv --relation knows --entities all --steps 20 --width 4 --train-fraction 1",
    ],
    "relations.phase_diagram": [
        "relations phases mod3 --elements 6 --grid 2 --seeds 2 --steps 40 --width 4 --depth 1",
        "relations phases matrix.csv --grid 2 --seeds 2 --steps 300 --width 4 --depth 1 --encoder-rates 1e-3:0.1"
        " --decoder-rates 1e-3:0.1 --batch-size 9 --seed 5",
    ],
    "relations.advise_relation": [
        "relations advise mod3 --elements 6 --quick --networks 2 --ratio-networks 2 --width 4 --depth 0 --steps 5",
        "relations advise matrix.csv --train-fractions 0.2,0.6 --ratios 0.5:2:3:log"
        " --networks 2 --ratio-networks 2 --optimizer sgd --width 4 --steps 10",
    ],
    "relations.training_set_bound": [
        "relations bound --train known.csv --names names.txt --class equivalence-2",
        "relations bound --train known.csv --class equivalence-2 --method chain",
    ],
    "relations.next_pair": [
        "relations next-pair --train known.csv --names names.txt --class equivalence-3",
        "relations next-pair less-than --elements 6 --train-fraction 0.2 --seed 3 --method chain",
        "relations next-pair mod3 --elements 6 --train-fraction 1",
    ],
    "relations.merging_probability": [
        "relations repons --encoder-rate 1e-2 --decoder-rate 1e-3 --encoder-scale-of repon --cluster 2",
        "relations repons --encoder-rate 1e-3,1e-2 --decoder-rate 1e-3 --dimension 2 --outputs 3",
        "relations repons --encoder-rate 1e-3 --decoder-rate 2e-3 --update sign --simulate 50 --seed 1",
        "relations repons --encoder-rate 1,2 --decoder-rate 1 --update sign --dimension 2 --outputs 2 --simulate 20",
        "relations repons --encoder-rate 1e-2 --decoder-rate 1e-3 --class-size 4 --outputs 2 --encoder-scale 0.5",
    ],
    "relations.query_curve": [
        "relations next-pair mod3 --elements 6 --curve --queries 4 --repeats 2",
        "relations next-pair less-than --elements 4 --curve --repeats 1 --seed 2",
    ],
}

# Questions without a command.
PAIR = relations.ReponSystem(1.0, 0.5, class_sizes=(2, 3), targets=[[0.0], [1.0]])
STARTS = {"decoder": [[[1.0]], [[0.5]]], "positions": [[[0.3], [0.1]], [[0.4], [2.0]]], "bias": 0.2}
SHARES, BOUND = [0.1, 0.2, 0.4, 0.8], np.array([[0.6, 0.8, 0.95, 1.0], [0.65, 0.75, 0.9, 1.0]])

EXAMPLES = {
    "relations.simulate_repons": lambda: relations.simulate_repons(PAIR, draws=20, seed=1, tolerance=1e-6),
    "relations.evolve_repons": lambda: relations.evolve_repons(
        relations.ReponSystem(1.0, 2.0, bias="trained"), **STARTS
    ),
    "relations.induction_gap": lambda: relations.induction_gap(SHARES, accuracies=BOUND - 0.1, bound=BOUND, seed=3),
}
