"""The identities of the star, the dual and the complements, in every signature up to five dimensions."""

import math

import numpy as np
import pytest

import clifford_rand as cr
from support.metrics import every_signature
from support.refusals import refused


def size(M, N, k):
    """A bound of the terms of inner(M, N) of k-blades."""
    largest = float(np.abs(M.values).max() * np.abs(N.values).max())
    return largest * max(1.0, float(np.abs(M.algebra.metric).max())) ** k


@pytest.mark.parametrize("alg", every_signature(), ids=repr)
def test_the_star_is_defined_by_the_inner_product(alg):
    """(star M) ^ N = inner(M, N) I = M ^ star_right N for grades alike, star star M = ± det(G) M."""
    rng = np.random.default_rng(1)
    det, d = float(np.linalg.det(alg.metric.astype(float))), alg.d
    assert cr.star(alg.scalar(1)) == alg.I
    assert cr.star(alg.I).isclose(det, rtol=1e-9, atol=1e-12)
    for k in range(d + 1):
        M, N = (alg.random_multivector(rng=rng, grades=k) for _ in range(2))
        expected, sign, atol = cr.inner(M, N) * alg.I, (-1) ** (k * (d - k)), 1e-12 * size(M, N, k)
        assert (cr.star(M) ^ N).isclose(expected, rtol=1e-9, atol=atol)
        assert (M ^ N.star_right()).isclose(expected, rtol=1e-9, atol=atol)
        assert (N.reverse() * alg.I).isclose(N.star_right(), rtol=1e-12)
        assert N.star_right().isclose(sign * N.star(), rtol=1e-9, atol=atol)
        atol = 1e-9 * max(1.0, float(np.abs(alg.metric).max())) ** d
        assert M.star().star().isclose(sign * det * M, rtol=1e-9, atol=atol)
        assert M.star_right().star().isclose(det * M, rtol=1e-9, atol=atol)
        assert cr.inner(M.star(), N.star()).isclose(det * cr.inner(M, N), rtol=1e-8, atol=10 * atol)


