"""The multivector that a fused function is traced with: keys, and a traced scalar for each of them."""

import functools
import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand.basis.keys import Keys, keys_of_masks
from clifford_rand.basis.table import product_table
from clifford_rand.compiler.scalar import COMPLEX, Trace, TracedScalar, TraceError, apply_ufunc, is_number
from clifford_rand.fusion import analysis, operations
from clifford_rand.fusion.operations import LinearMaps, Untraced
from clifford_rand.multivector import arithmetic, products
from clifford_rand.multivector.base import methods_of
from clifford_rand.multivector.components import called

if TYPE_CHECKING:
    from clifford_rand.algebra import Algebra

_projections: Any = methods_of("clifford_rand.geometry", "projections")[0]  # loaded when it is first used
cached_table = lru_cache(maxsize=512)(product_table)


class TracedMultivector(LinearMaps, Untraced):
    """Products, involutions, duals and functions of a multivector, as `Multivector` has them.

    Blades whose coefficient is zero for all arguments are left out at once.
    """

    __slots__ = ("algebra", "keys", "refs", "shape_from", "trace")

    def __init__(self, trace: Trace, algebra: "Algebra", terms: dict[int, int], shape_from: int) -> None:
        self.keys: Keys = keys_of_masks(algebra.d, tuple(mask for mask, ref in terms.items() if ref))
        self.refs = [terms[int(mask)] for mask in self.keys.masks]
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

    def coerce(self, other: Any) -> "TracedMultivector | None":
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

    def operand(self, other: Any, name: str) -> "TracedMultivector":
        """Return an argument of the method ``name`` as a traced multivector."""
        lifted = self.coerce(other)
        if lifted is None:
            raise TraceError(f"it calls {name} with a {type(other).__name__}")
        return lifted

    def __getitem__(self, index: Any) -> TracedScalar:
        if not isinstance(index, str):
            raise TraceError("it takes a part of the batch, and samples are computed one by one")
        mask, sign = self.algebra.parse_blade(index)
        ref = self.terms.get(mask, 0)
        return self.scalar(ref if sign > 0 else -ref)

    # ---- sums and multiples

    def __add__(self, other: Any) -> Any:
        lifted = self.coerce(other)
        if lifted is None:
            return NotImplemented
        terms, graph = self.terms, self.trace.graph
        for mask, ref in lifted.terms.items():
            terms[mask] = graph.add(terms.get(mask, 0), ref)
        return self.of(terms, self.shape_from | lifted.shape_from)

    __radd__ = __add__

    def __neg__(self) -> "TracedMultivector":
        return self.of({mask: -ref for mask, ref in self.terms.items()})

    __pos__ = arithmetic.positive

    def __sub__(self, other: Any) -> Any:
        lifted = self.coerce(other)
        return NotImplemented if lifted is None else self + (-lifted)

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
        lifted = self.coerce(other)
        return NotImplemented if lifted is None else self.multiply("gp", lifted)

    def __rmul__(self, other: Any) -> Any:
        if is_number(other):
            return self * other
        lifted = self.coerce(other)
        return NotImplemented if lifted is None else lifted.multiply("gp", self)

    def __truediv__(self, other: Any) -> Any:
        if is_number(other):
            divisor = self.trace.scalar(other)
            if not divisor.ref:
                raise ZeroDivisionError("division of a multivector by zero")
            if self.trace.graph.number(divisor.ref) is None:
                self.trace.need("ne", divisor.ref, 0)
            return self.times(self.trace.graph.call("reciprocal", divisor.ref), divisor.shape_from)
        lifted = self.coerce(other)
        return NotImplemented if lifted is None else self * lifted.inv()

    __rtruediv__ = arithmetic.divide_into

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, bool) or not isinstance(exponent, int | np.integer):
            reason = 'an exponent is not an integer constant; an argument n becomes one by static_argnames="n"'
            raise TraceError(reason)
        result, base = self.of({0: self.trace.graph.constant(1)}), self if exponent >= 0 else self.inv()
        for bit in bin(abs(int(exponent)))[:1:-1]:
            result = result * base if bit == "1" else result
            base = base * base
        return result

    # ---- products

    def multiply(self, rule: str, other: "TracedMultivector") -> "TracedMultivector":
        """Return one product by its table."""
        rows, graph = cached_table(self.algebra.form, rule, self.keys, other.keys), self.trace.graph
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

    __xor__, __rxor__ = products.operators("wedge")
    __or__, __ror__ = products.operators("fat_dot")
    __and__, __rand__ = products.operators("vee")
    __lshift__, __rlshift__ = products.operators("lc")
    __rshift__ = products.sandwich_of
    __rrshift__ = products.sandwich_by
    gp, wedge, vee, fat_dot, hestenes = products.gp, products.wedge, products.vee, products.fat_dot, products.hestenes
    lc, rc, inner, scalar_product = products.lc, products.rc, products.inner, products.scalar_product
    commutator, anticommutator = products.commutator, products.anticommutator
    sandwich = analysis.sandwich
    project, reject, reflect = _projections.project, _projections.reject, _projections.reflect
    blade_with_inverse = operations.blade_with_inverse

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
        values = [self.trace.scalar(value) for value in called(function, self.algebra, self.keys, self.scalars())]
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

    # ---- functions

    def scalar_part(self) -> TracedScalar:
        """Return the coefficient of 1."""
        return self["1"]

    def norm_squared(self) -> TracedScalar:
        """Return ⟨A ~A⟩_0."""
        return self.scalar(self.multiply("inner", self).terms.get(0, 0))

    norm = __abs__ = analysis.norm
    normalized = analysis.normalized
    inv = analysis.inverse
    exp = analysis.exponential
    log = operations.logarithm
    sqrt = operations.square_root
    bivector_split = operations.split

    cosh, sinh, tanh = analysis.cosh, analysis.sinh, analysis.tanh
    outerexp, outersin = analysis.outer_exponential, analysis.outer_sine
    outercos, outertan = analysis.outer_cosine, analysis.outer_tangent

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise TraceError(f"it calls numpy.{ufunc.__name__} with options")
        if ufunc in (np.exp, np.log, np.sqrt, np.sinh, np.cosh, np.tanh):
            return getattr(self, ufunc.__name__)()
        return apply_ufunc(ufunc, inputs, ())


def lift_constant(trace: Trace, algebra: "Algebra", value: Any) -> TracedMultivector:
    """Return a multivector that the function holds as constants of its code."""
    if value.algebra is not algebra and value.algebra != algebra:
        raise TraceError(f"it mixes multivectors of {algebra!r} and {value.algebra!r}")
    if value.ndim or value.dtype.kind == "O":
        what = "a batch" if value.ndim else "a multivector of fractions or symbols"
        raise TraceError(f"it holds {what} that is not an argument of it; pass it as one")
    refs = dict(zip(map(int, value.keys.masks), map(trace.graph.constant, value.coefficients.tolist()), strict=True))
    return TracedMultivector(trace, algebra, refs, COMPLEX if value.dtype.kind == "c" else 0)


def trace_input(trace: Trace, algebra: "Algebra", keys: Keys, argument: int, real: bool) -> TracedMultivector:
    """Return the multivector that stands for an argument."""
    refs = {int(mask): trace.graph.input(argument, i, real) for i, mask in enumerate(keys.masks)}
    return TracedMultivector(trace, algebra, refs, 1 << argument | COMPLEX * (not real))
