r"""Kernel matrices in place: the arc-cosine kernel, and kernels of distances in single columns.

The arc-cosine kernel is the share of half-spaces that hold two rows, times their inner product; distances in single
columns are :math:`D=\sum_j|v_j-v'_j|`. The share is :math:`\frac{\pi-\theta}{2\pi} = \frac14+\frac{\arcsin c}{2\pi}`,
c the cosine. Near c = ±1 it comes from
:math:`\arcsin c = \frac\pi2-2\arcsin\sqrt{(1-c)/2}`, and the arcsine below 1/2 from a polynomial, so that a row has no
branch and runs on vector registers.
"""

import math
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from clifford_rand._threads import for_each_slice
from clifford_rand.compiler.decorator import compiled, has_compiler
from clifford_rand_nn.export.program import ARCSINE

_FLAGS = {"contract"}  # products and sums in one instruction
# As `ARCSINE`, of degree 5 with an error of 5e-9.
_F = np.float32
_S0, _S1, _S2 = _F(0.999999995983738), _F(0.16666782005775338), _F(0.07494696687423973)
_S3, _S4, _S5 = _F(0.045520635631714566), _F(0.02399399965364759), _F(0.04241737375979984)
_, _D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10, _D11, _D12 = ARCSINE
# Rows whose cosine is so near to 1 are one, as equal rows are but for rounding: the share is then off by up to 2e-8, in
# single precision 1.6e-4.
SAME, _SAME_SINGLE = 1.0 - 32 * 2.0**-52, _F(1.0 - 4 * 2.0**-23)
_ENTRIES = 2**16  # that are looked through for near ones, and then turned, while they are in cache
_PIECE = 256
_NEAR = 1.0 - 2.0**-14  # an angle of 0.011, which the cosine knows to 1e-14
_LEAST = 64  # rows of a kernel matrix that are worth a thread
_SUMMED = 512  # entries of a row whose sums stay in the first cache
_LOG2 = math.log(2)
_FARTHEST = 80.0  # exp(-80) is rounding of any kernel
_TERMS = {4: 8, 8: 13}  # of the series of exp on |r| ≤ log(2)/2, by bytes of a number: the next is 5e-9, and 4e-18


def arc_inplace(inner: Any, cosines: Any, lengths: Any, lengths2: Any) -> None:
    r"""Multiply inner (n, m) by :math:`(\pi-\theta)/(2\pi)`, cosines (n, m) being those of the angles times lengths.

    All arrays are of one type, float64 (error of the share below 4e-16) or float32 (1e-7), but for cosines next to ±1.
    ``cosines`` may be ``inner`` itself, or a view of the same entries.
    """
    single = inner.dtype == np.float32
    rates = reciprocals(lengths), reciprocals(lengths2)
    if not has_compiler():
        inner *= _shares_by_numpy(cosines, *rates)
    elif np.may_share_memory(inner, cosines):
        (_own_single if single else _own_double)(inner, *rates)
    else:
        (_other_single if single else _other_double)(inner, cosines, *rates)


def _shares_by_numpy(cosines: Any, rates: Any, rates2: Any) -> Any:
    c = cosines * (rates[:, None] * rates2)
    same = SAME if c.dtype == np.float64 else _SAME_SINGLE
    return np.arccos(-np.where(np.abs(c) < same, c, np.sign(c))) * c.dtype.type(0.5 / math.pi)


def reciprocals(lengths: Any) -> Any:
    """Return one over each length, and 0 for a row of zeros, whose inner products are 0."""
    return np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)


@compiled(error_model="numpy", fastmath=_FLAGS)
def _double(c: Any) -> Any:
    size = abs(c) if abs(c) < SAME else 1.0
    near = size > 0.5
    z = 0.5 * (1.0 - size) if near else size * size
    s = math.sqrt(z) if near else size
    p = _D8 + z * (_D9 + z * (_D10 + z * (_D11 + z * _D12)))
    p = 1.0 + z * (_D1 + z * (_D2 + z * (_D3 + z * (_D4 + z * (_D5 + z * (_D6 + z * (_D7 + z * p)))))))
    turn = s * p * (1.0 / math.pi)
    share = 0.5 - turn if near else 0.25 + 0.5 * turn
    return share if c > 0.0 else 0.5 - share


