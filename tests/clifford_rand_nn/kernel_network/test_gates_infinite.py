"""Gated estimators with infinitely many gates: against CVXPY on the kernel, sampled gates, and refits of themselves."""

import cvxpy as cp
import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import BetaCV, GatedReLUClassifier, GatedReLURegressor, load_model, save_model
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from support.pairwise import pairwise

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 4))
Y = np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(40)
SIDE = (Y > 0.5).astype(int) + (Y > 1.5)
WEIGHTS = rng.integers(1, 4, 40).astype(float)
INFINITE = {"gates": "infinite", "penalty": "ridge", "bias": "penalized", "tol": 1e-10}
LOSSES = {
    "squared": lambda r: 0.5 * cp.square(r),
    "huber": lambda r: 0.5 * cp.huber(r, 0.3),
    "logistic": lambda m: cp.logistic(-m),
    "squared_hinge": lambda m: 0.5 * cp.square(cp.pos(1 - m)),
}


def _reference(loss, y, beta, bias, intercept, weights):
    """The optimum by CVXPY, on a root of the kernel matrix."""
    K = np.asarray(GateKernel(bias=bias)(X))
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0))
    v, t = cp.Variable(len(X)), cp.Variable()
    f = root @ v + (t if intercept else 0)
    term = LOSSES[loss](cp.multiply(y, f) if loss in ("logistic", "squared_hinge") else f - y)
    problem = cp.Problem(cp.Minimize(weights @ term / weights.sum() + beta / 2 * cp.sum_squares(v)))
    return problem.solve(solver="CLARABEL")


@pairwise({"loss": LOSSES, "bias": ["penalized", False], "intercept": [True, False], "weighted": [False, True]})
def test_the_optimum_is_that_of_cvxpy(loss, bias, intercept, weighted):
    params = INFINITE | {"bias": bias, "loss": loss, "fit_intercept": intercept, "beta": 0.02}
    w = WEIGHTS if weighted else np.ones(40)
    if loss in ("logistic", "squared_hinge"):
        y, model = 2.0 * (SIDE > 0) - 1, GatedReLUClassifier(**params)
    else:
        y, model = Y, GatedReLURegressor(**params, huber_delta=0.3)
    model.fit(X, y, sample_weight=w if weighted else None)
    expected = _reference(loss, y, 0.02, model.bias_feature_ or 0.0, intercept, w)
    assert model.result_.objective == pytest.approx(expected, rel=1e-6)
    found = model.certificate_.verify(X, y)
    assert found.objective == pytest.approx(model.result_.objective, rel=1e-9)
    assert found.relative_gap < 1e-8
    worse = found.__class__(**(vars(found) | {"dual_point": 0.5 * found.dual_point}))
    assert worse.verify(X, y).relative_gap > 1e-3


def test_sampled_gates_come_near():
    """3000 gates with weight 3000 β: entries of their kernel are off by 1/√3000 of a length, objectives by less."""
    rows = rng.standard_normal((60, 8))  # in eight dimensions hardly two gates have one pattern
    y = np.abs(rows[:, 0]) + rows[:, 1]
    many = GatedReLURegressor(3000, "gaussian", penalty="ridge", bias=False, beta=3000 * 0.01, random_state=0).fit(
        rows, y
    )
    all_of_them = GatedReLURegressor(**INFINITE | {"bias": False}, beta=0.01).fit(rows, y)
    assert len(many.gates_) > 2900
    assert many.result_.objective == pytest.approx(all_of_them.result_.objective, rel=0.05)
    new = rng.standard_normal((200, 8))
    apart = np.abs(many.predict(new) - all_of_them.predict(new))
    assert apart.mean() < 0.05 * np.abs(all_of_them.predict(new)).mean()


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_several_classes(loss):
    model = GatedReLUClassifier(**INFINITE, loss=loss, beta=0.01).fit(X, np.array(["a", "b", "c"])[SIDE])
    assert model.certificate_.verify(X, np.array(["a", "b", "c"])[SIDE]).relative_gap < 1e-8
    assert model.score(X, np.array(["a", "b", "c"])[SIDE]) > 0.9
    assert model.decision_function(X).shape == (40, 3)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


