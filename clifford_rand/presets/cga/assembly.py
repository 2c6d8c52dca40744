"""Conformal blades from their parameters: the way back from `classify`."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.algebra import Algebra
from clifford_rand.basis import layout
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.measures import model_of
from clifford_rand.presets.cga.parts import Parts, flat_parts, joined, round_parts

ROUND, TANGENT, FLAT, FREE, DUAL_FLAT = "round", "tangent", "flat", "free", "dual flat"
DROP = {ROUND: 1, TANGENT: 1, FLAT: 2, FREE: 1, DUAL_FLAT: 0}  # grade of X less the grade of E


def assemble(described: Any, alg: Algebra) -> Multivector:
    """Return the blades with the parameters of a `Classified` in ``alg``, of the same n and either basis."""
    n, null = model_of(alg, "blade")
    shape, count = described.shape, math.prod(described.shape)
    grade, kind, rho, weight = (
        np.broadcast_to(x, shape).reshape(-1)
        for x in (described.grade, described.kind, described.radius_squared, described.weight)
    )
    keys = keys_of_grades(n + 2, tuple(int(k) for k in np.unique(grade)) or (1,))
    E = described.direction
    rows, centres = E.coefficients.reshape(count, E.keys.size), described.location.reshape(count, n)
    array = layout.zeros((count,), keys.size, E.dtype)
    for k in keys.grades:
        for one in np.unique(kind[grade == k]):
            at = np.flatnonzero((grade == k) & (kind == one))
            part = E.new(E.keys, rows[at] * weight[at, None]).select_keys(keys_of_grades(n, (k - DROP[str(one)],)))
            parts = _with_parameters(str(one), k, part, centres[at], rho[at], null)
            array[at] += joined(alg, null, k, parts).on_keys(keys).coefficients
    return alg.new(keys, layout.own(array.reshape(*shape, keys.size)))


def _with_parameters(kind: str, k: int, E: Any, centre: NDArray[Any], rho: NDArray[Any], null: bool) -> Parts:
    nothing = E * 0
    if kind == FREE:
        return Parts(nothing, nothing, E * (1 if k % 2 else -1), nothing)
    c = E.algebra.vector(centre)
    if kind == DUAL_FLAT:
        return Parts(E, nothing, c << E, nothing)
    return flat_parts(E, c, k) if kind == FLAT else round_parts(E, c, rho, null)
