"""Images with classes from arrays, archives and folders, and the distances of their classes in a tree."""

import numpy as np
import pytest
from PIL import Image

from genlaws.core.errors import InputError
from genlaws.semanticity.networks import images as labeled_images
from genlaws.semanticity.networks.convolutional import fine_tune
from genlaws.semanticity.networks.images import (
    LabeledImages,
    clustered_distances,
    distances_in_tree,
    load_images,
    read_leaf_names,
)
from project_paths import DATA

BIRDS = "((Phoebastria_nigripes:2,Phoebastria_immutabilis:2):3,Crotophaga_ani:5);"
FOLDERS = {
    "001.Black_footed_Albatross": "Phoebastria nigripes",
    "002.Laysan_Albatross": "Phoebastria immutabilis",
    "004.Groove_billed_Ani": "Crotophaga ani",
}
WAYS = np.array([[0, 4.0, 10.0], [4.0, 0, 10.0], [10.0, 10.0, 0]])


@pytest.fixture(scope="module")
def bird_folder(tmp_path_factory):
    """A folder of class folders with small pictures of several sizes and kinds."""
    folder = tmp_path_factory.mktemp("birds")
    rng = np.random.default_rng(0)
    for number, name in enumerate(FOLDERS):
        (folder / name).mkdir()
        (folder / name / "notes.txt").write_text("no picture")
        for place in range(6):
            pixels = rng.integers(0, 80, (9 + place, 8, 3), dtype=np.uint8)
            pixels[..., number] = 250
            kind = "png" if place % 2 else "bmp"
            Image.fromarray(pixels).save(folder / name / f"{place}.{kind}")
    return folder


def test_digits_are_split_by_class_and_scaled():
    found = load_images("digits")
    assert found.images.shape == (1198, 1, 8, 8)
    assert found.class_names == tuple("0123456789")
    assert (found.images.min(), found.images.max()) == (0.0, 1.0)
    shares = np.bincount(found.held_out_classes) / (np.bincount(found.classes) + np.bincount(found.held_out_classes))
    np.testing.assert_allclose(shares, 1 / 3, atol=0.01)
    again, other = load_images("digits"), load_images("digits", seed=1)
    assert again.classes.tolist() == found.classes.tolist()
    assert other.classes.tolist() != found.classes.tolist()


