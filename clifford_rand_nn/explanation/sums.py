"""Networks as sums of parts, and the training rows that these are made of."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._typing import Array
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import GatedClaim, NetworkClaim
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.kernel_network.network import KernelNetwork, kernel_slopes, step_parts
from clifford_rand_nn.kernel_network.standardization import RowSpan
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.sparse_rows import with_feature

_BLOCK = 2**22  # entries of a block of rows times outputs times parts


class Local(NamedTuple):
    r"""Linear functions :math:`f_c(x)=\mathrm{base}_c+\mathrm{secants}_c\cdot(x-r)` at rows x, for one row r."""

    slopes: Array  # (m, C, d), gradients, in units of the output over those of a column
    # (m, C, d), the same where the network takes columns as they are; where it bounds them, slopes of the chord from
    # r to x
    secants: Array
    base: Array  # (m, C), what these functions are at r


@dataclass(frozen=True, eq=False)
class GatedSum:
    r"""A network of finitely many neurons, :math:`f_c(x)=\sum_i1[h_i\cdot x+c_i\ge0]\,(x\cdot U_{ci}+b_{ci})+t_c`.

    ReLU neurons are those with :math:`U_{ci}=w_{2,ic}W_i`, :math:`h_i=W_i`: at 0 the side does not matter.
    """

    directions: Array  # (d, P), h
    offsets: Array  # (P,)
    coef: Array  # (C, P, d), u
    constants: Array  # (C, P), b
    intercept: Array  # (C,)
    # (P,) int, the place of each neuron in the lists of the estimator: those without weights are left out here
    numbers: NDArray[np.intp]
    reference: Array | None = None  # (d,), the mean of the training rows, where it is known
    jumps: bool = False  # whether the network jumps at planes, as gated ones do; ReLU neurons are 0 there

    @classmethod
    def of_gated(cls, claim: GatedClaim) -> "GatedSum":
        """Return that of a gated network."""
        U, b, t = claim.coefficients
        active = np.flatnonzero(U.any(axis=(0, 2)) | b.any(axis=0))
        gates = claim.gates.take(active)
        jumps = bool(gates.directions.any())  # not of a linear model, whose only gate is on everywhere
        return cls(gates.directions, gates.offsets, U[:, active], b[:, active], t, active, jumps=jumps)

    @classmethod
    def of_network(cls, network: TwoLayerNetwork, reference: Array | None) -> "GatedSum":
        """Return that of a network of ReLU neurons."""
        coef = network.w2.T[:, :, None] * network.W1
        numbers = np.arange(len(network.b1))
        return cls(network.W1.T, network.b1, coef, network.w2.T * network.b1, network.b2, numbers, reference)

    @property
    def n_parts(self) -> int:
        """Number of neurons."""
        return len(self.offsets)

    def on(self, X: Array) -> NDArray[np.bool_]:
        """Return in which regions rows (m, d) are, (m, P)."""
        return np.asarray(X @ self.directions + self.offsets >= 0)

    def parts(self, X: Array) -> Array:
        """Return what each neuron adds to the outputs of rows (m, d), as (m, C, P)."""
        inside = np.einsum("md,cpd->mcp", X, self.coef, optimize=True) + self.constants
        return np.asarray(inside * self.on(X)[:, None, :])

    def local(self, X: Array, reference: Array) -> Local:
        """Return the linear functions that hold in the regions of rows (m, d)."""
        on = self.on(X).astype(np.float64)
        slopes = np.einsum("mp,cpd->mcd", on, self.coef, optimize=True)
        return Local(slopes, slopes, on @ self.constants.T + self.intercept + slopes @ reference)


@dataclass(frozen=True, eq=False)
class KernelSum:
    r"""A network of infinitely many gates, :math:`f_c(x)=\sum_i\alpha_{ic}K(x_i,x)+t_c`, by its rows of training."""

    network: KernelNetwork

    @property
    def n_parts(self) -> int:
        """Number of rows that the network is made of."""
        return len(self.network.rows)

    @property
    def intercept(self) -> Array:
        """Return t (C,)."""
        return self.network.intercept

    @property
    def reference(self) -> Array:
        """Return the mean of the training rows (d,): the one that columns are measured from, or that of its rows."""
        standard = self.network.standard
        return self.network.rows.mean(axis=0) if self.are_unscaled else standard.mean

    @property
    def are_unscaled(self) -> bool:
        """Whether the rows of the network are the unscaled training rows."""
        standard = self.network.standard
        if isinstance(standard, RowSpan):
            return False
        return standard.is_affine and not standard.mean.any() and bool((standard.rate == 1).all())

    def likeness(self, X: Array) -> Array:
        """Return the kernel of rows X (m, d) and the rows of the network, (m, n)."""
        return np.asarray(self.network.kernel(self.network.standard.rows(X), self.network.rows))

    def local(self, X: Array, reference: Array) -> Local:
        """Return the linear functions that hold at rows (m, d)."""
        network, span = self.network, self.network.standard
        standard = span.standard if isinstance(span, RowSpan) else span
        gated = standard.without_levels
        inner, origin = gated.rows(X), gated.rows(reference[None])[0]
        coordinates = span.rows(X)
        gradient = kernel_slopes(network.kernel, network.rows, network.alpha, coordinates)
        by_columns = (
            _through_span(gradient.columns, coordinates, inner, span) if isinstance(span, RowSpan) else gradient.columns
        )
        slopes = by_columns * gated.slopes(X)[:, None, :]
        secants, base = slopes, gradient.constant + network.intercept + by_columns @ origin
        step = (X - reference)[:, None, :]
        if not gated.is_affine:
            moved = (inner - origin)[:, None, :]
            secants = by_columns * np.divide(moved, step, out=np.zeros_like(moved), where=step != 0)
        if network.kernel.steps:
            there = standard.rows(reference[None])[0]
            parts = step_parts(network.kernel, network.rows, network.alpha, coordinates, there)
            chords = np.divide(parts.changes, step, out=np.zeros_like(parts.changes), where=step != 0)
            by_sides = parts.slopes * standard.level_slopes(X)[:, :, None, :]
            slopes, secants, base = slopes + by_sides.mean(axis=0), secants + chords, base + parts.base
        return Local(slopes, secants, base)

    def own_rows(self, most: int) -> Array:
        """Return unscaled rows, at most so many, of those that the network is made of."""
        inner, standard = self.network.rows, self.network.standard
        some = evenly(len(inner), most)
        if isinstance(standard, RowSpan):
            base = standard.base[some]
            return np.asarray(base.toarray() if issparse(base) else base, dtype=np.float64)
        return standard.inverse(inner[some])


def _through_span(slopes: Array, t: Array, inner: Array, span: RowSpan) -> Array:
    r"""Return slopes by standardized columns (m, C, d) from those by the coordinates of a span (m, C, r + 1).

    The last coordinate is :math:`\sqrt{|s|^2-|t|^2}`, whose gradient by s is the part of s beyond the span over it.
    """
    m, C, width = slopes.shape
    inside = span.combined(slopes.reshape(-1, width)[:, :-1] @ span.whiten.T).reshape(m, C, -1)
    beyond = inner - span.combined(t[:, :-1] @ span.whiten.T)
    length = t[:, -1:]
    unit = np.divide(beyond, length, out=np.zeros_like(beyond), where=length > 0)
    return np.asarray(inside + slopes[:, :, -1:] * unit[:, None, :])


NetworkSum = GatedSum | KernelSum


def sum_of(estimator: Any) -> NetworkSum:
    """Return the sum of a fitted estimator."""
    claim = estimator.certificate_.claim
    if isinstance(claim, GatedClaim):
        return GatedSum.of_gated(claim)
    if isinstance(claim, NetworkClaim):
        standard = claim.standard
        return GatedSum.of_network(claim.network_on_rows(), None if standard is None else standard.mean)
    return KernelSum(estimator.network_)


def in_blocks(m: int, width: int) -> list[slice]:
    """Return slices of m rows, each with a few million entries of so many a row."""
    step = max(1, _BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, m, step)]


def evenly(n: int, most: int) -> NDArray[np.intp]:
    """Return the places of at most so many of n rows, evenly."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


