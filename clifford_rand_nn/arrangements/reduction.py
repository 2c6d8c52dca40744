"""From the data to unit vectors in their true dimension: the planes of a central arrangement, and the way back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array

_EPS = float(np.finfo(np.float64).eps)
# A column that varies by less than this share of its size is not magnified further: its rounding would grow with it
# and drown the other columns.
_LEAST_SPREAD = 2.0**-10
# Exponents of two in the gates stay below this in size: far from overflow, and from subnormal numbers.
_LARGEST_EXPONENT = 900
_NO_EXPONENT = np.intc(-(2**15))  # of a zero: below that of any number


class Reduced(NamedTuple):
    r"""Unit vectors z_i (m, R) whose central arrangement has the chambers of the data.

    A point w of R^R is the gate with :math:`x_i^Th + c = |.|\,z_i^Tw`, of the same sign.

    Attributes
    ----------
    unit : (m, R)
        One per row that is not zero; with bias of the lifted row [x_i, 1].
    error : (m,)
        How far rounding may have moved each of them.
    basis : (d, R)
        Column maps: h = 2^(-exponent) (basis w).
    shift : (R,)
        c = shift·w.
    exponent : (d,) int
    """

    unit: Array
    error: Array
    basis: Array
    shift: Array
    exponent: NDArray[np.intc]

    @property
    def rank(self) -> int:
        """Dimension R of the arrangement."""
        return int(self.unit.shape[1])

    def gates(self, W: Array) -> tuple[Array, Array]:
        """Return the directions (d, P) and offsets (P,) of the points W (R, P)."""
        up, down = int(-self.exponent.min(initial=0)), int(self.exponent.max(initial=0))
        common = max(up - _LARGEST_EXPONENT, 0) - max(down - _LARGEST_EXPONENT, 0)
        H = np.ldexp(self.basis @ W, (-self.exponent - common)[:, None])
        return H, np.ldexp(self.shift @ W, -common)


def reduce_rows(X: Array, bias: bool) -> Reduced:
    """Scale, centre (with bias) and rotate the rows X (n, d) to unit vectors that span their space.

    Rows and columns are scaled by powers of two, which is exact. No sign depends on such a scale: not on that of a
    column, as h takes the inverse, nor on that of a row without bias. So the units of X play no part.
    """
    # Rounding of the sums below grows with the root of their length; the factor leaves room for R projections.
    rounding = 16 * np.sqrt(X.shape[1] + 1) * _EPS
    return _affine(X, rounding) if bias else _central(X, rounding)


def _central(X: Array, rounding: float) -> Reduced:
    A = X[X.any(axis=1)]
    # By the peak of every column, then of every row: in this order features in any units come to the same numbers.
    # The exponents are added first, since a row may be tiny between the two.
    exponent = np.frexp(np.abs(A).max(axis=0, initial=0))[1]
    size = np.where(A == 0, _NO_EXPONENT, np.frexp(A)[1]) - exponent
    A = np.ldexp(A, -size.max(axis=1, keepdims=True) - exponent)
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    V = _row_space(A, rounding * np.sqrt(len(A)))
    T = A @ V
    error = np.full(len(A), rounding)
    return Reduced(T / np.linalg.norm(T, axis=1, keepdims=True), error, V, np.zeros(V.shape[1]), exponent)


def _affine(X: Array, rounding: float) -> Reduced:
    exponent = np.frexp(np.abs(X).max(axis=0))[1]
    A = np.ldexp(X, -exponent)
    centre = A.mean(axis=0)
    Y = A - centre
    scale = np.maximum(np.abs(Y).max(axis=0), _LEAST_SPREAD)
    Y /= scale
    error = rounding * np.linalg.norm((np.abs(A) + np.abs(centre)) / scale, axis=1)
    V = _row_space(Y, float(np.linalg.norm(error)))
    T = Y @ V
    reach = float(np.linalg.norm(T, axis=1).max()) if V.shape[1] else 1.0
    Z = np.column_stack([T / reach, np.ones(len(T))])  # lifted: the last coordinate carries the offset
    length = np.linalg.norm(Z, axis=1)
    back = V / scale[:, None] / reach
    basis = np.column_stack([back, np.zeros(len(back))])
    return Reduced(
        Z / length[:, None], (error / reach + rounding) / length, basis, np.append(-centre @ back, 1), exponent
    )


def _row_space(A: Array, noise: float) -> Array:
    """Return an orthonormal basis (d, r) of the row space of A, to singular values above ``noise``."""
    _, singular, Vt = np.linalg.svd(A, full_matrices=False)
    return np.ascontiguousarray(Vt[: np.count_nonzero(singular > noise)].T)


def distinct(Z: Array, error: Array, most: int) -> NDArray[np.intp]:
    """Return the indices of unit vectors of which no two are parallel; stop when there are more than ``most``."""
    # Parallel rows have the same |z·g|, so its different values are a lower bound, and a sort refuses large data.
    g = _unlike(Z.shape[1])
    if np.count_nonzero(np.diff(np.sort(np.abs(Z @ g))) > 2 * error.max() * np.linalg.norm(g)) > most:
        return np.arange(len(Z))
    left = np.arange(len(Z))
    kept: list[int] = []
    while left.size and len(kept) <= most:
        first = int(left[0])
        kept.append(first)
        z = Z[first]
        across = Z[left] - (Z[left] @ z)[:, None] * z
        apart = np.linalg.norm(across, axis=1) > error[left] + error[first]
        apart[0] = False
        left = left[apart]
    return np.array(kept, dtype=np.intp)


def _unlike(R: int) -> Array:
    """Return a fixed vector without simple relations: the fractions of multiples of the golden section, less 1/2."""
    return np.asarray((np.arange(1, R + 1) * (np.sqrt(5) - 1) / 2) % 1 - 0.5)
