"""R X R⁻¹ for versors R of few dimensions: one tensor for one R, its matrix for many X, one pass over pairs of both.

R X R⁻¹ = R X ~R / ⟨R ~R⟩_0 where R ~R is a number, so the map is a quadratic form in R. For d ≤ 5 an even or odd R with
R ~R a number takes vectors to vectors, see `geometry.versors.inspect_versor`, and so every grade to itself.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property
from clifford_rand.basis.coefficients import ROUNDING
from clifford_rand.basis.keys import Keys
from clifford_rand.basis.layout import coefficients, components
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import reverse_is_negative
from clifford_rand.basis.table import ProductTable, product_table
from clifford_rand.compiler.loops import RowFunction, Rows, Table, table_rows, total
from clifford_rand.compiler.scalar import Trace, TracedScalar
from clifford_rand.plans.cost_model import keep

ALWAYS = 5  # dimensions up to which R ~R a number is all that R, even or odd, needs to be a versor
LARGEST = 2**15  # entries of the tensor of the quadratic form


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
            return coefficients(matrix @ components(np.broadcast_to(x, (*batch, self.size[1]))), batch)
        batch = r.shape[:-1] if r.shape[:-1] == x.shape[:-1] else np.broadcast_shapes(r.shape[:-1], x.shape[:-1])
        n = math.prod(batch)
        if not n:
            return None
        R = components(r if r.shape[:-1] == batch else np.broadcast_to(r, (*batch, self.size[0])))
        X = components(x if x.shape[:-1] == batch else np.broadcast_to(x, (*batch, self.size[1])))
        out = self._pairs.all(R, X)
        return None if out is None else coefficients(out, batch)

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


_EPS = {char: float(np.finfo(char).eps) for char in "fd"}


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
    key = ("sandwich", r, x)
    if key in metric.plans:
        plan: SandwichPlan | None = metric.plans[key]
        return plan
    parity = {k % 2 for k in r.grades}
    served = metric.is_unit and metric.d <= ALWAYS and len(parity) == 1 and r.size and x.complete and x.size
    plan = SandwichPlan(metric, r, x) if served else None
    if plan is not None and not plan.invertible:
        plan = None
    return keep(metric, key, plan)
