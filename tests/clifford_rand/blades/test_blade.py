"""Blades by their vectors: products, norms and duals agree with multivectors; laws where no multivector reaches."""

import copy
import math
import pickle

import numpy as np
import pytest

import clifford_rand as cr
from support.metrics import algebras
from support.refusals import refused

SCALES = (1.0, 1e150, 1e-150)


def some():
    larger = [cr.Algebra(4), cr.Algebra(1, 2, 1), cr.Algebra(2, 3), cr.Algebra(2, 2, 2)]
    return [*algebras(3), *larger, cr.Algebra(metric=np.diag([2.0, -3, 0.5]))]


def rows_of(alg, rng, k, shape=(), dtype=np.float64):
    return rng.standard_normal((*shape, k, alg.d)).astype(dtype)


def wedge(alg, rows):
    """The wedge of the rows as a multivector."""
    return cr.wedge(alg.scalar(1.0), *[alg.vector(rows[..., i, :]) for i in range(rows.shape[-2])])


def close(blade, mv, rtol=1e-9, scale=0.0):
    return np.all(blade.to_multivector().isclose(mv, rtol=rtol, atol=1e-12 * scale))


def size(alg, *blades):
    """What the rounding of a product of blades is relative to."""
    gram = max(1.0, float(np.abs(alg.metric).max()))
    return math.prod(float(np.abs(A.values).max(initial=0)) for A in blades) * (gram * alg.d) ** alg.d


@pytest.mark.parametrize("alg", some(), ids=repr)
def test_products_agree_with_multivectors(alg):
    rng = np.random.default_rng(0)
    for k in range(alg.d + 1):
        X, Y = rows_of(alg, rng, k), rows_of(alg, rng, k)
        A, B, M, N = cr.Blade(X, alg), cr.Blade(Y, alg), wedge(alg, X), wedge(alg, Y)
        assert A.grade == k
        assert close(A, M, 1e-13)
        assert close(~A, ~M, 1e-13)
        assert close(-2.5 * A, -2.5 * M, 1e-13)
        wanted = float(cr.inner(M, N).values[0])
        atol = 1e-13 * size(alg, M, N)
        np.testing.assert_allclose(cr.inner(A, B), wanted, rtol=1e-9, atol=atol)
        np.testing.assert_allclose(A.norm_squared(), M.norm_squared(), rtol=1e-9, atol=atol)
        np.testing.assert_allclose(A.norm() ** 2, abs(M.norm_squared()), rtol=1e-9, atol=atol)
        np.testing.assert_allclose(np.exp(A.log_volume()), np.linalg.norm(M.values), rtol=1e-11)
        for j in range(alg.d + 1):
            Z = rows_of(alg, rng, j)
            assert close(cr.wedge(A, cr.Blade(Z, alg)), M ^ wedge(alg, Z), 1e-12) or k + j > alg.d
            assert k + j < alg.d or close(A & cr.Blade(Z, alg), M & wedge(alg, Z), 1e-8), (alg, k, j)
            if j != k:
                assert A.inner(cr.Blade(Z, alg)) == 0


@pytest.mark.parametrize("alg", some(), ids=repr)
def test_duals_agree_with_multivectors(alg):
    rng = np.random.default_rng(1)
    null = alg.r > 0
    for k in range(alg.d + 1):
        X = rows_of(alg, rng, k)
        A, M = cr.Blade(X, alg), wedge(alg, X)
        scale = size(alg, M)
        assert cr.star(A).grade == alg.d - k
        metric_free = ("star", "star_right", "left_complement", "right_complement")
        for name in (*metric_free, *(() if null else ("dual", "undual"))):
            assert close(getattr(A, name)(), getattr(M, name)(), scale=scale), (alg, k, name)
        assert A.left_complement().right_complement().isclose(A, rtol=1e-10)
        if null:
            refused("Use left_complement", A.dual)
            refused("Use right_complement", A.undual)
        else:
            assert A.dual().undual().isclose(A, rtol=1e-8), (alg, k)
            assert A.star().star().isclose(A * ((-1) ** (k * (alg.d - k)) * np.linalg.det(alg.metric)), rtol=1e-8)


