"""NumPy's functions and ufuncs on batches: against the same function of an array of multivectors."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr

ALG = cr.Algebra(2, 1)
A = ALG.random_multivector(rng=0, shape=(2, 3, 4), grades=(0, 2))
B = ALG.random_multivector(rng=1, shape=(2, 3, 4), grades=(1, 2))
V = ALG.random_multivector(rng=2, shape=(4,), grades=1)
OPERANDS = {"A": A, "B": B, "V": V}
MASK = np.random.default_rng(3).random((2, 3, 4)) < 0.5


def listed(value):
    """Multivectors as arrays of objects, in lists and tuples too."""
    if isinstance(value, cr.Multivector):
        return np.asarray(value, dtype=object)
    return type(value)(map(listed, value)) if isinstance(value, list | tuple) else value


def same(found, wanted, rtol=0.0):
    if isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    assert isinstance(found, cr.Multivector)
    assert found.shape == np.shape(wanted)
    return all(
        one.isclose(other, rtol=rtol) for one, other in zip(listed(found).ravel(), np.ravel(wanted), strict=True)
    )


MOVED = """
np.moveaxis(A, 0, -1); np.rollaxis(A, 2); np.swapaxes(A, 0, 2); np.transpose(A, (2, 0, 1)); np.expand_dims(A, (0, 3))
np.squeeze(np.expand_dims(A, 1), axis=1); np.reshape(A, (4, -1)); np.ravel(A); np.broadcast_to(V, (5, 4))
np.broadcast_arrays(A, V); np.repeat(A, 2, axis=1); np.tile(A, (2, 1)); np.flip(A, axis=0); np.fliplr(A)
np.rot90(A, axes=(1, 2)); np.roll(A, 2, axis=-1); np.take(A, [2, 0], axis=1)
np.take_along_axis(V, np.array([1, 1, 0]), axis=0); np.compress([True, False, True], A, axis=1); np.extract(MASK, A)
np.delete(A, 1, axis=2); np.insert(A, 1, V, axis=1); np.append(A, B, axis=0); np.diagonal(A, axis1=1, axis2=2)
np.split(A, 2, axis=2); np.array_split(V, 3); np.hsplit(A, [1]); np.stack([A, B], axis=1)
np.concatenate((A, B, A), axis=-1); np.hstack([A, B]); np.vstack([V, V]); np.column_stack([V, V]); np.dstack([V, V])
np.block([[A, B], [B, A]]); np.where(MASK, A, B); np.where(MASK[:, :1], V, A); np.select([MASK, ~MASK], [A, B], V)
np.choose(MASK.astype(int), [A, V]); np.atleast_2d(V); np.copy(A); np.diff(A, axis=1); 1 / V; np.conjugate(A)
np.negative(A) - V; np.add(A, B); np.multiply(MASK, A); np.subtract(1.0, A); np.invert(A)
"""
COMPUTED = """
np.sum(A, axis=(0, 2)); np.add.reduce(A, axis=1); np.prod(A, axis=1); np.square(A); np.multiply(A, B)
np.bitwise_xor(A, B); np.power(A, 2)
"""  # sums in another order
CASES = [(text.strip(), 0.0) for line in MOVED.split("\n") for text in line.split(";") if text]
CASES += [(text.strip(), 1e-12) for line in COMPUTED.split("\n") for text in line.split(";") if text]


@pytest.mark.parametrize(("text", "rtol"), CASES)
def test_functions_act_as_on_arrays_of_multivectors(text, rtol):
    names = {"np": np, "MASK": MASK}
    objects = {name: listed(value) for name, value in OPERANDS.items()}
    assert same(eval(text, names | OPERANDS), eval(text, names | objects), rtol)


def test_sums_to_rounding():
    """NumPy's order of sums is another for arrays of objects."""
    one_by_one = [A[i, j, k] for i in range(2) for j in range(3) for k in range(4)]
    total = sum(one_by_one)
    assert np.sum(A).isclose(total)
    assert np.mean(A).isclose(total / 24)
    assert np.average(A).isclose(total / 24)
    assert np.cumsum(A)[-1].isclose(total)
    assert np.all(np.isclose(np.cumsum(A, axis=1)[:, -1], np.sum(A, axis=1)))
    assert np.sum(A, axis=1, keepdims=True).shape == np.mean(A, axis=1, keepdims=True).shape == (2, 1, 4)
    w = np.array([1.0, 2.0, 0.5])
    assert np.allclose(np.average(A, axis=1, weights=w), (A[:, 0] + 2 * A[:, 1] + 0.5 * A[:, 2]) / 3.5)
    assert np.allclose(np.average(A, axis=1, weights=np.broadcast_to(w[:, None], A.shape)), np.average(A, 1, w))
    line = np.linspace(V, 1.0, 5)
    assert line.shape == (5, 4)
    assert np.allclose(line[[0, 2, 4]], np.stack([V + 0 * ALG.I, (V + 1) / 2, 0 * V + 1]))
    assert np.sum(ALG.scalar([2**62, 2**62, 2**62]))["1"] == 3 * 2**62  # never wraps
    assert np.cumsum(ALG.scalar([2**62, 2**62, 2**62]))[2]["1"] == 3 * 2**62


