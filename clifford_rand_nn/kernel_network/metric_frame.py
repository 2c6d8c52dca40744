"""Metric of the gate distribution w ~ N(0, M): M is the average gradient outer product (AGOP) of a fitted network."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf

from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.kernel_network.candidates import varying
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, spread
from clifford_rand_nn.kernel_network.kernel_functions import slope_factors
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import spread_rows

_BLOCK = 2**19  # entries of a block of the kernel matrix: 4 MB, within a cache
_COLUMNS = 512  # of a product with the kernel matrix, which is read once for all of them
SHAPES = ("full", "shrunk", "diagonal")
_OFF_DIAGONAL = {"full": 1.0, "shrunk": 0.5, "diagonal": 0.0}  # what is left of entries off the diagonal of M
_GRADIENTS = 1000  # rows whose gradients are averaged, at most: more change no score of 58 tables by .001
_PIVOT = 1e-10  # of the trace of M, where its factorization ends: M may have less than full rank
FOLDS = 5
# Of so many rows a part is a third: fewer and smaller fits take a third of the time, and on 22 tables networks were as
# accurate. Of more, of which 1000 are taken, they lost up to 0.8 points.
THIRDS = 600, 1000
HELD_OUT = 330  # held-out rows, beyond which no part is held out


def gradient_outer_product(
    kernel: GateKernel, X: Array, alpha: Array, rows: Array | None = None, weights: Array | None = None
) -> Array:
    r"""Return :math:`M = \frac1m\sum_{i\le m}\omega_i\sum_c\nabla f_c(x_i)\,\nabla f_c(x_i)^T`, (d, d).

    With z the features of the kernel and :math:`\kappa = (\pi-\theta)/(2\pi)`,

    .. math:: f_c(x) = \sum_j\alpha_{jc}K(x, x_j),\qquad \nabla_zK(z, z') = \kappa z' + \frac{z\cdot z'}{2\pi\sin\theta}
              \Big(\frac{z'}{|z||z'|} - \cos\theta\,\frac{z}{|z|^2}\Big),\qquad \nabla_x = F\,\nabla_z.

    Where rows are parallel, as a row is to itself, the kernel has a kink, and the second term, which changes sign
    there, is left out, and so is the part of steps, which jumps. With P the factors of :math:`z_j`, so that
    :math:`\nabla f_c(x_i)=\sum_jP_{ij}\alpha_{jc}z_j+…`, all outputs together are
    :math:`Z^T(P^TP\circ\alpha\alpha^T)Z+…`: whichever takes less work is done, that or one product with P for each
    output. No array is larger than n × n or m × d.

    ``X`` (n, d): rows of the fit, as the kernel takes them. ``alpha`` (n, C): coefficients of the fit. ``rows`` (m, d):
    where the gradients are taken; None for X. ``weights`` (m,): ω, with mean 1. Return value: in
    (units of f / units of x)².

    References: Radhakrishnan, Beaglehole, Pandit, Belkin, "Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models", Science 383 (2024), eq. 2: the average gradient outer product.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> alpha = np.array([[1.0], [-1.0], [0.0], [0.0]])  # f = x[0] / 2: one share of gates for x, the other for -x
    >>> gradient_outer_product(GateKernel(), X, alpha, rows=np.array([[0.6, 0.8]])).round(6).tolist()
    [[0.25, 0.0], [0.0, 0.0]]
    """
    z = kernel.features(X)
    at = z if rows is None else kernel.features(rows)
    share = np.full(len(at), 1 / len(at))
    if weights is not None:
        share = share * weights
    slopes = Slopes(z, np.asarray(alpha, dtype=z.dtype))
    M = np.asarray(slopes.outer_product(at, np.sqrt(share).astype(z.dtype)), dtype=np.float64)
    if kernel.bias:
        M = M[:-1, :-1]
    if kernel.frame is not None:
        M = kernel.frame @ M @ kernel.frame.T
    return np.asarray((M + M.T) / 2)


class Slopes:
    r"""Slopes :math:`\nabla_zf_c` of :math:`f_c=\sum_j\alpha_{jc}K(\cdot,z_j)`, at features (m, r) of rows."""

    def __init__(self, z: NDArray[np.floating], alpha: NDArray[np.floating]) -> None:
        self._z, self._alpha, self._lengths = z, alpha, np.linalg.norm(z, axis=1)

    def of_outputs(self, at: NDArray[np.floating]) -> Iterator[tuple[slice, slice, NDArray[np.floating]]]:
        """Yield some rows, some outputs and their slopes (k, c, r)."""
        z, alpha = self._z, self._alpha
        each = max(1, _COLUMNS // z.shape[1])
        for part, factors, back in self._blocks(at):
            for c in range(0, alpha.shape[1], each):
                taken = slice(c, c + each)
                slopes = factors @ (alpha[:, taken, None] * z[:, None, :]).reshape(len(z), -1)
                own = at[part, None, :]
                yield part, taken, slopes.reshape(len(own), -1, z.shape[1]) + back[:, taken, None] * own

    def outer_product(self, at: NDArray[np.floating], root: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the sum (r, r) of outer products of slopes, each with the square of its row's ``root`` as a weight."""
        z, alpha, (n, r) = self._z, self._alpha, self._z.shape
        outer = np.zeros((r, r), dtype=z.dtype)
        if n + 2 * r >= 2 * alpha.shape[1] * r:
            for part, _, slopes in self.of_outputs(at):
                slopes *= root[part, None, None]
                slopes = slopes.reshape(-1, r)
                outer += slopes.T @ slopes
            return outer
        pairs = np.zeros((n, n), dtype=z.dtype)  # PᵀP, which takes less work of many outputs
        for part, factors, back in self._blocks(at):
            own = at[part]
            factors *= root[part, None]
            back *= root[part, None]
            pairs += factors.T @ factors
            factors *= back @ alpha.T
            mixed = (factors @ z).T @ own
            outer += mixed + mixed.T + (own * np.einsum("ic,ic->i", back, back)[:, None]).T @ own
        return np.asarray(outer + z.T @ ((pairs * (alpha @ alpha.T)) @ z))

    def _blocks(self, at: NDArray[np.floating]) -> Iterator[tuple[slice, Any, Any]]:
        """Yield some rows with factors (k, n) of z_j, and (k, C) of their own z."""
        size = max(1, _BLOCK // len(self._z))
        for part in (slice(start, start + size) for start in range(0, len(at), size)):
            turn = at[part] @ self._z.T
            cosines = turn.copy()
            share, inverse = slope_factors(turn, cosines, np.linalg.norm(at[part], axis=1), self._lengths)
            share += turn
            yield part, share, (cosines @ self._alpha) * -inverse[:, None]


@dataclass(frozen=True, eq=False)
class LearnedGates:
    r"""A learned metric, with its kernel.

    ``kernel``: of gates w ~ N(0, M), norms measured by M⁻¹: its frame F has :math:`FF^T=M`. ``metric`` (d, d): M, in a
    scale that leaves the mean square length of rows, :math:`x^TMx`, what it was. Entry (j, j) says how much of the
    squared slope of the network is along column j; eigenvectors of large eigenvalues are the combinations of columns
    that matter.
    """

    kernel: GateKernel
    metric: Array
    beta: float  # for this kernel, what the first beta was for the first kernel


def learn_frame(
    kernel: GateKernel,  # of the first fit
    rows: Array,  # (n, d), as the kernel takes them, standardized
    targets: Array,  # (n, C)
    beta: float,  # of the first fit, in the 1/n scale
    *,
    shape: str = "full",
    factors: tuple[float, ...] = (1.0, 1.0),
    weights: Array | None = None,  # (n,)
) -> LearnedGates:
    r"""Fit a network by the squared loss, take the gate distribution from its gradients, and repeat.

    Each round solves :math:`(K+n\beta_r\Omega^{-1})\alpha=y-t,\ 1^T\alpha=0` by one Cholesky factorization, and takes
    for the next kernel :math:`M\propto\frac1n\sum_i\omega_i\sum_c\nabla f_c(x_i)\nabla f_c(x_i)^T`, scaled so that rows
    keep their mean square length and the bias feature its meaning. :math:`\beta_r` is ``beta`` times the spread of the
    kernel, tr K/n less the mean of K, as a share of that of the first, times ``factors[r]``.

    M has seen every row: leave-one-out with the kernel that is returned is biased. `select_metric` selects the
    number of iterations and the shape.

    ``shape`` {"full", "shrunk", "diagonal"}: what is left of the entries off the diagonal of M: all, half of each,
    none. ``factors``: one of each fit and of the ``beta`` that is returned: one more than there are iterations.

    References: As of `gradient_outer_product`: recursive feature machines, with other kernels.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> y = np.abs(X[:, :1])  # two columns are noise
    >>> M = learn_frame(GateKernel(bias=1.0), X, y, 1e-3, factors=(1.0, 1.0, 1.0)).metric
    >>> bool(M[0, 0] > 20 * max(M[1, 1], M[2, 2]))
    True
    """
    aim, radius = varying(targets), len(rows) * beta
    K = kernel(rows)
    first = spread(K)
    # (K + nβΩ⁻¹)α = y - t, then M = AGOP of f = Kα, then K of the gates w ~ N(0, M)
    for factor in factors[:-1]:
        alpha = KernelRidge(K, weights).fit(aim, radius * factor * spread(K) / first)[0]
        kernel = learned_kernels(kernel, rows, alpha, (shape,), weights)[0]
        K = kernel(rows)
    M = np.eye(kernel.gated(rows).shape[1]) if kernel.frame is None else kernel.frame @ kernel.frame.T
    return LearnedGates(kernel, M, beta * factors[-1] * spread(K) / first)


def learned_kernels(
    kernel: GateKernel, X: Array, alpha: Array, shapes: tuple[str, ...], weights: Array | None = None
) -> list[GateKernel]:
    """Return the kernels of the next round, one a shape, after a fit to rows X with coefficients alpha (n, C).

    Where the network is constant no direction matters more than another, and the kernel stays as it is. Everything is
    in double precision: with a small beta coefficients are large and their sum cancels.
    """
    at = np.sort(spread_rows(len(X), min(len(X), _GRADIENTS)))
    own = None if weights is None else weights[at] / weights[at].mean()
    M = gradient_outer_product(kernel, X, alpha, X[at], own)
    gated = kernel.gated(X)
    second = (gated if weights is None else gated * weights[:, None]).T @ gated / len(X)
    # tr(M Σ), the mean square length of rows, stays what it was
    before = float(np.trace(second) if kernel.frame is None else np.vdot(kernel.frame, second @ kernel.frame))
    diagonal, kernels = np.eye(len(M), dtype=bool), []
    for shape in shapes:
        shaped = np.where(diagonal, M, _OFF_DIAGONAL[shape] * M)
        after = float(np.vdot(shaped, second))
        kernels.append(kernel if after <= 0 else replace(kernel, frame=_root(shaped * (before / after))))
    return kernels


def _root(M: Array) -> Array:
    """Return F (d, rank) with FFᵀ = M, by Cholesky's factorization with pivots; what rounding made negative is 0."""
    if not M[~np.eye(len(M), dtype=bool)].any():
        return np.diag(np.sqrt(np.maximum(M.diagonal(), 0.0)))
    factor, pivots, rank, _ = dpstrf(M, tol=_PIVOT * float(np.trace(M)), lower=1)
    root = np.empty((len(M), rank))
    # PᵀMP = LLᵀ: the rows of L go back to their places
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root


def outer_parts(
    X: Array, targets: Array, groups: NDArray[np.intp] | None, max_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return at most max_rows rows (m,), what each of all rows belongs to (n,), and the part (m,) of each of the m.

    Rows belong to their group, or else to the copies of one row; parts count from 0 to 4 or less.
    """
    rng = np.random.default_rng(0)  # fixed: nothing but the rows says what is in which part
    key = X @ rng.standard_normal(X.shape[1])
    order = np.lexsort((key, targets @ rng.standard_normal(targets.shape[1])))
    size = float(np.abs(key).max()) or 1.0
    change = (np.abs(np.diff(key[order])) > 1e-10 * size) | (np.diff(targets[order], axis=0) != 0).any(axis=1)
    ranks = np.concatenate([[0], np.cumsum(change)])
    belongs = np.empty(len(order), dtype=np.intp)
    belongs[order] = ranks
    if groups is not None:
        # numbered by their first rows in this order, so that their names make no difference
        _, first, own = np.unique(groups[order], return_index=True, return_inverse=True)
        belongs[order] = np.argsort(np.argsort(first))[own]
    if len(order) > max_rows:
        order = order[np.linspace(0, len(order) - 1, max_rows).round().astype(np.intp)]
    units = np.unique(belongs[order], return_inverse=True)[1]
    n_units = int(units.max()) + 1
    parts = np.empty(n_units, dtype=np.intp)
    n_parts = min(3 if THIRDS[0] <= len(X) <= THIRDS[1] else FOLDS, n_units)
    if groups is None:
        for start in range(0, n_units, n_parts):
            block = parts[start : start + n_parts]
            block[:] = rng.permutation(n_parts)[: len(block)]
    else:  # the largest first, each to the smallest part
        sizes, filled = np.bincount(units), np.zeros(n_parts, dtype=np.intp)
        for unit in np.argsort(-sizes, kind="stable"):
            parts[unit] = int(np.argmin(filled))
            filled[parts[unit]] += sizes[unit]
    return order, belongs, parts[units]


def held_parts(parts: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of a part after the other until enough have been held out."""
    total = 0
    for part in range(int(parts.max()) + 1):
        rows = np.flatnonzero(parts == part)
        yield rows
        total += len(rows)
        if total >= HELD_OUT:
            return
