"""Second part of the demo: the paper's spiral, the global optimum beside the paper's ways to approach it."""

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._typing import Array
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.datasets import spiral
from clifford_rand_nn.displays import save_figure
from clifford_rand_nn.displays.regions import spiral_figure
from clifford_rand_nn.estimators.lasso import CrossProductLassoClassifier
from clifford_rand_nn.estimators.relu import ConvexReLUClassifier
from clifford_rand_nn.gates.sampling import sample_gates
from clifford_rand_nn.solvers.stopping import raise_if_interrupted

PAPER_BETA = 1e-3  # in the paper's scale, a sum of squares: beta_p / (2n) in ours

# Neurons that count, of the largest: an interior-point solution has no exact zeros, and few weights from 1e-4 to 1e-8.
ACTIVE = 1e-6

_FEW = 10  # points on each arm of the spiral that is fitted first, to import and compile everything

_MEASURED = ("train accuracy", "objective", "above the optimum", "certified gap", "seconds")
SPIRAL_COLUMNS = ("network", "neurons", *_MEASURED)

_BEST = "every network"


class SpiralFit(NamedTuple):
    """A fitted classifier and its seconds."""

    model: Any
    seconds: float

    @property
    def proof(self) -> Certificate:
        """What is proved of it."""
        proof: Certificate = self.model.certificate_
        return proof

    @property
    def n_neurons(self) -> int:
        """Number of neurons that count, see `ACTIVE`; of a gated network the gates with weights or a bias."""
        network = self.model.network_
        if network.gates is not None:
            return int(network.n_neurons)
        size = np.linalg.norm(network.W1, axis=1) * np.abs(network.w2[:, 0])
        return int(np.count_nonzero(size > ACTIVE * size.max(initial=0.0)))

    def over(self) -> str:
        """Return short words for what the gap is about."""
        if not isinstance(self.proof.claim, NetworkClaim):
            return f"{self.proof.n_patterns:,} patterns, no cones"
        kind = self.proof.claim.family.kind
        what = "columns" if kind in ("cross", "neurons") else "patterns"
        return f"{'all ' if kind == 'all' else ''}{self.proof.n_patterns:,} {what}"


def fitted(model: Any, X: Array, y: NDArray[Any]) -> Any:
    """Return a fitted model; Ctrl-C ends the demo, also where a model returns the best so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in a table
        return raise_if_interrupted(model.fit(X, y))


def timed_fit(make: Callable[[Array], Any], X: Array, y: NDArray[Any]) -> SpiralFit:
    """Fit the estimator of ``make(X)``, first to a few points so that nothing is compiled later, then to all."""
    few, its_labels = spiral(_FEW)
    fitted(make(few), few, its_labels)
    began = time.perf_counter()
    model = fitted(make(X), X, y)
    return SpiralFit(model, time.perf_counter() - began)


def fit_spiral(
    X: Array, y: NDArray[Any], seed: int, n_gates: int, tell: Callable[[str], object]
) -> dict[str, SpiralFit]:
    """Fit the four networks, the best first; ``n_gates`` pairs and gates are sampled."""
    beta = PAPER_BETA / (2 * len(X))

    def pairs(subsample: int | None, solver: str) -> Callable[[Array], Any]:
        options: dict[str, Any] = {"penalty": "l2", "subsample": subsample, "solver": solver, "tol": 1e-6}
        return lambda rows: CrossProductLassoClassifier(beta=beta, bias="free", random_state=seed, **options)

    def sampled(method: str) -> Callable[[Array], Any]:
        def make(rows: Array) -> Any:
            gates = sample_gates(rows, n_gates, method, random_state=seed)
            return ConvexReLUClassifier(beta=beta, bias="free", gates=gates, solver="interior_point", tol=1e-6)

        return make

    networks: dict[str, Callable[[Array], Any]] = {
        _BEST: lambda rows: ConvexReLUClassifier(beta=beta, bias="free", gates="exhaustive", tol=1e-6),
        f"{n_gates} pairs": pairs(n_gates, "auto"),
        f"{n_gates} cross-product gates": sampled("cross"),
        f"{n_gates} Gaussian gates": sampled("gaussian"),
    }
    fits = {}
    for name, make in networks.items():
        tell(f"spiral: {name}")
        fits[name] = timed_fit(make, X, y)
    return fits


def spiral_row(name: str, fits: Mapping[str, SpiralFit], X: Array, y: NDArray[Any]) -> list[str]:
    """Return the cells of one row of the table."""
    fit = fits[name]
    return [
        name,
        str(fit.n_neurons),
        f"{fit.model.score(X, y):.3f}",
        f"{fit.proof.objective:.3e}",
        "–" if name == _BEST else _above(fit, fits),
        f"{fit.proof.relative_gap:.0e}",
        f"{fit.seconds:.2f}",
    ]


def spiral_notes(n: int) -> list[str]:
    """Return what stands under the table."""
    return [
        "The networks minimize the same objective: the mean squared error, and a penalty of the weights. The first is",
        "the best of all two-layer ReLU networks, of any width: none has an objective smaller by more than the gap,",
        "and this is proved. The others have neurons from a sample, as in the paper: lines through two points, or",
        "the sides (gates) of such lines or of random ones. Their gaps are about their samples; the column before",
        f"shows what the sample costs. The weight of the penalty is {PAPER_BETA / (2 * n):.3g}.",
    ]


def draw_spiral(path: Path, fits: Mapping[str, SpiralFit], X: Array, y: NDArray[Any], resolution: int) -> None:
    """Write the picture: a panel of decision regions for each network."""
    panels = []
    for name, fit in fits.items():
        place = "the global optimum" if name == _BEST else f"{_above(fit, fits)} above the optimum"
        title = f"{name}, train accuracy {fit.model.score(X, y):.3f}\nobjective {fit.proof.objective:.3g}, {place}"
        panels.append((title, fit.model))
    save_figure(spiral_figure(panels, X, y, resolution=resolution), path)


def _above(fit: SpiralFit, fits: Mapping[str, SpiralFit]) -> str:
    """Return by how much the objective of ``fit`` exceeds that of the best, as a percentage."""
    share = fit.proof.objective / fits[_BEST].proof.objective - 1
    return f"{share:,.0%}" if share >= 1 else f"{100 * share:.3g}%"
