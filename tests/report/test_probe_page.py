"""The page of a probe is one file with the numbers it was given, and nothing a model says acts on it."""

from dataclasses import replace

import numpy as np
import pytest

from genlaws.core.estimate import Estimate, format_estimate, format_percent
from genlaws.models.interface import Reply
from genlaws.probes.layers.results import LayerTest, LayerTests, StateComparison
from genlaws.probes.plan import plan_probe
from genlaws.probes.probe import ProbeResult, run_probe
from genlaws.probes.simulated import SimulatedModel
from genlaws.probes.vision import pictures
from genlaws.render.html import escaped, quoted
from genlaws.report.probe import probe_page
from genlaws.semanticity.theory.many_items import generalization_of_many, identification_of_many

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>"
IN_LAYERS = Estimate(0.7125, 0.65, 0.775, 40)
BROKEN = "a\x00b\ud800c\u202ed"


class Hostile(SimulatedModel):
    """Answers some prompts with markup, and fails at others with markup in the reason."""

    def reply(self, prompts):
        return [self._spoilt(*pair) for pair in zip(prompts, super().reply(prompts), strict=True)]

    @staticmethod
    def _spoilt(prompt, reply):
        if len(prompt.text) % 11 == 0:
            return Reply(error=f"500: {ATTACK}")
        return Reply(text=f"{ATTACK}{BROKEN}") if reply.text.startswith(("I cannot", "It is")) else reply


def probed(task, mode, resolution, trials, item_counts=None, *, template=None, kind=SimulatedModel, **model):
    plan = plan_probe(task, item_counts, trials, template=template, seed=1)
    chooser = kind(plan.domain, resolution, **model)
    chooser.register(plan.trials, plan.prompts())
    return run_probe(chooser, plan, mode, shapes=("exponential",), replicates=20)


def page_of(*templates, model="someone/a <b> & c [float32]", task="years"):
    first = templates[0]
    return probe_page(ProbeResult(model, task, first.resolution.unit, first.rates.mode, 1, templates))


@pytest.fixture(scope="module")
def planted():
    return probed("years", "probability", 75.0, 28, (2, 4, 8), background=0.05)


@pytest.fixture(scope="module")
def hostile():
    return probed("years", "text", 60.0, 28, (2, 8), template="chat", kind=Hostile, unparsed_rate=0.2)


@pytest.fixture(scope="module")
def guessing():
    return probed("years", "text", 1e6, 14, (2, 8, 16))


def layers_of(template):
    """Return both tests in two made-up layers."""
    mass = np.linspace(0.0, 1.0, 9)
    p_s, p_i = generalization_of_many(mass, 2), identification_of_many(mass, 2)
    made = tuple(
        LayerTest(
            *(layer, f"block {layer}", mass, mass),
            *(p_s, p_s - 0.05, p_s + 0.05, p_i, p_i - 0.05, p_i + 0.05),
            *(IN_LAYERS, IN_LAYERS, IN_LAYERS, 0.5, IN_LAYERS, IN_LAYERS, IN_LAYERS, IN_LAYERS),
        )
        for layer in range(2)
    )
    return LayerTests("m", "years", template, 2, 40, "last", StateComparison(), made, made, (0, 0), 1.0)


@pytest.fixture(scope="module")
def html(planted):
    return page_of(replace(planted, layers=layers_of("list")))


@pytest.fixture(scope="module")
def page(html, read_page):
    return read_page(html)


def test_page_is_whole_and_needs_nothing(html, page):
    assert all(one.startswith("data:image/png;base64,") for one in page.fetched)  # the color bar of the layers
    assert "script" not in page.tags
    assert page.tags.count("svg") == 5
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= set(page.ids)
    assert "default-src 'none'" in html
    assert html.count('role="img" aria-label="') == 5


def test_page_says_the_numbers_and_what_they_mean(planted, page):
    fit, fall = planted.resolution, planted.collapse
    assert fit.determined
    assert "Probe of a <b> & c: years" in page.said
    assert f"{format_estimate(fit.resolution)} years" in page.said
    assert "exponential similarity" in page.said
    for value in (fit.background, fit.lapse, fit.excess, fall.constant, fall.limit, fall.exponent):
        assert format_estimate(value) in page.said
    for one in planted.rates.rates:
        if one.kind != "resolution":
            assert format_estimate(one.best) in page.said
        assert format_percent(one.first) in page.said
    assert f"p = {fall.tests[0].p_value:.2g}" in page.said
    assert fall.message in page.said
    assert "someone/a <b> & c [float32]" in page.said
    assert f"0 of {planted.trial_count:,}" in page.said
    assert "drawn with seed 1" in page.said
    assert "Born closest to {place}:" in page.said
    for example in planted.examples:
        assert example.answer in page.said


