"""Proofs of gated networks with infinitely many gates: enclosures of their kernel, and default models."""

import random
from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.claims import KernelClaim
from clifford_rand_nn.certificates.export import exact_proof
from clifford_rand_nn.proof_checker.check import InvalidProofError, Problem, Table, check, corners, loss_above
from clifford_rand_nn.proof_checker.kernel import ERROR, P, Products, Steps, kernel, share
from support.proof_problems import confirmed


@pytest.fixture(autouse=True)
def digits():
    with mp.workprec(600):
        yield


def gate_kernel(z, other):
    """Return z·z' (pi - angle) / (2 pi) by the arctangent of exact integers."""
    s = sum(a * b for a, b in zip(z, other, strict=True))
    square = sum(a * a for a in z) * sum(b * b for b in other) - s * s
    return s * (mp.pi - mp.atan2(mp.sqrt(square), s)) / (2 * mp.pi)


def test_the_arctangent_is_within_its_error():
    rng = random.Random(0)
    for _ in range(400):
        s = rng.choice([-1, 1]) * rng.randint(1, 2 ** rng.randint(1, 120))
        for square in (0, 1, rng.randint(0, 2 ** rng.randint(0, 240))):
            truth = mp.atan2(mp.sqrt(square), abs(s)) / (2 * mp.pi)
            assert abs(share(s, square) - truth * 2**P) < ERROR


def test_the_kernel_is_within_its_error_where_rows_are_nearly_parallel_opposite_or_zero():
    rows = (3**40, 5**30, 0), (3**40 + 1, 5**30, 0), (-(3**40), -(5**30), 1), (0, 0, 0), (0, 0, 1), (2**60, -1, 7)
    K, error = kernel(rows, None)
    for z, line in zip(rows, K, strict=True):
        for other, entry in zip(rows, line, strict=True):
            assert abs(entry - gate_kernel(z, other) * 2**P) < error
    assert K[0][0] == sum(x * x for x in rows[0]) * 2 ** (P - 1)
    assert error * 2**100 < max(map(max, K))  # the enclosure is narrow


@pytest.mark.parametrize("weight", [Fraction(10, 3), Fraction(2**150, 7)])
def test_boxes_are_within_the_error(weight):
    levels, denominator = ((0, 0), (1, 5), (3, 4), (10**6, 0)), 7
    K, error = kernel(((0, 0),) * 4, Steps(weight, denominator, levels, True))  # rows of zeros: all is of boxes
    missed = [
        entry - mp.mpf(weight.numerator) / weight.denominator * mp.exp(-mp.mpf(apart) / denominator) * 2**P
        for v, line in zip(levels, K, strict=True)
        for w, entry in zip(levels, line, strict=True)
        for apart in [sum(abs(a - b) for a, b in zip(v, w, strict=True))]
    ]
    assert max(map(abs, missed)) <= error
    assert any(missed)  # they are rounded
    assert error <= 2 + int(weight) // 2**106


def problem(rows, loss="softmax"):
    n = len(rows)
    y, theta = ([1, 0], [1, 1]), Table(1, [[0, 0]] * n)
    X, targets = Table(4, [list(row) for row in rows]), Table(1, [y[0]] * n)
    weights = [Fraction(1)] * n
    tenth = Fraction(1, 10)
    return Problem(loss, tenth, "squared", "penalized", Fraction(1, 2), False, tenth, X, targets, weights, theta)


def test_duplicates_share_a_row_of_the_kernel():
    rows = (1, 2), (3, -4), (1, 2), (0, 9)
    a = [[3, -1], [2, 2], [-5, 7], [11, 0]]
    products = Products.of(problem(rows), Table(8, a), {})
    z = [(x, y, 2) for x, y in rows]  # the constant feature is 2/4
    K = [[gate_kernel(p, q) / 16 for q in z] for p in z]
    for i, outputs in enumerate(products.outputs):
        for c, value in enumerate(outputs):
            truth = sum(K[i][j] * a[j][c] for j in range(4)) / 8
            assert abs(mp.mpf(value.numerator) / value.denominator - truth) <= mp.mpf(2) ** -100
            assert abs(value - products.outputs[2][c]) == 0 or i in (1, 3)
    form = sum(a[i][c] * K[i][j] * a[j][c] for c in range(2) for i in range(4) for j in range(4)) / 64
    assert 0 <= mp.mpf(products.form.numerator) / products.form.denominator - form < mp.mpf(2) ** -100
    assert 0 < products.error < Fraction(1, 2**100)


