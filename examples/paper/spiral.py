"""Experiment ``spiral``: the paper's figure 1, the global optimum beside its approximations, and films of the path.

``spiral.csv`` has a row for each network and seed: method, seed, rows, gates (or pairs that were sampled), neurons,
beta and objective in our scale, paper_objective in the paper's (times 2n), above (the objective over that of the best
ReLU network, minus 1), gap (the certified relative one), over (what the gap is about), train_accuracy,
between_accuracy (on points of the arms between the training points), seconds (sampling and fit). Cells are empty where
nothing of the kind exists: AdamW minimizes another loss, the l1 norm of the weights is another penalty, and a gated
network is not a ReLU network.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice, describe, fail
from clifford_rand.errors import available, install_command
from clifford_rand_nn import spiral
from clifford_rand_nn.cli.demo_spiral import PAPER_BETA, SpiralFit
from examples.paper.about import write_about
from examples.paper.methods.adamw import AdamW
from examples.paper.rows import ResultRows
from examples.paper.settings import Settings
from examples.paper.spiral_networks import SPIRAL_NETWORKS, between_points, fit_network
from examples.paper.spiral_path import film_frames, pairs_path, path_rows, save_path_rows
from examples.paper.spiral_report import spiral_report

__all__ = ["ADAMW", "METHODS", "SPIRAL_COLUMNS", "adamw_row", "network_row", "run"]

Array = NDArray[np.float64]

SPIRAL_COLUMNS = (
    "method",
    "seed",
    "rows",
    "gates",
    "neurons",
    "beta",
    "objective",
    "paper_objective",
    "above",
    "gap",
    "over",
    "train_accuracy",
    "between_accuracy",
    "seconds",
)
METHODS = (*SPIRAL_NETWORKS, "adamw")

_RELU = ("lasso", "lasso-sampled", "relu-cross", "relu-gaussian", "relu-gaussian-printed")  # with l2 norms, as the best
_VERSION = 1  # goes up whenever a change here changes a number
_ROWS = 160  # the paper's
_PANELS = ("lasso", "lasso-sampled", "relu-cross", "relu-gaussian", "gated-cross", "gated-gaussian")  # first four: its
# All rows in a step, and 3,000 steps: with the 20 epochs and batches of its other experiments it learns no arm at all
# (0.60 of the training points). 3e-2 is added to its rates as the only one that fits every point.
ADAMW: dict[str, Any] = {"epochs": 3000, "rates": (1e-3, 1e-2, 3e-2)}


def run(settings: Settings, *, n_gates: int = 200, n_frames: int = 80, resolution: int = 700) -> list[Path]:
    """Fit the networks that are not in ``settings.out`` yet, draw their regions and the films; return the files.

    Parameters
    ----------
    settings : Settings
        ``sizes`` is empty for the paper's 160 points, or one even number; ``seed`` is the first of ``seeds``.
    n_gates : int
        Gates and pairs to sample.
    n_frames : int
        Pictures of a film.
    resolution : int
        Grid points along each side of a panel.

    Raises
    ------
    ArgumentError
        A size or method breaks its rule, or the folder holds results of other settings.
    """
    began = time.perf_counter()
    n, names = _checked(settings)
    X, y = spiral(n // 2)
    facts = {"experiment": "spiral", "version": _VERSION, "rows": n, "gates": n_gates, "adamw": str(ADAMW)}
    rows = ResultRows(settings.out / "spiral.csv", SPIRAL_COLUMNS, ("method", "seed"), facts)
    if rows.rows:
        settings.say(f"found {len(rows.rows)} rows in {rows.path}")
    drawn = available("matplotlib")
    if not drawn:
        settings.say(f"Pictures are left out, they need matplotlib: {install_command('matplotlib', 'app')}")
    fits = _measure(settings, names, X, y, n_gates, rows)
    written = [rows.path, settings.out / "spiral.md"]
    lines = spiral_report(rows.rows, n_gates)
    written[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    for line in lines:
        settings.say(line)
    written += _draw(settings, [name for name in _PANELS if name in names], fits, X, y, n_gates, resolution, drawn)
    if "lasso" in names or "lasso-sampled" in names:
        written += _film(settings, names, X, y, n_gates, n_frames, drawn)
    written.append(write_about(settings, "spiral", time.perf_counter() - began, {"gates": n_gates, "frames": n_frames}))
    return written


def _checked(settings: Settings) -> tuple[int, tuple[str, ...]]:
    if len(settings.sizes) > 1 or any(size % 2 or not 4 <= size <= 208 for size in settings.sizes):
        raise fail("sizes", "spiral", "one even number of points from 4 to 208", settings.sizes)
    names = settings.methods or METHODS
    for name in names:
        check_choice(name, "methods", "spiral", METHODS)
    if "adamw" in names and not available("torch"):
        settings.say(f"adamw is left out, it needs torch: {install_command('torch', 'torch')}")
        names = tuple(name for name in names if name != "adamw")
        if not names:
            raise fail("methods", "spiral", "such that one is left", describe("adamw, without torch"))
    # the best network first: the objectives of the others are compared with it
    return (settings.sizes or (_ROWS,))[0], tuple(name for name in METHODS if name in names)


def _measure(
    settings: Settings, names: Sequence[str], X: Array, y: NDArray[Any], n_gates: int, rows: ResultRows
) -> dict[str, SpiralFit]:
    """Add a row for every network and seed that has none; return the fits of the first seed that were made for it."""
    first = settings.seed
    wanted = [
        (name, seed)
        for name in names
        for seed in range(first, first + settings.seeds)
        if seed == first or name not in SPIRAL_NETWORKS or SPIRAL_NETWORKS[name].random
    ]
    missing = [(name, seed) for name, seed in wanted if not rows.has(method=name, seed=_seed(name, seed))]
    fits: dict[str, SpiralFit] = {}
    for name, seed in settings.track(missing, description="spiral", total=len(missing)):
        if name == "adamw":
            rows.append(**adamw_row(X, y, n_gates, seed))
            continue
        fit = fit_network(name, X, y, n_gates, seed)
        if seed == first:
            fits[name] = fit
        best = next((float(row["objective"]) for row in rows.rows if row["method"] == "optimum"), None)
        rows.append(**network_row(name, fit, X, y, n_gates, _seed(name, seed), best))
    return fits


def _seed(name: str, seed: int) -> int | None:
    """Return the seed, None for what has no randomness."""
    return seed if name not in SPIRAL_NETWORKS or SPIRAL_NETWORKS[name].random else None


def network_row(
    name: str, fit: SpiralFit, X: Array, y: NDArray[Any], n_gates: int, seed: int | None, best: float | None
) -> dict[str, Any]:
    """Return the row of a fitted network; ``best`` is the objective of the best ReLU network, if it is known."""
    objective = fit.proof.objective
    between, labels = between_points(len(X) // 2)
    return {
        "method": name,
        "seed": seed,
        "rows": len(X),
        "gates": n_gates if SPIRAL_NETWORKS[name].random else None,
        "neurons": fit.n_neurons,
        "beta": fit.proof.beta,
        "objective": objective,
        "paper_objective": 2 * len(X) * objective,
        "above": objective / best - 1 if best and name in _RELU else None,
        "gap": fit.proof.relative_gap,
        "over": fit.over(),
        "train_accuracy": float(fit.model.score(X, y)),
        "between_accuracy": float(fit.model.score(between, labels)),
        "seconds": round(fit.seconds, 4),
    }


def adamw_row(X: Array, y: NDArray[Any], n_gates: int, seed: int) -> dict[str, Any]:
    """Return the row of AdamW: of its learning rates the one with the best training accuracy, in the time of all."""
    between, labels = between_points(len(X) // 2)
    method = AdamW(n_neurons=n_gates, batch=len(X), **ADAMW)
    found = []
    began = time.perf_counter()
    for rate in method.grid:
        model = method.fit(X, (y > 0).astype(np.int64), rate, seed)
        found.append((_accuracy(model.decision, X, y), _accuracy(model.decision, between, labels)))
    seconds = time.perf_counter() - began
    train, inside = max(found, key=lambda pair: pair[0])
    row: dict[str, Any] = dict.fromkeys(SPIRAL_COLUMNS)
    return row | {
        "method": "adamw",
        "seed": seed,
        "rows": len(X),
        "neurons": n_gates,
        "train_accuracy": train,
        "between_accuracy": inside,
        "seconds": round(seconds, 4),
    }


def _accuracy(decision: Callable[[Array], Array], X: Array, y: NDArray[Any]) -> float:
    return float(np.mean((decision(X) > 0) == (y > 0)))


def _draw(
    settings: Settings,
    names: Sequence[str],
    fits: dict[str, SpiralFit],
    X: Array,
    y: NDArray[Any],
    n_gates: int,
    resolution: int,
    drawn: bool,
) -> list[Path]:
    """Draw the regions of the first seed; networks that an earlier run measured are fitted again."""
    if not (drawn and names):
        return []
    from clifford_rand_nn.displays import save_figure
    from clifford_rand_nn.displays.regions import spiral_figure

    panels = []
    for name in names:
        fit = fits.get(name) or fit_network(name, X, y, n_gates, settings.seed)
        label = SPIRAL_NETWORKS[name].label.format(m=n_gates)
        title = f"{label}\nobjective {2 * len(X) * fit.proof.objective:.3g}, gap {fit.proof.relative_gap:.0e}"
        panels.append((title, fit.model))
    path = settings.out / "spiral.png"
    save_figure(spiral_figure(panels, X, y, resolution=resolution, columns=3 if len(panels) > 4 else 2), path)
    return [path]


def _film(
    settings: Settings,
    names: Sequence[str],
    X: Array,
    y: NDArray[Any],
    n_gates: int,
    n_frames: int,
    drawn: bool,
) -> list[Path]:
    """Follow the path of all pairs and of a sample; write the table of both and a film of each."""
    written, table = [settings.out / "spiral_path.csv"], []
    for name, subsample in (("lasso", None), ("lasso-sampled", n_gates)):
        if name not in names:
            continue
        path = pairs_path(X, y, n_frames, subsample=subsample, seed=settings.seed)
        label = "all pairs" if subsample is None else f"{subsample} pairs"
        rows = path_rows(label, path, X, y)
        table += rows
        turns = 0 if path.breakpoints is None else len(path.breakpoints)
        settings.say(
            f"path of {label}: {len(path)} of its beta, {turns} breakpoints, beta = {rows[0]['paper_beta']:.3g} to "
            f"{PAPER_BETA:g} in the paper's scale, gaps ≤ {path.relative_gaps.max():.0e} {path.scope}"
        )
        if drawn:
            from examples.paper.plots.animation import save_regions_film

            file = settings.out / f"spiral_path_{'all' if subsample is None else 'sampled'}"
            written.append(save_regions_film(file, film_frames(label, path, rows), X, y))
    save_path_rows(written[0], table)
    return written
