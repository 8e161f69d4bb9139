"""The tables behind the semanticity figures, against the closed forms written out here."""

import math

import numpy as np
import pandas as pd
import pydantic
import pytest

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.figures import get_figure
from genlaws.figures.semanticity.front import draw_sweep, even_ball_masses, smooth_resolutions
from genlaws.semanticity import circle, front, similarity

TOLERANCE = 1e-10  # a closed form against the library's integral
PRINTED = 5.1e-6  # five digits are known
LN2 = math.log(2.0)


def table(name, **settings):
    steps = CountedSteps()
    frame = get_figure(f"semanticity.{name}").data(settings, running=steps.running)
    steps.check_complete()
    return frame


def several(mass, n, background=0.0):
    """Both tests with n items by the binomial sum."""
    q = 1.0 - mass

    def share(k, m):
        return math.comb(m, k) * mass**k * q ** (m - k)

    identification = sum(share(k, n - 1) / (1 + k + (n - 1 - k) * background) for k in range(n))
    generalization = q**n / n + sum(share(k, n) / (k + (n - k) * background) for k in range(1, n + 1))
    return generalization, identification


@pytest.fixture(scope="module")
def fronts():
    return table("front", points=41)


def curve(frame, series="front", **values):
    frame = frame[frame["series"] == series]
    for name, value in values.items():
        frame = frame[frame[name] == value]
    assert len(frame)
    return frame


@pytest.mark.parametrize("background", [0.0, 0.05, 0.2])
def test_constant_fronts_are_theorem_two(fronts, background):
    rows = curve(fronts, space="circle", similarity="constant", background=background)
    b = rows["ball_mass"]
    expected = 0.5 + (1 - background) / (1 + background) * (b - b**2)
    np.testing.assert_allclose(rows["generalization"], expected, atol=TOLERANCE)
    np.testing.assert_allclose(
        rows["identification"], (2 - (1 - background) * b) / (2 + 2 * background), atol=TOLERANCE
    )


def test_the_front_without_background_is_one_curve_of_both_probabilities(fronts):
    rows = curve(fronts, space="circle", similarity="constant", background=0.0)
    p = rows["identification"]
    np.testing.assert_allclose(rows["generalization"], 0.5 + 2 * (1 - p) * (2 * p - 1), atol=TOLERANCE)


def test_the_segment_lies_below_the_circle(fronts):
    rows = curve(fronts, space="segment")
    radius = rows["resolution"]
    mass = 2 * radius - radius**2
    np.testing.assert_allclose(rows["ball_mass"], mass, atol=TOLERANCE)
    near = 2 / 3 * radius**3 - radius**4
    far = (2 * radius - 1) + 2 / 3 * (1 - radius**3) - mass**2
    variance = np.where(radius <= 0.5, near, far)
    np.testing.assert_allclose(rows["generalization"], 0.5 + mass - mass**2 - variance, atol=1e-8)
    np.testing.assert_allclose(rows["identification"], 1 - mass / 2, atol=1e-8)
    p = rows["identification"]
    assert (rows["generalization"] < 0.5 + 2 * (1 - p) * (2 * p - 1)).all()


def test_the_linear_front_lies_above_the_constant_one(fronts):
    rows = curve(fronts, similarity="linear")
    rows = rows[rows["ball_mass"] < 1.0]
    b = rows["ball_mass"]
    np.testing.assert_allclose(rows["generalization"], 0.5 + b - (1.5 - LN2) * b**2, atol=TOLERANCE)
    np.testing.assert_allclose(rows["identification"], 1 - (1 - LN2) * b, atol=TOLERANCE)
    p = rows["identification"]
    assert (rows["generalization"] > 0.5 + 2 * (1 - p) * (2 * p - 1)).all()


def test_the_exponential_front_is_the_integral_over_two_distances(fronts):
    x, w = np.polynomial.legendre.leggauss(80)
    share, weight = 0.5 * (x + 1.0), 0.5 * w
    near = 0.5 * share[:, None]
    far = near + (0.5 - near) * share
    rows = curve(fronts, similarity="exponential")
    for row in rows[rows["resolution"].between(0.03, 3.0)].itertuples():
        first, second, alone = (np.exp(-d / row.resolution) + 0.05 for d in (near, far, near[:, 0]))
        expected = 4.0 * (weight[:, None] * weight * (0.5 - near) * first / (first + second)).sum()
        assert row.generalization == pytest.approx(expected, abs=TOLERANCE)
        assert row.identification == pytest.approx((weight * 1.05 / (1.05 + alone)).sum(), abs=TOLERANCE)


