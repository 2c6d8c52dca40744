"""Lower bounds of the training optimum: ours, and the semidefinite relaxation of the copositive program.

    python tests/benchmarks/bench_rival_bound.py [--rows 75] [--beta 0.01] [--gates exhaustive] [--table FILE.npz]
        [--max-time 60]

The problem is that of two-layer ReLU networks with weight decay, penalized biases and the squared loss. Its copositive
program (Prakhya, Birdal, Yurtsever, "Convex formulations for training two-layer ReLU neural networks", ICLR 2025,
arXiv:2410.22311) is over the second moments M of the neurons' vectors (w, a, p), with p = (X w)_+ and q = p - X w:

    min (1/n) loss(M_pa + 1 t) + (beta/2) (tr M_ww + tr M_aa)   s.t.  M psd, M_pp, M_pq, M_qq >= 0, diag M_pq = 0.

Ours is `certify`: without options by the moments of directions in cells, with the gates "exhaustive" by branch and
bound over cones of directions. The optimum is between a bound and the objective of the network that is found.
"""

import numpy as np
from timing import options, timed


def relaxation(X, Y, beta):
    """Return the value of the relaxation on rows [X c]."""
    import cvxpy as cp

    (n, d), outputs = X.shape, Y.shape[1]
    M = cp.Variable((d + outputs + n, d + outputs + n), PSD=True)
    w, a, p = slice(0, d), slice(d, d + outputs), slice(d + outputs, None)
    pq = M[p, p] - M[p, w] @ X.T
    qq = pq - X @ M[w, p] + X @ M[w, w] @ X.T
    f = M[p, a] + np.ones((n, 1)) @ cp.Variable((1, outputs))
    objective = cp.sum_squares(f - Y) / (2 * n) + beta / 2 * (cp.trace(M[w, w]) + cp.trace(M[a, a]))
    program = cp.Problem(cp.Minimize(objective), [M[p, p] >= 0, pq >= 0, qq >= 0, cp.diag(pq) == 0])
    program.solve(solver="SCS", eps=1e-5, max_iters=20_000)
    return program.value, program.status


def data(table, rows):
    """Return standardized rows and targets: iris with three outputs, or a table of two classes."""
    from sklearn.datasets import load_iris

    if table is None:
        X, y = load_iris(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(X))
        X, Y = X[order], np.eye(3)[y[order]]
    else:
        arrays = np.load(table)
        X, Y = arrays["X"].astype(float), np.where(arrays["y"] > 0, 1.0, -1.0)[:, None]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[:rows], Y[:rows]


def main():
    """Print both bounds, the objective of the network, and seconds."""
    import clifford_rand_nn as nn

    table = (str, "an .npz file with X and y of two classes")
    asked = options(__doc__, rows=75, beta=1e-2, gates="auto", max_time=60.0, table=table)
    X, Y = data(asked.table, asked.rows)
    rng = np.random.default_rng(0)
    network = rng.normal(size=(20, X.shape[1])), np.zeros(20), rng.normal(size=(20, Y.shape[1])), np.zeros(Y.shape[1])
    given = {"loss": "squared", "beta": asked.beta, "gates": asked.gates, "max_time": asked.max_time}
    verdict, ours, _ = timed(lambda: nn.certify(network, X, Y, **given))
    (value, status), theirs, _ = timed(lambda: relaxation(np.column_stack([X, np.ones(len(X))]), Y, asked.beta))
    print(f"{len(X)} rows, {X.shape[1]} columns, {Y.shape[1]} outputs, beta {asked.beta:g}")
    print(f"objective of a network   {verdict.best_known_objective:.6g}")
    print(f"bound, any width         {verdict.lower_bound:.6g}  {ours:.1f} s")
    print(f"semidefinite relaxation  {value:.6g}  {theirs:.1f} s ({status})")


if __name__ == "__main__":
    main()
