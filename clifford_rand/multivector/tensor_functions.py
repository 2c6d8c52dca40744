"""Norms, inverse, exponential, logarithm and square root of tensors: no branch on values, so that all differentiate.

A branch of formulas is a ``where`` between two that are both computed, each with arguments that are safe for it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import Tensor, beside, constant_of_a_trace, is_linalg_error, namespace
from clifford_rand.basis.keys import Keys, keys_labelled
from clifford_rand.basis.metric import Metric
from clifford_rand.functions.matrix_forms import inverse_grades
from clifford_rand.functions.norms import LARGEST_STUDY
from clifford_rand.functions.study import angle_and_half, cosh_sinhc, cosh_sinhc_of_pair, inverse_root
from clifford_rand.plans.tensors import keys_of, union_of

LARGEST_CLOSED = 5  # dimensions up to which involutions give the inverse
SQUARINGS = 12  # of every element: those that need fewer keep what they have
THETA = 0.8  # θ^17/17! = 6e-17
DEGREE = 16


def norm_squared(A: Any) -> Tensor:
    """Return ⟨A ~A⟩_0 over the batch."""
    return A.inner(A).coefficients[..., 0]


def norm(A: Any) -> Tensor:
    """Return √|⟨A ~A⟩_0| over the batch; its gradient at zero is 0. Squares must be within the range of the dtype."""
    xp = namespace(A.coefficients)
    return root(xp, xp.abs(norm_squared(A)))


def root(xp: Any, x: Tensor) -> Tensor:
    """Return √x for x ≥ 0, with gradient 0 at 0."""
    return xp.where(x == 0, xp.zeros_like(x), xp.sqrt(xp.where(x == 0, xp.ones_like(x), x)))


def normalized(A: Any) -> Any:
    """Return (A ~A)^{-1/2} A as `Multivector.normalized`, else A / norm(A); infinite or NaN where the norm is zero."""
    xp = namespace(A.coefficients)
    is_large = A.keys.size > LARGEST_STUDY
    square = A.part(()) if is_large or not xp.isdtype(A.dtype, "real floating") else A * A.reverse()
    q = square.part(tuple(k for k in square.keys.grades if k and k % 4 == 0))
    fourth = q.anticommutator(q)
    if not q.keys.size or not _is_scalar(fourth):
        return A.new(A.keys, A.coefficients / xp.sqrt(xp.abs(norm_squared(A)))[..., None])
    s, t = square["1"], fourth["1"]
    # even A and odd A have no such grades, whatever blades A holds
    mixed = square.part(tuple(k for k in square.keys.grades if k % 4 == 1))
    definite = (s * s - t > 1e-12 * s * s) & (xp.sum(mixed.coefficients**2, axis=-1) <= 1e-28 * s * s)
    x, y = inverse_root(xp, s, xp.where(definite, t, xp.zeros_like(t)))  # else A / √|s|
    return (q.new(q.keys, q.coefficients * xp.where(definite, y, xp.zeros_like(y))[..., None]) + x) * A


# ---- the inverse


def inverse(A: Any) -> Any:
    """Return A⁻¹; where there is none, infinite or NaN for d ≤ 5, as no value is looked at, and an error beyond.

    ~A/(A ~A) where the keys say that this is a scalar; for d ≤ 5 by involutions in any metric (Hitzer and Sangwine,
    "Multivector and multivector matrix inverses in real Clifford algebras", Applied Mathematics and Computation 311,
    2017, sections 4 and 5); beyond it the linear system A X = 1.
    """
    keys, d = A.keys, A.algebra.d
    if keys.size == 1 or keys.grades in ((1,), (d - 1,)):
        return _over(A.reverse(), norm_squared(A))
    if d > LARGEST_CLOSED:
        return _by_solving(A)
    adjugate = A.conjugate()
    square = _kept(A * adjugate, lambda k: k % 4 in (0, 3))  # what is its own Clifford conjugate
    if _is_scalar(square):
        return _over(adjugate, square["1"])
    if d == 5:
        turned = square.involute()
        adjugate, square = adjugate * turned, square * turned
        turned = _negated(square, (1, 4))
    else:
        turned = _negated(square, (3, 4))
    scalar = (square * turned)["1"]
    result = adjugate * turned
    return _over(_kept(result, _possible(keys, d)), scalar)


@constant_of_a_trace
def _grades(label: str, d: int) -> tuple[int, ...]:
    return inverse_grades(keys_labelled(label), d)


def _possible(keys: Keys, d: int) -> Callable[[int], bool]:
    """Return the test for grades that the inverse can have."""
    return _grades(keys.label, d).__contains__


def _is_scalar(A: Any) -> bool:
    return all(k == 0 for k in A.keys.grades)


def _kept(A: Any, wanted: Any) -> Any:
    """Return the part of the grades that are wanted."""
    return A.part(tuple(k for k in A.keys.grades if wanted(k)))


def _negated(A: Any, grades: tuple[int, ...]) -> Any:
    """Return A with the parts of some grades negated."""
    return A - 2 * _kept(A, grades.__contains__)


def _over(A: Any, scalar: Tensor) -> Any:
    return A.new(A.keys, A.coefficients / scalar[..., None])


def _by_solving(A: Any) -> Any:
    """Return X with A X = 1, of the parity of A where it has one."""
    xp, d = namespace(A.coefficients), A.algebra.d
    parity = {k % 2 for k in A.keys.grades}
    odd = parity == {1}
    unknown = keys_of(A.algebra.form, tuple(range(int(odd), d + 1, 2 if len(parity) == 1 else 1)))
    target = keys_of(A.algebra.form, tuple(range(0, d + 1, 2 if len(parity) == 1 else 1)))
    matrix = _matrix(A, unknown, target, left=True)
    right = xp.eye(unknown.size, **beside(A.coefficients))[:, :1]  # 1 is the first of the even blades
    right = xp.broadcast_to(right, (*matrix.shape[:-2], unknown.size, 1))
    try:
        solved = A.new(unknown, xp.linalg.solve(matrix, right)[..., 0])
    except Exception as error:
        if not is_linalg_error(error):
            raise
        raise fail("A", "inv", "invertible", describe("a singular multivector")) from error
    return _kept(solved, _possible(A.keys, d))


def matrix(A: Any, *, left: bool) -> Tensor:
    """Return the matrix of X ↦ A X, or X A, on all components."""
    keys = keys_of(A.algebra.form, tuple(range(A.algebra.d + 1)))
    return _matrix(A, keys, keys, left=left)


def _matrix(A: Any, source: Keys, target: Keys, *, left: bool) -> Tensor:
    xp = namespace(A.coefficients)
    basis = A.new(source, xp.eye(source.size, **beside(A.coefficients)))
    factor = A.new(A.keys, A.coefficients[..., None, :])
    images = (factor * basis if left else basis * factor).on_keys(target).coefficients  # row S: the image of e_S
    return xp.matrix_transpose(images)


# ---- exponential


def exponential(A: Any) -> Any:
    """Return Σ A^k / k!: in closed form where the keys say that A², or its square, is a scalar; else by squaring."""
    d = A.algebra.d
    B = A.part(tuple(k for k in A.keys.grades if k)) if 0 in A.keys.grades else A
    factor = namespace(A.coefficients).exp(A["1"])[..., None] if 0 in A.keys.grades else None
    if not B.keys.size:
        result = A.coerce(1.0) + B
    else:
        square = B.anticommutator(B)
        q = square.part(tuple(k for k in square.keys.grades if k))
        if not q.keys.size:
            C, S = cosh_sinhc(namespace(A.coefficients), square["1"])
            result = _with_scalar(C, B.new(B.keys, B.coefficients * S[..., None]))
        else:
            fourth = q.anticommutator(q)
            if all(k == 0 for k in fourth.keys.grades):
                result = _of_two_planes(B, square["1"], q, fourth["1"])
            else:
                result = _by_squaring(B)
    if all(k % 2 == 0 for k in A.keys.grades) and d:
        result = _kept(result, lambda k: k % 2 == 0)
    return result if factor is None else result.new(result.keys, result.coefficients * factor)


def _with_scalar(scalar: Tensor, B: Any) -> Any:
    return B.new(keys_of(B.algebra.form, (0,)), scalar[..., None]) + B


def _of_two_planes(B: Any, s: Tensor, q: Any, t: Tensor) -> Any:
    """Return C₀ + C₁ q + S₀ B + S₁ q B where B² = s + q, q² = t."""
    C0, C1, S0, S1 = cosh_sinhc_of_pair(namespace(s), s, t)
    third = B.anticommutator(q)
    result = _with_scalar(C0, B.new(B.keys, B.coefficients * S0[..., None]))
    result = result + q.new(q.keys, q.coefficients * C1[..., None])
    return result + third.new(third.keys, third.coefficients * S1[..., None])


@constant_of_a_trace
def _sizes(metric: Metric, keys: str) -> tuple[float, ...]:
    """Return Π |e_i| over the vectors of each blade, in an orthonormal basis; so |A B| is about |A| |B| or less."""
    lengths = np.linalg.norm(metric.congruence[1], axis=1)
    return tuple((lengths ** (keys_labelled(keys).masks[:, None] >> np.arange(metric.d) & 1)).prod(axis=1).tolist())


def _by_squaring(B: Any) -> Any:
    """Return exp B by Taylor's polynomial of B/2^n, squared n times; NaN beyond a sum of sizes of 2^12 · 0.8."""
    xp, d = namespace(B.coefficients), B.algebra.d
    even = all(k % 2 == 0 for k in B.keys.grades)
    keys = keys_of(B.algebra.form, tuple(range(0, d + 1, 2 if even else 1)))
    weights = xp.asarray(_sizes(B.algebra.form, B.keys.label), **beside(xp.abs(B.coefficients)))
    size = xp.sum(xp.abs(B.coefficients) * weights, axis=-1)
    steps = xp.ceil(xp.log2(xp.where(size > THETA, size, xp.ones_like(size) * THETA) / THETA))
    scale = xp.exp2(-steps) if hasattr(xp, "exp2") else xp.exp(-steps * 0.6931471805599453)
    small = B.new(B.keys, B.coefficients * xp.astype(scale, B.dtype)[..., None])
    result = B.coerce(1.0)
    for k in range(DEGREE, 0, -1):
        result = (small * result) * (1.0 / k) + 1.0
    array = result.on_keys(union_of(B.algebra.form, result.keys, keys)).coefficients
    keys = union_of(B.algebra.form, result.keys, keys)
    for n in range(SQUARINGS):
        again = (B.new(keys, array) * B.new(keys, array)).on_keys(keys).coefficients
        array = xp.where((steps > n)[..., None], again, array)
    nothing = xp.asarray(float("nan"), **beside(array))
    return B.new(keys, xp.where((steps > SQUARINGS)[..., None], nothing, array))


