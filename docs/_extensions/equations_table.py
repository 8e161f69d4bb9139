"""Which function computes an equation of a paper and which test checks it: the table of ``equations.toml``."""

import tomllib
from pathlib import Path

from cells import code, function_link, keep_bare_name, page_link, paragraph, table
from claims_table import anchor
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FILE = Path(__file__).resolve().parents[1] / "equations.toml"


def equations(paper: str | None = None) -> list[dict]:
    """Return the rows of the file, of one paper or of all, each with its paper."""
    papers = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return [{"paper": one, **row} for one, rows in papers.items() if paper in (None, one) for row in rows]


class EquationTable(SphinxDirective):
    """The equations of the paper named."""

    required_arguments = 1

    def run(self):
        self.env.note_dependency(str(FILE))
        rows = equations(self.arguments[0])
        if not rows:
            raise self.error(f"There are no equations of {self.arguments[0]!r} in {FILE.name}.")
        headings = ["where", "what it says", "function", "test"]
        return [table(headings, [self.row(one) for one in rows], [15, 28, 27, 30], "equations")]

    def row(self, row: dict) -> list:
        here = self.env.docname
        place = [paragraph(row["where"])]
        for claim in row.get("claims", []):
            text = claim.partition(".")[2]
            html = self.env.app.builder.format == "html"
            link = page_link("claims", text, anchor(claim), here) if html else code(text)
            place.append(nodes.paragraph("", "", nodes.inline("", "claim "), link, classes=["small"]))
        return [
            place,
            row["statement"],
            [paragraph(function_link(name, here)) for name in row["functions"]],
            [self.test(name) for name in row["tests"]],
        ]

    @staticmethod
    def test(name: str) -> nodes.paragraph:
        file, _, function = name.partition("::")
        made = paragraph(code(file.removeprefix("tests/")), " ", code(function))
        made["classes"].append("small")
        return made


def setup(app):
    app.add_directive("equation-table", EquationTable)
    app.connect("missing-reference", keep_bare_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
