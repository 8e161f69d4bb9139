"""Probe a vision model on this machine: any model of transformers that reads pictures and answers with text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, Self

import torch
from PIL import Image, UnidentifiedImageError

from genlaws.core.errors import InputError
from genlaws.models.interface import NO_PLAIN_PICTURES, Prompt, Reply
from genlaws.models.language import TransformersModel, scored
from genlaws.models.load import load_vision_model
from genlaws.models.passes import (
    ContinuableReading,
    Endings,
    PictureRow,
    batches_of_same_shape,
    caches_pictures,
    read_pictures,
    read_pictures_alone,
    score_endings,
    shortened,
)

TRIAL_SIDE = 64  # pixels of the picture with which a model is tried


@dataclass(frozen=True)
class VisionModel(TransformersModel):
    """A vision model of transformers as a `ProbeModel`.

    Pictures stand before the question, in the model's own chat template. Prompts without pictures are read as by a
    language model.

    Attributes
    ----------
    processor : object
        As transformers loads it; turns a chat with pictures into what the network reads.
    shared_prefix : bool
        Whether picture and question are read once for all options. If not, they are read again for each option and each
        new word; the answers are the same. Tested when a model is loaded.
    """

    processor: Any = None
    shared_prefix: bool = True

    @classmethod
    def _loaded(cls, settings: tuple[int, int, float, int, bool], *given: Any) -> Self:
        """Return the model with these settings, tried with a small picture."""
        network, processor, name = load_vision_model(*given)
        model = cls(network, processor.tokenizer, name, *settings, processor)
        return replace(model, shared_prefix=model.can_share_prefix())

    @property
    def name(self) -> str:
        """The source, and everything that changes an answer."""
        return self.identity.replace("pictures", f"pictures:{self.source}", 1)

    @property
    def identity(self) -> str:
        """The key of cached answers, as of a language model, with the processor of pictures in the fingerprint."""
        return super().identity.replace("transformers", "transformers, with pictures", 1)

    def score(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the exact log-probability of each option of each prompt: the sum over its tokens.

        Picture and question are read once and the options after them; neighboring prompts of the same length are read
        together. A prompt that is too long for the model is an error of its reply alone.
        """
        return _divided(prompts, super().score, self._score_pictures)

    def reply(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the text the model writes after each prompt, without the prompt; as `score` if one is too long."""
        return _divided(prompts, super().reply, self._reply_to_pictures)

    def picture_row(self, prompt: Prompt) -> PictureRow:
        """Return what the network reads of a chat with pictures, up to where the answer begins."""
        text = self.prompt_text(prompt)
        images = _opened(prompt.images)
        adds = self._adds_special(text, prompt.chat)
        try:
            made = self.processor(text=[text], images=[images], add_special_tokens=adds, return_tensors="pt")
        except Exception as error:  # processors of different makers raise different things
            reason = " ".join(str(error).split())[:160].rstrip(".")
            raise InputError(f"The processor of {self.source} refused the picture: {reason}.") from None
        row = {name: self._placed(values) for name, values in made.items()}
        added = adds and self._end_is_added(row["input_ids"][0].tolist(), text)
        return shortened(row, 1) if added else row

    def can_share_prefix(self) -> bool:
        """Return whether options get the same scores when a picture is read once, by trying it with a plain square."""
        stream = BytesIO()
        Image.new("RGB", (TRIAL_SIDE, TRIAL_SIDE), (90, 120, 150)).save(stream, format="PNG")
        tried = Prompt(
            "Which color has the square?", ("light gray", "a dark blue"), chat=True, images=(stream.getvalue(),)
        )
        question = self._question(0, tried)
        return caches_pictures(self.network, question.row, question.endings)

    def _tools(self) -> tuple[Any, ...]:
        return (self.tokenizer, self.processor)

    def _check_images(self, prompt: Prompt) -> None:
        """Refuse pictures in a plain text."""
        if prompt.images and not prompt.chat:
            raise InputError(NO_PLAIN_PICTURES)

    def _conversation(self, prompt: Prompt) -> tuple[Any, list[dict[str, Any]]]:
        """Return what puts a chat into the model's own form, and the chat with the pictures before the question."""
        first = [{"role": "system", "content": [{"type": "text", "text": prompt.system}]}] if prompt.system else []
        content = [*({"type": "image"} for _ in prompt.images), {"type": "text", "text": prompt.text}]
        writer = self.processor if getattr(self.processor, "chat_template", None) else self.tokenizer
        return writer, [*first, {"role": "user", "content": content}]

    def _adds_special(self, text: str, chat: bool) -> bool:
        """Return whether the tokenizer adds special tokens; not where the chat template has already added the first."""
        first = self.tokenizer.bos_token
        return not chat or first is None or not text.startswith(first)

    def _ends(self) -> set[int]:
        """Return the tokens that end a reply, with those that stand for pictures, which a reply cannot show."""
        config = self.network.config
        marks = [getattr(config, name, None) for name in ("image_token_id", "image_token_index", "video_token_id")]
        return super()._ends() | {mark for mark in marks if mark is not None}

    def _placed(self, values: torch.Tensor) -> torch.Tensor:
        """Return values on the network's device, pixel values also in its precision."""
        return values.to(self.network.device, self.network.dtype if values.is_floating_point() else values.dtype)

    def _question(self, place: int, prompt: Prompt, scoring: bool = True) -> _Question:
        """Return a prompt with its pictures as what the network reads, cut where the options begin."""
        row = self.picture_row(prompt)
        if not scoring:
            length = row["input_ids"].shape[1] + self.max_new_tokens
            return _Question(place, prompt, row, (), self._too_long(length))
        split = self.continuations(prompt)
        plain = self.prompt_tokens(prompt)
        if row["input_ids"][0, -1] != plain[-1]:
            raise InputError(f"The processor of {self.source} adds to the end of a prompt, where the answer begins.")
        row = shortened(row, len(plain) - len(split.shared))  # without tokens that the options change
        length = row["input_ids"].shape[1] + max(map(len, split.endings))
        return _Question(place, prompt, row, split.endings, self._too_long(length))

    def _read(self, batch: Sequence[_Question]) -> ContinuableReading:
        rows = [one.row for one in batch]
        return read_pictures(self.network, rows) if self.shared_prefix else read_pictures_alone(self.network, rows)

    def _score_pictures(self, prompts: Sequence[Prompt]) -> list[Reply]:
        replies = [Reply()] * len(prompts)
        questions = (self._question(place, prompt) for place, prompt in enumerate(prompts))
        for batch in batches_of_same_shape(_short_enough(questions, replies), self.batch_size):
            scores = score_endings(self._read(batch), [one.endings for one in batch], self.batch_size)
            for one, score in zip(batch, scores, strict=True):
                replies[one.place] = scored(score)
        return replies

    def _reply_to_pictures(self, prompts: Sequence[Prompt]) -> list[Reply]:
        replies = [Reply()] * len(prompts)
        questions = (self._question(place, prompt, scoring=False) for place, prompt in enumerate(prompts))
        for batch in batches_of_same_shape(_short_enough(questions, replies), self.batch_size):
            rows = [one.row["input_ids"][0].tolist() for one in batch]
            for one, reply in zip(batch, self._write(self._read(batch), [b.prompt for b in batch], rows), strict=True):
                replies[one.place] = reply
        return replies


@dataclass(frozen=True)
class _Question:
    """A prompt with pictures: its place among the others, what is read, the tokens of its options, what is wrong."""

    place: int
    prompt: Prompt
    row: PictureRow
    endings: Endings
    error: str


def _short_enough(questions: Iterator[_Question], replies: list[Reply]) -> Iterator[_Question]:
    """Yield the questions a model can read; the others get their error as a reply."""
    for one in questions:
        if one.error:
            replies[one.place] = Reply(error=one.error)
        else:
            yield one


Answering = Callable[[Sequence[Prompt]], list[Reply]]


def _divided(prompts: Sequence[Prompt], to_text: Answering, to_pictures: Answering) -> list[Reply]:
    """Return the replies to prompts with and without pictures, each answered in its own way."""
    shown = [bool(prompt.images) for prompt in prompts]
    to_shown = iter(to_pictures([prompt for prompt, has in zip(prompts, shown, strict=True) if has]))
    to_others = iter(to_text([prompt for prompt, has in zip(prompts, shown, strict=True) if not has]))
    return [next(to_shown if has else to_others) for has in shown]


def _opened(images: Sequence[bytes]) -> list[Image.Image]:
    try:
        return [Image.open(BytesIO(image)).convert("RGB") for image in images]
    except UnidentifiedImageError:
        raise InputError("images must be PNG files as bytes; one of them is no picture.") from None
