"""A model behind a server that speaks the OpenAI protocol: vLLM, llama.cpp, Ollama, transformers serve, a hosted one.

Needs no library beyond Python's own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np

from genlaws.numerics.arguments import Array, non_negative, one_of, positive, scalar, whole_number
from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes.asking import Keep
from genlaws.semanticity.probes.models import Prompt, Reply
from genlaws.semanticity.probes.server_address import USUAL_KEY, checked_address
from genlaws.semanticity.probes.server_replies import SCORE_FIELDS, messages_of, scores_in, words_in
from genlaws.semanticity.probes.server_requests import Server, ServerFailure
from genlaws.semanticity.probes.store import MODES

NO_SCORES = "The server gives no log-probabilities of a prompt (completions with echo and logprobs); ask it for words."
NO_CHAT_SCORES = "A server gives no log-probabilities of answers in a chat; use a plain template, or ask for words."
NO_PLAIN_PICTURES = "Pictures can be shown in a chat alone; use a chat template."
OF_THE_PROMPT = {400, 413, 422}  # what a server answers when a prompt is at fault and the next may do
CANNOT = {400, 404, 405, 422, 501}  # what it answers to a request for something it does not have
OWN_FIELDS = {"model", "prompt", "messages", "echo", "logprobs", "top_logprobs", "stream", "n", "stop"}


class ServerModel:
    """A model asked over HTTP.

    Every failure of a request becomes the error of its reply. What may pass is tried again, after a wait that doubles
    each time or as long as the server asks for.

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
        Sent along, and of the spread of the waits.
    max_tokens : int
        Most tokens of an answer in words.
    stop : sequence of str, optional
        Where an answer in words ends. If not given, at the end of the line for plain prompts, nowhere in chats.
    options : mapping, optional
        Further fields of a request for words, as a server needs them; None takes a field out.
    label : str
        What the server is called in kept answers, so that they are found when it moves; its address if not given.
    timeout : float
        Seconds a server may be silent, and after which a reply that is still coming is given up.
    retries : int
        How often each request is tried again. With 4, a server that turns away two requests in five loses one in 100.
    longest_wait : float
        Most seconds between two attempts.
    concurrency : int
        Requests under way at once.
    give_up_after : int
        So many prompts in a row failed on the server's side: the rest is not asked.
    largest_reply : int
        Bytes.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key_variable: str | None = USUAL_KEY,
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
        self._scoring = ""  # "many" or "one" prompt in a request, or "none"; empty until it was tried
        self._trying = threading.Lock()

    def __repr__(self) -> str:
        return f"ServerModel({self.name!r})"

    @property
    def name(self) -> str:
        """What identifies the model, where it is, and the settings that change an answer."""
        settings = json.dumps({**self._fields, "stop": self._stop}, sort_keys=True)
        return f"{self._model} at {self._label} {settings}"

    def score(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return log-probabilities of the options of each prompt, where the server gives those of a prompt."""
        return self._all(prompts, "probability")

    def reply(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the words each prompt is answered with."""
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
            waiting = {pool.submit(self._answer, prompt, mode, call): place for place, prompt in enumerate(prompts)}
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

    def _answer(self, prompt: Prompt, mode: str, call: _Call) -> tuple[Reply, int]:
        """Return the reply to one prompt and the attempts made; nothing is raised."""
        if call.given_up:
            return Reply(error=call.given_up), 0
        attempts: list[int] = []
        try:
            if mode == "text":
                reply = Reply(text=self._words(prompt, call, attempts))
            else:
                reply = Reply(log_probabilities=self._scores(prompt, call, attempts))
        except ServerFailure as failure:
            if failure.may_pass or (failure.status and failure.status not in OF_THE_PROMPT):
                call.failed(str(failure))
            return Reply(error=str(failure)), sum(attempts)
        except Exception as error:  # one prompt's fault must not cost the others their answers
            return Reply(error=f"The request could not be made ({type(error).__name__})."), max(sum(attempts), 1)
        call.succeeded()
        return reply, sum(attempts)

    def _words(self, prompt: Prompt, call: _Call, attempts: list[int]) -> str:
        if prompt.images and not prompt.chat:
            raise ServerFailure(NO_PLAIN_PICTURES)
        stop = self._stop if self._stop is not None else ([] if prompt.chat else ["\n"])
        asked: dict[str, object] = {"messages": messages_of(prompt)} if prompt.chat else {"prompt": prompt.text}
        fields = {name: value for name, value in self._fields.items() if value is not None}
        body = {"model": self._model, **asked, **fields, **({"stop": stop} if stop else {})}
        said = self._post("/chat/completions" if prompt.chat else "/completions", body, call, attempts)
        return self._server.without_key(words_in(said, prompt.chat, stop))

    def _scores(self, prompt: Prompt, call: _Call, attempts: list[int]) -> Array:
        if prompt.chat:
            raise ServerFailure(NO_CHAT_SCORES)
        with self._trying:  # the first prompt finds out what the server can do, the others wait for it
            self._scoring = self._scoring or self._tried_scoring(call, attempts)
        if self._scoring == "none":
            raise ServerFailure(NO_SCORES)
        answers = [prompt.answer_prefix + option for option in prompt.options]
        if self._scoring == "many":
            return self._scored(prompt.text, answers, call, attempts)
        return np.concatenate([self._scored(prompt.text, [answer], call, attempts) for answer in answers])

    def _scored(self, text: str, answers: list[str], call: _Call, attempts: list[int]) -> Array:
        """Return log-probabilities of answers from one request, with a list of prompts where there are several."""
        asked = [text + answer for answer in answers]
        body = {"model": self._model, "prompt": asked if len(asked) > 1 else asked[0], **SCORE_FIELDS}
        return scores_in(self._post("/completions", body, call, attempts), text, answers)

    def _tried_scoring(self, call: _Call, attempts: list[int]) -> str:
        """Return whether the server scores many prompts in a request, one, or none."""
        try:
            self._scored("Two and two", [" is"], call, attempts)
        except ServerFailure as failure:
            if failure.status in CANNOT or (not failure.status and not failure.may_pass):
                return "none"
            raise
        try:
            self._scored("Two and two", [" is", " make"], call, attempts)
        except ServerFailure:
            return "one"
        return "many"

    def _post(self, path: str, body: Mapping[str, object], call: _Call, attempts: list[int]) -> object:
        try:
            said, number = self._server.post(path, body, call.stop)
        except ServerFailure as failure:
            attempts.append(failure.attempts)
            raise
        attempts.append(number)
        return said


class _Call:
    """What the requests of one call have in common: that it was stopped, and failures in a row."""

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
                self.given_up = f"Not asked, since {self._most} prompts in a row had failed. {sentence}"

    def succeeded(self) -> None:
        """Begin to count anew."""
        with self._lock:
            self._in_a_row = 0


def _hand_over(waiting: dict[Future[tuple[Reply, int]], int], keep: Keep) -> None:
    """Give each reply to `keep` when it comes, and forget it when it was taken."""
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
    taken = sorted(OWN_FIELDS & set(given))
    if taken:
        raise InputError(f"options must leave out what the probe sets itself; got {', '.join(taken)}.")
    try:
        json.dumps(given)
    except (TypeError, ValueError):
        raise InputError("options must hold texts, numbers, lists and mappings alone, as JSON does.") from None
    return given
