"""What versors and rotors do, and taking them apart."""

import functools
import operator

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.basis.keys import keys_of_masks
from support.metrics import algebras, blade, vectors, versor
from support.refusals import refused


def product(factors, start):
    return functools.reduce(operator.mul, factors, start)


def apart(R):
    """The factors of a versor, their product with its scale, and how far that is from R."""
    scale, factors = R.factorize_versor()
    return factors, product(factors, R.algebra.scalar(scale))


@pytest.mark.parametrize("alg", algebras(), ids=repr)
def test_versors_are_recognised_and_are_products_of_vectors(alg):
    rng = np.random.default_rng(1)
    for count in range(1, alg.d + 2):
        R = versor(alg, rng, count)
        if R is None:
            continue
        for A in (R, R.dense(), 1e150 * R, 1e-150 * R):
            assert A.is_versor() is True, (alg, count)
        for A in (R, 1e150 * R, 1e-150 * R):
            factors, again = apart(A)
            assert again.isclose(A, rtol=1e-9), (alg, count)
            assert (count - len(factors)) % 2 == 0
            assert len(factors) <= alg.d
            for a in factors:
                assert a.grades == (1,)
                assert abs(abs(float((a | a)["1"])) - 1) < 1e-6 * np.square(a.values).sum()
    if alg.d >= 2:
        assert not (1 + alg.basis_vectors()[0]).is_versor()
    if alg.d >= 4:
        assert not alg.random_multivector(rng=rng, grades=(0, 2, 4)).is_versor()
        assert not alg.random_multivector(rng=rng, grades=(1, 3)).is_versor()


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((6,), "1 + e1234"),
        ((6,), "e123 + e456"),  # R ~R = 2, but R e1 ~R has a part of grade 5
        ((6,), "1 + e123456"),
        ((3,), "1 + e123"),
        ((1, 1), "e1 + e2"),
        ((1, 1), "0.30000000000000004*e1 + 0.30000000000000004*e2"),
        ((3,), "0*e1"),
        ((2, 0, 1), "e0"),
    ],
)
def test_what_is_no_versor(counts, text):
    assert not cr.Algebra(*counts)(text).is_versor()


@pytest.mark.parametrize("signature", [(8,), (5, 3), (6, 0, 2)])
def test_two_vectors_tell_what_the_basis_tells(signature):
    """Sums of two blades, and a versor beside a little of another blade, in eight dimensions."""
    alg, rng = cr.Algebra(*signature), np.random.default_rng(0)
    basis = [alg.vector(row) for row in np.eye(8)]
    R = product([alg.vector(row) for row in rng.standard_normal((4, 8))], alg.scalar(1.0))
    candidates = [R, R + 1e-7 * alg.I, R + 1e-12 * alg.I]
    for _ in range(12):
        i, j = (2 * rng.integers(0, 128, 2)).tolist()
        first, second = (alg.new(keys_of_masks(8, (m ^ (m.bit_count() % 2),)), np.ones(1)) for m in (i, j))
        candidates.append(first + rng.uniform(0.2, 0.8) * second)
    answers = []
    for A in candidates:
        size = abs((A * ~A)["1"])
        rest = [(A * ~A).grade(*range(1, 9)), *((A * e * ~A).grade(*(k for k in range(9) if k != 1)) for e in basis)]
        outside = max(np.abs(part.coefficients).max(initial=0) for part in rest)
        answers.append(bool(size > 1e-9 and outside < 1e-9 * max(1, size)))
        assert A.is_versor() == answers[-1], A
    assert answers[:3] == [True, False, True]
    assert {True, False} == set(answers[3:])


