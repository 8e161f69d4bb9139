"""A simulated model with known resolution, background, preferences and lapses, to check what a probe finds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genlaws.core.arguments import Array, fraction, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt, Reply
from genlaws.probes.domains import Domain
from genlaws.probes.outcomes import AnyTrial
from genlaws.probes.templates import Template, prompt_of
from genlaws.probes.trials import ProbeTrial
from genlaws.semanticity.choices.model import ChoiceModel, choice_probabilities
from genlaws.semanticity.choices.trials import Trials

UNPARSED_REPLY = "I cannot tell from this."


class SimulatedModel:
    r"""A chooser by Luce's rule that answers prompts as a language model would.

    .. math:: P(k) = (1-\lambda)\,\operatorname{softmax}_k\big(\log g(d_k) + \text{offset} + \text{effect}\big) +
        \frac{\lambda}{n}

    It needs the trials behind its prompts first, from `prompts_of` or `register`; it does not read text. Its answer
    depends on the prompt and the seed alone, not on earlier prompts.

    Parameters
    ----------
    domain : Domain or None
        Needed by `prompts_of` alone.
    resolution : float > 0
        :math:`\varepsilon`, in units of the domain.
    background, lapse : float
        :math:`\Delta \ge 0` and :math:`\lambda` in [0, 1].
    shape : str
        Of the similarity g.
    exponent : float > 0
        Of the power law.
    position_effects : sequence of float
        Preference for the first place in the list, the second, and so on; empty for none.
    offsets : mapping of str to float
        Preference for each answer; empty for none.
    unparsed_rate : float in [0, 1]
        Share of replies in text mode that name no item, or two. In probability mode all scores are reduced by it.
    seed : int
    """

    def __init__(
        self,
        domain: Domain | None,
        resolution: float,
        *,
        background: float = 0.0,
        shape: str = "exponential",
        lapse: float = 0.0,
        position_effects: Sequence[float] = (),
        unparsed_rate: float = 0.0,
        seed: int = 0,
        exponent: float = 2.0,
        offsets: Mapping[str, float] | None = None,
    ) -> None:
        self.domain = domain
        self.unparsed_rate = float(scalar("unparsed_rate", fraction("unparsed_rate", unparsed_rate)))
        self.seed = whole_number("seed", seed)
        self.chooser = ChoiceModel(
            shape,
            resolution,
            background,
            exponent,
            lapse=lapse,
            offsets=dict(offsets or {}),
            position_effects=tuple(float(effect) for effect in position_effects),
        )
        self._known: dict[Prompt, AnyTrial] = {}

    @property
    def name(self) -> str:
        """Everything that its answers depend on."""
        return f"simulated({self.chooser}, unparsed_rate={self.unparsed_rate}, seed={self.seed})"

    def call_parts(self) -> dict[str, Any]:
        """Return what a call records of the model."""
        return {"name": self.name}

    def prompts_of(self, trials: Sequence[ProbeTrial], template: Template) -> list[Prompt]:
        """Return the prompts of trials, and remember the trials."""
        if self.domain is None:
            raise InputError("The simulated model has no domain to write places with; use register instead.")
        prompts = [prompt_of(trial, self.domain, template) for trial in trials]
        self.register(trials, prompts)
        return prompts

    def register(self, trials: Sequence[AnyTrial], prompts: Sequence[Prompt]) -> None:
        """Remember which trial is behind each prompt."""
        if len(trials) != len(prompts):
            raise InputError(f"prompts must be one for each trial; got {len(prompts)} for {len(trials)} trials.")
        for trial, prompt in zip(trials, prompts, strict=True):
            before = self._known.setdefault(prompt, trial)
            if before.distances != trial.distances or len(prompt.options) != len(trial.distances):
                raise InputError("Two trials at different distances must not have the same prompt.")

    def score(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the exact log-probability of each option."""
        with np.errstate(divide="ignore"):
            return [
                Reply(log_probabilities=np.log(row) + np.log1p(-self.unparsed_rate))
                for row in self._probabilities(prompts)
            ]

    def reply(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the name of an option drawn with its probability, or text that names none or two."""
        rows = self._probabilities(prompts)
        return [Reply(text=self._text(prompt, row)) for prompt, row in zip(prompts, rows, strict=True)]

    def _text(self, prompt: Prompt, probabilities: Array) -> str:
        unread, which, other = self._uniform(prompt)
        chosen = int(np.searchsorted(np.cumsum(probabilities), which * probabilities.sum(), side="right"))
        name = prompt.options[min(chosen, len(prompt.options) - 1)]
        if unread >= self.unparsed_rate:
            return f"{name}."
        second = prompt.options[(chosen + 1) % len(prompt.options)]
        return UNPARSED_REPLY if other < 0.5 else f"It is {name} or {second}."

    def _uniform(self, prompt: Prompt) -> Array:
        """Return three numbers between 0 and 1 that depend on the prompt and the seed alone."""
        digest = hashlib.sha256(repr((self.seed, prompt)).encode("utf-8", "backslashreplace")).digest()
        return np.random.default_rng(int.from_bytes(digest, "big")).random(3)

    def _probabilities(self, prompts: Sequence[Prompt]) -> list[Array]:
        unknown = next((prompt for prompt in prompts if prompt not in self._known), None)
        if unknown is not None:
            raise InputError(f"The simulated model needs the trial behind a prompt first; got {unknown.text[-60:]!r}.")
        if not prompts:
            return []
        shown = Trials.from_lists(
            [self._known[prompt].distances for prompt in prompts],
            options=[prompt.options for prompt in prompts] if self.chooser.offsets else None,
        )
        rows = choice_probabilities(shown, self.chooser)
        return [row[: len(prompt.options)] for row, prompt in zip(rows, prompts, strict=True)]
