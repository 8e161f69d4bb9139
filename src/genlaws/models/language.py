"""Probe a language model on this machine: any causal model of transformers, from a folder, an id or a GGUF file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from genlaws.core.arguments import Array, non_negative, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt, Reply
from genlaws.models.load import ModelSource, load_language_model, model_fingerprint, state_of
from genlaws.models.passes import (
    ContinuableReading,
    Continuations,
    Reader,
    StopTest,
    caches_text,
    draws_for,
    longest_first,
    read,
    read_text_alone,
    score_continuations,
    split_continuations,
    write_on,
)

# Texts of different lengths and answers of several tokens, with which a network is tried.
TRIAL_TEXTS = ("A bad egg was added in 1066:", "A cab")
TRIAL_ANSWERS = (" a face", " a bad cab")
_READS_TEXT_ONCE: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()  # by network, which is tried once
NOT_NUMBERS = "The model gave values that are not numbers; use dtype float32 or bfloat16."


@dataclass(frozen=True)
class TransformersModel:
    """A causal language model of transformers as a `ProbeModel`.

    Attributes
    ----------
    network, tokenizer : object
        As transformers loads them; the network on its device, in evaluation mode.
    source : str
        The name of the model where its answers are cached.
    batch_size : int
        Rows of one pass, at most; bounds the memory and changes no answer.
    max_new_tokens : int
        Length of a reply, at most.
    temperature : float
        0 for the likeliest word each time.
    seed : int
        Of replies at a temperature; the reply to a prompt does not depend on the other prompts.
    stop_at_newline : bool
        Whether the reply to a plain text ends with its line. A chat ends where the model ends its turn.
    """

    network: Any
    tokenizer: Any
    source: str
    batch_size: int = 16
    max_new_tokens: int = 16
    temperature: float = 0.0
    seed: int = 0
    stop_at_newline: bool = True
    _fingerprints: dict[Any, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole_number("batch_size", self.batch_size, at_least=1)
        whole_number("max_new_tokens", self.max_new_tokens, at_least=1)
        whole_number("seed", self.seed)
        scalar("temperature", non_negative("temperature", self.temperature))

    @classmethod
    def load(
        cls,
        source: ModelSource,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        local_files_only: bool = True,
        batch_size: int = 16,
        max_new_tokens: int = 16,
        temperature: float = 0.0,
        seed: int = 0,
        stop_at_newline: bool = True,
    ) -> Self:
        """Load a model and its tokenizer; a vision model with its processor, and try it with a small picture.

        Parameters
        ----------
        source : str or path
            A Hugging Face id, a folder, or a ``.gguf`` file, which holds a language model.
        device : str
            As torch names it: ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
        dtype : {"float32", "bfloat16", "float16"}
        local_files_only : bool
            Whether only what is on this machine is used; if not, an id may be downloaded.
        batch_size, max_new_tokens, temperature, seed, stop_at_newline
            As the attributes.
        """
        settings = (batch_size, max_new_tokens, temperature, seed, stop_at_newline)
        cls(None, None, "", *settings)  # a wrong setting fails before a large model is loaded
        return cls._loaded(settings, source, device, dtype, local_files_only)

    @classmethod
    def _loaded(cls, settings: tuple[int, int, float, int, bool], *given: Any) -> Self:
        """Return the model with these settings; `given` is what `load_language_model` takes."""
        network, tokenizer, name = load_language_model(*given)
        return cls(network, tokenizer, name, *settings)

    @property
    def name(self) -> str:
        """The source, and everything that changes an answer."""
        return self.identity.replace("transformers", f"transformers:{self.source}", 1)

    @property
    def identity(self) -> str:
        """The key of cached answers: a fingerprint of weights, configuration and tokenizer, and every setting.

        The location of the files is not in it: the answers of a folder are found again after it is moved, but not after
        its weights change.
        """
        dtype = str(getattr(self.network, "dtype", None)).removeprefix("torch.")
        ends = "newline" if self.stop_at_newline else "end"
        settings = f"temperature={self.temperature:g}, seed={self.seed}, tokens={self.max_new_tokens}, stop={ends}"
        return f"transformers [weights {self.fingerprint}, {dtype}, {settings}]"

    @property
    def fingerprint(self) -> str:
        """Digest of all that determines answers; computed again after weights change in place, as in training."""
        now = (state_of(self.network), getattr(self.tokenizer, "chat_template", None), frozenset(self._ends()))
        if now not in self._fingerprints:
            self._fingerprints.clear()
            self._fingerprints[now] = model_fingerprint(self.network, *self._tools(), sorted(self._ends()))
        return self._fingerprints[now]

    @property
    def reads_text_once(self) -> bool:
        """Whether a prompt is read once for all options and new words; tested when it is first needed.

        If not, as for state-space models and hybrids of them, it is read again for each; the answers are the same.
        """
        if self.network not in _READS_TEXT_ONCE:
            rows = [self._tokens(text, chat=False) for text in TRIAL_TEXTS]
            answers = [tuple(self.tokenizer.encode(text, add_special_tokens=False)) for text in TRIAL_ANSWERS]
            _READS_TEXT_ONCE[self.network] = caches_text(self.network, rows, [answers] * len(rows))
        return _READS_TEXT_ONCE[self.network]

    def score(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the exact log-probability of each option of each prompt: the sum over its tokens.

        Each prompt is read once and its options after it, where the network allows it (`reads_text_once`); prompts of
        similar length are read together. A prompt that is too long for the model is an error of its reply alone.
        """
        given = [self.continuations(one) for one in prompts]
        replies = [Reply(error=self._too_long(len(one.shared) + max(map(len, one.endings)))) for one in given]
        fine = [place for place, reply in enumerate(replies) if not reply.error]
        if not fine:
            return replies
        scores = score_continuations(self.network, [given[place] for place in fine], self.batch_size, self._reader())
        for place, score in zip(fine, scores, strict=True):
            replies[place] = scored(score)
        return replies

    def reply(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the text the model writes after each prompt, without the prompt; as `score` if one is too long."""
        rows = [self.prompt_tokens(one) for one in prompts]
        if not all(rows):
            raise InputError("A prompt must have at least one token; one of them is empty.")
        replies = [Reply(error=self._too_long(len(row) + self.max_new_tokens)) for row in rows]
        fine = [place for place, reply in enumerate(replies) if not reply.error]
        for batch in longest_first({place: len(rows[place]) for place in fine}, self.batch_size):
            reading = self._reader()(self.network, [rows[place] for place in batch])
            written = self._write(reading, [prompts[place] for place in batch], [rows[place] for place in batch])
            for place, reply in zip(batch, written, strict=True):
                replies[place] = reply
        return replies

    def continuations(self, prompt: Prompt) -> Continuations:
        """Return the tokens of a prompt and of its options, split where the options begin to differ."""
        if not prompt.options or not all(prompt.options):
            raise InputError(f"options must be at least one word, none empty; got {prompt.options!r}.")
        text = self.prompt_text(prompt)
        whole = [self._tokens(text + prompt.answer_prefix + option, prompt.chat) for option in prompt.options]
        return split_continuations(self._tokens(text, prompt.chat), whole)

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """Return the tokens of a prompt up to where the answer begins."""
        return self._tokens(self.prompt_text(prompt), prompt.chat)

    def prompt_text(self, prompt: Prompt) -> str:
        """Return what the model reads: the text of a plain prompt, or a chat in the model's own form."""
        self._check_images(prompt)
        if not prompt.chat:
            return prompt.text
        writer, messages = self._conversation(prompt)
        if not getattr(writer, "chat_template", None):
            raise InputError(f"{self.source} has no chat template; use a template that is plain text.")
        try:
            text: str = writer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # templates are programs of the model's makers; Jinja raises what they wrote
            reason = " ".join(str(error).split())[:160].rstrip(".")
            raise InputError(f"The chat template of {self.source} refused the prompt: {reason}.") from None
        return text

    def _check_images(self, prompt: Prompt) -> None:
        """Refuse pictures."""
        if prompt.images:
            raise InputError(
                f"{self.source} was loaded as a language model, which has no vision support; try VisionModel."
            )

    def _conversation(self, prompt: Prompt) -> tuple[Any, list[dict[str, Any]]]:
        """Return what puts a chat into the model's own form, and the chat."""
        first = [{"role": "system", "content": prompt.system}] if prompt.system else []
        return self.tokenizer, [*first, {"role": "user", "content": prompt.text}]

    def _tokens(self, text: str, chat: bool) -> list[int]:
        """Return the tokens of a text, without an end token that the tokenizer adds."""
        adds = self._adds_special(text, chat)
        tokens: list[int] = self.tokenizer.encode(text, add_special_tokens=adds)
        return tokens[:-1] if adds and self._end_is_added(tokens, text) else tokens

    def _adds_special(self, text: str, chat: bool) -> bool:
        """Return whether the tokenizer adds special tokens of its own; a chat template writes them itself."""
        return not chat

    def _end_is_added(self, tokens: Sequence[int], text: str) -> bool:
        """Return whether a text ends with a token that is not written in it."""
        ends = len(tokens) > 1 and tokens[-1] == self.tokenizer.eos_token_id
        return ends and not text.endswith(str(self.tokenizer.eos_token))

    def _tools(self) -> tuple[Any, ...]:
        """Return what turns a prompt into tokens."""
        return (self.tokenizer,)

    def _reader(self) -> Reader:
        return read if self.reads_text_once else read_text_alone

    def _too_long(self, length: int) -> str:
        """Return a message if a prompt with its answer is too long; empty otherwise."""
        most = getattr(self.network.config.get_text_config(), "max_position_embeddings", None)
        if most is None or length <= most:
            return ""
        return f"{self.source} reads at most {most} tokens; a prompt with its answer has {length}."

    def _write(self, reading: ContinuableReading, prompts: Sequence[Prompt], rows: Sequence[list[int]]) -> list[Reply]:
        """Return the replies to a batch of prompts that were read; `rows` are their tokens."""
        new = write_on(
            reading,
            draws=[draws_for(self.seed, row, prompt.images) for prompt, row in zip(prompts, rows, strict=True)],
            ends=self._ends(),
            done=[self._done(prompt) for prompt in prompts],
            most=self.max_new_tokens,
            temperature=self.temperature,
        )
        return [self._reply(prompt, tokens) for prompt, tokens in zip(prompts, new, strict=True)]

    def _reply(self, prompt: Prompt, tokens: list[int] | None) -> Reply:
        if tokens is None:
            return Reply(error=NOT_NUMBERS)
        text = self._decode(tokens)
        return Reply(text.partition("\n")[0] if self._by_line(prompt) else text)

    def _done(self, prompt: Prompt) -> StopTest:
        if self._by_line(prompt):
            return lambda tokens: "\n" in self._decode(tokens)
        return lambda tokens: False

    def _by_line(self, prompt: Prompt) -> bool:
        return self.stop_at_newline and not prompt.chat

    def _decode(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def _ends(self) -> set[int]:
        """Return the tokens with which the model ends a text or its turn."""
        settings = getattr(self.network, "generation_config", None)
        given = getattr(settings, "eos_token_id", None)
        found = [given] if isinstance(given, int) else list(given or [])
        return {*found, self.tokenizer.eos_token_id} - {None}


def scored(log_probabilities: Array) -> Reply:
    """Return scores as a reply, or an error if they are not numbers."""
    return Reply(error=NOT_NUMBERS) if np.isnan(log_probabilities).any() else Reply(log_probabilities=log_probabilities)
