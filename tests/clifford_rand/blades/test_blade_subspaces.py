"""Blades as subspaces: projections, span and intersection, angles and distances, normal forms."""

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.blades.subspace import DISTANCES, pivots
from support.geometry import at_angles
from support.metrics import algebras
from support.refusals import refused

SCALES = (1.0, 1e150, 1e-150)


def some():
    return [*algebras(3), cr.Algebra(4), cr.Algebra(3, 2), cr.Algebra(2, 1, 2)]


def random_blade(alg, rng, k, shape=(), dtype=np.float64):
    return cr.Blade(rng.standard_normal((*shape, k, alg.d)).astype(dtype), alg)


def mixed(rng, rows):
    """Other rows of the same span."""
    return rng.standard_normal((len(rows), len(rows))) @ rows


# ---- projection


@pytest.mark.parametrize("alg", some(), ids=repr)
def test_projection_agrees_with_multivectors(alg):
    rng = np.random.default_rng(0)
    for k in range(alg.d + 1):
        B = random_blade(alg, rng, k)
        N = B.to_multivector()
        if B.is_null():
            refused("must be not null", random_blade(alg, rng, 1).project, B)
            refused("must be not null", B.projection_of, np.ones(alg.d))
            with pytest.raises(cr.ArgumentError):
                N.project(N)
            continue
        X = rng.standard_normal((3, alg.d))
        inside, out = B.projection_of(X), B.rejection_of(X)
        grade_one = alg.vector(X).project(N).grade(1)
        np.testing.assert_allclose(inside, grade_one.on_keys(alg.vector(X).keys).coefficients, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(inside + out, X, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(out @ alg.metric @ B.factors.T, 0, atol=1e-6)
        assert B.contains(inside, rtol=1e-6).all()
        for j in range(alg.d + 1):
            A = random_blade(alg, rng, j)
            M = A.to_multivector()
            scale = np.abs(M.values).max() * max(1.0, np.abs(B.projection_of(np.eye(alg.d))).max()) ** j
            if alg.r and j > k > 0:  # multivectors refuse what vanishes there: flats are meant
                refused("degenerate metric", M.project, N)
            else:
                image = A.project(B).to_multivector()
                assert image.isclose(M.project(N), rtol=1e-6, atol=1e-8 * scale), (alg, j, k)
            assert A.reject(B).to_multivector().isclose(M.reject(N), rtol=1e-6, atol=1e-8 * scale), (alg, j, k)
            if j + k <= alg.d:
                assert (A.reject(B) ^ B).isclose(A ^ B, rtol=1e-6)
            else:
                assert A.reject(B).is_zero()
            assert A.project(B).is_zero() is (j > k)


def test_rejection_is_accurate_near_the_subspace():
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((50, 11)))[0].T
    B = cr.Blade(mixed(rng, Q[:10]))
    x = rng.standard_normal(10) @ Q[:10]
    for scale in SCALES:
        np.testing.assert_allclose(B.rejection_of(scale * (x + 1e-6 * Q[10])) / scale, 1e-6 * Q[10], atol=1e-14)
        np.testing.assert_allclose(B.projection_of(scale * x) / scale, x, rtol=1e-10, atol=1e-13)
    near = cr.Blade([x + 1e-6 * Q[10]])
    assert near.reject(B).isclose(cr.Blade([1e-6 * Q[10]]), rtol=1e-7)
    assert cr.Blade([Q[10]]).project(B).is_zero()
    assert cr.Blade([x]).reject(B).is_zero()
    assert B.projection_of(x.astype(np.float32)).dtype == np.float64
    assert cr.Blade(Q[:2].astype(np.float32)).projection_of(x.astype(np.float32)).dtype == np.float32
    batch = cr.Blade(rng.standard_normal((3, 2, 50)))
    found = batch.projection_of(rng.standard_normal((4, 1, 50)))
    assert found.shape == (4, 3, 50)
    assert batch.contains(found).all()


# ---- span and intersection


@pytest.mark.parametrize("alg", [cr.Algebra(1), cr.Algebra(2, 1), cr.Algebra(2, 1, 1), cr.Algebra(5)], ids=repr)
def test_span_and_intersection_agree_with_multivectors(alg):
    """A = A'∧M, B = M∧B' and J = A'∧M∧B' for subspaces with a common part of every dimension, in any metric."""
    rng = np.random.default_rng(2)
    d = alg.d
    for a in range(d + 1):
        for b in range(d + 1):
            for m in range(max(0, a + b - d), min(a, b) + 1):
                M, first, second = (random_blade(alg, rng, k) for k in (m, a - m, b - m))
                A, B, J = first ^ M, M ^ second, first ^ M ^ second
                span, intersection = A.span(B), A.intersection(B)
                assert (span.grade, intersection.grade) == (a + b - m, m)
                np.testing.assert_allclose(span.log_volume(), 0, atol=1e-12)
                assert span.is_parallel(J, rtol=1e-7)
                assert intersection.is_parallel(M, rtol=1e-7)
                sign = 1 if span.same_orientation(J) else -1
                assert span.isclose(J.scaled(-J.log_volume(), sign), rtol=1e-7)
                assert intersection.isclose(M.scaled(J.log_volume(), sign), rtol=1e-7)
                assert span.canonical().sign == 1
                theirs = A.to_multivector().span(B.to_multivector())
                turn = 1 if theirs.isclose(span.to_multivector(), rtol=1e-7) else -1
                assert (theirs * turn).isclose(span.to_multivector(), rtol=1e-7)
                theirs_common = A.to_multivector().intersection(B.to_multivector())
                assert (theirs_common * turn).isclose(intersection.to_multivector(), rtol=1e-7)
                if a + b - m == d:
                    assert span.to_multivector().isclose(alg.I * 1.0)
                    assert intersection.to_multivector().isclose(A.to_multivector() & B.to_multivector(), rtol=1e-7)


def test_span_and_intersection_of_large_blades_scales_and_batches():
    rng = np.random.default_rng(3)
    d = 120
    M, first, second = (cr.Blade(rng.standard_normal((k, d))) for k in (5, 12, 15))
    for s in SCALES:
        A, B = (first ^ M) * s, (M ^ second) / s
        assert (A.span(B).grade, A.intersection(B).grade) == (32, 5)
        assert A.span(B).isclose((first ^ M ^ second).normalized(), rtol=1e-7) or A.span(B).isclose(
            -(first ^ M ^ second).normalized(), rtol=1e-7
        )
        assert A.intersection(B).is_parallel(M, rtol=1e-7)
    near = cr.Blade([[1.0, 0, 0, 0]]), cr.Blade([[1.0, 1e-6, 0, 0]])
    assert near[0].span(near[1]).grade == 2
    assert near[0].span(near[1], rtol=1e-5).grade == 1
    single = cr.Blade(first.factors[:2].astype(np.float32))
    assert single.span(single).grade == 2
    X = rng.standard_normal((3, 2, 5))
    A, B = cr.Blade(X), cr.Blade(X[:, :1]) ^ cr.Blade(rng.standard_normal((3, 1, 5)))
    assert (A.span(B).shape, A.span(B).grade, A.intersection(B).grade) == ((3,), 3, 1)
    assert A.intersection(B)[1].isclose(A[1].intersection(B[1]), rtol=1e-7)
    refused(
        r"one dimension throughout the batch\. Got dimensions from 1 to 2",
        cr.Blade(X).span,
        cr.Blade(np.stack([X[0], B.factors[1], B.factors[2]])),
    )
    refused("other than zero, of independent vectors", cr.Blade(np.ones((2, 3))).span, cr.Blade(np.eye(3)))


def test_contains():
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((5, 30))
    A = cr.Blade(rows)
    for scale in SCALES:
        x = scale * (rng.standard_normal((4, 5)) @ rows)
        assert A.contains(x).all()
        assert not A.contains(x + scale * 1e-6 * rng.standard_normal(30)).any()
        assert A.contains(x + scale * 1e-6 * rng.standard_normal(30), rtol=1e-4).all()
    assert A.contains(np.zeros(30)) is True
    assert A.contains(cr.Blade(rng.standard_normal((3, 5)) @ rows)) is True
    assert A.contains(A ^ cr.Blade(rng.standard_normal((1, 30)))) is False
    assert (A ^ cr.Blade(rng.standard_normal((1, 30)))).contains(A) is True
    assert cr.Blade(rows.astype(np.float32)).contains(rows.astype(np.float32)).all()
    assert cr.Blade(np.zeros((0, 3))).contains([[1.0, 0, 0], [0, 0, 0]]).tolist() == [False, True]


# ---- angles and distances


def test_principal_angles_are_those_built_in():
    rng = np.random.default_rng(5)
    for angles in (
        [1e-10],
        [1e-12, 1e-10, 1e-5, 0.3],
        [0.0, 0.0, 0.2, np.pi / 4, 1.0, np.pi / 2],
        [np.pi / 2 - 1e-10, np.pi / 2],
        [],
    ):
        wanted = np.array(angles, dtype=float)
        P, Q = at_angles(wanted, 2 * len(angles) + 3, rng)
        for scale in SCALES:
            A, B = cr.Blade(scale * mixed(rng, P)), cr.Blade(mixed(rng, Q))
            for found in (A.principal_angles(B), B.principal_angles(A)):
                assert found.shape == wanted.shape
                np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=3e-14)
        if len(angles):
            line = cr.Blade(P[-1:])
            np.testing.assert_allclose(line.principal_angles(cr.Blade(Q)), wanted[-1:], rtol=1e-13, atol=1e-14)
    A, B = cr.Blade([[1.0, 0, 0]]), cr.Blade([[1.0, 1e-20, 0]])
    np.testing.assert_allclose(A.principal_angles(B), 1e-20, rtol=1e-12)
    assert A.principal_angles(cr.Blade(np.eye(3))).tolist() == [0]
    single = cr.Blade(np.eye(3, dtype=np.float32)[:1]).principal_angles(cr.Blade(np.eye(3, dtype=np.float32)[1:]))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.pi / 2, rtol=1e-6)