def test_a_guesser_gets_no_resolution(guessing, read_page):
    page = read_page(page_of(guessing))
    assert "resolution ε not determined" in page.said
    assert guessing.resolution.message.startswith("The answers do not follow the distances")
    assert guessing.resolution.message in page.said
    assert "similarity of distant things" not in page.said
    assert "no line, as no resolution is determined" in page.said
    assert "c = 1 is guessing, and lies in the interval of c." in page.said


def test_what_a_model_says_is_shown_and_does_nothing(hostile, read_page):
    assert hostile.unread
    assert hostile.rates.failed
    html = page_of(hostile, model=ATTACK, task=ATTACK)
    assert html.encode("utf-8")
    assert "<script" not in html
    assert "onerror=alert(2)>" not in html
    assert "\x00" not in html
    assert "\u202e" not in html
    page = read_page(html)
    assert "img" not in page.tags
    assert page.said.count(ATTACK) >= len(hostile.unread) + 3  # replies, the reason, the model and the task
    assert f"{ATTACK}a�b�c�d" in page.said
    assert format_percent(hostile.rates.unparsed) in page.said
    assert f"{hostile.rates.failed} of {hostile.trial_count}" in page.said
    assert "Replies that could not be read" in page.said


def test_templates_are_compared_and_the_best_comes_with_a_caveat(planted, hostile, read_page):
    example = replace(planted.examples[0], prompt=ATTACK, right=ATTACK)
    other = replace(planted, template=f"$x^ {ATTACK}", examples=(example,))
    html = page_of(hostile, other, model=ATTACK)
    page = read_page(html)
    best, *rest = (one.template for one in ProbeResult("m", "t", "", "text", 1, (hostile, other)).ordered)
    assert rest
    assert f"{best} is the furthest above chance of 2 templates" in page.said
    assert "It was chosen with these answers" in page.said
    assert page.said.index(f"Template {best}") < page.said.index(f"Template {rest[0]}")
    assert {"template-1", "template-2"} <= set(page.ids)
    assert {"template-1", "template-2"} <= set(page.links)
    assert len(page.ids) == len(set(page.ids))
    assert page.tags.count("svg") == 7
    assert not {"script", "img"} & set(page.tags)
    assert "<script" not in html


def test_pictures_are_shown_with_the_likings_for_answers(read_page):
    liked = {"circle": 0.0, "square": 0.0, "star": -0.5, "triangle": 1.0}
    with pytest.MonkeyPatch.context() as patch:  # what stands for the picture is as different as the picture
        patch.setattr(pictures, "png_of", lambda trial: repr(trial).encode())
        shapes = probed("shapes", "probability", 150.0, 12, offsets=liked)
    page = read_page(page_of(shapes, task="shapes"))
    assert page.tags.count("img") == len(shapes.examples) == 3
    assert all(one.startswith("data:image/png;base64,") for one in page.fetched)
    assert page.tags.count("svg") == 3  # items, distances, preferences
    assert "triangle 1 " in page.said
    assert "150 pixels" in page.said


def test_layers_are_drawn_under_their_template(planted, page):
    assert "Layer by layer" in page.said
    assert f"block 1 {format_estimate(IN_LAYERS)}" in page.said


def test_a_probe_without_any_reply_still_has_its_page(read_page):
    class Silent(SimulatedModel):
        def reply(self, prompts):
            return [Reply(error="The server did not answer.") for _ in prompts]

    silent = probed("years", "text", 60.0, 2, (2,), kind=Silent)
    page = read_page(page_of(silent))
    number = silent.trial_count
    assert f"failed {number} of {number}" in page.said
    assert f"{number} The server did not answer." in page.said
    assert "resolution ε not determined" in page.said
    assert "No trial of similarity or resolution got a reply." in page.said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Estimate(np.nan), "–"),
        (Estimate(3.0, 1.5, np.inf, 9), "3 [1.5, ∞]"),
        (Estimate(75.0, 70.0, 80.0, 9), "75.0 ± 5.0"),
        (Estimate(1e-9, 0.0, 0.00035, 9), "0 [0, 0.00035]"),
        (Estimate(1e-12, -1e-9, 1e-9, 9), "0"),
        (Estimate(200.0, 199.9999999, 200.0, 9), "200"),
        (Estimate(0.105, 0.05, 0.2, 9), "0.105 [0.050, 0.200]"),
    ],
)
def test_estimates_are_said_with_their_interval(given, words):
    assert format_estimate(given) == words


def test_a_share_is_said_in_per_cent():
    assert format_percent(Estimate(0.125, 0.1, 0.2, 40)) == "12.5 % [10.0, 20.0]"
    assert format_percent(Estimate(0.5)) == "50.0 %"
    assert format_percent(Estimate(np.nan)) == "–"


def test_long_texts_are_cut_and_say_so():
    assert "(1,000 characters more)" in quoted("x" * 5000)
    assert "more)" not in quoted("x" * 4000)
    assert escaped('<a b="c">&\n\t') == "&lt;a b=&quot;c&quot;&gt;&amp;\n\t"
