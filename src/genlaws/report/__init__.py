"""Pages for a reader: self-contained HTML files that need no network."""

from genlaws.report.measurement_page import measurement_page

__all__ = ["measurement_page"]
