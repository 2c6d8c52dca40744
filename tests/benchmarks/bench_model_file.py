"""Model files of networks with infinitely many gates: bytes, seconds to write and to read, and to the first prediction.

    python tests/benchmarks/bench_model_file.py

Networks are made, not fitted: what is in the file does not depend on what the numbers are.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from timing import least, machine

from clifford_rand_nn import ConvexNetworkRegressor, load_model, save_model
from clifford_rand_nn.certificates.claims import KernelClaim

D = 50


def wide(n):
    """Return a network of n rows, its intervals at every row: the largest file of its kind."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, D))
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, X[:, 0])
    rows, alpha = rng.standard_normal((n, D)), rng.standard_normal((n, 1))
    network = replace(model.network_, rows=rows, alpha=alpha)
    model.network_, model.support_, model._noise = network, np.arange(n), np.ones(n)
    model.loo_predictions_, model.loo_mask_ = alpha[:, 0].copy(), np.ones(n, dtype=bool)
    model.certificate_ = replace(model.certificate_, claim=KernelClaim(network), dual_point=alpha)
    scores = np.sort(np.abs(alpha), axis=0)
    model.intervals_ = replace(model.intervals_, scores=scores, mass=np.cumsum(np.ones((n, 1)), axis=0) / n)
    model._keep_variance(True)
    return model


def main():
    """Print a line for each number of rows."""
    machine()
    print("wall (processor) milliseconds")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.npz"
        for n in (3000, 20_000):
            model = wide(n)
            write, read = least(lambda model=model: save_model(model, path)), least(lambda: load_model(path))
            plain = least(lambda: [np.load(path)[name] for name in np.load(path).files])
            shown = [f"{1e3 * wall:.0f} ({1e3 * processor:.0f})" for wall, processor in (write, read, plain)]
            said = dict(zip(("write", "read", "numpy.load alone"), shown, strict=True))
            print(f"{n} x {D}: {path.stat().st_size / 1e6:.2f} MB; " + ", ".join(f"{k} {v}" for k, v in said.items()))


if __name__ == "__main__":
    main()
