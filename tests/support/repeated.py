"""Everything that draws or sums, each with one seed, and the bytes that it gives: what is the same every time.

    PYTHONPATH=.:tests python -m support.repeated --threads T [--blas T] [--size N] [--only NAME …]

prints a line of JSON: of each case a digest of all numbers it gives, and the objectives of its fits.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Found:
    """Numbers that a case gives, and the objectives among them."""

    arrays: list = field(default_factory=list)
    objectives: list = field(default_factory=list)

    def add(self, *arrays):
        self.arrays += [np.asarray(one) for one in arrays]
        return self

    def model(self, model, rows):
        """Add what a model says of rows, and its objective and lower bound."""
        for method in ("predict", "predict_proba", "decision_function"):
            if hasattr(model, method):
                self.add(getattr(model, method)(rows))
            proof = getattr(model, "estimator_", model).certificate_
        self.objectives += [float(proof.objective)]
        return self.add(proof.objective, proof.lower_bound)

    @property
    def digest(self):
        found = hashlib.sha256()
        for one in self.arrays:
            found.update(f"{one.dtype} {one.shape}".encode())
            found.update(repr(one.tolist()).encode() if one.dtype == object else np.ascontiguousarray(one).tobytes())
        return found.hexdigest()[:16]


def _rows(n, d, seed=0, classes=2):
    """Return rows, and labels and numbers of a small teacher network."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = np.maximum(X @ rng.standard_normal((d, 6)), 0) @ rng.standard_normal(6)
    noisy = f + 0.3 * f.std() * rng.standard_normal(n)
    return X, np.digitize(noisy, np.quantile(noisy, np.linspace(0, 1, classes + 1)[1:-1])), noisy


# ---- networks: estimator, rows (of size 1), columns, classes (0 for numbers), parameters

_GATED = {"n_gates": 20, "random_state": 3}
FITS = {
    "default_classifier": ("ConvexNetworkClassifier", 150, 6, 3, {}),
    "default_regressor": ("ConvexNetworkRegressor", 200, 8, 0, {}),
    "learned_gates": ("ConvexNetworkRegressor", 150, 5, 0, {"max_metric_iter": 2}),
    "few_neurons": ("ConvexNetworkRegressor", 80, 4, 0, {"n_neurons": 6}),
    "crossed_neurons": ("ConvexNetworkClassifier", 80, 4, 2, {"gates": "row_spanned"}),
    "gated_auto": ("GatedReLUClassifier", 120, 6, 3, _GATED),
    "gated_fista": ("GatedReLUClassifier", 300, 6, 3, _GATED | {"beta": 1e-2, "solver": "fista", "tol": 1e-4}),
    "gated_kernel": ("GatedReLUClassifier", 100, 6, 3, _GATED | {"beta": 1e-2, "solver": "kernel"}),
    "gated_gram": ("GatedReLUClassifier", 600, 6, 3, _GATED | {"beta": 1e-3, "solver": "gram"}),
    "gated_ridge": ("GatedReLUClassifier", 200, 6, 3, _GATED | {"beta": 1e-3, "penalty": "ridge"}),
    "gated_refined": ("GatedReLUClassifier", 60, 6, 3, _GATED | {"beta": 1e-2, "n_refinements": 2}),
    "gated_float32": ("GatedReLURegressor", 1500, 16, 0, _GATED | {"beta": 1e-2, "solver": "fista", "tol": 1e-3}),
    "infinite_gates": ("GatedReLUClassifier", 200, 6, 2, {"gates": "infinite", "penalty": "ridge", "beta": 1e-3}),
    "relu": ("ConvexReLURegressor", 60, 4, 0, {"n_gates": 10, "random_state": 3, "beta": 1e-2, "tol": 1e-4}),
    "lasso": ("CrossProductLassoRegressor", 30, 2, 0, {"beta": 1e-2, "subsample": 300, "random_state": 3}),
    "lasso_auto": ("CrossProductLassoClassifier", 40, 3, 2, {"random_state": 3}),
}


