"""Linear maps of blades to multiples of blades (grade parts, involutions, complements, duals); the sandwich R X R⁻¹.

Each is a plan, as a product is: keys in; places, factors and keys out; made at its first use and kept with the metric.
For versors R of few dimensions R X R⁻¹ is one tensor for one R, its matrix for many X, one pass over pairs of both.
R X R⁻¹ = R X ~R / ⟨R ~R⟩_0 where R ~R is a number, so the map is a quadratic form in R. For d ≤ 5 an even or odd R with
R ~R a number takes vectors to vectors, see `geometry.versors.inspect_versor`, and so every grade to itself.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property
from clifford_rand.basis.coefficients import (
    INT,
    ROUNDING,
    apart,
    as_components,
    from_components,
    in_integers,
    largest,
    together,
)
from clifford_rand.basis.keys import Keys, keys_of_array, keys_of_grades, keys_of_masks
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import as_masks, is_odd_swap, reverse_is_negative
from clifford_rand.basis.table import ProductTable, product_table
from clifford_rand.compiler.loops import RowFunction, Rows, Table, table_rows, total
from clifford_rand.compiler.scalar import Trace, TracedScalar
from clifford_rand.plans.cost_model import keep, made_once

LONG = 128  # samples from which a component by itself is worth a call of NumPy
ALWAYS = 5  # dimensions up to which R ~R a number is all that R, even or odd, needs to be a versor
LARGEST = 2**15  # entries of the tensor of the quadratic form
_EPS = {char: float(np.finfo(char).eps) for char in "fd"}

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


class SandwichPlan:
    """The sandwich of one pair of key sets, of a diagonal metric with entries 1, -1, 0."""

    def __init__(self, metric: Metric, r: Keys, x: Keys) -> None:
        self.keys = x
        sign = np.where(reverse_is_negative(r.grade_of), -1, 1).astype(np.int8)
        square, first = product_table(metric, "gp", r, r), product_table(metric, "gp", r, x)
        second = product_table(metric, "gp", first.keys, r)
        self.size = r.size, x.size
        self.invertible = square.keys.find(0) == 0  # R ~R may be other than zero
        self._square = _rows(square, square.keys.masks, square.coef * sign[square.right])
        self._inner = _rows(first, first.keys.masks, first.coef)
        self._outer = _rows(second, x.masks, second.coef * sign[second.right])
        self.n_square = len(self._square[0]) - 1
        self._pairs = RowFunction(self._write, *self.size)
        self._tensors: dict[Any, NDArray[Any]] = {}

    def __call__(self, r: NDArray[Any], x: NDArray[Any]) -> NDArray[Any] | None:
        """Return coefficients (..., n_x), or None where R is not a versor, to rounding.

        R and X of one real floating dtype.
        """
        if r.size == self.size[0] and self._tensor is not None:
            matrix = self._matrix(r if r.ndim == 1 else r.reshape(-1))
            if matrix is None:
                return None
            if x.ndim == 1 and r.ndim == 1:
                return matrix.dot(x)
            batch = np.broadcast_shapes(r.shape[:-1], x.shape[:-1])
            return from_components(matrix @ as_components(np.broadcast_to(x, (*batch, self.size[1]))), batch)
        batch = r.shape[:-1] if r.shape[:-1] == x.shape[:-1] else np.broadcast_shapes(r.shape[:-1], x.shape[:-1])
        n = math.prod(batch)
        if not n:
            return None
        R = as_components(r if r.shape[:-1] == batch else np.broadcast_to(r, (*batch, self.size[0])))
        X = as_components(x if x.shape[:-1] == batch else np.broadcast_to(x, (*batch, self.size[1])))
        out = self._pairs.all(R, X)
        return None if out is None else from_components(out, batch)

    def _write(self, trace: Trace, R: Rows, X: Rows) -> list[TracedScalar]:
        """Return R X ~R / ⟨R ~R⟩_0, which holds where R ~R is a number other than zero."""
        limit = total(trace, [a * a for a in R]) * (ROUNDING * _EPS[trace.precision.char])
        norm, *rest = table_rows(trace, self._square, R, R)
        trace.require(abs(norm) > limit)
        for row in rest:
            trace.require(abs(row) <= limit)
        factor = 1.0 / norm
        return [row * factor for row in table_rows(trace, self._outer, table_rows(trace, self._inner, R, X), R)]

    @cached_property
    def _tensor(self) -> NDArray[np.float64] | None:
        """The forms of R ~R, then of the matrix of X ↦ R X ~R: (n_r², n_square + n_x n_x), of the products R_i R_j."""
        n_r, n_x = self.size
        if n_r**2 * (self.n_square + n_x**2) > LARGEST:
            return None
        square = _dense(self._square, n_r, n_r)  # (i, component, j)
        inner, outer = _dense(self._inner, n_r, n_x), _dense(self._outer, len(self._inner[0]) - 1, n_r)
        maps = np.einsum("imx,moj->ijox", inner, outer)
        forms = np.swapaxes(square, 1, 2).reshape(n_r**2, -1), maps.reshape(n_r**2, -1)
        return np.ascontiguousarray(np.hstack(forms))

    def _matrix(self, r: NDArray[Any]) -> NDArray[Any] | None:
        """Return the matrix (n_x, n_x) of the map of one R, or None where R is not a versor to rounding."""
        tensor = self._tensors.get(r.dtype)
        if tensor is None:
            assert self._tensor is not None
            tensor = self._tensors.setdefault(r.dtype, self._tensor.astype(r.dtype))
        forms = (r[:, None] * r).reshape(-1).dot(tensor)
        limit = ROUNDING * _EPS[r.dtype.char] * float(r.dot(r))
        norm, n = float(forms[0]), self.n_square
        if not abs(norm) > limit or (n > 1 and not max(map(abs, forms[1:n].tolist())) <= limit):
            return None
        matrix: NDArray[Any] = forms[n:].reshape(-1, self.size[1]) / norm
        return matrix


def _rows(table: ProductTable, masks: NDArray[Any], coef: NDArray[Any]) -> Table:
    """Return (indptr, left, right, coef) of some components of a product, the scalar first where it is among them."""
    chosen = [table.keys.find(int(mask)) for mask in masks]
    parts = [np.arange(table.indptr[k], table.indptr[k + 1]) if k >= 0 else np.arange(0) for k in chosen]
    rows = np.concatenate(parts) if parts else np.arange(0)
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int32)
    return indptr, table.left[rows], table.right[rows], coef[rows]


def _dense(rows: Table, n_left: int, n_right: int) -> NDArray[np.float64]:
    """Return a table as an array (n_left, n_out, n_right)."""
    indptr, left, right, coef = rows
    dense = np.zeros((n_left, len(indptr) - 1, n_right))
    np.add.at(dense, (left, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), right), coef)
    return dense


def sandwich_plan(metric: Metric, r: Keys, x: Keys) -> SandwichPlan | None:
    """Return the plan of R X R⁻¹, or None where there is none for such keys."""
    plan: SandwichPlan | None = made_once(metric, ("sandwich", r, x), _sandwich, metric, r, x)
    return plan


def _sandwich(metric: Metric, r: Keys, x: Keys) -> SandwichPlan | None:
    parity = {k % 2 for k in r.grades}
    served = metric.is_unit and metric.d <= ALWAYS and len(parity) == 1 and r.size and x.complete and x.size
    plan = SandwichPlan(metric, r, x) if served else None
    return None if plan is None or not plan.invertible else plan
