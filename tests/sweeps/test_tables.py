"""The table, the grid and the files: equal to what the store holds, with what is missing shown as missing."""

from __future__ import annotations

import math
from csv import DictReader
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sweep_trials import TRIAL, Trial, alike, deeds, trial_sweep

from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.sweeps import (
    Axis,
    Experiment,
    Procedure,
    Store,
    Sweep,
    compute_sweep,
    export_sweep,
    make_sweep,
    run_sweep,
)


def experiment(run) -> Experiment:
    return Experiment("trial.table", "", "", "", Procedure(Trial, run))


def export(store: Store, to: str, file: Path | None = None) -> Path:
    """Return the file with the cells of a store."""
    return Path(export_sweep(store.folder, to=to, file=file).file)


def stored(folder: Path, run, axes: list[Axis], **options) -> Store:
    """Return the store of a sweep with this function, open for reading."""
    run_sweep(make_sweep(experiment(run), {}, axes), folder=folder, retries=0, **options)
    return Store(folder)


def full_sweep() -> Sweep:
    axes = [Axis("x", (10, 9.5, 1)), Axis("label", ("b", "a")), Axis("flag", (True, False))]
    return make_sweep(TRIAL, {"n": 3}, axes, repeats=2)


def test_the_table_has_a_row_for_each_cell_in_the_order_of_the_axes(tmp_path: Path):
    run_sweep(full_sweep(), folder=tmp_path)
    with Store(tmp_path) as store:
        frame, cells = store.to_frame(), list(store.cells())
    assert len(frame) == len(cells) == 24
    order = frame[["x", "label", "flag", "repeat"]].to_numpy().tolist()
    assert order == sorted(order)
    by_place = {tuple(row): row for row in frame.set_index(["x", "label", "flag", "repeat"], drop=False).index}
    assert len(by_place) == 24
    for cell in cells:
        rows = frame[
            (frame.x == cell.settings["x"])
            & (frame.label == cell.settings["label"])
            & (frame.flag == cell.settings["flag"])
            & (frame.repeat == cell.repeat)
        ]
        assert {name: rows[name].item() for name in cell.numbers} == dict(cell.numbers)
    assert frame["count"].dtype == np.int64
    assert frame["positive"].dtype == bool


def test_a_table_without_cells_names_its_axes(tmp_path: Path):
    run_sweep(deeds("raise"), folder=tmp_path, retries=0)
    with Store(tmp_path) as store:
        assert list(store.to_frame().columns) == ["deed", "repeat"]
        assert store.to_xarray().sizes == {"deed": 0, "repeat": 0}


def test_a_result_named_like_a_setting_stands_beside_it(tmp_path: Path):
    def run(settings, seed):
        return {"n": settings.n + 0.5, "x": np.arange(2) + settings.n, "seconds": -1.0, "repeat": 7}

    sweep = make_sweep(experiment(run), {}, [Axis("n", (1, 2))])
    run_sweep(sweep, folder=tmp_path)
    with Store(tmp_path) as store:
        frame, grid = store.to_frame(provenance=True), store.to_xarray()
    assert frame.n.tolist() == [1, 2]
    assert frame.result_n.tolist() == [1.5, 2.5]
    assert frame.repeat.tolist() == [0, 0]
    assert frame.result_repeat.tolist() == [7, 7]
    assert frame.seconds.tolist() == [-1.0, -1.0]
    assert (frame.cell_seconds >= 0).all()
    assert grid.result_n.sel(n=2).item() == 2.5
    assert grid.x.sel(n=2).to_numpy().tolist() == [[2, 3]]
    assert compute_sweep(sweep).to_frame().result_n.tolist() == [1.5, 2.5]


