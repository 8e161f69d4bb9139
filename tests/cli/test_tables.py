"""The same wrong file is refused with the same sentence and exit code 2 by every command that reads a table."""

import numpy as np
import pandas as pd
import pytest

NUMBER_DOORS = {
    "embeddings": ("semanticity", "measure", "BAD", "--positions", "GOOD", "--metric", "euclidean"),
    "positions": ("semanticity", "measure", "GOOD", "--positions", "BAD", "--metric", "euclidean"),
    "distances": ("semanticity", "front", "--distances", "BAD", "--resolution", "1"),
    "weights": ("semanticity", "front", "--distances", "SQUARE", "--weights", "BAD", "--resolution", "1"),
    "report": ("report", "--data", "embeddings:BAD"),
    "report distances": ("report", "--data", "distances:BAD"),
    "report labeled": ("report", "--data", "labeled:BAD"),
    "report positions": ("report", "--data", "GOOD", "--positions", "BAD"),
    "labeled": ("rules-facts", "advise", "BAD", "--rule-classes", "0", "1"),
    "matrix": ("relations", "describe", "BAD"),
}
TEXT_DOORS = {
    **NUMBER_DOORS,
    "report any": ("report", "--data", "BAD"),
    "groups": ("semanticity", "measure", "GOOD", "--positions", "BAD", "--metric", "tree"),
    "tree": ("semanticity", "measure", "GOOD", "--positions", "TREE", "--metric", "tree"),
    "leaves": ("semanticity", "measure", "GOOD", "--positions", "NEWICK", "--labels", "BAD", "--metric", "tree"),
    "training set": ("relations", "bound", "--train", "BAD", "--class", "total-order"),
    "names": ("relations", "bound", "--train", "EDGES", "--names", "BAD", "--class", "total-order"),
    "trials": ("semanticity", "fit-choices", "BAD"),
    "probe": ("semanticity", "probe", "any-model", "--task", "table:BAD", "--dry-run"),
}


@pytest.fixture
def refused(genlaws, tmp_path):
    """Return a function that calls a command with a wrong file of some content."""
    np.save(tmp_path / "good.npy", np.random.default_rng(0).standard_normal((12, 3)))
    np.save(tmp_path / "square.npy", np.ones((3, 3)) - np.eye(3))
    (tmp_path / "tree.nwk").write_text("(a:1,b:1);")
    (tmp_path / "edges.csv").write_text("a,b,1\n")
    files = {"GOOD": "good.npy", "SQUARE": "square.npy", "NEWICK": "tree.nwk", "EDGES": "edges.csv"}

    def call(arguments, name, content):
        paths = {word: tmp_path / file for word, file in files.items()}
        paths |= {"BAD": tmp_path / name, "TREE": tmp_path / "wrong.nwk"}
        for word in ("BAD", "TREE"):
            if content is not None:
                paths[word].write_bytes(content)
        words = []
        for given in arguments:
            prefix, colon, word = given.rpartition(":")
            words.append(f"{prefix}{colon}{paths.get(word, word)}")
        answer = genlaws(*words)
        assert answer.code == 2, answer.out
        assert answer.out == ""
        assert answer.err.startswith("genlaws: ")
        assert answer.err.count("\n") == 1
        return answer.err

    return call


@pytest.mark.parametrize("door", NUMBER_DOORS)
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("1,2,0\n3,x,1\n5,6,0\n", "must hold only numbers; the cell in row 2, column 2 is 'x'."),
        ("1,2,0\n\n3,nan,1\n", "must hold only numbers; the cell in row 3, column 2 is 'nan', which is not finite."),
        ("1,2,0\r\n3,,1\r\n", "must hold only numbers; the cell in row 2, column 2 is empty."),
        ('1,2,0\n3,"4,5",1\n', "the cell in row 2, column 2 is '4,5', with a decimal comma instead of a point."),
        ("1,2,0\n3,1\n", "must hold only numbers; row 2 has 2 cells, the first has 3."),
    ],
)
def test_a_wrong_cell_is_named_with_its_row_and_column(refused, door, content, sentence):
    assert sentence in refused(NUMBER_DOORS[door], "bad.csv", content.encode())


