"""The relations view: its numbers are the library's, its bundled tables can be made again."""

import math
import shlex

import numpy as np
import pytest

from copied_lines import printed_by
from genlaws import relations
from genlaws.cli import run
from genlaws.web.view import bundled_rows
from genlaws.web.views.data_needed import bundled_bound, nearest_element_count
from genlaws.web.views.merging import MergingPair, critical_ratio, merging_course, probability
from genlaws.web.views.relations import VIEW, RelationSettings

PANELS = ("accuracy-by-data", "merging-by-rates", "pair-path")
MERGING = {"question": "when representations merge"}
Z_BOUND = 4.0  # for a hundred and more comparisons


def answer(**settings):
    return VIEW.answer(RelationSettings(**settings))


def number(found, name):
    return next(one.value for one in found.numbers if one.name == name)


def pair(**changes):
    given = {"update": "flow", "encoder_rate": 1e-3, "decoder_rate": 2e-3, "encoder_scale": 0.8, "decoder_scale": 1.3}
    shape = {"dimension": 1, "outputs": 1, "cluster": 1, "gain": 1.0, "separation": 0.9}
    return MergingPair(**{**given, **shape, **changes})


def test_lengths_and_formulas_are_the_librarys():
    found = answer(element_count=30, target_accuracy=0.9)
    relation = relations.named_relation("mod3", 30)
    assert number(found, "description length") == f"{relations.description_length_exact(relation):.2f} bits"
    assert number(found, "description length, paper") == f"{relations.description_length_table(relation):.2f} bits"
    curves = {one.name: one for one in found.panels[0].curves}
    share = np.array(curves["the paper's Eq. 5"].x)
    paper = relations.accuracy_formula(share, 30, relations.description_length_table(relation), 1 / 3)
    exact = relations.accuracy_formula(share, 30, relations.description_length_exact(relation), 1 / 3)
    assert curves["the paper's Eq. 5"].y == pytest.approx(paper)
    assert curves["Eq. 5 with the exact description length"].y == pytest.approx(exact)
    needed = relations.critical_fraction(0.9, 30, relations.description_length_table(relation))
    assert number(found, "share needed, the paper's Eq. 4") == f"{float(needed):.3f}"


@pytest.mark.parametrize(("relation", "name", "count"), [("mod3", "mod3", 20), ("bipartite", "bipartite-13-12", 25)])
def test_bundled_bound_can_be_made_again(relation, name, count):
    bound, some = bundled_bound(name, count).accuracy, slice(2, None, 9)
    again = relations.bound_curve(relations.named_relation(name, count), train_fraction=bound.place[some])
    for place, point in zip(bound.place[some], again.points, strict=True):
        assert str(bound.at(place)) == str(point.accuracy)
    assert len([row for row in bundled_rows("relations_bound.csv") if row["relation"] == relation]) == 5 * len(
        bound.place
    )


@pytest.mark.parametrize(("name", "count"), [("mod2", 25), ("less-than", 10), ("divisibility", 30)])
def test_bundled_data_needed_can_be_made_again(name, count):
    needed = bundled_bound(name, count).needed
    for target in needed.place[20::40]:
        wanted = relations.data_needed(relations.named_relation(name, count), target_accuracy=target)
        assert str(needed.at(target)) == str(wanted.train_fraction)


def test_tables_are_bundled_for_every_place_of_the_sliders():
    properties = RelationSettings.model_json_schema()["properties"]
    for name, stored in (("train_fraction", "accuracy"), ("target_accuracy", "needed")):
        schema, place = properties[name], getattr(bundled_bound("mod3", 30), stored).place
        assert (place[0], place[-1]) == (schema["minimum"], schema["maximum"])
        assert schema["default"] in place
        steps = np.diff(np.log10(place) if schema["control"]["log"] else place)
        assert (steps < 1.2 * schema["control"]["step"]).all()
    counts = properties["element_count"]
    assert [nearest_element_count(n) for n in range(counts["minimum"], counts["maximum"] + 1, 5)] == [
        10,
        15,
        20,
        25,
        30,
    ]


def test_bundled_bound_agrees_with_other_training_sets():
    bound, some = bundled_bound("less-than", 10).accuracy, slice(20, 100, 16)
    again = relations.bound_curve(relations.less_than(10), train_fraction=bound.place[some], repeats=40, seed=5)
    error = (bound.high - bound.value)[some] / 2.09
    other = np.array([(point.accuracy.high - point.accuracy.value) / 2.0 for point in again.points])
    z = (bound.value[some] - [point.accuracy.value for point in again.points]) / np.hypot(error, other)
    assert np.abs(z).max() < Z_BOUND


