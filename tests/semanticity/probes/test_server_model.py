"""A model behind a real server on loopback, which answers or fails in every way a server can."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest

from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes.asking import ask, ask_and_report
from genlaws.semanticity.probes.models import Prompt
from genlaws.semanticity.probes.server_model import NO_CHAT_SCORES, NO_SCORES, ServerModel
from genlaws.semanticity.probes.store import ReplyStore

sys.path.insert(0, str(Path(__file__).parent))
import scripted_server as scripted
from scripted_server import ScriptedServer, status, words_for

SECRET = "sk-do-not-show-0123456789"
OPTIONS = ("Anna", "Boris")
LIMIT = 60.0  # seconds a process may take on a busy machine
KILLED_AFTER = 10  # answers
IMPATIENT = 1.0  # seconds
TOO_LATE = "The server did not answer within 1 s."

# What may pass: the act, and the sentence if it does not pass.
PASSING = {
    "500": (status(500, "out of memory"), "The server answered 500 (internal server error): out of memory."),
    "503": (status(503), "The server answered 503 (service unavailable)."),
    "429": (status(429, "Slow down.", Retry_After="0"), "The server answered 429 (too many requests): Slow down."),
    "408": (status(408), "The server answered 408 (request timeout)."),
    "timeout": (scripted.slow(30), TOO_LATE),
    "drip": (scripted.drip, TOO_LATE),
    "cut JSON": (scripted.cut_json, "The server's reply is not JSON, or was cut short."),
    "nested": (scripted.raw(b"[" * 100_000), "The server's reply is not JSON, or was cut short."),
    "web page": (scripted.raw(b"<html>Welcome</html>"), "The server's reply is not JSON, or was cut short."),
    "empty": (scripted.raw(b""), "The server's reply is empty."),
    "not UTF-8": (scripted.raw(b'{"choices": [{"text": "caf\xe9"}]}'), "The server's reply is not UTF-8."),
    "error with 200": (
        scripted.raw(b'{"error": {"message": "upstream gone", "code": 502}}'),
        "The server answered with an error: upstream gone.",
    ),
    "closed in middle": (
        scripted.close_in_middle,
        "The server closed the connection in the middle of its reply.",
    ),
    "closed in chunk": (scripted.close_in_chunk, "The server closed the connection in the middle of its reply."),
    "closed at once": (scripted.close_at_once, "The server closed the connection in the middle of its reply."),
    "not HTTP": (scripted.not_http, "The server closed the connection in the middle of its reply."),
}
WRONG_SCHEMA = "The server's reply does not have the form of an OpenAI completion."
LASTING = {
    "400": (status(400, "prompt too long"), "The server answered 400 (bad request): prompt too long."),
    "401": (status(401), "The server answered 401 (unauthorized)."),
    "404": (status(404, "no such model"), "The server answered 404 (not found): no such model."),
    "418": (status(418), "The server answered 418 (i'm a teapot)."),
    "redirect": (
        status(307, Location="http://elsewhere.example/v1"),
        "The server redirects to elsewhere.example, which is not followed; give the final address as url.",
    ),
    "huge": (scripted.huge, "The server's reply is larger than 1000000 bytes."),
    "no choices": (scripted.raw(b'{"choices": []}'), WRONG_SCHEMA),
    "choices of text": (scripted.raw(b'{"choices": "none"}'), WRONG_SCHEMA),
    "list": (scripted.raw(b"[1]"), WRONG_SCHEMA),
    "number for text": (scripted.raw(b'{"choices": [{"index": 0, "text": 5}]}'), WRONG_SCHEMA),
    "two choices": (scripted.raw(b'{"choices": [{"text": "a"}, {"text": "b"}]}'), WRONG_SCHEMA),
    "strange index": (scripted.raw(b'{"choices": [{"text": "a", "index": {}}]}'), WRONG_SCHEMA),
}


def model_at(server, **changed):
    settings = {"timeout": LIMIT, "longest_wait": 0.01, "retries": 2, "largest_reply": 1_000_000, "label": "here"}
    url = server if isinstance(server, str) else server.url
    return ServerModel(url, "small", **{**settings, **changed})


def prompts_of(*texts, **changed):
    return [Prompt(text, OPTIONS, **changed) for text in texts]


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return SECRET


@pytest.fixture(autouse=True)
def no_key_from_outside(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_plain_prompts_and_chats_are_sent_as_the_protocol_says():
    picture = b"\x89PNG"
    with ScriptedServer() as server:
        model = model_at(server, max_tokens=5, seed=7, concurrency=1)
        asked = [
            Prompt("plain", OPTIONS),
            Prompt("chat", OPTIONS, chat=True),
            Prompt("seen", OPTIONS, system="Look.", chat=True, images=(picture,)),
        ]
        replies = model.reply(asked)
    assert [reply.text for reply in replies] == [words_for(prompt.text) for prompt in asked]
    assert server.paths == ["/v1/completions", "/v1/chat/completions", "/v1/chat/completions"]
    common = {"model": "small", "temperature": 0.0, "seed": 7, "max_tokens": 5}
    plain, chat, seen = server.bodies
    assert plain == {**common, "prompt": "plain", "stop": ["\n"]}
    assert chat == {**common, "messages": [{"role": "user", "content": "chat"}]}
    link = {"url": "data:image/png;base64," + base64.b64encode(picture).decode()}
    content = [{"type": "image_url", "image_url": link}, {"type": "text", "text": "seen"}]
    assert seen["messages"] == [{"role": "system", "content": "Look."}, {"role": "user", "content": content}]
    assert all("Authorization" not in headers for headers in server.headers)


def test_settings_change_the_request_and_the_name():
    with ScriptedServer() as server:
        model = model_at(server, stop=["."], temperature=0.5, options={"max_tokens": None, "max_completion_tokens": 9})
        model.reply(prompts_of("a"))
        assert server.bodies[0] == {
            **{"model": "small", "prompt": "a", "temperature": 0.5, "seed": 0, "max_completion_tokens": 9},
            "stop": ["."],
        }
    assert model.name != model_at(server).name
    assert model_at(server).name == model_at("http://localhost:1").name  # the label stands for the address
    assert model_at(server, label="").name != model_at("http://localhost:1", label="").name
    for changed in ({"seed": 1}, {"max_tokens": 3}, {"stop": []}, {"temperature": 0.1}, {"options": {"top_k": 1}}):
        assert model_at(server, **changed).name != model_at(server).name
    assert model_at(server, timeout=9, retries=1, concurrency=2).name == model_at(server).name


def test_words_end_at_the_stop_where_the_server_gives_it_along():
    with ScriptedServer(usual=scripted.say(" Anna\nBoris\n")) as server:
        assert model_at(server).reply(prompts_of("a"))[0].text == " Anna"
        assert model_at(server, stop=[]).reply(prompts_of("a"))[0].text == " Anna\nBoris\n"
        assert model_at(server).reply(prompts_of("a", chat=True))[0].text == " Anna\nBoris\n"


def test_an_answer_without_words_is_an_answer_and_none_at_all_is_not():
    with ScriptedServer({"empty": [scripted.say("")], "none": [scripted.say(None)]}) as server:
        empty, none = model_at(server).reply(prompts_of("empty", "none", chat=True))
    assert empty.text == ""
    assert not empty.error
    assert none.text is None
    assert none.error == "The server's reply holds no words."


@pytest.mark.parametrize("way", PASSING)
def test_what_may_pass_is_tried_again(way):
    act, sentence = PASSING[way]
    with ScriptedServer({"once": [act], "ever": [act] * 9}) as server:
        once, ever, fine = model_at(server, timeout=IMPATIENT if sentence == TOO_LATE else LIMIT).reply(
            prompts_of("once", "ever", "fine")
        )
        assert once.text == words_for("once")
        assert ever.error == sentence
        assert fine.text == words_for("fine")
        assert server.asked == {"once": 2, "ever": 3, "fine": 1}


@pytest.mark.parametrize("way", LASTING)
def test_what_would_fail_again_is_not_tried_again(way):
    act, sentence = LASTING[way]
    with ScriptedServer({"bad": [act] * 9}) as server:
        bad, fine = model_at(server).reply(prompts_of("bad", "fine"))
        assert bad.error == sentence
        assert fine.text == words_for("fine")
        assert server.asked == {"bad": 1, "fine": 1}


def test_every_failure_at_once_loses_nothing_and_counts_nothing_twice(tmp_path):
    acts = {**PASSING, **LASTING}
    script = {f"{way} {number}": [acts[way][0]] * (1 if number else 9) for way in acts for number in (0, 1)}
    prompts = prompts_of(*script, *(f"fine {number}" for number in range(20)), "fine 0", "500 1")
    with ScriptedServer(script) as server, ReplyStore(tmp_path / "answers.jsonl") as store:
        model = model_at(server, concurrency=8, give_up_after=1000, timeout=IMPATIENT)
        replies, report = ask_and_report(model, prompts, "text", store=store)
        for prompt, reply in zip(prompts, replies, strict=True):
            way = prompt.text.rsplit(" ", 1)[0]
            fails = way in LASTING or (way in PASSING and prompt.text.endswith("0"))
            assert (reply.text, reply.error) == ((None, acts[way][1]) if fails else (words_for(prompt.text), ""))
        assert report.failed == len(PASSING) + 2 * len(LASTING)
        assert report.answered == len(store) == len(PASSING) + 20
        assert report.asked == report.different == len(prompts) - 2
        assert report.attempts == sum(server.asked.values())
        assert sum(number for why, number in report.failures if why == WRONG_SCHEMA) == 12
        assert all(count == 1 for count in server.answered.values())

        before = server.asked.copy()
        server.script.clear()
        again, report = ask_and_report(model, prompts, "text", store=store)
        assert [reply.text for reply in again] == [words_for(prompt.text) for prompt in prompts]
        failed = {prompt.text for prompt, reply in zip(prompts, replies, strict=True) if reply.error}
        assert {text for text, count in (server.asked - before).items() if count} == failed
        assert (report.found, report.answered, report.failed) == (len(PASSING) + 20, len(failed), 0)


def seconds(model, text="a"):
    begun = time.monotonic()
    (reply,) = model.reply(prompts_of(text))
    return time.monotonic() - begun, reply


def test_the_wait_a_server_asks_for_is_kept_up_to_a_cap():
    with ScriptedServer({"a": [status(429, Retry_After="1")]}) as server:
        took, reply = seconds(model_at(server, longest_wait=10))
        assert took >= 1
        assert reply.text
    with ScriptedServer({"a": [status(503, Retry_After=formatdate(time.time() + 3, usegmt=True))]}) as server:
        assert seconds(model_at(server, longest_wait=10))[0] >= 1.5
    for asked in ("3600", formatdate(time.time() + 3600, usegmt=True), "soon", "-5", "1e999"):
        with ScriptedServer({"a": [status(429, Retry_After=asked)]}) as server:
            took, reply = seconds(model_at(server, longest_wait=0.05))
            assert took < 5
            assert reply.text


def test_waits_double_are_spread_and_the_same_every_time():
    from genlaws.semanticity.probes.server_requests import ServerFailure

    def waits(seed, sent):
        server = model_at("http://localhost:1", seed=seed, longest_wait=5)._server
        return [server._wait(ServerFailure("", may_pass=True), sent, attempt) for attempt in range(1, 8)]

    assert waits(0, b"a") == waits(0, b"a")
    assert waits(0, b"a") != waits(0, b"b")
    assert waits(0, b"a") != waits(1, b"a")
    for place, wait in enumerate(waits(0, b"a")):
        assert min(0.25 * 2**place, 5) <= wait <= min(0.5 * 2**place, 5)


def test_repeats_have_a_limit_in_all():
    with ScriptedServer(usual=status(500)) as server:
        model = model_at(server, retries=5, most_retries=7, concurrency=1)
        replies = model.reply(prompts_of(*"abcd"))
        assert all(reply.error for reply in replies)
        assert server.asked == {"a": 6, "b": 3, "c": 1, "d": 1}


@pytest.mark.parametrize("act", [status(401, "bad key"), status(500), scripted.close_at_once])
def test_a_server_that_only_fails_is_given_up(act, tmp_path):
    with ScriptedServer(usual=act) as server, ReplyStore(tmp_path / "answers") as store:
        model = model_at(server, retries=0, give_up_after=5, concurrency=1)
        replies, report = ask_and_report(model, prompts_of(*map(str, range(30))), "text", store=store)
        assert sum(server.asked.values()) == 5
        assert replies[-1].error == f"Not asked, since 5 prompts in a row had failed. {replies[0].error}"
        assert [number for _, number in report.failures] == [25, 5]
        server.usual = scripted.answer
        assert not any(reply.error for reply in ask(model, prompts_of(*map(str, range(30))), "text", store=store))


def test_prompts_that_are_too_long_do_not_make_it_give_up():
    with ScriptedServer({str(number): [status(400)] for number in range(10)}) as server:
        replies = model_at(server, give_up_after=3, concurrency=1).reply(prompts_of(*map(str, range(12))))
        assert [bool(reply.error) for reply in replies] == [True] * 10 + [False] * 2


def test_no_server_is_one_sentence():
    with ScriptedServer() as server:
        url = server.url
    (reply,) = model_at(url, retries=1).reply(prompts_of("a"))
    assert reply.error == "No server listens at the address."
    (reply,) = model_at("http://name.invalid", retries=0, timeout=5).reply(prompts_of("a"))
    assert reply.error == "The server's name is unknown."


def test_requests_under_way_are_limited():
    with ScriptedServer(usual=scripted.slow(0.05)) as server:
        model_at(server, concurrency=3).reply(prompts_of(*map(str, range(18))))
        assert server.most_at_once == 3


def test_a_redirect_is_not_followed_and_gets_no_key(key):
    with ScriptedServer() as elsewhere, ScriptedServer(usual=status(302, Location=elsewhere.url)) as server:
        (reply,) = model_at(server).reply(prompts_of("a"))
        assert "redirects to 127.0.0.1" in reply.error
        assert not elsewhere.asked
        assert server.headers[0]["Authorization"] == f"Bearer {key}"


def test_the_key_is_sent_and_shown_nowhere(key, tmp_path, caplog):
    caplog.set_level(0)
    script = {
        "refused": [status(401, f"The key {SECRET} is wrong")],
        "said": [scripted.say(f" Your key is {SECRET}.")],
        "error": [scripted.raw(json.dumps({"error": f"got {SECRET}"}).encode())] * 3,
    }
    with ScriptedServer(script) as server:
        model = model_at(server)
        with ReplyStore(tmp_path / "answers.jsonl") as store:
            replies, report = ask_and_report(model, prompts_of(*script, "fine"), "text", store=store)
        assert all(headers["Authorization"] == f"Bearer {SECRET}" for headers in server.headers)
        assert not any(SECRET in json.dumps(body) for body in server.bodies)
    assert "[key]" in replies[0].error
    assert replies[1].text == " Your key is [key]."
    shown = [
        repr(model),
        str(vars(model)),
        str(vars(model._server)),
        model.name,
        repr(replies),
        str(report),
        caplog.text,
    ]
    assert not any(SECRET in text for text in shown)
    assert SECRET.encode() not in (tmp_path / "answers.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("url", "changed", "why"),
    [
        ("", {}, "url must be like"),
        (None, {}, "url must be like"),
        ("localhost:8000", {}, "url must be like"),
        ("ftp://host/v1", {}, "url must be like"),
        ("http://", {}, "url must be like"),
        ("http://host:port", {}, "url must be like"),
        ("http://ho st/v1", {}, "url must be like"),
        ("http://[::1/v1", {}, "url must be like"),
        (f"https://me:{SECRET}@host/v1", {}, "must hold no name, password"),
        (f"https://host/v1?key={SECRET}", {}, "must hold no name, password"),
        ("https://host/v1", {}, "OPENAI_API_KEY holds no key for host; set it, or give api_key_variable=None"),
        ("http://localhost", {"api_key_variable": "MY_KEY"}, "MY_KEY holds no key for localhost"),
        ("http://localhost", {"api_key_variable": SECRET}, "api_key_variable must be the name of an environment"),
        ("http://localhost", {"api_key_variable": SECRET.replace("-", "_")}, "named by api_key_variable holds no key"),
        ("http://localhost", {"api_key_variable": ""}, "api_key_variable must be the name of an environment"),
        ("http://localhost", {"timeout": 0}, "timeout must be positive"),
        ("http://localhost", {"retries": -1}, "retries must be a whole number, at least 0"),
        ("http://localhost", {"concurrency": 0}, "concurrency must be a whole number, at least 1"),
        ("http://localhost", {"temperature": -1}, "temperature must be zero or positive"),
        ("http://localhost", {"stop": "."}, "stop must be a sequence of texts"),
        ("http://localhost", {"stop": [""]}, "stop must be a sequence of texts"),
        (
            "http://localhost",
            {"options": {"prompt": ""}},
            "options must leave out what the probe sets itself; got prompt",
        ),
        ("http://localhost", {"options": {"a": {1}}}, "options must hold texts, numbers"),
    ],
)
def test_a_wrong_setting_is_said_at_the_start(url, changed, why):
    with pytest.raises(InputError, match=why) as raised:
        ServerModel(url, "small", **changed)
    assert SECRET not in str(raised.value)
    assert SECRET.replace("-", "_") not in str(raised.value)


def test_a_model_needs_a_name():
    for name in ("", " ", None):
        with pytest.raises(InputError, match="model must be the name"):
            ServerModel("http://localhost", name)


def test_a_key_does_not_travel_in_the_clear(key, monkeypatch):
    with pytest.raises(InputError, match="would travel unencrypted to far.example; use https") as raised:
        ServerModel("http://far.example", "small")
    assert SECRET not in str(raised.value)
    ServerModel("http://far.example", "small", api_key_variable=None)
    ServerModel("http://[::1]:80", "small")
    ServerModel("https://far.example", "small")
    monkeypatch.setenv("OPENAI_API_KEY", "two\nlines")
    with pytest.raises(InputError, match="holds marks that no key can hold") as raised:
        ServerModel("https://far.example", "small")
    assert "lines" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "path"),
    [("", "/v1"), ("/", "/v1"), ("/v1", "/v1"), ("/v1/", "/v1"), ("/api/v3", "/api/v3")],
)
def test_the_path_of_the_protocol_is_added_where_there_is_none(url, path):
    with ScriptedServer() as server:
        assert model_at(server.url + url).reply(prompts_of("a"))[0].text
        assert server.paths == [f"{path}/completions"]


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with ScriptedServer() as server:
        assert model_at(server).reply(prompts_of("a"))[0].text == words_for("a")


def scoring(tokens_of, *, many=True, first=(), added=(" end",)):
    """Return an act that echoes prompts with log-probabilities, token k of a prompt having -k/8."""

    def act(handler, body):
        asked = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        if len(asked) > 1 and not many:
            handler.send(b'{"detail": "prompt must be a string."}', 400)
            return
        choices = []
        for place, prompt in enumerate(asked):
            tokens = [*first, *tokens_of(prompt), *added]
            numbers = [None, *(-k / 8 for k in range(1, len(tokens)))]
            record = {"tokens": tokens, "token_logprobs": numbers}
            choices.append({"index": place, "text": prompt + "".join(added), "logprobs": record})
        handler.send(json.dumps({"choices": choices[::-1]}).encode())

    return act


def letters(prompt):
    return list(prompt)


def pieces(prompt):
    """Tokens of three marks, which do not end where the prompt does."""
    return [prompt[start : start + 3] for start in range(0, len(prompt), 3)]


def partly_written(prompt):
    """Letters, one beyond ASCII as two halves that cannot be written."""
    return [half for letter in prompt for half in (letter if letter.isascii() else "\ufffd\ufffd")]


@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("first", [(), ("<s>",)])
@pytest.mark.parametrize("added", [(), (" end",), ("",), (" Anna",)])
def test_scores_are_sums_over_the_tokens_of_each_answer(many, first, added):
    with ScriptedServer(usual=scoring(letters, many=many, first=first, added=added)) as server:
        model = model_at(server)
        replies = model.score(prompts_of("Born Anna", "ab Anna"))
        requests = len(server.bodies)
        model.score(prompts_of("Born Anna"))
    for prompt, reply in zip(("Born Anna", "ab Anna"), replies, strict=True):
        begin = len(first) + len(prompt)
        wanted = [-sum(range(begin, begin + 1 + len(option))) / 8 for option in OPTIONS]
        np.testing.assert_allclose(reply.log_probabilities, wanted, rtol=1e-12)
    tried = 2
    assert requests == tried + (2 if many else 4)
    assert len(server.bodies) == requests + (1 if many else 2)  # what it can do is tried once


def test_a_token_across_the_border_belongs_to_the_answer():
    with ScriptedServer(usual=scoring(pieces)) as server:
        (reply,) = model_at(server).score(prompts_of("Born"))  # Bor|n A|nna and Bor|n B|ori|s
    assert reply.log_probabilities.tolist() == [-3 / 8, -6 / 8]


def test_letters_the_tokens_cannot_write_are_passed_over_before_the_answer_but_not_in_it():
    with ScriptedServer(usual=scoring(partly_written)) as server:
        fine, bad = model_at(server).score([Prompt("nächst", OPTIONS), Prompt("a", ("Änne", "Anna"))])
    assert fine.log_probabilities.tolist() == [-sum(range(7, 12)) / 8, -sum(range(7, 13)) / 8]
    assert bad.error == "The tokens of the server's reply do not spell the prompt."


@pytest.mark.parametrize(
    "act",
    [
        scripted.answer,  # a server that knows neither field, such as transformers serve
        status(400, "echo is not supported"),  # llama.cpp
        status(404),  # a server of chats alone
        scripted.raw(b'{"choices": [{"text": "", "logprobs": {"tokens": ["a"], "token_logprobs": []}}]}'),
        scripted.raw(b'{"choices": [{"text": "", "logprobs": {"tokens": ["a"], "token_logprobs": [0.5]}}]}'),
    ],
)
def test_a_server_without_log_probabilities_of_a_prompt_says_so_after_one_trial(act):
    with ScriptedServer(usual=act) as server:
        replies = model_at(server).score(prompts_of(*"abcdef"))
        assert {reply.error for reply in replies} == {NO_SCORES}
        assert len(server.bodies) == 1


def test_a_failure_while_trying_is_not_the_last_word():
    with ScriptedServer(usual=status(500)) as server:
        model = model_at(server, retries=0)
        assert "500" in model.score(prompts_of("a"))[0].error
        server.usual = scoring(letters)
        assert model.score(prompts_of("a"))[0].log_probabilities is not None


def test_scores_that_are_no_log_probabilities_are_refused():
    def strange(handler, body):
        scoring(letters)(handler, body) if "Two" in str(body["prompt"]) else handler.send(
            json.dumps(
                {
                    "choices": [
                        {
                            "index": k,
                            "logprobs": {"tokens": list(text), "token_logprobs": [None] + [2.0] * len(text[1:])},
                        }
                        for k, text in enumerate(body["prompt"])
                    ]
                }
            ).encode()
        )

    with ScriptedServer(usual=strange) as server:
        (reply,) = model_at(server).score(prompts_of("a"))
    assert reply.error == "The log-probabilities of the server's reply are not numbers up to 0."


def test_what_cannot_be_asked_is_said_without_asking():
    with ScriptedServer() as server:
        model = model_at(server)
        assert model.score(prompts_of("a", chat=True))[0].error == NO_CHAT_SCORES
        assert model.reply(prompts_of("a", images=(b"1",)))[0].error.startswith("Pictures can be shown in a chat")
        assert not server.bodies
        with pytest.raises(InputError, match="mode must be"):
            model.stream(prompts_of("a"), "words", lambda *_: None)


def test_an_interrupt_keeps_what_was_answered_and_what_is_under_way(tmp_path):
    texts = [str(number) for number in range(40)]
    seen = []

    def interrupt(_):
        seen.append(1)
        if len(seen) == 5:
            signal.raise_signal(signal.SIGINT)

    with ScriptedServer(usual=scripted.slow(0.02)) as server, ReplyStore(tmp_path / "answers") as store:
        model = model_at(server, concurrency=4)
        with pytest.raises(KeyboardInterrupt):
            ask(model, prompts_of(*texts), "text", store=store, advance=interrupt)
        assert 5 <= len(store) < 40
        assert len(store) == sum(server.asked.values())
        ask(model, prompts_of(*texts), "text", store=store)
        assert set(server.asked.values()) == {1}
        assert len(server.asked) == 40


PROGRAM = """
import sys
from genlaws.semanticity.probes.asking import ask
from genlaws.semanticity.probes.models import Prompt
from genlaws.semanticity.probes.server_model import ServerModel
from genlaws.semanticity.probes.store import ReplyStore
url, path, count = sys.argv[1:]
model = ServerModel(url, "small", label="here", concurrency=4)
with ReplyStore(path) as store:
    ask(model, [Prompt(str(number), ("Anna", "Boris")) for number in range(int(count))], "text", store=store)
