"""Random objects of the conformal model of space, translators and rotors, on the layout of ``compat.clifford.g3c``."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import as_generator
from clifford_rand.compat.clifford import g3c
from clifford_rand.compat.clifford.multivector import MultiVector
from clifford_rand.compat.clifford.operator import MVArray, elementwise, op

layout, up, down, einf = g3c.layout, g3c.up, g3c.down, g3c.einf
I3 = g3c.blades["e123"]

Rng = np.random.Generator | int | None


class ConformalMVArray(MVArray):
    """An array of multivectors of the conformal model."""

    def up(self) -> MVArray:
        """Return the points of an array of vectors."""
        return elementwise(up, self)

    def down(self) -> MVArray:
        """Return the vectors of an array of points."""
        return elementwise(down, self)


def random_euc_mv(l_max: float = 10, rng: Rng = None) -> MultiVector:
    """Return a vector of a uniform direction and a length up to ``l_max``."""
    draw = as_generator(rng, "random_euc_mv")
    values = draw.standard_normal(3)
    length = l_max * draw.random() / math.hypot(*values)
    return layout.algebra.vector(np.concatenate([length * values, [0, 0]]))


def random_conformal_point(l_max: float = 10, rng: Rng = None) -> MultiVector:
    """Return the null vector of `random_euc_mv`."""
    return up(random_euc_mv(l_max, rng))


def _through(count: int, *vectors: Any) -> Callable[..., Any]:
    def random(rng: Rng = None) -> Any:
        generator = as_generator(rng, "random")
        points = [random_conformal_point(rng=generator) for _ in range(count)]
        return functools.reduce(op, [*points, *vectors]).normal()

    return random


random_point_pair = _through(2)
random_circle = _through(3)
random_sphere = _through(4)
random_line = _through(2, einf)
random_plane = _through(3, einf)


def generate_translation_rotor(euc_vector_a: MultiVector) -> Any:
    """Return T = 1 + einf a/2, with T X ~T the object X moved by a."""
    return 1 + einf * euc_vector_a / 2


def generate_rotation_rotor(theta: float, euc_vector_m: MultiVector, euc_vector_n: MultiVector) -> Any:
    """Return the rotor by ``theta`` in the plane from m to n."""
    plane = (euc_vector_m ^ euc_vector_n).normal()
    return (plane * (-theta / 2)).exp()


def random_translation_rotor(maximum_translation: float = 10.0, rng: Rng = None) -> Any:
    """Return the translator of a random vector."""
    return generate_translation_rotor(random_euc_mv(maximum_translation, rng))


def random_rotation_rotor(max_angle: float = math.pi, rng: Rng = None) -> Any:
    """Return a rotor by a uniform angle in a random plane."""
    generator = as_generator(rng, "random_rotation_rotor")
    plane = (random_euc_mv(rng=generator) ^ random_euc_mv(rng=generator)).normal()
    return (plane * (max_angle * generator.random() / 2)).exp()


def random_rotation_translation_rotor(
    maximum_translation: float = 10.0, max_angle: float = math.pi, rng: Rng = None
) -> Any:
    """Return a translator times a rotor."""
    generator = as_generator(rng, "random_rotation_translation_rotor")
    return random_translation_rotor(maximum_translation, generator) * random_rotation_rotor(max_angle, generator)
