"""Orthogonal projection on the subspace of a blade, and rejection from it, in any metric."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.blades.gram import is_euclidean, lowered
from clifford_rand.blades.rows import check_rows, default_rtol, frame_of
from clifford_rand.blades.subspace import outside
from clifford_rand.crossproduct.scaled import unit_scaled

_Floats = NDArray[np.float64]


def _coefficients(target: Any, rows: _Floats, owner: str, rtol: float | None) -> _Floats:
    """Return W with W Q the projections of ``rows`` (..., n, d) on the span of the target's orthonormal Q."""
    target._need_subspace(owner)
    Q, metric = target._frame.basis, target.algebra.form
    if is_euclidean(metric):
        return np.asarray(rows @ Q.swapaxes(-1, -2))
    if np.any(target.is_null(rtol)):
        rule = "not null: the metric must not be singular on its subspace"
        raise fail("blade", owner, rule, describe("a null blade"), "There is no orthogonal projection on it.")
    lower = lowered(metric, Q)[0].swapaxes(-1, -2)
    return np.asarray(np.linalg.solve(Q @ lower, (rows @ lower).swapaxes(-1, -2)).swapaxes(-1, -2))


def _rejected(target: Any, rows: _Floats, owner: str, rtol: float | None) -> _Floats:
    Q = target._frame.basis
    if is_euclidean(target.algebra.form):
        target._need_subspace(owner)
        return outside(rows, Q)
    return np.asarray(rows - _coefficients(target, rows, owner, rtol) @ Q)


def project_rows(target: Any, X: ArrayLike, owner: str, rtol: float | None, *, reject: bool) -> NDArray[Any]:
    """Return the projections (or rejections) of vectors (..., d); leading axes broadcast with the target's batch."""
    array = check_rows(X, target.d, "X", owner)
    try:
        batch = np.broadcast_shapes(target.shape, array.shape[:-1])
    except ValueError:
        rule = f"of shape (..., {target.d}) with leading axes that fit the batch of shape {target.shape}"
        raise fail("X", owner, rule, describe(f"shape {array.shape}")) from None
    rows, shift = unit_scaled(array.astype(np.float64))
    stacked = rows[..., None, :] if target.ndim else rows.reshape(-1, target.d)
    if reject:
        found = _rejected(target, stacked, owner, rtol)
    else:
        found = _coefficients(target, stacked, owner, rtol) @ target._frame.basis
    found = found.reshape(*batch, target.d)
    dtype = np.result_type(array, target.factors)
    return np.asarray(np.ldexp(found, shift[..., None]).astype(dtype))


def project_blade(blade: Any, target: Any, rtol: float | None) -> Any:
    """Return the outermorphism of the projection on ``target`` for a blade: zero where its vectors become dependent."""
    frame = blade._frame
    j, k = blade.grade, target.grade
    W = _coefficients(target, frame.basis, "project", rtol)
    limit = default_rtol(max(j, k), np.result_type(blade.factors, target.factors))
    return _image(blade, target, W, W @ target._frame.basis, limit)


def reject_blade(blade: Any, target: Any, rtol: float | None) -> Any:
    """Return the outermorphism of the rejection from ``target`` for a blade."""
    rows = _rejected(target, blade._frame.basis, "reject", rtol)
    limit = default_rtol(blade.grade + target.grade, np.result_type(blade.factors, target.factors))
    return _image(blade, target, rows, rows, limit)


def _image(blade: Any, target: Any, measured: _Floats, rows: _Floats, limit: float) -> Any:
    """Return the blade of image rows of an orthonormal basis; zero if ``measured`` (..., j, n) has dependent rows."""
    frame, j = blade._frame, blade.grade
    zero = np.zeros(rows.shape[:-2], dtype=bool)
    if j > measured.shape[-1]:
        zero[...] = True
    elif j:
        sizes = np.linalg.svd(measured, compute_uv=False)
        zero = sizes[..., -1] <= 4 * limit * np.maximum(sizes[..., 0], 1)
    # orthonormal rows, so that the result is never zero to its own test where it is not to this one
    image = frame_of(rows, 0.0)
    sign = np.where(zero, 0.0, frame.sign * image.sign)
    log = np.where(sign == 0, -np.inf, frame.log_volume + image.log_volume)
    return blade._make(image.basis, sign, log, np.result_type(blade.factors, target.factors))