def test_star_in_degenerate_metrics():
    """It is zero where the blade meets the null directions, and is told so; else its size and sign are exact."""
    alg = cr.Algebra(3, 0, 1)
    for rows, zero in (([[1, 0, 0, 0]], True), ([[1.0, 1, 0, 0]], False), ([[0, 1.0, 0, 0], [1, 1, 0, 0]], True)):
        A = cr.Blade(rows, alg)
        assert A.star().is_zero() is zero
        assert A.is_zero() is False
        assert close(A.star(), cr.star(wedge(alg, np.array(rows, dtype=float))), 1e-12)
    tilted = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0]
    alg = cr.Algebra(metric=tilted @ np.diag([0.0, 1, 2, -3]) @ tilted.T)
    null, other = tilted[:, 0], tilted[:, 1] + tilted[:, 0]
    assert cr.Blade([null], alg).star().is_zero()
    assert cr.Blade([other, null + other], alg).star().is_zero()
    assert not cr.Blade([other], alg).star().is_zero()
    assert close(cr.Blade([other], alg).star(), alg.vector(other).star(), 1e-12)


def test_star_law_in_fifty_dimensions():
    """(star A) ∧ B = inner(A, B) I, by a determinant of d vectors, and inner(star A, star B) = det(G) inner(A, B)."""
    rng = np.random.default_rng(3)
    d = 50
    gram = rng.standard_normal((d, d))
    for alg in (None, cr.Algebra(20, 30), cr.Algebra(metric=gram + gram.T), cr.Algebra(40, 0, 10)):
        for k in (0, 1, 7, 25, 40, 48, 49, 50):
            A, B = (cr.Blade(rng.standard_normal((k, d)), alg) for _ in range(2))
            whole = A.star() ^ B
            sign, log = np.linalg.slogdet(whole.factors)
            wanted_sign, wanted = A.log_inner(B)
            if alg is not None and alg.r and k > alg.p:
                assert A.star().is_zero()
                continue
            assert sign * whole.sign == wanted_sign, (alg, k)
            np.testing.assert_allclose(log + whole.log_scale, wanted, rtol=1e-11, atol=1e-9)
            np.testing.assert_allclose((B ^ A.star_right()).log_volume(), whole.log_volume(), rtol=1e-11, atol=1e-9)
            if alg is None or not alg.r:
                det_sign, det = np.linalg.slogdet(A.algebra.metric.astype(float))
                star_sign, star_log = A.star().log_inner(B.star())
                assert star_sign == det_sign * wanted_sign
                np.testing.assert_allclose(star_log, det + wanted, rtol=1e-10, atol=1e-8)


def test_star_of_hyperplanes_is_the_cross_product():
    rng = np.random.default_rng(4)
    for d in (1, 2, 3, 4, 5, 33, 151):
        for scale in SCALES:
            X = scale * rng.standard_normal((d - 1, d))
            star, (direction, log_norm) = cr.Blade(X).star(), cr.cross_log(X)
            np.testing.assert_allclose(star.sign * star.factors[0], direction, atol=1e-9)
            np.testing.assert_allclose(star.log_norm(), log_norm, rtol=1e-12, atol=1e-9)


def test_nothing_overflows_in_a_thousand_dimensions():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((2, 30, 1000))
    want_sign, want = np.linalg.slogdet(X @ Y.T)
    for a in SCALES:
        for b in SCALES:
            sign, log = cr.Blade(a * X).log_inner(cr.Blade(b * Y))
            assert sign == want_sign
            np.testing.assert_allclose(log, want + 30 * (np.log(a) + np.log(b)), rtol=1e-12)
    A = cr.Blade(1e150 * X)
    np.testing.assert_allclose(A.log_norm(), np.linalg.slogdet(X @ X.T)[1] / 2 + 30 * np.log(1e150), rtol=1e-12)
    assert (A ^ cr.Blade(Y)).log_norm() < np.inf
    assert A.isclose(A.orthonormalized(), rtol=1e-10)
    assert (A * 1e300).scaled(-1e6).log_norm() < -9e5
    sign, log = cr.Blade(X, cr.Algebra(500, 500)).log_inner(cr.Blade(Y, cr.Algebra(500, 500)))
    metric = np.repeat([1.0, -1.0], 500)
    assert (sign, pytest.approx(log)) == tuple(np.linalg.slogdet((X * metric) @ Y.T))
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert A.norm() == np.inf
    assert cr.Blade(1e-150 * X).norm() == 0


