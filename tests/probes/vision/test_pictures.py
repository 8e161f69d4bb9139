"""Pictures of the vision probe, read back from their pixels, and the prompts and files made of them."""

import base64
import csv
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from genlaws.core.errors import InputError
from genlaws.probes.templates import VisionTemplate
from genlaws.probes.trials import TRIAL_KINDS
from genlaws.probes.vision.pictures import picture_of, png_of, save_pictures, vision_prompt
from genlaws.probes.vision.scenes import (
    MAX_PICTURE_ITEMS,
    NUMBERS,
    TASKS,
    draw_vision_resolution_trials,
    draw_vision_trials,
    hue_distance,
    oklch_of_srgb,
)

EVERYWHERE = np.ones((3, 3))  # pixels that share a corner belong together
# Share of its bounding box that a shape covers.
COVERS = {"circle": np.pi / 4, "square": 1.0, "triangle": 0.5, "star": 0.325}


def pixels_of(trial):
    return np.asarray(picture_of(trial)).astype(int)


def red_of(pixels):
    return (pixels[..., 0] > 180) & (pixels[..., 1:].max(axis=2) < 120)


def parts_of(mask):
    """Return the connected parts of a mask: slices, and which pixels of them belong to the part."""
    labels, _ = ndimage.label(mask, EVERYWHERE)
    return [(where, labels[where] == number) for number, where in enumerate(ndimage.find_objects(labels), start=1)]


def middle_of(mask):
    """Return the center of the bounding box of a mask as x, y, in pixels from the upper left corner of the picture."""
    rows, columns = np.nonzero(mask)
    return (columns.min() + columns.max() + 1) / 2, (rows.min() + rows.max() + 1) / 2


@pytest.mark.parametrize("task", ["shapes", "numbers"])
@pytest.mark.parametrize("kind", TRIAL_KINDS)
def test_the_mark_is_one_red_x_where_the_trial_says(task, kind):
    for trial in draw_vision_trials(task, kind, 4, 6, 1):
        red = red_of(pixels_of(trial))
        assert middle_of(red) == pytest.approx(trial.probe, abs=0.8)
        ((_, mark),) = parts_of(red)
        assert all(30 <= size <= 60 for size in mark.shape)
        assert 0.25 < mark.mean() < 0.6  # two lines, not a box
        x, y = (round(one) for one in trial.probe)
        assert pixels_of(trial)[y, x].tolist() == [230, 0, 0]


def test_shapes_are_read_from_the_picture_and_the_nearest_is_right():
    for trial in draw_vision_trials("shapes", "similarity", 4, 8, 2) + draw_vision_resolution_trials(
        "shapes", 300, [-30, 30], 4, 2
    ):
        pixels = pixels_of(trial)
        parts = parts_of(pixels.max(axis=2) < 128)
        assert len(parts) == 4
        mark = middle_of(red_of(pixels))
        found = {}
        for (rows, columns), part in parts:
            name = min(COVERS, key=lambda name: abs(COVERS[name] - part.mean()))
            assert part.mean() == pytest.approx(COVERS[name], abs=0.03)
            height, width = part.shape
            # From the bounding box to the center of the circle around the shape.
            y = rows.start + {"triangle": 60.0, "star": 60.0}.get(name, height / 2)
            found[name] = np.hypot(columns.start + width / 2 - mark[0], y - mark[1])
        assert set(found) == set(trial.options)
        assert found == pytest.approx(dict(zip(trial.options, trial.distances, strict=True)), abs=1.5)
        assert min(found, key=found.__getitem__) == trial.options[trial.right]


