"""The kernel of a gated network, K_i = D_i X Xᵀ D_i: applied, weighted, summed, and solved with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dsymm, dsyrk, ssyrk
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, spotrf, spotrs
from scipy.sparse import issparse

from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand_nn.problems.gated import GatedProblem
from clifford_rand_nn.rounding import BLOCK, rounding_of_form
from clifford_rand_nn.sparse_rows import row_tiles

# Largest diagonal entry of a matrix, whose least eigenvalue is 1, that is factorized in single precision.
_MOST = 1e4
_TILE = 1024  # sparse rows whose products with all rows are made at a time
MANY_ROWS = 1000  # from which single precision is worth it


class GatedKernel:
    r"""The n × n matrices :math:`K_i = D_iXX^TD_i` of P gates, none of which is formed.

    Their sum with weights is :math:`\sum_i\eta_iK_i = (XX^T)\circ(D\,\mathrm{diag}(\eta)D^T)`: one product of order n
    with the Gram matrix of the rows, whatever d and P are. Products with single K_i go through the rows.

    ``problem``: any beta: nothing here depends on it, so that one kernel serves a whole path. ``rows`` (n, r): X in an
    orthonormal basis of the directions in which it varies, or CSR. ``mask`` (n, P). ``gram`` (n, n): rows rowsᵀ, its
    lower triangle, in Fortran order. ``last``: what a solve along a path leaves to the next one.

    All products go through SciPy's BLAS, as the factorizations do: NumPy's may be another library, with threads that
    contend for the same cores.
    """

    def __init__(self, problem: GatedProblem) -> None:
        self.last: Any = None
        self._made_of = problem.X, problem.map
        self.rows = problem.map.unweighted
        self.mask = np.ascontiguousarray(problem.map.patterns, dtype=np.float64)
        self.Q = problem.map.Q
        self.gram = _gram(self.rows)

    @cached_property
    def _gram_single(self) -> NDArray[np.float32]:
        return np.asarray(self.gram.astype(np.float32, order="F"))

    def fits(self, problem: GatedProblem) -> bool:
        """Tell whether this is the kernel of a problem: of its rows, its patterns and its unpenalized biases."""
        return problem.has_columns_of(*self._made_of)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.mask.shape[0])

    @property
    def n_patterns(self) -> int:
        """Number of gates P."""
        return int(self.mask.shape[1])

    def correlations(self, theta: Array) -> Array:
        r"""Return :math:`X^TD_i\theta` for every gate: (n, C) to (r, P, C)."""
        n, C = theta.shape
        masked = self.mask * theta if C == 1 else (self.mask[:, :, None] * theta[:, None, :]).reshape(n, -1)
        parts = (_product(self.rows[tile].T, masked[tile]) for tile in row_tiles(n, BLOCK))
        return np.asarray(sum(parts)).reshape(-1, self.n_patterns, C)

    def biases(self, outputs: int, free: int) -> Array:
        """Return the columns (n, C, q C') of what biases predict; of a softmax the last output is the gauge."""
        out = np.zeros((self.n, outputs, self.Q.shape[1], free))
        for a in range(free):
            out[:, a, :, a] = self.Q
        return out.reshape(self.n, outputs, -1)

    def dual_norm(self, theta: Array) -> float:
        r"""Return :math:`\max_i||X^TD_i\theta||_F`, as the problem does, by the kernel's own products."""
        slopes = self.correlations(theta)
        return float(np.sqrt(np.einsum("rpc,rpc->p", slopes, slopes).max(initial=0.0)))

    def blocks(self, V: Array) -> Array:
        r"""Return :math:`D_iXV_i` for every gate: (r, P, C) to (n, P, C)."""
        r, P, C = V.shape
        Z = _product(self.rows, V.reshape(r, P * C)).reshape(self.n, P, C)
        Z *= self.mask[:, :, None]
        return np.asarray(Z)

    def predictions(self, V: Array) -> Array:
        r"""Return :math:`\sum_iD_iXV_i`, (n, C)."""
        r, P, C = V.shape
        Z = _product(self.rows, V.reshape(r, P * C))
        if C == 1:
            return np.asarray(np.einsum("np,np->n", Z, self.mask))[:, None]
        return np.asarray(np.matmul(self.mask[:, None, :], Z.reshape(self.n, P, C))[:, 0, :])

    def weighted(self, eta: Array, scale: Array, out: NDArray[Any]) -> NDArray[Any]:
        r"""Write :math:`I + S\sum_i\eta_iK_iS` with S = diag(``scale``) into the lower triangle of ``out``.

        ``out`` (n, n) is in Fortran order and in single or double precision; what it held is lost.
        """
        single = out.dtype == np.float32
        roots = np.asfortranarray(self.mask * np.sqrt(eta) * scale[:, None], dtype=out.dtype)
        K = (ssyrk if single else dsyrk)(1.0, roots, beta=0.0, c=out, lower=1, overwrite_c=1)
        K *= self._gram_single if single else self.gram
        np.einsum("ii->i", K)[:] += 1.0
        return np.asarray(K)


class SummedKernel(GatedKernel):
    r"""The matrix :math:`K = \sum_iK_i`, formed once, where all gates have the same weight.

    ``total`` (n, n): K, its lower triangle, in Fortran order.
    """

    def __init__(self, problem: GatedProblem) -> None:
        super().__init__(problem)
        if self.mask.size and self.rows.shape[1]:
            self.total = np.asarray(dsyrk(1.0, self.mask.T, trans=1, lower=1))
            self.total *= self.gram
        else:  # BLAS takes no empty matrices
            self.total = np.zeros((self.n, self.n), order="F")
        del self.gram  # it is in the sum

    @cached_property
    def _total_single(self) -> NDArray[np.float32]:
        return np.asarray(self.total.astype(np.float32, order="F"))

    def apply(self, theta: Array) -> Array:
        r"""Return :math:`K\theta`, (n, C)."""
        return np.asarray(dsymm(1.0, self.total, np.asfortranarray(theta), lower=1))

    def square(self, theta: Array) -> float:
        r"""Return :math:`\mathrm{tr}(\theta^TK\theta)`."""
        return float(np.vdot(theta, self.apply(theta)))

    def square_above(self, theta: Array) -> float:
        r"""Return :math:`\mathrm{tr}(\theta^TK\theta)` with what rounding of K may have taken from it."""
        return self.square(theta) + float(rounding_of_form(self.total.diagonal(), theta).sum())

    def weighted(self, eta: Array, scale: Array, out: NDArray[Any]) -> NDArray[Any]:
        r"""Write :math:`I + \eta SKS` into the lower triangle of ``out``, for an ``eta`` (1,) of all gates."""
        single = out.dtype == np.float32
        root = (np.sqrt(eta) * scale).astype(out.dtype)
        np.multiply(self._total_single if single else self.total, root, out=out)
        out *= root[:, None]
        np.einsum("ii->i", out)[:] += 1.0
        return out


def _gram(rows: Any) -> Array:
    """Return rows rowsᵀ in Fortran order, at least its lower triangle."""
    n = rows.shape[0]
    if issparse(rows):
        G = np.empty((n, n), order="F")
        for tile in row_tiles(n, _TILE):
            G[:, tile] = (rows @ rows[tile].T).toarray()
        return G
    return np.asarray(dsyrk(1.0, rows.T, trans=1, lower=1)) if rows.size else np.zeros((n, n))  # BLAS takes none empty


def _product(a: Any, b: Array) -> Array:
    """Return a b in C order, for a in either order and b in C order: bᵀaᵀ in the order of BLAS, without a copy."""
    if issparse(a):
        return np.ascontiguousarray(a @ b)
    if a.flags.c_contiguous:
        return np.asarray(dgemm(1.0, b.T, a.T).T)
    return np.asarray(dgemm(1.0, b.T, a, trans_b=1).T)


class KernelSystem:
    r"""Solves :math:`\mathrm{diag}(h_c)\,x_c + Kx_c = b_c` for every output c, with :math:`K = \sum_i\eta_iK_i`.

    Written as :math:`x = S(I+SKS)^{-1}Sb`, :math:`S = h^{-1/2}`, whose matrix has no eigenvalue below 1, and where
    nothing is divided by a vanishing curvature. Outputs with the same h share a factor.

    With ``balanced`` the rows of x sum to zero, as the dual of a softmax does: :math:`x_c = R_c(b_c-\nu)`,
    :math:`\sum_cR_c\,\nu = \sum_cR_cb_c`, where :math:`R_c` are the inverses (Rasmussen, Williams, "Gaussian processes
    for machine learning", algorithm 3.3).

    ``eta`` (P,). ``h`` (n, C). ``buffers`` (n, n): memory that is used again from call to call; it grows as needed.
    ``single``: whether to factorize in single precision, if the matrix allows it; not with ``balanced``. ``roots``
    (n, C): S. ``matrices`` (n, n): for each output the Cholesky factor of :math:`I+SKS`, with ``balanced`` the inverse;
    lower triangles. ``total`` (n, n): with ``balanced`` the Cholesky factor of :math:`\sum_cR_c`.
    """

    def __init__(
        self,
        kernel: GatedKernel,
        eta: Array,
        h: Array,
        balanced: bool,
        buffers: dict[Any, NDArray[Any]],
        single: bool = False,
    ) -> None:
        self.roots = 1 / np.sqrt(h)
        self.matrices: list[NDArray[Any]] = []
        self.total: Array | None = None
        n, C = h.shape
        of = [c if balanced else next((a for a in range(c) if np.array_equal(h[:, a], h[:, c])), c) for c in range(C)]
        for c in range(C):
            if of[c] < c:
                self.matrices.append(self.matrices[of[c]])
                continue
            for dtype in (np.float32, np.float64) if single and not balanced else (np.float64,):
                if (c, dtype) not in buffers:
                    buffers[c, dtype] = np.zeros((n, n), dtype, order="F")  # what memory held may overflow
                matrix = kernel.weighted(eta, self.roots[:, c], buffers[c, dtype])
                if dtype == np.float32 and not matrix.diagonal().max() < _MOST:
                    continue
                potrf = spotrf if dtype == np.float32 else dpotrf
                factor, info = potrf(matrix, lower=1, clean=0, overwrite_a=1)
                if info == 0:
                    break
            else:
                raise np.linalg.LinAlgError(f"the leading minor of order {info} is not positive")
            if balanced:  # Σ_c R_c, R_c = S_c M_c⁻¹ S_c
                factor, _ = dpotri(factor, lower=1, overwrite_c=1)
                scaled = factor * self.roots[:, c]
                scaled *= self.roots[:, c, None]
                self.total = scaled if self.total is None else np.add(self.total, scaled, out=self.total)
            self.matrices.append(factor)
        if self.total is not None:
            self.total, _ = dpotrf(self.total, lower=1, clean=0, overwrite_a=1)

    def solve(self, b: Array) -> Array:
        """Solve for right-hand sides b (n, C, k)."""
        x = self._each(b)  # R_c b_c
        if self.total is not None:
            nu, _ = dpotrs(self.total, np.asfortranarray(x.sum(axis=1)), lower=1, overwrite_b=1)
            # ν = (Σ_c R_c)⁻¹ Σ_c R_c b_c, the multiplier of the equality of each row
            x -= self._each(np.broadcast_to(nu[:, None, :], b.shape))
        return x

    def constrained(self, border: Array, target: Array, theta: Array) -> tuple[Array, Array]:
        """Return θ + x, which is orthogonal to the border (n, C, q), and multipliers c (q,).

        x (n, C) solves the system for ``target`` less border c.
        """
        solved = self.solve(np.concatenate([border, target[:, :, None]], axis=2))
        columns, theta = solved[:, :, :-1], theta + solved[:, :, -1]
        if not columns.shape[2]:
            return theta, np.zeros(0)
        flat = border.reshape(-1, columns.shape[2])
        c = np.asarray(np.linalg.lstsq(flat.T @ columns.reshape(flat.shape), flat.T @ theta.ravel(), rcond=None)[0])
        return theta - columns @ c, c.astype(np.float64, copy=False)

    def _each(self, b: Array) -> Array:
        out = np.empty(b.shape)
        for c, matrix in enumerate(self.matrices):
            root = self.roots[:, c, None]
            scaled = np.asfortranarray(root * b[:, c, :], dtype=matrix.dtype)
            if self.total is not None:
                x = dsymm(1.0, matrix, scaled, lower=1)
            else:
                x, _ = (spotrs if matrix.dtype == np.float32 else dpotrs)(matrix, scaled, lower=1, overwrite_b=1)
            out[:, c, :] = root * x
        return out