def test_peaks_are_on_the_diagonal_where_they_must_be(fronts):
    peaks = get_figure("semanticity.front").summary(fronts)
    assert len(peaks) == 6
    crossing = (peaks["space"] == "circle") & (peaks["similarity"] != "exponential")
    np.testing.assert_allclose(peaks.loc[crossing, "diagonal_gap"], 0.0, atol=1e-7)
    assert (peaks.loc[~crossing, "diagonal_gap"] > 0.02).all()
    best = peaks.set_index(["similarity", "background", "space"])["generalization"]
    assert best["constant", 0.0, "circle"] == pytest.approx(0.75)
    assert best["constant", 0.2, "circle"] == pytest.approx(2 / 3)
    assert best["linear", 0.0, "circle"] == pytest.approx(0.80985, abs=PRINTED)
    assert best["exponential", 0.05, "circle"] == pytest.approx(0.70601, abs=PRINTED)
    assert best["constant", 0.0, "segment"] == pytest.approx(0.741202, abs=1e-6)


def test_peaks_are_above_their_curves(fronts):
    for _, rows in fronts.groupby("curve"):
        assert rows.loc[rows["series"] == "peak", "generalization"].item() >= rows["generalization"].max() - TOLERANCE


def test_the_front_of_many_items():
    frame = table("front", item_count=20, points=11, backgrounds=(0.0, 0.1))
    for background in (0.0, 0.1):
        for row in curve(frame, space="circle", similarity="constant", background=background).itertuples():
            generalization, identification = several(row.ball_mass, 20, background)
            assert row.generalization == pytest.approx(generalization, abs=TOLERANCE)
            assert row.identification == pytest.approx(identification, abs=TOLERANCE)


def test_items_are_the_binomial_sums():
    frame = table("items", points=12, largest_item_count=60)
    assert set(frame["ball_mass"]) == {0.01, 0.1, 0.3}
    for row in frame.itertuples():
        generalization, identification = several(row.ball_mass, row.item_count)
        assert row.generalization == pytest.approx(generalization, abs=TOLERANCE)
        assert row.identification == pytest.approx(identification, abs=TOLERANCE)
        assert row.collapse_law == pytest.approx(1 / (row.ball_mass * row.item_count))


def test_both_collapse_to_the_law():
    last = table("items", points=121).groupby("ball_mass").last()
    assert (last["item_count"] == 1000).all()
    inside = last["collapse_law"] < 0.05
    assert inside.sum() == 2
    np.testing.assert_allclose(last.loc[inside, "identification"], last.loc[inside, "collapse_law"], rtol=1e-9)
    np.testing.assert_allclose(last.loc[inside, "generalization"], last.loc[inside, "collapse_law"], rtol=0.01)


def test_a_small_ball_first_loses_then_wins_then_collapses():
    frame = table("items", ball_masses=(0.01,), points=2000)
    height = frame.set_index("item_count")["generalization"]
    assert height.loc[:40].idxmin() == 11
    assert height.loc[11] == pytest.approx(0.183, abs=5e-4)
    assert height.loc[40:].idxmax() == 148
    assert height.loc[148] == pytest.approx(0.520, abs=5e-4)


@pytest.fixture(scope="module")
def best():
    return table("resolution", points=13)


def test_the_best_ball_has_the_known_masses(best):
    few = table("resolution", points=40, largest_item_count=10)
    known = few[few["background"] == 0.0].set_index("item_count")["best_ball_mass"]
    assert known[[2, 3, 5, 10]].to_numpy() == pytest.approx([0.5, 0.377, 0.252, 0.137], abs=5e-4)
    many = best[(best["background"] == 0.0) & (best["item_count"] == 1000)]
    assert many["items_in_ball"].item() == pytest.approx(1.50286, abs=2e-3)
    assert many["best_generalization"].item() == pytest.approx(0.51735, abs=6e-4)


