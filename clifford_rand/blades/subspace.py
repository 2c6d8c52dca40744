"""Subspaces by orthonormal rows, without a metric: angles, distances, sums, intersections, pivots, geodesics.

`FactoredRows` are rows that stay where they are, on disk or sparse; nothing here has d × d numbers.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, NDArray
from clifford_rand.blades.blocks import (
    Rows,
    Stacked,
    combined,
    finite_peaks,
    moderate,
    product,
    solved,
    triangle,
    written,
)
from clifford_rand.blades.determinant import log_det
from clifford_rand.blades.rows import LARGEST_GRAM_RTOL, ORDINARY, default_rtol, is_singular, relative
from clifford_rand.geometry.subspaces import outside, turned_away, with_common_part

_LEAST_SQUARE = 0.01  # of a sine: rows divided by it are orthogonal to 100 eps
_POOL = 512  # columns among which pivots are looked for
_TIE = 1e-6  # columns this near to the longest count as longest too, so that rounding does not choose among them
_NEAR = math.cos(0.05)  # from which on sines are needed: an angle θ from its cosine is off by eps/θ
_GOOD = 0.1  # least eigenvalue of a Gram matrix of rows of length 1, from which on nothing but a digit is lost
_INSIDE = 1e-6  # of a tangent's length: what of it may lie in the subspace, where others have another base
_NOISE = 64  # times eps, in radians: the same of a tangent that is nothing but rounding


class FactoredRows:
    """Rows as they are given, with their triangular factor and an orthonormal basis, computed when first needed."""

    def __init__(self, source: Rows, rtol: float | None) -> None:
        self.source, self.rtol = source, rtol

    @cached_property
    def scaled(self) -> tuple[Rows, float, Array]:
        """Rows r of ordinary sizes, log with a1∧…∧ak = exp(log) r1∧…∧rk, and the Gram matrix of r."""
        rows, log = self.source, 0.0
        gram = product(rows, rows)
        squares = gram.diagonal()
        if not np.all((squares >= ORDINARY[0]) & (squares <= ORDINARY[1])):
            rows, log = moderate(rows, "factors", "LargeBlade")
            gram = product(rows, rows)
        return rows, log, gram

    @cached_property
    def factor(self) -> tuple[Array, bool]:
        """T with r = T Q, and whether by the Gram matrix."""
        return triangle(self.scaled[0], self.scaled[2].copy())

    @cached_property
    def is_zero(self) -> bool:
        """Whether the rows are dependent."""
        T, by_gram = self.factor
        rtol = default_rtol(len(T), self.source.dtype) if self.rtol is None else self.rtol
        return not (by_gram and rtol <= LARGEST_GRAM_RTOL) and bool(is_singular(T.T, rtol))

    @cached_property
    def frame(self) -> tuple[Rows, Array]:
        """Rows of the subspace and W, so that W rows are orthonormal to a few eps.

        Where the rows are nearly dependent, T⁻¹ rows are orthonormal to eps times their condition, and have another T.
        """
        T, by_gram = self.factor
        rows = self.scaled[0]
        unit = T / np.linalg.norm(T, axis=1, keepdims=True)
        if by_gram and np.linalg.eigvalsh(unit @ unit.T).min(initial=1.0) >= _GOOD:
            return rows, np.asarray(np.linalg.inv(T), dtype=np.float64)
        rows = solved(T, rows)
        return rows, np.asarray(np.linalg.inv(triangle(rows)[0]), dtype=np.float64)

    def log_inner(self, other: "FactoredRows") -> tuple[float, float]:
        """Return sign and log of |det(a_i · b_j)| for as many rows."""
        (A, log_a, _), (B, log_b, _) = self.scaled, other.scaled
        sign, log, doubtful = log_det(product(A, B))
        if not sign or (doubtful and (self.is_zero or other.is_zero)):
            return 0.0, -math.inf
        return float(sign), float(log) + log_a + log_b

    def cosines(self, other: "FactoredRows") -> Array:
        """Return the products of both orthonormal bases (j, k)."""
        (P, V), (Q, W) = self.frame, other.frame
        return np.asarray(V @ product(P, Q) @ W.T)

    def sines(self, other: "FactoredRows", cosines: Array | None = None) -> tuple[Array, Array]:
        """Return (U, sines): sines of this subspace's directions Uᵀ Q to the other, largest first."""
        cosines = self.cosines(other) if cosines is None else cosines
        (P, V), (Q, W) = self.frame, other.frame
        # the parts of this orthonormal basis that are orthogonal to the other subspace
        outside = combined(np.concatenate([V, -cosines @ W], axis=1), Stacked(P, Q))
        turn, sine = np.linalg.svd(triangle(outside)[0])[:2]
        return turn, np.minimum(sine, 1.0)

    def principal_angles(self, other: "FactoredRows") -> Array:
        """Return the angles to a subspace that is not smaller, smallest first."""
        products = self.cosines(other)
        cosine = np.minimum(np.linalg.svd(products, compute_uv=False), 1.0)
        angle = np.arccos(cosine)
        near = cosine > _NEAR
        if near.any():
            angle[near] = np.arcsin(self.sines(other, products)[1][::-1])[near]
        return np.asarray(angle)

    def coordinates(self, vectors: Rows) -> Array:
        """Return the products of vectors with the orthonormal basis (n, k)."""
        rows, inverse = self.frame
        products = product(vectors, rows)
        if not np.isfinite(products).all():
            finite_peaks(vectors, "X", "LargeBlade")
        return np.asarray(products @ inverse.T)


