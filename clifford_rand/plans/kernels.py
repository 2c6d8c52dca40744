"""Products of batches of multivectors, compiled: by their table, and the wedge of all 2^d coefficients over subsets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import for_each_slice
from clifford_rand.compiler.decorator import compiled, has_compiler

TILE = 512  # samples whose components stay in the first-level cache: 4 KiB each

Table = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]  # indptr, left, right, coef
_BITS = 4  # of a block: sixteen coefficients, two to four vector registers
_BLOCK = 1 << _BITS
_TOGETHER = 2**12  # coefficients whose halves NumPy multiplies in one call: 3^12 products at most, 4 MiB
_WHOLE = 16  # dimensions of one pass: its matrices take 16 times the memory of an operand, 8 MiB
_SLICE = 1e-3  # seconds of work that are worth a thread, which may have to wait for a core
_SCATTER = 0x9E3779B1  # odd: consecutive targets get masks all over, and slices of them equal work


# The tables are arguments: one compiled kernel for each dtype serves every algebra and every product. Four rows of a
# table share one pass over a component of the result. No product and sum are fused, and none are added in another
# order: the bits are those of `OrderedSums`, which computes the same as long as this is not loaded.
@compiled()
def _component(table: Table, k: int, A: NDArray[Any], B: NDArray[Any], low: int, row: NDArray[Any]) -> None:
    """Write Σ A[left] B[right] coef over the rows of component k to ``row``, for its samples from ``low`` on."""
    indptr, left, right, coef = table
    e, end = indptr[k], indptr[k + 1]
    high = low + row.size
    if e == end:
        row[:] = A.dtype.type(0)
        return
    a0, b0, s0 = A[left[e], low:high], B[right[e], low:high], coef[e]
    for t in range(row.size):
        row[t] = a0[t] * b0[t] * s0
    e += 1
    while e + 4 <= end:  # row holds the sum of the terms before e
        a0, a1, a2, a3 = (
            A[left[e], low:high],
            A[left[e + 1], low:high],
            A[left[e + 2], low:high],
            A[left[e + 3], low:high],
        )
        b0, b1, b2 = B[right[e], low:high], B[right[e + 1], low:high], B[right[e + 2], low:high]
        b3 = B[right[e + 3], low:high]
        s0, s1, s2, s3 = coef[e], coef[e + 1], coef[e + 2], coef[e + 3]
        for t in range(row.size):
            total = row[t] + a0[t] * b0[t] * s0
            total += a1[t] * b1[t] * s1
            total += a2[t] * b2[t] * s2
            row[t] = total + a3[t] * b3[t] * s3
        e += 4
    while e < end:
        a0, b0, s0 = A[left[e], low:high], B[right[e], low:high], coef[e]
        for t in range(row.size):
            row[t] += a0[t] * b0[t] * s0
        e += 1


@compiled()
def apply_table(table: Table, A: NDArray[Any], B: NDArray[Any], samples: tuple[int, int], out: NDArray[Any]) -> None:
    """Write Σ_n A[left[n]] B[right[n]] coef[n] to ``out[k]``, the sum over the rows n of component k, in their order.

    A (n_a, N), B (n_b, N), out (n_out, N), all of one dtype, as ``coef``; ``samples`` are the first and the stop.
    """
    first, stop = samples
    row = np.empty(TILE, A.dtype)
    for low in range(first, stop, TILE):
        part = row[: min(TILE, stop - low)]
        for k in range(len(out)):
            _component(table, k, A, B, low, part)
            target = out[k, low : low + part.size]
            for t in range(part.size):
                target[t] = part[t]


@compiled()
def apply_table_once(table: Table, a: NDArray[Any], b: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the product of one a (n_a,) and one b (n_b,) to ``out`` (n_out,): see `apply_table`."""
    indptr, left, right, coef = table
    for k in range(len(out)):
        e, end = indptr[k], indptr[k + 1]
        total = a.dtype.type(0)
        if e < end:  # not 0 + the first term, which would lose the sign of a zero
            total = a[left[e]] * b[right[e]] * coef[e]
        for n in range(e + 1, end):
            total += a[left[n]] * b[right[n]] * coef[n]
        out[k] = total


@compiled()
def _odd(mask: int) -> bool:
    mask ^= mask >> 16
    mask ^= mask >> 8
    mask ^= mask >> 4
    mask ^= mask >> 2
    mask ^= mask >> 1
    return mask & 1 == 1


@compiled()
def _above(mask: int) -> int:
    """Return the mask whose bit j is the parity of the bits of ``mask`` above j."""
    mask >>= 1
    mask ^= mask >> 1
    mask ^= mask >> 2
    mask ^= mask >> 4
    mask ^= mask >> 8
    mask ^= mask >> 16
    return mask


@compiled()
def _spread(a: NDArray[Any], b: NDArray[Any], left: NDArray[Any], right: NDArray[Any]) -> None:
    """Write the blocks of a, odd ones involuted, and the matrices of the blocks of b: x ∧ b = x @ matrix."""
    zero = a.dtype.type(0)
    for block in range(left.shape[0]):
        odd = _odd(block)
        for s in range(_BLOCK):
            value = a[_BLOCK * block + s]
            left[block, s] = -value if odd and _odd(s) else value
            for c in range(_BLOCK):
                if s & ~c:
                    right[block, s, c] = zero
                else:
                    value = b[_BLOCK * block + (c ^ s)]
                    right[block, s, c] = -value if _odd(_above(s) & (c ^ s)) else value


