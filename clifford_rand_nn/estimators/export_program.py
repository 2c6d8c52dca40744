"""Fitted estimators as programs of array operations, from the claim of their certificate."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from clifford_rand_nn.claims import GatedClaim, KernelClaim, NetworkClaim
from clifford_rand_nn.export.program import (
    Program,
    Value,
    apply,
    constant,
    log_softmax,
    rows,
    sigmoid,
    two_layers,
    where,
)
from clifford_rand_nn.kernel_network.kernel_problem import StatedKernel


class NetworkProgram(NamedTuple):
    """Network of an estimator, as operations of a program."""

    outputs: Value  # (n, C)
    penalty: Value  # what beta weighs
    width: int  # entries of the widest array for each row
    kernel: StatedKernel | None = None  # of new rows with those of training, of a kernel network


def network_program(model: Any) -> NetworkProgram:
    """Return what the network of a fitted estimator computes, on raw features."""
    check_is_fitted(model, "network_")
    claim, X = model.certificate_.claim, rows()
    if isinstance(claim, KernelClaim):
        outputs, penalty, kernel = claim.network.stated(X)
        return NetworkProgram(outputs, penalty, len(claim.network.rows), kernel)
    if isinstance(claim, NetworkClaim):
        Z = X if claim.standard is None else claim.standard.stated(X, clips=False)
        network, p, squared, feature = claim.network, claim.family.p, False, claim.family.feature
    else:
        assert isinstance(claim, GatedClaim)
        Z, network, p, squared, feature = X, model.network_, 2, claim.squared, claim.feature
    return NetworkProgram(*two_layers(Z, network, p, feature, squared), len(network.b1))


def classifier_program(
    model: Any, network: NetworkProgram, scores: Value, decision: Value, calibrated: Value | None
) -> Program:
    """Return the program of a classifier whose labels are those of the largest score; probabilities are calibrated."""
    results = {"outputs": network.outputs, "scores": scores, "decision_function": decision}
    if calibrated is not None:
        results["predict_proba"] = apply("exp", log_softmax(calibrated))
    results["index"] = apply("argmax", scores)
    return _program(model, network, results, model.classes_)


def labels_program(model: Any, network: NetworkProgram, odds: Value) -> Program:
    """Return the program of a classifier of multilabel targets, from their log-odds (n, L)."""
    there = where(Value("less", (0.0, odds)), 1.0, 0.0)
    results = {"outputs": network.outputs, "decision_function": odds, "predict_proba": sigmoid(odds)}
    return _program(model, network, results | {"index": apply("whole", there)})


def regressor_program(
    model: Any, network: NetworkProgram, single: bool, ends: tuple[Value, Value] | None = None
) -> Program:
    """Return the program of a regressor, with one target or several, and perhaps the ends of intervals (n, C)."""
    results = {"outputs": network.outputs}
    named = [("predict", network.outputs), *zip(("low", "high"), ends or (), strict=False)]
    results |= {name: apply("first", value) if single else value for name, value in named}
    return _program(model, network, results)


def two_sided(outputs: Value) -> Value:
    """Return the scores (n, 2) of an output (n, 1) that is > 0 for the second class, and its log-odds if it has any."""
    return outputs @ constant([[0.0, 1.0]], "second")


def _program(
    model: Any, network: NetworkProgram, results: dict[str, Value], classes: NDArray[Any] | None = None
) -> Program:
    names = getattr(model, "feature_names_in_", None)
    proof = model.certificate_
    return Program(
        model=type(model).__name__,
        d=int(model.n_features_in_),
        results=results,
        penalty=network.penalty,
        classes=None if classes is None else np.asarray(classes),
        columns=None if names is None else tuple(map(str, names)),
        width=network.width,
        notes={"loss": str(model.loss_ if hasattr(model, "loss_") else proof.loss), "beta": repr(float(model.beta_))},
    )
