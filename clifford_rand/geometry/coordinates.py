"""Checks, floats of a safe size, exact quotients, and tolerances for the functions of multivectors as geometry."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand.basis.coefficients import exact_quotient
from clifford_rand.basis.keys import Keys
from clifford_rand.basis.metric import Metric
from clifford_rand.functions.scaling import as_inexact, expand, no_tensors
from clifford_rand.plans.cost_model import keep

CANCELLATION = 64  # |R|² relative to R ~R beyond which two products are more accurate than a quadratic form in R
LEAST = 256  # times eps: the least relative tolerance that makes sense for data of that precision


def as_multivector(value: Any, name: str, owner: str) -> Any:
    """Return ``value`` if it is a multivector, else raise."""
    if not hasattr(value, "keys") or not hasattr(value, "coefficients"):
        raise fail(name, owner, "a multivector", describe(f"{type(value).__name__} {value!r}"))
    if not isinstance(value.coefficients, np.ndarray):
        raise no_tensors(name, owner)
    return value


def check_same_algebra(a: Any, b: Any, name: str, owner: str) -> None:
    """Refuse two multivectors of different algebras."""
    if a.algebra is not b.algebra and a.algebra != b.algebra:
        received = describe(f"a multivector of {b.algebra!r}")
        raise fail(name, owner, f"of the same algebra, {a.algebra!r}", received, "Convert it with algebra.convert(…).")


def relative(dtype: np.dtype, rtol: float) -> float:
    """Return a relative tolerance that the precision of the data can meet."""
    return max(check_tolerance(rtol, 0.0, "a test of blades"), LEAST * float(np.finfo(dtype).eps))


def unit_scale(array: NDArray[Any], owner: str, name: str = "coefficients") -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (array / s, s): s (..., 1) a power of two that brings the largest of (..., n) near 1, exactly."""
    parts = array.view(array.real.dtype) if array.dtype.kind == "c" and array.flags.c_contiguous else array
    size = np.abs(parts).max(axis=-1, keepdims=True, initial=0)
    if not np.isfinite(size).all():
        raise fail(name, owner, "finite", describe("NaN or infinite coefficients"))
    limit = 1000 if size.dtype == np.float64 else 120  # 2^limit and its inverse are numbers of that precision
    exponent = np.clip(np.frexp(size)[1], -limit, limit)  # so that the scale and its inverse are finite
    scale = np.ldexp(np.ones_like(size), exponent)
    return array / scale, scale


def scaled(A: Any, owner: str) -> Any:
    """Return A with floating coefficients, times the power of two that brings the largest near 1."""
    A = as_inexact(A)
    return A.new(A.keys, unit_scale(A.coefficients, owner)[0])


def quotient(array: NDArray[Any], divisor: NDArray[Any]) -> NDArray[Any]:
    """Return array / divisor; two integers among exact numbers make a fraction."""
    exact = array.dtype == object or divisor.dtype == object
    return exact_quotient(array, divisor) if exact else array / divisor


def blade_weights(metric: Metric, keys: Keys) -> NDArray[np.float64] | None:
    """Return ∏ √g_i over the factors of each blade, g_i = max_j |G_ij| (1 where that is 0); None for entries 1, -1, 0.

    Coefficients times these weights are those in the basis e_i / √g_i, whose Gram matrix has entries of at most 1:
    tolerances relative to their size do not depend on the lengths of the basis vectors.
    """
    if metric.is_unit:
        return None
    g = np.abs(metric.gram.astype(np.float64)).max(axis=1)
    root = np.sqrt(np.where(g == 0, 1.0, g))  # √g_i, 1 for null vectors
    weights = np.ones(keys.size)
    for i in range(metric.d):
        held = np.asarray((keys.masks >> i & 1) != 0, dtype=bool)
        weights[held] *= root[i]  # ∏ √g_i over the vectors of each blade
    return weights


def cancels(R: Any) -> bool:
    """Tell whether R ~R is a small difference of squares: a quadratic form in R has the rounding of |R|²."""
    metric = R.algebra.form
    if not metric.is_unit or not metric.negative or not R.coefficients.size:
        return False
    r, weights = R.coefficients, metric.plans.get(R.keys)
    if weights is None:
        weights = keep(metric, R.keys, metric.weight(R.keys.masks).astype(np.float64))
    if r.ndim == 1:
        return bool(r.dot(r) > CANCELLATION * abs((r * r).dot(weights)))  # |R|² against |R ~R|
    square = r * r
    return bool((square.sum(axis=-1) > CANCELLATION * abs(square.dot(weights))).any())


def homogeneous(A: Any, name: str, owner: str, rtol: float = 1e-9) -> tuple[int, Any]:
    """Return (k, ⟨A⟩_k) of a multivector of one grade other than zero, the same throughout the batch."""
    if len(A.keys.grades) == 1 and (0 in A.shape or np.asarray(A.coefficients != 0, dtype=bool).any()):
        return A.keys.grades[0], A
    if A.coefficients.dtype == object:
        A = expand(A)
        nonzero = [k for k in A.keys.grades if np.asarray(A.coefficients[..., A.keys.slices[k]] != 0, dtype=bool).any()]
    else:
        size = {k: np.abs(A.coefficients[..., A.keys.slices[k]]).max(axis=-1, initial=0) for k in A.keys.grades}
        largest = np.max(list(size.values()), axis=0) if size else np.zeros(())
        limit = relative(as_inexact(A).coefficients.dtype, rtol) * largest  # smaller grades are rounding noise
        nonzero = [k for k, part in size.items() if (part > limit).any()]
    if not nonzero:
        raise fail(name, owner, "a blade other than zero", describe("zero"))
    if len(nonzero) > 1:
        grades = describe(f"grades {', '.join(map(str, nonzero))}")
        raise fail(name, owner, "of one grade", grades, "Take a part with grade(k).")
    return nonzero[0], A.grade(nonzero[0])
