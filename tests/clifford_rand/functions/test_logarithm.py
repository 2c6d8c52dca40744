"""Logarithms and roots, checked by SciPy's exponential of the left-multiplication matrix."""

import itertools

import numpy as np
import pytest
from scipy.linalg import expm, expm_cond

import clifford_rand as cr
from clifford_rand.functions.closed_log import closed_form
from clifford_rand.functions.orthogonal_log import commuting_turn
from clifford_rand.multivector.comparison import aligned


def exponential(A):
    """exp(A) from the matrix of X ↦ AX, on even X for even A: nothing of the library's own exp."""
    keys, matrix = of_left_product(A)
    return A.new(keys, expm(matrix)[:, 0])


def of_left_product(A):
    alg = A.algebra
    odd = any(k % 2 for k in A.grades)
    basis = alg.multivector(np.eye(2 ** (alg.d - (not odd))), range(0, alg.d + 1, 1 if odd else 2))
    return basis.keys, (A * basis).on_keys(basis.keys).coefficients.T.astype(np.result_type(A.dtype, float))


def error(R, B):
    ours, given = aligned(exponential(B), R)
    return np.abs(ours - given).max() / np.abs(given).max()


def of_rounding(R, B):
    """What rounding moves exp(B) and R by, relatively: exp multiplies that of B, and A ~A = 1 holds to that of |R|²."""
    return np.finfo(float).eps * (expm_cond(of_left_product(B)[1]) + np.sum(R.values**2))


def signatures(largest, least=2):
    for d in range(least, largest + 1):
        for r in range(d + 1):
            for p in range(d - r + 1):
                yield p, d - r - p, r


def random_bivector(alg, rng, norm):
    B = alg.random_multivector(rng, (), 2)
    return B * (norm / np.linalg.norm(B.values))


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
def test_every_exponential_has_its_logarithm_in_every_signature(d):
    rng = np.random.default_rng(d)
    for signature in signatures(d, d):
        alg = cr.Algebra(*signature)
        for norm in (1e-9, 1e-3, 0.3, 1.0, 3.0):
            R = exponential(random_bivector(alg, rng, norm))
            assert error(R, R.log()) < 1e-12, (signature, norm)


@pytest.mark.parametrize("signature", [(8,), (0, 8)])
def test_many_planes_of_a_definite_metric(signature):
    """Generic, equal, tiny and no angles in eight dimensions, in planes that are no coordinate planes."""
    alg = cr.Algebra(*signature)
    rng = np.random.default_rng(8)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    pairs = [alg.vector(turn[2 * i]) ^ alg.vector(turn[2 * i + 1]) for i in range(4)]
    for angles in ([0.3, 0.7, 1.1, 0.2], [0.5, 0.5, 0.5, 0.5], [1e-9, 0.4, 0, 0.4], [1.5, 1e-4, 0, 0], [0, 0, 0, 0.1]):
        B = sum((angle * plane for angle, plane in zip(angles, pairs, strict=True)), start=0 * pairs[0])
        R = exponential(B)
        assert error(R, R.log()) < 1e-12, angles
        assert R.log().isclose(B, atol=1e-12), angles


def test_small_bivectors_come_back_to_their_own_precision():
    rng = np.random.default_rng(0)
    for signature in [(3,), (4,), (3, 0, 1), (3, 1), (2, 2), (2, 1, 2)]:
        alg = cr.Algebra(*signature)
        for norm in (1e-20, 1e-9, 1e-4, 0.1):
            B = random_bivector(alg, rng, norm)
            assert (B.exp() if norm > 1e-8 else 1 + B).log().grade(2).isclose(B, rtol=3e-8 if norm == 1e-9 else 1e-10)


