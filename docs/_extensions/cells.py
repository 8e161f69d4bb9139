"""Tables of the pages, made of nodes rather than text, so that no character of a cell is taken for markup."""

import re
from collections.abc import Iterable, Sequence

from docutils import nodes
from sphinx import addnodes

Cell = str | nodes.Node | Sequence[nodes.Node]


def paragraph(*parts: str | nodes.Node) -> nodes.paragraph:
    """Return a paragraph of texts and inline nodes."""
    made = nodes.paragraph()
    made += [nodes.Text(part) if isinstance(part, str) else part for part in parts]
    return made


def code(text: str) -> nodes.literal:
    """Return a name or command; a long one may be broken after an underscore, a slash or a dot."""
    made = nodes.literal(text)
    for place, part in enumerate(re.findall(r"[^_/.]*(?:\.py|[_/.])?", text)[:-1]):
        if place:
            made += nodes.raw("", "<wbr>", format="html")
        made += nodes.Text(part)
    return made


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], widths: Sequence[int], name: str) -> nodes.table:
    """Return a table; `name` is a class for the style sheet, `widths` are relative."""
    made = nodes.table(classes=["generated", "colwidths-given", name])
    group = nodes.tgroup(cols=len(widths))
    group += [nodes.colspec(colwidth=width) for width in widths]
    head, body = nodes.thead(), nodes.tbody()
    head += _row(headings)
    body += [_row(row) for row in rows]
    group += [head, body]
    made += group
    return made


def _row(cells: Sequence[Cell]) -> nodes.row:
    made = nodes.row()
    for cell in cells:
        entry = nodes.entry()
        if isinstance(cell, str):
            entry += paragraph(cell)
        else:
            entry += cell if isinstance(cell, nodes.Node) else list(cell)
        made += entry
    return made


def page_link(page: str, text: str, anchor: str, here: str) -> nodes.reference:
    """Return a link to a named place of a page; `here` is the page that shows it. Only for pages in HTML."""
    up = "../" * here.count("/")
    return nodes.reference(text, text, internal=True, refuri=f"{up}{page}.html#{anchor}")


def function_link(name: str, here: str) -> addnodes.pending_xref:
    """Return a link to a documented object, or its bare name where the API page does not document it."""
    link = addnodes.pending_xref("", refdomain="py", reftype="obj", reftarget=name, refexplicit=True, refdoc=here)
    link["may_be_missing"] = True
    link += code(name.removeprefix("genlaws."))
    return link


def keep_bare_name(app, env, node, contnode):
    """Answer Sphinx's missing-reference event for links that may lead nowhere."""
    return contnode if node.get("may_be_missing") else None
