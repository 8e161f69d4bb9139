"""Reading relations from files of edges, and what is refused."""

import gzip
from pathlib import Path

import pytest

from genlaws.core.errors import InputError
from genlaws.relations.structure.knowledge_graph import read_knowledge_graph
from project_paths import DATA

FACTS = [("ann", "knows", "bob"), ("bob", "likes", "ann"), ("ann", "knows", "cid"), ("ann", "knows", "bob")]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "between", "end", "heading"),
    [
        ("a.tsv", "\t", "\n", ""),
        ("a.tsv.gz", "\t", "\n", ""),
        ("a.csv", ",", "\n", "head,relation,tail\n"),
        ("a.csv.gz", ",", "\r\n", "Subject,Predicate,Object\r\n"),
        ("a.txt", "\t", "\ttrain\r\n", ""),
        ("a.txt", " ", "\n", ""),
    ],
)
def test_all_formats_give_the_same_graph(tmp_path, name, between, end, heading):
    text = heading + "".join(between.join(fact) + end for fact in FACTS)
    graph = read_knowledge_graph(written(tmp_path, name, text))
    assert graph.entities == ("ann", "bob", "cid")
    assert graph.relation_names == ("knows", "likes")
    assert graph.counts == {"knows": 2, "likes": 1}
    assert str(graph) == f"{name}: 3 entities, 2 relations, 3 facts"
    knows = graph.relation("knows")
    assert knows.names == ("ann", "bob", "cid")
    assert knows.pairs.tolist() == [[0, 1], [0, 2]]
    assert knows.label == "knows"


def test_elements_are_those_used_or_all(tmp_path):
    graph = read_knowledge_graph(written(tmp_path, "a.tsv", "".join("\t".join(fact) + "\n" for fact in FACTS)))
    assert graph.relation("likes").names == ("ann", "bob")
    assert graph.relation("likes", "all").names == ("ann", "bob", "cid")
    assert graph.relation("likes", "all").pairs.tolist() == [[1, 0]]
    with pytest.raises(InputError, match="elements must be one of used, all; got 'some'"):
        graph.relation("likes", "some")


def test_quoted_commas_and_pairs_without_a_relation(tmp_path):
    graph = read_knowledge_graph(written(tmp_path, "a.csv", 'source,target\n"Paris, France",Europe\nRome,Europe\n'))
    relation = graph.relation()
    assert relation.names == ("Paris, France", "Europe", "Rome")
    assert relation.pairs.tolist() == [[0, 1], [2, 1]]
    assert relation.label == "a.csv"
    with pytest.raises(InputError, match="a.csv has two columns and no names of relations; got 'x'"):
        graph.relation("x")


@pytest.mark.parametrize("heading", ["first,second", "From,To", "parent,child"])
def test_names_of_two_columns_are_no_edge(tmp_path, heading):
    (tmp_path / "edges.csv").write_text(f"{heading}\na,b\nb,c\n", encoding="utf-8")
    assert read_knowledge_graph(tmp_path / "edges.csv").entities == ("a", "b", "c")


def test_names_are_in_the_order_of_their_numbers(tmp_path):
    text = "".join(f"a\tterm{number}\tb{number}\n" for number in (10, 2, 1))
    graph = read_knowledge_graph(written(tmp_path, "a.tsv", text))
    assert graph.relation_names == ("term1", "term2", "term10")
    assert graph.relation("term10").names == ("a", "b10")


def test_unknown_and_missing_names_list_what_there_is(tmp_path):
    graph = read_knowledge_graph(written(tmp_path, "a.tsv", "".join("\t".join(fact) + "\n" for fact in FACTS)))
    with pytest.raises(InputError, match="There is no relation 'hates' in a.tsv; it has knows, likes"):
        graph.relation("hates")
    with pytest.raises(InputError, match="a.tsv has several relations; name one of knows, likes"):
        graph.relation()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must hold at least one line"),
        ("head\trelation\ttail\n", "must hold at least one line"),
        ("\n", "must hold at least one line"),
        ("a\tr\tb\n\nc\tr\n", "a.tsv, line 3 must hold head, relation and tail; got"),
        ("a\tr\tb\nc\t\td\n", "a.tsv, line 2 must hold head, relation and tail"),
        ("a\tb\nc\n", "a.tsv, line 2 must hold head and tail"),
        ("alone\n", "a.tsv, line 1 must hold head and tail"),
    ],
)
def test_bad_lines_are_refused_with_their_number(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_knowledge_graph(written(tmp_path, "a.tsv", text))


def test_files_that_are_no_text_are_refused(tmp_path):
    for name, content, sentence in (
        ("a.tsv", b"\xff\xfe\x00", "a.tsv must be text in UTF-8; line 1 of the file is not"),
        ("b.tsv.gz", b"plain", "b.tsv.gz must be a whole .gz file"),
        ("c.gz", gzip.compress(b"a\tb")[:-9], "c.gz must be a whole .gz file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=sentence):
            read_knowledge_graph(tmp_path / name)
    with pytest.raises(InputError, match="There is no file"):
        read_knowledge_graph(tmp_path / "none.tsv")


def test_wordnet_loads():
    path = DATA / "kg" / "wordnet3_noun_relations.tsv.gz"
    if not path.is_file():
        pytest.skip(f"needs kg/wordnet3_noun_relations.tsv.gz in {DATA}, or in the folder GENLAWS_DATA names")
    graph = read_knowledge_graph(path)
    assert len(graph.facts) == 106_614
    assert graph.counts["hypernym"] == 75_850
    assert graph.relation("hypernym").element_count == 74_401
