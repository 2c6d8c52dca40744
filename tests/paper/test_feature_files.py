"""Feature files: what is written comes back, and one sentence for everything that can be wrong."""

import re
import zipfile
from functools import partial

import numpy as np
import pytest

from examples.paper.datasets.feature_files import load_feature_folder, load_features, save_features
from support.refusals import refused

rng = np.random.default_rng(0)
X = rng.standard_normal((12, 3))
Y = np.array(["no", "yes"] * 6)
SPLIT = np.arange(12) < 8


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "uint8"])
def test_features_come_back(tmp_path, kind):
    read = "float64" if kind == "float64" else "float32"
    data = (255 * rng.random((12, 3))).astype(kind) if kind == "uint8" else X.astype(kind)
    save_features(tmp_path / "set.npz", data, Y, SPLIT)
    found = load_features(tmp_path / "set.npz")
    assert (found.name, found.X.dtype, len(found)) == ("set", np.dtype(read), 12)
    scale = np.float32(255) if kind == "uint8" else 1
    np.testing.assert_array_equal(found.X, data.astype(read) / scale)
    assert found.y.tolist() == Y.tolist()
    np.testing.assert_array_equal(found.train.X, found.X[:8])
    np.testing.assert_array_equal(found.test.y, Y[8:])
    assert (len(found.train), len(found.test)) == (8, 4)
    assert [file.name for file in tmp_path.iterdir()] == ["set.npz"]  # no partial file is left


@pytest.mark.parametrize("labels", [np.arange(12) % 3, Y == "yes", np.where(Y == "yes", 1.0, -1.0)])
def test_labels_keep_their_kind(tmp_path, labels):
    save_features(tmp_path / "set.npz", X, labels, SPLIT)
    found = load_features(tmp_path / "set.npz").y
    assert found.dtype == labels.dtype
    np.testing.assert_array_equal(found, labels)


def test_other_arrays_are_ignored_and_zeros_and_ones_are_a_split(tmp_path):
    np.savez(tmp_path / "set.npz", X=X, y=Y, split=SPLIT.astype(np.int8), ids=np.arange(12))
    np.testing.assert_array_equal(load_features(tmp_path / "set.npz").split, SPLIT)


def test_a_folder_is_read_by_name(tmp_path):
    for name in ("b", "a"):
        save_features(tmp_path / f"{name}.npz", X, Y, SPLIT)
    (tmp_path / "README.md").write_text("not features")
    assert list(load_feature_folder(tmp_path)) == ["a", "b"]
    assert list(load_feature_folder(tmp_path, ["b"])) == ["b"]
    refused(r"there is no file c\.npz; the folder has a, b\.", load_feature_folder, tmp_path, ["a", "c"])
    refused("there is no such folder", load_feature_folder, tmp_path / "c")
    (tmp_path / "empty").mkdir()
    refused("there is no NPZ file", load_feature_folder, tmp_path / "empty")


def changed(**arrays):
    return {"X": X, "y": Y, "split": SPLIT} | arrays


WRONG = [
    (changed(X=X[:, 0]), "'X' must be an (n, d) array of float16, float32, float64 or uint8; it has shape (12,)"),
    (changed(X=np.zeros((12, 0))), "it has shape (12, 0)"),
    (changed(X=np.zeros((12, 3), dtype=np.int64)), "dtype int64"),
    (changed(X=np.where(X > 1, np.nan, X)), "'X' has"),
    (changed(y=Y[:11]), "'y' must be 12 labels, one for each row of 'X'"),
    (changed(y=np.where(SPLIT, 1.0, np.inf)), "'y' has 4 NaN or infinite of 12 entries"),
    (changed(y=np.full(12, "yes")), "'y' has one class only"),
    (changed(split=SPLIT[:5]), "'split' must be 12 booleans, True for training"),
    (changed(split=np.arange(12)), "'split' must be 12 booleans, True for training"),
    (changed(split=np.ones(12, dtype=bool)), "'split' has no row for testing (False)"),
    (changed(split=np.zeros(12, dtype=bool)), "'split' has no row for training (True)"),
]


@pytest.mark.parametrize(("arrays", "message"), WRONG)
def test_wrong_arrays_are_neither_read_nor_written(tmp_path, arrays, message):
    np.savez(tmp_path / "bad.npz", **arrays)
    for name, work in (("bad", load_features), ("new", partial(save_features, **arrays))):
        refused(rf"{name}\.npz.*{re.escape(message)}", work, tmp_path / f"{name}.npz")
    assert not (tmp_path / "new.npz").exists()


def test_wrong_files_are_named(tmp_path):
    np.savez(tmp_path / "part.npz", X=X, y=Y)
    np.savez(tmp_path / "pickled.npz", X=X, y=Y.astype(object), split=SPLIT)
    save_features(tmp_path / "good.npz", X, Y, SPLIT)
    whole = (tmp_path / "good.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(tmp_path / "other.npz", "w") as archive:
        archive.writestr("hello.txt", "hello")
    for name, message in (
        ("part", "there is no array 'split'; X, y and split are needed, there are X, y"),
        ("pickled", "holds object arrays"),
        ("cut", "is damaged"),
        ("other", "there is no array 'X'"),
        ("none", "there is no such file"),
    ):
        refused(message, load_features, tmp_path / f"{name}.npz")
    refused(r"give a name that ends in \.npz", save_features, tmp_path / "set.csv", X, Y, SPLIT)
