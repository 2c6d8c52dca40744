"""Parts of losses, on arrays of any library: SciPy's functions for NumPy, the array API's for rows on a device."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import entr, expit
from scipy.special import softmax as scipy_softmax

from clifford_rand._typing import Array
from clifford_rand.compiler.decorator import compiled

_RIDGE = 450 * 2.0**-52  # of the largest diagonal entry, so that a factorization succeeds
_LEAST = np.finfo(float).tiny


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
    terms = -p * xp.log(xp.where(inside, p, xp.ones_like(p)))
    return xp.where(inside, terms, xp.where(p == 0, xp.zeros_like(p), xp.zeros_like(p) - float("inf")))


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


def solve(H: Array, b: Array) -> Array:
    """Solve a symmetric positive semidefinite system, with a ridge at rounding level; the caller repeats the step."""
    largest = float(H.diagonal().max(initial=0.0))
    if not largest > 0:
        return np.zeros_like(b)  # nothing is free to move
    return np.asarray(cho_solve(cho_factor(H + _RIDGE * max(largest, _LEAST) * np.eye(len(H))), b))


_ROWS = 128  # that are added up before they are added to the rest, so that rounding stays small
_HALF_ROOT = np.float64(0.5**0.5).view(np.int64)
_LOG_2, _ROOT_2 = np.log(2.0), 2.0**0.5


@compiled(error_model="numpy", inline="always")
def _series(z: Any) -> Any:
    """Return (artanh s / s - 1) / z of z = s², |s| < 0.173."""
    return 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z * (1 / 13 + z * (1 / 15 + z / 17))))))


@compiled(error_model="numpy", inline="always")
def _log(x: Any) -> Any:
    """Return log x of x >= 2^-1022, to 5e-16 of max(1, |log x|), by operations that are done several at a time.

    x = 2^e m with m in [1/√2, √2), and log m = 2 artanh s of s = (m-1)/(m+1), |s| < 0.172.
    """
    e = (np.float64(x).view(np.int64) - _HALF_ROOT) >> np.int64(52)
    m = np.int64(np.float64(x).view(np.int64) - (e << np.int64(52))).view(np.float64)
    s = (m - 1) / (m + 1)
    z = s * s
    return e * _LOG_2 + 2 * s * (1 + z * _series(z))


@compiled(error_model="numpy", inline="always")
def _complement(p: Any) -> Any:
    """Return -(1 - p) log(1 - p) of p in [0, 1], exact also where 1 - p rounds to 1."""
    near, q = p < 0.25, 1 - p
    s = -p / (2 - p)
    return -q * (2 * s * (1 + s * s * _series(s * s)) if near else _log(max(q, _LEAST)))


@compiled(error_model="numpy", inline="always")
def _log1p(x: Any) -> Any:
    """Return log(1 + x) of x in [0, 1], to some roundings: 2 artanh of x/(2+x), or log 2 + log of half of 1 + x."""
    large = x > _ROOT_2 - 1
    s = (x - 1 if large else x) / (x + 3 if large else x + 2)
    return (_LOG_2 if large else 0.0) + 2 * s * (1 + s * s * _series(s * s))


def _rays_by_numpy(f: Any, y: Any, w: Any, scales: Any, theta: Any) -> NDArray[np.float64]:
    a = expit(-y * f)
    theta[:] = w * y * a
    entropies = [w @ (entr(s * a) + complement_entropy(s * a)) for s in scales]
    return np.array([w @ softplus(-y * f), *entropies])


@compiled(plain=_rays_by_numpy, error_model="numpy", fastmath={"reassoc", "contract"})
def logistic_rays(f: Any, y: Any, w: Any, scales: Any, theta: Any) -> NDArray[np.float64]:
    """Return the sums of w log(1 + exp(-yf)) and, for every s, of the entropies w H(s a); fill theta with w y a.

    All of f, y, w and theta are (n,); a = 1/(1 + exp(yf)), and H(p) = -p log p - (1-p) log(1-p).
    """
    count, logs = scales.size, np.log(scales)
    total = np.zeros(1 + count)
    share, log_share = np.empty(_ROWS), np.empty(_ROWS)
    for begin in range(0, f.size, _ROWS):
        n = min(_ROWS, f.size - begin)
        for i in range(n):
            share[i] = np.exp(-abs(y[begin + i] * f[begin + i]))
        part = 0.0
        for i in range(n):
            k = begin + i
            m, e = -y[k] * f[k], share[i]
            log_1p = _log1p(e)
            a = (1.0 if m >= 0 else e) / (1 + e)
            part += w[k] * (max(m, 0.0) + log_1p)
            theta[k] = w[k] * y[k] * a
            share[i], log_share[i] = a, min(m, 0.0) - log_1p
        total[0] += part
        for j in range(count):
            s, part = scales[j], 0.0
            for i in range(n):
                p, k = s * share[i], begin + i
                part += w[k] * (_complement(p) - p * (logs[j] + log_share[i]))
            total[1 + j] += part
    return total
