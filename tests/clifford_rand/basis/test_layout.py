"""Components lie apart in memory, whatever made a batch; methods that stand elsewhere; names that are remembered."""

import pickle

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand import algebra
from clifford_rand.functions import exponential, norms
from clifford_rand.multivector.base import StoredComponents
from support.refusals import refused


def lie_apart(A):
    return np.moveaxis(A.coefficients, -1, 0).flags.c_contiguous


@pytest.mark.parametrize("batch", [(7,), (3, 5), (2, 1, 4)])
def test_components_of_what_is_made_lie_apart(batch):
    alg = cr.Algebra.pga(3)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((*batch, 16))
    A, B = alg.multivector(rows), alg.random_multivector(rng=rng, shape=batch)
    np.testing.assert_array_equal(A.values, rows)
    made = {
        "given": A, "vector": alg.vector(rows[..., :4]), "product": A * B,
        "product by one": A * alg.random_multivector(rng=rng), "sum": A + B.even(), "scaled": 2.0 * A,
        "by an array": rows[..., 0] * A, "reverse": ~A, "complement": A.left_complement(), "star": A.star(),
        "grade": A.grade(2), "even": A.even(), "dense": A.grade(1).dense(),
        "sandwich": (A.even() + 9).normalized() >> B, "reshaped": A.reshape(-1),
    }  # fmt: skip
    for name, one in made.items():
        assert one.shape == (batch if name != "reshaped" else (int(np.prod(batch)),)), name
        assert lie_apart(one), name
        assert not one.coefficients.flags.writeable, name


def test_a_grade_of_a_batch_is_a_view():
    A = cr.Algebra(3).random_multivector(rng=0, shape=10)
    assert np.shares_memory(A.grade(2).coefficients, A.coefficients)


def test_methods_are_the_functions_of_their_modules():
    alg = cr.Algebra(3)
    alg.e12.exp()
    assert cr.Multivector.exp is exponential.exponential
    assert cr.Multivector.norm is cr.Multivector.__abs__ is norms.norm
    assert "Taylor polynomial" in cr.Multivector.exp.__doc__
    for name in dir(alg.e12):  # without the names of blades, which are errors that teach
        if not name.startswith("_") and name not in StoredComponents.__slots__:
            assert getattr(cr.Multivector, name).__doc__, name


def test_blades_and_places_are_remembered(monkeypatch):
    alg = cr.Algebra(4)
    assert alg.e12 is alg.e12
    assert alg.e21 == -alg.e12
    A = alg.random_multivector(rng=0)
    assert A["e21"] == -A["e12"] == -A[np.str_("e12")]
    refused("name", lambda: A["e15"])
    assert pickle.loads(pickle.dumps(alg)).e12 == alg.e12
    monkeypatch.setattr(algebra, "MOST_NAMES", 50)
    wide = cr.Algebra(300)
    for vector in wide.names.vectors:
        getattr(wide, f"e{vector}")
    assert len(wide.__dict__) == 50