def test_distances():
    """Metrics: zero on equal subspaces, symmetric, the triangle inequality; and equal to what the angles say."""
    rng = np.random.default_rng(6)
    wanted = np.array([0.1, 0.5, 1.2])
    P, Q = at_angles(wanted, 9, rng)
    A, B = cr.Blade(mixed(rng, P)), -2 * cr.Blade(mixed(rng, Q))
    cos = np.cos(wanted)
    values = {
        "geodesic": np.linalg.norm(wanted),
        "chordal": np.linalg.norm(P.T @ P - Q.T @ Q) / np.sqrt(2),
        "projection": np.linalg.norm(P.T @ P - Q.T @ Q, 2),
        "fubini_study": np.arccos(abs(np.linalg.det(P @ Q.T))),
        "binet_cauchy": np.sqrt(1 - np.linalg.det(P @ Q.T) ** 2),
        "procrustes": np.sqrt(2 * (3 - np.linalg.norm(P @ Q.T, "nuc"))),
        "asimov": 1.2,
        "spectral": 2 * np.sin(0.6),
        "martin": np.sqrt(-2 * np.log(cos).sum()),
    }
    assert tuple(values) == tuple(DISTANCES)
    others = [cr.Blade(rng.standard_normal((3, 9))) for _ in range(4)]
    for kind, value in values.items():
        np.testing.assert_allclose(A.distance(B, kind=kind), value, rtol=1e-12)
        np.testing.assert_allclose(B.distance(A, kind=kind), value, rtol=1e-12)
        assert A.distance(3 * A, kind=kind) < 1e-14
        tiny = cr.Blade([[1.0, 0]]).distance(cr.Blade([[1.0, 1e-12]]), kind=kind)
        np.testing.assert_allclose(tiny, 1e-12, rtol=1e-9)
        for X in others:
            for Y in others:
                if kind != "martin":  # which is not a metric
                    assert X.distance(Y, kind=kind) <= X.distance(A, kind=kind) + A.distance(Y, kind=kind) + 1e-12
        assert cr.Blade([[1.0, 0]]).distance(cr.Blade([[0, 1.0]]), kind=kind) > 0.99
        assert cr.Blade(np.zeros((0, 2))).distance(cr.Blade(np.zeros((0, 2))), kind=kind) == 0
    assert A.distance(B) == A.distance(B, kind="geodesic")
    assert cr.Blade(rng.standard_normal((4, 2, 5))).distance(cr.Blade(rng.standard_normal((2, 5)))).shape == (4,)
    refused("must be one of 'geodesic'", A.distance, B, kind="manhattan")
    refused(r"of grade 3\. Got a blade of grade 1", A.distance, cr.Blade(np.ones((1, 9))))
    refused("other than zero", A.principal_angles, cr.Blade(np.ones((2, 9))))


