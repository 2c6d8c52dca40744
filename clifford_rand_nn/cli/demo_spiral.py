"""Second part of the demo: the paper's spiral, the optimum beside the paper's ways to approach it, and a picture."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._typing import Array, ArrayLike
from clifford_rand.errors import require
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.datasets import spiral
from clifford_rand_nn.displays import save_figure
from clifford_rand_nn.displays.regions import DecisionRegionsDisplay
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
        panels.append((title, fit.model, None))
    save_figure(spiral_figure(panels, X, y, resolution=resolution), path)


def plot_decision_regions(
    ax: Any, model: Any, X: ArrayLike, y: ArrayLike, title: str = "", *, resolution: int = 500, gates: Any = None
) -> None:
    """Fill the regions that a classifier gives to each class, and mark the points X (n, 2) of each class y (n,).

    The grid has ``resolution`` points along each side. ``gates``, or directions (2, m) and offsets (m,), are drawn as
    thin lines. Raises ArgumentError if X has not two columns, or there are more than eight classes.

    >>> from matplotlib.figure import Figure
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, random_state=0).fit(X, y)
    >>> ax = Figure().subplots()
    >>> plot_decision_regions(ax, model, X, y, "20 gates", resolution=50)
    """
    data = as_real(X, "X", "plot_decision_regions")
    if data.ndim != 2 or data.shape[1] != 2:
        raise fail("X", "plot_decision_regions", "of shape (n, 2)", describe(f"shape {data.shape}"))
    lines = None if gates is None else tuple(gates)  # without the rows that span them
    drawn = DecisionRegionsDisplay.from_estimator(
        model, data, y, planes=lines, resolution=resolution, ax=ax, title=title, legend=False
    )
    drawn.ax_.set_aspect("equal")


def spiral_figure(
    panels: Sequence[tuple[str, Any, Any]],
    X: ArrayLike,
    y: ArrayLike,
    *,
    resolution: int = 600,
    lines: bool = False,
    columns: int = 2,
) -> Any:
    """Return a figure with one panel of decision regions for each ``(title, model, gates)``, ``columns`` in a row.

    With ``lines`` the gates' hyperplanes are drawn.

    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, random_state=0).fit(X, y)
    >>> figure = spiral_figure([("20 gates", model, None)], X, y, resolution=50)
    >>> len(figure.axes)
    1
    """
    require("matplotlib", extra="app", purpose="drawing")
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.08)
    across = min(columns, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(4.8 * across, 4.8 * down + 0.35), layout=layout)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.remove()
    for ax, (title, model, gates) in zip(axes, panels, strict=False):
        plot_decision_regions(ax, model, X, y, title, resolution=resolution, gates=gates if lines else None)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, [f"class {label}" for label in labels], loc="outside lower center", ncols=len(labels), frameon=False
    )
    return figure


def _above(fit: SpiralFit, fits: Mapping[str, SpiralFit]) -> str:
    """Return by how much the objective of ``fit`` exceeds that of the best, as a percentage."""
    share = fit.proof.objective / fits[_BEST].proof.objective - 1
    return f"{share:,.0%}" if share >= 1 else f"{100 * share:.3g}%"
