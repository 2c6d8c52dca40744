"""First part of the demo: the paper's spiral, the global optimum beside the paper's ways to approach it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.experiments.spiral_networks import ACTIVE, PAPER_BETA, SpiralFit, fit_network
from clifford_rand_nn.plots import save_figure, spiral_figure

__all__ = ["SPIRAL_COLUMNS", "SpiralFit", "draw_spiral", "fit_spiral", "spiral_notes", "spiral_row"]

SPIRAL_COLUMNS = (
    "network",
    "neurons",
    "train accuracy",
    "objective",
    "above the optimum",
    "certified gap",
    "over",
    "seconds",
)

_BEST = "every network"
_HIDDEN = "all pairs"  # of the table, not of the picture: it looks like the best
_NETWORKS = {
    _BEST: "optimum",
    _HIDDEN: "lasso",
    "{m} pairs": "lasso-sampled",
    "{m} cross-product gates": "relu-cross",
    "{m} Gaussian gates": "relu-gaussian",
}


def fit_spiral(
    X: NDArray[np.float64], y: NDArray[Any], seed: int, n_gates: int, tell: Callable[[str], object]
) -> dict[str, SpiralFit]:
    """Fit the five networks, the best first; ``n_gates`` pairs and gates are sampled."""
    fits = {}
    for name, kind in _NETWORKS.items():
        name = name.format(m=n_gates)
        tell(f"spiral: {name}")
        fits[name] = fit_network(kind, X, y, n_gates, seed)
    return fits


def spiral_row(name: str, fits: Mapping[str, SpiralFit], X: NDArray[np.float64], y: NDArray[Any]) -> list[str]:
    """Return the cells of one row of the table."""
    fit = fits[name]
    return [
        name,
        str(fit.n_neurons),
        f"{fit.model.score(X, y):.3f}",
        f"{fit.proof.primal:.3e}",
        "–" if name == _BEST else _above(fit, fits),
        f"{fit.proof.relative_gap:.0e}",
        fit.over(),
        f"{fit.seconds:.2f}",
    ]


def spiral_notes(n: int) -> list[str]:
    """Return what stands under the table."""
    return [
        f"Squared loss, beta = {PAPER_BETA / (2 * n):.3g} (the paper's {PAPER_BETA:g} on sums of squares).",
        "The first row's gap is a proof about every two-layer ReLU network, of any width: none has an objective",
        "smaller by more than this share. The other gaps are each about the network's own family, named beside it.",
        "Pairs: neurons whose line passes through two points, the paper's dictionary, all of them or a sample.",
        "Gates: neurons with the activation pattern of a sampled line, through two points or a random one.",
        f"Neurons: those above {ACTIVE:g} of the largest. Their biases and the intercept are not penalised.",
    ]


def draw_spiral(
    path: Path, fits: Mapping[str, SpiralFit], X: NDArray[np.float64], y: NDArray[Any], resolution: int
) -> None:
    """Write the picture: a panel of decision regions for each network but the dictionary of all pairs."""
    panels = []
    for name, fit in fits.items():
        if name == _HIDDEN:
            continue
        place = "the global optimum" if name == _BEST else f"{_above(fit, fits)} above the optimum"
        title = f"{name}, train accuracy {fit.model.score(X, y):.3f}\nobjective {fit.proof.primal:.3g}, {place}"
        panels.append((title, fit.model, None))
    save_figure(spiral_figure(panels, X, y, resolution=resolution), path)


def _above(fit: SpiralFit, fits: Mapping[str, SpiralFit]) -> str:
    """Return by how much the objective of ``fit`` exceeds that of the best, as a percentage."""
    share = fit.proof.primal / fits[_BEST].proof.primal - 1
    return f"{share:,.0%}" if share >= 1 else f"{100 * share:.3g}%"
