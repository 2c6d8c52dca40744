"""Constrained and dictionary estimators: scikit-learn's rules, what is printed, certificates, files."""

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import (
    ConvexReLUClassifier,
    ConvexReLURegressor,
    CrossProductLassoClassifier,
    CrossProductLassoRegressor,
    GatedReLURegressor,
    spiral,
)

LOW = np.random.default_rng(0).uniform(-1, 1, (40, 2))
BUMP = np.abs(LOW[:, 0]) - LOW[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(40)

REGRESSORS = [
    ConvexReLURegressor(gates="exhaustive", beta=1e-2, bias=True),
    ConvexReLURegressor(gates="exhaustive", beta=1e-2, penalty="group_l1", loss="huber", huber_delta=0.2, bias=True),
    ConvexReLURegressor(n_gates=15, beta=1e-2, random_state=0, bias=True),
    ConvexReLURegressor(n_gates=15, beta=1e-2, bias=False, fit_intercept=False, random_state=0),
    ConvexReLURegressor(n_gates=10, beta=1e-2, solver="augmented_lagrangian", random_state=0, bias=True),
    ConvexReLURegressor(n_gates=6, beta=1e-2, solver="cvxpy", random_state=0, bias=True),
    CrossProductLassoRegressor(beta=1e-2, bias=True),
    CrossProductLassoRegressor(beta=1e-2, penalty="l2", subsample=50, random_state=0, bias=True),
    CrossProductLassoRegressor(beta=1e-2, penalty="l2", solver="interior_point", bias=True),
    CrossProductLassoRegressor(beta=1e-2, solver="homotopy", bias=False, fit_intercept=False),
    CrossProductLassoRegressor(beta=1e-2, solver="cvxpy", subsample=30, random_state=1, bias=True),
]


def recomputed(model, X, y):
    """Objective from the printed attributes by the formula of conventions, not by the network."""
    coef, b, t = model.coef_, model.gate_intercept_, model.intercept_
    f = np.full(len(X), t)
    for j in range(len(coef)):
        f = f + model.patterns_[:, j] * (X @ coef[j] + b[j])
    p = 1 if getattr(model, "penalty_", model.penalty) in ("l1", "group_l1") else 2
    r = np.abs(f - y)
    delta = model.huber_delta if model.loss == "huber" else np.inf
    loss = np.where(r <= delta, 0.5 * r**2, delta * r - 0.5 * delta**2 if np.isfinite(delta) else 0)
    return f, loss.mean() + model.beta * np.linalg.norm(coef, ord=p, axis=1).sum()


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: str(model)[:90])
def test_what_is_printed_can_be_recomputed(model):
    model.fit(LOW, BUMP)
    f, objective = recomputed(model, LOW, BUMP)
    np.testing.assert_allclose(model.predict(LOW), f, atol=1e-9)
    assert objective == pytest.approx(model.result_.objective, rel=1e-6)
    assert model.result_.relative_gap <= 1e-5
    assert model.network_.penalty(1 if "1" in model.penalty else 2) > 0
    stored, again = model.certificate_, model.certificate_.verify(LOW, BUMP)
    assert again.primal == pytest.approx(stored.primal, rel=1e-6)
    assert again.relative_gap <= stored.relative_gap + 1e-6
    assert model.certificate_.verify(LOW, BUMP[::-1]).relative_gap > 0.01  # other targets: proved nothing


@pytest.mark.parametrize("penalty", ["group_l1", "group_l2"])
def test_scopes_and_the_global_bound_of_a_subsample(penalty):
    """A subsampled program bounds the global optimum once its dual point has met every pattern."""
    best = ConvexReLURegressor(gates="exhaustive", penalty=penalty, beta=1e-2, tol=1e-8, bias=True).fit(LOW, BUMP)
    few = ConvexReLURegressor(n_gates=8, penalty=penalty, beta=1e-2, tol=1e-8, random_state=0, bias=True).fit(LOW, BUMP)
    assert best.certificate_.scope.startswith("global: all")
    assert few.certificate_.scope.startswith("over the")
    assert few.certificate_.n_patterns == len(few.candidate_gates_) <= 8
    wide = few.certificate_.over_all_neurons(LOW, BUMP)
    assert wide.scope.startswith("global: all")
    assert wide.dual <= best.result_.objective * (1 + 1e-8)
    assert best.result_.objective <= few.result_.objective * (1 + 1e-8)
    assert wide.relative_gap > few.certificate_.relative_gap
    same = best.certificate_.over_all_neurons(LOW, BUMP)
    assert same.relative_gap <= 1e-7


