"""Sums of the logistic loss and of the entropies of a ray of residuals, which share an exponential and a logarithm."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.machine.numba_code import compiled

_ROWS = 128  # that are added up before they are added to the rest, so that rounding stays small


@compiled(error_model="numpy")
def logistic_rays(f: Any, y: Any, w: Any, scales: Any, theta: Any) -> NDArray[np.float64]:
    """Return the sums of w log(1 + exp(-yf)) and, for every s, of the entropies w H(s a); fill theta with w y a.

    All of f, y, w and theta are (n,); a = 1/(1 + exp(yf)), and H(p) = -p log p - (1-p) log(1-p).
    """
    count, logs = scales.size, np.log(scales)
    total = np.zeros(1 + count)
    for begin in range(0, f.size, _ROWS):
        part = np.zeros(1 + count)
        for i in range(begin, min(begin + _ROWS, f.size)):
            m = -y[i] * f[i]
            e = np.exp(-abs(m))
            log_1p = np.log1p(e)
            a = (1.0 if m >= 0 else e) / (1 + e)
            value, log_a = max(m, 0.0) + log_1p, min(m, 0.0) - log_1p
            theta[i] = w[i] * y[i] * a
            part[0] += w[i] * value
            for j in range(count):
                p, q = scales[j] * a, 1 - scales[j] * a
                if p > 0:
                    part[1 + j] -= w[i] * p * (logs[j] + log_a)
                if q > 0:
                    part[1 + j] -= w[i] * q * (-value if scales[j] == 1 else np.log(q))
        total += part
    return total
