"""Multivectors as matrices on spinors: the Pauli and Dirac matrices, and those of every orthogonal signature."""

from functools import lru_cache, reduce
from typing import Any

import numpy as np

from clifford_rand._checks import as_array, check_choice, check_tolerance, describe, fail
from clifford_rand._typing import MV, ArrayLike, NDArray
from clifford_rand.basis.keys import check_size, dense_keys
from clifford_rand.functions.scaling import as_inexact
from clifford_rand.kernels.representation import from_matrices, representation_of, to_matrices

SPACE_TIME = (1, -1, -1, -1)
BASES = (None, "blocks", "dirac", "weyl", "majorana")
LARGEST_SYMBOLIC = 8  # dimensions: 256 matrices of 16 x 16 for the blades
_SIGMA = (np.eye(2), np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1, -1]))


def _generators(basis: str) -> list[NDArray[Any]]:
    """Return γ_0 to γ_3: C. Itzykson and J.-B. Zuber, Quantum Field Theory, 1980, appendix A-2."""
    I2, *s = _SIGMA
    if basis == "majorana":
        return [np.kron(s[0], s[1]), 1j * np.kron(I2, s[2]), -1j * np.kron(s[1], s[1]), -1j * np.kron(I2, s[0])]
    first = np.kron(s[2], I2) if basis == "dirac" else np.kron(s[0], I2)
    return [first, *(np.kron(1j * s[1], sigma) for sigma in s)]


@lru_cache(maxsize=16)
def _blades(signature: tuple[int, ...], basis: str | None) -> NDArray[np.complex128]:
    """Return the unitary matrices (2^d, …, 2^m, 2^m) of the basis blades, in the order of their masks."""
    d, size = len(signature), 1 << len(signature) // 2
    if basis in (None, "blocks"):
        blocks = np.asarray(to_matrices(np.eye(1 << d), representation_of(signature)), dtype=np.complex128)
        return blocks if basis and d % 2 else blocks[:, 0]
    gammas = _generators(str(basis))
    factors = ([gammas[i] for i in range(d) if mask >> i & 1] for mask in range(1 << d))  # e_S = ∏ γ_i
    return np.stack([reduce(np.matmul, gammas_of_blade, np.eye(size, dtype=complex)) for gammas_of_blade in factors])


