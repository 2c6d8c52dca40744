"""Fraction-free elimination: echelon forms, and cross products of integers and fractions, without rounding."""

import math
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail


def integer_rows(
    array: NDArray[Any], name: str, owner: str, *, floats: bool = False
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows (..., d) times the least common denominators of their entries, as Python integers, and those (...).

    Integers and fractions are taken, and ``floats`` as the fractions that they are; ArgumentError for anything else.

    Examples
    --------
    >>> integer_rows(np.array([[Fraction(1, 2), Fraction(2, 3)]]), "A", "f")
    (array([[3, 4]], dtype=object), array([6], dtype=object))
    """
    if array.dtype.kind in "biu":
        return array.astype(object) + 0, np.ones(array.shape[:-1], dtype=object)
    kinds = (Rational, float, np.floating) if floats else (Rational,)
    rule = "an array of integers or fractions" + (" or floats" if floats else "")
    numbers = np.empty(array.shape, dtype=object)
    flat = numbers.reshape(-1)
    for i, entry in enumerate(array.ravel().tolist()):
        if not isinstance(entry, kinds):
            raise fail(name, owner, rule, describe(f"the entry {entry!r}"))
        if isinstance(entry, Rational):  # also those of NumPy and SymPy
            flat[i] = Fraction(int(entry.numerator), int(entry.denominator))
        elif math.isfinite(entry):
            flat[i] = Fraction(float(entry))
        else:
            raise fail(name, owner, "finite", describe("NaN or infinite entries"))
    common = np.empty(array.shape[:-1], dtype=object)
    for place in np.ndindex(*common.shape):
        common[place] = math.lcm(*(entry.denominator for entry in numbers[place]))
        numbers[place] = [int(entry * common[place]) for entry in numbers[place]]
    return numbers, common


class Echelon(NamedTuple):
    """Rows in echelon form, without a division that leaves a remainder.

    Attributes
    ----------
    rows : ndarray of int (r, d)
        Integer multiples of combinations of the rows: the entries are minors of theirs.
    pivots : list of int
        The column of the first entry of each row other than 0.
    sign : int
        Of the permutation of the rows: the last pivot is ``sign`` times the minor of the r columns, if r rows were
        given.
    """

    rows: NDArray[Any]
    pivots: list[int]
    sign: int


def echelon(rows: NDArray[Any]) -> Echelon:
    """Return the echelon form of Python integers (m, d).

    References
    ----------
    Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian elimination", Math. Comp. 22, 1968.

    Examples
    --------
    >>> form = echelon(np.array([[2, 4, 1], [3, 6, 5]], dtype=object))
    >>> form.rows.tolist(), form.pivots
    ([[2, 4, 1], [0, 0, 7]], [0, 2])
    """
    M, previous, sign, pivots = rows.copy(), 1, 1, list[int]()
    for column in range(M.shape[1]):
        r = len(pivots)
        held = np.flatnonzero(M[r:, column])
        if not held.size:
            continue
        if held[0]:
            M[[r, r + held[0]]] = M[[r + held[0], r]]
            sign = -sign
        rest, pivot = M[r + 1 :, column:], M[r, column]
        M[r + 1 :, column:] = (rest * pivot - np.multiply.outer(rest[:, 0], M[r, column:])) // previous
        previous = pivot
        pivots.append(column)
    return Echelon(M[: len(pivots)], pivots, sign)


def exact_products(A: NDArray[Any], rtol: float | None, owner: str, name: str = "A") -> NDArray[Any]:
    """Return the cross products (..., d) of the rows of ``A`` (..., d-1, d), an array of Python integers and fractions.

    The rows times their denominators are eliminated without fractions. The last pivot is one of the d minors, and the
    other components of the null vector follow by divisions that leave no remainder.
    """
    if rtol is not None:
        hint = "Integers and fractions are dependent or not, without a tolerance."
        raise fail("rtol", owner, "None for an array of objects", describe(f"rtol = {rtol!r}"), hint)
    rows, denominators = integer_rows(A, name, owner)
    vectors = np.empty((*A.shape[:-2], A.shape[-1]), dtype=object)
    for place in np.ndindex(*A.shape[:-2]):
        common = math.prod(denominators[place].tolist())
        vector = _null_vector(rows[place])
        vectors[place] = [x // common if x % common == 0 else Fraction(x, common) for x in vector]
    return vectors


def _null_vector(rows: NDArray[Any]) -> list[int]:
    """Return the cofactors (-1)^i det(rows without column i) of integers (d-1, d)."""
    k, d = rows.shape
    form = echelon(rows)
    vector = [0] * d
    if len(form.pivots) < k:
        return vector
    free = next(i for i in range(d) if i == k or form.pivots[i] != i)
    minor = form.rows[-1, form.pivots[-1]] * form.sign if k else 1
    vector[free] = -minor if free % 2 else minor
    for r in reversed(range(k)):
        row, pivot = form.rows[r].tolist(), form.pivots[r]
        vector[pivot] = -sum(a * x for a, x in zip(row[pivot + 1 :], vector[pivot + 1 :], strict=True)) // row[pivot]
    return vector
