"""What the OpenAI protocol says: how a prompt is sent, and where words and log-probabilities stand in a reply."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.semanticity.probes.models import Prompt
from genlaws.semanticity.probes.server_requests import ServerFailure

WRONG_SCHEMA = "The server's reply does not have the form of an OpenAI completion."
SCORE_FIELDS = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}  # 0 tokens mean "no limit" to some


def messages_of(prompt: Prompt) -> list[dict[str, object]]:
    """Return a chat in the form of the protocol, pictures first and inside it."""
    content: object = prompt.text
    if prompt.images:
        pictures = ["data:image/png;base64," + base64.b64encode(image).decode() for image in prompt.images]
        content = [
            *({"type": "image_url", "image_url": {"url": picture}} for picture in pictures),
            {"type": "text", "text": prompt.text},
        ]
    first: list[dict[str, object]] = [{"role": "system", "content": prompt.system}] if prompt.system else []
    return [*first, {"role": "user", "content": content}]


def words_in(body: Any, chat: bool, stop: Sequence[str]) -> str:
    """Return the words of a reply, up to the first stop: some servers give the stop along with the words."""
    choice = _choices(body, 1)[0]
    if chat:
        message = choice.get("message")
        words = message.get("content") if isinstance(message, dict) else None
    else:
        words = choice.get("text")
    if words is None and chat and isinstance(choice.get("message"), dict):
        raise ServerFailure("The server's reply holds no words.")
    if not isinstance(words, str):
        raise ServerFailure(WRONG_SCHEMA)
    return re.split("|".join(map(re.escape, stop)), words, maxsplit=1)[0] if stop else words


def scores_in(body: Any, text: str, answers: Sequence[str]) -> Array:
    """Return the log-probability of each answer after a text, from echoed prompts with their log-probabilities."""
    choices = _choices(body, len(answers))
    return np.array([_score(choice, text, answer) for choice, answer in zip(choices, answers, strict=True)])


def _choices(body: Any, count: int) -> list[dict[str, Any]]:
    """Return the choices of a reply in the order in which they were asked for."""
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
