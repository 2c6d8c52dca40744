"""Draw the six displays of the library from made data, in a second or two.

python -m examples.displays [--out FILE]
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand_nn import (
    CalibrationDisplay,
    CertificateDisplay,
    ConvergenceDisplay,
    ConvexNetworkClassifier,
    DecisionRegionsDisplay,
    GatedReLUClassifier,
    LearningCurveDisplay,
    RegularizationPathDisplay,
    lasso_path,
)
from clifford_rand_nn.displays import save_figure


def made_rows(n: int) -> tuple[Any, Any]:
    """Return n rows of two columns and their classes: inside of a tilted square or outside, a tenth at random.

    Examples
    --------
    >>> X, y = made_rows(100)
    >>> X.shape, np.unique(y).tolist()
    ((100, 2), ['inside', 'outside'])
    """
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (n, 2))
    inside = np.abs(X).sum(axis=1) < 0.8
    inside[rng.random(n) < 0.1] ^= True
    return X, np.where(inside, "inside", "outside")


def draw() -> Any:
    """Return the figure."""
    from matplotlib.figure import Figure

    X, y = made_rows(240)
    figure = Figure(figsize=(11, 7.2), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    few = ConvexNetworkClassifier(gates="row_spanned", n_neurons=6).fit(X, y)
    DecisionRegionsDisplay.from_estimator(few, X, y, ax=axes[0], title="regions, planes, the rows that span them")
    signs = np.where(y == "inside", 1.0, -1.0)
    with_constant = np.column_stack([X, np.ones(len(X))])  # biases inside the norm
    path = lasso_path(with_constant[:160], signs[:160], bias=False, subsample=400, random_state=0, n_betas=25)
    RegularizationPathDisplay.from_path(path, with_constant[160:], signs[160:], ax=axes[1])
    gated = GatedReLUClassifier(n_gates=60, beta=1e-3, random_state=0, solver="fista").fit(X, y)
    ConvergenceDisplay.from_estimator(gated, ax=axes[2])
    CertificateDisplay.from_estimator(gated, ax=axes[3])
    network = ConvexNetworkClassifier().fit(X, y)
    CalibrationDisplay.from_leave_one_out(network, y, n_bins=6, ax=axes[4])
    LearningCurveDisplay.from_leave_one_out(network, X, y, n_draws=5, ax=axes[5])
    return figure


def main() -> None:
    """Save the figure."""
    parser = argparse.ArgumentParser(prog="python -m examples.displays", description="Draw the displays.")
    parser.add_argument("--out", type=Path, default=Path("displays.png"), help="file of the picture (%(default)s)")
    save_figure(draw(), parser.parse_args().out)


if __name__ == "__main__":
    main()