def test_forged_certificates_do_not_verify():
    from dataclasses import replace

    model = ConvexReLURegressor(gates="exhaustive", beta=1e-2, bias=True).fit(LOW, BUMP)
    proof = model.certificate_
    assert replace(proof, dual=proof.primal, dual_point=0 * proof.dual_point).verify(LOW, BUMP).relative_gap == 1.0
    tilted = proof.dual_point + 0.1  # the free intercept needs a sum of zero
    projected = replace(proof, dual_point=tilted).verify(LOW, BUMP)
    assert projected.dual == pytest.approx(proof.dual, rel=1e-9)
    assert np.abs(projected.dual_point.sum(axis=0)).max() <= 1e-15 * np.abs(projected.dual_point).sum()
    grown = replace(proof, dual_point=5 * proof.dual_point).verify(LOW, BUMP)
    assert grown.dual <= proof.primal * (1 + 1e-9)


def test_gated_networks_have_no_global_bound():
    model = GatedReLURegressor(n_gates=5, random_state=0, beta=1e-3, bias=True).fit(LOW, BUMP)
    with pytest.raises(ArgumentError, match=r"that of a ReLU network\. Got that of a gated network"):
        model.certificate_.over_all_neurons(LOW, BUMP)


def test_solvers_agree():
    options = {"beta": 5e-3, "random_state": 0}
    values = [
        ConvexReLURegressor(n_gates=12, solver=solver, tol=tol, bias=True, **options).fit(LOW, BUMP).result_.objective
        for solver, tol in (("column_generation", 1e-7), ("interior_point", 1e-7), ("cvxpy", 1e-4))
    ]
    assert np.ptp(values) <= 1e-6 * values[0]
    values = [
        CrossProductLassoRegressor(solver=solver, penalty="l2", tol=tol, bias=True, **options)
        .fit(LOW, BUMP)
        .result_.objective
        for solver, tol in (("working_set", 1e-7), ("interior_point", 1e-7), ("homotopy", 1e-7), ("cvxpy", 1e-4))
    ]
    assert np.ptp(values) <= 1e-6 * values[0]


def test_exhaustive_gates_of_every_kind_are_ordered():
    """Gated over all patterns ≤ ReLU over all patterns ≤ ReLU over some of them; the l2 dictionary is above."""
    options = {"beta": 1e-2, "tol": 1e-7}
    gated = GatedReLURegressor(gates="exhaustive", bias=False, **options).fit(LOW[:12], BUMP[:12])
    relu = ConvexReLURegressor(gates="exhaustive", bias=False, **options).fit(LOW[:12], BUMP[:12])
    some = ConvexReLURegressor(n_gates=4, bias=False, random_state=0, **options).fit(LOW[:12], BUMP[:12])
    cross = CrossProductLassoRegressor(penalty="l2", bias=False, **options).fit(LOW[:12], BUMP[:12])
    assert gated.certificate_.scope == "global: all 24 patterns enumerated"
    values = [model.result_.objective for model in (gated, relu, some)]
    assert values == sorted(values)
    assert relu.result_.objective <= cross.result_.objective * (1 + 1e-7)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("make", [ConvexReLUClassifier, CrossProductLassoClassifier])
def test_classifiers(make, loss):
    X, y = spiral(30)
    options = {"gates": "exhaustive"} if make is ConvexReLUClassifier else {}
    model = make(beta=1e-4, bias=True, loss=loss, **options).fit(X, np.where(y > 0, "in", "out"))
    assert model.score(X, np.where(y > 0, "in", "out")) > 0.95
    assert model.certificate_.verify(X, np.where(y > 0, "in", "out")).relative_gap <= 1e-5
    assert hasattr(model, "predict_proba")


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("make", [ConvexReLUClassifier, CrossProductLassoClassifier])
def test_three_classes(make, loss):
    label = np.digitize(BUMP, np.quantile(BUMP, [0.33, 0.67]))
    if make is CrossProductLassoClassifier:
        model = make(beta=1e-3, bias=True, loss=loss, subsample=40, random_state=0, tol=1e-5)
    else:
        model = make(beta=1e-3, bias=True, loss=loss, n_gates=6, random_state=0, tol=1e-5)
    model.fit(LOW, label)
    assert model.coef_.shape == (3, model.network_.n_neurons, 2)
    assert model.score(LOW, label) > 0.8
    assert model.result_.relative_gap <= 1e-5
    assert model.certificate_.verify(LOW, label).relative_gap <= 1e-4


def test_several_targets():
    Y = np.stack([BUMP, LOW[:, 0] ** 2], axis=1)
    for model in (
        ConvexReLURegressor(n_gates=8, beta=1e-3, random_state=0, tol=1e-5, bias=True),
        CrossProductLassoRegressor(beta=1e-3, tol=1e-5, bias=True),
    ):
        model.fit(LOW, Y)
        assert model.predict(LOW).shape == Y.shape
        assert model.score(LOW, Y) > 0.8
        assert model.certificate_.verify(LOW, Y).relative_gap <= 1e-4


