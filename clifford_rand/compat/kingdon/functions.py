"""Sandwich, projection, square root, and exponential of kingdon's multivectors, by kingdon's definitions."""

from typing import Any

import numpy as np

from clifford_rand.symbolic.coefficients import cos, sinc


def _parity(A: Any, name: str) -> int:
    parities = {grade % 2 for grade in A.grades}
    if len(parities) > 1:
        raise TypeError(f"{name} needs an even or an odd multivector. Got one of grades {A.grades} instead.")
    return parities.pop() if parities else 0


def sandwich(A: Any, B: Any) -> Any:
    """Return (-1)^{kl} A B ~A for each grade l of B, A even (k = 0) or odd (k = 1) with A ~A = 1."""
    x, y = A.inner, B.inner.involute() if _parity(A, "sw") else B.inner
    parts = [(x * y.grade(grade) * ~x).grade(grade) for grade in B.grades]
    return sum(parts[1:], parts[0]) if parts else y


def projection(A: Any, B: Any) -> Any:
    """Return (A | B) ~B."""
    _parity(B, "proj")
    return A.inner.fat_dot(B.inner) * ~B.inner


def sqrt(A: Any) -> Any:
    """Return the principal square root: of s + B with B² a number (s + n + B)/√(2 (s + n)), n² = s² - B²."""
    s, B = A.e, A.filter(lambda key, _: key != 0)
    square = (B * B).filter()
    if any(square.grades) or not (A.issymbolic or np.all(s > 0)):
        return A.wrap(A.inner.sqrt())
    n = (s * s - square.e) ** 0.5
    top = 2 * (s + (n if square else s))
    return (B + top / 2) / top**0.5 if B else A.wrap(A.algebra.own.scalar(s**0.5))


def exp(A: Any) -> Any:
    """Return the exponential: of numbers as in this library, of symbols cos l + sinc l A with l² = -A²."""
    if not A.issymbolic:
        return A.wrap(A.inner.exp())
    square = (A * A).filter()
    if any(square.grades):
        raise NotImplementedError("the exponential of symbols is that of an element whose square is a number")
    angle = (-square.e) ** 0.5
    return A * sinc(angle) + cos(angle)
