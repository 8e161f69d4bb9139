"""Every figure of the registry is really written, from settings that are checked, and all or nothing."""

import json
import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pydantic
import pytest
from matplotlib import image
from reduced_settings import REDUCED

from genlaws.core.errors import InputError
from genlaws.core.result import PICTURE_DPI, picture_bytes
from genlaws.figures import FIGURES, DrawnFigures, draw_figures, figure_ids, get_figure
from genlaws.figures.relations.success import LAW_NAMES
from genlaws.figures.rules_facts.agreement import FIT_COLUMNS as FITTED
from genlaws.figures.rules_facts.tables import PARTS, RUN_COLUMNS
from genlaws.figures.semanticity.relu import RELU_COURSE_COLUMNS as RELU_COURSE
from genlaws.figures.semanticity.relu import RELU_END_COLUMNS as RELU_ENDS
from genlaws.figures.semanticity.relu_profiles import MANY_COLUMNS as RELU_MANY
from genlaws.figures.semanticity.relu_profiles import OTHER_COLUMNS as RELU_OTHERS
from genlaws.figures.semanticity.relu_profiles import REACHED_COLUMNS as RELU_REACHED
from genlaws.figures.semanticity.slots import EXCESS_COLUMNS as SLOT_EXCESSES
from genlaws.figures.semanticity.slots import SLOT_COURSE_COLUMNS as SLOT_COURSE
from genlaws.figures.semanticity.slots import SLOT_END_COLUMNS as SLOT_ENDS
from genlaws.relations.networks.phases import PHASES