@pytest.mark.parametrize("solver", ["interior_point", "column_generation", "cvxpy"])
@pytest.mark.parametrize("penalty", ["group_l1", "group_l2"])
def test_networks_are_basic(solver, penalty):
    """At most n - 1 neurons beside an intercept, and no two of one pattern and sign, whoever solved."""
    X, y = LOW[:12], BUMP[:12]
    model = ConvexReLURegressor(
        n_gates=60, beta=1e-3, penalty=penalty, solver=solver, tol=1e-4, random_state=0, bias=True
    ).fit(X, y)
    assert 0 < model.network_.n_neurons <= 11
    activations = model.network_.to_neurons().neurons.columns(X)
    assert np.linalg.matrix_rank(activations - activations.mean(axis=0), tol=1e-9) == model.network_.n_neurons


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            ConvexReLURegressor(fit_intercept=False, beta=1e-3, bias=True),
            r"'fit_intercept' .* True if biases are free\. Got False",
        ),
        (
            CrossProductLassoRegressor(fit_intercept=False, beta=1e-3, bias=True),
            "'fit_intercept' .* True if biases are free",
        ),
        (ConvexReLURegressor(penalty="l3", beta=1e-3, bias=True), "'penalty' .* one of 'group_l2', 'group_l1'"),
        (ConvexReLURegressor(gates="some", beta=1e-3, bias=True), "'gates' .* 'exhaustive'"),
        (ConvexReLURegressor(loss="logistic", beta=1e-3, bias=True), "'loss' .* one of 'squared', 'huber'"),
        (CrossProductLassoRegressor(subsample=0, beta=1e-3, bias=True), "'subsample'"),
        (CrossProductLassoRegressor(solver="lars", beta=1e-3, bias=True), "'solver' .* one of"),
        (CrossProductLassoRegressor(solver="homotopy", loss="huber", beta=1e-3, bias=True), "only for loss='squared'"),
        (ConvexReLURegressor(huber_delta=-1.0, beta=1e-3, bias=True), "'huber_delta'"),
    ],
)
def test_bad_parameters(model, message):
    with pytest.raises(ArgumentError, match=message):
        model.fit(LOW, BUMP)


def test_what_cannot_be_gone_through_is_refused_before_the_work():
    X = np.random.default_rng(0).standard_normal((200, 10))
    with pytest.raises(
        ArgumentError, match=r"at most 1,000,000,000 columns. Got 200 rows in 10 dimensions, .*subsample"
    ):
        CrossProductLassoRegressor(subsample=None, beta=1e-3, bias=True).fit(X, X[:, 0])
    with pytest.raises(ArgumentError, match=r"max_patterns"):
        ConvexReLURegressor(gates="exhaustive", beta=1e-3, bias=True).fit(X, X[:, 0])


def test_beta_max_is_where_neurons_begin():
    for model in (
        ConvexReLURegressor(gates="exhaustive", beta=1e-3, bias=True),
        ConvexReLURegressor(n_gates=6, random_state=0, beta=1e-3, bias=True),
        CrossProductLassoRegressor(beta=1e-3, bias=True),
        CrossProductLassoRegressor(penalty="l2", loss="huber", beta=1e-3, bias=True),
        GatedReLURegressor(n_gates=6, bias=False, random_state=0, beta=1e-3),
    ):
        top = model.beta_max(LOW, BUMP)
        assert model.set_params(beta=top * (1 + 1e-9)).fit(LOW, BUMP).network_.n_neurons == 0
        assert model.set_params(beta=0.98 * top).fit(LOW, BUMP).network_.n_neurons > 0


@pytest.mark.parametrize("make", [ConvexReLURegressor, CrossProductLassoRegressor])
def test_constant_targets_cost_nothing(make):
    model = make(beta=1e-3, bias=True, random_state=0).fit(LOW, np.full(40, 2.5))
    assert model.result_.objective <= 1e-28
    assert model.network_.n_neurons == 0
    assert model.intercept_ == pytest.approx(2.5, rel=1e-14)


