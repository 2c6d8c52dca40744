"""Blades as subspaces: containment, sum and intersection, angles, distances, equality; no metric is used."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice, describe, fail
from clifford_rand.blades.products import Products
from clifford_rand.blades.rows import broadcast, check_rows, frame_of, relative, scaled_rows
from clifford_rand.blades.storage import Storage, truth
from clifford_rand.blades.subspace import (
    DISTANCES,
    common_part,
    only_angles,
    orientation,
    outside,
    principal_angles,
    sines,
)
from clifford_rand.crossproduct.scaled import row_peaks


class Relations(Products):
    """Relations of two subspaces, in coordinates."""

    def contains(self, x: Any, rtol: float = 1e-9) -> Any:
        """Tell whether vectors (..., d), or the subspace of a blade, lie in the blade's subspace.

        Parameters
        ----------
        x : array_like of shape (..., d) or Blade
            Leading axes broadcast with the batch. The vector 0 lies in every subspace.
        rtol : float, default=1e-9
            Largest sine of the angle to the subspace; at least 256 eps of the dtype.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Blade([[1.0, 0, 0], [1, 1, 0]]).contains([[3.0, 4, 0], [3, 4, 1e-6]])
        array([ True, False])
        """
        self._need_subspace("contains")
        if isinstance(x, Storage):
            second, dtype = self._pair(x, "contains", "x")
            return truth((sines(self._frame.basis, second._frame.basis) <= relative(dtype, rtol)).all(axis=-1))
        array = check_rows(x, self.d, "x", "contains")
        rows = scaled_rows(array[..., None, :], row_peaks(array)[..., None])[0]
        rest = np.linalg.norm(outside(rows, self._frame.basis)[..., 0, :], axis=-1)
        limit = relative(np.result_type(self.factors, array), rtol)
        return truth(rest <= limit * np.linalg.norm(rows[..., 0, :], axis=-1))

    def join(self, b: Any, rtol: float = 1e-9) -> Self:
        """Return the blade of the sum of two subspaces; no metric is used.

        With A = A'∧M and B = M∧B', join J and meet M are scaled so that J = A'∧M∧B'. J has length 1 in coordinates, and
        its coefficient at the pivots of `canonical` is positive; J = I if the subspaces span everything.

        Parameters
        ----------
        b : Blade
            Not zero; the dimension of the join must be one throughout a batch.
        rtol : float, default=1e-9
            A direction is common to both if the sine of its angle is at most this.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A, B = cr.Blade([[1.0, 0, 0, 0], [0, 1, 0, 0]]), cr.Blade([[0, 3.0, 0, 0], [0, 0, 1, 0]])
        >>> print(A.join(B).to_multivector(), A.meet(B).to_multivector())
        1.0*e123 3.0*e2
        """
        return self._join_and_meet(b, rtol, "join")[0]

    def meet(self, b: Any, rtol: float = 1e-9) -> Self:
        """Return the blade of the intersection of two subspaces, scaled as `join` says; no metric is used.

        M = A ∨ B where the join is I; M is a scalar with M join(A, B) = A ∧ B where the subspaces share no vector.
        """
        return self._join_and_meet(b, rtol, "meet")[1]

    def _join_and_meet(self, b: Any, rtol: float, owner: str) -> tuple[Self, Self]:
        """Return J and M; of unit blades a'∧m, m∧b' with A = α a'∧m, B = β m∧b', and a'∧m∧b' = v J: M = α β v m."""
        second, dtype = self._pair(b, owner)
        P, Q = self._frame, second._frame
        apart = only_angles(P.basis, Q.basis, relative(dtype, rtol))
        if apart is not None:
            V, log, sign = apart
            batch = V.shape[:-2]
            whole = np.concatenate([broadcast(P.basis, batch), V], axis=-2)
            turn = orientation(whole)
            join = self._make(whole, turn, 0.0, dtype)
            none = np.empty((*batch, 0, self.d))
            return join, self._make(none, P.sign * Q.sign * sign * turn, P.log_volume + Q.log_volume + log, dtype)
        parts = common_part(P.basis, Q.basis, relative(dtype, rtol), owner)
        whole = np.concatenate([parts.only_a, parts.common, parts.only_b], axis=-2)
        frame = frame_of(whole, 0.0)
        turn = orientation(frame.basis)
        sign = P.sign * parts.sign_a * Q.sign * parts.sign_b * frame.sign * turn
        log = P.log_volume + Q.log_volume + frame.log_volume
        join = self._make(broadcast(frame.basis, whole.shape[:-2]), turn, 0.0, dtype)
        return join, self._make(parts.common, sign, log, dtype)

    def _pair(self, b: Any, owner: str, name: str = "b") -> tuple[Self, np.dtype]:
        """Return another blade and the dtype of both, where neither is zero."""
        second = self._other(b, owner, name)
        self._need_subspace(owner)
        second._need_subspace(owner, name)
        return second, np.result_type(self.factors, second.factors)

    def principal_angles(self, b: Any) -> NDArray[Any]:
        """Return the principal angles in coordinates (..., min(j, k)), in radians, smallest first.

        Angles below π/4 come from their sines, so that small ones are accurate to rounding, absolutely.

        References
        ----------
        Björck and Golub, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27 (1973).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> print(cr.Blade([[1.0, 0, 0]]).principal_angles(cr.Blade([[1.0, 1e-10, 0]])))
        [1.e-10]
        """
        second, dtype = self._pair(b, "principal_angles")
        return principal_angles(self._frame.basis, second._frame.basis).astype(dtype)

    def distance(self, b: Any, kind: str = "geodesic") -> Any:
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
        >>> import clifford_rand as cr
        >>> A, B = cr.Blade([[1.0, 0]]), cr.Blade([[1.0, 1.0]])
        >>> round(float(A.distance(B)), 6), round(float(A.distance(B, "chordal")), 6)
        (0.785398, 0.707107)
        """
        check_choice(kind, "kind", "distance", tuple(DISTANCES))
        second: Storage = self._other(b, "distance")
        if second.grade != self.grade:
            raise fail("b", "distance", f"of grade {self.grade}", describe(f"a blade of grade {second.grade}"))
        dtype = self._pair(b, "distance")[1]
        return DISTANCES[kind](principal_angles(self._frame.basis, second._frame.basis)).astype(dtype)[()]

    def is_parallel(self, b: Any, rtol: float = 1e-9) -> Any:
        """Tell whether two blades have one subspace, to sines of ``rtol``, whatever their size and orientation.

        Blades of different grades are not parallel; zero has no subspace, and is an error.
        """
        second, dtype = self._pair(b, "is_parallel")
        if self.grade != second.grade:
            return truth(np.zeros(np.broadcast_shapes(self.shape, second.shape)))
        return truth((sines(self._frame.basis, second._frame.basis) <= relative(dtype, rtol)).all(axis=-1))

    def isclose(self, b: Any, rtol: float = 1e-9) -> Any:
        """Compare as oriented blades with size: |a - b| ≤ rtol · max(|a|, |b|), lengths in coordinates.

        Other factors of the same blade are equal. No components are formed: with α, β the volumes and θ the principal
        angles, |a - b|² = (α - β)² + 2 α β (1 - Πcos θ). Two zeros are equal. ``rtol`` is at least 256 eps.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A = cr.Blade([[1.0, 0, 0], [0, 1.0, 0]])
        >>> A.isclose(cr.Blade([[1.0, 1.0, 0], [0, 1.0, 0]])), A.isclose(cr.Blade([[0, 1.0, 0], [1.0, 0, 0]]))
        (True, False)
        """
        second: Storage = self._other(b, "isclose")
        P, Q = self._frame, second._frame
        zeros = (P.sign == 0) & (Q.sign == 0)
        if self.grade != second.grade:
            return truth(zeros | np.zeros(np.broadcast_shapes(self.shape, second.shape), dtype=bool))
        either = (P.sign == 0) | (Q.sign == 0)
        inner = np.linalg.slogdet(P.basis @ Q.basis.swapaxes(-1, -2))[0] * P.sign * Q.sign
        sine = sines(P.basis, Q.basis)
        with np.errstate(divide="ignore"):
            turned = -np.expm1(np.log1p(-(sine**2)).sum(axis=-1) / 2)  # 1 - Πcos θ
        log_a, log_b = (np.where(either, 0.0, log) for log in (P.log_volume, Q.log_volume))
        ratio = np.exp(-np.abs(log_a - log_b))  # the smaller volume over the larger
        square = (1 - ratio) ** 2 + 2 * ratio * turned
        limit = relative(np.result_type(self.factors, second.factors), rtol)
        return truth(np.where(either, zeros, (inner > 0) & (square <= limit**2)))
