"""Bilinear products, each some grades of AB of blades A, grade r, and B, grade s; involutions, duals, complements."""

from typing import Any

import numpy as np

from clifford_rand._checks import check_broadcast, describe, fail
from clifford_rand._typing import MV
from clifford_rand.plans.cost_model import plan_of
from clifford_rand.plans.linear import linear_plan


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


def operators(rule: str) -> tuple[Any, Any]:
    """Return the two methods of the operator of a product."""

    def left(A: MV, other: Any) -> Any:
        return product(rule, A, other)

    def right(A: MV, other: Any) -> Any:
        same = A.coerce(other)
        return NotImplemented if same is None else same.multiply(rule, A)

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


# ---- involutions, duals, complements: each is one plan of `plans.linear`


def image(A: MV, name: str) -> MV:
    """Return the image of A under a map by its name."""
    metric = A.algebra.form
    plan = metric.plans.get((name, A.keys))
    if plan is None:
        plan = linear_plan(metric, name, A.keys)
    return A.new(plan.keys, plan(A.coefficients))


def reverse(A: MV) -> MV:
    """Return the reverse ~A, the factors of every product in the opposite order: (-1)^{k(k-1)/2} on grade k.

    Examples
    --------
    >>> cr.Algebra(3)("1 + e1 + e12 + e123").reverse()
    1 + e1 - e12 - e123
    """
    return A.image("reverse")


def involute(A: MV) -> MV:
    """Return the grade involution Â, every vector negated: (-1)^k on grade k.

    Examples
    --------
    >>> cr.Algebra(3)("1 + e1 + e12 + e123").involute()
    1 - e1 + e12 - e123
    """
    return A.image("involute")


def conjugate(A: MV) -> MV:
    """Return the Clifford conjugate, reverse and involution: (-1)^{k(k+1)/2} on grade k.

    Complex coefficients stay as they are; ``A.coefficients.conj()`` has their conjugates.

    Examples
    --------
    >>> cr.Algebra(3)("1 + e1 + e12 + e123").conjugate()
    1 - e1 - e12 + e123
    """
    return A.image("conjugate")


def star(A: MV) -> MV:
    """Return the Hodge star I ~A, so that (star A) ^ B = inner(A, B) I for all B of A's grade, in any metric.

    star star A = (-1)^{k(d-k)} det(G) A. The cross product of d-1 vectors is the star of their wedge.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e1.star(), alg.e12.star()
    (e23, e3)
    >>> cr.Algebra(4).e123.star()
    -e4
    """
    return A.image("star") if A.algebra.form.diagonal is not None else A.algebra.I * A.reverse()


def star_right(A: MV) -> MV:
    """Return ~A I = (-1)^{k(d-k)} star A, so that A ^ star_right B = inner(A, B) I.

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> alg.e1.star(), alg.e1.star_right(), alg.e1 ^ alg.e1.star_right()
    (-e234, e234, e1234)
    """
    return A.image("star_right") if A.algebra.form.diagonal is not None else A.reverse() * A.algebra.I


def _need_metric(A: MV, name: str, other: str) -> None:
    if A.algebra.form.is_degenerate:
        hint = f"Use {other}, which needs no metric, or star."
        rule = "non-degenerate, as I has no inverse where det G = 0"
        raise fail("metric", name, rule, describe(repr(A.algebra)), hint)


def dual(A: MV) -> MV:
    """Return A I⁻¹; `undual` takes it back. An error where det G = 0.

    Examples
    --------
    >>> cr.Algebra(3).e12.dual()
    e3
    """
    _need_metric(A, "dual", "left_complement")
    if A.algebra.form.is_unit:
        return A.image("dual")
    inverse = A.algebra.I_inv
    return A * (inverse.astype(A.dtype) if inverse.dtype.kind == "f" and A.dtype.kind in "fc" else inverse)


def undual(A: MV) -> MV:
    """Return A I, the inverse of `dual`.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e3.undual(), alg.e3.undual().dual()
    (e12, e3)
    """
    _need_metric(A, "undual", "right_complement")
    return A.image("undual") if A.algebra.form.diagonal is not None else A * A.algebra.I


def left_complement(A: MV) -> MV:
    """Return the linear map with LC(X) ^ X = I on basis blades; no metric is used.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> alg.e0.left_complement(), alg.e0.right_complement()
    (-e123, e123)
    """
    return A.image("left_complement")


def right_complement(A: MV) -> MV:
    """Return the linear map with X ^ RC(X) = I on basis blades; the inverse of `left_complement`.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> alg.e1.right_complement(), alg.e1 ^ alg.e1.right_complement()
    (-e02, e012)
    """
    return A.image("right_complement")
