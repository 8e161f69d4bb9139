"""Phase diagrams of relation networks: what is counted, what is fitted, and what the pictures show of it."""

import math

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection

from genlaws.core.running import Running
from genlaws.figures import get_figure
from genlaws.figures.relations import phases as relations_phases
from genlaws.figures.relations.phases import (
    FILLED_FRACTION,
    STACKED_PHASES,
    PhaseSettings,
    WeightDecaySettings,
    boundaries,
    cell_sides,
    decay_summary,
    phase_data,
    phase_summary,
)
from genlaws.relations.networks.phases import PHASES, classify_phases
from genlaws.relations.networks.runs import log_every
from genlaws.render import style

SMALL = {"relations": ("less-than",), "grid": 3, "repeats": 2, "width": 8, "steps": 200}
RATES = np.logspace(-4, -1, 7)
REPEATS = 4
ROUNDING_FACTOR = 1.0 + 1e-6
STEEPNESS = 8.0  # per decade, of the synthetic networks


def frame_of(counts, place):
    """Return a row of the table from the number of networks in each phase."""
    row = {**place, **dict(zip(PHASES, counts, strict=True)), "late": counts[2] + counts[1] // 2, "count": sum(counts)}
    delay = 500.0 if counts[0] + counts[1] else math.nan
    return {**row, "median_train_step": 100.0, "median_delay": delay, "mean_test_accuracy": 0.9}


def plane(counts_at, relation="mod3", optimizer="adam", rates=RATES):
    """Return a table over both rates."""
    places = [{"decoder_rate": x, "encoder_rate": y} for y in rates for x in rates]
    about = {"relation": relation, "optimizer": optimizer}
    return pd.DataFrame([frame_of(counts_at(**one), {**about, **one}) for one in places])


def around_a_line(slope, offset, seed=0):
    """Return counts that change from generalizing to memorizing across log y = slope log x + offset."""
    rng = np.random.default_rng(seed)

    def counts_at(decoder_rate, encoder_rate):
        across = (slope * math.log10(decoder_rate) + offset - math.log10(encoder_rate)) / math.hypot(1.0, slope)
        failed = rng.binomial(REPEATS, 1.0 / (1.0 + math.exp(-STEEPNESS * across)))
        return REPEATS - failed, 0, failed, 0

    return counts_at


def decayed(critical, decays=(10.0, 0.0, 1.0)):
    """Return a table of decays in which networks memorize beyond a decoder rate; the last only generalize."""
    rows = []
    for place, decay in enumerate(decays):
        for rate in RATES:
            failed = REPEATS if rate > critical and place < len(decays) - 1 else 0
            about = {"relation": "mod3", "decoder_decay": decay, "decoder_rate": rate, "encoder_rate": 1e-4}
            rows.append(frame_of((REPEATS - failed, 0, failed, 0), about))
    return pd.DataFrame(rows)


def drawn(figure_id, frame, settings=None):
    """Return the picture of a table, with its layout settled."""
    return get_figure(figure_id).draw(frame, settings)


def bands(axes, scale_y="log"):
    """Return left, right, bottom and top of every band, on even scales, by the name of its collection."""
    found = {}
    for one in axes.collections:
        assert isinstance(one, PolyCollection)
        corners = np.array([path.vertices[:4] for path in one.get_paths()]).reshape(-1, 4, 2)
        x, y = np.log10(corners[..., 0]), np.log10(corners[..., 1]) if scale_y == "log" else corners[..., 1]
        found[one.get_label()] = np.stack([x.min(1), x.max(1), y.min(1), y.max(1)], axis=1)
    return found


def line_of(axes, label):
    """Return the logarithms of the ends of a line."""
    (line,) = [one for one in axes.get_lines() if one.get_label() == label]
    return np.log10(line.get_xydata())


@pytest.fixture(scope="module")
def table():
    return phase_data(PhaseSettings(**SMALL, adam_decoder_rates=(1e-3, 1e-1)), Running())


def test_every_network_is_in_one_phase(table):
    assert len(table) == 9
    assert (table[list(PHASES)].sum(axis=1) == SMALL["repeats"]).all()
    assert (table["count"] == SMALL["repeats"]).all()
    assert table["decoder_rate"].min() == pytest.approx(1e-3)
    assert table["encoder_rate"].min() == pytest.approx(1e-4)
    assert table[list(PHASES)].sum().gt(0).sum() >= 2, "the grid is too small to show several phases"


def test_who_memorizes_is_late_and_who_is_late_has_fitted(table):
    assert (table["memorization"] <= table["late"]).all()
    assert (table["late"] <= table["count"] - table["confusion"]).all()
    assert (table["median_delay"].isna() == (table["generalization"] + table["grokking"] == 0)).all()


def test_late_is_counted_by_patience(monkeypatch):
    """From 100 steps on, 400 are four times as many and 401 are more; a network may fit before its first step."""
    train, test = np.array([100, 100, 100, -1, 0]), np.array([400, 401, -1, 50, 5])
    phases = [PHASES[one] for one in classify_phases(train, test, 350)]
    place = {"relation": "mod3", "optimizer": "adam", "decoder_rate": 0.1, "encoder_rate": 0.1}
    frame = pd.DataFrame({"train_step": train, "test_step": test, "phase": phases, "test_accuracy": 0.5, **place})
    frame["delay"] = (frame["test_step"] - frame["train_step"]).where((train >= 0) & (test >= 0))
    monkeypatch.setattr(relations_phases, "networks", lambda *_: frame)
    (row,) = phase_data(PhaseSettings(patience=4.0), Running()).to_dict("records")
    assert [row[phase] for phase in PHASES] == [3, 0, 1, 1]
    assert row["late"] == 3
    assert row["median_delay"] == 300.0


@pytest.mark.parametrize("slope", [0.6, 1.0])
def test_the_summary_recovers_a_known_line(slope):
    frame = plane(around_a_line(slope, -1.2))
    summary = boundaries(frame)
    assert summary["criterion"].tolist() == ["memorization", "late"]
    row = summary.iloc[0]
    assert row["slope_low"] <= slope <= row["slope_high"]
    assert row["slope_high"] - row["slope_low"] < 0.6
    away = slope * math.log10(row["line_decoder_rate"]) - 1.2 - math.log10(row["line_encoder_rate"])
    assert abs(away) < 0.15
    if slope == 1.0:
        assert row["critical_ratio_low"] <= 10**1.2 <= row["critical_ratio_high"]
        assert row["slope_may_be_1"]


def test_the_summary_fits_both_halves_of_the_rates():
    frame = plane(around_a_line(1.0, -1.2))
    summary = phase_summary(frame, PhaseSettings()).set_index(["rates", "criterion"])
    counts = summary["networks"].unstack("rates")
    assert (counts["lower"] + counts["upper"] == counts["all"]).all()
    assert (counts[["lower", "upper"]] > 0).all(axis=None)
    whole = boundaries(frame).set_index("criterion")["slope"]
    pd.testing.assert_series_equal(summary.loc["all", "slope"], whole)
    for half in ("lower", "upper"):
        row = summary.loc[(half, "memorization")]
        assert row["slope_low"] <= 1.0 <= row["slope_high"]


def test_the_summary_of_decays_recovers_a_known_rate():
    summary = decay_summary(decayed(2e-3), WeightDecaySettings()).set_index(["decoder_decay", "criterion"])
    for decay in (0.0, 10.0):
        row = summary.loc[decay, "memorization"]
        low, high = row["critical_decoder_rate_low"], row["critical_decoder_rate_high"]
        # All that is known is between which two rates of the grid it lies.
        assert RATES[2] / ROUNDING_FACTOR <= low < 2e-3 < high <= RATES[3] * ROUNDING_FACTOR
    assert summary.loc[1.0, "critical_decoder_rate"].isna().all()


def test_sides_are_half_way_between_cells():
    low, high = cell_sides([3.0, 1.0, 1.0, 2.0])
    assert low.tolist() == [2.5, 0.5, 0.5, 1.5]
    assert high.tolist() == [3.5, 1.5, 1.5, 2.5]
    assert [one.tolist() for one in cell_sides([7.0])] == [[6.5], [7.5]]


def test_bands_have_the_shares_of_the_phases():
    shares = {(0, 0): (1, 2, 3, 4), (1, 0): (10, 0, 0, 0), (0, 1): (0, 5, 0, 5), (1, 1): (0, 0, 9, 1)}
    rates = np.array([1e-3, 1e-1])
    frame = plane(lambda **at: shares[tuple(int(one > 1e-2) for one in at.values())], rates=rates)
    (axes,) = drawn("relations.5", frame).axes
    found = bands(axes)
    assert axes.get_xlim() == pytest.approx((1e-4, 1.0))
    assert axes.get_ylim() == pytest.approx((1e-4, 1.0))  # upwards
    for (column, row), counts in shares.items():
        bottom = -4.0 + 2.0 * row + (1.0 - FILLED_FRACTION)
        left = -4.0 + 2.0 * column + (1.0 - FILLED_FRACTION)
        for phase in STACKED_PHASES:
            here = found[phase][np.isclose(found[phase][:, 0], left) & np.isclose(found[phase][:, 2], bottom)]
            share = counts[PHASES.index(phase)] / 10
            assert len(here) == (share > 0)
            if share:
                assert here[0].tolist() == pytest.approx(
                    [left, left + 2.0 * FILLED_FRACTION, bottom, bottom + 2.0 * FILLED_FRACTION * share]
                )
            bottom += 2.0 * FILLED_FRACTION * share
    assert sum(len(one) for one in found.values()) == 4 + 1 + 2 + 2


def test_lines_are_those_of_the_summary():
    frame = pd.concat([plane(around_a_line(0.6, -1.2)), plane(around_a_line(1.0, -0.5, seed=1), optimizer="sgd")])
    summary = boundaries(frame)
    panels = drawn("relations.5", frame).axes
    assert [axes.get_title() for axes in panels] == ["modulo 3, Adam", "modulo 3, SGD"]
    for axes, (_, row) in zip(panels, summary[summary["criterion"] == "memorization"].iterrows(), strict=True):
        first, last = line_of(axes, "memorization")
        rise = (last - first)[1] / (last - first)[0]
        assert rise == pytest.approx(row["slope"])
        on_line = first[1] + rise * (math.log10(row["line_decoder_rate"]) - first[0])
        assert on_line == pytest.approx(math.log10(row["line_encoder_rate"]), abs=1e-6)
        assert np.diff(line_of(axes, "unit"), axis=1).ravel() == pytest.approx([-math.log10(row["critical_ratio"])] * 2)
        (text,) = axes.texts
        assert f"memorizing: slope {row['slope']:.2f} [{row['slope_low']:.2f}" in text.get_text()


def test_an_upright_boundary_has_no_slope_in_the_picture():
    def counts_at(decoder_rate, encoder_rate):
        failed = REPEATS * (decoder_rate > RATES[1])
        return REPEATS - failed, 0, failed, 0

    (text,) = drawn("relations.5", plane(counts_at)).axes[0].texts
    assert "memorizing: slope not determined" in text.get_text()


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((REPEATS, 0, 0, 0), ("memorizing: no boundary, no network memorizes", "being late: no boundary, no network")),
        ((0, 0, REPEATS, 0), ("memorizing: no boundary, every network memorizes", "every network is late")),
        ((0, 0, 0, REPEATS), ("memorizing: no boundary, no network fits", "being late: no boundary, no network fits")),
    ],
)
def test_all_on_one_side_is_said_and_no_line_drawn(counts, said):
    frame = plane(lambda **_: counts)
    picture = drawn("relations.5", frame)
    (axes,) = picture.axes
    assert not axes.get_lines()
    (text,) = axes.texts
    assert all(one in text.get_text() for one in said)
    box, page = text.get_window_extent(), picture.bbox
    assert page.x0 <= box.x0 < box.x1 <= page.x1
    assert drawn("relations.delays", frame).axes


