"""A multivector in the smallest unit algebra that holds it: the basis vectors it uses, made orthonormal.

Inverse and exponential lie in the subalgebra that the used basis vectors generate, so d = 40 costs no more than the
three vectors that occur; and in an orthonormal basis (squares 0, 1, -1) sums of components bound products.
"""

from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import copy_by_component
from clifford_rand.basis.keys import Keys, keys_of_array, keys_of_grades
from clifford_rand.basis.metric import Metric, metric_of_gram
from clifford_rand.basis.rules import as_masks, bits_of
from clifford_rand.plans.representation import move_components

LARGEST_DENSE = 20  # used basis vectors: 2^20 components, matrices of 1024 rows
LARGEST_DIMENSION = 12  # even elements have 2^(d-1) components, each iteration a product of two of them
_NEAR = 8.0  # largest component in null directions, of the largest other, that is computed with as it is
Array = NDArray[Any]


def used_vectors(keys: Keys) -> int:
    """Return the mask of the basis vectors that occur in the blades of ``keys``."""
    if keys.complete and any(k > 0 for k in keys.grades):
        return (1 << keys.d) - 1
    return reduce(int.__or__, map(int, keys.masks), 0)


def closed_keys(U: MV) -> Keys:
    """Return the keys of functions of U: all blades, or the even ones."""
    return keys_of_grades(U.keys.d, tuple(range(0, U.keys.d + 1, 2 if all(k % 2 == 0 for k in U.grades) else 1)))


def unit_form(A: MV, owner: str) -> "UnitForm":
    """Return the unit algebra of the basis vectors that ``A`` uses (numeric metrics)."""
    used = used_vectors(A.keys)
    if used.bit_count() > LARGEST_DENSE:
        rule = f"a versor, or else made of at most {LARGEST_DENSE} basis vectors"
        raise fail("A", owner, rule, describe(f"a general multivector that uses {used.bit_count()} basis vectors"))
    return _form(A.algebra, used)


def full_form(A: MV) -> "UnitForm":
    """Return the unit algebra of all basis vectors (numeric metrics)."""
    return _form(A.algebra, (1 << A.algebra.d) - 1)


def span_form(A: MV, most: int) -> "UnitForm | None":
    """Return the unit algebra of the vectors that ``A`` uses and of up to two more of each sign, orthogonal to them.

    A logarithm may need one plane more for a full turn. None if that is no smaller than the algebra, or above ``most``.
    """
    metric, d = A.algebra.form, A.algebra.d
    if d <= 5 or (A.keys.complete and d <= most) or not metric.is_numeric:
        return None
    used = used_vectors(A.sparse().keys)
    indices = bits_of(used)
    squares = np.sign(np.diag(metric.gram) if metric.diagonal is None else metric.diagonal)
    if metric.diagonal is None:
        squares = np.where(metric.gram[indices].any(axis=0), 0, squares)  # those are not orthogonal to what is used
    squares[indices] = 0
    spare = [i for sign in (1, -1) for i in np.flatnonzero(squares == sign).tolist()[:2]]
    total = indices + spare[: max(0, most - len(indices))]
    if len(indices) > most or len(total) >= d:
        return None
    return _form(A.algebra, sum(1 << i for i in total))


class UnitForm:
    """The way to and from the unit algebra: null vectors first, then those with squares 1 and -1 in their order.

    ``algebra`` is the unit algebra, ``signature`` its squares and ``null`` the number of its null vectors.
    """

    def __init__(self, algebra: Any, used: int) -> None:
        metric: Metric = algebra.form
        vectors = bits_of(used) or [0][: metric.d]  # a scalar needs any one vector
        if metric.diagonal is None:
            metric = metric_of_gram(metric.gram[np.ix_(vectors, vectors)])
            diagonal = metric.diagonal
        else:
            diagonal = metric.diagonal[vectors]
        self.change: NDArray[np.float64] | None = None
        if diagonal is None:
            inner, change = metric.congruence
            diagonal = inner.diagonal
            assert diagonal is not None
            order = np.argsort(diagonal != 0, kind="stable")
            self.change = change.T[order]  # column i: vector i in the orthonormal basis
            size = np.ones(len(order))
        else:
            order = np.argsort(diagonal != 0, kind="stable")
            vectors = [vectors[i] for i in order]
            size = np.sqrt(np.abs(diagonal[order].astype(np.float64)))
            size[size == 0] = 1.0
        self.vectors = tuple(vectors)
        self.size = tuple(size.tolist())
        self.signature = tuple(int(value) for value in np.sign(diagonal[order]))
        self.null = self.signature.count(0)
        self.is_own = self.change is None and np.all(size == 1) and vectors == list(range(algebra.d))
        self.algebra = algebra if self.is_own else type(algebra)(signature=self.signature)

    def take(self, A: MV) -> MV:
        """Return the multivector in the unit algebra."""
        if self.is_own:
            return A
        keys, source, factor = _relabelled(A.keys, self.vectors, self.size)
        array = A.coefficients[..., source] * factor.astype(A.coefficients.real.dtype)
        if self.change is not None:
            keys, array = self._moved(keys, array, self.change)
        moved = A.new(keys, array)
        moved.algebra = self.algebra
        return moved

    def give(self, B: MV, A: MV) -> MV:
        """Return a multivector of the unit algebra in the algebra of ``A``."""
        if self.is_own:  # of an equal algebra, maybe, whose basis vectors have other names
            return B if B.algebra is A.algebra else A.new(B.keys, B.coefficients)
        keys, array = B.keys, B.coefficients
        if self.change is not None:
            keys, array = self._moved(keys, array, np.asarray(np.linalg.inv(self.change), dtype=np.float64))
        keys, source, factor = _restored(keys, self.vectors, self.size, A.algebra.d)
        return A.new(keys, array[..., source] * factor.astype(array.real.dtype))

    def _moved(self, keys: Keys, array: NDArray[Any], F: NDArray[np.float64]) -> tuple[Keys, NDArray[Any]]:
        """Apply a change of basis: the grades stay."""
        filled = keys.filled
        return filled, move_components(array, keys.masks, F, filled.masks).astype(array.dtype, copy=False)


