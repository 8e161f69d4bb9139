"""Sphinx settings. The build reads nothing from the network; only the reader's browser fetches MathJax."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "genlaws"
author = "The genlaws developers"
copyright = "2026, The genlaws developers"
release = version = installed_version("genlaws")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinxcontrib.bibtex",
    "claims_table",  # this and the next three write pages from the library itself, so that nothing can drift
    "equations_table",
    "public_names",
    "gallery",  # draws the figures once; `-t nopictures` leaves them out
]
exclude_patterns = ["_build"]
html_static_path = ["_static"]
html_css_files = ["tables.css"]
nitpicky = True  # a name in the text that is not in the library is a warning, and a warning fails the build
nitpick_ignore = [("py:class", "numpy.ndarray")]  # numpy is documented elsewhere, and no network is needed

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # numpydoc's Parameters section gives type, range and shape
autodoc_member_order = "bysource"
autosummary_generate = False  # the API page lists and documents in one place, so no files are written
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

html_theme = "alabaster"
html_theme_options = {
    "description": "Exact laws of generalizing versus remembering",
    "fixed_sidebar": True,
    "page_width": "1240px",
    "code_font_size": "0.85em",
}
html_show_sourcelink = False
