"""Networks on TF-IDF-like rows, sparse and on a dense copy: CPU seconds, peak memory, new rows that are right.

Each fit has a process of its own. Words follow Zipf's law, and a part of them depends on the class.

    python tests/benchmarks/bench_sparse_gated.py [--rows 2000] [--columns 30000] [--density 0.01] [--dense]
                                                  [--only "beta given" "defaults" "tuning-free"]
"""

import numpy as np
import scipy.sparse as sp
from timing import chosen, in_process, machine, options, peak_bytes, timed

SETTINGS = ("beta given", "defaults", "tuning-free")
_NEW = 1000  # further rows, to predict


def tfidf(n, d, density, classes, seed=0):
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


def measured(setting, dense, rows, columns, density, classes, gates, beta):
    """Return what one fit in this process takes."""
    from clifford_rand_nn import ConvexNetworkClassifier, GatedReLUClassifier, sparse_rows

    X, y = tfidf(rows + _NEW, columns, density, classes)
    X, y, new, labels = X[:rows], y[:rows], X[rows:], y[rows:]
    share, before = X.nnz / (X.shape[0] * X.shape[1]), peak_bytes() / 2**20
    if setting == "tuning-free":
        model = ConvexNetworkClassifier()
    else:
        settings = {"beta": beta, "loss": "squared"} if setting == "beta given" else {}
        model = GatedReLUClassifier(n_gates=gates, random_state=0, **settings)
    if dense:
        X, new = X.toarray(), new.toarray()
        sparse_rows.WIDE = columns  # nothing is wide
    model, wall, cpu = timed(lambda: model.fit(X, y))
    line = {"not zero": share, "CPU s": cpu, "s": wall, "peak MB": peak_bytes() / 2**20, "before MB": before}
    line["new rows right"] = float(np.mean(model.predict(new) == labels))
    if setting != "tuning-free":
        proof = model.certificate_.verify(X, y)
        line |= {"beta": model.beta_, "objective": proof.objective, "verified gap": proof.relative_gap}
        line["solver"] = model.result_.solver
    return line


def main():
    sizes = {"rows": 2000, "columns": 30_000, "density": 0.01, "classes": 2, "gates": 50, "beta": 0.001}
    args = options(__doc__, **sizes, dense=(False, "a dense copy too"), only=chosen(SETTINGS))
    machine("scipy")
    print(f"{args.rows} × {args.columns}, {args.gates} gates")
    sizes = {name: getattr(args, name) for name in sizes}
    for setting in args.only:
        for dense in (False, True) if args.dense else (False,):
            line = in_process(measured, setting, dense, **sizes)
            values = [value if isinstance(value, str) else f"{value:.3g}" for value in line.values()]
            shown = ", ".join(map(" ".join, zip(line, values, strict=True)))
            print(f"{setting}, {'dense' if dense else 'sparse'}: {shown}", flush=True)


if __name__ == "__main__":
    main()
