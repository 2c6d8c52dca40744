"""Training rows of a network: those of its kernel, those that span its planes, and their contributions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.claims import GatedClaim, NetworkClaim
from clifford_rand_nn.estimators.network.base import BaseConvexNetwork
from clifford_rand_nn.explanation.sums import KernelSum, NetworkSum
from clifford_rand_nn.sparse_rows import with_feature

Numbers = NDArray[np.intp]
_SAME = 1e-9  # of the largest entry of standardized rows, which are computed again


def n_training_rows(estimator: Any) -> int:
    """Return how many rows there were, those of weight zero with them."""
    return int(estimator.certificate_.n_rows)


def kept_rows(estimator: Any) -> Numbers:
    """Return the numbers of the training rows that have a weight; of all, where there were shards."""
    weights = getattr(estimator.certificate_, "sample_weight", None)
    return np.arange(n_training_rows(estimator)) if weights is None else np.flatnonzero(weights)


def rows_of_parts(estimator: Any, network: NetworkSum, seen: Array | None) -> Numbers | None:
    """Return the number of each row that a kernel network is made of; None if it is not known.

    Where the model does not say they are looked for in the rows that were ``seen``.
    """
    if not isinstance(network, KernelSum):
        return None
    known = getattr(estimator, "network_rows_", None) if isinstance(estimator, BaseConvexNetwork) else None
    if known is None and not isinstance(estimator, BaseConvexNetwork):
        known = kept_rows(estimator)
    if known is None and seen is not None and len(seen) == n_training_rows(estimator):
        known = _found(network.network.rows, network.network.standard.rows(seen))
    return known


def _found(rows: Array, among: Array) -> Numbers | None:
    """Return the place of each row among others, the first of equal ones; None if one is not there."""
    along = np.random.default_rng(0).standard_normal(rows.shape[1])
    keys = among @ along
    order = np.argsort(keys, kind="stable")
    slack = _SAME * max(1.0, float(np.abs(keys).max()))
    first = np.searchsorted(keys[order], rows @ along - slack)
    places = order[np.minimum(first, len(order) - 1)]
    return places if _alike(rows, among[places]) else None


def _alike(rows: Array, expected: Array) -> bool:
    return bool(np.allclose(rows, expected, rtol=0, atol=_SAME * max(1.0, float(np.abs(rows).max()))))


def are_training_rows(estimator: Any, network: NetworkSum, numbers: Numbers | None, seen: Array) -> bool:
    """Say whether rows are those of training, as far as the model can tell: their number, and its own rows."""
    if len(seen) != n_training_rows(estimator) or not isinstance(estimator.certificate_, Certificate):
        return False
    if isinstance(network, KernelSum):
        inner = network.network
        return numbers is not None and _alike(inner.rows, inner.standard.rows(seen[numbers]))
    return True


def spanning_rows(estimator: Any, neurons: Numbers) -> list[Numbers] | None:
    """Return the numbers of the training rows that span the plane of each neuron; None where they are not known."""
    if isinstance(estimator, BaseConvexNetwork):
        known = estimator.spanning_rows_
        return None if known is None else [known[i] for i in neurons]
    claim, kept = estimator.certificate_.claim, kept_rows(estimator)
    if isinstance(claim, GatedClaim):
        lists = claim.gates.incident[neurons]
    elif getattr(estimator, "rows_", None) is not None:
        lists = estimator.rows_[neurons]
    else:
        return None
    if not lists.shape[1]:
        return None
    return [kept[rows[(rows >= 0) & (rows < len(kept))]] for rows in lists]


def row_weights(estimator: Any) -> Array:
    r"""Return the dual weights (n, C) of the training rows of a finite network, :math:`\theta/n\beta`."""
    proof = estimator.certificate_
    return np.asarray(proof.dual_point / (len(proof.dual_point) * proof.beta))


def shares(K: Array, weights: Array, rest: Any) -> tuple[Array, Array]:
    r"""Return :math:`w_{rc}(K_r(x)-\bar K(x))`, (m, C, n), of a likeness K (m, n) and weights w (n, C), and the rest.

    The mean :math:`\bar K` over the rows times the sum of the weights, 0 beside an intercept, goes to the rest.
    """
    mean = K.mean(axis=1, keepdims=True)
    return (K - mean)[:, None, :] * weights.T, np.asarray(mean * weights.sum(axis=0) + rest)


def likeness(estimator: Any, training: Array, X: Array) -> Array:
    r"""Return how like rows X (m, d) are the training rows that have a weight to a finite network, K (m, n).

    At the optimum the weights of a neuron are a sum over rows, by the optimality conditions: with the dual point θ and
    unit atoms :math:`k_j`, :math:`Z_j=\frac{||Z_j||}{n\beta}\sum_r\theta_rk_j(x_r)`, so that

    .. math:: f(x) = \sum_r\frac{\theta_r}{n\beta}K(x_r,x)+\ldots,\qquad K(x',x)=\sum_j||Z_j||k_j(x')k_j(x),

    for gates :math:`K=z\cdot z'\sum_i||U_i||D_iD_i'`. The rest is the intercept, biases that are not penalized, and
    what the training, which ends at a gap, leaves open.
    """
    claim, rows = estimator.certificate_.claim, training[kept_rows(estimator)]
    if isinstance(claim, GatedClaim):
        U, b, _ = claim.coefficients
        if claim.squared:
            eta = np.ones(U.shape[1])
        else:
            square = np.einsum("cpd,cpd->p", U, U)
            if claim.feature is not None:
                square = square + np.einsum("cp,cp->p", b, b) / claim.feature**2
            eta = np.sqrt(square)
        some = np.flatnonzero(eta)
        gates = claim.gates.take(some)
        K = (gates.on(X) * eta[some]) @ gates.on(rows).T.astype(np.float64)
        K *= with_feature(X, claim.feature) @ with_feature(rows, claim.feature).T
    else:
        assert isinstance(claim, NetworkClaim)
        network, family = claim.network, claim.family
        weights = network.W1
        if family.feature is not None:
            weights = np.column_stack([weights, network.b1 / family.feature])
        norms = np.linalg.norm(weights, ord=family.p, axis=1)
        eta = np.linalg.norm(network.w2, axis=1) / norms  # ||Z|| over the squared norm of the neuron
        there, here = (np.maximum(claim.rows(x) @ network.W1.T + network.b1, 0) for x in (rows, X))
        K = (here * eta) @ there.T
    return np.asarray(K)