_form = lru_cache(maxsize=64)(UnitForm)


@lru_cache(maxsize=256)
def _relabelled(
    keys: Keys, vectors: tuple[int, ...], size: tuple[float, ...]
) -> tuple[Keys, NDArray[np.int64], NDArray[np.float64]]:
    """Return new keys, and the source and the factor of each component; new vector j is ``vectors[j]/size[j]``."""
    masks = np.zeros(keys.size, dtype=np.int64)
    for j, i in enumerate(vectors):
        masks |= np.asarray(keys.masks >> i & 1, dtype=np.int64) << j
    new, position = keys_of_array(len(vectors), masks)
    return new, np.argsort(position), _factor(new, vectors, size)


@lru_cache(maxsize=256)
def _restored(
    keys: Keys, vectors: tuple[int, ...], size: tuple[float, ...], d: int
) -> tuple[Keys, NDArray[np.int64], NDArray[np.float64]]:
    """Return the keys in ``d`` dimensions, and the source and the factor of each of their components."""
    masks = as_masks([sum(1 << i for j, i in enumerate(vectors) if int(mask) >> j & 1) for mask in keys.masks], d)
    old, position = keys_of_array(d, masks)
    source = np.argsort(position)
    return old, source, 1.0 / _factor(keys, vectors, size)[source]


def _factor(keys: Keys, vectors: tuple[int, ...], size: tuple[float, ...]) -> NDArray[np.float64]:
    """Return ± the product of the sizes for each blade, the sign from putting its vectors in their new order."""
    bits = [(keys.masks >> j & 1).astype(np.int64) for j in range(len(vectors))]
    factor = np.ones(keys.size)
    for j, i in enumerate(vectors):
        factor[bits[j] == 1] *= size[j]
        for h in range(j):
            if vectors[h] > i:
                factor[(bits[h] & bits[j]) == 1] *= -1
    return factor


# ---- bivectors as matrices of so(G), in an orthonormal frame, where every metric is one of 1, -1 and 0
#
# Logarithms and splits are questions about the Lie algebra so(G). They are answered in a frame f with
# e_i = Σ_j T_ij f_j, in which bivectors are antisymmetric matrices b (B = Σ_{i<j} b_ij f_i f_j) and act on vectors by
# x ↦ Bx - xB, the matrix ``2 b diag(g)``.


def working_dtype(mv: MV, owner: str) -> np.dtype:
    """Return float64 or complex128, in which an iterative function of ``mv`` works; an error for exact numbers."""
    kind = mv.dtype.kind
    if kind == "O":
        raise fail("A", owner, "of floating or integer coefficients", describe("dtype object"), "Use astype(float).")
    if kind in "fc" and not np.isfinite(mv.coefficients).all():
        raise fail("A", owner, "finite", describe("NaN or infinite coefficients"))
    return np.dtype(np.complex128 if kind == "c" else np.float64)


