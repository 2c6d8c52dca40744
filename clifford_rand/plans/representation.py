"""Products and linear maps of all 2^d coefficients: Pauli strings and one GEMM; shears of LU factors.

A basis blade of a non-degenerate orthogonal metric is, up to a phase, a Pauli string X^x Z^z on m = ⌊d/2⌋ qubits
(Jordan and Wigner 1928). Row r = c ⊕ x of column c of Σ φ a X^x Z^z is Σ_z (-1)^{z·c} φ a: a permutation, a phase and
a Walsh–Hadamard transform along z, O(d 2^d); the product costs O(2^{3d/2}) instead of 4^d ("A generalized FFT for
Clifford algebras", P. Leopardi, Bulletin of the Belgian Mathematical Society 11, 2004, section 4). In odd d the last
vector is ± the product of the others up to a phase, so there are two blocks. Null vectors are split off:
(A + e0 B)(C + e0 D) = AC + e0 (BC + Â D), Â the grade involution.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_BLOCK = 5  # log2 of the largest Hadamard factor that is one GEMM: beyond, its O(2^k) beats no butterfly


@lru_cache(maxsize=64)
def signed_permutation(order: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return (masks, signs) for a new order of the basis vectors.

    New vector i is old vector ``order[i]``; the coefficient of new mask S is ``signs[S] * old[masks[S]]``.
    """
    d = len(order)
    masks = np.zeros(1, dtype=np.int64)
    for old in order:
        masks = np.concatenate([masks, masks | 1 << old])
    new = np.arange(1 << d)
    odd = np.zeros(1 << d, dtype=np.int64)
    for j in range(d):
        for i in range(j):
            if order[i] > order[j]:
                odd ^= (new >> i & 1) & (new >> j & 1)
    return masks, (1 - 2 * odd).astype(np.int8)


