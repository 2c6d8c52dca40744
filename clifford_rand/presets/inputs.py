"""Inputs of the models: coordinates and numbers, the one grade of a blade, lengths, simple rotations, Algebra(n)."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import as_coefficients, is_tensor
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.compiler.scalar import TraceError
from clifford_rand.fusion.traced_array import decided, is_traced
from clifford_rand.geometry.subspaces import span_of
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.space import has_null_basis

SMALLEST_TRACED, LARGEST_TRACED = 1e-60, 1e36  # sizes whose squares traced code computes as they are

Vectors = ArrayLike | Multivector  # coordinates (..., n), or vectors of Algebra(n)


@lru_cache(maxsize=32)
def euclidean(n: int) -> Algebra:
    """Return Algebra(n), the same object every time."""
    return Algebra(n)


def floats(array: NDArray[Any], name: str, owner: str) -> NDArray[Any]:
    """Return exact numbers as float64, for what has roots and angles; others as they are, and symbols are refused."""
    if array.dtype != object:
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        hint = "Substitute numbers first, as by A.subs."
        raise fail(name, owner, "of real numbers", describe("symbols, complex or too large numbers"), hint) from None


def is_symbolic(array: Any) -> bool:
    """Tell whether an array, or the coefficients of a multivector, have symbols, which have no size."""
    array = array.coefficients if isinstance(array, Multivector) else array
    if is_tensor(array) or array.dtype != object:
        return False
    return any(getattr(entry, "free_symbols", None) for entry in np.ravel(array).tolist())


def check_ends(Q: Any, direction: Any) -> None:
    """Raise unless a line is given by either its direction or a second point Q."""
    if direction is not None and Q is not None:
        raise fail("direction", "line", "None for a line through two points", direction)
    if direction is None and Q is None:
        raise fail("Q", "line", "a point, or None for a line with a direction", Q)


def direction_of(direction: Any, n: int) -> NDArray[Any]:
    """Return the coordinates (..., n) of the direction of a line."""
    D = coordinates_of(direction, n, "direction", "line")
    if np.asanyarray((D == 0).all(axis=-1)).any():
        raise fail("direction", "line", "other than 0", describe("a vector of length 0"))
    return D


def halved(x: NDArray[Any]) -> NDArray[Any]:
    """Return x/2, exact for exact numbers."""
    if x.dtype == object:
        return np.asanyarray(x * Fraction(1, 2), dtype=object)
    return x / 2


def root(x: ArrayLike) -> NDArray[Any]:
    """Return √x, as an expression of exact numbers and symbols."""
    x = np.asanyarray(x)
    if x.dtype != object:
        return np.asanyarray(np.sqrt(x))
    from clifford_rand.symbolic.closed_forms import square_root

    return np.asanyarray(np.frompyfunc(square_root, 1, 1)(x), dtype=object)


def cosine_and_sine(x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return cos x and sin x, as expressions of exact numbers and symbols."""
    if x.dtype != object:
        return np.cos(x), np.sin(x)
    from clifford_rand.symbolic.closed_forms import sine_and_cosine

    sine, cosine = np.frompyfunc(sine_and_cosine(-1), 1, 2)(x)
    return np.asanyarray(cosine, dtype=object), np.asanyarray(sine, dtype=object)


def exact_beside(A: Any, value: ArrayLike) -> Any:
    """Return a multivector with Python's integers beside symbols, so that 1 does not become 1.0."""
    integers = isinstance(A, Multivector) and not is_tensor(A.coefficients) and A.dtype.kind == "i"
    return A.astype(object) if integers and is_symbolic(np.asanyarray(value, dtype=object)) else A


def with_floats(A: Any, name: str, owner: str) -> Any:
    """Return a multivector with `floats` for coefficients; other objects as they are."""
    if not isinstance(A, Multivector) or A.dtype != object:
        return A
    return A.new(A.keys, floats(A.coefficients, name, owner))


