"""Small problems of every kind, and in a process of its own what their fits say: objective and lower bound.

    python -m support.objectives < PROBLEMS.json

reads problems (`problems` makes them) and prints a line of JSON: the versions there, and a value for each problem.
Whatever versions of the libraries are installed can run this file, for it needs nothing but the library itself.
"""

import json
import sys
import tempfile
import warnings
from functools import partial

TIGHT = 1e-11  # of the gap: optima to many digits, so that objectives say what rounding does and not where a fit ends


def problems():
    """Return problems by name: every loss, penalty, bias, solver, with weights and several outputs, by pairs."""
    from clifford_rand_nn.problems.loss_registry import LOSSES
    from support.pairwise import pairs

    every = [("free", True), (False, False), (False, True), ("penalized", True)]
    common = {
        "loss": [  # softmax is the logistic loss of three classes
            name for name in LOSSES if name not in ("softmax", "poisson", "quantile")
        ],
        "weights": [False, True],
        "outputs": [1, 2],
    }
    biases = ("bias", "fit_intercept")
    own = {
        "gated": {biases: every, "penalty": ["group_l2", "ridge"], "solver": ["auto", "kernel", "gram", "fista"]},
        "relu": {biases: every, "penalty": ["group_l2", "group_l1"]},
        "lasso": {biases: every, "penalty": ["l1", "l2"]},
        "shards": {biases: every[1:], "penalty": ["group_l2", "ridge"]},
        "infinite": {biases: every[1:], "beta": [1e-3, "auto"]},
    }
    found = {}
    for family, options in own.items():
        names, rows = pairs({**common, **options})
        for row in rows:
            one = {"family": family, **dict(zip(names, row, strict=True))}
            found[" ".join(str(value) for value in one.values())] = one
    for name in _as_they_come():
        found[f"as it comes: {name}"] = {"family": "default", "name": name}
    return found


def _rows(n, d):
    import numpy as np

    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, d))
    f = np.maximum(X @ rng.standard_normal((d, 6)), 0) @ rng.standard_normal((6, 2))
    return X, f + 0.3 * f.std(axis=0) * rng.standard_normal(f.shape), rng.uniform(0.2, 3.0, n)


def _fit(family, loss="squared", weights=False, outputs=1, **options):
    """Return the certificate of a tight fit; two outputs are three classes where the loss has labels."""
    import numpy as np

    import clifford_rand_nn as nn
    from clifford_rand_nn.problems.loss_registry import LOSSES

    n, d = {"gated": (60, 4), "relu": (24, 2), "lasso": (20, 2), "shards": (200, 4), "infinite": (60, 4)}[family]
    X, y, w = _rows(n, d)
    kind = "Classifier" if LOSSES[loss].labels is not None else "Regressor"
    if kind == "Classifier":
        y = np.digitize(y[:, 0], np.quantile(y[:, 0], np.linspace(0, 1, outputs + 2)[1:-1]))
    elif outputs == 1:
        y = y[:, 0]
    name = {"relu": "ConvexReLU", "lasso": "CrossProductLasso"}.get(family, "GatedReLU")
    options = {"beta": 1e-2, "loss": loss, "tol": TIGHT, "max_iter": 100_000, **options}
    if family in ("gated", "relu", "shards"):
        options |= {"n_gates": 8, "random_state": 3}
    if family == "infinite":
        options |= {"gates": "infinite", "penalty": "ridge"}
    model = getattr(nn, name + kind)(**options)
    if family == "shards":
        return model.fit(nn.Shards(X, y, **({"sample_weight": w} if weights else {}), part_rows=64)).certificate_
    return model.fit(X, y, sample_weight=w if weights else None).certificate_


