"""``genlaws semanticity front``: the numbers of the closed forms and of plain counting."""

from __future__ import annotations

import json
import math
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genlaws import semanticity

KEYS = {
    "question",
    "inputs",
    "generalization",
    "identification",
    "resolution",
    "ball_mass",
    "ball_mass_variance",
    "item_count",
    "collapse_constant",
    "best_resolution",
    "best_ball_mass",
    "best_generalization",
}
EXACT = 1e-10  # a closed form against the library's integral
LN2 = math.log(2.0)
MASS = ("--ball-mass", "0.5")


def front(genlaws, *arguments):
    answer = genlaws("semanticity", "front", *arguments, "--json")
    assert answer.code == 0, answer.err
    assert answer.err == ""
    return answer.json["result"]


def several(mass, n, background=0.0):
    """Both tests with n items by the binomial sum."""
    q = 1.0 - mass

    def share(k, m):
        return math.comb(m, k) * mass**k * q ** (m - k)

    identification = sum(share(k, n - 1) / (1 + k + (n - 1 - k) * background) for k in range(n))
    generalization = q**n / n + sum(share(k, n) / (k + (n - k) * background) for k in range(1, n + 1))
    return generalization, identification


def counted(distances, g, n, ties):
    """Both tests over every set of n different stimuli, one after the other."""
    size = len(distances)
    near, copies = [], []
    for probe in range(size):
        others = [i for i in range(size) if i != probe]
        scores = []
        for chosen in combinations(others, n):
            away = distances[probe, list(chosen)]
            nearest = np.flatnonzero(away == away.min())
            if len(nearest) == 1 or ties == "split":
                seen = g(away)
                scores.append((seen[nearest] / seen.sum()).mean() if seen.sum() else 1.0 / n)
        near.append(np.mean(scores))
        own = g(np.zeros(1))[0]
        copies += [own / (own + g(distances[probe, list(rest)]).sum()) for rest in combinations(others, n - 1)]
    return np.mean(near), np.mean(copies)


@pytest.fixture(scope="module")
def stimuli():
    """Seven points of a ring of nine places: many distances are equal."""
    places = np.array([0, 1, 2, 4, 5, 7, 8])
    steps = np.abs(places[:, None] - places)
    return np.minimum(steps, 9 - steps) / 9.0


@pytest.fixture
def matrix(tmp_path: Path, stimuli):
    path = tmp_path / "distances.npy"
    np.save(path, stimuli)
    return str(path)


def test_the_linear_similarity_on_the_circle_is_proposition_one(genlaws):
    answer = front(genlaws, "--space", "circle", "--similarity", "linear", "--ball-mass", "0.5")
    assert set(answer) >= KEYS
    assert answer["generalization"] == pytest.approx(0.5 + 0.5 - (1.5 - LN2) * 0.25, abs=EXACT)
    assert answer["identification"] == pytest.approx(1.0 - (1.0 - LN2) * 0.5, abs=EXACT)
    assert answer["resolution"] == pytest.approx(0.25)
    assert answer["collapse_constant"] == pytest.approx(4.0)
    assert answer["best_ball_mass"] == pytest.approx(0.5 / (1.5 - LN2), abs=1e-6)
    assert answer["best_generalization"] == pytest.approx(0.5 + 0.25 / (1.5 - LN2), abs=EXACT)


def test_resolution_and_ball_mass_are_two_ways_to_ask(genlaws):
    by_mass = front(genlaws, "--ball-mass", "0.3", "--background", "0.1")
    by_radius = front(genlaws, "--resolution", "0.15", "--background", "0.1")
    assert by_mass["generalization"] == pytest.approx(by_radius["generalization"], abs=EXACT)
    assert by_mass["generalization"] == pytest.approx(0.5 + 0.9 / 1.1 * 0.21, abs=EXACT)
    assert by_mass["identification"] == pytest.approx((2.0 - 0.9 * 0.3) / 2.2, abs=EXACT)


