"""Outermorphisms, reciprocal frames, and multivectors as matrices."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from support.metrics import algebras, vectors
from support.refusals import refused


def test_an_outermorphism_keeps_wedges():
    rng = np.random.default_rng(1)
    for d, e in ((1, 1), (1, 4), (2, 3), (3, 3), (4, 2), (5, 6), (6, 5)):
        source, target = cr.Algebra(d), cr.Algebra(0, 1, e - 1)
        F = rng.standard_normal((e, d))
        A, B = source.random_multivector(rng=rng), source.random_multivector(rng=rng, grades=range(0, d + 1, 2))
        image = (A ^ B).outermorphism(F, target)
        assert image.algebra is target
        assert image.isclose(A.outermorphism(F, target) ^ B.outermorphism(F, target), rtol=1e-11)
        x = source.random_multivector(rng=rng, grades=1)
        np.testing.assert_allclose(x.outermorphism(F, target).values, F @ x.values, rtol=1e-13, atol=1e-13)
        assert source.scalar(3.0).outermorphism(F, target) == target.scalar(3.0)
        if min(d, e) >= 2:  # the coefficient on e_1 ∧ e_e is a 2 × 2 minor
            image = source.blade(source.names.blade(3)).outermorphism(F, target)
            minor = np.linalg.det(F[np.ix_([0, e - 1], [0, 1])])
            np.testing.assert_allclose(image[target.names.blade(1 | 1 << (e - 1))], minor, rtol=1e-12)


def test_the_shears_agree_with_the_minors():
    rng = np.random.default_rng(3)
    alg = cr.Algebra(11)  # 705 432 minors for all grades, below; 12: above
    F = rng.standard_normal((12, 12))
    A = cr.Algebra(12).random_multivector(rng=rng)
    through_shears = A.outermorphism(F)
    parts = [A.grade(k).outermorphism(F) for k in (0, 1, 2, 3, 11, 12)]
    for part in parts:
        assert through_shears.grade(*part.grades).isclose(part, rtol=1e-8)
    B = alg.random_multivector(rng=rng, grades=range(4))
    assert B.outermorphism(F[:11, :11]).dtype == np.float64


def test_batches_and_dtypes_of_maps():
    rng = np.random.default_rng(4)
    alg = cr.Algebra(4)
    A, F = alg.random_multivector(rng=rng, shape=(3,)), rng.standard_normal((2, 1, 4, 4))
    image = A.outermorphism(F)
    assert image.shape == (2, 3)
    for i in range(2):
        assert image[i].isclose(A.outermorphism(F[i, 0]), rtol=1e-13).all()
    assert A.astype(np.float32).outermorphism(F.astype(np.float32)).dtype == np.float32
    assert A.outermorphism(F * 1j).dtype == np.complex128
    whole = rng.integers(-4, 5, (4, 4))
    assert alg.I.outermorphism(whole).dtype == np.int64
    assert alg.I.outermorphism(whole).values[0] == round(np.linalg.det(whole))
    sparse = alg.e12 + 2 * alg.e34
    assert sparse.outermorphism(whole) == sparse.dense().outermorphism(whole)
    assert A[0].outermorphism(np.eye(4)) == A[0]
    half = np.array([[Fraction(int(v), 3) for v in row] for row in whole], dtype=object)
    symbols = sp.Matrix(3, 3, sp.symbols("f:9"))
    assert sp.expand(cr.Algebra(3).I.outermorphism(symbols).values[0] - symbols.det()) == 0
    assert alg.I.outermorphism(half).values[0] == Fraction(round(np.linalg.det(whole)), 81)
    down = alg.random_multivector(rng=rng).outermorphism(rng.standard_normal((2, 4)), cr.Algebra(2))
    assert down.grades == (0, 1, 2)


def test_reciprocal_frames():
    rng = np.random.default_rng(5)
    for alg in algebras(4):
        for k in range(1, alg.d + 1 - alg.r):
            made = vectors(alg, rng, k)
            if made is None:
                continue
            gram = np.array([[float(a.inner(b)["1"]) for b in made] for a in made])
            if np.linalg.cond(gram) > 1e6:
                continue
            for scale in (1.0, 1e150, 1e-150):
                frame = alg.reciprocal_frame([scale * a for a in made])
                table = [[float(a.inner(b)["1"]) * scale for b in made] for a in frame]
                np.testing.assert_allclose(table, np.eye(k), atol=1e-8)
                span = cr.wedge(*made)
                for a in frame:
                    outside = np.abs((span ^ a).values).max(initial=0)
                    assert outside <= 1e-9 * np.abs(span.values).max() * np.abs(a.values).max()


def test_reciprocal_frames_of_exact_numbers_and_batches():
    alg = cr.Algebra(metric=[[2, 1, 0], [1, 3, 0], [0, 0, -1]])
    one, two, three = alg.basis_vectors()
    made = [one + two, two - 2 * three]
    exact = alg.reciprocal_frame([a.astype(object) for a in made])
    for i, a in enumerate(exact):
        for j, b in enumerate(made):
            assert a.inner(b) == int(i == j)
        assert a.astype(np.float64).isclose(alg.reciprocal_frame(made)[i], rtol=1e-13)
    rng = np.random.default_rng(6)
    a, b = cr.Algebra(3).vector(rng.standard_normal((4, 1, 3))), cr.Algebra(3).vector(rng.standard_normal((2, 3)))
    first, second = cr.Algebra(3).reciprocal_frame([a, b])
    assert first.shape == (4, 2)
    np.testing.assert_allclose(first.inner(b)["1"], 0, atol=1e-12)
    np.testing.assert_allclose(second.inner(b)["1"], 1, rtol=1e-12)


def test_left_and_right_matrices():
    rng = np.random.default_rng(7)
    for alg in algebras(4):
        A, B = alg.random_multivector(rng=rng), alg.random_multivector(rng=rng)
        scale = max(1.0, float(np.abs(alg.metric).max()) ** alg.d)
        close = {"rtol": 1e-10, "atol": 1e-11 * scale}
        np.testing.assert_allclose(A.left_matrix() @ B.values, (A * B).dense().values, **close)
        np.testing.assert_allclose(A.right_matrix() @ B.values, (B * A).dense().values, **close)
        np.testing.assert_allclose((A * B).left_matrix(), A.left_matrix() @ B.left_matrix(), **close)
        assert alg.from_left_matrix(A.left_matrix()).isclose(A, rtol=1e-14)
        odd = alg.random_multivector(rng=rng, shape=(2,), grades=1)
        assert odd.left_matrix().shape == (2, 2**alg.d, 2**alg.d)
        np.testing.assert_allclose(odd.left_matrix()[1] @ B.values, (odd[1] * B).dense().values, **close)
    alg = cr.Algebra(3)
    assert alg.e1.left_matrix().dtype == np.int64
    assert alg.e1.astype(np.float32).left_matrix().dtype == np.float32
    assert alg.e1.astype(object).left_matrix().dtype == object


def test_spinor_matrices_are_a_representation():
    rng = np.random.default_rng(8)
    for alg in algebras(6, degenerate=False):
        if not alg.form.is_unit:
            continue
        A, B = alg.random_multivector(rng=rng, shape=(2,)), alg.random_multivector(rng=rng)
        product = A.spinor_matrix() @ B.spinor_matrix()
        m = alg.d // 2
        blocks = (2,) if alg.d % 2 and (alg.I * alg.I)["1"] > 0 else ()
        assert product.shape == (2, *blocks, 2**m, 2**m)
        np.testing.assert_allclose((A * B).spinor_matrix(), product, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose((2 * A + B).spinor_matrix(), 2 * A.spinor_matrix() + B.spinor_matrix(), atol=1e-12)
        distinct = {alg.blade(name).spinor_matrix().tobytes() for name in alg.blades}
        assert len(distinct) == 2**alg.d
    assert cr.Algebra(3).e1.astype(np.float32).spinor_matrix().dtype == np.complex64


SIGMA = [np.array(rows) for rows in ([[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]])]
DIRAC = [np.diag([1, 1, -1, -1]), *(np.block([[0 * s, s], [-s, 0 * s]]) for s in SIGMA)]
WEYL = [np.eye(4)[[2, 3, 0, 1]], *DIRAC[1:]]


def test_pauli_and_dirac_matrices():
    space, st = cr.Algebra(3), cr.Algebra.sta()
    assert [(a.spinor_matrix() == b).all() for a, b in zip(space.basis_vectors(), SIGMA, strict=True)] == [True] * 3
    assert (space.I.spinor_matrix() == 1j * np.eye(2)).all()
    assert [(a.spinor_matrix() == b).all() for a, b in zip(st.basis_vectors(), DIRAC, strict=True)] == [True] * 4
    assert [(a.spinor_matrix(basis="weyl") == b).all() for a, b in zip(st.basis_vectors(), WEYL, strict=True)] == [
        True
    ] * 4
    assert all(not a.spinor_matrix(basis="majorana").real.any() for a in st.basis_vectors())
    refused(r"'basis' .* outside Algebra.sta", space.e1.spinor_matrix, basis="dirac")
    refused(r"real, as I is i in one block.*basis='blocks'", (1j * space.e1).spinor_matrix)


@pytest.mark.parametrize("basis", [None, "blocks", "dirac", "weyl", "majorana"])
@pytest.mark.parametrize("signature", [(1, 3), (3, 0), (2, 0), (1, 2), (2, 3)])
def test_every_basis_of_spinors_is_a_representation(signature, basis):
    alg, rng = cr.Algebra(*signature), np.random.default_rng(3)
    if basis in ("dirac", "weyl", "majorana") and signature != (1, 3):
        return
    A, B = alg.random_multivector(rng=rng, shape=(2,)), alg.random_multivector(rng=rng, shape=(3, 1))
    np.testing.assert_allclose(
        (A * B).spinor_matrix(basis=basis), A.spinor_matrix(basis=basis) @ B.spinor_matrix(basis=basis), atol=1e-12
    )
    assert alg.from_spinor_matrix(B.spinor_matrix(basis=basis), basis=basis).isclose(B, rtol=1e-13).all()
    assert alg.scalar(1.0).spinor_matrix(basis=basis).trace(axis1=-2, axis2=-1).min() == 2 ** (alg.d // 2)
    if alg.d % 2 == 0:
        C = A + 1j * alg.random_multivector(rng=rng, shape=(2,))
        assert alg.from_spinor_matrix(C.spinor_matrix(basis=basis), basis=basis).isclose(C, rtol=1e-13).all()
    p = alg.symbols("p", grades=(1, 2))
    values = dict(zip(p.symbols_used(), rng.standard_normal(p.keys.size), strict=True))
    matrix = p.spinor_matrix(basis=basis)
    numbers = np.vectorize(lambda entry: complex(sp.sympify(entry).subs(values)))(matrix)
    np.testing.assert_allclose(numbers, p.subs(values).to_numeric().spinor_matrix(basis=basis), atol=1e-12)


def test_failures():
    alg = cr.Algebra(3)
    refused(r"of outermorphism must be an array of shape \(\.\.\., 3, 3\)", alg.e1.outermorphism, np.eye(2))
    refused("with target=", alg.e1.outermorphism, np.ones((2, 3)))
    refused("a matrix of numbers or symbols", alg.e1.outermorphism, [["a"] * 3] * 3)
    refused("matrix a_i · a_j is not singular", alg.reciprocal_frame, [alg.e1 + alg.e2, 2 * alg.e1 + 2 * alg.e2])
    refused("is not singular", alg.reciprocal_frame, [(alg.e1 + alg.e2).astype(object), 2 * alg.e1 + 2 * alg.e2])
    refused("a_i · a_j is not singular", cr.Algebra.pga(2).reciprocal_frame, cr.Algebra.pga(2).basis_vectors())
    refused("'vectors' parameter of reciprocal_frame must be vectors", alg.reciprocal_frame, [alg.e12])
    refused("at most 3 vectors", alg.reciprocal_frame, [alg.e1] * 4)
    refused("at least one vector", alg.reciprocal_frame, [])
    refused("must be of Algebra", alg.reciprocal_frame, [cr.Algebra(2).e1])
    refused("d ≤ 12", cr.Algebra(13).scalar(1.0).left_matrix)
    refused("orthogonal with squares 1 and -1", cr.Algebra.pga(2).e1.spinor_matrix)
    refused("the matrix of a product", alg.from_left_matrix, np.ones((8, 8)))
    refused(r"an array of shape \(\.\.\., 8, 8\)", alg.from_left_matrix, np.ones((4, 4)))


def test_matrices_back_to_multivectors():
    rng = np.random.default_rng(8)
    for p, q in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 3), (3, 1), (2, 3), (6, 0)):
        alg = cr.Algebra(p, q)
        for dtype in (np.float64, np.complex128, np.float32):
            A = alg.random_multivector(rng=rng, shape=(2, 3), dtype=dtype)
            basis = "blocks" if dtype == np.complex128 and alg.d % 2 else None
            again = alg.from_spinor_matrix(A.spinor_matrix(basis=basis), basis=basis)
            assert again.dtype == dtype
            assert again.isclose(A, rtol=1e-12 if dtype != np.float32 else 1e-5).all()
            assert (alg.from_right_matrix(A.right_matrix()) == A).all()
            assert (alg.from_left_matrix(A.left_matrix()) == A).all()
    alg = cr.Algebra(3)
    refused(r"from_spinor_matrix must be an array of shape \(..., 2, 2\)", alg.from_spinor_matrix, np.eye(4))
    refused("numeric", alg.from_spinor_matrix, np.full((2, 2, 2), None))
    refused("squares 1 and -1", cr.Algebra(2, 0, 1).from_spinor_matrix, np.eye(4))
    refused("product X ↦ X A", alg.from_right_matrix, alg.e1.left_matrix())
