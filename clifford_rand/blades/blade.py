"""The class `Blade`: k vectors that stand for their wedge, in any dimension and metric; Haar-distributed blades."""

import inspect
import math
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_generator, as_real, check_fits, check_integer, check_shape, describe, fail
from clifford_rand._threads import stacked
from clifford_rand.basis.keys import LARGEST, keys_of_grades
from clifford_rand.blades.relations import Relations
from clifford_rand.blades.rows import LN2, relative
from clifford_rand.blades.subspace import batch_pivots
from clifford_rand.errors import OF_BLADE, suggestion
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.print_options import COLUMNS, ROWS, html_of_vectors


class Blade(Relations):
    """The blade a1∧…∧ak of the rows of a matrix: k vectors and a scalar, never the C(d, k) components.

    Parameters
    ----------
    factors : array_like of shape (..., k, d)
        One vector per row, k ≤ d. float32 and float64 are kept, integers become float64. k = 0 is the scalar 1.
    algebra : Algebra, optional
        Any metric of numbers: diagonal or not, indefinite, degenerate. Default: Euclidean, ``Algebra(d)``.
    rtol : float, optional
        Rows scaled to length 1 count as dependent, and the blade as zero, where their smallest singular value is at
        most this. Default: 8·√k·eps.

    Attributes
    ----------
    factors : ndarray (..., k, d), read-only
    sign, log_scale : ndarray (...)
        The blade is sign · exp(log_scale) · f1∧…∧fk.
    algebra : Algebra
    d, grade : int
    shape : tuple of int
        The batch axes.

    Raises
    ------
    ArgumentError
        For more than d vectors, entries that are NaN, infinite or not real, an algebra of another dimension.

    Notes
    -----
    Products cost O(k² d), the star one QR factorization. Determinants are computed in float64, and kept as logarithms:
    nothing overflows. ``a ^ b`` wedge, ``~a`` reverse, ``-a``, ``2 * a``; `clifford_rand.inner`, `clifford_rand.star`
    and `clifford_rand.wedge` take blades too. Signs are those of `Multivector`. Angles, distances, span, intersection,
    `contains`, `canonical` and `isclose` are those of the coordinates, whatever the metric.

    Examples
    --------
    >>> A = cr.Blade([[1.0, 0, 0], [1, 2, 0]])
    >>> A.grade, A.to_multivector()
    (2, 2.0*e12)
    >>> (cr.star(A) ^ A).isclose(A.norm_squared() * cr.Blade(np.eye(3)))
    True
    >>> B = cr.Blade(np.random.default_rng(0).standard_normal((100, 10_000)))
    >>> B, bool(abs(B.log_inner(B)[1] - 2 * B.log_norm()) < 1e-9)
    (<Blade of grade 100 in Algebra(10000)>, True)
    """

    if not TYPE_CHECKING:  # where a name that is not defined stays an error

        def __getattr__(self, name):
            meant = suggestion(OF_BLADE, name, dir(type(self))) if name[0] != "_" else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.{meant}")

    # ---- normal forms

    def orthonormalized(self) -> Self:
        """Return the same blade with factors that are orthonormal in coordinates, and its volume in ``log_scale``."""
        return self._make(*self._frame)

    def normalized(self, *, rtol: float | None = None) -> Self:
        """Return the blade divided by its norm; an error for zero and null blades, see `is_null`.

        Examples
        --------
        >>> A = cr.Blade([[3e200, 4e200]]).normalized()
        >>> round(float(A.norm()), 12), A.isclose(cr.Blade([[0.6, 0.8]]))
        (1.0, True)
        """
        if np.any(self.is_null(rtol=rtol)):
            raise fail("blade", "normalized", "of non-zero norm", describe("a blade that is zero or null"))
        return self._times(1.0, -self.log_norm())

    def canonical(self) -> Self:
        """Return the blade with factors that depend, to rounding, on the blade alone.

        Reduced echelon form: at k *pivots* the factors have the identity, and the scalar sign · exp(log_scale) is the
        blade's coefficient there. Pivots are chosen from an orthonormal basis, each time the column with the largest
        part orthogonal to those before, the first of equal ones: entries stay moderate, and rounding cannot exchange
        pivots unless they differ by about 1e-6. O(k² d). The factors of zero are 0.

        Examples
        --------
        >>> A = cr.Blade([[1.0, 2, 3], [4, 5, 7]]).canonical()
        >>> A.factors.round(9), float(A.sign), round(float(A.log_scale), 9)  # log 5 for -5 e13
        (array([[1. , 0.2, 0. ],
               [0. , 0.6, 1. ]]), -1.0, 1.609437912)
        """
        frame = self._frame
        place = batch_pivots(frame.basis)[..., None, :]
        square = np.take_along_axis(frame.basis, place, axis=-1)
        rows = np.linalg.solve(square, frame.basis)
        np.put_along_axis(rows, place, np.eye(self.grade), axis=-1)
        rows = np.where((frame.sign == 0)[..., None, None], 0.0, rows) + 0.0
        sign, log = np.linalg.slogdet(square)
        sign = sign * frame.sign
        return self._make(rows, sign, np.where(sign == 0, -np.inf, log + frame.log_volume))

    # ---- in notebooks

    def _repr_html_(self) -> str:
        first = self.factors[(slice(1),) * self.ndim + (slice(ROWS), slice(COLUMNS))]
        scalar = ""
        if not self.ndim and (self.sign != 1 or self.log_scale):
            size = f"{'-' if self.sign < 0 else ''}exp({self.log_scale:.6g})" if self.sign else "0"
            scalar = f": {size} times the wedge of these vectors"
        headings = [self.algebra.names.vector(i) for i in range(first.shape[-1])]
        note = f"{self!r}{', of which this is the first' if self.ndim else scalar}"
        return html_of_vectors(first.reshape(-1, first.shape[-1]), self.factors.shape[-2:], headings, note)

    # ---- multivectors

    def to_multivector(self) -> Any:
        """Return the `Multivector` of one grade, with all C(d, k) components.

        Raises
        ------
        ArgumentError
            If there would be more than 2^27 components, or they do not fit into the dtype.
        """
        d, k = self.d, self.grade
        total = math.comb(d, k) * math.prod(self.shape)
        if total > LARGEST:
            raise fail(
                "blade",
                "to_multivector",
                f"of at most 2^27 components ({8 * LARGEST >> 30} GiB)",
                describe(f"C({d}, {k}) = {_power(total)}, {_power(8 * total)} bytes"),
                "Work with the vectors in .factors.",
            )
        rows, sign, log = self._rows
        n = np.rint(np.where(sign == 0, 0.0, log) / LN2)
        rest = np.where(self.is_zero(), 0.0, sign * np.exp(np.where(sign == 0, 0.0, log - n * LN2)))
        if not self._log_scale.any():  # only powers of two were taken out: integers stay exact
            rest = np.where(self.is_zero(), 0.0, sign)
        keys = keys_of_grades(d, (k,))
        vectors = (self.algebra.vector(rows[..., i, :]) for i in range(k))
        wedge = reduce(xor, vectors, self.algebra.scalar(rest)).on_keys(keys)
        exponent = np.clip(n, -(1 << 14), 1 << 14).astype(np.int32)
        with np.errstate(over="ignore", under="ignore"):
            values = np.ldexp(wedge.coefficients, exponent[..., None]).astype(self.dtype)
        if not np.isfinite(values).all():
            received = describe(f"log-volume {float(np.max(self.log_volume())):.4g}")
            raise fail(
                "blade", "to_multivector", f"of components that fit into {self.dtype}", received, "Scale it first."
            )
        return self.algebra.new(keys, values)

    @classmethod
    def from_multivector(cls, A: Any, /, *, rtol: float = 1e-9) -> Self:
        """Return the blade of a multivector that is one, with factors orthonormal in coordinates.

        Parameters
        ----------
        A : Multivector
            A blade other than zero, or a batch of blades of one grade; of numbers.
        rtol : float, default=1e-9
            As in `Multivector.is_blade`.

        Raises
        ------
        ArgumentError
            If A is not a blade.

        Examples
        --------
        >>> A = cr.Algebra(4)("3*e12 + 4*e13")
        >>> cr.Blade.from_multivector(A).to_multivector().isclose(A)
        True
        """
        owner = "Blade.from_multivector"
        if not isinstance(A, Multivector):
            raise fail("A", owner, "a multivector", describe(f"{type(A).__name__} {A!r}"))
        if A.dtype.kind == "c":
            raise fail("A", owner, "real", describe(f"dtype {A.dtype}"))
        if A.dtype.kind != "f":
            try:
                A = A.astype(np.float64)
            except (TypeError, ValueError):
                raise fail(
                    "A", owner, "a multivector of numbers", describe("symbols"), "Substitute numbers first."
                ) from None
        if not np.isfinite(A.coefficients).all():
            raise fail("A", owner, "finite", describe("NaN or infinite coefficients"))
        if not np.all(A.is_blade(rtol=rtol)):
            hint = "Zero and sums of blades have no factors."
            raise fail("A", owner, f"a blade, a wedge of vectors, to rtol = {relative(A.dtype, rtol):g}", A, hint)
        size, vectors = A.factorize_blade(rtol=rtol)
        size = np.asarray(size, dtype=np.float64)
        rows = [vector.values for vector in vectors]
        factors = np.stack(rows, axis=-2) if rows else np.zeros((*A.shape, 0, A.algebra.d), dtype=A.dtype)
        return cls(as_real(factors, "A", owner), A.algebra).scaled(np.log(np.abs(size)), np.sign(size))


