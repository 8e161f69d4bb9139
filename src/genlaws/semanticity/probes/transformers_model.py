"""Probe a language model on this machine: any causal model of transformers, from a folder, an id or a GGUF file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genlaws.numerics.arguments import non_negative, scalar, whole_number
from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes.model_files import Source, load_language_model
from genlaws.semanticity.probes.models import Prompt, Reply
from genlaws.semanticity.probes.prefix_scoring import Continuations, score_continuations, split_continuations
from genlaws.semanticity.probes.text_generation import Done, write_on

NO_NUMBERS = "The model gave values that are not numbers; use dtype float32 or bfloat16."


@dataclass(frozen=True)
class TransformersModel:
    """A causal language model of transformers as a `ProbeModel`.

    Attributes
    ----------
    network, tokenizer : object
        As transformers loads them; the network on its device, not training.
    source : str
        What the model is called where its answers are kept.
    batch_size : int
        Rows of one pass, at most; bounds the memory and changes no answer.
    max_new_tokens : int
        Length of a reply, at most.
    temperature : float
        0 for the likeliest word each time.
    seed : int
        Of replies at a temperature; the same prompt gets the same reply whatever is asked beside it.
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

    def __post_init__(self) -> None:
        whole_number("batch_size", self.batch_size, at_least=1)
        whole_number("max_new_tokens", self.max_new_tokens, at_least=1)
        whole_number("seed", self.seed)
        scalar("temperature", non_negative("temperature", self.temperature))

    @classmethod
    def load(
        cls,
        source: Source,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        local_files_only: bool = True,
        batch_size: int = 16,
        max_new_tokens: int = 16,
        temperature: float = 0.0,
        seed: int = 0,
        stop_at_newline: bool = True,
    ) -> TransformersModel:
        """Load a model and its tokenizer.

        Parameters
        ----------
        source : str or path
            A Hugging Face id, a folder, or a ``.gguf`` file.
        device : str
            As torch names it: ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
        dtype : {"float32", "bfloat16", "float16"}
        local_files_only : bool
            Whether only what is on this machine is used; if not, an id may be downloaded.
        batch_size, max_new_tokens, temperature, seed, stop_at_newline
            As the attributes.
        """
        settings = (batch_size, max_new_tokens, temperature, seed, stop_at_newline)
        cls(None, None, "", *settings)  # a wrong setting shows before a large model is loaded
        network, tokenizer, name = load_language_model(source, device, dtype, local_files_only)
        return cls(network, tokenizer, name, *settings)

    @property
    def name(self) -> str:
        """The source and every setting that changes an answer."""
        dtype = str(getattr(self.network, "dtype", None)).removeprefix("torch.")
        ends = "newline" if self.stop_at_newline else "end"
        settings = f"temperature={self.temperature:g}, seed={self.seed}, tokens={self.max_new_tokens}, stop={ends}"
        return f"transformers:{self.source} [{dtype}, {settings}]"

    def score(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the exact log-probability of each option of each prompt: the sum over its tokens.

        Each prompt is read once and its options after it; prompts of similar length are read together.
        """
        scores = score_continuations(self.network, [self.continuations(one) for one in prompts], self.batch_size)
        return [Reply(error=NO_NUMBERS) if np.isnan(one).any() else Reply(log_probabilities=one) for one in scores]

    def reply(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the words the model writes after each prompt, without the prompt."""
        rows = [self.prompt_tokens(one) for one in prompts]
        if not all(rows):
            raise InputError("A prompt must have at least one token; one of them is empty.")
        for row in rows:
            self._check_length(len(row) + self.max_new_tokens)
        replies = [Reply()] * len(rows)
        order = sorted(range(len(rows)), key=lambda place: -len(rows[place]))
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            for place, reply in zip(
                batch, self._write([prompts[one] for one in batch], [rows[one] for one in batch]), strict=True
            ):
                replies[place] = reply
        return replies

    def continuations(self, prompt: Prompt) -> Continuations:
        """Return the tokens of a prompt and of its options, split where they can be told apart."""
        if not prompt.options or not all(prompt.options):
            raise InputError(f"options must be at least one word, none empty; got {prompt.options!r}.")
        text = self.prompt_text(prompt)
        whole = [self._tokens(text + prompt.answer_prefix + option, prompt.chat) for option in prompt.options]
        self._check_length(max(map(len, whole)))
        return split_continuations(self._tokens(text, prompt.chat), whole)

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """Return the tokens of a prompt up to where the answer begins."""
        return self._tokens(self.prompt_text(prompt), prompt.chat)

    def prompt_text(self, prompt: Prompt) -> str:
        """Return what the model reads: the text of a plain prompt, or a chat in the model's own form."""
        if prompt.images:
            raise InputError(f"{self.source} is read as a language model and takes no images.")
        if not prompt.chat:
            return prompt.text
        if not getattr(self.tokenizer, "chat_template", None):
            raise InputError(f"{self.source} has no chat template; use a template that is plain text.")
        told = [{"role": "system", "content": prompt.system}] if prompt.system else []
        try:
            text: str = self.tokenizer.apply_chat_template(
                [*told, {"role": "user", "content": prompt.text}], tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # templates are programs of the model's makers; Jinja raises what they wrote
            reason = " ".join(str(error).split())[:160].rstrip(".")
            raise InputError(f"The chat template of {self.source} refused the prompt: {reason}.") from None
        return text

    def _tokens(self, text: str, chat: bool) -> list[int]:
        """Return the tokens of a text; a chat names its special tokens itself, and no end is added to a plain text."""
        tokens: list[int] = self.tokenizer.encode(text, add_special_tokens=not chat)
        end = self.tokenizer.eos_token_id
        added = not chat and len(tokens) > 1 and tokens[-1] == end and not text.endswith(str(self.tokenizer.eos_token))
        return tokens[:-1] if added else tokens

    def _check_length(self, length: int) -> None:
        most = getattr(self.network.config, "max_position_embeddings", None)
        if most is not None and length > most:
            raise InputError(f"{self.source} reads at most {most} tokens; a prompt with its answer has {length}.")

    def _write(self, prompts: Sequence[Prompt], rows: Sequence[list[int]]) -> list[Reply]:
        """Return the replies to a batch of prompts."""
        new = write_on(
            self.network,
            rows,
            ends=self._ends(),
            done=[self._done(prompt) for prompt in prompts],
            most=self.max_new_tokens,
            temperature=self.temperature,
            seed=self.seed,
        )
        return [self._reply(prompt, tokens) for prompt, tokens in zip(prompts, new, strict=True)]

    def _reply(self, prompt: Prompt, tokens: list[int] | None) -> Reply:
        if tokens is None:
            return Reply(error=NO_NUMBERS)
        text = self._words(tokens)
        return Reply(text.partition("\n")[0] if self._by_line(prompt) else text)

    def _done(self, prompt: Prompt) -> Done:
        if self._by_line(prompt):
            return lambda tokens: "\n" in self._words(tokens)
        return lambda tokens: False

    def _by_line(self, prompt: Prompt) -> bool:
        return self.stop_at_newline and not prompt.chat

    def _words(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def _ends(self) -> set[int]:
        """Return the tokens with which the model ends a text or its turn."""
        settings = getattr(self.network, "generation_config", None)
        told = getattr(settings, "eos_token_id", None)
        found = [told] if isinstance(told, int) else list(told or [])
        return {*found, self.tokenizer.eos_token_id} - {None}
