"""What is proved of networks that were trained on shards, as plain arrays and values, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.claims import GatedClaim, KernelClaim
from clifford_rand_nn.datafits.registry import as_loss, has_delta
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.saved.parts import agree, number, proved, truth, whole
from clifford_rand_nn.shards.certificate import ShardCertificate

VERSION = 10
ARRAYS = {"class_factors": "f1", "dual_scale": "f1"}


def pack(arrays: dict[str, NDArray[Any]], proof: ShardCertificate) -> dict[str, Any]:
    """Add the arrays of a certificate; return what else it has beside the network."""
    if proof.targets.factors is not None:
        arrays["class_factors"] = proof.targets.factors
    assert isinstance(proof.scale, float)
    numbers = {"scale": proof.scale, "mean_weight": float(proof.targets.mean_weight)}
    return numbers | {"n": int(proof.n), "n_rows": int(proof.n_rows), "fit_intercept": bool(proof.fit_intercept)}


def read(
    arrays: dict[str, NDArray[Any]], meta: dict[str, Any], model: Any, claim: GatedClaim, classes: NDArray[Any] | None
) -> ShardCertificate:
    """Return the certificate of a network."""
    told = meta["shards"]
    loss = as_loss(model.loss_, "load_model", model._delta if has_delta(model.loss_) else None)
    factors = arrays.get("class_factors")
    if classes is not None:
        loss = loss.of_classes(len(classes))
    agree(factors is None or (classes is not None and factors.shape == classes.shape and bool((factors > 0).all())))
    scale, mean, n, n_rows = (
        number(told["scale"]),
        number(told["mean_weight"]),
        whole(told["n"], 1),
        whole(told["n_rows"]),
    )
    agree(0 <= scale <= 1 and mean > 0 and n <= n_rows, "the certificate")
    sorted_classes = None if classes is None else np.asarray(classes)
    return ShardCertificate(
        claim=claim,
        scale=scale,
        beta=model.beta_,
        loss=model.loss_,
        huber_delta=model._delta,
        targets=Targets(loss, sorted_classes, mean, factors),
        n=n,
        n_rows=n_rows,
        fit_intercept=truth(told["fit_intercept"]),
        **proved(meta),
    )


def pack_landmarks(arrays: dict[str, NDArray[Any]], proof: ShardCertificate) -> dict[str, Any]:
    """Add the arrays of a certificate over landmarks; return what else it has beside the network."""
    arrays["dual_scale"] = np.asarray(proof.scale, dtype=np.float64)
    if proof.targets.factors is not None:
        arrays["class_factors"] = proof.targets.factors
    numbers = {"mean_weight": float(proof.targets.mean_weight), "exponent": int(proof.targets.exponent)}
    return numbers | {"n": int(proof.n), "n_rows": int(proof.n_rows)}


def read_landmarks(
    arrays: dict[str, NDArray[Any]], meta: dict[str, Any], model: Any, claim: KernelClaim, classes: NDArray[Any] | None
) -> ShardCertificate:
    """Return the certificate of a network over landmarks."""
    told = meta["shards"]
    scale, factors = arrays["dual_scale"], arrays.get("class_factors")
    agree(scale.shape == (claim.network.alpha.shape[1],), "the certificate")
    agree(factors is None or (classes is not None and factors.shape == classes.shape and bool((factors > 0).all())))
    if isinstance(told["exponent"], bool) or not isinstance(told["exponent"], int):
        raise ValueError(f"{told['exponent']!r} is no integer")
    mean, n, n_rows = number(told["mean_weight"]), whole(told["n"], 1), whole(told["n_rows"])
    agree(mean > 0 and n <= n_rows, "the certificate")
    loss = str(meta["certificate"]["loss"])
    formulas = as_loss(loss, "load_model")
    if classes is not None:
        formulas = formulas.of_classes(len(classes))
    return ShardCertificate(
        claim=claim,
        scale=scale,
        beta=model.beta_,
        loss=loss,
        huber_delta=1.0,
        targets=Targets(formulas, classes, mean, factors, told["exponent"]),
        n=n,
        n_rows=n_rows,
        fit_intercept=True,
        **proved(meta),
    )
