"""Gates that follow the targets: the metric of their distribution, and the rates of boxes.

The metric of w ~ N(0, M) is the average gradient outer product (AGOP) of a fitted network. The rates follow the
gradient of the leave-one-out error.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.linalg.lapack import dpstrf
from scipy.optimize import minimize

from clifford_rand._typing import Array, NDArray
from clifford_rand.compiler.decorator import compiled
from clifford_rand_nn.kernel_network.candidates import varying
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, spread
from clifford_rand_nn.kernel_network.kernel_functions import add_column_kernel
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.network import Slopes

SHAPES = ("full", "shrunk", "diagonal")
_OFF_DIAGONAL = {"full": 1.0, "shrunk": 0.5, "diagonal": 0.0}  # what is left of entries off the diagonal of M
_GRADIENTS = 1000  # rows whose gradients are averaged, at most: more change no score of 58 tables by .001
_PIVOT = 1e-10  # of the trace of M, where its factorization ends: M may have less than full rank
_BLOCK_ROWS = 500  # of a block, out of which rows are left, at most: a step takes time as the cube of them
WIDTHS = 1.0, 3.0  # of the prior of logarithms of rates, one round after the other
_STEPS = 5  # of L-BFGS in a round: on UCI tables ten more lower the error by 1 to 3 % of what the first gain
_FURTHEST = math.log(1000.0)  # of the logarithms of rates, from where they begin: a column is then without effect
_SINGLE = 1e-5  # of the trace, from which λ on all is in single precision, which takes half of the time
_WITHIN = math.log(50.0)  # of the logarithms of λ and of the weight of boxes, from where they begin
_NOISE = 3.0  # spreads of the kernel, of which λ begins at most: beyond, the error hardly depends on rates


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
    spread: float  # of this kernel, on the rows that it was learned from


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
    size = spread(K)
    return LearnedGates(kernel, M, beta * factors[-1] * size / first, size)


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


class LearnedRates(NamedTuple):
    """A kernel with learned rates, and the logarithms (d + 2,) of the factors of rates, of s, and of λ per spread."""

    kernel: GateKernel
    changes: Array


def change_rates(kernel: GateKernel, changes: Array) -> GateKernel:
    """Multiply the rates and the weight of a kernel of boxes by exp(changes), (d + 2,), of `LearnedRates`."""
    rates = kernel.level_rates(len(changes) - 2) / kernel.decay * np.exp(changes[:-2])
    return replace(kernel, rates=rates, steps=kernel.steps * math.exp(changes[-2]))


def learn_rates(
    kernel: GateKernel, rows: Array, targets: Array, radius: float, weights: Array | None = None
) -> Iterator[LearnedRates]:
    r"""Yield kernels of boxes whose rates in each column, and whose weight, lower the leave-one-out error.

    With :math:`A=K_0+sB+\lambda\Omega^{-1}`, :math:`B_{ik}=\exp(-\sum_jr_j|v_{ij}-v_{kj}|)`,
    :math:`G=A^{-1}-A^{-1}11^TA^{-1}/1^TA^{-1}1` and :math:`\alpha=Gy`, the residual of row i without it is
    :math:`e_i=\alpha_i/G_{ii}`. A few steps of L-BFGS from :math:`r_j=\gamma\mu_j` lower

    .. math:: \frac n2\log\sum_i\omega_i||e_i||^2+\frac1{2\sigma^2}\Big(\sum_j\log^2\frac{r_j}{\gamma\mu_j}
              +\log^2\frac s{s_0}\Big),

    which is a Gaussian likelihood with a prior by which rates and weight are what they were to within a factor of
    :math:`e^\sigma`. λ, too, is chosen, for these rows. The first kernel is that of σ = 1; the second goes on from
    there with σ = 3, where a few columns can have nearly all of the rates. No rate changes by more than a factor of
    1000 in all, s and λ by no more than 50.

    ``kernel``: with ``decay`` > 0. ``rows`` (n, 2d): as it takes them; if there are more than 500, each is left out of
    a block of at most 500. ``targets`` (n, C). ``radius``: λ to begin with, or three spreads of the kernel if that is
    less. Where targets are constant or fitted without error, the kernel stays.

    References: Allen, "The relationship between variable selection and data augmentation and a method for
    prediction", Technometrics 16 (1974), for the error; MacKay, "Bayesian non-linear modelling for the prediction
    competition" (1994), for rates of columns that are learned.

    Examples
    --------
    >>> import numpy as np
    >>> v = np.random.default_rng(0).random((120, 3)) / 3
    >>> y = np.where((v[:, :1] > 1 / 6) == (v[:, 1:2] > 1 / 6), 1.0, -1.0)  # the third column is noise
    >>> kernel = GateKernel(bias=1.0, steps=1.0, decay=4.0)
    >>> rates = next(learn_rates(kernel, np.hstack([np.zeros((120, 3)), v]), y, 1.0)).kernel.rates
    >>> bool(rates[:2].min() > 3 * rates[2])
    True
    """
    y, d, n = varying(targets), rows.shape[1] // 2, len(rows)
    w = np.ones(n) if weights is None else weights / weights.mean()
    first = kernel.level_rates(d)
    before = spread(kernel(rows))
    began = min(radius, _NOISE * before)
    n_blocks = -(-n // _BLOCK_ROWS)
    blocks = [_Block.of(kernel, rows[k::n_blocks], y[k::n_blocks], began) for k in range(n_blocks)]

    @lru_cache(maxsize=1)  # a round begins where the last one ended
    def sums(moved: bytes) -> Array:
        """Return the sum of squares and half of its gradient, infinite where a matrix is singular."""
        changes = np.exp(np.frombuffer(moved))
        at = first * changes[:-2], kernel.steps * changes[-2], began * changes[-1]
        return np.asarray(np.sum([block.error(*at, w[k::n_blocks]) for k, block in enumerate(blocks)], axis=0))

    def objective(moved: Array, width: float) -> tuple[float, Array]:
        """Return the value and the gradient by the logarithms of rates, s and λ over where they began."""
        total, *slopes = sums(moved.tobytes())
        if not 0 < total < np.inf:
            return np.inf, np.zeros_like(moved)
        scaled, gradient = moved[:-1] / width, 0.25 * n / total * np.array(slopes)
        gradient[:-1] += scaled / width
        return 0.5 * n * math.log(total) + 0.5 * float(scaled @ scaled), gradient

    moved = np.zeros(d + 2)
    if not y.any() or not np.isfinite(objective(moved, 1.0)[0]):
        yield from [LearnedRates(kernel, np.zeros(d + 2))] * len(WIDTHS)
        return
    bounds, options = [(-_FURTHEST, _FURTHEST)] * d + [(-_WITHIN, _WITHIN)] * 2, {"maxiter": _STEPS}
    for width in WIDTHS:
        moved = minimize(objective, moved, (width,), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        learned, changes = change_rates(kernel, moved), moved.copy()
        changes[-1] += math.log(began / radius * before / spread(learned(rows)))
        yield LearnedRates(learned, changes)


class _Block(NamedTuple):
    """Rows out of which one is left at a time: errors of blocks are added."""

    smooth: Any  # (n, n), the kernel without boxes
    y: Any  # (n, C)
    columns: Any  # (d, n), levels

    @classmethod
    def of(cls, kernel: GateKernel, X: Array, y: Array, smoothing: float) -> "_Block":
        """Return a block, in single precision if ``smoothing``, the λ to begin with, is large enough for that."""
        d = X.shape[1] // 2
        K: Any = replace(kernel, steps=0.0, decay=0.0, rates=None)(X[:, :d])
        dtype = np.float32 if smoothing > _SINGLE * (float(np.trace(K)) + len(X) * kernel.steps) else np.float64
        return cls(K.astype(dtype), y.astype(dtype), np.ascontiguousarray(X[:, d:].T, dtype=dtype))

    def error(self, rates: Array, steps: float, smoothing: float, w: Array) -> Array:
        """Return Σ ω‖e‖² and half of its gradient by logarithms of rates, s and λ; infinite where A is singular."""
        dtype, n = self.smooth.dtype, len(self.smooth)
        potrf, potri = get_lapack_funcs(("potrf", "potri"), (self.smooth,))
        boxes, scaled = np.zeros((n, n), dtype=dtype), self.columns * rates.astype(dtype)[:, None]
        add_column_kernel(boxes, np.ascontiguousarray(scaled.T), scaled, dtype.type(steps), decays=True)
        system = self.smooth + boxes
        system.flat[:: n + 1] += (smoothing / w).astype(dtype)
        factor, info = potrf(system.T, lower=1, overwrite_a=1)
        if info:
            return np.full(len(rates) + 3, np.inf)
        G = potri(factor, lower=1, overwrite_c=1)[0]
        G = np.tril(G) + np.tril(G, -1).T
        ones = G.sum(axis=1)
        G -= np.outer(ones, ones / ones.sum())
        alpha, left = (G @ self.y).astype(np.float64), G.diagonal().astype(np.float64)
        errors = alpha / left[:, None]
        squares = w * (errors**2).sum(axis=1)
        # d(Σ squares) = ⟨dA, M⟩, as dα = -G dA α and dG = -G dA G
        root = G * np.sqrt(2 * squares / left).astype(dtype)
        M = root @ root.T - (G @ (errors * (2 * w / left)[:, None]).astype(dtype)) @ alpha.T.astype(dtype)
        of_noise = float(M.diagonal() @ (smoothing / w))
        M *= boxes
        M += M.T
        return np.array([squares.sum(), *-rates * _distances(M, self.columns), M.sum(), 2 * of_noise])


def _distances_by_numpy(M: Any, columns: Any) -> Any:
    return np.array([np.vdot(M, np.abs(v[:, None] - v)) for v in columns])


@compiled(plain=_distances_by_numpy, error_model="numpy", fastmath=True)
def _distances(M: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    r"""Return :math:`\sum_{ik}M_{ik}|v_{ij}-v_{kj}|` of each column j, for M symmetric."""
    n, sums = len(M), np.zeros(len(columns))
    for i in range(n):
        row = M[i, :i]
        for j in range(len(columns)):
            v, own, total = columns[j, :i], columns[j, i], 0.0
            for k in range(i):
                total += row[k] * abs(own - v[k])
            sums[j] += 2 * total
    return sums
