"""A fitted estimator in one NPZ file: plain arrays and one JSON entry, never a pickle."""

import json
import os
import platform
from collections.abc import Container, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._checks import check_path, fail
from clifford_rand._files import FAULTS, read_npz, replaced
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.saved.parts import FORMAT, VERSION, ForeignPartError
from clifford_rand_nn.saved.pipelines import Model, array_rule, pack, unpack
from clifford_rand_nn.saved.renames import with_new_names

_READABLE = tuple(range(1, VERSION + 1))

# NaN for betas without time, rows of weight zero or not left out, and gaps of what has no bound yet.
_WITH_GAPS = ("search_scores", "loo_predictions", "loo_probabilities")


class _Known(Container[object]):
    """The names of all arrays that a model file can have."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and array_rule(name) is not None


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to ``path``, an NPZ file that ``numpy.load(allow_pickle=False)`` reads.

    It holds the parameters, the network, the gates, the classes, the feature names and the certificate with its dual
    point and sample weights, so that `load_model` gives an estimator that predicts bit for bit the same and whose
    ``certificate_.verify(X, y)`` still works; of a `BetaCV` also the scores of all betas. Training rows, ``patterns_``
    and ``result_`` are not in it, except that a network with infinitely many gates is made of its distinct rows; with
    it are its calibration, candidates and leave-one-out predictions. The file appears complete or not at all.

    A scikit-learn `Pipeline` that ends with an estimator or a `BetaCV` is saved with its steps. A `TableEncoder` is
    plain data, to which no version of pandas or scikit-learn matters. Steps of scikit-learn itself (scaling, PCA,
    `ColumnTransformer`, one-hot, tf-idf, …) are held in the format of skops, a zip of JSON and arrays; another version
    of scikit-learn reads them with its own warning. The certificate is of the rows that the last step was given:
    ``pipeline[-1].certificate_.verify(pipeline[:-1].transform(X), y)``. Functions of one's own, steps of other
    libraries, and trees and splines, whose indices compiled code would not check, are refused, when they are saved as
    when they are read. The pipeline's ``memory`` is not kept.

    Parameters
    ----------
    model : one of the estimators, `BetaCV`, or a Pipeline that ends with one
        Fitted. A ``random_state`` that is not an integer is saved as None; so are a ``cv`` or ``scoring`` that are
        neither a number nor a word.
    path : path that ends in .npz

    Raises
    ------
    ArgumentError
        The model is of another kind or not fitted, its labels are of mixed kinds, a step of a pipeline is none of
        scikit-learn's own, or the path ends otherwise.
    MissingDependencyError
        A pipeline has steps of scikit-learn, and skops is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clifford_rand_nn import GatedReLUClassifier, load_model, save_model, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, random_state=0).fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "spiral.npz"
    >>> save_model(model, path)
    >>> bool((load_model(path).decision_function(X) == model.decision_function(X)).all())
    True
    """
    if hasattr(path, "fit"):
        raise fail(
            "path", "save_model", "a file name that ends in .npz", path, "It comes second: save_model(model, path)."
        )
    if check_path(path, "path", "save_model").suffix.lower() != ".npz":
        raise fail("path", "save_model", "a file name that ends in .npz", str(path))
    arrays: Any
    arrays, meta = pack(model)
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
    meta["libraries"] = {"python": platform.python_version()} | versions
    meta["saved"] = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps(meta, ensure_ascii=False, indent=1, default=_item)
    try:
        arrays["meta"] = np.frombuffer(text.encode(), dtype=np.uint8)
    except UnicodeEncodeError as error:
        lone = text[error.start : error.end]
        raise fail("model", "save_model", "one whose names and labels are Unicode", f"a text with {lone!a}") from error
    with replaced(path) as new, open(new, "wb") as stream:
        np.savez(stream, **arrays)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read an estimator that `save_model` wrote.

    Raises
    ------
    ArgumentError
        The file is not such a file, is damaged, was written by a newer version, or holds what could run code; the
        message names it.
    FileNotFoundError
        There is no such file.
    MissingDependencyError
        It is of a pipeline with steps of scikit-learn, and skops is not installed.
    """
    name = os.fspath(check_path(path, "path", "load_model"))
    arrays, there = read_npz(path, _Known(), what="this model file", stored=True)
    if "meta" not in arrays:
        holds = ", ".join(there[:8]) or "nothing"
        raise ArgumentError(f"{name}: this is not a model file of clifford-rand; it holds {holds}.")
    with damage_as_error(name):
        _check_arrays(arrays)
        text = arrays["meta"].tobytes().decode()
        meta = json.loads(text, parse_constant=float)
        json.dumps(meta, ensure_ascii=False).encode()  # fails for a lone escape such as \ud800
        file_format, version = meta["format"], meta["version"]
    if file_format != FORMAT or not isinstance(version, int):
        raise ArgumentError(f"{name}: this is a file of format {file_format!r}, not {FORMAT!r}.")
    if version not in _READABLE:
        raise ArgumentError(
            f"{name}: the file has version {version} of the format (clifford-rand {meta.get('library')}), this "
            f"clifford-rand {__version__} reads versions up to {VERSION}; update it or save the model again."
        )
    with damage_as_error(name):
        return unpack(arrays, with_new_names(meta))


def _item(value: object) -> Any:
    """Return a number of NumPy's as one of Python's, which JSON can hold."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is not a value of JSON")


@contextmanager
def damage_as_error(name: str) -> Iterator[None]:
    """Turn whatever the content of a file raises into the one error."""
    try:
        yield
    except ForeignPartError as error:
        raise ArgumentError(f"{name}: the model file is refused: {error}") from error
    except (*FAULTS, StopIteration) as error:
        said = " ".join(str(error).split())
        raise ArgumentError(f"{name}: the model file is damaged ({type(error).__name__}: {said}).") from error


def _check_arrays(arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays of another kind or number of axes than are saved, and numbers that are not finite."""
    for name, array in arrays.items():
        rule = array_rule(name) or ""  # version 1 kept arrays of a single output without an axis
        kinds = rule.rstrip("0123")
        if array.dtype.kind not in kinds or (kinds == "f" and array.dtype != np.float64):
            raise ValueError(f"the array {name!r} has dtype {array.dtype}")
        if str(array.ndim) not in rule:
            raise ValueError(f"the array {name!r} has {array.ndim} axes")
        missing = np.isnan(array) if name in _WITH_GAPS else np.zeros(1, dtype=bool)
        if array.dtype.kind == "f" and not (np.isfinite(array) | missing).all():
            raise ValueError(f"the array {name!r} has entries that are not finite")
