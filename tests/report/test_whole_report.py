"""The whole report: made once with quick runs and the reader's own files, then read, drawn and compared."""

import io
import json
import re
from collections import Counter
from contextlib import redirect_stdout
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from copied_lines import printed_by, printed_by_command
from genlaws.claims.records import all_claims, bundled_records
from genlaws.cli import run
from genlaws.cli.report import read_user_data
from genlaws.core.running import Running
from genlaws.render.scripts import PLOTLY_STYLE_HASH, content_hash
from genlaws.report.document import user_data_section
from genlaws.report.ledger import agreement
from genlaws.report.sections.relations import RELATIONS_LAW, relations_section
from genlaws.report.sections.rules_facts import RULES_FACTS_LAW
from genlaws.report.sections.semanticity import SEMANTICITY_LAW, draw_choices, semanticity_section
from genlaws.report.user_data import embeddings
from genlaws.report.user_data.relation import relation_section

WITHOUT_END = {"meta", "link", "br", "input", "img", "hr", "rect"}
SECTIONS = ["own-1", "own-2", "own-3", "semanticity", "rules-facts", "relations", "residual-stream"]
HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def own_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    places = rng.random(40)
    angle = 2 * np.pi * places
    np.save(folder / "circle.npy", np.stack([np.cos(angle), np.sin(angle)], axis=1))
    np.savetxt(folder / "distances.csv", np.abs(places[:, None] - places), delimiter=",")
    np.savetxt(folder / "places.csv", places)
    inputs = rng.standard_normal((80, 6))
    np.savez(folder / "labeled.npz", inputs=inputs, labels=np.where(inputs[:, 0] > 0, HOSTILE, "other"))
    (folder / "edges.csv").write_text("\n".join(f"{i},{j}" for i in range(7) for j in range(i)), encoding="utf-8")
    (folder / "words.csv").write_text("ann,bob\nbob,cy\nann,cy\n", encoding="utf-8")
    (folder / "texts.txt").write_text("A line.\n", encoding="utf-8")
    np.savetxt(folder / "table.csv", rng.random((5, 4)), delimiter=",")
    np.savetxt(folder / "zeros_ones.csv", np.triu(np.ones((4, 4)), 1), delimiter=",")
    return folder


@pytest.fixture(scope="module")
def made(own_files):
    """The page's file and the answer of the command that wrote it."""
    page, printed = own_files / "out" / "page.html", io.StringIO()
    data = [part for name in ("circle.npy", "labeled.npz", "edges.csv") for part in ("--data", str(own_files / name))]
    with redirect_stdout(printed):
        code = run(
            ["report", "--quick", "--json", "--out", str(page), *data, "--positions", str(own_files / "places.csv")]
        )
    assert code == 0
    return page, json.loads(printed.getvalue())["result"]


@pytest.fixture(scope="module")
def html(made):
    return made[0].read_text(encoding="utf-8")