PAPERS = {"rules-facts": "2603.25579", "semanticity": "2506.14797", "relations": "2402.05916"}
ERRORS = {"sample_ratio", "fact_fraction", "generalization_error", "converged"}
REDRAWS = {"series", "loss", "generalization_error", "memorization_error", "converged", "redraws", "test_count"}
BANDWIDTH = REDRAWS | {"role", "regularization_choice", "parameter", "log_ratio", "price", "at_edge"}
RUNS = {"regularization", "memorization_error", *RUN_COLUMNS}
NETWORK_PHASES = {"relation", *PHASES, "late", "count", "median_delay"}
COLUMNS = {
    "rules-facts.1": ERRORS | RUNS | {"loss", "kernel", "kernel_angle"},
    "rules-facts.2": ERRORS | RUNS | {"loss", "kernel", "width_ratio"},
    "rules-facts.3": ERRORS | {"loss", "kernel_angle", "regularization_choice", "reference_error"},
    "rules-facts.4": ERRORS | {"loss", "angle_choice", "kernel_angle", "regularization", "memorization_error"},
    "rules-facts.5": BANDWIDTH,
    "rules-facts.6": ERRORS | {"learner", "leading_law"},
    "rules-facts.7": ERRORS,
    "rules-facts.8": ERRORS | {"loss", "series", "threshold", "memorization_error"},
    "rules-facts.9": ERRORS | {"loss", "kernel", "scaled_error", "local_exponent"},
    "rules-facts.10": {"series", "kernel", "degree", "parameter", "fact_fraction", "mu_1", "mu_star", "kernel_angle"},
    "rules-facts.11": ERRORS | {"loss", "kernel_angle", "regularization", "memorization_error"},
    "rules-facts.12": ERRORS | {"loss", "kernel_angle", "regularization_choice", "reference_error"},
    "rules-facts.13": ERRORS | RUNS | {"loss", "family", "kernel", "kernel_angle"},
    "rules-facts.14": REDRAWS | {"kernel_angle", "generalization_difference", "memorization_difference"},
    "rules-facts.15": BANDWIDTH,
    "rules-facts.16": ERRORS | {"loss", "regularization"},
    "rules-facts.finite-size": {"loss", "kernel", "width_ratio", "quantity", "theory", "mean_20", "compared", *FITTED},
    "rules-facts.message-passing": {
        "series",
        "sample_ratio",
        "iteration",
        "teacher_overlap",
        "generalization_error",
        "learner",
    },
    "rules-facts.two-layer": {
        "learner",
        "moment",
        "sample_ratio",
        "generalization_error",
        "memorization_error",
        "exponent",
        "misfit",
    },
    "semanticity.front": {"series", "similarity", "background", "resolution", "generalization", "identification"},
    "semanticity.items": {"ball_mass", "item_count", "generalization", "identification", "collapse_law"},
    "semanticity.resolution": {"background", "item_count", "best_ball_mass", "items_in_ball", "best_generalization"},
    "semanticity.relu-network": {"series", "network", "front", "run", "step", *RELU_COURSE, "mean_set_distance"},
    "semanticity.relu-profile": {"series", "network", "step", "distance", "relative_similarity", "resolution", "cut"},
    "semanticity.relu-sizes": {"series", "varied", "size", "peak_generalization", "tested_items", "collapse_law"},
    "semanticity.slots": {"series", "network", "slots", "ring_size", "truth", "step", *SLOT_COURSE, "peak_above_set"},
    "semanticity.convolutional": {"series", "similarity_weight", "identification", "generalization", "quantity"},
    "semanticity.years": {"template", "what", "item_count", "value", "low", "high", "half_separation", "shift"},
    "semanticity.anchors": {"template", "what", "item_count", "value", "low", "high", "half_separation", "shift"},
    "semanticity.layers": {"weights", "template", "what", "layer", "ball_mass", "nearest_generalization"},
    "relations.2": {"relation", "train_fraction", "accuracy", "paper_procedure", "accuracy_formula", "bits_left"},
    "relations.table2": {"class"},
    "relations.4": {"series", "decoder_gain", "half_separation"},
    "relations.collisions": {"series", "panel", "curve", "low", "high", "draws"},
    "relations.queries": {"relation", "strategy", "queries", "accuracy", "bits_left"},
    "relations.3": {"relation", "mode", "depth", "width", "dimension", "train_fraction", "table_accuracy", "run"},
    "relations.5": NETWORK_PHASES | {"optimizer", "decoder_rate", "encoder_rate"},
    "relations.delays": NETWORK_PHASES | {"optimizer", "decoder_rate", "encoder_rate"},
    "relations.6": {
        "optimizer",
        "embedding_scale",
        "ratio",
        "success",
        "success_low",
        "reached",
        "networks",
        *LAW_NAMES,
    },
    "relations.7": {"width", "depth", "train_accuracy", "test_accuracy_worst", "success_high", "majority_accuracy"},
    "relations.8": NETWORK_PHASES | {"decoder_decay", "decoder_rate", "encoder_rate"},
    "relations.controls": {"optimizer", "batch_size", "weight_decay", "ratio", "success", "memorized", "networks"},
    "relations.sizes": {"elements", "train_fraction", "entries_per_element", "success", "success_low", "networks"},
    "relations.noise": {"label_noise", "train_fraction", "test_accuracy", "train_accuracy_high", "majority_accuracy"},
    "relations.graph": {"relation", "elements", "pairs", "description_length", "train_fraction", "balanced_accuracy"},
    "relations.embeddings": {"ratio", "step", "element", "class", "x", "y", "train_accuracy", "test_accuracy"},
}
BETWEEN = ("", "_low", "_high")
ONLY_AT_THE_BEST = [f"{name}{end}" for name in ("parameter", "log_ratio", "price") for end in BETWEEN]
MEASURED = [f"{name}{end}" for name in ("generalization_error", "memorization_error") for end in BETWEEN[1:]]
DIFFERENCES = [f"{name}_difference{end}" for name in ("generalization", "memorization") for end in BETWEEN]
# What a law, a class without an example, theory without runs, or a row that is no path has no value for.
YEARS_PARTS = [
    *("item_count", "accuracy", "first", "trials", "half_separation", "shift", "fitted", "determined", "shape"),
    *("best_law", "low", "high"),
]
LAYER_TESTS = [
    *("best_generalization", "identification_there", "best_identification", "nearest_generalization"),
    *("nearest_identification", "read_generalization", "read_identification"),
]
LAYER_PARTS = [
    *(f"{start}{name}" for name in LAYER_TESTS for start in ("", "control_")),
    *(f"{name}{end}" for name in (*LAYER_TESTS, "generalization", "identification") for end in ("_low", "_high")),
    *("best_ball_mass", "chance", "threshold", "ball_mass", "generalization", "identification"),
    *("control_generalization", "control_identification"),
]
MAY_BE_EMPTY = {
    "rules-facts.1": list(RUN_COLUMNS),
    "rules-facts.2": list(RUN_COLUMNS),
    "rules-facts.5": ["regularization", "memorization_error", *MEASURED, *ONLY_AT_THE_BEST[1:], "at_edge"],
    "rules-facts.13": list(RUN_COLUMNS),
    "rules-facts.14": ["generalization_error", "memorization_error", *MEASURED, *DIFFERENCES],
    "rules-facts.15": ["regularization", "memorization_error", *MEASURED, *ONLY_AT_THE_BEST[1:], "at_edge"],
    "rules-facts.finite-size": list(FITTED),
    "rules-facts.message-passing": [
        *("iteration", "teacher_overlap", "learner", "generalization_error", "settled_share"),
        *(f"run_{name}{part}" for name in ("teacher_overlap", "generalization_error") for part in PARTS),
    ],
    "rules-facts.two-layer": [
        *(
            "moment",
            "learning_rate",
            "feature_rate",
            "weight_decay",
            "run_count",
            "remembering_share",
            "memorization_error",
        ),
        *(f"{name}{part}" for name in ("generalization_error", "memorization_error") for part in PARTS[1:]),
        *("exponent_low", "exponent_high", "misfit"),
    ],
    "semanticity.relu-network": [
        *("front", "run", "run_count", "step"),
        *(f"{name}{part}" for name in (*RELU_COURSE, *RELU_ENDS) for part in PARTS),
    ],
    "semanticity.relu-profile": [
        *("distance", "cut_share"),
        *(f"{name}{part}" for name in ("relative_similarity", "resolution", "cut") for part in PARTS),
    ],
    "semanticity.relu-sizes": [
        *("tested_items", "collapse_law"),
        *(f"{name}{part}" for name in (*RELU_REACHED, *RELU_OTHERS, *RELU_MANY) for part in PARTS),
    ],
    "semanticity.slots": [
        *("step", *SLOT_COURSE, "stimulus_count"),
        *(f"{name}{part}" for name in (*SLOT_ENDS, *SLOT_EXCESSES) for part in PARTS),
    ],
    "semanticity.convolutional": [
        *("similarity_weight", "identification", "quantity"),
        *(f"{name}{part}" for name in ("generalization", "mean", "change") for part in PARTS),
    ],
    "semanticity.years": YEARS_PARTS,
    "semanticity.anchors": YEARS_PARTS,
    "semanticity.layers": LAYER_PARTS,
    "relations.table2": [
        "example",
        "class_count",
        "chain_length",
        "mean_depth",
        "exact_bits",
        "difference",
        "example_bits",
    ],
    "relations.collisions": ["low", "high", "draws"],
    "relations.5": ["median_train_step", "median_delay"],
    "relations.delays": ["median_train_step", "median_delay"],
    "relations.8": ["median_train_step", "median_delay"],
}