def test_an_upright_boundary_is_drawn_upright():
    (axes,) = drawn(
        "relations.5", plane(lambda decoder_rate, **_: (0, 0, 4, 0) if decoder_rate > 2e-3 else (4, 0, 0, 0))
    ).axes
    across, upwards = np.abs(np.diff(line_of(axes, "memorization"), axis=0)).ravel()
    assert across < 0.2 * upwards


def test_delays_are_colored_on_a_log_scale():
    settings = PhaseSettings(steps=100_000)
    frame = plane(lambda **_: (REPEATS, 0, 0, 0), rates=np.array([1e-3, 1e-1]))
    frame["median_delay"] = [0.0, 1000.0, math.nan, 10_000.0]
    axes = drawn("relations.delays", frame, settings).axes[0]
    by_name = {one.get_label(): one for one in axes.collections}
    assert len(by_name["none"].get_paths()) == 1
    assert by_name["none"].get_hatch()
    wanted = mpl.colormaps[style.ORDERED_MAP]([0.0, 0.5, 1.0])
    assert log_every(100_000) == 100
    np.testing.assert_allclose(by_name["delay"].get_facecolor(), wanted, atol=0.02)


def test_critical_rates_stand_in_their_rows():
    frame = decayed(2e-3)
    (axes,) = drawn("relations.8", frame).axes
    assert [one.get_text() for one in axes.get_yticklabels()] == ["0", "1", "10"]
    assert axes.get_ylim() == (-0.5, 2.5)
    assert "10^{-4}" in axes.get_title()
    marks = [one.get_xydata()[0] for one in axes.get_lines() if one.get_label() == "memorization"]
    summary = decay_summary(frame, WeightDecaySettings())
    critical = summary[summary["criterion"] == "memorization"]["critical_decoder_rate"].dropna().to_numpy()
    assert sorted(round(float(height)) for _, height in marks) == [0, 2]
    assert [float(rate) for rate, _ in marks] == pytest.approx(critical.tolist())
    assert len(bands(axes, "linear")["memorization"]) == 2 * 4
