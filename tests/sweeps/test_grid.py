"""Which cells a sweep has: axes and their texts, keys that last, seeds that depend on nothing else."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from sweep_trials import TRIAL, trial_sweep

from genlaws.core.errors import InputError
from genlaws.core.seeds import canonical
from genlaws.sweeps import Axis, Experiment, Procedure, Settings, make_sweep, read_axis
from genlaws.sweeps.experiment import checked


class Demanding(Settings):
    needed: float
    other: int = 1


DEMANDING = Experiment("trial.demanding", "", "", "", Procedure(Demanding, lambda settings, seed: {}))


@pytest.mark.parametrize(
    ("text", "field", "values"),
    [
        ("x=1:3:3", "x", (1, 2, 3)),
        ("x=0:1:5", "x", (0, 0.25, 0.5, 0.75, 1)),
        ("x=0.01:100:3:log", "x", (0.01, 1, 100)),
        ("x=-2:2:2", "x", (-2, 2)),
        ("x=.5:1:1", "x", (0.5,)),
        ("x=1e-3,2,inf", "x", (0.001, 2, math.inf)),
        ("loss=square, hinge", "loss", ("square", "hinge")),
        ("flag=true,false", "flag", (True, False)),
        ("kernel=ntk-relu:3,rbf:0.5", "kernel", ("ntk-relu:3", "rbf:0.5")),
        ("label=a=b", "label", ("a=b",)),
        ("widths=[3, 8]", "widths", ((3, 8),)),
        ('names=["a:1", "b"]', "names", (("a:1", "b"),)),
    ],
)
def test_an_axis_is_read_from_its_text(text, field, values):
    axis = read_axis(text)
    assert (axis.field, axis.values) == (field, values)
    assert [type(value) for value in axis.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x", "must name a field and its values"),
        ("=1,2", "must name a field and its values"),
        ("x=", "must name a field and its values"),
        ("x=1:2", "is not understood. Write field=start:stop:count"),
        ("x=1:2:three", "is not understood"),
        ("x=1:2:3:lin", "is not understood"),
        ("x=1:2:3:log:5", "is not understood"),
        ("x=1:2:0", "1 to 1,000,000 values"),
        ("x=1:2:1000001", "1 to 1,000,000 values"),
        ("x=1:inf:3", "finite ends"),
        ("x=0:1:3:log", "must be positive"),
        ("widths=[3, 8", "The list in 'widths=\\[3, 8' is not understood; write field="),
    ],
)
def test_a_wrong_axis_text_is_refused_with_the_right_form(text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_axis(text)


def test_an_axis_takes_numpy_values_and_holds_plain_ones():
    assert Axis("x", np.linspace(0, 1, 3)).values == (0.0, 0.5, 1.0)
    kinds = {type(value) for value in Axis("n", np.arange(3)).values}
    assert kinds == {int}


def test_wrong_axes_are_refused():
    for axes, sentence in (
        ([Axis("y", (1,))], "There is no setting 'y' to run an axis over; the settings are x, n"),
        ([Axis("x", (1,)), Axis("x", (2,))], "given twice"),
        ([Axis("n", (1, "two"))], "n is not accepted: input should be a valid integer"),
        ([Axis("x", (1, 1.0))], "The axis x has the value 1.0 twice"),
        ([Axis("widths", ((1, 2), [1, 2]))], "twice"),
    ):
        with pytest.raises(InputError, match=sentence):
            make_sweep(TRIAL, {}, axes)
    with pytest.raises(InputError, match="at least one value"):
        Axis("x", ())
    with pytest.raises(InputError, match="repeats must be a whole number, at least 1; got 0"):
        make_sweep(TRIAL, repeats=0)
    with pytest.raises(InputError, match="seed must be a whole number"):
        make_sweep(TRIAL, seed=-1)


def test_a_setting_that_has_no_value_of_its_own_may_be_on_an_axis():
    sweep = make_sweep(DEMANDING, {"other": 2}, [Axis("needed", (1, 2))])
    assert [cell.settings for cell in sweep.cells()] == [Demanding(needed=1, other=2), Demanding(needed=2, other=2)]
    with pytest.raises(InputError, match="needed is not accepted: field required"):
        make_sweep(DEMANDING)


def test_cells_run_over_all_axes_the_last_fastest_and_the_repeats_inside():
    sweep = make_sweep(TRIAL, {}, [Axis("n", (1, 2)), Axis("label", ("a", "b", "c"))], repeats=2)
    cells = list(sweep.cells())
    assert len(cells) == sweep.total == 12
    order = [(cell.settings.n, cell.settings.label, cell.repeat) for cell in cells]
    assert order == [(n, label, repeat) for n in (1, 2) for label in "abc" for repeat in (0, 1)]
    assert len({cell.key for cell in cells}) == len({cell.seed for cell in cells}) == 12
    assert all(0 <= cell.seed < 2**63 for cell in cells)


def test_key_and_seed_do_not_depend_on_the_other_cells():
    small = {cell.key: cell for cell in trial_sweep(3, repeats=2).cells()}
    large = {cell.key: cell for cell in trial_sweep(5, repeats=4).cells()}
    assert set(small) < set(large)
    assert all(large[key] == cell for key, cell in small.items())
    fixed = next(make_sweep(TRIAL, {"x": 2}).cells())
    assert fixed in small.values()


def test_key_and_seed_are_the_same_in_every_version():
    # Written out: a change here would orphan every folder there is.
    document = (
        '["trial.plain",1,{"deed":"compute","flag":false,"label":"ü","n":1,"pause":0.0,"size":null,'
        '"widths":[1,2],"x":0.1},0]'
    )
    key = hashlib.sha256(document.encode()).hexdigest()[:32]
    seed = int(hashlib.sha256(f"{key}:7".encode()).hexdigest()[:16], 16) // 2
    cell = next(make_sweep(TRIAL, {"x": 0.1, "label": "ü", "size": None}, seed=7).cells())
    assert (cell.key, cell.seed) == (key, seed)


def test_each_part_of_the_identity_changes_the_key_and_the_seed_changes_the_seed_alone():
    one = next(trial_sweep().cells())
    other = Experiment("trial.other", "", "", "", TRIAL.procedure)
    newer = Experiment(TRIAL.name, "", "", "", TRIAL.procedure, schema=2)
    for changed in (trial_sweep(experiment=other), trial_sweep(experiment=newer), trial_sweep(n=5)):
        assert next(changed.cells()).key != one.key
    reseeded = next(make_sweep(TRIAL, {}, [Axis("x", (1,))], seed=1).cells())
    assert reseeded.key == one.key
    assert reseeded.seed != one.seed


def test_settings_are_frozen_and_say_what_is_wrong():
    settings = next(trial_sweep().cells()).settings
    with pytest.raises(ValueError, match="frozen"):
        settings.x = 2.0
    with pytest.raises(InputError, match=r"settings of trial: y is not accepted: .*; got 3. The settings are x, n"):
        checked(type(settings), {"y": 3}, "trial")


def test_canonical_json_does_not_depend_on_the_order_of_names():
    assert (
        canonical({"b": 1, "a": [1.5, None, "é"]})
        == '{"a":[1.5,null,"é"],"b":1}'
        == canonical({"a": [1.5, None, "é"], "b": 1})
    )


def test_nan_and_infinity_are_values_of_their_own():
    keys = {next(make_sweep(TRIAL, {"x": x}).cells()).key for x in (math.nan, math.inf, -math.inf, 0.0)}
    assert len(keys) == 4
