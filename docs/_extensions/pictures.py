"""Draw every figure of the library into a folder: ``python pictures.py FOLDER``. Fresh pictures are not drawn again.

A figure is drawn from its bundled table; else at full size, where ``captions.toml`` marks this as quick; else with the
settings given there, or with the reduced settings of the tests.
"""

import hashlib
import json
import sys
import tomllib
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
SOURCE = ROOT / "src" / "genlaws"
FOLDER = DOCS / "_build" / "gallery"
SHARED = ("figures", "sweeps", "core", "ensembles")
PROCESSES = 2


@dataclass(frozen=True)
class Plan:
    """How the gallery draws a figure: from its bundled table, or with settings (None: those of the printed figure)."""

    id: str
    bundled: bool
    settings: dict | None
    fingerprint: str

    @property
    def size(self) -> str:
        return "bundled" if self.bundled else "full" if self.settings is None else "reduced"


def captions() -> dict[str, dict]:
    """Return for each figure its caption under ``text``, ``full`` if full size is quick, and ``settings``."""
    return tomllib.loads((DOCS / "captions.toml").read_text(encoding="utf-8"))


def reduced_settings() -> dict[str, dict]:
    """Return the settings with which the tests draw."""
    sys.path.insert(0, str(ROOT / "tests" / "figures"))
    from reduced_settings import REDUCED  # noqa: PLC0415

    return REDUCED


def plans() -> list[Plan]:
    """Return a plan for every figure of the registry."""
    from genlaws.figures.bundled import bundled_ids  # noqa: PLC0415
    from genlaws.figures.registry import figure_ids  # noqa: PLC0415

    entries, reduced, bundled = captions(), reduced_settings(), set(bundled_ids())
    shared = [_hash_of(SOURCE / name) for name in SHARED]
    made = []
    for one in figure_ids():
        entry = entries.get(one, {})
        settings = None if one in bundled or entry.get("full") else entry.get("settings", reduced[one])
        system = _hash_of(SOURCE / one.partition(".")[0].replace("-", "_"))
        given = json.dumps(settings, sort_keys=True, default=str)
        text = "\n".join([*shared, system, given])
        made.append(Plan(one, one in bundled, settings, hashlib.sha256(text.encode()).hexdigest()))
    return made


def _hash_of(folder: Path) -> str:
    """Return a hash of the programs and tables of a folder."""
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".py", ".csv", ".json"}:
            found.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def is_fresh(plan: Plan, folder: Path = FOLDER) -> bool:
    """Return whether the folder holds the picture as it would be drawn now."""
    mark = folder / f"{plan.id}.made"
    return mark.is_file() and mark.read_text() == plan.fingerprint and (folder / f"{plan.id}.png").is_file()


def draw(plan: Plan, folder: Path) -> str:
    """Draw one figure and return a line with the seconds it took."""
    import torch  # noqa: PLC0415

    from genlaws.core.result import picture_bytes  # noqa: PLC0415
    from genlaws.figures import draw_figures  # noqa: PLC0415

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    started = perf_counter()
    found = draw_figures(plan.id, settings=plan.settings, bundled=plan.bundled)
    (folder / f"{plan.id}.png").write_bytes(picture_bytes(found.plot(), "png", *found.titles()[plan.id]))
    (folder / f"{plan.id}.made").write_text(plan.fingerprint)
    return f"{plan.id} ({plan.size}): {perf_counter() - started:.1f} s"


def draw_all(folder: Path = FOLDER) -> None:
    """Draw what is missing or stale, in two processes; the slow ones first."""
    folder.mkdir(parents=True, exist_ok=True)
    stale = sorted((plan for plan in plans() if not is_fresh(plan, folder)), key=lambda plan: plan.bundled)
    if stale:
        with ProcessPoolExecutor(min(PROCESSES, len(stale)), mp_context=get_context("spawn")) as pool:
            for line in pool.map(draw, stale, [folder] * len(stale)):
                print(line, flush=True)


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