def test_the_segment_pays_for_its_ends(genlaws):
    answer = front(genlaws, "--space", "segment", "--resolution", "0.25")
    mass, variance = 0.5 - 0.0625, 2 / 3 * 0.25**3 - 0.25**4
    assert answer["ball_mass"] == pytest.approx(mass)
    assert answer["ball_mass_variance"] == pytest.approx(variance)
    assert answer["generalization"] == pytest.approx(0.5 + mass - mass**2 - variance, abs=EXACT)
    assert answer["best_generalization"] < 0.75


def test_several_values_give_a_table_over_all_combinations(genlaws, tmp_path: Path):
    arguments = ("--ball-mass", "0.1:0.3:3", "--items", "2,10", "--background", "0,0.05", "--out", str(tmp_path / "a"))
    answer = front(genlaws, *arguments)
    assert len(answer["generalization"]) == 3 * 2 * 2
    rows = zip(answer["ball_mass"], answer["item_count"], answer["inputs"]["background"], strict=True)
    expected = [several(*row) for row in rows]
    assert answer["generalization"] == pytest.approx([pair[0] for pair in expected], abs=EXACT)
    assert answer["identification"] == pytest.approx([pair[1] for pair in expected], abs=EXACT)
    table = pd.read_csv(tmp_path / "a" / "result.csv")
    assert table["background"].tolist() == answer["inputs"]["background"]
    assert table["generalization"].to_numpy() == pytest.approx(answer["generalization"])
    assert json.loads((tmp_path / "a" / "result.json").read_text()) == answer
    text = genlaws("semanticity", "front", *arguments[:-2]).out
    assert len({len(line) for line in text.splitlines()[:13]}) == 1


@pytest.mark.parametrize(("items", "mass"), [("2", 0.5), ("3", 0.377), ("5", 0.252), ("10", 0.137), ("1000", 0.0015)])
def test_the_best_ball_shrinks_with_the_number_of_items(genlaws, items, mass):
    answer = front(genlaws, "--ball-mass", "0.5", "--items", items)
    assert answer["best_ball_mass"] == pytest.approx(mass, abs=5e-4)
    best, copies = several(answer["best_ball_mass"], int(items))
    assert answer["best_generalization"] == pytest.approx(best, abs=1e-8)
    assert best == pytest.approx(copies, abs=1e-8)


def test_a_range_of_items_is_rounded(genlaws):
    assert front(genlaws, "--ball-mass", "0.1", "--items", "2:20:4:log")["item_count"] == [2, 4, 9, 20]


def test_without_a_floor_the_exponential_similarity_has_no_best_resolution(genlaws):
    answer = front(genlaws, "--similarity", "exponential", "--resolution", "0.1")
    assert answer["best_resolution"] == answer["best_ball_mass"] == answer["best_generalization"] == "nan"
    assert answer["identification"] == pytest.approx((math.log(1 + math.exp(5)) - LN2) / 5, abs=EXACT)
    text = genlaws("semanticity", "front", "--similarity", "exponential", "--resolution", "0.1").out
    assert "no resolution is best" in text


@pytest.mark.parametrize("size", [(), ("--set-size", "11")])
def test_where_everything_looks_alike_every_answer_is_a_guess(genlaws, size):
    answer = front(genlaws, *MASS, "--background", "1", "--items", "4", *size)
    assert answer["generalization"] == pytest.approx(0.25)
    assert answer["identification"] == pytest.approx(0.25)
    assert answer["best_resolution"] == answer["best_generalization"] == "nan"


def nearer_of_two(radius, background):
    """Generalization of the exponential similarity with a floor on the circle, by quadrature over both distances."""
    x, w = np.polynomial.legendre.leggauss(80)
    share, weight = 0.5 * (x + 1.0), 0.5 * w
    near = 0.5 * share[:, None]
    far = near + (0.5 - near) * share
    first, second = (np.exp(-d / radius) + background for d in (near, far))
    return 4.0 * float((weight[:, None] * weight * (0.5 - near) * first / (first + second)).sum())


@pytest.mark.parametrize("background", [0.01, 0.05, 0.2])
def test_with_a_floor_it_has_one(genlaws, background):
    arguments = ("--similarity", "exponential", "--background", repr(background), "--resolution", "0.1")
    answer = front(genlaws, *arguments)
    best = answer["best_resolution"]
    assert answer["generalization"] == pytest.approx(nearer_of_two(0.1, background), abs=EXACT)
    assert answer["best_generalization"] == pytest.approx(nearer_of_two(best, background), abs=EXACT)
    assert answer["best_generalization"] > max(nearer_of_two(factor * best, background) for factor in (0.99, 1.01))


