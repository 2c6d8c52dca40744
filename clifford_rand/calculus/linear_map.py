"""Linear maps of vectors as objects, carried over to all grades: f(A ∧ B) = f(A) ∧ f(B)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import check_dtype, check_instance, check_integer, check_tolerance, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import as_coefficients, exact_quotient, is_scalar, read_only
from clifford_rand.calculus import matrices, properties
from clifford_rand.calculus.properties import check_endomorphism
from clifford_rand.multivector.multivector import Multivector


class LinearMap:
    """A linear map f of the vectors of an algebra into those of the same or another one; f(A) is its outermorphism.

    Parameters
    ----------
    algebra : Algebra
        Where the arguments live.
    matrix : array_like of shape (..., d', d)
        The image of basis vector i in column i, in components of basis vectors. Leading axes are a batch of maps.
    target : Algebra, optional
        Where the images live, with d' basis vectors; ``algebra`` by default.

    Attributes
    ----------
    algebra, target : Algebra
    matrix : ndarray of shape (..., d', d)
        Read-only: float32, float64, complex64, complex128, int64, or fractions and symbols.

    Notes
    -----
    ``f(A)`` is linear on all grades, ``f @ g`` is f after g; there are ``f + g``, ``2 * f``, ``f / 2``, ``f ** -1``.
    Adjoint, symmetric and skew part are those of the metric, a · f̄(b) = f(a) · b: the transposed matrix only in an
    orthonormal Euclidean basis. D. Hestenes and G. Sobczyk, "Clifford Algebra to Geometric Calculus", 1984, chapter 3;
    C. Doran and A. Lasenby, "Geometric Algebra for Physicists", 2003, section 4.4.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> f = cr.LinearMap(alg, [[1, 2], [3, 4]])
    >>> f
    <LinearMap of Algebra(2): e1 -> e1 + 3*e2, e2 -> 2*e1 + 4*e2>
    >>> f(alg.e1), f(alg.I), int(f.det()), int(f.trace())
    (e1 + 3*e2, -2*e12, -2, 5)
    """

    __array_ufunc__ = None  # an array times a map is the map's business
    __slots__ = ("algebra", "matrix", "target")

    def __init__(self, algebra: Algebra, matrix: ArrayLike, target: Algebra | None = None) -> None:
        self.algebra = matrices.checked_algebra(algebra, "algebra")
        self.target = algebra if target is None else matrices.checked_algebra(target, "target")
        array = as_coefficients(matrix, "matrix", "LinearMap", own=True, rule="a matrix of numbers or symbols")
        if array.ndim < 2 or array.shape[-2:] != (self.target.d, algebra.d):
            rule = f"an array of shape (..., {self.target.d}, {algebra.d}), the image of e_i in column i"
            hint = "Name the algebra of the images with target=." if target is None else ""
            raise fail("matrix", "LinearMap", rule, describe(f"shape {array.shape}"), hint)
        self.matrix: NDArray[Any] = read_only(array)

    identity = classmethod(matrices.identity)
    from_images = classmethod(matrices.from_images)
    from_function = classmethod(matrices.from_function)
    from_versor = classmethod(matrices.from_versor)
    from_symbols = classmethod(matrices.from_symbols)

    # ---- evaluation and comparison

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch axes: ``()`` for one map.

        Examples
        --------
        >>> cr.LinearMap(cr.Algebra(2), np.ones((5, 2, 2))).shape
        (5,)
        """
        return self.matrix.shape[:-2]

    def __getitem__(self, index: Any) -> "LinearMap":
        place = index if isinstance(index, tuple) else (index,)
        return LinearMap(self.algebra, self.matrix[(*place, Ellipsis, slice(None), slice(None))], self.target)

    def images(self) -> list[Multivector]:
        """Return the images of the basis vectors.

        Examples
        --------
        >>> cr.LinearMap(cr.Algebra(2), [[1, 2], [3, 4]]).images()
        [e1 + 3*e2, 2*e1 + 4*e2]
        """
        return [self.target.vector(self.matrix[..., i].copy()) for i in range(self.algebra.d)]

    def __call__(self, A: Any, /) -> Multivector:
        """Return f(A), of all grades: f(a ∧ b) = f(a) ∧ f(b), and scalars stay."""
        if is_scalar(A):
            A = self.algebra.scalar(A)
        if not isinstance(A, Multivector) or A.algebra != self.algebra:
            received = describe(f"of {A.algebra!r}" if isinstance(A, Multivector) else type(A).__name__)
            raise fail("A", "LinearMap", f"a multivector of {self.algebra!r}", received)
        return A.outermorphism(self.matrix, self.target)

    def derivation(self, A: Multivector, /) -> Multivector:
        """Return A under f as a derivation: D(A ∧ B) = D(A) ∧ B + A ∧ D(B), D(a) = f(a) for vectors, D(1) = 0.

        It is the derivative of exp(t f)(A) at t = 0. For skew f, f(a) = a ⌋ B, it is the commutator (A B - B A)/2.

        Examples
        --------
        >>> alg = cr.Algebra(3)
        >>> cr.LinearMap(alg, [[1, 0, 0], [0, 2, 0], [0, 0, 5]]).derivation(alg.e13)
        6*e13
        """
        check_endomorphism(self, "derivation")
        check_instance(A, Multivector, "A", "LinearMap.derivation", "a multivector")
        if A.algebra != self.algebra:
            received = describe(f"a multivector of {A.algebra!r}")
            raise fail("A", "LinearMap.derivation", f"of {self.algebra!r}", received)
        return matrices.derivation(self.matrix, A)

    def __repr__(self) -> str:
        where = f"{self.algebra!r}" + ("" if self.target == self.algebra else f" into {self.target!r}")
        if self.shape or self.algebra.d > 8:
            return f"<LinearMap of {where}: shape={self.shape}, dtype={self.matrix.dtype}>"
        names = [self.algebra.names.vector(i) for i in range(self.algebra.d)]
        terms = (f"{name} -> {image!r}" for name, image in zip(names, self.images(), strict=True))
        return f"<LinearMap of {where}: {', '.join(terms)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearMap):
            return NotImplemented
        same = self.algebra == other.algebra and self.target == other.target and self.shape == other.shape
        return same and bool(np.all(self.matrix == other.matrix))

    __hash__ = None  # type: ignore[assignment]  # equal numbers of two dtypes would need equal hashes

    def isclose(self, other: "LinearMap", /, *, rtol: float = 1e-9) -> Any:
        """Compare matrices to rounding, relative to the largest entry of either; True or an array over the batch.

        Examples
        --------
        >>> third = cr.LinearMap(cr.Algebra(2), [[1, 2], [3, 4]]) / 3
        >>> third.isclose(third * (1 + 1e-12)), third.isclose(third * 1.01)
        (True, False)
        """
        self._check_alike(other, "isclose")
        rtol = check_tolerance(rtol, 1e-9, "LinearMap.isclose")
        a, b = self.matrix.astype(np.complex128), other.matrix.astype(np.complex128)
        size = np.maximum(np.abs(a).max(axis=(-1, -2)), np.abs(b).max(axis=(-1, -2)))
        close = np.abs(a - b).max(axis=(-1, -2)) <= rtol * size
        return bool(close) if close.ndim == 0 else close

    def simplify(self, function: Callable[[Any], Any] | None = None) -> "LinearMap":
        """Return the map with every entry simplified, by SymPy's ``simplify`` or a function of yours.

        Examples
        --------
        >>> import sympy
        >>> t = sympy.Symbol("t", real=True)
        >>> f = cr.LinearMap(cr.Algebra(1), [[sympy.cos(t) ** 2 + sympy.sin(t) ** 2]])
        >>> f.simplify()
        <LinearMap of Algebra(1): e1 -> e1>
        """
        from clifford_rand.symbolic.coefficients import each

        if function is not None:
            check_instance(function, Callable, "function", "LinearMap.simplify", "None or a function of an entry")
        return self._like(each(function or (lambda value: value.simplify()), self.matrix))

    def subs(self, *replacements: Any) -> "LinearMap":
        """Return the map after a substitution in every entry, as `Multivector.subs`.

        Examples
        --------
        >>> f = cr.LinearMap.from_symbols(cr.Algebra(2), "f")
        >>> f.subs({f.matrix[0, 1]: 0, f.matrix[1, 1]: 5})
        <LinearMap of Algebra(2): e1 -> f_11*e1 + f_21*e2, e2 -> 5*e2>
        """
        return self._like(self.target.scalar(self.matrix).subs(*replacements).coefficients[..., 0])

    def astype(self, dtype: Any) -> "LinearMap":
        """Return the map with entries of another type: float64 of exact numbers, object of numbers.

        Examples
        --------
        >>> f = cr.LinearMap(cr.Algebra(2), [[1, 2], [3, 4]])
        >>> f.astype(float).matrix
        array([[1., 2.],
               [3., 4.]])
        >>> (f.astype(object) / 2).trace()  # exact
        Fraction(5, 2)
        """
        return self._like(self.matrix.astype(check_dtype(dtype, "dtype", "LinearMap.astype")))

    # ---- the algebra of maps

    def __matmul__(self, other: Any) -> Any:
        """Return self after other."""
        if not isinstance(other, LinearMap):
            return NotImplemented
        if other.target != self.algebra:
            raise fail("other", "@", f"a map into {self.algebra!r}", describe(f"one into {other.target!r}"))
        return LinearMap(other.algebra, matrices.multiplied(self.matrix, other.matrix), self.target)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, LinearMap):
            return NotImplemented
        self._check_alike(other, "+")
        return self._like(self.matrix + other.matrix)

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, LinearMap) else NotImplemented

    def __neg__(self) -> "LinearMap":
        return self._like(-self.matrix)

    def __mul__(self, factor: Any) -> Any:
        if not is_scalar(factor) and not isinstance(factor, np.ndarray):
            return NotImplemented
        scale = factor[..., None, None] if isinstance(factor, np.ndarray) else factor
        return self._like(self.matrix * scale)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if not is_scalar(divisor):
            return NotImplemented
        exact = self.matrix.dtype == object or hasattr(divisor, "free_symbols")
        return self._like(exact_quotient(self.matrix, divisor) if exact else self.matrix / divisor)

    def __pow__(self, exponent: int) -> "LinearMap":
        count = check_integer(exponent, "exponent", "**", low=-(2**31), high=2**31)
        check_endomorphism(self, "**")
        result, base = LinearMap.identity(self.algebra), self if count >= 0 else self.inv()
        for digit in f"{abs(count):b}":
            result = result @ result
            result = result @ base if digit == "1" else result
        return result

    def inv(self) -> "LinearMap":
        """Return f⁻¹, exact for fractions and symbols.

        Raises
        ------
        ArgumentError
            If the matrix is singular (to rounding: a condition number above 1/eps), or not square.

        Examples
        --------
        >>> f = cr.LinearMap.from_symbols(cr.Algebra(2), "f")
        >>> (f.inv() @ f).simplify()
        <LinearMap of Algebra(2): e1 -> e1, e2 -> e2>
        """
        if self.algebra.d != self.target.d:
            raise fail("f", "inv", "a map between algebras of one dimension", describe(repr(self)))
        rule = "a map with an inverse"
        return LinearMap(self.target, matrices.inverted(self.matrix, "f", "inv", rule), self.algebra)

    adjoint = properties.adjoint
    symmetric_part = properties.symmetric_part
    skew_part = properties.skew_part
    bivector = properties.bivector
    is_symmetric = properties.is_symmetric
    is_skew = properties.is_skew
    is_isometry = properties.is_isometry

    # ---- invariants

    def trace(self) -> Any:
        """Return Σ eⁱ · f(e_i), the trace of the matrix; an array over the batch.

        Examples
        --------
        >>> alg = cr.Algebra(1, 1)
        >>> int(cr.LinearMap(alg, [[1, 2], [3, 4]]).trace()), cr.LinearMap.from_symbols(alg, "f").trace()
        (5, f_11 + f_22)
        """
        check_endomorphism(self, "trace")
        return np.asarray(np.trace(self.matrix, axis1=-2, axis2=-1))[()]

    def det(self) -> Any:
        """Return det f, with f(I) = det(f) I; exact for integers, fractions and symbols.

        Examples
        --------
        >>> alg = cr.Algebra(2)
        >>> int(cr.LinearMap(alg, [[2**40, 0], [0, 2**40]]).det()) == 2**80
        True
        """
        check_endomorphism(self, "det")
        if self.matrix.dtype.kind in "fc":
            return np.linalg.det(self.matrix)
        return self.characteristic_coefficients()[..., -1][()]

    def characteristic_coefficients(self) -> NDArray[Any]:
        """Return c_0 = 1, c_1 = tr f, …, c_d = det f: det(λ - f) = Σ_k (-1)^k c_k λ^{d-k}, (..., d + 1).

        c_k is the trace of f on the grade k, Σ_K e^K * f(e_K) (Hestenes and Sobczyk, section 3-2). Exact for integers,
        fractions and symbols.

        Examples
        --------
        >>> cr.LinearMap(cr.Algebra(3), [[2, 1, 0], [0, 3, 0], [0, 0, 5]]).characteristic_coefficients()
        array([ 1, 10, 31, 30])
        """
        check_endomorphism(self, "characteristic_coefficients")
        return matrices.characteristic_coefficients(self.matrix)

    eigenblades = properties.eigenblades

    # ---- checks

    def _like(self, matrix: NDArray[Any]) -> "LinearMap":
        return LinearMap(self.algebra, matrix, self.target)

    def _check_alike(self, other: Any, owner: str) -> None:
        """Refuse a map between other algebras."""
        if not isinstance(other, LinearMap) or other.algebra != self.algebra or other.target != self.target:
            raise fail("other", owner, f"a map of {self.algebra!r} into {self.target!r}", describe(repr(other)))