def sines(P: Array, Q: Array) -> Array:
    """Return the sines of the angles of Q's principal directions to P's span (..., b), largest first."""
    if Q.shape[-2] == 0:
        return np.zeros((*np.broadcast_shapes(P.shape[:-2], Q.shape[:-2]), 0))
    return np.asarray(np.minimum(np.linalg.svd(outside(Q, P), compute_uv=False), 1.0))


def principal_angles(P: Array, Q: Array) -> Array:
    """Return the angles (..., min(a, b)), smallest first: small ones by their sines, large ones by their cosines."""
    small, large = (P, Q) if P.shape[-2] <= Q.shape[-2] else (Q, P)
    if small.shape[-2] == 0:
        return sines(large, small)
    cosine = np.minimum(np.linalg.svd(small @ large.swapaxes(-1, -2), compute_uv=False), 1.0)
    sine = sines(large, small)[..., ::-1]
    return np.where(cosine**2 > 0.5, np.arcsin(sine), np.arccos(cosine))


def _log_cosines(angle: Array) -> Array:
    """Return the sum of log cos θ, exact to rounding for small angles too."""
    with np.errstate(divide="ignore"):
        terms: Array = np.where(angle < np.pi / 4, np.log1p(-(np.sin(angle) ** 2)) / 2, np.log(np.abs(np.cos(angle))))
    return np.asarray(terms.sum(axis=-1))


def _binet_cauchy(angle: Array) -> Array:
    return np.asarray(np.sqrt(-np.expm1(2 * _log_cosines(angle))))


# Ye and Lim, "Schubert varieties and distances between subspaces of different dimensions", 2016, table 2
DISTANCES: dict[str, Callable[[Array], Array]] = {
    "geodesic": lambda angle: np.sqrt((angle**2).sum(axis=-1)),
    "chordal": lambda angle: np.sqrt((np.sin(angle) ** 2).sum(axis=-1)),
    "projection": lambda angle: np.sin(angle.max(axis=-1, initial=0)),
    "fubini_study": lambda angle: np.arctan2(_binet_cauchy(angle), np.exp(_log_cosines(angle))),
    "binet_cauchy": _binet_cauchy,
    "procrustes": lambda angle: 2 * np.sqrt((np.sin(angle / 2) ** 2).sum(axis=-1)),
    "asimov": lambda angle: angle.max(axis=-1, initial=0),
    "spectral": lambda angle: 2 * np.sin(angle.max(axis=-1, initial=0) / 2),
    "martin": lambda angle: np.sqrt(-2 * _log_cosines(angle)),
}


class Common(NamedTuple):
    """Bases of two subspaces that share the rows of their intersection.

    A is spanned by only_a (..., a-m, d) and common (..., m, d), B by common and only_b, each orthonormal; the signs are
    those of only_a∧common against A's orthonormal rows, and of common∧only_b against B's.
    """

    only_a: Array
    common: Array
    only_b: Array
    sign_a: Array
    sign_b: Array


