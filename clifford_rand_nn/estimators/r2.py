"""The coefficient of determination R², for targets of any size."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_array

from clifford_rand._typing import Array

_LARGEST = 1e300  # bound of predictions in units of the targets: R² is -inf from 1e154 on


def r_squared(targets: Array, predicted: Array, weights: Array | None = None) -> float:
    r"""Return the coefficient of determination, the mean over the outputs of R² (1 is perfect, 0 is the best constant).

    .. math:: R^2 = 1 - \frac{\sum_i\omega_i(y_i-f_i)^2}{\sum_i\omega_i(y_i-\bar y)^2},\qquad
              \bar y = \sum_i\omega_iy_i\Big/\sum_i\omega_i

    Targets that are all one number have no variance: 1 if predicted to the last bit, else 0. By the mean of numbers as
    they come they would have one of roundings, and their R² could be anything; less the first, they have none.

    Examples
    --------
    >>> import numpy as np
    >>> w = np.array([3.0, 1.0, 3.0])
    >>> r_squared(np.full(3, 0.1), np.array([0.1, 0.1, 0.1 + 1e-16]), w)
    0.0
    >>> r_squared(np.full(3, 0.1), np.full(3, 0.1), w)
    1.0
    """
    # a power of two for each output: squares of 1e155 overflow, and those of 1e-170 vanish
    unit = np.ldexp(1.0, np.maximum(np.frexp(np.abs(targets).max(axis=0, initial=0.0))[1] - 2, -1022))
    with np.errstate(over="ignore"):
        targets, predicted = targets / unit, np.clip(predicted / unit, -_LARGEST, _LARGEST)
        return float(r2_score(targets - targets[0], predicted - targets[0], sample_weight=weights))


class R2ScoreMixin(RegressorMixin):
    """A regressor whose score is `r_squared`."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the predictions for rows X with targets y (n,) or (n, outputs); 1 is perfect."""
        model: Any = self
        predicted = model.predict(X)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        return r_squared(targets, predicted, sample_weight)
