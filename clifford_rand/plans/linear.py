"""Linear maps that take a basis blade to a multiple of one basis blade: grade parts, involutions, complements, duals.

Each is a plan, as a product is: keys in; places, factors and keys out; made at its first use and kept with the metric.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property
from clifford_rand.basis.coefficients import INT, in_integers, largest
from clifford_rand.basis.keys import Keys, keys_of_array, keys_of_grades, keys_of_masks
from clifford_rand.basis.layout import apart, together
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import as_masks, is_odd_swap, reverse_is_negative
from clifford_rand.basis.table import product_table
from clifford_rand.plans.cost_model import keep

LONG = 128  # samples from which a component by itself is worth a call of NumPy

Places = NDArray[np.int64] | slice | None


class LinearPlan:
    """Component i of the result is ``factors[i]`` times component ``places[i]``.

    ``places`` is None for all in their order, a slice for a view, or an array; ``factors`` None for ones.
    """

    def __init__(self, keys: Keys, places: Places, factors: NDArray[Any] | None = None) -> None:
        self.keys = keys
        self.places = _as_slice(places) if isinstance(places, np.ndarray) else places
        self.factors = None if factors is None or bool(np.all(factors == 1)) else factors
        exact = self.factors is not None and self.factors.dtype.kind == "i"
        self._growth = int(np.abs(self.factors).max(initial=1)) if exact else 1  # type: ignore[arg-type]
        self._factors_as: dict[np.dtype, NDArray[Any]] = {}

    def __call__(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., n_out) of the images of (..., n_in): a view, where no factor is needed."""
        places = self.places
        if places is not None:
            if array.ndim > 1 and places.__class__ is not slice:
                return self._gathered(array)
            array = array[places] if array.ndim == 1 else array[..., places]
        if self.factors is None:
            return array
        factors = self._in(array.dtype)
        if self._growth > 1 and array.dtype == INT:
            return in_integers(np.multiply, self._growth * largest(array), array, factors)
        return array * factors

    def _gathered(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the images of a batch whose components change places: one pass where components are long."""
        parts = apart(array)
        factors = None if self.factors is None else self._in(array.dtype)
        exact = self._growth > 1 and array.dtype == INT
        if exact or parts[0].size < LONG or (factors is not None and factors.dtype != array.dtype):
            out = together(parts[self.places])
            if factors is None:
                return out
            return in_integers(np.multiply, self._growth * largest(out), out, factors) if exact else out * factors
        images = np.empty((self.keys.size, *array.shape[:-1]), dtype=array.dtype)
        for target, (place, factor) in zip(images, self._steps, strict=True):
            np.multiply(parts[place], factor, target)
        return together(images)

    @cached_property
    def _steps(self) -> list[tuple[int, Any]]:
        places: Any = self.places
        factors = [1] * len(places) if self.factors is None else self.factors.tolist()
        return list(zip(places.tolist(), factors, strict=True))

    def _in(self, dtype: np.dtype) -> NDArray[Any]:
        """Return the factors in the dtype of an array, unless its product with them is of another kind."""
        factors = self._factors_as.get(dtype)
        if factors is not None:
            return factors
        factors = self.factors
        assert factors is not None
        wider = factors.dtype.kind == "O" or (factors.dtype.kind == "f" and dtype.kind not in "fc")
        return self._factors_as.setdefault(dtype, factors if wider else factors.astype(dtype))


def _as_slice(places: NDArray[np.int64]) -> Places:
    """Return neighboring places as a slice, which makes a view; also n, …, 0, as of complements of all blades."""
    first = int(places[0]) if len(places) else 0
    last = first + len(places)
    if np.array_equal(places, np.arange(first, last)):
        return slice(first, last)
    if first == len(places) - 1 and np.array_equal(places, np.arange(first, -1, -1)):
        return slice(first, None, -1)
    return places


Maker = Callable[[Metric, Keys], LinearPlan]


def linear_plan(metric: Metric, name: str, keys: Keys) -> LinearPlan:
    """Return the plan of a map by its name in `MAPS`."""
    plan = metric.plans.get((name, keys))
    return keep(metric, (name, keys), MAPS[name](metric, keys)) if plan is None else plan


def part_plan(metric: Metric, grades: tuple[int, ...], keys: Keys) -> LinearPlan:
    """Return the plan of the part of some grades, which ascend; one that is not stored is not filled up."""
    plan = metric.plans.get((grades, keys))
    return keep(metric, (grades, keys), _part(keys, grades)) if plan is None else plan


def _part(keys: Keys, grades: tuple[int, ...]) -> LinearPlan:
    if keys.complete and all(k in keys.grades for k in grades):
        kept = keys_of_grades(keys.d, grades)
        if kept is keys:
            return LinearPlan(keys, None)
        if len(grades) == 1:  # nothing is made of a size that is not needed
            return LinearPlan(kept, keys.slices[grades[0]])
        return LinearPlan(kept, np.flatnonzero(np.isin(keys.grade_of, grades)))
    places = np.flatnonzero(np.isin(keys.grade_of, grades)) if set(grades) & set(keys.grades) else np.zeros(0, int)
    masks = keys.masks[places] if len(places) else ()
    return LinearPlan(keys_of_masks(keys.d, tuple(int(mask) for mask in masks), grades), places)


def _signs(is_negative: Callable[[Any], Any]) -> Maker:
    def make(metric: Metric, keys: Keys) -> LinearPlan:
        return LinearPlan(keys, None, np.where(is_negative(keys.grade_of), -1, 1).astype(np.int8))

    return make


def _complement(left: bool) -> Maker:
    def make(metric: Metric, keys: Keys) -> LinearPlan:
        d = keys.d
        full, masks = (1 << d) - 1, keys.masks
        if not len(masks):
            return LinearPlan(keys_of_grades(d, ()), None)
        complement = full ^ masks if masks.dtype != object else as_masks([full ^ mask for mask in masks], d)
        odd = is_odd_swap(complement, masks, d) if left else is_odd_swap(masks, complement, d)
        out, position = keys_of_array(d, complement)
        places = np.argsort(position)
        return LinearPlan(out, places, np.where(odd, -1, 1).astype(np.int8)[places])

    return make


def _times_pseudoscalar(*, left: bool = False, reverse: bool = False, inverse: bool = False) -> Maker:
    """Return the maker of A ↦ I A, or A I, of a diagonal metric; of ~A for A; with I⁻¹ for I if det G is 1 or -1."""

    def make(metric: Metric, keys: Keys) -> LinearPlan:
        pseudoscalar = keys_of_grades(keys.d, (keys.d,))
        pair = (pseudoscalar, keys) if left else (keys, pseudoscalar)
        table = product_table(metric, "gp", *pair)
        places = (table.right if left else table.left).astype(np.int64)
        factors = table.coef
        if reverse:
            factors = factors * np.where(reverse_is_negative(keys.grade_of[places]), -1, 1).astype(np.int8)
        if inverse:  # I⁻¹ = ~I / det G
            factors = factors * np.int8(metric.determinant * (-1 if reverse_is_negative(keys.d) else 1))
        return LinearPlan(table.keys, places, factors)

    return make


MAPS: dict[str, Maker] = {
    "reverse": _signs(reverse_is_negative),
    "involute": _signs(lambda k: k % 2 == 1),
    "conjugate": _signs(lambda k: (k % 4 == 1) | (k % 4 == 2)),
    "left_complement": _complement(left=True),
    "right_complement": _complement(left=False),
    "star": _times_pseudoscalar(left=True, reverse=True),
    "star_right": _times_pseudoscalar(reverse=True),
    "undual": _times_pseudoscalar(),
    "dual": _times_pseudoscalar(inverse=True),
}