@pytest.mark.parametrize("alg", every_signature(degenerate=False), ids=repr)
def test_dual_and_star_differ_by_a_sign_and_the_determinant(alg):
    rng = np.random.default_rng(3)
    det, d = float(np.linalg.det(alg.metric.astype(float))), alg.d
    assert (alg.I * alg.I_inv).isclose(1, rtol=1e-9)
    for k in range(d + 1):
        M = alg.random_multivector(rng=rng, grades=k)
        assert M.dual().undual().isclose(M, rtol=1e-9)
        assert M.star().isclose((-1) ** ((d - k) * (d - k - 1) // 2) * det * M.dual(), rtol=1e-8)


def test_the_traps_of_the_star():
    alg = cr.Algebra(3)
    assert cr.star(alg.e1) == alg.e23  # M I⁻¹ would be -e23
    assert alg.e1.dual() == -alg.e23
    assert cr.star(cr.Algebra(4).e123) == -cr.Algebra(4).e4
    assert cr.star(cr.wedge(*cr.Algebra(2).vector(np.array([[3.0, 5.0]])))) == cr.Algebra(2).vector([5.0, -3.0])
    assert cr.star(cr.Algebra(1).scalar(1)) == cr.Algebra(1).e1


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_the_star_of_a_wedge_is_the_cross_product(d):
    rng = np.random.default_rng(d)
    A = rng.standard_normal((4, d - 1, d))
    alg = cr.Algebra(d)
    factors = [alg.vector(A[:, i]) for i in range(d - 1)]
    star = cr.star(cr.wedge(*factors)) if factors else alg.scalar(np.ones(4)).star()
    np.testing.assert_allclose(star.values, cr.cross(A), rtol=1e-10, atol=1e-12)
    if factors:
        x = rng.standard_normal(d)
        np.testing.assert_allclose(star.values @ x, np.linalg.det(np.concatenate([np.tile(x, (4, 1, 1)), A], axis=1)))


@pytest.mark.parametrize("alg", every_signature(), ids=repr)
def test_inner_is_the_gram_determinant(alg):
    rng = np.random.default_rng(4)
    for k in range(1, alg.d + 1):
        a, b = rng.standard_normal((2, k, alg.d))
        M, N = cr.wedge(*alg.vector(a)), cr.wedge(*alg.vector(b))
        wanted = float(np.linalg.det(a @ alg.metric.astype(float) @ b.T))
        exactness = {"rel": 1e-8, "abs": 1e-11 * size(M, N, k)}
        assert cr.inner(M, N)["1"] == pytest.approx(wanted, **exactness)
        assert (M.reverse() * N)["1"] == pytest.approx(wanted, **exactness)
        assert M.scalar_product(N)["1"] == pytest.approx((-1) ** (k * (k - 1) // 2) * wanted, **exactness)


def test_complements_of_basis_blades():
    for alg in (cr.Algebra(1), cr.Algebra(4), cr.Algebra.pga(3), cr.Algebra(0, 0, 5), cr.Algebra(70)):
        names = [alg.names.blade(mask) for mask in (0, 1, 3 % 2**alg.d, 2**alg.d - 1)]
        for name in names:
            X = alg.blade(name)
            assert (X.left_complement() ^ X) == alg.I
            assert (X ^ X.right_complement()) == alg.I
            assert X.left_complement().right_complement() == X


def test_complements_are_linear_and_metric_free():
    values = np.random.default_rng(5).standard_normal((3, 16))
    results = {
        alg.multivector(values).left_complement().values.tobytes()
        for alg in (cr.Algebra(4), cr.Algebra(1, 3), cr.Algebra(2, 0, 2), cr.Algebra(metric=np.ones((4, 4))))
    }
    assert len(results) == 1


def test_the_dual_of_a_degenerate_metric_is_refused():
    for alg in (cr.Algebra.pga(3), cr.Algebra(metric=[[1, 1], [1, 1]])):
        refused("left_complement", alg.basis_vectors()[0].dual)
        refused("right_complement", alg.basis_vectors()[0].undual)


def test_involutions_by_their_definition():
    """The reverse of a product of vectors is the product in the other order; the involution negates every vector."""
    rng = np.random.default_rng(6)
    for alg in (cr.Algebra(7), cr.Algebra(2, 1, 1), cr.Algebra.cga(2, null_basis=True)):
        for k in range(1, 8 if alg.d == 7 else 5):
            vectors = [alg.random_multivector(rng=rng, grades=1) for _ in range(k)]
            product, backward = math.prod(vectors), math.prod(vectors[::-1])
            assert (~product).isclose(backward, rtol=1e-12)
            assert product.involute().isclose(math.prod(-v for v in vectors), rtol=1e-12)
            assert product.conjugate().isclose(backward.involute(), rtol=1e-12)
            assert (product.even() + product.odd()).isclose(product, rtol=1e-15)


def test_involutions_of_a_batch_are_those_of_its_members():
    """One component a grade, strided: where an in-place NumPy negative went wrong."""
    for dtype, alg in ((np.float64, cr.Algebra(3)), (np.int64, cr.Algebra(3)), (np.float32, cr.Algebra(2))):
        values = (np.arange(7 * 2**alg.d).reshape(7, -1) - 11).astype(dtype)
        batch = alg.multivector(values)
        for name in ("reverse", "involute", "conjugate", "star", "left_complement"):
            rows = [getattr(alg.multivector(row), name)().dense().values for row in values]
            np.testing.assert_array_equal(getattr(batch, name)().dense().values, np.stack(rows))


@pytest.mark.parametrize("name", ["reverse", "involute", "conjugate", "even", "odd", "star", "right_complement"])
def test_maps_of_many_blades_are_those_of_few(name):
    """At d = 15 and 16 by slices with a sign each, against the same map of the parts of a few grades."""
    for d in (15, 16):
        A = cr.Algebra(d).random_multivector(rng=d)
        whole = getattr(A, name)()
        for k in (0, 1, 2, d // 2, d):
            part = getattr(A.grade(k), name)()
            assert (whole.grade(*part.grades) == part) if part.grades else True
