"""Normal scores of ranks: definition, inverse, slopes, selection, programs and units."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm, rankdata

from clifford_rand_nn import ConvexNetworkRegressor
from clifford_rand_nn.export.numpy_source import write_source
from clifford_rand_nn.export.program import Program, rows
from clifford_rand_nn.kernel_network import normal_scores as module
from clifford_rand_nn.kernel_network.candidates import Problem, choose
from clifford_rand_nn.kernel_network.normal_scores import (
    Scores,
    interpolate,
    ranks_of,
    slopes_of_scores,
    stated_scores,
    values_of_scores,
)
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.rescaling import Units
from support.exported import fitted as exported

RNG = np.random.default_rng(0)
X = np.column_stack([np.exp(2 * RNG.standard_normal((90, 2))), RNG.integers(0, 4, 90), np.full(90, 7.0)])
VARIES = np.array([True, True, True, False])
Y = np.log(X[:, 0]) + np.tanh(X[:, 1]) + 0.3 * X[:, 2] + 0.1 * RNG.standard_normal(90)
NEW = np.vstack([1.1 * X[:20] - 0.2, X[:20], 1e9 * X[:3], -1e9 * X[:3]])


def normal_scores(X, varies, weights=None):
    return Scores(*ranks_of(X, varies, weights)[:2])


@pytest.mark.parametrize(("knots", "atol"), [(90, 1e-12), (64, 0.05)])
def test_scores_are_normal_quantiles_of_mid_ranks(knots, atol, monkeypatch):
    monkeypatch.setattr(module, "_MAX_KNOTS", knots)  # of 90 values; those between knots are interpolated
    found = interpolate(normal_scores(X, VARIES), X)
    for j in range(3):
        wanted = norm.ppf((rankdata(X[:, j]) - 0.5) / 90)  # the mean rank of ties has half of them below
        wanted = (wanted - wanted.mean()) / wanted.std()
        np.testing.assert_allclose(found[:, j], wanted, atol=atol)
        np.testing.assert_allclose([found[:, j].mean(), found[:, j].std()], [0, 1], atol=1e-12)
    assert (found[:, 3] == 0).all()


def test_increasing_transformations_change_nothing(monkeypatch):
    monkeypatch.setattr(module, "_MAX_KNOTS", 90)
    one, two = (interpolate(normal_scores(A, VARIES), A) for A in (X, np.log1p(X) ** 3))
    np.testing.assert_array_equal(one, two)
    plain, moved = (ConvexNetworkRegressor(max_metric_iter=0).fit(A, Y).loo_predictions_ for A in (X, np.log1p(X)))
    np.testing.assert_allclose(plain, moved, atol=1e-9)


def test_whole_weights_are_duplicates():
    weights = RNG.integers(1, 4, 90)
    one = normal_scores(X, VARIES, weights.astype(float))
    two = normal_scores(np.repeat(X, weights, axis=0), VARIES)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_values_beyond_the_training_range_have_the_scores_of_its_ends():
    scores = normal_scores(X, VARIES)
    ends = interpolate(scores, np.stack([X.min(axis=0), X.max(axis=0)]))
    np.testing.assert_array_equal(interpolate(scores, np.stack([X.min(axis=0) - 5, X.max(axis=0) + 1e300])), ends)
    assert (slopes_of_scores(scores, X.max(axis=0)[None] + 5) == 0).all()


def test_inverse_and_slopes():
    scores = normal_scores(X, VARIES)
    np.testing.assert_allclose(values_of_scores(scores, interpolate(scores, X))[:, :3], X[:, :3], rtol=1e-9)
    between = (scores.knots[:-1] + scores.knots[1:]) / 2
    h = 1e-4 * np.diff(scores.knots, axis=0)
    rise = interpolate(scores, between + h) - interpolate(scores, between - h)
    slopes = np.divide(rise, 2 * h, out=np.zeros_like(rise), where=h > 0)
    for found in slopes_of_scores(scores, between):
        np.testing.assert_allclose(found[h > 0], slopes[h > 0], rtol=1e-6)


def test_a_program_says_the_same():
    scores = normal_scores(X, VARIES)
    source: dict[str, Any] = {}
    exec(write_source(Program("scores", 4, {"predict": stated_scores(scores, rows())})), source)
    np.testing.assert_allclose(source["predict"](NEW), interpolate(scores, NEW), atol=1e-13)
    assert exported("network, ranked columns").candidates_[0].scaling == "rank"  # for the tests of exports


def test_near_and_denormal_values_stay_finite():
    x = np.array([0.0, 5e-324, 1e-310, 1.0, np.nextafter(1.0, 2), 1e300])[:, None]
    scores = normal_scores(x, np.array([True]))
    found = interpolate(scores, np.vstack([x, 3e-311 + 0 * x, -1e308 + 0 * x]))
    assert np.isfinite(found).all()
    assert (np.diff(found[:6, 0]) > 0).all()


def test_ranks_are_not_compared_where_they_say_nothing_new():
    def scalings(A):
        return {candidate.scaling for candidate in choose(Problem(A, Y[: A.shape[0], None]))[1]}

    assert "rank" in scalings(X)
    assert "rank" not in scalings((np.median(X, axis=0) < X).astype(float))  # two values: what "column" says
    assert "rank" not in scalings(sp.csr_array(X))
    assert "rank" not in scalings(X[:63])  # a row is a knot of the map that it is judged by


def test_leave_one_out_selects_them_for_heavy_tails():
    fitted = ConvexNetworkRegressor().fit(X, Y)
    assert fitted.candidates_[0].scaling == "rank"
    assert ConvexNetworkRegressor().fit(np.log(X + 1), Y).loo_score_ <= fitted.loo_score_ + 0.02
    others = [c.mean_loss for c in fitted.candidates_ if c.scaling != "rank"]
    assert fitted.candidates_[0].mean_loss < 0.5 * min(others)


def test_units_move_the_knots():
    plain, units = Standardization.of(X, "rank"), Units(3, 0)
    np.testing.assert_array_equal(units.back(plain).rows(np.ldexp(X, 3)), plain.rows(X))
