"""Command lines that ask each question on rules facts, with one number and with several."""

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

# Questions without a command.
EXAMPLES = {}
