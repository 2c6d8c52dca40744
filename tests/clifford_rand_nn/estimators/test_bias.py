"""Biases inside the norm: the network is the one without biases on [X c], in every unit, and certificates know it."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.claims import Claim, GatedClaim
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.sparse_rows import bias_feature

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 2)) + 0.7
ONE = np.sign(X[:, 0] * X[:, 1]) + 0.2 * RNG.standard_normal(40)
TWO = np.column_stack([ONE, X[:, 0] ** 2])
C = bias_feature(X)
GATES = nn.sample_gates(X, 8, random_state=1)

FAMILIES = {
    "gated": (nn.GatedReLURegressor, {"gates": GATES}),
    "ridge": (nn.GatedReLURegressor, {"gates": GATES, "penalty": "ridge"}),
    "relu": (nn.ConvexReLURegressor, {"gates": GATES}),
    "relu l1": (nn.ConvexReLURegressor, {"gates": GATES, "penalty": "group_l1"}),
    "lasso": (nn.CrossProductLassoRegressor, {}),
    "lasso l2": (nn.CrossProductLassoRegressor, {"penalty": "l2"}),
    "some": (nn.CrossProductLassoRegressor, {"subsample": 40}),
}


def _fitted(family, y, rows=X, beta=1e-2, **params):
    kind, own = FAMILIES[family]
    return kind(beta=beta, random_state=0, tol=1e-8, **({"bias": "penalized"} | own | params)).fit(rows, y)


@cache
def _of(family, outputs):
    return _fitted(family, ONE if outputs == 1 else TWO)


@pytest.mark.parametrize("y", [ONE, pytest.param(TWO, marks=pytest.mark.slow)], ids=["one", "two"])
@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_the_network_without_biases_on_rows_with_a_constant(family, y):
    model = _of(family, y.ndim)
    assert model.bias_feature_ == C
    own = {}
    if "gates" in FAMILIES[family][1]:
        directions = np.vstack([GATES.directions, GATES.offsets / C])
        own = {"gates": nn.Gates.from_arrays(directions)}
    lifted = np.column_stack([X, np.full(40, C)])
    plain = _fitted(family, y, lifted, bias=False, **own)
    assert model.result_.objective == pytest.approx(plain.result_.objective, rel=1e-7)
    np.testing.assert_allclose(model.predict(X), plain.predict(lifted), atol=2e-4)
    np.testing.assert_allclose(model.network_.predict(X), model.predict(X), atol=1e-9)
    coef, b = model.coef_.reshape(-1, *model.coef_.shape[-2:]), model.gate_intercept_.reshape(-1, len(model.gates_))
    on = model.patterns_ if family in ("gated", "ridge") else (X @ model.gates_.directions + model.gates_.offsets > 0)
    f = np.einsum("nm,cnm->nc", on, np.einsum("nd,cmd->cnm", X, coef) + b[:, None]) + model.intercept_
    np.testing.assert_allclose(f.reshape(y.shape), model.predict(X), atol=1e-8)


def _norm(model):
    return 1 if "l1" in getattr(model, "penalty_", model.penalty) else 2


@pytest.mark.kept("gated")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_stated_objective_is_that_of_the_printed_numbers(family):
    model = _of(family, 2)
    loss = 0.5 * ((model.predict(X) - TWO) ** 2).sum(axis=1).mean()
    if family in ("gated", "ridge"):
        square = (model.coef_**2).sum(axis=(0, 2)) + ((model.gate_intercept_ / C) ** 2).sum(axis=0)
        penalty = 0.5 * square.sum() if family == "ridge" else np.sqrt(square).sum()
    else:
        p = _norm(model)
        weights = np.column_stack([model.network_.W1, model.network_.b1 / C])
        penalty = np.linalg.norm(weights, ord=p, axis=1) @ np.linalg.norm(model.network_.w2, axis=1)
    assert loss + 1e-2 * penalty == pytest.approx(model.result_.objective, rel=1e-12)
    if family != "ridge":
        assert model.network_.penalty(p=_norm(model), bias_feature=C) == pytest.approx(penalty)


@pytest.mark.parametrize("y", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.kept("gated-two")
def test_certificates_hold_and_notice_a_bias_that_is_charged_less(family, y):
    model = _of(family, y.ndim)
    proof = model.certificate_
    assert proof.verify(X, y).relative_gap <= 2e-8 + 1e-12
    claim = proof.claim
    if isinstance(claim, GatedClaim):
        wider: Claim = replace(claim, feature=2 * C)
    elif isinstance(claim.family.members, Neurons):  # their norms are those of the old feature
        return
    else:
        wider = replace(claim, family=replace(claim.family, feature=2 * C))
    other = replace(proof, claim=wider, objective=np.nan).verify(X, y)
    assert other.lower_bound < proof.lower_bound - 1e-5


@pytest.mark.slow
def test_a_bound_for_every_neuron():
    rows, y = X[:8], ONE[:8]
    sampled = _fitted("relu", y, rows)
    every = sampled.certificate_.over_all_neurons(rows, y)
    every_pattern = nn.ConvexReLURegressor(gates="exhaustive", beta=1e-2, tol=1e-8)
    best = clone(every_pattern).fit(rows, y)
    assert every.lower_bound <= best.result_.objective * (1 + 1e-9) < sampled.result_.objective
    assert "global" in every.scope
    assert "global" in best.certificate_.scope
    lasso = _fitted("lasso", y, rows)
    exact = every_pattern.set_params(penalty="group_l1").fit(rows, y)
    assert lasso.result_.objective == pytest.approx(exact.result_.objective, rel=1e-7)


@pytest.mark.kept("relu")
@pytest.mark.parametrize("family", FAMILIES)
def test_units_do_not_matter(family):
    s, squared = 37.3, family == "ridge"
    model = _of(family, 1)
    params = {}
    if "gates" in FAMILIES[family][1]:
        params["gates"] = nn.Gates.from_arrays(GATES.directions, GATES.offsets * s)
    scaled = _fitted(family, ONE, X * s, beta=1e-2 * s ** (2 if squared else 1), **params)
    np.testing.assert_allclose(scaled.predict(X * s), model.predict(X), atol=2e-4)
    assert scaled.bias_feature_ == pytest.approx(s * C)
    far = 2.0**120  # beyond what is solved as it comes
    params = {"gates": nn.Gates.from_arrays(GATES.directions, GATES.offsets * far)} if params else {}
    scaled = _fitted(family, ONE, X * far, beta=1e-2 * far ** (2 if squared else 1), **params)
    np.testing.assert_array_equal(scaled.predict(X * far), model.predict(X))
    assert scaled.bias_feature_ == C * far
    assert scaled.certificate_.verify(X * far, ONE).relative_gap <= 2e-8


def test_the_feature_is_the_root_mean_square_of_entries():
    assert math.isclose(bias_feature(X), np.sqrt((X**2).mean()))
    assert bias_feature((X - X.mean(axis=0)) / X.std(axis=0)) == pytest.approx(1.0)
    assert bias_feature(np.zeros((3, 2))) == 1.0
    w = RNG.integers(1, 4, 40)
    order = RNG.permutation(int(w.sum()))
    assert bias_feature(X, w.astype(float)) == bias_feature(np.repeat(X, w, axis=0)[order])
    single = X.astype(np.float32)
    assert bias_feature(single) == np.float32(bias_feature(single.astype(np.float64)))


def test_single_precision_is_certified():
    rows = X.astype(np.float32)
    model = nn.GatedReLURegressor(gates=GATES, bias="penalized", beta=1e-2, solver="fista").fit(rows, ONE)
    assert model.certificate_.verify(rows, ONE).relative_gap <= 2e-6


def test_a_network_may_do_without_an_output_intercept():
    for family in ("lasso", "relu", "gated"):
        model = _fitted(family, ONE + 5, fit_intercept=False)
        assert model.intercept_ == 0
        assert model.certificate_.verify(X, ONE + 5).relative_gap <= 2e-8


def test_refined_gates():
    plain = _of("gated", 1)
    model = _fitted("gated", ONE, n_refinements=4)
    assert model.result_.objective < 0.95 * plain.result_.objective
    assert model.certificate_.verify(X, ONE).relative_gap <= 2e-8
    np.testing.assert_array_equal(model.gates_.activations(X), model.patterns_)


@pytest.mark.parametrize("free", ["free", True, np.True_])
def test_free_biases_are_the_paper_s(free):
    model, other = (nn.GatedReLURegressor(gates=GATES, bias=bias, beta=1e-2).fit(X, ONE) for bias in (free, True))
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert model.bias_feature_ is None


def test_many_gates_do_not_interpolate_noise():
    rng = np.random.default_rng(1)
    rows, noise = rng.standard_normal((40, 3)), rng.choice([-1.0, 1.0], 40)
    options = {"n_gates": 200, "beta": 0.05, "random_state": 0}
    free = nn.GatedReLURegressor(bias="free", **options).fit(rows, noise)
    inside = nn.GatedReLURegressor(bias="penalized", **options).fit(rows, noise)
    assert free.score(rows, noise) > 0.999
    assert inside.score(rows, noise) < 0.9


@pytest.mark.parametrize("far", [1e6, 1e8])
@pytest.mark.parametrize("penalty", ["ridge", "group_l2"])
def test_bounds_of_free_biases_on_far_rows_count_the_rounding_of_sums(penalty, far):
    """Biases are of the size of the rows there, and each multiplies the rounding of a sum over its gate's rows."""
    for seed in (*range(4, 10), 17, 20):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((12, 1 + seed % 2))
        rows[:, 0] += far
        labels = np.where(rng.random(12) > 0.5, 1, -1)
        model = nn.GatedReLUClassifier(4, loss="logistic", bias="free", penalty=penalty, beta=0.03, random_state=0)
        verified = model.fit(rows, labels).certificate_.verify(rows, labels)
        assert 0 < verified.lower_bound <= verified.objective
        assert verified.relative_gap <= 1e-4
