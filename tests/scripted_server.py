"""A real HTTP server on loopback that answers, or fails in the way its script says, and counts the requests."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from genlaws.models.interface import Prompt
from genlaws.models.server import ServerModel

OPTIONS = ("Anna", "Boris")
LIMIT = 60.0  # seconds a process may take on a busy machine
Act = Callable[["Handler", dict[str, Any]], None]


class ScriptedServer(ThreadingHTTPServer):
    """Acts on each prompt as its script says, one act per request; answers when the script has ended."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, script: dict[str, list[Act]] | None = None, usual: Act | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.usual = dict(script or {}), usual or answer
        self.requested: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.at_once = self.most_at_once = 0
        self.ended = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class Handler(BaseHTTPRequestHandler):
    server: ScriptedServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, server = prompt_in(body), self.server
        with server.lock:
            place = server.requested[prompt]
            server.requested[prompt] += 1
            server.bodies.append(body)
            server.paths.append(self.path)
            server.headers.append(dict(self.headers))
            self.inside = 1
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            script = server.script.get(prompt, [])
            (script[place] if place < len(script) else server.usual)(self, body)
        finally:
            self.leave()

    def leave(self) -> None:
        """Count this request as done, once: before its last bytes go out, after which the client may send another."""
        with self.server.lock:
            self.server.at_once -= self.inside
            self.inside = 0

    def send(self, content: bytes, code: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.leave()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def prompt_in(body: dict[str, Any]) -> str:
    if "messages" in body:
        content = body["messages"][-1]["content"]
        return content if isinstance(content, str) else next(part["text"] for part in content if "text" in part)
    return body["prompt"] if isinstance(body["prompt"], str) else "|".join(body["prompt"])


def words_for(prompt: str) -> str:
    """The answer to a prompt: always the same, and different from others'."""
    return f" word {hashlib.sha256(prompt.encode()).hexdigest()[:8]}"


def completion(body: dict[str, Any], words: str) -> bytes:
    choice = {"message": {"role": "assistant", "content": words}} if "messages" in body else {"text": words}
    return json.dumps({"choices": [{"index": 0, "finish_reason": "stop", **choice}]}).encode()


def answer(handler: Handler, body: dict[str, Any]) -> None:
    handler.send(completion(body, words_for(prompt_in(body))))
    with handler.server.lock:
        handler.server.answered[prompt_in(body)] += 1


def say(words: str | None) -> Act:
    return lambda handler, body: handler.send(completion(body, words))


def status(code: int, message: str = "", **headers: str) -> Act:
    content = json.dumps({"error": {"message": message}}).encode() if message else b""
    return lambda handler, body: handler.send(content, code, **headers)


def busy(share: float) -> Act:
    """Turn this share of the requests away, the same ones every time."""

    def act(handler: Handler, body: dict[str, Any]) -> None:
        prompt = prompt_in(body)
        drawn = hashlib.sha256(f"{prompt} {handler.server.requested[prompt]}".encode()).digest()[0] / 256
        (status(429, "Slow down.") if drawn < share else answer)(handler, body)

    return act


def raw(content: bytes) -> Act:
    return lambda handler, body: handler.send(content)


def slow(seconds: float) -> Act:
    def act(handler: Handler, body: dict[str, Any]) -> None:
        handler.server.ended.wait(seconds)
        answer(handler, body)

    return act


def together(count: int) -> Act:
    """Answer once this many requests are in at once, or after `LIMIT` seconds if they never are."""

    def act(handler: Handler, body: dict[str, Any]) -> None:
        server, deadline = handler.server, time.monotonic() + LIMIT
        while server.most_at_once < count and time.monotonic() < deadline and not server.ended.wait(0.005):
            pass
        answer(handler, body)

    return act


def cut_json(handler: Handler, body: dict[str, Any]) -> None:
    handler.send(completion(body, words_for(prompt_in(body)))[:-9])


def close_in_middle(handler: Handler, body: dict[str, Any]) -> None:
    content = completion(body, words_for(prompt_in(body)))
    handler.send(content[:-9], length=len(content))
    handler.close_connection = True


def close_at_once(handler: Handler, body: dict[str, Any]) -> None:
    handler.close_connection = True


def close_in_chunk(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"ff\r\n{")
    handler.close_connection = True


def not_http(handler: Handler, body: dict[str, Any]) -> None:
    handler.wfile.write(b"\x16\x03\x01 this is no reply\r\n\r\n")
    handler.close_connection = True


def huge(handler: Handler, body: dict[str, Any]) -> None:
    size = 50_000_000
    handler.send(b"", length=size)
    piece = b" " * 65536
    for _ in range(size // len(piece)):
        handler.wfile.write(piece)


def drip(handler: Handler, body: dict[str, Any]) -> None:
    handler.send(b"", length=10_000)
    while not handler.server.ended.is_set():
        handler.wfile.write(b" ")
        time.sleep(0.02)


def model_at(server, **changed):
    """Return a model behind a server, patient with it and quick to try again."""
    settings = {"timeout": LIMIT, "longest_wait": 0.01, "retries": 2, "largest_reply": 1_000_000, "label": "here"}
    url = server if isinstance(server, str) else server.url
    return ServerModel(url, "small", **{**settings, **changed})


def prompts_of(*texts, **changed):
    return [Prompt(text, OPTIONS, **changed) for text in texts]
