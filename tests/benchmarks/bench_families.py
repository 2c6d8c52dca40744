"""Every family with its defaults against tuned logistic regression: accuracy on rows held out, seconds, beta.

    python tests/benchmarks/bench_families.py FOLDER… [--rows 1000] [--splits 5] [--draws 10] [--models …] [--sets …]
                                              [--limit 20]

FOLDER holds ``.npz`` files with X, y and split (True = train); uint8 is divided by 255. scikit-learn's iris, wine,
breast cancer and digits are always there, with a stratified split of 60 %: ``--splits`` of them for those of at most
200 rows, where one test row is more than a point; the means are shown. Columns are standardized for all, by the
training rows. At most ``--rows`` training rows are used, stratified, the same for all; logistic regression chooses C by
3 folds of them. ``--draws`` of the rows of a set of a folder; the means are shown.
``--limit`` seconds are given to a family that asks for ``max_time``; the line then has a star.
``--inner`` splits the training part once more and never looks at a test row: for choices of design.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import sklearn.datasets
from data import halves
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from timing import options

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexReLUClassifier, CrossProductLassoClassifier, GatedReLUClassifier

MODELS = {
    "logistic": lambda seed: LogisticRegressionCV(Cs=np.logspace(-4, 2, 7), cv=3, max_iter=300),
    "gated": lambda seed: GatedReLUClassifier(random_state=seed),
    "ridge": lambda seed: GatedReLUClassifier(penalty="ridge", random_state=seed),
    "relu": lambda seed: ConvexReLUClassifier(random_state=seed),
    "lasso": lambda seed: CrossProductLassoClassifier(random_state=seed),
    "lasso l2": lambda seed: CrossProductLassoClassifier(penalty="l2", random_state=seed),
}
FEW = 200
BUNDLED = ("iris", "wine", "breast_cancer", "digits")


def sets(folders, splits, draws):
    """Yield the name and training and test rows of every set, as often as it is split."""
    for name in BUNDLED:
        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
        parts = []
        for seed in range(splits if len(X) <= FEW else 1):
            a, b, c, d = train_test_split(X, y, train_size=0.6, stratify=y, random_state=seed)
            parts.append((a, c, b, d))
        yield name, parts
    for path in sorted(path for folder in folders for path in Path(folder).glob("*.npz")):
        with np.load(path) as data:
            if not {"X", "y", "split"} <= set(data.files):
                continue
        yield path.stem, [halves(path.parent, path.stem)] * draws


def prepared(X, y, X_test, y_test, rows, inner, seed):
    """Return at most so many training rows, and rows to score on, standardized by the former."""
    if inner:
        X, X_test, y, y_test = train_test_split(X, y, train_size=0.6, stratify=y, random_state=seed)
    if len(X) > rows:
        X, _, y, _ = train_test_split(X, y, train_size=rows, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def main():
    asked = options(
        __doc__,
        ("folders", {"nargs": "*"}),
        rows=1000,
        seed=0,
        splits=1,
        draws=1,
        limit=float,
        inner=False,
        models=(["gated", "ridge", "relu", "lasso"], {"nargs": "*"}),
        sets=(str, {"nargs": "*"}),
    )
    names = ["logistic", *asked.models]
    print(f"{'set':18} {'n':>5} {'d':>4} {'k':>3} " + " ".join(f"{name:>24}" for name in names), flush=True)
    for name, parts in sets(asked.folders, asked.splits, asked.draws):
        if asked.sets and name not in asked.sets:
            continue
        rows = [prepared(*part, asked.rows, asked.inner, asked.seed + i) for i, part in enumerate(parts)]
        X, y = rows[0][:2]
        line = f"{name:18} {len(X):5} {X.shape[1]:4} {len(np.unique(y)):3} "
        for model in names:
            line += measured(MODELS[model], rows, asked.seed, asked.limit)
        print(line, flush=True)


def measured(make, rows, seed, limit):
    """Return mean accuracy, CPU and wall seconds of a fit, and the last beta; or that it asks for limits first."""
    began, cpu, right, star = time.perf_counter(), time.process_time(), [], " "
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, (X, y, X_test, y_test) in enumerate(rows):
            model = make(seed + i)
            try:
                fitted = model.fit(X, y)
            except ArgumentError as error:
                if limit is None:
                    return f"{'asks: ' + str(error).rsplit('some ', 1)[-1].split(' s.')[0] + ' s':>24} "
                fitted, star = model.set_params(max_time=limit).fit(X, y), "*"
            right.append(fitted.score(X_test, y_test))
    wall, cpu = (time.perf_counter() - began) / len(rows), (time.process_time() - cpu) / len(rows)
    beta = f" {fitted.beta_:.0e}" if hasattr(fitted, "beta_") else ""
    return f"{100 * np.mean(right):6.2f}{star}{cpu:7.1f}c{wall:6.0f}w{beta:>7}  "


if __name__ == "__main__":
    main()