"""


@pytest.mark.parametrize("cut", [False, True], ids=["whole lines", "last line cut"])
def test_a_killed_run_goes_on_and_asks_no_kept_prompt_again(tmp_path, cut):
    count, file = 60, tmp_path / "answers.jsonl"
    command = [sys.executable, "-c", PROGRAM]
    with ScriptedServer(usual=scripted.slow(0.05)) as server:
        arguments = [server.url, str(file), str(count)]
        process = subprocess.Popen([*command, *arguments], env={**os.environ, "PYTHONWARNINGS": "error"})
        until = time.monotonic() + LIMIT
        while not file.exists() or file.read_bytes().count(b"\n") < KILLED_AFTER:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.2)  # answers to the dead
        if cut:
            file.write_bytes(file.read_bytes()[:-30])
        kept = {json.loads(line)["prompt"]["text"] for line in file.read_bytes().split(b"\n")[:-1]}
        assert KILLED_AFTER - 1 <= len(kept) < count
        before = server.asked.copy()
        assert set(before.values()) == {1}
        assert kept <= set(before)
        assert len(before) - len(kept) <= 2 * 4 + cut  # under way, or answered while it died
        assert subprocess.run([*command, *arguments], check=False, timeout=LIMIT).returncode == 0
        asked_again = server.asked - before
        assert not kept & set(asked_again)
        assert set(asked_again.values()) == {1}
        assert kept | set(asked_again) == {str(number) for number in range(count)}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {line["prompt"]["text"]: line["text"] for line in lines} == {
        str(number): words_for(str(number)) for number in range(count)
    }
    assert len(lines) == count
