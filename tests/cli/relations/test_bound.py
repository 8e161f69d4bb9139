"""``genlaws relations bound``, ``data-needed`` and ``next-pair``: right input, wrong input, files."""

import csv
import json
import math

import numpy as np
import pytest

from genlaws.relations import (
    TotalOrder,
    bound_curve,
    data_needed,
    description_length_exact,
    less_than,
    modulo,
    named_relation,
    next_pair,
    read_training_set,
)

SAME = 1e-12  # the command against the library, with the same seed
LOG2_30 = math.lgamma(31) / math.log(2)


@pytest.fixture
def answers(tmp_path):
    """Four things, of which a < b < c and d is known to lie below a."""
    path = tmp_path / "answers.csv"
    path.write_text("first,second,value\na,b,1\nc,b,0\na,d,0\n", encoding="utf-8")
    return path


def points_of(answer):
    """Return the points of a printed bound."""
    return answer.json["result"]["points"]


def test_bound_gives_the_librarys_numbers_under_the_agreed_names(genlaws):
    answer = genlaws(
        "relations", "bound", "mod3", "--train-fraction", "0.05", "--repeats", "4", "--seed", "7", "--json"
    )
    assert answer.code == 0
    assert answer.err == ""
    curve = answer.json["result"]
    found = curve["points"][0]
    point = bound_curve(modulo(30, 3), train_fraction=0.05, repeats=4, seed=7).points[0]
    assert found["accuracy"] == pytest.approx(vars(point.accuracy) | {"level": 0.95}, abs=SAME)
    assert found["accuracy_formula"] == pytest.approx(1 / 3 * (1 - 1 / (30 * np.log2(3))) ** 45 * -1 + 1, abs=1e-9)
    assert found["bits_left"]["value"] == pytest.approx(point.bits_left.value, abs=SAME)
    assert curve["hypotheses"] == "equivalence with 3 classes"
    assert found["exact_share"] == 1.0
    assert curve["inputs"]["seed"] == 7


@pytest.mark.parametrize(
    ("name", "accuracy", "bits"),
    [
        ("mod3", 0.677778, None),
        ("mod5", 0.806667, None),
        ("less-than", 0.516667, LOG2_30),
        ("bipartite-15-15", 0.516667, 29.0),
    ],
)
def test_nothing_seen_leaves_the_prior(genlaws, name, accuracy, bits):
    (found,) = points_of(genlaws("relations", "bound", name, "--train-fraction", "0", "--repeats", "2", "--json"))
    assert found["accuracy"]["value"] == pytest.approx(accuracy, abs=5e-7)
    if bits is not None:
        assert found["bits_left"]["value"] == pytest.approx(bits, abs=1e-9)