def _finite(array: NDArray[Any], name: str, owner: str) -> NDArray[Any]:
    if array.dtype.kind == "i":
        array = array.astype(np.float64)
    if array.dtype != object and not np.isfinite(array).all():
        raise fail(name, owner, "finite", describe("NaN or infinite entries"))
    return array


def coordinates_of(X: Vectors, n: int, name: str, owner: str) -> NDArray[Any]:
    """Return coordinates (..., n): from an array, or from a vector of n-space, also as its conformal algebra has it."""
    if isinstance(X, Multivector):
        metric = X.algebra.form
        is_conformal = X.algebra.d == n + 2 and has_null_basis(X.algebra) is not None
        if X.grades == (1,) and is_conformal and not np.asanyarray(X.values[..., n:] != 0, dtype=bool).any():
            return _finite(X.values[..., :n], name, owner)
        if metric.counts != (n, 0, 0) or not metric.is_unit or X.grades != (1,):
            text = f"grades {X.grades} of {X.algebra!r}"
            hint = "cga.down(P) has the coordinates of a point." if is_conformal else ""
            raise fail(name, owner, f"an array of coordinates or a vector of e1 to e{n}", describe(text), hint)
        return _finite(X.values, name, owner)
    array = as_coefficients(X, name, owner)
    if array.ndim == 0 or array.shape[-1] != n:
        raise fail(name, owner, f"an array of shape (..., {n})", describe(f"shape {array.shape}"))
    return _finite(array, name, owner)


def numbers_of(value: ArrayLike, dtype: np.dtype, name: str, owner: str) -> NDArray[Any]:
    """Return one number for each element of a batch. A Python number takes ``dtype``, so that float32 stays float32."""
    array = as_coefficients(value, name, owner)
    if type(value) in (int, float) and dtype.kind in "fc":
        array = floats(array, name, owner).astype(dtype)
    return _finite(array, name, owner)


def of_algebra(A: object, algebra: Any, name: str, owner: str) -> Any:
    """Return ``A`` if it is a multivector of ``algebra``."""
    if not isinstance(A, Multivector) or A.algebra != algebra:
        got = f"a multivector of {A.algebra!r}" if isinstance(A, Multivector) else repr(A)
        raise fail(name, owner, f"a multivector of {algebra!r}", describe(got))
    return A


def tolerance(rtol: float | None, dtype: np.dtype) -> float:
    """Return ``rtol``, by default eps^(3/4): 2e-12 for float64, 6e-6 for float32, 0 for exact numbers."""
    default = float(np.finfo(dtype).eps) ** 0.75 if dtype.kind in "fc" else 0.0
    return check_tolerance(rtol, default, "clifford_rand.presets")


def real_of(A: Any, name: str, owner: str, what: str, *, finite: bool = False) -> Any:
    """Return a multivector of floats, integers as float64; tensors, complex and exact coefficients are refused."""
    refuse_tensors(A, name, owner)
    if A.dtype.kind not in "fi":
        raise fail(name, owner, f"{what} with real coefficients", describe(f"dtype {A.dtype}"), "Use astype(float).")
    if finite and not np.isfinite(A.coefficients).all():
        raise fail(name, owner, "finite", describe("NaN or infinite coefficients"))
    return A.astype(np.float64) if A.dtype.kind == "i" else A


def largest(array: NDArray[Any]) -> NDArray[Any]:
    """Return the largest absolute values along the last axis."""
    if array.dtype == object:  # exact numbers and symbols have no size here: 1 where there is one that is not zero
        return np.asanyarray(np.asanyarray(array != 0, dtype=bool).any(axis=-1), dtype=np.float64)
    return np.asanyarray(np.max(np.abs(array), axis=-1, initial=0))