def test_sums_of_some_elements_with_the_options_of_numpy():
    chosen = [one for one, take in zip(listed(A).ravel(), MASK.ravel(), strict=True) if take]
    assert np.sum(A, where=MASK).isclose(sum(chosen))
    assert np.mean(A, where=MASK).isclose(sum(chosen) / len(chosen))
    by_axis = np.sum(A, axis=1, where=MASK[:, :1], keepdims=True, initial=ALG.e12)
    assert np.all(np.isclose(by_axis, (A * MASK[:, :1]).sum(1, keepdims=True) + ALG.e12))
    missing = np.where(MASK, A, np.nan)
    assert np.sum(missing, where=MASK).isclose(np.sum(A, where=MASK))  # what is left out is never read
    found, total = np.average(A, axis=2, weights=[1, 2, 3, 4], returned=True, keepdims=True)
    assert (found.shape, total.tolist()) == ((2, 3, 1), np.full((2, 3, 1), 10.0).tolist())
    assert np.average(A, returned=True)[1] == 24
    assert np.sum(A, dtype=np.float32).dtype == np.float32


def test_grades_are_united_and_dtypes_promoted():
    assert np.concatenate([A, B], dtype=np.float32).dtype == np.float32
    assert np.stack([V, V], dtype=complex).dtype == np.complex128
    assert np.full_like(A, ALG.e1).dtype == A.dtype
    e1, e23 = ALG.e1, ALG.e23
    C = cr.stack([e1, 2.5 * e23, 7, np.float32(1)])
    assert (C.grades, C.dtype, C.keys.size) == ((0, 1, 2), np.float64, 3)
    assert C[0] == e1
    assert C[2] == 7
    assert cr.concatenate([A.astype(np.float32), A * 1j]).dtype == np.complex128
    assert np.where([True, False], V[:2], 0).grades == (1,)  # zero adds no grade
    assert np.where([True, False], V[:2], 0)[1] == 0
    assert np.select([MASK], [B]).grades == (1, 2)
    assert cr.stack([ALG.symbols("a"), e1]).dtype == object


def test_shapes_and_their_like():
    assert (np.shape(A), np.ndim(A), np.size(A), np.size(A, 1)) == ((2, 3, 4), 3, 24, 3)
    assert np.zeros_like(A).is_zero().all()
    assert np.zeros_like(A).grades == A.grades
    assert np.all(np.ones_like(A) == 1)
    assert np.all(np.full_like(A, ALG.e1, shape=3) == ALG.e1)
    C = A + 1j * A
    assert np.all(np.real(C) == A)
    assert np.all(np.imag(C) == A)
    assert np.iscomplexobj(C)
    assert np.isrealobj(A)
    assert np.all(np.round(A, 1).coefficients == np.round(A.coefficients, 1))
    assert np.all(np.rint(A).coefficients == np.rint(A.coefficients))
    assert np.result_type(A.astype(np.float32), np.float64) == np.float64