@compiled(error_model="numpy", fastmath=_FLAGS)
def _single(c: Any) -> Any:
    unit, half, quarter, turns = _F(1.0), _F(0.5), _F(0.25), _F(1.0 / math.pi)
    size = abs(c) if abs(c) < _SAME_SINGLE else unit
    near = size > half
    z = half * (unit - size) if near else size * size
    s = math.sqrt(z) if near else size
    turn = s * (_S0 + z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * _S5))))) * turns
    share = half - turn if near else quarter + half * turn
    return share if c > _F(0.0) else half - share


# Two arrays or one: where a compiler cannot tell whether they overlap, it asks, and leaves the vector registers if so.


@compiled(error_model="numpy", fastmath=_FLAGS)
def _own_double(inner: Any, rates: Any, rates2: Any) -> None:
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            inner[i, j] *= _double(inner[i, j] * (rates[i] * rates2[j]))


@compiled(error_model="numpy", fastmath=_FLAGS)
def _own_single(inner: Any, rates: Any, rates2: Any) -> None:
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            inner[i, j] *= _single(inner[i, j] * (rates[i] * rates2[j]))


@compiled(error_model="numpy", fastmath=_FLAGS)
def _other_double(inner: Any, cosines: Any, rates: Any, rates2: Any) -> None:
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            inner[i, j] *= _double(cosines[i, j] * (rates[i] * rates2[j]))


@compiled(error_model="numpy", fastmath=_FLAGS)
def _other_single(inner: Any, cosines: Any, rates: Any, rates2: Any) -> None:
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            inner[i, j] *= _single(cosines[i, j] * (rates[i] * rates2[j]))


