"""An address holds the settings that differ from the default: stored, restored, gone back to, and refused."""

import json

import pytest
from reader import VIEWS


@pytest.mark.parametrize("name", VIEWS)
def test_link_restores_settings_and_curves(open_reader, name):
    reader = open_reader(f"/{name}")
    page, slider = reader.page, reader.slider()
    usual = reader.plotted()
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    reader.wait_for_other_plot(usual)
    setting = slider.get_attribute("data-setting")
    value = page.locator(f"[data-number='{setting}']").input_value()
    reader.settle_at(f"?{setting}={value}")
    changed = reader.plotted()

    reader.go(page.evaluate("location.pathname + location.search"))
    assert page.locator(f"[data-number='{setting}']").input_value() == value
    assert reader.plotted() == changed
    answer = json.loads(reader.ask(f"/api/views/{name}?{setting}={value}"))
    drawn = {one["name"]: [curve["y"] for curve in one["curves"]] for one in answer["panels"]}
    for panel, curves in changed.items():
        assert [y for title, _, y in curves if title] == drawn[panel]

    page.get_by_role("button", name="Reset").click()
    reader.settle_at("")
    assert reader.plotted() == usual


def test_back_and_forward(open_reader):
    reader = open_reader("/")
    page = reader.page
    page.locator(".card a").first.click()
    reader.settle()
    assert page.evaluate("document.activeElement.tagName") == "H1"
    reader.slider().focus()
    page.keyboard.press("End")
    reader.settle()
    page.wait_for_function("() => location.search !== ''")
    left = page.url
    changed = reader.plotted()
    page.locator("nav a", has_text="Relations").click()
    reader.settle()
    assert page.url.endswith("/relations")
    page.go_back()
    page.wait_for_function("() => location.pathname === '/semanticity'")
    reader.settle()
    assert page.url == left
    assert reader.plotted() == changed
    page.go_back()
    page.wait_for_selector(".cards")
    assert page.evaluate("location.pathname") == "/"
    page.go_forward()
    page.wait_for_selector(".workbench")
    reader.settle()
    assert page.url == left


def test_bad_link_shows_a_sentence_and_the_defaults(open_reader):
    reader = open_reader("/rules-facts")
    usual = reader.plotted()
    notice = reader.page.locator(".settings > .error")
    for query in ("?no_such_setting=3", "?sample_ratio=many", "?sample_ratio=1e99", "?%FF=1"):
        reader.go(f"/rules-facts{query}")
        assert notice.inner_text().startswith("The settings in the address cannot be used"), query
        assert reader.plotted() == usual, query
        reader.settle_at("")
    reader.slider().focus()
    reader.page.keyboard.press("End")
    reader.wait_for_other_plot(usual)
    assert notice.inner_text() == ""