# ---- equality and normal forms


def test_equality_of_other_factors():
    rng = np.random.default_rng(7)
    for alg in (cr.Algebra(6), cr.Algebra(3, 2, 1)):
        for k in range(1, alg.d + 1):
            for scale in SCALES:
                A = random_blade(alg, rng, k) * scale
                turn = rng.standard_normal((k, k))
                B = cr.Blade(turn @ A.factors, alg).scaled(A.log_scale) / np.linalg.det(turn)
                assert A.isclose(B) is True
                assert A.is_parallel(-3 * B) is True
                assert A.same_orientation(B) is True
                assert A.isclose(-B) is False
                assert A.isclose(B * (1 + 1e-6)) is False
                assert A.isclose(B * (1 + 1e-6), rtol=1e-5) is True
                if k < alg.d:
                    moved = cr.Blade(A.factors + 1e-5 * rng.standard_normal(A.factors.shape), alg).scaled(A.log_scale)
                    assert A.isclose(moved) is False
                    assert A.isclose(moved, rtol=1e-2) is True
                    assert A.is_parallel(moved) is False
                    difference = np.linalg.norm(
                        (A / scale).to_multivector().values - (moved / scale).to_multivector().values
                    )
                    relative = difference / np.exp((A / scale).log_volume())
                    assert A.isclose(moved, rtol=0.99 * relative) is False
                    assert A.isclose(moved, rtol=1.01 * relative) is True
                    assert A.is_parallel(A ^ random_blade(alg, rng, 1)) is False
    flags = cr.Blade([[[1.0, 0]], [[0, 1.0]]]).isclose(cr.Blade([[1.0, 0]]))
    assert flags.tolist() == [True, False]


