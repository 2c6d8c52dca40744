"""Wedge, inner product and star as functions; projection on a blade, rejection, reflection; the reciprocal frame."""

from collections.abc import Sequence
from functools import reduce
from operator import xor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_bool, check_listed, describe, fail, one_batch
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import ROUNDING
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.scaling import (
    LEAST,
    as_inexact,
    as_multivector,
    blade_weights,
    expand,
    homogeneous,
    is_exact,
    quotient,
    unit_scale,
)
from clifford_rand.geometry.subspaces import is_blade

OWNER = "reciprocal_frame"
HINT = "Flats of projective algebra, where vectors are planes: presets.pga.project and pga.reject."


def _method_of(value: Any, name: str) -> Any:
    method = getattr(value, name, None)
    if method is None:
        raise fail("a", name, "a multivector or a Blade", describe(f"{type(value).__name__} {value!r}"))
    return method


def wedge(a: Any, /, *more: Any) -> Any:
    """Return the outer product a ∧ b ∧ … of one or more factors.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.wedge(alg.e1, alg.e2, alg.e3)
    e123
    """
    method = _method_of(a, "wedge")
    return method(*more) if more else a


def inner(a: Any, b: Any, /) -> Any:
    """Return ⟨a ~b⟩_0, for blades det(a_iᵀ G b_j).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.inner(alg.e12, 2 * alg.e12)
    2
    """
    return _method_of(a, "inner")(b)


def star(a: Any, /) -> Any:
    """Return the Hodge star I ~a: (star a) ∧ b = inner(a, b) I for b of a's grade, in any metric.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.star(cr.wedge(alg.e1, alg.e2))  # the cross product
    e3
    """
    return _method_of(a, "star")()


def _with_inverse(B: Any, owner: str) -> tuple[int, Any, Any]:
    """Return (grade, c B, (c B)⁻¹) of a blade that is not null, c a power of two; of a traced one by its own method."""
    traced = getattr(type(B), "blade_with_inverse", None)
    if traced is not None:
        blade: tuple[int, Any, Any] = traced(B, owner)
        return blade
    grade, B = homogeneous(B, "B", owner)
    exact = is_exact(B)
    if not exact:
        B = as_inexact(B)
        B = B.new(B.keys, unit_scale(B.coefficients, owner, "B")[0])
    square = expand(B * ~B)  # of a blade a number, B ~B
    place = square.keys.find(0)
    norm = square.coefficients[..., place] if place >= 0 else np.zeros(B.shape, dtype=B.coefficients.dtype)
    rest = square.coefficients[..., square.keys.grade_of > 0]
    if exact:
        null = np.asarray(norm == 0, dtype=bool)
        wrong = bool(np.asarray(rest != 0, dtype=bool).any())
    else:
        weights = blade_weights(B.algebra.form, B.keys)
        size = np.square(np.abs(B.coefficients * (1 if weights is None else weights))).sum(axis=-1)
        # zero to the rounding of the sum of squares
        null = np.asarray(np.abs(norm) <= ROUNDING * np.finfo(B.coefficients.dtype).eps * size)
        wrong = False  # is_blade below has a tolerance
    if wrong or not np.all(is_blade(B)):
        raise fail("B", owner, "a blade, a wedge of vectors, other than zero", describe(f"{B!r}"))
    if null.any():
        hint = HINT if B.algebra.form.counts[2] else ""
        raise fail(
            "B", owner, "a blade that is not null, B ~B ≠ 0", describe("a null blade, which has no inverse"), hint
        )
    reverse = ~B
    return grade, B, reverse.new(reverse.keys, quotient(reverse.coefficients, norm[..., None]))


