"""A fitted estimator in one NPZ file: plain arrays and one JSON entry, never a pickle."""

import json
import os
import secrets
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._checks import describe, fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import DAMAGED
from clifford_rand_nn.claims import Claim, GatedClaim, NetworkClaim
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.estimators.lasso import CrossProductLassoClassifier, CrossProductLassoRegressor
from clifford_rand_nn.estimators.relu import ConvexReLUClassifier, ConvexReLURegressor
from clifford_rand_nn.estimators.targets import NetworkClassifier
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.gated import Coefficients

__all__ = ["FORMAT", "VERSION", "load_model", "save_model"]

FORMAT = "clifford-rand-model"
VERSION = 3  # raised when a reader of the old layout could not read the new one
_READABLE = (1, 2, 3)  # version 1 knew gated networks only, version 2 no sample weights
_UNWEIGHTED = 2  # models without weights are written so that older readers can read them

Model = (
    GatedReLUClassifier
    | GatedReLURegressor
    | ConvexReLUClassifier
    | ConvexReLURegressor
    | CrossProductLassoClassifier
    | CrossProductLassoRegressor
)

_ESTIMATORS: dict[str, Any] = {
    estimator.__name__: estimator
    for estimator in (
        GatedReLUClassifier,
        GatedReLURegressor,
        ConvexReLUClassifier,
        ConvexReLURegressor,
        CrossProductLassoClassifier,
        CrossProductLassoRegressor,
    )
}
_NEURON_ARRAYS = ("directions", "offsets", "rows")
_GATE_ARRAYS = ("directions", "offsets", "incident", "sides", "n_dependent")


def save_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a fitted estimator to ``path``, an NPZ file that ``numpy.load(allow_pickle=False)`` reads.

    It holds the parameters, the network, the gates, the classes, the feature names and the certificate with its dual
    point and sample weights, so that `load_model` gives an estimator that predicts bit for bit the same and whose
    ``certificate_.verify(X, y)`` still works. Training rows, ``patterns_`` and ``result_`` are not in it. The file
    appears complete or not at all.

    Parameters
    ----------
    path : path that ends in .npz
    model : one of the estimators
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
    if version not in _READABLE:
        raise ArgumentError(
            f"{name}: the file has version {version} of the format (clifford-rand {meta.get('library')}), this "
            f"clifford-rand {__version__} reads versions up to {VERSION}; update it or save the model again."
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
    arrays: dict[str, NDArray[Any]] = {"dual_point": model.certificate_.dual_point}
    if "gates" in params and not isinstance(params["gates"], str):  # hyperplanes that were given are a parameter
        given = model.gates if isinstance(model.gates, Gates) else Gates.given(*model.gates)
        params["gates"] = _pack_gates(arrays, "given", given)
    proof = model.certificate_
    if proof.sample_weight is not None:
        arrays["sample_weight"] = proof.sample_weight
    meta: dict[str, Any] = {
        "format": FORMAT,
        "version": _UNWEIGHTED if proof.sample_weight is None else VERSION,
        "library": __version__,
        "estimator": kind,
        "params": params,
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in model.feature_names_in_]
        if hasattr(model, "feature_names_in_")
        else None,
        "certificate": {
            "primal": float(proof.primal),
            "dual": float(proof.dual),
            "relative_gap": float(proof.relative_gap),
            "n_patterns": int(proof.n_patterns),
            "scope": proof.scope,
        },
        "n_iter": int(model.n_iter_),
    }
    claim = proof.claim
    if isinstance(claim, GatedClaim):
        coefficients = claim.coefficients
        arrays |= {"coef": coefficients.coef, "gate_intercept": coefficients.gate_intercept}
        arrays["intercept"] = coefficients.intercept
        meta["gates"] = _pack_gates(arrays, "gates", claim.gates)
    else:
        network, family = claim.network, claim.family
        arrays |= {"W1": network.W1, "b1": network.b1, "w2": network.w2, "b2": network.b2}
        if network.units is not None:
            arrays["units"] = network.units
        meta["gates"] = {"method": model.gates_.method}
        meta["family"] = {"kind": family.kind, "p": family.p, "bias": bool(family.bias), "members": None}
        if isinstance(family.members, Gates):
            meta["family"]["members"] = _pack_gates(arrays, "members", family.members)
        elif family.members is not None:
            arrays |= {f"members_{name}": getattr(family.members, name) for name in _NEURON_ARRAYS}
    if isinstance(model, NetworkClassifier):
        arrays["classes"], meta["classes_dtype"] = _plain_classes(model.classes_)
    else:
        meta["target_ndim"] = int(model._target_ndim)
    return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}, meta


