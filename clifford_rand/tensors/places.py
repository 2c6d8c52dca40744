"""Where components of tensors stand: parts, other keys, linear maps of blades, all by gathers with constant places."""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.arrays import Constants, beside, namespace
from clifford_rand.basis.keys import Keys, check_size
from clifford_rand.basis.metric import Metric
from clifford_rand.plans.choice import keep
from clifford_rand.plans.linear import linear_plan, part_plan


class Moves:
    """Component i of the result is ``factors[i]`` times component ``places[i]``, and zero where that is -1."""

    def __init__(self, keys: Keys, places: Any, factors: Any = None) -> None:
        self.keys = keys
        self.slice: slice | None = places if isinstance(places, slice) else None
        self.padded = False
        arrays = {}
        if isinstance(places, np.ndarray):
            self.padded = bool((places < 0).any())
            arrays["places"] = places.astype(np.int64)
        if factors is not None:
            arrays["factors"] = factors.astype(np.float64)
        self.moves, self.scales = "places" in arrays, factors is not None
        self.constants = Constants(**arrays)

    def __call__(self, array: Any) -> Any:
        """Return the coefficients (..., n_out) of the images of (..., n_in)."""
        if self.slice is not None:
            array = array[..., self.slice]
        elif self.moves:
            xp = namespace(array)
            if self.padded:
                array = xp.concat([array, xp.zeros((*array.shape[:-1], 1), **beside(array))], axis=-1)
            array = xp.take(array, self.constants.of("places", array), axis=-1)
        return array * self.constants.of("factors", array) if self.scales else array


def map_of(metric: Metric, name: str, keys: Keys) -> Moves:
    """Return the plan of an involution, complement or dual by its name."""
    found = metric.plans.get(("tensor", name, keys))
    return make_map(metric, name, keys) if found is None else found


def make_map(metric: Metric, name: str, keys: Keys) -> Moves:
    """Make what `map_of` returns."""
    plan = linear_plan(metric, name, keys)
    return keep(metric, ("tensor", name, keys), Moves(plan.keys, plan.places, plan.factors))


def part_of(metric: Metric, grades: tuple[int, ...], keys: Keys) -> Moves:
    """Return the plan of the part of some grades, which ascend."""
    found = metric.plans.get(("tensor", grades, keys))
    return make_part(metric, grades, keys) if found is None else found


def make_part(metric: Metric, grades: tuple[int, ...], keys: Keys) -> Moves:
    """Make what `part_of` returns."""
    plan = part_plan(metric, grades, keys)
    return keep(metric, ("tensor", grades, keys), Moves(plan.keys, plan.places, plan.factors))


def placed_on(metric: Metric, source: Keys, target: Keys) -> Moves:
    """Return the plan that puts components with keys ``source`` on the keys ``target``, zeros where there are none."""
    found = metric.plans.get(("tensor on", source, target))
    return make_placed(metric, source, target) if found is None else found


def make_placed(metric: Metric, source: Keys, target: Keys) -> Moves:
    """Make what `placed_on` returns."""
    check_size(target.size, "Multivector")
    places = np.array([source.find(int(mask)) for mask in target.masks], dtype=np.int64)
    return keep(metric, ("tensor on", source, target), Moves(target, places))


def check_grades(grades: tuple[int, ...], d: int) -> tuple[int, ...]:
    """Return grades that ascend, or refuse what is none."""
    for k in grades:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= d:
            raise fail("grades", "grade", f"integers from 0 to {d}", describe(repr(k)))
    return tuple(sorted({int(k) for k in grades}))
