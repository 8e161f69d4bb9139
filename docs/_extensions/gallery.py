"""The gallery: every figure of the library with its caption. Pictures are drawn once and stored in ``_build/gallery``.

With the tag ``nopictures`` (``sphinx-build -t nopictures``) nothing is drawn, and the page has captions alone.
"""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pictures
from cells import code, paragraph
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

SOURCES = {
    "bundled": "Drawn from the table that comes with the library, computed at full size; draw it with ",
    "full": "Drawn as the library draws it, with ",
    "reduced": "Drawn here with few runs and points, so that the pages are built in minutes; at full size with ",
}
MAX_COLUMN_PIXELS = 1500  # a picture of one column is narrower
log = logging.getLogger(__name__)


def draw_pictures(app) -> None:
    """Draw what is missing, each figure on one thread."""
    if app.tags.has("nopictures"):
        return
    stale = [plan.id for plan in pictures.plans() if not pictures.is_fresh(plan)]
    if stale:
        log.info("drawing %d figures of the gallery", len(stale))
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        program = str(Path(pictures.__file__))
        done = subprocess.run([sys.executable, program], check=False, env=one_thread, capture_output=True, text=True)
        if done.returncode:
            log.warning("the gallery could not be drawn: %s", done.stderr[-2000:])


def size_class(picture: Path) -> str:
    """Return how wide a PNG is to be shown: one column or two."""
    (width,) = struct.unpack(">I", picture.read_bytes()[16:20])
    return "one-column" if width < MAX_COLUMN_PIXELS else "two-columns"


class FigureGallery(SphinxDirective):
    """The figures whose identifiers begin with the argument."""

    required_arguments = 1

    def run(self):
        from genlaws.figures.registry import get_figure  # noqa: PLC0415

        captions = pictures.captions()
        self.env.note_dependency(str(pictures.DOCS / "captions.toml"))
        chosen = [plan for plan in pictures.plans() if plan.id.startswith(f"{self.arguments[0]}.")]
        if not chosen:
            raise self.error(f"No figure begins with {self.arguments[0]!r}.")
        return [self.section(get_figure(plan.id), plan, captions[plan.id]["text"]) for plan in chosen]

    def section(self, figure, plan, text: str) -> nodes.section:
        made = nodes.section(ids=[f"figure-{figure.id.replace('.', '-')}"], names=[figure.id])
        made += nodes.title("", "", nodes.Text(f"{figure.title} "), nodes.inline("", figure.id, classes=["figure-id"]))
        picture = pictures.FOLDER / f"{figure.id}.png"
        if not self.env.app.tags.has("nopictures") and picture.is_file():
            shown = ["gallery", size_class(picture)]
            made += nodes.image(uri=f"/_build/gallery/{picture.name}", alt=figure.caption, classes=shown)
        made += paragraph(text)
        command = f"genlaws figure {figure.id}{' --bundled' if plan.bundled else ''}"
        note = paragraph(SOURCES[plan.size], code(command), f". After {figure.citation}.")
        note["classes"].append("small")
        made += note
        return made


def setup(app):
    app.connect("builder-inited", draw_pictures)
    app.add_directive("figure-gallery", FigureGallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
