"""Bounds in the span of landmarks beside the optimum in sixty digits: below it, however near rows are to each other."""

import numpy as np
import pytest

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor
from clifford_rand_nn.kernel_network import kernel_products as span
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import LandmarkSpan
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.shards.source import Shards
from support.exact_span import exact_form, least_logistic, least_squares
from support.large_n import solve_many

KERNEL = GateKernel(bias=1.0)
_DOUBLE = 1e-13  # of the optimum in sixty digits, as it is written, and of sums over rows


def hard(kind, seed, n=50, d=3):
    """Rows of which half are copies but for a distance, or with one column a thousand times as long."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if kind == "long":
        X[:, 0] *= 1e3
    elif kind:
        X[n // 2 :] = X[: n // 2] + kind * rng.standard_normal((n // 2, d))
    return X[rng.permutation(n)], rng.standard_normal((n, 1))


@pytest.mark.parametrize("kind", [0, 1e-9, 1e-12, "long"])
@pytest.mark.parametrize("seed", range(2))
def test_a_form_in_the_span_is_no_less_by_rounding(kind, seed):
    X, _ = hard(kind, seed, n=20)
    Z = X[:8]
    span = LandmarkSpan(KERNEL, Z)
    for free in (False, True):
        theta = np.random.default_rng(seed).standard_normal(len(X))
        if free:  # of what the span sees: then nothing but rounding is left
            V = span.whitened(KERNEL(Z, X)).T
            theta -= V @ np.linalg.lstsq(V, theta, rcond=None)[0]
        w = span.whitened(KERNEL(Z, X) @ theta[:, None])
        size = np.sqrt(KERNEL.diagonal(X)) @ np.abs(theta)
        exact, lost = exact_form(KERNEL, X, Z, theta), span.rounding_of_form(w, np.array([size]))
        assert exact <= (w**2).sum() * (1 + _DOUBLE) + lost[0]
        assert lost[0] <= 1e-12 * size**2 if kind in (0, "long") else lost[0] < 1e-3 * size**2
        assert span.rounding_of_forms(w, float(size)) == pytest.approx(lost[0])
        standard = Standardization(np.zeros(3), np.ones(3))
        network = KernelNetwork(standard, KERNEL, Z, np.zeros((8, 1)), np.zeros(1))
        assert network.dual_penalty(X, theta[:, None], landmarks=True) >= exact / 2 * (1 - _DOUBLE)


@pytest.mark.parametrize(
    ("kind", "seed", "beta"), [(1e-9, 0, 1e-9), (1e-9, 1, 1e-9), (1e-12, 3, 1e-6), ("long", 0, 1e-3), ("long", 4, 1e-6)]
)
def test_a_bound_is_below_the_optimum(kind, seed, beta):
    """Each was above it, by up to 7e-8 of the objective, and some as an optimum with a gap of zero."""
    X, y = hard(kind, seed)
    found = solve_many(KERNEL, X, y, None, beta, "landmarks", tol=1e-9)
    least = least_squares(KERNEL, X, X[found.centers], y, beta)
    assert found.objective - found.duality_gap <= least * (1 + _DOUBLE)
    assert least * (1 - 1e-9) <= found.objective <= least * (1 + 1e-5)
    assert found.relative_gap < 1e-4


def test_steps_go_on_where_their_own_rounding_is_what_is_left():
    """Sums of steps are judged anew: without that the bound stops at what they rounded, 1e-7 from the optimum."""
    X, y = hard(1e-9, 1)
    found = solve_many(KERNEL, X, y, None, 1e-6, "landmarks", tol=1e-9)
    assert found.relative_gap < 5e-9


@pytest.mark.kept("1e-07-1e-06-squared")
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(("kind", "beta"), [(1e-7, 1e-6), pytest.param(0, 1e-9, marks=pytest.mark.slow)])
def test_a_bound_of_shards_is_below_the_optimum(loss, kind, beta, monkeypatch):
    monkeypatch.setattr(span, "MAX_LANDMARKS", 14)
    X, y = hard(kind, 2, n=40)
    labels = X[:, 0] + y[:, 0] > 0
    kinds = {"squared": ConvexNetworkRegressor, "logistic": ConvexNetworkClassifier}
    options = {"loss": "logistic"} if loss == "logistic" else {}
    shards = Shards(np.array_split(X, 3), np.array_split(y[:, 0] if loss == "squared" else labels.astype(int), 3))
    model = kinds[loss](max_metric_iter=0, beta=beta, **options).fit(shards)
    network = model.network_
    given = network.kernel, network.standard.rows(X), network.rows
    if loss == "squared":
        least = least_squares(*given, y, beta)
    else:
        least = least_logistic(*given, np.where(labels, 1.0, -1.0), beta)
    for proof in (model.certificate_, model.certificate_.verify(shards)):
        assert proof.lower_bound <= least * (1 + _DOUBLE)
        assert proof.objective >= least * (1 - 1e-9)
        assert proof.relative_gap < 2e-3
