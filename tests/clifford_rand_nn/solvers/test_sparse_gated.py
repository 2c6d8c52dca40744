"""Networks of finitely many gates on sparse rows: those of dense rows, without a dense copy."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import GatedReLUClassifier, GatedReLURegressor, sample_gates
from clifford_rand_nn.gates.hyperplanes import activation_patterns
from clifford_rand_nn.problems.coordinates import CsrRows
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gram_newton import GramNewton
from support.pairwise import pairwise

RNG = np.random.default_rng(0)
DENSE = RNG.random((40, 90)) * (RNG.random((40, 90)) < 0.1)
DENSE[7] = DENSE[3]  # a copy: the rank is below n
DENSE[11] = 0.0
DENSE[:, 5] = 0.0
X = sp.csr_array(DENSE)
NEW = sp.csr_array(RNG.random((15, 90)) * (RNG.random((15, 90)) < 0.1))
Z = DENSE @ RNG.standard_normal((90, 3)) + 0.1 * RNG.standard_normal((40, 3))
Y = Z[:, 0]
LABELS = np.where(np.median(Y) < Y, "up", "down")
THREE = Z.argmax(axis=1)


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.sparse_rows.WIDE", 80)


@pytest.fixture(params=["span", "columns"])
def way(request, monkeypatch):
    if request.param == "columns":
        monkeypatch.setattr("clifford_rand_nn.problems.coordinates.MOST", 0)
    return request.param


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("method", ["cross", "gaussian", "leverage", "volume", "simplex", "polished", "opposite"])
def test_gates_are_those_of_dense_rows(method, bias):
    options = {"y": LABELS} if method == "opposite" else {} if method == "gaussian" else {"sketch_dim": "auto"}
    found = sample_gates(X, 8, method, bias=bias, random_state=1, **options)
    wanted = sample_gates(DENSE, 8, method, bias=bias, random_state=1, **options)
    np.testing.assert_allclose(found.directions, wanted.directions, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.offsets, wanted.offsets, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(found.incident, wanted.incident)
    on = found.activations(X)
    np.testing.assert_array_equal(on, found.activations(DENSE))
    incident = found.incident.T
    np.testing.assert_array_equal(np.take_along_axis(on, incident, axis=0).T, found.sides)
    np.testing.assert_array_equal(activation_patterns(X, found).patterns, activation_patterns(DENSE, found).patterns)


def test_exact_cross_products_take_a_dense_copy():
    few = sp.csc_array(X[:, :3])
    found, wanted = sample_gates(few, 5, random_state=0), sample_gates(few.toarray(), 5, random_state=0)
    np.testing.assert_array_equal(found.directions, wanted.directions)


@pairwise(
    {
        "way": ["span", "columns"],
        "loss": ["squared", "logistic"],
        "bias": [True, False],
        "kind": [GatedReLUProblem, GatedRidgeProblem],
    }
)
def test_problems_are_those_of_dense_rows(kind, bias, loss, way, monkeypatch):
    if way == "columns":
        monkeypatch.setattr("clifford_rand_nn.problems.coordinates.MOST", 0)
    y = np.where(Y > 0, 1.0, -1.0)
    patterns = activation_patterns(DENSE, sample_gates(DENSE, 6, sketch_dim="auto", random_state=0)).patterns
    weights = 1 + np.arange(40.0) / 40
    dense, found = (kind(rows, y, patterns, 3e-2, bias=bias, loss=loss, sample_weight=weights) for rows in (DENSE, X))
    assert sp.issparse(found.map.rows) == (way == "columns")
    assert found.beta_max() == pytest.approx(dense.beta_max(), rel=1e-10)
    tol = 1e-11
    wanted, result = AutoSolver(tol=tol).solve(dense), AutoSolver(tol=tol).solve(found)
    assert ("sparse columns" in result.reason) == (way == "columns")
    assert result.converged
    assert result.objective == pytest.approx(wanted.objective, rel=2 * tol)
    np.testing.assert_allclose(result.fitted, wanted.fitted, atol=np.abs(wanted.fitted).max() * tol**0.5)
    coefficients = result.coefficients
    assert coefficients.coef.shape == (1, patterns.shape[1], 90)
    z = found.point(coefficients)
    assert found.objective(z) == pytest.approx(result.objective, rel=1e-9)
    assert found.dual_bound(result.fitted).value <= wanted.objective * (1 + 1e-10)
    first_order = Fista(tol=1e-6).solve(found)
    assert first_order.objective == pytest.approx(wanted.objective, rel=2e-6)


def test_a_basis_of_the_span_is_orthonormal_and_reproduces_the_rows():
    rows = CsrRows(X)
    V = rows.in_columns(np.eye(rows.unweighted.shape[1]))
    assert V.shape == (90, np.linalg.matrix_rank(DENSE))
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-11)
    np.testing.assert_allclose(rows.unweighted @ V.T, DENSE, atol=1e-11)
    np.testing.assert_allclose(rows.in_coordinates(DENSE.T).T, rows.unweighted, atol=1e-11)


MODELS = {
    "default": (GatedReLUClassifier(n_gates=3, tol=1e-3, random_state=0), LABELS),
    "three": (GatedReLUClassifier(n_gates=6, beta=1e-2, loss="logistic", tol=1e-9, random_state=0), THREE),
    "free": (GatedReLUClassifier(n_gates=4, beta=1e-2, bias="free", gates="gaussian", random_state=0), LABELS),
    "plain": (GatedReLURegressor(n_gates=6, beta=1e-2, bias=False, gates="opposite", random_state=0), Y),
    "outputs": (GatedReLURegressor(n_gates=6, beta=1e-2, penalty="ridge", random_state=0), Z),
    "huge": (GatedReLURegressor(n_gates=6, beta=1e28, penalty="ridge", random_state=0), Y),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    """Return a model on dense rows as they come, on sparse and dense ones taken as wide, the targets, and the scale."""
    model, y = MODELS[request.param]
    scale = 2.0**50 if request.param == "huge" else 1.0
    plain = clone(model).fit(scale * DENSE, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clifford_rand_nn.sparse_rows.WIDE", 80)
        return plain, clone(model).fit(scale * X, y), clone(model).fit(scale * DENSE, y), y, scale


def _outputs(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


def test_fits_are_those_of_dense_rows(fitted, wide):
    plain, sparse, dense, _, scale = fitted
    assert sparse.beta_ == pytest.approx(plain.beta_, rel=1e-9)
    assert sparse.loss_ == plain.loss_
    assert sparse.certificate_.objective == pytest.approx(plain.certificate_.objective, rel=2 * sparse._tolerance())
    assert sparse.certificate_.relative_gap <= sparse._tolerance()
    assert _outputs(sparse, scale * NEW) == pytest.approx(_outputs(plain, scale * NEW), rel=1e-2, abs=1e-2)
    np.testing.assert_array_equal(_outputs(sparse, scale * NEW), _outputs(dense, scale * NEW))
    np.testing.assert_array_equal(sparse.coef_, dense.coef_)
    np.testing.assert_allclose(_outputs(sparse, scale * NEW), _outputs(sparse, scale * NEW.toarray()), rtol=1e-9)


def test_patterns_are_those_of_training_bit_for_bit(fitted, wide):
    _, sparse, _, _, scale = fitted
    np.testing.assert_array_equal(sparse.gates_.activations(scale * X), sparse.patterns_)
    np.testing.assert_array_equal(sparse.gates_.activations(scale * DENSE), sparse.patterns_)


def test_certificates_are_verified_on_sparse_rows(fitted, wide, monkeypatch):
    _, sparse, _, y, scale = fitted
    told = sparse.certificate_
    dense = told.verify(scale * DENSE, y)
    monkeypatch.setattr(sp.csr_array, "toarray", None)
    found = told.verify(sp.csc_array(scale * X), y)
    for one in (found, dense):
        assert one.objective == pytest.approx(told.objective, rel=1e-9)
        assert one.lower_bound == pytest.approx(told.lower_bound, rel=1e-9)
        assert one.relative_gap <= max(1e-6, 2 * told.relative_gap)
    with pytest.raises(ArgumentError, match=r"training rows, of shape \(40, 90\). Got shape \(39, 90\)"):
        told.verify(scale * X[1:], y)


def test_a_unique_optimum_is_the_same(wide):
    model = GatedReLURegressor(n_gates=6, beta=1e-2, penalty="ridge", random_state=0, tol=1e-12)
    sparse = model.fit(X, Z, np.arange(40.0)).predict(NEW)
    copies = clone(model).fit(X[np.repeat(np.arange(40), np.arange(40))], np.repeat(Z, np.arange(40), axis=0))
    np.testing.assert_allclose(copies.predict(NEW), sparse, atol=1e-8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clifford_rand_nn.sparse_rows.WIDE", 90)
        dense = clone(model).fit(DENSE, Z, np.arange(40.0)).predict(NEW.toarray())
    np.testing.assert_allclose(sparse, dense, atol=1e-8)


def test_nothing_is_made_dense(wide, way, monkeypatch):
    class Few(sp.csr_array):
        def toarray(self, *args, **options):
            assert self.shape[0] < 40 or self.shape[1] < 90, "a dense copy"
            return super().toarray(*args, **options)

    monkeypatch.setattr("clifford_rand_nn.sparse_rows._COMPARED_BYTES", 8 * 40 * 20)
    monkeypatch.setattr("clifford_rand_nn.estimators.rows._FEW", 0.2)
    for name in ("kernel_network.standardization", "sparse_rows", "problems.coordinates"):
        monkeypatch.setattr(f"clifford_rand_nn.{name}.csr_array", Few)
    model = GatedReLUClassifier(n_gates=6, beta=1e-2, tol=1e-4, random_state=0, sketch_dim=10).fit(X, LABELS)
    assert ("sparse columns" in model.result_.reason) == (way == "columns")
    assert model.certificate_.verify(X, LABELS).relative_gap < 2e-4


def test_rows_of_which_a_dense_copy_is_too_large_are_used_column_by_column():
    tall = sp.random_array((3000, 40), density=0.05, rng=np.random.default_rng(0), format="csr")
    y = np.asarray(tall @ np.arange(40.0))
    model = GatedReLURegressor(n_gates=3, beta=0.1, random_state=0, tol=1e-3, max_memory=2e6).fit(tall, y)
    assert "sparse columns" in model.result_.reason
    assert model.certificate_.verify(tall, y).relative_gap <= 1.001e-3


def test_refusals(wide):
    with pytest.raises(ArgumentError, match=r"a need of .*Take fewer gates or fewer columns"):
        GatedReLUClassifier(beta=1.0, max_memory=1e5).fit(X, LABELS)
    patterns = np.ones((90, 1), dtype=bool)
    tall = GatedReLUProblem(sp.csr_array(DENSE.T), np.zeros(90), patterns, 1.0)
    with pytest.raises(ArgumentError, match=r"at most 4000, and fewer than columns. Got 90 rows of 40 columns.*Fista"):
        GramNewton().solve(GatedReLUProblem(sp.csr_array(DENSE.T), np.arange(90.0), patterns, 1e-3))
    assert tall.map.rows.format == "csr"
    with pytest.raises(ArgumentError, match="real numbers"):
        sample_gates(X.astype(complex), 3)
    with pytest.raises(ArgumentError, match="finite"):
        sample_gates(sp.csr_array([[np.nan, 1.0]]), 3)


_MEMORY = """
import resource, sys
import numpy as np, scipy.sparse as sp
from clifford_rand_nn import GatedReLUClassifier
rng = np.random.default_rng(0)
X = sp.random_array((400, 60_000), density=0.005, rng=rng, format="csr")
y = X @ rng.standard_normal(60_000) > 0
small = GatedReLUClassifier(n_gates=5, beta=1e-2, random_state=0).fit(X[:50], y[:50])  # what is loaded late
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = GatedReLUClassifier(n_gates=10, beta=1e-2, random_state=0).fit(X, y)
model.predict(X), model.certificate_.verify(X, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_memory_stays_below_that_of_dense_rows():
    found = subprocess.run([sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True)
    assert 1024 * int(found.stdout) < 8 * 400 * 60_000 / 2  # half of one dense copy; the fit on dense rows takes 8
