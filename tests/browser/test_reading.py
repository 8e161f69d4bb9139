"""The page for everybody: narrow and wide, light and dark, by keyboard and read out."""

from itertools import pairwise

import pytest
from reader import VIEWS

PATHS = ("/", *(f"/{name}" for name in VIEWS))
READABLE = 4.5  # contrast of text that WCAG asks for at level AA
NAMED = {"slider", "spinbutton", "combobox", "checkbox", "button", "link", "textbox", "searchbox", "image", "form"}
# Elements that stand out of the window on the right, but for those in a box that scrolls.
TOO_WIDE = """() => [...document.querySelectorAll("body *")].filter((one) =>
    !one.closest(".scroll, .hidden, svg, .skip") && one.getClientRects().length
    && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map((one) => one.outerHTML.slice(0, 80))"""
# The contrast of each text with the color behind it.
CONTRAST = """() => {
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (color) => parts(color).slice(0, 3).map((one) => one / 255)
        .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
        .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = (one) => {
        const color = getComputedStyle(one).backgroundColor;
        const seen = (parts(color)[3] ?? 1) > 0;
        return seen || !one.parentElement ? color : behind(one.parentElement);
    };
    return [...document.querySelectorAll("main *, header *, footer *")].filter((one) => one.getClientRects().length
        && !one.closest("svg") && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        .map((one) => {
            const [low, high] = [light(getComputedStyle(one).color), light(behind(one))].sort((a, b) => a - b);
            return [(high + 0.05) / (low + 0.05), one.outerHTML.slice(0, 80)];
        });
}"""
FOCUSED = (
    "() => { const one = document.activeElement; return one.dataset.setting ?? one.dataset.number ?? one.textContent; }"
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_window_does_not_scroll_sideways_and_can_be_read(open_reader, scheme):
    reader = open_reader("/", width=390, height=844, scheme=scheme)
    page = reader.page
    for path in PATHS:
        reader.follow(path)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        assert page.evaluate(TOO_WIDE) == [], path
        faint = [text for ratio, text in page.evaluate(CONTRAST) if ratio < READABLE]
        assert faint == [], path
        if path != "/":
            below = page.locator("figure.panel").first.bounding_box()["y"]
            assert below > page.locator("form.settings").bounding_box()["y"]


def test_wide_window_has_the_controls_at_the_left(open_reader):
    reader = open_reader("/rules-facts")
    form = reader.page.locator("form.settings").bounding_box()
    panels = reader.page.locator("figure.panel")
    first, second = panels.nth(0).bounding_box(), panels.nth(1).bounding_box()
    assert form["x"] + form["width"] < first["x"]
    assert second["y"] == first["y"]
    assert second["x"] > first["x"]


def test_numbers_behind_a_picture_stay_next_to_those_of_the_next(open_reader):
    reader = open_reader("/relations")
    for numbers in reader.page.locator("figure.panel details").all():
        numbers.locator("summary").click()
    reader.page.locator("figure.panel table").nth(1).wait_for()
    assert reader.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    first, second = (reader.page.locator("figure.panel .scroll").nth(at).bounding_box() for at in (0, 1))
    assert first["x"] + first["width"] < second["x"]


def test_names_and_headings(open_reader):
    reader = open_reader("/")
    page = reader.page
    inspector = reader.context.new_cdp_session(page)
    for path in PATHS:
        reader.follow(path)
        tree = inspector.send("Accessibility.getFullAXTree")["nodes"]
        seen = [one for one in tree if not one["ignored"] and one["role"]["value"] in NAMED]
        assert len(seen) > 5, path
        assert [one for one in seen if not one["name"]["value"].strip()] == [], path
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))")
        assert levels[0] == 1, path
        assert levels.count(1) == 1, path
        assert all(later <= former + 1 for former, later in pairwise(levels)), path
        for landmark in ("header", "nav", "main", "footer"):
            assert page.locator(landmark).count() == 1, path


def test_keyboard_reaches_every_control_in_order(open_reader):
    reader = open_reader("/rules-facts")
    page = reader.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    wanted = page.evaluate(
        "[...document.querySelectorAll('form.settings input, form.settings select')].filter((one) => one.offsetParent)"
        ".map((one) => one.dataset.setting ?? one.dataset.number)"
    )
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
        if "CSV" in reached[-1]:
            break
    assert "CSV" in reached[-1]
    assert [one for one in reached if one in wanted] == wanted
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url.endswith("/rules-facts")


def test_sentence_is_reported_once_the_slider_rests(open_reader):
    reader = open_reader("/rules-facts")
    page = reader.page
    reported = "() => document.getElementById('status').textContent === document.querySelector('.sentence').textContent"
    page.wait_for_function(reported)
    before = page.locator("#status").text_content()
    reader.slider().focus()
    page.keyboard.press("End")
    changed = f"(before) => document.getElementById('status').textContent !== before && ({reported})()"
    page.wait_for_function(changed, arg=before)
    assert page.locator("#status").text_content() == page.locator(".sentence").first.text_content() != before


def test_colors_are_remembered_and_do_without_memory(open_reader):
    reader = open_reader("/rules-facts")
    page, root = reader.page, reader.page.locator("html")
    button = page.get_by_role("button", name="Colors")
    ink = "() => document.querySelector('.panel-plot').layout.font.color"
    light = page.evaluate(ink)
    button.click()
    button.click()
    assert button.inner_text() == "Colors: dark"
    assert page.evaluate(ink) != light
    reader.go("/rules-facts")
    assert root.get_attribute("data-theme") == "dark"
    assert page.evaluate(ink) != light

    button.click()
    assert root.get_attribute("data-theme") is None

    broken = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('none'); }})"
    other = open_reader("/", script=broken)
    other.page.get_by_role("button", name="Colors").click()
    assert other.page.locator("html").get_attribute("data-theme") == "light"


def test_first_page_counts_and_searches_the_claims(open_reader):
    reader = open_reader("/")
    page = reader.page
    assert page.locator(".card").count() == len(VIEWS)
    line = page.locator(".claims-section > p").inner_text()
    page.get_by_text("All claims").click()
    rows = page.locator(".claims tbody tr")
    total = rows.count()
    assert f"Of {total} claims" in line
    page.get_by_label("Verdict").select_option("not reproduced")
    failed = rows.count()
    assert f"{failed} are not reproduced" in line
    page.get_by_label("Verdict").select_option("")
    page.get_by_label("Search").fill("theorem-1")
    assert 0 < rows.count() < total
    page.get_by_label("Search").fill("no such words anywhere")
    assert rows.count() == 0
    assert page.locator(".ledger [role=status]").inner_text() == "0 claims"


def test_server_that_is_gone_is_reported(open_reader):
    reader = open_reader("/rules-facts")
    page = reader.page
    page.route("**/api/**", lambda route: route.abort())
    reader.slider().focus()
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelector('.settings > .error').textContent.includes('does not answer')")
    page.unroute("**/api/**")
    before = reader.plotted()
    page.keyboard.press("Home")
    reader.wait_for_other_plot(before)
    assert page.locator(".settings > .error").inner_text() == ""
    reader.problems[:] = [one for one in reader.problems if "ERR_FAILED" not in one]
