"""A model behind a server that speaks the OpenAI protocol: vLLM, llama.cpp, Ollama, transformers serve, a hosted one.

The address of the server and its key are checked before anything is sent. Each request ends with an answer in JSON, or
with a sentence that states why there is none. A temporary failure (a broken connection, a busy server) is tried again
after a growing wait; a permanent one is not. The key is read from the environment for each request, and is never stored
or shown. Requests share the connections of one httpx client.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import math
import os
import re
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import responses
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

import numpy as np

from genlaws.core.arguments import Array, non_negative, one_of, positive, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.models.interface import MODES, NO_PLAIN_PICTURES, Keep, Prompt, Reply

if TYPE_CHECKING:
    import httpx

Post = Callable[[str, Mapping[str, object]], Any]  # sends a body to a path and returns the answer
DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
WRONG_SCHEMA = "The server's reply does not have the form of an OpenAI completion."
SCORE_FIELDS = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}  # 0 tokens mean "no limit" to some
IDLE_SECONDS = 2.0  # an unused connection stays open for this time; servers close theirs after 5 s or later
FIRST_WAIT_SECONDS = 0.5  # seconds before the first repeat; doubled for each further one
MAX_QUOTE_LENGTH = 200  # characters of a server's own message in an error
MIN_KEY_LENGTH = 8  # a shorter key, such as "none", is a placeholder and is not searched for in a server's text
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a small compressed reply could fill the memory
    "User-Agent": "genlaws",
}
RETRY_STATUSES = {408, 429}  # with all of 500 and above
CLOSED_IN_THE_MIDDLE = "The server closed the connection in the middle of its reply."
NO_SCORES = "The server gives no log-probabilities of a prompt (completions with echo and logprobs); use text mode."
NO_CHAT_SCORES = "A server gives no log-probabilities of answers in a chat; use a plain template, or text mode."
PROMPT_STATUSES = {400, 413, 422}  # the prompt is at fault, and the next one may work
UNSUPPORTED_STATUSES = {400, 404, 405, 422, 501}  # the server does not support the request
CONNECTION_FAILURES = {
    ssl.SSLCertVerificationError: "The server's certificate is not trusted.",
    socket.gaierror: "The server's name is unknown.",
    ConnectionRefusedError: "No server listens at the address.",
    ConnectionError: CLOSED_IN_THE_MIDDLE,
}
RESERVED_FIELDS = {"model", "prompt", "messages", "echo", "logprobs", "top_logprobs", "stream", "n", "stop"}


def checked_address(url: object, key_variable: object) -> str:
    """Return the address of a server without its last slash, ``/v1`` added where it has no path.

    Raises
    ------
    InputError
        If it is not an address, or the key it needs is not in the environment or would travel in the clear.
    """
    try:
        parts = urlsplit(url.strip() if isinstance(url, str) else "")
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not parts.netloc.isascii() or any(mark in parts.netloc + parts.path for mark in " \t\r\n"):
        raise InputError(f"url must be like http://localhost:8000/v1 or https://host/v1; got {_shown(url)}.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError("url must hold no name, password, question mark or hash; a key belongs in the environment.")
    _check_key(parts, key_variable)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}"


def _check_key(parts: SplitResult, variable: object) -> None:
    if variable is None:
        return
    if not isinstance(variable, str) or not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", variable):
        raise InputError("api_key_variable must be the name of an environment variable, or None; it is not the key.")
    key = key_in(variable)
    named = variable if variable.isupper() else "named by api_key_variable"  # it may be the key, put there by mistake
    if not key and (parts.scheme == "https" or variable != DEFAULT_KEY_VARIABLE):
        raise InputError(
            f"The environment variable {named} holds no key for {parts.hostname}; set it, or give "
            "api_key_variable=None for a server without one."
        )
    if not all("!" <= mark <= "~" for mark in key):
        raise InputError(f"The key in the environment variable {named} has characters that no key can have.")
    if key and parts.scheme == "http" and not is_here(parts):
        raise InputError(
            f"The key in {named} would travel unencrypted to {parts.hostname}; use https, or give "
            "api_key_variable=None."
        )


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def key_in(variable: str | None) -> str:
    """Return the key an environment variable holds; empty for none."""
    return os.environ.get(variable, "").strip() if variable else ""


def is_here(parts: SplitResult) -> bool:
    """Return whether an address is on this machine."""
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.hostname == "localhost"


def messages_of(prompt: Prompt) -> list[dict[str, object]]:
    """Return a chat in the form of the protocol, with its pictures before the text."""
    content: object = prompt.text
    if prompt.images:
        pictures = ["data:image/png;base64," + base64.b64encode(image).decode() for image in prompt.images]
        content = [
            *({"type": "image_url", "image_url": {"url": picture}} for picture in pictures),
            {"type": "text", "text": prompt.text},
        ]
    first: list[dict[str, object]] = [{"role": "system", "content": prompt.system}] if prompt.system else []
    return [*first, {"role": "user", "content": content}]


def text_in(body: Any, chat: bool, stop: Sequence[str]) -> str:
    """Return the text of a reply, up to the first stop: some servers include the stop in the text."""
    choice = _choices(body, 1)[0]
    if chat:
        message = choice.get("message")
        text = message.get("content") if isinstance(message, dict) else None
    else:
        text = choice.get("text")
    if text is None and chat and isinstance(choice.get("message"), dict):
        raise ServerFailure("The server's reply holds no text.")
    if not isinstance(text, str):
        raise ServerFailure(WRONG_SCHEMA)
    return re.split("|".join(map(re.escape, stop)), text, maxsplit=1)[0] if stop else text


def scores_in(body: Any, text: str, answers: Sequence[str]) -> Array:
    """Return the log-probability of each answer after a text, from echoed prompts with their log-probabilities."""
    choices = _choices(body, len(answers))
    return np.array([_score(choice, text, answer) for choice, answer in zip(choices, answers, strict=True)])


def _choices(body: Any, count: int) -> list[dict[str, Any]]:
    """Return the choices of a reply in the order in which they were requested."""
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or len(choices) != count or not all(isinstance(one, dict) for one in choices):
        raise ServerFailure(WRONG_SCHEMA)
    places = [one.get("index", place) for place, one in enumerate(choices)]
    if sorted(places, key=str) != sorted(range(count), key=str):
        raise ServerFailure(WRONG_SCHEMA)
    return [choices[places.index(place)] for place in range(count)]


def _score(choice: dict[str, Any], text: str, answer: str) -> float:
    """Sum the log-probabilities of the tokens that reach into the answer.

    The answer is found from the end of the tokens, since they may begin with marks that are not in the prompt. The
    last token may be one that the server added. Where a token before the answer cannot be written (part of a letter),
    what comes after the last letter beyond ASCII is compared.
    """
    record = choice.get("logprobs")
    tokens, numbers = (record.get("tokens"), record.get("token_logprobs")) if isinstance(record, dict) else (None, None)
    if not isinstance(tokens, list) or not isinstance(numbers, list) or len(tokens) != len(numbers):
        raise ServerFailure("The server's reply holds no log-probabilities of the prompt.")
    if not all(isinstance(token, str) for token in tokens):
        raise ServerFailure(WRONG_SCHEMA)
    ends = list(accumulate(map(len, tokens)))
    whole = "".join(tokens)
    plain = re.split(r"[^\x00-\x7f]", text)[-1] + answer
    for tail in (text + answer, plain):
        for last in (len(tokens) - 1, len(tokens)):
            end = ends[last - 1] if last > 0 else 0
            if whole[:end].endswith(tail):
                begin = end - len(answer)
                inside = [numbers[place] for place in range(last) if ends[place] > begin]
                return _total(inside)
    raise ServerFailure("The tokens of the server's reply do not spell the prompt.")


def _total(numbers: list[Any]) -> float:
    if not all(isinstance(number, int | float) and number <= 0.0 for number in numbers):
        raise ServerFailure("The log-probabilities of the server's reply are not numbers up to 0.")
    return math.fsum(numbers)


class ServerFailure(Exception):  # noqa: N818 - never leaves the probes; it becomes the error of a reply
    """A request failed.

    Attributes
    ----------
    status : int
        HTTP status of the answer; 0 if there was none.
    may_pass : bool
        Whether the failure is temporary, so that another attempt may succeed.
    wait : float
        Seconds of waiting that the server requests; 0 if it requests none.
    """

    def __init__(self, sentence: str, *, status: int = 0, may_pass: bool = False, wait: float = 0.0) -> None:
        super().__init__(sentence)
        self.status, self.may_pass, self.wait = status, may_pass, wait


@dataclass
class Server:
    """An address to which JSON is sent and from which JSON comes back.

    Attributes
    ----------
    url : str
        Where the paths begin, such as ``https://host/v1``.
    key_variable : str or None
        The environment variable that holds the key.
    timeout : float
        Seconds a server may be silent, and after which a reply that is still coming is given up.
    retries : int
        How often each request is tried again.
    longest_wait : float
        Most seconds between two attempts, whatever the server asks for.
    largest_reply : int
        Bytes after which a reply is given up.
    seed : int
        Of the random part of the waits.
    """

    url: str
    key_variable: str | None
    timeout: float
    retries: int
    longest_wait: float
    largest_reply: int
    seed: int

    def __post_init__(self) -> None:
        import httpx  # noqa: PLC0415 - optional, and slow to load

        try:
            self._client = httpx.Client(
                headers=HEADERS,
                timeout=self.timeout,
                verify=ssl.create_default_context(),  # certificates that the system trusts
                trust_env=not is_here(urlsplit(self.url)),  # no proxy between this machine and itself
                limits=httpx.Limits(keepalive_expiry=IDLE_SECONDS),  # as many connections as there are threads
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # stores none
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise InputError(f"The proxy in the environment cannot be used: {error}") from None
        weakref.finalize(self, self._client.close)

    def post(self, path: str, body: Mapping[str, object], stop: threading.Event, attempts: list[int]) -> Any:
        """Return what the server answers; `stop` ends the retries, and `attempts` gets the number of each attempt.

        Raises
        ------
        ServerFailure
            If there is no answer after all attempts.
        """
        sent = json.dumps(body).encode()
        attempt = 1
        while True:
            attempts.append(attempt)
            try:
                return self._exchange(path, sent)
            except ServerFailure as failure:
                more = failure.may_pass and attempt <= self.retries and not stop.is_set()
                if not more or stop.wait(self._wait(failure, sent, attempt)):
                    raise
            attempt += 1

    def without_key(self, text: str) -> str:
        """Return a text of the server with the key replaced, if it contains the key."""
        key = key_in(self.key_variable)
        return text.replace(key, "[key]") if len(key) >= MIN_KEY_LENGTH else text

    def _wait(self, failure: ServerFailure, sent: bytes, attempt: int) -> float:
        """Return seconds to wait: doubled each time with a random factor, or as long as the server requests."""
        digest = hashlib.sha256(f"{self.seed} {attempt} ".encode() + sent).digest()
        spread = 0.5 + 0.5 * int.from_bytes(digest[:4]) / 2**32
        usual: float = FIRST_WAIT_SECONDS * 2 ** (attempt - 1) * spread
        return min(max(usual, failure.wait), self.longest_wait)

    def _exchange(self, path: str, sent: bytes) -> Any:
        """Send once and return the JSON that comes back."""
        import httpx  # noqa: PLC0415

        key = key_in(self.key_variable)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        until = time.monotonic() + self.timeout
        try:
            with self._client.stream("POST", self.url + path, content=sent, headers=headers) as response:
                if not response.is_success:
                    raise self._http_error(response, until)
                return self._completed(self._content(response, until))
        except (httpx.TimeoutException, TimeoutError):
            raise ServerFailure(f"The server did not answer within {self.timeout:g} s.", may_pass=True) from None
        except httpx.RemoteProtocolError:
            raise ServerFailure(CLOSED_IN_THE_MIDDLE, may_pass=True) from None
        except httpx.HTTPError as error:
            raise _broken(error) from None

    def _content(self, response: httpx.Response, until: float) -> bytes:
        """Read a reply piece by piece, within the time and the size allowed."""
        content = bytearray()
        for piece in response.iter_raw():
            content += piece
            if len(content) > self.largest_reply:
                raise ServerFailure(f"The server's reply is larger than {self.largest_reply} bytes.")
            if time.monotonic() > until:
                raise TimeoutError
        return bytes(content)

    def _completed(self, content: bytes) -> Any:
        """Return the JSON of a reply; some servers send an error with the status of success."""
        body = _parsed(content)
        if isinstance(body, Mapping) and body.get("error") and "choices" not in body:
            raise ServerFailure(
                _with_full_stop(f"The server answered with an error{self._quoted(body)}"), may_pass=True
            )
        return body

    def _quoted(self, body: Any) -> str:
        """Return the error message of a server, to be appended to a sentence."""
        text = " ".join(self.without_key(_error_text(body)).split())[:MAX_QUOTE_LENGTH]
        return f": {text}" if text else ""

    def _http_error(self, response: httpx.Response, until: float) -> ServerFailure:
        """Return the failure for an answer with a status other than success."""
        status = response.status_code
        if 300 <= status < 400:
            target = urlsplit(response.headers.get("Location", "")).hostname or "another address"
            sentence = f"The server redirects to {target}, which is not followed; give the final address as url."
            return ServerFailure(sentence, status=status)
        meaning, quote = responses.get(status, "unknown status").lower(), ""
        with suppress(Exception):  # the status is known, whatever happens to the text
            quote = self._quoted(_parsed(self._content(response, until)))
        return ServerFailure(
            _with_full_stop(f"The server answered {status} ({meaning}){quote}"),
            status=status,
            may_pass=status in RETRY_STATUSES or status >= 500,
            wait=_requested_wait(response.headers.get("Retry-After", "")),
        )


def _parsed(content: bytes) -> Any:
    if not content.strip():
        raise ServerFailure("The server's reply is empty.", may_pass=True)
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ServerFailure("The server's reply is not UTF-8.", may_pass=True) from None
    except (ValueError, RecursionError):
        raise ServerFailure("The server's reply is not JSON, or was cut short.", may_pass=True) from None


def _broken(error: httpx.HTTPError) -> ServerFailure:
    """Return the failure for a connection that broke or was never made."""
    cause: BaseException = error
    while cause.__context__ is not None:
        cause = cause.__context__
    for kind, sentence in CONNECTION_FAILURES.items():
        if isinstance(cause, kind):
            return ServerFailure(sentence, may_pass=kind is not ssl.SSLCertVerificationError)
    return ServerFailure(f"The connection to the server failed ({type(cause).__name__}).", may_pass=True)


def _with_full_stop(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _error_text(found: Any) -> str:
    """Return the error message of a server, if it is in a usual place; empty otherwise."""
    for name in ("error", "message", "detail"):
        inner = found.get(name) if isinstance(found, Mapping) else None
        found = inner if isinstance(inner, str | Mapping) else found
    return found if isinstance(found, str) else ""


def _requested_wait(text: str) -> float:
    """Return the seconds of a Retry-After header, which may hold a number or a date."""
    try:
        if text.strip()[:1].isdigit():
            return max(float(text), 0.0)
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return 0.0


class ServerModel:
    """A model queried over HTTP.

    Every failure of a request becomes the error of its reply. A temporary failure is tried again, after a wait that
    doubles each time or as long as the server requests.

    Parameters
    ----------
    url : str
        Such as ``http://localhost:8000`` or ``https://host/api/v1``; ``/v1`` is added where there is no path.
    model : str
        What the server calls the model.
    api_key_variable : str or None
        The environment variable with the key. A key must be there for an https address; None sends none.
    temperature : float
        0 is greedy.
    seed : int
        Sent with each request; also the seed of the random part of the waits.
    max_tokens : int
        Most tokens of an answer in text mode.
    stop : sequence of str, optional
        Where an answer in text mode ends. If not given, at the end of the line for plain prompts, nowhere in chats.
    options : mapping, optional
        Further fields of a request for text, as a server needs them; None takes a field out.
    label : str
        Name of the server in cached answers, so that they are found when it moves; its address if not given.
    timeout : float
        Seconds a server may be silent, and after which a reply that is still coming is given up.
    retries : int
        How often each request is tried again. With 4, a server that rejects two requests in five loses one in 100.
    longest_wait : float
        Most seconds between two attempts.
    concurrency : int
        Requests under way at once.
    give_up_after : int
        After this many prompts in a row have failed on the server's side, the rest are not sent.
    largest_reply : int
        Bytes.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key_variable: str | None = DEFAULT_KEY_VARIABLE,
        temperature: float = 0.0,
        seed: int = 0,
        max_tokens: int = 16,
        stop: Sequence[str] | None = None,
        options: Mapping[str, object] | None = None,
        label: str = "",
        timeout: float = 60.0,
        retries: int = 4,
        longest_wait: float = 60.0,
        concurrency: int = 4,
        give_up_after: int = 20,
        largest_reply: int = 8_000_000,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise InputError(f"model must be the name the server knows the model by; got {model!r}.")
        self._server = Server(
            url=checked_address(url, api_key_variable),
            key_variable=api_key_variable,
            timeout=float(scalar("timeout", positive("timeout", timeout))),
            retries=whole_number("retries", retries),
            longest_wait=float(scalar("longest_wait", non_negative("longest_wait", longest_wait))),
            largest_reply=whole_number("largest_reply", largest_reply, at_least=1),
            seed=whole_number("seed", seed),
        )
        self._model = model
        self._stop = _checked_stop(stop)
        self._fields = {
            "temperature": float(scalar("temperature", non_negative("temperature", temperature))),
            "seed": seed,
            "max_tokens": whole_number("max_tokens", max_tokens, at_least=1),
            **_checked_options(options),
        }
        self._label = label or self._server.url
        self._concurrency = whole_number("concurrency", concurrency, at_least=1, at_most=1000)
        self._give_up_after = whole_number("give_up_after", give_up_after, at_least=1)
        self._scoring = ""  # "many" or "one" prompt in a request, or "none"; empty until tried
        self._trying = threading.Lock()

    def __repr__(self) -> str:
        return f"ServerModel({self.name!r})"

    @property
    def name(self) -> str:
        """What identifies the model, where it is, and the settings that change an answer."""
        settings = json.dumps({**self._fields, "stop": self._stop}, sort_keys=True)
        return f"{self._model} at {self._label} {settings}"

    def call_parts(self) -> dict[str, Any]:
        """Return what a call records of the model."""
        return {"name": self.name}

    def score(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return log-probabilities of the options of each prompt, where the server gives those of a prompt."""
        return self._all(prompts, "probability")

    def reply(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the text that answers each prompt."""
        return self._all(prompts, "text")

    def stream(self, prompts: Sequence[Prompt], mode: str, keep: Keep) -> None:
        """Call `keep` for every prompt with its place, the reply and the attempts made, as soon as it is there.

        When interrupted, requests under way are waited for and handed over, and no other is begun; a second interrupt
        ends the wait.
        """
        one_of("mode", mode, MODES)
        call = _Call(self._give_up_after)
        pool = ThreadPoolExecutor(self._concurrency)
        waiting: dict[Future[tuple[Reply, int]], int] = {}
        try:
            waiting = {pool.submit(self._reply_to, prompt, mode, call): place for place, prompt in enumerate(prompts)}
            _hand_over(waiting, keep)
        except BaseException:
            call.stop.set()
            for future in [future for future in waiting if future.cancel()]:
                del waiting[future]
            _hand_over(waiting, keep)
            raise
        finally:
            call.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _all(self, prompts: Sequence[Prompt], mode: str) -> list[Reply]:
        replies: dict[int, Reply] = {}
        self.stream(prompts, mode, lambda place, reply, _: replies.update({place: reply}))
        return [replies[place] for place in range(len(prompts))]

    def _reply_to(self, prompt: Prompt, mode: str, call: _Call) -> tuple[Reply, int]:
        """Return the reply to one prompt and the attempts made; nothing is raised."""
        if call.given_up:
            return Reply(error=call.given_up), 0
        attempts: list[int] = []
        post = partial(self._server.post, stop=call.stop, attempts=attempts)
        try:
            if mode == "text":
                reply = Reply(text=self._text(prompt, post))
            else:
                reply = Reply(log_probabilities=self._scores(prompt, post))
        except ServerFailure as failure:
            if failure.may_pass or (failure.status and failure.status not in PROMPT_STATUSES):
                call.failed(str(failure))
            return Reply(error=str(failure)), len(attempts)
        except Exception as error:  # an error in one prompt must not lose the answers to the others
            return Reply(error=f"The request could not be made ({type(error).__name__})."), max(len(attempts), 1)
        call.succeeded()
        return reply, len(attempts)

    def _text(self, prompt: Prompt, post: Post) -> str:
        if prompt.images and not prompt.chat:
            raise ServerFailure(NO_PLAIN_PICTURES)
        stop = self._stop if self._stop is not None else ([] if prompt.chat else ["\n"])
        content: dict[str, object] = {"messages": messages_of(prompt)} if prompt.chat else {"prompt": prompt.text}
        fields = {name: value for name, value in self._fields.items() if value is not None}
        body = {"model": self._model, **content, **fields, **({"stop": stop} if stop else {})}
        answer = post("/chat/completions" if prompt.chat else "/completions", body)
        return self._server.without_key(text_in(answer, prompt.chat, stop))

    def _scores(self, prompt: Prompt, post: Post) -> Array:
        if prompt.chat:
            raise ServerFailure(NO_CHAT_SCORES)
        with self._trying:  # the first prompt finds out what the server can do, the others wait for it
            self._scoring = self._scoring or self._tried_scoring(post)
        if self._scoring == "none":
            raise ServerFailure(NO_SCORES)
        answers = [prompt.answer_prefix + option for option in prompt.options]
        if self._scoring == "many":
            return self._scored(prompt.text, answers, post)
        return np.concatenate([self._scored(prompt.text, [answer], post) for answer in answers])

    def _scored(self, text: str, answers: list[str], post: Post) -> Array:
        """Return log-probabilities of answers from one request, with a list of prompts where there are several."""
        prompts = [text + answer for answer in answers]
        body = {"model": self._model, "prompt": prompts if len(prompts) > 1 else prompts[0], **SCORE_FIELDS}
        return scores_in(post("/completions", body), text, answers)

    def _tried_scoring(self, post: Post) -> str:
        """Return whether the server scores many prompts in a request, one, or none."""
        try:
            self._scored("Two and two", [" is"], post)
        except ServerFailure as failure:
            if failure.status in UNSUPPORTED_STATUSES or (not failure.status and not failure.may_pass):
                return "none"
            raise
        try:
            self._scored("Two and two", [" is", " make"], post)
        except ServerFailure:
            return "one"
        return "many"


class _Call:
    """What the requests of one call share: whether it was stopped, and the failures in a row."""

    def __init__(self, give_up_after: int) -> None:
        self.stop = threading.Event()
        self.given_up = ""
        self._most = give_up_after
        self._in_a_row = 0
        self._lock = threading.Lock()

    def failed(self, sentence: str) -> None:
        """Count a failure on the server's side."""
        with self._lock:
            self._in_a_row += 1
            if self._in_a_row >= self._most and not self.given_up:
                self.given_up = f"Not sent, since {self._most} prompts in a row had failed. {sentence}"

    def succeeded(self) -> None:
        """Reset the count."""
        with self._lock:
            self._in_a_row = 0


def _hand_over(waiting: dict[Future[tuple[Reply, int]], int], keep: Keep) -> None:
    """Pass each reply to `keep` when it arrives, and forget it afterward."""
    while waiting:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            keep(waiting[future], *future.result())
            del waiting[future]


def _checked_stop(stop: Sequence[str] | None) -> list[str] | None:
    if stop is None:
        return None
    if isinstance(stop, str) or not all(isinstance(one, str) and one for one in stop):
        raise InputError(f"stop must be a sequence of texts that are not empty; got {stop!r}.")
    return list(stop)


def _checked_options(options: Mapping[str, object] | None) -> dict[str, object]:
    given = dict(options or {})
    taken = sorted(RESERVED_FIELDS & set(given))
    if taken:
        raise InputError(f"options must leave out what the probe sets itself; got {', '.join(taken)}.")
    try:
        json.dumps(given)
    except (TypeError, ValueError):
        raise InputError("options must hold texts, numbers, lists and mappings alone, as JSON does.") from None
    return given
