"""Mixed work, alone, in many threads at once, and in the children of a process whose threads have worked.

    PYTHONPATH=.:tests python -m support.mixed [--threads T] [--children fork spawn loky] [--only NAME …] [--seed K]

prints a line of JSON: of each way the digests of all numbers that each piece of work gave, one for each time.
"""

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import threading
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor, wait
from pathlib import Path

import numpy as np

from support.repeated import CASES, Found

LIMIT = 900  # seconds for a child that has some seconds of work, on a busy machine a minute


def products(size):
    """Products of algebras that are new here, first of one, then of batches: each compiles what it needs."""
    from clifford_rand import Algebra

    found = Found()
    rng = np.random.default_rng(0)
    for counts in ((3, 0, 0), (2, 0, 1)):
        alg = Algebra(*counts)
        for n in (0, 3, 4000 * size):
            a, b = (alg.multivector(rng.standard_normal((*(n,) * bool(n), 2**alg.d))) for _ in range(2))
            found.add((a * b).values, (a ^ b).values, (a << b).values, (a & b).values, a.norm())
            R, x = alg.vector(a.values[..., : alg.d]) * alg.vector(b.values[..., : alg.d]), b.grade(1)
            if counts[1:] == (0, 0):
                found.add((R >> x).values, R.inv().values, R.normalized().values)
    return found


def fused(size):
    """A function that is compiled at its first call."""
    from clifford_rand import Algebra, fused

    alg, rng = Algebra(3), np.random.default_rng(0)
    turn = fused(lambda R, x: R * x * ~R)
    R, x = (alg.random_multivector(rng=rng, shape=50 * size, grades=grades) for grades in ((0, 2), 1))
    return Found().add(turn(R, x).values)


def kernels(size):
    """Cross products of pairs by Numba's kernel, of two types."""
    from clifford_rand import cross_many

    rng = np.random.default_rng(0)
    X, index = rng.standard_normal((500, 3)), rng.integers(0, 499, (40_000, 1)) + np.array([0, 1])
    return Found().add(*(cross_many(X.astype(dtype), index) for dtype in (np.float32, np.float64)))


def saved(size):
    """A network that is fitted, written, read, and predicts."""
    from clifford_rand_nn import GatedReLURegressor, load_model, save_model

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60 * size, 3))
    model = GatedReLURegressor(6, random_state=0, beta=1e-2).fit(X, np.abs(X[:, 0]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.npz"
        save_model(model, file)
        return Found().add(model.predict(X), load_model(file).predict(X))


def embedded(size):
    """Texts by an encoder with a cache that all threads and processes share."""
    from clifford_rand_nn.features import HashingEncoder, embed

    texts = [f"text {i % 40} of {i % 7}" for i in range(100 * size)]
    folder = Path(tempfile.gettempdir()) / "embedded"
    return Found().add(embed(texts, HashingEncoder(16), cache=folder, batch_size=10))


WORK = {one.__name__: one for one in (products, fused, kernels, saved, embedded)} | CASES


def digests(names):
    """Return the digest of each piece of work, or the error."""
    told = {}
    for name in names:
        try:
            told[name] = [WORK[name](1).digest]
        except Exception:
            told[name] = [f"error: {traceback.format_exc()[-600:]}"]
    return told


def in_threads(names, threads, seed):
    """Return digests of work of which every thread does all, each in an order of its own; they begin together."""
    together, told, lock = threading.Barrier(threads), {name: [] for name in names}, threading.Lock()

    def work(k):
        order = random.Random(seed + k).sample(names, len(names))
        together.wait()
        for name in order:
            found = digests([name])[name]
            with lock:
                told[name] += found

    begun = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for one in begun:
        one.start()
    for one in begun:
        one.join()
    return told


def in_children(names, how):
    """Return digests of work that two children of this process do at the same time."""
    if how == "loky":
        from joblib import Parallel, delayed

        parts = Parallel(n_jobs=2, backend="loky", timeout=LIMIT)(delayed(digests)(names) for _ in range(2))
    else:
        with ProcessPoolExecutor(2, multiprocessing.get_context(how)) as pool:
            begun = [pool.submit(digests, names) for _ in range(2)]
            if wait(begun, LIMIT).not_done:
                for child in multiprocessing.active_children():
                    child.kill()
                return {name: [f"error: no answer of a child within {LIMIT} s"] for name in names}
            parts = [future.result() for future in begun]
    return {name: [one for part in parts for one in part[name]] for name in names}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--children", nargs="*", default=[])
    parser.add_argument("--only", nargs="*", default=list(WORK))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    told = {}
    if chosen.threads:
        told[f"{chosen.threads} threads"] = in_threads(chosen.only, chosen.threads, chosen.seed)
    else:
        told["alone"] = digests(chosen.only)
    for how in chosen.children:
        told[how] = in_children(chosen.only, how)
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