class Frame:
    """The unit algebra of all basis vectors: their squares ``signs`` (d,), the way from coefficients and back."""

    def __init__(self, algebra: Any) -> None:
        self.d = d = algebra.d
        self._form = _form(algebra, (1 << d) - 1)
        self.algebra = self._form.algebra
        self.signs: NDArray[np.float64] = np.array(self._form.signature, dtype=np.float64)
        self.live = np.flatnonzero(self.signs)
        self.null = np.flatnonzero(self.signs == 0)
        self.even = keys_of_grades(d, tuple(range(0, d + 1, 2)))
        self.bivectors = keys_of_grades(d, (2,) if d > 1 else ())
        self.upper = np.triu_indices(d, 1)  # the order of the bivectors: lexicographic

    def enter(self, mv: MV, keys: Any, dtype: Any) -> MV:
        """Return ``mv``, whose blades are all in ``keys``, in this frame."""
        return self._form.take(mv).on_keys(keys).astype(dtype)

    def leave(self, mv: MV, like: MV, dtype: Any) -> MV:
        """Return ``mv`` in the basis of the algebra of ``like``."""
        return self._form.give(mv, like).on_keys(mv.keys).astype(dtype)

    # ---- bivectors as matrices

    def matrix(self, B: Array) -> Array:
        """Return the antisymmetric matrix b (d, d) of bivector coefficients (d(d-1)/2,)."""
        b = np.zeros((self.d, self.d), dtype=B.dtype)
        b[self.upper] = B
        return b - b.T

    def from_action(self, L: Array) -> Array:
        """Return the bivectors B with x ↦ Bx - xB = L x, L = 2 b diag(g), less their blades of two null vectors (zero).

        L is (..., d, d), B (..., d(d-1)/2).
        """
        size = np.abs(self.signs)
        # b_ij is in L_ij and L_ji, but for null vectors in one of them
        weight = np.maximum(size + size[:, None], 1)
        scaled = L * self.signs / 2
        b = (scaled - np.swapaxes(scaled, -1, -2)) / weight
        return np.asarray(b[..., self.upper[0], self.upper[1]])

    def bivector(self, B: Array) -> Any:
        """Return the multivector with bivector coefficients B."""
        return self.algebra.new(self.bivectors, B)


def null_exponents(A: MV) -> Array | None:
    """Return n for each element: e_i ↦ 2^-n e_i for null vectors e_i takes their components below the largest other.

    Where they are at most eight times as large, three bits, n = 0.

    The map keeps the geometric product, so functions of A may be computed on the image, and large translations lose no
    digits. None where n is 0 for every element, or the metric has no null vectors.
    """
    null = _null_counts(A.keys, A.algebra.form)
    if null is None or not A.coefficients.size:
        return None
    if not A.ndim:  # in Python numbers, ten times as fast
        of_null: list[float] = [0.0, 0.0]
        for x, k in zip(A.coefficients.tolist(), null.tolist(), strict=True):
            of_null[k > 0] = max(of_null[k > 0], abs(x))
        if of_null[1] <= _NEAR * of_null[0] or not of_null[0]:
            return None
    size = np.abs(A.coefficients)
    without, within = size[..., null == 0].max(axis=-1, initial=0), size[..., null > 0].max(axis=-1, initial=0)
    far = (within > _NEAR * without) & (without > 0)
    if not far.any():
        return None
    exponents = np.where(size > 0, np.frexp(size)[1], -5000) - np.frexp(without)[1][..., None]
    excess = -(-exponents // np.maximum(null, 1)) * (null > 0)
    return np.where(far, np.maximum(excess.max(axis=-1), 0), 0)


def scale_null(A: MV, n: Array) -> MV:
    """Return A with its components of k null vectors multiplied by 2^{k n}: see `null_exponents`."""
    null = _null_counts(A.keys, A.algebra.form)
    if null is None:
        return A
    with np.errstate(over="ignore", under="ignore"):
        factor = np.ldexp(np.ones((), A.coefficients.real.dtype), np.asarray(n)[..., None] * null)
    return A.new(A.keys, copy_by_component(A.coefficients * factor))


@lru_cache(maxsize=256)
def _null_counts(keys: Keys, metric: Metric) -> Array | None:
    """Return the number of null vectors in each blade; None without null vectors in a diagonal metric."""
    if metric.diagonal is None or not (null := np.flatnonzero(metric.diagonal == 0)).size:
        return None
    return np.asarray(sum((keys.masks >> int(i) & 1).astype(np.int64) for i in null))


_frame_of = lru_cache(maxsize=64)(Frame)


def frame_of(mv: MV, owner: str) -> Frame:
    """Return the orthonormal frame of the algebra of ``mv``, made once for each metric."""
    metric = mv.algebra.form
    if metric.d > LARGEST_DIMENSION:
        raise fail("A", owner, f"of at most {LARGEST_DIMENSION} dimensions", describe(f"d = {metric.d}"))
    if not metric.is_unit:
        metric.counts  # noqa: B018  # the clear error of a symbolic metric
    return _frame_of(mv.algebra)
