"""Bounds of logarithms and exponentials, against mpmath, and proofs of the losses that are made of them."""

import math
import random
from fractions import Fraction
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.problems.duality import zero_sums
from clifford_rand_nn.proof_checker.check import InvalidProofError
from clifford_rand_nn.proof_checker.logarithms import exp_above, gain_below, log_above, loss_above
from support.proof_problems import confirmed

WIDTH = Fraction(1, 2**90)  # relative
NOTHING = Fraction(1, 2**4000)  # exp(-t) beyond t = 4096


def mpf(x):
    return mp.mpf(x.numerator) / x.denominator


def sizes(count, low, high):
    rng = random.Random(count)
    fixed = [Fraction(10) ** low, Fraction(10) ** high, Fraction(1), Fraction(1, 2**48), Fraction(1, 2**96)]
    return [*fixed, *(Fraction(rng.random()) * Fraction(10) ** rng.randint(low, high) for _ in range(count))]


def check_close_above(bound, truth, unit=1):
    """Assert truth <= bound <= truth (1 + WIDTH) + NOTHING, in 2,500 bits."""
    assert 0 <= mpf(bound) - truth <= mpf(WIDTH) * abs(truth) + mpf(NOTHING * unit)


@pytest.fixture(autouse=True)
def digits():
    with mp.workprec(2500):
        yield


def problem(loss, delta=Fraction(1)):
    return SimpleNamespace(loss=loss, delta=delta)


def test_the_logarithm_and_the_exponential_are_bounded_from_above():
    for x in sizes(60, -300, 300):
        assert 0 <= mpf(log_above(x)) - mp.log(mpf(x)) <= mp.mpf(2) ** -246 * max(1, abs(mp.log(mpf(x))))
        near = 1 + x if x < 1 else 1 - 1 / (x + 1)
        assert 0 <= mpf(log_above(near)) - mp.log(mpf(near)) <= mp.mpf(2) ** -246 * max(1, abs(mp.log(mpf(near))))
        if x < 4096:
            assert 0 <= mpf(exp_above(x)) * mp.exp(mpf(x)) - 1 <= mp.mpf(2) ** -234
    assert 0 < exp_above(Fraction(10) ** 300) < NOTHING


@pytest.mark.slow
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_logistic_loss(sign):
    for f in sizes(60, -30, 300):
        truth = mp.log1p(mp.exp(-mpf(f) * sign))
        check_close_above(loss_above(problem("logistic"), [f * sign], [Fraction(1)]), truth)
        twice = loss_above(problem("logistic"), [f * sign, -f * sign], [Fraction(1), Fraction(-1)])
        check_close_above(twice, 2 * truth, unit=2)


def test_the_gain_of_the_logistic_loss():
    for a in sizes(60, -300, 0):
        for share in (a, 1 - a):
            x = mpf(share)
            truth = -sum(p * mp.log(p) for p in (x, 1 - x) if p)
            check_close_above(-gain_below(problem("logistic"), [-share], [Fraction(-1)]), -truth)
    assert gain_below(problem("logistic"), [Fraction(0), Fraction(1)], [Fraction(-1), Fraction(1)]) == 0


def test_the_softmax():
    rng = random.Random(0)
    y = [Fraction(0), Fraction(1), Fraction(0)]
    for size in sizes(25, -30, 300):
        f = [Fraction(rng.uniform(-1, 1)) * size for _ in y]
        truth = mp.log(sum(mp.exp(mpf(v - f[1])) for v in f))
        check_close_above(loss_above(problem("softmax"), f, y), truth)
    for size in sizes(25, -300, -1):
        p = [size / 3, 1 - size, size - size / 3]
        truth = -sum(mpf(v) * mp.log(mpf(v)) for v in p if v)
        check_close_above(-gain_below(problem("softmax"), [b - v for b, v in zip(y, p, strict=True)], y), -truth)


@pytest.mark.parametrize("delta", [Fraction(10) ** 150, Fraction(3, 7), Fraction(1, 10**150)])
def test_the_logarithm_of_the_hyperbolic_cosine(delta):
    for u in sizes(60, -100, 100):
        truth = mpf(delta) ** 2 * mp.log((mp.exp(mpf(u)) + mp.exp(-mpf(u))) / 2)
        check_close_above(loss_above(problem("log_cosh", delta), [1 - u * delta], [Fraction(1)]), truth, delta**2)
        if u <= 1:
            x = mpf(u)
            half = sum(p * mp.log(p) for p in (1 + x, 1 - x) if p) / 2
            gain = gain_below(problem("log_cosh", delta), [-u * delta], [Fraction(5)])
            check_close_above(-gain - 5 * u * delta, mpf(delta) ** 2 * half)


