"""Data frames of results; pandas is loaded when the first one is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

DataFrame: TypeAlias = "pd.DataFrame"


def frame_of(data: Any, columns: list[str] | None = None) -> DataFrame:
    """Return the table of columns by name, or of rows; `columns` names those of rows that are sequences."""
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame(data, columns=columns)


def stack_frames(frames: Iterable[DataFrame]) -> DataFrame:
    """Return the rows of several tables as one table, numbered anew."""
    import pandas as pd  # noqa: PLC0415

    return pd.concat(list(frames), ignore_index=True)
