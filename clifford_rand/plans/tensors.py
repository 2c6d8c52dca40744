"""Products of tensors by matrices, gathers, or another basis; parts, other keys and linear maps of blades by gathers.

Each is written with functions of the array API and without a write into an array, so that it differentiates, compiles
and runs where its operands are.
"""

import hashlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice
from clifford_rand.basis.coefficients import (
    Tensor,
    beside,
    constant,
    constant_of_a_trace,
    is_compiling,
    is_torch,
    namespace,
)
from clifford_rand.basis.keys import Keys, check_size, keys_labelled, keys_of_grades, union
from clifford_rand.basis.metric import Constants, Metric
from clifford_rand.basis.rules import BY_TRANSFORM, METRIC_FREE, RULES, SCALAR
from clifford_rand.basis.table import product_table
from clifford_rand.plans.cost_model import RECURSION, SMALL_TRANSFORM, possible_grades, transform_pays
from clifford_rand.plans.linear import LinearPlan, linear_plan, part_plan
from clifford_rand.plans.representation import (
    from_matrices,
    hadamard,
    move_components,
    representation_of,
    to_matrices,
    unit_basis,
)

DENSE = 2**13  # entries of the table as a matrix (n_a n_b, n_out), most of them zeros, that beat a gather


def tensor_plan(metric: Metric, rule: str, a: Keys, b: Keys) -> Any:
    """Return the plan of one product of tensors, made at its first use and kept with the metric."""
    return getattr(metric.shelf, _shelved(metric, "product", rule, a.label, b.label))


