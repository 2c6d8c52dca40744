"""Blades as subspaces: containment, sum and intersection, angles, distances, equality, projection and rejection."""

from typing import Any, Self

import numpy as np

from clifford_rand._checks import as_real, check_choice, check_tolerance, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.blades import subspace
from clifford_rand.blades.determinant import is_euclidean, lowered
from clifford_rand.blades.products import Products
from clifford_rand.blades.rows import Frame, broadcast, check_rows, default_rtol, frame_of, relative
from clifford_rand.blades.storage import Storage, truth
from clifford_rand.crossproduct.factor import unit_scaled
from clifford_rand.geometry.subspaces import outside


class Relations(Products):
    """Relations of two subspaces, in coordinates; only projection and rejection use the metric."""

    def contains(self, x: Any, /, *, rtol: float = 1e-9) -> Any:
        """Tell whether vectors (..., d), or the subspace of a blade, lie in the blade's subspace.

        Parameters
        ----------
        x : array_like of shape (..., d) or Blade
            Leading axes broadcast with the batch. The vector 0 lies in every subspace.
        rtol : float, default=1e-9
            Largest sine of the angle to the subspace; at least 256 eps of the dtype.

        Examples
        --------
        >>> cr.Blade([[1.0, 0, 0], [1, 1, 0]]).contains([[3.0, 4, 0], [3, 4, 1e-6]])
        array([ True, False])
        """
        self._check_subspace("contains")
        if isinstance(x, Storage):
            P, Q, dtype = self._frames(x, "contains", "x")
            return truth((subspace.sines(P.basis, Q.basis) <= relative(dtype, rtol)).all(axis=-1))
        array = check_rows(x, self.d, "x", "contains")
        rows = unit_scaled(array.astype(np.float64))[0]
        rest = np.linalg.norm(outside(rows[..., None, :], self._frame.basis)[..., 0, :], axis=-1)
        limit = relative(np.result_type(self.factors, array), rtol)
        return truth(rest <= limit * np.linalg.norm(rows, axis=-1))

    def span(self, b: Any, /, *, rtol: float = 1e-9) -> Self:
        """Return the blade of the sum of two subspaces; no metric is used.

        With A = A'∧M and B = M∧B', span J and intersection M are scaled so that J = A'∧M∧B'. J has length 1 in
        coordinates, and its coefficient at the pivots of `canonical` is positive; J = I if the subspaces span
        everything.

        Parameters
        ----------
        b : Blade
            Not zero; the dimension of the span must be one throughout a batch.
        rtol : float, default=1e-9
            A direction is common to both if the sine of its angle is at most this.

        Examples
        --------
        >>> A, B = cr.Blade([[1.0, 0, 0, 0], [0, 1, 0, 0]]), cr.Blade([[0, 3.0, 0, 0], [0, 0, 1, 0]])
        >>> print(A.span(B).to_multivector(), A.intersection(B).to_multivector())
        e123 3.0*e2
        """
        return self._span_and_intersection(b, rtol, "span")[0]

    def intersection(self, b: Any, /, *, rtol: float = 1e-9) -> Self:
        """Return the blade of the intersection of two subspaces, scaled as `span` says; no metric is used.

        M = A ∨ B where the span is I; M is a scalar with M span(A, B) = A ∧ B where the subspaces share no vector.
        """
        return self._span_and_intersection(b, rtol, "intersection")[1]

    def _span_and_intersection(self, b: Any, rtol: float, owner: str) -> tuple[Self, Self]:
        """Return J and M; of unit blades a'∧m, m∧b' with A = α a'∧m, B = β m∧b', and a'∧m∧b' = v J: M = α β v m."""
        P, Q, dtype = self._frames(b, owner)
        apart = subspace.only_angles(P.basis, Q.basis, relative(dtype, rtol))
        if apart is not None:
            V, log, sign = apart
            batch = V.shape[:-2]
            whole = np.concatenate([broadcast(P.basis, batch), V], axis=-2)
            turn = subspace.orientation(whole)
            span = self._make(whole, turn, 0.0, dtype)
            none = np.empty((*batch, 0, self.d))
            return span, self._make(none, P.sign * Q.sign * sign * turn, P.log_volume + Q.log_volume + log, dtype)
        parts = subspace.common_part(P.basis, Q.basis, relative(dtype, rtol), owner)
        whole = np.concatenate([parts.only_a, parts.common, parts.only_b], axis=-2)
        frame = frame_of(whole, 0.0)
        turn = subspace.orientation(frame.basis)
        sign = P.sign * parts.sign_a * Q.sign * parts.sign_b * frame.sign * turn
        log = P.log_volume + Q.log_volume + frame.log_volume
        span = self._make(broadcast(frame.basis, whole.shape[:-2]), turn, 0.0, dtype)
        return span, self._make(parts.common, sign, log, dtype)

    def _frames(self, other: Any, owner: str, name: str = "b") -> tuple[Frame, Frame, np.dtype]:
        """Return the frames and the dtype of both, where neither blade is zero."""
        self._checked(other, owner, name)
        self._check_subspace(owner)
        other._check_subspace(owner, name)
        return self._frame, other._frame, np.result_type(self.factors, other.factors)

    def principal_angles(self, b: Any, /) -> NDArray[Any]:
        """Return the principal angles in coordinates (..., min(j, k)), in radians, smallest first.

        Angles below π/4 come from their sines, so that small ones are accurate to rounding, absolutely.

        References
        ----------
        Björck and Golub, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27 (1973), § 3.

        Examples
        --------
        >>> print(cr.Blade([[1.0, 0, 0]]).principal_angles(cr.Blade([[1.0, 1e-10, 0]])))
        [1.e-10]
        """
        P, Q, dtype = self._frames(b, "principal_angles")
        return subspace.principal_angles(P.basis, Q.basis).astype(dtype)

    def distance(self, b: Any, /, *, kind: str = "geodesic") -> Any:
        r"""Return a distance of two subspaces of one dimension, by their principal angles θ in coordinates.

        Parameters
        ----------
        b : Blade
            Of the same grade.
        kind : str, default="geodesic"
            geodesic √Σθ² (Grassmann), chordal √Σsin²θ, projection max sin θ, fubini_study arccos Πcos θ, binet_cauchy
            √(1 - Πcos²θ), procrustes 2√Σsin²(θ/2), asimov max θ, spectral 2 max sin(θ/2), martin √(-log Πcos²θ), which
            is infinite, to rounding, for subspaces with orthogonal directions.

        References
        ----------
        Ye and Lim, "Schubert varieties and distances between subspaces of different dimensions", 2016, table 2.

        Examples
        --------
        >>> A, B = cr.Blade([[1.0, 0]]), cr.Blade([[1.0, 1.0]])
        >>> round(float(A.distance(B)), 6), round(float(A.distance(B, kind="chordal")), 6)
        (0.785398, 0.707107)
        """
        check_choice(kind, "kind", "distance", tuple(subspace.DISTANCES))
        P, Q, dtype = self._frames(self._checked_grade(b, "distance"), "distance")
        return subspace.DISTANCES[kind](subspace.principal_angles(P.basis, Q.basis)).astype(dtype)[()]

    def log(self, b: Any, /) -> NDArray[Any]:
        r"""Return the tangent of the shortest geodesic from this subspace to ``b``, in coordinates.

        .. math:: \Delta = U \frac{\theta}{\sin\theta} (V^T Q - \cos\theta\, U^T P), \qquad P Q^T = U \cos\theta\, V^T,

        with orthonormal rows Q of ``b`` and P of this blade, the ``factors`` of `orthonormalized` (of a LargeBlade,
        `LargeBlade.orthonormal_basis`). Its rows are orthogonal to P, and its length √ΣΔ² is the geodesic distance.
        Tangents of one blade can be added and scaled, as in means, regressions and principal components.

        Parameters
        ----------
        b : Blade
            Of the same grade.

        Returns
        -------
        ndarray (..., k, d)
            Accurate to some eps, absolutely, for all angles. For an angle of π/2, on the cut locus, there are several
            shortest geodesics, and this is one of them.

        References
        ----------
        Bendokat, Zimmermann and Absil, "A Grassmann manifold handbook", Adv. Comput. Math. 50 (2024), algorithm 5.3.

        Examples
        --------
        >>> A, B = cr.Blade([[1.0, 0, 0]]), cr.Blade([[0.0, 1, 0]])
        >>> np.abs(A.log(B)).round(6)
        array([[0.      , 1.570796, 0.      ]])
        """
        P, Q, dtype = self._frames(self._checked_grade(b, "log"), "log")
        A, B = subspace.log_weights(P.basis @ Q.basis.swapaxes(-1, -2))
        return outside(A @ Q.basis - B @ P.basis, P.basis).astype(dtype)

    def exp(self, tangent: ArrayLike) -> Self:
        r"""Return the subspace at the end of the geodesic that starts at this one with a tangent, in coordinates.

        .. math:: \cos(\sqrt K)\, P + \frac{\sin\sqrt K}{\sqrt K}\, \Delta, \qquad K = \Delta \Delta^T.

        Parameters
        ----------
        tangent : array_like of shape (..., k, d)
            Δ as from `log`: rows orthogonal to the subspace, for the same orthonormal rows P. Axes before the last two
            broadcast with the batch.

        Returns
        -------
        Blade
            Of length 1, with orthonormal factors, in the orientation that the blade has after this motion.

        Raises
        ------
        ArgumentError
            If more than a share of 1e-6 of the tangent lies in the subspace: it belongs to another one.

        Examples
        --------
        >>> A, B = cr.Blade([[1.0, 0, 0]]), cr.Blade([[0.0, 1, 1]])
        >>> A.exp(A.log(B)).is_parallel(B), round(float(A.exp(0.1 * A.log(B)).distance(A)), 6)
        (True, 0.15708)
        """
        self._check_subspace("exp")
        array = as_real(tangent, "tangent", "exp")
        try:
            batch = np.broadcast_shapes(self.shape, array.shape[:-2])
        except ValueError:
            batch = None
        if batch is None or array.shape[-2:] != self.factors.shape[-2:]:
            rule = f"of shape (..., {self.grade}, {self.d}), with a batch that fits {self.shape}"
            raise fail("tangent", "exp", rule, describe(f"shape {array.shape}"))
        P, sign = self._frame.basis, np.broadcast_to(self._frame.sign, batch)
        rows = array.astype(np.float64)
        gram = rows @ rows.swapaxes(-1, -2)
        subspace.check_tangent(rows @ P.swapaxes(-1, -2), gram, array.dtype)
        cosine, sine = subspace.exp_weights(gram)
        return self._make(cosine @ P + sine @ rows, sign, 0.0, np.result_type(self.factors, array))

    def is_parallel(self, b: Any, /, *, rtol: float = 1e-9) -> Any:
        """Tell whether two blades have one subspace, to sines of ``rtol``, whatever their size and orientation.

        Blades of different grades are not parallel; zero has no subspace, and is an error.
        """
        P, Q, dtype = self._frames(b, "is_parallel")
        if self.grade != b.grade:
            return truth(np.zeros(np.broadcast_shapes(self.shape, b.shape)))
        return truth((subspace.sines(P.basis, Q.basis) <= relative(dtype, rtol)).all(axis=-1))

    def isclose(self, b: Any, /, *, rtol: float = 1e-9) -> Any:
        """Compare as oriented blades with size: |a - b| ≤ rtol · max(|a|, |b|), lengths in coordinates.

        Other factors of the same blade are equal. No components are formed: with α, β the volumes and θ the principal
        angles, |a - b|² = (α - β)² + 2 α β (1 - Πcos θ). Two zeros are equal. ``rtol`` is at least 256 eps.

        Examples
        --------
        >>> A = cr.Blade([[1.0, 0, 0], [0, 1.0, 0]])
        >>> A.isclose(cr.Blade([[1.0, 1.0, 0], [0, 1.0, 0]])), A.isclose(cr.Blade([[0, 1.0, 0], [1.0, 0, 0]]))
        (True, False)
        """
        P, Q = self._frame, self._checked(b, "isclose")._frame
        zeros = (P.sign == 0) & (Q.sign == 0)
        if self.grade != b.grade:
            return truth(zeros | np.zeros(np.broadcast_shapes(self.shape, b.shape), dtype=bool))
        either = (P.sign == 0) | (Q.sign == 0)
        inner = np.linalg.slogdet(P.basis @ Q.basis.swapaxes(-1, -2))[0] * P.sign * Q.sign
        sine = subspace.sines(P.basis, Q.basis)
        with np.errstate(divide="ignore"):
            turned = -np.expm1(np.log1p(-(sine**2)).sum(axis=-1) / 2)  # 1 - Πcos θ
        log_a, log_b = (np.where(either, 0.0, log) for log in (P.log_volume, Q.log_volume))
        ratio = np.exp(-np.abs(log_a - log_b))  # the smaller volume over the larger
        square = (1 - ratio) ** 2 + 2 * ratio * turned
        limit = relative(np.result_type(self.factors, b.factors), rtol)
        return truth(np.where(either, zeros, (inner > 0) & (square <= limit**2)))

    # ---- orthogonal projection, in any metric

    def projection_of(self, X: ArrayLike, /, *, rtol: float | None = None) -> NDArray[Any]:
        """Return the orthogonal projections of vectors on the blade's subspace.

        Parameters
        ----------
        X : array_like of shape (..., d)
            Leading axes broadcast with the blade's batch.
        rtol : float, optional
            The blade is null, an error, where the metric on its subspace is this near to singular; see `is_null`.

        Raises
        ------
        ArgumentError
            If the blade is zero or null.

        Examples
        --------
        >>> cr.Blade([[1.0, 0, 0], [1, 1, 0]]).projection_of([1.0, 2, 3]).round(12)
        array([1., 2., 0.])
        """
        return self._moved(X, "projection_of", rtol, reject=False)

    def rejection_of(self, X: ArrayLike, /, *, rtol: float | None = None) -> NDArray[Any]:
        """Return the parts of vectors orthogonal to the blade's subspace, x - projection of x.

        In Euclidean space they are orthogonal to rounding of their own length, however near the subspace they are.
        Parameters and errors are those of `projection_of`.
        """
        return self._moved(X, "rejection_of", rtol, reject=True)

    def project(self, b: Any, /, *, rtol: float | None = None) -> Self:
        """Return the projection of this blade on the subspace of the blade ``b``, as `Multivector.project`.

        It is the outermorphism of the projection of vectors, so zero where these become dependent. Scalars stay.

        Raises
        ------
        ArgumentError
            If ``b`` is zero or null.

        Examples
        --------
        >>> A, B = cr.Blade([[1.0, 0, 2]]), cr.Blade([[1.0, 0, 0], [0, 1, 0]])
        >>> A.project(B).isclose(cr.Blade([[1.0, 0, 0]]))
        True
        """
        return self._mapped(b, "project", rtol)

    def reject(self, b: Any, /, *, rtol: float | None = None) -> Self:
        """Return the rejection of this blade from the subspace of ``b``, as `Multivector.reject`.

        reject(a) ∧ b = a ∧ b: the outermorphism of the rejection of vectors. Scalars stay.

        Raises
        ------
        ArgumentError
            If ``b`` is zero or null.
        """
        return self._mapped(b, "reject", rtol)

    def _mapped(self, other: Any, owner: str, rtol: float | None) -> Self:
        """Return the outermorphism of the projection or rejection of vectors by another blade."""
        if isinstance(other, np.ndarray | list | tuple):
            hint = f"To {owner} vectors x use blade.{owner}ion_of(x)."
            raise fail("b", owner, "a Blade", describe("an array"), hint)
        self._checked(other, owner)
        dtype = np.result_type(self.factors, other.factors)
        if owner == "reject":
            rows = other._rejected(self._frame.basis, owner, rtol)
            return self._image(rows, rows, self.grade + other.grade, dtype)
        W = other._coefficients(self._frame.basis, owner, rtol)
        return self._image(W, W @ other._frame.basis, max(self.grade, other.grade), dtype)

    def _coefficients(self, rows: Array, owner: str, rtol: float | None) -> Array:
        """Return W with W Q the projections of ``rows`` (..., n, d) on the span of the blade's orthonormal Q."""
        self._check_subspace(owner)
        check_tolerance(rtol, 0.0, owner)
        Q, metric = self._frame.basis, self.algebra.form
        if is_euclidean(metric):
            return np.asarray(rows @ Q.swapaxes(-1, -2))
        if np.any(self.is_null(rtol=rtol)):
            rule = "not null: the metric must not be singular on its subspace"
            raise fail("blade", owner, rule, describe("a null blade"), "There is no orthogonal projection on it.")
        lower = lowered(metric, Q)[0].swapaxes(-1, -2)
        return np.asarray(np.linalg.solve(Q @ lower, (rows @ lower).swapaxes(-1, -2)).swapaxes(-1, -2))

    def _rejected(self, rows: Array, owner: str, rtol: float | None) -> Array:
        Q = self._frame.basis
        rest = rows - self._coefficients(rows, owner, rtol) @ Q
        # once more, for what rounding of the first left inside
        return np.asarray(rest - (rest @ Q.swapaxes(-1, -2)) @ Q if is_euclidean(self.algebra.form) else rest)

    def _moved(self, X: ArrayLike, owner: str, rtol: float | None, *, reject: bool) -> NDArray[Any]:
        """Return the projections (or rejections) of vectors (..., d); leading axes broadcast with the batch."""
        array = check_rows(X, self.d, "X", owner)
        try:
            batch = np.broadcast_shapes(self.shape, array.shape[:-1])
        except ValueError:
            rule = f"of shape (..., {self.d}) with leading axes that fit the batch of shape {self.shape}"
            raise fail("X", owner, rule, describe(f"shape {array.shape}")) from None
        rows, shift = unit_scaled(array.astype(np.float64))
        stacked = rows[..., None, :] if self.ndim else rows.reshape(-1, self.d)
        if reject:
            image = self._rejected(stacked, owner, rtol)
        else:
            image = self._coefficients(stacked, owner, rtol) @ self._frame.basis
        image = image.reshape(*batch, self.d)
        dtype = np.result_type(array, self.factors)
        return np.asarray(np.ldexp(image, shift[..., None]).astype(dtype))

    def _image(self, measured: Array, rows: Array, k: int, dtype: np.dtype) -> Self:
        """Return the blade of image rows of an orthonormal basis; zero if those of ``measured`` (..., j, n) depend."""
        frame, j = self._frame, self.grade
        zero = np.zeros(rows.shape[:-2], dtype=bool)
        if j > measured.shape[-1]:
            zero[...] = True
        elif j:
            sizes = np.linalg.svd(measured, compute_uv=False)
            zero = sizes[..., -1] <= 4 * default_rtol(k, dtype) * np.maximum(sizes[..., 0], 1)
        # orthonormal rows, so that the result is never zero to its own test where it is not to this one
        image = frame_of(rows, 0.0)
        sign = np.where(zero, 0.0, frame.sign * image.sign)
        log = np.where(sign == 0, -np.inf, frame.log_volume + image.log_volume)
        return self._make(image.basis, sign, log, dtype)
