"""exp, log and √ over batches that mix all kinds of elements: laws, and the batch is what each element is alone."""

import math

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions import logarithm
from clifford_rand.functions.closed_exponential import plane_exponential
from clifford_rand.functions.closed_inverse import closed_inverse, inverse_code
from clifford_rand.functions.closed_log import closed_form, closed_root
from clifford_rand.functions.closed_split import split_code
from clifford_rand.functions.study import angle_and_half, cosh_sinhc_of_pair
from support.blades import signatures


def planes_of(alg, rng):
    """Commuting planes of basis vectors in a random order."""
    e, order = alg.basis_vectors(), rng.permutation(alg.d)
    return [(e[order[2 * j]] * e[order[2 * j + 1]] * 1.0).grade(2) for j in range(alg.d // 2)]


def mixed(alg, rng):
    """A batch of bivectors: random, simple, isoclinic and nearly so, null, a screw, tiny, large, zero."""
    square = alg.form.diagonal
    e = alg.basis_vectors()
    V = (alg.random_multivector(rng, grades=2) * 0.4).exp()
    planes = planes_of(alg, rng)
    found = [alg.random_multivector(rng, grades=2) * scale for scale in (1e-12, 1e-5, 0.3, 1.0, 2.5)]
    found.append((alg.random_multivector(rng, grades=1) ^ alg.random_multivector(rng, grades=1)) * 0.8)
    for apart in (0, 1e-9, 1e-5, 1e-2):
        B = sum((1 + apart * j) * P for j, P in enumerate(planes))
        found += [B, 1.6 * B, (V * B * ~V).grade(2)]
    screw = planes[0] * 1.1 + 1e-8 * planes[-1]
    found += [screw, (V * screw * ~V).grade(2), (V * planes[0] * ~V).grade(2) * np.pi / 2, 0 * planes[0]]
    light = [(i, j) for i in range(alg.d) for j in range(alg.d) if square[i] > 0 > square[j]]
    if light and alg.d > 2:
        i, j = light[rng.integers(len(light))]
        k, *others = (m for m in range(alg.d) if m not in (i, j))
        null = (e[i] + e[j]) ^ (0.7 * e[k])
        found += [null, (V * null * ~V).grade(2)]
        found += [null + 0.4 * (e[k] ^ e[m]) for m in others]
        found += [null + 0.4 * (e[others[0]] ^ e[m]) for m in others[1:]]
    keys = found[0].keys
    return alg.bivector(np.stack([B.on_keys(keys).coefficients for B in found]))


def error(A, B):
    """Largest difference of components, relative to the largest component, in each element."""
    difference = np.abs((A - B).coefficients).max(axis=-1)
    return difference / np.abs(B.coefficients).max(axis=-1)


SIGNATURES = [signature for signature in signatures(5) if sum(signature) > 1]


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_mixed_batches_in_every_signature(d):
    rng = np.random.default_rng(d)
    closed = total = 0
    for signature in (s for s in SIGNATURES if sum(s) == d):
        alg = cr.Algebra(*signature)
        B = mixed(alg, rng)
        R = B.exp()
        assert error(R * B.exp().reverse(), alg.scalar(1.0)).max() < 1e-13 * np.abs(R.coefficients).max() ** 2
        L, Q = R.log(), R.sqrt()
        assert error(L.exp(), R).max() < 1e-12
        assert error(Q * Q, R).max() < 1e-12
        _, done = closed_form(R, np.dtype(float))
        closed += int(done.sum())
        total += len(done)
        for i in range(len(done)):
            assert error(R[i], B[i].exp()) < 2e-14
            assert error(L[i].exp(), R[i].log().exp()) < 1e-12
            assert error(Q[i], R[i].sqrt()) < 1e-9
    assert closed > 0.97 * total  # none of these is left to the general way but where rounding says so


@pytest.mark.parametrize("signature", [(4,), (0, 4), (5,), (3, 0, 1), (1, 3), (4, 1), (2, 2), (2, 0, 2), (2, 1, 2)])
def test_log_gives_back_what_exp_took_in_the_principal_range(signature):
    rng = np.random.default_rng(0)
    alg = cr.Algebra(*signature)
    B = alg.random_multivector(rng, (200,), 2)
    B = B * (rng.uniform(0.1, 1.4, 200) / np.linalg.norm(B.values, axis=-1))  # |θ1| + |θ2| ≤ 2 |B| < π
    assert np.abs((B.exp().log() - B).coefficients).max() < 1e-13
    assert (B.exp().sqrt() - (B / 2).exp()).norm().max() < 1e-13


@pytest.mark.parametrize("signature", [(4,), (3, 0, 1), (1, 3), (4, 1), (2, 2)])
def test_minus_one_and_minus_rotors_in_one_batch(signature):
    """Minus the identity has no closed form, and stands beside elements that have one."""
    rng = np.random.default_rng(1)
    alg = cr.Algebra(*signature)
    R = (alg.random_multivector(rng, (6,), 2) * 0.3).exp()
    values = R.coefficients.copy()
    values[1], values[3] = 0, 0
    values[1, 0], values[3, 0] = -1, 1
    if alg.q == 0:  # else it may be minus a boost, which has none
        values[4] *= -1
    R = R.new(R.keys, values)
    L = R.log()
    assert error(L.exp(), R).max() < 1e-12
    assert abs(L[1].norm() - np.pi) < 1e-12
    assert not L[3].coefficients.any()


@pytest.mark.parametrize("signature", [(2,), (3,), (4,), (5,), (3, 0, 1), (1, 3), (4, 1)])
def test_half_and_full_turns_have_closed_forms(signature):
    """Near R = -1 the digits of 1 + S are those of B²: planes that nearly make a full turn, alone and with others."""
    rng = np.random.default_rng(7)
    alg = cr.Algebra(*signature)
    V = (alg.random_multivector(rng, (40,), 2) * 0.3).exp()
    turning = [i for i in range(alg.d) if alg.signature[i] == (-1 if alg.q > 1 else 1)]
    plane = alg.basis_vectors()[turning[0]] * alg.basis_vectors()[turning[1]] * 1.0
    B = (V * plane * ~V).grade(2) * (np.pi - np.geomspace(1e-6, 0.3, 40))
    for R in (B.exp(), (B / 2).exp()):
        assert closed_form(R, np.dtype(float))[1].mean() > 0.8
        assert closed_root(R, np.dtype(float))[1].mean() > 0.8
        assert error(R.log().exp(), R).max() < 1e-12
        assert error(R.sqrt() * R.sqrt(), R).max() < 1e-12
    if signature == (3, 0, 1):  # a screw: by Study numbers, but for the last 1e-3 before a full turn
        R = (B + 0.3 * alg.e01).exp()
        assert closed_form(R, np.dtype(float))[1][20:].mean() >= 0.9


@pytest.mark.parametrize("signature", [(4,), (1, 3), (4, 1), (3, 0, 1)])
def test_scales_and_single_precision(signature):
    rng = np.random.default_rng(2)
    alg = cr.Algebra(*signature)
    B = alg.random_multivector(rng, (50,), 2) * 0.5
    R = B.exp()
    scales = 10.0 ** rng.uniform(-100, 100, 50)
    L = (R * scales).log()
    assert L.grades == (0, 2)
    np.testing.assert_allclose(L["1"], np.log(scales), rtol=1e-13)
    assert np.abs((L.grade(2) - B).coefficients).max() < 1e-12
    Q = (R * scales).sqrt()
    assert error(Q * Q, R * scales).max() < 1e-12
    single = R.astype(np.float32)
    assert single.log().dtype == single.sqrt().dtype == B.astype(np.float32).exp().dtype == np.float32
    assert np.abs((single.log().grade(2) - B).coefficients).max() < 2e-5
    assert error(B.astype(np.float32).exp(), R).max() < 1e-6
    drifted = R.new(R.keys, R.coefficients + 1e-11 * rng.standard_normal(R.coefficients.shape))
    _, done = closed_form(drifted, np.dtype(float))  # after many products: not for the general way
    assert done.all()
    assert np.abs((drifted.log().grade(2) - B).coefficients).max() < 1e-9


def test_single_precision_out_of_range_is_named():
    alg = cr.Algebra(2)
    assert (80 * alg.e1).astype(np.float32).exp().isclose(np.cosh(80) * (1 + alg.e1), rtol=1e-6)
    for A in (100 * alg.e1, alg.vector([[100.0, 0], [1, 1]])):
        with pytest.raises(cr.ArgumentError, match="to be a float32"):
            A.astype(np.float32).exp()


def test_sparse_bivectors_keep_their_blades():
    alg = cr.Algebra(5)
    E = (0.3 * alg.e12 + 0.4 * alg.e34).exp()
    assert E.keys.size == 4
    far = cr.Algebra(12)
    B = 0.3 * far.blade("e1_2") + 0.4 * far.blade("e11_12")
    assert error(B.exp(), (0.3 * far.blade("e1_2")).exp() * (0.4 * far.blade("e11_12")).exp()) < 1e-15
    assert plane_exponential(alg.form, alg.random_multivector(0, grades=2).keys).planes == 2
    assert plane_exponential(far.form, far.random_multivector(0, grades=2).keys) is None


def test_python_numbers_and_rows_are_one_function():
    rng = np.random.default_rng(3)
    s = rng.standard_normal(400) * 10.0 ** rng.uniform(-3, 2, 400)
    t = s * s * rng.uniform(-1, 0.7, 400)
    rows = np.array(cosh_sinhc_of_pair(np, s, t))
    for i in range(400):
        np.testing.assert_allclose(
            rows[:, i], cosh_sinhc_of_pair(math, float(s[i]), float(t[i])), rtol=1e-11, atol=1e-14
        )
    x, y = rng.uniform(0.1, 1.5, (2, 200))  # S = cos x cos y + sin x sin y J, B² = S² - 1
    for way, sign, c, d in (("real", 1, np.cos(y), np.sin(y)), ("complex", -1, np.cosh(y), np.sinh(y))):
        s, t = np.cos(x) * c, sign * (np.sin(x) * d) ** 2
        square = s * s + t - 1
        for other in (way, "study"):
            rows = np.array(angle_and_half(np, s, square, t, other))
            for i in np.flatnonzero(s > -0.5):
                number = angle_and_half(math, *(float(x[i]) for x in (s, square, t)), way)
                np.testing.assert_allclose(rows[:, i], number, rtol=1e-9, atol=1e-12)


def test_roots_have_a_closed_form():
    rng = np.random.default_rng(4)
    for signature in SIGNATURES:
        R = (cr.Algebra(*signature).random_multivector(rng, (5,), 2) * 0.5).exp()
        assert closed_root(R, np.dtype(float))[1].all()


@pytest.mark.parametrize("signature", [s for s in signatures(5) if s != (0, 0, 0)])
def test_inverses_by_involutions(signature):
    rng = np.random.default_rng(5)
    alg = cr.Algebra(*signature)
    for grades in (None, tuple(range(0, alg.d + 1, 2)), 1, 2 if alg.d > 1 else 1):
        A = alg.random_multivector(rng, (40,), grades) + (2.0 if grades is None else 0.0)
        code = inverse_code(alg.form, A.keys)
        X, done = closed_inverse(A, None)
        with np.errstate(all="ignore"):  # where it is not done, X has any value
            left = np.sqrt((((A * X) - 1.0).coefficients ** 2).sum(axis=-1))
        sizes = [
            np.sqrt((part.coefficients**2).sum(axis=-1))
            for part in (A, X.new(X.keys, np.where(done[..., None], X.coefficients, 1.0)))
        ]
        assert (left <= 1e-14 * sizes[0] * sizes[1])[done].all()
        if grades is None:
            assert done.mean() > 0.6 or alg.r > 1
        for i in np.flatnonzero(done)[:4]:
            assert A[i].inv().isclose(X[i], rtol=1e-11)
        N, adjugate = code.adjugate(A[0].coefficients.tolist())  # also where A has no inverse, and N is 0
        assert (A[0] * A.new(code.adjugate_keys, np.array(adjugate))).isclose(N, rtol=1e-12, atol=1e-11)


def test_singular_elements_beside_others_are_named():
    alg = cr.Algebra(3)
    values = np.random.default_rng(6).standard_normal((30, 8))
    values[17] = (1.0 + alg.e1).dense().coefficients
    with pytest.raises(cr.ArgumentError, match=r"reciprocal condition number .* at batch index 17"):
        alg.multivector(values).inv()
    values[17] = (1.0 + (1 - 1e-9) * alg.e1).dense().coefficients  # ill conditioned: by matrices, the others by rows
    A = alg.multivector(values)
    assert not closed_inverse(A, None)[1][17]
    assert (A * A.inv()).isclose(1.0, rtol=1e-6).all()


@pytest.mark.parametrize("d", [4, 5, 6])
def test_splits_in_every_signature(d):
    rng = np.random.default_rng(d + 10)
    closed = total = 0
    for signature in (s for s in signatures(6) if sum(s) == d):
        alg = cr.Algebra(*signature)
        V = (alg.random_multivector(rng, grades=2) * 0.3).exp()
        planes = planes_of(alg, rng)
        found = [alg.random_multivector(rng, grades=2) * scale for scale in (1e-150, 1e-9, 1.0, 1e100)]
        found += [alg.random_multivector(rng, grades=1) ^ alg.random_multivector(rng, grades=1), 0 * planes[0]]
        found += [sum((1 + j) * P for j, P in enumerate(planes)), planes[0] * 2 + planes[1] * 1e-7]
        found.append((V * found[-2] * ~V).grade(2))
        keys = found[0].keys
        B = alg.bivector(np.stack([part.on_keys(keys).coefficients for part in found]))
        parts = B.bivector_split()
        total_part = sum(parts, 0 * B)
        whole = np.max([np.abs(part.coefficients).max(axis=-1) for part in parts], axis=0)
        whole = np.where(whole == 0, 1, whole)
        assert (np.abs((total_part - B).coefficients).max(axis=-1) <= 2e-12 * whole).all()
        for i, part in enumerate(parts):
            unit = part * (1 / whole)
            assert np.abs((unit ^ unit).coefficients).max() <= 2e-12
            for other in parts[:i]:
                product = unit * (other * (1 / whole))
                assert np.abs((product - (unit ^ (other * (1 / whole)))).coefficients).max() <= 2e-12
        _, done = split_code(alg.form).split(np.ascontiguousarray(B.coefficients.T))
        if alg.r < 2:  # else x_i coincide at 0 for all bivectors of some metrics
            closed, total = closed + int(done.sum()), total + len(done)
        alone = B[2].bivector_split()
        assert all(one.isclose(part[2], rtol=1e-9) for part, one in zip(parts, alone, strict=False))
    assert closed > 0.9 * total


@pytest.mark.parametrize("signature", [(6,), (0, 6), (5, 1), (3, 3), (4, 1, 1), (3, 0, 3), (1, 1, 4)])
def test_six_dimensions(signature):
    rng = np.random.default_rng(20)
    alg = cr.Algebra(*signature)
    B = alg.random_multivector(rng, (30,), 2)
    B = B * (rng.uniform(0.01, 1.4, 30) / np.linalg.norm(B.values, axis=-1))
    B = B * np.r_[0.0, 1e-12, np.ones(28)]
    R = B.exp() * np.r_[np.ones(25), np.full(5, 7.0)]
    L, Q = R.log(), R.sqrt()
    assert np.abs((L.grade(2) - B).coefficients).max() < 1e-12
    np.testing.assert_allclose(L["1"], np.r_[np.zeros(25), np.full(5, np.log(7))], atol=1e-13)
    assert error(Q * Q, R).max() < 1e-12
    assert closed_form(R, np.dtype(float))[1].mean() > (0.9 if alg.r < 2 else 0.0)
    assert closed_root(R, np.dtype(float))[1].mean() > (0.9 if alg.r < 2 else 0.0)
    if alg.p > 1 and alg.q == 0:  # s < 0: with a full turn
        turned = -(B[2:12].exp())
        assert error(turned.log().exp(), turned).max() < 1e-12
        assert error(turned.sqrt() * turned.sqrt(), turned).max() < 1e-12
        assert closed_form(turned, np.dtype(float))[1].any() or alg.r > 1


def test_empty_batches():
    for signature in [(2,), (4,), (4, 1)]:
        B = cr.Algebra(*signature).random_multivector(0, (0, 3), grades=2)
        assert B.exp().shape == B.exp().log().shape == B.exp().sqrt().shape == (0, 3)


def test_minus_one_many_times_is_worked_once(monkeypatch):
    alg = cr.Algebra(3)
    calls = []
    one = logarithm.log_of_one
    monkeypatch.setattr(logarithm, "log_of_one", lambda *given: calls.append(1) or one(*given))
    values = np.zeros((3000, 4))
    values[:, 0] = -1
    values[::3] = (0.5 * alg.e12).exp().on_keys(keys_of_grades(3, (0, 2))).coefficients
    values[1::3, 0] = -2
    R = alg.multivector(values, (0, 2))
    L, Q = R.log(), R.sqrt()
    assert L.exp().isclose(R).all()
    assert (Q * Q).isclose(R).all()
    assert L.grade(0).values[1::3] == pytest.approx(np.log(2))
    assert len(calls) == 4  # minus one and minus two, for the logarithm and for the root


@pytest.mark.parametrize("signature", [(6, 0, 0), (0, 6, 0)])
def test_planes_that_turn_equally_are_worked_together(signature, monkeypatch):
    alone, one = [], logarithm.log_of_one
    monkeypatch.setattr(logarithm, "log_of_one", lambda *given: alone.append(1) or one(*given))
    rng = np.random.default_rng(8)
    alg = cr.Algebra(*signature)
    a = alg.scalar(rng.uniform(0.2, 3.0, 60))  # beyond π/2 in three planes: minus the exponential of the principal log
    for planes in (alg("1.0*e12 + e34"), alg("1.0*e12 + e34 - e56"), alg("1.0*e12 + 2.0*e34 + 2.0*e56")):
        turned = (alg.random_multivector(rng, grades=2)).exp()
        R = (turned >> (a * planes)).exp() * alg.scalar(rng.choice([1.0, 2.5], 60))
        L = R.log()
        assert L.exp().isclose(R, rtol=1e-12).all()
        Q = R.sqrt()  # once: of many roots as good, rounding decides, and products may change their code meanwhile
        assert (Q * Q).isclose(R, rtol=1e-12).all()
        assert np.sqrt((L.grade(2).values ** 2).sum(axis=-1)).max() < 2 * np.pi * 3**0.5
    assert len(alone) <= 3  # of 180 elements
