"""Inverse functions of a multivector: values at the eigenvalues, improved by Newton's method.

Y and A commute, so Newton's method on exp Y = A, sin Y = A and so on is that of numbers. The image of Y is compared
with A before Y is returned.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis.keys import Keys, keys_of_grades
from clifford_rand.errors import ArgumentError

Array = NDArray[np.complex128]
Pair = tuple[Any, Any]

ROUNDING = 64 * float(np.finfo(np.float64).eps)  # relative, within which an eigenvalue is at a branch point
STEPS = 8  # of Newton's method: quadratic, from half of the digits
ACCEPTED = 1e-10  # |sin Y - A| by |A|


class InverseFunction(NamedTuple):
    """A function of numbers, its derivative and branch points; C and S of Y, the image of Y by them, Newton's step."""

    f: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    branch_points: tuple[complex, ...]
    parts: Callable[[Any, str], Pair]
    image: Callable[[Any, Any], Any]
    step: Callable[[Any, Any, Any], Any]
    domain: str

    def at(self, z: Array) -> Array:
        """Return f at eigenvalues; what is at a branch point to rounding is there."""
        z = z + 0  # -0 is another side of a cut
        for point in self.branch_points:
            z = np.where(np.abs(z - point) <= ROUNDING, point, z)
        return np.asarray(self.f(z), dtype=np.complex128)

    def distance(self, z: Array) -> NDArray[Any]:
        """Return the distance of numbers from the nearest branch point."""
        return np.asarray(np.min([np.abs(z - point) for point in self.branch_points], axis=0))


def closed_keys(U: MV) -> Keys:
    """Return the keys of functions of U: all blades, or the even ones."""
    d = U.algebra.d
    return keys_of_grades(d, tuple(range(0, d + 1, 2 if all(k % 2 == 0 for k in U.grades) else 1)))


def improved(
    U: MV, keys: Keys, start: NDArray[Any], inverse: InverseFunction, owner: str
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return Y (n, K) after Newton's method from ``start`` for the elements of U, and max|image - U| / max|U|."""
    target = U.on_keys(keys).coefficients.reshape(-1, keys.size)
    best = start.reshape(-1, keys.size).copy()
    now, error = best.copy(), np.full(len(best), np.inf)
    scale = np.abs(target).max(axis=-1)
    if inverse.f is np.arccosh:
        scale = np.maximum(scale, 1.0)
    active = np.flatnonzero(np.isfinite(now).all(axis=-1))
    for step in range(STEPS):
        if not active.size:
            break
        Y, wanted = U.new(keys, now[active]), U.new(keys, target[active])
        try:
            C, S = inverse.parts(Y, owner)
            distance = np.abs((wanted - inverse.image(C, S)).on_keys(keys).coefficients).max(axis=-1)
            better = distance < error[active]
            best[active[better]], error[active[better]] = now[active[better]], distance[better]
            continued = better & ~(distance <= ROUNDING / 16 * scale[active])
            if not continued.any() or step == STEPS - 1:
                break
            active = active[continued]
            W, C, S = (part.on_keys(keys) for part in (wanted, C, S))
            move = inverse.step(*(part.new(keys, part.coefficients[continued].copy()) for part in (W, C, S)))
        except ArgumentError:
            break  # a singular derivative, or no value there: the best value is returned with its error
        now[active] = now[active] + move.on_keys(keys).coefficients
    return best, error / np.where(scale > 0, scale, 1)
