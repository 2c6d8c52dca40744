"""Errors of names of other packages, of misspelled names and of spread components say what to write."""

import inspect
import pickle
import re

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from clifford_rand import draw
from clifford_rand.compat.clifford import Cl
from clifford_rand.errors import OF_ALGEBRA, OF_BLADE, OF_MULTIVECTOR, OF_PACKAGE
from clifford_rand.presets import cga, pga
from support.refusals import refused

ALG = cr.Algebra(3)
A = ALG("1 + 2*e1 + 3*e12")
BLADE = cr.Blade([[1.0, 0, 2], [0, 1, 1]])
OWNERS = {"cr": (cr, OF_PACKAGE), "alg": (ALG, OF_ALGEBRA), "A": (A, OF_MULTIVECTOR), "blade": (BLADE, OF_BLADE)}
PLACES = {"cr": cr, "alg": ALG, "A": A, "blade": BLADE, "cga": cga, "draw": draw, "pga": pga, "sympy": sympy}
NAMES = [(owner, name) for owner, (_, table) in OWNERS.items() for names in table for name in names.split()]


@pytest.mark.parametrize(("owner", "name"), NAMES, ids=[".".join(pair) for pair in NAMES])
def test_a_name_of_another_package_is_answered_with_names_that_exist(owner, name):
    value, table = OWNERS[owner]
    assert not hasattr(value, name)
    assert name not in dir(value)
    with pytest.raises(AttributeError) as caught:
        getattr(value, name)
    text = str(caught.value)
    assert repr(name) in text
    meant = text.partition(" Did you mean ")[2]
    assert meant in {f"{one}?" for one in table.values()}
    if meant.startswith("the function of that name of presets."):
        assert any(hasattr(PLACES[model], name) for model in re.findall("pga|cga", meant))
        return
    attributes = re.findall(rf"\b({'|'.join(PLACES)})\.(\w+)", meant)
    assert attributes or meant.startswith(('alg("', 'A["'))
    for short, attribute in attributes:
        assert hasattr(PLACES[short], attribute)


def test_no_name_is_listed_twice():
    for _, table in OWNERS.values():
        names = " ".join(table).split()
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("value", "name", "meant"),
    [
        (cr, "crosss", "cross?"), (cr, "Algebr", "Algebra?"), (ALG, "vectr", "vector?"), (cr, "zzzz", ""),
        (ALG, "basis_vector", "basis_vectors?"), (BLADE, "principle_angles", "principal_angles?"), (ALG, "zzzz", ""),
        (ALG, "_vector", ""), (ALG, "e4", ""),
    ],
)  # fmt: skip
def test_a_misspelled_name_is_answered_with_the_nearest_if_one_is_near(value, name, meant):
    with pytest.raises(AttributeError) as caught:
        getattr(value, name)
    assert str(caught.value).partition("Did you mean ")[2] == meant


def test_names_that_a_compatibility_class_has_stay_its_own():
    _, blades = Cl(3)
    B = 1 + 2 * blades["e12"]
    assert B.value.tolist() == [1, 0, 0, 0, 2, 0, 0, 0]
    assert {"value", "normal", "mag2", "isBlade"} <= set(dir(B))
    assert "normalize" not in dir(B)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: ALG.vector(1, 2, 3), "vector([1, 2, 3])"),
        (lambda: ALG.bivector(1.5, 2, 3), "bivector([1.5, 2, 3])"),
        (lambda: cr.cross([1, 0, 0], [0, 1, 0]), "cross([[1, 0, 0], [0, 1, 0]])"),
        (lambda: cr.cross_log([1, 0, 0], [0, 1, 0]), "cross_log([[1, 0, 0], [0, 1, 0]])"),
        (lambda: ALG.vector(*np.ones((3, 100))), "vector([…])"),
        (lambda: cr.cross(ALG.e1, ALG.e2), "cr.star(cr.wedge(a, b)), which is for multivectors"),
    ],
)
def test_spread_components_are_answered_with_one_array(call, meant):
    refused(rf"takes one array, got \d arguments\. Did you mean {re.escape(meant)}\?", call, error=TypeError)


def test_what_the_errors_recommend_works():
    assert ALG.vector([1, 2, 3]) == ALG("e1 + 2*e2 + 3*e3")
    assert ALG.bivector([1.5, 2, 3])["e12"] == 1.5
    assert cr.cross([[1, 0, 0], [0, 1, 0]]).tolist() == [0, 0, 1]
    assert cr.star(cr.wedge(ALG.e1, ALG.e2)) == ALG.e3


def test_angle_plane_and_quaternion_of_a_rotor_are_as_recommended():
    rotor = (-0.4 * ALG.e12).exp()
    assert np.isclose(2 * rotor.log().norm(), 0.8)
    assert (-rotor.log().normalized()).isclose(ALG.e12)
    quaternion, _ = pga.motor_to_quaternion(cr.Algebra.pga(3).convert(rotor))
    np.testing.assert_allclose(quaternion, [np.cos(0.4), 0, 0, np.sin(0.4)], atol=1e-15)


def test_functions_of_one_array_keep_their_signature():
    assert list(inspect.signature(cr.cross).parameters) == ["A", "rtol"]
    assert list(inspect.signature(cr.Algebra.vector).parameters) == ["self", "X"]
    assert pickle.loads(pickle.dumps(cr.cross)) is cr.cross
    refused("missing 1 required positional argument", ALG.vector, error=TypeError)
