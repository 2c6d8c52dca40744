"""Matrices of rotors and spinors: rotors of rotation matrices, nearest rotations of points, and spinor matrices."""

from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_array, as_real, check_choice, check_tolerance, describe, fail
from clifford_rand._typing import MV, ArrayLike, NDArray
from clifford_rand.basis.keys import check_size, dense_keys
from clifford_rand.functions.scaling import LEAST, as_inexact
from clifford_rand.plans.representation import from_matrices, representation_of, to_matrices

RTOL = 1e-6  # how far FᵀF may be from 1: a matrix that was printed with seven digits is still a rotation
Array = NDArray[Any]
ENTRIES = 2**16  # of a block of points: a few of them stay in the second-level cache
ROWS = 256  # of a block at least, however many problems there are
TIES = 64  # units of rounding, relative to the spread of both sets, below which a direction tells nothing
SPACE_TIME = (1, -1, -1, -1)
BASES = (None, "blocks", "dirac", "weyl", "majorana")
LARGEST_SYMBOLIC = 8  # dimensions: 256 matrices of 16 x 16 for the blades
_SIGMA = (np.eye(2), np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1, -1]))


def rotor_from_matrix(algebra: Any, F: ArrayLike, /, *, rtol: float | None = None) -> Any:
    """Return the rotors R with R x ~R = F x, R ~R = 1, and ⟨R⟩_0 ≥ 0, for rotation matrices F.

    R = R_1 … R_{n-1}, where R_k turns e_k to b, column k of R_{k-1}⁻¹ … R_1⁻¹ F: R_k = (e_k + b) e_k if b·e_k ≥ 0, and
    (b - e_k) e_{k+1} else, divided by its length, which is √2 or more before. So nothing cancels near half turns. It is
    the theorem of Cartan and Dieudonné with Householder's vectors, two for each column.

    Parameters
    ----------
    algebra : Algebra
        Of Euclidean space, ``Algebra(n)``.
    F : array_like of shape (..., n, n)
        Column i has the components of the image of e_i, as `Multivector.vector_matrix` returns it.
    rtol : float, optional
        How far entries of FᵀF may be from those of 1; 1e-6 by default, and 256 eps of the dtype at least.

    Raises
    ------
    ArgumentError
        If F is not a rotation: FᵀF ≠ 1, or a reflection.

    References
    ----------
    P. Lounesto, Clifford Algebras and Spinors, 2nd ed., 2001, section 17.1.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> R = cr.rotor_from_matrix(alg, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> (R >> alg.e1).isclose(alg.e2), (R >> alg.e3).isclose(alg.e3)
    (True, True)
    """
    n = euclidean_dimension(algebra, "rotor_from_matrix")
    matrix = as_real(F, "F", "rotor_from_matrix")
    return rotor_of(algebra, rotation_of(matrix, n, "F", "rotor_from_matrix", rtol))


def euclidean_dimension(algebra: Any, owner: str) -> int:
    """Return n of Cl(n, 0, 0) with an orthonormal basis."""
    form = getattr(algebra, "form", None)
    if form is None or not form.is_unit or form.counts != (form.d, 0, 0):
        raise fail("algebra", owner, "the algebra of Euclidean space", algebra, "Make one with Algebra(n).")
    return int(form.d)


def rotation_tolerance(rtol: float | None, dtype: np.dtype[Any], owner: str) -> float:
    """Return how far entries of FᵀF may be from those of 1 in arrays of a dtype."""
    return max(check_tolerance(rtol, RTOL, owner), LEAST * (float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0))


def rotation_of(matrix: NDArray[Any], n: int, name: str, owner: str, rtol: float | None) -> NDArray[Any]:
    """Return the matrices (..., n, n), floating, if they are rotations."""
    if matrix.ndim < 2 or matrix.shape[-2:] != (n, n):
        raise fail(name, owner, f"an array of shape (..., {n}, {n})", describe(f"shape {matrix.shape}"))
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    limit = rotation_tolerance(rtol, matrix.dtype, owner)
    with np.errstate(over="ignore", invalid="ignore"):
        rest = np.abs(np.swapaxes(matrix, -1, -2) @ matrix - np.eye(n, dtype=matrix.dtype)).max(initial=0)  # FᵀF - 1
    if not rest <= limit:
        hint = "motor_from_points and rotor_from_points fit rotations to noisy data."
        raise fail(name, owner, "a rotation: FᵀF = 1", describe(f"FᵀF off by {rest:.3g}"), hint)
    if (np.linalg.det(matrix.astype(np.float64)) < 0).any():
        raise fail(name, owner, "a rotation, of determinant 1", describe("a reflection, of determinant -1"))
    return matrix