def test_text_answers_first_and_then_explains(genlaws):
    fine = genlaws("semanticity", "front", "--similarity", "linear", "--ball-mass", "0.5")
    assert fine.out.splitlines()[0].split() == ["generalization", "0.798287"]
    assert fine.out.splitlines()[1].split() == ["identification", "0.846574"]
    assert "finer than the best resolution" in fine.out
    assert fine.out.splitlines()[-1].endswith("it is no bound on every system.")
    coarse = genlaws("semanticity", "front", "--similarity", "linear", "--ball-mass", "0.9")
    assert "coarser than the best resolution" in coarse.out
    best = genlaws("semanticity", "front", "--ball-mass", "0.5")
    assert "No other resolution generalizes better." in best.out


@pytest.mark.parametrize(
    ("share", "items", "background"), [(0.5, 2, 0.0), (0.25, 3, 0.2), (0.0, 4, 0.1), (1.0, 2, 0.0)]
)
def test_an_even_set_is_counted_out(genlaws, share, items, background):
    arguments = (
        "--set-size",
        "13",
        "--ball-mass",
        repr(share),
        "--items",
        str(items),
        "--background",
        repr(background),
    )
    answer = front(genlaws, *arguments)
    inside = np.arange(12) < 12 * share
    near = [inside[list(chosen)] for chosen in combinations(range(12), items)]
    rest = [inside[list(chosen)] for chosen in combinations(range(12), items - 1)]
    expected = np.mean([1 / items if not k.any() else 1 / (k.sum() + (~k).sum() * background) for k in near])
    assert answer["generalization"] == pytest.approx(expected, abs=EXACT)
    copies = np.mean([1 / (1 + k.sum() + (~k).sum() * background) for k in rest])
    assert answer["identification"] == pytest.approx(copies, abs=EXACT)
    assert answer["inputs"]["where"] == {"space": "circle", "set_size": 13}
    assert answer["resolution"] == "nan"
    whole = ("--set-size", "13", "--ball-mass", repr(share), "--items", "12", "--background", repr(background))
    assert front(genlaws, *whole)["collapse_constant"] == pytest.approx(answer["collapse_constant"])


def test_the_best_of_a_large_even_set_is_that_of_all_neighbor_counts(genlaws):
    answer = front(genlaws, "--set-size", "1001", "--ball-mass", "0.5", "--items", "4")
    every = front(genlaws, "--set-size", "1001", "--ball-mass", "0.2:0.4:201", "--items", "4")
    assert answer["best_generalization"] == pytest.approx(max(every["generalization"]), abs=1e-14)


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("items", [2, 3])
@pytest.mark.parametrize("name", ["constant", "linear", "exponential"])
def test_a_set_of_stimuli_is_counted_out(genlaws, stimuli, matrix, name, items, ties):
    shapes = {
        "constant": lambda d: np.where(d <= 0.25, 1.0, 0.0),
        "linear": lambda d: np.maximum(0.0, 1.0 - d / 0.25),
        "exponential": lambda d: np.exp(-d / 0.25),
    }
    arguments = ("--similarity", name, "--resolution", "0.25", "--items", str(items), "--ties", ties)
    answer = front(genlaws, "--distances", matrix, "--set-size", "7", *arguments)
    generalization, identification = counted(stimuli, shapes[name], items, ties)
    assert answer["generalization"] == pytest.approx(generalization, abs=EXACT)
    assert answer["identification"] == pytest.approx(identification, abs=EXACT)
    assert answer["ball_mass"] == pytest.approx(((stimuli <= 0.25).sum(axis=1) - 1).mean() / 6)


