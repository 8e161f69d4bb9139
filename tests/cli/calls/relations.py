"""Command lines that ask each question on relations, with one number and with several."""

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
}

# Questions without a command.
EXAMPLES = {}