@pytest.mark.parametrize(
    "signature", [(4,), (3, 1), (2, 2), (0, 4), (3, 0, 1), (2, 0, 2), (1, 2, 1), (4, 1), (5, 0, 1), (3, 3)]
)
def test_equal_and_nearly_equal_angles_around_half_and_full_turns(signature):
    alg = cr.Algebra(*signature)
    rng = np.random.default_rng(7)
    e, g = alg.basis_vectors(), alg.signature
    planes, used = [], set()
    for i, j in itertools.combinations(range(alg.d), 2):
        if g[i] * g[j] > 0 and not used & {i, j}:
            planes.append(e[i] * e[j])
            used |= {i, j}
    V = exponential(random_bivector(alg, rng, 0.7))
    for base, apart in itertools.product((0.0, np.pi / 4, np.pi / 2, np.pi), (0, 1e-12, 1e-9, 1e-6, 1e-3)):
        B = sum(plane * (base + apart * (k + 1)) for k, plane in enumerate(planes))
        R = V * exponential(B) * ~V
        assert error(R, R.log()) < 2e-12, (base, apart)
        nearby = exponential(B + apart * alg.random_multivector(rng, (), 2))
        assert error(nearby, nearby.log()) < 2e-12, (base, apart)


def test_minus_one_turns_once_in_some_plane():
    for signature in signatures(6):
        alg = cr.Algebra(*signature)
        if max(signature[:2]) > 1:
            B = alg.scalar(-1.0).log()
            assert B.grades == (2,)
            assert error(alg.scalar(-1.0), B) < 1e-15
            assert abs(abs(B.values).max() - np.pi) < 1e-12


def test_products_of_unit_vectors():
    rng = np.random.default_rng(1)
    for d in range(2, 7):
        alg = cr.Algebra(d)
        for count in range(2, d + 1, 2):
            R = alg.scalar(1.0)
            for _ in range(count):
                x = rng.standard_normal(d)
                R = R * alg.vector(x / np.linalg.norm(x))
            for Q in (R, -R, 3.5 * R):
                assert error(Q, Q.log()) < 1e-13
    conformal = cr.Algebra.cga(3)
    for A in (1 + 0.5 * (conformal.e1 * (conformal.e4 + conformal.e5)), exponential(-0.4 * conformal.e45)):
        assert error(A, A.log()) < 1e-14
        assert error(-A, (-A).log()) < 1e-14  # a turn in the plane that is left


def test_motors_translations_and_their_negatives():
    for n in (2, 3, 4):
        alg = cr.Algebra.pga(n)
        rng = np.random.default_rng(n)
        for R in (
            1 + 0.5 * alg.e01,
            (1 if n == 2 else -1) * (1 + 0.5 * alg.e01),  # no turn of the plane shifts nothing: -T has no log
            exponential(0.3 * alg.e01 + 1.2 * alg.e12),
            -exponential(0.3 * alg.e02 + 3.1 * alg.e12),
            exponential(alg.random_multivector(rng, (), 2) * 2),
            -exponential(alg.random_multivector(rng, (), 2) * 1e-3),
        ):
            assert error(R, R.log()) < 1e-12
    alg = cr.Algebra.pga(3)
    assert (
        (-1 - 0.5 * alg.e01).log().isclose(0.5 * alg.e01 + np.pi * alg.e23 * np.sign((-1 - 0.5 * alg.e01).log()["e23"]))
    )
    with pytest.raises(cr.ArgumentError, match="negative eigenvalue"):
        (-1 - 0.5 * cr.Algebra.pga(2).e01).log()


def test_closed_forms_agree_with_the_general_way(monkeypatch):
    import clifford_rand.functions.logarithm as module

    rng = np.random.default_rng(3)
    for signature in [(2,), (1, 1), (3,), (2, 1), (1, 1, 1), (0, 3), (3, 0, 1), (0, 3, 1), (2, 0, 1)]:
        alg = cr.Algebra(*signature)
        B = alg.random_multivector(rng, (40,), 2) * np.geomspace(1e-6, 0.8, 40)
        R = B.exp()
        closed, done = closed_form(R, np.dtype(float))
        assert done.mean() > 0.9
        with monkeypatch.context() as patch:
            patch.setattr(module, "closed_form", lambda R, dtype: (None, np.zeros(R.shape, dtype=bool)))
            general = R.log().grade(2)
        assert general.isclose(closed.grade(2), rtol=1e-8)[done].all()  # log of a float near 1 is that exact
        assert R.log().shape == (40,)


