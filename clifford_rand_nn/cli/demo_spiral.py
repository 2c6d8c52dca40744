"""First part of the demo: the paper's spiral with cross-product gates and with Gaussian gates."""

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from clifford_rand_nn.estimators.gated import GatedReLUClassifier
from clifford_rand_nn.plots import save_figure, spiral_figure

__all__ = ["PAPER_BETA", "SPIRAL_COLUMNS", "SpiralFit", "draw_spiral", "fit_spiral", "spiral_row", "with_ones"]

PAPER_BETA = 1e-3  # in the paper's scale, a sum of squares: beta_p / (2n) in ours
SPIRAL_COLUMNS = ("gates", "patterns", "active", "train accuracy", "objective", "certified gap", "seconds")

_KINDS = {"cross-product": "cross", "Gaussian": "gaussian"}
_ACTIVE = 1e-4  # of the largest neuron: an interior-point solution has no exact zeros


class SpiralFit(NamedTuple):
    """A fitted pipeline, features to classes, and its seconds."""

    model: Any
    seconds: float

    @property
    def network(self) -> Any:
        """The estimator behind the column of ones."""
        return self.model[-1]


def fit_spiral(
    X: NDArray[np.float64], y: NDArray[Any], seed: int, n_gates: int, tell: Callable[[str], object]
) -> dict[str, SpiralFit]:
    """Fit ``n_gates`` gates of each kind."""

    def fit(gates: str, m: int) -> SpiralFit:
        network = GatedReLUClassifier(
            n_gates=m,
            gates=gates,
            beta=PAPER_BETA / (2 * len(X)),
            bias=False,
            fit_intercept=False,
            solver="cvxpy",  # so small a beta takes FISTA over 100 000 iterations, and an interior-point method ten
            tol=1e-5,
            random_state=seed,
        )
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the table
            model = make_pipeline(FunctionTransformer(with_ones), network).fit(X, y)
        return SpiralFit(model, time.perf_counter() - began)

    fits = {}
    for name, gates in _KINDS.items():
        fit(gates, 2)  # imports and compiles, so that the seconds below are of the fit alone
        tell(f"spiral: {n_gates} {name} gates")
        fits[name] = fit(gates, n_gates)
    return fits


def with_ones(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append the column of ones that makes a bias a weight like the others."""
    return np.column_stack([X, np.ones(len(X))])


def spiral_row(name: str, fit: SpiralFit, X: NDArray[np.float64], y: NDArray[Any]) -> list[str]:
    """Return the cells of one row of the table."""
    proof, size = fit.network.certificate_, np.linalg.norm(fit.network.coef_, axis=1)
    return [
        name,
        str(proof.n_patterns),
        str(np.count_nonzero(size > _ACTIVE * size.max())),
        f"{fit.model.score(X, y):.3f}",
        f"{proof.primal:.3e}",
        f"{proof.relative_gap:.0e}",
        f"{fit.seconds:.2f}",
    ]


def draw_spiral(
    path: Path, fits: Mapping[str, SpiralFit], X: NDArray[np.float64], y: NDArray[Any], resolution: int
) -> None:
    """Write the picture: one panel of decision regions for each kind of gates."""
    panels = []
    for name, fit in fits.items():
        proof, directions = fit.network.certificate_, fit.network.gates_.directions
        title = (
            f"{name} gates: {proof.n_patterns} patterns, train accuracy {fit.model.score(X, y):.3f}\n"
            f"objective {proof.primal:.3e}, certified gap {proof.relative_gap:.0e}"
        )
        lines = (directions[:2], directions[2])  # a gate through the origin of (x, 1) is a line of the plane
        panels.append((title, fit.model, lines))
    save_figure(spiral_figure(panels, X, y, resolution=resolution), path)
