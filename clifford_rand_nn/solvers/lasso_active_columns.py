"""Columns of a dictionary centered by the intercept, QR factors of the active ones, and the next active set."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, qr_delete, solve_triangular

from clifford_rand._typing import Array

# A column nearer than this to the span of the others, relative to its norm, is one of them: the columns come with an
# error of 2e-16 of their norm, so a share of 1e-12 of it still has four digits.
_DEPENDENT = 1e-12

_BLOCK = 2**22  # entries of K that are centered at a time, 32 MiB
# QR updates lose orthogonality slowly. To factorize m columns anew after m updates or more costs no more than those.
_MAX_UPDATES = 64


class CenteredColumns:
    """The columns of K (n, N), less their means if there is an intercept; K itself is neither copied nor changed.

    With weights of the rows, of mean 1, means are weighted, and then rows are multiplied by ``root`` (n,), the square
    roots of the weights: sums of squares become weighted ones.
    """

    def __init__(self, K: Array, fit_intercept: bool, root: Array | None = None) -> None:
        n, count = K.shape
        self.K = K
        self.root = root
        self.centered = fit_intercept
        self.norms = np.empty(count)  # of the centered columns
        self.sizes = np.empty(count)  # of the columns as given, to which rounding is proportional
        self.means = np.zeros(count)
        step = max(_BLOCK // max(n, 1), 1)
        for first in range(0, count, step):
            part = slice(first, first + step)
            block = K[:, part]
            self.sizes[part] = np.linalg.norm(self._weighted(block), axis=0)
            if fit_intercept:
                self.means[part] = block.mean(axis=0) if root is None else root**2 @ block / n
                block = block - self.means[part]
            self.norms[part] = np.linalg.norm(self._weighted(block), axis=0)
        # A constant column is the intercept: what is left of it is rounding.
        self.norms[self.norms <= 4 * np.finfo(np.float64).eps * np.sqrt(n) * self.sizes] = 0.0

    def take(self, index: NDArray[np.intp] | int) -> Array:
        """Return centered columns, (n,) or (n, m)."""
        return np.asarray(self._weighted(self.K[:, index] - self.means[index]))

    def correlate(self, v: Array) -> Array:
        """Inner products of all columns with a v (n,) that is centered if they are, (N,)."""
        return np.asarray(np.where(self.norms > 0, self.K.T @ self._weighted(v), 0.0))

    def center(self, v: Array) -> Array:
        """Return v less its mean, or v itself if there is no intercept; with weights, orthogonal to their roots."""
        if not self.centered:
            return v
        return v - v.mean() if self.root is None else v - self.root * ((self.root @ v) / len(v))

    def _weighted(self, v: Array) -> Array:
        if self.root is None:
            return v
        return (self.root if v.ndim == 1 else self.root[:, None]) * v


class Segment(NamedTuple):
    r"""A linear piece of the path: residual :math:`r+\lambda g`, weights :math:`a-\lambda d`, with λ = nβ."""

    r: Array
    g: Array
    a: Array
    d: Array


class ActiveColumns:
    r"""Linearly independent columns A with signs s and their factors :math:`K_A = QR`.

    Where the residual θ has :math:`K_A^T\theta = \lambda s`,

    .. math:: z = R^{-1}Q^Ty-\lambda R^{-1}R^{-T}s,\qquad \theta = y-QQ^Ty+\lambda QR^{-T}s.

    Nothing is carried over from one λ to the next, so no error accumulates but that of the QR updates, which are
    renewed.
    """

    def __init__(self, columns: CenteredColumns) -> None:
        self.columns = columns
        self.index: list[int] = []
        self.signs: list[float] = []
        self.matrix = np.zeros((len(columns.K), 0), order="F")  # the centered active columns, (n, m)
        self._Q = self.matrix
        self._R = np.zeros((0, 0))
        self._updates = 0

    def __len__(self) -> int:
        return len(self.index)

    def append(self, j: int, sign: float) -> bool:
        """Add column j unless it depends on the others; say whether it was added."""
        n, m = self._Q.shape
        if m == n:
            return False
        k = self.columns.take(j)
        along = self._Q.T @ k
        rest = k - self._Q @ along
        again = self._Q.T @ rest  # classical Gram-Schmidt is as good as Householder when done twice
        rest = self.columns.center(rest - self._Q @ again)
        left = float(np.linalg.norm(rest))
        if left <= _DEPENDENT * self.columns.sizes[j]:
            return False
        R = np.zeros((m + 1, m + 1), order="F")
        R[:m, :m], R[:m, m], R[m, m] = self._R, along + again, left
        self._Q, self._R = _with_column(self._Q, rest / left), R
        self.matrix = _with_column(self.matrix, k)
        self.index.append(j)
        self.signs.append(sign)
        self._count_update()
        return True

    def remove(self, j: int) -> None:
        """Take column j out."""
        place = self.index.index(j)
        del self.index[place], self.signs[place]
        m = len(self.index)
        self.matrix = np.asfortranarray(np.delete(self.matrix, place, axis=1))
        if m:
            Q, R = qr_delete(self._Q, self._R, place, which="col", check_finite=False)
            self._Q, self._R = Q[:, :m], R[:m]  # SciPy keeps a square Q square
            self._count_update()
        else:
            self._Q, self._R = self.matrix, np.zeros((0, 0))

    def _count_update(self) -> None:
        self._updates += 1
        if self._updates >= max(_MAX_UPDATES, len(self.index)):
            self._updates = 0
            self._Q, self._R = qr(self.matrix, mode="economic", check_finite=False)

    def direction(self) -> tuple[Array, Array]:
        r"""Return :math:`d = (K_A^TK_A)^{-1}s` and :math:`g = K_Ad`."""
        if not self.index:
            return np.zeros(0), np.zeros(len(self._Q))
        u = _solve(self._R, np.array(self.signs), "T")
        return _solve(self._R, u), self.columns.center(self._Q @ u)

    def weights(self, y: Array, lam: float) -> Array:
        r"""Return the weights at λ, more accurately than as :math:`a-\lambda d`, which are often large and cancel."""
        if not self.index:
            return np.zeros(0)
        bound = lam * _solve(self._R, np.array(self.signs), "T")
        z = _solve(self._R, self._Q.T @ y - bound)
        return np.asarray(z + _solve(self._R, self._Q.T @ (y - self.matrix @ z) - bound))  # one step of refinement

    def segment(self, y: Array) -> Segment:
        """Return the linear piece of the path on these columns for centered targets y."""
        d, g = self.direction()
        if not self.index:
            return Segment(y, g, d, d)
        along = self._Q.T @ y
        r = y - self._Q @ along
        r = self.columns.center(r - self._Q @ (self._Q.T @ r))
        return Segment(r, g, _solve(self._R, along), d)


def _with_column(A: Array, column: Array) -> Array:
    n, m = A.shape
    wider = np.empty((n, m + 1), order="F")
    wider[:, :m], wider[:, m] = A, column
    return wider


def _solve(R: Array, b: Array, trans: str = "N") -> Array:
    return np.asarray(solve_triangular(R, b, trans=trans, check_finite=False))


def turn(active: ActiveColumns, index: NDArray[np.intp], signs: Array, slack: Array) -> bool:
    r"""Choose the columns of the next piece, and say whether the choice was proved right.

    At a breakpoint let A be the columns with a weight that is not 0 and E those with :math:`|k_j^T\theta| = \lambda`,
    of sign s. When λ falls at unit speed the weights move along the solution of

    .. math:: \min_\delta\ \tfrac12||K_E\delta||^2-s_E^T\delta\quad\text{s.t.}\quad s_j\delta_j\ge0,\ j\in E\setminus A:

    the KKT conditions of the Lasso, differentiated. :math:`K_E\delta` is unique; δ is made so by keeping the columns
    in use independent. The method is that of Lawson and Hanson for nonnegative least squares (1974, ch. 23): add the
    column whose condition :math:`s_jk_j^TK\delta\ge1` is violated most, solve, and step back to where the first weight
    would turn negative. The objective falls every time, so no set of columns comes back. A column that depends on
    those in use has :math:`s_jk_j^TK\delta = 1` and is never added.

    ``active``: the columns A; on return those of the next piece. ``index``, ``signs`` (c,): the columns of E that are
    not in A, with their signs. ``slack`` (c,): how far each condition may be violated by rounding.
    """
    sign_of = dict(zip(index.tolist(), signs.tolist(), strict=True))
    matrix = active.columns.take(index)
    open_ = np.ones(index.size, dtype=bool)  # not in use and not found to be dependent
    weight: dict[int, float] = {}  # δ of the columns of E∖A in use
    d, g = active.direction()
    for _ in range(10 * (index.size + 10)):  # in practice one or two a column
        violation = np.where(open_, 1 - signs * (matrix.T @ g) - slack, -np.inf)
        worst = int(np.argmax(violation)) if index.size else 0
        if index.size == 0 or violation[worst] <= 0:
            return True
        open_[worst] = False
        j = int(index[worst])
        if not active.append(j, sign_of[j]):
            continue
        weight[j] = 0.0
        while True:
            d, g = active.direction()
            new = {i: float(d[place]) for place, i in enumerate(active.index) if i in weight}
            back = [i for i, value in new.items() if sign_of[i] * value <= 0]
            if not back:
                weight = new
                break
            # Of two that block at the same length the one with the smaller index goes: Bland's rule.
            length, first = min((abs(weight[i]) / max(abs(weight[i] - new[i]), 1e-300), i) for i in back)
            weight = {i: weight[i] + length * (new[i] - weight[i]) for i in new if i != first}
            active.remove(first)
            if first != j:  # a column that cannot move at all is not tried again at this breakpoint
                open_[np.flatnonzero(index == first)[0]] = True
    return False
