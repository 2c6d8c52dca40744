"""The metric of an algebra, the Gram matrix of its basis vectors; constants of its plans for arrays of any library."""

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.basis.coefficients import (
    INT,
    MOST,
    Tensor,
    as_coefficients,
    constant_of_a_trace,
    is_jax,
    is_torch,
    namespace,
    narrowed,
    read_only,
)
from clifford_rand.basis.keys import check_size
from clifford_rand.basis.rules import WORD, bit_count

_EXACT_UP_TO = 16  # dimensions of an exact determinant: d⁴ operations of Python integers, 50 ms here
_EPS = float(np.finfo(np.float64).eps)


class Metric:
    """Gram matrix G of the basis vectors, with e_i·e_j = G_ij.

    ``diagonal`` is the diagonal of a diagonal metric (int8 where every entry is 1, -1 or 0) and None otherwise. Equal
    matrices make equal metrics. The plans of the products live here, one for each pair of key sets that met.
    """

    def __init__(self, diagonal: NDArray[Any] | None, gram: NDArray[Any] | None) -> None:
        self.diagonal = None if diagonal is None else read_only(diagonal)
        self._gram = None if gram is None else read_only(gram)
        self.d = len(diagonal) if diagonal is not None else len(gram)  # type: ignore[arg-type]
        self.plans: dict[Any, Any] = {}
        self.shelf = Shelf()
        entries = diagonal if diagonal is not None else self.gram
        self.is_unit: bool = diagonal is not None and diagonal.dtype == np.int8  # diagonal, entries 1, -1 and 0
        self.is_exact: bool = entries.dtype.kind in "iO"  # integers, fractions or symbols
        self.is_numeric: bool = entries.dtype != object  # numbers that NumPy computes with
        if diagonal is not None and diagonal.dtype == np.int8:
            self.negative = _mask(diagonal == -1)
            self.null = _mask(diagonal == 0)
        self._identity = _identity(diagonal if diagonal is not None else self.gram)
        self._hash = hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and (self is other or self._identity == other._identity)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return Metric, (self.diagonal, self._gram)

    @cached_property
    def gram(self) -> NDArray[Any]:
        """The d × d Gram matrix."""
        if self._gram is not None:
            return self._gram
        diagonal = self.diagonal
        assert diagonal is not None
        check_size(self.d**2, "Algebra", "the metric as a matrix")
        return read_only(np.diag(diagonal.astype(np.int64) if diagonal.dtype == np.int8 else diagonal))

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Numbers (p, q, r) of positive, negative and null directions (Sylvester's law of inertia)."""
        if self.is_unit:
            assert self.diagonal is not None
            return tuple(int(np.count_nonzero(self.diagonal == sign)) for sign in (1, -1, 0))  # type: ignore[return-value]
        try:
            gram = (self.gram if self.diagonal is None else self.diagonal).astype(np.float64)
        except (TypeError, ValueError):
            raise fail(
                "metric", "Algebra", "numeric to have a signature", describe("symbols"), "Substitute numbers first."
            ) from None
        values = np.linalg.eigvalsh(gram) if self.diagonal is None else gram
        limit = self.d * _EPS * max(np.abs(values).max(initial=0.0), 0.0)
        positive, negative = int(np.count_nonzero(values > limit)), int(np.count_nonzero(values < -limit))
        return positive, negative, self.d - positive - negative

    @cached_property
    def determinant(self) -> Any:
        """The determinant of G: exact where the entries are, for integers that are not diagonal up to d = 16."""
        if self.diagonal is not None:
            product: Any = 1
            for value in self.diagonal.tolist():
                product = product * value
            return product
        if self.is_exact and (self.d <= _EXACT_UP_TO or not self.is_numeric):
            return _exact_determinant(self.gram)
        return float(np.linalg.det(self.gram.astype(np.float64)))

    @cached_property
    def is_degenerate(self) -> bool:
        """Whether det G = 0 (to rounding for floats)."""
        if self.is_exact and (self.diagonal is not None or self.d <= _EXACT_UP_TO or not self.is_numeric):
            return bool(self.determinant == 0)
        return self.counts[2] > 0

    def weight(self, shared: NDArray[Any]) -> NDArray[Any]:
        """Return the product of the diagonal over the bits of each mask (diagonal metrics only)."""
        diagonal = self.diagonal
        assert diagonal is not None
        if self.is_unit:
            weight = np.where(bit_count(shared & self.negative) % 2 == 1, -1, 1).astype(np.int8)
            weight[np.asarray((shared & self.null) != 0, dtype=bool)] = 0
            return weight
        exact = diagonal.dtype == INT and math.prod(max(1, abs(value)) for value in diagonal.tolist()) > MOST
        factors = diagonal.astype(object) if exact else diagonal
        result = np.ones(shared.shape, dtype=factors.dtype)
        for i in range(self.d):
            held = np.asarray((shared >> i & 1) != 0, dtype=bool)
            result[held] = result[held] * factors[i]
        return narrowed(result) if exact else result

    @cached_property
    def congruence(self) -> tuple["Metric", NDArray[np.float64]]:
        """A diagonal metric D of entries 1, -1, 0 and T with G = T D Tᵀ: e_i = Σ_j T_ij f_j (numeric metrics)."""
        gram = self.gram.astype(np.float64)
        change = np.zeros((self.d, self.d))
        signs = np.zeros(self.d, dtype=np.int8)
        limit = self.d * _EPS * np.abs(gram).max(initial=0.0)
        for block in _components(gram):  # blocks keep the change of basis as sparse as the metric
            values, vectors = np.linalg.eigh(gram[np.ix_(block, block)])
            for value, vector, place in zip(values, vectors.T, block, strict=True):
                null = abs(value) <= limit
                signs[place] = 0 if null else np.sign(value)
                change[block, place] = vector * (1.0 if null else np.sqrt(abs(value)))
        return Metric(signs, None), change


def _mask(flags: NDArray[np.bool_]) -> int:
    return sum(1 << i for i in np.flatnonzero(flags).tolist())


def _identity(array: NDArray[Any]) -> Any:
    """Return what is equal for equal matrices, of whatever dtype."""
    if array.dtype == object or array.size < WORD or np.abs(array.astype(np.float64)).max() >= 2.0**53:
        return array.shape, tuple(array.ravel().tolist())
    return array.shape, (array.astype(np.float64) + 0.0).tobytes()  # + 0.0: -0.0 is 0.0


def _components(gram: NDArray[np.float64]) -> list[list[int]]:
    """Return the index blocks between which every entry is zero."""
    left = set(range(len(gram)))
    blocks = []
    while left:
        stack, block = [min(left)], set()
        while stack:
            i = stack.pop()
            if i not in block:
                block.add(i)
                stack.extend(int(j) for j in np.flatnonzero(gram[i]) if j not in block)
        left -= block
        blocks.append(sorted(block))
    return blocks


def _exact_determinant(gram: NDArray[Any]) -> Any:
    """Return the determinant without a division (Bird 2011), so that integers and symbols stay what they are."""
    matrix = gram.astype(object)
    d = len(matrix)
    power = matrix
    for _ in range(d - 1):
        upper = np.triu(power, 1)
        tail = np.array([-sum(power[j, j] for j in range(i + 1, d)) for i in range(d)], dtype=object)
        power = (upper + np.diag(tail)).dot(matrix)
    value = power[0, 0] if d % 2 == 1 else -power[0, 0]
    return value.expand() if hasattr(value, "expand") else value


def metric_of_signature(signature: Sequence[Any]) -> Metric:
    """Return the diagonal metric with entries 1, -1 and 0."""
    values = as_array(signature, "signature", "Algebra")
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.isin(values, (-1, 0, 1)).all():
        raise fail("signature", "Algebra", "a sequence of 1, -1 and 0", signature, "Use metric= for other numbers.")
    return Metric(values.astype(np.int8), None)


def metric_of_gram(metric: Any) -> Metric:
    """Return the metric of a symmetric Gram matrix of numbers, fractions or SymPy expressions."""
    rule, hint = "real numbers or symbols", "Give e_i·e_j as a d × d array, or squares 1, -1 and 0 as signature=[…]."
    gram = as_coefficients(metric, "metric", "Algebra", own=True, rule=rule)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not gram.size:
        raise fail("metric", "Algebra", "a square matrix", describe(f"shape {gram.shape}"), hint)
    if gram.dtype.kind == "c":
        raise fail("metric", "Algebra", rule, describe(f"dtype {gram.dtype}"), hint)
    if gram.dtype.kind == "f":
        gram = gram.astype(np.float64)
        if not np.isfinite(gram).all():
            raise fail("metric", "Algebra", "finite", describe("NaN or infinite entries"), hint)
        differs = np.abs(gram - gram.T).max() > 8 * _EPS * np.abs(gram).max()
    else:
        differs = any(gram[i, j] != gram[j, i] for i in range(len(gram)) for j in range(i))
    if differs:
        raise fail("metric", "Algebra", "symmetric", describe("G with G ≠ Gᵀ"), "Use (G + G.T)/2.")
    gram = (gram + gram.T) / 2 if gram.dtype.kind == "f" else gram
    if all(gram[i, j] == 0 for i in range(len(gram)) for j in range(i)):
        diagonal = np.diag(gram).copy()
        is_unit = all(value in (-1, 0, 1) for value in diagonal.tolist())
        return Metric(diagonal.astype(np.int8) if is_unit else diagonal, None)
    return Metric(None, gram)


class Shelf:
    """Keys, plans or constants as attributes by their labels: where a trace of `torch.compile` finds them."""

    def put(self, label: str, thing: Any) -> str:
        """Keep a thing, and return its label."""
        setattr(self, label, thing)
        return label


class Constants:
    """NumPy arrays of a plan as arrays of other libraries, each made once for a library, device and dtype.

    Real arrays take the dtype of the tensor they meet, complex ones the complex dtype of its precision; arrays of int64
    are places and stay so.
    """

    def __init__(self, **arrays: NDArray[Any]) -> None:
        self.arrays = arrays
        self._made: dict[Any, Any] = {}
        self._shelf = Shelf()

    def of(self, name: str, like: Tensor) -> Tensor:
        """Return one of the arrays where the tensor ``like`` is."""
        if is_torch(like):
            return getattr(self._shelf, self._of_torch(name, like.device, like.dtype))
        xp = namespace(like)
        if is_jax(like):  # its functions take NumPy's arrays, which no trace can hold on to
            return self._once((name, like.dtype), lambda: self._as(name, np.dtype(like.dtype)))
        device = array_api_compat.device(like)
        key = (name, xp.__name__, str(device), str(like.dtype))
        return self._once(key, lambda: self._asarray(xp, name, device, like.dtype))

    @constant_of_a_trace
    def _of_torch(self, name: str, device: Any, dtype: Any) -> str:
        label = f"{name} {device} {dtype}".replace(".", " ")  # a dot is of attributes
        if not hasattr(self._shelf, label):
            import array_api_compat.torch as functions

            torch = sys.modules["torch"]
            with torch.inference_mode(False), torch.no_grad():
                self._shelf.put(label, self._asarray(functions, name, device, dtype))
        return label

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        constant = self._made.get(key)
        return self._made.setdefault(key, make()) if constant is None else constant

    def _as(self, name: str, dtype: np.dtype) -> NDArray[Any]:
        array = self.arrays[name]
        kind = array.dtype.kind
        if array.dtype == np.int64:
            return array
        return array.astype(np.result_type(dtype, np.complex64) if kind == "c" else dtype)

    def _asarray(self, xp: Any, name: str, device: Any, dtype: Any) -> Tensor:
        array = self.arrays[name].copy()  # a writable one: PyTorch warns of others
        if array.dtype == np.int64:
            return xp.asarray(array, device=device)
        if array.dtype.kind == "c":
            dtype = xp.result_type(dtype, xp.complex64)
        elif array.dtype.kind != "f":
            array = array.astype(np.float64)
        return xp.asarray(array, dtype=dtype, device=device)