@pytest.mark.parametrize("count", [2, 4, 7, 12])
def test_colors_are_read_from_the_picture_and_the_nearest_is_right(count):
    for kind in TRIAL_KINDS:
        for trial in draw_vision_trials("colors", kind, count, 3, count):
            pixels = pixels_of(trial)
            colored = parts_of(np.ptp(pixels, axis=2) > 20)
            assert len(colored) == count + 1
            colors = []
            for where, part in colored:  # squares of one color, but for their edge
                inner = pixels[where][2:-2, 2:-2].reshape(-1, 3)
                assert part.all()
                assert len(np.unique(inner, axis=0)) == 1
                colors.append(inner[0])
            # The target is on top; the others go row by row.
            order = sorted(range(1, count + 1), key=lambda one: (colored[one][0][0].start, colored[one][0][1].start))
            target = colors[0]
            hues = oklch_of_srgb(np.array(colors) / 255)[:, 2]
            away = hue_distance(hues[order], hues[0])
            assert int(np.argmin(away)) == trial.right
            assert away == pytest.approx(trial.distances, abs=1.4)
            same = [(colors[one] == target).all() for one in order]
            assert same == [kind == "identification" and at == trial.right for at in range(count)]


@pytest.mark.parametrize("count", [2, 7, 12])
def test_each_letter_is_below_its_square_and_touches_nothing(count):
    (trial,) = draw_vision_trials("colors", "similarity", count, 1, 4)
    pixels = pixels_of(trial)
    squares = [where for where, _ in parts_of(np.ptp(pixels, axis=2) > 20)][1:]
    dark = pixels.max(axis=2) < 128
    for rows, columns in squares:
        below = dark[rows.stop : rows.stop + 60, columns]
        assert below.sum() > 100
        assert not below[:8].any()
        assert not below[-10:].any()
        assert not below[:, :30].any()
        assert middle_of(below)[0] == pytest.approx((columns.stop - columns.start) / 2, abs=4)
    words = parts_of(dark)
    assert len(words) == len("target") + count  # no letter touches another


def test_numbers_are_in_their_squares_and_touch_neither_frame_nor_mark():
    drawn = {}
    for trial in draw_vision_trials("numbers", "identification", 12, 12, 6):
        pixels = pixels_of(trial)
        dark = pixels.max(axis=2) < 128
        frames = [part for _, part in parts_of(dark) if min(part.shape) > 100]
        assert len(frames) == 12
        for name, (x, y) in zip(trial.options, trial.places, strict=True):
            left, top = round(x - 60), round(y - 60)
            inside = dark[top + 6 : top + 114, left + 6 : left + 114]
            rows, columns = np.nonzero(inside)
            assert rows.max() < 36
            assert columns.max() < 60
            assert len(parts_of(inside)) == len(name)
            assert 20 < np.ptp(rows) < 40
            drawn.setdefault(name, []).append(inside[:40, :60])
            if name == trial.options[trial.right]:  # white between number and mark
                red = np.ptp(pixels[top + 6 : top + 114, left + 6 : left + 114], axis=2) > 60
                assert ndimage.distance_transform_edt(~red)[inside].min() >= 2
    assert set(drawn) == set(NUMBERS)
    # A number looks like itself in every picture, up to a part of a pixel, and like no other.
    mean = {name: np.mean(pictures, axis=0) for name, pictures in drawn.items()}
    for name, pictures in drawn.items():
        for picture in pictures:
            assert min(mean, key=lambda other: np.abs(mean[other] - picture).sum()) == name


def test_the_same_trial_gives_the_same_bytes_and_nothing_but_the_picture():
    for task in TASKS:
        first, again, other = (draw_vision_trials(task, "similarity", 3, 1, seed)[0] for seed in (1, 1, 2))
        data = png_of(first)
        assert data == png_of(again) != png_of(other)
        opened = Image.open(BytesIO(data))
        assert (opened.format, opened.size, opened.mode, opened.info) == ("PNG", (900, 900), "RGB", {})
        assert (np.asarray(opened) == np.asarray(picture_of(first))).all()
        assert not any(mark in data for mark in (b"tIME", b"tEXt", b"iTXt"))


