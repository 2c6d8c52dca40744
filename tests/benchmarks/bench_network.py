"""Tables through the networks: everything chosen, and gated networks to a gap of 1e-6; run by hand.

    python tests/benchmarks/bench_network.py [--data FOLDER] [--only PART …] [--names NAME …]

default: `ConvexNetworkClassifier` on 2000 training rows of each table NAME.npz (X, y, split) of the folder, without one
made rows of 16 columns and 26 classes, 784 and 10, 768 and 2; with the number of eigendecompositions and of rounds of
the learned metric. sizes: the default regressor and classifier on 1000, 3000 and 20,000 rows of 20 made columns, some
with steps or heavy tails, beside scikit-learn's gradient boosting with defaults. squared: a classifier with 50 gates
and the squared loss on `penbased`, 10,992 × 16 with 10 classes.
path: 20 beta on it, in units of one fit at the least. softmax: 10,000 × 10 with 10 classes, 2000 × 50 with 20 classes,
and the training rows of `letter` (12,010 × 16, 26 classes), with norms (beta = 1e-3) and with squared norms
(beta_max/10, /100, /1000). Made rows take the place of penbased and letter without a folder. Rows of gated networks are
standardized, biases penalized as a constant column. The first fit, which loads compiled code, is not counted. Wall
seconds, and CPU seconds beside them: on a busy machine these tell more.
"""

import numpy as np
from data import halves, table, teacher
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from timing import chosen, machine, options, timed

import clifford_rand_nn.kernel_network.leave_one_out as leave_one_out
from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, gated_path, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver

_TOL = 1e-6
_ROWS = 2000
_MADE = ((16, 26), (784, 10), (768, 2))


def default(folder, names):
    sets = {f"made {d} × {classes}": teacher(_ROWS, d, classes) for d, classes in _MADE}
    if folder:
        sets = {name: halves(folder, name)[:2] for name in names}
    decompose, count = leave_one_out.eigh, [0]

    def counted(*args, **options):
        count[0] += 1
        return decompose(*args, **options)

    leave_one_out.eigh = counted
    X, y = next(iter(sets.values()))
    ConvexNetworkClassifier().fit(X[:300], y[:300])
    for name, (X, y) in sets.items():
        count[0] = 0
        model, wall, cpu = timed(lambda X=X, y=y: ConvexNetworkClassifier().fit(X[:_ROWS], y[:_ROWS]))
        size = f"{min(len(X), _ROWS)} × {X.shape[1]}, {len(model.classes_)} classes"
        print(f"{name:16s} {size}: {wall:.2f} s wall, {cpu:.2f} s cpu, {count[0]} eigendecompositions, ", end="")
        print(f"{model.metric_selection_.n_iter} iterations, leave-one-out score {model.loo_score_:.3f}", flush=True)


def sizes(_folder):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((22_000, 20))
    X[:, 10:14], X[:, 14:] = X[:, 10:14].round(), np.exp(X[:, 14:])
    y = np.sin(2 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) + (X[:, 3] > 0.5) + 0.5 * X[:, 10] + 0.5 * np.log(X[:, 15])
    y += 0.5 * rng.standard_normal(len(y))
    high = (y > np.median(y)).astype(int)
    for n in (200, 1000, 3000, 20_000):  # the first loads compiled code
        for ours, peer, targets in (
            (ConvexNetworkRegressor, HistGradientBoostingRegressor, y),
            (ConvexNetworkClassifier, HistGradientBoostingClassifier, high),
        ):
            fits = [timed(lambda M=M, n=n, t=targets: M().fit(X[:n], t[:n])) for M in (ours, peer)]
            said = [f"{cpu:.2f} s cpu, score {m.score(X[20_000:], targets[20_000:]):.3f}" for m, _, cpu in fits]
            print(f"{n:6d} rows, {ours.__name__}: {said[0]}; gradient boosting {said[1]}", flush=True)


def problem_of(X, y, loss, kind, gates=50):
    X = np.column_stack([(X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), np.ones(len(X))])
    drawn = sample_gates(X, gates, "gaussian", bias=False, random_state=0)
    on = np.eye(int(y.max()) + 1)[y.astype(int)]
    targets = on if loss == "softmax" else 2 * on - 1
    return kind(X, targets, X @ drawn.directions >= 0, 1.0, loss=loss, bias=False), drawn, X, targets


def shown(label, work):
    words, wall, cpu = timed(work)
    print(f"{label:58s} {wall:7.2f} s  cpu {cpu:7.2f} s  {words}", flush=True)
    return cpu


def fit(label, problem, beta):
    def work():
        result = AutoSolver(tol=_TOL, max_time=120.0).solve(problem)
        return f"{result.solver}, {result.n_iter} steps, gap {result.relative_gap:.1e}, {result.status}"

    problem.penalty.beta = beta
    shown(f"{label}, beta = {beta:.2g}", work)


def penbased(folder):
    return table(f"{folder}/penbased.npz")[:2] if folder else teacher(10_992, 16, 10)


def squared(folder):
    X, y = penbased(folder)
    fit("squared, norms", problem_of(X, y, "squared", GatedReLUProblem)[0], 1e-3)
    problem = problem_of(X, y, "squared", GatedRidgeProblem)[0]
    top = problem.beta_max()
    for share in (1e-2, 1e-4):
        fit("squared, squared norms", problem, share * top)


def path(folder):
    problem, gates, X, targets = problem_of(*penbased(folder), "squared", GatedReLUProblem)
    top = problem.beta_max()
    fit("  the solver alone at beta_max/1000", problem, 1e-3 * top)

    def walk(**grid):
        fits = gated_path(X, targets, gates, bias=False, tol=_TOL, **grid)
        return f"largest gap {fits.relative_gaps.max():.1e}, {fits.status}"

    once = shown("  one fit at beta_max/1000, with its problem", lambda: walk(betas=[1e-3 * top]))
    whole = shown("  a path of 20 beta down to it", lambda: walk(n_betas=20, eps=1e-3))
    print(f"  a path takes {whole / once:.1f} fits")


def softmax(folder):
    letter = halves(folder, "letter")[:2] if folder else teacher(12_010, 16, 26)
    for X, y in (teacher(10_000, 10, 10), teacher(2000, 50, 20), letter):
        name = f"softmax, {len(X)} × {X.shape[1]}, {len(np.unique(y))} classes"
        fit(f"{name}, norms", problem_of(X, y, "softmax", GatedReLUProblem)[0], 1e-3)
        problem = problem_of(X, y, "softmax", GatedRidgeProblem)[0]
        top = problem.beta_max()
        for share in (1e-1, 1e-2, 1e-3):
            fit(f"{name}, squared norms", problem, share * top)


if __name__ == "__main__":
    works = {"sizes": sizes, "squared": squared, "path": path, "softmax": softmax}
    data = (str, "folder of NPZ files; penbased.npz and letter.npz for gated networks")
    asked = options(__doc__, data=data, only=chosen(["default", *works]), names=["letter", "mnist10", "spambase"])
    machine()
    for part in asked.only:
        default(asked.data, asked.names) if part == "default" else works[part](asked.data)