def test_the_grid_holds_what_the_cells_hold(tmp_path: Path):
    run_sweep(full_sweep(), folder=tmp_path)
    with Store(tmp_path) as store:
        grid = store.to_xarray()
        for cell in store.cells():
            place = {name: cell.settings[name] for name in ("x", "label", "flag")} | {"repeat": cell.repeat}
            here = grid.sel(place)
            for name, value in cell.numbers.items():
                assert here[name].item() == value
            for name, array in cell.arrays.items():
                assert np.array_equal(here[name].to_numpy(), array)
    assert grid.sizes == {"x": 3, "label": 2, "flag": 2, "repeat": 2, "draws_0": 5, "table_0": 2, "table_1": 3}
    assert grid.x.to_numpy().tolist() == [1, 9.5, 10]
    assert grid["count"].dtype == np.int64
    assert grid.positive.dtype == bool
    assert grid.attrs["experiment"] == "trial.plain"
    assert grid.attrs["setting_n"] == 3
    assert "setting_x" not in grid.attrs


def test_cells_that_are_not_done_are_missing_in_the_grid(tmp_path: Path):
    def run(settings, seed):
        if settings.n == 2 and settings.label == "b":
            raise ValueError("never")
        numbers = {"float": 1.5, "int": 7, "truth": True, "text": "yes", "nothing": None, "some": None}
        return numbers | {"array": np.arange(3), "complex": np.array([1j]), **({"some": 1} if settings.n == 2 else {})}

    with stored(tmp_path, run, [Axis("n", (1, 2)), Axis("label", ("a", "b"))]) as store:
        grid = store.to_xarray().squeeze("repeat")
    gap, there = grid.sel(n=2, label="b"), grid.sel(n=1, label="b")
    for name in ("float", "int", "truth"):
        assert math.isnan(gap[name]), name
        assert there[name] == {"float": 1.5, "int": 7, "truth": 1}[name]
    assert np.isnan(gap.array).all()
    assert np.isnan(gap.complex).all()
    assert gap.text.item() == ""
    assert there.text.item() == "yes"
    assert grid.some.sel(n=2, label="a") == 1
    assert math.isnan(grid.some.sel(n=1, label="a"))
    assert "nothing" not in grid


def test_what_does_not_fit_one_grid_is_refused_in_one_sentence(tmp_path: Path):
    def shapes(settings, seed):
        return {"a": np.zeros(settings.n)}

    def kinds(settings, seed):
        return {"a": "text" if settings.n == 1 else 1.0}

    with stored(tmp_path / "shapes", shapes, [Axis("n", (1, 2))]) as store:
        with pytest.raises(InputError, match="The arrays 'a' have different shapes in different cells"):
            store.to_xarray()
        assert len(store.to_frame()) == 2
    with (
        stored(tmp_path / "kinds", kinds, [Axis("n", (1, 2))]) as store,
        pytest.raises(InputError, match="'a' is text in some cells and a number in others"),
    ):
        store.to_xarray()


def test_numbers_of_several_kinds_become_the_wider_one(tmp_path: Path):
    def run(settings, seed):
        return {"a": [1, 2.5, True][settings.n], "b": np.ones(2, [np.int8, np.float32, np.bool_][settings.n])}

    with stored(tmp_path, run, [Axis("n", (0, 1, 2))]) as store:
        grid = store.to_xarray()
    assert grid.a.to_numpy().ravel().tolist() == [1, 2.5, 1]
    assert grid.b.dtype == np.float32


ODD_AXES = {
    "nothing among numbers": (Axis("size", (None, 3, 20)), [math.nan, 3, 20]),
    "nothing alone": (Axis("size", (None,)), [math.nan]),
    "lists": (Axis("widths", ((2, 10), (1,), (1, 2))), ["[1,2]", "[1]", "[2,10]"]),
    "not a number": (Axis("x", (math.nan, 1.0, math.inf)), [1, math.inf, math.nan]),
    "wide integers": (Axis("n", (2**40, 1)), [1, 2**40]),
    "text": (Axis("label", ("ü", "z", "")), ["", "z", "ü"]),
}


