"""Pages for a reader: self-contained HTML files that need no network."""

from genlaws.report.embedding_movie import embedding_movie
from genlaws.report.measurement_page import measurement_page
from genlaws.report.probe_page import probe_page

__all__ = ["embedding_movie", "measurement_page", "probe_page"]