def test_comparison_and_numbers_that_are_none():
    assert np.allclose(A, A + 1e-9)
    assert not np.allclose(A, A + 1e-3)
    assert np.array_equal(A, A + 0.0)
    assert not np.array_equal(A, A[0])
    close = np.isclose(A, np.where(MASK, A, A + 1))
    np.testing.assert_array_equal(close, MASK)
    assert np.isclose(1.0, ALG.e1 | ALG.e1)
    bad = A.replace({"e12": np.nan}, at=(0, 1)).replace({"e12": np.inf}, at=(1, 2, 3))
    assert np.isnan(bad).sum() == 4
    assert np.isinf(bad).sum() == 1
    assert np.isfinite(bad).sum() == 19
    assert np.isfinite(np.nan_to_num(bad)).all()
    assert not np.allclose(bad, bad)
    assert np.allclose(bad.replace(A[1], at=1), bad.replace(A[1], at=1), equal_nan=True)
    assert not np.allclose(bad, A, equal_nan=True)
    assert np.array_equal(bad, bad, equal_nan=True)


def test_scalars_are_numbers_for_every_other_function():
    S, T = V | V, V | ALG.e1
    x, y = np.asarray(S), np.asarray(T)
    for function in (np.arctan2, np.hypot, np.maximum):
        np.testing.assert_array_equal(function(S, T), function(x, y))
    for function in (np.max, np.argsort, np.median, np.std, np.arcsinh, np.sign, np.linalg.norm):
        np.testing.assert_allclose(function(S), function(x), rtol=4e-16)  # vectors and lone numbers may round apart
    np.testing.assert_array_equal(np.where(T)[0], np.where(y)[0])
    assert np.interp(ALG.e1 | ALG.e1, [0, 2], [0, 4]) == 2


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("np.linalg.norm(A)", TypeError, r"A\.norm\(\)"),
        ("np.dot(A, B)", TypeError, r"A \| B"),
        ("np.matmul(A, B)", TypeError, r"A\.inner\(B\)"),
        ("np.max(A)", TypeError, "no order"),
        ("np.maximum(A, 0)", TypeError, r"grades 0, 2.*A\.coefficients"),
        ("np.copyto(A, B)", TypeError, "value"),
        ("np.save('x.npy', A)", TypeError, r"cr\.save"),
        ("np.add(A, B, out=A)", TypeError, "value"),
        ("np.cbrt(A)", TypeError, "needs a scalar"),
        ("np.multiply.outer(A, B)", TypeError, "no method 'outer'"),
        ("np.subtract.reduce(A)", TypeError, "no meaning"),
        ("np.stack([A, B], out=np.empty((2, 2, 3, 4), dtype=int))", TypeError, "value"),
        ("np.gradient(V, ALG.e1)", TypeError, "needs a scalar"),
        ("np.trapezoid(V, dx=ALG.e1)", TypeError, "needs a scalar"),
        ("np.sum(A, where=np.ones(5, bool))", ValueError, r"'where' parameter of sum .* batch shape \(2, 3, 4\)"),
        ("np.interp(0.5, [0, 1], SYMBOLS)", ValueError, "free of symbols"),
        ("np.interp(0.5, np.arange(4.0), A)", ValueError, "batch shape"),
        ("np.interp(0.5, np.arange(4.0), V, left=V)", ValueError, "batch shape"),
        ("np.gradient(SYMBOLS)", ValueError, "free of symbols"),
        ("np.gradient(ALG.e1)", ValueError, "a batch axis, or several. Got a single multivector"),
        ("np.diff(V, -1)", ValueError, "integer ≥ 0. Got -1"),
        ("np.conjugate(1j * A)", ValueError, "two conjugates"),
        ("np.sum(A, axis=3)", ValueError, "batch axes"),
        ("np.cumsum(A, axis=3)", ValueError, "batch axes"),
        ("np.cumprod(A, axis=3)", ValueError, "batch axes"),
        ("cr.stack([A, V])", ValueError, r"shapes \(2, 3, 4\), \(4,\)"),
        ("cr.stack([])", ValueError, "at least one multivector"),
        ("cr.stack([ALG.e1, cr.Algebra(4).e1])", ValueError, "of one algebra"),
        ("np.where(np.ones(5, bool), A, V)", ValueError, r"numpy.where .* shapes \(2, 3, 4\), \(4,\).*NumPy says"),
        ("np.broadcast_to(V, (2, 3))", ValueError, r"numpy.broadcast_to .* shapes \(4,\)"),
        ("np.isclose(A, A[:, :2])", ValueError, "parameter of isclose"),
        ("np.average(A, axis=0, weights=[1, 2, 3])", ValueError, "weights"),
        *((f"V {sign} ONES", ValueError, r"broadcasts with \((3|4),\)") for sign in "*/+"),
        ("ONES * V", ValueError, r"broadcasts with \((3|4),\)"),
        ("A.replace(V[:2], at=0)", ValueError, r"broadcasts with \(3, 4\)"),
        ("A.replace(B)", ValueError, "a dict"),
        ("A.replace({'e12': 1.0, 'e21': 2.0})", ValueError, r"each blade once.*'e21'"),
        ("A.map(lambda x: np.ones(7))", ValueError, "broadcasts"),
        ("ALG.e1.replace(ALG.e2, at=0)", TypeError, "no batch axis"),
        ("A.__setitem__('e12', 3.0)", TypeError, r"is a value.*A\.replace\(\{'e12': …\}\)"),
        ("A.__setitem__(0, B[0])", TypeError, r"A\.replace\(B, at=index\)"),
        ("np.array([ALG.e1, ALG.e2], dtype=object) * ALG.e1", ValueError, r"cr\.stack makes one batch"),
    ],
)
def test_what_has_no_meaning_or_does_not_fit_says_what_to_use(text, error, message):
    symbols = ALG.vector(np.array([list(sympy.symbols("a b c"))] * 2, dtype=object))
    with pytest.raises(error, match=message) as raised:
        eval(text, OPERANDS | {"np": np, "cr": cr, "ALG": ALG, "SYMBOLS": symbols, "ONES": np.ones(3)})
    assert isinstance(raised.value, cr.ArgumentError) == (error is ValueError)


