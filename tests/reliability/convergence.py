"""Default fits reach their tolerance: every estimator, every loss that it offers, targets from 1e-9 to 1e9.

A fit reaches its tolerance if its status is optimal, it warns of nothing, and `verify` of the training data finds a gap
of at most twice the tolerance. Data are 40 rows of two columns with a target of two ridges and noise, for regression
also with one target in twenty fifty times as far off, and for classification with classes that the columns separate
and classes that they do not. Shares are printed by estimator and loss, and every fit that falls short by name
(`--only ConvexReLURegressor` tries one estimator).
"""

import warnings

import numpy as np

import clifford_rand_nn as cn
from clifford_rand_nn.problems import loss_registry as registry
from reliability.promise import Outcome

_KINDS = "GatedReLU", "ConvexReLU", "CrossProductLasso", "ConvexNetwork"
_NAMES = [kind + task for kind in _KINDS for task in ("Regressor", "Classifier")]
_SCALES = 10.0 ** np.arange(-9, 10, 3)
_ROWS = 40


def run(budget):
    faults, counts = [], {}
    for name in budget.named(_NAMES):
        for case in _cases(name, budget.short):
            loss, scale, kind, seed = case
            missed = _missed(name, loss, *_data(name, loss, scale, kind, budget.seed + seed))
            tried, reached = counts.get((name, loss), (0, 0))
            counts[name, loss] = tried + 1, reached + (missed is None)
            if missed is not None:
                where = f"{name}, loss={loss}, targets of {scale:.0e}, {kind}, seed {budget.seed + seed}"
                faults.append(f"{where}: {missed}")
    for (name, loss), (tried, reached) in counts.items():
        print(f"{name:<27} {loss or '':<14} {reached:>4} of {tried:<4} {100 * reached / tried:6.1f} %")
    tried, reached = map(sum, zip(*counts.values(), strict=True))
    return Outcome(f"{reached} of {tried} default fits reach their tolerance", faults)


def _cases(name, short):
    """Yield (loss, scale, kind, seed) of the fits of an estimator."""
    task = "regression" if name.endswith("Regressor") else "classification"
    losses = [None] if name.startswith("ConvexNetwork") else registry.loss_names(task)
    kinds = ("noisy", "outliers") if task == "regression" else ("noisy", "separable", "three classes")
    scales = [1.0] if task == "classification" else _SCALES[::3] if short else _SCALES
    for loss in losses:
        for seed in range(1 if short else 5 if task == "classification" else 2):
            yield from ((loss, scale, kind, seed) for scale in scales for kind in kinds[: 1 if short else None])


def _data(name, loss, scale, kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((_ROWS, 2))
    y = np.abs(X[:, 0]) - np.maximum(X[:, 1] + 0.5, 0) + 0.2 * (kind != "separable") * rng.standard_normal(_ROWS)
    if kind == "outliers":
        y[::20] += 50 * rng.standard_normal(y[::20].size)
    if loss == "poisson":  # counts, and rates in other units; the largest of 1e9 stands for rows of 1e9 events
        return X, scale * rng.poisson(np.exp(np.minimum(y, 5.0)))
    if name.endswith("Regressor"):
        return X, scale * y
    return X, np.digitize(y, np.quantile(y, (1 / 3, 2 / 3) if kind == "three classes" else (0.5,)))


def _missed(name, loss, X, y):
    """Return what a fit falls short of, or None."""
    options = {} if loss is None else {"loss": loss}
    if name.startswith(("GatedReLU", "ConvexReLU")):
        options["random_state"] = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = getattr(cn, name)(**options).fit(X, y)
    own = getattr(model, "tol", None)
    tol = own if isinstance(own, float) else 1e-4
    result = getattr(model, "result_", None)
    gap = model.certificate_.verify(X, y).relative_gap
    if result is not None and result.status != "optimal":
        return f"{result.solver}: {result.message}"
    if caught:
        return str(caught[0].message)
    return None if gap <= 2 * tol else f"a gap of {gap:.1e} by verify, tol {tol:.0e}"
