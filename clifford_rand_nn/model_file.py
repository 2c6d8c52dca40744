"""A fitted estimator in one NPZ file: plain arrays and one JSON entry, never a pickle."""

import json
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._checks import describe, fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import DAMAGED
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.problems.problem import Coefficients

__all__ = ["FORMAT", "VERSION", "load_model", "save_model"]

FORMAT = "clifford-rand-model"
VERSION = 1  # raised when a reader of the old layout could not read the new one

Model = GatedReLUClassifier | GatedReLURegressor

_ESTIMATORS: dict[str, Any] = {
    "GatedReLUClassifier": GatedReLUClassifier,
    "GatedReLURegressor": GatedReLURegressor,
}
_GATE_ARRAYS = ("directions", "offsets", "incident", "sides", "n_dependent")


def save_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a fitted estimator to ``path``, an NPZ file that ``numpy.load(allow_pickle=False)`` reads.

    It holds the parameters, the network, the gates, the classes, the feature names and the certificate with its dual
    point, so that `load_model` gives an estimator that predicts bit for bit the same and whose
    ``certificate_.verify(X, y)`` still works. Training rows, ``patterns_`` and ``result_`` are not in it. The file
    appears complete or not at all.

    Parameters
    ----------
    path : path that ends in .npz
    model : GatedReLUClassifier or GatedReLURegressor
        Fitted. A ``random_state`` that is not an integer is saved as None.

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
    file = Path(os.path.realpath(path))  # a link is followed, not replaced
    if file.suffix.lower() != ".npz":
        raise fail("path", "save_model", "a file name that ends in .npz", str(path))
    arrays: Any
    arrays, meta = _pack(model)
    arrays["meta"] = np.frombuffer(json.dumps(meta, ensure_ascii=False, indent=1).encode(), dtype=np.uint8)
    partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}.partial")  # same folder: os.replace is then atomic
    try:
        with open(partial, "xb") as stream:
            np.savez(stream, **arrays)
        os.replace(partial, file)
    finally:
        partial.unlink(missing_ok=True)


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
    with open(path, "rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                arrays = {key: archive[key] for key in archive.files}
            meta = json.loads(arrays["meta"].tobytes().decode())
            found, version = meta["format"], meta["version"]
        except DAMAGED as error:
            what = "not a model file of clifford-rand, or it is damaged"
            raise ArgumentError(f"{name}: this is {what}; write it again with save_model.") from error
    if found != FORMAT or not isinstance(version, int):
        raise ArgumentError(f"{name}: this is a file of format {found!r}, not {FORMAT!r}.")
    if version != VERSION:
        raise ArgumentError(
            f"{name}: the file has version {version} of the format (clifford-rand {meta.get('library')}), this "
            f"clifford-rand {__version__} reads version {VERSION}; update it or save the model again."
        )
    try:
        return _unpack(arrays, meta)
    except DAMAGED as error:
        said = " ".join(str(error).split())
        raise ArgumentError(f"{name}: the model file is damaged ({type(error).__name__}: {said}).") from error


def _pack(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    kind = type(model).__name__
    if _ESTIMATORS.get(kind) is not type(model):
        raise fail("model", "save_model", f"one of {', '.join(_ESTIMATORS)}", describe(kind))
    if not hasattr(model, "coef_"):
        raise fail("model", "save_model", "fitted", describe(f"a {kind} before fit"))
    params = {name: _plain(value) for name, value in model.get_params().items()}
    arrays = {
        "coef": model.coef_,
        "gate_intercept": model.gate_intercept_,
        "intercept": np.asarray(model.intercept_),
        "dual_point": model.certificate_.dual_point,
        **{f"gates_{name}": getattr(model.gates_, name) for name in _GATE_ARRAYS},
    }
    if not isinstance(params["gates"], str):  # hyperplanes that were given are a parameter, all m of them
        given = model.gates if isinstance(model.gates, Gates) else Gates.given(*model.gates)
        arrays |= {f"given_{name}": getattr(given, name) for name in _GATE_ARRAYS}
        params["gates"] = {"method": given.method, "sketch_dim": given.sketch_dim, "notes": given.notes}
    proof = model.certificate_
    meta: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "library": __version__,
        "estimator": kind,
        "params": params,
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in model.feature_names_in_]
        if hasattr(model, "feature_names_in_")
        else None,
        "gates": {"method": model.gates_.method, "sketch_dim": model.gates_.sketch_dim, "notes": model.gates_.notes},
        "certificate": {
            "primal": float(proof.primal),
            "dual": float(proof.dual),
            "relative_gap": float(proof.relative_gap),
            "n_patterns": int(proof.n_patterns),
            "scope": proof.scope,
        },
        "n_iter": int(model.n_iter_),
    }
    if kind == "GatedReLUClassifier":
        arrays["classes"], meta["classes_dtype"] = _plain_classes(model.classes_)
    else:
        meta["target_ndim"] = int(model._target_ndim)
    return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}, meta