# ---- logarithm and square root of even versors


def logarithm(R: Any) -> Any:
    """Return log s + f(S) B, of an even versor R = s (S + B) of at most five dimensions, or of the grades 0 and 2.

    S has the grades 0 and 4; f is that of `functions.study`, by halvings of its argument. Near -1, where the logarithm
    is not differentiable, it loses digits.
    """
    size, q, B, (f0, f1, *_) = _angle_and_half(R, "log")
    return _with_scalar(namespace(R.coefficients).log(size), _times_study(B, f0, q, f1))


def square_root(R: Any) -> Any:
    """Return √s (c + B/(2c)) with c = √((1 + S)/2), of an even versor R = s (S + B) as for `logarithm`."""
    size, q, B, (_, _, c0, c1, g0, g1) = _angle_and_half(R, "sqrt")
    c = _with_scalar(c0, q.new(q.keys, q.coefficients * c1[..., None]))
    result = c + _times_study(B, g0, q, g1)
    return result.new(result.keys, result.coefficients * namespace(R.coefficients).sqrt(size)[..., None])


def _angle_and_half(R: Any, owner: str) -> tuple[Tensor, Any, Any, tuple[Tensor, ...]]:
    """Return s, Q and B of R = s (1 + Q + B) and the values of `functions.study.angle_and_half`."""
    d, grades = R.algebra.d, set(R.keys.grades)
    xp = namespace(R.coefficients)
    if not grades <= {0, 2, 4} or (d > LARGEST_CLOSED and 4 in grades) or not xp.isdtype(R.dtype, "real floating"):
        rule = "a real even versor of at most five dimensions, or of the grades 0 and 2, where it is a tensor"
        received = describe(f"grades {R.keys.grades} of {R.algebra!r}, dtype {R.dtype}")
        raise fail("A", owner, rule, received, "Use A.to_numpy(), which leaves the gradient behind.")
    size = norm(R)
    unit = R.new(R.keys, R.coefficients / size[..., None])
    s, B, q = unit["1"], unit.grade(2), unit.grade(4) if d >= 4 else unit.part(())
    t = q.anticommutator(q)["1"] if q.keys.size else 0
    return size, q, B, angle_and_half(xp, s, B.anticommutator(B)["1"], t, "study")