@pytest.mark.parametrize("kind", ODD_AXES)
@pytest.mark.parametrize("form", ["memory", "netcdf"])
def test_an_axis_may_hold_values_of_any_kind(tmp_path: Path, kind, form):
    axis, expected = ODD_AXES[kind]
    run_sweep(make_sweep(TRIAL, {}, [axis]), folder=tmp_path / "s")
    with Store(tmp_path / "s") as store:
        grid = store.to_xarray() if form == "memory" else xr.load_dataset(export(store, "netcdf"), engine="scipy")
        frame = store.to_frame()
    found = grid[axis.field].to_numpy().tolist()
    assert all(map(alike, found, expected))
    assert len(found) == len(expected)
    assert len(frame) == len(axis.values)
    assert (grid["word"] != "").all()


def test_csv_and_parquet_read_back_equal(tmp_path: Path):
    run_sweep(full_sweep(), folder=tmp_path)
    with Store(tmp_path) as store:
        frame = store.to_frame(provenance=True)
        csv = export(store, "csv")
        parquet = export(store, "parquet", tmp_path / "new" / "file.parquet")
    assert csv == tmp_path / "sweep.csv"
    with csv.open(newline="") as stream:
        rows = list(DictReader(stream))
    for name in ("x", "label", "flag", "repeat", "mean", "count", "positive", "word", "seed"):
        assert [row[name] for row in rows] == [str(value) for value in frame[name].tolist()], name
    table = pd.read_parquet(parquet)
    assert list(table.columns) == list(frame.columns)
    assert table.drop(columns=["widths", "size"]).equals(frame.drop(columns=["widths", "size"]))
    assert [list(value) for value in table.widths] == frame.widths.tolist()
    assert table["size"].isna().all()
    assert not list(tmp_path.rglob("*.part"))


def test_netcdf_reads_back_equal_in_value(tmp_path: Path):
    def run(settings, seed):
        return {
            "float": settings.n / 3,
            "nan": math.nan,
            "int": settings.n,
            "wide": 2**40 + settings.n,
            "wider": 2**62 + settings.n,
            "truth": settings.n == 1,
            "text": "ä" * settings.n,
            "float16": np.float16([0.1, 2]),
            "float32": np.float32([0.1]),
            "uint8": np.array([200, 255], np.uint8),
            "uint64": np.array([2**64 - 1, 1], np.uint64),
            "int64": np.array([-(2**63), 2**63 - 1]),
            "truths": np.array([True, False]),
            "texts": np.array(["a", "longer"]),
            "bytes": np.array([b"a", b"bc"]),
            "complex": np.array([1 + 2j, 3]),
            "matrix": np.arange(6.0).reshape(2, 3),
        }

    sweep = Sweep(experiment(run), Trial(flag=True, size=2**40), (Axis("n", (1, 2)),), 2, seed=2**40)
    run_sweep(sweep, folder=tmp_path)
    with Store(tmp_path) as store:
        read = xr.load_dataset(export(store, "netcdf"), engine="scipy")
        for cell in store.cells():
            here = read.sel(n=cell.settings["n"], repeat=cell.repeat)
            for name, value in cell.numbers.items():
                item = here[name].item()
                assert alike(type(value)(item), value), name
            for name, array in cell.arrays.items():
                if name == "complex":
                    assert np.array_equal(here.complex_real + 1j * here.complex_imag, array)
                    continue
                values = here[name].to_numpy()
                given = (np.char.decode(array) if array.dtype.kind == "S" else array).tolist()
                assert [type(one)(other) for one, other in zip(given, values.tolist(), strict=True)] == given, name
    assert read.attrs["seed"] == str(2**40)
    assert read.attrs["setting_flag"] == 1
    assert read.truth.dtype == bool


def test_netcdf_of_an_unfinished_sweep_has_gaps(tmp_path: Path):
    run_sweep(deeds("compute", "raise"), folder=tmp_path, retries=0)
    run_sweep(make_sweep(TRIAL, {}, [Axis("deed", ("compute",)), Axis("n", (1, 2))]), folder=tmp_path, retries=0)
    run_sweep(make_sweep(TRIAL, {}, [Axis("deed", ("other",)), Axis("n", (1,))]), folder=tmp_path, retries=0)
    with Store(tmp_path) as store:
        read = xr.load_dataset(export(store, "netcdf"), engine="scipy").squeeze("repeat")
    gap = read.sel(deed="other", n=2)
    assert math.isnan(gap["mean"])
    assert math.isnan(gap["positive"])
    assert np.isnan(gap.table).all()
    assert gap.word.item() == ""
    assert read["mean"].notnull().sum() == 3