@lru_cache(maxsize=1024)
def _shear(d: int, k: int, j: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Return (source, target, sign) of the blades that e_k → e_k + c e_j changes."""
    masks = np.arange(1 << d)
    source = masks[(masks >> k & 1 == 1) & (masks >> j & 1 == 0)]
    low, high = min(j, k), max(j, k)
    between = ((1 << high) - 1) & ~((1 << (low + 1)) - 1)
    sign = 1 - 2 * (np.bitwise_count(source & between) % 2).astype(np.int8)
    return source, source ^ (1 << k) ^ (1 << j), sign.astype(np.int8)


def apply_outermorphism(values: NDArray[Any], F: NDArray[np.floating]) -> NDArray[Any]:
    """Return Σ_S a_S F(e_S1)∧F(e_S2)∧… with F(e_i) = Σ_j F[j, i] e_j.

    ``values`` (..., 2^d) in the order of the masks. O(d² 2^d), instead of the minors of F, C(2d, d) numbers.
    """
    d = len(F)
    # F = P L U by elimination with row pivoting, so F_* = P_* L_* U_*
    U = np.array(F, dtype=np.result_type(F.dtype, np.float64))
    L = np.eye(d)
    rows = list(range(d))
    for k in range(d):
        pivot = k + int(np.argmax(np.abs(U[k:, k])))
        if U[pivot, k] == 0:
            continue
        U[[k, pivot]] = U[[pivot, k]]
        L[[k, pivot], :k] = L[[pivot, k], :k]
        rows[k], rows[pivot] = rows[pivot], rows[k]
        L[k + 1 :, k] = U[k + 1 :, k] / U[k, k]
        U[k + 1 :] -= np.outer(L[k + 1 :, k], U[k])
    result = np.array(values, dtype=np.result_type(values.dtype, F.dtype))
    for k in range(d):  # columns of U from the first: U = C_d … C_1, C_k e_k = U[k, k] e_k + Σ_{j<k} U[j, k] e_j
        for j in range(k):
            _add_shear(result, d, k, j, U[j, k])
        held = np.arange(1 << d) >> k & 1 == 1
        result[..., held] *= U[k, k]
    for k in range(d - 1, -1, -1):  # columns of L from the last
        for j in range(k + 1, d):
            _add_shear(result, d, k, j, L[j, k])
    inverse = [0] * d
    for i, row in enumerate(rows):
        inverse[row] = i
    masks, signs = signed_permutation(tuple(inverse))
    return result[..., masks] * signs


def move_components(
    values: NDArray[Any], source: NDArray[np.int64], F: NDArray[np.floating], target: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the components on the masks ``target`` of F applied to components (..., n) on the masks ``source``."""
    dense = np.zeros((*values.shape[:-1], 1 << len(F)), dtype=values.dtype)
    dense[..., source] = values
    return apply_outermorphism(dense, F)[..., target]


def _add_shear(values: NDArray[Any], d: int, k: int, j: int, factor: float) -> None:
    if factor:
        source, target, sign = _shear(d, k, j)
        values[..., target] += factor * sign * values[..., source]


class Representation(NamedTuple):
    """Tables of one signature of 1 and -1: matrices of 2^m × 2^m, two of them in odd dimensions.

    ``arrays``: ``source``, mask of the blade at (x, z), of the first 2^{2m} coefficients, and ``back``, its inverse;
    ``phase``, that of this blade; for odd d ``source_2``, ``back_2`` and ``phase_2`` of the blades that hold the last
    vector. ``gather``: V[x, c] to M[r, c], r = c ⊕ x, and back.
    """

    d: int
    m: int
    arrays: dict[str, NDArray[Any]]

    def of(self, name: str, like: NDArray[Any]) -> NDArray[Any]:
        """Return an array, complex ones in the precision of ``like``."""
        array = self.arrays[name]
        single = array.dtype.kind == "c" and like.dtype in (np.float32, np.complex64)
        return array.astype(np.complex64) if single else array


@lru_cache(maxsize=16)
def representation_of(signature: tuple[int, ...]) -> Representation:
    """Return the tables for a signature of 1 and -1, its basis vectors in order."""
    d = len(signature)
    m = d // 2
    x = z = np.zeros(1, dtype=np.int64)
    phase = np.ones(1, dtype=np.complex128)
    for i in range(2 * m):
        qubit = i // 2
        x_i = 1 << qubit
        z_i = (1 << qubit) - 1 if i % 2 == 0 else (1 << (qubit + 1)) - 1
        unit = (1.0 if i % 2 == 0 else 1j) * (1.0 if signature[i] > 0 else 1j)
        swapped = np.where(np.bitwise_count(z & x_i) % 2 == 1, -unit, unit)
        phase = np.concatenate([phase, phase * swapped])
        x, z = np.concatenate([x, x ^ x_i]), np.concatenate([z, z ^ z_i])
    size = 1 << m
    columns = np.arange(size)
    gather = ((columns[:, None] ^ columns) * size + columns).ravel()
    back = x * size + z  # the cell of a blade
    source = np.argsort(back)
    arrays = {"source": source, "back": back, "phase": phase[source], "gather": gather}
    if d % 2:
        back = x * size + (z ^ (size - 1))
        source = np.argsort(back)
        phase = phase[source] * (1.0 if signature[-1] > 0 else 1j)
        arrays |= {"source_2": source + size * size, "back_2": back, "phase_2": phase}
    return Representation(d, m, arrays)


def unit_basis(squares: NDArray[Any]) -> tuple[tuple[int, ...], NDArray[np.int64], NDArray[np.float64]]:
    """Return the signature of vectors with these squares, null ones first, and the blades in a basis of 0, 1, -1.

    Component k in that basis is component ``masks[k]`` in the metric's own, times ``factors[k]``.
    """
    diagonal = squares.astype(np.float64)
    sign = np.sign(diagonal).astype(int)
    order = (*np.flatnonzero(sign == 0).tolist(), *np.flatnonzero(sign != 0).tolist())
    masks, signs = signed_permutation(order)
    scale = np.ones(1)
    for value in diagonal:
        scale = np.concatenate([scale, scale * (np.sqrt(abs(value)) if value else 1.0)])
    return tuple(int(sign[i]) for i in order), masks, signs * scale[masks]


@lru_cache(maxsize=16)
def hadamard(k: int) -> NDArray[np.float64]:
    """Return the Hadamard matrix of order 2^k."""
    matrix = np.ones((1, 1))
    for _ in range(k):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def walsh_hadamard(W: NDArray[Any]) -> NDArray[Any]:
    """Return the unnormalized Walsh–Hadamard transform along the last axis, of length 2^m; of real or complex rows."""
    shape, m, done = W.shape, W.shape[-1].bit_length() - 1, 0
    while done < m:
        k = min(_BLOCK, m - done)
        factor = hadamard(k).astype(W.real.dtype)
        if not done:
            W = W.reshape(-1, 1 << k) @ factor
        else:  # complex numbers as pairs of real ones
            W = (factor @ W.reshape(-1, 1 << k, 1 << done).view(factor.dtype)).view(W.dtype)
        done += k
    return W.reshape(shape)


def to_matrices(
    values: Any, tables: Representation, xp: Any = np, of: Any = None, transform: Callable[[Any], Any] | None = None
) -> Any:
    """Return the matrices (..., blocks, 2^m, 2^m) of coefficients (..., 2^d) in the order of their masks.

    Of tensors, ``xp`` has the functions of their library, ``of`` the tables beside them, and ``transform`` is the
    Walsh–Hadamard transform.
    """
    of, size, lead = of or tables.of, 1 << tables.m, tuple(values.shape[:-1])
    W = xp.reshape(xp.take(values, of("source", values), axis=-1) * of("phase", values), (*lead, 1, size, size))
    if "source_2" in tables.arrays:
        T = xp.reshape(xp.take(values, of("source_2", values), axis=-1) * of("phase_2", values), W.shape)
        W = xp.concat([W + T, W - T], axis=-3)
    V = xp.reshape((transform or walsh_hadamard)(W), (*W.shape[:-2], size * size))
    return xp.reshape(xp.take(V, of("gather", V), axis=-1), W.shape)


def from_matrices(
    M: Any, tables: Representation, xp: Any = np, of: Any = None, transform: Callable[[Any], Any] | None = None
) -> Any:
    """Return the coefficients (..., 2^d), in the order of their masks, of matrices (..., blocks, 2^m, 2^m)."""
    of, size = of or tables.of, 1 << tables.m
    V = xp.reshape(M, (*M.shape[:-2], size * size))
    V = xp.reshape(xp.take(V, of("gather", M), axis=-1), M.shape)  # c ⊕ x is an involution of x for each c
    W = xp.reshape((transform or walsh_hadamard)(V), (*M.shape[:-2], size * size)) / size

    def blades(cells: Any, number: str = "") -> Any:
        return xp.take(cells * xp.conj(xp.asarray(of("phase" + number, M))), of("back" + number, M), axis=-1)

    if "source_2" not in tables.arrays:
        return blades(W[..., 0, :])
    first, second = W[..., 0, :], W[..., 1, :]
    return xp.concat([blades((first + second) / 2), blades((first - second) / 2, "_2")], axis=-1)


def transform_product(a: NDArray, b: NDArray, signature: tuple[int, ...], swapped: int = 0) -> NDArray:
    """Return the geometric products of (..., 2^d) and (..., 2^d), coefficients in the order of their masks.

    The signature's null vectors come first, then entries 1 and -1; real input gives real output. AB + ``swapped`` BA
    for a ``swapped`` of 1 or -1, from the same matrices.
    """
    if swapped and 0 in signature:
        product = transform_product(a, b, signature)
        product += swapped * transform_product(b, a, signature)
        return product
    null = sum(1 for entry in signature if entry == 0)
    tables = representation_of(signature[null:])
    parts = 1 << null
    inner = 1 << tables.d
    A = _split(a, null, inner)
    B = _split(b, null, inner)
    involuted = A * np.where(np.bitwise_count(np.arange(inner)) % 2 == 1, -1, 1).astype(A.real.dtype) if null else A
    M_a, M_b = to_matrices(A, tables), to_matrices(B, tables)
    M_i = to_matrices(involuted, tables) if null else M_a
    real = not (np.iscomplexobj(a) or np.iscomplexobj(b))
    lead = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    result = np.empty((parts, *lead, inner), dtype=M_a.real.dtype if real else M_a.dtype)
    for target in range(parts):
        total = None
        u = target
        while True:  # every subset u of target, v the rest: e_u A e_v B = ± e_u e_v (A or its involution) B
            v = target ^ u
            left = M_i[u] if v.bit_count() % 2 else M_a[u]
            term = np.matmul(left, M_b[v])
            if swapped:
                term += swapped * np.matmul(M_b[v], left)
            if sum((u >> (i + 1)).bit_count() for i in range(null) if v >> i & 1) % 2:
                term = -term
            total = term if total is None else total + term
            if u == 0:
                break
            u = (u - 1) & target
        assert total is not None
        values = from_matrices(total, tables)
        result[target] = values.real if real else values
    return np.moveaxis(result, 0, -1).reshape(*lead, inner * parts) if null else result[0]


def _split(values: NDArray, null: int, inner: int) -> NDArray:
    """Return (2^null, ..., 2^d') parts A_u of Σ_u e_u A_u, the null vectors being the lowest bits."""
    if null == 0:
        return values[None]
    return np.ascontiguousarray(np.moveaxis(values.reshape(*values.shape[:-1], inner, 1 << null), -1, 0))
