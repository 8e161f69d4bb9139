"""Command lines that ask each question on semanticity, with one number and with several."""

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

# Questions without a command.
EXAMPLES = {}
