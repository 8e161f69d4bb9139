"""A real server on loopback that fails in every way a server can, and what is stored when a run is stopped."""

import gc
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from email.utils import formatdate

import pytest

import scripted_server as scripted
from counted_steps import CountedSteps
from genlaws.core.errors import StoppedError
from genlaws.models.server import ServerFailure
from genlaws.probes.asking import ask, ask_and_report
from genlaws.probes.store import ReplyStore
from scripted_server import LIMIT, ScriptedServer, model_at, prompts_of, status, words_for

pytestmark = pytest.mark.usefixtures("no_key_from_outside")

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
        assert server.requested == {"once": 2, "ever": 3, "fine": 1}


@pytest.mark.parametrize("way", LASTING)
def test_what_would_fail_again_is_not_tried_again(way):
    act, sentence = LASTING[way]
    with ScriptedServer({"bad": [act] * 9}) as server:
        bad, fine = model_at(server).reply(prompts_of("bad", "fine"))
        assert bad.error == sentence
        assert fine.text == words_for("fine")
        assert server.requested == {"bad": 1, "fine": 1}


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
        assert report.sent == report.different == len(prompts) - 2
        assert report.attempts == sum(server.requested.values())
        assert sum(number for why, number in report.failures if why == WRONG_SCHEMA) == 12
        assert all(count == 1 for count in server.answered.values())

        before = server.requested.copy()
        server.script.clear()
        again, report = ask_and_report(model, prompts, "text", store=store)
        assert [reply.text for reply in again] == [words_for(prompt.text) for prompt in prompts]
        failed = {prompt.text for prompt, reply in zip(prompts, replies, strict=True) if reply.error}
        assert {text for text, count in (server.requested - before).items() if count} == failed
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
    for requested in ("3600", formatdate(time.time() + 3600, usegmt=True), "soon", "-5", "1e999"):
        with ScriptedServer({"a": [status(429, Retry_After=requested)]}) as server:
            took, reply = seconds(model_at(server, longest_wait=0.05))
            assert took < 5
            assert reply.text


def test_waits_double_are_spread_and_the_same_every_time():
    def waits(seed, sent):
        server = model_at("http://localhost:1", seed=seed, longest_wait=5)._server
        return [server._wait(ServerFailure("", may_pass=True), sent, attempt) for attempt in range(1, 8)]

    assert waits(0, b"a") == waits(0, b"a")
    assert waits(0, b"a") != waits(0, b"b")
    assert waits(0, b"a") != waits(1, b"a")
    for place, wait in enumerate(waits(0, b"a")):
        assert min(0.25 * 2**place, 5) <= wait <= min(0.5 * 2**place, 5)


def test_each_request_has_its_own_repeats():
    with ScriptedServer(usual=status(500)) as server:
        replies = model_at(server, retries=2).reply(prompts_of(*"abcd"))
        assert all(reply.error for reply in replies)
        assert server.requested == dict.fromkeys("abcd", 3)


def test_a_server_that_turns_two_in_five_away_loses_nothing_however_many_are_asked():
    with ScriptedServer(usual=scripted.busy(0.4)) as server:
        model = model_at(server, retries=10, concurrency=8, longest_wait=0.001)
        replies, report = ask_and_report(model, prompts_of(*map(str, range(500))), "text")
        assert not any(reply.error for reply in replies)
        assert report.attempts == sum(server.requested.values()) > 750  # a third of them repeats


@pytest.mark.parametrize("act", [status(401, "bad key"), status(500), scripted.close_at_once])
def test_a_server_that_only_fails_is_given_up(act, tmp_path):
    with ScriptedServer(usual=act) as server, ReplyStore(tmp_path / "answers") as store:
        model = model_at(server, retries=0, give_up_after=5, concurrency=1)
        replies, report = ask_and_report(model, prompts_of(*map(str, range(30))), "text", store=store)
        assert sum(server.requested.values()) == 5
        assert replies[-1].error == f"Not sent, since 5 prompts in a row had failed. {replies[0].error}"
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