def test_scales_and_precision():
    rng = np.random.default_rng(7)
    for alg in (cr.Algebra(4), cr.Algebra(2, 3), cr.Algebra(metric=[[1e-150, 0], [0, -2e-150]]), cr.Algebra.cga(2)):
        for k in range(1, alg.d + 1):
            X = rows_of(alg, rng, k)
            A = cr.Blade(X, alg)
            for scale in SCALES:
                B = cr.Blade(scale * X, alg)
                assert B.isclose(A.scaled(k * np.log(scale)))
                assert B.star().isclose(A.star().scaled(k * np.log(scale)))
                assert not B.is_zero()
                assert close(cr.Blade(X, alg) * scale, wedge(alg, X) * scale, 1e-12)
            single = cr.Blade(X.astype(np.float32), alg)
            assert single.dtype == single.star().dtype == single.to_multivector().dtype == np.float32
            assert (single ^ A if 2 * k <= alg.d else single.canonical()).dtype in (np.float64, np.float32)
            assert np.asarray(single.norm()).dtype == np.float32
            np.testing.assert_allclose(single.log_volume(), A.log_volume(), atol=1e-4)
            assert single.star().isclose(A.star(), rtol=1e-3)
    assert cr.Blade(np.eye(2), cr.Algebra(metric=[[1e-150, 0], [0, -2e-150]])).log_norm_squared()[1] == pytest.approx(
        np.log(2e-150 * 1e-150)
    )
    large = cr.Blade(np.random.default_rng(8).standard_normal((40, 500)).astype(np.float32))
    np.testing.assert_allclose(large.log_norm(), cr.Blade(large.factors.astype(float)).log_norm(), rtol=1e-12)


def test_dependent_vectors_make_zero():
    rng = np.random.default_rng(9)
    for k, d in ((1, 4), (2, 2), (3, 4), (6, 6), (20, 50), (70, 90)):
        X, other = rng.standard_normal((k, d)), cr.Blade(rng.standard_normal((k, d)))
        X[-1] = rng.standard_normal(k - 1) @ X[:-1] if k > 1 else 0
        for scale in (*SCALES, np.logspace(-100, 100, k)[:, None]):
            A = cr.Blade(scale * X)
            for zero in (A, A.star(), A ^ cr.Blade(np.zeros((0, d))), A.canonical(), cr.Blade(np.eye(d)[:k]) * 0):
                assert zero.is_zero() is True
            assert (A.log_norm(), A.norm(), A.star().log_scale) == (-np.inf, 0, -np.inf)
            assert A.log_inner(A) == (0, -np.inf)
            assert A.inner(other) == 0
            assert not A.canonical().factors.any()
            assert A.isclose(A * 5)
            assert not A.isclose(other)
            assert d > 10 or not A.to_multivector().values.any()
        assert cr.Blade(X.astype(np.float32)).is_zero()


def test_thin_blades_are_zero_to_a_tolerance():
    thin = cr.Blade([[1.0, 0, 0], [1, 1e-12, 0]])
    assert not thin.is_zero()
    np.testing.assert_allclose(thin.norm(), 1e-12, rtol=1e-3)
    assert cr.Blade(thin.factors, rtol=1e-10).is_zero()
    assert (cr.Blade(thin.factors[:1], rtol=1e-10) ^ cr.Blade(thin.factors[1:])).is_zero()


def test_full_rank_is_not_called_zero():
    """Square Gaussian matrices, of smallest singular value about 1/k of the largest, in both precisions."""
    for k in (1, 5, 64, 65):
        X = np.random.default_rng(k).standard_normal((k, k))
        assert not any(cr.Blade(rows).is_zero() for rows in (X, X[: k - 1], X.astype(np.float32)))
        assert cr.Blade(X).star().sign == np.linalg.slogdet(X)[0]


