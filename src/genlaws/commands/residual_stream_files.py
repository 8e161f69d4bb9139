"""The folder that ``genlaws residual-stream analyse`` writes: a page, the numbers, a table for each picture."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genlaws.residual_stream.analysis_results import Analysis

# Where each picture is drawn: the end of the module's name, and the functions without draw_ in front.
DRAWN = {
    "pictures": ("means", "correlations", "correlation_histogram", "cosine", "velocity", "information"),
    "portraits": ("portraits", "rotations", "dynamics"),
    "dimensions": ("pca_paths", "explained", "participation"),
    "compression": ("compression_path", "compression_steps", "compression_explained"),
    "perturbation": ("teleports", "perturbation", "lyapunov"),
}


def write_analysis(folder: Path, title: str, analysis: Analysis, *, pictures: bool = False) -> list[Path]:
    """Write the page, the numbers, the tables and, if asked for, the pictures; return what was written."""
    from genlaws.report.residual_stream_page import residual_stream_page

    folder.mkdir(parents=True, exist_ok=True)
    page, numbers = folder / "report.html", folder / "analysis.json"
    page.write_text(residual_stream_page(analysis, title), encoding="utf-8")
    document = json.dumps(analysis.to_dict(), indent=2, allow_nan=False)
    numbers.write_text(document + "\n", encoding="utf-8")
    written = [page, numbers]
    for name, table in analysis.tables().items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.8g")
        written.append(folder / f"{name}.csv")
    return written + (_pictures(folder, title, analysis) if pictures else [])


def _pictures(folder: Path, title: str, analysis: Analysis) -> list[Path]:
    """Write every picture that what was measured suffices for."""
    import matplotlib.pyplot as plt

    from genlaws.figures.style import house_style
    from genlaws.figures.writing import save_picture
    from genlaws.numerics.errors import InputError

    written = []
    for module, names in DRAWN.items():
        drawing = import_module(f"genlaws.figures.residual_stream_{module}")
        for name in names:
            try:
                with house_style():
                    picture = getattr(drawing, f"draw_{name}")(analysis)
            except InputError:  # not measured
                continue
            for kind in ("png", "svg"):
                path = folder / f"{name}.{kind}"
                save_picture(picture, path, kind, f"{title}: {name.replace('_', ' ')}", "")
                written.append(path)
            plt.close(picture)
    return written