def _unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Model:
    params = dict(meta["params"])
    if "gates" in params and not isinstance(params["gates"], str):
        params["gates"] = _gates(arrays, "given", params["gates"])
    kind = _ESTIMATORS[meta["estimator"]]
    if issubclass(kind, NetworkClassifier):
        params.pop("huber_delta", None)  # version 0.1 wrote it for every estimator
    model: Any = kind(**params)
    d = int(meta["n_features"])
    model.n_features_in_, model.n_iter_ = d, int(meta["n_iter"])
    if meta["feature_names"] is not None:
        model.feature_names_in_ = np.array(meta["feature_names"], dtype=object)
        if len(model.feature_names_in_) != d:
            raise ValueError("the feature names do not fit the arrays")
    claim: Claim
    if "family" in meta:
        claim = NetworkClaim(_network(arrays, d), _family(arrays, meta["family"]))
        model._set_network(claim.network, meta["gates"]["method"])
        outputs = len(claim.network.b2)
    else:
        claim = _gated_claim(arrays, meta, d)
        model._set_gated(claim.coefficients, claim.gates)
        outputs = len(claim.coefficients.intercept)
    classes = None
    if isinstance(model, NetworkClassifier):
        classes = arrays["classes"].astype(object) if meta["classes_dtype"] == "object" else arrays["classes"]
        if classes.ndim != 1 or len(classes) != max(2, outputs):
            raise ValueError("the classes do not fit the arrays")
        model.classes_ = classes
    else:
        model._target_ndim = int(meta["target_ndim"])
    weights = arrays.get("sample_weight")
    if weights is not None and (weights.ndim != 1 or np.count_nonzero(weights > 0) != len(arrays["dual_point"])):
        raise ValueError("the sample weights do not fit the dual point")
    model._sample_weight = weights
    proof = meta["certificate"]
    model._certify(
        proof["primal"],
        proof["dual"],
        proof["relative_gap"],
        arrays["dual_point"],
        proof["scope"],
        proof["n_patterns"],
        claim,
        classes,
    )
    return cast("Model", model)


def _gated_claim(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], d: int) -> GatedClaim:
    gates = _gates(arrays, "gates", meta["gates"])
    m, outputs = len(gates), arrays["intercept"].size
    if gates.d != d or arrays["coef"].size != outputs * m * d or arrays["gate_intercept"].size != outputs * m:
        raise ValueError("the arrays do not fit each other")
    return GatedClaim(
        gates,
        Coefficients(
            arrays["coef"].reshape(outputs, m, d),
            arrays["gate_intercept"].reshape(outputs, m),
            arrays["intercept"].reshape(outputs),
        ),
        squared=meta["params"]["penalty"] == "ridge",
    )


def _network(arrays: dict[str, NDArray[Any]], d: int) -> TwoLayerNetwork:
    W1, b1, w2, b2 = (arrays[name] for name in ("W1", "b1", "w2", "b2"))
    if W1.shape != (b1.size, d) or w2.shape != (b1.size, b2.size):
        raise ValueError("the arrays do not fit each other")
    return TwoLayerNetwork(W1, b1, w2, b2, units=arrays.get("units"))


def _family(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Family:
    members: Gates | Neurons | None = None
    if meta["members"] is not None:
        members = _gates(arrays, "members", meta["members"])
    elif "members_directions" in arrays:
        members = Neurons(**{name: arrays[f"members_{name}"] for name in _NEURON_ARRAYS})
    return Family(meta["kind"], int(meta["p"]), bool(meta["bias"]), members)


def _pack_gates(arrays: dict[str, NDArray[Any]], prefix: str, gates: Gates) -> dict[str, Any]:
    """Add the arrays of ``gates`` under ``prefix``; return the rest of them."""
    arrays |= {f"{prefix}_{name}": getattr(gates, name) for name in _GATE_ARRAYS}
    return {"method": gates.method, "sketch_dim": gates.sketch_dim, "notes": gates.notes}


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