def arc_of_rows(inner: Any, rows: Any, rows2: Any, lengths: Any, lengths2: Any) -> None:
    r"""`arc_inplace` for products of given rows (n, k) and others (m, k), exact for near and opposite ones, too.

    A cosine within δ of ±1 knows its angle to :math:`\epsilon/\sqrt{2\delta}` only. Pairs of float64 rows that are so
    near take theirs from the rows, :math:`\sin(\theta/2) = \frac12||u-v||` for unit vectors u and v: the share is
    right to rounding for near-duplicate rows, which are many in measured data, and proofs are about this kernel.
    """
    if inner.dtype == np.float32:
        arc_inplace(inner, inner, lengths, lengths2)
        return
    n, m = inner.shape
    rates, rates2 = reciprocals(lengths), reciprocals(lengths2)
    step = max(1, _ENTRIES // max(m, 1))
    for part in (slice(start, start + step) for start in range(0, n, step)):
        own, rate = inner[part], rates[part]
        i, j = np.divmod(_near(own, rate, rates2), max(m, 1))
        exact = own[i, j] * _near_shares(rows[part], rows2, rate, rates2, i, j) if len(i) else None
        arc_inplace(own, own, lengths[part], lengths2)
        if exact is not None:
            own[i, j] = exact


def _near_by_numpy(cosines: Any, rates: Any, rates2: Any) -> Any:
    return np.flatnonzero(np.abs(cosines * (rates[:, None] * rates2)) > _NEAR)


@compiled(plain=_near_by_numpy, error_model="numpy", fastmath=_FLAGS)
def _near(cosines: Any, rates: Any, rates2: Any) -> Any:
    """Return the places i m + j of cosines (n, m) that are next to ±1: few, but for each row with itself."""
    n, m = cosines.shape
    counts = np.zeros((n, -(-m // _PIECE)), dtype=np.int64)
    for i in range(n):
        for p in range(counts.shape[1]):
            own, rate2, count = cosines[i, p * _PIECE : (p + 1) * _PIECE], rates2[p * _PIECE : (p + 1) * _PIECE], 0
            for j in range(len(own)):
                count += abs(own[j] * (rates[i] * rate2[j])) > _NEAR
            counts[i, p] = count
    places, k = np.empty(counts.sum(), dtype=np.int64), 0
    for i in range(n):
        for p in range(counts.shape[1]):
            if counts[i, p]:
                for j in range(p * _PIECE, min((p + 1) * _PIECE, m)):
                    if abs(cosines[i, j] * (rates[i] * rates2[j])) > _NEAR:
                        places[k] = i * m + j
                        k += 1
    return places


def _near_shares_by_numpy(rows: Any, rows2: Any, rates: Any, rates2: Any, i: Any, j: Any) -> Any:
    u, v = rows[i] * rates[i, None], rows2[j] * rates2[j, None]
    apart, along = ((u - v) ** 2).sum(axis=1), ((u + v) ** 2).sum(axis=1)
    half = np.arcsin(np.minimum(0.5 * np.sqrt(np.minimum(apart, along)), 1.0)) / math.pi
    return np.where(apart <= along, 0.5 - half, half)


@compiled(plain=_near_shares_by_numpy, error_model="numpy")
def _near_shares(rows: Any, rows2: Any, rates: Any, rates2: Any, i: Any, j: Any) -> Any:
    out = np.empty(len(i))
    for k in range(len(i)):
        rate, rate2 = rates[i[k]], rates2[j[k]]
        apart = along = 0.0
        for c in range(rows.shape[1]):
            u, v = rows[i[k], c] * rate, rows2[j[k], c] * rate2
            apart += (u - v) ** 2
            along += (u + v) ** 2
        half = math.asin(min(0.5 * math.sqrt(min(apart, along)), 1.0)) / math.pi
        out[k] = 0.5 - half if apart <= along else half
    return out


def slope_factors(inner: Any, cosines: Any, lengths: Any, lengths2: Any) -> tuple[Any, Any]:
    r"""Return the factors :math:`\kappa=(\pi-\theta)/(2\pi)` (n, m) of slopes of the kernel, and :math:`1/|a|` (n,).

    Inner (n, m) is overwritten by :math:`\rho/(|a||a'|)`, :math:`\rho=z\cdot z'/(2\pi\sin\theta)`, and cosines, which
    are times lengths, by :math:`\rho\cos\theta/|a|`. Where rows are parallel but for rounding the kernel has no
    derivative by the angle: there ρ = 0, the middle of its one-sided ones.
    """
    share = np.ones_like(inner)
    inverse, inverse2 = reciprocals(lengths), reciprocals(lengths2)
    same = inner.dtype.type(1 - 32 * np.finfo(inner.dtype).eps)

    def slopes(part: slice) -> None:
        arc_inplace(share[part], cosines[part], lengths[part], lengths2)
        _turning(inner[part], cosines[part], inverse[part], inverse2, same)

    for_each_slice(slopes, len(inner), least=_LEAST)
    inner *= inverse[:, None]
    cosines *= inner
    inner *= inverse2
    return share, inverse


def _turning_by_numpy(inner: Any, cosines: Any, inverse: Any, inverse2: Any, same: Any) -> None:
    cosines *= inverse[:, None] * inverse2
    apart = np.abs(cosines) < same
    square = np.where(apart, (1 - cosines) * (1 + cosines), 1)
    inner *= np.where(apart, inner.dtype.type(0.5 / math.pi) / np.sqrt(square), 0)


@compiled(plain=_turning_by_numpy, error_model="numpy")
def _turning(inner: Any, cosines: Any, inverse: Any, inverse2: Any, same: Any) -> None:
    """Overwrite inner (n, m) by ρ, 0 where |c| ≥ same, and cosines, times lengths, by cosines c."""
    unit, turns = inner.dtype.type(1.0), inner.dtype.type(0.5 / math.pi)
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            c = cosines[i, j] * (inverse[i] * inverse2[j])
            apart = abs(c) < same
            square = (unit - c) * (unit + c) if apart else unit
            inner[i, j] *= turns / math.sqrt(square) if apart else unit - unit
            cosines[i, j] = c


def add_column_kernel(out: Any, levels: Any, levels2: Any, weight: Any, decays: bool) -> None:
    """Add ``weight`` times 1 - D, or exp(-D), of levels (n, d) and levels2 (d, m), whose rows are contiguous."""
    digits, bytes_each = np.finfo(out.dtype).nmant, out.dtype.itemsize
    series = np.array([1 / math.factorial(k) for k in reversed(range(_TERMS[bytes_each]))], dtype=out.dtype)
    work = np.empty((4, _SUMMED), dtype=out.dtype)
    _add(out, levels, levels2, weight, decays, (work, work[3].view(f"i{bytes_each}"), digits, series))


def _by_scipy(out: Any, levels: Any, levels2: Any, weight: Any, decays: bool, _: Any = None) -> None:
    distances = cdist(levels, levels2.T, "cityblock")
    out += weight * (np.exp(-distances) if decays else 1 - distances)


@compiled(error_model="numpy", fastmath={"contract"})
def _add_exponentials(row: Any, sums: Any, weight: Any, parts: Any) -> None:
    r"""Add ``weight`` times exp(-sums): :math:`e^{-D}=2^ke^r`, k integer, by shifts and a series, as loops of vectors.

    The library's exp is called for each number, which takes as long as the distances of 20 columns.
    """
    work, bits, digits, series = parts
    size, number = len(row), sums.dtype.type
    most, per, log2 = number(_FARTHEST), number(1 / _LOG2), number(_LOG2)
    start = number(1.5) * number(2) ** digits  # the last bits of start + x are the integer next to x
    r, p, power = work[1], work[2], work[3]
    for j in range(size):
        s = most if sums[j] > most else sums[j]
        power[j] = start - s * per
        r[j] = (start - power[j]) * log2 - s  # -D - k log(2)
    p[:size] = series[0]
    for k in range(1, len(series)):
        term = series[k]
        for j in range(size):
            p[j] = p[j] * r[j] + term
    zero = (np.int64(1) << (8 * bits.itemsize - digits - 2)) - 1  # the exponent of 1
    for j in range(size):
        bits[j] = (bits[j] + zero) << digits  # 2^k, as its bits are those of ``power``
    for j in range(size):
        row[j] += weight * p[j] * power[j]


@compiled(plain=_by_scipy, error_model="numpy", fastmath={"contract"})
def _add(out: Any, levels: Any, levels2: Any, weight: Any, decays: bool, parts: Any) -> None:
    (n, m), d = out.shape, len(levels2)
    sums = parts[0][0]
    for start in range(0, m, _SUMMED):
        end = min(start + _SUMMED, m)
        for i in range(n):
            sums[:] = 0
            row, own = out[i, start:end], levels[i]  # slices: indices that cannot be negative are vectorized
            for k in range(0, d - 3, 4):  # sums are read and written once for four columns
                a, b, c, e = own[k], own[k + 1], own[k + 2], own[k + 3]
                first, second = levels2[k, start:end], levels2[k + 1, start:end]
                third, fourth = levels2[k + 2, start:end], levels2[k + 3, start:end]
                for j in range(end - start):
                    sums[j] += (abs(a - first[j]) + abs(b - second[j])) + (abs(c - third[j]) + abs(e - fourth[j]))
            for k in range(d - d % 4, d):
                v, column = own[k], levels2[k, start:end]
                for j in range(end - start):
                    sums[j] += abs(v - column[j])
            if decays:
                _add_exponentials(row, sums, weight, parts)
            else:
                for j in range(end - start):
                    row[j] = (row[j] + weight) - weight * sums[j]