for _name, _method in inspect.getmembers(Blade, inspect.isfunction):
    if not _name.startswith("_"):
        setattr(Blade, _name, stacked(_method))  # a batch of blades is a stack of matrices


def _power(count: int) -> str:
    return f"{count:.3g}" if count < 10**15 else f"10^{len(str(count)) - 1}" if count < 10**4000 else "over 10^4000"


def haar_blade(
    k: int, d: int, *, rng: np.random.Generator | int | None = None, shape: int | tuple[int, ...] = ()
) -> Blade:
    r"""Return a unit k-blade whose subspace is uniform among the k-dimensional subspaces of R^d.

    .. math:: F F^T = I_k, \qquad F \sim F H \text{ for every orthogonal } H, \qquad \mathbb E[F^T F] = (k/d) I_d.

    The rows of F, ``factors`` of the blade :math:`f_1 \wedge … \wedge f_k`, are orthonormal. Not only their span is
    uniform, on the Grassmannian, but the frame itself, on the Stiefel manifold; k = d gives a Haar-distributed
    orthogonal matrix, of determinant 1 or -1 with probability 1/2 each. The columns of a Gaussian matrix (d, k) are
    orthonormalized by QR, O(dk²), with the signs that make R's diagonal positive: without them the law is that of the
    QR algorithm's own signs, not Haar's.

    Parameters
    ----------
    k : int
        Grade, from 0 to d.
    d : int
        Dimension.
    rng : Generator, int or None
        Source of randomness, or its seed.
    shape : int or tuple of int
        Batch axes.

    Returns
    -------
    Blade
        A batch of ``shape`` in Euclidean R^d, of orthonormal factors (*shape, k, d) in float64.

    Raises
    ------
    ArgumentError
        If ``d`` is not a positive integer, ``k`` not one from 0 to d, or ``shape`` not made of integers ≥ 0.

    References
    ----------
    Mezzadri, "How to generate random matrices from the classical compact groups", Notices of the AMS 54,
    2007, Section 5.

    Examples
    --------
    >>> B = cr.haar_blade(2, 5, rng=0)
    >>> B, bool(np.allclose(B.factors @ B.factors.T, np.eye(2)))
    (<Blade of grade 2 in Algebra(5)>, True)
    >>> cr.haar_blade(4, 5, rng=0, shape=(10, 3)).shape
    (10, 3)
    """
    owner = "haar_blade"
    d = check_integer(d, "d", owner)
    k = check_integer(k, "k", owner, low=0, high=d, hint="A k-blade of R^d has at most d factors.")
    return Blade(_frames(check_shape(shape, "shape", owner), k, d, as_generator(rng, owner), owner))


