"""The sums over rows that Newton's method for the logistic loss and the softmax needs in the span of landmarks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.row_sums.sums import Block, Kept, RowSum, Sums
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows, NormalSum, row_weights

_HEIGHT = 256  # rows whose kernel is in the cache for all its products
_FLAT = 1e-3  # curvature of a row, at least: else one that is sure, and wrong, would be a target out of all bounds


class WorkingSum(NormalSum):
    r"""The normal equations of a Newton step from :math:`f=\sum_jK(\cdot,z_j)a_j+t`: those of least squares.

    Weights are :math:`\omega h`, h the mean curvature of a row's loss, targets :math:`f-\ell'(f)/h`, so that the
    minimizer for every β is where Newton's method goes from f; of a softmax about so, since it has a matrix for h.

    Parameters
    ----------
    rows, targets, centre, centre_y, left_out
        As of `NormalSum`.
    a, t : (m, C), (C,)
        Of f.
    """

    def __init__(
        self,
        rows: LandmarkRows,
        targets: Targets,
        centre: Array,
        centre_y: Array,
        left_out: NDArray[np.int64],
        a: Array,
        t: Array,
    ) -> None:
        super().__init__(rows, targets, centre, centre_y, left_out)
        self.a, self.t = a.astype(rows.tiles.dtype), t

    def _sides(self, block: Block, K: NDArray[Any]) -> tuple[Array, Array]:
        f = (K @ self.a).astype(np.float64) + self.t
        y, loss = self.targets.of(block), self.targets.loss
        theta = loss.residual(f, y)
        curvature = loss.curvature_at(theta, y)
        if not loss.separable:
            curvature = curvature * (1 - curvature) / (f.shape[1] - 1)
        h = np.maximum(curvature.sum(axis=1), _FLAT)
        return f + theta / h[:, None], self._weights(block) * h


class _Function(RowSum):
    """A sum over rows, in double precision, that looks at f; strips of rows are as low as tiles."""

    def __init__(self, rows: LandmarkRows, targets: Targets, a: Array, t: Array) -> None:
        self.landmarks, self.targets, self.a, self.t = rows, targets, a, t

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return the sums of all strips of a block."""
        w, y = row_weights(self.targets, block)[:, None], self.targets.of(block)
        back: Any = 0.0
        totals: Any = 0.0
        for start in range(0, len(y), _HEIGHT):
            part = slice(start, start + _HEIGHT)
            K = self.landmarks.kernel(block.X[part])
            right, values = self._strip(block.X[part], K, y[part], w[part])
            back, totals = back + K.T @ right, totals + values
        return back, totals

    def _strip(self, X: NDArray[Any], K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        """Return what is multiplied by K^T (k, columns), and sums of numbers."""
        raise NotImplementedError


class LossSum(_Function):
    r"""What judges f: :math:`K^T\Omega(\theta, p, 1)`, 1ᵀΩH1 and sums of ω times θ, p, 1, K(x, x), loss and entropy.

    :math:`\theta=-\ell'(f)=y-p`, with p the probability of the second of two classes, or (C,) those of all.
    """

    def _strip(self, X: NDArray[Any], K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        loss = self.targets.loss
        assert loss.labels is not None
        low, high = loss.labels
        f = K @ self.a + self.t
        theta = loss.residual(f, y)
        p = (y - low) / (high - low) - theta
        value, entropy = float((w * loss.value(f, y)).sum()), float((w * loss.dual_value(theta, y)).sum())
        bend = np.diag((w * p).sum(axis=0)) - (w * p).T @ p
        last = [w.sum(), w[:, 0] @ self.landmarks.diagonal(X), value, entropy]
        numbers = np.concatenate([(w * theta).sum(axis=0), (w * p).sum(axis=0), bend.ravel(), last])
        return np.hstack([w * theta, w * p, w]), numbers


class CurvatureSum(_Function):
    r""":math:`K^T\Omega H(Ks+\sigma)` and :math:`1^T\Omega H(Ks+\sigma)`, H the Hessian of the loss of every row at f.

    Parameters
    ----------
    rows, targets, a, t
        As of `LossSum`.
    s, sigma : (m, C), (C,)
        A direction.
    """

    def __init__(self, rows: LandmarkRows, targets: Targets, a: Array, t: Array, s: Array, sigma: Array) -> None:
        super().__init__(rows, targets, a, t)
        self.s, self.sigma = s, sigma

    def _strip(self, X: NDArray[Any], K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        f, v = np.split(K @ np.hstack([self.a, self.s]), 2, axis=1)
        loss = self.targets.loss
        curved = w * loss.hessian_product(loss.residual(f + self.t, y), y, v + self.sigma)
        return curved, curved.sum(axis=0)
