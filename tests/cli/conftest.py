"""Run the command line inside the process and capture what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from genlaws.cli import run


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output; fails if anything else is there."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


@pytest.fixture
def genlaws(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def call(*arguments: str | Path) -> Answer:
        code = run([str(one) for one in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call
