"""The inverses of sine, cosine, tangent and their hyperbolic kin: principal values, where they are defined.

Where A = σ + B and B² = s is a number, they are (f(a) + f(b))/2 + (f(a) - f(b))/(a - b) B of the eigenvalues
a, b = σ ± √s, over a batch at once. Any other A goes through the eigenvalues of its matrix, and then Newton's method on
sin Y = A and so on: Y and A commute, so it is that of numbers. There sin Y is compared with A before Y is returned.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis import layout
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.errors import ArgumentError
from clifford_rand.functions.circular import cosh_sinh, scalar_square
from clifford_rand.functions.exponential import without_first
from clifford_rand.functions.norms import as_inexact, is_exact
from clifford_rand.functions.spectral import of_eigenvalues
from clifford_rand.functions.two_eigenvalues import by_two_eigenvalues
from clifford_rand.functions.unit_form import unit_form

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector

Array = NDArray[np.complex128]
Step = Callable[["Multivector", "Multivector", "Multivector"], "Multivector"]

ROUNDING = 64 * float(np.finfo(np.float64).eps)  # relative, within which an eigenvalue is at a branch point
STEPS = 8  # of Newton's method: quadratic, from half of the digits
ACCEPTED = 1e-10  # |sin Y - A| by |A|


class _Inverse(NamedTuple):
    """One function: of numbers, its derivative, its branch points; cosh_sinh's sign, sin Y, and Newton's step."""

    f: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    branch_points: tuple[complex, ...]
    sign: int
    image: Callable[["Multivector", "Multivector"], "Multivector"]
    step: Step
    domain: str


def _over_cosine(A: "Multivector", C: "Multivector", S: "Multivector") -> "Multivector":
    return (A - S) * C.inv()


def _over_sine(A: "Multivector", C: "Multivector", S: "Multivector") -> "Multivector":
    return (A - C) * S.inv()


def _of_tangent(A: "Multivector", C: "Multivector", S: "Multivector") -> "Multivector":
    return (A * C - S) * C  # (A - S/C) C²


def _sine(C: "Multivector", S: "Multivector") -> "Multivector":
    return S


def _cosine(C: "Multivector", S: "Multivector") -> "Multivector":
    return C


def _tangent(C: "Multivector", S: "Multivector") -> "Multivector":
    return S * C.inv()


def _over(root: Any, slope: Any) -> Any:
    """Return 1/root with the sign of 1/slope, which is the same but for rounding, and on a cut but for its side."""
    return np.where((root * np.conj(slope)).real < 0, -1, 1) / root


_OFF_CUT = "with a basis of eigenvectors where eigenvalues are imaginary and beyond -i or i"
_INVERSES = {
    "arcsin": _Inverse(
        np.arcsin,
        lambda z: _over(np.sqrt((1 - z) * (1 + z)), np.cos(np.arcsin(z + 0))),
        (1, -1),
        -1,
        _sine,
        _over_cosine,
        "without a real eigenvalue beyond -1 or 1",
    ),
    "arctan": _Inverse(
        np.arctan,
        lambda z: 1 / ((1 + 1j * z) * (1 - 1j * z)),
        (1j, -1j),
        -1,
        _tangent,
        _of_tangent,
        f"without the eigenvalues i and -i, and {_OFF_CUT}",
    ),
    "arcsinh": _Inverse(
        np.arcsinh,
        lambda z: _over(np.sqrt((1 + 1j * z) * (1 - 1j * z)), np.cosh(np.arcsinh(z + 0))),
        (1j, -1j),
        1,
        _sine,
        _over_cosine,
        _OFF_CUT,
    ),
    "arccosh": _Inverse(
        np.arccosh,
        lambda z: _over(np.sqrt(z - 1) * np.sqrt(z + 1), np.sinh(np.arccosh(z + 0))),
        (1, -1),
        1,
        _cosine,
        _over_sine,
        "without a real eigenvalue below 1",
    ),
    "arctanh": _Inverse(
        np.arctanh,
        lambda z: 1 / ((1 - z) * (1 + z)),
        (1, -1),
        1,
        _tangent,
        _of_tangent,
        "without a real eigenvalue at or beyond -1 or 1",
    ),
}


def arcsin(A: "Multivector") -> "Multivector":
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
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> A = alg("0.1 + 0.5*e1 + 0.2*e23")
    >>> A.arcsin().sin().isclose(A), alg.e1.arcsin().isclose(3.141592653589793 / 2 * alg.e1)
    (True, True)
    """
    return _inverse(A, "arcsin")


