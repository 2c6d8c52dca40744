"""Networks of finitely many neurons or gates as plain arrays and values, and back."""

from dataclasses import replace
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.claims import Claim, GatedClaim, KernelClaim, NetworkClaim
from clifford_rand_nn.datafits.registry import as_loss
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.estimators.lasso import CrossProductLasso, CrossProductLassoClassifier, CrossProductLassoRegressor
from clifford_rand_nn.estimators.relu import ConvexReLUClassifier, ConvexReLURegressor
from clifford_rand_nn.estimators.targets import NetworkClassifier
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.kernel_network.calibration import Calibration
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.saved import kernel, shards
from clifford_rand_nn.saved.parts import (
    about,
    agree,
    checked_weights,
    number,
    pack_calibration,
    parameter,
    plain_classes,
    proved,
    read_calibration,
    read_classes,
    read_parameter,
    read_target_ndim,
    require_fitted,
    set_features,
    whole,
)
from clifford_rand_nn.shards.certificate import ShardCertificate

Network = (
    GatedReLUClassifier
    | GatedReLURegressor
    | ConvexReLUClassifier
    | ConvexReLURegressor
    | CrossProductLassoClassifier
    | CrossProductLassoRegressor
)
ESTIMATORS: dict[str, Any] = {estimator.__name__: estimator for estimator in get_args(Network)}
# Models without what is new are written so that older readers can read them.
_UNWEIGHTED, _WEIGHTED, _PENALISED, _SETTLED, _UNSPANNED, _CLASSES_WEIGHTED, _STANDARDIZED = 2, 3, 4, 6, 7, 8, 11
_LATER = {
    "loss": "auto",
    "linear": "auto",
    "penalty": "auto",
    "class_weight": None,
}  # parameters left out at their default

_NEURON_ARRAYS = {"directions": "f2", "offsets": "f1", "rows": "i2"}
_GATE_ARRAYS = {"directions": "f2", "offsets": "f1", "incident": "i2", "sides": "b2", "n_dependent": "i1"}
ARRAYS = (
    {"coef": "f23", "gate_intercept": "f12", "intercept": "f01"}
    | {"W1": "f2", "b1": "f1", "w2": "f2", "b2": "f1", "units": "i1"}
    | {f"{prefix}_{name}": rule for prefix in ("given", "gates", "members") for name, rule in _GATE_ARRAYS.items()}
    | {f"members_{name}": rule for name, rule in _NEURON_ARRAYS.items()}
    | shards.ARRAYS
)
_DROPPED = ("huber_delta",)  # parameters that estimators had and have no more where they had no effect