def _fit(name):
    def case(size):
        import clifford_rand_nn as nn

        kind, n, d, classes, parameters = FITS[name]
        X, labels, y = _rows(n * size, d, classes=classes or 2)
        X = X.astype(np.float32) if name.endswith("float32") else X
        model = getattr(nn, kind)(**parameters).fit(X, labels if classes else y)
        found = Found().model(model, X[:20])
        if hasattr(getattr(model, "gates_", None), "directions"):
            found.add(model.gates_.directions)
        return found.add(model.coef_) if hasattr(model, "coef_") else found

    return case


def many_rows(size):
    """By landmarks, as with more than 8000 rows."""
    from clifford_rand_nn import ConvexNetworkRegressor

    X, _, y = _rows(8500, 4)
    return Found().model(ConvexNetworkRegressor(max_metric_iter=0).fit(X, y), X[:40])


def gated_sparse(size):
    from scipy.sparse import random_array

    from clifford_rand_nn import GatedReLURegressor

    rng = np.random.default_rng(0)
    X = random_array((60 * size, 5000), density=0.01, rng=rng, format="csr")
    y = X[:, :20].sum(axis=1) + 0.1 * rng.standard_normal(len(X.indptr) - 1)
    model = GatedReLURegressor(6, random_state=3, beta=1e-2, tol=1e-3).fit(X, y)
    return Found().model(model, X[:20])


def paths(size):
    from clifford_rand_nn import gated_path, lasso_path, relu_path, sample_gates

    X, _, y = _rows(40 * size, 3)
    found = Found()
    gates = sample_gates(X, 8, random_state=3)
    for path in (
        gated_path(X, y, gates, n_betas=6, eps=0.05),
        relu_path(X, y, gates, n_betas=4, eps=0.1, tol=1e-4),
        lasso_path(X[:30], y[:30], n_betas=6, eps=0.05, random_state=3, subsample=200),
    ):
        found.add(path.objectives, path.lower_bounds, *(network.predict(X[:10]) for network in path.networks))
        found.objectives += list(path.objectives)
    return found


def chosen_by_cv(size):
    from clifford_rand_nn import BetaCV, GatedReLUClassifier

    X, labels, _ = _rows(60 * size, 4)
    found = Found()
    for jobs in (None, 2):
        model = BetaCV(GatedReLUClassifier(8, random_state=3, tol=1e-5), n_betas=4, cv=3, n_jobs=jobs).fit(X, labels)
        found.model(model, X[:20])
    return found


def shards(size):
    from clifford_rand_nn import Shards
    from support.kills import MODELS, left, write_shards

    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        write_shards(folder, n=4000 * size)
        for model in MODELS.values():
            model.fit(Shards(folder, part_rows=512))
            found.add(np.frombuffer(left(model), np.uint8))
            found.objectives += [model.certificate_.objective]
    return found


def shards_default(size):
    from clifford_rand_nn import ConvexNetworkRegressor, Shards

    X, _, y = _rows(9000, 4)
    return Found().model(ConvexNetworkRegressor(max_metric_iter=0).fit(Shards(X, y, part_rows=1024)), X[:20])


def tables(size):
    import pandas as pd

    from clifford_rand_nn import explain, table_model

    X, labels, _ = _rows(100 * size, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 0] > 0, "one", "other")
    frame.loc[::7, "b"] = np.nan
    frame["target"] = labels
    model = table_model(frame, "target").fit(frame, frame["target"])
    told = explain(model, X_train=frame, y_train=frame["target"])
    return Found().add(model.predict_proba(frame), np.array([repr(told)], dtype=object))


# ---- clifford_rand


