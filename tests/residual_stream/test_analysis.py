"""The whole analysis: verdicts on streams whose answer is known, every measure of a real model, and what is named."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from counted_steps import CountedSteps

pytest.importorskip("transformers", reason="needs the package transformers")

from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.models.stream import Stream
from genlaws.residual_stream import MEASURES, Analysis, analyze, analyze_stream
from genlaws.residual_stream.results import (
    ALSO_HOLDS_FOR_SURROGATE,
    DOES_NOT_HOLD,
    HOLDS,
    NOT_TESTED,
    STREAM_VERDICTS,
    UNDECIDED,
)
from genlaws.residual_stream.surrogates.kinds import random_walk
from genlaws.residual_stream.verdicts import verdict_of
from small_families import FAMILIES
from small_tokenizer import small_tokenizer

SITES, UNITS, TEXTS = 65, 48, 24
WALK = {"draws": 99, "surrogates": ("random walk", "step signs", "basis rotation")}
CLAIMS = ["continuity", "acceleration", "information", "rotations", "low-dimensional path", "self-correction"]


@pytest.fixture(scope="module")
def walk():
    """Return texts that share a random walk and walk about it, with steps that grow."""
    generator = np.random.default_rng(3)
    growth = 1.02 ** np.arange(SITES)[:, None]
    steps = growth * (generator.standard_normal((SITES, UNITS)) + generator.standard_normal((TEXTS, SITES, UNITS)))
    return Stream.from_states(np.cumsum(steps, axis=1))


def verdicts(found):
    assert [claim.name for claim in found.claims] == CLAIMS
    assert {claim.verdict for claim in found.claims} <= set(STREAM_VERDICTS)
    return {claim.name: claim for claim in found.claims}


def test_what_a_random_walk_does_is_not_held_for_a_finding(walk):
    other = random_walk(walk, np.random.default_rng(9))
    found = analyze_stream(walk, supplied={"random weights": other}, **WALK)
    judged = verdicts(found)
    for name in ("continuity", "acceleration", "rotations", "low-dimensional path"):
        assert judged[name].verdict == ALSO_HOLDS_FOR_SURROGATE, judged[name]
    assert "random walk" in judged["rotations"].surrogate
    assert judged["self-correction"].verdict == NOT_TESTED
    assert found.references["random weights"].paths is not None
    assert found.references["random weights"].claims == ()
    (message,) = found.messages
    assert re.match(r"Mutual information \(copula\), transitions .* nats too low: ranks of 24 texts", message)


def test_a_planted_rotation_is_found(walk):
    generator = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(SITES) / 16
    plane = np.linalg.qr(generator.standard_normal((UNITS, 2)))[0]
    circle = 100 * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ plane.T
    noise = 0.1 * generator.standard_normal((TEXTS, SITES, UNITS))
    measures = ("rotations", "dynamics", "dimensions")
    judged = verdicts(analyze_stream(Stream.from_states(circle + noise), measures=measures, **WALK))
    assert judged["rotations"].verdict == HOLDS, judged["rotations"]
    assert "explains 1.00 of the mean steps" in judged["rotations"].why
    assert judged["low-dimensional path"].verdict == HOLDS
    assert judged["continuity"].verdict == NOT_TESTED
    # Without the fit, four rotations in 65 sites are fewer than a walk's eleven.
    alone = verdicts(analyze_stream(Stream.from_states(circle + 0 * noise), measures=("rotations",), **WALK))
    assert alone["rotations"].verdict == DOES_NOT_HOLD
    assert float(alone["rotations"].observed.split()[0]) == pytest.approx(65 / 16, abs=0.25)


def pairs_stream(first, rest, count=400, units=20):
    """Return a stream of five sites: the first step as given, the others with correlation `rest` in every unit."""
    generator = np.random.default_rng(1)
    states = [generator.standard_normal((count, units))]
    states.append(first(states[0], generator.standard_normal((count, units))))
    for _ in range(5):
        states.append(rest * states[-1] + np.sqrt(1 - rest**2) * generator.standard_normal((count, units)))
    return Stream.from_states(np.stack(states, axis=1))


def test_information_that_falls_while_correlation_rises():
    measures = ("information", "correlations")
    half = np.arange(20) < 10

    def copies(x, noise):
        """Half of the units nearly stay as they are, the others are drawn anew."""
        return np.where(half, x + 0.01 * noise, noise)

    judged = verdicts(analyze_stream(pairs_stream(copies, 0.9), measures=measures, surrogates=()))["information"]
    assert judged.verdict == ALSO_HOLDS_FOR_SURROGATE, judged
    assert "no paradox" in judged.why

    def folded(x, noise):
        """The size alone is preserved, with a random sign: no correlation, much information."""
        return np.abs(x) * np.sign(noise)

    stream = pairs_stream(folded, 0.8)
    judged = verdicts(analyze_stream(stream, measures=measures, surrogates=(), estimators=("neighbors",)))
    assert judged["information"].verdict == HOLDS, judged["information"]
    judged = verdicts(analyze_stream(pairs_stream(lambda x, noise: noise, 0.8), measures=measures, surrogates=()))
    assert judged["information"].verdict == DOES_NOT_HOLD
    assert "Information rises in the first layers, and r rises" in judged["information"].why


def test_a_constant_first_state_is_named(walk):
    states = walk.states.copy()
    states[:, 0] = states[0, 0]
    found = analyze_stream(Stream.from_states(states), measures=("correlations", "information", "dimensions"), **WALK)
    judged = verdicts(found)
    assert np.isnan(found.correlations.mean.value[0])
    assert "the state at 0.attention is the same in all texts" in judged["information"].why
    assert any("do not vary over the texts at 0.attention" in one for one in found.messages)
    assert judged["continuity"].verdict == ALSO_HOLDS_FOR_SURROGATE
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_text_and_few_texts_have_what_can_be_said_of_them(walk):
    one = analyze_stream(walk.take([0]), measures=MEASURES, **WALK)
    judged = verdicts(one)
    assert judged["continuity"].verdict == judged["acceleration"].verdict == judged["information"].verdict == NOT_TESTED
    assert judged["rotations"].verdict == ALSO_HOLDS_FOR_SURROGATE
    assert "at least 10 texts; there are 1" in judged["information"].why
    assert any("Compression needs at least 4 texts" in message for message in one.messages)
    assert one.compression is None
    json.dumps(one.to_dict(), allow_nan=False)
    assert one.tables()["paths"]["value"].notna().any()


def test_tokens_of_one_text_are_said_to_be_no_independent_texts(walk):
    texts = np.repeat(np.arange(TEXTS // 2), 2)
    found = analyze_stream(walk, texts=texts, measures=("information", "paths"), surrogates=())
    assert (found.text_count, found.row_count) == (TEXTS // 2, TEXTS)
    assert found.paths.speed.count == TEXTS // 2
    assert any("24 tokens of 12 texts as independent" in message for message in found.messages)


def test_the_rule_of_verdicts():
    sure, unsure, below = Estimate(2.0, 1.5, 2.5, 9), Estimate(2.0, 0.5, 3.5, 9), Estimate(0.2, 0.1, 0.3, 9)
    assert verdict_of(sure, {}, 1.0) == (HOLDS, "")
    assert verdict_of(sure, {"a": Estimate(0.9, 0.8, 1.1)}, 1.0) == (HOLDS, "")
    assert verdict_of(sure, {"a": Estimate(1.2, 1.1, 1.3)}, 1.0) == (HOLDS, "")
    assert verdict_of(sure, {"a": below, "b": Estimate(1.7)}, 1.0) == (ALSO_HOLDS_FOR_SURROGATE, "b")
    assert verdict_of(unsure, {}, 1.0) == (UNDECIDED, "")
    assert verdict_of(Estimate(2.0), {}, 1.0) == (NOT_TESTED, "")
    assert verdict_of(below, {"b": Estimate(1.7)}, 1.0) == (DOES_NOT_HOLD, "")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"measures": ("speed",)}, "measures must be one of paths, correlations"),
        ({"measures": ()}, "measures must name at least one"),
        ({"measures": "none"}, "measures must name at least one"),
        ({"surrogates": ("noise",)}, "surrogates must be one of random-walk"),
        ({"estimators": ("guess",)}, "estimators must be one of copula"),
    ],
)
def test_wrong_names_are_refused(walk, options, complaint):
    with pytest.raises(InputError, match=complaint):
        analyze_stream(walk, **options)


def test_every_measure_of_a_real_model(stories, wikitext):
    network, tokenizer = stories
    steps = CountedSteps()
    how = {"measures": MEASURES, "draws": 8, "running": steps.running}
    found = analyze(network, tokenizer, wikitext[:12], name="stories", **how)
    steps.check_complete()
    assert found.text_count == 12
    assert found.identity == "next = this + write"
    assert found.identity_error < 1e-6
    empty = [
        name for name, value in vars(found).items() if value is None or (isinstance(value, tuple | dict) and not value)
    ]
    assert empty == []
    assert set(found.references) == {"random weights", "shuffled tokens"}
    assert found.references["random weights"].perturbation is not None
    assert list(found.perturbation.sites) == [f"{layer}.attention" for layer in range(5)]
    assert {jump.keep_rest for jump in found.teleports} == {False, True}
    verdicts(found)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["claims"][0]["name"] == "continuity"
    assert document["paths"]["speed"]["estimates"][0]["value"] == pytest.approx(found.paths.speed.value[0])
    assert len(str(found)) < 6000
    tables = found.tables()
    assert {"claims", "means", "paths", "explained", "teleports", "information_copula_units"} <= set(tables)
    assert set(tables["paths"]["stream"]) == {"model", "random weights", "shuffled tokens"}
    assert all(len(table) for table in tables.values())
    again = replace(found, claims=())
    assert "claims" not in again.tables()
    reloaded = Analysis.from_dict(document)
    assert str(reloaded) == str(found)
    assert {"steps", "claims", "paths", "perturbation"} <= reloaded.tables().keys() < found.tables().keys()
    assert {"velocity", "perturbation"} <= reloaded.pictures().keys() < found.pictures().keys()


def test_models_that_cannot_be_read_are_named(wikitext):
    tokenizer = small_tokenizer("[B] $A")
    model = FAMILIES["llama"].build()
    with torch.no_grad():
        model.model.layers[1].mlp.down_proj.weight[0] = float("nan")
    texts = ["w3 w4 w5", "w6 w7"]
    with pytest.raises(InputError, match="not finite numbers from the site 2.attention on"):
        analyze(model, tokenizer, texts, measures=("paths",), surrogates=())
    with pytest.raises(InputError, match="unknown architecture"):
        analyze(torch.nn.Sequential(torch.nn.Linear(2, 2)), tokenizer, texts)
    found = analyze(
        FAMILIES["neox"].build(), tokenizer, ["w3 w4 \n", "w5 " * 200 + "\n"], measures=("paths",), strip=False
    )
    assert any("parallel" in message for message in found.messages)
    assert any("were cut at the end" in message for message in found.messages)


@pytest.mark.long
def test_smollm2_on_wikitext(smollm2_folder):
    hf = pytest.importorskip("transformers", reason="needs the package transformers")
    from real_models import wikitext_lines

    model = hf.AutoModelForCausalLM.from_pretrained(smollm2_folder, dtype=torch.float32).eval()
    tokenizer = hf.AutoTokenizer.from_pretrained(smollm2_folder)
    found = analyze(model, tokenizer, wikitext_lines(60), name="SmolLM2")
    judged = verdicts(found)
    assert len(found.sites) == 61
    assert judged["continuity"].verdict == ALSO_HOLDS_FOR_SURROGATE
    assert judged["acceleration"].verdict == HOLDS
    assert found.acceleration.relative_speed.high < 1
    assert judged["rotations"].verdict == ALSO_HOLDS_FOR_SURROGATE
    assert found.rotations.as_printed.mean() == pytest.approx(10.4, abs=0.5)
    assert judged["self-correction"].verdict == ALSO_HOLDS_FOR_SURROGATE
    json.dumps(found.to_dict(), allow_nan=False)
