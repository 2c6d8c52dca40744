"""Exact sweep over all neurons on rows with one or two columns."""

from fractions import Fraction

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.proof_checker import plane
from clifford_rand_nn.proof_checker.check import InvalidProofError, Problem
from support.proof_problems import check_without_room, confirmed, integers

ONE = Fraction(1)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def problem(X, theta, p, bias, radius):
    """Return a problem with W = 1 and β = radius; the constant feature of a penalized bias is 2."""
    points = integers(theta)
    if bias == "free":
        for c, total in enumerate(map(sum, zip(*points.numerators, strict=True))):
            points.numerators[0][c] -= total
    beta, constant, y = Fraction(radius), Fraction(2), integers(0 * theta)
    return Problem("squared", ONE, f"l{p}", bias, constant, True, beta, integers(X), y, [ONE], points)


def is_proved(X, theta, p, bias, radius):
    try:
        plane.family(problem(X, theta, p, bias, radius), {})
    except InvalidProofError:
        return False
    return True


def largest(X, theta, p, bias, directions=8_000):
    """Return the largest |Θᵀ(Xv + b)₊| with |v|_p = 1 over many directions, with b at every row."""
    theta = theta - np.eye(len(X), 1) * theta.sum(axis=0) if bias == "free" else theta
    if bias == "penalized":
        X = np.column_stack([X, np.full(len(X), 2.0)])
    if X.shape[1] == 1:
        v = np.array([[1.0, -1.0]])
    else:
        angles = np.linspace(0, 2 * np.pi, directions, endpoint=False)
        v = np.array([np.cos(angles), np.sin(angles)])
        across = np.array([-X[:, 1], X[:, 0]]) / np.maximum(np.linalg.norm(X, axis=1), 1e-300)
        v = np.column_stack([v, across, -across])
    v = v[:, np.abs(v).sum(axis=0) > 0]
    v = v / np.linalg.norm(v, ord=p, axis=0)
    size = 0.0
    for origin in X if bias == "free" else 0 * X[:1]:
        active = np.maximum((X - origin) @ v, 0)
        size = max(size, float(np.linalg.norm(theta.T @ active, axis=0).max()))
    return size


def rows(kind, d, rng):
    X = rng.normal(size=(7, d))
    match kind:
        case "duplicates":
            return X[[0, 0, 1, 2, 2, 3, 4]]
        case "opposite":
            return np.concatenate([X[:3], -X[:3], 2 * X[:1]])
        case "zeros":
            return X * (np.arange(7) % 2)[:, None]
        case "axes":
            return np.round(X)
        case "line":
            return X[:, :1] @ np.array([[1.0, -0.5]])[:, :d]
        case "few":
            return X[:1]
        case "far":
            return X + 1e6
    return X


@pytest.mark.parametrize("kind", ["random", "duplicates", "opposite", "zeros", "axes", "line", "few", "far"])
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("p", [1, 2])
def test_the_sweep_accepts_the_largest_correlation_and_no_less(kind, bias, p, rng):
    for d, C in ((1, 1), (1, 2)) if bias == "penalized" else ((1, 1), (2, 1), (2, 3)):
        X = rows(kind, d, rng)
        theta = np.round(rng.normal(size=(len(X), C)), 3)
        size = largest(X, theta, p, bias)
        # within half of 2 pi / 8,000 of a direction a correlation rises by no more than 8e-8 of it
        assert is_proved(X, theta, p, bias, size * (1 + 1e-7) + 1e-12)
        if size > 1e-9:
            assert not is_proved(X, theta, p, bias, size * (1 - 1e-9))


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**30])
def test_scales_do_not_change_the_verdict(scale, rng):
    X, theta = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    size = largest(X, theta, 2, "none")
    assert is_proved(scale * X, theta, 2, "none", scale * size * (1 + 1e-7))
    assert not is_proved(scale * X, scale * theta, 2, "none", scale**2 * size * (1 - 1e-9))


MODELS = {
    "relu": nn.ConvexReLURegressor(gates="exhaustive", bias=False, beta=1e-2),
    "relu-free": nn.ConvexReLURegressor(gates="exhaustive", bias="free", beta=1e-2),
    "relu-l1-free": nn.ConvexReLURegressor(gates="exhaustive", penalty="group_l1", bias="free", beta=1e-2),
    "relu-huber": nn.ConvexReLURegressor(gates="exhaustive", bias="free", beta=1e-2, loss="huber", huber_delta=0.2),
    "lasso": nn.CrossProductLassoRegressor(penalty="l1", bias=False, beta=1e-2),
    "lasso-free": nn.CrossProductLassoRegressor(penalty="l1", bias="free", beta=1e-2),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_proof_of_all_neurons_confirms_the_certificate(name, d, outputs, rng):
    X = rng.normal(size=(25, d))
    y = np.abs(X[:, :1]) + 0.3 * rng.normal(size=(25, outputs))
    _, proof, verdict = confirmed(MODELS[name], X, y[:, 0] if outputs == 1 else y)
    assert proof["family"] == {"kind": "plane"}
    assert verdict.family.startswith("all networks of any width")
    check_without_room(proof, r"exceeds the dual norm|larger than delta")


@pytest.mark.parametrize("change", ["l2 in three dimensions", "free bias without intercept"])
def test_what_no_sweep_covers_is_refused(change, rng):
    X, theta = rng.normal(size=(5, 3 if "three" in change else 2)), rng.normal(size=(5, 1))
    stated = problem(X, theta, 2, "free", 1e3)._replace(intercept="three" in change)
    message = "the rows have more than two columns" if "three" in change else "need a free intercept"
    with pytest.raises(InvalidProofError, match=message):
        plane.family(stated, {})


@pytest.mark.filterwarnings("ignore:.*by rounding")
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_objective_of_classes_far_from_the_origin_is_that_of_exact_arithmetic(loss):
    """Rows that differ in their tenth digit cost predictions as many digits, in double precision."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(20, 1))
    y = (np.abs(Z[:, 0]) + 0.3 * rng.normal(size=20) > 0.7).astype(int)
    model = nn.CrossProductLassoClassifier(penalty="l1", bias="free", beta=1e-6, loss=loss).fit(1e6 + 1e-4 * Z, y)
    exact = model.certificate_.verify(1e6 + 1e-4 * Z, y, exact=True)
    assert model.certificate_.objective == pytest.approx(exact.objective, rel=1e-9)
    assert exact.relative_gap <= model.certificate_.relative_gap + 1e-9
