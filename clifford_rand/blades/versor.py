"""The class `LargeVersor`: the geometric product of vectors in very many dimensions, by its vectors."""

import math
from functools import partial
from typing import Any, Self

import numpy as np

from clifford_rand._checks import as_real, check_bool, check_tolerance, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.blades.blade import Blade
from clifford_rand.blades.blocks import Mapped, Rows, Scaled, Stacked, Sum, finite_peaks, product, rows_of, written
from clifford_rand.blades.determinant import is_euclidean
from clifford_rand.blades.large import LargeBlade
from clifford_rand.blades.storage import algebra_text
from clifford_rand.blades.subspace import FactoredRows

_FIRST = 8  # random vectors that the range of F - I is looked for with, four times as many where they are too few
_EXACT_UP_TO = 1024  # dimension up to which a rank from d/2 on is found, by a decomposition of F - I
_NOISE = 16  # times √d eps: singular values of F - I that rounding of F leaves
_ORTHOGONAL = 1e-9  # default tolerance of FᵀF = I


class LargeVersor:
    r"""The versor V = a1 a2 … ak, a geometric product of vectors of R^d that are neither multiplied out nor copied.

    .. math:: V x V^{-1} = (-1)^k H_1 \cdots H_k x = (-1)^k (x - Y T Y^T x), \qquad
        H_i = I - 2 a_i a_i^T / a_i^2, \quad Y = [a_1 … a_k].

    T is upper triangular, and its inverse is the upper triangle of :math:`Y^T Y` with half the diagonal. So n vectors
    are moved by 4ndk + nk² operations, as by the compact WY form of Householder reflections, after dk² for
    :math:`Y^T Y`. All products are in float64, by blocks of columns, as in `LargeBlade`.

    Parameters
    ----------
    factors : array_like or SciPy sparse array of shape (k, d)
        The vectors a1, …, ak as rows, none of them 0, of any length. Arrays and memory maps are not copied: they must
        not change while the versor is used.

    Attributes
    ----------
    n_vectors, d : int
        The number k of vectors, and the dimension of the space.
    dtype : numpy.dtype
        float32 or float64, of what is returned in R^d.

    Raises
    ------
    ArgumentError
        For entries that are not real. NaN, infinity and vectors of length 0, which have no inverse, are found when the
        vectors are first read.

    Notes
    -----
    ``V * W`` product, ``~V`` reverse, ``V >> x`` sandwich. The metric is Euclidean: `Multivector` has versors of
    others. Signs are those of `Multivector.sandwich`: one vector n takes x to n x n⁻¹, minus its reflection in the
    hyperplane orthogonal to n. With ``twisted=True`` it is the reflection, and V the product of k reflections.

    References
    ----------
    Schreiber and Van Loan, "A storage-efficient WY representation for products of Householder transformations", 1989.
    T⁻¹: Puglisi, "Modification of the Householder method based on the compact WY representation", 1992.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> V = cr.LargeVersor(rng.standard_normal((6, 10_000)))
    >>> V, V * ~V
    (<LargeVersor of 6 vectors in R^10000>, <LargeVersor of 12 vectors in R^10000>)
    >>> x = rng.standard_normal((1, 10_000))
    >>> bool(np.allclose(V.inv() >> (V >> x), x))
    True
    """

    __array_ufunc__ = None  # NumPy leaves ``array * versor`` to the versor, which refuses it

    def __init__(self, factors: ArrayLike | Any) -> None:
        self._set(rows_of(factors, "factors", "LargeVersor"))

    def _set(self, source: Rows) -> None:
        self.n_vectors, self.d = source.shape
        self.dtype = source.dtype
        self._source = source

    def _of(self, source: Rows) -> Self:
        versor = object.__new__(type(self))
        type(self)._set(versor, source)
        return versor

    def __repr__(self) -> str:
        kind = "" if self.dtype == np.float64 else f", {self.dtype}"
        return f"<LargeVersor of {self.n_vectors} vector{'s' * (self.n_vectors != 1)} in R^{self.d}{kind}>"

    @cached_property
    def _scaled(self) -> tuple[Rows, float, Array]:
        """Rows of ordinary lengths, the logarithm of what was taken out, and their Gram matrix."""
        rows, log, gram = FactoredRows(self._source, None).scaled
        squares = gram.diagonal()
        if not np.all(squares > 0):
            finite_peaks(self._source, "factors", "LargeVersor")
            received = describe(f"vector {int(np.argmin(squares > 0))}, which is 0")
            raise fail("factors", "LargeVersor", "of lengths other than 0", received, "A versor has an inverse.")
        return rows, log, gram

    def is_even(self) -> bool:
        """Return whether the number of vectors is even: V has the even grades, and x ↦ V x V⁻¹ is a rotation.

        Examples
        --------
        >>> cr.LargeVersor(np.eye(3, 9)).is_even()
        False
        """
        return self.n_vectors % 2 == 0

    def log_norm(self) -> float:
        """Return the logarithm of the norm, the sum of those of the vectors.

        Examples
        --------
        >>> round(cr.LargeVersor([[3e300, 4e300], [0, 1]]).log_norm() / float(np.log(10)), 6)
        300.69897
        """
        _, log, gram = self._scaled
        return log + float(np.log(gram.diagonal()).sum()) / 2

    def norm(self) -> float:
        """Return |V| = |a1| … |ak|; inf where it is beyond the floats, see `log_norm`.

        Examples
        --------
        >>> round(cr.LargeVersor([[3, 4, 0], [0, 0, 2]]).norm(), 9)
        10.0
        """
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_norm()))

    # ---- products

    def __mul__(self, other: Any) -> Self:
        """Return the geometric product V W, the vectors of both one after the other."""
        if not isinstance(other, LargeVersor):
            return NotImplemented
        if other.d != self.d:
            raise fail("other", "LargeVersor", f"of {self.d} dimensions", describe(f"a versor of R^{other.d}"))
        return self._of(Stacked(self._source, other._source))

    def reverse(self) -> Self:
        """Return ak … a1, also ``~V``: V ~V = |V|².

        Examples
        --------
        >>> V = cr.LargeVersor([[1, 0, 0], [1, 1, 0]])
        >>> V >> [[1, 0, 0]], (~V) >> [[1, 0, 0]]
        (array([[ 0., -1.,  0.]]), array([[0., 1., 0.]]))
        """
        return self._of(Mapped(np.flipud, self._source, self.n_vectors))

    __invert__ = reverse

    def inv(self) -> Self:
        """Return V⁻¹ = ak⁻¹ … a1⁻¹, with a⁻¹ = a / a².

        Examples
        --------
        >>> V = cr.LargeVersor([[0, 2], [1, 1]])
        >>> round((V * V.inv()).norm(), 12), ((V * V.inv()) >> [[1, 2]]).round(9)
        (1.0, array([[1., 2.]]))
        """
        rows, _, gram = self._scaled
        shift = rows.exponent if isinstance(rows, Scaled) else 0
        with np.errstate(over="ignore"):  # infinite where it is beyond the floats
            factor = np.ldexp(1 / gram.diagonal(), -np.asarray(shift))
        inverses = Mapped(partial(np.multiply, factor[:, None]), rows, len(factor))
        return self._of(Mapped(np.flipud, inverses, len(factor)))

    # ---- sandwiches

    def _moved(self, X: Rows, twisted: bool) -> Rows:
        """Return the rows V x V⁻¹: (-1)^k (X - X Yᵀ Tᵀ Y) for Y of rows a1, …, ak."""
        from scipy.linalg import solve_triangular  # loads with the first sandwich

        rows, _, gram = self._scaled
        upper = np.triu(gram)
        np.fill_diagonal(upper, gram.diagonal() / 2)
        sign = 1.0 if twisted or self.is_even() else -1.0
        products = product(X, rows)
        if not np.isfinite(products).all():
            finite_peaks(X, "X", "sandwich")
        weights = solve_triangular(upper, products.T, check_finite=False).T if self.n_vectors else products
        return Sum(sign, X, -sign * weights, rows)

    def sandwich(self, X: Any, /, *, out: NDArray[Any] | None = None, twisted: bool = False) -> Any:
        """Return V X V⁻¹ of vectors (n, d), of a blade or of another versor; also ``V >> X``. |V| does not count.

        Parameters
        ----------
        X : array_like or SciPy sparse array of shape (n, d), LargeBlade, Blade or LargeVersor
            A `Blade` is Euclidean. Blades and versors are moved vector by vector: V (a∧b) V⁻¹ = (V a V⁻¹)∧(V b V⁻¹).
        out : ndarray of shape (n, d), optional
            Where to write vectors, a memory map for example.
        twisted : bool, default=False
            Negate each vector where the number of V's vectors is odd: the product of the reflections a1, …, ak.

        Returns
        -------
        ndarray (n, d), LargeBlade, Blade or LargeVersor
            Of the dtype of X and V. The rows of a LargeBlade and a LargeVersor are not formed.

        Examples
        --------
        >>> V = cr.LargeVersor([[1, 0, 0], [1, 1, 0]])
        >>> V >> [[1, 0, 0], [0, 0, 5]]
        array([[ 0., -1.,  0.],
               [ 0.,  0.,  5.]])
        >>> A = V >> cr.LargeBlade([[1, 0, 0], [0, 0, 1]])
        >>> A.inner(cr.LargeBlade([[0, -1, 0], [0, 0, 1]]))
        1.0
        """
        check_bool(twisted, "twisted", "sandwich")
        if isinstance(X, Blade) and not is_euclidean(X.algebra.form):
            rule = "a blade of the Euclidean metric, which is that of LargeVersor"
            raise fail("X", "sandwich", rule, describe(f"a blade of {algebra_text(X.algebra)}"))
        if isinstance(X, LargeBlade | LargeVersor):
            vectors = X._factored.source if isinstance(X, LargeBlade) else X._source
        else:
            vectors = rows_of(X.factors.reshape(-1, X.d) if isinstance(X, Blade) else X, "X", "sandwich")
        if vectors.shape[1] != self.d:
            raise fail("X", "sandwich", f"of {self.d} dimensions", describe(f"shape {vectors.shape}"))
        moved = self._moved(vectors, twisted)
        if isinstance(X, LargeBlade | LargeVersor):
            return X._of(moved)
        rows = written(moved, out, "sandwich")
        if isinstance(X, Blade):
            return X._make(rows.reshape(X.factors.shape), X.sign, X.log_scale, rows.dtype)
        return rows

    def __rshift__(self, X: Any) -> Any:
        return self.sandwich(X)

    # ---- matrices

    def vector_matrix(self, *, out: NDArray[Any] | None = None, twisted: bool = False) -> NDArray[Any]:
        """Return the orthogonal matrix (d, d) of x ↦ V x V⁻¹, or write it to ``out``; see `sandwich`.

        Examples
        --------
        >>> cr.LargeVersor([[1, 0], [1, 1]]).vector_matrix()
        array([[ 0.,  1.],
               [-1.,  0.]])
        """
        from scipy.sparse import eye_array

        check_bool(twisted, "twisted", "vector_matrix")
        # columns are images: the rows of the matrix are those of the inverse
        moved = self.reverse()._moved(rows_of(eye_array(self.d, dtype=self.dtype), "V", "vector_matrix"), twisted)
        return written(moved, out, "vector_matrix")

    @classmethod
    def from_vector_matrix(cls, F: ArrayLike, /, *, rtol: float | None = None, twisted: bool = False) -> Self:
        """Return a versor V with V x V⁻¹ = F x for all x.

        The theorem of Cartan and Dieudonné: F is a product of as many reflections as F - I has rank, and no fewer. With
        Q an orthonormal basis of the range of F - I, found from products by random vectors, QᵀFQ is a product of
        Householder reflections, by one QR factorization with a positive diagonal.

        Parameters
        ----------
        F : array_like of shape (d, d)
            Orthogonal.
        rtol : float, optional
            Largest length of a row of FᵀF - I, by random vectors; at least 64 eps of the dtype. Default: 1e-9.
        twisted : bool, default=False
            F is to be the product of the reflections a1, …, ak, without the sign (-1)^k.

        Returns
        -------
        LargeVersor
            Of unit vectors; the other unit versor of F is its negative. Up to d = 1024, and where the rank is below
            d/8, there are as many vectors as the rank of F - I, of -F - I for V of odd length; else at most d.

        Raises
        ------
        ArgumentError
            If F is not orthogonal, or of determinant -1 in odd dimension, where V x V⁻¹ has determinant 1, unless
            ``twisted``.

        Examples
        --------
        >>> V = cr.LargeVersor.from_vector_matrix([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        >>> V, V.vector_matrix().round(9) + 0.0
        (<LargeVersor of 2 vectors in R^3>, array([[ 0., -1.,  0.],
               [ 1.,  0.,  0.],
               [ 0.,  0.,  1.]]))
        """
        owner = "LargeVersor.from_vector_matrix"
        check_bool(twisted, "twisted", owner)
        matrix = as_real(F, "F", owner)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
            raise fail("F", owner, "of shape (d, d)", describe(f"shape {matrix.shape}"))
        eps = float(np.finfo(matrix.dtype).eps)
        limit = max(check_tolerance(rtol, _ORTHOGONAL, owner), 64 * eps)
        exact = matrix.astype(np.float64, copy=False)
        probe = np.random.default_rng(0).standard_normal((len(matrix), _FIRST))
        with np.errstate(over="ignore", invalid="ignore"):
            rest = float(np.abs(exact.T @ (exact @ probe) - probe).max())  # entries are as large as rows of FᵀF - I
        if not rest <= limit:
            raise fail("F", owner, "an orthogonal matrix: FᵀF = I", describe(f"FᵀF off by {rest:.3g}"))
        noise = max(_NOISE * math.sqrt(len(matrix)) * eps, rest)
        vectors = _reflections(exact, noise)
        if len(vectors) % 2 and not twisted:
            if len(matrix) % 2:
                hint = "V x V⁻¹ of vectors in odd dimension is a rotation; twisted=True has F as reflections."
                raise fail("F", owner, "of determinant 1", describe("determinant -1"), hint)
            vectors = _reflections(-exact, noise)
        return cls(vectors.astype(matrix.dtype, copy=False))