def test_in_a_batch_with_a_tolerance_and_exactly():
    rng = np.random.default_rng(2)
    for alg in (cr.Algebra(3), cr.Algebra(4, 1), cr.Algebra(7)):
        R = versor(alg, rng, 2, (4,)).dense()
        values = R.values.copy()
        values[1, 1] += np.abs(values[1]).max()  # a vector beside an even versor
        values[2, 1] += 1e-7 * np.abs(values[2]).max()
        A = alg.multivector(values)
        assert A.is_versor().tolist() == [True, False, False, True]
        assert A.is_versor(rtol=1e-5).tolist() == [True, False, True, True]
        assert R.astype(np.float32).is_versor().all()
        exact = alg("(e1 + 2*e2)*(3*e1 - e3)").astype(object)
        assert exact.is_versor() is True
        assert (exact + alg.e1).is_versor() is False


def test_the_factors_are_accurate():
    rng = np.random.default_rng(4)
    for d in (2, 3, 4, 5, 6, 7):
        for count in range(1, d + 1):
            R = versor(cr.Algebra(d), rng, count)
            factors, again = apart(R)
            assert len(factors) == count
            assert np.abs((again - R).values).max() < 1e-13 * np.abs(R.values).max()


def test_versors_with_null_blades_at_the_top():
    """exp(n1 ∧ n2) = 1 + n1 ∧ n2 of two orthogonal null vectors is not a product of two vectors, but of four."""
    alg, big, pga = cr.Algebra(2, 2), cr.Algebra(4, 4), cr.Algebra.pga(3)
    R = 1.0 + ((alg.e1 + alg.e3) ^ (alg.e2 + alg.e4))
    assert R.is_versor()
    null = [big.blade(f"e{i}") + big.blade(f"e{i + 4}") for i in range(1, 5)]
    double = (1.0 + (null[0] ^ null[1])) * (1.0 + (null[2] ^ null[3]))
    for A, count in ((R, 4), (double, None), ((1 + 0.5 * pga.e01) * (0.8 + 0.6 * pga.e23), 4)):
        factors, again = apart(A)
        assert again.isclose(A, rtol=1e-11)
        assert count in (None, len(factors))


def test_factors_of_batches_dtypes_and_scalars():
    alg = cr.Algebra(4, 1)
    for dtype, rtol in ((np.float64, 1e-10), (np.float32, 1e-3), (np.complex128, 1e-8)):
        R = versor(alg, np.random.default_rng(5), 4, (5,)).astype(dtype)
        factors, again = apart(R)
        assert all(a.dtype == dtype for a in factors)
        assert again.isclose(R, rtol=rtol).all()
    assert alg.scalar(-3).factorize_versor() == (-3.0, [])
    tiny = 1 + 1e-11 * alg.e12
    assert apart(tiny)[1].isclose(tiny, rtol=1e-14)


def test_factors_of_null_blades_and_of_sums():
    alg = cr.Algebra(3, 1)
    null, R = (alg.e1 + alg.e4) ^ alg.e2, alg("2 + e12")
    s, factors = null.factorize_blade()
    assert (s * (factors[0] ^ factors[1])).isclose(null, rtol=1e-14)
    s, (a, b) = R.factorize_versor()
    assert (s * a * b).isclose(R, rtol=1e-14)
    for A, message in [
        (null, "'A' parameter of factorize_versor must be a versor"),
        (R.astype(object), "must be numeric"),
        (cr.stack([R, alg("2 + 0*e12")]).dense(), "the same highest grade"),
    ]:
        refused(message, A.factorize_versor)


def test_basis_vectors_of_very_different_lengths():
    rng = np.random.default_rng(10)
    for squares in ([1e-8] * 3, [1e8] * 3, [1e-8, 1.0, 1e8], [1e-60, -1e-60, 1e-60]):
        alg = cr.Algebra(metric=np.diag(squares))
        rows = rng.standard_normal((3, 3)) / np.sqrt(np.abs(squares))
        R = product([alg.vector(row) for row in rows], alg.scalar(1.0))
        assert R.is_versor()
        assert not (R + alg.scalar(1.0)).is_versor()
        factors, again = apart(R)
        assert len(factors) in (1, 3)
        expected = R.dense().values
        np.testing.assert_allclose(again.dense().values, expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max())


