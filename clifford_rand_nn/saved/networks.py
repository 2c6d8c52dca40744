"""Networks of finitely many neurons or gates as plain arrays and values, and back."""

from dataclasses import replace
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn._records import Arrays, agree, number, record_of, values_of, whole
from clifford_rand_nn.certificates.claims import Claim, GatedClaim, KernelClaim, NetworkClaim
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
from clifford_rand_nn.problems.loss_registry import as_loss, has_delta
from clifford_rand_nn.saved import parts
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

_NEURON_ARRAYS = {"directions": "f2", "offsets": "f1", "rows": "i2"}
_GATE_ARRAYS = {"directions": "f2", "offsets": "f1", "incident": "i2", "sides": "b2", "n_dependent": "i1"}
ARRAYS = (
    {"coef": "f23", "gate_intercept": "f12", "intercept": "f01", "standard_mean": "f1", "standard_rate": "f1"}
    | {"W1": "f2", "b1": "f1", "w2": "f2", "b2": "f1", "units": "i1"}
    | {f"{prefix}_{name}": rule for prefix in ("given", "gates", "members") for name, rule in _GATE_ARRAYS.items()}
    | {f"members_{name}": rule for name, rule in _NEURON_ARRAYS.items()}
)
_REMOVED = ("huber_delta",)  # parameters that estimators no longer have where they had no effect


