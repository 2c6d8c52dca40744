"""The class `LargeBlade`: the wedge of rows that stay where they are, on disk or sparse, in very many dimensions."""

import math
from pathlib import Path
from typing import Any, Self

import numpy as np

from clifford_rand._checks import check_choice, check_tolerance, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.blades.blade import Blade
from clifford_rand.blades.blocks import Rows, Sparse, Stacked, Sum, blocks, combined, moderate, rows_of, written
from clifford_rand.blades.determinant import log_volume
from clifford_rand.blades.rows import log_det_triangular, relative
from clifford_rand.blades.subspace import DISTANCES, FactoredRows, exp_of_rows, log_of_rows
from clifford_rand.print_options import COLUMNS, ROWS, html_of_vectors


class LargeBlade:
    """The blade a1∧…∧ak of rows in R^d that are read by blocks of columns: never copied, never d × d.

    For subspaces of features, gradients or embeddings: k up to some hundreds of vectors of 10⁴ to 10⁷ dimensions, in an
    array, a memory map or a sparse matrix of any real type. All that is computed are matrices of k × k numbers in
    float64, from products of blocks; some 30 MiB are held besides.

    Parameters
    ----------
    factors : array_like or SciPy sparse array of shape (k, d)
        One vector per row, k ≤ d. Arrays and memory maps are not copied: they must not change while the blade is used.
    rtol : float, optional
        Rows scaled to length 1 count as dependent, and the blade as zero, where their smallest singular value is at
        most this. Default: 8·√k·eps of float64, or of float32 for rows of float32 and float16.

    Attributes
    ----------
    grade, d : int
        The number of vectors, and the dimension of the space.
    dtype : numpy.dtype
        float32 or float64, of what is returned in R^d; numbers of subspaces are float64.

    Raises
    ------
    ArgumentError
        For more than d rows, or entries that are not real. NaN and infinity are found when the rows are first read.

    Notes
    -----
    Rows are brought to an orthonormal basis Q by a triangular matrix, rows = T Q, and Q is not formed. T is the
    Cholesky factor of the Gram matrix where that is well-conditioned, one pass of 2 k² d operations; elsewhere the
    factor of a QR factorization in blocks, refined by a second one. Angles below 0.05 come from what of one basis is
    outside the other, a pass of 6 k² d operations more where there are any, so that all are accurate to some 20 eps,
    absolutely, as those of rows that differ from the given ones by rounding: angles and the relative error of the norm
    are eps times the condition of the rows at length 1 where this is large.

    Products are Euclidean. See `Blade` for other metrics, batches, duals and oriented spans, and for the formulas of
    the methods that both have; a second blade is a LargeBlade of the same dimension, and not zero where angles are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((10, 100_000)).astype(np.float32)
    >>> A, B = cr.LargeBlade(X), cr.LargeBlade(X[:5] + 0.1 * rng.standard_normal((5, 100_000)))
    >>> A
    <LargeBlade of grade 10 in R^100000, float32>
    >>> A.principal_angles(B).round(2)
    array([0.1, 0.1, 0.1, 0.1, 0.1])
    """

    def __init__(self, factors: ArrayLike | Any, *, rtol: float | None = None) -> None:
        source = rows_of(factors, "factors", "LargeBlade")
        self._set(FactoredRows(source, rtol if rtol is None else check_tolerance(rtol, 0.0, "LargeBlade")))

    def _set(self, factored: FactoredRows) -> None:
        self.grade, self.d = factored.source.shape
        self.dtype = factored.source.dtype
        self._factored = factored
        if self.grade > self.d:
            hint = "More are always dependent, and their wedge is zero. For columns pass the transpose."
            rule = "at most d vectors of R^d, one per row"
            raise fail("factors", "LargeBlade", rule, describe(f"{self.grade} vectors of R^{self.d}"), hint)

    def _of(self, source: Rows) -> Self:
        """Return the blade of other rows, with this one's tolerance."""
        blade = object.__new__(type(self))
        type(self)._set(blade, FactoredRows(source, self._factored.rtol))
        return blade

    def __repr__(self) -> str:
        kind = "" if self.dtype == np.float64 else f", {self.dtype}"
        sparse = ", sparse" if isinstance(self._factored.source, Sparse) else ""
        return f"<LargeBlade of grade {self.grade} in R^{self.d}{kind}{sparse}>"

    def _repr_html_(self) -> str:
        source = self._factored.source
        shown = range(self.d)[:COLUMNS] if source.active is None else source.active[:COLUMNS].tolist()
        first = source.take(np.array(shown, dtype=np.int64))[:ROWS]
        return html_of_vectors(first, (self.grade, self.d), [f"e{i + 1}" for i in shown], repr(self))

    def is_zero(self) -> bool:
        """Return whether the rows are dependent to rounding, or to ``rtol``; their lengths do not count.

        Examples
        --------
        >>> cr.LargeBlade([[1, 2, 3], [2, 4, 6]]).is_zero(), cr.LargeBlade([[1, 2, 3], [2, 4, 5]]).is_zero()
        (True, False)
        """
        return self._factored.is_zero

    def _subspace(self, owner: str, name: str = "blade") -> FactoredRows:
        """Return the factored rows, which are independent."""
        if self.is_zero():
            rule = "other than zero, of independent vectors"
            raise fail(name, owner, rule, describe("a zero blade"), "Check is_zero() first.")
        return self._factored

    def _checked(self, other: Any, owner: str, name: str = "b") -> FactoredRows:
        """Return the factored rows of a blade of the same space."""
        if not isinstance(other, LargeBlade):
            hint = "Make one of vectors as rows: LargeBlade(factors)."
            raise fail(name, owner, "a LargeBlade", describe(type(other).__name__), hint)
        if other.d != self.d:
            raise fail(name, owner, f"of {self.d} dimensions", describe(f"a blade of R^{other.d}"))
        return other._factored

    def _subspaces(self, other: Any, owner: str, name: str = "b") -> tuple[FactoredRows, FactoredRows]:
        """Return the factored rows of both blades, each of them independent."""
        self._checked(other, owner, name)
        return self._subspace(owner), other._subspace(owner, name)

    # ---- products

    def wedge(self, b: Any, /, *more: Any) -> Self:
        """Return a∧b∧…: the rows of all factors one after the other, none of them copied. Also ``a ^ b``.

        Examples
        --------
        >>> A, B = cr.LargeBlade(np.eye(2, 5)), cr.LargeBlade(np.eye(1, 5, 3))
        >>> A ^ B, cr.wedge(A, B, A).is_zero()
        (<LargeBlade of grade 3 in R^5>, True)
        """
        sources = [self._factored.source, *(self._checked(factor, "wedge").source for factor in (b, *more))]
        return self._of(Stacked(*sources))

    def __xor__(self, other: Any) -> Self:
        return self.wedge(other)

    def log_inner(self, b: Any, /) -> tuple[float, float]:
        """Return sign and logarithm of the absolute value of det(a_i · b_j); 0 and -inf for zero and other grades.

        Examples
        --------
        >>> A, B = cr.LargeBlade(1e200 * np.eye(2, 9)), cr.LargeBlade(-1e200 * np.eye(2, 9)[::-1])
        >>> sign, log = A.log_inner(B)
        >>> sign, round(float(log / np.log(10)), 6)
        (-1.0, 800.0)
        """
        factored = self._checked(b, "inner")
        return self._factored.log_inner(factored) if self.grade == b.grade else (0.0, -math.inf)

    def inner(self, b: Any, /) -> float:
        """Return det(a_i · b_j), 0 for different grades; inf where it is beyond the floats, see `log_inner`.

        Examples
        --------
        >>> A, B = cr.LargeBlade([[1.0, 0, 0], [0, 1, 0]]), cr.LargeBlade([[2.0, 0, 5], [0, 3, 0]])
        >>> round(cr.inner(A, B), 12)
        6.0
        """
        sign, log = self.log_inner(b)
        with np.errstate(over="ignore"):
            return float(sign * np.exp(log))

    def log_norm(self, *, max_memory: float | None = None, scratch: str | Path | None = None) -> float:
        """Return the logarithm of the volume that the rows span; -inf for zero.

        Parameters
        ----------
        max_memory : float, optional
            Bytes to stay below, besides some 50 MiB: for so many rows that k × k numbers do not fit into memory. See
            `clifford_rand.slogdet`. The rows then count as dependent where their Gram matrix at length 1, or for
            k = d they themselves, are singular to the rounding of float64, whatever ``rtol``.
        scratch : path of a folder, optional
            Where the scratch file is made, of 4 k² bytes.

        Examples
        --------
        >>> bool(abs(cr.LargeBlade(1e200 * np.eye(3, 1000)).log_norm() - 600 * np.log(10)) < 1e-9)
        True
        """
        if max_memory is not None:
            return log_volume(self._factored.source, max_memory, scratch)
        if self.is_zero():
            return -math.inf
        return float(log_det_triangular(self._factored.factor[0])[1]) + self._factored.scaled[1]

    def norm(self) -> float:
        """Return the volume that the rows span; inf where it is beyond the floats, see `log_norm`.

        Examples
        --------
        >>> round(cr.LargeBlade([[3, 0, 0], [5, 4, 0]]).norm(), 9)
        12.0
        """
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_norm()))

    # ---- subspaces

    def principal_angles(self, b: Any, /) -> Array:
        """Return the principal angles (min(j, k),) in radians, smallest first.

        References
        ----------
        Björck and Golub, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27 (1973).

        Examples
        --------
        >>> A, B = cr.LargeBlade(np.eye(1, 99)), cr.LargeBlade(np.eye(1, 99) + 1e-10 * np.eye(1, 99, 5))
        >>> print(A.principal_angles(B))
        [1.e-10]
        """
        P, Q = self._subspaces(b, "principal_angles")
        return P.principal_angles(Q) if self.grade <= b.grade else Q.principal_angles(P)

    def distance(self, b: Any, /, *, kind: str = "geodesic") -> float:
        """Return a distance of two subspaces of one dimension; the kinds are those of `Blade.distance`.

        Examples
        --------
        >>> A, B = cr.LargeBlade([[1.0, 0]]), cr.LargeBlade([[1.0, 1.0]])
        >>> round(A.distance(B), 6), round(A.distance(B, kind="chordal"), 6)
        (0.785398, 0.707107)
        """
        check_choice(kind, "kind", "distance", tuple(DISTANCES))
        self._check_grade(b, "distance")
        return float(DISTANCES[kind](self.principal_angles(b)))

    def _check_grade(self, other: Any, owner: str) -> None:
        self._checked(other, owner)
        if other.grade != self.grade:
            raise fail("b", owner, f"of grade {self.grade}", describe(f"a blade of grade {other.grade}"))

    def log(self, b: Any, /, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the tangent (k, d) of the shortest geodesic from this subspace to ``b``, or write it to ``out``.

        See `Blade.log`. Two passes over the rows of both; rows of float32 give a tangent of float32.

        Examples
        --------
        >>> A, B = cr.LargeBlade(np.eye(1, 99)), cr.LargeBlade(np.eye(1, 99) + 1e-10 * np.eye(1, 99, 5))
        >>> print(A.log(B)[0, :7])
        [0.e+00 0.e+00 0.e+00 0.e+00 0.e+00 1.e-10 0.e+00]
        """
        self._check_grade(b, "log")
        return log_of_rows(*self._subspaces(b, "log"), out)

    def exp(self, tangent: ArrayLike | Any) -> Self:
        """Return the subspace at the end of the geodesic with a tangent (k, d), as unit blade; see `Blade.exp`.

        Its rows are combinations of this blade's and the tangent, and are not formed.

        Examples
        --------
        >>> A, B = cr.LargeBlade(np.eye(2, 9)), cr.LargeBlade(np.eye(2, 9, 1))
        >>> middle = A.exp(A.log(B) / 2)
        >>> round(middle.distance(A), 6), round(middle.distance(B), 6)  # half of π/2 each
        (0.785398, 0.785398)
        """
        factored = self._subspace("exp")
        rows = rows_of(tangent, "tangent", "exp")
        if rows.shape != (self.grade, self.d):
            raise fail("tangent", "exp", f"of shape {(self.grade, self.d)}", describe(f"shape {rows.shape}"))
        return self._of(exp_of_rows(factored, rows))

    def intersection(self, b: Any, /, *, rtol: float = 1e-9) -> Self:
        """Return the blade of the directions of this subspace that lie in that of ``b``; of length 1 and of no sign.

        Parameters
        ----------
        b : LargeBlade
        rtol : float, default=1e-9
            Largest sine of the angle of a direction to ``b``: sin(θ) takes all that are within θ. At least 256 eps.

        Returns
        -------
        LargeBlade
            Of grade 0 where there is none. `Blade.intersection` is the oriented intersection.

        Examples
        --------
        >>> A, B = cr.LargeBlade(np.eye(3, 10)), cr.LargeBlade(np.eye(3, 10, 2))
        >>> A.intersection(B).orthonormal_basis().round(9).argmax()
        np.int64(2)
        """
        P, Q = self._subspaces(b, "intersection")
        turn, sine = P.sines(Q)
        rows, inverse = P.frame
        return self._of(combined(turn.T[sine <= self._limit(b, rtol, "intersection")] @ inverse, rows))

    def contains(self, x: Any, /, *, rtol: float = 1e-9) -> Any:
        """Tell whether vectors (n, d), or the subspace of a blade, lie in this one, as `Blade.contains`.

        Their sines are at most ``rtol``, at least 256 eps. The vector 0 lies in every subspace.

        Examples
        --------
        >>> A = cr.LargeBlade(np.eye(3, 1000))
        >>> A.contains(cr.LargeBlade(np.eye(1, 1000, 2))), A.contains(cr.LargeBlade(np.eye(1, 1000, 3)))
        (True, False)
        >>> A.contains(np.eye(2, 1000, 2))
        array([ True, False])
        """
        if isinstance(x, LargeBlade | Blade):
            P, Q = self._subspaces(x, "contains", "x")
            return bool(np.all(Q.sines(P)[1] <= self._limit(x, rtol, "contains")))
        vectors = moderate(self._vectors(x, "contains", "x"), "x", "contains")[0]
        limit = self._limit(vectors, rtol, "contains")
        outside = self._rejected(self._subspace("contains"), vectors)
        return _square_lengths(outside) <= limit**2 * _square_lengths(vectors)

    def _limit(self, other: Any, rtol: float, owner: str) -> float:
        return relative(np.result_type(self.dtype, other.dtype), check_tolerance(rtol, 0.0, owner))

    # ---- vectors

    def coordinates(self, X: ArrayLike | Any, /) -> Array:
        """Return the coordinates (n, k) of the projections of vectors (n, d), sparse ones too, in `orthonormal_basis`.

        Examples
        --------
        >>> cr.LargeBlade(np.eye(2, 9)).coordinates(np.arange(18.0).reshape(2, 9))
        array([[ 0.,  1.],
               [ 9., 10.]])
        """
        factored = self._subspace("coordinates")
        return factored.coordinates(self._vectors(X, "coordinates"))

    def projection_of(self, X: ArrayLike | Any, /, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the orthogonal projections (n, d) of vectors (n, d) on the subspace.

        Parameters
        ----------
        X : array_like or SciPy sparse array of shape (n, d)
        out : ndarray of shape (n, d), optional
            Where to write them, a memory map for example.

        Examples
        --------
        >>> cr.LargeBlade([[1, 1, 0], [0, 1, 1]]).projection_of([[3, 0, 0]]).round(9)
        array([[ 2.,  1., -1.]])
        """
        factored = self._subspace("projection_of")
        rows, inverse = factored.frame
        weights = factored.coordinates(self._vectors(X, "projection_of")) @ inverse
        return written(combined(weights, rows), out, "projection_of")

    def rejection_of(self, X: ArrayLike | Any, /, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the parts (n, d) of vectors (n, d) orthogonal to the subspace; see `projection_of`.

        They are orthogonal to rounding of their own length, however near the subspace the vectors are.

        Examples
        --------
        >>> cr.LargeBlade([[1, 1, 0], [0, 1, 1]]).rejection_of([[3, 0, 0]]).round(9)
        array([[ 1., -1.,  1.]])
        """
        factored = self._subspace("rejection_of")
        return written(self._rejected(factored, self._vectors(X, "rejection_of")), out, "rejection_of")

    @staticmethod
    def _rejected(factored: FactoredRows, vectors: Rows) -> Rows:
        """Return the parts of vectors orthogonal to a subspace."""
        rows, inverse = factored.frame
        for _ in range(2):  # once more, for what rounding of the first left inside
            vectors = Sum(1.0, vectors, -factored.coordinates(vectors) @ inverse, rows)
        return vectors

    def orthonormal_basis(self, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return orthonormal rows (k, d) of the subspace, in the orientation and dtype of the blade, or in ``out``.

        Examples
        --------
        >>> A = cr.LargeBlade([[1, 1, 0], [0, 1, 1]])
        >>> Q = A.orthonormal_basis()
        >>> np.allclose(Q @ Q.T, np.eye(2)), cr.LargeBlade(Q).contains(A)
        (True, True)
        """
        rows, inverse = self._subspace("orthonormal_basis").frame
        return written(combined(inverse, rows), out, "orthonormal_basis")

    def to_blade(self) -> Blade:
        """Return the `Blade` of the same rows, all of them in memory.

        Examples
        --------
        >>> cr.LargeBlade(np.eye(2, 5)).to_blade()
        <Blade of grade 2 in Algebra(5)>
        """
        rows = np.zeros((self.grade, self.d), self.dtype)
        return Blade(written(self._factored.source, rows, "to_blade"), rtol=self._factored.rtol)

    def _vectors(self, X: ArrayLike | Any, owner: str, name: str = "X") -> Rows:
        vectors = rows_of(X, name, owner)
        if vectors.shape[1] != self.d:
            raise fail(name, owner, f"of shape (n, {self.d})", describe(f"shape {vectors.shape}"))
        return vectors


def _square_lengths(rows: Rows) -> Array:
    """Return the squared lengths of rows."""
    total = np.zeros(rows.shape[0])
    for columns in blocks(rows.active, rows.shape[1], rows.height):
        total += np.square(np.asarray(rows.take(columns), dtype=np.float64)).sum(axis=1)
    return total
