"""Completion offers blades: of an algebra, of its mapping, and as keys of a multivector."""

import math

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.multivector.base import INTERNAL
from clifford_rand.presets import cga

ALGEBRAS = {
    "none": cr.Algebra(0),
    "space": cr.Algebra(3),
    "projective": cr.Algebra.pga(2),
    "eight": cr.Algebra(8),
    "twelve": cr.Algebra(12),
    "sta": cr.Algebra.sta(),
    "names": cr.Algebra(2, names=["x", "y"]),
    "conformal": cr.Algebra.cga(3),
    "null": cr.Algebra.cga(2, null_basis=True),
}


@pytest.mark.parametrize("alg", ALGEBRAS.values(), ids=ALGEBRAS)
def test_every_name_that_is_offered_is_an_attribute(alg):
    offered = set(dir(alg))
    assert not offered & INTERNAL
    blades = {name for name in offered - set(dir(cr.Algebra)) if isinstance(getattr(alg, name), cr.Multivector)}
    named = {name for name in blades if name in alg.blades}
    assert {alg.names.vector(i) for i in range(alg.d)} <= named
    assert blades - named <= {"eo", "einf"}
    assert set(dir(alg.blades)) - set(object.__dir__(alg.blades)) == named
    assert all(alg.blades[name] == getattr(alg.blades, name) == getattr(alg, name) for name in named)
    assert set(alg.blades._ipython_key_completions_()) == {"1"} | named
    assert len(dir(alg)) == len(offered)  # also after blades were used, which the algebra remembers


@pytest.mark.parametrize(("d", "grades"), [(8, 8), (9, 4), (20, 2), (1000, 1), (10**6, 1)])
def test_whole_grades_are_offered_and_at_most_256_names(d, grades):
    alg = cr.Algebra(d)
    names = alg.names.listed()
    assert len(set(names)) == len(names) <= 256
    assert set(names) <= set(dir(alg))
    counts = {}
    for name in names:
        (grade,) = alg.blade(name).grades
        counts[grade] = counts.get(grade, 0) + 1
    assert counts == {k: min(math.comb(d, k), 256) for k in range(1, grades + 1)}


def test_keys_of_a_multivector_are_the_blades_that_it_stores():
    alg = cr.Algebra(3)
    A = alg("2 + e1 - 3*e12")
    assert A._ipython_key_completions_() == ["1", "e1", "e12"]
    assert [A[name] for name in A._ipython_key_completions_()] == [2, 1, -3]
    assert alg.vector(np.ones((4, 3)))._ipython_key_completions_() == ["e1", "e2", "e3"]
    assert len(cr.Algebra(400).vector(np.ones(400))._ipython_key_completions_()) == 256


@pytest.mark.parametrize("null_basis", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_conformal_algebras_have_the_origin_and_infinity(n, null_basis):
    c = cr.Algebra.cga(n, null_basis=null_basis)
    assert {"eo", "einf"} <= set(dir(c))
    assert c.eo == cga.origin(c)
    assert c.einf == cga.infinity(c)
    assert (c.eo | c.einf) == -1
    assert c.eo * c.eo == 0 == c.einf * c.einf
    x = cr.Algebra(n).vector(np.arange(2.0, 2 + n))
    inside = sum(float(value) * c.blade(f"e{i + 1}") for i, value in enumerate(x.values))
    assert cga.up(c, inside) == cga.up(c, x) == (c.eo + inside + (inside | inside) * c.einf / 2)
    for point in (c.eo, c.einf, cga.up(c, x)):
        with pytest.raises(cr.ArgumentError, match=r"vector of e1 to e.*cga\.down\(P\)"):
            cga.up(c, point)


@pytest.mark.parametrize("name", ["space", "projective", "sta", "names", "none"])
def test_other_algebras_have_neither(name):
    alg = ALGEBRAS[name]
    assert not {"eo", "einf"} & set(dir(alg))
    for absent in ("eo", "einf"):
        with pytest.raises(AttributeError, match=absent):
            getattr(alg, absent)