def pack(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the values of a fitted estimator."""
    arrays, meta = parts.pack_shared(model)
    if not isinstance(getattr(model, "gates", ""), str):  # hyperplanes that were given are a parameter
        hyperplanes = model.gates if isinstance(model.gates, Gates) else Gates.from_arrays(*model.gates)
        meta["params"]["gates"] = values_of(hyperplanes, arrays=arrays, prefix="given_")
    meta["n_iter"] = int(model.n_iter_)
    if isinstance(model.beta, str):
        meta["beta"] = float(model.beta_)
    if model.loss == "auto":
        meta["loss"] = model.loss_
    claim = model.certificate_.claim
    if isinstance(claim, GatedClaim):
        arrays |= claim.coefficients._asdict()
        meta["gates"], feature = values_of(claim.gates, arrays=arrays, prefix="gates_"), claim.feature
    elif isinstance(claim, KernelClaim):
        meta["kernel"] = parts.pack_kernel(arrays, claim.network)
        meta["kernel"]["beta"] = float(model.certificate_.beta)  # on its own rows
        feature = model.bias_feature_
    else:
        meta |= {"gates": {"method": model.gates_.method}, "family": pack_neurons(arrays, claim)}
        feature = claim.family.feature
    if feature is not None:
        meta["bias_feature"] = feature
    if hasattr(model, "calibration_"):  # not of regressors, nor where the model is from a file without one
        meta["calibration"] = values_of(model.calibration_, arrays=arrays, prefix="calibration_")
    if "kernel" in meta:
        return arrays, meta
    return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}, meta


def pack_neurons(arrays: Arrays, claim: NetworkClaim) -> dict[str, Any]:
    """Add the arrays of a network and its family; return the rest of the family."""
    network, family = claim.network, claim.family
    arrays |= {name: getattr(network, name) for name in ("W1", "b1", "w2", "b2")}
    if claim.standard is not None:
        arrays |= {"standard_mean": claim.standard.mean, "standard_rate": claim.standard.rate}
    meta: dict[str, Any] = {"kind": family.kind, "p": family.p, "bias": bool(family.bias), "members": None}
    if family.members is not None:
        members = values_of(family.members, arrays=arrays, prefix="members_")
        meta["members"] = members if isinstance(family.members, Gates) else None
    return meta


def read_neurons(arrays: Arrays, meta: dict[str, Any], d: int, feature: float | None) -> NetworkClaim:
    """Return the network and its family from what `pack_neurons` made."""
    standard = None
    if "standard_mean" in arrays:
        standard = record_of(Standardization, {}, arrays=arrays, prefix="standard_")
        fits = standard.mean.shape == standard.rate.shape == (d,) and bool((standard.rate >= 0).all())
        agree(fits, "the standardization does not fit the rows")
    W1, b1, w2, b2 = (arrays[name] for name in ("W1", "b1", "w2", "b2"))
    agree(W1.shape == (b1.size, d) and w2.shape == (b1.size, b2.size) and b2.size > 0)
    kind, p, members = meta["kind"], whole(meta["p"]), meta["members"]
    agree(kind in ("all", "cross", "neurons", "gates") and p in (1, 2) and meta["bias"] in (True, False), "the family")
    own: Gates | Neurons | None = None
    if kind == "gates":
        own = _read_gates(arrays, "members_", members)
    elif kind == "neurons":
        own = record_of(Neurons, {}, arrays=arrays, prefix="members_")
        agree(own.directions.shape[1:] == own.offsets.shape == own.rows.shape[:1])
        agree(bool(((own.rows >= 0).all(axis=1) | (own.rows == -1).all(axis=1)).all()))
    family = Family(kind, p, bool(meta["bias"]), own, feature)
    agree(family.d_of_members in (None, d), "the family does not fit the network")
    return NetworkClaim(TwoLayerNetwork(W1, b1, w2, b2), family, standard)


def unpack(arrays: Arrays, meta: dict[str, Any]) -> Network:
    """Return the estimator of arrays and values from a file."""
    model = _unfitted(arrays, meta)
    kind, state = type(model), parts.read_features(meta)
    beta = number(meta.get("beta", model.beta))  # as it was given, in files of versions without "auto"
    loss = meta.get("loss", "squared" if model.loss == "auto" else model.loss)  # older files leave squared out
    agree(beta > 0 and model.fit_intercept in (True, False) and model.beta in ("auto", beta), "parameters")
    agree(loss in kind._losses and loss != "auto" and model.loss in ("auto", loss), "the loss")
    feature = None if meta.get("bias_feature") is None else number(meta["bias_feature"])
    agree((feature is not None) == (model._bias == "penalized") and (feature is None or feature > 0), "the biases")
    state |= {"beta_": beta, "loss_": loss, "candidates_": None, "bias_feature_": feature}
    state["n_iter_"] = whole(meta["n_iter"])
    vars(model).update(state)
    claim = _read_claim(arrays, meta, model.n_features_in_, feature)
    if isinstance(claim, NetworkClaim):
        if isinstance(model, CrossProductLasso):
            model.penalty_ = f"l{claim.family.p}"
        model._set_network(claim.network_on_rows(), str(meta["gates"]["method"]))
        outputs = len(claim.network.b2)
    elif isinstance(claim, KernelClaim):
        model._set_kernel(claim.network)
        outputs = claim.network.alpha.shape[1]
    else:
        model._set_gated(claim.coefficients, claim.gates)
        outputs = len(claim.coefficients.intercept)
    formulas = as_loss(loss, "load_model", model._delta if has_delta(loss) else None)
    state |= parts.read_targets(arrays, meta, outputs, isinstance(model, NetworkClassifier))
    classes = state.get("classes_")
    if classes is not None:
        if "calibration" in meta:
            calibration = state["_calibration"] = parts.read_calibration(arrays, meta["calibration"], len(classes))
            agree(not calibration.share, "the calibration is by variances, which a network of few neurons lacks")
        elif formulas.probabilistic:
            state["_calibration"] = Calibration.softmax(len(classes))
    vars(model).update(state)
    if "shards" in meta:
        agree(isinstance(claim, GatedClaim), "shards train gated networks")
        fields = parts.read_shards(arrays, meta, formulas, cast("GatedClaim", claim), classes)
        model.certificate_ = ShardCertificate(**fields, beta=beta, loss=loss, huber_delta=model._delta)
        return cast("Network", model)
    model._certify(claim, classes, dual_point=arrays["dual_point"], **parts.proved(meta))
    if isinstance(claim, KernelClaim):
        model.certificate_ = replace(model.certificate_, beta=number(meta["kernel"]["beta"]))
    return cast("Network", model)


def _unfitted(arrays: Arrays, meta: dict[str, Any]) -> Any:
    kind = ESTIMATORS[meta["estimator"]]
    known, params = kind().get_params(), parts.read_parameters(meta["params"])
    params = {name: value for name, value in params.items() if name in known or name not in _REMOVED}
    if not isinstance(params.get("gates", ""), str):
        params["gates"] = _read_gates(arrays, "given_", params["gates"])
    model = kind(**params)
    agree(model.loss in kind._losses and model.penalty in kind._penalties, "the loss or the penalty is unknown")
    return model


def _read_claim(arrays: Arrays, meta: dict[str, Any], d: int, feature: float | None) -> Claim:
    """Return the network of an estimator, and what its certificate compares it with."""
    if "family" in meta:
        return read_neurons(arrays, meta["family"], d, feature)
    if "kernel" in meta:
        network = parts.read_kernel(arrays, meta["kernel"], d)
        agree((network.kernel.bias > 0) == (feature is not None), "the biases")
        return KernelClaim(network)
    gates = _read_gates(arrays, "gates_", meta["gates"])
    m, outputs = len(gates), arrays["intercept"].size
    agree(gates.d == d and outputs > 0)
    shapes = {"coef": (outputs, m, d), "gate_intercept": (outputs, m), "intercept": (outputs,)}
    agree(all(arrays[name].shape in (shape, shape[1:] if outputs == 1 else shape) for name, shape in shapes.items()))
    coefficients = Coefficients(*(arrays[name].reshape(shape) for name, shape in shapes.items()))
    return GatedClaim(gates, coefficients, squared=meta["params"]["penalty"] == "ridge", feature=feature)


def _read_gates(arrays: Arrays, prefix: str, values: dict[str, Any]) -> Gates:
    fields: dict[str, NDArray[Any]] = {name: arrays[prefix + name] for name in _GATE_ARRAYS}
    m = fields["offsets"].shape
    agree(fields["directions"].shape[1:] == fields["n_dependent"].shape == m, "the gates do not fit each other")
    agree(fields["incident"].shape[:1] == m and fields["incident"].shape == fields["sides"].shape, "the gates' rows")
    gates = record_of(Gates, values, arrays=arrays, prefix=prefix)
    agree(gates.sketch_dim is None or gates.sketch_dim > 0, "the gates' sketch")
    return gates