def arccos(A: "Multivector") -> "Multivector":
    """Return the principal Y with cos(Y) = A, π/2 - arcsin(A): see `arcsin`.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> A = cr.Algebra(3)("0.1 + 0.5*e1 + 0.2*e23")
    >>> A.arccos().cos().isclose(A)
    True
    """
    if is_exact(A):
        from clifford_rand.symbolic import right_angle

        return right_angle() - _inverse(A, "arcsin", "arccos")
    return np.pi / 2 - _inverse(A, "arcsin", "arccos")


def arctan(A: "Multivector") -> "Multivector":
    """Return the principal Y with tan(Y) = A, in any metric.

    Raises
    ------
    ArgumentError
        If A has the eigenvalue i or -i, as ``arctan(e12)`` in Euclidean space: see `arcsin`. Beyond them, on the cut,
        the value is that of NumPy, arctan(2i) = π/2 + i log(3)/2; in degenerate metrics there may be none.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> A = cr.Algebra(3)("2 + 5*e1 + 0.2*e23")
    >>> A.arctan().tan().isclose(A)
    True
    """
    return _inverse(A, "arctan")


def arcsinh(A: "Multivector") -> "Multivector":
    """Return the principal Y with sinh(Y) = A, in any metric: see `arcsin`.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> A = cr.Algebra(3)("2 + 5*e1 + 0.2*e23")
    >>> A.arcsinh().sinh().isclose(A)
    True
    """
    return _inverse(A, "arcsinh")


def arccosh(A: "Multivector") -> "Multivector":
    """Return the principal Y with cosh(Y) = A, in any metric.

    Raises
    ------
    ArgumentError
        For real A with a real eigenvalue below 1; complex coefficients have a value there: see `arcsin`.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> A = cr.Algebra(3)("3 + 0.5*e1 + 0.2*e23")
    >>> A.arccosh().cosh().isclose(A)
    True
    """
    return _inverse(A, "arccosh")


def arctanh(A: "Multivector") -> "Multivector":
    """Return the principal Y with tanh(Y) = A, in any metric.

    Raises
    ------
    ArgumentError
        For an eigenvalue -1 or 1; for real A with a real eigenvalue beyond them: see `arcsin`.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> A = cr.Algebra(3)("0.1 + 0.5*e1 + 2*e23")
    >>> A.arctanh().tanh().isclose(A)
    True
    """
    return _inverse(A, "arctanh")


def _inverse(A: "Multivector", name: str, owner: str = "") -> "Multivector":
    owner = owner or name
    if is_exact(A):
        return _exact(A, name, owner)
    A = as_inexact(A)
    if not np.isfinite(A.coefficients).all():
        raise fail("A", owner, "finite", describe("NaN or infinite coefficients"))
    one = _INVERSES[name]
    kept, wide = A.dtype, np.dtype(np.complex128 if A.dtype.kind == "c" else np.float64)
    A = A.astype(wide)
    with np.errstate(all="ignore"):
        result = _closed(A, one, owner)
        if result is None:
            result = _general(A, one, owner)
    return result.astype(kept)


def _undefined(one: _Inverse, owner: str, A: "Multivector") -> Exception:
    hint = "" if A.dtype.kind == "c" else f"A.astype(complex).{owner}() is defined unless it is infinite."
    found = describe("a multivector that has no such value to rounding")
    return fail("A", owner, f"a multivector {one.domain}", found, hint)


def _of_numbers(one: _Inverse) -> Callable[[Array], Array]:
    """Return the function of eigenvalues; what is at a branch point to rounding is there."""

    def f(z: Array) -> Array:
        z = z + 0  # -0 is another side of a cut
        for point in one.branch_points:
            z = np.where(np.abs(z - point) <= ROUNDING, point, z)
        return np.asarray(one.f(z), dtype=np.complex128)

    return f