# Results of two cells that no table or grid takes as they are; for text, what is read back.
ODD_RESULTS = {
    "lone surrogate": ({"a": "x\ud800"}, {"a": "y"}),
    "lone surrogate in a name": ({"a\ud800": 1.0}, {"a\ud800": 2.0}),
    "long whole numbers": ({"a": 2**70 + 1}, {"a": 2**70 - 1}),
    "a long whole number that is a float": ({"a": 2**70}, {"a": 1}),
    "beyond all floats": ({"a": 10**400}, {"a": -3}),
    "unsigned": ({"a": 2**64 - 1}, {"a": 2**63}),
    "signed and unsigned": ({"a": 2**64 - 1}, {"a": -1}),
    "a long whole number and nothing": ({"a": 2**60 + 1}, {"a": None}),
    "a long whole number in one cell only": ({"a": 2**60 + 1}, {"b": 1}),
    "a long whole number and a fraction": ({"a": 2**60 + 1}, {"a": 2.5}),
    "truth and number": ({"a": True}, {"a": 2}),
    "truth and nothing": ({"a": True}, {"a": None}),
    "not finite": ({"a": math.nan, "b": math.inf}, {"a": 1.0, "b": -math.inf}),
    "text and nothing": ({"a": None}, {"a": "x"}),
    "long text": ({"a": "y" * 100_000}, {"a": ""}),
    "text with all signs": ({"a": 'x,"y"\r\n\x00z'}, {"a": "=1"}),
    "names with all signs": ({"a,b": 1, "c\nd": 2, '"q"': 3, "e/f": 4, "é": 5},) * 2,
}


def read_back(store: Store, form: str) -> dict[str, list]:
    """Return the columns of the table, the grid or a file."""
    if form == "table":
        return store.to_frame().to_dict("list")
    if form in {"grid", "netcdf"}:
        grid = store.to_xarray() if form == "grid" else xr.load_dataset(export(store, "netcdf"), engine="scipy")
        return {str(name): grid[name].to_numpy().ravel().tolist() for name in grid.data_vars}
    if form == "parquet":
        return pd.read_parquet(export(store, "parquet")).to_dict("list")
    with export(store, "csv").open(newline="", encoding="utf-8") as stream:
        rows = list(DictReader(stream))
    return {name: [row[name] for row in rows] for name in rows[0]}


def same(found, given) -> bool:
    """Return whether a value was read back: equal, as missing, or as the text of a number."""
    if given is None or alike(given, math.nan):
        return found == "" or bool(pd.isna(found))
    if isinstance(given, str):
        return found == given.replace("\ud800", "\\ud800")
    return bool(found == given) or found == str(given) or (isinstance(found, str) and float(found) == given)


@pytest.mark.parametrize("form", ["table", "grid", "csv", "parquet", "netcdf"])
@pytest.mark.parametrize("kind", ODD_RESULTS)
def test_results_of_every_kind_are_read_back_equal(tmp_path: Path, kind, form):
    results = ODD_RESULTS[kind]
    with stored(tmp_path, lambda settings, seed: results[settings.n], [Axis("n", (0, 1))]) as store:
        assert store.failures() == []
        found = read_back(store, form)
    for place, result in enumerate(results):
        for name, value in result.items():
            assert same(found[name.replace("\ud800", "\\ud800")][place], value), name


