"""Features with labels and a split, kept in one NPZ file, as `clifford-rand embed --split` writes them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._files import read_npz, replaced
from clifford_rand.errors import ArgumentError

_ARRAYS = ("X", "y", "split")


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureSet:
    """Features of a file, with the labels as they were written and a split.

    Attributes
    ----------
    X : (n, d) float32 or float64
    y : (n,) array of integers, booleans, floats or text
        Two or more classes.
    split : (n,) bool
        True for training.
    name : str
        The file's name without its ending.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    split: NDArray[np.bool_]
    name: str

    def __len__(self) -> int:
        return len(self.y)

    @property
    def train(self) -> "FeatureSet":
        """The rows for training."""
        return self._side(self.split)

    @property
    def test(self) -> "FeatureSet":
        """The rows for testing."""
        return self._side(~self.split)

    def _side(self, rows: NDArray[np.bool_]) -> "FeatureSet":
        return FeatureSet(X=self.X[rows], y=self.y[rows], split=self.split[rows], name=self.name)


def save_features(path: str | Path, X: ArrayLike, y: ArrayLike, split: ArrayLike) -> None:
    """Write features to an NPZ file that `load_features` reads. The file appears complete or not at all.

    Parameters
    ----------
    path : path that ends in .npz
    X : (n, d) array of float16, float32, float64 or uint8
        Written as it is: float16 has three digits, which embeddings bear well; uint8 stands for [0, 1] in steps of
        1/255.
    y : (n,) labels
    split : (n,) bool
        True for training.

    Raises
    ------
    ArgumentError
        `load_features` would refuse the arrays.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "made.npz"
    >>> save_features(path, np.eye(4, dtype=np.float16), ["a", "b", "a", "b"], [True, True, False, False])
    >>> data = load_features(path)
    >>> data.name, data.X.dtype, data.test.y.tolist()
    ('made', dtype('float32'), ['a', 'b'])
    """
    file = _check_ending(path)
    arrays = {"X": np.asarray(X), "y": np.asarray(y), "split": np.asarray(split)}
    _check(str(file), arrays)
    with replaced(file) as new, open(new, "wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def load_features(path: str | Path) -> FeatureSet:
    """Read features, labels and split from an NPZ file; pickled arrays are refused.

    Parameters
    ----------
    path : path that ends in .npz
        Arrays ``X`` (n, d) of float16, float32, float64 or uint8; ``y`` (n,) with two or more classes; ``split`` (n,)
        bool, True for training. Others are ignored.

    Returns
    -------
    FeatureSet
        X is float64 if it was, and float32 otherwise; uint8 is divided by 255.

    Raises
    ------
    ArgumentError
        The file is missing, damaged or has other arrays; there is NaN, one class only, or no row on one side.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "images.npz"
    >>> save_features(path, np.array([[0, 255], [51, 0]], dtype=np.uint8), [0, 1], [True, False])
    >>> load_features(path).X.tolist()
    [[0.0, 1.0], [0.20000000298023224, 0.0]]
    """
    file = _check_ending(path)
    if not file.is_file():
        raise ArgumentError(f"{file}: {'this is a folder, not a file' if file.is_dir() else 'there is no such file'}.")
    arrays, there = read_npz(file, _ARRAYS)
    missing = [name for name in _ARRAYS if name not in arrays]
    if missing:
        shown = ", ".join(there) or "none"
        raise ArgumentError(f"{file}: there is no array {missing[0]!r}; X, y and split are needed, there are {shown}.")
    _check(str(file), arrays)
    X = arrays["X"]
    if X.dtype == np.uint8:
        X = X.astype(np.float32) / np.float32(255)
    elif X.dtype != np.float64:
        X = X.astype(np.float32)
    return FeatureSet(X=X, y=arrays["y"], split=arrays["split"].astype(np.bool_), name=file.stem)


def load_feature_folder(folder: str | Path, names: Iterable[str] | None = None) -> dict[str, FeatureSet]:
    """Read the NPZ files of a folder, by name.

    Parameters
    ----------
    folder : path
    names : iterable of str or None
        File names without ``.npz``, in the order wanted; all of the folder, sorted, if None.

    Raises
    ------
    ArgumentError
        There is no such folder or file, or none at all, or `load_features` refuses one.
    """
    home = Path(folder)
    if not home.is_dir():
        raise ArgumentError(f"{home}: there is no such folder.")
    there = sorted(file.stem for file in home.glob("*.npz") if not file.name.startswith("."))
    wanted = there if names is None else [names] if isinstance(names, str) else list(names)
    unknown = [name for name in wanted if name not in there]
    if unknown or not wanted:
        what = f"there is no file {unknown[0]}.npz" if unknown else "there is no NPZ file, or none was asked for"
        raise ArgumentError(f"{home}: {what}; the folder has {', '.join(there) or 'none'}.")
    return {name: load_features(home / f"{name}.npz") for name in wanted}


def _check_ending(path: str | Path) -> Path:
    file = Path(path)
    if file.suffix.lower() != ".npz":
        raise ArgumentError(f"{file}: features are in NPZ files; give a name that ends in .npz.")
    return file


def _check(where: str, arrays: dict[str, NDArray[Any]]) -> None:
    X, y, split = (arrays[name] for name in _ARRAYS)
    if X.ndim != 2 or 0 in X.shape or X.dtype not in (np.float16, np.float32, np.float64, np.uint8):
        rule = "an (n, d) array of float16, float32, float64 or uint8"
        raise ArgumentError(f"{where}: 'X' must be {rule}; it has shape {X.shape} and dtype {X.dtype}.")
    n = len(X)
    if y.shape != (n,) or y.dtype.kind not in "biufUS":
        rule = f"{n} labels, one for each row of 'X'"
        raise ArgumentError(f"{where}: 'y' must be {rule}; it has shape {y.shape} and dtype {y.dtype}.")
    if split.shape != (n,) or not (
        split.dtype == np.bool_ or (split.dtype.kind in "iu" and np.isin(split, (0, 1)).all())
    ):
        rule = f"{n} booleans, True for training"
        raise ArgumentError(f"{where}: 'split' must be {rule}; it has shape {split.shape} and dtype {split.dtype}.")
    for name, array in (("X", X), ("y", y)):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            bad = int(array.size - np.count_nonzero(np.isfinite(array)))
            raise ArgumentError(f"{where}: {name!r} has {bad:,} NaN or infinite of {array.size:,} entries.")
    sides = split.astype(np.bool_)
    if sides.all() or not sides.any():
        side = "testing (False)" if sides.all() else "training (True)"
        raise ArgumentError(f"{where}: 'split' has no row for {side}; both sides need rows.")
    if len(np.unique(y)) < 2:
        raise ArgumentError(f"{where}: 'y' has one class only, {y[0]!r}; two or more are needed.")
