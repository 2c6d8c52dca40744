"""Multivectors as matrices: of the products from the left and right, and on spinors."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_array, describe, fail
from clifford_rand.basis.coefficients import INT, in_integers, largest
from clifford_rand.basis.keys import check_size, dense_keys
from clifford_rand.basis.rules import is_odd_swap
from clifford_rand.functions.norms import as_inexact

LARGEST = 12  # dimensions: 2^24 entries of one matrix


def _check_dimension(d: int, owner: str) -> None:
    if d > LARGEST:
        raise fail(
            "A",
            owner,
            f"of an algebra with d ≤ {LARGEST}",
            describe(f"d = {d}"),
            "Use the products, which need no matrix.",
        )


def left_matrix(A: Any) -> NDArray[Any]:
    """Return the matrix (..., 2^d, 2^d) of X ↦ A X on the components in storage order."""
    return _matrix(A, "left_matrix", left=True)


def right_matrix(A: Any) -> NDArray[Any]:
    """Return the matrix (..., 2^d, 2^d) of X ↦ X A on the components in storage order."""
    return _matrix(A, "right_matrix", left=False)


def _matrix(A: Any, owner: str, *, left: bool) -> NDArray[Any]:
    metric = A.algebra.form
    d = metric.d
    _check_dimension(d, owner)
    keys = dense_keys(d)
    check_size(keys.size**2 * max(1, A.coefficients[..., 0].size if A.keys.size else 1), owner, "the matrix")
    if metric.diagonal is None:
        one = A[..., None] if A.ndim else A
        basis = A._make(
            keys, np.eye(keys.size, dtype=np.int64 if A.coefficients.dtype == object else A.coefficients.dtype)
        )
        images = (one * basis if left else basis * one)._on(keys).coefficients  # row S: the image of e_S
        return np.swapaxes(images.copy(), -1, -2)
    given = np.asarray(A.keys.masks)[:, None]
    basis_masks = np.asarray(keys.masks)[None, :]
    swaps = is_odd_swap(given, basis_masks, d) if left else is_odd_swap(basis_masks, given, d)
    factor = np.where(swaps, -1, 1).astype(np.int8) * metric.weight(given & basis_masks)
    place = np.empty(keys.size, dtype=np.int64)
    place[keys.masks] = np.arange(keys.size)
    rows, columns = place[given ^ basis_masks], np.broadcast_to(np.arange(keys.size), factor.shape)
    dtype = A.coefficients.dtype
    if factor.dtype == object or A.coefficients.dtype == object:
        dtype = np.dtype(object)
    elif factor.dtype.kind == "f" and dtype.kind == "i":
        dtype = np.dtype(np.float64)
    matrix = np.zeros((*A.shape, keys.size, keys.size), dtype=dtype)
    values = A.coefficients[..., :, None]
    if dtype == INT:
        bound = largest(values) * largest(factor.astype(np.int64))
        terms = in_integers(np.multiply, bound, values, factor)
        matrix = matrix.astype(terms.dtype, copy=False)
    else:
        terms = values * factor
    matrix[..., rows, columns] = terms
    return matrix


def from_left_matrix(algebra: Any, M: ArrayLike, rtol: float = 1e-9) -> Any:
    """Return A with left_matrix(A) = M: A = A 1 is the first column."""
    _check_dimension(algebra.d, "from_left_matrix")
    array = as_array(M, "M", "from_left_matrix")
    size = 1 << algebra.d
    if array.ndim < 2 or array.shape[-2:] != (size, size):
        raise fail(
            "M", "from_left_matrix", f"an array of shape (..., {size}, {size})", describe(f"shape {array.shape}")
        )
    A = algebra.multivector(array[..., :, 0].copy())
    again = left_matrix(A)
    if array.dtype == object:
        same = bool(np.all(again == array))
    else:
        eps = float(np.finfo(array.dtype).eps) if array.dtype.kind in "fc" else 0.0
        limit = max(rtol, 256 * eps) * np.abs(array).max(axis=(-1, -2), keepdims=True)
        same = bool((np.abs(again - array) <= limit).all())
    if not same:
        raise fail("M", "from_left_matrix", "the matrix of a product X ↦ A X", describe("another matrix"))
    return A


def spinor_matrix(A: Any) -> NDArray[Any]:
    """Return A as a complex matrix: (..., 2^m, 2^m) for d = 2m; for d = 2m + 1 two of them, (..., 2, 2^m, 2^m)."""
    from clifford_rand.kernels.representation import representation_of, to_matrices

    metric = A.algebra.form
    if not metric.is_unit or metric.is_degenerate:
        raise fail(
            "A",
            "spinor_matrix",
            "of an algebra whose basis vectors are orthogonal with squares 1 and -1",
            describe(repr(A.algebra)),
            "Use left_matrix.",
        )
    if A.coefficients.dtype == object:
        raise fail("A", "spinor_matrix", "numeric", describe("fractions or symbols"), "Convert with astype(float).")
    d = metric.d
    check_size(2**d * max(1, int(np.prod(A.shape))), "spinor_matrix", "the matrix")
    A = as_inexact(A)
    dense = np.zeros((*A.shape, 1 << d), dtype=A.coefficients.dtype)
    dense[..., A.keys.masks] = A.coefficients
    tables = representation_of(tuple(int(sign) for sign in metric.diagonal.tolist()))
    size = 1 << d // 2
    shape = (*A.shape, 2, size, size) if d % 2 else (*A.shape, size, size)
    if not dense.size:
        return np.zeros(shape, dtype=np.result_type(dense, np.complex64))
    return to_matrices(dense, tables).reshape(shape)