def test_grades_at_the_ends():
    for alg in (cr.Algebra(1), cr.Algebra(0, 1), cr.Algebra(0, 0, 1), cr.Algebra(2, 1)):
        one = cr.Blade(np.zeros((0, alg.d)), alg)
        assert one.to_multivector() == 1
        assert one.norm() == one.inner(one) == 1
        assert close(one.star(), alg.I * 1.0)
        assert close((3 * one).star(), alg.I * 3.0)
        whole = cr.Blade(2 * np.eye(alg.d), alg)
        assert whole.star().grade == 0
        assert close(whole.star(), cr.star(alg.I * 2.0**alg.d))
        over = whole ^ whole
        assert over.grade == 0
        assert over.is_zero()
        assert over.to_multivector() == 0
        assert (over ^ whole).is_zero()
        assert over.isclose(whole * 0)


def test_batches():
    rng = np.random.default_rng(11)
    for alg in (cr.Algebra(4), cr.Algebra(2, 2), cr.Algebra(2, 1, 1), algebras(3)[-2]):
        d = alg.d
        for k in range(d + 1):
            X, Y = rows_of(alg, rng, k, (3, 1)), rows_of(alg, rng, k, (4,))
            if k:
                X[1, 0, -1] = 2 * X[1, 0, 0] if k > 1 else 0
            A, B = cr.Blade(X, alg), cr.Blade(Y, alg)
            assert (A.shape, A.ndim, len(A), len(list(A))) == ((3, 1), 2, 3, 3)
            inner, norm, star, wedge_ = A.inner(B), A.norm(), A.star(), A ^ B
            assert (inner.shape, norm.shape, star.shape, wedge_.shape) == ((3, 4), (3, 1), (3, 1), (3, 4))
            assert A.is_zero().tolist() == [[False], [k > 0], [False]]
            for i in range(3):
                one = cr.Blade(X[i, 0], alg)
                np.testing.assert_allclose(norm[i, 0], one.norm(), rtol=1e-12, atol=1e-12)
                assert star[i, 0].isclose(one.star())
                assert A[i].isclose(one).tolist() == [True]
                for j in range(4):
                    np.testing.assert_allclose(inner[i, j], one.inner(cr.Blade(Y[j], alg)), rtol=1e-9, atol=1e-12)
                    assert wedge_[i, j].isclose(one ^ B[j])
            assert A.to_multivector().shape == (3, 1)
            assert (A * np.array([1.0, 2, 3])).shape == (3, 3)
            assert (np.array([1.0, 2, 3]) * A)[0, 2].isclose(3 * A[0, 0])
    large = cr.Blade(rng.standard_normal((2, 38, 40)))  # factored one by one
    assert large.star()[1].isclose(large[1].star())
    empty = cr.Blade(np.zeros((0, 2, 3)))
    assert empty.norm().shape == empty.inner(empty).shape == (0,)
    assert empty.star().factors.shape == (0, 1, 3)