@pytest.mark.parametrize(
    ("loss", "theta", "y"),
    [
        ("logistic", ["-1/9"], [1]),
        ("logistic", ["10/9"], [1]),
        ("logistic", ["0"], [2]),
        ("softmax", ["1/2", "-1/2", "1/9"], [1, 0, 0]),
        ("softmax", ["0", "1/9", "-1/9"], [1, 0, 0]),
        ("softmax", ["1", "-1"], [1, 1]),
        ("softmax", ["0"], [1]),
        ("log_cosh", ["0", "-10/9"], [3, 3]),
    ],
)
def test_outside_the_domain_of_the_loss_nothing_is_bounded(loss, theta, y):
    with pytest.raises(InvalidProofError):
        gain_below(problem(loss), list(map(Fraction, theta)), list(map(Fraction, y)))


@pytest.mark.parametrize(("loss", "y"), [("logistic", [0]), ("softmax", [1, 1]), ("softmax", [1])])
def test_other_labels_have_no_loss(loss, y):
    with pytest.raises(InvalidProofError):
        loss_above(problem(loss), [Fraction(1)] * len(y), list(map(Fraction, y)))


def rows(n=40):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    return X, np.abs(X[:, 0]) + 0.3 * rng.normal(size=n)


OPTIONS = {"n_gates": 8, "random_state": 0}
GATED, LASSO = nn.GatedReLUClassifier, nn.CrossProductLassoClassifier
CLASSIFIERS = {
    "gated": GATED(loss="logistic", beta=1e-2, **OPTIONS),
    "gated-ridge": GATED(loss="logistic", beta=1e-2, penalty="ridge", **OPTIONS),
    "gated-no-intercept": GATED(loss="logistic", beta=1e-2, bias=False, fit_intercept=False, **OPTIONS),
    "class-weight": GATED(loss="logistic", beta=1e-2, class_weight="balanced", **OPTIONS),
    "lasso": LASSO(loss="logistic", beta=1e-2, penalty="l1", bias="free"),
    "separable": GATED(loss="logistic", beta=1e-9, **OPTIONS),
}
REGRESSORS = {
    "gated": lambda delta: nn.GatedReLURegressor(loss="log_cosh", huber_delta=delta, beta=1e-2, **OPTIONS),
    "lasso": lambda delta: nn.CrossProductLassoRegressor(loss="log_cosh", huber_delta=delta, beta=1e-2, penalty="l1"),
}


@pytest.mark.parametrize(("classes", "weighted"), [(2, False), (3, True)])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_proofs_of_classifiers(name, classes, weighted):
    X, y = rows(16 if name == "lasso" else 40)
    labels = np.digitize(X[:, 0] if name == "separable" else y, np.quantile(y, [0.4, 0.8])[: classes - 1])
    confirmed(CLASSIFIERS[name], X, labels, np.linspace(0, 2, len(X)) if weighted else None)


@pytest.mark.parametrize("delta", [0.2, 1e-6, 1e6])
@pytest.mark.parametrize("name", REGRESSORS)
def test_proofs_of_regressors(name, delta):
    X, y = rows(16)
    confirmed(REGRESSORS[name](delta), X, np.column_stack([y, y**2]), np.linspace(0, 2, len(X)))


@pytest.mark.parametrize("loss", ["huber", "log_cosh"])
def test_dual_points_at_the_ends_of_domains_of_very_different_sizes(loss):
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(20, 2)), 1e4 * rng.normal(size=20), 10.0 ** rng.integers(-6, 4, size=20)
    model = nn.GatedReLURegressor(loss=loss, beta=1e-2, gates="infinite", penalty="ridge").fit(X, y, weights)
    stated = model.certificate_
    assert stated.relative_gap < 1e-12
    assert stated.verify(X, y).relative_gap < 1e-12
    assert stated.verify(X, y, exact=True).relative_gap < 1e-12


def test_sums_of_dual_points_become_zero_by_small_shares_of_their_terms():
    rng = np.random.default_rng(0)
    for _ in range(200):
        theta = rng.normal(size=(12, 1)) * 10.0 ** rng.integers(-6, 5, size=(12, 1))
        theta[0] -= theta.sum()
        moved = zero_sums(theta)
        assert math.fsum(moved[:, 0]) == 0
        assert (abs(moved - theta) <= 1e-9 * abs(theta)).all()
