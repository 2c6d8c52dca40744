"""The split of a bivector into simple bivectors that commute."""

from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.commuting_planes import commuting_planes
from clifford_rand.functions.frame import LARGEST_DIMENSION, frame_of, working_dtype
from clifford_rand.functions.unit_form import span_form

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector


def split(B: "Multivector", rtol: float) -> "tuple[Multivector, ...]":
    """Return simple bivectors B_i with Σ B_i = B and B_i B_j = B_i∧B_j = B_j B_i; in a batch, some end in zeros."""
    d = B.algebra.d
    if any(k != 2 for k in B.grades):
        if any(B.grade(k).coefficients.any() for k in B.grades if k != 2):
            raise fail("B", "bivector_split", "a bivector", describe(f"grades {B.grades}"))
        B = B.grade(2)
    if not np.asarray(B.coefficients != 0, dtype=bool).any():
        return ()
    if d <= 3:
        return (B,)  # every bivector is simple
    form = span_form(B, LARGEST_DIMENSION)
    if form is not None:
        return tuple(form.give(part, B) for part in split(form.take(B.sparse()), rtol))
    work: Any = working_dtype(B, "bivector_split")
    kept: Any = B.dtype if B.dtype.kind in "fc" else work
    frame = frame_of(B, "bivector_split")
    start = frame.enter(B, keys_of_grades(d, (2,)), work)
    rows = start.coefficients.reshape(-1, frame.bivectors.size)
    found = []
    for row in rows:
        planes = commuting_planes(frame.matrix(row), frame.signs, rtol)
        if planes is None:
            raise fail(
                "B",
                "bivector_split",
                "a sum of commuting simple bivectors",
                describe(f"one for which none was found to a relative error of {rtol:.1g}"),
                "There is none where x ↦ Bx - xB has a Jordan block beyond those of a null rotation.",
            )
        found.append([plane[frame.upper] for plane in planes])
    most = max(map(len, found))
    mixed = any(np.iscomplexobj(plane) for planes in found for plane in planes)
    array = np.zeros((most, len(rows), frame.bivectors.size), dtype=np.complex128 if mixed else work)
    for i, planes in enumerate(found):
        for k, plane in enumerate(planes):
            array[k, i] = plane
    target = np.result_type(kept, np.complex64) if mixed else kept
    return tuple(frame.leave(frame.bivector(part.reshape(*B.shape, -1)), B, target) for part in array)
