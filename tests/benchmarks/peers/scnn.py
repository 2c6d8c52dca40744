"""scnn (pyscnn): R-FISTA on the gated problem. Its objective has the same scale, (1/2n) ||.||^2 + lambda sum ||u_i||.

Two things are set apart from its defaults, or it would solve another problem. Columns are not rescaled
(``unitize_data=False``): rescaling changes what the penalty charges. And it makes patterns from gates through the
origin with a strict inequality, so the function that makes them is replaced by one that returns the given patterns.
"""

import importlib.metadata

import numpy as np
from scnn.metrics import Metrics
from scnn.models import ConvexGatedReLU
from scnn.optimize import optimize_model
from scnn.private.interface import models
from scnn.regularizers import NeuronGL1
from scnn.solvers import RFISTA


def version():
    return f"pyscnn {importlib.metadata.version('pyscnn')}"


def solve(X, y, D, beta, tol, dtype="float64"):
    gates = np.zeros((X.shape[1], D.shape[1]))  # only their number is used
    models.compute_activation_patterns = lambda *_, **__: (D.astype(dtype), gates)
    model = ConvexGatedReLU(gates)
    found, metrics = optimize_model(
        model,
        RFISTA(model, tol=tol),
        Metrics(),
        X,
        y,
        regularizer=NeuronGL1(beta),
        return_convex=True,
        unitize_data=False,
        dtype=dtype,
    )
    u = np.asarray(found.parameters[0][0], dtype=np.float64)
    # The objective that it says it reached is that of the weights it returns, in our units.
    f = np.sum(D * (X @ u.T), axis=1)
    said, is_ = float(metrics.objective[-1]), np.mean((f - y) ** 2) / 2 + beta * np.linalg.norm(u, axis=1).sum()
    assert abs(said - is_) <= 1e-4 * is_, f"scnn reports {said}, its weights give {is_}"
    return {"u": u}