def project(A: MV, B: Any, /) -> MV:
    """Return (A ⌋ B) B⁻¹, the orthogonal projection of A on the subspace of the blade B.

    On every grade it is the outermorphism of the projection of vectors: project(A ∧ C) = project(A) ∧ project(C),
    project(B) = B, and projecting again changes nothing. Scalars stay. What is of a higher grade than B vanishes.

    Raises
    ------
    ArgumentError
        If B is not a blade, or is null (B ~B = 0); in a degenerate metric if all of A is of a higher grade than B,
        and B no scalar: there a user means flats, a point and a plane, and `presets.pga.project`.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg("e1 + 2*e3").project(alg.e12)
    e1
    """
    B = A.operand(B, "project")
    if B.__class__ is not A.__class__:  # a tensor
        return B.coerce(A).project(B)
    grade, B, inverse = _with_inverse(B, "project")
    refuse_flats(A, grade)
    return A.lc(B).lc(inverse)  # (A ⌋ B) ⌋ B⁻¹, which is (A ⌋ B) B⁻¹ as A ⌋ B lies in B


def refuse_flats(A: Any, grade: int) -> None:
    """Refuse to project what is wholly of a higher grade than the blade where the metric is degenerate: it vanishes.

    A scalar is not a flat: on it everything else vanishes, in every metric.
    """
    if A.algebra.form.counts[2] and 0 < grade < min(A.keys.grades, default=0):
        received = describe(f"grades {', '.join(map(str, A.keys.grades))}")
        raise fail("A", "project", f"of grade {grade}, that of B, at most in a degenerate metric", received, HINT)


def reject(A: MV, B: Any, /) -> MV:
    """Return (A ∧ B) B⁻¹, the part of A orthogonal to the subspace of the blade B.

    For vectors it is a - a.project(B), and on every grade the outermorphism of that map: reject(A) ∧ B = A ∧ B, and
    B ⌋ reject(A) = 0 unless both are scalars. Scalars stay.

    Raises
    ------
    ArgumentError
        If B is not a blade, or is null (B ~B = 0).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg("e1 + 2*e3").reject(alg.e12)
    2.0*e3
    """
    B = A.operand(B, "reject")
    if B.__class__ is not A.__class__:  # a tensor
        return B.coerce(A).reject(B)
    _, B, inverse = _with_inverse(B, "reject")
    return A.wedge(B).rc(inverse)  # (A ∧ B) ⌊ B⁻¹


@one_batch
def reflect(A: MV, B: Any, /, *, inside: bool = False) -> MV:
    """Return the reflection of A in the mirror orthogonal to the blade B; a vector B is the normal of a hyperplane.

    (-1)^{rs} B A B⁻¹ for A of grade r and B of grade s: vectors in B are negated, vectors orthogonal to B stay.
    With ``inside=True`` the mirror is the subspace of B: (-1)^{r(s+1)} B A B⁻¹, vectors in B stay, those orthogonal
    to B are negated. Both are outermorphisms: reflect(A ∧ C) = reflect(A) ∧ reflect(C).

    Raises
    ------
    ArgumentError
        If B is not a blade, or is null (B ~B = 0).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> x = alg("e1 + 2*e3")
    >>> x.reflect(alg.e3), x.reflect(alg.e3, inside=True)
    (e1 - 2.0*e3, -e1 + 2.0*e3)
    """
    B, inside = A.operand(B, "reflect"), check_bool(inside, "inside", "reflect")
    if B.__class__ is not A.__class__:  # a tensor
        return B.coerce(A).reflect(B, inside=inside)
    grade, B, _ = _with_inverse(B, "reflect")
    return B.sandwich(A.involute() if (grade + inside) % 2 else A)  # (-1)^{r(s + inside)} B A B⁻¹