def _reflections(F: Array, noise: float) -> Array:
    """Return unit vectors (k, d) of reflections whose product is F, orthogonal to ``noise``, k the rank of F - I."""
    from scipy.linalg import get_lapack_funcs

    d, count = len(F), _FIRST
    rng = np.random.default_rng(0)
    basis, inner = np.eye(d), F
    while 2 * count < d or d <= _EXACT_UP_TO:
        start = rng.standard_normal((d, count)) / math.sqrt(d) if 2 * count < d else np.eye(d)
        U, size = np.linalg.svd(F @ start - start, full_matrices=False)[:2]
        rank = int((size > noise).sum())
        if rank < size.size or rank == d:
            basis = U[:, :rank]
            inner = basis.T @ (F @ basis)
            break
        count *= 4
    if not basis.shape[1]:
        return np.zeros((0, d))
    factor, work = get_lapack_funcs(("geqrfp", "geqrfp_lwork"), (inner,))
    packed, tau, _ = factor(inner, lwork=int(work(*inner.shape)[0]))[:3]
    vectors = np.tril(packed, -1) + np.eye(len(inner))
    kept = np.flatnonzero(tau)
    vectors = (vectors[:, kept] / np.linalg.norm(vectors[:, kept], axis=0)).T
    return np.ascontiguousarray(vectors @ basis.T)
