"""Table II: the numbers at n = 30, and the picture at other sizes."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.figures.figure import Figure

FIGURE = Figure("relations.table2", "title", "citation", "caption", "genlaws.figures.relations.table:TABLE")


@pytest.fixture(scope="module")
def table():
    return FIGURE.data()


@pytest.mark.parametrize(
    ("name", "example", "paper", "exact", "alone"),
    [
        ("generic", "", 900, 900, None),
        ("symmetric", "", 465, 465, None),
        ("antisymmetric", "", 435, 719.46, None),
        ("reflexive", "", 870, 870, None),
        ("transitive", "divisibility", 184.19, None, 102.12),
        ("equivalence", "modulo 3", 47.55, 44.96, 39.75),
        ("equivalence", "modulo 5", 69.66, 62.74, 53.34),
        ("total order", "less-than", 103.93, 107.71, 107.71),
        ("complete bipartite", "sides 15, 15", 30, 29, 26.21),
        ("complete bipartite", "sides 10, 20", 30, 29, 24.84),
        ("incomplete bipartite", "sides 15, 15, random", 225, 225, None),
        ("rooted tree", "binary tree", 61.42, 142.30, 96.71),
    ],
)
def test_rows_at_thirty_elements(table, name, example, paper, exact, alone):
    (row,) = table[(table["class"] == name) & (table["example"] == example)].to_dict("records")
    assert row["paper_bits"] == pytest.approx(paper, abs=0.006)
    for column, value in (("exact_bits", exact), ("example_bits", alone)):
        if value is not None:
            assert row[column] == pytest.approx(value, abs=0.006)
    if exact is None:
        assert np.isnan(row["exact_bits"])
    else:
        assert row["difference"] == pytest.approx(row["paper_bits"] - row["exact_bits"])


def test_an_example_needs_no_more_bits_than_its_class(table):
    known = table.dropna(subset=["exact_bits", "example_bits"])
    assert (known["example_bits"] <= known["exact_bits"] + 1e-9).all()
    assert len(table) == 12


@pytest.mark.parametrize("settings", [{}, {"element_count": 12}, {"element_count": 6, "class_counts": (2,)}])
def test_the_picture_shows_every_row_inside_its_frame(settings):
    frame = FIGURE.data(settings)
    picture = FIGURE.draw(frame, settings)
    words, dots = picture.axes
    texts = [text for text in words.texts if text.get_text()]
    boxes = [text.get_window_extent() for text in texts]
    width, height = picture.get_size_inches() * picture.dpi
    assert all(box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height for box in boxes)
    assert not any(first.overlaps(second) for at, first in enumerate(boxes) for second in boxes[at + 1 :])
    assert dots.get_xscale() == "log"
    if settings.get("element_count") == 12:
        assert frame.loc[frame["class"] == "transitive", "exact_bits"].notna().all()


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="element_count is not accepted"):
        FIGURE.data({"element_count": 2})
