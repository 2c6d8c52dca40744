"""Conformal blades as four Euclidean ones: X = A + n_o ∧ O + n_∞ ∧ I + n_o ∧ n_∞ ∧ M, in either basis."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand.algebra import Algebra
from clifford_rand.basis import layout
from clifford_rand.basis.keys import Keys, keys_of_grades, keys_of_masks
from clifford_rand.multivector.multivector import Multivector


class Parts(NamedTuple):
    """The Euclidean parts of X = A + n_o ∧ O + n_∞ ∧ I + n_o ∧ n_∞ ∧ M, multivectors of Algebra(n)."""

    A: Multivector
    O: Multivector  # noqa: E741  # the part with the origin
    I: Multivector  # noqa: E741  # the part with infinity
    M: Multivector


@lru_cache(maxsize=32)
def euclidean(n: int) -> Algebra:
    """Return Algebra(n), the same object every time."""
    return Algebra(n)


@lru_cache(maxsize=256)
def _blades(n: int, k: int) -> Keys:
    return keys_of_grades(n, (k,)) if 0 <= k <= n else keys_of_masks(n, ())


@lru_cache(maxsize=256)
def _places(n: int, k: int) -> tuple[NDArray[np.int64], ...]:
    """Return where E, E ∧ e_{n+1}, E ∧ e_{n+2}, E ∧ e_{n+1} ∧ e_{n+2} are stored in grade k of Cl(n+1, 1)."""
    whole, first, second = keys_of_grades(n + 2, (k,)), 1 << n, 1 << n + 1
    pairs = ((k, 0), (k - 1, first), (k - 1, second), (k - 2, first | second))
    return tuple(
        np.array([whole.find(int(mask) | bits) for mask in _blades(n, g).masks], dtype=np.int64) for g, bits in pairs
    )


def split(X: Any, null: bool) -> Parts:
    """Return the parts of a multivector that has all components of one grade."""
    n, k = X.algebra.d - 2, X.grades[0]
    alg, sign = euclidean(n), -1 if k % 2 == 0 else 1  # E ∧ e = (-1)^(k-1) e ∧ E
    a, o, i, m = (X.coefficients[..., place] for place in _places(n, k))
    if not null:  # e_{n+1} = n_∞/2 - n_o and e_{n+2} = n_∞/2 + n_o
        o, i, m = i - o, (o + i) / 2, -m
    grades = ((a, k), (sign * o, k - 1), (sign * i, k - 1), (m, k - 2))
    return Parts(*(alg._new(_blades(n, g), layout.own(values)) for values, g in grades))


def joined(alg: Algebra, null: bool, k: int, parts: Parts) -> Multivector:
    """Return the multivector of grade k with these parts."""
    n, sign = alg.d - 2, -1 if k % 2 == 0 else 1
    values = [P._select(_blades(n, g)).coefficients for P, g in zip(parts, (k, k - 1, k - 1, k - 2), strict=True)]
    a, o, i, m = values[0], sign * values[1], sign * values[2], values[3]
    if not null:
        o, i, m = i - o / 2, i + o / 2, -m
    keys = keys_of_grades(n + 2, (k,))
    shape = np.broadcast_shapes(*(value.shape[:-1] for value in values))
    array = layout.zeros(shape, keys.size, np.result_type(*values))
    for place, value in zip(_places(n, k), (a, o, i, m), strict=True):
        array[..., place] = value
    return alg._new(keys, array)


def round_parts(E: Any, c: Any, rho: Any) -> Parts:
    """Return the round of direction E, centre c (a vector) and radius² rho: T_c[(n_o + rho n_∞/2) ∧ E].

    It is n_o∧E + n_o∧n_∞∧(c⌋E) + c∧E + n_∞∧((rho + c²)/2 E - c∧(c⌋E)).
    """
    along = c << E
    half = (rho + (c.coefficients**2).sum(axis=-1)) / 2
    return Parts(c ^ E, E, E._make(E.keys, E.coefficients * half[..., None]) - (c ^ along), along)


def flat_parts(E: Any, c: Any, k: int) -> Parts:
    """Return the flat up(c) ∧ E ∧ n_∞ of grade k: (-1)^k n_o∧n_∞∧E - (-1)^k n_∞∧(c∧E)."""
    sign = -1 if k % 2 else 1
    nothing = E._make(keys_of_masks(E.algebra.d, ()), np.zeros((*E.shape, 0), dtype=E.dtype))
    return Parts(nothing, nothing, (c ^ E) * -sign, E * sign)