def running_products(X):
    products = [X[0]]
    for factor in X[1:]:
        products.append(products[-1] * factor)
    return products


def test_running_products_are_a_loop():
    motors = np.stack([(0.1 * k * ALG.e12 + 0.2 * ALG.e23).exp() * (1 + k * ALG.e1) for k in range(5)])
    for product in (np.cumprod(motors), np.multiply.accumulate(motors), np.cumprod(motors, axis=-1)):
        assert all(a.isclose(b) for a, b in zip(product, running_products(motors), strict=True))
    for axis in range(3):
        product = np.moveaxis(np.cumprod(A, axis=axis), axis, 0)
        for a, b in zip(product, running_products(np.moveaxis(A, axis, 0)), strict=True):
            assert np.all(a.isclose(b))
        assert np.all(np.take(np.cumprod(A, axis=axis), -1, axis=axis).isclose(A.prod(axis)))
    assert np.cumprod(A).shape == (24,)
    assert list(np.cumprod(ALG.vector([[2, 0, 0], [0, 3, 0]]))) == [2 * ALG.e1, 6 * ALG.e12]
    assert np.cumprod(V[:0], axis=0).shape == (0,)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_integrals_and_differences_are_those_of_each_coefficient(axis):
    n = A.shape[axis]
    x = np.cumsum(np.arange(1.0, n + 1))
    full = np.random.default_rng(0).uniform(size=A.shape).cumsum(axis=axis)
    dense = np.moveaxis(A.dense().values, -1, 0)
    for keywords in ({}, {"dx": 0.1}, {"x": x}, {"x": full}):
        found = np.trapezoid(A, axis=axis, **keywords)
        wanted = [np.trapezoid(one, axis=axis, **keywords) for one in dense]
        np.testing.assert_allclose(np.moveaxis(found.dense().values, -1, 0), wanted, atol=1e-13)
    for spacing in ((), (0.1,), (x,)):
        found = np.gradient(A, *spacing, axis=axis)
        wanted = [np.gradient(one, *spacing, axis=axis) for one in dense]
        np.testing.assert_allclose(np.moveaxis(found.dense().values, -1, 0), wanted, atol=1e-13)
    both = np.gradient(A)
    assert len(both) == 3
    assert np.all(both[axis].isclose(np.gradient(A, axis=axis)))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_differences_and_sums_undo_each_other(axis):
    start = np.take(A, [0], axis=axis)
    assert np.all(np.cumsum(np.diff(A, axis=axis, prepend=0), axis=axis).isclose(A))
    assert np.all(np.diff(A, axis=axis, prepend=2 * start) == np.concatenate([-start, np.diff(A, axis=axis)], axis))
    ends = np.diff(A, axis=axis, append=ALG.e1)
    assert np.all(np.take(ends, -1, axis=axis).isclose(ALG.e1 - np.take(A, -1, axis=axis)))
    assert np.all(np.diff(A, 2, axis=1).isclose(A[:, 2:] - 2 * A[:, 1:-1] + A[:, :-2], atol=1e-14))
    if hasattr(np, "cumulative_prod"):
        assert np.all(np.cumulative_prod(A, axis=axis) == np.cumprod(A, axis=axis))
        assert np.all(np.cumulative_sum(A, axis=axis) == np.cumsum(A, axis=axis))


