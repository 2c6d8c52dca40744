"""What model files of every kind hold: plain values, features, labels, and the checks of what is read."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._checks import describe, fail
from clifford_rand_nn.kernel_network.calibration import Calibration

FORMAT = "clifford-rand-model"
_SCALES = ("share", "scale", "loss")  # of a calibration
_ENDED = "object, each with a full stop at its end"  # dtype of labels one of which ends with NUL


class ForeignPartError(ValueError):
    """A file holds what is not read from files, because it could run code; the message names it."""


def number(value: Any) -> float:
    """Return a finite number; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def whole(value: Any, low: int = 0) -> int:
    """Return an integer from ``low`` on; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError(f"{value!r} is no integer ≥ {low}")
    return value


def truth(value: Any) -> bool:
    """Return a truth value; refuse anything else."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def text(value: Any) -> str:
    """Return a text; refuse anything else."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def agree(fits: bool, what: str = "the arrays do not fit each other") -> None:
    """Refuse parts of a file that contradict each other."""
    if not fits:
        raise ValueError(what)


def plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it; arrays are stored apart, generators not at all."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return None


def parameter(value: Any) -> Any:
    """Return a parameter as JSON can hold it: weights of classes as pairs."""
    if isinstance(value, dict):
        return [[plain(label), float(weight)] for label, weight in value.items()]
    return plain(value)


def read_parameter(value: Any) -> Any:
    """Return the parameter that `parameter` made a value of; `ValueError` of weights that are no numbers."""
    if not isinstance(value, list):
        return value
    weights = dict(value)
    if any(isinstance(weight, bool) or not isinstance(weight, int | float) for weight in weights.values()):
        raise ValueError("weights of classes that are no numbers")
    return {label: float(weight) for label, weight in weights.items()}


def about(model: Any, version: int, params: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of every estimator: format, parameters, features, and the numbers of its certificate."""
    proof, names = model.certificate_, getattr(model, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "version": version,
        "library": __version__,
        "estimator": type(model).__name__,
        "params": params,
        "n_rows": int(proof.n_rows),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "certificate": {
            "primal": float(proof.primal),
            "dual": float(proof.dual),
            "relative_gap": float(proof.relative_gap),
            "n_patterns": int(proof.n_patterns),
            "scope": proof.scope,
        },
    }


def set_features(model: Any, meta: dict[str, Any]) -> int:
    """Set the number and the names of the features; return the number."""
    d = model.n_features_in_ = whole(meta["n_features"], 1)
    if meta["feature_names"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in meta["feature_names"]], dtype=object)
        agree(len(model.feature_names_in_) == d, "the feature names do not fit the arrays")
    return d


def proved(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a certificate, its scope and its count of patterns."""
    proof = meta["certificate"]
    numbers: dict[str, Any] = {name: number(proof[name]) for name in ("primal", "dual", "relative_gap")}
    return numbers | {"scope": str(proof["scope"]), "n_patterns": whole(proof["n_patterns"])}


def checked_weights(arrays: dict[str, NDArray[Any]], outputs: int) -> NDArray[np.float64] | None:
    """Return the sample weights, or None; with the dual point of ``outputs`` columns that they fit."""
    theta, weights = arrays["dual_point"], arrays.get("sample_weight")
    agree(theta.shape[1] == outputs)
    if weights is not None:
        fits = bool((weights >= 0).all()) and np.count_nonzero(weights) == len(theta)
        agree(fits, "the sample weights do not fit the dual point")
    return weights


def plain_classes(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """Return labels as an array that needs no pickle, and the dtype that they have."""
    if classes.dtype != object and classes.dtype.kind in "biufUS":
        return classes, classes.dtype.str
    if all(isinstance(label, str) for label in classes):
        if any(label.endswith("\0") for label in classes):  # NumPy drops a NUL at the end of a text
            return np.array([f"{label}." for label in classes]), _ENDED
        return classes.astype(str), "object"
    raise fail("model", "save_model", "fitted to labels of one kind: text, integers, booleans or floats", classes)


def read_classes(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], outputs: int) -> NDArray[Any]:
    """Return the labels of a classifier with so many outputs."""
    classes = arrays["classes"].astype(object) if meta["classes_dtype"] in ("object", _ENDED) else arrays["classes"]
    if meta["classes_dtype"] == _ENDED:
        classes[:] = [label[:-1] for label in classes]
    agree(len(classes) == max(2, outputs), "the classes do not fit the arrays")
    return classes


def pack_calibration(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], calibration: Calibration) -> None:
    """Add the calibration of a classifier."""
    arrays |= {"calibration_slopes": calibration.slopes, "calibration_offsets": calibration.offsets}
    meta["calibration"] = scales(calibration)


def read_calibration(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], n_classes: int) -> Calibration:
    """Return the calibration of a classifier."""
    slopes, offsets = arrays["calibration_slopes"], arrays["calibration_offsets"]
    calibration = Calibration(slopes, offsets, **read_scales(meta["calibration"]))
    agree(len(calibration.offsets) == n_classes, "the calibration does not fit the classes")
    return calibration


def scales(calibration: Calibration) -> dict[str, float]:
    """Return the numbers of a calibration beside its arrays."""
    return {name: float(getattr(calibration, name)) for name in _SCALES}


def read_scales(values: dict[str, Any]) -> dict[str, float]:
    """Return the numbers that `scales` wrote; each is required."""
    agree(sorted(values) == sorted(_SCALES), "the calibration")  # a missing one is not the default
    return {name: number(values[name]) for name in _SCALES}


def read_target_ndim(meta: dict[str, Any], outputs: int) -> int:
    """Return how many axes the targets of a regressor with so many outputs have."""
    ndim = whole(meta["target_ndim"], 1)
    agree(ndim == 2 or (ndim == 1 and outputs == 1))
    return ndim


def require_fitted(model: Any, attribute: str) -> None:
    """Refuse to save an estimator that is not fitted."""
    if not hasattr(model, attribute):
        raise fail("model", "save_model", "fitted", describe(f"a {type(model).__name__} before fit"))