# ---- rotors between vectors and blades


def test_a_rotor_takes_one_vector_to_the_other():
    rng = np.random.default_rng(6)
    for alg in algebras():
        pair = vectors(alg, rng, 2)
        if pair is None:
            continue
        a, b = pair
        squares = [float((x | x)["1"]) for x in (a, b)]
        is_null = alg.p + alg.q == 1 and float((a | b)["1"]) * squares[0] < 0
        if squares[0] * squares[1] < 0 or is_null:
            message = r"such that a \+ b is not null" if squares[0] * squares[1] > 0 else "squares of opposite signs"
            refused(message, cr.rotor_between, a, b)
            continue
        R = cr.rotor_between(a, b)
        assert R.is_versor()
        assert set(R.grades) <= {0, 2}
        assert (R >> a).isclose(b * np.sqrt(squares[0] / squares[1]), rtol=1e-7), alg
        scale = float(np.square(R.values).sum()) * max(1.0, float(np.abs(alg.metric).max()) ** 2)
        assert abs(abs(float((R * ~R)["1"])) - 1) < 1e-9 * scale


def test_the_euclidean_rotor_is_the_least_one():
    rng = np.random.default_rng(7)
    for d in (2, 3, 4, 6):
        a, b = (cr.Algebra(d).random_multivector(rng=rng, shape=(50,), grades=1) for _ in range(2))
        R = cr.rotor_between(a, b)
        cosine = (a.inner(b)["1"]) / (a.norm() * b.norm())
        np.testing.assert_allclose(np.abs(R["1"]), np.cos(np.arccos(cosine) / 2), atol=1e-13)
        np.testing.assert_allclose((R * ~R)["1"], 1, rtol=1e-13)
        np.testing.assert_allclose((R >> a).normalized().values, b.normalized().values, atol=1e-14)
        fixed = (a ^ b).left_complement()  # what is orthogonal to both stays
        if d > 2:
            assert (R >> fixed.grade(d - 2)).isclose(fixed, rtol=1e-9).all()


@pytest.mark.parametrize("counts", [(2,), (3,), (5,), (2, 1), (1, 1), (2, 0, 1), None])
def test_opposite_vectors(counts):
    alg = cr.Algebra(*counts) if counts else cr.Algebra.cga(1, null_basis=True)
    a = alg.basis_vectors()[1 if alg.r else 0] * 3.0
    for delta in (0.0, 1e-300, 1e-17, 1e-12, 1e-8, 1e-3):
        b = -a + delta * alg.basis_vectors()[-1 if not alg.r else 2]
        R = cr.rotor_between(a, b)
        assert cr.rotor_between(a, b) == R
        norm = np.sqrt(abs(float((a * a)["1"]) / float((b * b)["1"])))
        assert (R >> a).isclose(b * norm, rtol=1e-13), (alg, delta)


def test_vectors_whose_sum_is_null():
    for e1 in (cr.Algebra(1).e1, cr.Algebra.pga(1).e1):
        refused(r"such that a \+ b is not null", cr.rotor_between, e1, -e1)
    alg = cr.Algebra(2, 1)
    a, b = alg.vector([1.0, 0, 0]), alg.vector([-1.0, 1.0, 1.0])  # b² = 1, (a + b)² = 0
    assert (cr.rotor_between(a, b) >> a).isclose(b, rtol=1e-13)


def test_rotors_of_batches_scales_and_dtypes():
    alg = cr.Algebra(4)
    a, b = alg.random_multivector(rng=8, shape=(3, 1), grades=1), alg.random_multivector(rng=9, shape=(5,), grades=1)
    R = cr.rotor_between(a, b)
    assert R.shape == (3, 5)
    assert cr.rotor_between(1e150 * a, 1e-150 * b).isclose(R, rtol=1e-13).all()
    assert cr.rotor_between(a.astype(np.float32), b.astype(np.float32)).dtype == np.float32
    a, b = alg("3*e1 + 4*e2").astype(object), alg("5*e3").astype(object)
    assert (cr.rotor_between(a, b) >> a) == b