def test_canonical_factors_belong_to_the_blade():
    rng = np.random.default_rng(8)
    for d in (1, 2, 5, 40):
        for k in range(1, d + 1, max(1, d // 6)):
            rows = rng.standard_normal((k, d))
            turn = rng.standard_normal((k, k))
            A, B = cr.Blade(rows).canonical(), cr.Blade(turn @ rows).canonical()
            np.testing.assert_allclose(A.factors, B.factors, rtol=1e-8, atol=1e-8)
            assert A.sign * np.sign(np.linalg.det(turn)) == B.sign
            np.testing.assert_allclose(A.log_scale + np.linalg.slogdet(turn)[1], B.log_scale, rtol=1e-9, atol=1e-9)
            assert A.isclose(cr.Blade(rows), rtol=1e-10)
            pivots = [int(np.flatnonzero((A.factors == unit[:, None]).all(axis=0))[0]) for unit in np.eye(k)]
            assert pivots == sorted(pivots)
            minor = np.linalg.det(rows[:, pivots])  # the coefficient at the pivots
            np.testing.assert_allclose(A.sign * np.exp(A.log_scale), minor, rtol=1e-7)
            np.testing.assert_allclose(A.canonical().factors, A.factors, rtol=1e-10, atol=1e-10)
    # the three longest columns are all but parallel: two of them as pivots would make entries of 1e8
    A = cr.Blade(np.concatenate([[[1.0, 1, 1], [0, 1e-8, 0]], np.outer([0, 1], np.ones(10))], axis=1)).canonical()
    assert np.abs(A.factors).max() < 2
    # equal columns: the first one, whatever rounding says
    for turn in (1.0, 1 / 3, 1e-5, -7e9):
        A = cr.Blade([[turn, turn, -turn, 0]]).canonical()
        np.testing.assert_allclose(A.factors, [[1, 1, -1, 0]], rtol=1e-15)
        np.testing.assert_allclose(A.sign * np.exp(A.log_scale), turn, rtol=1e-13)
    batch = cr.Blade(rng.standard_normal((4, 2, 5)))
    assert batch.canonical()[2].isclose(batch[2].canonical())
    ortho = batch.orthonormalized()
    np.testing.assert_allclose(
        ortho.factors @ ortho.factors.swapaxes(-1, -2), np.tile(np.eye(2), (4, 1, 1)), atol=1e-14
    )
    assert ortho.isclose(batch).all()


def test_null_blades():
    alg = cr.Algebra(2, 1)
    null = cr.Blade([[1.0, 0, 1]], alg)
    for scale in SCALES:
        assert (null * scale).is_null() is True
        assert cr.Blade(scale * null.factors, alg).is_null() is True
    assert cr.Blade([[1.0, 0, 0.999]], alg).is_null() is False
    assert cr.Blade([[1.0, 0, 0.999]], alg).is_null(rtol=0.01) is True
    assert (null ^ cr.Blade([[0, 1.0, 0]], alg)).is_null() is True  # tangent to the cone
    assert (null ^ cr.Blade([[0, 0, 1.0]], alg)).is_null() is False
    assert cr.Blade(np.zeros((0, 3)), alg).is_null() is False
    refused("must be not null", null.projection_of, [1.0, 2, 3])
    refused(r"To project vectors x use blade.projection_of\(x\)", null.project, np.ones(3))
    refused(r"of shape \(..., 3\). Got shape \(2,\)", cr.Blade(np.eye(3)).projection_of, np.ones(2))
    refused("other than zero", cr.Blade(np.ones((2, 3))).projection_of, np.ones(3))
    refused("leading axes that fit the batch", cr.Blade(np.ones((2, 1, 3))).projection_of, np.ones((3, 3)))


def greedy(Q):
    """The pivots by the definition: every part anew, by projection."""
    taken, rest = [], Q.copy()
    for _ in range(len(Q)):
        size = np.square(rest).sum(axis=0)
        size[taken] = -1.0
        column = int(np.argmax(size >= (1 - 1e-6) * size.max()))
        taken.append(column)
        unit = rest[:, column] / np.linalg.norm(rest[:, column])
        rest = rest - np.outer(unit, unit @ rest)
    return sorted(taken)


@pytest.mark.parametrize(("k", "d"), [(1, 600), (5, 512), (7, 1500), (30, 700), (20, 21)])
@pytest.mark.parametrize("kind", ["generic", "equal", "few"])
def test_pivots_are_those_of_the_definition(k, d, kind):
    """Columns of all sizes, columns of equal size in groups, and nearly all of them zero, among more than a pool."""
    rng = np.random.default_rng(k)
    X = rng.standard_normal((k, d))
    if kind == "equal":
        X = np.repeat(rng.standard_normal((k, -(-d // 4))), 4, axis=1)[:, :d]
    if kind == "few":
        X[:, rng.permutation(d)[2 * k :]] *= 1e-9
    Q = np.linalg.qr(X.T)[0].T
    assert pivots(Q).tolist() == greedy(Q)


@pytest.mark.parametrize(("k", "d"), [(2, 20_000), (60, 300)])
def test_large_frames_are_orthonormal_and_keep_the_blade(k, d):
    """By products where the vectors are well-conditioned, by a QR factorization (the last rows) where not."""
    rng = np.random.default_rng(k)
    for spoil in (1.0, 1e-3, 1e-9):
        X = rng.standard_normal((k, d)) * 10 ** rng.uniform(-3, 3, (k, 1))
        X[-1] = spoil * X[-1] + (1 - spoil) * X[0]
        A = cr.Blade(X)
        Q, sign, log = A.orthonormalized().factors, A.orthonormalized().sign, A.orthonormalized().log_scale
        np.testing.assert_allclose(Q @ Q.T, np.eye(k), rtol=0, atol=1e-14)
        T = X @ Q.T  # X = T Q: the same span, and det T is the scalar
        np.testing.assert_allclose(T @ Q, X, rtol=0, atol=1e-13 * np.abs(X).max())
        wanted = np.linalg.slogdet(T)
        assert sign == wanted[0]
        np.testing.assert_allclose(log, wanted[1], rtol=1e-6 if spoil == 1e-9 else 1e-12)


@pytest.mark.parametrize("rtol", ["no such word", np.nan, -1.0, [1e-9], True, 1e300])
def test_a_tolerance_is_one_in_every_metric(rtol):
    blade, other = cr.Blade(np.eye(4)[:2]), cr.Blade(np.ones((1, 4)))
    for move, x in ((blade.project, other), (blade.reject, other), (blade.projection_of, np.ones(4)),
                    (blade.rejection_of, np.ones(4))):  # fmt: skip
        refused(f"'rtol' parameter of {move.__name__} must be", move, x, rtol=rtol)