def blade_of(A: Any, name: str, owner: str, what: str, *, grade: int | None = None, exact: bool = False) -> Any:
    """Return the part of the one grade (``grade``) that ``A`` has, all components, real and floating unless ``exact``.

    Other grades, as the rounding of a product R A ~R leaves them, have to be small beside it.
    """
    if not isinstance(A, Multivector):
        raise fail(name, owner, what, A)
    refuse_tensors(A, name, owner)
    if A.dtype.kind == "i":
        A = A.astype(np.float64)
    if A.dtype.kind != "f" and not exact:
        raise fail(name, owner, f"{what} with real coefficients", describe(f"dtype {A.dtype}"), "Use astype(float).")
    size = largest(A.coefficients)
    if (np.asanyarray(size) == 0).any():
        raise fail(name, owner, f"{what}, not zero", describe("a zero multivector"))
    if A.dtype.kind in "fc" and not np.isfinite(size).all():
        raise fail(name, owner, f"{what} with finite coefficients", describe("NaN or infinite ones"))
    limit = tolerance(None, A.dtype) * size
    sizes = {k: largest(A.coefficients[..., A.keys.slices[k]]) for k in A.grades}
    grades = tuple(k for k in A.grades if size.size == 0 or np.asanyarray(sizes[k] > limit).any())
    if len(grades) != 1:
        raise fail(name, owner, what, describe(f"a multivector of grades {grades}"))
    if grade is not None and grades != (grade,):
        raise fail(name, owner, f"{what}, of grade {grade}", describe(f"grade {grades[0]}"))
    part = A.grade(*grades)
    return part.on_keys(part.keys.filled)


def refuse_tensors(A: Any, name: str, owner: str) -> None:
    """Refuse a multivector of tensors, whose values these functions would have to look at."""
    if is_tensor(A.coefficients):
        received = describe(f"a multivector of {type(A.coefficients).__module__.split('.')[0]}")
        raise fail(name, owner, "a multivector of NumPy arrays", received, "A.to_numpy() is one, without a gradient.")


def unit_scale(A: Any) -> Any:
    """Return ``A`` times a power of two, so that its largest component is near 1 and squares do not overflow."""
    if A.dtype == object:
        return A
    if is_traced(A):
        size = largest(A.coefficients)
        if not ((size > SMALLEST_TRACED) & (size < LARGEST_TRACED)).all():
            raise TraceError("a multivector needs another unit")
        return A
    exponent = np.frexp(largest(A.coefficients))[1]
    if A.dtype.kind == "f":  # also of denormal numbers, whose factor would overflow
        return A.new(A.keys, np.ldexp(A.coefficients, -exponent[..., None]))
    real = np.finfo(A.dtype)
    factor = np.ldexp(np.ones((), dtype=real.dtype), -np.clip(exponent, real.minexp + 2, real.maxexp - 2))
    return A.new(A.keys, A.coefficients * factor[..., None])


def unit_factor(A: Any, scaled: Any) -> Any:
    """Return the power of two by which ``unit_scale(A)`` was divided, 1 where it is ``A``."""
    if scaled is A or is_traced(A):
        return np.ones(A.shape)
    return largest(A.coefficients) / largest(scaled.coefficients)


def lengths(array: NDArray[Any]) -> Any:
    """Return Euclidean lengths along the last axis, with no overflow of squares; expressions of symbols."""
    if array.dtype == object:
        return root(np.asanyarray((array * array).sum(axis=-1), dtype=object))[()]
    if is_traced(array):
        return _traced_lengths(array)
    top = largest(array)
    scale = np.where(top == 0, 1, top).astype(array.dtype, copy=False)
    return (np.sqrt(((array / scale[..., None]) ** 2).sum(axis=-1)) * scale)[()]


def _traced_lengths(array: Any) -> Any:
    """Return lengths of which no square over- or underflows; the constant 0 of what is zero."""
    square, size = (array * array).sum(axis=-1), abs(array).sum(axis=-1)
    if (size > SMALLEST_TRACED).all():
        if not (size < LARGEST_TRACED).all():
            raise TraceError("squares of coordinates overflow")
        return np.sqrt(square)
    if not (size == 0).all():
        raise TraceError("squares of coordinates underflow")
    return np.zeros(np.shape(size))


