"""Rows with more columns than rows by their products: lengths, angles and fits are those of rows as they come."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, load_model, save_model
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.many_rows import LIMITS
from clifford_rand_nn.kernel_network.metric_frame import learn_frame
from clifford_rand_nn.kernel_network.standardization import SCALINGS, RowSpan, Standardization
from clifford_rand_nn.sparse_rows import by_content, merged_rows

RNG = np.random.default_rng(0)
WIDE = np.where(RNG.random((40, 90)) < 0.1, RNG.uniform(0.5, 1, (40, 90)), 0.0)
WIDE[:, 3] = 5 + RNG.standard_normal(40)  # a column that is never zero, and one that always is
WIDE[:, 4] = 0
NEW = np.where(RNG.random((25, 90)) < 0.1, RNG.uniform(0.5, 1, (25, 90)), 0.0)
Y = WIDE[:, :10].sum(axis=1) - WIDE[:, 10:20].sum(axis=1) + 0.1 * RNG.standard_normal(40)
LABELS = np.array(["down", "flat", "up"])[np.digitize(Y, np.quantile(Y, [0.3, 0.6]))]
WEIGHTS = RNG.integers(1, 4, 40).astype(float)


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.standardization.WIDE", 80)


@pytest.mark.parametrize("rows", [sp.csr_array(WIDE), WIDE], ids=["sparse", "dense"])
@pytest.mark.parametrize("weights", [None, WEIGHTS / WEIGHTS.mean()], ids=["equal", "weighted"])
@pytest.mark.parametrize("scaling", [scaling for scaling in SCALINGS if scaling != "rank"])
def test_products_and_lengths_are_those_of_standardized_rows(scaling, weights, rows):
    plain = Standardization.of(WIDE, scaling, weights)
    span, Z = RowSpan.of(rows, scaling, weights)
    for name in ("mean", "rate"):
        np.testing.assert_allclose(getattr(span, name), getattr(plain, name), rtol=1e-12)
    S, T = plain.rows(WIDE), plain.rows(NEW)
    np.testing.assert_allclose(Z @ Z.T, S @ S.T, atol=1e-10)
    np.testing.assert_allclose(span.rows(rows), Z, atol=3e-6)  # the last one is the root of a rounding
    for new in (NEW, sp.csr_array(NEW)):
        moved = span.rows(new)
        np.testing.assert_allclose(moved @ Z.T, T @ S.T, atol=1e-10)
        np.testing.assert_allclose((moved**2).sum(axis=1), (T**2).sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(GateKernel(1.0)(moved, Z), GateKernel(1.0)(T, S), atol=1e-9)
    assert moved[:, -1].min() > 0.1  # new rows are beside the span


def test_large_and_small_rows_keep_their_digits():
    plain, wanted = RowSpan.of(sp.csr_array(WIDE), "column")
    for exponent in (-400, 300):
        span, Z = RowSpan.of(sp.csr_array(np.ldexp(WIDE, exponent)), "column")
        np.testing.assert_allclose(Z @ Z.T, wanted @ wanted.T, atol=1e-10)
        back = span.scaled(-exponent)
        np.testing.assert_allclose(back.rows(NEW) @ Z.T, plain.rows(NEW) @ wanted.T, atol=1e-10)


@pytest.mark.slow
@pytest.mark.kept("ConvexNetworkRegressor(max_metric_iter=0)")
@pytest.mark.parametrize(
    "model",
    [
        ConvexNetworkClassifier(max_metric_iter=0, loss="squared"),
        ConvexNetworkClassifier(max_metric_iter=0, loss="logistic"),
        ConvexNetworkRegressor(max_metric_iter=0),
    ],
    ids=str,
)
def test_fits_are_those_of_rows_as_they_come(model, monkeypatch):
    y = Y if isinstance(model, ConvexNetworkRegressor) else LABELS
    groups = np.arange(40) // 3
    plain = model.fit(WIDE, y, WEIGHTS, groups)
    wanted = plain.predict(NEW) if y is Y else plain.predict_proba(NEW)
    truth = plain.loo_predictions_, plain.certificate_
    monkeypatch.setattr("clifford_rand_nn.kernel_network.standardization.WIDE", 80)
    for rows in (sp.csc_array(WIDE), WIDE):
        found = model.fit(rows, y, WEIGHTS, groups)
        assert isinstance(found.network_.standard, RowSpan)
        for new in (NEW, sp.coo_array(NEW)):
            np.testing.assert_allclose(found.predict(new) if y is Y else found.predict_proba(new), wanted, atol=1e-6)
        if y is Y:
            np.testing.assert_allclose(found.loo_predictions_, truth[0], atol=1e-6)
            np.testing.assert_allclose(found.predict_interval(sp.csr_array(NEW)), found.predict_interval(NEW))
        else:
            np.testing.assert_array_equal(found.loo_predictions_, truth[0])
        np.testing.assert_allclose(found.certificate_.objective, truth[1].objective, rtol=1e-8)
        again = found.certificate_.verify(rows, y)
        assert again.relative_gap < 1e-6
        np.testing.assert_allclose(again.lower_bound, truth[1].lower_bound, rtol=1e-7)


def test_more_rows_than_eigenvectors_are_for(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 30)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.LIMITS", replace(LIMITS, tol=1e-12))
    wanted = ConvexNetworkRegressor(max_metric_iter=0).fit(WIDE, Y)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.standardization.WIDE", 80)
    for rows in (sp.csr_array(WIDE), WIDE):
        found = ConvexNetworkRegressor().fit(rows, Y)
        assert "No gates were learned for so many columns" in found.result_.reason
        assert found.beta_ == pytest.approx(wanted.beta_, rel=1e-9)
        np.testing.assert_allclose(found.predict(sp.csr_array(NEW)), wanted.predict(NEW), atol=1e-6)
        assert found.certificate_.verify(rows, Y).relative_gap < 1e-4
    monkeypatch.setattr("clifford_rand_nn.kernel_network.standardization.MOST", 39)
    plain = ConvexNetworkRegressor().fit(sp.csr_array(WIDE), Y)  # on dense rows
    assert isinstance(plain.network_.standard, Standardization)
    np.testing.assert_allclose(plain.predict(NEW), wanted.predict(NEW), atol=1e-9)


def test_learned_gates_are_those_of_rows_as_they_come(wide):
    """The average outer product of gradients is in the span: kernels of the next rounds agree on new rows too."""
    plain, (span, Z) = Standardization.of(WIDE, "common"), RowSpan.of(sp.csr_array(WIDE), "common")
    S, T, moved = plain.rows(WIDE), plain.rows(NEW), span.rows(sp.csr_array(NEW))
    one = learn_frame(GateKernel(2.0), S, Y[:, None], 1e-2, factors=(1.0,) * 3)
    two = learn_frame(GateKernel(2.0), Z, Y[:, None], 1e-2, factors=(1.0,) * 3)
    np.testing.assert_allclose(two.kernel(moved, Z), one.kernel(T, S), atol=1e-6)
    assert np.abs(one.kernel(T, S) - GateKernel(2.0)(T, S)).max() > 1
    rng = np.random.default_rng(1)
    many = np.where(rng.random((88, 89)) < 0.15, 1.0, 0.0)
    y = 3 * many[:, 0] + 0.05 * rng.standard_normal(88)
    model = ConvexNetworkRegressor(max_metric_iter=1)
    sparse = model.fit(sp.csr_array(many), y)
    wanted = sparse.predict(NEW[:, :89])
    assert sparse.metric_selection_.n_iter == 1
    assert {trial.shape for trial in sparse.metric_selection_.trials} == {"none", "full"}
    assert sparse.network_.kernel.frame.shape[0] == sparse.network_.standard.width
    np.testing.assert_allclose(model.fit(many, y).predict(NEW[:, :89]), wanted, atol=1e-9)


@pytest.mark.parametrize("rounds", [0, 1])
def test_models_are_saved_and_exported(rounds, wide, tmp_path):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((88, 89)) < 0.15, 1.0, 0.0)
    y = 3 * X[:, 0] + 0.05 * rng.standard_normal(88)
    new = NEW[:, :89]
    for rows in (sp.csr_array(X), X + 0.1):  # all of it is not zero
        model = ConvexNetworkRegressor(max_metric_iter=rounds).fit(rows, y)
        assert sp.issparse(model.network_.standard.base) == sp.issparse(rows)
        save_model(model, tmp_path / "model.npz")
        again = load_model(tmp_path / "model.npz")
        np.testing.assert_array_equal(again.predict(new), model.predict(new))
        np.testing.assert_array_equal(again.predict_interval(new), model.predict_interval(new))
        assert again.certificate_.verify(rows, y).relative_gap < 1e-6
        written = {}
        exec(model.to_source(), written)
        np.testing.assert_allclose(written["predict"](new), model.predict(new), atol=1e-9)


def test_nothing_is_made_dense():
    rows = sp.random_array((60, 300_000), density=1e-3, rng=0, format="csr")
    y = np.asarray(rows[:, :1000].sum(axis=1))
    ConvexNetworkRegressor(max_metric_iter=0).fit(WIDE, Y)  # what is imported and compiled is none of it
    tracemalloc.start()
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(rows, y)
    model.predict(rows)
    model.certificate_.verify(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 300_000 * 8 / 2  # half a copy


def test_distinct_sparse_rows_are_those_of_dense_ones(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.sparse_rows._COMPARED_BYTES", 8 * 200)
    X = np.round(2 * RNG.standard_normal((200, 7))) * (RNG.random((200, 7)) < 0.3)
    for found, wanted in zip(merged_rows(sp.csr_array(X)), merged_rows(X), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_rows_come_as_their_content_says():
    assert sp.issparse(by_content(WIDE * (RNG.random(WIDE.shape) < 0.5)))
    assert not sp.issparse(by_content(sp.csr_array(RNG.standard_normal((5, 9)))))
    stored = sp.csr_array((np.array([0.0, 1.0, 2.0]), np.array([1, 2, 2]), np.array([0, 3])), shape=(1, 40))
    np.testing.assert_array_equal(by_content(stored).data, [3.0])
