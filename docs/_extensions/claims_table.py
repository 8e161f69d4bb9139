"""The ledger of claims on the pages: counts, one table for each paper, and what is wrong or was not found."""

from cells import code, page_link, paragraph, table
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util.docutils import SphinxDirective

from genlaws.claims import VERDICTS, all_claims
from genlaws.claims.claim import PAPERS, TITLES, number_label
from genlaws.claims.records import bundled_records, verdict_counts


def anchor(claim_id: str) -> str:
    return f"claim-{claim_id.replace('.', '-')}"


def shown(value: float | str) -> str:
    """Return a number as a table shows it; whole ones whole."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.4g}"


def numbers_of(record) -> nodes.Node:
    """Return the evidence of a record as a list."""
    made = nodes.bullet_list(classes=["numbers"])
    for name, value in record.numbers.items():
        item = nodes.list_item()
        item += paragraph(f"{number_label(name)}: {shown(value)}")
        made += item
    return made if len(made) else paragraph("–")


class ClaimCounts(Directive):
    """How many claims of each paper have which verdict."""

    def run(self):
        found = verdict_counts()
        rows = [self.row(TITLES[paper], [found[paper].get(one, 0) for one in VERDICTS]) for paper in PAPERS]
        rows.append(self.row("together", [sum(found[paper].get(one, 0) for paper in PAPERS) for one in VERDICTS]))
        return [table(["paper", *VERDICTS, "claims"], rows, [20, *[12] * len(VERDICTS), 10], "counts")]

    @staticmethod
    def row(title: str, counts: list[int]) -> list[str]:
        return [title, *map(str, counts), str(sum(counts))]


class ClaimTable(Directive):
    """All claims of the paper named, with what was found."""

    required_arguments = 1

    def run(self):
        records, paper = bundled_records(), self.arguments[0]
        claims = [claim for claim in all_claims() if claim.paper == paper]
        if not claims:
            raise self.error(f"There are no claims of {paper!r}; papers are {', '.join(PAPERS)}.")
        rows = [self.row(claim, records[claim.id]) for claim in claims if claim.id in records]
        headings = ["claim", "the paper says", "verdict", "what was found", "numbers"]
        return [table(headings, rows, [20, 25, 10, 27, 18], "claims")]

    @staticmethod
    def row(claim, record) -> list:
        place = nodes.paragraph(ids=[anchor(claim.id)])
        place += nodes.strong("", claim.id.partition(".")[2])
        return [
            [place, paragraph(f"{claim.kind}, {claim.where}")],
            claim.statement,
            paragraph(nodes.inline("", record.verdict, classes=["verdict", record.verdict.replace(" ", "-")])),
            record.sentence,
            numbers_of(record),
        ]


class ClaimDifferences(SphinxDirective):
    """Claims of a paper with a verdict, as printed and as found: ``PAPER VERDICT``."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        paper, _, verdict = self.arguments[0].partition(" ")
        if paper not in PAPERS or verdict not in VERDICTS:
            raise self.error(f"Give a paper and a verdict; got {self.arguments[0]!r}.")
        records = bundled_records()
        chosen = [one for one in all_claims() if one.paper == paper and records[one.id].verdict == verdict]
        if not chosen:
            return [paragraph("None.")]
        rows = [
            [
                claim.where,
                claim.statement,
                [paragraph(records[claim.id].sentence), paragraph(self.link(claim.id))],
            ]
            for claim in chosen
        ]
        return [table(["where", "the paper says", "what is found"], rows, [18, 36, 46], "differences")]

    def link(self, claim_id: str) -> nodes.Node:
        if self.env.app.builder.format != "html":
            return code(claim_id)
        return page_link("claims", claim_id, anchor(claim_id), self.env.docname)


def setup(app):
    app.add_directive("claim-counts", ClaimCounts)
    app.add_directive("claim-table", ClaimTable)
    app.add_directive("claim-differences", ClaimDifferences)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