@pytest.mark.parametrize("door", TEXT_DOORS)
def test_a_file_in_another_encoding_is_refused(refused, door):
    error = refused(TEXT_DOORS[door], "bad.csv", "a,b,0\n1,Käse,3\n".encode("latin-1"))
    assert "must be text in UTF-8; line 2 of the file is not." in error


@pytest.mark.parametrize("door", TEXT_DOORS)
def test_a_file_that_is_not_there_is_refused(refused, door):
    assert "There is no file " in refused(TEXT_DOORS[door], "bad.csv", None)


@pytest.mark.parametrize("door", [door for door in NUMBER_DOORS if door not in {"labeled", "report labeled", "matrix"}])
@pytest.mark.parametrize("name", ["bad.xlsx", "bad.json"])
def test_another_kind_of_file_is_refused_with_a_list(refused, door, name):
    assert "must be a file ending in .npy, .npz, .csv, .tsv or .parquet; got 'bad." in refused(
        NUMBER_DOORS[door], name, b"{}"
    )


@pytest.mark.parametrize("door", ["embeddings", "positions", "distances", "weights", "report", "matrix"])
def test_an_archive_with_several_arrays_is_refused_with_their_names(refused, door, tmp_path):
    np.savez(tmp_path / "several.npz", first=np.eye(3), second=np.eye(3))
    content = (tmp_path / "several.npz").read_bytes()
    assert "found first, second." in refused(NUMBER_DOORS[door], "bad.npz", content)


TEXT_TABLES = {
    "labeled": (
        ("rules-facts", "advise", "TABLE", "--rule-classes", "a", "b", "--parameters", "1"),
        {
            "0": np.float32(np.sin(np.arange(80.0) ** 2)),
            "1": np.cos(np.arange(80.0) ** 2),
            "class": np.where(np.sin(np.arange(80.0) ** 2) > 0, "a", "b"),
        },
    ),
    "training set": (
        ("relations", "bound", "--train", "TABLE", "--class", "total-order"),
        {"first": ["a", "b"], "second": ["b", "c"], "value": [1, 1]},
    ),
    "trials": (
        ("semanticity", "fit-choices", "TABLE", "--shape", "exponential", "--lapse", "0"),
        {
            "trial": np.repeat(np.arange(60), 2),
            "distance": np.tile([1.0, 2.5, 0.5, 3.0], 30),
            "chosen": np.tile([1, 0, 1, 0, 0, 1], 20),
        },
    ),
    "probe": (
        ("semanticity", "probe", "any-model", "--task", "table:TABLE", "--dry-run", "--trials", "3"),
        {"item": ["ant", "bee", "cat", "dog", "eel"], "value": [1.5, 2.0, 4.0, 7.0, 8.0]},
    ),
}


def without_inputs(found):
    """Return the numbers of an answer without the name of its file."""
    return (
        {key: without_inputs(one) for key, one in found.items() if key != "inputs"} if hasattr(found, "keys") else found
    )


@pytest.mark.parametrize("kind", TEXT_TABLES)
def test_a_parquet_file_is_read_as_the_same_table_of_text(genlaws, tmp_path, kind):
    words, columns = TEXT_TABLES[kind]
    frame = pd.DataFrame(columns, index=pd.Index(np.arange(len(next(iter(columns.values())))) + 5))
    frame.astype({name: float for name in frame if frame[name].dtype.kind == "f"}).to_csv(
        tmp_path / "t.csv", index=False
    )
    frame.to_parquet(tmp_path / "t.parquet")
    answers = []
    for name in ("t.csv", "t.parquet"):
        answer = genlaws(*(word.replace("TABLE", str(tmp_path / name)) for word in words), "--json")
        assert answer.code == 0, answer.err
        answers.append(without_inputs(answer.json))
    assert answers[0] == answers[1]


def test_a_wrong_cell_of_a_parquet_table_is_named_with_its_row_and_column(genlaws, tmp_path):
    pd.DataFrame({"x": [1.0, np.nan], "label": ["a", "b"]}).to_parquet(tmp_path / "t.parquet")
    answer = genlaws("rules-facts", "advise", tmp_path / "t.parquet", "--rule-classes", "a", "b")
    assert answer.code == 2
    assert "the cell in row 3, column 1 is empty." in answer.err