def test_interpolation_is_the_line_between_two():
    x = np.array([[0.0, 0.25, 1.5], [2.0, 3.0, 9.0]])
    found = np.interp(x, np.arange(4.0), V)
    assert found.shape == x.shape
    for index, at in np.ndenumerate(x):
        i, part = (min(int(at), 2), min(at, 3.0) - min(int(at), 2))
        assert found[index].isclose(V[i] * (1 - part) + V[i + 1] * part)
    assert np.interp(-1.0, np.arange(4.0), V, left=5 * V[3]).isclose(5 * V[3])
    assert np.interp(0.5, [0, 1], ALG.vector([[0, 2, 0], [4, 0, 0]])) == 2.0 * ALG.e1 + ALG.e2
    assert (
        np.interp([-1.0, 9.0], np.arange(4.0), V, left=ALG.e12, right=5)
        .isclose(cr.stack([ALG.e12, ALG.scalar(5.0)]))
        .all()
    )
    assert np.interp(-1.0, [0, 1], ALG.scalar([2.0, 3.0]), left=ALG.e1).isclose(ALG.e1)
    thirds = ALG.vector(np.array([[Fraction(1, 3), 0, 0], [0, Fraction(1, 2), 0]], dtype=object))
    assert np.interp(0.5, [0, 1], thirds).isclose(ALG.e1 / 6 + ALG.e2 / 4)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution_is_the_sum_of_geometric_products(mode):
    w = [1.0, -2.0, 0.5]
    for a, v in ((V, V[:3]), (V[:2], V), (V, np.array(w)), (V, w), (w, V)):
        product = np.convolve(a, v, mode)
        n, m = len(a), len(v)
        full = [sum((a[k] * v[i - k] for k in range(n) if 0 <= i - k < m), 0 * ALG.e1) for i in range(n + m - 1)]
        numbers = np.convolve(np.arange(1.0, n + 1), np.ones(m), mode)
        start = (n + m - 1 - len(numbers)) // 2
        assert all(one.isclose(two) for one, two in zip(product, full[start : start + len(numbers)], strict=True))


