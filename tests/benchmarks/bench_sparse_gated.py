"""A gated network on TF-IDF-like rows, sparse and on a dense copy: CPU seconds, peak memory, the certificate.

Each fit has a process of its own. Words follow Zipf's law, and a part of them depends on the class.

    python tests/benchmarks/bench_sparse_gated.py [--rows 2000] [--columns 30000] [--density 0.01] [--dense]
"""

import argparse
import json
import platform
import subprocess
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from timing import options, peak_bytes, timed

SETTINGS = ("beta given", "defaults")
_NEW = 1000  # further rows, to predict


def tfidf(n: int, d: int, density: float, classes: int, seed: int = 0) -> tuple[Any, Any]:
    """Return rows of length 1 (n, d) and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    base = rng.permutation(1 / np.arange(10.0, d + 10))
    topics = [base * np.exp(1.5 * rng.standard_normal(d)) for _ in range(classes)]
    chances = [np.cumsum(0.94 * base / base.sum() + 0.06 * topic / topic.sum()) for topic in topics]
    words = int(1.25 * density * d)  # some come twice
    columns = np.concatenate([np.searchsorted(chances[label], rng.random(words) * chances[label][-1]) for label in y])
    counts = sp.csr_array((np.ones(n * words), (np.repeat(np.arange(n), words), columns)), shape=(n, d))
    seen = np.bincount(counts.indices, minlength=d)
    counts.data = (1 + np.log(counts.data)) * (1 + np.log((1 + n) / (1 + seen)))[counts.indices]
    return sp.csr_array(sp.diags_array(1 / np.sqrt(counts.multiply(counts).sum(axis=1))) @ counts), y


def measured(given: argparse.Namespace) -> dict[str, Any]:
    """Return what one fit in this process takes."""
    from clifford_rand_nn import GatedReLUClassifier, sparse_rows

    X, y = tfidf(given.rows + _NEW, given.columns, given.density, given.classes)
    X, y, new, labels = X[: given.rows], y[: given.rows], X[given.rows :], y[given.rows :]
    share, before = X.nnz / (X.shape[0] * X.shape[1]), peak_bytes() / 2**20
    model = GatedReLUClassifier(n_gates=given.gates, random_state=0)
    if given.setting == "beta given":
        model.set_params(beta=given.beta, loss="squared")
    if given.dense:
        X, new = X.toarray(), new.toarray()
        sparse_rows.WIDE = given.columns  # nothing is wide
    model, wall, cpu = timed(lambda: model.fit(X, y))
    peak = peak_bytes() / 2**20
    verified = model.certificate_.verify(X, y)
    return {
        "not zero": share,
        "CPU s": cpu,
        "s": wall,
        "peak MB": peak,
        "before MB": before,
        "beta": model.beta_,
        "objective": verified.primal,
        "verified gap": verified.relative_gap,
        "new rows right": float(np.mean(model.predict(new) == labels)),
        "solver": model.result_.solver,
    }


def main() -> None:
    """Print a line for each setting, of sparse rows and, if asked, of dense ones."""
    given = options(
        __doc__.splitlines()[0],
        rows=2000,
        columns=30_000,
        gates=50,
        classes=2,
        density=0.01,
        beta=(0.001, "of the fits with a given one"),
        dense=(False, "a dense copy too"),
        setting=(str, {"choices": SETTINGS, "help": "one alone, in this process"}),
    )
    if given.setting:
        print(json.dumps(measured(given)))
        return
    print(platform.machine(), platform.python_version(), f"{given.rows} × {given.columns}, {given.gates} gates")
    for setting in SETTINGS:
        for dense in (False, True) if given.dense else (False,):
            names = ("rows", "columns", "gates", "classes", "density", "beta")
            own = [f"--{name}={getattr(given, name)}" for name in names]
            command = [sys.executable, __file__, "--setting", setting, *own, *(["--dense"] if dense else [])]
            told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            shown = ", ".join(f"{name} {value:.3g}" if value != str(value) else value for name, value in told.items())
            print(f"{setting}, {'dense' if dense else 'sparse'}: {shown}", flush=True)


if __name__ == "__main__":
    main()
