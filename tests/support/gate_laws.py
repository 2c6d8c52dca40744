r"""The laws of cross-product gates, where they are known: rows in the plane, and elliptical rows in any dimension."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, as_rows, check_number, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel


def elliptical_law(X: ArrayLike, bias: float = 0.0) -> GateKernel:
    r"""Return the kernel of cross-product gates on elliptical rows: gates :math:`g\sim N(0, S^{-1})`.

    S is the second moment of the features z, which are (x, c) with a bias. Gates :math:`\times(x_1, …, x_{d-1})` of
    rows :math:`x = S^{1/2}ru`, u uniform on the sphere and r > 0 of any law, have the direction of :math:`S^{-1/2}u'`,
    u' uniform: without a bias the law is exact for rows other than those on the plane. With a bias, for Gaussian rows,
    the plane through d of them has a uniform unit normal after :math:`\Sigma^{1/2}` (Σ their covariance), and
    independently an offset N(0, 1/d) from their mean; N(0, S⁻¹) has the same normals, and offsets of Student's t with d
    degrees of freedom, over √d: a difference of order 1/d.

    Parameters
    ----------
    X : (n, d) array
        Rows that the gates are drawn from. Their second moment is taken for that of their law.
    bias : float ≥ 0
        c, the constant feature of the kernel; 0 for gates without offset. The law does not depend on its size.

    Raises
    ------
    ArgumentError
        The features have no full column rank: then cross products of rows vanish.

    Notes
    -----
    For other rows the law is not known in closed form for d ≥ 3. Normals of hyperplanes through random rows are close
    to uniform for rows of many independent entries (Nguyen, Vu, "Normal vector of a random hyperplane", IMRN 2018), and
    the law follows every linear map of the rows: :math:`\times(Fx_1, …) \propto F^{-T}\times(x_1, …)`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [0.0, -1.0]])
    >>> K = elliptical_law(X)(np.array([[2.0, 1.0], [2.0, -1.0]]))
    >>> round(float(K[0, 1]), 3)  # a right angle once both columns have the same spread: 3 (1/2 - 1/4)
    0.75
    """
    owner = "elliptical_law"
    z = GateKernel(bias).features(as_rows(X, owner))
    values, vectors = np.linalg.eigh(z.T @ z / len(z))
    rank = int((values > values[-1] * len(values) * np.finfo(np.float64).eps).sum())
    if rank < len(values):
        rule = f"of rank {len(values)}" + (" with its bias feature" if bias else "")
        raise fail("X", owner, rule, describe(f"rank {rank}"), "Cross products of its rows vanish.")
    return GateKernel(bias, angle=np.ascontiguousarray(vectors / np.sqrt(values)))


@dataclass(frozen=True, eq=False)
class LineKernel:
    r"""The kernel of all cross-product gates of rows in the plane, or of numbers with a bias: an exact law.

    A gate is orthogonal to a row drawn uniformly from the distinct rows, with a random orientation, and its own row on
    a random side:

    .. math:: K(z, z') = \tfrac12(1-s)\ z\cdot z',

    s the share of rows whose line through the origin passes between z and z', one along z or z' counting a half. It is
    the kernel of `GateKernel` with the angle of z and z' replaced by the part of the rows' half-turn that lies
    between them: for rows of uniform angle it tends to that. With d = 1 and a bias, gates are at rows, and s is the
    share of rows between two numbers.

    Parameters
    ----------
    rows : (n, 2) array, or (n, 1) with a bias
        Rows that gates are drawn from; equal ones count once, as `sample_gates` draws from distinct rows.
    bias : float ≥ 0
        c, the constant feature.

    Notes
    -----
    Exact for rows of ``rows``. `sample_gates` moves a gate off its row by less than the angle to the next: for other
    rows s may differ from what gates do by 1/n.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-1.0], [0.0], [1.0], [5.0]])
    >>> float(LineKernel(X, bias=1.0)(X[1:3])[0, 1])  # one quarter of the gates between 0 and 1: half of their own two
    0.375
    """

    rows: Array
    bias: float = 0.0

    def __post_init__(self) -> None:
        owner = "LineKernel"
        check_number(self.bias, "bias", owner, "a finite number ≥ 0", lambda c: 0 <= c < np.inf)
        distinct = np.unique(as_rows(self.rows, owner), axis=0)
        object.__setattr__(self, "rows", distinct)
        lines = np.sort(_line(self.features(distinct))[0])
        object.__setattr__(self, "_lines", lines)

    def features(self, X: ArrayLike) -> Array:
        """Return the rows z of X, (n, 2)."""
        owner = "LineKernel"
        x = np.asarray(as_real(X, "X", owner), dtype=np.float64)
        columns = 1 if self.bias else 2
        if x.ndim != 2 or x.shape[1] != columns:
            rule = f"of shape (n, {columns})" + (" with a bias" if self.bias else " without a bias")
            raise fail("X", owner, rule, describe(f"shape {x.shape}"))
        return np.column_stack([x, np.full(len(x), self.bias)]) if self.bias else x

    def turn(self, z: Array) -> Array:
        """Return where features z (n, 2) lie on the circle, in half-turns as the rows measure them, from 0 to 2."""
        angle, opposite = _line(z)
        lines: Array = self._lines  # type: ignore[attr-defined]
        below, upto = (np.searchsorted(lines, angle, side) for side in ("left", "right"))
        return (below + upto) / (2 * len(lines)) + opposite

    def __call__(self, X: ArrayLike, other: ArrayLike | None = None) -> Array:
        """Return the kernel matrix of the rows X and those of ``other``, (n, m); of X with itself if None."""
        z = self.features(X)
        z2 = z if other is None else self.features(other)
        apart = np.abs(self.turn(z)[:, None] - self.turn(z2))
        return np.asarray(0.5 * (1 - np.minimum(apart, 2 - apart)) * (z @ z2.T))

    def diagonal(self, X: ArrayLike) -> Array:
        r"""Return :math:`K(z, z) = ||z||^2/2` of every row, (n,)."""
        z = self.features(X)
        return np.asarray(0.5 * np.einsum("ij,ij->i", z, z))


def _line(z: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the angle in [0, π) of the line through each row and the origin, and whether the row is on its far end."""
    opposite = (z[:, 1] < 0) | ((z[:, 1] == 0) & (z[:, 0] < 0))
    upper = np.where(opposite[:, None], -z, z)
    return np.arctan2(np.abs(upper[:, 1]), upper[:, 0]), opposite
