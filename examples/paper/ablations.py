"""Experiment 4: what each part of the convex network does: one factor at a time around one base.

The base is the network of the paper: 50 gates by cross products in an SJLT sketch of r = 100 (exact products if
d ≤ 100), no bias, squared loss. Writes ``ablations.csv``, ``ablations.md``, ``ablations.png``, ``ablations.txt``.
Columns of the CSV:

set, n, seed, variant
    The trial and the variant; one row for each. Variants that begin with "small" are compared among themselves, at
    200 rows: the program with cones is too slow for more.
d, n_test
    Features, and rows of the test half.
value, place, points
    Share of beta_max chosen on the validation rows, its place in the grid from 1, and how many points were fitted.
validation_accuracy, train_accuracy, test_accuracy
    Of that share when fitted to four fifths; of the final model, fitted to all n rows.
beta, objective, gap
    Of the final model. Objectives are at the beta chosen, and of the variant's own loss.
n_gates, n_active
    Distinct patterns, and how many have weights (neurons, for ReLU networks).
seconds, final_seconds
    Gates, grid and final fit; the final fit alone.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clifford_rand._checks import check_choice
from examples.paper.ablations_report import ablations_panels, ablations_report
from examples.paper.comparison import check_sizes, choice_cells, load_sets, run_facts, write_report
from examples.paper.methods.base import Method
from examples.paper.methods.convex import ConvexGated
from examples.paper.methods.relu import ConvexReLU, DecomposedReLU
from examples.paper.plots.variants import variant_figure
from examples.paper.protocol import Binary, Trial, choose, draw, warm_up
from examples.paper.rows import ResultRows
from examples.paper.settings import Settings

__all__ = ["COLUMNS", "FACTORS", "KEY", "VARIANTS", "make_variant", "measure", "run"]

KEY = ("set", "n", "seed", "variant")
COLUMNS = (
    *KEY, "d", "n_test", "value", "place", "points", "validation_accuracy", "train_accuracy", "test_accuracy", "beta",
    "objective", "gap", "n_gates", "n_active", "seconds", "final_seconds",
)  # fmt: skip
_SIZE, _SMALL = 2000, 200
_DIM = 100  # of the sketch, as in the paper
_SHARE = 0.5  # of the fitted rows that may lie on an exact plane; beyond, the patterns are coin flips

# Factor -> label in its panel -> variant. Every factor but the last has the base.
FACTORS: dict[str, dict[str, str]] = {
    "sketch size": {"r = 25": "r=25", "r = 50": "r=50", "r = 100": "base", "r = 200": "r=200", "exact": "exact"},
    "sketch": {"SJLT": "base", "SparseSign": "sparse_sign", "SRHT": "srht", "Gaussian": "gaussian-sketch"},
    "gates": {
        "10": "m=10", "25": "m=25", "50": "base", "100": "m=100", "200": "m=200", "500": "m=500",
    },
    "rule": {
        "independent": "base", "simplex": "simplex", "leverage": "leverage", "volume": "volume", "polished": "polished",
        "25 and their mirror images": "mirror",
    },
    "bias": {"no": "base", "yes": "bias"},
    "loss": {"squared": "base", "logistic": "logistic"},
    "penalty": {"norms": "base", "squared norms": "ridge", "squared norms, 500 gates": "ridge-500"},
    "ReLU, 200 rows": {"gated": "small-gated", "decomposed": "small-decomposed", "ReLU": "small-relu"},
}  # fmt: skip

_OPTIONS: dict[str, dict[str, Any]] = {
    "base": {},
    **{f"r={r}": {"sketch_dim": r} for r in (25, 50, 200)},
    "exact": {"sketch_dim": None},
    "sparse_sign": {"sketch": "sparse_sign"},
    "srht": {"sketch": "srht"},
    "gaussian-sketch": {"sketch": "gaussian"},
    **{f"m={m}": {"n_gates": m} for m in (10, 25, 100, 200, 500)},
    **{rule: {"gates": rule} for rule in ("simplex", "leverage", "volume", "polished")},
    "mirror": {"n_gates": 25, "mirror": True},
    "bias": {"bias": True},
    "logistic": {"loss": "logistic"},
    "ridge": {"penalty": "ridge"},
    "ridge-500": {"penalty": "ridge", "n_gates": 500},
}
VARIANTS = (*_OPTIONS, "small-gated", "small-decomposed", "small-relu")


def make_variant(name: str, d: int, n: int, max_time: float) -> Method | None:
    """Return the method of a variant for n rows of d features, or None where there is none such.

    Examples
    --------
    >>> make_variant("r=200", 71, 2000, 60.0) is None, make_variant("r=200", 384, 2000, 60.0).sketch_dim
    (True, 200)
    """
    small: dict[str, Callable[[], Method]] = {
        "small-gated": lambda: ConvexGated("cross", loss="squared", max_time=max_time, name=name),
        "small-decomposed": lambda: DecomposedReLU("cross", loss="squared", max_time=max_time, name=name),
        "small-relu": lambda: ConvexReLU(max_time=max_time / 6),  # five points of the grid, and the final fit
    }
    if name in small:
        return small[name]()
    options = {"gates": "cross", "sketch_dim": _DIM if d > _DIM else None, "loss": "squared", **_OPTIONS[name]}
    r = options["sketch_dim"]
    if "sketch_dim" in _OPTIONS[name] and (d <= _DIM if r is None else r >= d):
        return None  # exact is the base there, or the sketch would be no smaller than the data
    if "sketch" in _OPTIONS[name] and r is None:
        return None
    if (d if r is None else r) > _SHARE * 0.8 * n:
        return None
    return ConvexGated(options.pop("gates"), max_time=max_time, name=name, **options)


def run(settings: Settings) -> list[Path]:
    """Measure every variant on every trial that is not in the table yet; return the files written.

    Raises
    ------
    ArgumentError
        The data, a size or a variant is refused, or ``out`` holds results that were made otherwise.
    """
    began = time.perf_counter()
    sets = load_sets(settings, "ablations")
    halves = [Binary.of(data) for data in sets]
    check_sizes(settings, halves, "ablations")
    for name in settings.methods:
        check_choice(name, "methods", "ablations", VARIANTS)
    names = tuple(dict.fromkeys(settings.methods or VARIANTS))
    texts = {name: method.describe() for name in names if (method := make_variant(name, 10**4, 10**6, 60.0))}
    facts = {**run_facts(settings, sets, ()), "methods": texts}
    table = ResultRows(settings.out / "ablations.csv", COLUMNS, KEY, facts)
    for data in halves:
        _measure_set(settings, data, names, table)
    return [table.path, *_report(settings, table, time.perf_counter() - began)]


def _measure_set(settings: Settings, data: Binary, names: tuple[str, ...], table: ResultRows) -> None:
    """Add the missing rows of one set."""
    half, d = data.X.shape
    wanted = []
    for seed in range(settings.seeds):
        for n in sorted(settings.sizes or (min(_SIZE, half),)):
            wanted += [(seed, n, name) for name in names if not name.startswith("small")]
        wanted += [(seed, min(_SMALL, half), name) for name in names if name.startswith("small")]
    made = {(n, name): make_variant(name, d, n, settings.max_time) for _, n, name in wanted}
    wanted = [(seed, n, name) for seed, n, name in wanted if made[n, name] is not None]
    missing = [(s, n, v) for s, n, v in wanted if not table.has(set=data.name, n=n, seed=s, variant=v)]
    if len(missing) < len(wanted):
        settings.say(f"{data.name}: {len(wanted) - len(missing)} of {len(wanted)} were found in {table.path}")
    for method in {name: made[n, name] for _, n, name in missing}.values():
        assert method is not None
        warm_up(method, d)
    for seed, n, name in settings.track(missing, description=data.name, total=len(missing)):
        method = made[n, name]
        assert method is not None
        cells = measure(method, draw(data, n, seed), data, settings.max_time)
        table.append(set=data.name, n=n, seed=seed, variant=name, **cells)


def measure(method: Method, trial: Trial, data: Binary, max_time: float) -> dict[str, Any]:
    """Choose beta on the trial, then score on the test half; return the cells of the row."""
    choice = choose(method, trial, max_time)
    model: Any = choice.model
    return {
        **choice_cells(choice, trial, data),
        "beta": f"{model.beta:.8g}",
        "objective": f"{model.objective:.8g}",
        "n_gates": len(model.gates),
        "n_active": model.n_active,
        "final_seconds": f"{choice.final_seconds:.4f}",
    }


def _report(settings: Settings, table: ResultRows, seconds: float) -> list[Path]:
    """Write the summary, the picture and the text, from all rows of the table."""
    figures = {"ablations": lambda: variant_figure(ablations_panels(table.rows, FACTORS), columns=2)}
    facts = {"measurements": len(table.rows), "max_time": f"{settings.max_time:g} s for each variant and trial"}
    return write_report(settings, "ablations", ablations_report(table.rows, FACTORS), figures, facts, seconds)
