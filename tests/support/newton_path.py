"""Fits of a smooth loss, the logistic one unless given, over a kernel for some betas, with limits as keywords."""

import numpy as np

from clifford_rand_nn.kernel_network.leave_one_out import members
from clifford_rand_nn.kernel_network.newton_path import NewtonPath
from clifford_rand_nn.problems.loss_registry import make_datafit
from clifford_rand_nn.solvers.base import Limits


def logistic_path(K, targets, weights, betas, loss="logistic", groups=None, leave_out=True, **limits):
    """Return the fits in the order of betas; fewer if time was over or after Ctrl-C."""
    datafit = make_datafit(loss, targets, len(K), "NewtonPath", sample_weight=weights)
    parts = None if groups is None else members(np.unique(groups, return_inverse=True)[1])
    path = NewtonPath(np.ascontiguousarray(K, dtype=np.float64), datafit, parts, leave_out)
    limits, fits = Limits.of("NewtonPath", **{"max_iter": 100} | limits), []
    for beta in betas:
        fits.append(path.fit(beta, limits.after(path.seconds)))
        if fits[-1].status.ends_all:
            break
    return fits
