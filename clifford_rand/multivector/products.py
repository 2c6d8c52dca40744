"""Bilinear products: each keeps some grades of the geometric product AB of blades A, grade r, and B, grade s."""

from typing import Any

import numpy as np

from clifford_rand._checks import check_broadcast, describe, fail
from clifford_rand._typing import MV
from clifford_rand.plans.cost_model import plan_of


def multiply(a: Any, rule: str, b: Any) -> Any:
    """Return one product, by the name of its rule, of two multivectors of one algebra."""
    if a.__class__ is not b.__class__:  # a tensor, or what is traced, takes the other operand as one of its own
        a, b = (b.coerce(a), b) if a.coefficients.__class__ is np.ndarray else (a, a.coerce(b))
        return getattr(a, rule)(b)
    metric = a.algebra.form
    plan = metric.plans.get((rule, a.keys, b.keys))
    if plan is None:
        plan = plan_of(metric, rule, a.keys, b.keys)
    try:
        return a.new(plan.keys, plan(a.coefficients, b.coefficients))
    except ValueError:
        check_broadcast("other", rule, a.shape, b.shape)
        raise


def product(rule: str, A: MV, other: Any) -> Any:
    """Return one product with a multivector, a scalar or an array of scalars; NotImplemented for anything else."""
    if other.__class__ is A.__class__ and other.algebra is A.algebra:
        return A.multiply(rule, other)
    same = A.coerce(other)
    return NotImplemented if same is None else A.multiply(rule, same)


def product_from_left(rule: str, A: MV, other: Any) -> Any:
    """Return the product of what is not a multivector with A."""
    same = A.coerce(other)
    return NotImplemented if same is None else same.multiply(rule, A)


def operators(rule: str) -> tuple[Any, Any]:
    """Return the two methods of the operator of a product."""

    def left(A: MV, other: Any) -> Any:
        return product(rule, A, other)

    def right(A: MV, other: Any) -> Any:
        return product_from_left(rule, A, other)

    return left, right


def sandwich_of(R: MV, X: Any) -> Any:
    """Return R >> X = R X R⁻¹: see `Multivector.sandwich`."""
    return NotImplemented if R.coerce(X) is None else R.sandwich(X)


def sandwich_by(X: MV, R: Any) -> Any:
    """Return R >> X for a scalar R."""
    same = X.coerce(R)
    return NotImplemented if same is None else same.sandwich(X)


def operand(A: MV, other: Any, owner: str) -> MV:
    """Return what a method was given as a multivector of A's algebra, or raise."""
    same = A.coerce(other)
    if same is None and hasattr(other, "coerce"):
        return other  # it is traced, and takes A as one of its own
    if same is None:
        what = describe(f"{type(other).__name__} {other!r}")
        raise fail("other", owner, "a multivector, a number, a symbol or a NumPy array of scalars", what)
    return same


def named(rule: str, A: MV, other: Any) -> MV:
    """Return one product of A, by the name of its rule, or raise for what is not a factor."""
    return A.multiply(rule, A.operand(other, rule))


def gp(A: MV, other: Any, /) -> MV:
    """Return the geometric product AB (``A * B``).

    Parameters
    ----------
    other : Multivector, scalar or array of scalars
        Batch axes broadcast.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> (alg.e1 + alg.e2) * alg.e2
    1 + e12
    """
    return named("gp", A, other)


def wedge(A: MV, other: Any, /, *more: Any) -> MV:
    """Return the outer product ⟨AB⟩_{r+s} (``A ^ B``), of as many factors as are given.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e3.wedge(alg.e1, alg.e2)
    e123
    """
    result = named("wedge", A, other)
    for factor in more:
        result = result.wedge(factor)
    return result


def vee(A: MV, other: Any, /) -> MV:
    """Return the regressive product A∨B = LC(RC A ^ RC B) (``A & B``); no metric is used, I is its identity.

    LC(X) ^ X = I = X ^ RC(X) on basis blades. For planes and lines of projective algebra it is the join of points.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e12 & alg.e23, alg.I & alg.e1
    (e2, e1)
    """
    return named("vee", A, other)


def fat_dot(A: MV, other: Any, /) -> MV:
    """Return the inner product ⟨AB⟩_{|r-s|}, scalars included (``A | B``).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e12 | alg.e12, 2 | alg.e1
    (-1, 2*e1)
    """
    return named("fat_dot", A, other)


def hestenes(A: MV, other: Any, /) -> MV:
    """Return Hestenes' inner product ⟨AB⟩_{|r-s|}, zero if either is a scalar.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e1.hestenes(alg.e12), alg.scalar(2).hestenes(alg.e1)
    (e2, 0)
    """
    return named("hestenes", A, other)


def lc(A: MV, other: Any, /) -> MV:
    """Return the left contraction ⟨AB⟩_{s-r} (``A << B``).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e1 << alg.e12, alg.e12 << alg.e1
    (e2, 0)
    """
    return named("lc", A, other)


def rc(A: MV, other: Any, /) -> MV:
    """Return the right contraction ⟨AB⟩_{r-s}.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e12.rc(alg.e2), alg.e2.rc(alg.e12)
    (e1, 0)
    """
    return named("rc", A, other)


def scalar_product(A: MV, other: Any, /) -> MV:
    """Return ⟨AB⟩_0, a scalar; for k-blades (-1)^{k(k-1)/2} times `inner`.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e12.scalar_product(alg.e12), alg.e12.inner(alg.e12)
    (-1, 1)
    """
    return named("scalar_product", A, other)


def inner(A: MV, other: Any, /) -> MV:
    """Return ⟨A ~B⟩_0 = ⟨~A B⟩_0, a scalar: det(a_iᵀ G b_j) for blades a1∧…∧ak and b1∧…∧bk.

    Examples
    --------
    >>> alg = cr.Algebra(1, 1)
    >>> alg.e12.inner(alg.e12)
    -1
    """
    return named("inner", A, other)


def commutator(A: MV, other: Any, /) -> MV:
    """Return (AB - BA)/2.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e12.commutator(alg.e1)
    -e2
    """
    return named("commutator", A, other)


def anticommutator(A: MV, other: Any, /) -> MV:
    """Return (AB + BA)/2.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e12.anticommutator(alg.e3), alg.e12.anticommutator(alg.e1)
    (e123, 0)
    """
    return named("anticommutator", A, other)
