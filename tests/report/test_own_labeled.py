"""The report on the reader's labeled data, and on digits: what to take is what cross-validation found."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_breast_cancer

from genlaws.core.estimate import Estimate
from genlaws.report.sections.rules_facts import DigitPair, _digit_finding, _digits_panel
from genlaws.report.user_data.data import UserData
from genlaws.report.user_data.labeled import labeled_section
from genlaws.rules_facts import advise, draw_gaussian
from genlaws.rules_facts.labels.data import LabeledData


def section_on(inputs, labels):
    content = LabeledData(inputs, labels)
    return labeled_section(UserData("own.npz", "labeled", "Said.", content), content, "own", 0)


def theory_curves(panel):
    return [curve.name for curve in panel.curves if curve.kind == "theory"]


def test_what_to_take_is_what_cross_validation_found_and_a_theory_that_fails_is_not_drawn():
    rng, data = np.random.default_rng(0), load_breast_cancer()
    labels = np.where(rng.random(len(data.target)) < 0.2, rng.integers(0, 2, len(data.target)), data.target)
    section = section_on(data.data, labels)
    assert theory_curves(section.panels[0]) == []
    assert "The theory is not drawn: it does not describe these data." in section.panels[0].caption
    assert "Cross-validation chose them." in section.implications[0]
    assert (
        "does not describe your data: at its choice for memory it predicts a generalization error of"
        in section.implications[1]
    )
    numbers = {name: (value, meaning) for name, value, meaning in section.numbers}
    assert "labels that left-out predictions contradict" in numbers["memorization error, chosen for memory"][1]
    found, theory = (numbers[f"generalization error, {one}"][0] for one in ("chosen for the rule", "theory's kernel"))
    assert float(found.split()[0]) < float(theory.split()[0]) - 0.1


def test_a_theory_that_agrees_is_drawn():
    draw = draw_gaussian(100, 3.0, 0.0, test_count=1, seed=0)
    section = section_on(draw.inputs, np.where(draw.labels > 0, "yes", "no"))
    assert theory_curves(section.panels[0]) == ["theory, best λ", "theory, λ → 0"]
    assert "agrees with your data" in section.implications[1]


def test_digits_are_drawn_with_the_theory_only_where_it_agrees():
    draw = draw_gaussian(100, 3.0, 0.2, test_count=1, seed=0)
    agrees = advise(draw.inputs, draw.labels, is_fact=draw.is_fact, parameters=[0.5])
    contradicted = replace(agrees, price_of_theory=Estimate(0.07, 0.03, 0.11))
    pairs = (DigitPair(3, 8, agrees), DigitPair(4, 9, contradicted))
    assert theory_curves(_digits_panel(pairs)) == ["3 against 8, theory"]
    assert "agrees with the measured errors on 1 of 2 pairs" in _digit_finding(pairs)
