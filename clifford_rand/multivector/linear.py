"""Parts, involutions and duals: star, dual by I⁻¹, complements without a metric. Each is one plan of `plans.linear`."""

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.keys import sorted_grades
from clifford_rand.plans.linear import linear_plan, part_plan


def image(A: MV, name: str) -> MV:
    """Return the image of A under a map by its name."""
    metric = A.algebra.form
    plan = metric.plans.get((name, A.keys))
    if plan is None:
        plan = linear_plan(metric, name, A.keys)
    return A.new(plan.keys, plan(A.coefficients))


def part(A: MV, grades: tuple[int, ...]) -> MV:
    """Return the part of some grades, which ascend."""
    metric = A.algebra.form
    plan = metric.plans.get((grades, A.keys))
    if plan is None:
        plan = part_plan(metric, grades, A.keys)
    return A.new(plan.keys, plan(A.coefficients))


def grade(A: MV, *grades: int) -> MV:
    """Return the part ⟨A⟩_k of one or several grades, which are the result's, also where nothing is stored.

    Examples
    --------
    >>> A = cr.Algebra(3)("1 + 2*e1 + 3*e12")
    >>> A.grade(1), A.grade(0, 2)
    (2*e1, 1 + 3*e12)
    """
    if len(grades) == 1 and grades[0].__class__ is int:  # what equals an integer, as True, is none
        plan = A.algebra.form.plans.get((grades, A.keys))
        if plan is not None:
            return A.new(plan.keys, plan(A.coefficients))
    return A.part(sorted_grades(grades, A.algebra.d))


def even(A: MV) -> MV:
    """Return the part of even grades.

    Examples
    --------
    >>> cr.Algebra(3)("1 + 2*e1 + 3*e12 + 4*e123").even()
    1 + 3*e12
    """
    return A.part(tuple(k for k in A.grades if k % 2 == 0))


def odd(A: MV) -> MV:
    """Return the part of odd grades.

    Examples
    --------
    >>> cr.Algebra(3)("1 + 2*e1 + 3*e12 + 4*e123").odd()
    2*e1 + 4*e123
    """
    return A.part(tuple(k for k in A.grades if k % 2 == 1))


def scalar_part(A: MV) -> object:
    """Return the coefficient of 1: a number, or an array over the batch.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> int((5 + alg.e12).scalar_part()), int(alg.e12.scalar_part())
    (5, 0)
    """
    return A["1"]


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
