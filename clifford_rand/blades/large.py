"""The class `LargeBlade`: the wedge of rows that stay where they are, on disk or sparse, in very many dimensions."""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_array, check_choice, check_tolerance, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand.basis.keys import LARGEST
from clifford_rand.blades.blade import Blade
from clifford_rand.blades.blocks import (
    Combined,
    Dense,
    Rows,
    Scaled,
    Sparse,
    Stacked,
    product,
    row_peaks,
    triangle,
    write,
)
from clifford_rand.blades.gram import log_det
from clifford_rand.blades.rows import (
    LARGEST_GRAM_RTOL,
    LN2,
    ORDINARY,
    default_rtol,
    is_singular,
    log_det_triangular,
    relative,
)
from clifford_rand.blades.subspace import DISTANCES
from clifford_rand.sketch.base import is_sparse

_NEAR = math.cos(0.05)  # from which on sines are needed: an angle θ from its cosine is off by eps/θ
_GOOD = 0.1  # least eigenvalue of a Gram matrix of rows of length 1, from which on nothing but a digit is lost


class LargeBlade:
    """The blade a1∧…∧ak of rows in R^d that are read by blocks of columns: never copied, never d × d.

    For subspaces of features, gradients or embeddings: k up to some hundreds of vectors of 10⁴ to 10⁷ dimensions, in an
    array, a memory map or a sparse matrix of any real type. All that is computed are matrices of k × k numbers in
    float64, from products of blocks; some 30 MiB are held besides.

    Parameters
    ----------
    rows : array_like or SciPy sparse array of shape (k, d)
        One vector per row, k ≤ d. Arrays and memory maps are not copied: they must not change while the blade is used.
    rtol : float, optional
        Rows scaled to length 1 count as dependent, and the blade as zero, where their smallest singular value is at
        most this. Default: 8·√k·eps of float64, or of float32 for rows of float32 and float16.

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
    absolutely.

    Products are Euclidean. See `Blade` for other metrics, batches, duals and oriented joins.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((10, 100_000)).astype(np.float32)
    >>> A, B = cr.LargeBlade(X), cr.LargeBlade(X[:5] + 0.1 * rng.standard_normal((5, 100_000)))
    >>> A
    <LargeBlade of grade 10 in R^100000, float32>
    >>> A.principal_angles(B).round(2)
    array([0.1, 0.1, 0.1, 0.1, 0.1])
    """

    def __init__(self, rows: ArrayLike | Any, *, rtol: float | None = None) -> None:
        self._set(_rows_of(rows, "rows", "LargeBlade"), rtol)

    def _set(self, rows: Rows, rtol: float | None) -> None:
        k, d = rows.shape
        if k > d:
            hint = "More are always dependent, and their wedge is zero. For columns pass the transpose."
            rule = "at most d vectors of R^d, one per row"
            raise fail("rows", "LargeBlade", rule, describe(f"{k} vectors of R^{d}"), hint)
        self._source = rows
        self._given = rtol if rtol is None else check_tolerance(rtol, 0.0, "LargeBlade")

    def _make(self, rows: Rows) -> Self:
        blade = object.__new__(type(self))
        blade._set(rows, self._given)
        return blade

    def __repr__(self) -> str:
        kind = "" if self.dtype == np.float64 else f", {self.dtype}"
        sparse = ", sparse" if isinstance(self._source, Sparse) else ""
        return f"<LargeBlade of grade {self.grade} in R^{self.d}{kind}{sparse}>"

    @property
    def grade(self) -> int:
        """The number k of vectors.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> A = cr.LargeBlade(np.eye(3, 1000))
        >>> A.grade, A.d
        (3, 1000)
        """
        return self._source.shape[0]

    @property
    def d(self) -> int:
        """The dimension of the space.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> cr.LargeBlade(np.eye(2, 10_000)).d
        10000
        """
        return self._source.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, of what is returned in R^d; numbers of subspaces are float64.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> print(cr.LargeBlade(np.eye(3, 1000, dtype=np.int8)).dtype)
        float64
        """
        return self._source.dtype

    # ---- the factor of the rows

    @cached_property
    def _factor(self) -> tuple[Rows, float, Array, bool, bool]:
        """Rows r and log with a1∧…∧ak = exp(log) r1∧…∧rk, T with r = T Q, whether by the Gram matrix, whether zero.

        The rows are those given, or, of extraordinary sizes, these times powers of two.
        """
        rows, log = self._source, 0.0
        gram = product(rows, rows)
        squares = gram.diagonal()
        if not np.all((squares >= ORDINARY[0]) & (squares <= ORDINARY[1])):
            exponent = np.frexp(_finite_peaks(rows, "rows", "LargeBlade"))[1].astype(np.int64)
            rows, log = Scaled(rows, exponent), float(exponent.sum()) * LN2
            gram = product(rows, rows)
        rtol = default_rtol(self.grade, self.dtype) if self._given is None else self._given
        T, by_gram = triangle(rows, gram)
        zero = not (by_gram and rtol <= LARGEST_GRAM_RTOL) and bool(is_singular(T.T, rtol))
        return rows, log, T, by_gram, zero

    @cached_property
    def _frame(self) -> tuple[Rows, Array]:
        """Rows of the subspace and W, so that W rows are orthonormal to a few eps.

        Where the rows are nearly dependent, T⁻¹ rows are orthonormal to eps times their condition, and have another T.
        """
        rows, _, T, by_gram, _ = self._factor
        inverse = np.asarray(np.linalg.inv(T), dtype=np.float64)
        if by_gram and _least_eigenvalue(T) >= _GOOD:
            return rows, inverse
        rows = Combined(inverse, rows)
        return rows, np.asarray(np.linalg.inv(triangle(rows)[0]), dtype=np.float64)

    @property
    def is_zero(self) -> bool:
        """Whether the rows are dependent to rounding, or to ``rtol``; their lengths do not count.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.LargeBlade([[1, 2, 3], [2, 4, 6]]).is_zero, cr.LargeBlade([[1, 2, 3], [2, 4, 5]]).is_zero
        (True, False)
        """
        return self._factor[4]

    @property
    def _rows(self) -> Rows:
        return self._frame[0]

    @property
    def _inverse(self) -> Array:
        return self._frame[1]

    @property
    def _basis(self) -> Rows:
        return Combined(self._inverse, self._rows)

    def _need_subspace(self, owner: str, name: str = "blade") -> None:
        if self.is_zero:
            raise fail(
                name, owner, "other than zero, of independent vectors", describe("a zero blade"), "Check is_zero first."
            )

    def _other(self, b: Any, owner: str) -> "LargeBlade":
        if not isinstance(b, LargeBlade):
            hint = "Make one of vectors as rows: LargeBlade(rows)."
            raise fail("b", owner, "a LargeBlade", describe(type(b).__name__), hint)
        if b.d != self.d:
            raise fail("b", owner, f"of {self.d} dimensions", describe(f"a blade of R^{b.d}"))
        return b

    # ---- products

    def wedge(self, b: Any, *more: Any) -> Self:
        """Return a∧b∧…: the rows of all factors one after the other, none of them copied. Also ``a ^ b``.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> A, B = cr.LargeBlade(np.eye(2, 5)), cr.LargeBlade(np.eye(1, 5, 3))
        >>> A ^ B, cr.wedge(A, B, A).is_zero
        (<LargeBlade of grade 3 in R^5>, True)
        """
        factors: list[LargeBlade] = [self, *(self._other(factor, "wedge") for factor in (b, *more))]
        return self._make(Stacked(*(factor._source for factor in factors)))

    def __xor__(self, other: Any) -> Self:
        return self.wedge(other)

    def log_inner(self, b: Any) -> tuple[float, float]:
        """Return sign and logarithm of the absolute value of det(a_i · b_j); 0 and -inf for zero and other grades.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> A, B = cr.LargeBlade(1e200 * np.eye(2, 9)), cr.LargeBlade(-1e200 * np.eye(2, 9)[::-1])
        >>> sign, log = A.log_inner(B)
        >>> sign, round(float(log / np.log(10)), 6)
        (-1.0, 800.0)
        """
        factor = self._other(b, "inner")
        if self.grade != factor.grade:
            return 0.0, -math.inf
        sign, log, doubtful = log_det(product(self._factor[0], factor._factor[0]))
        if not sign or (doubtful and (self.is_zero or factor.is_zero)):
            return 0.0, -math.inf
        return float(sign), float(log) + self._factor[1] + factor._factor[1]

    def inner(self, b: Any) -> float:
        """Return det(a_i · b_j), 0 for different grades; inf where it is beyond the floats, see `log_inner`.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A, B = cr.LargeBlade([[1.0, 0, 0], [0, 1, 0]]), cr.LargeBlade([[2.0, 0, 5], [0, 3, 0]])
        >>> round(cr.inner(A, B), 12)
        6.0
        """
        sign, log = self.log_inner(b)
        with np.errstate(over="ignore"):
            return float(sign * np.exp(log))

    def log_norm(self) -> float:
        """Return the logarithm of the volume that the rows span; -inf for zero.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> bool(abs(cr.LargeBlade(1e200 * np.eye(3, 1000)).log_norm() - 600 * np.log(10)) < 1e-9)
        True
        """
        return -math.inf if self.is_zero else float(log_det_triangular(self._factor[2])[1]) + self._factor[1]

    def norm(self) -> float:
        """Return the volume that the rows span; inf where it is beyond the floats, see `log_norm`.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> round(cr.LargeBlade([[3, 0, 0], [5, 4, 0]]).norm(), 9)
        12.0
        """
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_norm()))

    # ---- subspaces

    def _cosines(self, b: "LargeBlade") -> Array:
        """Return the products of both orthonormal bases (j, k)."""
        return np.asarray(self._inverse @ product(self._rows, b._rows) @ b._inverse.T)

    def _outside(self, b: "LargeBlade", cosines: Array) -> Rows:
        """Return the parts of this orthonormal basis that are orthogonal to the subspace of ``b``."""
        weights = np.concatenate([self._inverse, -cosines @ b._inverse], axis=1)
        return Combined(weights, Stacked(self._rows, b._rows))

    def _sines(self, b: "LargeBlade", cosines: Array | None = None) -> tuple[Array, Array]:
        """Return (U, sines): sines of this subspace's directions Uᵀ Q to ``b``, largest first."""
        T = triangle(self._outside(b, self._cosines(b) if cosines is None else cosines))[0]
        turn, sine = np.linalg.svd(T)[:2]
        return turn, np.minimum(sine, 1.0)

    def principal_angles(self, b: Any) -> Array:
        """Return the principal angles (min(j, k),) in radians, smallest first.

        Parameters
        ----------
        b : LargeBlade

        References
        ----------
        Björck and Golub, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27 (1973).

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> A, B = cr.LargeBlade(np.eye(1, 99)), cr.LargeBlade(np.eye(1, 99) + 1e-10 * np.eye(1, 99, 5))
        >>> print(A.principal_angles(B))
        [1.e-10]
        """
        second = self._other(b, "principal_angles")
        self._need_subspace("principal_angles")
        second._need_subspace("principal_angles", "b")
        small, large = (self, second) if self.grade <= second.grade else (second, self)
        products = small._cosines(large)
        cosine = np.minimum(np.linalg.svd(products, compute_uv=False), 1.0)
        angle = np.arccos(cosine)
        near = cosine > _NEAR
        if near.any():
            angle[near] = np.arcsin(small._sines(large, products)[1][::-1])[near]
        return np.asarray(angle)

    def distance(self, b: Any, kind: str = "geodesic") -> float:
        """Return a distance of two subspaces of one dimension; the kinds are those of `Blade.distance`.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A, B = cr.LargeBlade([[1.0, 0]]), cr.LargeBlade([[1.0, 1.0]])
        >>> round(A.distance(B), 6), round(A.distance(B, "chordal"), 6)
        (0.785398, 0.707107)
        """
        check_choice(kind, "kind", "distance", tuple(DISTANCES))
        second = self._other(b, "distance")
        if second.grade != self.grade:
            raise fail("b", "distance", f"of grade {self.grade}", describe(f"a blade of grade {second.grade}"))
        return float(DISTANCES[kind](self.principal_angles(second)))

    def intersection(self, b: Any, rtol: float = 1e-9) -> Self:
        """Return the blade of the directions of this subspace that lie in that of ``b``; of length 1 and of no sign.

        Parameters
        ----------
        b : LargeBlade
        rtol : float, default=1e-9
            Largest sine of the angle of a direction to ``b``: sin(θ) takes all that are within θ. At least 256 eps.

        Returns
        -------
        LargeBlade
            Of grade 0 where there is none. `Blade.meet` is the oriented intersection.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> A, B = cr.LargeBlade(np.eye(3, 10)), cr.LargeBlade(np.eye(3, 10, 2))
        >>> A.intersection(B).orthonormal_basis().round(9).argmax()
        np.int64(2)
        """
        second = self._other(b, "intersection")
        self._need_subspace("intersection")
        second._need_subspace("intersection", "b")
        limit = relative(np.result_type(self.dtype, second.dtype), check_tolerance(rtol, 0.0, "intersection"))
        turn, sine = self._sines(second)
        return self._make(Combined(turn.T[sine <= limit] @ self._inverse, self._rows))

    def contains(self, b: Any, rtol: float = 1e-9) -> bool:
        """Tell whether the subspace of ``b`` lies in this one, all its sines at most ``rtol``, at least 256 eps.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> A = cr.LargeBlade(np.eye(3, 1000))
        >>> A.contains(cr.LargeBlade(np.eye(1, 1000, 2))), A.contains(cr.LargeBlade(np.eye(1, 1000, 3)))
        (True, False)
        """
        second = self._other(b, "contains")
        self._need_subspace("contains")
        second._need_subspace("contains", "b")
        limit = relative(np.result_type(self.dtype, second.dtype), check_tolerance(rtol, 0.0, "contains"))
        return bool(np.all(second._sines(self)[1] <= limit))

    # ---- vectors

    def coordinates(self, X: ArrayLike | Any) -> Array:
        """Return the coordinates (n, k) of the projections of vectors (n, d) in `orthonormal_basis`.

        Parameters
        ----------
        X : array_like or SciPy sparse array of shape (n, d)

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> cr.LargeBlade(np.eye(2, 9)).coordinates(np.arange(18.0).reshape(2, 9))
        array([[ 0.,  1.],
               [ 9., 10.]])
        """
        self._need_subspace("coordinates")
        return self._coordinates(self._vectors(X, "coordinates"))

    def project_vectors(self, X: ArrayLike | Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the orthogonal projections (n, d) of vectors (n, d) on the subspace.

        Parameters
        ----------
        X : array_like or SciPy sparse array of shape (n, d)
        out : ndarray of shape (n, d), optional
            Where to write them, a memory map for example.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.LargeBlade([[1, 1, 0], [0, 1, 1]]).project_vectors([[3, 0, 0]]).round(9)
        array([[ 2.,  1., -1.]])
        """
        self._need_subspace("project_vectors")
        weights = self._coordinates(self._vectors(X, "project_vectors")) @ self._inverse
        return self._written(Combined(weights, self._rows), out, "project_vectors")

    def reject_vectors(self, X: ArrayLike | Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the parts (n, d) of vectors (n, d) orthogonal to the subspace; see `project_vectors`.

        They are orthogonal to rounding of their own length, however near the subspace the vectors are.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.LargeBlade([[1, 1, 0], [0, 1, 1]]).reject_vectors([[3, 0, 0]]).round(9)
        array([[ 1., -1.,  1.]])
        """
        self._need_subspace("reject_vectors")
        vectors = self._vectors(X, "reject_vectors")
        identity = np.eye(vectors.shape[0])
        for _ in range(2):  # once more, for what rounding of the first left inside
            weights = np.concatenate([identity, -self._coordinates(vectors) @ self._inverse], axis=1)
            vectors = Combined(weights, Stacked(vectors, self._rows))
        return self._written(vectors, out, "reject_vectors")

    def orthonormal_basis(self, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return orthonormal rows (k, d) of the subspace, in the orientation of the blade and in its dtype.

        Parameters
        ----------
        out : ndarray of shape (k, d), optional
            Where to write them, a memory map for example.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> A = cr.LargeBlade([[1, 1, 0], [0, 1, 1]])
        >>> Q = A.orthonormal_basis()
        >>> np.allclose(Q @ Q.T, np.eye(2)), cr.LargeBlade(Q).contains(A)
        (True, True)
        """
        self._need_subspace("orthonormal_basis")
        return self._written(self._basis, out, "orthonormal_basis")

    def to_blade(self) -> Blade:
        """Return the `Blade` of the same rows, all of them in memory.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> cr.LargeBlade(np.eye(2, 5)).to_blade()
        <Blade of grade 2 in Algebra(5)>
        """
        rows = np.zeros(self._source.shape, self.dtype)
        write(self._source, rows)
        return Blade(rows, rtol=self._given)

    def _vectors(self, X: ArrayLike | Any, owner: str) -> Rows:
        vectors = _rows_of(X, "X", owner)
        if vectors.shape[1] != self.d:
            raise fail("X", owner, f"of shape (n, {self.d})", describe(f"shape {vectors.shape}"))
        return vectors

    def _coordinates(self, vectors: Rows) -> Array:
        products = product(vectors, self._rows)
        if not np.isfinite(products).all():
            _finite_peaks(vectors, "X", "LargeBlade")
        return np.asarray(products @ self._inverse.T)

    def _written(self, rows: Rows, out: NDArray[Any] | None, owner: str) -> NDArray[Any]:
        if out is None:
            if math.prod(rows.shape) > LARGEST:
                received = describe(f"an array of {rows.shape[0]} × {rows.shape[1]}")
                raise fail("out", owner, "given for more than 2^27 numbers", received, "Pass a memory map.")
            out = np.zeros(rows.shape, rows.dtype)
        elif not isinstance(out, np.ndarray):
            raise fail("out", owner, f"None or an array of floats of shape {rows.shape}", out)
        elif out.shape != rows.shape or out.dtype.kind != "f":
            received = describe(f"shape {out.shape}, dtype {out.dtype}")
            raise fail("out", owner, f"an array of floats of shape {rows.shape}", received)
        elif rows.active is not None:
            out[...] = 0
        write(rows, out)
        return out


def _least_eigenvalue(T: Array) -> float:
    """Return that of the Gram matrix of rows T Q at length 1."""
    unit = T / np.linalg.norm(T, axis=1, keepdims=True)
    return float(np.linalg.eigvalsh(unit @ unit.T).min(initial=1.0))


def _finite_peaks(rows: Rows, name: str, owner: str) -> Array:
    """Return the largest absolute entries of rows, or raise if one is NaN or infinite."""
    peaks = row_peaks(rows)
    if not np.isfinite(peaks).all():
        raise fail(name, owner, "finite", describe("NaN or infinite entries"))
    return peaks


def _rows_of(value: Any, name: str, owner: str) -> Rows:
    """Return rows of an array or a memory map, which are not copied, or of a sparse matrix."""
    matrix = value.tocsr() if is_sparse(value) else as_array(value, name, owner)
    if matrix.dtype == np.longdouble:
        matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[1] < 1:
        raise fail(name, owner, "of shape (k, d), one vector per row", describe(f"shape {matrix.shape}"))
    if matrix.dtype.kind not in "fiub" or matrix.dtype.itemsize > 8:
        raise fail(name, owner, "an array of real numbers", describe(f"dtype {matrix.dtype}"))
    return Sparse(matrix) if is_sparse(value) else Dense(matrix)
