"""Products of blades: wedge, inner products and norms, stars and complements; everything in logarithms."""

import math
from typing import Any, Self

import numpy as np

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand.basis.keys import check_size
from clifford_rand.basis.metric import Metric
from clifford_rand.blades.determinant import is_degenerate, is_euclidean, log_det, log_det_metric, lowered
from clifford_rand.blades.rows import LN2, broadcast, complement, default_rtol
from clifford_rand.blades.storage import Storage, algebra_text, truth


class Products(Storage):
    """The outer product, the inner product, and the duals."""

    def wedge(self, b: Any, /, *more: Any) -> Self:
        """Return a∧b∧…: the vectors of all factors one after the other. Also ``a ^ b``.

        Where the grades add to more than d the result is zero, as a blade of grade 0 (a scalar of zero).

        Examples
        --------
        >>> A = cr.Blade([[1.0, 0, 0]]) ^ cr.Blade([[0, 2.0, 0]])
        >>> A.grade, A.to_multivector()
        (2, 2.0*e12)
        """
        factors = [self, *(self._checked(factor, "wedge") for factor in (b, *more))]
        try:
            shape = np.broadcast_shapes(*(factor.shape for factor in factors))
        except ValueError:
            shapes = ", ".join(str(factor.shape) for factor in factors)
            raise fail("b", "wedge", "blades with batch axes that broadcast", describe(f"shapes {shapes}")) from None
        dtype = np.result_type(*(factor.factors for factor in factors))
        if sum(factor.grade for factor in factors) > self.d:
            return self._make(np.zeros((*shape, 0, self.d)), 0.0, -np.inf, dtype)
        rows = np.concatenate([broadcast(factor.factors, shape) for factor in factors], axis=-2)
        sign = np.prod(np.stack(np.broadcast_arrays(*(factor.sign for factor in factors))), axis=0)
        log = np.sum(np.stack(np.broadcast_arrays(*(factor.log_scale for factor in factors))), axis=0)
        result = self._make(rows, sign, log, dtype)
        result.rtol = max((factor.rtol for factor in factors if factor.rtol is not None), default=None)
        return result

    def __xor__(self, other: Any) -> Self:
        return self.wedge(other)

    def vee(self, b: Any, /) -> Self:
        """Return the regressive product LC(RC(a) ∧ RC(b)), LC and RC the complements; in any metric. Also ``a & b``.

        Where the grades add to less than d the result is zero, as a blade of grade 0.

        Examples
        --------
        >>> A, B = cr.Blade([[1.0, 0, 0], [0, 1, 0]]), cr.Blade([[0, 1.0, 0], [0, 0, 1]])
        >>> (A & B).isclose(cr.Blade([[0, 1.0, 0]]))
        True
        """
        second = self._checked(b, "vee")
        if self.grade + second.grade < self.d:
            shape = np.broadcast_shapes(self.shape, second.shape)
            return self._make(np.zeros((*shape, 0, self.d)), 0.0, -np.inf, np.result_type(self.factors, second.factors))
        return (self.right_complement() ^ second.right_complement()).left_complement()

    def __and__(self, other: Any) -> Self:
        return self.vee(other)

    # ---- inner products and norms

    def log_inner(self, b: Any, /) -> tuple[Any, Any]:
        """Return sign and log of the absolute value of `inner`, as `numpy.linalg.slogdet` does.

        Returns
        -------
        tuple of float64 scalars or arrays
            0 and -inf for zero. A value that is zero for other reasons, as of null or orthogonal blades, is computed
            to rounding: it is some eps times the size of its terms.

        Examples
        --------
        >>> A = cr.Blade(1e5 * np.eye(100))
        >>> sign, log = A.log_inner(A)
        >>> float(sign), round(float(log) / np.log(10))
        (1.0, 1000)
        """
        (A, sign_a, log_a), (B, sign_b, log_b) = self._rows, self._checked(b, "inner")._rows
        shape = np.broadcast_shapes(self.shape, b.shape)
        if self.grade != b.grade:
            return np.zeros(shape)[()], np.full(shape, -np.inf)[()]
        if math.prod(self.shape) <= math.prod(b.shape):
            A, exponent = lowered(self.algebra.form, A)
        else:
            B, exponent = lowered(self.algebra.form, B)
        sign, log, doubtful = log_det(A @ B.swapaxes(-1, -2))
        if doubtful.any():
            zero = np.asarray(self.is_zero() | b.is_zero())
            sign, log = np.where(zero, 0.0, sign), np.where(zero, -np.inf, log)
        sign = sign * sign_a * sign_b
        log = np.where(sign == 0, -np.inf, log + log_a + log_b + self.grade * exponent * LN2)
        return sign[()], log[()]

    def inner(self, b: Any, /) -> Any:
        """Return ⟨a ~b⟩_0 = det(a_iᵀ G b_j), 0 for different grades.

        O(k² d). A value beyond the floats is inf, with NumPy's warning; use `log_inner` there.

        Parameters
        ----------
        b : Blade
            Of the same algebra; batch axes broadcast.

        Raises
        ------
        ArgumentError
            If ``b`` is not a blade of the same algebra.

        Examples
        --------
        >>> A, B = cr.Blade([[1.0, 0, 0], [0, 1, 0]]), cr.Blade([[2.0, 0, 5], [0, 3, 0]])
        >>> round(float(A.inner(B)), 12)
        6.0
        """
        sign, log = self.log_inner(b)
        return self._value(sign, log, np.result_type(self.factors, b.factors))

    def log_norm_squared(self) -> tuple[Any, Any]:
        """Return sign and log of the absolute value of `norm_squared`."""
        metric = self.algebra.form
        if is_euclidean(metric):
            zero, volume = self._volume
            return np.where(zero, 0.0, 1.0)[()], (2 * volume)[()]
        frame = self._frame
        lower, exponent = lowered(metric, frame.basis)
        sign, log, _ = log_det(lower @ frame.basis.swapaxes(-1, -2))
        sign = sign * np.abs(frame.sign)
        log = np.where(sign == 0, -np.inf, log + 2 * frame.log_volume + self.grade * exponent * LN2)
        return sign[()], log[()]

    def norm_squared(self) -> Any:
        """Return ⟨a ~a⟩_0 = det(a_iᵀ G a_j), which may be negative in an indefinite metric."""
        return self._value(*self.log_norm_squared())

    def log_norm(self) -> Any:
        """Return the logarithm of `norm`, float64; -inf for zero.

        Examples
        --------
        >>> A = cr.Blade(np.random.default_rng(0).standard_normal((100, 5000)))
        >>> round(float(A.log_norm()))
        425
        """
        if is_euclidean(self.algebra.form):
            return self._volume[1][()]
        return self.log_norm_squared()[1] / 2

    def norm(self) -> Any:
        """Return √|⟨a ~a⟩_0|, in Euclidean space the volume that the vectors span.

        Examples
        --------
        >>> round(float(cr.Blade([[3.0, 4.0]]).norm()), 12)
        5.0
        """
        return self._value(1.0, self.log_norm())

    def log_volume(self) -> Any:
        """Return the logarithm of the volume in coordinates, whatever the metric; float64, -inf for zero."""
        return self._volume[1][()]

    def is_null(self, *, rtol: float | None = None) -> Any:
        """Tell whether the metric is singular on the blade's subspace, so that the norm is 0 and there is no inverse.

        True if the smallest singular value of q_iᵀ G q_j, q orthonormal in coordinates, is at most ``rtol`` times the
        largest entry of G; by default 64·√k·eps. Zero is null.
        """
        limit = 16 * default_rtol(self.grade, self.dtype) if rtol is None else check_tolerance(rtol, 0.0, "Blade")
        Q = self._frame.basis
        gram = lowered(self.algebra.form, Q)[0] @ Q.swapaxes(-1, -2)  # q_iᵀ G q_j / 2^n
        size = np.linalg.svd(gram, compute_uv=False).min(axis=-1, initial=np.inf)
        return truth((size <= limit) | (self._frame.sign == 0))

    def same_orientation(self, b: Any, /) -> Any:
        """Tell whether the Euclidean inner product in coordinates with another blade of the same grade is positive.

        For two blades of one subspace this is their relative orientation.
        """
        P, Q = self._frame, self._checked_grade(b, "same_orientation")._frame
        sign = np.linalg.slogdet(P.basis @ Q.basis.swapaxes(-1, -2))[0]
        return truth(sign * P.sign * Q.sign > 0)

    # ---- duals

    def star(self) -> Self:
        """Return I ~a as a blade of d-k vectors: (star a) ∧ b = inner(a, b) I for b of a's grade, in any metric.

        In a degenerate metric the star may be zero. Since inner(a, b) is the Euclidean inner product of the wedge of
        G a_1, …, G a_k with b, the star spans the orthogonal complement {x : xᵀ G a_i = 0}; one QR factorization, at
        most O(d³), gives it with size and orientation, and the vectors are orthonormal in coordinates where G is ±1.

        Examples
        --------
        >>> cr.Blade([[1.0, 0, 0], [0, 2.0, 0]]).star().to_multivector().isclose(2 * cr.Algebra(3).e3)
        True
        >>> A = cr.Blade([[1.0, 2, 3, 4], [0, 1, 0, 1], [1, 0, 0, 5]])
        >>> bool(abs(A.star().to_multivector().values - cr.cross(A.factors)).max() < 1e-12)
        True
        """
        metric = self.algebra.form
        if metric.is_unit and not is_degenerate(metric):
            blade = self._complement("star")
            if is_euclidean(metric):
                return blade
            # the metric is orthogonal: it maps the complement of a_i to that of G a_i
            det = log_det_metric(metric)[0]
            return self._make(blade.factors * np.asarray(metric.diagonal), blade.sign * det, blade.log_scale)
        self._check_complement("star")
        k, frame = self.grade, self._frame
        lower, exponent = lowered(metric, frame.basis)
        rtol = default_rtol(k, self.dtype) if is_degenerate(metric) else 0.0
        C, sign, log = complement(lower, rtol, scaled=True)
        sign = sign * frame.sign
        log = np.where(sign == 0, -np.inf, log + frame.log_volume + k * exponent * LN2)
        return self._make(C, sign, log)

    def star_right(self) -> Self:
        """Return ~a I = (-1)^{k(d-k)} star(a): b ∧ star_right(a) = inner(a, b) I."""
        return self.star().scaled(0.0, (-1) ** (self.grade * (self.d - self.grade)))

    def dual(self) -> Self:
        """Return a I⁻¹ = (-1)^{(d-k)(d-k-1)/2} star(a) / det G; an error in a degenerate metric.

        Examples
        --------
        >>> cr.Blade([[1.0, 0, 0]]).dual().to_multivector().isclose(-cr.Algebra(3).e23)
        True
        """
        sign, log = self._metric_det("dual", "left_complement")
        n = self.d - self.grade
        return self.star().scaled(-log, sign * (-1) ** (n * (n - 1) // 2))

    def undual(self) -> Self:
        """Return a I = (-1)^{k(k-1)/2} star_right(a), the inverse of `dual`; an error in a degenerate metric."""
        self._metric_det("undual", "right_complement")
        return self.star_right().scaled(0.0, (-1) ** (self.grade * (self.grade - 1) // 2))

    def _metric_det(self, name: str, other: str) -> tuple[float, float]:
        metric: Metric = self.algebra.form
        if is_degenerate(metric):
            rule = "non-degenerate, as I has no inverse where det G = 0"
            hint = f"Use {other}, which needs no metric, or star."
            raise fail("metric", name, rule, describe(algebra_text(self.algebra)), hint)
        return log_det_metric(metric)

    def left_complement(self) -> Self:
        """Return the Euclidean star in coordinates, in any metric: linear, LC(X) ∧ X = I on basis blades."""
        return self._complement("left_complement")

    def _complement(self, owner: str) -> Self:
        self._check_complement(owner)
        rows, sign, log = self._rows
        C, sign_c, log_c = complement(rows, self._zero_rtol)
        return self._make(C, sign * sign_c, log + np.where(sign_c == 0, 0.0, log_c))

    def _check_complement(self, owner: str) -> None:
        numbers = math.prod(self.shape) * (self.d - self.grade) * self.d
        check_size(numbers, owner, "the array of the complement's vectors")

    def right_complement(self) -> Self:
        """Return the inverse of `left_complement`, the linear map with X ∧ RC(X) = I on basis blades; in any metric."""
        return self.left_complement().scaled(0.0, (-1) ** (self.grade * (self.d - self.grade)))
