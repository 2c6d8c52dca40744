"""A fitted estimator in one NPZ file: plain arrays and one JSON entry, never a pickle."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._checks import describe, fail
from clifford_rand._files import replaced
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import FAULTS, read_npz
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.saved import finite, infinite, kernel, search
from clifford_rand_nn.saved.parts import FORMAT

VERSION = 7  # raised when a reader of the old layout could not read the new one
# 1 knew gated networks only, 2 no sample weights, 3 neither `BetaCV` nor bias="penalised", 4 no infinitely many gates.
# Models without what is new are written so that older readers can read them.
_READABLE = (1, 2, 3, 4, 5, 6, 7)

Model = finite.Network | infinite.Network | BetaCV

# What each array is: kinds of dtype, and numbers of axes (version 1 kept those of a single output without an axis).
_ARRAYS = {"meta": "u1", "dual_point": "f2", "sample_weight": "f1", "classes": "biufUS1"}
_ARRAYS |= finite.ARRAYS | infinite.ARRAYS | kernel.ARRAYS | search.ARRAYS
_WITH_GAPS = ("search_scores", "loo_predictions")  # NaN for betas without time, and for rows of weight zero


def save_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a fitted estimator to ``path``, an NPZ file that ``numpy.load(allow_pickle=False)`` reads.

    It holds the parameters, the network, the gates, the classes, the feature names and the certificate with its dual
    point and sample weights, so that `load_model` gives an estimator that predicts bit for bit the same and whose
    ``certificate_.verify(X, y)`` still works. Training rows, ``patterns_`` and ``result_`` are not in it, but for those
    of a network with infinitely many gates, which is made of its distinct rows; with it are its calibration, what was
    compared and what leave-one-out said. Of a `BetaCV` it holds the estimator and the scores of all betas too. The file
    appears complete or not at all.

    Parameters
    ----------
    path : path that ends in .npz
    model : one of the estimators, or `BetaCV`
        Fitted. A ``random_state`` that is not an integer is saved as None; so are a ``cv`` or ``scoring`` that are
        neither a number nor a word.

    Raises
    ------
    ArgumentError
        The model is of another kind or not fitted, its labels are of mixed kinds, or the path ends otherwise.

    Examples
    --------
    >>> import tempfile
    >>> from clifford_rand_nn import GatedReLUClassifier, load_model, save_model, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, random_state=0).fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "spiral.npz"
    >>> save_model(path, model)
    >>> bool((load_model(path).decision_function(X) == model.decision_function(X)).all())
    True
    """
    if Path(path).suffix.lower() != ".npz":
        raise fail("path", "save_model", "a file name that ends in .npz", str(path))
    arrays: Any
    arrays, meta = _pack(model)
    arrays["meta"] = np.frombuffer(json.dumps(meta, ensure_ascii=False, indent=1).encode(), dtype=np.uint8)
    with replaced(path) as new, open(new, "wb") as stream:
        np.savez(stream, **arrays)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read an estimator that `save_model` wrote.

    Raises
    ------
    ArgumentError
        The file is not such a file, is damaged, or was written by a newer version; the message names it.
    FileNotFoundError
        There is no such file.
    """
    name = os.fspath(path)
    arrays, there = read_npz(path, _ARRAYS, what="this model file", stored=True)
    if "meta" not in arrays:
        holds = ", ".join(there[:8]) or "nothing"
        raise ArgumentError(f"{name}: this is not a model file of clifford-rand; it holds {holds}.")
    with _damage_told(name):
        _check_arrays(arrays)
        meta = json.loads(arrays["meta"].tobytes().decode(), parse_constant=float)
        found, version = meta["format"], meta["version"]
    if found != FORMAT or not isinstance(version, int):
        raise ArgumentError(f"{name}: this is a file of format {found!r}, not {FORMAT!r}.")
    if version not in _READABLE:
        raise ArgumentError(
            f"{name}: the file has version {version} of the format (clifford-rand {meta.get('library')}), this "
            f"clifford-rand {__version__} reads versions up to {VERSION}; update it or save the model again."
        )
    with _damage_told(name):
        return _unpack(arrays, meta)


@contextmanager
def _damage_told(name: str) -> Iterator[None]:
    """Turn whatever the content of a file raises into the one error."""
    try:
        yield
    except FAULTS as error:
        said = " ".join(str(error).split())
        raise ArgumentError(f"{name}: the model file is damaged ({type(error).__name__}: {said}).") from error


def _check_arrays(arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays of another kind or number of axes than are saved, and numbers that are not finite."""
    for name, array in arrays.items():
        kinds = _ARRAYS[name].rstrip("0123")
        if array.dtype.kind not in kinds or (kinds == "f" and array.dtype != np.float64):
            raise ValueError(f"the array {name!r} has dtype {array.dtype}")
        if str(array.ndim) not in _ARRAYS[name]:
            raise ValueError(f"the array {name!r} has {array.ndim} axes")
        missing = np.isnan(array) if name in _WITH_GAPS else np.zeros(1, dtype=bool)
        if array.dtype.kind == "f" and not (np.isfinite(array) | missing).all():
            raise ValueError(f"the array {name!r} has entries that are not finite")


def _pack(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    kind = type(model)
    if kind is BetaCV:
        return search.pack(model)
    if infinite.ESTIMATORS.get(kind.__name__) is kind:
        return infinite.pack(model)
    if finite.ESTIMATORS.get(kind.__name__) is kind:
        return finite.pack(model)
    known = ", ".join((*finite.ESTIMATORS, *infinite.ESTIMATORS, BetaCV.__name__))
    raise fail("model", "save_model", f"one of {known}", describe(kind.__name__))


def _unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Model:
    if "search" in meta:
        return search.unpack(arrays, meta)
    if meta["estimator"] in infinite.ESTIMATORS:
        return infinite.unpack(arrays, meta)
    return finite.unpack(arrays, meta)