@one_batch
def reciprocal_frame(algebra: Any, vectors: Sequence[Any]) -> list[Any]:
    """Return the vectors a^i in the span of a_1, …, a_k with a^i · a_j = δ_ij.

    a^i = Σ_j (g⁻¹)_ij a_j with g_ij = a_i · a_j. Fractions and symbols take the same vectors from
    a^i = (-1)^{i-1} (∧_{j≠i} a_j) (a_1 ∧ … ∧ a_k)⁻¹.

    Parameters
    ----------
    vectors : sequence of Multivector
        k ≤ d vectors of one algebra; batch axes broadcast.

    Raises
    ------
    ArgumentError
        If the Gram matrix g is singular: the vectors are linearly dependent, or their span is null.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.reciprocal_frame([alg.e1, alg.e1 + 2 * alg.e2])
    [e1 - 0.5*e2, 0.5*e2]
    """
    listed = [as_multivector(v, "vectors", OWNER) for v in check_listed(vectors, "vectors", OWNER, "vectors")]
    if not listed:
        raise fail("vectors", OWNER, "at least one vector", describe("none"))
    keys = keys_of_grades(algebra.d, (1,))
    for v in listed:
        if v.algebra != algebra:
            raise fail("vectors", OWNER, f"of {algebra!r}", describe(f"a vector of {v.algebra!r}"))
        if v.keys.grades != (1,):
            rule = "vectors"
            raise fail("vectors", OWNER, rule, describe(f"a multivector with grades {v.keys.grades}"), "Use grade(1).")
    if len(listed) > algebra.d:
        raise fail("vectors", OWNER, f"at most {algebra.d} vectors", describe(f"{len(listed)}"))
    listed = [v.on_keys(keys) for v in listed]
    if is_exact(*listed):
        return _exact(listed)
    listed = [as_inexact(v) for v in listed]
    shape = np.broadcast_shapes(*[v.shape for v in listed])
    dtype = np.result_type(*[v.coefficients for v in listed])
    rows = np.stack([np.broadcast_to(v.coefficients, (*shape, algebra.d)) for v in listed], axis=-2).astype(dtype)
    rows, scale = unit_scale(rows, OWNER, "vectors")
    gram = np.asarray(algebra.form.gram).astype(dtype)
    products = rows @ gram @ rows.swapaxes(-1, -2)  # g_ij = a_i · a_j
    _check_regular(products, rows, gram)
    frame = np.linalg.solve(products, rows) / scale  # g⁻¹ times the vectors; those of a/s are s times as long
    return [algebra.vector(frame[..., i, :].copy()) for i in range(len(listed))]


def _check_regular(products: NDArray[Any], rows: NDArray[Any], gram: NDArray[Any]) -> None:
    """Refuse a Gram matrix that is singular to rounding, whatever the lengths of the vectors."""
    size = np.square(np.abs(rows)).sum(axis=-1)
    size = np.sqrt(np.where(size > 0, size, 1))
    # cosines: independent of the lengths of the vectors
    relative = products / (size[..., :, None] * size[..., None, :])
    values = np.linalg.svd(relative, compute_uv=False)
    least = LEAST * np.finfo(values.dtype).eps * float(np.abs(gram).max())
    if (values[..., -1] <= least).any():
        raise _singular()


def _singular() -> Exception:
    rule = "such that the Gram matrix a_i · a_j is not singular"
    return fail("vectors", OWNER, rule, describe("linearly dependent vectors, or vectors with a null span"))


def _exact(vectors: list[Any]) -> list[Any]:
    keys = keys_of_grades(vectors[0].algebra.d, (1,))
    whole = expand(reduce(xor, vectors))
    reverse = ~whole
    # |a_1 ∧ … ∧ a_k|², the determinant of g
    norm = expand(whole.inner(whole)).on_keys(keys_of_grades(keys.d, (0,))).coefficients
    if np.asarray(norm == 0, dtype=bool).any():
        raise _singular()
    frame = []
    for i in range(len(vectors)):
        rest = vectors[:i] + vectors[i + 1 :]
        product = expand(reduce(xor, rest)).lc(reverse) if rest else reverse  # (∧_{j≠i} a_j) ⌋ ~(a_1 ∧ … ∧ a_k)
        values = expand(product).on_keys(keys).coefficients
        frame.append(product.new(keys, quotient((-values if i % 2 else values).astype(object), norm)))
    return frame
