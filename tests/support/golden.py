"""Golden model files: small ones of every kind, with what their models say of new rows; all later versions load them.

    PYTHONPATH=.:tests python -m support.golden tests/clifford_rand_nn/golden/18

writes a set; docs/contributing.md says when. A set is never written again: its files are what people have on disk.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clifford_rand_nn import (
    BetaCV,
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    ConvexReLUClassifier,
    CrossProductLassoClassifier,
    CrossProductLassoRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    load_model,
    save_model,
)
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.tables.encoder import TableEncoder

METHODS = ("predict", "predict_proba", "decision_function", "predict_interval")
N, D, NEW = 14, 2, 5


def made() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of training, classes 0 to 2, and new rows."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((N, D)).round(3)
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5), (2 * rng.standard_normal((NEW, D))).round(3)


def frame(rows: np.ndarray) -> Any:
    """Return a table with every kind of column, made of rows; the last age is missing."""
    import pandas as pd

    age = 40 + 10 * rows[:, 0]
    age[-1] = np.nan
    where = np.array(["Oslo", "Bergen", "Tromsø"], dtype=object)[(rows[:, 1] > 0).astype(int) + (rows[:, 0] > 1)]
    days = pd.to_timedelta((100 * rows[:, 1]).round(), unit="D")
    columns = {"age": age, "city": where, "member": rows[:, 0] > rows[:, 1]}
    return pd.DataFrame(columns | {"joined": pd.Timestamp("2024-05-06") + days})


def models() -> dict[str, Callable[[], Any]]:
    """Return a fitted model of each kind, by name; those whose name has "table" take frames."""
    X, side, _ = made()
    words, real = np.array(["no", "yes", "maybe"])[side], np.abs(X[:, 0]) - X[:, 1]
    weights, fixed = np.linspace(0.5, 2, N), {"beta": 1e-2, "tol": 1e-6, "random_state": 0}
    gated = GatedReLUClassifier(3, **fixed)
    table, counts = TableEncoder(min_frequency=2), np.round(np.abs(3 * real))
    quantile = {"quantile": 0.8, "max_metric_iter": 0}
    many = np.vstack([X + 0.1 * k for k in range(5)])  # rows enough for ranks
    parts, loose = Shards([X[:9], X[9:]], [words[:9], words[9:]]), fixed | {"tol": 1e-3}
    return {
        "gated": lambda: gated.fit(X, words),
        "gated_regressor": lambda: GatedReLURegressor(3, bias="free", **fixed).fit(X, X, sample_weight=weights),
        "relu": lambda: ConvexReLUClassifier(3, loss="logistic", **fixed).fit(X, side > 0),
        "lasso": lambda: CrossProductLassoRegressor(subsample=12, **fixed).fit(X, real),
        "lasso_rows": lambda: CrossProductLassoRegressor(beta=1e-2, bias="free", penalty="l2").fit(X, real),
        "lasso_drawn": lambda: CrossProductLassoClassifier(subsample=9, random_state=0).fit(X, side > 0),
        "infinite": lambda: ConvexNetworkClassifier().fit(X, words),
        "infinite_binary": lambda: ConvexNetworkClassifier(loss="logistic", max_metric_iter=0).fit(X, side > 0),
        "infinite_regressor": lambda: ConvexNetworkRegressor(max_metric_iter=0).fit(X, real, sample_weight=weights),
        "infinite_noise": lambda: ConvexNetworkRegressor(max_metric_iter=0).fit(*_noisy()),
        "infinite_counts": lambda: ConvexNetworkRegressor(loss="poisson", max_metric_iter=0).fit(X, counts),
        "infinite_quantile": lambda: ConvexNetworkRegressor(loss="quantile", **quantile).fit(X, real),
        "infinite_ranked": lambda: ConvexNetworkRegressor(max_metric_iter=0).fit(np.exp(3 * X), real),
        "infinite_steps": lambda: ConvexNetworkRegressor(max_metric_iter=0).fit(many, np.sign(many).sum(axis=1)),
        "infinite_boxes": lambda: ConvexNetworkRegressor().fit(*_box()),
        "infinite_rates": lambda: ConvexNetworkRegressor().fit(*_checkers()),
        "infinite_learned": lambda: ConvexNetworkRegressor().fit(np.tile(X, (1, 2)) ** [1, 1, 2, 3], real),
        "infinite_wide": lambda: ConvexNetworkRegressor(max_metric_iter=0).fit(_wide(X), real),
        "few": lambda: ConvexNetworkClassifier(n_neurons=3).fit(X, words),
        "few_cross": lambda: ConvexNetworkRegressor(gates="row_spanned", n_neurons=2).fit(X, real),
        "search": lambda: BetaCV(gated, betas=[0.1, 0.01], cv=2).fit(X, side > 0),
        "table": lambda: make_pipeline(table, ConvexNetworkClassifier(max_metric_iter=0)).fit(frame(X), words),
        "table_search": lambda: BetaCV(make_pipeline(table, gated), betas=[0.1, 0.01], cv=2).fit(frame(X), side > 0),
        "sharded": lambda: GatedReLUClassifier(3, loss="logistic", class_weight="balanced", **loose).fit(parts),
        "sharded_infinite": lambda: ConvexNetworkClassifier(max_metric_iter=0).fit(parts),
        "sharded_regressor": lambda: ConvexNetworkRegressor(max_metric_iter=0).fit(Shards([X], [real])),
        "scaled": lambda: make_pipeline(StandardScaler(), GatedReLURegressor(3, **fixed)).fit(X, real),
    }


def _box() -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and a number that is high in two boxes of four."""
    rng = np.random.default_rng(22)
    X = rng.standard_normal((80, D)).round(3)
    return X, np.sign(X).prod(axis=1) + 0.2 * rng.standard_normal(80).round(3)


def _checkers() -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and a number by the fields of a checkerboard of two columns: its rates are learned."""
    X = np.random.default_rng(3).random((120, 4 * D)).round(3)
    return X, (np.floor(3 * X[:, 0]) + np.floor(3 * X[:, 1])) % 2


def _noisy() -> tuple[np.ndarray, np.ndarray]:
    """Return rows and targets whose noise varies."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (60, D)).round(3)
    return X, np.exp(2.5 * X[:, 0]) * rng.standard_normal(60).round(3)


def new_rows(name: str) -> Any:
    """Return new rows for a model."""
    new = made()[2]
    if "table" in name:
        return frame(new)
    if name == "infinite_rates":
        return np.tile(np.abs(new) % 1, (1, 4))
    return np.tile(new, (1, 2)) ** [1, 1, 2, 3] if name == "infinite_learned" else _wide(new) if "wide" in name else new


def said(model: Any, rows: Any) -> dict[str, Any]:
    """Return what a model says of rows, by method, as JSON can hold it exactly."""
    return {name: np.asarray(getattr(model, name)(rows)).tolist() for name in METHODS if hasattr(model, name)}


def _wide(rows: np.ndarray) -> Any:
    """Return sparse rows of so many columns that a network knows them by their products."""
    entries, columns = np.tile(rows, (1, 2)), np.tile([5, 700, 2000, 4096], len(rows))
    return csr_array((entries.ravel(), columns, np.arange(0, entries.size + 1, 4)), shape=(len(rows), 4097))


def main(folder: Path) -> None:
    """Write a set."""
    folder.mkdir(parents=True)
    values = {}
    for name, fit in models().items():
        path = folder / f"{name}.npz"
        save_model(fit(), path)
        values[name] = said(load_model(path), new_rows(name))
        print(f"{name}: {path.stat().st_size} bytes")
    (folder / "values.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
