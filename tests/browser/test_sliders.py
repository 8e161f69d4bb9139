"""Every view: it opens, and a slider changes its pictures while it moves, by mouse, by key and by number."""

import time

import pytest
from reader import VIEWS

STEPS = 25
LONGEST_PACE = 15  # questions a second


@pytest.mark.parametrize("name", VIEWS)
def test_view_redraws_while_dragged_and_by_key(open_reader, name):
    reader = open_reader(f"/{name}")
    page = reader.page
    assert page.locator("h1").inner_text()
    assert page.locator("figure.panel").count() >= 2
    assert page.locator(".workbench .sentence").inner_text()
    assert page.locator(".workbench .numbers tr").count() >= 1
    assert reader.refused == []

    first = reader.plotted()
    slider = reader.slider()
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    place = float(slider.evaluate("(one) => Number(one.value) / Number(one.max)"))
    target = 0.15 if place > 0.5 else 0.85
    page.mouse.move(box["x"] + 8 + place * (box["width"] - 16), middle)
    page.mouse.down()
    page.mouse.move(box["x"] + target * box["width"], middle, steps=5)
    reader.wait_for_other_plot(first)  # the button is still down
    page.mouse.up()
    reader.settle()

    dragged = reader.plotted()
    assert dragged != first
    slider.focus()
    page.keyboard.press("Home")
    reader.wait_for_other_plot(dragged)
    reader.settle()
    before = reader.plotted()
    for _ in range(3):
        page.keyboard.press("PageUp")
    reader.wait_for_other_plot(before)
    assert slider.get_attribute("aria-valuetext") == page.locator(".control:visible output").first.inner_text()


def test_one_question_at_a_time_and_the_newest_wins(open_reader):
    reader = open_reader("/rules-facts")
    page, slider = reader.page, reader.slider()
    slider.focus()
    page.keyboard.press("Home")
    reader.settle()
    reader.questions.clear()
    started = time.monotonic()
    for _ in range(STEPS):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(10)
    spent = time.monotonic() - started
    reader.settle()
    requested = len(reader.questions)
    assert reader.most_at_once == 1
    assert 2 <= requested <= min(STEPS, LONGEST_PACE * (spent + 0.5))
    # What is shown belongs to the last step.
    name = slider.get_attribute("data-setting")
    value = page.locator(f"[data-number='{name}']").input_value()
    page.wait_for_function("(part) => location.search.includes(part)", arg=f"{name}={value}")
    shown = page.locator(".workbench .sentence").inner_text()
    reader.go(page.evaluate("location.pathname + location.search"))
    assert page.locator(".workbench .sentence").inner_text() == shown


def test_number_box_and_sentence_of_a_refusal(open_reader):
    reader = open_reader("/semanticity")
    page, slider = reader.page, reader.slider()
    name = slider.get_attribute("data-setting")
    box = page.locator(f"[data-number='{name}']")
    control = page.locator(".control", has=box)
    before = reader.plotted()
    box.fill("1e9")
    page.wait_for_function("(one) => one.textContent !== ''", arg=control.locator(".error").element_handle())
    assert name in control.locator(".error").inner_text()
    assert box.get_attribute("aria-invalid") == "true"
    assert reader.plotted() == before
    assert "1e9" not in page.url
    box.fill("")
    page.wait_for_function(
        "(one) => one.textContent.startsWith('Give a number')", arg=control.locator(".error").element_handle()
    )
    page.get_by_role("button", name="Reset").click()
    reader.settle()
    page.wait_for_function("(one) => one.textContent === ''", arg=control.locator(".error").element_handle())
    assert reader.plotted() == before
    assert reader.refused


def test_controls_that_do_not_matter_are_hidden(open_reader):
    reader = open_reader("/residual-stream")
    page = reader.page
    page.select_option("[data-setting=fit]", "none")
    reader.settle_at("?fit=none")
    shown = page.locator(".control:visible").count()
    page.select_option("[data-setting=fit]", "SmolLM2")
    reader.settle_at("")
    assert page.locator(".control:visible").count() < shown