def _choose(metric: Metric, rule: str, a: Keys, b: Keys) -> Any:
    check_choice(rule, "rule", "a product", tuple(RULES))
    pairs, d = a.size * b.size, metric.d
    if metric.diagonal is None and rule not in METRIC_FREE:
        if pairs > RECURSION:
            return MovedProduct(metric, rule, a, b)
    elif rule in BY_TRANSFORM and pairs > SMALL_TRANSFORM and d <= 22 and transform_pays(metric, pairs):
        return MatrixProduct(metric, rule, a, b)
    if rule not in SCALAR:
        check_size(pairs // 2, rule, "the product's table")
    return TableProduct(metric, rule, a, b)


class TableProduct:
    """A product by its table: one matrix where it is small, else gathers of both operands.

    Components of the result that have equally many terms stand together, so that each sum is one over a last axis.
    """

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        table = product_table(metric, rule, a, b)
        self.keys, self.sizes = table.keys, (a.size, b.size)
        self.dense = a.size * b.size * table.keys.size <= DENSE
        coef = table.coef.astype(np.float64)
        if self.dense:
            matrix = np.zeros((a.size * b.size, table.keys.size))
            matrix[table.left.astype(np.int64) * b.size + table.right, table.out] = coef
            self.constants = Constants(matrix=matrix)
            return
        length = np.diff(table.indptr)
        order = np.argsort(length, kind="stable")
        rows = np.concatenate([np.arange(table.indptr[k], table.indptr[k + 1]) for k in order.tolist()])
        lengths, counts = np.unique(length, return_counts=True)
        self.groups = list(zip(lengths.tolist(), counts.tolist(), strict=True))
        self.constants = Constants(
            left=table.left[rows].astype(np.int64),
            right=table.right[rows].astype(np.int64),
            coef=coef[rows],
            order=np.argsort(order),
        )

    def apply(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the coefficients (..., n_out) of the products of (..., n_a) and (..., n_b), of one dtype."""
        xp, of = namespace(a), self.constants.of
        if self.dense:
            outer = a[..., :, None] * b[..., None, :]
            return xp.reshape(outer, (*outer.shape[:-2], self.sizes[0] * self.sizes[1])) @ of("matrix", a)
        terms = xp.take(a, of("left", a), axis=-1) * xp.take(b, of("right", a), axis=-1) * of("coef", a)
        parts, start = [], 0
        for length, count in self.groups:
            part = terms[..., start : start + length * count]
            parts.append(xp.sum(xp.reshape(part, (*terms.shape[:-1], count, length)), axis=-1))
            start += length * count
        return parts[0] if len(parts) == 1 else xp.take(xp.concat(parts, axis=-1), of("order", a), axis=-1)


class MatrixProduct:
    """The geometric product, commutator or anticommutator of many blades: `plans.representation` without a write.

    Blades lie in the order of their masks in a basis with the null vectors first, of squares 0, 1 and -1.
    """

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        d = metric.d
        assert metric.diagonal is not None
        signature, masks, factor = unit_basis(metric.diagonal)
        self.rule, self.null = rule, metric.counts[2]
        self.keys = keys_of_grades(d, possible_grades(rule, d, a, b))
        self.tables = representation_of(signature[self.null :])
        arrays: dict[str, NDArray[Any]] = {
            **self.tables.arrays,
            "hadamard": hadamard(self.tables.m),
            "involution": 1.0 - 2.0 * (np.bitwise_count(np.arange(1 << self.tables.d)) % 2),
        }
        for name, keys in (("a", a), ("b", b)):
            place = np.full(1 << d, keys.size, dtype=np.int64)  # the one behind the last is zero
            place[keys.masks] = np.arange(keys.size)
            arrays |= {f"spread_{name}": place[masks], f"scale_{name}": factor}
        position = np.argsort(masks)[self.keys.masks]
        arrays |= {"kept": position, "scale_kept": 1 / factor[position]}
        self.constants = Constants(**arrays)

    def apply(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the coefficients (..., n_out) of the products of (..., n_a) and (..., n_b), of one dtype."""
        xp, of = namespace(a), self.constants.of
        A, B = self._parts(xp, a, "a"), self._parts(xp, b, "b")
        product = self._product(xp, A, B)
        if self.rule != "gp":
            other = self._product(xp, B, A)
            product = (product - other) / 2 if self.rule == "commutator" else (product + other) / 2
        if xp.isdtype(a.dtype, "real floating"):
            product = xp.real(product)
        return xp.take(product, of("kept", a), axis=-1) * of("scale_kept", a)

    def _parts(self, xp: Any, values: Tensor, name: str) -> list[tuple[Tensor, Tensor]]:
        """Return the matrices of A_u and of its involution for every u of Σ_u e_u A_u, e_u of null vectors."""
        of = self.constants.of
        padded = xp.concat([values, xp.zeros_like(values[..., :1])], axis=-1)
        dense = xp.take(padded, of("spread_" + name, values), axis=-1) * of("scale_" + name, values)
        parts = xp.reshape(dense, (*values.shape[:-1], 1 << self.tables.d, 1 << self.null))
        how = self.tables, xp, of, self._transform
        matrices = []
        for u in range(1 << self.null):
            matrix = to_matrices(parts[..., u], *how)
            turned = to_matrices(parts[..., u] * of("involution", values), *how) if self.null else matrix
            matrices.append((matrix, turned))
        return matrices

    def _transform(self, W: Tensor) -> Tensor:
        return W @ self.constants.of("hadamard", W)

    def _product(self, xp: Any, A: Any, B: Any) -> Tensor:
        parts = []
        for target in range(1 << self.null):
            total = None
            for u in range(target + 1):
                v = target ^ u
                if u & ~target:
                    continue
                term = A[u][v.bit_count() % 2] @ B[v][0]  # e_u A_u e_v B_v = ± e_u e_v (A_u or its involution) B_v
                if sum((u >> (i + 1)).bit_count() for i in range(self.null) if v >> i & 1) % 2:
                    term = -term
                total = term if total is None else total + term
            parts.append(from_matrices(total, self.tables, xp, self.constants.of, self._transform))
        if not self.null:
            return parts[0]
        together = xp.stack(parts, axis=-1)
        return xp.reshape(together, (*together.shape[:-2], together.shape[-2] * together.shape[-1]))


class MovedProduct:
    """A product in a metric that is not diagonal, in an orthogonal basis and back: a matrix of minors for each step."""

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        inner, change = metric.congruence
        self._inner = tensor_plan(inner, rule, a.filled, b.filled)
        self.keys = self._inner.keys
        check_size(max(a.filled.size, b.filled.size, self.keys.size) ** 2, rule, "the matrix of the change of basis")
        there, back = change.T, np.asarray(np.linalg.inv(change.T), dtype=np.float64)
        self.constants = Constants(
            a=_matrix(a, there, a.filled), b=_matrix(b, there, b.filled), back=_matrix(self.keys, back, self.keys)
        )

    def apply(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the coefficients (..., n_out) of the products of (..., n_a) and (..., n_b), of one dtype."""
        of = self.constants.of
        product = self._inner.apply(a @ of("a", a), b @ of("b", a))
        return product @ of("back", a)


def _matrix(source: Keys, F: NDArray[np.float64], target: Keys) -> NDArray[np.float64]:
    """Return the matrix (n_source, n_target) of the images of the blades under a linear map of the vectors."""
    moved: NDArray[np.float64] = move_components(np.eye(source.size), source.masks, F, target.masks)
    return moved


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


def map_of(metric: Metric, name: str, keys: Keys) -> Any:
    """Return the plan of an involution, complement or dual by its name."""
    return getattr(metric.shelf, _shelved(metric, "map", name, keys.label))


def part_of(metric: Metric, grades: tuple[int, ...], keys: Keys) -> Any:
    """Return the plan of the part of some grades, which ascend."""
    return getattr(metric.shelf, _shelved(metric, "part", grades, keys.label))


def placed_on(metric: Metric, source: Keys, target: Keys) -> Any:
    """Return the plan that puts components with keys ``source`` on the keys ``target``, zeros where there are none."""
    return getattr(metric.shelf, _shelved(metric, "placed", source.label, target.label))


def keys_of(metric: Metric, grades: tuple[int, ...]) -> Any:
    """Return all blades of some grades, which ascend."""
    return getattr(metric.shelf, _shelved(metric, "keys", grades))


def union_of(metric: Metric, a: Keys, b: Keys) -> Any:
    """Return the blades that are in either set."""
    return a if a is b else getattr(metric.shelf, _shelved(metric, "union", a.label, b.label))


# ---- called when `torch.compile` traces, not traced themselves


@constant_of_a_trace
def _shelved(metric: Metric, kind: str, *arguments: Any) -> str:
    """Return the label of what is on the shelf of a metric, made at its first use."""
    label = f"{kind} {' '.join(map(str, arguments))}"
    return label if hasattr(metric.shelf, label) else metric.shelf.put(label, _MAKERS[kind](metric, *arguments))


def _of_plan(plan: LinearPlan, keys: Keys) -> Moves:
    places: Any = plan.places
    if isinstance(places, slice) and (places.step or 1) < 0:  # which the array API has not
        places = np.arange(keys.size)[places]
    return Moves(plan.keys, places, plan.factors)


def _placed(source: Keys, target: Keys) -> Moves:
    check_size(target.size, "Multivector")
    return Moves(target, np.array([source.find(int(mask)) for mask in target.masks], dtype=np.int64))


_MAKERS: dict[str, Callable[..., Any]] = {  # of arguments that `torch.compile` takes for constants: keys by labels
    "product": lambda metric, rule, a, b: _choose(metric, rule, keys_labelled(a), keys_labelled(b)),
    "map": lambda metric, name, a: _of_plan(linear_plan(metric, name, keys_labelled(a)), keys_labelled(a)),
    "part": lambda metric, grades, a: _of_plan(part_plan(metric, grades, keys_labelled(a)), keys_labelled(a)),
    "placed": lambda metric, a, b: _placed(keys_labelled(a), keys_labelled(b)),
    "keys": lambda metric, grades: keys_of_grades(metric.d, grades),
    "union": lambda metric, a, b: union(keys_labelled(a), keys_labelled(b)),
}


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
