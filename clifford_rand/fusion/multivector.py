"""The multivector that a fused function is traced with: keys, and a traced scalar for each of them."""

import functools
import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand.basis.keys import Keys, keys_of_masks
from clifford_rand.basis.rules import is_odd_swap, reverse_is_negative
from clifford_rand.basis.table import product_table
from clifford_rand.compiler.scalar import COMPLEX, Trace, TracedScalar, TraceError, apply_ufunc, is_number
from clifford_rand.fusion import analysis, geometry
from clifford_rand.fusion.unsupported import REASONS
from clifford_rand.multivector.components import called

if TYPE_CHECKING:
    from clifford_rand.algebra import Algebra

_table = lru_cache(maxsize=512)(product_table)


class TracedMultivector:
    """Products, involutions, duals and functions of a multivector, as `Multivector` has them.

    Blades whose coefficient is zero for all arguments are left out at once.
    """

    __slots__ = ("algebra", "keys", "refs", "shape_from", "trace")

    def __init__(self, trace: Trace, algebra: "Algebra", terms: dict[int, int], shape_from: int) -> None:
        held = {mask: ref for mask, ref in terms.items() if ref}
        self.keys: Keys = keys_of_masks(algebra.d, tuple(held))
        self.refs = [held[int(mask)] for mask in self.keys.masks]
        self.trace, self.algebra, self.shape_from = trace, algebra, shape_from

    # ---- what it is made of

    @property
    def terms(self) -> dict[int, int]:
        """The node of each blade's coefficient, by mask."""
        return dict(zip(map(int, self.keys.masks), self.refs, strict=True))

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades that it may have."""
        return self.keys.grades

    def of(self, terms: dict[int, int], shape_from: int | None = None) -> "TracedMultivector":
        """Return one of the same algebra and, if nothing else is said, of the same arguments."""
        return TracedMultivector(self.trace, self.algebra, terms, self.shape_from if shape_from is None else shape_from)

    def scalar(self, ref: int) -> TracedScalar:
        """Return a traced scalar of the same arguments."""
        return TracedScalar(self.trace, ref, self.shape_from)

    def scalars(self) -> list[TracedScalar]:
        """Return the coefficients."""
        return [self.scalar(ref) for ref in self.refs]

    def lift(self, other: Any) -> "TracedMultivector | None":
        """Return a multivector, a number or a traced scalar as a traced multivector; None if it is neither."""
        if isinstance(other, TracedMultivector):
            if other.algebra is not self.algebra and other.algebra != self.algebra:
                raise TraceError(f"it mixes multivectors of {self.algebra!r} and {other.algebra!r}")
            return other
        if is_number(other):
            same = self.trace.scalar(other)
            return self.of({0: same.ref}, same.shape_from)
        if hasattr(other, "keys") and hasattr(other, "coefficients"):
            return lift_constant(self.trace, self.algebra, other)
        return None

    coerce = lift  # as a plain multivector's, which asks for it where it is the left factor

    def _need(self, other: Any, name: str) -> "TracedMultivector":
        found = self.lift(other)
        if found is None:
            raise TraceError(f"it calls {name} with a {type(other).__name__}")
        return found

    def __getitem__(self, index: Any) -> TracedScalar:
        if not isinstance(index, str):
            raise TraceError("it takes a part of the batch, and samples are computed one by one")
        mask, sign = self.algebra.parse_blade(index)
        ref = self.terms.get(mask, 0)
        return self.scalar(ref if sign > 0 else -ref)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        reason = REASONS.get(name)
        raise TraceError(f"it uses .{name}, which is not traced" + (f": {reason}" if reason else ""))

    def __bool__(self) -> bool:
        raise TraceError("it branches on a multivector")

    def __float__(self) -> float:
        raise TraceError("it needs the number that a scalar is; use NumPy's functions of A['1'] instead of math's")

    __complex__ = __int__ = __float__

    def _ordered(self, other: Any) -> Any:
        raise TraceError("it compares multivectors; compare their coefficients, as in A['1'] < 2, for numpy.where")

    __lt__ = __le__ = __gt__ = __ge__ = _ordered

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        raise TraceError("it compares multivectors; compare their coefficients, as in A['e12'], for numpy.where")

    __ne__ = __eq__

    # ---- sums and multiples

    def __add__(self, other: Any) -> Any:
        same = self.lift(other)
        if same is None:
            return NotImplemented
        terms, graph = self.terms, self.trace.graph
        for mask, ref in same.terms.items():
            terms[mask] = graph.add(terms.get(mask, 0), ref)
        return self.of(terms, self.shape_from | same.shape_from)

    __radd__ = __add__

    def __neg__(self) -> "TracedMultivector":
        return self.of({mask: -ref for mask, ref in self.terms.items()})

    def __pos__(self) -> "TracedMultivector":
        return self

    def __sub__(self, other: Any) -> Any:
        same = self.lift(other)
        return NotImplemented if same is None else self + (-same)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def times(self, ref: int, shape_from: int = 0) -> "TracedMultivector":
        """Return the multiple by a node."""
        graph = self.trace.graph
        return self.of({mask: graph.mul(ref, own) for mask, own in self.terms.items()}, self.shape_from | shape_from)

    def __mul__(self, other: Any) -> Any:
        if is_number(other):
            same = self.trace.scalar(other)
            return self.times(same.ref, same.shape_from)
        return self._product("gp", other)

    def __rmul__(self, other: Any) -> Any:
        return self * other if is_number(other) else self._product_from_left("gp", other)

    def __truediv__(self, other: Any) -> Any:
        if is_number(other):
            divisor = self.trace.scalar(other)
            if not divisor.ref:
                raise ZeroDivisionError("division of a multivector by zero")
            if self.trace.graph.number(divisor.ref) is None:
                self.trace.need("ne", divisor.ref, 0)
            return self.times(self.trace.graph.call("reciprocal", divisor.ref), divisor.shape_from)
        same = self.lift(other)
        return NotImplemented if same is None else self * same.inv()

    def __rtruediv__(self, other: Any) -> Any:
        same = self.lift(other)
        return NotImplemented if same is None else same * self.inv()

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, bool) or not isinstance(exponent, int | np.integer):
            raise TraceError("it raises a multivector to a power that is no integer")
        result, base = self.of({0: self.trace.graph.constant(1)}), self if exponent >= 0 else self.inv()
        for bit in bin(abs(int(exponent)))[:1:-1]:
            result = result * base if bit == "1" else result
            base = base * base
        return result

    # ---- products

    def product(self, rule: str, other: "TracedMultivector") -> "TracedMultivector":
        """Return one product by its table."""
        rows, graph = _table(self.algebra.form, rule, self.keys, other.keys), self.trace.graph
        terms: dict[int, int] = {}
        a, b = self.refs, other.refs
        masks = rows.keys.masks.tolist()
        for left, right, out, coef in zip(
            rows.left.tolist(), rows.right.tolist(), rows.out.tolist(), rows.coef.tolist(), strict=True
        ):
            term = graph.mul(a[left], b[right])
            if coef != 1:
                term = -term if coef == -1 else graph.mul(graph.constant(coef), term)
            terms[masks[out]] = graph.add(terms.get(masks[out], 0), term)
        return self.of(terms, self.shape_from | other.shape_from)

    def _product(self, rule: str, other: Any) -> Any:
        same = self.lift(other)
        return NotImplemented if same is None else self.product(rule, same)

    def _product_from_left(self, rule: str, other: Any) -> Any:
        same = self.lift(other)
        return NotImplemented if same is None else same.product(rule, self)

    def wedge(self, *others: Any) -> "TracedMultivector":
        """Return the outer product."""
        result = self
        for other in others:
            result = result.product("wedge", self._need(other, "wedge"))
        return result

    def sandwich(self, X: Any) -> "TracedMultivector":
        """Return R X R⁻¹ for a versor R."""
        return analysis.sandwich(self, self._need(X, "sandwich"))

    def __rshift__(self, other: Any) -> Any:
        same = self.lift(other)
        return NotImplemented if same is None else analysis.sandwich(self, same)

    def __rrshift__(self, other: Any) -> Any:
        same = self.lift(other)
        return NotImplemented if same is None else analysis.sandwich(same, self)

    def project(self, B: Any) -> "TracedMultivector":
        """Return (A ⌋ B) B⁻¹ for a blade B."""
        return geometry.project(self, self._need(B, "project"))

    def reject(self, B: Any) -> "TracedMultivector":
        """Return (A ∧ B) B⁻¹ for a blade B."""
        return geometry.reject(self, self._need(B, "reject"))

    def reflect(self, B: Any, *, inside: bool = False) -> "TracedMultivector":
        """Return the reflection in the mirror orthogonal to a blade B, or in B."""
        return geometry.reflect(self, self._need(B, "reflect"), inside)

    # ---- coefficients

    def copy(self) -> "TracedMultivector":
        """Return the multivector, which is a value."""
        return self

    def replace(self, coefficients: Any, at: Any = None) -> "TracedMultivector":
        """Return a multivector with other coefficients on some blades."""
        if not isinstance(coefficients, dict) or at is not None:
            raise TraceError("it replaces a part of the batch, and samples are computed one by one")
        terms, shape_from = self.terms, self.shape_from
        for name, value in coefficients.items():
            mask, sign = self.algebra.parse_blade(name)
            new = self.trace.scalar(value)
            terms[mask], shape_from = sign * new.ref, shape_from | new.shape_from
        return self.of(terms, shape_from)

    def map(self, function: Any) -> "TracedMultivector":
        """Return the multivector of f(coefficient), or of f(name, coefficient), blade by blade."""
        found = called(function, self.algebra, self.keys, [self.scalar(ref) for ref in self.refs])
        values = [self.trace.scalar(value) for value in found]
        refs = dict(zip(map(int, self.keys.masks), (value.ref for value in values), strict=True))
        return self.of(refs, functools.reduce(operator.or_, (value.shape_from for value in values), self.shape_from))

    def outermorphism(self, F: Any, target: Any = None) -> "TracedMultivector":
        """Return F(A) for a matrix F that the function holds."""
        algebra = self.algebra if target is None else target
        total = TracedMultivector(self.trace, algebra, {}, self.shape_from)
        for mask, ref in self.terms.items():
            image = self.algebra.blade(self.algebra.names.blade(mask)).outermorphism(F, target)
            total = total + lift_constant(self.trace, algebra, image).times(ref)
        return total

    # ---- grades and involutions

    def _signed(self, is_negative: Any) -> "TracedMultivector":
        return self.of({mask: -ref if is_negative(mask.bit_count()) else ref for mask, ref in self.terms.items()})

    def grade(self, *grades: int) -> "TracedMultivector":
        """Return the part of some grades."""
        if any(isinstance(k, bool) or not 0 <= k <= self.algebra.d for k in grades):
            raise TraceError(f"it takes grades {grades} of {self.algebra!r}")
        return self.of({mask: ref for mask, ref in self.terms.items() if mask.bit_count() in grades})

    def even(self) -> "TracedMultivector":
        """Return the part of even grades."""
        return self.grade(*range(0, self.algebra.d + 1, 2))

    def odd(self) -> "TracedMultivector":
        """Return the part of odd grades."""
        return self.grade(*range(1, self.algebra.d + 1, 2))

    def scalar_part(self) -> TracedScalar:
        """Return the coefficient of 1."""
        return self["1"]

    def reverse(self) -> "TracedMultivector":
        """Return ~A."""
        return self._signed(reverse_is_negative)

    __invert__ = reverse

    def involute(self) -> "TracedMultivector":
        """Return the grade involution."""
        return self._signed(lambda k: k % 2 == 1)

    def conjugate(self) -> "TracedMultivector":
        """Return the Clifford conjugate."""
        return self._signed(lambda k: k % 4 in (1, 2))

    # ---- duals

    def star(self) -> "TracedMultivector":
        """Return I ~A."""
        return self.algebra.I * ~self

    def star_right(self) -> "TracedMultivector":
        """Return ~A I."""
        return ~self * self.algebra.I

    def dual(self) -> "TracedMultivector":
        """Return A I⁻¹."""
        return self * self.algebra.inverse_I

    def undual(self) -> "TracedMultivector":
        """Return A I."""
        self.algebra.inverse_I  # noqa: B018  # the same error as the plain one's
        return self * self.algebra.I

    def _complement(self, left: bool) -> "TracedMultivector":
        d = self.algebra.d
        full = (1 << d) - 1
        other = full ^ self.keys.masks
        odd = is_odd_swap(other, self.keys.masks, d) if left else is_odd_swap(self.keys.masks, other, d)
        pairs = zip(other.tolist(), self.refs, odd.tolist(), strict=True)
        return self.of({mask: -ref if negative else ref for mask, ref, negative in pairs})

    def left_complement(self) -> "TracedMultivector":
        """Return LC(A)."""
        return self._complement(left=True)

    def right_complement(self) -> "TracedMultivector":
        """Return RC(A)."""
        return self._complement(left=False)

    # ---- functions

    def norm_squared(self) -> TracedScalar:
        """Return ⟨A ~A⟩_0."""
        return self.scalar(self.product("inner", self).terms.get(0, 0))

    def norm(self) -> TracedScalar:
        """Return √|⟨A ~A⟩_0|."""
        return analysis.norm(self)

    __abs__ = norm

    def normalized(self) -> "TracedMultivector":
        """Return A / norm(A)."""
        return analysis.normalized(self)

    def inv(self) -> "TracedMultivector":
        """Return A⁻¹."""
        return analysis.inverse(self)

    inverse = inv

    def exp(self) -> "TracedMultivector":
        """Return the exponential."""
        return analysis.exponential(self)

    def cosh(self) -> "TracedMultivector":
        """Return (exp A + exp(-A))/2, in which equal terms are one."""
        return (self.exp() + (-self).exp()) * 0.5

    def sinh(self) -> "TracedMultivector":
        """Return (exp A - exp(-A))/2, in which equal terms cancel."""
        return (self.exp() - (-self).exp()) * 0.5

    def tanh(self) -> "TracedMultivector":
        """Return sinh(A) cosh(A)⁻¹."""
        return self.sinh() * self.cosh().inv()

    def outerexp(self) -> "TracedMultivector":
        """Return the outer exponential."""
        even, odd = analysis.outer_exponential(self)
        return even + odd

    def outersin(self) -> "TracedMultivector":
        """Return the odd terms of the outer exponential."""
        return analysis.outer_exponential(self)[1]

    def outercos(self) -> "TracedMultivector":
        """Return the even terms of the outer exponential."""
        return analysis.outer_exponential(self)[0]

    def outertan(self) -> "TracedMultivector":
        """Return outersin(A) outercos(A)⁻¹."""
        even, odd = analysis.outer_exponential(self)
        return odd * even.inv()

    def bivector_split(self, rtol: float = 1e-9) -> "tuple[TracedMultivector, ...]":
        """Return the one or two simple bivectors that it is the sum of."""
        return geometry.split(self)

    def log(self) -> "TracedMultivector":
        """Return the logarithm of a rotor."""
        return geometry.logarithm(self)

    def sqrt(self) -> "TracedMultivector":
        """Return the square root of a versor."""
        return geometry.square_root(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise TraceError(f"it calls numpy.{ufunc.__name__} with options")
        if ufunc in (np.exp, np.log, np.sqrt, np.sinh, np.cosh, np.tanh):
            return getattr(self, ufunc.__name__)()
        return apply_ufunc(ufunc, inputs, ())

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TraceError(f"it calls numpy.{function.__name__}, which is not traced")


def _add_products() -> None:
    """Give the class a method for each product, and its operator."""
    operators = {"wedge": "xor", "fat_dot": "or", "vee": "and", "lc": "lshift"}
    names = ("gp", "vee", "fat_dot", "hestenes", "lc", "rc", "scalar_product", "inner", "commutator", "anticommutator")

    def method(rule: str) -> Any:
        def product(self: TracedMultivector, other: Any) -> TracedMultivector:
            return self.product(rule, self._need(other, rule))

        product.__name__, product.__doc__ = rule, f"Return the product `{rule}`."
        return product

    def operator(rule: str, from_left: bool) -> Any:
        def product(self: TracedMultivector, other: Any) -> Any:
            return self._product_from_left(rule, other) if from_left else self._product(rule, other)

        return product

    for rule in names:
        setattr(TracedMultivector, rule, method(rule))
    for rule, name in operators.items():
        setattr(TracedMultivector, f"__{name}__", operator(rule, False))
        setattr(TracedMultivector, f"__r{name}__", operator(rule, True))


_add_products()


def lift_constant(trace: Trace, algebra: "Algebra", value: Any) -> TracedMultivector:
    """Return a multivector that the function holds as constants of its code."""
    if value.algebra is not algebra and value.algebra != algebra:
        raise TraceError(f"it mixes multivectors of {algebra!r} and {value.algebra!r}")
    if value.ndim or value.dtype.kind == "O":
        what = "a batch" if value.ndim else "a multivector of fractions or symbols"
        raise TraceError(f"it holds {what} that is no argument of it; pass it as one")
    refs = dict(zip(map(int, value.keys.masks), map(trace.graph.constant, value.coefficients.tolist()), strict=True))
    return TracedMultivector(trace, algebra, refs, COMPLEX if value.dtype.kind == "c" else 0)


def trace_input(trace: Trace, algebra: "Algebra", keys: Keys, argument: int, real: bool) -> TracedMultivector:
    """Return the multivector that stands for an argument."""
    refs = {int(mask): trace.graph.input(argument, i, real) for i, mask in enumerate(keys.masks)}
    return TracedMultivector(trace, algebra, refs, 1 << argument | COMPLEX * (not real))
