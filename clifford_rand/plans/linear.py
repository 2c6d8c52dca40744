"""Linear maps that take a basis blade to a multiple of one basis blade: grade parts, involutions, complements, duals.

Each is a plan, as a product is: keys in; places, factors and keys out; made at its first use and kept with the metric.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property
from clifford_rand.basis.coefficients import INT, in_integers, largest, read_only
from clifford_rand.basis.keys import Keys, keys_of_array, keys_of_grades, keys_of_masks
from clifford_rand.basis.layout import apart, together
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import as_masks, is_odd_swap, reverse_is_negative
from clifford_rand.basis.table import product_table
from clifford_rand.plans.cost_model import keep
from clifford_rand.plans.table_plan import rent

LARGE = 2**11  # numbers from which the compiled copy is faster than NumPy's two calls
MANY = 2**15  # blades from which slices, each with one sign, are faster than factors, which are as long as the array
LONG = 128  # samples from which a component by itself is worth a call
CACHED = 2**16  # numbers that a second pass finds in the second-level cache: two calls instead of one a component
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_KERNEL = "clifford_rand.kernels.signed"
_PER_WORK = 16  # numbers that NumPy moves, with signs, in the time of a table row of a gather: 0.4 ns each

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
        view = self.factors is None and not isinstance(self.places, np.ndarray)
        units = self.factors is None or (exact and self._growth == 1 and bool(self.factors.all()))
        self._moves = units and not view  # nothing but places and signs
        self._large = self._moves and keys.size >= LARGE
        self._runs = self._few_runs(places if isinstance(places, np.ndarray) else None) if self._large else None
        self._bought: tuple[Callable[..., None], Callable[..., None]] | None = None
        self._size, self._in_line = keys.size, not isinstance(self.places, np.ndarray)
        held = self.places if isinstance(self.places, slice) else slice(0, keys.size)
        self._backwards = held.step == -1
        self._source = slice(0, held.start + 1) if self._backwards else held  # the components that are read, in line

    def __call__(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., n_out) of the images of (..., n_in): a view, where no factor is needed."""
        places = self.places
        if array.ndim == 1:
            if self._large:
                found = self._large_image(array)
                if found is not None:
                    return found
            if places is not None:
                array = array[places]
            if self.factors is None:
                return array
        else:
            if self._moves and array.size >= LARGE:
                found = self._images(array)
                if found is not None:
                    return found
            if places is not None and places.__class__ is not slice:
                return self._gathered(array)
            if places is not None:
                array = array[..., places]
            if self.factors is None:
                return array
        factors = self._in(array.dtype)
        if self._growth > 1 and array.dtype == INT:
            return in_integers(np.multiply, self._growth * largest(array), array, factors)
        return array * factors

    # ---- many numbers, of which only places and signs change

    def _large_image(self, array: NDArray[Any]) -> NDArray[Any] | None:
        """Return the image of (n_in,) by the kernel or by slices, or None where neither serves."""
        kernel, dtype = self._bought, array.dtype
        if kernel is None and self._in_line:
            kernel = self._kernels(array.size)
        if kernel is not None and self._in_line and (dtype is _FLOAT64 or dtype is _FLOAT32):
            array = array[self._source]
            flags = array.flags
            if flags.c_contiguous:
                out = np.empty(self._size, dtype)
                # read-only, as coefficients are: one machine code
                kernel[0](read_only(array.view()) if flags.writeable else array, self._signs, self._backwards, out)
                return out
        return self._by_runs(array) if self._runs is not None and dtype.kind in "fc" else None

    def _images(self, array: NDArray[Any]) -> NDArray[Any] | None:
        """Return the images of a batch by the kernel, or None where it does not serve."""
        if array.dtype.kind not in "fc":
            return None
        parts = apart(array)
        if not parts.flags.c_contiguous:
            return None
        kernel = self._bought or self._kernels(array.size)
        if kernel is None:
            return None
        images = np.empty((self.keys.size, *parts.shape[1:]), array.dtype)
        real = parts.real.dtype
        rows, out = (x.reshape(len(x), -1).view(real) for x in (parts, images))
        kernel[1](read_only(rows), self._place_of, self._signs, out)
        return together(images)

    def _kernels(self, count: int) -> tuple[Callable[..., None], Callable[..., None]] | None:
        """Return the kernels of one image and of a batch, once NumPy has moved as many numbers as their load costs."""
        if self._bought is None and rent(_KERNEL, count // _PER_WORK):
            from clifford_rand.kernels.signed import copy_signed, copy_signed_rows

            self._bought = copy_signed, copy_signed_rows
        return self._bought

    @cached_property
    def _signs(self) -> NDArray[np.int8]:
        ones = np.ones(self.keys.size, np.int8)
        return ones if self.factors is None else self.factors.astype(np.int8)  # Numba knows a writeable array sooner

    @cached_property
    def _place_of(self) -> NDArray[np.int64]:
        if isinstance(self.places, np.ndarray):
            return self.places.astype(np.int64)
        every = np.arange(self._source.start, self._source.stop)
        return every[::-1].copy() if self._backwards else every

    def _few_runs(self, places: NDArray[np.int64] | None) -> list[tuple[slice, slice, bool]] | None:
        """Return where the images of many blades come from, if that is a few slices with a sign for each."""
        size, signed = self.keys.size, self.factors is not None
        if self.places.__class__ is slice or (signed and size < MANY):
            return None
        source = np.arange(size) if places is None else places
        negative = np.zeros(size, dtype=bool) if self.factors is None else self.factors < 0
        ends = np.flatnonzero((np.diff(source) != 1) | (negative[1:] != negative[:-1])) + 1
        if len(ends) >= size // 2 ** (11 if signed else 9):
            return None
        starts = [0, *ends.tolist()]
        first = source[starts].tolist()
        return [
            (slice(begin, end), slice(at, at + end - begin), bool(negative[begin]))
            for begin, end, at in zip(starts, [*ends.tolist(), size], first, strict=True)
        ]

    def _by_runs(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the images slice by slice: nothing is read but the array, neither places nor factors."""
        assert self._runs is not None
        if self.factors is None:
            return np.concatenate([array[source] for _, source, _ in self._runs])
        out = np.empty(self.keys.size, dtype=array.dtype)
        for target, source, negative in self._runs:
            if negative:
                np.negative(array[source], out[target])
            else:
                out[target] = array[source]
        return out

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
        if array.size <= CACHED:
            images = parts.take(self._place_of, axis=0)
            if factors is not None:
                images *= factors.reshape(-1, *[1] * (images.ndim - 1))
            return together(images)
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
        found = self._factors_as.get(dtype)
        if found is not None:
            return found
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
        other = full ^ masks if masks.dtype != object else as_masks([full ^ mask for mask in masks], d)
        odd = is_odd_swap(other, masks, d) if left else is_odd_swap(masks, other, d)
        out, position = keys_of_array(d, other)
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
