"""A linear map of the vectors carried over to all grades: F(a ∧ b) = F(a) ∧ F(b)."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import INT, as_coefficients, in_integers, largest
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades

MOST_MINORS = 2**20  # entries of compound matrices beyond which the shears of the LU factors are faster
LARGEST_SHEARS = 22  # dimensions of the 2^d array of the shears


def outermorphism(A: Any, F: ArrayLike, target: Any = None) -> Any:
    """Return Σ_S A_S F(e_S1) ∧ F(e_S2) ∧ …, F (..., d', d) with the image of e_i in column i.

    Grade k goes through the k × k minors of F, each size made from the next smaller by Laplace expansion; many grades
    of a high dimension through the shears of F = PLU.
    """
    target = A.algebra if target is None else target
    d = A.algebra.d
    matrix = _as_matrix(F, target, d)
    keys = A.keys
    kept = tuple(k for k in keys.grades if k <= target.d)
    minors = sum((keys.slices[k].stop - keys.slices[k].start) * math.comb(target.d, k) for k in kept)
    numeric = A.coefficients.dtype.kind in "fc" and matrix.dtype.kind == "f"
    if minors > MOST_MINORS and matrix.ndim == 2 and target.d == d <= LARGEST_SHEARS and numeric:
        return _by_shears(A, matrix, target)
    check_size(minors, "outermorphism", "the minors of F")
    batch = np.broadcast_shapes(A.shape, matrix.shape[:-2])
    result_keys = keys_of_grades(target.d, kept)
    dtype = np.result_type(A.coefficients, matrix)
    images = _images(target, matrix, [keys.masks[keys.slices[k]] for k in kept], kept)
    parts = [np.zeros((*batch, 0), dtype=dtype)]
    for k, image in zip(kept, images, strict=True):  # image (..., n_S, C(d', k))
        values = A.coefficients[..., keys.slices[k]]
        if values.dtype == INT and image.dtype == INT:
            part = in_integers(_mapped, values.shape[-1] * largest(values) * largest(image), values, image)
        else:
            part = _mapped(values, image)
        parts.append(np.broadcast_to(part, (*batch, image.shape[-1])))
    return target._new(result_keys, np.concatenate(parts, axis=-1))


def _mapped(values: NDArray[Any], image: NDArray[Any]) -> NDArray[Any]:
    """Return the images of coefficients (..., n): image (..., n, n')."""
    if image.ndim == 2:
        return (values.reshape(-1, values.shape[-1]) @ image).reshape(*values.shape[:-1], image.shape[-1])
    return (values[..., None, :] @ image)[..., 0, :]


def _as_matrix(F: ArrayLike, target: Any, d: int) -> NDArray[Any]:
    matrix = as_coefficients(F, "F", "outermorphism", rule="a matrix of numbers or symbols")
    if matrix.ndim < 2 or matrix.shape[-2:] != (target.d, d):
        raise fail(
            "F",
            "outermorphism",
            f"an array of shape (..., {target.d}, {d}), the image of e_i in column i",
            describe(f"shape {matrix.shape}"),
            "Name the algebra of the images with target=." if matrix.ndim >= 2 and matrix.shape[-1] == d else "",
        )
    return matrix


def _images(target: Any, F: NDArray[Any], wanted: list[Any], grades: tuple[int, ...]) -> list[NDArray[Any]]:
    """Return F(e_S), (..., n, C(d', k)), for the masks S of each grade.

    F(e_S) = F(e_i) ∧ F(e_{S without i}) with i the lowest of S.
    """
    columns = np.swapaxes(F, -1, -2)
    needed: dict[int, set[int]] = {k: {int(mask) for mask in masks} for k, masks in zip(grades, wanted, strict=True)}
    for k in range(max(grades, default=0), 1, -1):
        needed.setdefault(k - 1, set()).update(mask & (mask - 1) for mask in needed.get(k, ()))
    found: dict[int, NDArray[Any]] = {0: np.ones((*F.shape[:-2], 1, 1), dtype=F.dtype)}
    order: dict[int, dict[int, int]] = {0: {0: 0}}
    for k in range(1, max(grades, default=0) + 1):
        masks = sorted(needed[k])
        order[k] = {mask: n for n, mask in enumerate(masks)}
        low = [(mask & -mask).bit_length() - 1 for mask in masks]
        first = target.vector(np.ascontiguousarray(columns[..., low, :]))
        if k == 1:
            found[k] = first.coefficients
            continue
        rest = found[k - 1][..., [order[k - 1][mask & (mask - 1)] for mask in masks], :]
        wedge = first.wedge(target.multivector(np.ascontiguousarray(rest), k - 1))
        found[k] = wedge._on(keys_of_grades(target.d, (k,))).coefficients
    return [found[k][..., [order[k][int(mask)] for mask in masks], :] for k, masks in zip(grades, wanted, strict=True)]


def _by_shears(A: Any, F: NDArray[Any], target: Any) -> Any:
    from clifford_rand.kernels.outermorphism import move_components

    keys: Keys = A.keys.filled
    dtype = np.result_type(A.coefficients, F)
    values = move_components(A.coefficients.astype(dtype, copy=False), A.keys.masks, F, keys.masks)
    return target.multivector(values.astype(dtype, copy=False), keys.grades)