def _unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Model:
    params = dict(meta["params"])
    if not isinstance(params["gates"], str):
        params["gates"] = _gates(arrays, "given", params["gates"])
    model: Model = _ESTIMATORS[meta["estimator"]](**params)
    gates = _gates(arrays, "gates", meta["gates"])
    m, d = len(gates), int(meta["n_features"])
    coef, gate_intercept, intercept = arrays["coef"], arrays["gate_intercept"], arrays["intercept"]
    outputs = intercept.size
    lead = () if intercept.ndim == 0 else (outputs,)
    if (gates.d, coef.shape, gate_intercept.shape) != (d, (*lead, m, d), (*lead, m)):
        raise ValueError("the arrays do not fit each other")
    coefficients = Coefficients(
        coef.reshape(outputs, m, d), gate_intercept.reshape(outputs, m), intercept.reshape(outputs)
    )
    model.coef_, model.gate_intercept_, model.gates_ = coef, gate_intercept, gates
    model.intercept_ = float(intercept) if intercept.ndim == 0 else intercept
    model.n_features_in_, model.n_iter_ = d, int(meta["n_iter"])
    if meta["feature_names"] is not None:
        model.feature_names_in_ = np.array(meta["feature_names"], dtype=object)
        if len(model.feature_names_in_) != d:
            raise ValueError("the feature names do not fit the arrays")
    classes = None
    if isinstance(model, GatedReLUClassifier):
        classes = arrays["classes"].astype(object) if meta["classes_dtype"] == "object" else arrays["classes"]
        if classes.ndim != 1 or len(classes) != max(2, outputs):
            raise ValueError("the classes do not fit the arrays")
        model.classes_ = classes
    else:
        model._target_ndim = int(meta["target_ndim"])
    model.network_ = TwoLayerNetwork.from_gated(coefficients, gates)
    model.certificate_ = Certificate(
        **meta["certificate"],
        dual_point=arrays["dual_point"],
        loss=model.loss,
        beta=model.beta,
        bias=model.bias,
        fit_intercept=model.fit_intercept,
        gates=gates,
        coefficients=coefficients,
        classes=classes,
    )
    return model


def _gates(arrays: dict[str, NDArray[Any]], prefix: str, meta: dict[str, Any]) -> Gates:
    fields = {name: arrays[f"{prefix}_{name}"] for name in _GATE_ARRAYS}
    if fields["directions"].ndim != 2 or fields["offsets"].shape != fields["directions"].shape[1:]:
        raise ValueError("the gates do not fit each other")
    return Gates(**fields, method=meta["method"], sketch_dim=meta["sketch_dim"], notes=tuple(meta["notes"]))


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it; arrays are stored apart, generators not at all."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return None


def _plain_classes(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    if classes.dtype != object and classes.dtype.kind in "biufUS":
        return classes, classes.dtype.str
    if all(isinstance(label, str) for label in classes):
        return classes.astype(str), "object"
    raise fail("model", "save_model", "fitted to labels of one kind: text, integers, booleans or floats", classes)