OPERATIONS = [
    *("__add__", "__sub__", "__mul__", "__xor__", "__or__", "__and__", "__lshift__", "__rshift__", "__eq__", "isclose"),
    *("rc", "hestenes", "scalar_product", "inner", "commutator", "anticommutator", "wedge", "sandwich", "__truediv__"),
    *("project", "reject"),
]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("d", [2, 3, 8])
def test_batches_that_do_not_fit(name, d):
    alg = cr.Algebra(d)
    grades = 1 if name in ("project", "reject") else None
    a, b = (alg.random_multivector(rng=0, shape=shape, grades=grades) for shape in ((5,), (2, 4)))
    for x, y in ((a, b), (a.astype(np.float32), b), ((a * 10).astype(int), (b * 10).astype(int))):
        if d == 8 and x.dtype != np.float64:
            continue
        with pytest.raises(cr.ArgumentError, match=r"batch shape that broadcasts with \(.*Got batch shape \("):
            getattr(x, name)(y)


def test_replace_is_the_assignment_of_values():
    C = A.replace(ALG.e1, at=(0, slice(None), -1))
    assert np.all(C[0, :, -1] == ALG.e1)
    assert np.all(C[1] == A[1])
    assert C.grades == (0, 1, 2)
    assert np.all(A.replace(5.0, at=MASK)[MASK] == 5)
    assert np.all(A.replace(B[0], at=1)[1] == B[0])
    assert np.all(A.replace({"e12": [1, 2, 3, 4]}, at=0)["e12"][0] == [1, 2, 3, 4])


def test_map_and_filter():
    assert np.all(A.map(np.abs).coefficients == np.abs(A.coefficients))
    assert A.map(lambda x: x.mean()).shape == A.shape
    assert (1j * ALG.e1 + 2).map(np.conj) == 2 - 1j * ALG.e1
    assert ALG("e1 + 2*e12").map(lambda name, x: len(name) * x) == ALG("2*e1 + 6*e12")
    assert ALG.symbols("a", 1).map(lambda a: a.diff("a1") if False else a**2)["e2"] == ALG.symbols("a", 1)["e2"] ** 2
    few = A.filter(lambda x: np.abs(x).max() > np.abs(A.coefficients[..., 1]).max())
    assert few.keys.size < A.keys.size
    assert ALG("e1 + 0*e2").filter() == ALG.e1
    assert ALG("e1 + 2*e2").filter(lambda name, x: name == "e2") == 2 * ALG.e2
    assert ALG.e1.filter(lambda x: x > 1) == 0


class Scale:
    """A function of one coefficient, or of a name and one, as a method and as an object."""

    def by_two(self, x):
        return 2 * x

    def __call__(self, name, x):
        return len(name) * x


def test_functions_that_are_methods_objects_or_written_in_c():
    E = ALG("e1 + 2*e12")
    assert E.map(Scale().by_two) == E.filter(Scale().by_two).map(Scale().by_two) == 2 * E
    assert E.map(Scale()) == ALG("2*e1 + 6*e12")
    assert E.map(Fraction) == E.map(abs) == E.map(np.abs) == E.map(round) == E


def test_batches_without_any_blade_have_a_text():
    none = V.filter(lambda x: False)
    assert (none.shape, none.keys.size) == ((4,), 0)
    assert str(none).count("\n") == 4
    assert f"{none:.2f}".endswith("0")
    assert "array" in none._repr_latex_()
    assert "[3] 0" in none._repr_html_()
