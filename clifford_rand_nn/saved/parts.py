"""Parts of model files that several estimators share: features, labels, certificates, kernel networks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from clifford_rand import __version__
from clifford_rand._checks import describe, fail
from clifford_rand_nn._records import Arrays, agree, number, plain, record_of, truth, values_of, whole
from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim
from clifford_rand_nn.kernel_network.calibration import Calibration
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import RowSpan, Standardization
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.row_sums import Targets
from clifford_rand_nn.shards.certificate import ShardCertificate

FORMAT = "clifford-rand-model"
VERSION = 19  # raised when a reader of the old layout could not read the new one
# Of each array the kinds of its dtype and the numbers of its axes.
ARRAYS = (
    {"dual_point": "f2", "sample_weight": "f1", "classes": "biufUS1", "class_factors": "f1", "dual_scale": "f1"}
    | {"calibration_slopes": "f1", "calibration_offsets": "f1"}
    | {"kernel_rows": "f2", "kernel_mean": "f1", "kernel_rate": "f1", "kernel_frame": "f2", "kernel_rates": "f1"}
    | {"kernel_knots": "f2", "kernel_scores": "f2", "kernel_levels": "f2"}
    | {"kernel_alpha": "f2", "kernel_intercept": "f1", "span_whiten": "f2", "span_base": "f2"}
    | {"span_values": "f1", "span_columns": "i1", "span_ends": "i1"}
)
_PROVED = ("objective", "lower_bound", "relative_gap", "n_patterns", "scope")  # of a certificate
_SCALES = ("log_loss", "scale", "share")  # of a calibration
_NUL_ENDED = "object, each with a full stop at its end"  # dtype of labels one of which ends with NUL


class ForeignPartError(ValueError):
    """A file holds what is not read from files, because it could run code; the message names it."""


def pack_shared(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Return what is stored of every estimator: format, parameters, features, classes, and its certificate."""
    if not hasattr(model, "network_"):
        raise fail("model", "save_model", "fitted", describe(f"a {type(model).__name__} before fit"))
    proof, names = model.certificate_, getattr(model, "feature_names_in_", None)
    params = {name: plain(value) for name, value in model.get_params().items()}
    weights = getattr(model, "class_weight", None)
    if isinstance(weights, dict):
        params["class_weight"] = [[plain(label), float(weight)] for label, weight in weights.items()]
    arrays: Arrays = {}
    meta: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "library": __version__,
        "estimator": type(model).__name__,
        "params": params,
        "n_rows": int(proof.n_rows),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "certificate": {name: plain(getattr(proof, name)) for name in _PROVED},
    }
    if isinstance(proof, ShardCertificate):
        meta["shards"] = _pack_shards(arrays, proof)
    else:
        arrays["dual_point"] = proof.dual_point
        if proof.sample_weight is not None:
            arrays["sample_weight"] = proof.sample_weight
    if hasattr(model, "classes_"):
        _pack_classes(arrays, meta, model.classes_)
    else:
        meta["target_ndim"] = int(vars(model)["_target_ndim"])
    return arrays, meta


def read_targets(arrays: Arrays, meta: dict[str, Any], outputs: int, classify: bool) -> dict[str, Any]:
    """Return the weights of the rows, and the labels of a classifier or the number of axes of targets."""
    state: dict[str, Any] = {"_sample_weight": None if "shards" in meta else _read_weights(arrays, outputs)}
    if classify:
        return state | {"classes_": _read_classes(arrays, meta, outputs)}
    ndim = whole(meta["target_ndim"], 1)
    agree(ndim == 2 or (ndim == 1 and outputs == 1))
    return state | {"_target_ndim": ndim}