def test_what_cannot_be_there_is_absent_after_a_refit():
    model = GatedReLURegressor(n_gates=5, penalty="ridge", bias="penalized", beta=0.1, random_state=0).fit(X, Y)
    assert model.coef_.shape == (5, 4)
    model.set_params(gates="infinite").fit(X, Y)
    for name in ("coef_", "gate_intercept_", "gates_", "patterns_"):
        assert not hasattr(model, name)
    assert model.set_params(gates="gaussian").fit(X, Y).predict(X).shape == (40,)


def test_units_change_nothing():
    plain = GatedReLURegressor(**INFINITE, beta=1e-3).fit(X, Y)
    far = GatedReLURegressor(**INFINITE, beta=1e-3 * 1e40).fit(1e20 * X, 1e100 * Y)
    np.testing.assert_allclose(far.predict(1e20 * X) / 1e100, plain.predict(X), atol=1e-10)
    assert far.certificate_.verify(1e20 * X, 1e100 * Y).relative_gap < 1e-8
    assert not hasattr(far, "coef_")


def test_a_search_over_beta_shares_the_matrix(monkeypatch):
    made = []
    call = GateKernel.__call__
    monkeypatch.setattr(GateKernel, "__call__", lambda self, *of: made.append(len(of)) or call(self, *of))
    search = BetaCV(GatedReLURegressor(**INFINITE), betas=np.geomspace(1, 1e-4, 9), cv=3).fit(X, Y)
    assert made.count(1) <= 4  # three folds, and all rows
    assert search.beta_ < 1
    assert search.score(X, Y) > 0.9


REFUSED = {
    "penalty": ({"penalty": "group_l2"}, "must be 'ridge' with gates='infinite'. Got 'group_l2'"),
    "bias": ({"bias": "free"}, "must be 'penalized' or False with gates='infinite'. Got 'free'"),
    "solver": ({"solver": "fista"}, "must be 'auto' or 'kernel' with gates='infinite'. Got 'fista'"),
    "n_refinements": ({"n_refinements": 2}, "must be 0 with penalty='ridge'"),
    "memory": ({"max_memory": 1e3}, "The 'max_memory' parameter of KernelNewton must be at least"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_limit_is_refused(case):
    params, message = REFUSED[case]
    with pytest.raises(ArgumentError) as caught:
        GatedReLURegressor(**INFINITE | params).fit(X, Y)
    assert message in str(caught.value)


def test_beta_comes_from_held_out_rows(tmp_path):
    """The default; without an option but those that ask for the limit."""
    model = GatedReLUClassifier(gates="infinite", penalty="ridge").fit(X, SIDE)
    assert model.beta == "auto"
    fewest = min(one.error_rate for one in model.candidates_)
    chosen = next(one for one in model.candidates_ if one.beta == model.beta_)
    assert chosen.error_rate <= fewest + 0.5 * np.sqrt(max(fewest * (1 - fewest), 1 / len(X)) / len(X))
    assert model.certificate_.beta == model.beta_
    assert model.certificate_.verify(X, SIDE).relative_gap < 1e-6
    save_model(model, tmp_path / "m.npz")
    back = load_model(tmp_path / "m.npz")
    assert (back.beta, back.beta_) == ("auto", model.beta_)
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_fit_counts_what_rounding_of_the_kernel_takes(loss):
    """Of near copies at a beta of 1e-8 a fit said a gap of 0, where `verify` said 4e-8."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((15, 4)), 2, axis=0) + 1e-9 * rng.standard_normal((30, 4))
    y = rng.standard_normal(30)
    model = GatedReLURegressor(gates="infinite", penalty="ridge", beta=1e-8, loss=loss).fit(X, y)
    assert model.certificate_.lower_bound == pytest.approx(model.certificate_.verify(X, y).lower_bound, rel=5e-9)
    assert model.certificate_.relative_gap > 1e-8
