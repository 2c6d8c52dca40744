"""From hyperplanes through sampled rows to gates strictly inside a chamber next to them.

The rows that span a cross product lie on its plane, so the sign of ``x·v`` there is rounding noise. Their sides are
chosen instead, and the plane is moved until every row is clearly on its side.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.sparse_rows import centered_rows, row_lengths

# A margin |x·v + b| counts as zero below this share of |x - x_ref| |v| (double precision leaves 1e-16 times the
# condition number of the sampled rows); rows nearer than that get their side from the move, like the sampled ones.
_ON_PLANE = 1e-11
# A final margin must exceed this share of |x||w| + |b|, so that another order of summation cannot flip its sign.
_CLEAR = 64 * np.finfo(np.float64).eps
_TIE = 1e-6  # a dependent row moves less than this, where the sampled ones move by 1: no side is implied for it
_MUCH, _MUCH_WIDER = 10**8, 10  # k²d from which an LQ factorization takes 0.1 s, of a matrix wider by so much
_SOUND = 1e-8  # inverse condition of A Aᵀ with which one step of refinement leaves rounding
_TRIES = 4
_BLOCK_BYTES = 64 * 2**20  # margins of a block of gates


class Move(NamedTuple):
    """A gate inside its chamber: direction (d,), offset, further rows on the plane, and whether it is safe."""

    direction: Array
    offset: float
    n_dependent: int
    safe: bool


class Samples:
    r"""The rows of X (n, d), an array or `ShiftedRows`, and the moves of planes through some of them.

    Without bias the gate is :math:`v + \varepsilon\delta` with :math:`\delta` the least-norm solution of
    :math:`x_j\cdot\delta = s_j` on the incident rows (:math:`s_j = \pm1`, the side). With bias the plane passes through
    the last incident row :math:`x_l`: :math:`(x_j - x_l)\cdot\delta = s_j - s_l`, and the offset
    :math:`-w\cdot x_l + \varepsilon s_l` is free. :math:`\varepsilon` is at most :math:`|m_i|/(1+|q_i|)` for every
    other row, with margin :math:`m_i` and motion :math:`q_i = x_i\cdot\delta`: no other row changes side, and each ends
    at least :math:`\varepsilon` away.

    If another row on the plane would not move, the targets are redrawn as :math:`s_j t_j`, :math:`t_j` uniform on
    [1/2, 3/2], and a random vector orthogonal to the sampled rows is added to :math:`\delta`.
    """

    def __init__(self, X: Any, bias: bool) -> None:
        self.X = X
        self.bias = bias
        self._centered = centered_rows(X) if bias else X  # margins without the cancellation of a large mean
        self._length = row_lengths(self._centered)
        self._full_length = row_lengths(X)
        self._reach = max(1.0, float(self._length.max()))
        # Without an offset the origin is on for every gate, exactly.
        self._still = np.zeros(len(X), dtype=bool) if bias else self._length == 0

    def moves(self, rows: NDArray[np.intp], V: Array, sides: NDArray[np.bool_], rng: np.random.Generator) -> list[Move]:
        """Move the planes with normals V (d, m) through ``rows`` (m, k) to the chambers of ``sides`` (m, k)."""
        step = max(1, _BLOCK_BYTES // (24 * len(self.X)))
        placed: list[Move] = []
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            placed += self._moves(rows[block], V[:, block], sides[block], rng)
        return placed

    def _moves(
        self, rows: NDArray[np.intp], V: Array, sides: NDArray[np.bool_], rng: np.random.Generator
    ) -> list[Move]:
        m, Y = len(rows), self._centered
        sign = np.where(sides, 1.0, -1.0)
        # with bias all is relative to the last incident row
        reference = Y[rows[:, -1]] if self.bias else np.zeros((m, Y.shape[1]))
        V, delta = V.copy(), np.empty_like(V)
        with ONE_BLAS_THREAD:  # many small calls to LAPACK, whose threads would only wait for NumPy's
            for i in range(m):
                A = self._spanning(rows[i], reference[i])
                correction, delta[:, i] = _least_norm(A, A @ V[:, i], self._targets(sign[i])).T
                V[:, i] -= correction  # one step of refinement: the sampled rows are on the plane to rounding
        V /= np.linalg.norm(V, axis=0)
        # motions q_i of x_i·δ + the offset
        shift = sign[:, -1] if self.bias else np.zeros(m)
        margin = Y @ V - np.einsum("md,dm->m", reference, V)
        motion = Y @ delta + (shift - np.einsum("md,dm->m", reference, delta))
        W, b, n_dependent = np.empty_like(V), np.zeros(m), np.zeros(m, dtype=int)
        for i in range(m):
            on_plane = np.abs(margin[:, i]) <= _ON_PLANE * (self._length + np.linalg.norm(reference[i]))
            on_plane[rows[i]] = True
            moving = on_plane & ~self._still
            n_dependent[i] = np.count_nonzero(moving) - rows.shape[1]
            step, q, s = delta[:, i], motion[:, i], shift[i]
            for _ in range(_TRIES):
                if np.all(np.abs(q[moving]) > _TIE):
                    break
                step, q, s = self._redraw(rows[i], reference[i], sign[i], rng)
            off_plane = ~on_plane
            epsilon = (
                np.min(np.abs(margin[off_plane, i]) / (1 + np.abs(q[off_plane]))) if off_plane.any() else self._reach
            )
            # v + ε δ: no other row changes side
            W[:, i] = V[:, i] + epsilon * step
            if self.bias:
                # the offset puts the last incident row at ε s
                b[i] = epsilon * s - W[:, i] @ self.X[rows[i, -1]]
        # margins that another order of summation could flip are not safe
        final = self.X @ W + b
        noise = _CLEAR * (self._full_length[:, None] * np.linalg.norm(W, axis=0) + np.abs(b))
        safe = ((np.abs(final) > noise) | self._still[:, None]).all(axis=0)
        as_drawn = sides == (np.take_along_axis(final, rows.T, axis=0) >= 0).T
        safe &= as_drawn.all(axis=1)
        return [Move(W[:, i], float(b[i]), int(n_dependent[i]), bool(safe[i])) for i in range(m)]

    def _spanning(self, rows: NDArray[np.intp], reference: Array) -> Array:
        """Return the vectors (·, d) that a plane through ``rows`` is orthogonal to."""
        return np.asarray(self._centered[rows[:-1]] - reference if self.bias else self._centered[rows])

    def _targets(self, t: Array) -> Array:
        return t[:-1] - t[-1] if self.bias else t

    def _redraw(
        self, rows: NDArray[np.intp], reference: Array, sign: Array, rng: np.random.Generator
    ) -> tuple[Array, Array, float]:
        """Return another step with the same sides, its motions (n,), and the target of the last row."""
        # targets of other sizes with the same signs
        t = sign * rng.uniform(0.5, 1.5, size=sign.size)
        A = self._spanning(rows, reference)
        g = rng.standard_normal(A.shape[1]) / self._reach
        step, along = _least_norm(A, self._targets(t), A @ g).T
        # a random vector orthogonal to the sampled rows moves those that depend on them
        step = step + g - along
        s = float(t[-1]) if self.bias else 0.0
        return step, self._centered @ step + (s - reference @ step), s


def _least_norm(A: Array, *right: Array) -> NDArray[Any]:
    """Least-norm solutions (d, len(right)) of wide, full-rank systems A x = b (LAPACK gels: one LQ factorization).

    Where that is much work and A well-conditioned, they are Aᵀ(AAᵀ)⁻¹b, with one step of refinement: a tenth of it.
    """
    k, d = A.shape
    b = np.zeros((d, len(right)))
    if k:
        b[:k] = np.stack(right, axis=1)
        solution = _by_products(A, b[:k]) if k * k * d > _MUCH and d > _MUCH_WIDER * k else None
        b = lapack.dgels(A, b)[1] if solution is None else solution
    return b


def _by_products(A: Array, b: Array) -> NDArray[Any] | None:
    """Return the least-norm solution of A x = b from A Aᵀ, or None if that has lost too many digits."""
    G = A @ A.T
    factor, info = lapack.dpotrf(G)
    if info or lapack.dpocon(factor, np.abs(G).sum(axis=0).max())[0] < _SOUND:
        return None
    # x = Aᵀ(AAᵀ)⁻¹b and one step of refinement
    x = A.T @ lapack.dpotrs(factor, b)[0]
    return np.asarray(x + A.T @ lapack.dpotrs(factor, b - A @ x)[0])