# With S = (s, s') of low and high bits, e_S e_T = (-1)^{|s'||t|} e_s e_t e_s' e_t'. The sign of the high masks is one
# for a whole block; (-1)^{|s'||t|} is (-1)^{|s|} (-1)^{|c|} for odd s', c = s ∪ t, so that those are summed apart.
# A pair of blocks is a vector times a matrix: 256 multiplications, of which 81 count, in 22 ns; to visit the pairs one
# by one took 4 ns each for signs and places. (No transform helps: signs are not a coboundary, and a ranked one through
# matrices costs d/2 products of 2^{3d/2} each.)
@compiled(fastmath={"contract"})
def wedge_blocks(A: NDArray[Any], B: NDArray[Any], first: int, last: int, out: NDArray[Any]) -> None:
    """Write the wedge products of the rows of A and B (n, 2^d), d ≥ 4, for the ``first`` to ``last`` of 2^{d-4} blocks.

    Coefficients are in the order of their masks, blocks in a scattered one.
    """
    blocks = A.shape[1] // _BLOCK
    zero, plus = A.dtype.type(0), A.dtype.type(1)
    left = np.empty((blocks, _BLOCK), A.dtype)
    right = np.empty((blocks, _BLOCK, _BLOCK), A.dtype)
    above = np.empty(blocks, np.uint32)
    parity = np.empty(blocks, np.uint8)
    for block in range(blocks):
        above[block] = _above(block)
        parity[block] = _odd(block)
    total = np.empty((2, _BLOCK), A.dtype)
    for n in range(A.shape[0]):
        _spread(A[n], B[n], left, right)
        for i in range(first, last):
            target = np.uint32((i * _SCATTER) & (blocks - 1))
            total[:] = zero
            part = target
            while True:
                rest = target ^ part
                x, M, row = left[part], right[rest], total[parity[part]]
                sign = -plus if parity[above[part] & rest] else plus
                for s in range(0, _BLOCK, 8):
                    x0, x1, x2, x3 = sign * x[s], sign * x[s + 1], sign * x[s + 2], sign * x[s + 3]
                    x4, x5, x6, x7 = sign * x[s + 4], sign * x[s + 5], sign * x[s + 6], sign * x[s + 7]
                    m0, m1, m2, m3 = M[s], M[s + 1], M[s + 2], M[s + 3]
                    m4, m5, m6, m7 = M[s + 4], M[s + 5], M[s + 6], M[s + 7]
                    for c in range(_BLOCK):
                        row[c] += (
                            x0 * m0[c] + x1 * m1[c] + x2 * m2[c] + x3 * m3[c]
                            + x4 * m4[c] + x5 * m5[c] + x6 * m6[c] + x7 * m7[c]
                        )  # fmt: skip
                if part == 0:
                    break
                part = (part - np.uint32(1)) & target
            for c in range(_BLOCK):
                odd = total[1, c]
                out[n, _BLOCK * target + c] = total[0, c] + (-odd if _odd(c) else odd)


def wedge_seconds(d: int) -> float:
    """Return the model of one product: 3^(d-4) pairs of blocks, and the matrices of 2^d coefficients."""
    return 22e-9 * 3.0 ** (d - 4) + 15e-9 * 2.0**d


def wedge_products(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the wedge products of (N, 2^d) and (N, 2^d), d ≥ 4, coefficients in the order of their masks.

    A single product goes in slices of its targets, one thread each, where that is worth a thread. Without a compiler
    NumPy multiplies halves, and halves of these, down to numbers.
    """
    size = a.shape[1]
    if size > 1 << _WHOLE or not has_compiler():
        return _by_halves(a, b)
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    out = np.empty_like(a)
    n, blocks = len(a), size // _BLOCK
    least = 1 + int(blocks * _SLICE / wedge_seconds(size.bit_length() - 1))
    if n > 1 or blocks < 2 * least:
        wedge_blocks(a, b, 0, blocks, out)
    else:
        for_each_slice(lambda part: wedge_blocks(a, b, part.start, part.stop, out), blocks, least=least)
    return out


def _by_halves(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return `wedge_products` by those of halves.

    With e the last vector, (A + A'e) ∧ (B + B'e) = A∧B + (A∧B' + A'∧B̂) e, ^ the involution.
    """
    half = a.shape[1] // 2
    if not half:
        product: NDArray[Any] = a * b
        return product
    signs = 1 - 2 * (np.bitwise_count(np.arange(half)) % 2).astype(np.int8)
    lefts = [a[:, :half], a[:, :half], a[:, half:]]
    rights = [b[:, :half], b[:, half:], b[:, :half] * signs]
    if a.size > _TOGETHER:
        low, high, higher = map(wedge_products, lefts, rights)
    else:
        low, high, higher = np.split(_by_halves(np.concatenate(lefts), np.concatenate(rights)), 3)
    return np.concatenate([low, high + higher], axis=1)
