r"""Normal equations of functions in the span of landmarks: their sums over rows, and every beta from these."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.linalg import eigh
from numpy.typing import NDArray

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.landmarks.span import LandmarkRows, LandmarkSpan
from clifford_rand_nn.row_sums.sums import Block, Kept, RowSum, Sums, Targets

RADII = np.geomspace(1e3, 1e-6, 46)  # ρ of the betas that are compared, in units of the kernel's mean diagonal
SINGLE = 1e-4  # least share that a landmark is not known by others, for sums in single precision
_PANELS = 8  # of columns: a triangle of panels takes 9/16 of the square's numbers, and as much of its products
_MIN_CURVATURE = 1e-3  # of a row: a confident and wrong one would be a target out of all bounds


class NormalSum(RowSum):
    r"""Sums of :math:`\omega\,(k, y, 1)(k, y, 1)^T`, k the kernel of a row with the landmarks, less a center.

    The centers keep what single precision rounds small; the exact ones are subtracted from the sums. Of the symmetric
    (m, m) sum there are `_PANELS` panels, each from its diagonal on.

    ``rows``: products are of the type of its tiles. ``center``, ``center_y`` (m,): subtracted from k and y.
    """

    def __init__(self, rows: LandmarkRows, targets: Targets, center: Array, center_y: Array) -> None:
        self.landmarks, self.targets = rows, targets
        self.center, self.center_y = center.astype(rows.dtype), center_y

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return panels of the sum over k, (m, C + 1) of k with y and 1, and (2, C + 1) of y and its squares, and 1."""
        K = self.landmarks.kernel(block.X)
        y, w = self.regression(block, K)
        # in the precision of the products: near zero its round-off is small
        K -= self.center
        right = np.column_stack([y - self.center_y, np.ones(len(K))])
        root = np.sqrt(w)[:, None]
        if not (w == 1).all():
            K *= root.astype(K.dtype)
            right *= root
        panels = [(K[:, cut].T @ K[:, cut.start :]).astype(np.float64) for cut in _panels(K.shape[1])]
        cross = (K.T @ right.astype(K.dtype)).astype(np.float64)
        moments = np.stack([(right * root).sum(axis=0), (right * right).sum(axis=0)])
        return (*panels, cross, moments)

    def regression(self, block: Block, K: NDArray[Any]) -> tuple[Array, Array]:
        """Return the targets (k, C) and the weights (k,) of the least squares over the rows of a block."""
        return self.targets.of(block), self.targets.row_weights(block)


class WorkingSum(NormalSum):
    r"""The normal equations of a Newton step from :math:`f=\sum_jK(\cdot,z_j)a_j+t`: those of least squares.

    Weights are :math:`\omega h`, h the mean curvature of a row's loss, targets :math:`f-\ell'(f)/h`, so that the
    minimizer for every β is where Newton's method goes from f; of a softmax about so, since it has a matrix for h.

    ``rows``, ``targets``, ``center``: as of `NormalSum`. ``a``, ``t`` (m, C): of f; t is subtracted from the targets.
    """

    def __init__(self, rows: LandmarkRows, targets: Targets, center: Array, a: Array, t: Array) -> None:
        super().__init__(rows, targets, center, t)
        self.a = a.astype(rows.dtype)

    def regression(self, block: Block, K: NDArray[Any]) -> tuple[Array, Array]:
        """Return working targets and weights."""
        f = (K @ self.a).astype(np.float64) + self.center_y
        y, loss = self.targets.of(block), self.targets.loss
        theta = loss.residual(f, y)
        curvature = loss.curvature_at(theta, y)
        if not loss.separable:  # the mean eigenvalue of diag(p) - pp^T off its null space: p(1 - p)/(C - 1) summed
            curvature = curvature * (1 - curvature) / (f.shape[1] - 1)
        h = np.maximum(curvature.sum(axis=1), _MIN_CURVATURE)
        return f + theta / h[:, None], self.targets.row_weights(block) * h


def _panels(m: int) -> list[slice]:
    """Return slices of m columns."""
    cuts = [m * i // _PANELS for i in range(_PANELS + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(cuts) if b > a]


def _square(panels: Sums) -> Array:
    """Return the symmetric (m, m) matrix of its panels."""
    m = panels[0].shape[1]
    out = np.empty((m, m))
    for cut, panel in zip(_panels(m), panels, strict=True):
        out[cut, cut.start :] = panel
        out[cut.start :, cut] = panel.T
    return out


class Normal:
    r"""The minimizers u of :math:`\sum_i\omega_i\tfrac12||y_i-f_u(x_i)-t||^2+\frac\rho2||u||^2` for every ρ.

    ``sums``: of `NormalSum`. ``center``, ``center_y`` (m,): of the same. ``weight``: sum of the weights.
    """

    def __init__(self, span: LandmarkSpan, sums: Sums, center: Array, center_y: Array) -> None:
        *panels, cross, moments = sums
        self.weight = float(moments[0, -1])
        mean, mean_y = cross[:, -1] / self.weight, moments[0, :-1] / self.weight
        inner = _square(tuple(panels))
        del panels, sums
        # Σω(k - k̄)(k - k̄)ᵀ: the intercept is eliminated
        inner -= self.weight * np.outer(mean, mean)
        right = cross[:, :-1] - self.weight * np.outer(mean, mean_y)
        with ONE_BLAS_THREAD:
            inner = span.whitened(span.whitened(inner).T)  # L⁻¹ (KᵀΩK) L⁻ᵀ, centered
            values, self._Q = eigh(inner)
        self._values, self._span = np.maximum(values, 0.0)[:, None], span
        self._right = self._Q.T @ span.whitened(right)
        self._mean = self._Q.T @ span.whitened((mean + center)[:, None])[:, 0]
        self._mean_y = mean_y + center_y

    def fit(self, radius: float) -> tuple[Array, Array]:
        """Return u (m, C) and the intercept (C,)."""
        along = self._right / (self._values + radius)
        return np.asarray(self._Q @ along), np.asarray(self._mean_y - self._mean @ along)

    def solve(self, b: Array, radius: float) -> Array:
        r"""Return (x; s), (m + 1, C), with the intercept's row last, for :math:`b=(b_u;b_t)`.

        .. math:: (V^T\Omega V+\rho I)x+V^T\Omega1s=b_u,\qquad 1^T\Omega(Vx+1s)=b_t
        """
        # block elimination of s: V is centered in the eigenvectors, 1ᵀΩ1 = W
        mean, b_t = self._mean[:, None], b[-1]
        along = (self._Q.T @ b[:-1] - mean * b_t) / (self._values + radius)
        return np.vstack([self._Q @ along, b_t / self.weight - (mean * along).sum(axis=0)])

    def predictions(self, K: NDArray[Any], radii: Array) -> Iterator[Array]:
        """Yield predictions (h, C) of rows with the kernel K (h, m), for each radius."""
        E = self._span.whitened(K.T).T @ self._Q
        for radius in radii:
            # u = Q (Λ + ρ)⁻¹ Qᵀ VᵀΩy, of which only the diagonal depends on ρ
            along = self._right / (self._values + radius)
            yield np.asarray(E @ along + (self._mean_y - self._mean @ along))