def test_numbers_stay_numbers_where_a_type_holds_them(tmp_path: Path):
    def run(settings, seed):
        return {
            "gap": None if settings.n else 2**60 + 1,
            "float": 2**70 + settings.n * 2**30,
            "mixed": bool(settings.n),
        }

    with stored(tmp_path, run, [Axis("n", (0, 1))]) as store:
        table = pd.read_parquet(export(store, "parquet"))
        read = xr.load_dataset(export(store, "netcdf"), engine="scipy")
    assert table.gap.dtype == pd.Int64Dtype()
    assert table["float"].dtype == read["float"].dtype == np.float64
    assert table.mixed.dtype == bool


def test_lone_surrogates_and_odd_bytes_in_arrays_are_escaped(tmp_path: Path):
    def run(settings, seed):
        return {"texts": np.array([["\ud800", "b"]]), "bytes": np.array([b"\xff", b"ok"])}

    with stored(tmp_path, run, [Axis("n", (1, 2))]) as store:
        for grid in (store.to_xarray(), xr.load_dataset(export(store, "netcdf"), engine="scipy")):
            assert grid.texts.sel(n=2).to_numpy().ravel().tolist() == ["\\ud800", "b"]
            assert grid.bytes.sel(n=2).to_numpy().ravel().tolist() == ["\\xff", "ok"]


@pytest.mark.parametrize("form", ["table", "grid", "csv", "parquet", "netcdf"])
def test_a_setting_may_be_a_long_whole_number(tmp_path: Path, form):
    run_sweep(make_sweep(TRIAL, {"size": 2**70 + 1}, [Axis("n", (2**70 + 1, 2**70 - 1))]), folder=tmp_path)
    with Store(tmp_path) as store:
        assert len(read_back(store, form)["mean"]) == 2
        if form == "netcdf":
            grid = xr.load_dataset(export(store, "netcdf"), engine="scipy")
            assert grid.n.to_numpy().tolist() == [str(2**70 - 1), str(2**70 + 1)]


def test_a_computed_table_keeps_long_whole_numbers(tmp_path: Path):
    table = compute_sweep(
        make_sweep(
            experiment(lambda settings, seed: {"a": 2**60 + 1 if settings.n else 0.5, "b": "\ud800"}),
            {},
            [Axis("n", (0, 1))],
        )
    ).to_frame()
    assert table.a.tolist() == [0.5, 2**60 + 1]
    assert table.b.tolist() == ["\\ud800"] * 2


@pytest.mark.parametrize(("settings", "axes"), [({"label": "\udcff"}, []), ({}, [Axis("label", ("a", "\udcff"))])])
def test_a_lone_surrogate_in_a_setting_is_refused(settings, axes):
    with pytest.raises(InputError, match=r"label must be valid Unicode text; got '\\udcff'"):
        make_sweep(TRIAL, settings, axes)


def test_a_wrong_format_and_what_no_file_can_hold_are_refused(tmp_path: Path):
    def run(settings, seed):
        return {"a": "text" if settings.n == 1 else 1.0}

    with stored(tmp_path, run, [Axis("n", (1, 2))]) as store:
        with pytest.raises(InputError, match="to must be one of csv, parquet, netcdf; got 'xlsx'"):
            export(store, "xlsx")
        with pytest.raises(InputError, match=r"Parquet cannot hold this table .* write csv"):
            export(store, "parquet")
        assert len(pd.read_csv(export(store, "csv"))) == 2
        with pytest.raises(InputError, match="text in some cells and a number in others"):
            export(store, "netcdf")
    assert not list(tmp_path.rglob("*.part"))


def test_tables_are_written_while_the_sweep_runs(tmp_path: Path):
    exported = []

    class Exports:
        """Progress that exports after each cell, as somebody in another shell might."""

        def start(self, total: int, label: str) -> None: ...

        def skip(self, n: int) -> None: ...

        def fail(self, n: int, error: str) -> None: ...

        def advance(self, n: int = 1) -> None:
            with Store(tmp_path) as store:
                exported.append(
                    (len(store.to_frame(provenance=True)), store.to_xarray()["mean"].notnull().sum().item())
                )

    run_sweep(trial_sweep(4, 1), folder=tmp_path, running=Running(Exports()))
    assert exported == [(1, 1), (2, 2), (3, 3), (4, 4)]