def test_no_other_ball_is_better_and_the_peak_is_on_the_diagonal(best):
    for row in best[best["item_count"] <= 50].itertuples():
        here, copies = several(row.best_ball_mass, row.item_count, row.background)
        around = [several(row.best_ball_mass * f, row.item_count, row.background)[0] for f in (0.98, 1.02)]
        assert row.best_generalization == pytest.approx(here, abs=TOLERANCE)
        assert here > max(around)
        assert row.identification == pytest.approx(copies, abs=TOLERANCE)
        assert here == pytest.approx(copies, abs=1e-8)


def test_background_calls_for_a_coarser_resolution(best):
    wide = best.pivot_table(index="item_count", columns="background", values=["items_in_ball", "best_generalization"])
    later = wide.loc[3:]
    for low, high in ((0.0, 0.01), (0.01, 0.1)):
        assert (later["items_in_ball"][low] < later["items_in_ball"][high]).all()
        assert (later["best_generalization"][low] > later["best_generalization"][high]).all()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("front", {"item_count": 1}),
        ("front", {"backgrounds": (1.0,)}),
        ("front", {"exponential_background": 0.0}),
        ("items", {"ball_masses": (0.0,)}),
        ("items", {"largest_item_count": 3}),
        ("resolution", {"backgrounds": (-0.1,)}),
    ],
)
def test_settings_are_checked(name, settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        get_figure(f"semanticity.{name}").settings(settings)


def test_settings_cannot_be_changed():
    settings = get_figure("semanticity.front").settings()
    with pytest.raises(pydantic.ValidationError):
        settings.points = 10


@pytest.mark.parametrize("name", ["front", "items", "resolution"])
def test_captions_say_what_a_reader_must_know(name):
    figure = get_figure(f"semanticity.{name}")
    assert "2506.14797" in figure.citation
    if name == "front":
        assert "no bound on every system" in figure.caption


def test_grids_are_dense_around_the_peak():
    np.testing.assert_allclose(np.diff(even_ball_masses(2, 21)), np.diff(even_ball_masses(2, 21))[0])
    masses = even_ball_masses(1000, 21)
    assert (np.diff(masses) > 0).all()
    assert masses[10] == pytest.approx(0.002, rel=0.01)
    radii = smooth_resolutions(0.5, 2, 21)
    assert (np.diff(radii) > 0).all()
    assert radii[10] == pytest.approx(0.15)


@pytest.fixture
def found():
    radii = smooth_resolutions(0.5, 2, 15)
    return front(circle(), similarity=similarity("linear", 1.0, background=0.05), resolutions=radii, marked=radii[4])


def test_a_front_of_one_s_own_is_saved_with_its_points(found, tmp_path):
    document, table, *pictures = found.save(tmp_path / "new")
    frame = pd.read_csv(table)
    assert list(frame["series"]) == ["front"] * 15 + ["peak", "marked"]
    np.testing.assert_allclose(frame["generalization"][:15], found.generalization)
    assert [path.name for path in pictures] == ["front.png", "front.pdf", "report.html"]
    (axes,) = found.plot().axes
    assert axes.get_title() == "linear similarity, background 0.05\n2 items on the circle"
    again = found.save(tmp_path / "again")
    pairs = zip([document, table, *pictures], again, strict=True)
    assert all(path.read_bytes() == other.read_bytes() for path, other in pairs)


def test_the_picture_shows_curve_peak_marks_and_diagonal(found):
    (axes,) = draw_sweep(found.to_frame(), "title").axes
    drawn = [np.asarray(line.get_xydata()) for line in axes.get_lines()]
    assert [len(points) for points in drawn] == [2, 15, 1, 1]
    np.testing.assert_allclose(drawn[0], [[0.5, 0.5], [1.0, 1.0]])
    np.testing.assert_allclose(drawn[2], [[found.peak.identification, found.peak.generalization]])
    assert axes.get_ylim()[1] > found.peak.generalization
    assert "identification" in axes.get_xlabel()


def test_a_low_front_fills_the_picture():
    low = front(
        circle(),
        similarity=similarity("exponential", 1.0, background=0.05),
        item_count=100,
        resolutions=smooth_resolutions(0.5, 100, 9),
    )
    (axes,) = draw_sweep(low.to_frame(), "title").axes
    assert axes.get_xlim()[1] < 0.3
    assert axes.get_ylim()[0] > 0.0