def test_a_prompt_shows_the_picture_and_asks():
    (trial,) = draw_vision_trials("shapes", "similarity", 4, 1, 1)
    prompt = vision_prompt(trial)
    assert prompt.images == (png_of(trial),)
    assert prompt.chat
    assert prompt.options == trial.options
    assert (prompt.system, prompt.answer_prefix) == ("", "")
    assert prompt.text == (
        "The picture shows 4 black shapes and a red X. Which shape is closest to the X, from centre to centre? "
        "Answer with the name of the shape only."
    )
    assert vision_prompt(trial, "options").text.endswith(f"only: {', '.join(trial.options)}.")
    mine = VisionTemplate("mine", "Which of {options}?", "On which?", system="Be brief.", answer_prefix=" ")
    requested = vision_prompt(trial, mine)
    assert (requested.text, requested.system, requested.answer_prefix) == (
        f"Which of {', '.join(trial.options)}?",
        "Be brief.",
        " ",
    )
    (trial,) = draw_vision_trials("shapes", "identification", 4, 1, 1)
    assert vision_prompt(trial, mine).text == "On which?"
    (trial,) = draw_vision_resolution_trials("shapes", 300, 20, 1, 1)
    assert vision_prompt(trial).text == prompt.text


@pytest.mark.parametrize("kind", TRIAL_KINDS)
@pytest.mark.parametrize("task", TASKS)
def test_every_task_can_be_asked_for_every_number_of_items(task, kind):
    for count in range(2, MAX_PICTURE_ITEMS[task] + 1):
        (trial,) = draw_vision_trials(task, kind, count, 1, count)
        prompt = vision_prompt(trial)
        assert "{" not in prompt.text
        assert prompt.text.endswith("only.")
        assert len(prompt.images[0]) < 30_000  # bytes; a server takes some megabytes


def test_pictures_are_saved_with_what_they_show(tmp_path):
    trials = [trial for task in TASKS for trial in draw_vision_trials(task, "similarity", 3, 2, 1)]
    table = save_pictures(trials, tmp_path / "new" / "folder")
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 18
    files = list(dict.fromkeys(row["file"] for row in rows))
    assert files[:3] == ["shapes_similarity_1.png", "shapes_similarity_2.png", "colors_similarity_3.png"]
    assert sorted(path.name for path in table.parent.iterdir()) == sorted([*files, "pictures.csv"])
    for trial, file in zip(trials, files, strict=True):
        assert (table.parent / file).read_bytes() == png_of(trial)
        mine = [row for row in rows if row["file"] == file]
        assert tuple(row["option"] for row in mine) == trial.options
        assert tuple(float(row["distance"]) for row in mine) == trial.distances
        assert [row["right"] for row in mine].index("1") == trial.right
        names = ("hue",) if trial.task == "colors" else ("x", "y")
        assert tuple(tuple(float(row[name]) for name in names) for row in mine) == trial.places
        assert {tuple(float(row[f"probe_{name}"]) for name in names) for row in mine} == {trial.probe}
        assert {row["x" if trial.task == "colors" else "hue"] for row in mine} == {""}


def test_pictures_need_trials_and_a_folder(tmp_path):
    with pytest.raises(InputError, match="^trials must hold at least one trial; got none.$"):
        save_pictures([], tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="^folder must be a folder; got the file"):
        save_pictures(draw_vision_trials("shapes", "similarity", 2, 1), file)


def test_transformers_reads_the_picture_as_the_prompt_says():
    utils = pytest.importorskip("transformers.image_utils", reason="transformers is not installed")
    (trial,) = draw_vision_trials("colors", "similarity", 5, 1, 1)
    encoded = base64.b64encode(vision_prompt(trial).images[0]).decode()
    for source in (encoded, f"data:image/png;base64,{encoded}"):
        assert (np.asarray(utils.load_image(source)) == np.asarray(picture_of(trial))).all()
