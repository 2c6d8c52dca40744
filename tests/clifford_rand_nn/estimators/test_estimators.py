"""Attributes, certificates and scopes of the gated, constrained and dictionary estimators, and what they can learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from clifford_rand import ArgumentError
from clifford_rand_nn import (
    ConvexNetworkRegressor,
    ConvexReLUClassifier,
    ConvexReLURegressor,
    CrossProductLassoClassifier,
    CrossProductLassoRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    Gates,
    spiral,
)
from clifford_rand_nn.networks import unit_atoms
from clifford_rand_nn.problems.duality import gap_above
from support.pairwise import pairwise

X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
Y = np.abs(X[:, 0]) - X[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(40)
TWO = np.stack([Y, X[:, 0] ** 2], axis=1)
THREE = np.array(["blue", "green", "red"])[np.digitize(Y, np.quantile(Y, [0.33, 0.67]))]
SIDE = np.where(np.median(Y) < Y, "in", "out")
FREE = {"bias": "free", "beta": 1e-2}
NONE = {"bias": False, "fit_intercept": False, "beta": 1e-2}
GATED, DRAWN = {"n_gates": 10, "random_state": 0}, {"subsample": 50, "random_state": 0}
ALL = {"gates": "exhaustive"}

REGRESSORS = [
    GatedReLURegressor(**GATED, **FREE),
    GatedReLURegressor(**GATED, **NONE, gates="gaussian"),
    GatedReLURegressor(**GATED, bias=False, beta=1e-2),
    GatedReLURegressor(**GATED, bias="free", fit_intercept=False, beta=1e-2),
    ConvexReLURegressor(**ALL, **FREE),
    ConvexReLURegressor(**ALL, **FREE, penalty="group_l1", loss="huber", huber_delta=0.2),
    ConvexReLURegressor(**GATED, **NONE),
    ConvexReLURegressor(**GATED, **FREE, solver="augmented_lagrangian"),
    ConvexReLURegressor(n_gates=6, random_state=0, **FREE, solver="cvxpy"),
    CrossProductLassoRegressor(**FREE),
    CrossProductLassoRegressor(**FREE, **DRAWN, penalty="l2"),
    CrossProductLassoRegressor(**FREE, penalty="l2", solver="interior_point"),
    CrossProductLassoRegressor(**NONE, solver="homotopy"),
    CrossProductLassoRegressor(**FREE, solver="cvxpy", subsample=30, random_state=1),
]


def norm_of(model):
    return 1 if getattr(model, "penalty_", model.penalty) in ("l1", "group_l1") else 2


def recomputed(model):
    f, p = np.full(len(X), model.intercept_), norm_of(model)
    for j, v in enumerate(model.coef_):
        f = f + model.patterns_[:, j] * (X @ v + model.gate_intercept_[j])
    r = np.abs(f - Y)
    delta = model.huber_delta if model.loss == "huber" else np.inf
    loss = np.where(r <= delta, 0.5 * r**2, delta * r - 0.5 * delta**2 if np.isfinite(delta) else 0)
    return f, loss.mean() + model.beta * np.linalg.norm(model.coef_, ord=p, axis=1).sum()


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: str(model)[:90])
def test_attributes_network_and_certificate_are_of_one_model(model):
    model.fit(X, Y)
    f, objective = recomputed(model)
    np.testing.assert_allclose(model.predict(X), f, atol=1e-9)
    np.testing.assert_allclose(model.network_.predict(X), f, atol=1e-9)
    assert objective == pytest.approx(model.result_.objective, rel=1e-6)
    assert model.result_.relative_gap <= 1e-5
    network, p = model.network_, norm_of(model)
    assert network.penalty(p) == pytest.approx(np.linalg.norm(model.coef_, ord=p, axis=1).sum(), rel=1e-7)
    norms = np.linalg.norm(network.W1, ord=p, axis=1)
    np.testing.assert_allclose(norms[norms > 0], np.abs(network.w2[norms > 0, 0]), rtol=1e-7)  # it is balanced
    if isinstance(model, GatedReLURegressor):
        np.testing.assert_array_equal(model.gates_.activations(X), model.patterns_)
    stored, again = model.certificate_, model.certificate_.verify(X, Y)
    assert again.objective == pytest.approx(stored.objective, rel=1e-6)
    assert again.relative_gap <= stored.relative_gap + 1e-6
    assert model.certificate_.verify(X, Y[::-1]).relative_gap > 0.01  # other targets: proved nothing


@pairwise(
    {
        "model": [GatedReLUClassifier(**GATED), ConvexReLUClassifier(**GATED), CrossProductLassoClassifier(**DRAWN)],
        "labels": [SIDE, THREE],
        "loss": ["squared", "logistic", "squared_hinge"],
    }
)
def test_classifiers(model, labels, loss):
    model = clone(model).set_params(loss=loss, beta=1e-3, bias="free", tol=1e-5).fit(X, labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels) > 0.8
    assert hasattr(model, "predict_proba")
    proof = model.certificate_.verify(X, labels)
    assert proof.objective == pytest.approx(model.certificate_.objective, rel=1e-9)
    assert proof.relative_gap <= 1.1e-5
    if labels is THREE:  # the penalty is of units, over all classes
        assert model.coef_.shape[0] == 3
        p = 1 if isinstance(model, CrossProductLassoClassifier) else 2
        weights = np.linalg.norm(model.coef_, axis=(0, 2)).sum() if isinstance(model, GatedReLUClassifier) else None
        assert weights is None or model.network_.penalty(p) == pytest.approx(weights, rel=1e-9)
        np.testing.assert_allclose(model.network_.predict(X), model.decision_function(X), atol=1e-9)


@pytest.mark.kept("model2")
@pytest.mark.parametrize(
    "model",
    [GatedReLURegressor(40, random_state=0), ConvexReLURegressor(8, random_state=0), CrossProductLassoRegressor()],
)
def test_several_targets(model):
    model.set_params(beta=1e-3, tol=1e-5).fit(X, TWO)
    assert model.predict(X).shape == TWO.shape
    assert model.score(X, TWO) > 0.8
    assert model.certificate_.verify(X, TWO).relative_gap <= 1e-4
    model.fit(X, Y)
    assert model.predict(X).shape == (40,)
    assert isinstance(model.intercept_, float)


@pytest.mark.slow
def test_learns_what_a_line_cannot():
    (rows, y), (new, truth) = (make_moons(200, noise=0.15, random_state=seed) for seed in (1, 2))
    assert GatedReLUClassifier(50, beta=1e-3, random_state=0, bias="free").fit(rows, y).score(new, truth) > 0.95
    rows, y = spiral(30)
    for model in (ConvexReLUClassifier(**ALL), CrossProductLassoClassifier()):
        assert model.set_params(beta=1e-4, bias="free").fit(rows, y).score(rows, y) > 0.95


# ------------------------------------------------------------------ certificates


@pytest.mark.parametrize("penalty", ["group_l1", "group_l2"])
def test_scopes_and_the_global_bound_of_a_subsample(penalty):
    options = {"penalty": penalty, "tol": 1e-8, **FREE}
    best = ConvexReLURegressor(**ALL, **options).fit(X, Y)
    few = ConvexReLURegressor(n_gates=8, random_state=0, **options).fit(X, Y)
    assert best.certificate_.scope.startswith("global: all")
    assert few.certificate_.scope.startswith("over the")
    assert few.certificate_.n_patterns == len(few.candidate_gates_) <= 8
    wide = few.certificate_.over_all_neurons(X, Y)
    assert wide.scope.startswith("global: all")
    assert wide.lower_bound <= best.result_.objective * (1 + 1e-8)
    assert best.result_.objective <= few.result_.objective * (1 + 1e-8)
    assert wide.relative_gap > few.certificate_.relative_gap
    exact = wide.verify(X, Y, exact=True)
    assert (exact.scope, exact.relative_gap) == (wide.scope, pytest.approx(wide.relative_gap, abs=1e-9))
    assert best.certificate_.over_all_neurons(X, Y).relative_gap <= 1e-7


def test_stored_numbers_decide_nothing():
    """Wrong values are corrected, an infeasible dual point is scaled or projected into the bound."""
    gated = GatedReLUClassifier(**GATED, **FREE).fit(X, SIDE).certificate_
    forged = replace(gated, objective=0.0, lower_bound=9.9, relative_gap=0.0, dual_point=1.5 * gated.dual_point)
    assert forged.verify(X, SIDE).objective == pytest.approx(gated.objective, rel=1e-10)
    assert forged.verify(X, SIDE).lower_bound <= gated.objective
    assert f"over the {gated.n_patterns} sampled patterns" in str(gated)
    with pytest.raises(ArgumentError, match=r"must be the training rows"):
        gated.verify(X[:-1], SIDE[:-1])
    with pytest.raises(ArgumentError, match=r"that of a ReLU network\. Got that of a gated network"):
        gated.over_all_neurons(X, SIDE)
    proof = ConvexReLURegressor(**ALL, **FREE).fit(X, Y).certificate_
    assert replace(proof, lower_bound=proof.objective, dual_point=0 * proof.dual_point).verify(X, Y).relative_gap == 1.0
    tilted = replace(proof, dual_point=proof.dual_point + 0.1).verify(X, Y)  # the free intercept needs a sum of zero
    assert tilted.lower_bound == pytest.approx(proof.lower_bound, rel=1e-9)
    assert np.abs(tilted.dual_point.sum(axis=0)).max() <= 1e-15 * np.abs(tilted.dual_point).sum()
    assert replace(proof, dual_point=5 * proof.dual_point).verify(X, Y).lower_bound <= proof.objective * (1 + 1e-9)


@pytest.mark.slow
def test_a_network_below_its_bound_is_an_error():
    """`verify` once clamped the gap: a network 7 % below the bound was "within 0.0e+00"."""
    rows, y = spiral(20)
    few = ConvexReLURegressor(n_gates=5, beta=1e-3, random_state=0, bias="free").fit(rows, y).certificate_
    best = ConvexReLURegressor(**ALL, beta=1e-3, bias="free").fit(rows, y).certificate_
    assert best.objective < 0.93 * few.lower_bound  # of another family, so that the bound is none for it
    with pytest.raises(ArgumentError, match=r"no network is below the bound .* by more than .*Got an objective of"):
        replace(few, claim=replace(few.claim, network=best.claim.network)).verify(rows, y)
    assert gap_above(1.0, 1.0 + 1e-9, 1.0) == 0.0
    with pytest.raises(ArithmeticError, match=r"above the objective 0\.93 by more than rounding"):
        gap_above(0.93, 1.0, 1.0)


# ------------------------------------------------------------------ optima


def test_solvers_agree():
    for model, solvers in (
        (ConvexReLURegressor(n_gates=12, random_state=0), ("column_generation", "interior_point", "cvxpy")),
        (CrossProductLassoRegressor(penalty="l2"), ("working_set", "interior_point", "homotopy", "cvxpy")),
    ):
        model.set_params(beta=5e-3, bias="free")
        each = (clone(model).set_params(solver=name, tol=1e-4 if name == "cvxpy" else 1e-7) for name in solvers)
        values = [solved.fit(X, Y).result_.objective for solved in each]
        assert np.ptp(values) <= 1e-6 * values[0]


def test_programs_over_more_patterns_have_lower_optima():
    """Gated over all patterns ≤ ReLU over all patterns ≤ ReLU over some of them; the l2 dictionary is above."""
    options = {"beta": 1e-2, "tol": 1e-7, "bias": False}
    models = GatedReLURegressor(**ALL), ConvexReLURegressor(**ALL), ConvexReLURegressor(n_gates=4, random_state=0)
    models = *models, CrossProductLassoRegressor(penalty="l2")
    gated, relu, some, cross = (model.set_params(**options).fit(X[:12], Y[:12]) for model in models)
    assert gated.certificate_.scope == "global: all 24 patterns enumerated"
    values = [model.result_.objective for model in (gated, relu, some)]
    assert values == sorted(values)
    assert relu.result_.objective <= cross.result_.objective * (1 + 1e-7)


@pytest.mark.parametrize("solver", ["interior_point", "column_generation", "cvxpy"])
@pytest.mark.parametrize("penalty", ["group_l1", "group_l2"])
def test_networks_are_basic(solver, penalty):
    """At most n - 1 neurons beside an intercept, and no two of one pattern and sign, whoever solved."""
    options = {"penalty": penalty, "solver": solver, "tol": 1e-4, "random_state": 0}
    network = ConvexReLURegressor(n_gates=40, beta=1e-3, bias="free", **options).fit(X[:12], Y[:12]).network_
    assert 0 < network.n_neurons <= 11
    activations = unit_atoms(network).neurons.columns(X[:12])
    assert np.linalg.matrix_rank(activations - activations.mean(axis=0), tol=1e-9) == network.n_neurons


@pytest.mark.parametrize(
    "model",
    [
        ConvexReLURegressor(**ALL, bias="free"),
        ConvexReLURegressor(n_gates=6, random_state=0, bias="free"),
        CrossProductLassoRegressor(bias="free"),
        CrossProductLassoRegressor(penalty="l2", loss="huber", bias="free"),
        GatedReLURegressor(n_gates=6, bias=False, random_state=0),
    ],
)
def test_beta_max_is_where_neurons_begin(model):
    top = model.set_params(beta=1e-3).beta_max(X, Y)
    assert model.set_params(beta=top * (1 + 1e-9)).fit(X, Y).network_.n_neurons == 0
    assert model.set_params(beta=0.98 * top).fit(X, Y).network_.n_neurons > 0


@pytest.mark.parametrize("level", [0.0, 2.5])
@pytest.mark.parametrize(
    "model",
    [
        *(make(beta=1e-3, bias="free", random_state=0) for make in (ConvexReLURegressor, CrossProductLassoRegressor)),
        *(GatedReLURegressor(5, random_state=0), ConvexNetworkRegressor(n_neurons=3)),
    ],
)
def test_constant_targets_cost_nothing(model, level):
    model.fit(X, np.full(40, level))
    assert model.certificate_.objective <= 1e-28
    assert model.network_.n_neurons == 0
    np.testing.assert_allclose(model.predict(X), level, rtol=1e-14)
    if isinstance(model, GatedReLURegressor):  # no beta is better than another
        assert (model.beta_, model.candidates_) == (1.0, [])


def test_neurons_that_weigh_nothing_are_left_out():
    """An interior point leaves units of relative weight 1e-9; a bias alone is not a neuron."""
    rows = np.random.default_rng(0).standard_normal((40, 2))
    y = np.abs(rows[:, 0])
    for seed in range(3):
        model = ConvexReLURegressor(n_gates=30, beta=0.02, random_state=seed, bias="free").fit(rows, y)
        weight = np.linalg.norm(unit_atoms(model.network_).values, axis=1)
        assert weight.min() > 1e-6 * weight.max()
        assert model.certificate_.verify(rows, y).relative_gap <= 1.1e-6
    x, gates = np.array([[-2.0], [-1.0], [1.0], [2.0]]), Gates.from_arrays(np.array([[1.0, -1.0]]))
    model = GatedReLURegressor(gates=gates, beta=10.0, tol=1e-9, bias="free").fit(x, x[:, 0] > 0)
    assert not model.coef_.any()  # the penalty is too large for weights,
    np.testing.assert_allclose(model.predict(x), [0, 0, 1, 1], atol=1e-6)  # but biases cost nothing
    assert model.network_.n_neurons == 0


def test_given_gates_seeds_and_an_early_stop():
    gates = np.random.default_rng(0).standard_normal((2, 9)), np.zeros(9)
    model = GatedReLUClassifier(gates=gates, **FREE).fit(X, SIDE)
    patterns = np.unique(X @ gates[0] >= 0, axis=1).shape[1]
    assert model.certificate_.scope == f"over the {patterns} given patterns"
    seeds = (3, np.int64(3), state := np.random.RandomState(0), state)
    first, same, *drawn = (GatedReLUClassifier(5, random_state=seed, **FREE).fit(X, SIDE).coef_ for seed in seeds)
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(*drawn)
    with pytest.warns(ConvergenceWarning, match=r"GatedReLUClassifier: stopped after 2 iterations at a relative gap"):
        GatedReLUClassifier(10, max_iter=2, random_state=0, **FREE).fit(X, SIDE)


# ------------------------------------------------------------------ columns and copies


def test_a_subsample_of_many_columns_works():
    wide = np.random.default_rng(0).standard_normal((80, 384))
    lasso = CrossProductLassoRegressor(subsample=10, beta=1e-2, random_state=0, tol=1e-3, bias="free")
    assert lasso.fit(wide, wide[:, 0]).certificate_.n_patterns == 20


@pairwise({"penalty": ["l1", "l2"], "n_still": [1, 20], "subsample": [None, 60]})
def test_columns_that_do_not_vary_leave_the_network_as_it_is(penalty, n_still, subsample):
    """One zero column left 38 of thousands of neurons, twenty left none."""
    rows = np.random.default_rng(0).standard_normal((25, 2))
    y = np.sin(3 * rows[:, 0])
    wide = np.concatenate([rows, np.zeros((25, n_still - 1)), np.ones((25, 1))], axis=1)
    lasso = CrossProductLassoRegressor(penalty=penalty, subsample=subsample, beta=1e-4, random_state=0, bias="free")
    narrow, model = clone(lasso).fit(rows, y), clone(lasso).fit(wide, y)
    assert model.certificate_.objective == pytest.approx(narrow.certificate_.objective, rel=1e-5)
    assert model.network_.n_neurons > 3
    assert model.certificate_.verify(wide, y).relative_gap <= 1e-5


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("subsample", [None, 40, 400])
def test_columns_in_memory_and_in_blocks_have_one_optimum(loss, subsample):
    rng = np.random.default_rng(1)
    rows, y = rng.standard_normal((16, 3)), rng.integers(0, 3, 16)
    options = {"loss": loss, "beta": 1e-2, "bias": "free"}
    model = CrossProductLassoClassifier(subsample=subsample, random_state=0, **options)
    models = [clone(model).set_params(solver=solver) for solver in ("auto", "working_set", "interior_point")]
    for targets in (y, y > 0):
        primal = [model.fit(rows, targets).certificate_.objective for model in models]
        assert primal == pytest.approx([primal[0]] * 3, rel=3e-6)
        assert models[0].certificate_.scope == models[1].certificate_.scope
    if subsample is None:  # the matrix would take more
        small = CrossProductLassoClassifier(max_memory=2e5, **options).fit(rows, y > 0)
        assert small.certificate_.objective == pytest.approx(primal[0], rel=3e-6)


def test_what_copies_share_is_brought_back_to_every_row(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.estimators.relu.pruned", lambda result, *rest: result)  # nothing gained
    rng = np.random.default_rng(3)
    rows = rng.integers(-2, 3, (12, 2)).astype(float)
    y = np.stack([np.abs(rows[:, 0]), rows[:, 1] - rows[:, 0]], axis=1)
    copies = rng.integers(1, 4, 12)
    order = rng.permutation(copies.sum())
    many, targets = np.repeat(rows, copies, axis=0)[order], np.repeat(y, copies, axis=0)[order]
    weighted, copied = (ConvexReLURegressor(**ALL, **FREE).fit(*data) for data in ((rows, y, copies), (many, targets)))
    # the loss is half a square: what a gap leaves between predictions and those of the optimum, in the mean
    reach = np.sqrt(2 * weighted.result_.duality_gap) + np.sqrt(2 * copied.result_.duality_gap)
    between = copied.predict(many) - weighted.predict(many)
    assert np.sqrt((between**2).sum(axis=1).mean()) <= reach < 1e-3
    for model, data, wanted in ((weighted, rows, y), (copied, many, targets)):
        again = model.certificate_.verify(data, wanted)
        assert again.lower_bound == pytest.approx(model.certificate_.lower_bound, rel=1e-9)
        np.testing.assert_allclose(model.result_.fitted, model.predict(data), atol=1e-9)
        neurons = model.result_.coefficients.neurons
        np.testing.assert_allclose(neurons.training_columns(data), neurons.columns(data), atol=1e-9)
