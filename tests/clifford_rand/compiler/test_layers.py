"""Layers for PyTorch: equivariance under orthogonal maps with reflections, and agreement with products of the core."""

import numpy as np
import pytest

import clifford_rand as cr
from support.refusals import refused

torch = pytest.importorskip("torch")
from clifford_rand import layers  # noqa: E402

LAYERS = {
    "linear": lambda alg: layers.EquivariantLinear(alg, 3, 3),
    "norm": lambda alg: layers.GradeNorm(alg, 3),
    "gate": lambda alg: layers.GradeGate(alg, 3),
    "product": lambda alg: layers.GeometricProductLayer(alg, 3),
    "product, not normalized": lambda alg: layers.GeometricProductLayer(alg, 3, normalize=False),
}


def orthogonal(alg, rng, reflect):
    """A random map of O(p, q), of determinant -1 with ``reflect``, on all components by its outermorphism."""
    n, m = (alg.vector(rng.standard_normal(alg.d)) for _ in range(2))
    F = -n.vector_matrix() if reflect else (n * m).vector_matrix()
    basis = alg.multivector(np.eye(2**alg.d))
    return np.array(basis.outermorphism(F).dense().coefficients), np.linalg.det(F)


@pytest.mark.one_seed("the bound says nothing of norms near zero, by which some layers divide")
@pytest.mark.parametrize("counts", [(2,), (3,), (4,), (1, 2)])
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("dtype", "tol"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_layers_commute_with_orthogonal_maps(name, counts, dtype, tol):
    torch.manual_seed(0)
    alg = cr.Algebra(*counts)
    layer = LAYERS[name](alg).to(torch.float64)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    layer = layer.to(dtype)
    rng = np.random.default_rng(1)
    x = torch.tensor(0.5 * rng.standard_normal((16, 3, 2**alg.d)))
    for reflect in (False, True):
        moved, determinant = orthogonal(alg, rng, reflect)
        assert determinant == pytest.approx(-1 if reflect else 1)
        M = torch.tensor(moved)
        first, second = layer((x @ M).to(dtype)).double(), layer(x.to(dtype)).double() @ M
        size = max(float(second.detach().abs().max()), float((x @ M).abs().max()), 1.0) * float(M.abs().max())
        assert float((first - second).detach().abs().max()) <= 8 * tol * size


def test_the_weighted_product_is_the_sum_over_grade_triples():
    alg = cr.Algebra(1, 2)
    torch.manual_seed(0)
    layer = layers.WeightedProduct(alg, 2).double()
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 5, 2, 8))
    A, B = alg.multivector(X), alg.multivector(Y)
    triples = sorted((r, s, t) for r in range(4) for s in range(4) for t in (A.grade(r) * B.grade(s)).grades)
    assert layer.weight.shape == (2, len(triples))
    expected = 0
    for p, (r, s, t) in enumerate(triples):
        part = (A.grade(r) * B.grade(s)).grade(t)
        expected = expected + part * layer.weight[:, p].detach().numpy()
    found = layer(torch.tensor(X), torch.tensor(Y)).detach().numpy()
    assert np.allclose(found, expected.dense().coefficients, atol=1e-12)


def test_layers_differentiate_and_are_finite_at_zero():
    alg = cr.Algebra(3)
    for make in LAYERS.values():
        layer = make(alg).double()
        x = torch.randn(2, 3, 8, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(layer, (x,), fast_mode=True)
        x = torch.zeros(2, 3, 8, dtype=torch.float64, requires_grad=True)
        layer(x).sum().backward()
        assert torch.isfinite(x.grad).all()


def test_a_metric_that_is_not_diagonal_is_refused():
    refused("diagonal metric", lambda: layers.GradeNorm(cr.Algebra.cga(2, null_basis=True), 3))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: layers.EquivariantLinear("no algebra", 2, 3), "algebra"),
        (lambda: layers.GradeNorm(None, 2), "algebra"),
        (lambda: layers.GeometricProductLayer(3, 2), "algebra"),
        (lambda: layers.EquivariantLinear(cr.Algebra(3), 10**400, 3), "in_channels"),
        (lambda: layers.EquivariantLinear(cr.Algebra(3), 2, 10**12), "out_channels"),
        (lambda: layers.GradeGate(cr.Algebra(3), 2**63), "channels"),
        (lambda: layers.WeightedProduct(cr.Algebra(3), 10**12), "channels"),
        (lambda: layers.GeometricProductLayer(cr.Algebra(3), 10**12), "channels"),
        (lambda: layers.EquivariantLinear(cr.Algebra(3), 2, 3, bias="yes"), "bias"),
        (lambda: layers.GeometricProductLayer(cr.Algebra(3), 2, normalize=[True]), "normalize"),
    ],
)
def test_parameters_are_refused_by_name(make, name):
    refused(f"'{name}' parameter of", make)
