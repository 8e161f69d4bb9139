"""SmolLM2 through a real server gives the answers that it gives without one."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
import torch

from genlaws.models.server import NO_SCORES, ServerModel
from genlaws.probes.asking import ask_and_report
from genlaws.probes.domains import domain_of
from genlaws.probes.store import ReplyStore
from genlaws.probes.templates import prompt_of, template_of
from genlaws.probes.trials import draw_trials

SAME = 1e-4  # of log-probabilities in single precision, passes over batches against single texts; 3e-5 seen
LIMIT = 240.0  # seconds a server may take to start on a busy machine
SERVE = ("fastapi", "uvicorn", "openai")


def prompts_of(*templates, item_count=3, trial_count=2):
    domain = domain_of("years")
    return [
        prompt_of(trial, domain, template_of(domain, template))
        for template in templates
        for trial in draw_trials(domain, "identification", item_count, trial_count, seed=1)
    ]


@pytest.fixture(scope="module")
def smollm(smollm2_folder):
    from genlaws.models.language import TransformersModel

    torch.set_num_threads(1)
    return TransformersModel.load(smollm2_folder)


@pytest.fixture(scope="module")
def server(smollm):
    from openai_server import OpenAIServer

    with OpenAIServer(smollm.network, smollm.tokenizer) as started:
        yield started


def model_at(url, name="smollm"):
    return ServerModel(url, name, api_key_variable=None, timeout=LIMIT, retries=0, concurrency=2)


def test_greedy_words_are_the_same_through_a_server(smollm, server, tmp_path):
    prompts = prompts_of("list", "chat")
    with ReplyStore(tmp_path / "answers.jsonl") as store:
        through, report = ask_and_report(model_at(server.url), prompts, "text", store=store)
        assert (report.answered, report.failed, len(store)) == (4, 0, 4)
    here = smollm.reply(prompts)
    assert [reply.text for reply in through] == [reply.text for reply in here]
    assert len({reply.text for reply in here}) > 1
    assert all(reply.text.strip() for reply in here)


def test_scores_are_the_same_through_a_server(smollm, server):
    prompts = prompts_of("list", "deutsch", trial_count=1)
    through, here = model_at(server.url).score(prompts), smollm.score(prompts)
    for one, other in zip(through, here, strict=True):
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=SAME, rtol=0)
    assert np.ptp(here[0].log_probabilities) > 100 * SAME


def test_what_the_server_refuses_is_told(server):
    warm = ServerModel(server.url, "smollm", api_key_variable=None, temperature=0.7, retries=0)
    (reply,) = warm.reply(prompts_of("list", trial_count=1))
    assert reply.error == "The server answered 400 (bad request): This server is greedy; ask with temperature 0."
    (reply,) = model_at(server.url.replace("/v1", "/v2")).reply(prompts_of("list", trial_count=1))
    assert reply.error == "The server answered 404 (not found): There is no /v2/completions."


@pytest.fixture
def served(smollm2_folder, tmp_path):
    """The address and name of SmolLM2 in transformers' own server, a process of its own.

    It is given a folder: from a GGUF file, transformers 5.22 does not find the architecture.
    """
    for library in SERVE:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs the package {library}, for transformers serve")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    name = str(smollm2_folder)
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    log = tmp_path / "serve.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "transformers.cli.transformers", "serve", name, *options],
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            stdout=said,
            stderr=said,
        )
    try:
        until = time.monotonic() + LIMIT
        while not listens(port):
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < until
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}", name
    finally:
        process.kill()
        process.wait()


def listens(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.mark.long
def test_transformers_own_server_says_the_same(smollm, served):
    prompts = prompts_of("list", "sentences", "chat", trial_count=4)
    model = model_at(*served)
    assert [reply.text for reply in model.reply(prompts)] == [reply.text for reply in smollm.reply(prompts)]
    assert {reply.error for reply in model.score(prompts[:2])} == {NO_SCORES}
