"""The page on a residual stream says the verdicts, shows every picture, and runs nothing of what it quotes."""

from dataclasses import replace

import pytest

from genlaws.figures.residual_stream.entries import PICTURES
from genlaws.report.residual_stream import residual_stream_page
from genlaws.residual_stream.results import Analysis, StreamClaim
from toy_stream_analysis import measured, whole

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def analysis():
    found = whole(constant=True)
    return replace(found, model="a <b> & c", messages=(*found.messages, "x" * 600))


@pytest.fixture(scope="module")
def html(analysis):
    return residual_stream_page(analysis)


@pytest.fixture(scope="module")
def page(html, read_page):
    return read_page(html)


def test_page_is_whole_and_needs_nothing(html, page):
    assert "script" not in page.tags
    assert page.tags.count("svg") == len(PICTURES)
    assert all(one.startswith("data:image/png;base64,") for one in page.fetched)  # heat maps and color bars
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= set(page.ids)
    assert "default-src 'none'" in html


def test_verdicts_come_first_and_whole(analysis, page):
    for claim in analysis.claims:
        for text in (claim.statement, claim.observed, claim.surrogate, claim.why):
            assert " ".join(text.split()) in page.said
        assert f"{claim.name} {claim.verdict}" in page.said
    assert len(analysis.claims) == 6
    assert page.said.index(analysis.claims[-1].why) < page.said.index("Units and steps")


def test_every_picture_has_its_caption_and_its_tables(analysis, page):
    for one in PICTURES:
        assert one.caption in page.said
        if one.figure:
            assert f"Figure {one.figure} of the paper: " in page.said
    tables = analysis.tables()
    assert "Drawn from means.csv." in page.said
    assert "information_copula.csv" in page.said
    named = {word.strip(".,") for word in page.said.split() if word.strip(".,").endswith(".csv")}
    assert named <= {f"{name}.csv" for name in tables}


def test_page_says_how_it_was_recorded(analysis, page):
    assert "Residual stream of a <b> & c" in page.said
    assert f"one token of each of {analysis.text_count} texts" in page.said
    assert "2.5e-07" in page.said
    assert "next = this + write" in page.said
    assert "from 0.attention to end" in page.said
    assert f"seed {analysis.seed}" in page.said
    assert ", ".join(analysis.surrogates) in page.said
    for message in analysis.messages:
        assert message in page.said


def test_steps_have_a_table_with_no_value_where_there_is_none(analysis, page):
    cosine = analysis.paths.cosine
    assert f"0.attention 0.mlp attention {cosine.value[0]:.3g} [{cosine.low[0]:.3g}, {cosine.high[0]:.3g}]" in page.said
    first = page.said.split("0.attention 0.mlp attention")[1].split("0.mlp 1.attention")[0]
    assert first.count("–") == 3  # the first state is constant: no correlation, no information, also not shuffled


def test_what_others_wrote_is_shown_and_does_nothing(read_page):
    found = measured(measures=("paths",))
    claims = (StreamClaim(*[ATTACK] * 6),)
    hostile = replace(found, model=ATTACK, messages=(ATTACK, ATTACK * 20), claims=claims, identity=ATTACK)
    hostile = replace(hostile, references={ATTACK: found.references["random weights"]})
    html = residual_stream_page(hostile)
    assert "<script" not in html
    assert "<img" not in html
    page = read_page(html)
    assert page.said.count("<script>alert(1)</script>") >= 10


def test_an_analysis_of_nothing_still_has_its_page(analysis, read_page):
    about = {name: getattr(analysis, name) for name in ("sites", "identity", "identity_error", "seed")}
    empty = Analysis(model="", text_count=1, row_count=3, messages=(), measures=(), surrogates=(), **about)
    page = read_page(residual_stream_page(empty))
    assert "svg" not in page.tags
    assert "No claim was judged" in page.said
    assert "Nothing was measured step by step." in page.said
    assert "3 tokens of 1 text" in page.said
