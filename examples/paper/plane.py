"""Experiment ``plane``: which of the 2n patterns of n rows in the plane samplers find, and how long until all are seen.

``plane.csv`` has a row for each kind of rows, n, seed (one matrix X each) and sampler: patterns (2n), smallest (the
least probability of a pattern by the law, that of the angles for "gaussian"), never (patterns of probability 0), draws,
seen (patterns that occurred in them), uniform_chi2 and uniform_p (Pearson's statistic over its degrees of freedom, and
p-value, of "all patterns are equally likely"), law_chi2 and law_p (the same of the sampler's law), repeats, wait and
wait_deviation (draws until all patterns were seen, over the repeats; empty where theory says too many to draw),
expected_wait (theory; inf where a pattern is never seen), seconds.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice
from clifford_rand.errors import available, install_command
from examples.paper.about import write_about
from examples.paper.chambers import SAMPLERS, chambers, expected_wait, fit_of_law, law, visits, wait
from examples.paper.plane_report import plane_report, wait_lines
from examples.paper.rows import ResultRows
from examples.paper.settings import Settings

__all__ = ["DATA", "PLANE_COLUMNS", "clustered_rows", "gaussian_rows", "plane_row", "run"]

Array = NDArray[np.float64]

PLANE_COLUMNS = (
    "data",
    "n",
    "seed",
    "sampler",
    "patterns",
    "smallest",
    "never",
    "draws",
    "seen",
    "uniform_chi2",
    "uniform_p",
    "law_chi2",
    "law_p",
    "repeats",
    "wait",
    "wait_deviation",
    "expected_wait",
    "seconds",
)

_TITLES = {
    "gaussian": "Gaussian directions",
    "cross": "cross product, random side",
    "cross-on": "cross product, its row always on",
}
_VERSION = 1  # goes up whenever a change here changes a number
_SIZES = (5, 10, 20, 40, 80)
_DRAWS = 100  # for each pattern: a chi-square test then sees a tenth of a probability too much or too little
_REPEATS = 10  # waits for each X
_LONGEST = 100_000  # expected draws: beyond, one wait takes seconds, and for some X it would take for ever
_SHOWN = 16  # rows of the X whose chambers are drawn
_CLUSTERS, _SPREAD = 4, 0.05  # directions of clustered rows: their number, and their deviation in radians


def gaussian_rows(n: int, rng: np.random.Generator) -> Array:
    """Return X (n, 2) of independent normal entries, so that directions are uniform."""
    return rng.standard_normal((n, 2))


def clustered_rows(n: int, rng: np.random.Generator) -> Array:
    """Return X (n, 2) whose directions lie around four uniform ones, with a deviation of 0.05 radians."""
    center = rng.uniform(0, 2 * np.pi, _CLUSTERS)[np.arange(n) % _CLUSTERS]
    angle = center + _SPREAD * rng.standard_normal(n)
    size = np.exp(0.3 * rng.standard_normal(n))
    return np.asarray(size[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))


DATA: dict[str, Callable[[int, np.random.Generator], Array]] = {"random": gaussian_rows, "clustered": clustered_rows}


def run(settings: Settings) -> list[Path]:
    """Measure what is not in ``settings.out`` yet, and draw; return the files.

    Parameters
    ----------
    settings : Settings
        ``sizes`` are numbers of rows, ``methods`` names of samplers, ``sets`` kinds of rows ("random", "clustered");
        ``seed`` is the first of ``seeds``, one matrix X each.

    Raises
    ------
    ArgumentError
        There is no such sampler or kind of rows, or the folder holds results of other settings.
    """
    began = time.perf_counter()
    samplers, kinds = settings.methods or tuple(SAMPLERS), settings.sets or tuple(DATA)
    for name in samplers:
        check_choice(name, "methods", "plane", tuple(SAMPLERS))
    for name in kinds:
        check_choice(name, "sets", "plane", tuple(DATA))
    facts = {"experiment": "plane", "version": _VERSION}
    rows = ResultRows(settings.out / "plane.csv", PLANE_COLUMNS, ("data", "n", "seed", "sampler"), facts)
    if rows.rows:
        settings.say(f"found {len(rows.rows)} rows in {rows.path}")
    missing = [
        (kind, n, seed, sampler)
        for n in settings.sizes or _SIZES
        for kind in kinds
        for seed in range(settings.seed, settings.seed + settings.seeds)
        for sampler in samplers
        if not rows.has(data=kind, n=n, seed=seed, sampler=sampler)
    ]
    for kind, n, seed, sampler in settings.track(missing, description="plane", total=len(missing)):
        rows.append(**plane_row(kind, n, seed, sampler))
    written = [rows.path, settings.out / "plane.md"]
    lines = plane_report(rows.rows)
    written[1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    for line in lines:
        settings.say(line)
    if available("matplotlib"):
        written.append(_draw(settings, rows.rows, samplers, kinds[0]))
    else:
        settings.say(f"The picture is left out, it needs matplotlib: {install_command('matplotlib', 'app')}")
    written.append(write_about(settings, "plane", time.perf_counter() - began))
    return written


def plane_row(kind: str, n: int, seed: int, sampler: str) -> dict[str, Any]:
    """Return the row of one sampler on one X, which depends on ``kind``, ``n`` and ``seed`` alone.

    Examples
    --------
    >>> row = plane_row("random", 4, 0, "cross")
    >>> row["patterns"], row["seen"], row["never"], round(row["expected_wait"], 1)
    (8, 8, 0, 21.7)
    """
    began = time.perf_counter()
    X = DATA[kind](n, np.random.default_rng([seed, n]))
    rng = np.random.default_rng([seed, n, list(SAMPLERS).index(sampler)])
    probability = law(X, sampler)
    draws = _DRAWS * len(probability)
    counts = np.bincount(visits(X, draws, sampler, rng), minlength=len(probability))
    uniform, own = fit_of_law(counts, np.full(2 * n, 1 / (2 * n))), fit_of_law(counts, probability)
    expected = expected_wait(probability)
    waits = [wait(X, sampler, rng) for _ in range(_REPEATS)] if expected <= _LONGEST else []
    return {
        "data": kind,
        "n": n,
        "seed": seed,
        "sampler": sampler,
        "patterns": len(probability),
        "smallest": float(probability.min()),
        "never": int(np.count_nonzero(probability == 0)),
        "draws": draws,
        "seen": int(np.count_nonzero(counts)),
        "uniform_chi2": uniform[0],
        "uniform_p": uniform[1],
        "law_chi2": own[0],
        "law_p": own[1],
        "repeats": len(waits),
        "wait": float(np.mean(waits)) if waits else None,
        "wait_deviation": float(np.std(waits, ddof=1)) if waits else None,
        "expected_wait": expected,
        "seconds": round(time.perf_counter() - began, 4),
    }


def _draw(settings: Settings, rows: list[dict[str, str]], samplers: tuple[str, ...], kind: str) -> Path:
    """Draw visits and chambers of one X, and the waits of all."""
    from clifford_rand_nn.displays import save_figure
    from examples.paper.plots.panels import Visits, plane_figure

    X = DATA[kind](_SHOWN, np.random.default_rng([settings.seed, _SHOWN]))
    shown = []
    for sampler in samplers:
        counts = np.bincount(visits(X, 2 * _DRAWS * 2 * _SHOWN, sampler, settings.seed), minlength=2 * _SHOWN)
        title = f"{_TITLES[sampler]}\n{np.count_nonzero(counts)} of {2 * _SHOWN} patterns in {counts.sum():,} draws"
        shown.append(Visits(title, counts / counts.sum(), law(X, sampler)))
    borders, angles, _ = chambers(X)
    ways = np.rint(law(X, "cross-on") * 2 * _SHOWN)
    path = settings.out / "plane.png"
    save_figure(plane_figure(shown, borders, angles, ways, wait_lines(rows)), path)
    return path