def test_scale_comes_out_as_a_scalar():
    rng = np.random.default_rng(5)
    for signature in [(3,), (4,), (3, 1), (3, 0, 1), (2, 2), (2, 1)]:
        alg = cr.Algebra(*signature)
        B = random_bivector(alg, rng, 0.9)
        R = B.exp()
        for scale in (1e150, 1e-150, 2.0):
            L = (scale * R).log()
            assert L.grades == (0, 2)
            assert np.isclose(L["1"], np.log(scale), rtol=1e-13)
            assert L.grade(2).isclose(B, rtol=1e-12)
    assert cr.Algebra(1)("2.0").log()["1"] == np.log(2)


@pytest.mark.parametrize("seed", range(4))
def test_metrics_that_are_not_diagonal(seed):
    rng = np.random.default_rng(seed)
    for d in (2, 3, 4, 5):
        A = rng.standard_normal((d, d))
        for diagonal in (np.ones(d), np.r_[-1.0, np.ones(d - 1)], np.r_[0.0, np.ones(d - 1)]):
            gram = A @ np.diag(diagonal) @ A.T
            alg = cr.Algebra(metric=(gram + gram.T) / 2)
            B = alg.random_multivector(rng, (), 2)
            R = exponential(B * (0.8 / np.abs(B.values).max() / np.abs(gram).max()))
            assert error(R, R.log()) < 1e-10
    alg = cr.Algebra.cga(2, null_basis=True)
    R = exponential(alg("0.3*e1^ei + 0.2*e1^e2 + 0.4*eo^ei"))
    assert error(R, R.log()) < 1e-13


def test_batches_and_dtypes():
    rng = np.random.default_rng(2)
    for signature in [(3,), (4,), (3, 0, 1), (3, 1)]:
        alg = cr.Algebra(*signature)
        B = alg.random_multivector(rng, (2, 3), 2) * 0.3
        L = B.exp().log()
        assert L.shape == (2, 3)
        assert L.grade(2).isclose(B, rtol=1e-11).all()
        single = B.exp().astype(np.float32)
        assert single.log().dtype == np.float32
        assert single.log().grade(2).isclose(B, rtol=1e-4).all()
        assert single.sqrt().dtype == np.float32
    alg = cr.Algebra(3)
    assert alg.e12.log().isclose(np.pi / 2 * alg.e12)
    C = alg.random_multivector(rng, (5,), 2, dtype=np.complex128) * 0.3
    assert C.exp().log().grade(2).isclose(C).all()
    assert C.exp().log().dtype == np.complex128
    mixed = alg.multivector([[1.0, 0, 0, 0], [-1.0, 0, 0, 0], [2.0, 0, 0, 0]], [0, 2]).log()  # by both ways at once
    assert np.allclose(mixed["1"], [0, 0, np.log(2)])
    assert np.allclose(np.linalg.norm(mixed.grade(2).values, axis=-1), [0, np.pi, 0])


def test_refusals_say_why():
    plane, four = cr.Algebra(1, 1), cr.Algebra(4)
    for R in (-exponential(0.5 * plane.e12), -cr.Algebra(0, 0, 4).scalar(1.0), plane.e1, plane.e12 * 1.0):
        with pytest.raises(cr.ArgumentError, match=r"of log must be a multivector without negative eigenval"):
            R.log()
    for R in (1.0 + plane.e12, 0.0 * plane.e12, 1.0 + plane.e1, plane.e1 + plane.e2, 1e-9 * (1 + four.e1)):
        with pytest.raises(cr.ArgumentError, match=r"of log must be a multivector without the eigenvalue 0\."):
            R.log()
    for R in (plane.e1 + plane.e2, cr.Algebra.pga(3).e01 * 1.0):
        with pytest.raises(cr.ArgumentError, match="of sqrt must be a multivector whose eigenvalue 0 has a basis"):
            R.sqrt()
    with pytest.raises(cr.ArgumentError, match=r"float"):
        cr.Algebra(4)("1 + e12 + e34").astype(object).log()  # of exact numbers one plane
    with pytest.raises(cr.ArgumentError, match="finite"):
        (np.nan * four.e12 + 1).log()
    with pytest.raises(cr.ArgumentError, match="dimensions"):
        (1.0 + cr.Algebra(14).random_multivector(0, (), 2)).log()  # zeros are left out: e1_2 alone has one