@pytest.mark.parametrize("space", ["sphere", "torus"])
def test_many_items_have_a_best_resolution_in_two_dimensions(genlaws, space):
    arguments = ("--space", space, "--similarity", "linear", "--items", "100000", "--resolution")
    best = front(genlaws, *arguments, "0.01")["best_resolution"]
    heights = [front(genlaws, *arguments, repr(best * factor))["generalization"] for factor in (0.97, 1.0, 1.03)]
    assert heights[1] > max(heights[0], heights[2])


def test_the_best_resolution_of_a_set_is_best_at_every_distance(genlaws, tmp_path: Path):
    places = np.random.default_rng(0).random((30, 2))
    apart = np.linalg.norm(places[:, None] - places, axis=-1)
    np.save(tmp_path / "distances.npy", apart)
    arguments = ("--distances", str(tmp_path / "distances.npy"), "--set-size", "30", "--similarity", "linear")
    answer = front(genlaws, *arguments, "--items", "5", "--resolution", "0.3")
    jumps = np.unique(apart[apart > 0])[100:300:5]  # around the best; just beyond a distance generalization jumps
    stimuli = semanticity.stimulus_set(apart)
    near = semanticity.front(
        stimuli, similarity=semanticity.similarity("linear", 1.0), item_count=5, resolutions=jumps * (1.0 + 1e-8)
    )
    assert answer["best_generalization"] >= near.generalization.max()


def test_weighted_places_are_drawn_with_replacement(genlaws, stimuli, matrix, tmp_path: Path):
    weights = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 4.0, 2.0])
    np.savetxt(tmp_path / "weights.csv", weights[None], delimiter=",")
    answer = front(genlaws, "--distances", matrix, "--weights", str(tmp_path / "weights.csv"), "--resolution", "0.25")
    w = weights / weights.sum()
    inside = stimuli <= 0.25
    near = copied = 0.0
    for probe, i, j in product(range(7), repeat=3):
        chance = w[probe] * w[i] * w[j]
        order = stimuli[probe, i], stimuli[probe, j]
        first, second = inside[probe, [i, j]].astype(float)
        right = 0.5 if order[0] == order[1] else (first if order[0] < order[1] else second)
        near += chance * (0.5 if order[0] == order[1] or first == second else right)
        copied += chance / (1.0 + second)
    assert answer["generalization"] == pytest.approx(near, abs=EXACT)
    assert answer["identification"] == pytest.approx(copied, abs=EXACT)
    assert answer["inputs"]["where"]["space"] == "matrix"


def test_a_csv_matrix_is_read_as_an_npy_one(genlaws, stimuli, matrix, tmp_path: Path):
    np.savetxt(tmp_path / "distances.csv", stimuli, delimiter=",", fmt="%.17g")
    first = front(genlaws, "--distances", matrix, "--resolution", "0.2")
    second = front(genlaws, "--distances", str(tmp_path / "distances.csv"), "--resolution", "0.2")
    assert first == second


def test_other_spaces_and_their_parameters(genlaws):
    cube = front(genlaws, "--space", "hypercube", "--dimension", "3", "--resolution", "1")
    assert cube["ball_mass"] == pytest.approx(0.5)
    assert cube["generalization"] == pytest.approx(0.75)
    tree = front(genlaws, "--space", "tree", "--branching", "4", "--depth", "2", "--ball-mass", "0.25")
    assert tree["resolution"] == 2.0
    power = ("--similarity", "power-law", "--exponent", "3", "--cut", "0.2", "--resolution", "0.1")
    values = [2 * 0.2 * (1 + 2 * x) ** -3 for x in np.linspace(0, 1, 20001)]
    mean = np.trapezoid(values, dx=1 / 20000)
    assert front(genlaws, *power)["collapse_constant"] == pytest.approx(1 / mean, rel=1e-7)


def test_the_group_lists_its_commands(genlaws):
    answer = genlaws("semanticity", "--help")
    assert answer.code == 0
    assert all(name in answer.out for name in ("front", "fit-choices", "measure"))


def test_a_ball_mass_of_stimuli_is_a_share_of_pairs(genlaws, matrix, stimuli):
    mass = ((stimuli <= 0.2).sum() - 7) / 42
    answer = front(genlaws, "--distances", matrix, "--set-size", "7", "--ball-mass", f"{mass:.7f}")
    assert answer["ball_mass"] == pytest.approx(mass)
