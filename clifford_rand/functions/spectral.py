"""Functions of a multivector by the eigenvalues of its matrix, over a batch at once, in any metric.

A goes to complex matrices of rows 2^{r + ⌊(d-r)/2⌋}, r null vectors: Pauli matrices where squares are 1 and -1, and
P + e0 Q ↦ [[P, 0], [Q, P̂]] for a null vector, P̂ the grade involution. With M = V Λ V⁻¹, f(M) = V f(Λ) V⁻¹. A matrix
without a basis of eigenvectors, or nearly so, is first moved by a random 1e-8 of its size, which costs half of the
digits (E. B. Davies, SIAM Journal on Matrix Analysis and Applications 29, 2007): the caller improves those by Newton's
method.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._typing import MV
from clifford_rand.basis.keys import Keys
from clifford_rand.kernels.representation import from_matrices, representation_of, to_matrices

MOVED = 1e-8  # of the size of a matrix: √eps
CONDITION = 1e5  # of the eigenvectors, from which the matrix is moved

Array = NDArray[np.complex128]


def matrices(values: NDArray[Any], signature: tuple[int, ...]) -> Array:
    """Return matrices (..., blocks, n, n) of coefficients (..., 2^d), by their masks, null vectors first."""
    if not signature or signature[0]:
        return np.asarray(to_matrices(values.astype(np.complex128), representation_of(signature)), np.complex128)
    P, Q = values[..., 0::2], values[..., 1::2]
    odd = np.bitwise_count(np.arange(P.shape[-1])) % 2 == 1
    corner, lower, involuted = (matrices(part, signature[1:]) for part in (P, Q, np.where(odd, -P, P)))
    n = corner.shape[-1]
    M = np.zeros((*corner.shape[:-2], 2 * n, 2 * n), dtype=np.complex128)
    M[..., :n, :n], M[..., n:, :n], M[..., n:, n:] = corner, lower, involuted
    return M


def coefficients(M: Array, signature: tuple[int, ...]) -> Array:
    """Return the coefficients (..., 2^d) of what `matrices` made."""
    if not signature or signature[0]:
        return np.asarray(from_matrices(M, representation_of(signature)), dtype=np.complex128)
    n = M.shape[-1] // 2
    P, Q = (coefficients(M[..., rows, :n], signature[1:]) for rows in (slice(None, n), slice(n, None)))
    values = np.empty((*P.shape[:-1], 2 * P.shape[-1]), dtype=np.complex128)
    values[..., 0::2], values[..., 1::2] = P, Q
    return values


def matrices_of(U: MV) -> Array:
    """Return the matrices of a U of a unit algebra with the null vectors first."""
    signature = tuple(U.algebra.signature)
    dense = np.zeros((*U.shape, 1 << len(signature)), dtype=np.complex128)
    dense[..., U.keys.masks] = U.coefficients
    return matrices(dense, signature)


@ONE_BLAS_THREAD
def of_eigenvalues(U: MV, keys: Keys, f: Callable[[Array], Array]) -> Array:
    """Return the complex coefficients, on ``keys``, of f(U) for a U of a unit algebra with the null vectors first.

    ``f`` takes eigenvalues, with real or imaginary parts of rounding alone put to +0, so that what lies on a branch cut
    is decided alike for all; not of a matrix that was moved, whose vectors would multiply the change.
    """
    M, signature = matrices_of(U), tuple(U.algebra.signature)
    size = np.abs(M).max(axis=(-1, -2), keepdims=True)
    values, vectors = np.linalg.eig(M)
    with np.errstate(all="ignore"):
        moved = ~(np.linalg.cond(vectors) < CONDITION)
    if moved.any():
        rng = np.random.default_rng(0)
        noise = rng.standard_normal((*M.shape[-2:], 2)) @ np.array([1, 1j])
        values[moved], vectors[moved] = np.linalg.eig(M[moved] + MOVED * size[moved] * noise)
    tiny = np.where(moved[..., None], 0.0, 64 * np.finfo(np.float64).eps) * size[..., 0]
    real, imag = (np.where(np.abs(part) <= tiny, 0.0, part) for part in (values.real, values.imag))
    with np.errstate(all="ignore"):
        images = f(real + 1j * imag)
        result = (vectors * images[..., None, :]) @ np.linalg.inv(vectors)
    return coefficients(result, signature)[..., keys.masks]
