"""Hyperplanes spanned by subsets of the rows of X, or of [X; I]: their number, draws and elimination of copies."""

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand.crossproduct.exact import cross_log
from clifford_rand.crossproduct.subsets import subsets_of_ranks

_ROUNDS = 32  # how often dependent subsets are drawn again
_LARGE = 64  # rows of a subset, beyond which those that are few are drawn one by one
_EPS = float(np.finfo(np.float64).eps)
_ON_PLANE = 1e-12  # of its length: planes by minors that rows are further off are made by orthogonal reflections
_PLANE = 64 * _EPS  # rounding of x·v + b, relative to max|x| |v|_1 + |b|
# Planes through well-conditioned subsets of the same rows agree to some 1e-15; planes that agree to this are worth one.
_RTOL = 1e-10


def about(count: int) -> str:
    """Return a count in words that no size is too large for: 13,040, or 10^699.5."""
    return f"{count:,}" if count < 10**15 else f"10^{math.log10(count):.1f}"


def row_space(X: Array, bias: bool) -> tuple[int, NDArray[np.intp], Array | None]:
    """Return the rank r of the rows of X, or with ``bias`` of their differences; the columns that vary; and a basis.

    Columns that are zero, with ``bias`` those that are constant, add nothing to any neuron. If the others are dependent
    still, the basis (d, r) of the space of the rows is orthonormal, and else None. Each column counts relative to its
    spread, so that units do not matter.
    """
    varying = np.flatnonzero(X.max(axis=0) - X.min(axis=0) if bias else np.abs(X).max(axis=0))
    few = min(len(X), 4 * varying.size + 8)  # enough to see full rank where it is
    for rows in (X[:few], X) if few < len(X) else (X,):
        some = rows[:, varying]
        centered = some - some.mean(axis=0) if bias else some
        spread = np.abs(centered).max(axis=0, initial=0.0)
        if not varying.size or not (spread > 0).all():
            continue
        sizes = np.linalg.svd(centered / spread, compute_uv=False)
        rounding = float((np.abs(some).max(axis=0) / spread).max())  # of centering, relative to the spread
        rank = int(np.count_nonzero(sizes > max(some.shape) * _EPS * rounding * sizes[0]))
        if rank == varying.size:
            return rank, varying, None
    if not varying.size:
        return 0, varying, None
    whole = np.zeros_like(X)
    whole[:, varying] = X[:, varying] - (X[:, varying].mean(axis=0) if bias else 0.0)
    return rank, varying, np.ascontiguousarray(np.linalg.svd(whole, full_matrices=False)[2][:rank].T)


def count_subsets(n: int, d: int, family: str, bias: bool) -> int:
    r"""Return the number of subsets of n rows in R^d that can span a hyperplane.

    "rows": :math:`\binom{n}{d-1}`, with bias :math:`\binom{n}{d}`. "mixed": :math:`\binom{n+d}{d-1}`, with bias
    :math:`\binom{n+d}{d}-1`, for the d basis vectors alone span no place.

    Examples
    --------
    >>> count_subsets(160, 2, "rows", True), count_subsets(160, 2, "mixed", True)
    (12720, 13040)
    """
    k = d - 1 + bias
    return math.comb(n, k) if family == "rows" else math.comb(n + d, k) - bias


