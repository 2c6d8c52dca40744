"""A product by its table: one tensor, one matrix, a gather, or the compiled kernel."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property, for_each_slice
from clifford_rand.basis.coefficients import (
    INT,
    MOST,
    as_components,
    common_dtype,
    from_components,
    largest,
    narrowed,
    zero_coefficients,
)
from clifford_rand.basis.keys import Keys, check_size
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import SCALAR
from clifford_rand.basis.table import OrderedSums, ProductTable, product_table
from clifford_rand.compiler.decorator import has_compiler
from clifford_rand.compiler.loops import RowFunction, Rows, Table, read_only, table_rows
from clifford_rand.compiler.scalar import Trace, TracedScalar

TENSOR = 2**15  # entries of a (n_a, n_out, n_b) array that one product reads as a matrix: 256 KiB, second-level cache
LOAD = 2**26  # table rows × samples that gathers do in the time in which Numba and the kernel are loaded
LOAD_KERNEL = 2**23  # the same where Numba is there
CALL = 2**11  # rows in the time of a call
COMPLEX = 2**16  # numbers that are taken apart into real ones at a time: what stays in the cache
TRACE = 20_000  # nanoseconds of a table row, to write a function of rows
LARGEST_CODE = 2**10  # table rows, which Numba compiles in 4 s
GATHER_TERM, KERNEL_TERM = 7.0, 0.2  # nanoseconds of a table row and sample, by NumPy's gathers and by the kernel
THREADS_FROM = 2**21  # table rows × samples for each thread: 0.4 ms, a few times what a thread costs

_gathered = 0  # table rows × samples that NumPy's gathers did in place of the kernel


def kernel_pays(work: int) -> bool:
    """Tell whether the compiled kernel is loaded, or is to be: once NumPy's gathers, with ``work``, have cost its load.

    ``work`` counts table rows × samples, 7 ns each.
    """
    global _gathered
    if _KERNEL not in sys.modules:
        _gathered += work + CALL
        if _gathered < (LOAD_KERNEL if "numba" in sys.modules else LOAD):
            return False
    return has_compiler()


_KERNEL = "clifford_rand.plans.kernels"


class TablePlan:
    """A product by its table: NumPy for little work and for exact numbers, the compiled kernel for large batches."""

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        if rule not in SCALAR:
            check_size(a.size * b.size // 2, rule, "the product's table")
        self.table: ProductTable = product_table(metric, rule, a, b)
        self.keys = self.table.keys
        self.size_a, self.size_b = a.size, b.size
        self._tensors: dict[Any, NDArray[Any] | None] = {}
        self._coefs: dict[Any, NDArray[Any]] = {}
        self._fitting: dict[Any, bool] = {}
        self._work = 0.0  # nanoseconds of sums by NumPy and the kernel
        self._compiled = RowFunction(self._write, a.size, b.size)

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., n_out) of the products of (..., n_a) and (..., n_b).

        Shapes and dtypes alone decide what rounds: one tensor, a matrix, or sums in the order of the table. The ways to
        these sums, of which more are there the more was computed before, give the same bits: see `basis.table`.
        """
        if a.ndim == 1 and b.ndim == 1 and a.dtype is b.dtype:
            try:
                tensor = self._tensors[a.dtype]
            except KeyError:
                tensor = self._tensor(a.dtype)
            if tensor is not None and (a.dtype != INT or self._bound(a, b) <= MOST):
                return a.dot(tensor).reshape(-1, self.size_b).dot(b)
            if self._fits(a.dtype) and kernel_pays(len(self.table.left)):
                return self._once(a, b)
        dtype = self.result_type(a.dtype, b.dtype)
        if dtype.kind == "O":
            return self._by_rows(a, b)
        if dtype == INT and self._bound(a, b) > MOST:
            return narrowed(self._by_rows(a, b))
        a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
        batch = a.shape[:-1] if a.shape[:-1] == b.shape[:-1] else np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        n = math.prod(batch)
        if not len(self.table.left) or not n:
            return zero_coefficients(batch, self.keys.size, dtype)
        one_a, one_b = a.size == self.size_a, b.size == self.size_b
        if one_a and self._matrix_pays(self.size_b, n):
            return self._by_matrix(self.matrix(a.reshape(-1), "left"), b, batch)
        if one_b and self._matrix_pays(self.size_a, n):
            return self._by_matrix(self.matrix(b.reshape(-1), "right"), a, batch)
        parts_a, parts_b = _samples(a, batch, one_a), _samples(b, batch, one_b)
        sums = self._complex_sums if dtype.kind == "c" else self._sums
        return from_components(sums(parts_a, parts_b), batch)

    def _sums(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the components (n_out, N) of real samples (n_a, N) and (n_b, N), or one sample of either."""
        n, rows = max(a.shape[1], b.shape[1]), len(self.table.left)
        both = a.shape[1] == b.shape[1] and a.dtype.kind == "f"
        if both and rows <= LARGEST_CODE and self._code_is_due(a.dtype, n):
            products = self._compiled.all(a, b)
            assert products is not None  # there are no conditions
            return products
        if not kernel_pays(n * rows):
            return self._ordered(a, b)
        if n == 1:
            return self._once(a[:, 0], b[:, 0])[:, None]
        return self._by_kernel(_repeated(a, n), _repeated(b, n))

    def _code_is_due(self, dtype: np.dtype, samples: int) -> bool:
        """Tell whether the sums of so many samples, whose work is counted, are for machine code."""
        rows = len(self.table.left)
        work = samples * rows * (KERNEL_TERM if _KERNEL in sys.modules else GATHER_TERM)
        self._work += work
        return self._work >= TRACE * rows and self._compiled.loop(dtype).is_due(work)

    def _complex_sums(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return (A + iB)(C + iD) = AC - BD + i(AD + BC), four products of real samples."""
        n, rows = max(a.shape[1], b.shape[1]), len(self.table.left)
        out = np.empty((self.keys.size, n), dtype=a.dtype)
        step = max(1, COMPLEX // (self.size_a + self.size_b + self.keys.size))
        first, second = (0, 1, 0, 1), (0, 1, 1, 0)

        def work(samples: slice) -> None:
            for start in range(samples.start, samples.stop, step):
                part = slice(start, min(start + step, samples.stop))
                x, y = (_repeated(z, part.stop - start) if z.shape[1] == 1 else z[:, part] for z in (a, b))
                planes = self._sums(_planes(x, *first), _planes(y, *second)).reshape(len(out), 4, -1)
                np.subtract(planes[:, 0], planes[:, 1], out=out.real[:, part])
                np.add(planes[:, 2], planes[:, 3], out=out.imag[:, part])

        for_each_slice(work, n, least=1 + THREADS_FROM // (4 * rows))
        return out

    def _bound(self, a: NDArray[Any], b: NDArray[Any]) -> int:
        """Return what no component of the product of two arrays of integers exceeds."""
        return self._growth * largest(a) * largest(b)

    @cached_property
    def _growth(self) -> int:
        """The largest Σ |coef| of one component of the result."""
        sizes = np.abs(self.table.coef.astype(np.float64))
        return math.ceil(np.bincount(self.table.out, sizes).max(initial=0.0) * (1 + 1e-9))

    def result_type(self, a: np.dtype, b: np.dtype) -> np.dtype:
        """Return the dtype of the product: the operands' common one, and floating where the metric is."""
        kind = self.table.coef.dtype.kind
        dtype = np.dtype(object) if kind == "O" else common_dtype(a, b)
        return np.dtype(np.float64) if kind == "f" and dtype.kind == "i" else dtype

    def _tensor(self, dtype: np.dtype) -> NDArray[Any] | None:
        rows = self.table
        tensor = None
        small = 0 < self.size_a * self.size_b * self.keys.size <= TENSOR
        if small and dtype.kind != "O" and self.result_type(dtype, dtype) == dtype:
            tensor = np.zeros((self.size_a, self.keys.size, self.size_b), dtype=dtype)
            tensor[rows.left, rows.out, rows.right] = rows.coef
            tensor = tensor.reshape(self.size_a, -1)
        self._tensors[dtype] = tensor
        return tensor

    def _by_rows(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Walk the table in Python: fractions and symbols."""
        rows = self.table
        batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        out = np.zeros((self.keys.size, *batch), dtype=object)
        a, b = np.moveaxis(a, -1, 0).astype(object), np.moveaxis(b, -1, 0).astype(object)
        for left, right, target, coef in zip(
            rows.left.tolist(), rows.right.tolist(), rows.out.tolist(), rows.coef.tolist(), strict=True
        ):
            term = a[left] * b[right]
            if not batch and isinstance(term, int | float) and term == 0:
                continue
            if isinstance(coef, int) and coef == 1:
                out[target] = out[target] + term
            elif isinstance(coef, int) and coef == -1:
                out[target] = out[target] - term
            else:
                out[target] = out[target] + coef * term
        return np.moveaxis(out, 0, -1)

    def _matrix_pays(self, size: int, samples: int) -> bool:
        """Tell whether the matrix of one operand, mostly zeros in high dimensions, is as fast as the kernel.

        An entry costs a GEMM 0.1 ns a sample, a row of the table costs the kernel 0.2, and a call; measured for blades,
        vectors, bivectors and full multivectors, d = 5 … 10. NumPy's sums take longer, but are not taken for long: the
        choice must not depend on what was computed before.
        """
        return samples > 1 and size * self.keys.size <= 8 * len(self.table.left)

    def matrix(self, values: NDArray[Any], side: str) -> NDArray[Any]:
        """Return the matrix (n_out, n_in) of the product by one operand, ``values``, on that side."""
        rows = self.table
        operand, rest, size = (
            (rows.left, rows.right, self.size_b) if side == "left" else (rows.right, rows.left, self.size_a)
        )
        if side == "left" and values.dtype != INT:
            tensor = self._tensors[values.dtype] if values.dtype in self._tensors else self._tensor(values.dtype)
            if tensor is not None:
                return values.dot(tensor).reshape(-1, size)
        terms = values[operand] * rows.coef
        if terms.dtype == np.float64:
            flat = np.bincount(rows.out * np.int64(size) + rest, weights=terms, minlength=size * self.keys.size)
            return flat.reshape(-1, size)
        matrix = np.zeros((self.keys.size, size), dtype=terms.dtype)
        np.add.at(matrix, (rows.out, rest), terms)
        return matrix

    def _by_matrix(self, matrix: NDArray[Any], many: NDArray[Any], batch: tuple[int, ...]) -> NDArray[Any]:
        """Multiply by one multivector: its matrix, and one GEMM for the whole batch."""
        parts = as_components(many)
        return from_components(matrix.astype(many.dtype, copy=False) @ parts, batch)

    def _coef(self, dtype: np.dtype) -> NDArray[Any]:
        coef = self._coefs.get(dtype)
        return self._coefs.setdefault(dtype, self.table.coef.astype(dtype)) if coef is None else coef

    @cached_property
    def _ordered(self) -> OrderedSums:
        rows = self.table
        return OrderedSums((rows.indptr, rows.left, rows.right, rows.coef))

    def _fits(self, dtype: np.dtype) -> bool:
        """Tell whether products of two such arrays are of their dtype, and no integers that might grow too large."""
        fits = self._fitting.get(dtype)
        if fits is None:
            fits = self._fitting.setdefault(dtype, dtype.kind == "f" and self.result_type(dtype, dtype) == dtype)
        return fits

    def _once(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.plans.kernels import apply_table_once

        out = np.empty(self.keys.size, dtype=a.dtype)
        apply_table_once(self._rows(a.dtype), contiguous(a), contiguous(b), out)
        return out

    def _rows(self, dtype: np.dtype) -> Table:
        rows = self.table
        return rows.indptr, rows.left, rows.right, self._coef(dtype)

    def _write(self, trace: Trace, a: Rows, b: Rows) -> list[TracedScalar]:
        """Return the product as a function of rows."""
        rows = self.table
        return table_rows(trace, (rows.indptr, rows.left, rows.right, rows.coef), a, b)

    def _by_kernel(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.plans.kernels import apply_table

        n, table = a.shape[1], self._rows(a.dtype)
        a, b = contiguous(a), contiguous(b)
        out = np.empty((self.keys.size, n), dtype=a.dtype)

        def work(part: slice) -> None:
            apply_table(table, a, b, (part.start, part.stop), out)

        for_each_slice(work, n, least=max(1, THREADS_FROM // max(1, len(self.table.left))))
        return out


def contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in C order and read-only, as multivectors have them: of rest kinds there would be more codes."""
    return read_only(np.ascontiguousarray(array))


def _samples(array: NDArray[Any], batch: tuple[int, ...], one: bool) -> NDArray[Any]:
    """Return coefficients as components (K, N), (K, 1) of one sample that the whole batch shares."""
    if one:
        return array.reshape(-1, 1)
    return as_components(array if array.shape[:-1] == batch else np.broadcast_to(array, (*batch, array.shape[-1])))


def _planes(parts: NDArray[Any], *which: int) -> NDArray[Any]:
    """Return real (0) and imaginary (1) parts of samples (K, N) one after the rest."""
    return np.concatenate([parts.imag if k else parts.real for k in which], axis=1)


def _repeated(parts: NDArray[Any], n: int) -> NDArray[Any]:
    return parts if parts.shape[1] == n else np.repeat(parts, n, axis=1)


class ScalarPlan(TablePlan):
    """⟨A B⟩_0 or ⟨A ~B⟩_0 by the table, for one pair of floats as one dot product."""

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        super().__init__(metric, rule, a, b)
        self._direct = self.keys.size == 1 and len(self.table.left) > 0 and self.table.coef.dtype.kind in "fi"
        order = np.argsort(self.table.left, kind="stable")
        self._places = [
            _all_or(places[order], size) for places, size in ((self.table.left, a.size), (self.table.right, b.size))
        ]
        weights = self.table.coef[order]
        self._weights = None if self._direct and bool(np.all(weights == 1)) else weights
        self._weights_as: dict[np.dtype, NDArray[Any]] = {}

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., 1) of the products of (..., n_a) and (..., n_b)."""
        if self._direct and a.ndim == b.ndim == 1 and a.dtype is b.dtype and a.dtype.kind in "fc":
            left, right = self._places
            a, b = a if left is None else a[left], b if right is None else b[right]
            if self._weights is not None:
                weights = self._weights_as.get(a.dtype)
                if weights is None:
                    weights = self._weights_as.setdefault(a.dtype, self._weights.astype(a.dtype))
                a = a * weights
            product = np.empty(1, dtype=a.dtype)
            product[0] = a.dot(b)
            return product
        return super().__call__(a, b)


def _all_or(places: NDArray[Any], size: int) -> NDArray[Any] | None:
    """Return None for all places in their order."""
    return None if len(places) == size and np.array_equal(places, np.arange(size)) else places