def test_a_number_between_two_places_is_taken_as_the_nearer_and_said():
    typed = answer(element_count=27, train_fraction=0.0502, target_accuracy=0.9013)
    assert typed.numbers == answer(element_count=25, train_fraction=0.05, target_accuracy=0.9).numbers
    reported = {one.name: one.meaning for one in typed.numbers}
    assert reported["best accuracy"].startswith("from 0.05 of the pairs of 25 elements;")
    assert reported["share needed for the target"].startswith("for 0.9, by the best learner:")
    assert "--elements 25 --train-fraction 0.05" in typed.command


def test_a_target_reached_from_nothing_is_marked_at_the_end_of_the_axis():
    found = answer(target_accuracy=0.6)
    assert number(found, "share needed for the target").startswith("0.000000 ± 0.000000")
    mark = found.panels[0].curves[-1]
    assert (mark.name, mark.x, mark.y) == ("target reached", [0.005], [0.6])


@pytest.mark.parametrize("relation", ["binary-tree", "divisibility"])
def test_an_average_over_an_entrywise_class_is_not_called_a_bound(relation):
    known = relations.named_relation(relation, 10)
    target = 0.98  # between what the majority answer gives and all
    assert known.majority_accuracy < target
    found = answer(relation=relation, element_count=10, target_accuracy=target)
    caption, curves = found.panels[0].caption, [one.name for one in found.panels[0].curves]
    assert "No learner" not in caption
    assert "not a bound for this relation" in caption
    assert "average over its class" in curves
    assert "exact Bayes bound" not in curves
    assert "best learner" not in found.sentence
    assert f"Always answering no is right on {known.majority_accuracy:.1%}" in found.sentence
    needed = relations.data_needed(known, target_accuracy=target)
    assert number(found, "share needed for the target") == str(needed.train_fraction)
    below = answer(relation=relation, element_count=10, target_accuracy=0.7)
    assert number(below, "share needed for the target").startswith("0.000000 ± 0.000000")


def test_networks_are_shown_where_there_are_any():
    shown = [one for one in answer(relation="less-than").panels[0].curves if one.kind == "run"]
    assert len(shown) == 3
    assert all(len(one.x) == 14 for one in shown)
    assert not [one for one in answer(relation="bipartite").panels[0].curves if one.kind == "run"]
    assert not [one for one in answer(element_count=20).panels[0].curves if one.kind == "run"]


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 1), (1, 2, 4), (3, 3, 16)])
def test_flow_probability_and_critical_ratio(shape):
    dimension, outputs, cluster = shape
    one = pair(dimension=dimension, outputs=outputs, cluster=cluster)
    names = {"dimension": dimension, "outputs": outputs, "cluster": cluster}
    assert probability(one) == pytest.approx(float(relations.collision_probability(1e-3, 2e-3, 0.8, 1.3, **names)))
    assert relations.collision_probability(critical_ratio(one), 1.0, 0.8, 1.3, **names) == pytest.approx(0.5)


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_sign_probability_and_critical_ratio(outputs):
    one = pair(update="sign", outputs=outputs)
    wanted = float(relations.sign_collision_probability(1e-3, 2e-3, 0.8, 1.3, outputs=outputs))
    assert probability(one) == pytest.approx(wanted)
    at_half = relations.sign_collision_probability(critical_ratio(one), 1.0, 0.8, 1.3, outputs=outputs)
    assert at_half == pytest.approx(0.5, abs=1e-6)


def test_bundled_law_of_sign_updates_is_the_librarys():
    rows = [row for row in bundled_rows("relations_sign.csv") if row["outputs"] == "5"][20:50:10]
    for row in rows:
        wanted = float(relations.sign_collision_probability(float(row["slope"]), 1.0, outputs=5))
        assert float(row["probability"]) == pytest.approx(wanted, rel=1e-4)


def test_simulated_pairs_agree_with_the_laws():
    z = []
    for row in bundled_rows("relations_repons.csv"):
        ratio, outputs = float(row["ratio"]), int(row["outputs"])
        if row["update"] == "sign" and row["dimension"] != "1":
            continue
        if row["update"] == "sign":
            law = float(relations.sign_collision_probability(ratio, 1.0, outputs=outputs))
        else:
            shape = {"dimension": int(row["dimension"]), "outputs": outputs, "cluster": int(row["cluster"])}
            law = float(relations.collision_probability(ratio, 1.0, **shape))
        z.append((float(row["value"]) - law) / math.sqrt(max(law * (1 - law), 1e-3) / 500))
    assert len(z) > 120
    assert np.abs(z).max() < Z_BOUND
    assert np.mean(np.abs(z) < 1.96) > 0.9


