r"""Kernel regression with a free intercept: the fit and the leave-one-out predictions of every beta at once."""

import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.linalg import eigh
from numpy.typing import NDArray

from clifford_rand._checks import check_array, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.rounding import gamma, rounding_of_form

_SPAN = 1e-11  # of the largest eigenvalue: no beta of a grid is smaller, where roundings would be fitted
_COLUMNS = 256  # of a product with the eigenvectors, which are read once for all of them
_TOP = 10.0  # of the largest eigenvalue, where a grid begins: every direction is shrunk to a tenth


def divisor(left: Array, share: Array) -> Array:
    """Return d of observations with these shares of rows with these :math:`1-H_{ii}`."""
    return np.asarray(1.0 - (1.0 - left) * share)


def cells(place: NDArray[np.intp], share: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the cell (n,) of row and share that each observation is in, by rising rows, and an observation of each."""
    order = np.lexsort((share, place))
    begins = np.append(True, (np.diff(place[order]) != 0) | (np.diff(share[order]) != 0))
    cell = np.empty(len(order), dtype=np.intp)
    cell[order] = np.cumsum(begins) - 1
    return cell, order[begins]


class Duplicates(NamedTuple):
    r"""The observations that rows of a problem stand for, at least one a row; those of one row and share are one of k.

    Duplicates j of row i, with the targets :math:`y_j` and the weights :math:`\omega_j`, are one row with their mean
    target and the weight :math:`\omega_i=\sum_j\omega_j`: the fit f is the same. Of the leverage :math:`H_{ii}` of the
    row each has its share :math:`s_j=\omega_j/\omega_i`, and the residual of the fit without the observation j is

    .. math:: y_j-f^{(-j)}(x_i)=\frac{y_j-f(x_i)}{d_j},\qquad d_j=1-s_jH_{ii}.

    Examples
    --------
    >>> pair = Duplicates.of(np.array([0, 0]), np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]))
    >>> pair.squares(np.array([[0.0]]), left=np.array([0.5])).round(3).tolist()  # 1/(1 - 0.25)²
    [[1.778]]
    """

    place: NDArray[np.intp]  # (k,), the row, rising
    share: Array  # (k,), that each observation has of the weight of the row
    mass: Array  # (k,), the share that all of them have
    mean: Array  # (k, C), of their targets less that of the row
    variance: Array  # (k, C), of their targets

    @classmethod
    def of(cls, place: NDArray[np.intp], share: Array, off: Array) -> Self:
        """Return them by row and share (n,) of every observation, with targets ``off`` (n, C) less those of the row."""
        cell, first = cells(place, share)
        count = np.bincount(cell)[:, None]

        def means(values: Array) -> Array:
            return np.stack([np.bincount(cell, column) for column in values.T], axis=1) / count

        mean = means(off)
        mass = np.bincount(cell, share).astype(np.float64)
        return cls(place[first], share[first], mass, mean, means((off - mean[cell]) ** 2))

    def take(self, rows: NDArray[np.intp]) -> "Duplicates":
        """Return those of some rows, in their order."""
        index = np.full(self.place[-1] + 1, -1)
        index[rows] = np.arange(len(rows))
        place = index[self.place]
        kept = np.argsort(place, kind="stable")[np.count_nonzero(place < 0) :]
        return Duplicates(place[kept], *(part[kept] for part in self[1:]))

    def squares(self, residuals: Array, left: Array) -> Array:
        r"""Return :math:`\sum_js_j(y_j-f^{(-j)})^2` (..., m, C) of rows with residuals (..., m, C) of the fit.

        ``left`` (..., m): :math:`1-H_{ii}`.
        """
        errors = (residuals[..., self.place, :] + self.mean) ** 2 + self.variance
        errors *= (self.mass / divisor(left[..., self.place], self.share) ** 2)[..., None]
        return np.asarray(np.add.reduceat(errors, np.flatnonzero(np.diff(self.place, prepend=-1)), axis=-2))


class KernelFit(NamedTuple):
    """Coefficients alpha (n, C) and intercept (C,): :math:`f(x) = sum_i K(x, x_i) alpha_i + t`."""

    alpha: Array
    intercept: Array


class LeaveOneOut:
    r"""The squared loss over a kernel, solved for every beta by one eigendecomposition.

    .. math:: \min_{f,t}\ \frac1n\sum_i\omega_i\tfrac12||y_i-f(x_i)-t||^2+\frac\beta2||f||_K^2

    With :math:`S=\mathrm{diag}(\omega)^{1/2}`, u the unit vector along S1 and :math:`Q\Lambda Q^T` the decomposition of
    :math:`(I-uu^T)SKS(I-uu^T)` in the complement of u, all that is asked for is a sum over eigenvalues with weights
    :math:`n\beta/(\lambda_k+n\beta)`: the residual :math:`\tilde r`, and :math:`I-H`, where H takes targets to
    predictions. Without row i, with the sum of the other losses and :math:`n\beta/2\,||f||^2` as they are, its residual
    is

    .. math:: y_i-f^{(-i)}(x_i) = \frac{y_i-f(x_i)}{(I-H)_{ii}},\qquad
              (y-f^{(-g)})_g = S_g^{-1}\big((I-H)_{gg}\big)^{-1}\tilde r_g

    for single rows and for groups of rows (Allen's PRESS; Rifkin, Lippert, "Notes on regularized least squares", 2007).
    Nothing is refitted, and nothing is approximated.

    ``K`` (n, n): symmetric; overwritten. ``targets`` (n, C). ``weights`` (n,). ``groups`` (n,): rows that are left out
    together; None leaves out one by one. ``duplicates``: observations that the rows stand for; `errors`, without
    groups, leaves out one of them at a time. ``eigenvalues`` (n,): rising.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = np.array([[0.0], [1.0], [2.0], [3.5]])
    >>> loo = LeaveOneOut(X @ X.T, y)
    >>> loo.predictions(np.array([1e-6]))[0].ravel().round(2).tolist()  # each from a line through the other three
    [-0.33, 1.07, 2.29, 3.0]
    """

    def __init__(
        self,
        K: NDArray[Any],
        targets: Array,
        weights: Array | None = None,
        groups: NDArray[np.intp] | None = None,
        duplicates: Duplicates | None = None,
    ) -> None:
        owner, n = "LeaveOneOut", len(targets)
        check_array(K, "K", owner, (n, n))
        check_array(targets, "targets", owner, (n, None))
        if n < 2:
            raise fail("targets", owner, "at least two rows, so that one can be left out", describe(f"{n} row"))
        self.targets, self.n, self._duplicates = targets, n, duplicates
        self._root = np.ones(n) if weights is None else np.sqrt(weights)
        self._members = None if groups is None else members(groups)
        if self._members is not None and len(self._members) < 2:
            raise fail("groups", owner, "at least two groups, so that one can be left out", describe("one group"))
        if weights is not None:  # S K S, S = Ω^{1/2}, whose eigenvectors serve every beta
            K *= self._root
            K *= self._root[:, None]
        self._unit = self._root / np.linalg.norm(self._root)
        self._image = K @ self._unit  # S K S u, for the intercept
        # P S K S P with P = I - u uᵀ, a change of rank two
        shift = self._image - 0.5 * (self._unit @ self._image) * self._unit
        both = np.column_stack([self._unit, shift])
        K -= both @ both[:, ::-1].T  # u sᵀ + s uᵀ
        apart = 1.01 * float(np.linalg.norm(K)) or 1.0  # above all eigenvalues: u is the last vector
        K += np.outer(apart * self._unit, self._unit)
        values, vectors = eigh(K)
        values, vectors = values[:-1], vectors[:, :-1]
        self.eigenvalues = np.maximum(values, 0.0)
        self._Q = vectors
        self._y = vectors.T @ (self._root[:, None] * targets)
        self._squares: Array | None = None

    def of(self, targets: Array) -> Self:
        """Return the same of other targets (n, C), by the same decomposition."""
        check_array(targets, "targets", "LeaveOneOut.of", (self.n, None))
        other = copy.copy(self)
        other.targets, other._y = targets, self._Q.T @ (self._root[:, None] * targets)
        other._duplicates = None
        return other

    def grid(self, n_betas: int) -> Array:
        """Return falling betas, evenly spaced in the logarithm, over all that makes a difference."""
        largest = float(self.eigenvalues[-1]) or 1.0
        least = max(float(self.eigenvalues[0]), _SPAN * largest)
        return np.geomspace(_TOP * largest, 0.1 * least, n_betas) / self.n

    def predictions(self, betas: Array) -> Array:
        """Return what each row is predicted to be by the fit without it (without its group), (B, n, C)."""
        shrunk = self._shrunk(betas)
        residuals = self._residuals(shrunk)
        if self._members is None:
            return np.asarray(self.targets - residuals / (self._left(shrunk) * self._root)[:, :, None])
        out = np.empty_like(residuals)
        for b in range(len(betas)):
            for rows in self._members:
                part = self._Q[rows]  # (I - H)_gg⁻¹ r_g: residuals without the group
                out[b, rows] = (
                    np.linalg.solve((part * shrunk[:, b]) @ part.T, residuals[b, rows]) / self._root[rows, None]
                )
        return np.asarray(self.targets - out)

    def errors(self, betas: Array) -> Array:
        r"""Return the mean of :math:`\omega_i(y_i-f^{(-i)}(x_i))^2` over the rows, (B, C), of `predictions`."""
        B, C = len(betas), self.targets.shape[1]
        out = np.empty((B, C))
        each = max(1, _COLUMNS // C) if self._members is None else 1
        for start in range(0, B, each):
            part = slice(start, start + each)
            if self._members is None:
                shrunk = self._shrunk(betas[part])
                missed, left = self._residuals(shrunk), self._left(shrunk)
                if self._duplicates is not None:
                    squares = self._duplicates.squares(missed / self._root[:, None], left)
                    out[part] = np.einsum("i,bic->bc", self._root**2, squares) / self.n
                    continue
                missed /= left[:, :, None]
            else:
                missed = (self.predictions(betas[part]) - self.targets) * self._root[:, None]
            out[part] = np.einsum("bic,bic->bc", missed, missed) / self.n
        return out

    def variances(self, beta: float) -> Array:
        """Return the predictive variances of the rows, (n,)."""
        return predictive_variances(self.left(beta), self.n * beta / self._root**2)

    def left(self, beta: float) -> Array:
        r"""Return :math:`(I-H)_{ii}`, (n,)."""
        return np.asarray(self._left(self._shrunk(np.array([beta])))[0])

    def fitted(self, beta: float) -> Array:
        """Return the predictions (n, C) of the fit to all rows."""
        return np.asarray(self.targets - self._residuals(self._shrunk(np.array([beta])))[0] / self._root[:, None])

    def fit(self, beta: float, least: float = 0.0) -> KernelFit:
        """Return the fit to all rows, without eigenvectors whose eigenvalue is below ``least`` times the largest."""
        y = np.where(self.eigenvalues[:, None] < least * self.eigenvalues[-1], 0.0, self._y)
        # a = Q (Λ + nβ)⁻¹ Qᵀ S y, α = S a, and t from the component of u
        a = self._Q @ (y / (self.eigenvalues + self.n * beta)[:, None])
        intercept = self._unit @ (self._root[:, None] * self.targets) - self._image @ a
        return KernelFit(self._root[:, None] * a, intercept / float(self._unit @ self._root))

    def _shrunk(self, betas: Array) -> Array:
        """Return the share (n, B) of each eigenvector that stays in the residual."""
        radius = self.n * np.asarray(betas)
        # nβ/(λ_k + nβ), the eigenvalues of I - H
        return np.asarray(radius / (self.eigenvalues[:, None] + radius))

    def _left(self, shrunk: Array) -> Array:
        """Return the diagonal of I - H, (B, n)."""
        if self._squares is None:
            self._squares = self._Q**2
        return np.asarray(np.maximum(self._squares @ shrunk, np.finfo(np.float64).tiny).T)

    def _residuals(self, shrunk: Array) -> Array:
        """Return the weighted residuals (B, n, C) of the fits to all rows."""
        B, C = shrunk.shape[1], self._y.shape[1]
        solutions = self._Q @ (shrunk[:, :, None] * self._y[:, None, :]).reshape(len(self._y), B * C)
        return np.moveaxis(solutions.reshape(self.n, B, C), 1, 0)


def predictive_variances(left: Array, noise: Array) -> Array:
    r"""Return :math:`\sigma_i^2(1/(I-H)_{ii}-1)`, (n,); ``left`` is :math:`(I-H)_{ii}`, ``noise`` :math:`\sigma_i^2`.

    It is the variance of the function at row i given the other rows, where the kernel is the covariance of a Gaussian
    process and :math:`\sigma_i^2=n\beta/\omega_i` the variance of the noise (Rasmussen, Williams, "Gaussian processes
    for machine learning", 2006, eq. 5.12).
    """
    return np.asarray(np.maximum(1 / left - 1, 0) * noise)


def members(groups: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows of each group."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


class Judged(NamedTuple):
    """A network's objective in the 1/n scale, its intercept (C,) and residuals (n, C), and a bound of the optimum."""

    objective: float
    intercept: Array
    residuals: Array
    bound: DualBound


def judge(fitted: Array, alpha: Array, targets: Array, weights: Array, beta: float, diagonal: Array) -> Judged:
    r"""Judge :math:`f = K\alpha` with its best intercept, and :math:`\alpha` as a dual point.

    .. math:: P &= \frac1n\sum_i\frac{\omega_i}2||y_i-f_i-t||^2+\frac\beta2\mathrm{tr}(\alpha^TK\alpha),\\
              D &= \sum_c\max_s\ s\,\beta\,\alpha_c^Ty_c
                   -\frac{s^2}2\beta\,\alpha_c^T\big(K+n\beta\,\Omega^{-1}\big)\alpha_c,\qquad 1^T\alpha=0.

    D bounds the least P from below for every :math:`\alpha` whose columns sum to zero, and both are equal where
    :math:`(K+n\beta\,\Omega^{-1})\alpha=y-t`, but for what rounding may take from :math:`\alpha^TK\alpha`: it is added
    there. The dual point in the scale of residuals is :math:`\theta=n\beta\,s\alpha`.

    ``fitted`` (n, C): K alpha. ``alpha`` (n, C): columns sum to zero. ``targets`` (n, C). ``weights`` (n,).
    ``diagonal`` (n,): of K.
    """
    n, share = len(targets), weights[:, None]
    residuals = targets - fitted
    intercept = np.average(residuals, axis=0, weights=weights)
    residuals -= intercept
    # ||f||² = αᵀKα, by columns
    norm = np.einsum("ic,ic->c", alpha, fitted)
    objective = 0.5 * float(np.sum(share * residuals**2)) / n + 0.5 * beta * float(norm.sum())
    along = np.einsum("ic,ic->c", alpha, targets)
    across = norm + rounding_of_form(diagonal, alpha) + n * beta * np.sum(alpha**2 / share, axis=0)
    # max_s s·along - s²·across/2, times β
    scale = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
    terms = np.abs(scale) * np.abs(alpha * targets).sum(axis=0) + 0.5 * scale**2 * across
    value = 0.5 * float(np.sum(scale * along)) - gamma(n + 8) * float(terms.sum())
    return Judged(objective, intercept, residuals, DualBound(beta * value, n * beta * scale * alpha))


def null_value(targets: Array, weights: Array) -> float:
    """Return the objective of the best constant."""
    centered = targets - np.average(targets, axis=0, weights=weights)
    return 0.5 * float(np.sum(weights[:, None] * centered**2)) / len(targets)