def _as_they_come():
    """Return by name what gives certificates, or (objective, bound) pairs, of fits with the settings they come with."""
    import numpy as np

    import clifford_rand_nn as nn

    X, y, w = _rows(80, 4)
    labels = np.digitize(y[:, 0], np.quantile(y[:, 0], [0.4, 0.7]))
    level = np.column_stack([y[:, 0], np.full(len(y), 0.1)])  # whose weighted mean is 0.1 but for rounding

    def path(kind, n, gates=None, **options):
        some = (X[:n, :2], y[:n, 0])
        drawn = () if gates is None else (nn.sample_gates(some[0], gates, random_state=3),)
        found = getattr(nn, kind)(*some, *drawn, n_betas=6, eps=0.05, **options)
        return zip(found.objectives, found.lower_bounds, strict=True)

    fits = {
        "network classifier": lambda: nn.ConvexNetworkClassifier().fit(X, labels),
        "network logistic": lambda: nn.ConvexNetworkClassifier(loss="logistic").fit(X, labels),
        "network regressor": lambda: nn.ConvexNetworkRegressor().fit(X, y),
        "network weighted": lambda: nn.ConvexNetworkRegressor().fit(X, y[:, 0], sample_weight=w),
        "network constant output": lambda: nn.ConvexNetworkRegressor().fit(X, level, sample_weight=w),
        "network cross gates": lambda: nn.ConvexNetworkRegressor(gates="row_spanned").fit(X, y[:, 0]),
        "network few neurons": lambda: nn.ConvexNetworkRegressor(n_neurons=6).fit(X, y[:, 0]),
        "network learned gates": lambda: nn.ConvexNetworkRegressor(max_metric_iter=2).fit(X, y[:, 0]),
        "gated": lambda: nn.GatedReLUClassifier(20, random_state=3).fit(X, labels),
        "gated refined": lambda: nn.GatedReLURegressor(10, beta=1e-2, n_refinements=2, random_state=3).fit(X, y[:, 0]),
        "relu": lambda: nn.ConvexReLURegressor(8, random_state=3).fit(X[:24, :2], y[:24, 0]),
        "lasso": lambda: nn.CrossProductLassoRegressor(random_state=3).fit(X[:30, :2], y[:30, 0]),
        "cross-validated": lambda: nn.BetaCV(nn.GatedReLURegressor(8, random_state=3), n_betas=4, cv=3).fit(X, y[:, 0]),
    }
    return {name: partial(_certificates, fit) for name, fit in fits.items()} | {
        "shards": _shards,
        "gated path": lambda: path("gated_path", 80, 8),
        "relu path": lambda: path("relu_path", 24, 6),
        "lasso path": lambda: path("lasso_path", 20, random_state=3),
    }


def _certificates(fit):
    model = fit()
    return [getattr(model, "estimator_", model).certificate_]


def _shards():
    from clifford_rand_nn import Shards
    from support.kills import MODELS, write_shards

    with tempfile.TemporaryDirectory() as folder:
        write_shards(folder, n=3000)
        return [model.fit(Shards(folder, part_rows=512)).certificate_ for model in MODELS.values()]


def value(family, **options):
    """Return [[objective, bound], …] of a problem."""
    found = _as_they_come()[options["name"]]() if family == "default" else [_fit(family, **options)]
    return [
        [float(one.objective), float(one.lower_bound)] if hasattr(one, "lower_bound") else [float(part) for part in one]
        for one in found
    ]


def main():
    import numba
    import numpy as np
    import scipy.linalg
    import sklearn
    from threadpoolctl import threadpool_info

    warnings.simplefilter("ignore")
    told = {}
    for name, options in json.load(sys.stdin).items():
        try:
            told[name] = value(**options)
        except Exception as error:
            told[name] = f"{type(error).__name__}: {error}"
    blas = [f"{one['internal_api']} {one['version']} {one.get('architecture')}" for one in threadpool_info()
            if one["user_api"] == "blas"]  # fmt: skip
    versions = {module.__name__: module.__version__ for module in (np, scipy, numba, sklearn)}
    print(json.dumps({"versions": versions, "blas": sorted(blas), "values": told}))


if __name__ == "__main__":
    main()
