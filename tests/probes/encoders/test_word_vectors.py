"""Word vectors from files that the tests write, in all the forms such files have."""

import gzip

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.probes.encoders.load import load_encoder
from genlaws.probes.encoders.stimuli import hue_stimuli, word_stimuli
from genlaws.probes.encoders.word_vectors import WordVectors
from genlaws.probes.layers.embeddings import measure_layers

WORDS = ["the", "year", *map(str, range(800, 812)), "paris", "New_York", ". .", "na\u00efve", "a\u00a0b"]
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
ROW = dict(zip(WORDS, TABLE, strict=True))


def lines(header, end="\n"):
    first = [f"{len(WORDS)} {TABLE.shape[1]}"] if header else []
    rows = [" ".join([word, *map(repr, row.tolist())]) for word, row in zip(WORDS, TABLE, strict=True)]
    return "".join(line + end for line in [*first, *rows]).encode()


def write(folder, form):
    if form == "npz":
        np.savez(folder / "v.npz", words=np.array(WORDS), vectors=TABLE)
        return folder / "v.npz"
    name, header, end = {
        "glove": ("glove.txt", False, "\n"),
        "word2vec": ("w2v.txt", True, " \n"),
        "fasttext": ("cc.en.vec", True, "\r\n"),
        "gzipped": ("cc.en.vec.gz", True, "\n"),
    }[form]
    data = lines(header, end)
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


@pytest.mark.parametrize("form", ["glove", "word2vec", "fasttext", "gzipped", "npz"])
def test_vectors_are_those_of_the_file(tmp_path, form):
    encoder = load_encoder(write(tmp_path, form))
    assert encoder.layers == ("vectors",)
    assert encoder.width == 6
    requested = ["803", "Paris", "New York", ". .", "na\u00efve", "the year 805", "Year"]
    expected = [
        *(ROW["803"], ROW["paris"], ROW["New_York"], ROW[". ."], ROW["na\u00efve"]),
        np.mean([ROW["the"], ROW["year"], ROW["805"]], axis=0),
        ROW["year"],
    ]
    assert encoder.embed(requested)["vectors"] == pytest.approx(np.array(expected), abs=1e-6)


def test_only_the_lines_of_wanted_words_are_parsed(tmp_path):
    file = tmp_path / "v.txt"
    file.write_bytes(lines(False) + b"spoilt x y z\n")
    assert load_encoder(file).embed(["801"])["vectors"].shape == (1, 6)
    with pytest.raises(InputError, match="v.txt, line 20: there must be a word and 6 numbers"):
        load_encoder(file).embed(["spoilt"])
    file.write_bytes(lines(False) + b"spoilt 1 2 3 4 5 nan\n")
    with pytest.raises(InputError, match="line 20: a word must be followed by finite numbers"):
        load_encoder(file).embed(["spoilt"])


def test_missing_words_are_listed_in_one_sentence_and_can_be_left_out(tmp_path):
    encoder = load_encoder(write(tmp_path, "glove"))
    stimuli = word_stimuli("years", count=800)
    with pytest.raises(InputError) as caught:
        encoder.embed(stimuli)
    assert "glove.txt has no vectors for 788 of 800 stimuli: 'the year 812', " in str(caught.value)
    assert "\n" not in str(caught.value)
    known = stimuli.without(encoder.missing(stimuli))
    assert known.contents == tuple(f"the year {year}" for year in range(800, 812))
    found = measure_layers(encoder, stimuli=known)
    assert found.layers == ("vectors",)
    with pytest.raises(InputError, match="is not a network and has no weights to draw anew; use permuted"):
        measure_layers(encoder, stimuli=known, control="random weights")


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("v.txt", b"", "must have a word and its numbers in each line"),
        ("v.txt", b"just words here\n", "must have a word and its numbers in each line"),
        ("v.vec.gz", b"no gzip", "could not be read"),
        ("v.bin", b"x", "source must be a file of word vectors"),
    ],
)
def test_what_is_no_file_of_word_vectors_is_said(tmp_path, name, data, sentence):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=sentence):
        load_encoder(tmp_path / name, kind="vectors").embed(["a"])


def test_an_archive_must_hold_words_and_vectors(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.array(["a", "b"]), vectors=np.ones((3, 2)))
    with pytest.raises(InputError, match="v.npz must hold words, an array of text, and vectors"):
        load_encoder(tmp_path / "v.npz", kind="vectors").embed(["a"])


def test_pictures_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        WordVectors(tmp_path / "no.txt")
    with pytest.raises(InputError, match="which is not an image encoder"):
        load_encoder(write(tmp_path, "glove")).embed(hue_stimuli(4, size=8))
