"""Requests to a real server on loopback, and how its answers and log-probabilities are read."""

import base64
import json

import numpy as np
import pytest

import scripted_server as scripted
from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt
from genlaws.models.server import NO_CHAT_SCORES, NO_SCORES
from scripted_server import OPTIONS, ScriptedServer, model_at, prompts_of, status, words_for

pytestmark = pytest.mark.usefixtures("no_key_from_outside")


def test_plain_prompts_and_chats_are_sent_as_the_protocol_says():
    picture = b"\x89PNG"
    with ScriptedServer() as server:
        model = model_at(server, max_tokens=5, seed=7, concurrency=1)
        requested = [
            Prompt("plain", OPTIONS),
            Prompt("chat", OPTIONS, chat=True),
            Prompt("seen", OPTIONS, system="Look.", chat=True, images=(picture,)),
        ]
        replies = model.reply(requested)
    assert [reply.text for reply in replies] == [words_for(prompt.text) for prompt in requested]
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
    assert none.error == "The server's reply holds no text."


def scoring(tokens_of, *, many=True, first=(), added=(" end",)):
    """Return an act that echoes prompts with log-probabilities, token k of a prompt having -k/8."""

    def act(handler, body):
        requested = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        if len(requested) > 1 and not many:
            handler.send(b'{"detail": "prompt must be a string."}', 400)
            return
        choices = []
        for place, prompt in enumerate(requested):
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
        assert model.reply(prompts_of("a", images=(b"1",)))[0].error.startswith("Pictures need a chat")
        assert not server.bodies
        with pytest.raises(InputError, match="mode must be"):
            model.stream(prompts_of("a"), "words", lambda *_: None)