class _Reader(HTMLParser):
    """Collects tags with their attributes, texts of scripts and styles, and complains about crossed tags."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.blocks, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in {"script", "style"}:
            self.blocks.append((tag, dict(attributes), []))
        if tag not in WITHOUT_END:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag in WITHOUT_END:
            return
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ""
        (self.blocks[-1][2] if inside in {"script", "style"} else self.text).append(data)


@pytest.fixture(scope="module")
def read(html):
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def test_page_is_well_formed_and_names_are_unique(read):
    names = Counter(attributes["id"] for _, attributes in read.tags if "id" in attributes)
    assert max(names.values()) == 1
    for _, attributes in read.tags:
        target = attributes.get("aria-labelledby") or attributes.get("href", "").removeprefix("#")
        if target and not target.startswith("data:"):
            assert target in names
    assert set(SECTIONS) <= set(names)


def test_page_fetches_nothing_and_has_no_inline_handlers_or_styles(read):
    for tag, attributes in read.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith(("#", "data:"))
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag


def test_policy_allows_exactly_the_scripts_and_styles_of_the_page(read):
    (policy,) = [one["content"] for tag, one in read.tags if one.get("http-equiv") == "Content-Security-Policy"]
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    for tag, extra in (("script", set()), ("style", {PLOTLY_STYLE_HASH})):
        blocks = {
            content_hash("".join(text))
            for kind, attributes, text in read.blocks
            if kind == tag and attributes.get("type") != "application/json"
        }
        assert set(re.findall(r"'(sha256-[^']+)'", allowed[f"{tag}-src"])) == blocks | extra
        assert "unsafe" not in allowed[f"{tag}-src"]


def _panels(read):
    (data,) = ["".join(text) for _, attributes, text in read.blocks if attributes.get("id") == "panels"]
    return json.loads(data)


def test_panels_of_the_page_are_those_of_the_sections(read, made):
    listed = [panel["name"] for section in made[1]["sections"] for panel in section["panels"]]
    panels = _panels(read)
    assert [one["name"] for one in panels] == listed
    assert [one["data-panel"] for _, one in read.tags if "data-panel" in one] == listed
    for one in panels:
        assert one["caption"]
        assert one["curves"]
        for curve in one["curves"]:
            if curve["low"] is not None:
                triples = zip(curve["low"], curve["y"], curve["high"], strict=True)
                assert all(None in triple or triple[0] <= triple[1] <= triple[2] for triple in triples)


def test_sections_say_what_the_command_says(read, made):
    shown = "".join(read.text)
    assert [one["name"] for one in made[1]["sections"]] == SECTIONS
    for section in made[1]["sections"]:
        assert section["findings"]
        for sentence in [*section["findings"], *(value for _, value, _ in section["numbers"])]:
            assert sentence in shown


def copied(html, reported):
    """Return the lines that the sections show to be copied, in the order of the page."""
    return [
        unescape(one)
        for one in re.findall(rf'<p class="soft table-caption">{reported}</p><pre>(.*?)</pre>', html, re.S)
    ]


def shown_in(section, printed):
    """Return the names of the numbers of a section that were printed, perhaps with more digits or without their n."""
    words = [float(one) for one in re.findall(r"(?<![\w.])-?\d+\.\d+", printed)]
    found = set()
    for name, value, _ in section["numbers"]:
        first = re.match(r"(?:theory )?(\d+)\.(\d+)(?=$| bits| rad|, drawn)", value)
        same = first and any(f"{one:.{len(first[2])}f}" == f"{first[1]}.{first[2]}" for one in words)
        if re.split(r" \((?:95 %|n = )", value)[0] in printed or same:
            found.add(name)
    return found


SHOWN_BY_PYTHON = {
    "own-1": {"generalization p_S", "identification p_I", "resolution ε", "background Δ"},
    "own-2": {"share of facts ε", "price of memory"},
    "own-3": {"description length", "share needed"},
    "semanticity": {"digits, nearer in pixels", "resolution of the digits"},
    "rules-facts": {"best angle", "price of memory, 3 against 8"},
    "relations": {
        *("bits, equal modulo 3", "share needed, equal modulo 3, best learner"),
        *("bits, less than", "share needed, less than, best learner"),
    },
    "residual-stream": {"walk: rotations in 8 sites, φ = 0", "walk: share along 2 components, 32 sites"},
}
SHOWN_BY_COMMAND = {
    "own-1": {"generalization p_S", "identification p_I", "resolution ε", "ball mass ⟨b⟩", "distance to the front"},
    "own-2": {"share of facts ε", "price of memory"},
    "own-3": {"share needed"},
    "semanticity": set(),
    "rules-facts": {"price of memory, 3 against 8"},
    "relations": {"share needed, equal modulo 3, best learner"},
}


def test_lines_to_copy_give_the_numbers_of_their_section(html, made, own_files, tmp_path):
    sections = {one["name"]: one for one in made[1]["sections"]}
    lines = dict(zip(SECTIONS, copied(html, "In Python"), strict=True))
    commands = dict(zip(SHOWN_BY_COMMAND, copied(html, "On the command line"), strict=True))
    for name, wanted in SHOWN_BY_PYTHON.items():
        assert wanted <= shown_in(sections[name], printed_by(lines[name], own_files)), name
    for name, wanted in SHOWN_BY_COMMAND.items():
        printed = printed_by_command(commands[name], own_files, tmp_path)
        assert wanted <= shown_in(sections[name], printed), name
        assert "0.8098" in printed or name != "semanticity"  # of the peak that networks are compared with


@pytest.mark.parametrize(
    ("file", "positions"),
    [("distances.csv", None), ("circle.npy", None), ("circle.npy", "distances.csv"), ("zeros_ones.csv", None)],
)
def test_lines_about_other_files_run_as_they_stand(own_files, tmp_path, file, positions):
    data = read_user_data(str(own_files / file), None if positions is None else own_files / positions)
    section = user_data_section(data, Running(), 3)
    printed = printed_by(section.python, own_files), printed_by_command(section.command, own_files, tmp_path)
    shown = {"numbers": section.numbers}
    wanted = "share needed" if file == "zeros_ones.csv" else "generalization p_S"
    assert [wanted in shown_in(shown, text) for text in printed] == [True, True]


def test_what_a_user_wrote_cannot_leave_its_place(html, read):
    assert HOSTILE not in html.replace("\\u003c", "")
    assert HOSTILE in "".join(read.text)
    assert any(HOSTILE in one["title"] for one in _panels(read))


def test_ledger_counts_are_those_of_the_bundled_records(made, html):
    stored, counts = bundled_records(), Counter()
    for paper, verdicts in made[1]["ledger"].items():
        expected = Counter(stored[one.id].verdict for one in all_claims() if one.paper == paper and one.id in stored)
        assert {name: count for name, count in verdicts.items() if name != "not run"} == dict(expected)
        counts += Counter(verdicts)
    assert sum(counts.values()) == len(all_claims())
    changed = [one for one in stored.values() if one.verdict in {"corrected", "not reproduced"}]
    assert len(changed) == counts["corrected"] + counts["not reproduced"]
    assert all(f"<code>{one.id}</code>" in html for one in changed)


def test_numbers_of_the_runs_are_near_the_theory(read):
    panels = {one["name"]: {curve["name"]: curve for curve in one["curves"]} for one in _panels(read)}
    crowded = panels["semanticity-items"]
    theory, drawn = crowded["identification, theory"], crowded["identification, drawn choices"]
    expected = np.interp(np.log(drawn["x"]), np.log(theory["x"]), theory["y"])
    np.testing.assert_allclose(drawn["y"], expected, atol=0.05)
    bound = panels["relations-mod3"]["best possible, exact"]
    assert bound["y"][-1] == 1.0
    assert all(np.diff(bound["y"]) >= 0)


def test_page_draws_without_network(made, browser):
    drawn = "[...document.querySelectorAll('[data-panel]')].filter((one) => one.querySelector('.main-svg')).length"
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True, accept_downloads=True)
    page, complaints, requested = context.new_page(), [], []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    page.goto(made[0].as_uri())
    wanted = page.evaluate("document.querySelectorAll('[data-panel]').length")
    for _ in range(150):
        if page.evaluate(drawn) == wanted:
            break
        page.wait_for_timeout(100)
    assert page.evaluate(drawn) == wanted > 10
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    with page.expect_download() as saved:
        page.locator("[data-save=csv]").first.click()
    assert saved.value.suggested_filename.endswith(".csv")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('.main-svg[viewBox]').length") >= wanted
    context.close()
    assert not complaints
    assert [one for one in requested if not one.startswith(("file:", "data:", "blob:"))] == []


def test_without_torch_sections_say_what_is_missing(monkeypatch):
    for name in ("semanticity", "relations"):
        monkeypatch.setattr(f"genlaws.report.sections.{name}.has_torch", lambda: False)
    for make in (semanticity_section, relations_section):
        section = make(Running(), 0, quick=True)
        assert any("pip install 'genlaws[networks]'" in sentence for sentence in section.findings)
        assert not any("networks" in curve.name.lower() for panel in section.panels for curve in panel.curves)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("circle.npy", "embeddings"),
        ("table.csv", "embeddings"),
        ("distances.csv", "distances"),
        ("embeddings:distances.csv", "embeddings"),
        ("labeled.npz", "labeled"),
        ("edges.csv", "relation"),
        ("words.csv", "relation"),
        ("zeros_ones.csv", "relation"),
        ("relation:texts.txt", "relation"),
    ],
)
def test_files_are_recognized(own_files, given, kind):
    prefix, colon, name = given.rpartition(":")
    argument = f"{prefix}{colon}{own_files / name}"
    found = read_user_data(argument, None)
    assert found.kind == kind
    assert found.message.startswith(f"{name} was read as")


def test_a_sparse_relation_is_given_no_bound(tmp_path):
    path = tmp_path / "sparse.csv"
    path.write_text("from,to\na,b\nb,a\nc,d\ne,f\ng,h\ni,j\n", encoding="utf-8")
    data = read_user_data(str(path), None)
    section = relation_section(data, data.content, "own", 0)
    numbers = {name: value for name, value, _ in section.numbers}
    assert numbers["share needed"].startswith("0.000000")
    assert "Always answering no is right on" in section.findings[-1]
    assert "It is not a bound for this relation" in section.panels[0].caption
    assert "best" not in " ".join([*section.findings, *(curve.name for curve in section.panels[0].curves)])


@pytest.mark.parametrize("options", [{}, {"index": False}, {"index": False, "header": False}])
def test_names_of_columns_and_rows_are_no_stimuli(tmp_path, options):
    rng = np.random.default_rng(0)
    table, places = rng.random((12, 3)), rng.random(12)
    pd.DataFrame(table).to_csv(tmp_path / "e.csv", **options)
    pd.DataFrame(places).to_csv(tmp_path / "p.csv", **options)
    found = read_user_data(f"embeddings:{tmp_path / 'e.csv'}", tmp_path / "p.csv")
    np.testing.assert_allclose(found.content, table)
    np.testing.assert_allclose(found.positions[:, 0], places)
    assert ("of e.csv" in found.message) == ("of p.csv" in found.message) == options.get("header", True)
    scope = {"np": np}
    for line in embeddings._python(found, seed=0).splitlines():
        if line.startswith(("from genlaws", "table =", "positions =")):
            exec(re.sub(r"\b([ep])\.csv", rf"{tmp_path}/\1.csv", line), scope)
    np.testing.assert_allclose(scope["table"], table)
    np.testing.assert_allclose(scope["positions"][:, 0], places)


def test_a_relation_of_two_elements_has_no_names_of_columns(tmp_path):
    (tmp_path / "less.csv").write_text("0,1\n0,0\n")
    found = read_user_data(str(tmp_path / "less.csv"), None)
    assert (found.kind, found.content.matrix.tolist()) == ("relation", [[False, True], [False, False]])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--data", "{}/none.npy"], "There is no file"),
        (["--data", "{}"], "is a folder"),
        (["--data", "{}/texts.txt"], "need --model"),
        (["--data", "distances:{}/circle.npy"], "square and symmetric"),
        (["--data", "relation:{}/circle.npy"], "must be square"),
        (["--data", "{}/labeled.npz", "--positions", "{}/places.csv"], "exactly one file"),
        (["--data", "{}/circle.npy", "--positions", "{}/table.csv"], "one row for each of the 40"),
        (["--seed", "-1"], "seed must be"),
        (["--out", "{}/texts.txt/page.html"], "out must be a folder"),
        (["--sections", "none"], "sections must not be none"),
        (["--sections", "poetry"], "sections must be one of"),
    ],
)
def test_wrong_input_is_said_in_one_sentence(own_files, capsys, arguments, sentence):
    given = [one.format(own_files) for one in arguments]
    if "--out" not in given:
        given += ["--out", str(own_files / "unwritten.html")]
    assert run(["report", "--quick", *given]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert not said.out
    assert not (own_files / "unwritten.html").exists()


@pytest.mark.parametrize("law", [SEMANTICITY_LAW, RULES_FACTS_LAW, RELATIONS_LAW])
def test_laws_are_well_formed(law):
    root = ElementTree.fromstring(f"<law>{law}</law>")
    assert root.findall(".//math")
    assert "{" not in "".join(root.itertext())


def test_choices_follow_luce():
    found = draw_choices("constant", 0.5, 2, 20_000, np.random.default_rng(0))
    assert abs(found.generalization - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 20_000)
    assert abs(found.identification - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 20_000)


def test_agreement_is_computed_from_the_scores():
    rng = np.random.default_rng(0)
    right = agreement(rng.standard_normal(100))
    assert right.agrees
    assert right.sentence("things").endswith("They agree.")
    wrong = agreement([0.1, -6.0, np.nan])
    assert (wrong.count, wrong.near, wrong.largest) == (2, 1, 6.0)
    assert wrong.sentence("things").endswith("They differ.")
    # The largest of two exceeds the 95 % bound with probability 1 - 0.95².
    assert agreement([0.0, 1.959964]).chance == pytest.approx(1 - 0.95**2, abs=1e-6)