def _layout(algebra: Any, basis: object, owner: str) -> tuple[tuple[int, ...], str | None, tuple[int, ...]]:
    """Return the signature, the basis (that of Dirac by default in space-time) and the shape of one matrix."""
    form = algebra.form
    if not form.is_unit or form.is_degenerate:
        rule = "of an algebra whose basis vectors are orthogonal with squares 1 and -1"
        raise fail("A", owner, rule, describe(repr(algebra)), "Use left_matrix.")
    signature = tuple(int(sign) for sign in form.diagonal.tolist())
    chosen: Any = check_choice(basis, "basis", owner, BASES)
    chosen = "dirac" if chosen is None and signature == SPACE_TIME else chosen
    if chosen in BASES[2:] and signature != SPACE_TIME:
        raise fail("basis", owner, "None or 'blocks' outside Algebra.sta()", chosen)
    d, size = algebra.d, 1 << algebra.d // 2
    if chosen is None and (d % 2 == 0 or (d * (d - 1) // 2 + signature.count(-1)) % 2 == 0):
        chosen = "blocks"  # one block for even d, and two where I² = 1
    return signature, chosen, (2, size, size) if d % 2 and chosen == "blocks" else (size, size)


def spinor_matrix(A: MV, basis: str | None = None) -> NDArray[Any]:
    """Return A as a complex matrix on spinors: products become matrix products.

    (..., 2^m, 2^m) for d = 2m, and for d = 2m + 1 if I² = -1, where I is i: in `Algebra(3)` e_i is the Pauli matrix
    σ_i. In other odd dimensions two blocks (..., 2, 2^m, 2^m), one for each value of the central I.

    Parameters
    ----------
    basis : {None, "blocks", "dirac", "weyl", "majorana"}
        The last three in `Algebra.sta`, whose default is Dirac's, g0 = diag(1, 1, -1, -1). "blocks" for two blocks in
        every odd dimension, which complex coefficients need.

    Raises
    ------
    ArgumentError
        If the basis is not orthogonal with squares 1 and -1; for complex coefficients where I is i.

    Examples
    --------
    >>> cr.Algebra(3).e2.spinor_matrix()
    array([[0.+0.j, 0.-1.j],
           [0.+1.j, 0.+0.j]])
    >>> cr.Algebra.sta().g0.spinor_matrix().real.diagonal()
    array([ 1.,  1., -1., -1.])
    """
    owner = "spinor_matrix"
    signature, basis, shape = _layout(A.algebra, basis, owner)
    d, exact = A.algebra.d, A.coefficients.dtype == object
    check_size(2**d * max(1, int(np.prod(A.shape))), owner, "the matrix")
    if exact and d > LARGEST_SYMBOLIC:
        rule = f"numeric for more than {LARGEST_SYMBOLIC} dimensions"
        raise fail("A", owner, rule, describe("fractions or symbols"), "Convert with astype(float).")
    A = A if exact else as_inexact(A)
    if basis is None and A.dtype.kind == "c":
        hint = "Use basis='blocks'."
        raise fail("A", owner, "real, as I is i in one block", describe("complex coefficients"), hint)
    if exact:
        from clifford_rand.symbolic.closed_forms import square_root
        from clifford_rand.symbolic.coefficients import each

        blades = _blades(signature, basis)[np.asarray(A.keys.masks, dtype=np.int64)]
        real, imaginary = (part.astype(np.int64).astype(object) for part in (blades.real, blades.imag))
        numbers = real + imaginary * square_root(-1)
        return each(lambda value: value, np.tensordot(A.coefficients, numbers, axes=(-1, 0)))
    dense = np.zeros((*A.shape, 1 << d), dtype=A.coefficients.dtype)
    dense[..., A.keys.masks] = A.coefficients
    if basis == "blocks" and dense.size:
        return to_matrices(dense, representation_of(signature)).reshape(*A.shape, *shape)
    matrix = np.tensordot(dense, _blades(signature, basis), axes=(-1, 0))  # Σ A_S γ_S
    return np.asarray(matrix, dtype=np.result_type(dense, np.complex64))


def from_spinor_matrix(algebra: Any, M: ArrayLike, rtol: float = 1e-9, basis: str | None = None) -> Any:
    """Return A with ``A.spinor_matrix(basis)`` equal to M, of the shape that it has.

    Every complex matrix is one. The coefficients are real where I is i, and where their imaginary parts are at most
    ``rtol`` of the largest, in the whole batch; complex otherwise.

    Raises
    ------
    ArgumentError
        If the shape does not fit, or the basis is not orthogonal with squares 1 and -1.

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> alg.from_spinor_matrix((1 + 2 * alg.e12).spinor_matrix()).sparse()
    1.0 + 2.0*e12
    """
    owner = "from_spinor_matrix"
    signature, basis, wanted = _layout(algebra, basis, owner)
    d, rtol = algebra.d, check_tolerance(rtol, 1e-9, owner)
    array = as_array(M, "M", owner)
    if array.dtype.kind not in "biufc":
        raise fail("M", owner, "a numeric array", describe(f"dtype {array.dtype}"))
    if array.shape[-len(wanted) :] != wanted:
        rule = f"an array of shape (..., {', '.join(map(str, wanted))})"
        raise fail("M", owner, rule, describe(f"shape {array.shape}"))
    narrow = array.dtype in (np.float32, np.complex64)
    matrices: NDArray[Any] = array.astype(np.complex64 if narrow else np.complex128)
    keys = dense_keys(d)
    values: NDArray[Any]
    if basis == "blocks":
        values = from_matrices(matrices if d % 2 else matrices[..., None, :, :], representation_of(signature))
    else:  # the blades are unitary, and orthogonal by the trace
        # A_S = tr(γ_S† M)/2^m
        values = np.tensordot(matrices, _blades(signature, basis).conj(), axes=((-2, -1), (-2, -1))) / wanted[-1]
        values = values.astype(matrices.dtype)
    if basis is None:
        return algebra.multivector(values.real[..., keys.masks])  # I is i: the imaginary part repeats the dual
    values = values[..., keys.masks]
    limit = max(rtol, 256 * float(np.finfo(values.dtype).eps)) * np.abs(values).max(axis=-1, initial=0.0)
    if (np.abs(values.imag).max(axis=-1, initial=0.0) <= limit).all():
        values = values.real  # imaginary parts to rounding
    return algebra.multivector(values)
