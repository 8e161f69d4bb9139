"""Make the experiments for tests importable here and in worker processes, and give them a folder for their notes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where the experiments note their calls."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("SWEEP_TRIALS", str(folder))
    return folder