def test_multivectors_and_back():
    rng = np.random.default_rng(12)
    for alg in some():
        for k in range(alg.d + 1):
            M = wedge(alg, rows_of(alg, rng, k))
            for scale in SCALES:
                A = cr.Blade.from_multivector(scale * M)
                assert (A.grade, A.algebra) == (k, alg)
                assert close(A, scale * M, 1e-11)
            assert close(cr.Blade.from_multivector(M.astype(np.float32)), M, 1e-4)
    X = np.array([[3, 1, -2, 0], [0, 5, 7, 1]])
    alg = cr.Algebra(4)
    exact = alg.vector(X[0]) ^ alg.vector(X[1])  # integers stay so
    assert cr.Blade(X).to_multivector() == exact
    assert cr.Blade(X * 2**40).to_multivector() == exact * 2.0**80
    assert close(cr.Blade.from_multivector(alg("3*e12 + 4*e13").astype(object)), alg("3*e12 + 4*e13"))
    batch = cr.Blade(rng.standard_normal((3, 2, 4)))
    assert cr.Blade.from_multivector(batch.to_multivector()).isclose(batch).all()
    for M, match in (
        (alg("e12 + e34"), "must be a blade"),
        (alg("e1 + e12"), "must be a blade"),
        (alg.e1 * 0, "must be a blade"),
        (alg.e1 * 1j, "must be real"),
        (alg.e1 * np.nan, "must be finite"),
        (np.eye(3), "must be a multivector"),
    ):
        refused(match, cr.Blade.from_multivector, M)
    refused(r"C\(10000, 100\) = 10\^241, 10\^242 bytes", cr.Blade(rng.standard_normal((100, 10_000))).to_multivector)
    refused("fit into float64", cr.Blade(1e200 * np.eye(2)).to_multivector)
    refused("fit into float32", cr.Blade(1e30 * np.eye(2, dtype=np.float32)).to_multivector)


def test_values():
    rng = np.random.default_rng(13)
    X = rng.standard_normal((2, 5))
    A = cr.Blade(X, cr.Algebra(4, 1))
    assert repr(A) == "<Blade of grade 2 in Algebra(4, 1)>"
    assert (
        repr(cr.Blade(X[None].astype(np.float32))) == "<Blade of grade 2 in Algebra(5), batch of shape (1,), float32>"
    )
    assert len(repr(cr.Blade(X, cr.Algebra(metric=X.T @ X)))) < 80
    kept = A.to_multivector()
    X[...] = 0  # the blade has a copy
    assert A.to_multivector() == kept
    with pytest.raises(ValueError, match="read-only"):
        A.factors[0, 0] = 1
    again = pickle.loads(pickle.dumps(A * -3))
    assert again.isclose(-3 * A)
    assert again.algebra == A.algebra
    assert copy.deepcopy(A) is A
    assert ((A / 2) * 2).isclose(A)
    assert (+A) is A
    assert (A.sign, A.log_scale) == (1, 0)
    assert ((-A).sign, (A * 0).sign, (A * 0).log_scale) == (-1, 0, -np.inf)
    assert A.same_orientation(2 * A)
    assert not A.same_orientation(-A)
    assert not A.same_orientation(cr.Blade(kept.algebra.metric[:2], A.algebra) * 0)
    assert cr.Blade([[3.0, 4.0]]).normalized().norm() == pytest.approx(1)


def test_errors():
    alg, X = cr.Algebra(3), np.eye(3)
    A = cr.Blade(X[:2])
    refused(r"one vector per row.*x\[None\]", cr.Blade, X[0])
    refused(r"at most d vectors of R\^d.*4 vectors of R\^3", cr.Blade, np.ones((4, 3)))
    refused("one vector per row", cr.Blade, np.zeros((0, 0)))
    refused("must be finite. Got 1 NaN or infinite of 3", cr.Blade, [[1.0, np.nan, 0]])
    for wrong in (np.nan, np.inf, -np.inf):
        refused("must be finite", cr.Blade, [[1.0, 0, 0], [0, 1e300, wrong]])
    refused("real numbers", cr.Blade, [[1j, 0]])
    refused("real numbers", cr.Blade, [["a", "b"]])
    refused("of 3 dimensions, as the vectors are. Got one of 4", cr.Blade, X, cr.Algebra(4))
    refused("an Algebra or None. Got 3", cr.Blade, X, 3)
    refused(r"rtol.*\[0, 1\)", cr.Blade, X, rtol=2)
    refused("of the same algebra", lambda: A ^ cr.Blade(X, cr.Algebra(2, 1)))
    refused("of the same algebra", A.inner, cr.Blade(X, cr.Algebra(2, 1)))
    refused("must be a Blade. Got ndarray", A.inner, X)
    refused("must be a Blade. Got Multivector", lambda: A ^ alg.e1)
    refused("real numbers", lambda: A * [1j])
    refused("must be finite", lambda: A * np.nan)
    refused("other than zero", lambda: A / 0)
    refused("1, -1 or 0", A.scaled, 1, 2)
    refused("batch of shape", lambda: cr.Blade(np.ones((2, 1, 3))) * np.ones(3))
    refused("fits the shape", lambda: cr.Blade(np.ones((2, 1, 3))) ^ cr.Blade(np.ones((3, 1, 3))))
    refused("of grade 2. Got a blade of grade 3", A.same_orientation, cr.Blade(X))
    refused("zero or null", cr.Blade([[1.0, 1]], cr.Algebra(1, 1)).normalized)
    refused("non-degenerate", cr.Blade(X, cr.Algebra(2, 0, 1)).dual)
    refused("components", cr.star, cr.Blade(np.ones((1, 20_000), np.float32)))
    for work in (
        *(lambda: len(A), lambda: A[0], lambda: next(iter(A)), lambda: A * A, lambda: A + 1, lambda: A * "x"),
    ):
        with pytest.raises((TypeError, cr.ArgumentError)):
            work()
    sympy = pytest.importorskip("sympy")
    refused("of a metric of numbers", cr.Blade, [[1.0]], cr.Algebra(metric=[[sympy.Symbol("g")]]))
    from fractions import Fraction

    third = cr.Algebra(metric=[[Fraction(1, 3)]])
    assert cr.Blade([[3.0]], third).norm_squared() == pytest.approx(3)