@dataclass(frozen=True)
class Drawn:
    """The files of a figure, by their endings."""

    id: str
    paths: dict[str, Path]


@pytest.fixture(scope="module", params=list(FIGURES))
def drawn(request, tmp_path_factory):
    figure_id = request.param
    folder = tmp_path_factory.mktemp(figure_id)
    found = draw_figures(figure_id, settings=REDUCED[figure_id] | given_file(figure_id, tmp_path_factory))
    return Drawn(figure_id, {path.name.removeprefix(f"{figure_id}."): path for path in found.save(folder)})


def given_file(figure_id, tmp_path_factory):
    """Return the setting of a figure that reads a file of the reader's."""
    if figure_id == "semanticity.layers":
        return {"model": str(small_language_model(tmp_path_factory.mktemp("model")))}
    return {"file": str(small_graph(tmp_path_factory))} if figure_id == "relations.graph" else {}


def small_language_model(folder):
    """Write a language model of two layers that has learned nothing, which reads letter by letter."""
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    tokenizers = pytest.importorskip("tokenizers", reason="needs the package tokenizers")
    letters = {letter: number for number, letter in enumerate(map(chr, [10, *range(32, 127)]))}
    inside = tokenizers.Tokenizer(tokenizers.models.WordLevel(letters, unk_token=" "))
    inside.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    transformers.PreTrainedTokenizerFast(tokenizer_object=inside, eos_token="~").save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(letters),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def small_graph(tmp_path_factory):
    """Write three relations of twelve elements."""
    both = [(i, j) for i in range(12) for j in range(12)]
    held = {
        "below": [(i, j) for i, j in both if i < j],
        "alike": [(i, j) for i, j in both if (i - j) % 3 == 0],
        "next": [(i, j) for i, j in both if (j - i) % 12 == 1],
    }
    file = tmp_path_factory.mktemp("edges") / "graph.tsv"
    lines = [f"e{i}\t{name}\te{j}\n" for name, pairs in held.items() for i, j in pairs]
    file.write_text("".join(lines), encoding="utf-8")
    return file


