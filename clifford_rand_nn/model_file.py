"""A fitted estimator in one NPZ file: plain arrays and one JSON entry, never a pickle.

Files of older versions have other names, which are replaced by those of today.
"""

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

_READABLE = tuple(range(1, VERSION + 1))
# NaN for betas without time, rows of weight zero or not left out, and gaps of what has no bound yet.
_WITH_GAPS = ("search_scores", "loo_predictions", "loo_probabilities")
RENAMED_VERSION = 18  # the first whose files have the names of today
_NAMES = {"rounds": "max_metric_iter", "refine": "n_refinements"}
_CACHE = "_every"  # of a fit, which was a parameter by mistake in versions 12 to 16
_VALUES: dict[str, dict[str, str]] = {"bias": {"penalised": "penalized"}}
_GATES = {"free": "optimized", "cross": "row_spanned"}  # of tuning-free networks
_CERTIFICATE = {"primal": "objective", "dual": "lower_bound"}
_PIPELINES = ("pipeline", "inner")  # parts with steps, one of which may be a `TableEncoder`
_PARAMETERS = {"dates": "date", "textual": "text", "leave_out": "drop", "missing": "missing_values"}
_PARAMETERS |= {"text": "other_text", "text_features": "n_text_features"}
_KINDS = {"number": "numeric", "category": "categorical", "left out": "dropped"}
_COLUMN = {"why": "reason", "missing": "n_missing", "asked": "is_user_specified"}
_CANDIDATE = {"bias": "bias_feature", "score": "loss", "n": "n_rows"}
_LOSS = {"loss": "mean_loss"}
_TRIAL = {"rounds": "n_iter", "error": "mean_loss", "mistakes": "error_rate"}
_TRIAL |= {"standard_error": "gain_std_error", "factor": "beta_factor"}
_SELECTION = {"rounds": "n_iter", "factors": "beta_factors"}
_CALIBRATION = {"loss": "log_loss"}


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
        hint = "It comes second: save_model(model, path)."
        raise fail("path", "save_model", "a file name that ends in .npz", path, hint)
    if check_path(path, "path", "save_model").suffix.lower() != ".npz":
        raise fail("path", "save_model", "a file name that ends in .npz", str(path))
    arrays: Any
    arrays, meta = pack(model)
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
    meta["libraries"] = {"python": platform.python_version()} | versions
    meta["saved"] = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps(meta, ensure_ascii=False, indent=1, default=np.generic.item)  # of NumPy's numbers
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


def with_new_names(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a model file with the names of today.

    >>> with_new_names({"version": 16, "estimator": "GatedReLURegressor", "params": {"refine": 2}})["params"]
    {'n_refinements': 2}
    """
    if meta["version"] < 17:
        meta = _names_of_17(meta)
    return _names_of_18(meta) if meta["version"] < RENAMED_VERSION else meta


def _names_of_18(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the values of version 17 with the names of version 18."""
    meta = dict(meta)
    for part, names in (("candidates", _LOSS), ("labels", _CALIBRATION), ("target_transform_scores", _TRIAL)):
        if part in meta:
            meta[part] = [_renamed(values, names) for values in meta[part]]
    if "calibration" in meta:
        meta["calibration"] = _renamed(meta["calibration"], _CALIBRATION)
    if "few" in meta:
        meta["few"] = meta["few"] | {"path": [_renamed(values, _LOSS) for values in meta["few"]["path"]]}
    if "rounds" in meta:
        trials = [_renamed(values, _TRIAL) for values in meta["rounds"]["trials"]]
        meta["metric_selection"] = _renamed(meta.pop("rounds"), _SELECTION) | {"trials": trials}
    return meta


def _names_of_17(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an older version with the names of version 17."""
    params = _renamed({name: value for name, value in meta["params"].items() if name != _CACHE}, _NAMES)
    gates = {"gates": _GATES} if meta["estimator"].startswith("ConvexNetwork") else {}
    for name, values in (_VALUES | gates).items():
        if isinstance(params.get(name), str):
            params[name] = values.get(params[name], params[name])
    meta = meta | {"params": params}
    if "certificate" in meta:
        meta["certificate"] = _renamed(meta["certificate"], _CERTIFICATE)
    if "candidates" in meta:
        meta["candidates"] = [_renamed(values, _CANDIDATE) for values in meta["candidates"]]
    if "few" in meta:
        few = meta["few"] | {"path": [_renamed(values, _CANDIDATE) for values in meta["few"]["path"]]}
        if "selection" in few:
            few["selection"] = _renamed(few["selection"], _CERTIFICATE)
        meta["few"] = few
    for part in set(_PIPELINES) & meta.keys():
        steps = meta[part]["steps"]
        steps = [step | {"encoder": _encoder(step["encoder"])} if "encoder" in step else step for step in steps]
        meta[part] = meta[part] | {"steps": steps}
    return meta


def _encoder(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a `TableEncoder` of version 1 with the names of version 2."""
    params = _renamed({"missing": []} | meta["params"], _PARAMETERS)
    if params["other_text"] == "leave out":
        params["other_text"] = "drop"
    meta = meta | {"columns": [_renamed(column, _COLUMN) for column in meta["columns"]]}
    for part in ("columns", "readers"):
        meta[part] = [values | {"kind": _KINDS.get(values["kind"], values["kind"])} for values in meta[part]]
    return _renamed(meta, _PARAMETERS) | {"params": params, "version": 2}


def _renamed(values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}
