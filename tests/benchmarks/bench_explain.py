"""Seconds of `explain`: of a whole model with its training rows, and of one row.

    python tests/benchmarks/bench_explain.py [--rows 1000] [--columns 20]

Wall (and processor) seconds, the least of three runs after a first one; the table has a column of categories.
"""

import warnings

import numpy as np
from sklearn.pipeline import make_pipeline
from timing import least, machine, options

import clifford_rand_nn as nn


def main() -> None:
    """Print a line for each model."""
    import pandas as pd

    asked = options(__doc__.splitlines()[0], rows=1000, columns=20)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((asked.rows, asked.columns - 1))).rename(columns="x{}".format)
    frame["city"] = rng.choice(["Oslo", "Bergen", "Rome"], size=asked.rows)
    value = frame["x0"] * (frame["city"] == "Rome") + np.abs(frame["x1"]) + 0.3 * rng.standard_normal(asked.rows)
    models = {
        "infinitely many gates, classes": (nn.ConvexNetworkClassifier(), value > value.median()),
        "infinitely many gates, numbers": (nn.ConvexNetworkRegressor(), value),
        "20 neurons, numbers": (nn.ConvexNetworkRegressor(n_neurons=20), value),
        "50 gates, classes": (nn.GatedReLUClassifier(n_gates=50, beta=0.01, random_state=0), value > value.median()),
    }
    machine()
    for title, (model, target) in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = make_pipeline(nn.TableEncoder(), model).fit(frame, target)
            y = np.asarray(target)
            str(nn.explain(fitted, rows=frame, targets=y))  # what is compiled once
            whole = least(lambda fitted=fitted, y=y: str(nn.explain(fitted, rows=frame, targets=y)))
            one = least(lambda fitted=fitted: str(nn.explain(fitted, frame.iloc[[0]], rows=frame)))
        shape = f"{asked.rows} x {asked.columns}"
        print(f"{title}, {shape}: the model {_said(whole)}, a row {_said(one)}")


def _said(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:.3f} s ({seconds[1]:.3f})"


if __name__ == "__main__":
    main()