def plane_directions(normal: Any) -> list[Any]:
    """Return two unit vectors that are orthogonal to a unit vector of space and to each other.

    T. Duff et al., "Building an orthonormal basis, revisited", Journal of Computer Graphics Techniques 6, 2017.
    """
    x, y, z = (normal[..., i] for i in range(3))
    sign = np.where(z < 0, np.int8(-1), np.int8(1))  # which leaves float32 as it is
    a = -1 / (sign + z)
    b = x * y * a
    first = [1 + sign * x * x * a, sign * b, -sign * x]
    return [np.stack(first, axis=-1), np.stack([b, sign + y * y * a, -y], axis=-1)]


def directions_of(E: Any, n: int, m: int) -> NDArray[Any]:
    """Return orthonormal rows (..., m, n) that span unit blades of grade m of Algebra(n)."""
    values = E.select_keys(keys_of_grades(n, (m,))).coefficients
    if m == n:
        return np.broadcast_to(np.eye(n, dtype=E.dtype), (*E.shape, n, n))
    if m == 1:
        return np.asanyarray(values[..., None, :])
    if (m, n) == (2, 3):  # e12, e13, e23
        normal = np.stack([values[..., 2], -values[..., 1], values[..., 0]], axis=-1)
        return np.stack(plane_directions(normal), axis=-2)
    return span_of(values, n, m)[0]


def across(step: Any, vectors: list[Any], limit: float) -> Any:
    """Return the part of vectors orthogonal to unit vectors, those that others span to ``limit`` left out."""
    basis: list[Any] = []
    count = 0  # of vectors that all elements need
    for vector in vectors:
        rest = rejected(vector, basis)
        size = np.asanyarray(lengths(rest))
        is_own = decided(size > 2 * limit)
        basis.append(np.where(is_own[..., None], rest / np.where(is_own, size, 1)[..., None], 0))
        count += bool(is_own.all())
    return np.zeros_like(step) if count >= step.shape[-1] else rejected(step, basis)


def rejected(vector: Any, basis: list[Any]) -> Any:
    """Return the part orthogonal to an orthonormal basis; twice, as the first rest may be much smaller."""
    for _ in range(2 * bool(basis)):
        for unit in basis:
            vector = vector - (unit * vector).sum(axis=-1)[..., None] * unit
    return vector


def rotation(B: Any, angle: ArrayLike, owner: str, name: str, least: float, rtol: float | None) -> Any:
    """Return cos(angle/2) - sin(angle/2) B/|B| for a simple bivector: e12 turns e1 towards e2.

    ``least`` bounds |B|² from below, relative to the square of the largest component.
    """
    B = unit_scale(B)
    tiny = tolerance(rtol, B.dtype)
    scale, exact = largest(B.coefficients) ** 2, B.dtype == object
    square = np.asanyarray(B.inner(B).scalar_part(), dtype=object if exact else None)
    if np.asanyarray(square == 0 if exact else square <= least * scale, dtype=bool).any():
        raise fail(name, owner, "a bivector that turns: B² < 0", describe("one with B² ≥ 0"), "Use translator to move.")
    if (largest((B ^ B).expand().coefficients if exact else (B ^ B).coefficients) > tiny * scale).any():
        rule = "one axis: a simple bivector, B ∧ B = 0"
        raise fail(name, owner, rule, describe("a sum of two"), "Multiply two rotors.")
    half = numbers_of(angle, B.dtype, "angle", owner)
    half = halved(half if is_symbolic(half) else floats(half, "angle", owner))
    if half.dtype.kind not in "fO":
        raise fail("angle", owner, "a real number, or an array of them", describe(f"dtype {half.dtype}"))
    cosine, sine = cosine_and_sine(half)
    return B.algebra.scalar(cosine) - B * (sine / root(square))
