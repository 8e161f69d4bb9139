"""The page of a result: its summary, its pictures, its tables and its inputs, in one file that needs no network."""

from __future__ import annotations

import inspect
import json

from genlaws.core.frames import DataFrame
from genlaws.core.result import QUESTIONS, Result
from genlaws.render.html import data_table, escaped, folded, number_table, paragraphs, picture, quoted, whole_page

MAX_TABLE_ROWS = 200
MAX_OPEN_LINES = 25  # of a table that is not folded


def result_page(found: Result) -> str:
    """Return the page of a result."""
    return whole_page(_name(found) or type(found).__name__, result_parts(found))


def result_parts(found: Result) -> list[str]:
    """Return what the page of a result has below its heading, as HTML."""
    summary, name = found.summary(), _name(found)
    about = (inspect.getdoc(QUESTIONS[name]) or "").partition("\n\n")[0] if name in QUESTIONS else ""
    parts = [paragraphs([about], "soft") if about else "", paragraphs(one for one in summary.headline if one)]
    parts += [picture(one, title.replace("-", " "), title) for title, one in found.pictures().items()]
    if summary.rows:
        parts.append(number_table([(row.label, row.value, row.meaning) for row in summary.rows], wrapped=True))
    if summary.table:
        parts.append(_text_table(summary.table))
    parts += [paragraphs(summary.sentences), paragraphs(summary.warnings)]
    parts += [_table(title, table) for title, table in found.tables().items()]
    if found.call is not None:
        parts.append(folded("Inputs", quoted(json.dumps(found.to_dict()["inputs"], indent=1))))
    return parts


def _name(found: Result) -> str:
    return "" if found.call is None else found.call.function


def _text_table(text: str) -> str:
    block = f'<pre class="table" tabindex="0">{escaped(text)}</pre>'
    return block if text.count("\n") < MAX_OPEN_LINES else folded("The numbers", block)


def _table(title: str, table: DataFrame) -> str:
    rows = [[_cell(cell) for cell in row] for row in table.head(MAX_TABLE_ROWS).itertuples(index=False)]
    left_out = f", of which {MAX_TABLE_ROWS} are shown" if len(table) > MAX_TABLE_ROWS else ""
    caption = f"{title}.csv: {len(table):,} rows{left_out}"
    return folded(caption, data_table(caption, [str(column) for column in table.columns], rows))


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
