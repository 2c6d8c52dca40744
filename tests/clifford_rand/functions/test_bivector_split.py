"""The split of a bivector into commuting simple parts."""

import numpy as np
import pytest

import clifford_rand as cr


def check(B, rtol=1e-9):
    parts = B.bivector_split()
    whole = max(np.abs(B.values).max(), *(np.abs(part.values).max() for part in parts))
    assert np.abs((sum(parts, B * 0) - B).values).max() <= rtol * whole
    for i, part in enumerate(parts):
        size = np.abs(part.values).max()
        assert np.abs((part ^ part).values).max(initial=0) <= rtol * size * whole
        for other in parts[:i]:
            large = max(size, np.abs(other.values).max())
            assert np.abs((part * other - (part ^ other)).values).max(initial=0) <= rtol * large * whole
            assert np.abs((part * other - other * part).values).max(initial=0) <= rtol * large * whole
    return parts


def signatures(largest):
    for d in range(2, largest + 1):
        for r in range(d + 1):
            for p in range(d - r + 1):
                yield p, d - r - p, r


@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])
def test_random_bivectors_in_every_signature(scale):
    rng = np.random.default_rng(0)
    for signature in signatures(6):
        alg = cr.Algebra(*signature)
        assert len(check_scaled(alg.random_multivector(rng, (), 2), scale)) <= alg.d // 2


def check_scaled(B, scale):
    parts = (B * scale).bivector_split()
    check(B)
    assert (sum(parts, B * 0) / scale).isclose(B, rtol=1e-9)
    return parts


def test_equal_and_nearly_equal_planes_turned_at_random():
    rng = np.random.default_rng(1)
    for signature in signatures(6):
        alg = cr.Algebra(*signature)
        e = alg.basis_vectors()
        for apart in (0, 1e-14, 1e-9, 1e-6, 1e-3):
            order = rng.permutation(alg.d)
            B = sum(
                (e[order[i]] * e[order[i + 1]]).grade(2) * (1 + apart * i * rng.choice([-1, 1]))
                for i in range(0, alg.d - 1, 2)
            )
            V = (alg.random_multivector(rng, (), 2) * 0.3).exp()
            check((V * B * ~V).grade(2))


def test_planes_of_the_split_are_the_known_ones():
    alg = cr.Algebra(4)
    parts = (3.0 * alg.e12 - 2.0 * alg.e34).bivector_split()
    assert {str(part.sparse()) for part in parts} == {"3.0*e12", "-2.0*e34"}
    screw = cr.Algebra.pga(3)("e01 + 2*e23").bivector_split()
    assert [str(part.sparse()) for part in screw] == ["2.0*e23", "1.0*e01"]
    grassmann = cr.Algebra(0, 0, 4)("e12 + 5*e34 + 2*e13")
    assert len(check(grassmann * 1.0)) == 2


def test_exponential_is_the_product_of_those_of_the_parts():
    rng = np.random.default_rng(4)
    for signature in [(4,), (3, 1), (3, 0, 1), (5,), (4, 1)]:
        alg = cr.Algebra(*signature)
        B = alg.random_multivector(rng, (), 2) * 0.7
        product = alg.scalar(1.0)
        for part in B.bivector_split():
            product = product * part.exp()
        assert product.isclose(B.exp(), rtol=1e-12)


def test_complex_parts_where_the_squares_are_complex():
    alg = cr.Algebra(2, 2)
    B = 1.0 * alg.e12 + 1.0 * alg.e34 + 0.5 * alg.e13 + 0.5 * alg.e24  # eigenvalues ±a ± ib
    if not np.iscomplexobj(B.bivector_split()[0].values):
        B = 1.0 * alg.e12 - 1.0 * alg.e34 + 0.5 * alg.e13 + 0.5 * alg.e24
    parts = check(B)
    assert len(parts) == 2
    assert parts[0].dtype == np.complex128
    assert np.allclose(parts[0].values, parts[1].values.conj())
    rng = np.random.default_rng(0)
    for d in (4, 5, 6):
        check(cr.Algebra(d).random_multivector(rng, (), 2, dtype=np.complex128))


def test_metric_that_is_not_diagonal():
    rng = np.random.default_rng(6)
    A = rng.standard_normal((5, 5))
    for diagonal in (np.ones(5), [1, 1, 1, 1, -1], [0, 1, 1, 1, 1]):
        gram = A @ np.diag(diagonal) @ A.T
        check(cr.Algebra(metric=(gram + gram.T) / 2).random_multivector(rng, (), 2), rtol=1e-8)


def test_batches_dtypes_and_zero():
    alg = cr.Algebra(5)
    rng = np.random.default_rng(2)
    B = alg.random_multivector(rng, (2, 3), 2)
    B = B * np.array([[1.0, 0, 1], [1, 1, 1]])
    parts = B.bivector_split()
    assert [part.shape for part in parts] == [(2, 3)] * 2
    assert (parts[0] + parts[1]).isclose(B).all()
    assert not parts[0][0, 1].values.any()
    assert (0 * alg.e12).bivector_split() == ()
    assert B.astype(np.float32).bivector_split()[0].dtype == np.float32
    exact = cr.Algebra(3)("e12 + 2*e23")
    assert exact.bivector_split() == (exact,)  # every bivector of three dimensions is simple


def test_refusals():
    alg = cr.Algebra(4)
    with pytest.raises(cr.ArgumentError, match="must be a bivector"):
        (1 + alg.e12).bivector_split()
    with pytest.raises(cr.ArgumentError, match="astype"):
        (alg.e12 + alg.e34).astype(object).bivector_split()
    neutral = cr.Algebra(2, 2)  # so(2, 2) = sl2 + sl2: a nilpotent part in one, a turn in the other
    turn = neutral.e12 + neutral.e34
    other = neutral.e12 - neutral.e34
    boost = next(
        candidate
        for candidate in (neutral.e13 + neutral.e24, neutral.e13 - neutral.e24)
        if (candidate * turn - turn * candidate) == 0
    )
    nilpotent = other + boost
    assert (nilpotent * nilpotent).grade(0) == 0
    with pytest.raises(cr.ArgumentError, match="a sum of commuting simple bivectors"):
        (1.0 * turn + nilpotent).bivector_split()
