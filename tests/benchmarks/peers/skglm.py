"""skglm: `GroupBCD`, block coordinate descent with working sets and extrapolation, on the explicit features."""

import importlib.metadata

import numpy as np
from skglm.datafits import QuadraticGroup
from skglm.penalties import WeightedGroupL2
from skglm.solvers import GroupBCD
from skglm.utils.data import grp_converter

from peers.features import features


def version():
    return f"skglm {importlib.metadata.version('skglm')}"


def solve(X, y, D, beta, tol):
    d, P = X.shape[1], D.shape[1]
    index, pointer = (part.astype(np.int32) for part in grp_converter(d, d * P))
    penalty = WeightedGroupL2(beta, np.ones(P), pointer, index)
    u = GroupBCD(tol=tol).solve(features(X, D), y, QuadraticGroup(pointer, index), penalty)[0]
    return {"u": u.reshape(P, d)}
