"""The explicit features [D_1 X, ..., D_P X], for peers that know no gates: n × dP, by columns."""

import numpy as np


def features(X, D):
    n, d = X.shape
    P = D.shape[1]
    F = np.empty((n, d * P), order="F")
    for i in range(P):
        np.multiply(X, D[:, i, None], out=F[:, i * d : (i + 1) * d])
    return F