def test_every_figure_has_reduced_settings_and_columns_here():
    assert list(REDUCED) == figure_ids() == list(COLUMNS)


def test_record_reads_well(drawn):
    figure = get_figure(drawn.id)
    assert figure.title
    assert figure.caption.endswith(".")
    assert ". " not in figure.caption.replace("Fig. ", "").replace("Eq. ", "")
    system, number = drawn.id.split(".")
    assert PAPERS[system] in figure.citation
    if number.isdigit():
        assert figure.citation.endswith(number)


def test_table_is_complete(drawn):
    frame = pd.read_csv(drawn.paths["csv"])
    assert COLUMNS[drawn.id] <= set(frame.columns)
    assert not frame.drop(columns=MAY_BE_EMPTY.get(drawn.id, [])).isna().to_numpy().any()
    if "converged" in frame:
        assert frame["converged"].all()
    if "generalization_error" in frame:
        assert frame["generalization_error"].dropna().between(0.0, 0.5).all()
    if "memorization_error" in frame:
        assert frame["memorization_error"].dropna().between(0.0, 0.5).all()


def test_files_are_of_their_kind(drawn):
    figure = get_figure(drawn.id)
    assert {"csv", "txt", "pdf", "png"} <= set(drawn.paths)
    others = set(drawn.paths) - {"csv", "txt", "pdf", "png", "summary.csv"}
    assert others == {"result.json", "report.html"}
    document = drawn.paths["pdf"].read_bytes()
    assert document.startswith(b"%PDF-")
    assert document.rstrip().endswith(b"%%EOF")
    caption = drawn.paths["txt"].read_text(encoding="utf-8")
    assert figure.caption in caption
    assert figure.citation in caption
    assert all(f"{name} = " in caption for name in type(figure.settings()).model_fields)
    assert sorted(path.name for path in drawn.paths["csv"].parent.iterdir()) == sorted(
        path.name for path in drawn.paths.values()
    )


def test_picture_has_column_width_and_is_not_blank(drawn):
    header = drawn.paths["png"].read_bytes()[:24]
    assert header.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", header[16:24])
    assert width / PICTURE_DPI in (pytest.approx(3.4), pytest.approx(7.0))
    assert 2.0 < height / PICTURE_DPI < 5.0
    pixels = image.imread(drawn.paths["png"])[..., :3]
    ink = (pixels < 0.99).any(axis=2)
    assert 0.01 < ink.mean() < 0.9
    assert len(np.unique((pixels[::7, ::7] * 15).round().reshape(-1, 3), axis=0)) > 5
    # Nothing runs into the edge of the paper.
    assert not ink[[0, -1]].any()
    assert not ink[:, [0, -1]].any()


