"""Places of components of tensors: parts, other keys, linear maps of blades, all by gathers with constant places."""

import hashlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand.basis.arrays import (
    Constants,
    Tensor,
    beside,
    constant,
    constant_of_a_trace,
    is_compiling,
    is_torch,
    namespace,
)
from clifford_rand.basis.keys import Keys, check_size, keys_labelled, keys_of_grades, union
from clifford_rand.basis.metric import Metric
from clifford_rand.plans.linear import LinearPlan, linear_plan, part_plan


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

    def apply(self, array: Any) -> Any:
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
    moves: Moves = getattr(metric.shelf, _map(metric, name, keys.label))
    return moves


def part_of(metric: Metric, grades: tuple[int, ...], keys: Keys) -> Moves:
    """Return the plan of the part of some grades, which ascend."""
    moves: Moves = getattr(metric.shelf, _part(metric, grades, keys.label))
    return moves


def placed_on(metric: Metric, source: Keys, target: Keys) -> Moves:
    """Return the plan that puts components with keys ``source`` on the keys ``target``, zeros where there are none."""
    moves: Moves = getattr(metric.shelf, _placed(metric, source.label, target.label))
    return moves


def keys_of(metric: Metric, grades: tuple[int, ...]) -> Keys:
    """Return all blades of some grades, which ascend."""
    keys: Keys = getattr(metric.shelf, _keys(metric, grades))
    return keys


def union_of(metric: Metric, a: Keys, b: Keys) -> Keys:
    """Return the blades that are in either set."""
    if a is b:
        return a
    together: Keys = getattr(metric.shelf, _union(metric, a.label, b.label))
    return together


# ---- called when `torch.compile` traces, not traced themselves


def _of_plan(plan: LinearPlan, keys: str) -> Moves:
    places: Any = plan.places
    if isinstance(places, slice) and (places.step or 1) < 0:  # which the array API has not
        places = np.arange(keys_labelled(keys).size)[places]
    return Moves(plan.keys, places, plan.factors)


def _shelved(metric: Metric, label: str, make: Callable[[], Any]) -> str:
    """Return the label of what is on the shelf of a metric, made at its first use."""
    return label if hasattr(metric.shelf, label) else metric.shelf.put(label, make())


@constant_of_a_trace
def _map(metric: Metric, name: str, keys: str) -> str:
    return _shelved(metric, f"{name} {keys}", lambda: _of_plan(linear_plan(metric, name, keys_labelled(keys)), keys))


@constant_of_a_trace
def _part(metric: Metric, grades: tuple[int, ...], keys: str) -> str:
    return _shelved(
        metric, f"part {grades} {keys}", lambda: _of_plan(part_plan(metric, grades, keys_labelled(keys)), keys)
    )


@constant_of_a_trace
def _placed(metric: Metric, source: str, target: str) -> str:
    def make() -> Moves:
        held, keys = keys_labelled(source), keys_labelled(target)
        check_size(keys.size, "Multivector")
        return Moves(keys, np.array([held.find(int(mask)) for mask in keys.masks], dtype=np.int64))

    return _shelved(metric, f"{source} on {target}", make)


@constant_of_a_trace
def _keys(metric: Metric, grades: tuple[int, ...]) -> str:
    return _shelved(metric, f"grades {grades}", lambda: keys_of_grades(metric.d, grades))


@constant_of_a_trace
def _union(metric: Metric, a: str, b: str) -> str:
    return _shelved(metric, f"{a} or {b}", lambda: union(keys_labelled(a), keys_labelled(b)))


# ---- values beside a tensor, and what a trace asks of names


def coefficients_beside(A: Any, like: Tensor) -> Tensor:
    """Return the coefficients of a multivector of NumPy beside a tensor."""
    if is_torch(like) and is_compiling():
        return getattr(A.algebra.form.shelf, _kept(A, like.device, like.dtype))
    return constant(A.coefficients, like, "Multivector")


@constant_of_a_trace
def _kept(A: Any, device: Any, dtype: Any) -> str:
    """Put the coefficients as a tensor on the shelf, as a trace holds what it finds there."""
    array = A.coefficients
    content = hashlib.sha256(repr(array.tolist()).encode()).hexdigest()
    like = sys.modules["torch"].empty(0, device=device, dtype=dtype)
    label = f"constant {A.keys.label} {array.shape} {content} {device} {dtype}".replace(".", " ")
    return A.algebra.form.shelf.put(label, constant(array, like, "Multivector"))


@constant_of_a_trace
def place_of(algebra: Any, keys: str, name: str) -> tuple[int, int]:
    """Return (position, sign) of a blade by its name."""
    position_and_sign: tuple[int, int] = algebra.place(keys_labelled(keys), name)
    return position_and_sign


@constant_of_a_trace
def check_dual(algebra: Any) -> bool:
    """Refuse a degenerate metric."""
    return algebra.I_inv is not None