def test_bound_over_a_range_is_a_table(genlaws, tmp_path):
    arguments = ("relations", "bound", "less-than", "--elements", "8", "--train-fraction", "0:1:3", "--repeats", "3")
    found = points_of(genlaws(*arguments, "--json"))
    assert [one["train_fraction"] for one in found] == [0.0, 0.5, 1.0]
    assert found[-1]["accuracy"]["value"] == 1.0
    assert found[-1]["bits_left"]["value"] == 0.0
    text = genlaws(*arguments, "--out", tmp_path)
    assert text.code == 0
    assert "train fraction" in text.out
    with (tmp_path / "result.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    expected = [one["accuracy"]["value"] for one in found]
    assert [float(row["accuracy"]) for row in rows] == pytest.approx(expected, abs=SAME)
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["repeats"] == 3


def test_bound_says_first_the_number_then_what_it_means(genlaws):
    answer = genlaws("relations", "bound", "bipartite-3-4", "--train-fraction", "0.3", "--repeats", "3")
    assert answer.out.startswith("best accuracy")
    assert "No learner that knows only the class 'complete bipartite'" in answer.out
    assert "Every probability was computed exactly." in answer.out


@pytest.fixture
def sparse(tmp_path):
    """A relation in no class with structure, of which 6 of 100 pairs hold."""
    path = tmp_path / "sparse.tsv"
    path.write_text("a\tb\nb\ta\nc\td\ne\tf\ng\th\ni\tj\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("fractions", ["0.5", "0.2,0.5"])
def test_an_average_over_an_entrywise_class_is_not_called_a_bound(genlaws, sparse, fractions):
    arguments = ("relations", "bound", sparse, "--train-fraction", fractions, "--repeats", "3")
    text = " ".join(genlaws(*arguments).out.split())
    assert "No learner" not in text
    assert "best accuracy" not in text
    assert "It is not a bound for this relation" in text
    assert "Always answering no is right on 0.94 of the entries" in text
    found = genlaws(*arguments, "--json").json["result"]
    assert found["majority_accuracy"] == 0.94
    assert found["majority_answer"] == "no"
    assert found["bounds_this_relation"] is False
    assert found["meaning"] in text
    assert max(one["accuracy"]["value"] for one in found["points"]) < found["majority_accuracy"]


def test_known_entries_of_an_entrywise_class_give_no_bound(genlaws, answers):
    arguments = ("relations", "bound", "--train", answers, "--class", "generic")
    text = " ".join(genlaws(*arguments).out.split())
    assert "No learner" not in text
    assert "It is not a bound for this relation" in text
    assert genlaws(*arguments, "--json").json["result"]["meaning"] in text


def test_a_bound_below_the_majority_answer_says_so(genlaws):
    text = genlaws("relations", "bound", "equivalence-2-28", "--train-fraction", "0.005", "--repeats", "2").out
    assert "Always answering yes is right on 0.875556" in " ".join(text.split())
    order = genlaws("relations", "bound", "less-than", "--elements", "8", "--train-fraction", "0", "--repeats", "2")
    assert "Always answering" not in order.out
    assert "on this relation or on any other of the class" in " ".join(order.out.split())


def test_next_pair_of_a_sparse_relation_names_the_majority_answer(genlaws, sparse):
    arguments = ("relations", "next-pair", sparse, "--curve", "--repeats", "2", "--queries", "3")
    assert "Always answering no is right on 0.94 of this relation" in " ".join(genlaws(*arguments).out.split())
    assert genlaws(*arguments, "--json").json["result"]["majority_accuracy"] == 0.94


def test_bound_of_a_file_of_answers(genlaws, answers):
    found = genlaws("relations", "bound", "--train", answers, "--class", "total-order", "--json").json["result"]
    # d < a < b < c: all is known.
    assert (found["accuracy"]["value"], found["bits_left"]["value"], found["determined"]) == (1.0, 0.0, 1.0)
    assert found["train_fraction"] == pytest.approx(3 / 16)
    assert found["method"] == "exact"
    text = genlaws("relations", "bound", "--train", answers, "--class", "equivalence-3")
    assert text.code == 0
    assert "these 3 of 16 entries" in text.out


def test_names_add_elements_without_known_entries(genlaws, answers, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("a\nb\nc\nd\ne\n", encoding="utf-8")
    arguments = ("relations", "bound", "--train", answers, "--names", names, "--class", "total-order", "--json")
    found = genlaws(*arguments).json["result"]
    assert found["element_count"] == 5
    assert found["bits_left"]["value"] == pytest.approx(math.log2(5), abs=1e-12)


def test_data_needed_gives_the_librarys_numbers(genlaws):
    found = genlaws(
        "relations", "data-needed", "mod3", "--elements", "12", "--target-accuracy", "0.9", "--repeats", "5", "--json"
    ).json["result"]
    expected = data_needed(modulo(12, 3), target_accuracy=0.9, repeats=5)
    assert found["train_fraction"] == pytest.approx(vars(expected.train_fraction), abs=SAME)
    assert found["sample_count"]["value"] == pytest.approx(144 * found["train_fraction"]["value"])
    b = 12 * np.log2(3)
    assert found["fraction_formula"] == pytest.approx(np.log(0.1) / np.log(1 - 1 / b) / 144)
    exact = description_length_exact(modulo(12, 3))
    assert found["fraction_formula_exact"] == pytest.approx(np.log(0.1) / np.log(1 - 1 / exact) / 144)
    text = genlaws("relations", "data-needed", "bipartite-4-4", "--repeats", "3").out
    assert text.startswith("share of all entries needed")
    assert "computed exactly" in text


def test_data_needed_starts_from_the_majority_answer(genlaws, sparse):
    arguments = ("relations", "data-needed", sparse, "--repeats", "3")
    found = genlaws(*arguments, "--target-accuracy", "0.94", "--json").json["result"]
    assert found["train_fraction"]["value"] == found["sample_count"]["value"] == 0.0
    assert found["majority_accuracy"] == 0.94
    text = " ".join(genlaws(*arguments, "--target-accuracy", "0.94").out.split())
    assert "Always answering no is right on 0.94 of all entries, so no entry is needed." in text
    beyond = genlaws(*arguments, "--target-accuracy", "0.97", "--json").json["result"]
    assert beyond["bounds_this_relation"] is False
    assert "It is not a bound for this relation" in beyond["meaning"]
    assert "best learner" not in genlaws(*arguments, "--target-accuracy", "0.97").out


def test_next_pair_for_a_file_of_answers(genlaws, answers, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("a\nb\nc\nd\ne\n", encoding="utf-8")
    found = genlaws(
        "relations", "next-pair", "--train", answers, "--names", names, "--class", "total-order", "--json"
    ).json["result"]
    expected = next_pair(read_training_set(answers, elements=list("abcde")), hypotheses=TotalOrder())
    # e has five places among d < a < b < c; asking about a or b splits them 2 to 3.
    assert found["names"] == list(expected.names)
    assert found["bits"] == pytest.approx(-(0.4 * math.log2(0.4) + 0.6 * math.log2(0.6)), abs=1e-12)
    assert found["ties"] == 4
    assert genlaws("relations", "next-pair", "--train", answers, "--class", "total-order").out.startswith(
        "No query is left"
    )


def test_answers_are_said_to_be_taken_as_certain(genlaws, answers):
    """All is decided here, and would be by wrong answers too; an open case says the same."""
    for command, known in (("next-pair", "total-order"), ("next-pair", "equivalence-3"), ("bound", "total-order")):
        arguments = ("relations", command, "--train", answers, "--class", known)
        assert "Every answer is taken as certain" in " ".join(genlaws(*arguments).out.split())
        assert genlaws(*arguments, "--json").json["result"]["answers_taken_as_certain"] is True


def test_next_pair_of_a_relation(genlaws):
    found = genlaws("relations", "next-pair", "less-than", "--train-fraction", "0", "--json").json["result"]
    assert found["bits"] == pytest.approx(1.0)
    assert found["ties"] == 30 * 29
    text = genlaws("relations", "next-pair", "mod3", "--train-fraction", "0.1")
    assert text.out.startswith("query")


def test_asking_well_beats_asking_at_random(genlaws):
    found = genlaws(
        "relations", "next-pair", "less-than", "--elements", "7", "--curve", "--repeats", "3", "--json"
    ).json["result"]
    best, random = found["strategies"]
    assert [one[0] for one in best["bits_left"]] == pytest.approx([math.log2(math.factorial(7))] * 3)
    needed = best["queries_to_certainty"]["value"]
    assert math.floor(math.log2(math.factorial(7))) <= needed < random["queries_to_certainty"]["value"]
    assert [one[-1] for one in best["accuracy"] + random["accuracy"]] == [1.0] * 6
    assert np.shape(random["accuracy"]) == np.shape(random["bits_left"])
    text = genlaws("relations", "next-pair", "bipartite-3-3", "--curve", "--repeats", "2", "--queries", "4")
    assert text.code == 0
    assert "Queries until all is certain" in text.out


def test_relation_from_a_matrix_file(genlaws, tmp_path):
    path = tmp_path / "order.npy"
    np.save(path, less_than(6).matrix)
    arguments = ("relations", "bound", path, "--train-fraction", "0.5", "--repeats", "2", "--json")
    found = genlaws(*arguments).json["result"]
    assert found["hypotheses"] == "total order"
    assert found["element_count"] == 6


def test_another_class_may_be_assumed(genlaws):
    arguments = (
        "relations",
        "bound",
        "less-than",
        "--elements",
        "6",
        "--train-fraction",
        "0.5",
        "--repeats",
        "3",
        "--json",
    )
    (generic,) = points_of(genlaws(*arguments, "--class", "generic"))
    (tournament,) = points_of(genlaws(*arguments, "--class", "tournament"))
    (order,) = points_of(genlaws(*arguments))
    assert generic["accuracy"]["value"] == 0.75
    assert 0.75 < tournament["accuracy"]["value"] < order["accuracy"]["value"]


def test_both_priors_are_offered(genlaws):
    arguments = ("relations", "bound", "equivalence-2-2", "--train-fraction", "0", "--repeats", "2", "--json")
    # Two classes of four elements: 8 relations with at most two classes, 7 with exactly two.
    (any_number,) = points_of(genlaws(*arguments))
    (exactly_two,) = points_of(genlaws(*arguments, "--prior", "relations"))
    assert any_number["bits_left"]["value"] == pytest.approx(3.0)
    assert exactly_two["bits_left"]["value"] == pytest.approx(math.log2(7))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("bound",), "Give a relation"),
        (("bound", "mod3"), "Give --train-fraction"),
        (("bound", "mod3", "--train-fraction", "1.5"), "must lie in [0, 1]; got 1.5"),
        (("bound", "mod3", "--train-fraction", "0.1", "--repeats", "0"), "repeats must be a whole number, at least 1"),
        (("bound", "nothing", "--train-fraction", "0.1"), "There is no relation 'nothing'"),
        (("bound", "mod3", "--elements", "0", "--train-fraction", "0.1"), "element_count must be"),
        (("bound", "mod3", "--elements", "2", "--train-fraction", "0.1"), "A class would be empty"),
        (("bound", "mod3", "--train-fraction", "0.1", "--class", "monoid"), "There is no class of relations 'monoid'"),
        (("bound", "mod3", "--train-fraction", "0.1", "--prior", "flat"), "prior must be one of"),
        (("bound", "mod3", "--train-fraction", "0.1", "--method", "guess"), "method must be one of"),
        (("bound", "mod3", "--train-fraction", "0.5", "--class", "total-order"), "contradicts"),
        (("bound", "--train", "nowhere.csv", "--class", "total-order"), "There is no file"),
        (("data-needed", "mod3", "--target-accuracy", "0"), "target_accuracy must lie in (0, 1]"),
        (("data-needed", "mod3", "--target-accuracy", "90"), "target_accuracy must lie in (0, 1]"),
        (("data-needed", "mod3", "--repeats", "1"), "An interval needs two training sets"),
        (("next-pair", "mod3"), "Give --train-fraction"),
        (("next-pair", "mod3", "--train-fraction", "-1"), "train_fraction must lie in [0, 1]"),
        (("next-pair", "mod3", "--curve", "--queries", "0"), "queries must be a whole number, at least 1"),
        (("next-pair", "mod3", "--train-fraction", "0", "--queries", "3"), "--queries and --repeats belong to --curve"),
        (("next-pair", "mod3", "--train-fraction", "0", "--curve"), "with --curve nothing is known at the start"),
    ],
)
def test_wrong_input_is_refused_with_a_sentence(genlaws, arguments, sentence):
    answer = genlaws("relations", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert sentence in answer.err


@pytest.mark.parametrize(
    ("text", "known", "sentence"),
    [
        ("a,b,1\nb,c,1\nc,a,1\n", "total-order", "contradicts every total order: a < b < c < a"),
        ("a,b,1\nb,c,1\na,c,0\n", "equivalence-3", "(a, c) puts the two in different classes"),
        ("a,b,0\nb,c,0\na,c,0\n", "equivalence-2", "No equivalence with 2 classes agrees"),
        ("a,b,1\na,b,0\n", "generic", "(a, b) is given as 0 and as 1"),
        ("a,b,1\nb,a,0\n", "symmetric", "contradicts the class 'symmetric' at (a, b) and (b, a)"),
        ("a,a,1\na,b,1\n", "total-order", "(a, a) is 1"),
        ("a,b,2\n", "total-order", "line 1: the value must be 0 or 1; got '2'"),
        ("a,b\n", "total-order", "line 1 must hold first, second and value"),
        ("first,second,value\n", "total-order", "A training set needs at least one element"),
    ],
)
def test_impossible_answers_are_refused_by_name(genlaws, tmp_path, text, known, sentence):
    path = tmp_path / "answers.csv"
    path.write_text(text, encoding="utf-8")
    for command in ("bound", "next-pair"):
        answer = genlaws("relations", command, "--train", path, "--class", known)
        assert answer.code == 2
        assert sentence in answer.err
        if "contradicts" in sentence or "given as" in sentence:
            assert "Every answer is taken as certain: " in answer.err


def test_answers_and_a_relation_are_not_mixed(genlaws, answers):
    both = genlaws("relations", "bound", "mod3", "--train", answers, "--class", "total-order")
    assert "not both" in both.err
    unnamed = genlaws("relations", "bound", "--train", answers)
    assert "With --train the class must be named" in unnamed.err
    fraction = genlaws(
        "relations", "next-pair", "--train", answers, "--class", "total-order", "--train-fraction", "0.1"
    )
    assert "--train has its own" in fraction.err
    sized = genlaws("relations", "bound", "--train", answers, "--class", "total-order", "--elements", "9")
    assert "--train has the elements of its file" in sized.err
    curve = genlaws("relations", "next-pair", "--train", answers, "--class", "total-order", "--curve")
    assert "--curve needs a relation" in curve.err
    assert {both.code, unnamed.code, fraction.code, sized.code, curve.code} == {2}


def test_every_name_of_the_help_is_known():
    for name in ("mod3", "mod5", "less-than", "bipartite-15-15", "equivalence-10-20", "divisibility", "binary-tree"):
        assert named_relation(name).element_count == 30
