"""MNIST: 70,000 images of handwritten digits, from OpenML through scikit-learn; the paper's pair is 0 and 1."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.errors import ArgumentError, require
from examples.paper.datasets.assembly import Known, check_counts
from examples.paper.datasets.labelled import LabelledArrays

__all__ = ["load_mnist", "mnist_arrays"]

_OPENML_ID = 554  # mnist_784, version 1
_SIDE = 28
_TRAIN = 60_000  # OpenML has the training images first
_COUNTS = {
    "train": (5_923, 6_742, 5_958, 6_131, 5_842, 5_421, 5_918, 6_265, 5_851, 5_949),
    "test": (980, 1_135, 1_032, 1_010, 982, 892, 958, 1_028, 974, 1_009),
}
_KNOWN = Known("MNIST", tuple(str(digit) for digit in range(10)), _COUNTS)


def load_mnist(
    digits: Sequence[int] = (0, 1), *, data_home: str | Path | None = None, partial: bool = False
) -> LabelledArrays:
    """Load some digits of MNIST as rows of 784 grey levels from 0 to 1.

    scikit-learn downloads the set once (15 MB), checks its MD5 sum against OpenML's and keeps it under ``data_home``.

    Parameters
    ----------
    digits : sequence of int
        Two or more different digits; class k is ``digits[k]``. The paper has (0, 1): 12,665 images to train, 2,115 to
        test. ``range(10)`` gives all.
    data_home : path or None
        scikit-learn's data folder; ``~/scikit_learn_data`` if None.
    partial : bool
        Accept a copy with other counts than the published ones, with a warning and a note. Its first six sevenths
        are then for training.

    Returns
    -------
    LabelledArrays
        X (n, 784) float32, row after row of the image; the split is MNIST's own; ids are rows of the whole set.

    Raises
    ------
    ArgumentError
        The digits are not as above, or the set has other counts than the published one.
    MissingDependencyError
        scikit-learn reads the file with pandas (extra ``app``).

    References
    ----------
    LeCun, Cortes and Burges, "The MNIST database of handwritten digits". https://www.openml.org/d/554

    Examples
    --------
    >>> load_mnist((3, 3))
    Traceback (most recent call last):
    ...
    clifford_rand.errors.ArgumentError: The 'digits' parameter of load_mnist must be two or more different digits ...
    """
    _check_digits(digits, "load_mnist")
    require("pandas", extra="app", purpose="reading MNIST")
    from sklearn.datasets import fetch_openml

    home = None if data_home is None else str(data_home)
    try:
        # bytes for all columns: an eighth of the memory, and scikit-learn up to 1.9 fails on the categories that it
        # would ask for by default, which pandas reads as integers since 3.1
        bunch = fetch_openml(
            data_id=_OPENML_ID, data_home=home, as_frame=False, parser="pandas", read_csv_kwargs={"dtype": np.uint8}
        )
    except ValueError as error:  # OpenML refuses, or the checksum is wrong; no network is an OSError and says so itself
        raise ArgumentError(f"OpenML data set {_OPENML_ID}: {' '.join(str(error).split())}") from error
    return mnist_arrays(bunch.data, bunch.target, digits, partial=partial)


def mnist_arrays(images: Any, targets: Any, digits: Sequence[int] = (0, 1), *, partial: bool = False) -> LabelledArrays:
    """Check the images (n, 784) and targets (n,) of OpenML's MNIST in its own order, and keep some digits.

    Raises
    ------
    ArgumentError
        The images are not 784 grey levels from 0 to 255, or the set has other counts than the published one.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # this is not all of MNIST
    ...     data = mnist_arrays(np.full((14, 784), 255), np.array(list("01") * 7), partial=True)
    >>> data.X.max(), data.counts
    (np.float32(1.0), {'train': {'0': 6, '1': 6}, 'test': {'0': 1, '1': 1}})
    """
    chosen = _check_digits(digits, "mnist_arrays")
    pixels, place = np.asarray(images), f"OpenML data set {_OPENML_ID}"
    if pixels.ndim != 2 or pixels.shape[1] != _SIDE * _SIDE or len(pixels) == 0 or pixels.dtype.kind not in "iuf":
        raise ArgumentError(f"{place}: images must be (n, 784) numbers; they have shape {pixels.shape}.")
    if not (pixels.min() >= 0 and pixels.max() <= 255):
        raise ArgumentError(
            f"{place}: grey levels must be from 0 to 255; the file is damaged, delete it and try again."
        )
    target = np.asarray(targets).astype(str)
    if target.shape != (len(pixels),) or not np.isin(target, _KNOWN.class_names).all():
        raise ArgumentError(f"{place}: targets must be a digit for each of the {len(pixels):,} images.")
    digit = target.astype(np.int64)
    n_train = _TRAIN if not partial or len(digit) == _TRAIN + sum(_COUNTS["test"]) else len(digit) * 6 // 7
    split = np.arange(len(digit)) < n_train
    found = {name: np.bincount(digit[rows], minlength=10) for name, rows in (("train", split), ("test", ~split))}
    notes = check_counts(place, _KNOWN, found, partial)
    label = np.full(10, -1)
    label[list(chosen)] = np.arange(len(chosen))
    rows = np.flatnonzero(label[digit] >= 0)
    return LabelledArrays(
        X=pixels[rows].astype(np.float32) / np.float32(255),
        y=label[digit[rows]],
        split=split[rows],
        name="MNIST " + "/".join(str(d) for d in chosen),
        notes=notes,
        class_names=tuple(str(d) for d in chosen),
        ids=rows,
    )


def _check_digits(digits: object, owner: str) -> tuple[int, ...]:
    chosen = tuple(digits) if isinstance(digits, Sequence | np.ndarray) and not isinstance(digits, str) else ()
    whole = all(isinstance(d, int | np.integer) and not isinstance(d, bool) and 0 <= d <= 9 for d in chosen)
    if not whole or len(chosen) < 2 or len(set(chosen)) < len(chosen):
        raise fail("digits", owner, "two or more different digits from 0 to 9", describe(str(digits)))
    return tuple(int(d) for d in chosen)