def _times_study(B: Any, x: Tensor, q: Any, y: Tensor) -> Any:
    """Return (x + y q) B, of grade 2, for q of grade 4."""
    once = B.new(B.keys, B.coefficients * x[..., None])
    if not q.keys.size:
        return once
    turned = B.anticommutator(q).grade(2)
    return once + turned.new(turned.keys, turned.coefficients * y[..., None])


# ---- versors


def sandwich(R: Any, X: Any) -> Any:
    """Return R X R⁻¹; R whose keys are even, or odd, is taken for a versor, with R⁻¹ = ~R/⟨R ~R⟩_0 and X's grades.

    No value is looked at; write ``R * X * R.inv()`` for other even and odd multivectors.
    """
    if len({k % 2 for k in R.keys.grades}) == 1:
        product = (R * X) * R.reverse()
        kept = _kept(product, X.keys.grades.__contains__)
        return _over(kept, norm_squared(R))
    return (R * X) * inverse(R)


def blade_inverse(B: Any, owner: str) -> Any:
    """Return ~B/⟨B ~B⟩_0 for a blade, which its keys must make of one grade."""
    if len(B.keys.grades) != 1:
        raise fail("B", owner, "a blade of one grade", describe(f"grades {B.keys.grades}"), "Use grade(k).")
    return _over(B.reverse(), norm_squared(B))
