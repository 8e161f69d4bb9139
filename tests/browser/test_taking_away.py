"""What a reader takes away: files of pictures and numbers, code, and links."""

import json
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

from reader import VIEWS

SVG = "{http://www.w3.org/2000/svg}svg"


def _download(reader, figure, words):
    with reader.page.expect_download() as waiting:
        figure.get_by_role("button", name=f"Download {words}").click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def test_numbers_of_every_picture_are_those_of_the_server(open_reader):
    reader = open_reader("/")
    for name in VIEWS:
        reader.follow(f"/{name}")
        figures = reader.page.locator("figure.panel")
        for at in range(figures.count()):
            panel = figures.nth(at).get_attribute("data-panel")
            file, content = _download(reader, figures.nth(at), "CSV")
            assert file == f"{panel}.csv"
            assert content.decode() == reader.ask(f"/api/views/{name}/panels/{panel}.csv")


def test_pictures(open_reader):
    reader = open_reader("/rules-facts")
    figure = reader.page.locator("figure.panel").first
    file, png = _download(reader, figure, "PNG")
    assert file.endswith(".png")
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", png[16:24]) == (1800, 1200)
    file, svg = _download(reader, figure, "SVG")
    drawn = ElementTree.fromstring(svg)
    assert file.endswith(".svg")
    assert drawn.tag == SVG
    texts = " ".join("".join(one.itertext()) for one in drawn.iter(f"{SVG[:-3]}text"))
    assert figure.locator("h3").inner_text().split()[0] in texts


def test_pointing_at_a_point_shows_its_numbers(open_reader):
    reader = open_reader("/rules-facts")
    figure = reader.page.locator("figure.panel").first
    place = figure.locator(".scatterlayer path.point").last.bounding_box()
    reader.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    reported = figure.locator(".hovertext").first
    reported.wait_for()
    names = [name.replace(" ", "") for name in figure.locator(".panel-legend li").all_inner_texts()]
    assert reported.text_content().replace(" ", "").startswith(tuple(names))
    assert re.search(r": -?\d", reported.text_content())


def test_copies(open_reader):
    reader = open_reader("/rules-facts")
    page = reader.page
    reader.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=reader.address)
    usual = reader.plotted()
    reader.slider().focus()
    page.keyboard.press("End")
    reader.wait_for_other_plot(usual)
    page.wait_for_function("() => location.search !== ''")
    reader.settle()
    query = page.evaluate("location.search")
    answer = json.loads(reader.ask(f"/api/views/rules-facts{query}"))
    wanted = {"Copy as Python": answer["python"], "Copy as command": answer["command"], "Copy link": page.url}
    for words, text in wanted.items():
        page.get_by_role("button", name=words).click()
        page.get_by_role("button", name="Copied").first.wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == text
    page.wait_for_function("() => document.getElementById('status').textContent === 'Copied'")


def test_copying_that_is_not_allowed_says_so(open_reader):
    refuse = (
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: () => Promise.reject(new Error('no'))}})"
    )
    reader = open_reader("/rules-facts", script=refuse)
    reader.page.get_by_role("button", name="Copy as Python").click()
    said = reader.page.get_by_role("button", name="Copying is not allowed here")
    said.wait_for()
    assert said.is_visible()


def test_numbers_behind_a_picture_as_a_table(open_reader):
    reader = open_reader("/rules-facts")
    figure = reader.page.locator("figure.panel").first
    figure.locator("summary").click()
    rows = figure.locator("tbody tr")
    rows.first.wait_for()
    panel = figure.get_attribute("data-panel")
    lines = reader.ask(f"/api/views/rules-facts/panels/{panel}.csv").splitlines()
    assert rows.count() == min(len(lines) - 1, 500)
