"""What the report says about relations whatever the runs find: the laws, and what they mean for the reader."""

from __future__ import annotations

from genlaws.report.mathml import brackets, formula, inline, number, over, power, root, sign, symbol, together

_P_IJ, _B = symbol("P", "ij"), symbol("b")
_ETA_X, _ETA_A = symbol("η", "x"), symbol("η", "A")
LAW = (
    "<p>A relation between n elements is one of n!/|Aut| copies that differ in who is who; telling them apart takes "
    + inline(_B, sign("="), symbol("log", "2"), brackets(over(symbol("n!"), symbol("|Aut|"))))
    + " bits. Of all relations of its class that agree with the entries shown, let "
    + inline(_P_IJ)
    + " be the share in which i and j are related. On average over them no learner is right more often than</p>"
    + formula(
        symbol("f"),
        sign("="),
        over(number("1"), power(symbol("n"), number("2"))),
        f"<munder>{sign('∑')}{together(symbol('i'), symbol('j'))}</munder>",
        symbol("max"),
        brackets(_P_IJ, sign(","), number("1"), sign("−"), _P_IJ),
    )
    + "<p>For orders, which are alike up to the names of their elements, this bounds every learner that knows only the "
    "class. For other classes a learner can do better on a single relation, above all where one answer is far more "
    "common than the other.</p>"
    "<p>Two representations of one class, read by a linear decoder, either merge, and what is learned about one "
    "holds for the other, or stay apart and are memorised. In one dimension, from normal starts of equal widths, they "
    "merge with probability</p>"
    + formula(
        symbol("p"),
        sign("="),
        over(number("2"), symbol("π")),
        symbol("arctan"),
        root(over(_ETA_X, _ETA_A)),
    )
    + "<p>so the ratio of the learning rates of representations and decoder decides between understanding and "
    "memorising.</p>"
)
YOURS = (
    "Before collecting more pairs of an order or an equivalence, compute what the pairs you have already decide: "
    "beyond the bound do not expect more from training, and below it the missing accuracy is the model's, not the "
    "data's.",
    "In full-size runs a decoder with the relation's symmetry built in needed half the entries of a general one, or "
    "fewer; one with the wrong symmetry cannot learn it.",
    "If a model memorises, raise the learning rate of its embeddings over that of what reads them, or start with "
    "smaller embeddings. The law is exact for a linear decoder and no bound on a deep one.",
)
PYTHON = """from genlaws import relations

for name in ("mod3", "less-than"):
    relation = relations.named_relation(name, {elements})
    print(relations.description_length_exact(relation))  # bits
    print(relations.data_needed(relation, {target:g}, repeats={repeats}, seed={seed}).train_fraction)"""
COMMAND = """genlaws relations describe mod3 --elements {elements}
genlaws relations data-needed mod3 --elements {elements} --target-accuracy {target:g} --repeats {repeats} --seed {seed}
# for a relation of your own: genlaws relations data-needed edges.csv"""