def only_angles(P: Array, Q: Array, rtol: float) -> tuple[Array, Array, Array] | None:
    """Return (V, log, sign) if no direction of Q's span is near to P's, else None: q1∧… = ± Π sin θ v1∧… beside P.

    V (..., b, d) are orthonormal rows, orthogonal to P, with p1∧…∧q1∧… = sign · exp(log) · p1∧…∧v1∧…. By the
    eigenvectors of the Gram matrix of what of Q is outside P; sines below 0.1, and ``rtol``, are left to `common_part`.
    """
    if not Q.shape[-2] or P.shape[-2] + Q.shape[-2] > P.shape[-1]:
        return None
    rest = outside(Q, P)
    squares, turn = np.linalg.eigh(rest @ rest.swapaxes(-1, -2))
    if not np.all(squares[..., 0] > max(_LEAST_SQUARE, 4 * rtol**2)):
        return None
    sine = np.sqrt(squares)
    V = (turn.swapaxes(-1, -2) @ rest) / sine[..., None]
    return V, np.log(sine).sum(axis=-1), np.sign(np.linalg.det(turn))


def common_part(P: Array, Q: Array, rtol: float, owner: str) -> Common:
    """Return adapted bases of the spans of P (..., a, d) and Q (..., b, d); common is what has a sine ≤ ``rtol``."""
    batch = np.broadcast_shapes(P.shape[:-2], Q.shape[:-2])
    P, Q = (np.broadcast_to(X, (*batch, *X.shape[-2:])) for X in (P, Q))
    a, b, d = P.shape[-2], Q.shape[-2], P.shape[-1]
    Q_turned, sine = turned_away(P, Q)
    # two subspaces of dimensions a + b > d always share a + b - d directions
    counts = np.unique(np.maximum((sine <= rtol).sum(axis=-1), a + b - d))
    if len(counts) > 1:
        raise fail(
            "b",
            owner,
            "of intersections with one dimension throughout the batch",
            describe(f"dimensions from {counts[0]} to {counts[-1]}"),
            "Index the batch, and take its blades one by one.",
        )
    m = int(counts[0]) if len(counts) else max(0, a + b - d)
    only_a, common, only_b = with_common_part(P, Q_turned, m)
    sign_a = _orientation(np.concatenate([only_a, common], axis=-2), P)
    sign_b = _orientation(np.concatenate([common, only_b], axis=-2), Q)
    return Common(only_a, common, only_b, sign_a, sign_b)


def _orientation(X: Array, Q: Array) -> Any:
    return np.sign(np.linalg.det(X @ Q.swapaxes(-1, -2)))


def pivots(Q: Array) -> NDArray[np.int64]:
    """Return k columns (k,) of orthonormal rows Q (k, d), ascending, which depend on the span alone.

    Greedy: each time the column with the largest part orthogonal to those taken, the first of equal ones. The squares
    of these parts sum to the number of columns still to take, so none that is taken is small. O(k² d).
    """
    k, d = Q.shape
    if k == d:
        return np.arange(d)
    units = np.empty((k, k))
    size = np.einsum("ij,ij->j", Q, Q)
    taken: list[int] = []
    pool_size = _POOL
    while len(taken) < k:
        # no part grows, so a few columns with the largest parts are enough until others may be as large
        first = len(taken)
        pool = np.sort(np.argpartition(size, d - pool_size)[d - pool_size :]) if pool_size < d else np.arange(d)
        left, within = size[pool], np.ascontiguousarray(Q[:, pool])
        outer = float(np.delete(size, pool).max(initial=0.0)) if pool_size < d else 0.0
        while len(taken) < k:
            largest = (1 - _TIE) * left.max()
            if largest <= outer:
                break
            column = int(np.argmax(left >= largest))
            unit, before = within[:, column], units[: len(taken)]
            for _ in range(2):
                unit = unit - (before @ unit) @ before
            unit = unit / math.sqrt(unit @ unit)
            units[len(taken)] = unit
            part = unit @ within  # as of what is left of Q: the units are orthogonal
            left -= part * part
            left[column] = -np.inf
            taken.append(int(pool[column]))
        if pool_size < d:
            size -= np.square(units[first : len(taken)] @ Q).sum(axis=0)
            size[taken] = -np.inf
            pool_size = _POOL if len(taken) > first else min(d, 4 * pool_size)
    return np.sort(np.array(taken, dtype=np.int64))