def test_rotors_between_blades():
    rng = np.random.default_rng(9)
    gram = rng.standard_normal((4, 4))
    for alg in [cr.Algebra(d) for d in (1, 2, 3, 4, 5, 6)] + [cr.Algebra(0, 4), cr.Algebra(metric=gram @ gram.T)]:
        for k in range(alg.d + 1):
            A, B = blade(alg, rng, k), blade(alg, rng, k)
            if k == alg.d:
                B = A * 2.0
            R = cr.rotor_between(A, B)
            assert (R >> A).isclose(B * np.sqrt(float(A.inner(A)["1"]) / float(B.inner(B)["1"])), rtol=1e-8), (alg, k)
            assert (R * ~R).isclose(1.0, rtol=1e-9)
            assert cr.rotor_between(A, 3.0 * A).isclose(1.0, rtol=1e-7)
            if 0 < k < alg.d:
                assert (cr.rotor_between(A, -A) >> A).isclose(-A, rtol=1e-9)
    A, B = (blade(cr.Algebra(3), rng, 2, (6,)) for _ in range(2))
    B = cr.concatenate([-A[:2], B[2:]])
    assert (cr.rotor_between(A, B) >> A).isclose(B * (A.norm() / B.norm()), rtol=1e-12).all()
    A, B = cr.Algebra(3, 1).e123, cr.Algebra(3, 1)("2*e123 + e124")
    assert (cr.rotor_between(A, B) >> A).isclose(B / np.sqrt(3.0), rtol=1e-12)


@pytest.mark.parametrize("distance", [0.0, 1e-15, 1e-9, 1e-4])
def test_the_negative_of_a_blade_is_reached_whatever_basis_of_equal_directions_is_chosen(distance):
    """Largest error seen over 2592 pairs of d ≤ 7: 2.3e-14."""
    rng = np.random.default_rng(11)
    for d, k in 4 * [(3, 2), (4, 2), (4, 3), (5, 2), (6, 3)]:
        rows = rng.standard_normal((k, d))
        A, B = (cr.wedge(*map(cr.Algebra(d).vector, X)) for X in (rows, rows + distance * rng.standard_normal((k, d))))
        assert (cr.rotor_between(A, -B) >> A).isclose(-B * (A.norm() / B.norm()), rtol=1e-12)


STA, R3 = cr.Algebra(3, 1), cr.Algebra(3)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 0, 0], STA.e1, "'a' parameter of rotor_between must be a multivector"),
        (STA.e12, STA.e1, "of the grade of a"),
        (STA.e1 + STA.e4, STA.e1, "a null vector"),
        (STA.e12, STA.e23, "definite metric"),
        (R3.I, -R3.I, "rotors leave I as it is"),
        (STA.e1, R3.e1, "same algebra"),
        (STA("1 + e1"), STA.e1, "of one grade"),
    ],
)
def test_rotor_failures(a, b, message):
    refused(message, cr.rotor_between, a, b)


# ---- many dimensions


class Reflections:
    """R = b a by components, which reflects vectors in a and then in b: an independent path of O(d) operations."""

    def __init__(self, gram, shape, seed):
        self.gram, d = gram, len(gram)
        self.a, self.b = np.random.default_rng(seed).standard_normal((2, *shape, d))
        self.upper = np.triu_indices(d, 1)

    def dot(self, u, v):
        return ((u @ self.gram) * v).sum(axis=-1, keepdims=True)

    def plane(self, u, v):
        i, j = self.upper
        return u[..., i] * v[..., j] - u[..., j] * v[..., i]

    def product(self, u, v):
        return np.concatenate([self.dot(u, v), self.plane(u, v)], axis=-1)

    def image(self, x):
        for n in (self.a, self.b):
            x = 2 * self.dot(n, x) / self.dot(n, n) * n - x
        return x