@pytest.mark.parametrize(("k", "d"), [(1, 4), (2, 3), (5, 9), (12, 14), (40, 60), (30, 30)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_volumes_by_the_gram_matrix_are_as_good_as_by_a_frame(k, d, dtype):
    """Angles between the vectors from 1 down to 1e-12, lengths from 1e-300 to 1e300, in one batch with zeros."""
    rng = np.random.default_rng(k)
    X = rng.standard_normal((26, k, d))
    if k > 1:
        X[:24, -1] = X[:24, 0] + X[:24, -1] * np.logspace(0, -12, 24)[:, None]
    X[24, 0] = 0
    X[25] *= 1e30 if dtype == np.float32 else 1e300 ** rng.uniform(-1, 1, (k, 1))
    X = X.astype(dtype)
    B = cr.Blade(X)
    B.orthonormalized()  # B has its frame, and takes what it needs from there
    assert B.is_zero()[24]
    for A, part in ((cr.Blade(X), slice(None)), *((cr.Blade(X[i]), i) for i in range(26))):
        assert np.array_equal(A.is_zero(), B.is_zero()[part])
        np.testing.assert_allclose(A.log_norm(), B.log_norm()[part], rtol=1e-13, atol=3e-13 * k)
        np.testing.assert_allclose(A.log_volume(), B.log_volume()[part], rtol=1e-13, atol=3e-13 * k)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 20, 140])
def test_log_norms_of_rows_of_all_lengths_are_those_of_a_factorisation(k):
    """One blade by itself, in float64, has a way of its own; with 140 rows the determinant is beyond the floats."""
    rng = np.random.default_rng(k)
    for spread in (0, 2, 9, 40, 500):
        X = rng.standard_normal((k, 3 * k)) * 2.0 ** rng.uniform(-spread, spread, (k, 1))
        expected = np.log(np.abs(np.linalg.qr(X.T, mode="r").diagonal())).sum()
        np.testing.assert_allclose(cr.Blade(X).log_norm(), expected, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("rtol", [1e-6, 1e-2, 0.3])
def test_a_tolerance_for_zero_holds_with_and_without_a_frame(rtol):
    """Two unit vectors at an angle t have the smallest singular value √(1 - cos t)."""
    for factor, zero in ((0.9, True), (1.1, False)):
        t = np.arccos(1 - (factor * rtol) ** 2)
        X = np.array([[1.0, 0, 0], [np.cos(t), np.sin(t), 0]])
        A, B = cr.Blade(X, rtol=rtol), cr.Blade(X, rtol=rtol)
        assert A.is_zero() is zero
        assert bool(A.log_norm() == -np.inf) is zero
        B.orthonormalized()
        assert B.is_zero() is zero