class KeepingHandler(scripted.Handler):
    """Keeps a connection for further requests, as the servers of models do."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1


@pytest.fixture
def keeping():
    with ScriptedServer() as server:
        server.RequestHandlerClass, server.connections = KeepingHandler, 0
        yield server


def test_requests_share_connections(keeping):
    model = model_at(keeping, concurrency=3)
    for _ in range(2):
        assert not any(reply.error for reply in model.reply(prompts_of(*map(str, range(30)))))
    assert 1 <= keeping.connections <= 3


def test_a_connection_that_the_server_closed_is_not_used_again(keeping):
    def answer_and_close(handler, body):
        scripted.answer(handler, body)
        handler.close_connection = True

    keeping.usual = answer_and_close
    model = model_at(keeping, concurrency=1, retries=0)
    for number in range(5):
        assert model.reply(prompts_of(str(number)))[0].text == words_for(str(number))
        time.sleep(0.05)  # until the connection is closed
    assert keeping.connections == 5


def test_a_reply_that_was_given_up_does_not_leak_into_the_next(keeping):
    keeping.script = {"huge": [scripted.huge], "broken": [scripted.close_in_middle], "500": [status(500, "x" * 10**6)]}
    model = model_at(keeping, concurrency=1, retries=0)
    replies = model.reply(prompts_of("huge", "a", "broken", "b", "500", "c"))
    assert [reply.text for reply in replies[1::2]] == [words_for(text) for text in "abc"]
    assert all(reply.error for reply in replies[::2])


def test_more_requests_at_once_than_a_usual_pool_holds():
    with ScriptedServer(usual=scripted.together(101)) as server:
        server.request_queue_size = 200
        server.socket.listen(200)
        replies = model_at(server, concurrency=150, retries=0).reply(prompts_of(*map(str, range(150))))
        assert server.most_at_once > 100
        assert not any(reply.error for reply in replies)


def test_connections_end_with_the_model(keeping):
    model = model_at(keeping, concurrency=1)
    client = model._server._client
    assert model.reply(prompts_of("a"))[0].text
    assert not client.is_closed
    del model
    gc.collect()
    assert client.is_closed


def test_a_compressed_reply_is_not_asked_for_nor_unpacked():
    packed = gzip.compress(b" " * 10_000_000)
    with ScriptedServer({"a": [lambda handler, body: handler.send(packed, Content_Encoding="gzip")] * 9}) as server:
        (reply,) = model_at(server).reply(prompts_of("a"))
        assert reply.error == "The server's reply is not UTF-8."
        assert server.headers[0]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("stop", "error"),
    [
        (lambda _: signal.raise_signal(signal.SIGINT), KeyboardInterrupt),
        (lambda steps: steps.running.cancel(), StoppedError),
    ],
)
def test_an_interrupt_keeps_what_was_answered_and_what_is_under_way(stop, error, tmp_path):
    texts = [str(number) for number in range(40)]

    class Interrupted(CountedSteps):
        def advance(self, n=1):
            super().advance(n)
            if self.done == 5:
                stop(self)

    with ScriptedServer(usual=scripted.slow(0.02)) as server, ReplyStore(tmp_path / "answers") as store:
        model = model_at(server, concurrency=4)
        with pytest.raises(error):
            ask(model, prompts_of(*texts), "text", store=store, running=Interrupted().running)
        assert 5 <= len(store) < 40
        assert len(store) == sum(server.requested.values())
        ask(model, prompts_of(*texts), "text", store=store)
        assert set(server.requested.values()) == {1}
        assert len(server.requested) == 40


PROGRAM = """
import sys
from genlaws.probes.asking import ask
from genlaws.models.interface import Prompt
from genlaws.models.server import ServerModel
from genlaws.probes.store import ReplyStore
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
        selected = {json.loads(line)["prompt"]["text"] for line in file.read_bytes().split(b"\n")[:-1]}
        assert KILLED_AFTER - 1 <= len(selected) < count
        before = server.requested.copy()
        assert set(before.values()) == {1}
        assert selected <= set(before)
        assert len(before) - len(selected) <= 2 * 4 + cut  # under way, or answered while it died
        assert subprocess.run([*command, *arguments], check=False, timeout=LIMIT).returncode == 0
        asked_again = server.requested - before
        assert not selected & set(asked_again)
        assert set(asked_again.values()) == {1}
        assert selected | set(asked_again) == {str(number) for number in range(count)}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {line["prompt"]["text"]: line["text"] for line in lines} == {
        str(number): words_for(str(number)) for number in range(count)
    }
    assert len(lines) == count
