"""Multivectors with traced coefficients: what `Multivector` computes from values is traced along one example."""

# mypy: disable-error-code="override,assignment,misc"

import functools
import operator
from typing import Any

import numpy as np

from clifford_rand.basis.keys import Keys, keys_of_grades, union
from clifford_rand.compiler.scalar import TracedScalar, TraceError
from clifford_rand.fusion.analysis import EXACT, SIMPLE
from clifford_rand.fusion.multivector import TracedMultivector, cached_table
from clifford_rand.fusion.traced_array import TracedArray, decided, objects_of, trace_of, traced
from clifford_rand.multivector.multivector import Multivector


class ExampleMultivector(Multivector):
    """A multivector whose coefficients are traced: the operations of `Multivector` that models use."""

    __slots__ = ()

    def new(self, keys: Keys, coefficients: Any) -> "ExampleMultivector":
        """Return a multivector of the same algebra."""
        return example(self.algebra, keys, coefficients)

    def coerce(self, other: Any, *, keep: bool = True) -> Any:
        """Return a multivector, a number or an array of numbers as a traced multivector; None if it is neither."""
        if isinstance(other, ExampleMultivector):
            return other
        if isinstance(other, Multivector):
            return example(other.algebra, other.keys, other.coefficients)
        if isinstance(other, int | float | np.ndarray | np.generic | TracedScalar):
            return self.new(keys_of_grades(self.algebra.d, (0,)), traced(other)[..., None])
        return None

    def astype(self, dtype: Any) -> Any:
        """Return itself: the code has one precision."""
        return self

    def sparse(self) -> Any:
        """Return itself: what is zero is so in the example only."""
        return self

    def on_keys(self, keys: Keys) -> Any:
        """Return the components on some keys, those that are not stored 0."""
        if keys is self.keys:
            return self
        array = np.full((*self.shape, keys.size), 0.0, dtype=object)
        held = [self.keys.find(int(mask)) for mask in keys.masks]
        for place, k in enumerate(held):
            if k >= 0:
                array[..., place] = self.coefficients.view(np.ndarray)[..., k]
        return self.new(keys, array)

    select_keys = on_keys

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, str):
            index = tuple(decided(x) for x in (index if isinstance(index, tuple) else (index,)))
            return self.new(self.keys, self.coefficients[(*index, slice(None))])
        mask, sign = self.algebra.parse_blade(index)
        place = self.keys.find(mask)
        return traced(np.zeros(self.shape)) if place < 0 else self.coefficients[..., place] * sign

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Multivector):
            return self.multiply("gp", self.coerce(other))
        return self.new(self.keys, self.coefficients * traced(other)[..., None])

    def __rmul__(self, other: Any) -> Any:
        return self.coerce(other).multiply("gp", self) if isinstance(other, Multivector) else self * other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Multivector):
            return self * self.coerce(other).inv()
        return self.new(self.keys, self.coefficients / traced(other)[..., None])

    def multiply(self, rule: str, other: Any) -> Any:
        """Return one product, by the name of its rule."""
        B = self.coerce(other)
        table = cached_table(self.algebra.form, rule, self.keys, B.keys)
        shape = np.broadcast_shapes(self.shape, B.shape)
        a, b = (
            [*np.moveaxis(np.broadcast_to(objects_of(A.coefficients), (*shape, A.keys.size)), -1, 0)] for A in (self, B)
        )
        sums: list[Any] = [0.0] * table.keys.size
        rows = zip(table.left.tolist(), table.right.tolist(), table.out.tolist(), table.coef.tolist(), strict=True)
        for left, right, out, coef in rows:
            sums[out] = sums[out] + a[left] * b[right] * coef
        array = [np.broadcast_to(objects_of(total), shape) for total in sums]
        return self.new(table.keys, np.stack(array, axis=-1) if array else np.zeros((*shape, 0), dtype=object))

    def sandwich(self, X: Any) -> Any:
        """Return R X R⁻¹; that R is a versor is a guard."""
        X, (n, rest) = self.coerce(X), self._square()
        if not self._is_versor(n, rest, EXACT):
            raise TraceError("it has R >> X for an R that is not a versor")
        product = self * X * ~self
        return product.on_keys(X.keys) / n

    def _square(self) -> tuple[Any, Any]:
        """Return the scalar of A ~A, and its other components."""
        square = self * ~self
        return square["1"], square.coefficients[..., square.keys.grade_of > 0]

    def _is_versor(self, n: Any, rest: Any, limit: float) -> Any:
        if len({k % 2 for k in self.grades}) != 1 or (self.algebra.d > SIMPLE and max(self.grades) > 2):
            raise TraceError("it asks whether a multivector of many dimensions, or of mixed grades, is a versor")
        return ((abs(rest) <= limit * abs(n)[..., None]) & (abs(n) > 0)[..., None]).all()

    def is_versor(self, *, rtol: float = 1e-9) -> Any:
        """Tell whether R ~R is a number, which for even and odd R is enough up to d = 5."""
        n, rest = self._square()
        return self._is_versor(n, rest, rtol) if rest.size else n != 0

    def vector_matrix(self) -> Any:
        """Return the matrix of x ↦ R x R⁻¹."""
        d = self.algebra.d
        images = self.new(self.keys, self.coefficients[..., None, :]).sandwich(self.algebra.vector(np.eye(d)))
        return np.swapaxes(images.on_keys(keys_of_grades(d, (1,))).coefficients, -1, -2)

    def _by_terms(self, name: str, *arguments: Any) -> Any:
        """Return a function of one traced multivector, see `fusion.analysis`."""
        if self.ndim:
            parts = [self[index]._by_terms(name, *arguments) for index in np.ndindex(self.shape)]
            keys = functools.reduce(union, (part.keys for part in parts))
            rows = np.stack([part.on_keys(keys).coefficients for part in parts])
            return self.new(keys, rows.reshape(*self.shape, keys.size))
        trace = trace_of(self.coefficients)
        if trace is None:
            raise TraceError(f"it calls .{name} of a constant")
        scalars = [trace.scalar(x) for x in self.coefficients.view(np.ndarray).tolist()]
        terms = {int(mask): x.ref for mask, x in zip(self.keys.masks, scalars, strict=True)}
        shape_from = functools.reduce(operator.or_, (x.shape_from for x in scalars), 0)
        result = getattr(TracedMultivector(trace, self.algebra, terms, shape_from), name)(*arguments)
        if isinstance(result, TracedScalar):
            return traced(result)
        return self.new(result.keys, traced([*result.scalars()]))

    def norm_squared(self) -> Any:
        """Return ⟨A ~A⟩_0."""
        return self.multiply("inner", self).coefficients[..., 0]

    def norm(self) -> Any:
        """Return √|⟨A ~A⟩_0|."""
        return np.sqrt(abs(self.norm_squared()))

    def normalized(self, *, rtol: Any = None) -> Any:
        """Return A (A ~A)^{-1/2} on the keys of A."""
        return self._by_terms("normalized").on_keys(self.keys)

    def inv(self) -> Any:
        """Return A⁻¹."""
        return self._by_terms("inv")

    def exp(self) -> Any:
        """Return the exponential of a bivector, on all even grades."""
        even = keys_of_grades(self.algebra.d, tuple(range(0, self.algebra.d + 1, 2)))
        return self._by_terms("exp").on_keys(even)

    def log(self) -> Any:
        """Return the logarithm of a rotor, a bivector."""
        return self._by_terms("log").on_keys(keys_of_grades(self.algebra.d, (2,)))

    def sqrt(self) -> Any:
        """Return the square root of a rotor."""
        return self._by_terms("sqrt")


def example(algebra: Any, keys: Keys, coefficients: Any) -> ExampleMultivector:
    """Return a multivector of an algebra with traced coefficients."""
    A = object.__new__(ExampleMultivector)
    A.algebra, A.keys, A.coefficients = algebra, keys, traced(coefficients)
    return A


TracedArray.multivector = staticmethod(example)  # type: ignore[attr-defined]
