"""Vectors kept as ``vector * 2**exponent``, what every path to a cross product returns, so that nothing overflows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_LN2 = float(np.log(2.0))
_SHORT = 8
_CHUNK = 2**15  # entries at a time: larger temporaries leave the cache, and are new pages every time
_BEYOND_EVERY_FLOAT = 1 << 14  # exponents past this overflow or underflow whatever the mantissa


class ScaledVectors(NamedTuple):
    """m vectors ``vector[b] * 2**exponent[b]``; a zero vector stands for rank-deficient rows.

    Attributes
    ----------
    vector : (m, d) float array of moderate size
    exponent : (m,) int64 array
    """

    vector: NDArray[Any]
    exponent: NDArray[np.int64]


def row_peaks(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the largest absolute entry along the last axis, without an array of absolute values."""
    if 1 <= rows.shape[-1] <= _SHORT:  # NumPy reduces a short last axis at 20 ns a row, columns at 1 ns an entry
        columns: NDArray[Any] = np.abs(rows[..., 0])
        for i in range(1, rows.shape[-1]):
            columns = np.maximum(columns, np.abs(rows[..., i]))
        return columns
    peaks: NDArray[Any] = np.maximum(rows.max(axis=-1), -rows.min(axis=-1))
    return peaks


def unit_scaled(
    X: NDArray[Any], axis: int | None = -1, peaks: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.intc]]:
    """Return ``X * 2**-exponent``, its largest absolute entries along ``axis`` in [1/2, 1) or 0, and the exponents.

    A power of two changes no digit, so that squares and products neither overflow nor vanish and nothing else is lost;
    `numpy.ldexp` is exact where 2**-exponent itself is not a float. ``peaks`` are the largest entries, where known.
    """
    if peaks is None:
        peaks = row_peaks(X) if axis == -1 else np.abs(X).max(axis=axis)
    exponent: NDArray[np.intc] = np.frexp(peaks)[1]
    return np.ldexp(X, -exponent if axis is None else -np.expand_dims(exponent, axis)), exponent


def renormalized(scaled: ScaledVectors) -> ScaledVectors:
    """Return the same vectors with every non-zero ``vector[b]`` of peak in [1/2, 1)."""
    vector, shift = unit_scaled(scaled.vector)
    return ScaledVectors(vector, scaled.exponent + shift)


def to_value(scaled: ScaledVectors) -> NDArray[Any]:
    """Return ``vector * 2**exponent`` (m, d): exact scaling, inf or 0 where the format ends, never NaN.

    The vectors are the caller's own: where every exponent is 0 they are the result.
    """
    if not scaled.exponent.any():
        np.add(scaled.vector, 0.0, out=scaled.vector)
        return scaled.vector
    exponent = np.clip(scaled.exponent, -_BEYOND_EVERY_FLOAT, _BEYOND_EVERY_FLOAT).astype(np.int32)
    value: NDArray[Any] = np.ldexp(scaled.vector, exponent[:, None])
    value += 0.0  # turns -0 to 0
    return value


def to_direction(scaled: ScaledVectors) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return unit directions (m, d) and natural log-norms (m,), both in the vectors' dtype; 0 and -inf for zeros."""
    m, d = scaled.vector.shape
    direction, log_norm = np.empty_like(scaled.vector), np.empty(m, scaled.vector.dtype)
    step = max(1, _CHUNK // d)
    for start in range(0, m, step):
        part = slice(start, start + step)
        _write_direction(*renormalized(ScaledVectors(*(x[part] for x in scaled))), direction[part], log_norm[part])
    return direction, log_norm


def _write_direction(
    vector: NDArray[Any], exponent: NDArray[np.int64], direction: NDArray[Any], log_norm: NDArray[Any]
) -> None:
    # float64 for the norm; it lies in [1/2, √d), or is 0
    norm = np.sqrt(np.einsum("bi,bi->b", vector, vector, dtype=np.float64))
    zero = norm == 0.0
    norm[zero] = 1.0
    log_norm[:] = np.where(zero, -np.inf, np.log(norm) + exponent * _LN2)
    direction[:] = vector / norm[:, None]
    direction += 0.0
