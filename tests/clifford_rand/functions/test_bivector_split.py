"""The split of a bivector into commuting simple parts."""

import math

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.functions.closed_split import split_code
from support.blades import signatures
from support.refusals import refused


def check(B, rtol=1e-9):
    """The parts add up to B, are simple, and commute, relative to the largest component; of each element of a batch."""
    parts = B.bivector_split()
    sizes = [np.abs(part.coefficients).max(axis=-1) for part in parts]
    whole = np.max([np.abs(B.coefficients).max(axis=-1), *sizes], axis=0)
    whole = np.where(whole == 0, 1, whole)

    def largest(A):
        return np.abs(A.coefficients).max(axis=-1, initial=0)

    assert (largest(sum(parts, 0 * B) - B) <= rtol * whole).all()
    units = [part * (1 / whole) for part in parts]
    for i, unit in enumerate(units):
        assert (largest(unit ^ unit) <= rtol).all()
        for other in units[:i]:
            assert (largest(unit * other - (unit ^ other)) <= rtol).all()
            assert (largest(unit * other - other * unit) <= rtol).all()
    return parts


@pytest.mark.parametrize("counts", signatures(6, 2)[::2], ids=repr)
@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])
def test_random_bivectors_in_every_signature(scale, counts):
    rng = np.random.default_rng(0)
    alg = cr.Algebra(*counts)
    B = alg.random_multivector(rng=rng, shape=(), grades=2)
    parts = check(B * scale)
    assert len(parts) <= alg.d // 2
    assert (sum(parts, B * 0) / scale).isclose(B, rtol=1e-9)


@pytest.mark.parametrize("counts", [*signatures(4, 2), *signatures(6, 5)[::3]], ids=repr)
def test_equal_and_nearly_equal_planes_turned_at_random(counts):
    rng = np.random.default_rng(1)
    alg = cr.Algebra(*counts)
    e, V = alg.basis_vectors(), (alg.random_multivector(rng=rng, shape=(), grades=2) * 0.3).exp()
    for apart in (0, 1e-14, 1e-9, 1e-6, 1e-3):
        order, signs = rng.permutation(alg.d), rng.choice([-1, 1], alg.d)
        places = range(0, alg.d - 1, 2)
        B = sum((e[order[i]] * e[order[i + 1]]).grade(2) * (1 + apart * i * signs[i]) for i in places)
        check((V * B * ~V).grade(2))


@pytest.mark.parametrize("d", [4, 5, 6])
def test_batches_of_all_kinds_have_the_split_of_each(d):
    rng = np.random.default_rng(d + 10)
    closed = []
    for counts in signatures(d, d)[:: 1 + d // 5]:
        alg = cr.Algebra(*counts)
        e, order = alg.basis_vectors(), rng.permutation(alg.d)
        V = (alg.random_multivector(rng=rng, grades=2) * 0.3).exp()
        planes = [(e[order[2 * j]] * e[order[2 * j + 1]] * 1.0).grade(2) for j in range(d // 2)]
        several = sum((1 + j) * P for j, P in enumerate(planes))
        elements = [alg.random_multivector(rng=rng, grades=2) * scale for scale in (1e-150, 1e-9, 1.0, 1e100)]
        elements += [
            alg.random_multivector(rng=rng, grades=1) ^ alg.random_multivector(rng=rng, grades=1),
            0 * planes[0],
        ]
        elements += [several, planes[0] * 2 + planes[1] * 1e-7, (V * several * ~V).grade(2)]
        B = cr.stack(elements)
        parts = check(B, 2e-12)
        if alg.r < 2:  # else squares coincide at 0 for all bivectors of some metrics
            closed.extend(split_code(alg.form).split(np.ascontiguousarray(B.coefficients.T))[1])
        alone = B[2].bivector_split()
        assert all(one.isclose(part[2], rtol=1e-9) for part, one in zip(parts, alone, strict=False))
    assert np.mean(closed) > 0.9


def test_planes_of_the_split_are_the_known_ones():
    parts = cr.Algebra(4)("3.0*e12 - 2.0*e34").bivector_split()
    assert {str(part.sparse()) for part in parts} == {"3.0*e12", "-2.0*e34"}
    screw = cr.Algebra.pga(3)("e01 + 2*e23").bivector_split()
    assert [str(part.sparse()) for part in screw] == ["2.0*e23", "e01"]
    assert len(check(cr.Algebra(0, 0, 4)("e12 + 5*e34 + 2*e13") * 1.0)) == 2


def test_exponential_is_the_product_of_those_of_the_parts():
    rng = np.random.default_rng(4)
    for signature in [(4,), (3, 1), (3, 0, 1), (5,), (4, 1)]:
        B = cr.Algebra(*signature).random_multivector(rng=rng, shape=(), grades=2) * 0.7
        assert math.prod(part.exp() for part in B.bivector_split()).isclose(B.exp(), rtol=1e-12)


def test_complex_parts_where_the_squares_are_complex():
    alg = cr.Algebra(2, 2)
    candidates = (alg(f"e12 + {sign}*e34 + 0.5*e13 + 0.5*e24") for sign in (1, -1))
    parts = check(next(B for B in candidates if B.bivector_split()[0].dtype.kind == "c"))  # eigenvalues ±a ± ib
    assert len(parts) == 2
    assert parts[0].dtype == np.complex128
    assert np.allclose(parts[0].values, parts[1].values.conj())
    for d in (4, 5, 6):
        check(cr.Algebra(d).random_multivector(rng=0, shape=(), grades=2, dtype=np.complex128))


def test_metric_that_is_not_diagonal():
    rng = np.random.default_rng(6)
    A = rng.standard_normal((5, 5))
    for diagonal in (np.ones(5), [1, 1, 1, 1, -1], [0, 1, 1, 1, 1]):
        gram = A @ np.diag(diagonal) @ A.T
        check(cr.Algebra(metric=(gram + gram.T) / 2).random_multivector(rng=rng, shape=(), grades=2), rtol=1e-8)


def test_batches_dtypes_and_zero():
    alg = cr.Algebra(5)
    B = alg.random_multivector(rng=2, shape=(2, 3), grades=2) * np.array([[1.0, 0, 1], [1, 1, 1]])
    parts = B.bivector_split()
    assert [part.shape for part in parts] == [(2, 3)] * 2
    assert not parts[0][0, 1].values.any()
    assert (0 * alg.e12).bivector_split() == ()
    assert B.astype(np.float32).bivector_split()[0].dtype == np.float32
    exact = cr.Algebra(3)("e12 + 2*e23")
    assert exact.bivector_split() == (exact,)  # every bivector of three dimensions is simple


def test_refusals():
    alg = cr.Algebra(4)
    refused("must be a bivector", (1 + alg.e12).bivector_split)
    refused("astype", (alg.e12 + alg.e34).astype(object).bivector_split)
    neutral = cr.Algebra(2, 2)  # so(2, 2) = sl2 + sl2: a nilpotent part in one, a turn in the other
    turn, other = neutral.e12 + neutral.e34, neutral.e12 - neutral.e34
    boosts = (neutral.e13 + neutral.e24, neutral.e13 - neutral.e24)
    nilpotent = other + next(boost for boost in boosts if boost * turn == turn * boost)
    assert (nilpotent * nilpotent).grade(0) == 0
    refused("a sum of commuting simple bivectors", (1.0 * turn + nilpotent).bivector_split)