def random_subsets(n: int, k: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return m uniform k-subsets of range(n), each ascending, (m, k): Floyd's algorithm, k steps for all at once.

    Large ones, where these are fewer steps, are drawn one by one.
    """
    if _LARGE < k > m:
        each = [rng.choice(n, k, replace=False, shuffle=False) for _ in range(m)]
        return np.sort(np.array(each, dtype=np.int64).reshape(m, k), axis=1)
    subsets = np.full((m, k), -1, dtype=np.int64)
    for i, last in enumerate(range(n - k, n)):
        drawn = rng.integers(0, last + 1, m)
        taken = (subsets == drawn[:, None]).any(axis=1)
        subsets[:, i] = np.where(taken, last, drawn)
    return np.sort(subsets, axis=1)


def spanned_planes(
    X: Array, subsets: NDArray[Any], bias: bool, p: int, rtol: float | None
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return directions (m, d), of p-norm 1 or 0, and offsets of planes through ``subsets`` (m, k) of rows of [X; I].

    With basis vectors :math:`e_S` among the rows v is 0 on S, and on the other coordinates it is the cross product of
    the data rows there (their differences to the last of them, with ``bias``), so it has exact zeros. The third value
    tells which exist: those whose rows are independent and, with bias, one of which is data.
    """
    n, d = X.shape
    directions = np.zeros((len(subsets), d))
    offsets = np.zeros(len(subsets))
    n_data = np.count_nonzero(subsets < n, axis=1)
    for m in range(int(bias), subsets.shape[1] + 1):
        (place,) = np.nonzero(n_data == m)
        if not len(place):
            continue
        rows, basis = subsets[place, :m], subsets[place, m:] - n
        free = np.ones((len(place), d), dtype=bool)
        np.put_along_axis(free, basis, False, axis=1)
        free_index = np.nonzero(free)[1].reshape(len(place), -1)
        vectors = X[rows[:, :, None], free_index[:, None, :]]
        if bias:
            vectors = vectors[:, :-1] - vectors[:, -1:]
        v = cross_log(vectors, rtol=rtol).direction
        misses = np.abs(np.einsum("mkd,md->mk", vectors, v))
        off = (misses > _ON_PLANE * np.linalg.norm(vectors, axis=2)).any(axis=1)
        if off.any():  # of nearly dependent rows, whose minors cancel
            normals = np.linalg.qr(vectors[off].transpose(0, 2, 1), mode="complete")[0][:, :, -1]
            v[off] = normals * np.sign(np.einsum("md,md->m", normals, v[off]))[:, None]
        norms = np.linalg.norm(v, ord=p, axis=1)
        v /= np.where(norms > 0, norms, 1.0)[:, None]
        directions[place[:, None], free_index] = v
        if bias:
            offsets[place] = -np.einsum("ij,ij->i", directions[place], X[rows[:, -1]])
    return directions, offsets, np.asarray(directions.any(axis=1))


class Draw(NamedTuple):
    """A draw of ``wanted`` distinct subsets, uniform or ``graded`` by their rows of data, within ``max_time``."""

    wanted: int
    rng: np.random.Generator
    graded: bool = False
    max_time: float | None = None


def draw_subsets(
    X: Array, draw: Draw, family: str, bias: bool, rank: int, rtol: float | None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return distinct subsets that span a hyperplane some row is off, as many as wanted or turn up in time, and notes.

    Of rows of rank r below d no more than r - 1 (with bias r) can be in such a subset, next to basis vectors. Graded
    ones of the mixed family are first those of basis vectors alone, where they are at most half, then half of the
    others with one row of data, a quarter with two, and so on; a neuron of m rows has weights on m + 1 columns (with
    bias m), and those on few say most.
    """
    rng, graded = draw.rng, draw.graded and family == "mixed"
    until = None if draw.max_time is None else time.perf_counter() + draw.max_time
    n, d = X.shape
    wanted = int(draw.wanted)  # of NumPy's integers products overflow
    k = d - 1 + bias
    n_rows = n if family == "rows" else n + d
    total = count_subsets(n, d, family, bias)
    few = total <= max(2 * wanted, 1024)  # then all, in random order; else nearly all draws are new
    most_data = min(k, rank - 1 + bias)
    drawn = np.zeros((0, k), dtype=np.int64)
    spanning, late = drawn, False
    for _ in range(_ROUNDS):
        size = wanted - len(spanning) + 8
        if few:
            new = rng.permutation(subsets_of_ranks(n_rows, k, 0, total + int(bias and family == "mixed")))
        elif graded or most_data < k:
            new = _random_mixed((n, d, k), most_data, size, rng, graded)
            if graded and not len(drawn) and 2 * d <= wanted and k < d:
                alone = n + np.array([np.delete(np.arange(d), i) for i in range(d)], dtype=np.int64)
                new = np.concatenate([alone, new])[:size]
        else:
            new = random_subsets(n_rows, k, size, rng)
        together, first = np.unique(np.concatenate([drawn, new]), axis=0, return_index=True)
        new = new[np.sort(first[first >= len(drawn)]) - len(drawn)]
        drawn = together
        for some in [new] if until is None else np.split(new, _starts(len(new))):
            V, b, exist = spanned_planes(X, some, bias, 2, rtol)
            if most_data < k:  # of dependent rows, all may lie on a plane through some
                size = np.abs(X).max() * np.abs(V).sum(axis=1) + np.abs(b)
                exist = exist & (np.abs(X @ V.T + b).max(axis=0) > d * _PLANE * size)
            spanning = np.concatenate([spanning, some[exist]])[:wanted]
            late = until is not None and bool(len(spanning)) and time.perf_counter() > until
            if late or len(spanning) == wanted:
                break
        if late or len(spanning) == wanted or few:
            break
    notes = []
    if late and len(spanning) < wanted:
        notes.append(f"only {len(spanning)} of {about(wanted)} subsets: there was no time for more")
    elif len(spanning) < wanted:
        reason = f"all {about(total)} subsets" if few else f"{len(drawn)} random subsets"
        notes.append(f"only {len(spanning)} of {about(wanted)} subsets: no more of {reason} are independent")
    return spanning, tuple(notes)


def _starts(n: int) -> list[int]:
    """Return the cuts of n subsets into parts of 1, 1, 2, 4, … up to 64, between which the clock is looked at."""
    cuts = [2**i for i in range(7)] + list(range(128, n, 64))
    return [cut for cut in cuts if cut < n]


def _random_mixed(
    sizes: tuple[int, int, int], most_data: int, m: int, rng: np.random.Generator, graded: bool
) -> NDArray[np.int64]:
    """Return m k-subsets of n rows and d basis vectors, at most ``most_data`` of data: uniform, or 2^-i with i rows."""
    n, d, k = sizes
    least = max(1 if graded else 0, k - d)  # subsets of basis vectors alone are drawn apart where they are graded
    counts = np.arange(least, min(n, most_data) + 1)
    shares = 0.5**counts
    if not graded:
        logs = [math.log(math.comb(n, int(i)) * math.comb(d, k - int(i))) for i in counts]
        shares = np.exp(np.array(logs) - max(logs))
    of_data = rng.choice(counts, m, p=shares / shares.sum())
    subsets = np.zeros((m, k), dtype=np.int64)
    for i in np.unique(of_data):
        (place,) = np.nonzero(of_data == i)
        subsets[place, :i] = random_subsets(n, i, len(place), rng)
        subsets[place, i:] = n + random_subsets(d, k - i, len(place), rng)
    return subsets


def distinct(directions: NDArray[Any], offsets: NDArray[Any], X: NDArray[Any]) -> NDArray[np.intp]:
    """Return the indices, ascending, of the first of each set of equal neurons (v_j, b_j): V (d, m) of norm 1, b (m,).

    Offsets are compared at the mean of the rows X, relative to their spread, so that the place of the origin does not
    matter. Equal neurons have equal images under any linear form: sorted by one, they are neighbors.
    """
    mean = X.mean(axis=0)
    spread = float(np.abs(X - mean).max(initial=0.0))
    largest = float(np.abs(X).max(initial=0.0))
    scale = max(spread, largest * _PLANE / _RTOL)
    centered = (offsets + mean @ directions) / scale if scale > 0 else offsets
    points = np.concatenate([directions, centered[None]]).T  # (m, d + 1)
    form = np.random.default_rng(0).uniform(-1, 1, points.shape[1])  # any fixed one; a random one separates grids
    place = points @ form
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-np.inf) > 2 * _RTOL * points.shape[1])
    keep = np.ones(len(points), dtype=bool)
    sizes = np.diff(starts, append=len(order))
    for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
        rest = np.sort(order[start : start + size])
        while len(rest) > 1:
            same = (np.abs(points[rest] - points[rest[0]]) <= _RTOL).all(axis=1)
            keep[rest[same][1:]] = False
            rest = rest[~same]
    return np.flatnonzero(keep)
