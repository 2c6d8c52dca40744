"""Tensors, symbols, batches and lists in place of every argument of a public function: a value, or one sentence."""

import itertools

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from clifford_rand.presets import pga, sta
from support.bad_input import algebra, names, presets
from support.bad_input.good import plain
from support.refusals import refused

torch = pytest.importorskip("torch")

CALLS = {
    name: calls
    for name, calls in (presets.CALLS | algebra.CALLS).items()
    if name.partition(".")[0] in ("pga", "cga", "sta", "cr", "ConformalObject", "VersorParts", "LinearMap", "Algebra")
    and name not in ("cr.fused", "LinearMap.eigenblades")  # a function of the user's; eigenvectors of symbols: seconds
}
FEW = 16  # entries that are replaced by a symbol each


def symbols(array):
    found = [sympy.Symbol(f"s{i}", real=True) for i in range(array.size)]
    return np.array(found, dtype=object).reshape(array.shape)


def numeric(value):
    if isinstance(value, cr.Multivector) or (isinstance(value, list | tuple) and not np.isscalar(next(iter(value), 0))):
        return None
    array = np.asarray(value)
    return array if array.dtype.kind in "fiuc" else None


def replaced(value):
    """Return {kind: other value} in place of a good multivector or array of numbers."""
    if isinstance(value, cr.Multivector):
        found = {
            "batch": cr.stack([cr.stack([value] * 3)] * 2),
            "another algebra": 1.5 * cr.Algebra(5).e12,
            "complex": value * 1j,
        }
        if value.dtype != object:
            found["tensor"] = value.algebra.multivector(torch.tensor(value.values.copy()), value.grades)
        if value.coefficients.size <= FEW:
            found["symbols"] = value.new(value.keys, symbols(value.coefficients))
        return found
    array = numeric(value)
    if array is None:
        return {}
    found = {
        "tensor": torch.tensor(array),
        "a batch as a list": [[array.tolist()] * 3] * 2,
        "longer": np.concatenate([np.atleast_1d(array)] * 2, axis=-1),
        "empty": np.atleast_1d(array)[..., :0],
        "complex": array * 1j,
    }
    if array.size <= FEW:
        found["symbols"] = symbols(array).tolist()
        found["SymPy's matrix"] = sympy.Matrix(symbols(array).reshape(array.shape if array.ndim == 2 else (-1, 1)))
    return found


def batch_of(value, k):
    if isinstance(value, cr.Multivector):
        return cr.stack([value] * k)
    array = numeric(value)
    return None if array is None else np.stack([array] * k)


def call(name, good, changed):
    """Call a public name with other arguments; ArgumentError and its like are the sentence."""
    run = names.resolve(name) if good.run is None else good.run
    arguments, options = good.filled()
    for place, value in changed.items():
        (options if isinstance(place, str) else arguments)[place] = value
    try:
        repr(run(*arguments, **options))
    except (cr.ArgumentError, cr.MissingDependencyError):
        pass
    except Exception as error:
        raise AssertionError(f"{name}: {changed}") from error


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.filterwarnings("ignore")
def test_other_arguments_give_a_value_or_an_argument_error(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    for good in CALLS[name]:
        attacked = [(place, plain(argument)) for place, argument in good.attacked()]
        for place, value in attacked:
            for other in replaced(value).values():
                call(name, good, {place: other})
        for (p, a), (q, b) in itertools.permutations(attacked, 2):
            two, three = batch_of(a, 2), batch_of(b, 3)
            if two is not None and three is not None:
                call(name, good, {p: two, q: three})


P, S = cr.Algebra.pga(3), cr.Algebra.sta()
x, y, t = sympy.symbols("x y t", real=True)


def test_symbolic_rotors_are_rotors():
    R = pga.rotor(P, P.e12, t)
    assert str(R) == "cos(t/2) - (sin(t/2))*e12"
    assert (R * ~R).simplify() == 1
    V = sta.boost(S, [x, 0, 0])
    assert (V * ~V).simplify() == 1
    assert pga.motor(P, P.e12, 2, x).subs({x: 0.3}).to_numeric().isclose(pga.motor(P, P.e12, 2.0, 0.3))
    turn = pga.rotor(P, x * P.e12 + y * P.e13, t).subs({x: 0.3, y: 0.4, t: 0.7}).to_numeric()
    assert turn.isclose(pga.rotor(P, 0.3 * P.e12 + 0.4 * P.e13, 0.7), rtol=1e-13)
    for axis, found in ((x * P.e01, "one with B² ≥ 0"), (x * P.e12 + y * P.e03, "a sum of two")):
        refused(found, pga.rotor, P, axis, t)


def test_a_matrix_of_sympy_is_not_a_scalar():
    for work in (lambda: sympy.Matrix([[1, 2]]) * P.e1, lambda: P.e1 * sympy.eye(2), lambda: P.e1 + sympy.eye(2)):
        refused(r"Got a matrix of SymPy instead. np.array\(M\)", work)
