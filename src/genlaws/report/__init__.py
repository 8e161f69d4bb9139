"""Pages for a reader: self-contained HTML files that need no network."""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access
from genlaws.report.measurement import measurement_page
from genlaws.report.movie import embedding_movie

if TYPE_CHECKING:
    from genlaws.report.document import Report as Report
    from genlaws.report.document import whole_report as whole_report
    from genlaws.report.section import Section as Section
    from genlaws.report.user_data.data import UserData as UserData

__all__ = ["Report", "Section", "UserData", "embedding_movie", "measurement_page", "whole_report"]

__getattr__, __dir__ = loaded_on_access(__name__)