def batch_pivots(Q: Array) -> NDArray[np.int64]:
    """Return the pivots (..., k) of each matrix of a batch (..., k, d)."""
    columns = np.empty(Q.shape[:-1], dtype=np.int64)
    for index in np.ndindex(*Q.shape[:-2]):
        columns[index] = pivots(Q[index])
    return columns


def orientation(Q: Array) -> Any:
    """Return the sign (...) of the coefficient that q1∧…∧qk has at its pivots."""
    place = batch_pivots(Q)
    return np.sign(np.linalg.det(np.take_along_axis(Q, place[..., None, :], axis=-1)))


def log_weights(cosines: Array) -> tuple[Array, Array]:
    """Return A and B (..., k, k) with log = A Q - B P, of products P Qᵀ of orthonormal rows.

    With P Qᵀ = U cos(θ) Vᵀ they are A = U θ/sin(θ) Vᵀ and B = U θ cos(θ)/sin(θ) Uᵀ. Both are as exact as the products:
    θ/sin θ of a small θ is 1 to θ², and 1 is the sine at the cut locus θ = π/2.
    """
    U, cosine, V = np.linalg.svd(cosines)
    cosine = np.minimum(cosine, 1.0)
    left = U / np.sinc(np.arccos(cosine) / np.pi)[..., None, :]
    return left @ V, (left * cosine[..., None, :]) @ U.swapaxes(-1, -2)


def exp_weights(gram: Array) -> tuple[Array, Array]:
    """Return cos √K and sin √K / √K (..., k, k) of K = Δ Δᵀ: exp(Δ) is spanned by cos(√K) P + sin(√K)/√K Δ."""
    square, U = np.linalg.eigh(gram)
    angle = np.sqrt(np.maximum(square, 0.0))[..., None, :]
    back = U.swapaxes(-1, -2)
    return (U * np.cos(angle)) @ back, (U * np.sinc(angle / np.pi)) @ back


def check_tangent(inside: Array, gram: Array, dtype: Any) -> None:
    """Refuse rows Δ that are not orthogonal to the subspace; ``inside`` are their products Δ Pᵀ."""
    with np.errstate(over="ignore"):
        length = np.sqrt(np.trace(gram, axis1=-2, axis2=-1))
        rest = np.linalg.norm(inside, axis=(-2, -1))
    if np.any(rest > relative(dtype, _INSIDE) * length + _NOISE * np.finfo(dtype).eps):
        received = describe(f"a share of {float((rest / np.where(length > 0, length, 1)).max()):.2g} inside it")
        hint = "A tangent belongs to the blade whose log gave it."
        raise fail("tangent", "exp", "of rows orthogonal to the subspace", received, hint)


def log_of_rows(P: FactoredRows, Q: FactoredRows, out: NDArray[Any] | None) -> NDArray[Any]:
    """Return the tangent (k, d) at P whose exponential is Q."""
    (p, V), (q, W) = P.frame, Q.frame
    A, B = log_weights(P.cosines(Q))
    both = Stacked(q, p)
    tangent = combined(np.concatenate([A @ W, -B @ V], axis=1), both)
    inside = P.coordinates(tangent)  # what rounding left
    return written(combined(np.concatenate([A @ W, -(B + inside) @ V], axis=1), both), out, "log")


def exp_of_rows(P: FactoredRows, tangent: Rows) -> Rows:
    """Return orthonormal rows that span the exponential of a tangent at P."""
    rows, inverse = P.frame
    gram = product(tangent, tangent)
    if not np.isfinite(gram).all():
        finite_peaks(tangent, "tangent", "exp")
    check_tangent(P.coordinates(tangent), gram, tangent.dtype)
    cosine, sine = exp_weights(gram)
    return combined(np.concatenate([cosine @ inverse, sine], axis=1), Stacked(rows, tangent))
