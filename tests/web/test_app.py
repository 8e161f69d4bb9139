"""The contract of the API, over a small view of every kind of setting."""

import asyncio
import logging
import threading

import pytest

from genlaws.web.api import AnswerCache
from genlaws.web.openapi import AnswerBody, ClaimsBody, MeasuredBody, ViewsBody


def test_views_are_listed_with_the_controls_of_their_settings(client):
    answer = client.get("/api/views").json()
    ViewsBody.model_validate(answer)
    (line,) = answer["views"]
    assert list(line["schema"]["properties"]) == ["slope", "points", "shape", "dotted"]
    assert line["schema"]["properties"]["slope"]["control"]["kind"] == "slider"


def test_answer_names_the_settings_it_used(client):
    answer = client.get("/api/views/a-line?slope=0.5&dotted=true").json()
    AnswerBody.model_validate(answer)
    assert answer["settings"] == {"slope": 0.5, "points": 3, "shape": "line", "dotted": True}
    assert answer["panels"][0]["curves"][0]["y"] == [0.0, 0.25, 0.5]


@pytest.mark.parametrize(
    ("query", "setting", "words"),
    [
        ("slope=3", "slope", "slope must lie in [-2, 2]; got '3'."),
        ("slope=nan", "slope", "got 'nan'"),
        ("slope=NaN", "slope", "got 'nan'"),
        ("slope=-Infinity", "slope", "got '-inf'"),
        ("slope=1e999", "slope", "got 'inf'"),
        ("slope=", "slope", "got ''"),
        ("slope", "slope", "got ''"),
        ("slope=1&slope=1", "slope", "must be given once"),
        ("slope=[1]", "slope", "got '[1]'"),
        ("slope=true", "slope", "got 'true'"),
        ("slope=" + 500 * "9", "slope", "999..."),
        ("slope=" + 3000 * "9", None, "at most 2,000 characters; got 3,006"),
        ("points=2.5", "points", "points must be a whole number in [2, 50]"),
        ("points=1e400", "points", "whole number"),
        ("shape=round", "shape", "shape must be one of line, square; got 'round'."),
        ("shape=", "shape", "got ''"),
        ("dotted=1", "dotted", "dotted must be true or false; got '1'."),
        ("color=red", "color", "There is no setting 'color'; there are slope, points, shape, dotted."),
        ("%FF=1", None, "UTF-8"),
        ("&".join(200 * ["slope=1"]), None, "at most 100 settings"),
        ("shape=square&dotted=true", None, "dotted must be false for a square; got true."),
        ("slope=1.25", None, "did not converge"),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence(client, query, setting, words):
    for address in ("/api/views/a-line", "/api/views/a-line/panels/the-line.csv"):
        reply = client.get(f"{address}?{query}")
        assert reply.status_code == 422
        assert set(reply.json()) == {"error", "setting"}
        assert reply.json()["setting"] == setting
        assert words in reply.json()["error"]


def test_what_nobody_foresaw_is_logged_and_says_nothing_of_the_inside(client, caplog):
    with caplog.at_level(logging.ERROR):
        reply = client.get("/api/views/a-line?slope=1.7431")
    assert reply.status_code == 500
    assert reply.json() == {"error": "The server failed; see its log."}
    assert "secret inside" in caplog.text
    assert "default-src 'none'" in reply.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("method", "address", "status", "words"),
    [
        ("GET", "/api/views/none", 404, "There is no view 'none'; there are a-line."),
        ("GET", "/api/views/a-line/panels/none.csv", 404, "There is no picture 'none' of a-line; there are the-line."),
        ("GET", "/api/nothing", 404, "/api-docs"),
        ("GET", "/api/views/a-line/panels/..%2f..%2fapp.csv", 404, "."),
        ("POST", "/api/views", 405, "This address supports only GET, HEAD; got POST."),
        ("GET", "/api/measure", 405, "This address supports only POST; got GET."),
        ("DELETE", "/api/views/a-line", 405, "got DELETE"),
    ],
)
def test_what_is_not_there_is_refused_as_json(client, method, address, status, words):
    reply = client.request(method, address)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/json"
    assert words in reply.json()["error"].replace("HEAD, GET", "GET, HEAD")


def test_a_second_look_costs_nothing_and_gives_the_same(client):
    first, second = (client.get("/api/views/a-line?slope=0.125") for _ in range(2))
    assert first.content == second.content
    assert float(first.headers["server-timing"].removeprefix("answer;dur=")) > 0
    assert second.headers["server-timing"] == "answer;dur=0.000"


def test_cache_forgets_what_was_unused_longest():
    made = []

    async def ask():
        """Ask for four letters with room for two."""
        cache = AnswerCache(max_bytes=10)
        for name in ("a", "b", "a", "c", "a", "b"):
            assert await cache.get(name, lambda name=name: compute(name)) == name.encode() * 4
        assert cache.held_bytes == 8
        cache.close()

    def compute(name):
        """Note that it was computed."""
        made.append(name)
        return name.encode() * 4

    asyncio.run(ask())
    assert made == ["a", "b", "c", "b"]


def test_those_who_ask_the_same_at_once_wait_for_one_computation():
    made, allowed = [], threading.Event()

    async def ask():
        """Ask three times, the third time after a failure."""
        cache = AnswerCache()
        both = [asyncio.create_task(cache.get("a", compute)) for _ in range(2)]
        await asyncio.sleep(0)
        allowed.set()
        failed = await asyncio.gather(*both, return_exceptions=True)
        assert [str(one) for one in failed] == ["first", "first"]
        assert await cache.get("a", compute) == b"2"
        cache.close()

    def compute():
        """Fail the first time."""
        allowed.wait(60)
        made.append(1)
        if len(made) == 1:
            raise ValueError("first")
        return str(len(made)).encode()

    asyncio.run(ask())


def test_claims_are_counted_as_they_are_bundled(client):
    answer = client.get("/api/claims").json()
    ClaimsBody.model_validate(answer)
    assert sum(answer["counts"].values()) == len(answer["claims"]) > 100
    assert {paper: sum(verdicts.values()) for paper, verdicts in answer["papers"].items()} == {
        paper: sum(one["paper"] == paper for one in answer["claims"]) for paper in answer["papers"]
    }


def test_document_names_every_setting_with_its_range_and_default(client):
    document = client.get("/openapi.json").json()
    slope, points, shape, dotted = document["paths"]["/api/views/a-line"]["get"]["parameters"]
    assert slope["schema"] == {"default": 1.0, "minimum": -2.0, "maximum": 2.0, "type": "number"}
    assert points["schema"]["type"] == "integer"
    assert shape["schema"]["enum"] == ["line", "square"]
    assert dotted["schema"]["default"] is False
    assert {"404", "405", "422"} <= set(document["paths"]["/api/views/a-line/panels/{panel}.csv"]["get"]["responses"])
    assert {"413", "415", "422", "503"} <= set(document["paths"]["/api/measure"]["post"]["responses"])
    assert set(document["components"]["schemas"]) >= {AnswerBody.__name__, MeasuredBody.__name__}


def test_page_of_the_api_names_every_address_and_has_nothing_inline(client):
    page = client.get("/api-docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in page
    assert "<script" not in page
    assert "style=" not in page
    assert "-2 to 2" in page