def read_parameters(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that `pack_shared` wrote."""
    weights = params.get("class_weight")
    if not isinstance(weights, list):
        return dict(params)
    if any(isinstance(weight, bool) or not isinstance(weight, int | float) for _, weight in weights):
        raise ValueError("weights of classes that are not numbers")
    return params | {"class_weight": {label: float(weight) for label, weight in weights}}


def read_features(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that scikit-learn has for the number and the names of the features."""
    d, names = whole(meta["n_features"], 1), meta["feature_names"]
    if names is None:
        return {"n_features_in_": d}
    agree(len(names) == d, "the feature names do not fit the arrays")
    return {"n_features_in_": d, "feature_names_in_": np.array([str(name) for name in names], dtype=object)}


def proved(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a certificate, its scope and its count of patterns."""
    proof = meta["certificate"]
    numbers: dict[str, Any] = {name: number(proof[name]) for name in ("objective", "lower_bound", "relative_gap")}
    return numbers | {"scope": str(proof["scope"]), "n_patterns": whole(proof["n_patterns"])}


def _read_weights(arrays: Arrays, outputs: int) -> NDArray[np.float64] | None:
    """Return the sample weights, or None; with the dual point of ``outputs`` columns that they fit."""
    theta, weights = arrays["dual_point"], arrays.get("sample_weight")
    agree(theta.shape[1] == outputs)
    if weights is not None:
        fits = bool((weights >= 0).all()) and np.count_nonzero(weights) == len(theta)
        agree(fits, "the sample weights do not fit the dual point")
    return weights


def _pack_classes(arrays: Arrays, meta: dict[str, Any], classes: NDArray[Any]) -> None:
    """Add labels as an array that needs no pickle, and the dtype that they have."""
    if classes.dtype != object and classes.dtype.kind in "biufUS":
        arrays["classes"], meta["classes_dtype"] = classes, classes.dtype.str
    elif not all(isinstance(label, str) for label in classes):
        raise fail("model", "save_model", "fitted to labels of one kind: text, integers, booleans or floats", classes)
    elif any(label.endswith("\0") for label in classes):  # NumPy drops a NUL at the end of a text
        arrays["classes"], meta["classes_dtype"] = np.array([f"{label}." for label in classes]), _NUL_ENDED
    else:
        arrays["classes"], meta["classes_dtype"] = classes.astype(str), "object"


def _read_classes(arrays: Arrays, meta: dict[str, Any], outputs: int) -> NDArray[Any]:
    dtype, classes = meta["classes_dtype"], arrays["classes"]
    classes = classes.astype(object) if dtype in ("object", _NUL_ENDED) else classes
    if dtype == _NUL_ENDED:
        classes[:] = [label[:-1] for label in classes]
    agree(len(classes) == max(2, outputs), "the classes do not fit the arrays")
    return classes


def read_calibration(
    arrays: Arrays, values: dict[str, Any], n_classes: int, prefix: str = "calibration_"
) -> Calibration:
    """Return the calibration of a classifier."""
    agree(sorted(values) == sorted(_SCALES), "the calibration")  # a missing number does not have its default
    calibration = record_of(Calibration, values, arrays=arrays, prefix=prefix)
    agree(len(calibration.offsets) == n_classes, "the calibration does not fit the classes")
    return calibration


def pack_kernel(arrays: Arrays, network: KernelNetwork) -> dict[str, Any]:
    """Add the arrays of a kernel network, as they lie in memory, and return the rest of it."""
    standard = network.standard
    if isinstance(standard, RowSpan):
        arrays["span_whiten"] = standard.whiten
        base, standard = standard.base, standard.standard
        if issparse(base):
            arrays |= {"span_values": base.data, "span_columns": base.indices, "span_ends": base.indptr}
        else:
            arrays["span_base"] = np.asarray(base, dtype=np.float64)
    arrays |= {f"kernel_{name}": getattr(network, name) for name in ("rows", "alpha", "intercept")}
    parts = [values_of(part, arrays=arrays, prefix="kernel_") for part in (network.kernel, standard)]
    return {name: float(value) for part in parts for name, value in part.items()}


def read_kernel(arrays: Arrays, values: dict[str, Any], d: int) -> KernelNetwork:
    """Return the kernel network of arrays and values."""
    weights = {"bias": values["bias"], "steps": values.get("steps", 0.0), "decay": values.get("decay", 0.0)}
    kernel = record_of(GateKernel, weights, arrays=arrays, prefix="kernel_")
    standard: Any = record_of(Standardization, {"bound": values["bound"]}, arrays=arrays, prefix="kernel_")
    knots, levels = standard.knots, standard.levels
    tables = [table for table in (standard.scores, levels) if table is not None]
    agree(standard.bound >= 0 and (knots is None) == (not tables), "the standardization")
    agree((levels is not None) == (kernel.steps > 0), "the levels of the steps")
    if knots is not None:
        agree(len(knots) > 0 and all((np.diff(table, axis=0) >= 0).all() for table in (knots, *tables)), "the knots")
    if levels is not None:  # or the kernel would not be positive definite
        agree(bool(np.ptp(levels, axis=0).sum() <= 1 and (levels >= 0).all()), "the levels of the steps")
    if "span_whiten" in arrays:
        standard = RowSpan(standard, _span_rows(arrays, d), arrays["span_whiten"])
        agree(standard.base.shape == (len(standard.whiten), d), "the training rows do not fit the network")
    rows, alpha, intercept = (arrays[f"kernel_{name}"] for name in ("rows", "alpha", "intercept"))
    network = KernelNetwork(standard, kernel, rows, alpha, intercept)
    agree(network.d == d and network.alpha.size > 0)
    frame, width = kernel.frame, kernel.gated(rows).shape[1]
    agree(frame is None or len(frame) == width, "the frame does not fit the rows")
    agree(kernel.rates is None or (len(kernel.rates) == width and kernel.decay > 0), "the rates do not fit the rows")
    return network


def _span_rows(arrays: Arrays, d: int) -> Any:
    if "span_base" in arrays:
        return arrays["span_base"]
    values, columns, ends = (arrays[f"span_{name}"] for name in ("values", "columns", "ends"))
    agree(len(values) == len(columns) and len(ends) > 1 and ends[0] == 0 and ends[-1] == len(values), "the sparse rows")
    agree(bool((np.diff(ends) >= 0).all() and (columns >= 0).all() and (columns < d).all()), "the sparse rows")
    return csr_array((values, columns, ends), shape=(len(ends) - 1, d))


def _pack_shards(arrays: Arrays, proof: ShardCertificate) -> dict[str, Any]:
    """Add the arrays of a certificate over shards; return what else it has beside the network."""
    values = {"n": int(proof.n), "n_rows": int(proof.n_rows), "mean_weight": float(proof.targets.mean_weight)}
    if proof.targets.factors is not None:
        arrays["class_factors"] = proof.targets.factors
    if isinstance(proof.claim, KernelClaim):
        arrays["dual_scale"] = np.asarray(proof.scale, dtype=np.float64)
        return values | {"exponent": int(proof.targets.exponent)}
    assert isinstance(proof.scale, float)
    return values | {"scale": proof.scale, "fit_intercept": bool(proof.fit_intercept)}


def read_shards(
    arrays: Arrays, meta: dict[str, Any], loss: Loss, claim: GatedClaim | KernelClaim, classes: NDArray[Any] | None
) -> dict[str, Any]:
    """Return the fields of a certificate over shards but for beta, the loss and its threshold."""
    values, factors = meta["shards"], arrays.get("class_factors")
    agree(factors is None or (classes is not None and factors.shape == classes.shape and bool((factors > 0).all())))
    loss = loss if classes is None else loss.of_classes(len(classes))
    mean, n, n_rows = number(values["mean_weight"]), whole(values["n"], 1), whole(values["n_rows"])
    agree(mean > 0 and n <= n_rows, "the certificate")
    scale: Any
    if isinstance(claim, KernelClaim):
        scale, exponent, fit_intercept = arrays["dual_scale"], whole(values["exponent"], low=None), True
        agree(scale.shape == (claim.network.alpha.shape[1],), "the certificate")
    else:
        scale, exponent, fit_intercept = number(values["scale"]), 0, truth(values["fit_intercept"])
        agree(0 <= scale <= 1, "the certificate")
    targets = Targets(loss, classes, mean, factors, exponent)
    fields = {"scale": scale, "n": n, "n_rows": n_rows, "fit_intercept": fit_intercept}
    return proved(meta) | fields | {"claim": claim, "targets": targets}
