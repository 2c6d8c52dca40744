"""celer: `GroupLasso`, working sets and dual extrapolation, on the explicit features."""

import importlib.metadata

from celer import GroupLasso

from peers.features import features


def version():
    return f"celer {importlib.metadata.version('celer')}"


def solve(X, y, D, beta, tol):
    d, P = X.shape[1], D.shape[1]
    model = GroupLasso(groups=d, alpha=beta, tol=tol, fit_intercept=False).fit(features(X, D), y)
    return {"u": model.coef_.reshape(P, d)}