def _checked(parts: Array, A: "Multivector", one: _Inverse, owner: str) -> NDArray[Any]:
    """Return the result's coefficients, real for real A, or raise."""
    if not np.isfinite(parts).all():
        raise _undefined(one, owner, A)
    if A.dtype.kind == "c":
        return parts
    size = np.abs(parts).max(axis=-1, initial=0.0)
    if (np.abs(parts.imag).max(axis=-1, initial=0.0) > 1e-2 * size).any():
        raise _undefined(one, owner, A)
    return parts.real.copy()


# ---- B² a number


def _closed(A: "Multivector", one: _Inverse, owner: str) -> "Multivector | None":
    """Return f(σ + B) by the two eigenvalues σ ± √s, None where the keys do not say that B² = s."""

    def distance(z: Array) -> NDArray[Any]:
        return np.min([np.abs(z - point) for point in one.branch_points], axis=0)

    found = by_two_eigenvalues(A, _of_numbers(one), one.derivative, distance)
    if found is None:
        return None
    scalars = found[1][..., 0]
    rounding = np.sqrt(
        2 * ROUNDING * np.maximum(1, np.abs(A.coefficients).max(axis=-1, initial=0))
    )  # at a branch point
    if A.dtype.kind == "f" and (np.abs(scalars.imag) > rounding * np.maximum(1, np.abs(scalars))).any():
        raise _undefined(one, owner, A)
    keys, values = found[0], _checked(found[1], A, one, owner)
    if A.keys.find(0) < 0 and not values[..., 0].any():  # odd functions, off their cuts
        return A._make(without_first(keys), layout.own(values[..., 1:]))
    return A._make(keys, layout.own(values))


# ---- any multivector


def _general(A: "Multivector", one: _Inverse, owner: str) -> "Multivector":
    """Return f(A) from the eigenvalues, improved by Newton's method where that is not right to rounding."""
    form = unit_form(A, owner)
    U = form.take(A)
    d = U.algebra.d
    keys = keys_of_grades(d, tuple(range(0, d + 1, 2 if all(k % 2 == 0 for k in U.grades) else 1)))
    start = _checked(of_eigenvalues(U, keys, _of_numbers(one)), A, one, owner)
    target = U._on(keys).coefficients.reshape(-1, keys.size)
    best = start.reshape(-1, keys.size).copy()
    now, error = best.copy(), np.full(len(best), np.inf)
    scale = np.abs(target).max(axis=-1)
    if one.f is np.arccosh:
        scale = np.maximum(scale, 1.0)
    left = np.arange(len(best))
    for step in range(STEPS):
        Y, wanted = U._make(keys, now[left]), U._make(keys, target[left])
        try:
            C, S = cosh_sinh(Y, one.sign, owner)
            found = np.abs((wanted - one.image(C, S))._on(keys).coefficients).max(axis=-1)
            better = found < error[left]
            best[left[better]], error[left[better]] = now[left[better]], found[better]
            going = better & ~(found <= ROUNDING / 16 * scale[left])
            if not going.any() or step == STEPS - 1:
                break
            left = left[going]
            W, C, S = (part._on(keys) for part in (wanted, C, S))
            move = one.step(*(part._make(keys, part.coefficients[going].copy()) for part in (W, C, S)))
        except ArgumentError:
            break  # a singular derivative, or no value there: what was found stands, and is compared with A below
        now[left] = now[left] + move._on(keys).coefficients
    if not (error <= ACCEPTED * scale).all():
        raise _undefined(one, owner, A)
    return form.give(U._make(keys, best.reshape(*U.shape, keys.size)), A)


# ---- fractions and symbols


def _exact(A: "Multivector", name: str, owner: str) -> "Multivector":
    """Return f(σ + B) for fractions and symbols, B² = s exactly a number."""
    from clifford_rand.symbolic import inverse_circular

    sigma, B, s = scalar_square(A, owner)
    both = np.frompyfunc(inverse_circular(name), 2, 2)
    even, odd = (np.asarray(part, dtype=object) for part in both(sigma, s))
    result = B._make(B.keys, np.asarray(B.coefficients * odd[..., None], dtype=object))
    return result if not np.any(even != 0) else result + even