def test_labels_do_not_meet(drawn):
    figure = get_figure(drawn.id)
    picture = figure.draw(pd.read_csv(drawn.paths["csv"]), REDUCED[drawn.id])
    picture.draw_without_rendering()
    for axes in picture.axes:
        boxes = [text.get_window_extent() for text in axes.texts if text.get_text() and not text.get_rotation()]
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_quoted_numbers_are_a_table_of_their_own():
    for figure_id in ("rules-facts.3", "rules-facts.9"):
        found = draw_figures(figure_id, settings=REDUCED[figure_id])
        assert not found.tables()[f"{figure_id}.summary"].isna().to_numpy().any()


def test_same_settings_give_the_same_bytes():
    first, second = (draw_figures("rules-facts.6", settings={"points": 9}) for _ in range(2))
    assert first.files() == second.files()
    titles = first.titles()["rules-facts.6"]
    assert picture_bytes(first.plot(), "svg", *titles) == picture_bytes(second.plot(), "svg", *titles)


def test_files_hold_their_title_and_caption():
    found = draw_figures("rules-facts.6", settings={"points": 9})
    files, figure = found.files(), get_figure("rules-facts.6")
    assert figure.caption.encode() in files["rules-facts.6.png"]
    assert figure.title.encode() in files["rules-facts.6.pdf"]
    assert b"/Type3" not in files["rules-facts.6.pdf"]  # fonts that journals refuse


def test_a_figure_comes_back_from_json_and_is_drawn_as_before():
    found = draw_figures("rules-facts.3", settings=REDUCED["rules-facts.3"])
    again = DrawnFigures.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert again.files() == found.files()


def test_unknown_figure_lists_those_there_are():
    with pytest.raises(InputError, match=r"one of \d+ names, such as rules-facts.*; got 'rules-facts\.99'"):
        draw_figures("rules-facts.99")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"color": "red"}, "color"),
        ({"points": 0}, "points"),
        ({"fact_fraction": 1.5}, "fact_fraction"),
        ("large", "settings must be"),
    ],
)
def test_settings_are_checked_before_anything_is_computed(monkeypatch, settings, complaint):
    monkeypatch.setattr("genlaws.figures.figure.Figure.data", None)
    with pytest.raises(InputError, match=complaint):
        draw_figures(["rules-facts.10", "rules-facts.6"], settings=settings)


def test_settings_cannot_be_changed():
    settings = get_figure("rules-facts.6").settings({"points": 9})
    assert get_figure("rules-facts.6").settings(settings) is settings
    with pytest.raises(pydantic.ValidationError):
        settings.points = 10


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="folder"):
        draw_figures("rules-facts.6", settings={"points": 5}).save(tmp_path / "taken")


def test_a_failure_leaves_the_old_files_as_they_were(tmp_path, monkeypatch):
    old = draw_figures("rules-facts.6", settings={"points": 9}).save(tmp_path)
    before = {path: path.read_bytes() for path in old}

    def broken(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("genlaws.core.result.picture_bytes", broken)
    with pytest.raises(OSError, match="No space"):
        draw_figures("rules-facts.6", settings={"points": 11}).save(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_get_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    for path in draw_figures("rules-facts.6", settings={"points": 5}).save(tmp_path):
        assert os.stat(path).st_mode == os.stat(tmp_path / "plain").st_mode


def test_listing_loads_no_heavy_library():
    code = (
        "import sys; from genlaws.figures import FIGURES; [figure.caption for figure in FIGURES.values()];"
        "print(*[name for name in ('scipy', 'pandas', 'matplotlib', 'pydantic') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_drawing_keeps_pyplot_and_the_reader_s_settings_out(tmp_path):
    code = (
        "import sys, matplotlib; matplotlib.rcParams['font.size'] = 31;"
        "from genlaws.figures import draw_figures;"
        f"draw_figures('rules-facts.6', settings={{'points': 5}}).save({str(tmp_path)!r});"
        "print('matplotlib.pyplot' in sys.modules, matplotlib.rcParams['font.size'])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "31.0"]
