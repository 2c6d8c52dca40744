"""Tall tables and many classes: seconds of gated networks to a gap of 1e-6, one fit each, and a path of 20 beta.

    python tests/benchmarks/bench_tall.py [--data FOLDER] [--only squared softmax path]

squared: a classifier with 50 gates and the squared loss on `penbased`, 10,992 × 16 with 10 classes. path: 20 beta on
it, in units of one fit at the least. softmax: 10,000 × 10 with 10 classes, 2000 × 50 with 20 classes,
and the training rows of `letter` (12,010 × 16, 26 classes), with norms (beta = 1e-3) and with squared norms
(beta_max/10, /100, /1000). `FOLDER` has penbased.npz and letter.npz (X, y, split); without it made rows take
their place. Rows are standardized, biases penalized as a constant column. Wall seconds, and CPU seconds beside them:
on a busy machine these tell more.
"""

from pathlib import Path

import numpy as np
from timing import machine, options, table, timed

from clifford_rand_nn import gated_path, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver

_TOL = 1e-6


def made(n, d, classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = np.maximum(X @ rng.standard_normal((d, 30)), 0) @ rng.standard_normal((30, classes))
    return X, np.argmax(scores / scores.std() * 3 + rng.gumbel(size=scores.shape), axis=1)


def rows_of(folder, name, training, n, d, classes):
    """Rows and labels of a table, or made ones of its size."""
    if folder is None:
        return made(n, d, classes)
    X, y, split = table(Path(folder) / f"{name}.npz")
    return (X[split], y[split]) if training else (X, y)


def problem_of(X, y, loss, kind, gates=50):
    X = np.column_stack([(X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), np.ones(len(X))])
    drawn = sample_gates(X, gates, "gaussian", bias=False, rng=0)
    on = np.eye(int(y.max()) + 1)[y]
    targets = on if loss == "softmax" else 2 * on - 1
    return kind(X, targets, X @ drawn.directions >= 0, 1.0, loss=loss, bias=False), drawn, X, targets


def shown(label, work):
    found, wall, cpu = timed(work)
    print(f"{label:58s} {wall:7.2f} s  cpu {cpu:7.2f} s  {found}", flush=True)
    return cpu


def fit(label, problem):
    def work():
        found = AutoSolver(tol=_TOL, max_time=120.0).solve(problem)
        return f"{found.solver}, {found.n_iter} steps, gap {found.relative_gap:.1e}, {found.status}"

    return shown(label, work)


def squared(folder, path):
    X, y = rows_of(folder, "penbased", False, 10992, 16, 10)
    for kind, shares in ((GatedReLUProblem, [None]), (GatedRidgeProblem, [1e-2, 1e-4])):
        problem, gates, rows, targets = problem_of(X, y, "squared", kind)
        for share in shares:
            problem.penalty.beta = 1e-3 if share is None else share * problem.beta_max()
            once = fit(f"squared, {kind.__name__}, n = {len(X)}, beta = {problem.beta:.2g}", problem)
    if path:
        problem, gates, rows, targets = problem_of(X, y, "squared", GatedReLUProblem)
        top = problem.beta_max()
        problem.penalty.beta = 1e-3 * top
        fit("  the solver alone at beta_max/1000", problem)

        def walk(**grid):
            found = gated_path(rows, targets, gates, bias=False, tol=_TOL, **grid)
            return f"largest gap {found.relative_gaps.max():.1e}, {found.status}"

        once = shown("  one fit at beta_max/1000, with its problem", lambda: walk(betas=[1e-3 * top]))
        path = shown("  a path of 20 beta down to it", lambda: walk(n_betas=20, eps=1e-3))
        print(f"  a path takes {path / once:.1f} fits")


def softmax(folder):
    tables = {
        "10,000 x 10, 10 classes": made(10_000, 10, 10),
        "2000 x 50, 20 classes": made(2000, 50, 20),
        "letter" if folder else "12,010 x 16, 26 classes": rows_of(folder, "letter", True, 12_010, 16, 26),
    }
    for name, (X, y) in tables.items():
        problem = problem_of(X, y, "softmax", GatedReLUProblem)[0]
        problem.penalty.beta = 1e-3
        fit(f"softmax, {name}, norms, beta = 1e-3", problem)
        problem = problem_of(X, y, "softmax", GatedRidgeProblem)[0]
        top = problem.beta_max()
        for share in (1e-1, 1e-2, 1e-3):
            problem.penalty.beta = share * top
            fit(f"softmax, {name}, squared norms, beta = {problem.beta:.2g}", problem)


if __name__ == "__main__":
    asked = options(
        __doc__,
        data=(str, "folder of penbased.npz and letter.npz"),
        only=(["squared", "softmax", "path"], {"nargs": "*"}),
    )
    machine()
    if {"squared", "path"} & set(asked.only):
        squared(asked.data, "path" in asked.only)
    if "softmax" in asked.only:
        softmax(asked.data)
