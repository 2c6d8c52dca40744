"""The inverses of sine, cosine, tangent and their hyperbolic kin: principal values, where they are defined.

Where A = σ + B and B² = s is a number, they are (f(a) + f(b))/2 + (f(a) - f(b))/(a - b) B of the eigenvalues
a, b = σ ± √s, over a batch at once. Any other A goes through the eigenvalues of its matrix, and then Newton's method on
sin Y = A and so on: Y and A commute, so it is that of numbers. There sin Y is compared with A before Y is returned.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import copy_by_component
from clifford_rand.functions.circular import cosh_sinh, scalar_square
from clifford_rand.functions.scaling import as_inexact, is_exact, without_first
from clifford_rand.functions.spectral import (
    ACCEPTED,
    ROUNDING,
    InverseFunction,
    by_two_eigenvalues,
    improved,
    of_eigenvalues,
)
from clifford_rand.functions.unit_form import closed_keys, unit_form

Array = NDArray[np.complex128]


def _over(root: Any, slope: Any) -> Any:
    """Return 1/root with the sign of 1/slope, which is the same but for rounding, and on a cut but for its side."""
    return np.where((root * np.conj(slope)).real < 0, -1, 1) / root


_OFF_CUT = "with a basis of eigenvectors where eigenvalues are imaginary and beyond -i or i"
_CIRCULAR, _HYPERBOLIC = partial(cosh_sinh, sign=-1), partial(cosh_sinh, sign=1)
# sin Y = A, Y ↦ Y + (A - sin Y)/cos Y, and tan Y = A, Y ↦ Y + (A - tan Y) cos² Y, with C and S of Y for cos and sin
_SINE = (lambda C, S: S, lambda A, C, S: (A - S) * C.inv())
_COSINE = (lambda C, S: C, lambda A, C, S: (A - C) * S.inv())
_TANGENT = (lambda C, S: S * C.inv(), lambda A, C, S: (A * C - S) * C)
_INVERSES = {
    "arcsin": InverseFunction(
        np.arcsin,
        lambda z: _over(np.sqrt((1 - z) * (1 + z)), np.cos(np.arcsin(z + 0))),
        (1, -1),
        _CIRCULAR,
        *_SINE,
        "without a real eigenvalue beyond -1 or 1",
    ),
    "arctan": InverseFunction(
        np.arctan,
        lambda z: 1 / ((1 + 1j * z) * (1 - 1j * z)),
        (1j, -1j),
        _CIRCULAR,
        *_TANGENT,
        f"without the eigenvalues i and -i, and {_OFF_CUT}",
    ),
    "arcsinh": InverseFunction(
        np.arcsinh,
        lambda z: _over(np.sqrt((1 + 1j * z) * (1 - 1j * z)), np.cosh(np.arcsinh(z + 0))),
        (1j, -1j),
        _HYPERBOLIC,
        *_SINE,
        _OFF_CUT,
    ),
    "arccosh": InverseFunction(
        np.arccosh,
        lambda z: _over(np.sqrt(z - 1) * np.sqrt(z + 1), np.sinh(np.arccosh(z + 0))),
        (1, -1),
        _HYPERBOLIC,
        *_COSINE,
        "without a real eigenvalue below 1",
    ),
    "arctanh": InverseFunction(
        np.arctanh,
        lambda z: 1 / ((1 - z) * (1 + z)),
        (1, -1),
        _HYPERBOLIC,
        *_TANGENT,
        "without a real eigenvalue at or beyond -1 or 1",
    ),
}


def arcsin(A: MV) -> MV:
    """Return the principal Y with sin(Y) = A, in any metric.

    Raises
    ------
    ArgumentError
        For real A with a real eigenvalue beyond -1 or 1, as ``arcsin(2 * e1)`` in Euclidean space; complex coefficients
        have a value there, in degenerate metrics not always one that is found. Also for fractions and symbols, unless A
        without its scalar part has a scalar square.

    Notes
    -----
    Eigenvalues are those of X ↦ A X: s and -s of a vector with square s², i s and -i s of a bivector with square -s².

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> A = alg("0.1 + 0.5*e1 + 0.2*e23")
    >>> A.arcsin().sin().isclose(A), alg.e1.arcsin().isclose(3.141592653589793 / 2 * alg.e1)
    (True, True)
    """
    return _inverse(A, "arcsin")


def arccos(A: MV) -> MV:
    """Return the principal Y with cos(Y) = A, π/2 - arcsin(A): see `arcsin`.

    Examples
    --------
    >>> A = cr.Algebra(3)("0.1 + 0.5*e1 + 0.2*e23")
    >>> A.arccos().cos().isclose(A)
    True
    """
    if is_exact(A):
        from clifford_rand.symbolic.closed_forms import right_angle

        return right_angle() - _inverse(A, "arcsin", "arccos")
    return -_inverse(A, "arcsin", "arccos") + np.pi / 2


def arctan(A: MV) -> MV:
    """Return the principal Y with tan(Y) = A, in any metric.

    Raises
    ------
    ArgumentError
        If A has the eigenvalue i or -i, as ``arctan(e12)`` in Euclidean space: see `arcsin`. Beyond them, on the cut,
        the value is that of NumPy, arctan(2i) = π/2 + i log(3)/2; in degenerate metrics there may be none.

    Examples
    --------
    >>> A = cr.Algebra(3)("2 + 5*e1 + 0.2*e23")
    >>> A.arctan().tan().isclose(A)
    True
    """
    return _inverse(A, "arctan")


def arcsinh(A: MV) -> MV:
    """Return the principal Y with sinh(Y) = A, in any metric: see `arcsin`.

    Examples
    --------
    >>> A = cr.Algebra(3)("2 + 5*e1 + 0.2*e23")
    >>> A.arcsinh().sinh().isclose(A)
    True
    """
    return _inverse(A, "arcsinh")


def arccosh(A: MV) -> MV:
    """Return the principal Y with cosh(Y) = A, in any metric.

    Raises
    ------
    ArgumentError
        For real A with a real eigenvalue below 1; complex coefficients have a value there: see `arcsin`.

    Examples
    --------
    >>> A = cr.Algebra(3)("3 + 0.5*e1 + 0.2*e23")
    >>> A.arccosh().cosh().isclose(A)
    True
    """
    return _inverse(A, "arccosh")


def arctanh(A: MV) -> MV:
    """Return the principal Y with tanh(Y) = A, in any metric.

    Raises
    ------
    ArgumentError
        For an eigenvalue -1 or 1; for real A with a real eigenvalue beyond them: see `arcsin`.

    Examples
    --------
    >>> A = cr.Algebra(3)("0.1 + 0.5*e1 + 2*e23")
    >>> A.arctanh().tanh().isclose(A)
    True
    """
    return _inverse(A, "arctanh")


def _inverse(A: MV, name: str, owner: str = "") -> MV:
    owner = owner or name
    if is_exact(A):
        return _exact(A, name, owner)
    A = as_inexact(A)
    if not np.isfinite(A.coefficients).all():
        raise fail("A", owner, "finite", describe("NaN or infinite coefficients"))
    inverse = _INVERSES[name]
    kept, wide = A.dtype, np.dtype(np.complex128 if A.dtype.kind == "c" else np.float64)
    A = A.astype(wide)
    with np.errstate(all="ignore"):
        result = _closed(A, inverse, owner)
        if result is None:
            result = _general(A, inverse, owner)
    return result.astype(kept)


def _undefined(inverse: InverseFunction, owner: str, A: MV) -> Exception:
    hint = "" if A.dtype.kind == "c" else f"A.astype(complex).{owner}() is defined unless it is infinite."
    received = describe("a multivector that has no such value to rounding")
    return fail("A", owner, f"a multivector {inverse.domain}", received, hint)


def _checked(parts: Array, A: MV, inverse: InverseFunction, owner: str) -> NDArray[Any]:
    """Return the result's coefficients, real for real A, or raise."""
    if not np.isfinite(parts).all():
        raise _undefined(inverse, owner, A)
    if A.dtype.kind == "c":
        return parts
    size = np.abs(parts).max(axis=-1, initial=0.0)
    if (np.abs(parts.imag).max(axis=-1, initial=0.0) > 1e-2 * size).any():
        raise _undefined(inverse, owner, A)
    return parts.real.copy()


