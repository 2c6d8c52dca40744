"""What losses are made of, on arrays of any library: SciPy's functions for NumPy, the array API's for the others."""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import entr, expit
from scipy.special import softmax as scipy_softmax

_RIDGE = 450.0  # roundings of the largest diagonal entry, 1e-13 in double precision, so that a factorization succeeds


def library(array: Any) -> Any:
    """Return the namespace of an array: NumPy itself, or that of its library in the array API."""
    if isinstance(array, np.ndarray):
        return np
    from array_api_compat import array_namespace

    return array_namespace(array)


def cast(array: Any, dtype: Any) -> Any:
    """Return the array in a precision; itself, if it has that."""
    if array.dtype == dtype:
        return array
    return array.astype(dtype) if isinstance(array, np.ndarray) else library(array).astype(array, dtype)


def zeros(like: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros in the library, and on the device, of an array."""
    if isinstance(like, np.ndarray):
        return np.zeros(shape, dtype)
    from array_api_compat import device

    return library(like).zeros(shape, dtype=dtype, device=device(like))


def entropy(p: Any) -> Any:
    """Return -p log p: 0 at 0, and -inf below."""
    xp = library(p)
    if xp is np:
        return entr(p)
    inside = p > 0
    found = -p * xp.log(xp.where(inside, p, xp.ones_like(p)))
    return xp.where(inside, found, xp.where(p == 0, xp.zeros_like(p), xp.zeros_like(p) - float("inf")))


def complement_entropy(p: Any) -> Any:
    """Return the `entropy` of 1 - p, exact also where 1 - p rounds to 1."""
    xp = library(p)
    value = (p - 1) * xp.log1p(xp.where(p < 1, -p, xp.zeros_like(p)))
    return xp.where(p > 1, xp.zeros_like(p) - float("inf"), value)


def sigmoid(m: Any) -> Any:
    """Return 1 / (1 + exp(-m)); no exponential overflows."""
    xp = library(m)
    if xp is np:
        return expit(m)
    e = xp.exp(-xp.abs(m))
    return xp.where(m < 0, e, xp.ones_like(e)) / (1 + e)


def softplus(m: Any) -> Any:
    """Return log(1 + exp(m)), without overflow."""
    xp = library(m)
    return np.logaddexp(0, m) if xp is np else xp.clip(m, 0.0, None) + xp.log1p(xp.exp(-xp.abs(m)))


def softmax(f: Any) -> Any:
    """Return exp(f) over its sum, row by row."""
    xp = library(f)
    if xp is np:
        return scipy_softmax(f, axis=1)
    e = xp.exp(f - xp.max(f, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def peak(array: Any) -> float:
    """Return the largest absolute value, 0 of none."""
    xp = library(array)
    return float(xp.max(xp.abs(array))) if 0 not in array.shape else 0.0


def solve(H: Any, b: Any) -> Any:
    """Solve a symmetric positive semidefinite system, with a ridge at rounding level; the caller repeats the step."""
    xp = library(H)
    diagonal = xp.linalg.diagonal(H)
    largest = float(xp.max(diagonal)) if diagonal.shape[0] else 0.0
    if not largest > 0:
        return xp.zeros_like(b)  # nothing is free to move
    eps = float(xp.finfo(H.dtype).eps)
    ridged = H + _RIDGE * eps * max(largest, float(xp.finfo(H.dtype).smallest_normal)) * _eye(H)
    return cho_solve(cho_factor(ridged), b) if xp is np else xp.linalg.solve(ridged, b)


def lower_inverse(triangle: Any) -> Any:
    """Return the inverse of a lower triangle."""
    if isinstance(triangle, np.ndarray):
        return solve_triangular(triangle, _eye(triangle), lower=True)
    return library(triangle).linalg.inv(triangle)


def _eye(H: Any) -> Any:
    if isinstance(H, np.ndarray):
        return np.eye(len(H), dtype=H.dtype)
    from array_api_compat import device

    return library(H).eye(H.shape[0], dtype=H.dtype, device=device(H))
