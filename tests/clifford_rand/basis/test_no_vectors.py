"""The algebra without basis vectors: scalars, with every operation."""

import pickle

import numpy as np
import pytest

import clifford_rand as cr
from support.refusals import refused

ALG = cr.Algebra(0)
X, Y = np.array([0.25, 0.5, 0.75]), np.array([0.5, 0.125, 0.25])
BINARY = {
    **dict.fromkeys(("gp", "wedge", "vee", "fat_dot", "lc", "rc", "inner", "scalar_product", "anticommutator"), X * Y),
    **dict.fromkeys(("commutator", "hestenes"), 0 * X),
    **dict.fromkeys(("project", "reject", "reflect"), X),
    "__add__": X + Y,
    "__sub__": X - Y,
    "__truediv__": X / Y,
    "sandwich": Y,
    "__rshift__": Y,
}
UNARY = {
    **dict.fromkeys(("reverse", "involute", "conjugate", "star", "star_right", "dual", "undual", "even", "copy"), X),
    **dict.fromkeys(("left_complement", "right_complement", "dense", "sparse", "__pos__"), X), "odd": 0 * X,
    "norm": X, "norm_squared": X**2, "normalized": X**0, "inv": 1 / X, "scalar_part": X, "outerexp": np.exp(X),
    "outersin": np.sinh(X), "outercos": np.cosh(X), "outertan": np.tanh(X),
}  # fmt: skip
FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan")


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[1], lambda x: x.astype(np.float32)])
def test_operations_are_those_of_numbers(make):
    x, y = make(X), make(Y)
    A, B = ALG.scalar(x), ALG.scalar(y)
    for name, wanted in BINARY.items():
        np.testing.assert_allclose(np.asarray(getattr(A, name)(B)), make(wanted), rtol=1e-6, err_msg=name)
    for name, wanted in UNARY.items():
        np.testing.assert_allclose(np.asarray(getattr(A, name)()), make(wanted), rtol=1e-6, err_msg=name)
    for name in (*FUNCTIONS, "arcsinh", "arctanh"):
        np.testing.assert_allclose(np.asarray(getattr(A, name)()), getattr(np, name)(x), rtol=1e-6, err_msg=name)
    np.testing.assert_allclose(np.asarray((1 + A).arccosh()), np.arccosh(1 + x), rtol=1e-6)
    for matrix in (A.left_matrix(), A.right_matrix(), A.spinor_matrix(), A.dense().coefficients[..., None]):
        np.testing.assert_array_equal(matrix, x[..., None, None])
    assert A.vector_matrix().shape == (*A.shape, 0, 0)
    assert np.all(A.is_versor())
    assert np.all(A.is_blade())
    assert np.all(ALG.from_spinor_matrix(A.spinor_matrix()) == A)
    assert np.all(A.outermorphism(np.zeros((0, 0))) == A)
    assert np.all(x**3 == A**3)


def test_the_algebra():
    assert (ALG.d, ALG.p, ALG.q, ALG.r, ALG.signature, ALG.metric.shape) == (0, 0, 0, 0, (), (0, 0))
    assert repr(ALG) == "Algebra(0)"
    assert pickle.loads(pickle.dumps(ALG)) == ALG == cr.Algebra(signature=[])
    assert ALG.I == ALG.I_inv == 1
    assert ALG("2 + 3") == 5
    assert dict(ALG.blades) == {"1": 1}
    assert ALG.basis_vectors() == []
    assert ALG.multivector([5.0]) == 5
    assert cr.Algebra(3).convert(ALG.scalar(2)) == 2
    assert ALG.convert(cr.Algebra(3).scalar(2)) == 2
    assert ALG.symbols("a") * 2 == 2 * ALG.symbols("a")
    assert float(ALG.scalar(2.0).factorize_versor()[0]) == 2
    with pytest.raises(AttributeError, match="no basis vectors"):
        ALG.e1  # noqa: B018
    refused("no basis vectors", ALG, "e1")
    refused("from 0 to 0", ALG.vector, [])
