"""Predictor-corrector steps along the central path of the dual Lasso, and their normal matrix."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from clifford_rand._typing import Array
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.complementarity import Box, Discs, TwoSided
from clifford_rand_nn.solvers.iterations import SPARE, DualTerms, predictor_corrector

_BLOCK = 1 << 22  # entries of the scaled copy of a block of columns: 32 MB
_DROP = 1e-3  # share of the identity that the left-out columns may add; a refinement step gains three digits
_REFINE = 4
_ROUNDING = 1e-13  # residual of the linear system, relative, below which refinement ends
_RIDGE = 1e-14  # first ridge, of the largest diagonal entry, where rounding has made the matrix indefinite
_START = 0.5  # the starting point has its largest correlation at this share of the bound
_SPREAD = 10.0  # the first weights explain the predictions so often: 24 steps on the spiral; 1 takes 26, 100 takes 24
# A penalty below this share of the largest correlation is far beyond the rounding of the loss: the path goes down to
# it, objective and bound have the problem's own beta.
_LEAST_RADIUS = 1e-24
_SHORTEST = 1e-10  # a step below this share of the direction is lost in rounding


class NormalMatrix:
    r"""The system :math:`\mathrm{diag}(h)\,\theta + \sum_jK_j\,W_j(K_j^T\theta) + 1t = r,\ \theta^T1 = e`.

    It acts on theta = phi E^T with ``mix`` E (C, C'), and equations are multiplied by E. The matrix that is factored
    leaves out columns whose share is negligible: with :math:`h_0 = \min h`, those left out satisfy
    :math:`\sum_j\mathrm{tr}(W_j)||K_j||^2\le10^{-3}h_0`, so :math:`\hat H\le H\le(1+10^{-3})\hat H`, and refinement
    with all columns gains three digits a step. Towards the end almost every column is negligible, and where fewer
    columns than rows are left the m×m matrix of the Woodbury identity is factored instead.

    ``K`` (n, N). ``squares`` (N,): squared norms of the columns. ``h`` (n, C). ``W`` (N, C, C). ``mix`` (C, C').
    """

    def __init__(self, K: Array, squares: Array, h: Array, W: Array, mix: Array, intercept: bool) -> None:
        self.K, self.h, self.W, self.mix = K, h, W, mix
        self.n, self.reduced = len(K), mix.shape[1]
        share = np.trace(W, axis1=1, axis2=2) * squares * np.linalg.norm(mix, 2) ** 2
        kept = np.flatnonzero(share > _DROP * h.min() / max(1, share.size))
        blocks = np.einsum("ca,jcd,db->jab", mix, W[kept], mix)
        if self.reduced == 1 and kept.size < self.n:
            self._factor_small(kept, blocks[:, 0, 0])
        else:
            self._factor_full(kept, blocks)
        self.border = np.zeros((self.n, self.reduced, self.reduced if intercept else 0))
        if intercept:
            self.border[:] = np.eye(self.reduced)
        self.lifted = self._inverse(self.border)
        self.schur = np.einsum("nac,nad->cd", self.border, self.lifted)

    def solve(self, r: Array, e: Array) -> tuple[Array, Array, Array]:
        """Return theta (n, C), t (C') and K^T theta (N, C) for right-hand sides r (n, C) and e (C')."""
        r = r @ self.mix
        phi, t = self._once(r, e)
        U = self._columns_of(phi)
        scale = np.linalg.norm(r) + np.linalg.norm(e)
        last = np.inf
        for _ in range(_REFINE):
            r_left, e_left = self._residual(r, e, phi, t, U)
            size = float(np.linalg.norm(r_left) + np.linalg.norm(e_left))
            if size <= _ROUNDING * scale or size > 0.5 * last:
                break
            last = size
            more, t_more = self._once(r_left, e_left)
            phi, t = phi + more, t + t_more
            U = U + self._columns_of(more)
        return phi @ self.mix.T, t, U

    def _columns_of(self, phi: Array) -> Array:
        return np.asarray(self.K.T @ phi @ self.mix.T)

    def _residual(self, r: Array, e: Array, phi: Array, t: Array, U: Array) -> tuple[Array, Array]:
        coupled = self.W[:, :, 0] * U if U.shape[1] == 1 else np.einsum("jcd,jd->jc", self.W, U)
        image = (self.h * (phi @ self.mix.T) + self.K @ coupled) @ self.mix
        return r - image - self.border @ t, e - np.einsum("nac,na->c", self.border, phi)

    def _once(self, r: Array, e: Array) -> tuple[Array, Array]:
        phi = self._inverse(r[:, :, None])[:, :, 0]
        if not e.size:
            return phi, e
        t = np.linalg.solve(self.schur, np.einsum("nac,na->c", self.border, phi) - e)
        return phi - self.lifted @ t, t

    def _inverse(self, r: Array) -> Array:
        """Apply the inverse of the factored matrix to r (n, C', q)."""
        n, c, q = r.shape
        if self.small:
            v = r[:, 0] / self.root
            return np.asarray((v - self.P @ cho_solve(self.factor, self.P.T @ v, check_finite=False)) / self.root)[
                :, None
            ]
        flat = r.transpose(1, 0, 2).reshape(c * n, q)
        return np.asarray(cho_solve(self.factor, flat, check_finite=False).reshape(c, n, q).transpose(1, 0, 2))

    def _factor_small(self, kept: NDArray[np.intp], weights: Array) -> None:
        self.small = True
        diagonal = (self.h @ self.mix**2)[:, :1]
        self.root = np.sqrt(diagonal)
        self.P = self.K[:, kept] * np.sqrt(weights) / self.root
        G = self.P.T @ self.P
        G[np.diag_indices_from(G)] += 1
        self.factor = _cholesky(G)

    def _factor_full(self, kept: NDArray[np.intp], blocks: Array) -> None:
        self.small = False
        n, c = self.n, self.reduced
        H = np.zeros((c, n, c, n))
        width = max(1, _BLOCK // n)
        for start in range(0, kept.size, width):
            part = kept[start : start + width]
            whole = part[-1] - part[0] + 1 == part.size
            columns = self.K[:, part[0] : part[-1] + 1] if whole else self.K[:, part]
            w = blocks[start : start + width]
            for a in range(c):
                scaled = columns * np.sqrt(w[:, a, a])
                H[a, :, a] += scaled @ scaled.T
                for b in range(a):
                    H[a, :, b] += (columns * w[:, a, b]) @ columns.T
        rows = np.arange(n)
        diagonal = np.einsum("ca,nc,cb->nab", self.mix, self.h, self.mix)
        for a in range(c):
            for b in range(a + 1):
                H[a, rows, b, rows] += diagonal[:, a, b]
        self.factor = _cholesky(H.reshape(c * n, c * n))


def _cholesky(H: Array) -> tuple[Array, bool]:
    """Cholesky factor of the lower triangle, with the least ridge that makes it exist."""
    ridge = 0.0
    while True:
        try:
            if ridge:
                H[np.diag_indices_from(H)] += ridge
            # NumPy's, not SciPy's: each brings a BLAS with threads of its own, and for n = 160 the two sets waited for
            # each other's cores 35 ms a factorization
            return np.asarray(np.linalg.cholesky(H), dtype=np.float64), True
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, _RIDGE * float(H.diagonal().max()))
            if not 0 < ridge < np.inf:  # a diagonal that is not finite has no ridge
                raise


class CentralPath:
    r"""A strictly feasible dual point with multipliers, and the step that brings it on.

    Stationarity, with f the predictions at which theta is the residual and the box force of `Box`:
    :math:`KZ + t = f(\theta)` - force. It need not hold on the way; everything else does.
    """

    def __init__(self, problem: LassoProblem, terms: DualTerms) -> None:
        self.problem, self.terms = problem, terms
        K, start = problem.K, terms.start()
        largest = problem.dual_norm(start)
        self.radius = max(problem.n * problem.beta, _LEAST_RADIUS * largest)
        self.squares = np.einsum("ij,ij->j", K, K)
        largest_entries = np.abs(K).max(axis=1, initial=0.0, keepdims=True)
        self.reach = self.radius / np.maximum(largest_entries, largest_entries.mean())  # of theta, in a row of K
        start = start * min(1.0, _START * self.radius / largest)
        self.theta = start
        reduced = terms.mix.shape[1]
        shift = terms.null[0] - (terms.null[0, -1] if reduced < problem.outputs else 0.0)
        self.t = shift[:reduced] if problem.fit_intercept else np.zeros(0)
        U = K.T @ start
        kind = TwoSided if problem.outputs == 1 else Discs
        unit = K @ kind(U, self.radius, 1.0).weights()
        low, high = terms.closed
        count = U.size + np.count_nonzero(np.isfinite(low)) + np.count_nonzero(np.isfinite(high))
        gap = problem.n * (problem.datafit.value(terms.null) - problem.datafit.dual_value(start))
        mu = float(gap / count)
        wanted = float(np.vdot(unit, terms.predictions(start) - self.intercept()))
        if wanted > 0:
            mu = min(mu, _SPREAD * wanted / float(np.vdot(unit, unit)))
        self.cones: TwoSided | Discs = kind(U, self.radius, mu)
        self.box = Box(start, low, high, mu)
        self._measure()

    def _measure(self) -> None:
        self.Z = self.cones.weights()
        self.f = self.problem.K @ self.Z + self.intercept()

    def weights(self) -> Array:
        """Return the weights of all columns, (N, C)."""
        return self.Z

    def intercept(self) -> Array:
        """Return the intercept (C,)."""
        t = np.zeros(self.problem.outputs)
        t[: self.t.size] = self.t
        return t

    def objective(self) -> float:
        """Primal objective at the weights."""
        penalty = float(np.linalg.norm(self.Z, axis=1).sum())
        return self.problem.datafit.value(self.f) + self.problem.beta * penalty

    def step(self, least: float, gap: float) -> bool:
        """Take one step towards products whose sum is not below n times ``least``; False if rounding leaves none.

        Without that floor slacks fall far below the rounding of K^T theta while stationarity still has to be reached.
        """
        cones, box, terms = self.cones, self.box, self.terms
        total = cones.count + box.count
        mu = (cones.product() + box.product()) / total
        floor = min(self.problem.n * least / total, mu)  # far above the optimum ``least`` may be above what is reached
        spare = SPARE * min(gap, 1.0) * self.reach
        away = terms.predictions(self.theta) - self.f - box.force()
        excess = -self.theta.sum(axis=0)[: self.t.size]
        matrix = NormalMatrix(
            self.problem.K,
            self.squares,
            terms.curvature_towards(self.theta, away, spare) + box.curvature(),
            cones.curvature(),
            terms.mix,
            self.problem.fit_intercept,
        )

        dtheta, dt = self.theta, self.t

        def direction(target: float, second_order: bool, _: float) -> float:
            nonlocal dtheta, dt
            q = self.problem.K @ cones.right_hand_side(target, second_order) + box.right_hand_side(target, second_order)
            unbounded, dt, dU = matrix.solve(away + q, excess)
            dtheta = terms.held(self.theta, unbounded, spare)
            if dtheta is not unbounded:
                dU = self.problem.K.T @ dtheta
            cones.set_direction(dU)
            box.set_direction(dtheta)
            return min(cones.limit(), box.limit(), terms.limit(self.theta, dtheta, spare))

        length = predictor_corrector(direction, lambda step: cones.product(step) + box.product(step), total, floor)
        if not length > _SHORTEST:
            return False
        self.theta = self.theta + length * dtheta
        self.t = self.t + length * dt
        cones.advance(length)
        box.advance(length)
        self._measure()
        return True
