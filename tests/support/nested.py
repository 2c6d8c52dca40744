"""Fits in several jobs at once, each with threads of ours and of BLAS, as on a machine of so many processors.

PROCESSORS=8 PYTHONPATH=.:tests python -m support.nested {loky,threading} JOBS ROUNDS
"""

import multiprocessing
import os
import sys
import warnings

import numpy as np


def as_if():
    """Let this process have the processors that the environment says."""
    count = int(os.environ["PROCESSORS"])
    os.sched_getaffinity = lambda pid: set(range(count))


def fit(seed):
    """Fit networks and multiply large batches: all that shares its rows among threads."""
    from clifford_rand import cross_many
    from clifford_rand_nn import GatedReLURegressor

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4000, 12))
    y = np.abs(X[:, 0]) + X[:, 1]
    GatedReLURegressor(20, random_state=seed, beta=1e-2, solver="fista", tol=1e-4, max_iter=60).fit(X, y)
    index = np.array([rng.permutation(4000)[:11] for _ in range(500)])
    cross_many(X, np.tile(index, (10, 1)))
    _ = rng.standard_normal((900, 900)) @ rng.standard_normal((900, 900))


def search(n_jobs):
    """Search in jobs; return the scores, and how many processes are left."""
    from clifford_rand_nn import BetaCV, GatedReLUClassifier

    X = np.random.default_rng(0).standard_normal((40, 3))
    model = BetaCV(GatedReLUClassifier(4, random_state=0, tol=1e-3), n_betas=3, cv=2, n_jobs=n_jobs)
    return model.fit(X, X[:, 0] > 0).scores_.tolist(), len(multiprocessing.active_children())


def job(seed):
    as_if()
    fit(seed)


def main():
    backend, jobs, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    as_if()
    from joblib import Parallel, delayed

    Parallel(n_jobs=jobs, backend=backend)(delayed(job)(seed) for seed in range(jobs * rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
