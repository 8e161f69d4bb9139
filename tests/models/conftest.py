"""An interrupt is an exception here, also where the tests were started in the background, which ignores it."""

import signal

import pytest


@pytest.fixture(autouse=True)
def _interrupts():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def no_key_from_outside(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