def sketches(size):
    from clifford_rand import nearest_to_span, sketched_inner, sketched_leverage_scores, sketched_volume
    from support.sketches import MAKERS

    rng = np.random.default_rng(0)
    d = 256 * size
    X, A, B = rng.standard_normal((300 * size, d)), rng.standard_normal((3, d)), rng.standard_normal((3, d))
    found = Found()
    for name, make in MAKERS.items():
        S = make(64, d, 5)
        found.add(S @ X.T, X @ S.T, S.T @ (S @ A.T))
        found.add(nearest_to_span(X, A, S, n_rows=5).rows)
        if S.has_exchangeable_rows and name != "SJLT2":  # whose minors have no closed form
            inner, volume = sketched_inner(A, B, S, n_repeats=4), sketched_volume(A, S)
            found.add(inner.value, inner.error, volume.log_volume, volume.log_error)
    found.add(sketched_leverage_scores(X[:, :20], MAKERS["SJLT"](60, len(X), 5)))
    return found


def sampling(size):
    from clifford_rand import haar_blade, leverage_scores, random_rotation, volume_sample

    X = np.random.default_rng(0).standard_normal((500 * size, 12))
    found = Found().add(leverage_scores(X), random_rotation(40, rng=1, shape=5), haar_blade(3, 200, rng=1).factors)
    for k in (3, 8, 12):
        found.add(volume_sample(X, k, size=10 * size, rng=2))
    return found.add(volume_sample(X, 4, size=10, rng=2, bias=True))


def cross_products(size):
    from clifford_rand import cross_all, cross_log, cross_many, cross_simplex, cross_walk, sketched_cross
    from support.sketches import MAKERS

    rng = np.random.default_rng(0)
    found = Found()
    for d, m in ((3, 40_000), (6, 5000), (40, 200), (130, 20 * size), (300, 2 * size)):
        X = rng.standard_normal((d + 20, d))
        index = np.array([rng.permutation(len(X))[: d - 1] for _ in range(min(m, 1000))])
        index = np.tile(index, (max(1, m // 1000), 1))
        found.add(cross_many(X, index, normalize=True))
    X = rng.standard_normal((14, 5))
    for block in cross_all(X):
        found.add(*block)
    walked = cross_walk(X, np.array([rng.permutation(14)[:4] for _ in range(50)]))
    found.add(walked.direction, walked.log_norm)
    facets = cross_simplex(X[:, :4], np.array([rng.permutation(14)[:4] for _ in range(50)]))
    found.add(facets.direction, facets.intercept)
    A = rng.standard_normal((200, 7, 8))
    product = cross_log(A)
    sketched = sketched_cross(rng.standard_normal((6, 400)), MAKERS["SJLT"](7, 400, 1))
    return found.add(product.direction, product.log_norm, sketched)


def algebra(size):
    from clifford_rand import Algebra, Blade, LargeBlade

    rng = np.random.default_rng(0)
    alg = Algebra(4, 1)
    a, b = (alg.multivector(rng.standard_normal((20_000 * size, 32))) for _ in range(2))
    found = Found().add((a * b).values, (a ^ b).values, (a | b).values)
    A, B = (Blade(rng.standard_normal((3, 60))) for _ in range(2))
    found.add(A.log_norm(), A.factors, A.wedge(B).log_norm(), A.principal_angles(B))
    large, other = (LargeBlade(rng.standard_normal((4, 5000 * size))) for _ in range(2))
    return found.add(large.log_norm(), large.principal_angles(other))


CASES = {name: _fit(name) for name in FITS} | {
    case.__name__: case
    for case in (
        many_rows, gated_sparse, paths, chosen_by_cv, shards, shards_default, tables, sketches, sampling,
        cross_products, algebra,
    )
}  # fmt: skip
SLOW = {"many_rows", "shards_default"}  # ten seconds of one size
ACROSS = {"sketches"}  # dense sketches are NumPy's products, whose last bits depend on the threads of BLAS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--blas", type=int, help="threads of BLAS, if not as many")
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(CASES))
    chosen = parser.parse_args()
    # as a machine with so many processors: the environment can only lower the number, and OpenBLAS's too
    os.sched_getaffinity = lambda pid: set(range(chosen.threads))
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    threadpool_limits(chosen.blas or chosen.threads)
    told = {}
    for name in chosen.only:
        began = time.process_time()
        found = CASES[name](chosen.size)
        told[name] = (found.digest, found.objectives, round(time.process_time() - began, 2))
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
