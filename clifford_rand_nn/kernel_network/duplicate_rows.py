r"""Leave-one-out of observations that are one row of a problem: duplicate rows with targets of their own.

Duplicates j of row i, with the targets :math:`y_j` and the weights :math:`\omega_j`, are one row with their mean target
and the weight :math:`\omega_i=\sum_j\omega_j`: the fit f is the same. Of the leverage :math:`H_{ii}` of the row each
has its share :math:`s_j=\omega_j/\omega_i`, and the residual of the fit without the observation j is

.. math:: y_j-f^{(-j)}(x_i)=\frac{y_j-f(x_i)}{d_j},\qquad d_j=1-s_jH_{ii}.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array


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
    """The observations that rows of a problem stand for, at least one a row; those of one row and share are one of k.

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
