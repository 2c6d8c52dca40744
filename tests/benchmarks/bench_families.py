"""Every family with its defaults against tuned logistic regression: accuracy on held-out rows, seconds, beta.

    python tests/benchmarks/bench_families.py FOLDER… [--rows 1000] [--splits 5] [--models …] [--limit 20]

FOLDER holds ``.npz`` files with X, y and split (True = train); uint8 is divided by 255. scikit-learn's iris, wine,
breast cancer and digits are always there, with a stratified split of 60 %: ``--splits`` of them for those of at most
200 rows, where one test row is more than a point; the means are shown. Columns are standardized for all, by the
training rows. At most ``--rows`` training rows are used, stratified, the same for all; logistic regression chooses C by
3 folds of them. ``--limit`` seconds are given to a family that asks for ``max_time``; the line then has a star.
"""

import warnings
from pathlib import Path

import numpy as np
import sklearn.datasets
from data import halves
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from timing import options, timed

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


def sets(folders, splits):
    """Yield the name and training and test rows of every set, as often as it is split."""
    for name in BUNDLED:
        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
        seeds = range(splits if len(X) <= FEW else 1)
        parts = [train_test_split(X, y, train_size=0.6, stratify=y, random_state=seed) for seed in seeds]
        yield name, [(X, y, X_test, y_test) for X, X_test, y, y_test in parts]
    for path in sorted(path for folder in folders for path in Path(folder).glob("*.npz")):
        with np.load(path) as data:
            if {"X", "y", "split"} <= set(data.files):
                yield path.stem, [halves(path.parent, path.stem)]


def prepared(X, y, X_test, y_test, rows, seed):
    """Return at most so many training rows, and rows to score on, standardized by the former."""
    if len(X) > rows:
        X, _, y, _ = train_test_split(X, y, train_size=rows, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def measured(make, rows, limit):
    """Return mean accuracy, CPU and wall seconds of a fit, and the last beta; or that it asks for limits first."""
    right, walls, cpus, star = [], [], [], " "
    for seed, (X, y, X_test, y_test) in enumerate(rows):
        model = make(seed)
        try:
            fitted, wall, cpu = timed(lambda model=model, X=X, y=y: model.fit(X, y))
        except ArgumentError as error:
            if limit is None:
                return f"{'asks: ' + str(error).rsplit('some ', 1)[-1].split(' s.')[0] + ' s':>24} "
            model.set_params(max_time=limit)
            (fitted, wall, cpu), star = timed(lambda model=model, X=X, y=y: model.fit(X, y)), "*"
        right.append(fitted.score(X_test, y_test))
        walls.append(wall)
        cpus.append(cpu)
    beta = f" {fitted.beta_:.0e}" if hasattr(fitted, "beta_") else ""
    return f"{100 * np.mean(right):6.2f}{star}{np.mean(cpus):7.1f}c{np.mean(walls):6.0f}w{beta:>7}  "


def main():
    models = (["gated", "ridge", "relu", "lasso"], {"nargs": "*"})
    numbers = {"rows": 1000, "splits": 1, "limit": float}
    args = options(__doc__, ("folders", {"nargs": "*"}), models=models, **numbers)
    warnings.simplefilter("ignore")
    names = ["logistic", *args.models]
    print(f"{'set':18} {'n':>5} {'d':>4} {'k':>3} " + " ".join(f"{name:>24}" for name in names), flush=True)
    for name, parts in sets(args.folders, args.splits):
        rows = [prepared(*part, args.rows, seed) for seed, part in enumerate(parts)]
        X, y = rows[0][:2]
        line = f"{name:18} {len(X):5} {X.shape[1]:4} {len(np.unique(y)):3} "
        print(line + "".join(measured(MODELS[model], rows, args.limit) for model in names), flush=True)


if __name__ == "__main__":
    main()