def test_a_slow_turn_beside_a_large_boost():
    """The turn is known to the rounding of the whole rotor, not to its own: 40 of each, the boosts e^8 to e^11."""
    rng = np.random.default_rng(12)
    alg = cr.Algebra(3, 1)
    for angle in (2.6, 2.75, 3.1):
        for boost in np.linspace(4.0, 5.5, 40):
            V = exponential(alg.random_multivector(rng, (), 2) * 0.3)
            R = V * exponential(angle / 2 * alg.e12) * exponential(boost * alg.e34) * ~V
            assert error(R, R.log()) < 1e-10


def test_a_nilpotent_bivector_has_no_full_turn_of_its_own():
    """Its eigenvalues are 0 ± 1e-8 i by rounding: the turn that was made of them is zero, and exp(2π 0) is not -1."""
    rng = np.random.default_rng(13)
    g = np.array([1.0, 1, 1, -1])
    for _ in range(30):
        u, v = np.linalg.qr(rng.standard_normal((3, 2)))[0].T
        null, x = np.array([*u, 1.0]), np.array([*v, 0.0])
        assert commuting_turn((np.outer(x, null) - np.outer(null, x)) * g, g, 2.2e-16) is None


def test_what_is_refused_has_no_logarithm():
    """No plane turns in it, or its negative eigenvalues are single: neither a full nor a half turn can be added."""
    rng = np.random.default_rng(8)
    refused = 0
    for signature in [(2, 1), (1, 2), (3, 1), (2, 2), (3, 2), (2, 3), (3, 3)]:
        alg = cr.Algebra(*signature)
        for _ in range(40):
            R = exponential(alg.random_multivector(rng, (), 2)) * exponential(alg.random_multivector(rng, (), 2))
            try:
                B = R.log()
                off = error(R, B)  # near rotors that have none, |B| grows, and the planes of B cancel in exp(B)
                assert off < 1e-12 or off < 16 * of_rounding(R, B)
            except cr.ArgumentError:
                refused += 1
                images = (R * alg.vector(np.eye(alg.d)) * ~R).grade(1).values
                values = np.linalg.eigvals(images)
                turning = (np.abs(np.abs(values) - 1) < 1e-6) & (np.abs(values.imag) > 1e-6)
                single = (np.abs(values.imag) < 1e-9) & (values.real < 0)
                assert single.any() or not turning.any()
    assert 5 < refused < 100


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_square_roots_square_to_it(d):
    rng = np.random.default_rng(d)
    for signature in signatures(d, d):
        alg = cr.Algebra(*signature)
        for norm, scale in ((1e-9, 1.0), (0.5, 1e150), (2.0, 1e-150), (3.0, 1.0)):
            R = exponential(random_bivector(alg, rng, norm)) * scale
            Q = R.sqrt()
            assert (Q * Q).isclose(R, rtol=1e-12)
    alg = cr.Algebra(d)
    for number in (4.0, -4.0):
        Q = alg.scalar(number).sqrt()
        assert (Q * Q).isclose(alg.scalar(number), rtol=1e-14)
    assert alg.scalar(4).sqrt() == 2
    batch = alg.random_multivector(rng, (7,), 2).exp()
    assert (batch.sqrt() * batch.sqrt()).isclose(batch, rtol=1e-12).all()
    with pytest.raises(cr.ArgumentError, match="of sqrt must be"):
        cr.Algebra(2).e1.sqrt()