def test_sampled_fits_keep_no_neuron_that_weighs_nothing():
    """An interior point leaves units of relative weight 1e-9."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.abs(X[:, 0])
    for seed in range(5):
        model = ConvexReLURegressor(n_gates=30, beta=0.02, random_state=seed, bias=True).fit(X, y)
        weight = np.linalg.norm(model.network_.to_neurons().values, axis=1)
        assert weight.min() > 1e-6 * weight.max()
        assert model.result_.relative_gap <= 1e-6
        assert model.certificate_.verify(X, y).relative_gap <= 1.1e-6


def test_work_of_minutes_asks_for_a_limit_first():
    X, y = np.random.default_rng(0).standard_normal((150, 4)), np.arange(150) % 3
    for solver in ("auto", "working_set"):
        with pytest.raises(ArgumentError, match=r"'max_time' .* given for 45,0.*columns on 150 rows, .* 225 s a round"):
            CrossProductLassoClassifier(subsample=None, solver=solver, beta=1e-3, bias=True).fit(X, y)
    assert (
        CrossProductLassoClassifier(subsample=50, random_state=0, beta=1e-3, bias=True)
        .fit(X, y)
        .certificate_.relative_gap
        <= 1e-6
    )


def test_counts_that_no_float_holds_are_told_and_a_subsample_works():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 384))
    y = X[:, 0] + rng.standard_normal(2000)
    with pytest.raises(ArgumentError, match=r"Got 2000 rows in 384 dimensions, 10\^455\.7 columns instead\."):
        CrossProductLassoRegressor(subsample=None, beta=1e-3, bias=True).fit(X, y)
    model = CrossProductLassoRegressor(subsample=10, beta=1e-2, random_state=0, tol=1e-3, bias=True).fit(X, y)
    assert model.certificate_.n_patterns == 20


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("n_still", [1, 20])
@pytest.mark.parametrize("subsample", [None, 60])
def test_columns_that_do_not_vary_leave_the_network_as_it_is(penalty, n_still, subsample):
    """One zero column left 38 of thousands of neurons, twenty left none."""
    X = np.random.default_rng(0).standard_normal((25, 2))
    y = np.sin(3 * X[:, 0])
    wide = np.concatenate([X, np.zeros((25, n_still - 1)), np.ones((25, 1))], axis=1)
    parameters = {"penalty": penalty, "subsample": subsample, "beta": 1e-4, "random_state": 0}
    narrow = CrossProductLassoRegressor(**({"beta": 1e-3, "bias": True} | parameters)).fit(X, y)
    model = CrossProductLassoRegressor(**({"beta": 1e-3, "bias": True} | parameters)).fit(wide, y)
    assert model.certificate_.primal == pytest.approx(narrow.certificate_.primal, rel=1e-5)
    assert model.network_.n_neurons > 3
    assert model.certificate_.verify(wide, y).relative_gap <= 1e-5


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("subsample", [None, 40, 400])
def test_columns_in_memory_and_in_blocks_have_one_optimum(loss, subsample):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((20, 3)), rng.integers(0, 3, 20)
    models = [
        CrossProductLassoClassifier(solver=solver, loss=loss, subsample=subsample, random_state=0, beta=1e-2, bias=True)
        for solver in ("auto", "working_set", "interior_point")
    ]
    for targets in (y, y > 0):
        primal = [model.fit(X, targets).certificate_.primal for model in models]
        assert primal == pytest.approx([primal[0]] * 3, rel=3e-6)
        assert models[0].certificate_.scope == models[1].certificate_.scope

    if subsample is None:  # the matrix would take 566,400 bytes
        small = CrossProductLassoClassifier(loss=loss, beta=1e-2, max_memory=5e5, bias=True).fit(X, y > 0)
        assert small.certificate_.primal == pytest.approx(primal[0], rel=3e-6)


def test_what_copies_share_is_brought_back_to_every_row(monkeypatch):
    """Copies are solved as one row; the dual point, the fit and the spanning rows are those of all rows again."""
    monkeypatch.setattr(
        "clifford_rand_nn.estimators.relu.pruned", lambda result, *rest: result
    )  # as where it gains nothing
    rng = np.random.default_rng(3)
    X = rng.integers(-2, 3, (12, 2)).astype(float)
    Y = np.stack([np.abs(X[:, 0]), X[:, 1] - X[:, 0]], axis=1)
    copies = rng.integers(1, 4, 12)
    order = rng.permutation(copies.sum())
    many, targets = np.repeat(X, copies, axis=0)[order], np.repeat(Y, copies, axis=0)[order]
    one = ConvexReLURegressor(gates="exhaustive", beta=1e-2, bias=True).fit(X, Y, copies)
    all_rows = ConvexReLURegressor(gates="exhaustive", beta=1e-2, bias=True).fit(many, targets)
    # the loss is half a square: what a gap leaves between predictions and those of the optimum, in the mean
    reach = np.sqrt(2 * one.result_.duality_gap) + np.sqrt(2 * all_rows.result_.duality_gap)
    between = all_rows.predict(many) - one.predict(many)
    assert np.sqrt((between**2).sum(axis=1).mean()) <= reach < 1e-3
    for model, rows, wanted in ((one, X, Y), (all_rows, many, targets)):
        again = model.certificate_.verify(rows, wanted)
        assert again.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
        np.testing.assert_allclose(model.result_.fitted, model.predict(rows), atol=1e-9)
        neurons = model.result_.coefficients.neurons
        np.testing.assert_allclose(neurons.training_columns(rows), neurons.columns(rows), atol=1e-9)
