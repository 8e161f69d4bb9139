"""Figures computed cell by cell: the same table here, by processes, and from a folder that keeps the cells."""

import pandas as pd
import pytest

from counted_steps import CountedSteps
from genlaws.core.errors import ConvergenceError
from genlaws.core.running import Running
from genlaws.figures import get_figure
from genlaws.sweeps import Axis, Experiment, Store, get_experiment, make_sweep
from genlaws.sweeps.computing import compute_cells

SMALL = {
    "rules-facts.3": {"sample_ratios": (2.0, 10.0), "angle_points": 6},
    "rules-facts.6": {"points": 7},
    "rules-facts.7": {"sample_points": 7, "fact_points": 4},
    "rules-facts.16": {"sample_points": 6, "fact_points": 4},
}


@pytest.mark.parametrize("figure", SMALL)
def test_a_figure_is_the_same_wherever_it_is_computed(figure, tmp_path):
    data = get_figure(figure).data
    steps = CountedSteps()
    here = data(SMALL[figure])
    stored = data(SMALL[figure], running=Running(folder=tmp_path))
    again = data(SMALL[figure], running=Running(steps, folder=tmp_path))
    pd.testing.assert_frame_equal(stored, here, check_exact=True)
    pd.testing.assert_frame_equal(again, here, check_exact=True)
    steps.check_complete()
    (folder,) = tmp_path.iterdir()
    with Store(folder) as store:
        counts = store.counts()
    assert counts.done == counts.total == steps.done


def test_processes_compute_without_a_folder():
    sweep = make_sweep(get_experiment("rules-facts.samples"), {"points": 5}, [Axis("fact_fraction", (0.1, 0.3))])
    here = compute_cells(sweep, Running(), "curves")
    steps = CountedSteps()
    there = compute_cells(sweep, Running(steps, jobs=2), "curves")
    assert steps.totals == [steps.done] == [2]
    for one, other in zip(here, there, strict=True):
        assert one.settings == other.settings
        assert all((one.result[name] == other.result[name]).all() for name in one.result)


def test_a_folder_serves_a_wider_figure_with_the_cells_it_has(tmp_path):
    narrow, wide = {"sample_points": 5, "fact_points": 3}, {"sample_points": 5, "fact_points": 5}
    data = get_figure("rules-facts.7").data
    data(narrow, running=Running(folder=tmp_path))
    found = data(wide, running=Running(folder=tmp_path))
    pd.testing.assert_frame_equal(found, data(wide), check_exact=True)


def test_a_cell_that_fails_is_an_error_with_its_settings(tmp_path):
    known = get_experiment("rules-facts.samples")
    sweep = make_sweep(known, {"kernel": "no-such-kernel", "points": 3}, [Axis("fact_fraction", (0.1,))])
    assert isinstance(known, Experiment)
    with pytest.raises(ConvergenceError, match="no-such-kernel"):
        compute_cells(sweep, Running(folder=tmp_path), "curves")
