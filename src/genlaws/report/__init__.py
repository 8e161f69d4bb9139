"""Pages for a reader: self-contained HTML files that need no network."""

from genlaws.report.measurement import measurement_page
from genlaws.report.movie import embedding_movie

__all__ = ["embedding_movie", "measurement_page"]