def random_rotation(
    d: int, *, rng: np.random.Generator | int | None = None, shape: int | tuple[int, ...] = ()
) -> NDArray[np.float64]:
    r"""Return rotation matrices of R^d with the Haar law of SO(d): :math:`Q Q^T = I`, det Q = 1.

    They are Haar-distributed orthogonal matrices, the last row of which is negated where the determinant is -1.

    Parameters
    ----------
    d : int
        Dimension.
    rng : Generator, int or None
        Source of randomness, or its seed.
    shape : int or tuple of int
        Batch axes.

    Returns
    -------
    ndarray (*shape, d, d) of float64

    Raises
    ------
    ArgumentError
        If ``d`` is not a positive integer, or ``shape`` not made of integers ≥ 0.

    Examples
    --------
    >>> Q = cr.random_rotation(4, rng=0)
    >>> bool(np.allclose(Q @ Q.T, np.eye(4))), round(float(np.linalg.det(Q)), 12)
    (True, 1.0)
    """
    owner = "random_rotation"
    d = check_integer(d, "d", owner)
    Q = _frames(check_shape(shape, "shape", owner), d, d, as_generator(rng, owner), owner)
    Q[..., -1, :] *= stacked(np.linalg.slogdet)(Q)[0][..., None]
    return Q


def _frames(shape: tuple[int, ...], k: int, d: int, rng: np.random.Generator, owner: str) -> NDArray[np.float64]:
    """Return frames (*shape, k, d): Q of the QR factorization with a positive diagonal of R, transposed."""
    check_fits(32 * math.prod((*shape, k, d)), "d" if math.prod(shape) <= 1 else "shape", owner)  # four such arrays
    if k == 0 or 0 in shape:
        return np.empty((*shape, k, d))
    Q, R = stacked(np.linalg.qr)(rng.standard_normal((*shape, d, k)))
    sign = np.copysign(1.0, np.diagonal(R, axis1=-2, axis2=-1))
    return np.ascontiguousarray(np.swapaxes(Q * sign[..., None, :], -1, -2))
