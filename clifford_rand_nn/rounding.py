r"""The rounding error of sums of products: one bound, on which the lower bounds of an optimum rely.

With the unit roundoff :math:`u = 2^{-53}`, a term that goes through k roundings changes by a share of at most

.. math:: \gamma_k = \frac{ku}{1-ku}.

So a sum of n products is off by at most :math:`\gamma_n\sum_i|a_ib_i|`, whatever the order of the additions, with or
without fused multiply-add, and a product of matrices AB, entry by entry, by :math:`\gamma_n|A||B|`. Where factors have
been rounded before, these roundings are added to n (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
SIAM 2002, section 3.1, Lemmas 3.1 and 3.3, equations 3.5 and 3.13). It holds where no product is below the normal
numbers. Over many rows n is loose: there rows are added up in blocks, and a term goes through the sum of its block and
the sum of the blocks. Every use counts its roundings; solvers, which only have to end, count `USUAL` ones. Where terms
cancel, `product` has twice the digits of double precision, as sums of two doubles (Dekker, Numer. Math. 18, 1971).
"""

from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.sparse_rows import row_tiles

_UNIT = 2.0**-53
BLOCK = 1024  # rows that are added up before their sum is added to those of other blocks
_PARTS = 64  # sums of threads, at most, that are added up at the end, see `fixed_parts`
FORMULA = 90  # roundings of a formula of a loss: it is off by 1e-14 of its terms (test_loss_precision.py)
USUAL = 4  # roundings that a term usually goes through: an estimate, by which solvers stop
_SPLIT = 2.0**27 + 1  # halves of a double with 26 bits each, whose products are exact
_SIZES = 2  # roundings of the lengths of rows and of theta, by which the error of a sum is stated


def gamma(roundings: int) -> float:
    """Return the share by which so many roundings change a number at most."""
    return roundings * _UNIT / (1 - roundings * _UNIT)


def additions(n: int, block: int = BLOCK) -> int:
    """Return the roundings of a term of a sum of n products, in blocks of ``block`` to `BLOCK` rows."""
    return min(n, BLOCK + -(-n // block) + _PARTS) + _SIZES


def block_products(A: Any, B: Array) -> Array:
    r"""Return :math:`A^TB`, (m, C), of A (n, m), dense or CSR, and B (n, C), in blocks of rows."""
    first, *rest = row_tiles(len(B), BLOCK) or [slice(0)]
    total = np.asarray(A[first].T @ B[first])
    for rows in rest:
        total += A[rows].T @ B[rows]
    return total


def block_sums(A: Array) -> Array:
    """Return the sums (C,) of the columns of A (n, C), in blocks of rows."""
    return np.asarray(np.add.reduceat(A, np.arange(0, len(A), BLOCK), axis=0).sum(axis=0))


def exact_parts(theta: Array) -> tuple[Array, Array]:
    """Return theta (n, C) as a sum of numbers of few digits, whose sums over rows are exact, and of small ones."""
    digits = 52 - len(theta).bit_length() - int(np.frexp(np.abs(theta).max(initial=0.0))[1])
    high = np.ldexp(np.rint(np.ldexp(theta, digits)), -digits)
    return high, theta - high


def rounding_of_norm(reach: Any, theta: Any, roundings: int = USUAL) -> float:
    r"""Return what rounding may take from :math:`||A^T\theta||_F`, A any columns with rows no longer than ``reach``.

    .. math:: \gamma_k\sum_ir_i||\theta_i||

    ``roundings``: k, those of `additions` and of the entries of A. Far from the origin the sum is small beside its
    terms.
    """
    return gamma(roundings) * float(np.sum(reach * np.linalg.norm(theta, axis=1)))


def rounding_of_gains(gains: Array, theta: Array, sizes: Array) -> float:
    r"""Return what rounding may take from a sum of dual values of rows, (n, C).

    .. math:: \gamma_k\sum_{ic}\big(|g_{ic}|+2|\theta_{ic}|s_{ic}\big)

    ``gains``: g. ``sizes``: s, those of the targets; the parts of a gain, as large as this, may cancel.
    """
    n, C = theta.shape
    terms = float(np.abs(gains).sum() + 2 * (np.abs(theta) * sizes).sum())
    return gamma(FORMULA + additions(n) + C) * terms


def square_above(square: float, count: int, lost: float) -> float:
    """Return what the sum of ``count`` squares may be, each of a norm from which rounding takes at most ``lost``."""
    return float((np.sqrt(max(square, 0.0)) + np.sqrt(count) * lost) ** 2) * (1 + gamma(count + 8))


def rounding_of_form(diagonal: Array, theta: Array) -> Array:
    r"""Return what rounding usually takes from :math:`\theta_c^TK\theta_c` of every output c, K semidefinite, (C,).

    .. math:: 2u\Big(\sum_i\sqrt{K_{ii}}|\theta_{ic}|\Big)^2

    for :math:`|K_{ij}|\le\sqrt{K_{ii}K_{jj}}`. It is an estimate, as the errors of entries of K are not bounded. Where
    :math:`n\beta` is tiny, it is more than the form divided by it.
    """
    largest = np.sqrt(np.maximum(diagonal, 0.0)) @ np.abs(theta)
    return np.asarray(2 * _UNIT * largest**2)


class Pair(NamedTuple):
    """Numbers high + low, with low at most a rounding of high."""

    high: Array
    low: Array


def two_sum(a: Array, b: Array) -> Pair:
    """Return a + b exactly."""
    s = a + b
    back = s - a
    return Pair(s, (a - (s - back)) + (b - back))


def two_product(a: Array, b: Array) -> Pair:
    """Return a b exactly, up to 1e300."""
    p, (a1, a2), (b1, b2) = a * b, _halves(a), _halves(b)
    return Pair(p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)


def product(A: Pair, B: Array, start: Array) -> Pair:
    """Return start + A B, of (n, k) and (k, m)."""
    high, low = start + np.zeros((len(A.high), B.shape[1])), 0.0
    for k, row in enumerate(B):
        part = two_product(A.high[:, k, None], row)
        high, missed = two_sum(high, part.high)
        low = low + (missed + part.low + A.low[:, k, None] * row)
    return two_sum(high, low + np.zeros_like(high))


def precise_dot(row: Array, columns: Array, start: Array) -> Array:
    """Return start (m,) + row (d,) times columns (d, m), rounded once: for terms that cancel."""
    return np.asarray(product(Pair(row[None], 0 * row[None]), columns, start[None]).high[0])


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high
