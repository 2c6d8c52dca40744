"""The exterior operations as functions, for every object that has them as methods."""

from typing import Any

from clifford_rand._checks import describe, fail


def _method(value: Any, name: str) -> Any:
    method = getattr(value, name, None)
    if method is None:
        raise fail("a", name, "a multivector or a Blade", describe(f"{type(value).__name__} {value!r}"))
    return method


def wedge(a: Any, *more: Any) -> Any:
    """Return the outer product a ∧ b ∧ … of one or more factors.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.wedge(alg.e1, alg.e2, alg.e3)
    e123
    """
    method = _method(a, "wedge")
    return method(*more) if more else a


def inner(a: Any, b: Any) -> Any:
    """Return ⟨a ~b⟩_0, for blades det(a_iᵀ G b_j).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.inner(alg.e12, 2 * alg.e12)
    2
    """
    return _method(a, "inner")(b)


def star(a: Any) -> Any:
    """Return the Hodge star I ~a: (star a) ∧ b = inner(a, b) I for b of a's grade, in any metric.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.star(cr.wedge(alg.e1, alg.e2))  # the cross product
    e3
    """
    return _method(a, "star")()
