"""Sine, cosine, tangent and their hyperbolic kin of any multivector, by C(x) = cosh √x and S(x) = sinh √x / √x.

A = σ + B with a scalar σ, which commutes: cosh B = C(B²), sinh B = S(B²) B, cos B = C(-B²), sin B = S(-B²) B, and σ
enters by the addition theorems. Where B² = s + q with a number q² (vectors, bivectors of at most five dimensions, what
squares to a number) these are the closed forms of `study`, over a batch at once; in three dimensions I is central and
enters as σ does. Else Taylor's polynomials, the argument halved until they serve. cos and sin of real A stay in real
numbers: no unit i is asked for, and I is none.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, copy_by_component, from_components
from clifford_rand.errors import ArgumentError
from clifford_rand.functions.closed_exponential import CHUNK, plane_exponential
from clifford_rand.functions.scaling import as_inexact, is_exact, is_exact_zero, sum_of_sizes, without_scalar
from clifford_rand.functions.spectral import by_two_eigenvalues
from clifford_rand.functions.unit_form import closed_keys, unit_form

DEGREE = 10  # X^10/20! = 4e-19 for |X| ≤ 1, where the argument is |X|^{1/2}
LARGE = 300.0  # components from which cosh may leave the range of float64, or its square that of an inverse
LARGEST_POWER = 20  # halvings of the square root: beyond the norm 10^6 no six digits would be left

Pair = tuple[MV, MV]


def sinh(A: MV) -> MV:
    """Return Σ A^{2k+1}/(2k+1)! = (exp A - exp(-A))/2, of any multivector in any metric.

    Raises
    ------
    ArgumentError
        If the result is beyond the range of its dtype; for fractions and symbols unless A without its scalar part has
        exactly a scalar square.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> A = alg("0.5 + e1 + 2*e23")
    >>> (A.cosh() * A.cosh() - A.sinh() * A.sinh()).isclose(1, rtol=1e-12)
    True
    """
    return cosh_sinh(A, "sinh")[1]


def cosh(A: MV) -> MV:
    """Return Σ A^{2k}/(2k)! = (exp A + exp(-A))/2, of any multivector in any metric: see `sinh`.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> (0.5 * alg.e12).cosh().isclose(math.cos(0.5)), (0.5 * alg.e1).cosh().isclose(math.cosh(0.5))
    (True, True)
    """
    return cosh_sinh(A, "cosh")[0]


def tanh(A: MV) -> MV:
    """Return sinh(A) cosh(A)⁻¹, of any multivector in any metric whose cosh has an inverse.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> (0.5 * alg.e12).tanh().isclose(math.tan(0.5) * alg.e12)
    True
    """
    far = _far(A, np.tanh, lambda z: 1 - np.tanh(z) ** 2, 1j)
    return _quotient(A, *cosh_sinh(A, "tanh"), "tanh") if far is None else far


def sin(A: MV) -> MV:
    """Return Σ (-1)^k A^{2k+1}/(2k+1)!, of any multivector in any metric: see `sinh`.

    Of a vector with square s² it is sin(s)/s times the vector, of a bivector with square -s² sinh(s)/s times it.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> A = alg("0.5 + e1 + 2*e23")
    >>> (A.sin() * A.sin() + A.cos() * A.cos()).isclose(1, rtol=1e-12)
    True
    """
    return cosh_sinh(A, "sin", -1)[1]


def cos(A: MV) -> MV:
    """Return Σ (-1)^k A^{2k}/(2k)!, of any multivector in any metric: see `sin`.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> (0.5 * alg.e1).cos().isclose(math.cos(0.5)), (0.5 * alg.e12).cos().isclose(math.cosh(0.5))
    (True, True)
    """
    return cosh_sinh(A, "cos", -1)[0]


def tan(A: MV) -> MV:
    """Return sin(A) cos(A)⁻¹, of any multivector in any metric whose cosine has an inverse.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> (0.5 * alg.e1).tan().isclose(math.tan(0.5) * alg.e1)
    True
    """
    far = _far(A, np.tan, lambda z: 1 + np.tan(z) ** 2, 1.0)
    return _quotient(A, *cosh_sinh(A, "tan", -1), "tan") if far is None else far


def _far(A: MV, f: Any, derivative: Any, unit: complex) -> MV | None:
    """Return the tangent of a large A = σ + B, B² a number, whose cosine may be out of range; None for others.

    Poles are at (1/2 + k) π times ``unit``.
    """
    if A.dtype.kind not in "if" or not A.coefficients.size or not np.abs(A.coefficients).max() > LARGE:
        return None

    def distance(z: NDArray[Any]) -> NDArray[Any]:
        turned = z / unit
        return np.asarray(np.abs(turned - (np.floor(turned.real / np.pi) + 0.5) * np.pi))

    with np.errstate(all="ignore"):
        keys_and_values = by_two_eigenvalues(as_inexact(A), f, derivative, distance)
    if keys_and_values is None or not np.isfinite(keys_and_values[1]).all():
        return None
    return A.new(keys_and_values[0], copy_by_component(keys_and_values[1].real.astype(as_inexact(A).dtype)))


def _quotient(A: MV, C: MV, S: MV, owner: str) -> MV:
    try:
        inverse = C.inv()
    except (ArgumentError, ZeroDivisionError) as error:
        cosine = "cos" if owner == "tan" else "cosh"
        received = describe(f"one whose {cosine} has no inverse")
        raise fail("A", owner, f"a multivector whose {cosine} has an inverse", received) from error
    return S * inverse


def cosh_sinh(A: MV, owner: str, sign: int = 1) -> Pair:
    """Return cosh A and sinh A, or cos A and sin A for the sign -1."""
    if is_exact(A):
        return _exact(A, sign, owner)
    A = as_inexact(A)
    if not np.isfinite(A.coefficients).all():
        raise fail("A", owner, "finite", describe("NaN or infinite coefficients"))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        sigma, B = without_scalar(A)
        pair = _closed(B, sign) or _by_center(B, sign) or _general(B, sign, owner)
        if np.any(sigma):
            # cosh(σ + B) = cosh σ cosh B + sinh σ sinh B, cos(σ + B) = cos σ cos B - sin σ sin B
            cosine, sine = (np.cosh(sigma), np.sinh(sigma)) if sign > 0 else (np.cos(sigma), np.sin(sigma))
            pair = pair[0] * cosine + pair[1] * (sign * sine), pair[0] * sine + pair[1] * cosine
    if not all(np.isfinite(part.coefficients).all() for part in pair):
        rule = f"small enough for the result to be a {A.dtype}"
        raise fail("A", owner, rule, describe("a multivector whose function is out of range"))
    return pair


def _closed(B: MV, sign: int) -> "Pair | None":
    """Return both functions of B by rows, None where the keys do not say that B² = s + q, or B is large."""
    if not B.keys.size:
        return B.algebra.scalar(np.ones(B.shape, dtype=B.dtype)), B
    dtype = B.dtype
    code = plane_exponential(B.algebra.form, B.keys)
    if code is None:
        return None
    work = np.result_type(dtype, np.float64)
    if B.coefficients.ndim == 1 and dtype.kind == "f":
        pair = code.of_one(B.on_keys(code.work).coefficients.tolist(), sign)
        if pair is not None:
            even, odd = (np.array(part, dtype=dtype) for part in pair)
            return B.new(code.even_keys, even), B.new(code.work, odd)
    parts = as_components(B.on_keys(code.work).coefficients)
    even = np.empty((code.even_keys.size, parts.shape[1]), dtype=dtype)
    odd = np.empty((code.work.size, parts.shape[1]), dtype=dtype)
    for start in range(0, parts.shape[1], CHUNK):
        at = slice(start, start + CHUNK)
        images = code.of_rows(parts[:, at].astype(work, copy=False), sign)
        if images is None:
            return None
        even[:, at], odd[:, at] = images
    C, S = from_components(even, B.shape), from_components(odd, B.shape)
    return B.new(code.even_keys, C), B.new(code.work, S)


def _by_center(B: MV, sign: int) -> "Pair | None":
    """Return both functions of V + βI in three dimensions, where I commutes with all: by the addition theorems."""
    if B.keys.d != 3 or 3 not in B.keys.grades or B.keys.size == 1:
        return None
    first, second = _closed(B.grade(1, 2), sign), _closed(B.grade(3), sign)
    if first is None or second is None:
        return None
    # c, s of V and C, S of βI: the addition theorems, as the two commute
    (c, s), (C, S) = first, second
    return c * C + (s * S) * sign, s * C + c * S


def _general(B: MV, sign: int, owner: str) -> Pair:
    """Return both functions of B by Taylor's polynomials of X = ±B², X/4^n small, and n doublings of the argument.

    E = C - 1, which keeps the digits of small arguments: E(4X) = 2 E(X) (2 + E(X)), S(4X) = S(X) (1 + E(X)).
    """
    form = unit_form(B, owner)
    U = form.take(B)
    keys = closed_keys(U)
    # cosh √X and sinh √X / √X are power series in X = ±B²
    X = (U * U * float(sign)).on_keys(keys)
    square = (X * X).on_keys(keys)
    # max(‖X²‖^½, ‖X³‖^⅓) bounds the terms from X² on (Al-Mohy and Higham 2009, Theorem 4.2)
    cube = (square * X).on_keys(keys)
    bound = np.maximum(sum_of_sizes(square) ** (1 / 2), sum_of_sizes(cube) ** (1 / 3)).astype(np.float64)
    if not np.isfinite(bound).all():
        raise fail("A", owner, f"of norm at most 2^{LARGEST_POWER}", describe("a larger multivector"))
    steps = np.maximum(0, np.ceil(np.log2(np.maximum(bound, 1e-300)) / 2).astype(np.int64))
    if steps.max(initial=0) > LARGEST_POWER:
        rule = f"of norm at most 2^{LARGEST_POWER} unless its square is a scalar"
        raise fail("A", owner, rule, describe(f"norm {2.0 ** int(steps.max()):.3g}"), "Few digits would be right.")
    # X/4^n: the argument √X is halved n times
    small = X * np.exp2(-2.0 * steps).astype(X.coefficients.real.dtype)
    E = _polynomial(small, [0.0] + [1 / math.factorial(2 * k) for k in range(1, DEGREE)], keys)
    S = _polynomial(small, [1 / math.factorial(2 * k + 1) for k in range(DEGREE)], keys)
    e, s = copy_by_component(E.on_keys(keys).coefficients), copy_by_component(S.on_keys(keys).coefficients)
    # invariant: E and S are those of X/4^(n - step) where the element needs n steps
    for step in range(int(steps.max(initial=0))):
        left = steps > step
        at: Any = left if e.ndim > 1 else ...
        less, sine = U.new(keys, e[at].copy()), U.new(keys, s[at].copy())
        s[at] = (sine + sine * less).on_keys(keys).coefficients
        e[at] = (2 * less * (2 + less)).on_keys(keys).coefficients
    C = 1 + U.new(keys, e)
    # S(X) B is the odd function
    return form.give(C, B), form.give(U.new(keys, s) * U, B)


def _polynomial(X: MV, c: list[float], keys: Any) -> MV:
    """Return Σ c_k X^k by X², X³ and Horner's rule in X³ (Paterson and Stockmeyer 1973)."""
    square = (X * X).on_keys(keys)
    cube = (square * X).on_keys(keys)
    result: Any = None
    for k in range(3 * ((len(c) - 1) // 3), -1, -3):
        block = c[k : k + 3]
        part = sum((power * x for power, x in zip((X, square), block[1:], strict=False)), X * 0.0) + block[0]
        result = part if result is None else (result * cube).on_keys(keys) + part
    return result


# ---- fractions and symbols


def _exact(A: MV, sign: int, owner: str) -> Pair:
    """Return both functions where the part of A without scalar has exactly a scalar square."""
    from clifford_rand.symbolic.closed_forms import exponential_of_square, sine_and_cosine

    sigma, B, s = scalar_square(A, owner)
    both = np.frompyfunc(exponential_of_square, 1, 2)
    C, S = (np.asarray(part, dtype=object) for part in both(np.asarray(sign * s, dtype=object)))
    pair = B.algebra.scalar(C), B.new(B.keys, np.asarray(B.coefficients * S[..., None], dtype=object))
    if all(is_exact_zero(value) for value in np.ravel(sigma)):
        return pair
    sine, cosine = (np.asarray(part, dtype=object) for part in np.frompyfunc(sine_and_cosine(sign), 1, 2)(sigma))
    return pair[0] * cosine + pair[1] * (sign * sine), pair[0] * sine + pair[1] * cosine


def scalar_square(A: MV, owner: str) -> tuple[NDArray[Any], MV, NDArray[Any]]:
    """Return the scalar part, the rest B and its square, which must exactly be a scalar, of fractions and symbols."""
    A = A.new(A.keys, A.coefficients.astype(object))
    sigma, B = without_scalar(A)
    s, rest = without_scalar(B.anticommutator(B))
    if not all(is_exact_zero(value) for value in rest.coefficients.ravel().tolist()):
        rule = "a scalar and a part with scalar square, where the coefficients are fractions or symbols"
        received = describe(f"a multivector of grades {', '.join(map(str, A.grades))} whose square has other parts")
        raise fail("A", owner, rule, received, "Substitute numbers first, or convert with astype(float).")
    return np.asarray(sigma, dtype=object), B, np.asarray(s, dtype=object)