# ---- B² a number


def _closed(A: MV, inverse: InverseFunction, owner: str) -> MV | None:
    """Return f(σ + B) by the two eigenvalues σ ± √s, None where the keys do not say that B² = s."""
    values_on_keys = by_two_eigenvalues(A, inverse.at, inverse.derivative, inverse.distance)
    if values_on_keys is None:
        return None
    scalars = values_on_keys[1][..., 0]
    # f changes by the root of a rounding at a branch point
    rounding = np.sqrt(2 * ROUNDING * np.maximum(1, np.abs(A.coefficients).max(axis=-1, initial=0)))
    if A.dtype.kind == "f" and (np.abs(scalars.imag) > rounding * np.maximum(1, np.abs(scalars))).any():
        raise _undefined(inverse, owner, A)
    keys, values = values_on_keys[0], _checked(values_on_keys[1], A, inverse, owner)
    # an odd function of an A without a scalar part has none
    if A.keys.find(0) < 0 and not values[..., 0].any():
        return A.new(without_first(keys), copy_by_component(values[..., 1:]))
    return A.new(keys, copy_by_component(values))


# ---- any multivector


def _general(A: MV, inverse: InverseFunction, owner: str) -> MV:
    """Return f(A) from the eigenvalues, improved by Newton's method where that is not right to rounding."""
    form = unit_form(A, owner)
    U = form.take(A)
    keys = closed_keys(U)
    # eigenvectors give half of the digits or more, Newton the others
    best, error = improved(U, keys, _checked(of_eigenvalues(U, keys, inverse.at), A, inverse, owner), inverse, owner)
    if not (error <= ACCEPTED).all():
        raise _undefined(inverse, owner, A)
    return form.give(U.new(keys, best.reshape(*U.shape, keys.size)), A)


# ---- fractions and symbols


def _exact(A: MV, name: str, owner: str) -> MV:
    """Return f(σ + B) for fractions and symbols, B² = s exactly a number."""
    from clifford_rand.symbolic.closed_forms import inverse_circular

    sigma, B, s = scalar_square(A, owner)
    both = np.frompyfunc(inverse_circular(name), 2, 2)
    even, odd = (np.asarray(part, dtype=object) for part in both(sigma, s))
    result = B.new(B.keys, np.asarray(B.coefficients * odd[..., None], dtype=object))
    return result if not np.any(even != 0) else result + even