@pytest.mark.parametrize("shape", [(6, 8, 9), (6, 3, 8, 9), (6, 8, 9, 3), (6, 8, 9, 1)])
def test_channels_stand_first_whatever_the_array(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    found = LabeledImages.of(pixels, [0, 1] * 3, pixels, [0, 1] * 3)
    channels = 3 if 3 in shape else 1
    assert found.images.shape == (6, channels, 8, 9)
    first_last = pixels.reshape(6, 8, 9, 1) if len(shape) == 3 else pixels
    moved = first_last if shape[1] == 3 else np.moveaxis(first_last, 3, 1)
    np.testing.assert_allclose(found.images, moved / 255.0, rtol=1e-6)


def test_a_pair_of_arrays_is_split():
    x, y = np.random.default_rng(0).random((20, 5, 5)), np.repeat(["b", "a"], 10)
    found = load_images((x, y), held_out=0.2)
    assert found.class_names == ("a", "b")
    assert np.bincount(found.held_out_classes).tolist() == [2, 2]
    together = np.concatenate([found.images, found.held_out_images])
    assert sorted(together[:, 0, 0, 0].tolist()) == sorted(x.astype(np.float32)[:, 0, 0].tolist())
    assert load_images(found) is found


def test_an_archive_keeps_its_own_split_and_names(tmp_path):
    x = np.zeros((4, 6, 6, 3), dtype=np.uint8)
    names = ["plane", "car", "bird", "cat"]
    np.savez(tmp_path / "own.npz", x_train=x, y_train=[3, 1, 3, 1], x_test=x, y_test=[1, 1, 3, 3], class_names=names)
    found = load_images(tmp_path / "own.npz")
    assert found.class_names == ("car", "cat")
    assert found.classes.tolist() == [1, 0, 1, 0]
    assert found.held_out_classes.tolist() == [0, 0, 1, 1]


def test_an_archive_without_a_split_is_split(tmp_path):
    np.savez(tmp_path / "whole.npz", images=np.zeros((8, 6, 6)), labels=[0, 1] * 4)
    found = load_images(tmp_path / "whole.npz", held_out=0.5)
    assert (len(found.images), len(found.held_out_images)) == (4, 4)


def test_a_folder_of_class_folders_is_read_in_color_and_scaled(bird_folder):
    found = load_images(bird_folder, image_size=12, held_out=0.5)
    assert found.class_names == tuple(FOLDERS)
    assert found.images.shape == (9, 3, 12, 12)
    # Each class has a color of its own.
    assert found.images.mean((2, 3)).argmax(1).tolist() == found.classes.tolist()


def test_birds_are_fine_tuned_on_their_tree(bird_folder, tmp_path):
    table = tmp_path / "classes.csv"
    rows = [f"{name.split('.')[1]},{leaf}" for name, leaf in FOLDERS.items()]
    table.write_text("cub_class,scientific_name\n" + "\n".join(rows))
    (tmp_path / "tree.nwk").write_text(BIRDS)
    images = load_images(bird_folder, image_size=8, held_out=0.5)
    found = fine_tune(
        "small",
        data=images,
        tree=tmp_path / "tree.nwk",
        leaf_names=read_leaf_names(table),
        similarity_weight=0.5,
        epochs=1,
        batch_size=4,
    )
    np.testing.assert_allclose(found.distances, WAYS)
    assert np.isfinite(found.tests[0].peak_generalization)


def test_classes_are_found_in_a_tree_under_their_own_names_too():
    tree = "((cat,dog),automobile);"
    np.testing.assert_allclose(distances_in_tree(tree, ["automobile", "cat", "dog"]), [[0, 3, 3], [3, 0, 2], [3, 2, 0]])
    np.testing.assert_allclose(distances_in_tree(BIRDS, list(FOLDERS.values())), WAYS)
    np.testing.assert_allclose(distances_in_tree("(a:1,b:2);", ["001.b", "2_a"]), [[0, 3], [3, 0]])


def test_the_two_hundred_birds_have_a_place_in_their_tree():
    tree, table = DATA / "birds" / "cub200_tree.nwk", DATA / "birds" / "cub200_classes.csv"
    if not (tree.exists() and table.exists()):
        pytest.skip(f"needs birds/cub200_tree.nwk and birds/cub200_classes.csv in {DATA} or GENLAWS_DATA")
    leaves = read_leaf_names(table)
    assert len(leaves) == 200
    names = [f"{place:03d}.{name}" for place, name in enumerate(leaves, start=1)]
    ways = distances_in_tree(tree, names, leaves)
    assert ways.shape == (200, 200)
    assert (ways[~np.eye(200, dtype=bool)] > 0).all()


def test_clustering_joins_the_nearest_means_at_their_average_distance():
    # Means at 0, 1, 5 and 5.5 on a line: 5 and 5.5 meet at 0.5, 0 and 1 at 1, the two pairs at the mean of four ways.
    x = np.array([-0.1, 0.1, 0.9, 1.1, 5.0, 5.5])[:, None]
    found = clustered_distances(x, [0, 0, 1, 1, 2, 3])
    across = np.mean([5.0, 5.5, 4.0, 4.5])
    expected = [[0, 1, across, across], [1, 0, across, across], [across, across, 0, 0.5], [across, across, 0.5, 0]]
    np.testing.assert_allclose(found, expected)


X, Y = np.zeros((6, 4, 4)), np.array([0, 1] * 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"data": 3}, "data must be"),
        ({"data": "nowhere"}, "there is no such file or folder"),
        ({"data": (X, Y, Y)}, "data must be"),
        ({"data": (X, Y[:5])}, "labels must be"),
        ({"data": (X, 0.5 * Y)}, "labels must be"),
        ({"data": (X[:, 0], Y)}, "images must be numbers of shape"),
        ({"data": (np.full((6, 4, 4), np.nan), Y)}, "images must be finite"),
        ({"data": (np.zeros((6, 5, 5, 5)), Y)}, "up to 4 channels"),
        ({"data": (X, np.zeros(6, dtype=int))}, "at least two classes"),
        ({"data": (X, np.arange(6))}, "has one image"),
        ({"data": (X, Y), "held_out": 0.0}, "held_out must lie in"),
        ({"data": (X, Y), "image_size": 1}, "image_size must be"),
        ({"data": (X, Y), "seed": -1}, "seed must be"),
    ],
)
def test_wrong_images_are_refused(given, said):
    with pytest.raises(InputError) as caught:
        load_images(**given)
    assert said in str(caught.value)


def test_a_split_must_fit_together():
    with pytest.raises(InputError, match="All images must have one shape"):
        LabeledImages.of(X, Y, np.zeros((3, 5, 5)), Y[:3])
    with pytest.raises(InputError, match="'2' is not|2 is not"):
        LabeledImages.of(X, Y, X[:3], [0, 1, 2])
    with pytest.raises(InputError, match="class_names must name every class"):
        LabeledImages.of(X, Y, X, Y, ["one"])
    with pytest.raises(InputError, match="class_names must differ"):
        LabeledImages.of(X, Y, X, Y, ["one", "one"])


def test_wrong_files_are_refused(tmp_path, monkeypatch):
    (tmp_path / "text.npz").write_text("x")
    with pytest.raises(InputError, match="text.npz could not be read"):
        load_images(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", pixels=X)
    with pytest.raises(InputError, match="other.npz: the arrays must be called"):
        load_images(tmp_path / "other.npz")
    with pytest.raises(InputError, match="found no image"):
        load_images(tmp_path)
    monkeypatch.setattr(labeled_images, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install pillow"):
        load_images(tmp_path)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        load_images("digits")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda _: clustered_distances(X, Y[:3]), "classes must be one whole number"),
        (lambda _: clustered_distances(X, Y - 1), "classes must be one whole number"),
        (lambda _: clustered_distances(X, 2 * Y), "each of them with an image"),
        (lambda _: distances_in_tree(3, ["a"]), "tree must be text"),
        (lambda _: distances_in_tree("nowhere.nwk", ["a"]), "there is no file"),
        (lambda _: distances_in_tree("(a,b);", ["a", "c"]), "leaves must be names of the tree"),
        (lambda folder: read_leaf_names(folder / "no.csv"), "There is no file"),
        (lambda folder: read_leaf_names(folder / "table.csv"), "must have a column 'cub_class'; it has one, two"),
    ],
)
def test_wrong_trees_are_refused(tmp_path, call, said):
    (tmp_path / "table.csv").write_text("one,two\n1,2\n")
    with pytest.raises(InputError) as caught:
        call(tmp_path)
    assert said in str(caught.value)