@pytest.mark.parametrize("loss", ["squared", "huber", "log_cosh", "softmax"])
def test_a_loss_is_largest_at_a_corner_of_outputs_that_miss_an_error(loss):
    rng, error = random.Random(1), Fraction(1, 7)
    task = problem([(1, 1)], loss)
    for _ in range(30):
        f = [Fraction(rng.uniform(-2, 2)) for _ in range(3)]
        y = [Fraction(0), Fraction(1), Fraction(0)]
        bound = max(loss_above(task, corner, y) for corner in corners(f, error))
        box = [[v + rng.choice([-1, 1]) * error for v in f] for _ in range(8)]
        assert all(loss_above(task, vertex, y) <= bound for vertex in box)
    assert corners(f, Fraction(0)) == [f]


def rows(n=30):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 2))
    X[5] = X[7]
    return X, np.abs(X[:, 0]) + 0.3 * rng.normal(size=n)


RIDGE = {"gates": "infinite", "penalty": "ridge", "beta": 1e-2}
REGRESSORS = {
    "default": nn.ConvexNetworkRegressor(),
    "huber": nn.GatedReLURegressor(loss="huber", huber_delta=0.2, **RIDGE),
    "log-cosh": nn.GatedReLURegressor(loss="log_cosh", huber_delta=0.2, bias=False, fit_intercept=False, **RIDGE),
}
CLASSIFIERS = {
    "default": nn.ConvexNetworkClassifier(),
    "logistic": nn.ConvexNetworkClassifier(loss="logistic"),
    "infinite": nn.GatedReLUClassifier(loss="logistic", **RIDGE),
}


def check_proof(model, X, y, weights=None):
    certificate, _, verdict = confirmed(model, X, y, weights, rel=1e-9)
    assert "infinitely many Gaussian gates" in verdict.family
    assert certificate.relative_gap < 1e-5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", REGRESSORS)
def test_proofs_of_regressors(name, weighted):
    X, y = rows()
    weights = np.linspace(0, 2, len(X)) if weighted else None
    check_proof(REGRESSORS[name], X, y if weighted else np.column_stack([y, y**2]), weights)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_proofs_of_classifiers(name, classes):
    X, y = rows()
    check_proof(CLASSIFIERS[name], X, np.digitize(y, np.quantile(y, [0.4, 0.8])[: classes - 1]))


def test_a_learned_metric_is_part_of_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = np.abs(X[:, 0]) + 0.05 * rng.normal(size=120)
    model = nn.ConvexNetworkRegressor()
    check_proof(model, X, y)
    assert model.metric_ is not None


@pytest.mark.parametrize("part", ["alpha", "dual", "X", "y", "beta", "t", "penalty", "bias"])
def test_changed_proofs_are_not_valid(part):
    X, y = rows()
    certificate = nn.ConvexNetworkRegressor().fit(X, y).certificate_
    proof = exact_proof(certificate, X, y[:, None], np.ones(len(X)))
    tables = {"alpha": proof["network"], "t": proof["network"], "dual": proof, "X": proof["data"], "y": proof["data"]}
    if part in tables:
        numbers = tables[part][part]["numerators"][0]
        numbers[0] = str(int(numbers[0]) * 11 // 10)
    else:
        proof["problem"] |= {"beta": ["1", "3"]} if part == "beta" else {part: {"penalty": "l2", "bias": "free"}[part]}
    with pytest.raises(InvalidProofError):
        check(proof)


def test_other_networks_than_those_of_the_rows_are_refused(tmp_path):
    X, y = rows()
    certificate = nn.ConvexNetworkRegressor().fit(X, y).certificate_
    spanned = replace(certificate, claim=replace(certificate.claim, landmarks=True))
    with pytest.raises(ValueError, match="landmarks"):
        spanned.export(tmp_path / "proof.json", X, y)
    moved = replace(certificate.claim.network, rows=certificate.claim.network.rows + 1e-9)
    with pytest.raises(ValueError, match="Pass the training rows"):
        replace(certificate, claim=KernelClaim(moved)).export(tmp_path / "proof.json", X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("seed", "beta"), [(0, 1e-13), (6, 1e-11)])
def test_a_logistic_fit_of_nearly_equal_rows_counts_the_rounding_of_its_predictions(seed, beta):
    """Coefficients of nearly equal rows cancel in K alpha: the objective was 2e-5 below that of the network."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(8, 3)), 2, axis=0)
    X[1::2] *= 1 + 10.0 ** rng.integers(-12, -6)
    y = rng.integers(0, 3, 16)
    certificate = nn.ConvexNetworkClassifier(loss="logistic", beta=beta, max_metric_iter=0).fit(X, y).certificate_
    exact = certificate.verify(X, y, exact=True)
    assert certificate.objective >= exact.objective * (1 - 1e-9)
    assert certificate.relative_gap >= exact.relative_gap - 1e-9
