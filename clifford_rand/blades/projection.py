"""Orthogonal projection on the subspace of a blade, and rejection from it, in any metric."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand._typing import Array
from clifford_rand.blades.gram import is_euclidean, lowered
from clifford_rand.blades.relations import Relations
from clifford_rand.blades.rows import check_rows, default_rtol, frame_of
from clifford_rand.blades.subspace import outside
from clifford_rand.crossproduct.scaled import unit_scaled


class Projections(Relations):
    """Projection and rejection of vectors and of blades."""

    def project_vectors(self, X: ArrayLike, rtol: float | None = None) -> NDArray[Any]:
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
        >>> import clifford_rand as cr
        >>> cr.Blade([[1.0, 0, 0], [1, 1, 0]]).project_vectors([1.0, 2, 3]).round(12)
        array([1., 2., 0.])
        """
        return self._moved(X, "project_vectors", rtol, reject=False)

    def reject_vectors(self, X: ArrayLike, rtol: float | None = None) -> NDArray[Any]:
        """Return the parts of vectors orthogonal to the blade's subspace, x - projection of x.

        In Euclidean space they are orthogonal to rounding of their own length, however near the subspace they are.
        Parameters and errors are those of `project_vectors`.
        """
        return self._moved(X, "reject_vectors", rtol, reject=True)

    def project(self, b: Any, rtol: float | None = None) -> Self:
        """Return the projection of this blade on the subspace of the blade ``b``, as `Multivector.project`.

        It is the outermorphism of the projection of vectors, so zero where these become dependent. Scalars stay.

        Raises
        ------
        ArgumentError
            If ``b`` is zero or null.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A, B = cr.Blade([[1.0, 0, 2]]), cr.Blade([[1.0, 0, 0], [0, 1, 0]])
        >>> A.project(B).isclose(cr.Blade([[1.0, 0, 0]]))
        True
        """
        target = self._target(b, "project")
        W = target._coefficients(self._frame.basis, "project", rtol)
        return self._image(target, W, W @ target._frame.basis, max(self.grade, target.grade))

    def reject(self, b: Any, rtol: float | None = None) -> Self:
        """Return the rejection of this blade from the subspace of ``b``, as `Multivector.reject`.

        reject(a) ∧ b = a ∧ b: the outermorphism of the rejection of vectors. Scalars stay.

        Raises
        ------
        ArgumentError
            If ``b`` is zero or null.
        """
        target = self._target(b, "reject")
        rows = target._rejected(self._frame.basis, "reject", rtol)
        return self._image(target, rows, rows, self.grade + target.grade)

    def _target(self, b: Any, owner: str) -> Self:
        if isinstance(b, np.ndarray | list | tuple):
            hint = f"To {owner} vectors x use blade.{owner}_vectors(x)."
            raise fail("b", owner, "a Blade", describe("an array"), hint)
        return self._other(b, owner)

    def _coefficients(self, rows: Array, owner: str, rtol: float | None) -> Array:
        """Return W with W Q the projections of ``rows`` (..., n, d) on the span of the blade's orthonormal Q."""
        self._need_subspace(owner)
        if rtol is not None:
            check_tolerance(rtol, 0.0, owner)
        Q, metric = self._frame.basis, self.algebra.form
        if is_euclidean(metric):
            return np.asarray(rows @ Q.swapaxes(-1, -2))
        if np.any(self.is_null(rtol)):
            rule = "not null: the metric must not be singular on its subspace"
            raise fail("blade", owner, rule, describe("a null blade"), "There is no orthogonal projection on it.")
        lower = lowered(metric, Q)[0].swapaxes(-1, -2)
        return np.asarray(np.linalg.solve(Q @ lower, (rows @ lower).swapaxes(-1, -2)).swapaxes(-1, -2))

    def _rejected(self, rows: Array, owner: str, rtol: float | None) -> Array:
        Q = self._frame.basis
        if is_euclidean(self.algebra.form):
            self._need_subspace(owner)
            if rtol is not None:
                check_tolerance(rtol, 0.0, owner)
            return outside(rows, Q)
        return np.asarray(rows - self._coefficients(rows, owner, rtol) @ Q)

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

    def _image(self, target: Self, measured: Array, rows: Array, k: int) -> Self:
        """Return the blade of image rows of an orthonormal basis; zero if those of ``measured`` (..., j, n) depend."""
        frame, j = self._frame, self.grade
        dtype = np.result_type(self.factors, target.factors)
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