def metric_of_kind(kind, d):
    rng = np.random.default_rng(d)
    signs = np.where(np.arange(d) % 3 == 1, -1.0, 1.0)
    if kind == "general":
        T = np.eye(d) + 0.3 * rng.standard_normal((d, d)) / np.sqrt(d)
        return T @ np.diag(signs) @ T.T
    return np.diag({"plain": signs * 0 + 1, "mixed": signs, "weights": signs * rng.choice([2, 0.25, 0, 3], d)}[kind])


@pytest.mark.parametrize(
    ("kind", "d"), [("plain", 17), ("mixed", 300), ("weights", 17), ("weights", 70), ("general", 24)]
)
@pytest.mark.parametrize("shape", [(), (2,)])
def test_rotors_in_many_dimensions_are_two_reflections(kind, d, shape):
    gram = metric_of_kind(kind, d)
    alg = cr.Algebra(metric=(gram + gram.T) / 2)
    law = Reflections(alg.metric, shape, 1)
    R = alg.multivector(law.product(law.b, law.a), (0, 2))
    x, y = np.random.default_rng(2).standard_normal((2, d))
    size = law.dot(law.a, law.a) * law.dot(law.b, law.b)
    expected = {1: law.image(x), 2: law.plane(law.image(x), law.image(y))}
    limit = 1e-12 * (R.coefficients**2).sum() * (1 + abs(1 / size).max()) ** 2
    assert np.all(R.is_versor())
    assert np.all((R * 1e80).is_versor())
    for k, values in ((1, x), (2, law.plane(x, y))):
        moved = R >> alg.multivector(values, k)
        assert moved.grades == (k,)
        assert abs(moved.coefficients - expected[k]).max() <= limit
    both = (3e5 * R) >> (7 + alg.vector(x) + alg.bivector(law.plane(x, y)))
    assert abs(both.coefficients - np.concatenate([7 + 0 * size, expected[1], expected[2]], axis=-1)).max() <= limit
    many = R >> alg.vector(np.array([x, y]).reshape(2, *(1,) * len(shape), d))
    assert abs(many.coefficients - np.stack([law.image(x), law.image(y)])).max() <= limit
    assert abs(R.vector_matrix() @ x - law.image(x)).max() <= limit
    inverse = alg.multivector(law.product(law.a, law.b) / size, (0, 2))
    assert abs((R.inv() - inverse).coefficients).max() <= limit
    assert not np.any((R + 1e-3 * alg.bivector(law.plane(x, y))).is_versor())
    assert not np.any((R * 0).is_versor())


@pytest.mark.parametrize("d", [17, 400])
def test_rotor_between_and_exponential_in_many_dimensions(d):
    alg = cr.Algebra(d)
    v, w, x = np.random.default_rng(0).standard_normal((3, d))
    v, w = v / np.linalg.norm(v), w / np.linalg.norm(w)
    R = cr.rotor_between(alg.vector(v), alg.vector(w))
    image = x + 2 * (v @ x) * w - ((v + w) @ x) / (1 + v @ w) * (v + w)  # turns in the plane of v and w
    assert np.allclose((R >> alg.vector(v)).values, w, atol=1e-13)
    assert np.allclose((R >> alg.vector(x)).values, image, atol=1e-12)
    assert np.allclose((R >> (R.inv() >> alg.vector(x))).values, x, atol=1e-12)
    m = w - (v @ w) * v
    m = m / np.linalg.norm(m)
    i, j = np.triu_indices(d, 1)
    E = (0.35 * alg.bivector(v[i] * m[j] - v[j] * m[i])).exp()  # turns m towards v by 0.7
    assert np.allclose((E >> alg.vector(m)).values, np.cos(0.7) * m + np.sin(0.7) * v, atol=1e-12)