def rotor_of(algebra: Any, matrix: NDArray[Any]) -> Any:
    """Return the rotor of matrices that are known to be rotations."""
    n = matrix.shape[-1]
    rest = matrix.copy()
    basis = np.eye(n, dtype=matrix.dtype)
    R: Any = algebra.scalar(np.ones(matrix.shape[:-2], dtype=matrix.dtype))
    for k in range(n - 1):
        b = rest[..., :, k] / np.sqrt(np.square(rest[..., :, k]).sum(axis=-1, keepdims=True))
        near = b[..., k : k + 1] >= 0  # e_k + b has a length ≥ √2 then, and b - e_k else
        v = np.where(near, b + basis[k], b - basis[k])  # the first of the two reflections
        v /= np.sqrt(np.square(v).sum(axis=-1, keepdims=True))
        u = np.where(near, basis[k], basis[k + 1])
        R = R * (algebra.vector(v) * algebra.vector(u))  # R_k = v u takes e_k to b
        for w in (v, u):  # R_k⁻¹ = u v as two reflections of the columns
            rest -= 2 * w[..., :, None] * (w[..., None, :] @ rest)
    if n > 3:  # the grades of a product of vectors; for n ≤ 3 there are no others
        R = R.even()
    scale = np.where(R.scalar_part() < 0, -1, 1) / R.norm()  # ⟨R⟩_0 ≥ 0 and R ~R = 1
    return R.new(R.keys, R.coefficients * np.asanyarray(scale)[..., None].astype(matrix.dtype))


class Moments(NamedTuple):
    """Sums over the points, weighted; the second ones about the means."""

    weight: Array
    mean_x: Array
    mean_y: Array
    cross: Array
    """Σ w (y - ȳ)(x - x̄)ᵀ, (..., n, n)."""
    square_x: Array
    """Σ w |x - x̄|²."""
    square_y: Array


def moments(X: Array, Y: Array, w: Array | None, *, about_origin: bool = False) -> Moments:
    """Return the moments in one pass: sums about the first points, so that a far origin costs no digits.

    With ``about_origin`` all are about 0, and the means are 0.
    """
    n = X.shape[-1]
    batch = np.broadcast_shapes(X.shape[:-2], Y.shape[:-2], () if w is None else w.shape[:-1])
    dtype = np.result_type(X, Y)
    first_x = np.zeros(n, dtype=dtype) if about_origin else X[..., :1, :]
    first_y = np.zeros(n, dtype=dtype) if about_origin else Y[..., :1, :]
    cross = np.zeros((*batch, n, n))
    sums, squares = (np.zeros((*batch, n)), np.zeros((*batch, n))), (np.zeros(batch), np.zeros(batch))
    rows = max(ROWS, ENTRIES // max(1, n * int(np.prod(batch))))
    total = np.zeros(batch)
    for start in range(0, X.shape[-2], rows):
        part = slice(start, start + rows)
        x, y = X[..., part, :] - first_x, Y[..., part, :] - first_y  # about the first points
        u, v = x, y
        if w is not None:
            each = w[..., part, None]
            u, v = x * each, y * each
            total += each[..., 0].sum(axis=-1)
        cross += np.swapaxes(y, -1, -2) @ u  # Σ w y xᵀ
        for k, (points, weighted) in enumerate(((x, u), (y, v))):
            sums[k][...] += weighted.sum(axis=-2)
            squares[k][...] += np.einsum("...ij,...ij->...", points, weighted)
    if w is None:
        total += X.shape[-2]
    if about_origin:
        zero = np.zeros((*batch, n))
        return Moments(total, zero, zero, cross, *squares)
    mean_x, mean_y = (part / total[..., None] for part in sums)
    # Σ w (y - ȳ)(x - x̄)ᵀ = Σ w y xᵀ - W ȳ x̄ᵀ
    cross -= total[..., None, None] * mean_y[..., :, None] * mean_x[..., None, :]
    square_x, square_y = (
        np.maximum(square - total * np.square(mean).sum(axis=-1), 0)
        for square, mean in zip(squares, (mean_x, mean_y), strict=True)
    )
    return Moments(total, mean_x + np.squeeze(first_x, -2), mean_y + np.squeeze(first_y, -2), cross, square_x, square_y)


def nearest_rotation(cross: Array, size: Array) -> Array:
    """Return the rotations Q (..., n, n) of greatest tr(Qᵀ cross); where there are several, that of greatest trace.

    Q = U diag(1, …, 1, det U det V) Vᵀ from cross = U S Vᵀ (Kabsch 1976, Umeyama 1991 eq. 40 to 43): never a
    reflection. Where singular values are zero beside ``size``, as those of points on a line of space, every rotation of
    what is left serves as well. The one of least angles there maximizes tr(Q), which is a Procrustes problem again:
    it is solved by adding δ times the identity's part on the null spaces, δ below the other singular values.
    """
    n = cross.shape[-1]
    U, S, Vt = np.linalg.svd(cross)
    # directions that the data determine
    known = TIES * float(np.finfo(cross.dtype).eps) * np.asarray(size)[..., None] < S
    if not known.all():
        free = ~known
        least = np.where(known, S, np.inf).min(axis=-1)
        delta = np.where(np.isfinite(least), least, 1.0)[..., None, None] / 2
        inner = delta * free[..., :, None] * free[..., None, :] * np.swapaxes(Vt @ U, -1, -2)
        inner += np.where(known, S, 0)[..., :, None] * np.eye(n)  # Uᵀ cross V + δ Uᵀ V on the null spaces
        A, _, Bt = np.linalg.svd(inner)
        U, Vt = U @ A, Bt @ Vt
    sign = np.linalg.det(U) * np.linalg.det(Vt)  # -1 for a reflection: then the least singular direction turns
    U[..., :, -1] *= np.where(sign < 0, -1, 1)[..., None]
    return np.asarray(U @ Vt)


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


def spinor_matrix(A: MV, *, basis: str | None = None) -> NDArray[Any]:
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


def from_spinor_matrix(algebra: Any, M: ArrayLike, /, *, rtol: float = 1e-9, basis: str | None = None) -> Any:
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