@pytest.mark.parametrize("update", ["flow", "sign"])
def test_simulated_pairs_lie_on_the_line_at_other_widths(update):
    found = answer(**MERGING, update=update, encoder_scale=0.3, decoder_scale=2.0, outputs=2)
    points = next(one for one in found.panels[1].curves if one.name.startswith("simulated"))
    for ratio, value in zip(points.x, points.y, strict=True):
        one = pair(update=update, encoder_rate=ratio, decoder_rate=1.0, encoder_scale=0.3, decoder_scale=2.0, outputs=2)
        law = probability(one)
        assert abs(value - law) < Z_BOUND * math.sqrt(max(law * (1 - law), 1e-3) / 500)


def test_gray_law_is_that_of_the_simulated_pairs():
    found = answer(**MERGING, outputs=7)
    gray = next(one for one in found.panels[1].curves if one.name == "gradient flow: d = 1, 5 outputs")
    assert gray.y == pytest.approx(relations.collision_probability(np.array(gray.x), 1.0, outputs=5))
    assert "simulated: d = 1, 5 outputs" in [one.name for one in found.panels[1].curves]


def test_path_of_gradient_flow_is_the_librarys():
    time, gain, separation = merging_course(pair(cluster=3))
    wanted = relations.pair_path(1.0, 0.9, time, encoder_rate=1e-3, decoder_rate=2e-3, cluster=3)
    assert gain == pytest.approx(wanted.decoder_gain)
    assert separation == pytest.approx(wanted.half_separation)
    assert pair(cluster=3).merges == bool(wanted.merges.all())


@pytest.mark.parametrize("separation", [0.2, 0.9])
def test_path_of_sign_updates_ends_where_the_simulation_does(separation):
    one = pair(update="sign", encoder_rate=0.5, decoder_rate=1.0, separation=separation)
    system = relations.ReponSystem(0.5, 1.0, update="sign")
    run = relations.evolve_repons(system, decoder=[[[1.0]]], positions=[[[separation], [-separation]]])
    assert bool(run.merged.all()) == one.merges
    gain, half = merging_course(one)[1][-1], merging_course(one)[2][-1]
    assert abs(run.decoder[0, 0, 0]) == pytest.approx(gain, abs=2e-3)
    assert 0.5 * abs(run.positions[0, 0, 0] - run.positions[0, 1, 0]) == pytest.approx(half, abs=2e-3)


def ends():
    for name, field in RelationSettings.model_fields.items():
        limits = [getattr(part, end) for part in field.metadata for end in ("ge", "le") if hasattr(part, end)]
        values = limits or list(field.annotation.__args__)
        yield from ((name, value) for value in values)


@pytest.mark.parametrize("update", ["flow", "sign"])
@pytest.mark.parametrize("relation", ["modulo", "less-than", "bipartite", "binary-tree", "divisibility"])
def test_every_end_answers(update, relation):
    for name, value in ends():
        found = answer(**{"update": update, "relation": relation, name: value})
        assert tuple(one.name for one in found.panels) == PANELS
        assert all(np.isfinite(one.y).all() for one in found.panels[0].curves)
        assert all(np.isfinite(one.y).all() for one in found.panels[2].curves)
        assert found.sentence


def test_every_slider_changes_the_answer():
    start = answer().to_json()
    for name, value in ends():
        if name in {"question", "update"} or RelationSettings().model_dump()[name] == value:
            continue
        assert answer(**{name: value}).to_json() != start, name


def test_sign_updates_in_several_dimensions_have_no_law():
    found = answer(**MERGING, update="sign", dimension=2)
    assert number(found, "collision probability") == "no law"
    assert number(found, "critical ratio of the rates") == "none"
    assert "sign updates (as of Adam)" not in [one.name for one in found.panels[1].curves]
    assert number(answer(dimension=3), "critical ratio of the rates") == "none"
    assert number(answer(dimension=3), "collision probability") == "0.0000"


def test_words_about_a_simulation_can_be_run(capsys, tmp_path):
    found = answer(**MERGING, update="sign", dimension=2, outputs=2)
    share = float(printed_by(found.python, tmp_path).split()[0])
    assert run(shlex.split(found.command)[1:]) == 0
    said = capsys.readouterr().out
    assert 0.05 < share < 0.3
    assert "0.1" in said
