"""What the report says about rules and facts whatever the runs find: the law, and what it means for the reader."""

from __future__ import annotations

from genlaws.report.mathml import brackets, formula, inline, number, over, power, root, side_by_side, sign, symbol

_GEN, _MEM = symbol("ε", "gen"), symbol("ε", "mem")
_M, _Q, _V, _T = symbol("m"), symbol("q"), symbol("V"), symbol("τ")
LAW = (
    "<p>A share ε of the labels are facts, coin flips; the others obey a rule. Whatever the learner, three numbers "
    f"describe it once trained: its overlap {inline(_M)} with the rule, the variance {inline(_Q)} of its score, and "
    f"how far a training point pulls its own score, {inline(_V)}. They solve the state equations, and the errors on "
    "the rule and on the facts are</p>"
    + side_by_side(
        formula(_GEN, sign("="), over(number("1"), symbol("π")), symbol("arctan"), over(_T, _M)),
        formula(
            _MEM,
            sign("="),
            over(number("1"), number("2")),
            symbol("erfc"),
            brackets(over(_V, root(number("2"), _Q))),
        ),
        formula(power(_T, number("2")), sign("="), _Q, sign("−"), power(_M, number("2"))),
    )
    + "<p>Only an angle of the kernel matters, and the penalty λ. With the square loss the kernel of angle "
    + inline(
        symbol("sin"),
        symbol("θ"),
        sign("="),
        brackets(number("1"), sign("−"), symbol("ε")),
        root(over(number("2"), symbol("π"))),
    )
    + " keeps every fact and serves the rule as well as any other kernel with the best penalty.</p>"
)
YOURS = (
    "If your inputs are near Gaussian and the rule near linear, and your model must remember exceptions, do not "
    "regularise it harder: choose a kernel, or a width and activation, near the best angle. There the penalty that "
    "serves the rule is zero and no fact is lost.",
    "More data helps a fixed-feature learner as one over the root of the samples, the best possible learner as one "
    "over the samples; the gap between the lines is what learned features could gain.",
    "Ask for your own labelled data: the advice chooses a kernel by cross-validation, says whether the theory "
    "describes your data, and puts a price, with an interval, on remembering.",
)
PYTHON = """from genlaws import rules_facts

print(rules_facts.optimal_angle(fact_fraction={facts:g}))  # best angle of a kernel
digits = rules_facts.load_labelled("digits")  # or a file of your own
drawn = {{"fact_fraction": {digit_facts:g}, "sample_count": {samples}, "test_count": 2, "seed": {seed}}}
draw = rules_facts.draw_labelled(digits, {pair}, **drawn)
print(rules_facts.advise(draw.inputs, draw.labels, is_fact=draw.is_fact, seed={seed}).price_of_memory)"""
COMMAND = """genlaws rules-facts advise digits --rule-classes {pair[0]} {pair[1]} --fact-fraction {digit_facts:g} \
--sample-count {samples} --seed {seed}
# for labelled data of your own: genlaws rules-facts advise labelled.npz --rule-classes 3 8"""
