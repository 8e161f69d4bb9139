"""Keys and addresses of a server: what is refused at the start, where a key goes, and that it is shown nowhere."""

import json

import pytest

import scripted_server as scripted
from genlaws.core.errors import InputError
from genlaws.models.server import ServerModel
from genlaws.probes.asking import ask_and_report
from genlaws.probes.store import ReplyStore
from scripted_server import ScriptedServer, model_at, prompts_of, status, words_for

pytestmark = pytest.mark.usefixtures("no_key_from_outside")

SECRET = "sk-do-not-show-0123456789"


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return SECRET


def test_a_redirect_is_not_followed_and_gets_no_key(key):
    with ScriptedServer() as elsewhere, ScriptedServer(usual=status(302, Location=elsewhere.url)) as server:
        (reply,) = model_at(server).reply(prompts_of("a"))
        assert "redirects to 127.0.0.1" in reply.error
        assert not elsewhere.requested
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
    with pytest.raises(InputError, match="has characters that no key can have") as raised:
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


def test_no_cookie_is_kept():
    with ScriptedServer({"a": [status(500, Set_Cookie="name=value; Path=/")]}) as server:
        model = model_at(server, concurrency=1)
        assert all(reply.text for reply in model.reply(prompts_of("a", "b")))
        assert len(server.headers) == 3
        assert not any("Cookie" in headers for headers in server.headers)


def test_a_proxy_of_the_environment_is_used_for_other_machines(monkeypatch):
    with ScriptedServer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert model_at("http://far.example").reply(prompts_of("a"))[0].text == words_for("a")
        assert proxy.paths == ["http://far.example/v1/completions"]
        monkeypatch.setenv("no_proxy", "far.example")
        (reply,) = model_at("http://far.example", retries=0, timeout=5).reply(prompts_of("a"))
        assert reply.error
        assert len(proxy.paths) == 1


@pytest.mark.parametrize("proxy", ["ftp://proxy.example", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_said_at_the_start(proxy, monkeypatch):
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(InputError, match="The proxy in the environment cannot be used: "):
        ServerModel("http://far.example", "small")
    ServerModel("http://localhost", "small")