def pack(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the values of a fitted estimator."""
    require_fitted(model, "network_")
    params = {name: parameter(value) for name, value in model.get_params().items()}
    params = {name: value for name, value in params.items() if name not in _LATER or value != _LATER[name]}
    proof = model.certificate_
    by_shards = isinstance(proof, ShardCertificate)
    arrays: dict[str, NDArray[Any]] = {} if by_shards else {"dual_point": proof.dual_point}
    if "gates" in params and not isinstance(params["gates"], str):  # hyperplanes that were given are a parameter
        given = model.gates if isinstance(model.gates, Gates) else Gates.given(*model.gates)
        params["gates"] = _pack_gates(arrays, "given", given)
    if not by_shards and proof.sample_weight is not None:
        arrays["sample_weight"] = proof.sample_weight
    meta = about(model, _version(model), params) | {"n_iter": int(model.n_iter_)}
    if by_shards:
        meta["shards"] = shards.pack(arrays, proof)
    if isinstance(model.beta, str):
        meta["beta"] = float(model.beta_)
    if _settled(model):
        meta["loss"] = model.loss_
    claim = proof.claim
    if isinstance(claim, GatedClaim):
        coefficients, feature = claim.coefficients, claim.feature
        arrays |= {"coef": coefficients.coef, "gate_intercept": coefficients.gate_intercept}
        arrays["intercept"] = coefficients.intercept
        meta["gates"] = _pack_gates(arrays, "gates", claim.gates)
    elif isinstance(claim, KernelClaim):
        feature = model.bias_feature_
        meta["kernel"] = kernel.pack_network(arrays, claim.network) | {"beta": float(proof.beta)}  # on its own rows
    else:
        meta["gates"] = {"method": model.gates_.method}
        meta["family"] = pack_neurons(arrays, claim)
        feature = claim.family.feature
    if feature is not None:
        meta["bias_feature"] = feature
    if isinstance(model, NetworkClassifier):
        arrays["classes"], meta["classes_dtype"] = plain_classes(model.classes_)
        if hasattr(model, "calibration_"):  # not where the model is from a file without one
            pack_calibration(arrays, meta, model.calibration_)
    else:
        meta["target_ndim"] = int(model._target_ndim)
    if "kernel" in meta:
        return arrays, meta
    return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}, meta


def pack_neurons(arrays: dict[str, NDArray[Any]], claim: NetworkClaim) -> dict[str, Any]:
    """Add the arrays of a network and its family; return the rest of the family."""
    network, family = claim.network, claim.family
    arrays |= {"W1": network.W1, "b1": network.b1, "w2": network.w2, "b2": network.b2}
    if claim.standard is not None:
        arrays |= {"standard_mean": claim.standard.mean, "standard_rate": claim.standard.rate}
    meta: dict[str, Any] = {"kind": family.kind, "p": family.p, "bias": bool(family.bias), "members": None}
    if isinstance(family.members, Gates):
        meta["members"] = _pack_gates(arrays, "members", family.members)
    elif family.members is not None:
        arrays |= {f"members_{name}": getattr(family.members, name) for name in _NEURON_ARRAYS}
    return meta


def read_neurons(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], d: int, feature: float | None) -> NetworkClaim:
    """Return the network and its family from what `pack_neurons` made."""
    standard = None
    if "standard_mean" in arrays:
        standard = Standardization(arrays["standard_mean"], arrays["standard_rate"])
        fits = standard.mean.shape == standard.rate.shape == (d,) and bool((standard.rate >= 0).all())
        agree(fits, "the standardization does not fit the rows")
    return NetworkClaim(_network(arrays, d), _family(arrays, meta, d, feature), standard)


def _version(model: Any) -> int:
    """Return the least version of the format that can hold an estimator."""
    if isinstance(model.certificate_, ShardCertificate):
        return shards.VERSION
    if getattr(model.certificate_.claim, "standard", None) is not None:
        return _STANDARDIZED
    if isinstance(model.certificate_.claim, KernelClaim):
        known = kernel.version(model.certificate_.claim.network)
        return known if getattr(model, "class_weight", None) is None else max(known, _CLASSES_WEIGHTED)
    if getattr(model, "class_weight", None) is not None:
        return _CLASSES_WEIGHTED
    members = getattr(getattr(model.certificate_.claim, "family", None), "members", None)
    if isinstance(members, Neurons) and (members.rows < 0).any():
        return _UNSPANNED
    if _settled(model) or getattr(model, "linear", "auto") is True:
        return _SETTLED
    if model.bias_feature_ is not None or isinstance(model.bias, str) or isinstance(model.beta, str):
        return _PENALISED
    return _UNWEIGHTED if model.certificate_.sample_weight is None else _WEIGHTED


def _settled(model: Any) -> bool:
    """Whether the fit settled on a loss that readers without loss="auto" would not take."""
    return bool(model.loss == "auto" and model.loss_ != "squared")


def unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Network:
    """Return the estimator of arrays and values from a file."""
    kind = ESTIMATORS[meta["estimator"]]
    known = kind().get_params()
    given = {name: value for name, value in meta["params"].items() if name in known or name not in _DROPPED}
    params = {name: read_parameter(value) for name, value in given.items()}
    if "gates" in params and not isinstance(params["gates"], str):
        params["gates"] = _gates(arrays, "given", params["gates"])
    model: Any = kind(**params)
    agree(model.loss in kind._losses and model.penalty in kind._penalties, "the loss or the penalty is unknown")
    model.beta_ = number(meta.get("beta", model.beta))  # as it was given, in files of versions without "auto"
    agree(model.beta_ > 0 and model.fit_intercept in (True, False), "parameters")
    agree(model.beta == "auto" or model.beta == model.beta_, "parameters")
    model.loss_ = meta.get("loss", "squared" if model.loss == "auto" else model.loss)
    agree(model.loss_ in kind._losses and (model.loss == "auto" or model.loss_ == model.loss), "the loss")
    agree(model.loss_ != "auto", "the loss")
    model.candidates_ = None
    told = meta.get("bias_feature")
    model.bias_feature_ = feature = None if told is None else number(told)
    agree((feature is not None) == (model._bias == "penalized") and (feature is None or feature > 0), "the biases")
    d, model.n_iter_ = set_features(model, meta), whole(meta["n_iter"])
    claim: Claim
    if "family" in meta:
        claim = read_neurons(arrays, meta["family"], d, feature)
        if isinstance(model, CrossProductLasso):
            model.penalty_ = f"l{claim.family.p}"
        model._set_network(claim.network_on_rows(), str(meta["gates"]["method"]))
        outputs = len(claim.network.b2)
    elif "kernel" in meta:
        claim = KernelClaim(kernel.read_network(arrays, meta["kernel"], d))
        agree((claim.network.kernel.bias > 0) == (feature is not None), "the biases")
        model._set_kernel(claim.network)
        outputs = claim.network.alpha.shape[1]
    else:
        claim = _gated_claim(arrays, meta, d)._replace(feature=feature)
        model._set_gated(claim.coefficients, claim.gates)
        outputs = len(claim.coefficients.intercept)
    classes = None
    if isinstance(model, NetworkClassifier):
        classes = model.classes_ = read_classes(arrays, meta, outputs)
        if "calibration" in meta:
            model._calibration = read_calibration(arrays, meta, len(classes))
            agree(not model._calibration.share, "the calibration is by variances, which a network of few neurons lacks")
        elif as_loss(model.loss_, "load_model").probabilistic:
            model._calibration = Calibration.softmax(len(classes))
    else:
        model._target_ndim = read_target_ndim(meta, outputs)
    if "shards" in meta:
        agree(isinstance(claim, GatedClaim), "shards train gated networks")
        model._sample_weight = None
        model.certificate_ = shards.read(arrays, meta, model, cast("GatedClaim", claim), classes)
        return cast("Network", model)
    model._sample_weight = checked_weights(arrays, outputs)
    model._certify(claim, classes, dual_point=arrays["dual_point"], **proved(meta))
    if "kernel" in meta:
        model.certificate_ = replace(model.certificate_, beta=number(meta["kernel"]["beta"]))
    return cast("Network", model)


def _gated_claim(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], d: int) -> GatedClaim:
    gates = _gates(arrays, "gates", meta["gates"])
    m, outputs = len(gates), arrays["intercept"].size
    agree(gates.d == d and outputs > 0)
    shapes = {"coef": (outputs, m, d), "gate_intercept": (outputs, m), "intercept": (outputs,)}
    agree(all(arrays[name].shape in (shape, shape[1:] if outputs == 1 else shape) for name, shape in shapes.items()))
    parts = (arrays[name].reshape(shape) for name, shape in shapes.items())
    return GatedClaim(gates, Coefficients(*parts), squared=meta["params"]["penalty"] == "ridge")


def _network(arrays: dict[str, NDArray[Any]], d: int) -> TwoLayerNetwork:
    W1, b1, w2, b2 = (arrays[name] for name in ("W1", "b1", "w2", "b2"))
    agree(W1.shape == (b1.size, d) and w2.shape == (b1.size, b2.size) and b2.size > 0)
    return TwoLayerNetwork(W1, b1, w2, b2)


def _family(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], d: int, feature: float | None) -> Family:
    kind, p, members = meta["kind"], whole(meta["p"]), meta["members"]
    agree(kind in ("all", "cross", "neurons", "gates") and p in (1, 2) and meta["bias"] in (True, False), "the family")
    found: Gates | Neurons | None = None
    if kind == "gates":
        found = _gates(arrays, "members", members)
    elif kind == "neurons":
        found = Neurons(**{name: arrays[f"members_{name}"] for name in _NEURON_ARRAYS})
        agree(found.directions.shape[1:] == found.offsets.shape == found.rows.shape[:1])
        agree(bool(((found.rows >= 0).all(axis=1) | (found.rows == -1).all(axis=1)).all()))
    family = Family(kind, p, bool(meta["bias"]), found, feature)
    agree(family.d_of_members in (None, d), "the family does not fit the network")
    return family


def _pack_gates(arrays: dict[str, NDArray[Any]], prefix: str, gates: Gates) -> dict[str, Any]:
    """Add the arrays of ``gates`` under ``prefix``; return the rest of them."""
    arrays |= {f"{prefix}_{name}": getattr(gates, name) for name in _GATE_ARRAYS}
    return {"method": gates.method, "sketch_dim": gates.sketch_dim, "notes": gates.notes}


def _gates(arrays: dict[str, NDArray[Any]], prefix: str, meta: dict[str, Any]) -> Gates:
    fields = {name: arrays[f"{prefix}_{name}"] for name in _GATE_ARRAYS}
    m = fields["offsets"].shape
    agree(fields["directions"].shape[1:] == fields["n_dependent"].shape == m, "the gates do not fit each other")
    agree(fields["incident"].shape[:1] == m and fields["incident"].shape == fields["sides"].shape, "the gates' rows")
    r = meta["sketch_dim"]
    sketch_dim = None if r is None else whole(r, 1)
    return Gates(**fields, method=str(meta["method"]), sketch_dim=sketch_dim, notes=tuple(map(str, meta["notes"])))