Numbers = NDArray[np.intp]
_SAME = 1e-9  # of the largest entry of standardized rows, which are computed again


def kept_rows(estimator: Any) -> Numbers:
    """Return the numbers of the training rows that have a weight; of all, where there were shards."""
    weights = getattr(estimator.certificate_, "sample_weight", None)
    return np.arange(estimator.certificate_.n_rows) if weights is None else np.flatnonzero(weights)


def rows_of_parts(estimator: Any, network: NetworkSum, seen: Array | None) -> Numbers | None:
    """Return the number of each row that a kernel network is made of; None if it is not known.

    Where the model does not say they are looked for in the rows that were ``seen``.
    """
    if not isinstance(network, KernelSum):
        return None
    if not isinstance(estimator, BaseConvexNetwork):
        return kept_rows(estimator)
    known = getattr(estimator, "support_", None)
    if known is None and seen is not None and len(seen) == estimator.certificate_.n_rows:
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
    if len(seen) != estimator.certificate_.n_rows or not isinstance(estimator.certificate_, Certificate):
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
    elif getattr(estimator, "spanning_rows_", None) is not None:
        lists = estimator.spanning_rows_[neurons]
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
        K = (gates.activations(X) * eta[some]) @ gates.activations(rows).T.astype(np.float64)
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
