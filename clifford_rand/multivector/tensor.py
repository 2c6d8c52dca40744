"""The class `TensorMultivector`: the operations of multivectors that tensors have, and a refusal of every other."""

import functools
import hashlib
import math
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.arrays import (
    Tensor,
    as_tensor,
    beside,
    constant,
    constant_of_a_trace,
    is_compiling,
    is_tensor,
    is_torch,
    namespace,
    number,
    promoted,
)
from clifford_rand.basis.coefficients import is_scalar
from clifford_rand.basis.keys import Keys, keys_labelled
from clifford_rand.geometry.projections import refuse_flats
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.plans.tensor_product import tensor_plan
from clifford_rand.tensors import functions
from clifford_rand.tensors.places import keys_of, map_of, part_of, placed_on, sorted_grades, union_of

HINT = "A.to_numpy() is the same multivector of NumPy, without a gradient."


def multiply(rule: str, A: Any, B: Any) -> Any:
    """Return one product, by the name of its rule, of two multivectors of tensors."""
    plan = tensor_plan(A.algebra.form, rule, A.keys, B.keys)
    a, b = A.coefficients, B.coefficients
    if a.dtype != b.dtype:
        a, b = promoted(namespace(a), a, b)
    return A.new(plan.keys, plan.apply(a, b))


def _operators(rule: str) -> tuple[Any, Any]:
    def left(A: Any, other: Any) -> Any:
        B = A.coerce(other)
        return NotImplemented if B is None else multiply(rule, A, B)

    def right(A: Any, other: Any) -> Any:
        B = A.coerce(other)
        return NotImplemented if B is None else multiply(rule, B, A)

    return left, right


def _product(rule: str) -> Callable[[Any, Any], Any]:
    def method(A: Any, other: Any) -> Any:
        return multiply(rule, A, A.operand(other, rule))

    method.__name__, method.__doc__ = rule, f"Return the product {rule!r}: see `Multivector.{rule}`."
    return method


def _map(name: str) -> Callable[[Any], Any]:
    def method(A: Any) -> Any:
        plan = map_of(A.algebra.form, name, A.keys)
        return A.new(plan.keys, plan.apply(A.coefficients))

    method.__name__, method.__doc__ = name, f"Return the image under the map {name!r}: see `Multivector.{name}`."
    return method


class TensorMultivector(Multivector):
    """A multivector, or a batch, whose coefficients are a tensor: of torch, JAX, CuPy, or by the array API.

    ``alg.vector(t)`` and ``alg.multivector(t, grades)`` keep the tensor: no copy, its device, dtype and gradient. NumPy
    multivectors, numbers and arrays beside it become constants of its library, device and dtype. No value is looked at
    and nothing is written in place, so every operation here differentiates, compiles and runs on an accelerator; what
    has no inverse gives infinite or NaN coefficients, and `==` a tensor of truth values. Other operations are refused.

    Examples
    --------
    >>> import clifford_rand as cr, torch
    >>> t = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> alg = cr.Algebra(3)
    >>> R = (alg.e12 * torch.tensor(0.25)).exp()
    >>> (R >> alg.vector(t)).coefficients.sum().backward()
    >>> t.grad
    tensor([0.3982, 1.3570, 1.0000])
    """

    __slots__ = ()

    coefficients: Tensor

    def __init__(self, algebra: Any, keys: Keys, coefficients: Tensor) -> None:
        array = as_tensor(coefficients, "coefficients", type(self).__name__)
        if array.ndim == 0 or array.shape[-1] != keys.size:
            rule = f"a tensor with {keys.size} components on its last axis"
            raise fail("coefficients", type(self).__name__, rule, describe(f"shape {tuple(array.shape)}"))
        self.algebra, self.keys, self.coefficients = algebra, keys, array

    def new(self, keys: Keys, coefficients: Tensor) -> "TensorMultivector":
        """Return a multivector of the same algebra without checks."""
        return made_of(self.algebra, keys, coefficients)

    def coerce(self, other: object, *, keep: bool = True) -> "TensorMultivector | None":
        """Return ``other`` as a multivector of tensors beside this one; None if it is none."""
        if isinstance(other, Multivector):
            if other.algebra is not self.algebra and other.algebra != self.algebra:
                raise fail(
                    "other",
                    "Multivector",
                    f"of the same algebra, {self.algebra!r}",
                    describe(f"a multivector of {other.algebra!r}"),
                    "Convert it with algebra.convert(…).",
                )
            if isinstance(other, TensorMultivector):
                return other
            return self.new(other.keys, _beside(other, self.coefficients))
        if is_tensor(other):
            array = as_tensor(other, "other", "Multivector")
        elif isinstance(other, int | float | complex):
            array = number(other, self.coefficients)
        elif is_scalar(other) or isinstance(other, np.ndarray):
            array = constant(np.asarray(other), self.coefficients, "Multivector")
        else:
            return None
        return self.new(keys_of(self.algebra.form, (0,)), array[..., None])

    def operand(self, other: Any, owner: str) -> Any:
        """Return a value as a multivector of tensors, or raise."""
        B = self.coerce(other)
        if B is None:
            raise fail("other", owner, "a multivector, a number, or a tensor of scalars", other)
        return B

    def __reduce__(self) -> Any:
        return TensorMultivector, (self.algebra, self.keys, self.coefficients)

    # ---- what is stored

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch axes."""
        return tuple(self.coefficients.shape[:-1])

    @property
    def device(self) -> Any:
        """Where the coefficients are."""
        return self.coefficients.device

    def to_numpy(self) -> Multivector:
        """Return the same multivector of NumPy: a copy, without a gradient."""
        array = self.coefficients
        if is_torch(array):
            array = array.detach().cpu()
        elif hasattr(array, "get"):  # CuPy
            array = array.get()
        found: Multivector = Multivector(self.algebra, self.keys, np.asarray(array))
        return found

    def astype(self, dtype: Any) -> "TensorMultivector":
        """Return the multivector with coefficients of another dtype of its library."""
        try:
            return self.new(self.keys, namespace(self.coefficients).astype(self.coefficients, dtype))
        except TypeError:
            rule = f"a dtype of {type(self.coefficients).__module__.split('.')[0]}"
            raise fail("dtype", "astype", rule, dtype) from None

    def copy(self) -> "TensorMultivector":
        """Return itself: no operation writes into a tensor."""
        return self

    def on_keys(self, keys: Keys) -> "TensorMultivector":
        """Return the components on other keys, zeros where there are none."""
        if keys is self.keys:
            return self
        return self.new(keys, placed_on(self.algebra.form, self.keys, keys).apply(self.coefficients))

    select_keys = on_keys

    # ---- batch axes

    def __iter__(self) -> "Iterator[TensorMultivector]":
        if not self.ndim:
            raise TypeError("a single multivector is not iterable; its components are in .values")
        return (self.new(self.keys, self.coefficients[i, ...]) for i in range(self.shape[0]))

    def __getitem__(self, index: Any) -> Any:
        array = self.coefficients
        if isinstance(index, str):
            position, sign = _place(self.algebra, self.keys.label, index)
            if position < 0:
                return namespace(array).zeros(self.shape, **beside(array))
            return array[..., position] if sign > 0 else -array[..., position]
        if not self.ndim:
            raise TypeError("a single multivector has no batch axis to index; use a blade's name, as in A['e12']")
        parts = index if isinstance(index, tuple) else (index,)
        if not any(part is Ellipsis for part in parts):
            parts = (*parts, Ellipsis)
        return self.new(self.keys, array[(*parts, slice(None))])

    def reshape(self, *shape: Any) -> "TensorMultivector":
        """Return the batch in another shape."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if -1 in wanted:
            known = -math.prod(wanted)
            wanted = tuple(math.prod(self.shape) // known if n == -1 else n for n in wanted)
        array = self.coefficients
        return self.new(self.keys, namespace(array).reshape(array, (*wanted, self.keys.size)))

    def _axes(self, axis: Any) -> tuple[int, ...]:
        axes = tuple(range(self.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        for one in axes:
            if not -self.ndim <= one < self.ndim:
                raise fail("axis", "sum or mean", f"one of the {self.ndim} batch axes", axis)
        return tuple(one % self.ndim for one in axes)

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> "TensorMultivector":
        """Return the sum over batch axes, over all of them by default."""
        axes = self._axes(axis)
        array = self.coefficients
        return self.new(self.keys, namespace(array).sum(array, axis=axes, keepdims=keepdims)) if axes else self

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> "TensorMultivector":
        """Return the mean over batch axes, over all of them by default."""
        axes = self._axes(axis)
        return self.sum(axis, keepdims=keepdims) / math.prod(self.shape[one] for one in axes)

    def prod(self, axis: int = 0, *, rule: str = "gp") -> Any:
        """Return the product along a batch axis, first factor on the left; ``rule`` names it."""
        (one,) = self._axes(axis)
        if not self.shape[one]:
            raise fail("axis", "prod", "an axis with at least one multivector", axis)
        before = (slice(None),) * one
        factors = [self.new(self.keys, self.coefficients[(*before, i, ...)]) for i in range(self.shape[one])]
        return functools.reduce(lambda a, b: multiply(rule, a, b), factors)

    # ---- comparison

    def __eq__(self, other: object) -> Any:
        return self._compared(other, lambda xp, a, b: xp.all(a == b, axis=-1))

    def __ne__(self, other: object) -> Any:
        return self._compared(other, lambda xp, a, b: xp.any(a != b, axis=-1))

    __hash__ = None

    def _compared(self, other: object, test: Callable[[Any, Any, Any], Any]) -> Any:
        B = self.coerce(other)
        if B is None:
            return NotImplemented
        keys = union_of(self.algebra.form, self.keys, B.keys)
        return test(namespace(self.coefficients), self.on_keys(keys).coefficients, B.on_keys(keys).coefficients)

    def isclose(self, other: Any, rtol: float = 1e-9, atol: float = 0.0) -> Any:
        """Compare to rounding, max |a - b| ≤ atol + rtol · max(|a|, |b|): a tensor of truth values over the batch."""

        def test(xp: Any, a: Tensor, b: Tensor) -> Tensor:
            sizes = (xp.where(xp.isfinite(x), xp.abs(x), xp.zeros_like(xp.abs(x))) for x in (a, b))
            scale = xp.maximum(*(xp.max(size, axis=-1) for size in sizes))
            apart = xp.abs(a - b)  # of what is infinite and equal, NaN
            apart = xp.where(a == b, xp.zeros_like(apart), apart)
            return xp.max(apart, axis=-1) <= atol + rtol * scale

        found = self._compared(other, test)
        if found is NotImplemented:
            raise fail("other", "isclose", "a multivector or a scalar", other)
        return found

    def is_zero(self) -> Any:
        """Tell whether every coefficient is zero: a tensor of truth values over the batch."""
        return namespace(self.coefficients).all(self.coefficients == 0, axis=-1)

    # ---- scalars are numbers: those that have the grade 0 alone, as no value is looked at

    def _scalars(self, what: str) -> Tensor:
        """Return a scalar, or a batch, as a tensor of the batch's shape."""
        if self.keys.grades != (0,):
            grades = ", ".join(map(str, self.grades))
            found = f"this multivector has the grades {grades}"
            raise TypeError(f"{what} needs a scalar, and {found}. A.scalar_part() is its scalar part.")
        return self.coefficients[..., 0]

    def __float__(self) -> float:
        return float(self._scalars("float()"))

    def __int__(self) -> int:
        return int(self._scalars("int()"))

    def __complex__(self) -> complex:
        return complex(self._scalars("complex()"))

    def __bool__(self) -> bool:
        if self.keys.grades != (0,):
            raise TypeError("a multivector is neither true nor false: compare it, as in A == 0")
        return bool(self._scalars("bool()"))

    def _ordered(self, other: Any, sign: str, compare: Callable[[Any, Any], Any]) -> Any:
        B = self.coerce(other)
        return NotImplemented if B is None else compare(self._scalars(sign), B._scalars(sign))

    def __lt__(self, other: Any) -> Any:
        return self._ordered(other, "<", operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._ordered(other, "<=", operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._ordered(other, ">", operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._ordered(other, ">=", operator.ge)

    # ---- the vector space

    def _sum(self, other: Any, sign: int) -> Any:
        B = self.coerce(other)
        if B is None:
            return NotImplemented
        keys = union_of(self.algebra.form, self.keys, B.keys)
        a, b = self.on_keys(keys).coefficients, B.on_keys(keys).coefficients
        return self.new(keys, a + b if sign > 0 else a - b)

    def __add__(self, other: Any) -> Any:
        return self if other.__class__ is int and other == 0 else self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, 1)

    def __neg__(self) -> "TensorMultivector":
        return self.new(self.keys, -self.coefficients)

    def __mul__(self, other: Any) -> Any:
        if other.__class__ is float or other.__class__ is int:
            return self.new(self.keys, self.coefficients * other)
        B = self.coerce(other)
        return NotImplemented if B is None else multiply("gp", self, B)

    def __rmul__(self, other: Any) -> Any:
        if other.__class__ is float or other.__class__ is int:
            return self.new(self.keys, self.coefficients * other)
        B = self.coerce(other)
        return NotImplemented if B is None else multiply("gp", B, self)

    def __truediv__(self, other: Any) -> Any:
        if other.__class__ is float or other.__class__ is int:
            if other == 0:
                raise ZeroDivisionError("division of a multivector by zero")
            return self.new(self.keys, self.coefficients / other)
        B = self.coerce(other)
        return NotImplemented if B is None else multiply("gp", self, functions.inverse(B))

    def __rtruediv__(self, other: Any) -> Any:
        B = self.coerce(other)
        return NotImplemented if B is None else multiply("gp", B, functions.inverse(self))

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, bool) or not isinstance(exponent, int | np.integer):
            raise fail("exponent", "**", "an integer", exponent, "Use exp(p * A.log()) for other powers of rotors.")
        base: Any = self if exponent >= 0 else functions.inverse(self)
        left, result = abs(int(exponent)), None
        while left:
            if left & 1:
                result = base if result is None else result * base
            left >>= 1
            base = base * base if left else base
        return self.coerce(1.0) if result is None else result

    # ---- products

    __xor__, __rxor__ = _operators("wedge")
    __or__, __ror__ = _operators("fat_dot")
    __and__, __rand__ = _operators("vee")
    __lshift__, __rlshift__ = _operators("lc")
    gp, vee, fat_dot, hestenes = (_product(rule) for rule in ("gp", "vee", "fat_dot", "hestenes"))
    lc, rc, scalar_product, inner = (_product(rule) for rule in ("lc", "rc", "scalar_product", "inner"))
    commutator, anticommutator = (_product(rule) for rule in ("commutator", "anticommutator"))

    def wedge(self, other: Any, *more: Any) -> Any:
        """Return the outer product of as many factors as are given."""
        return functools.reduce(lambda a, b: multiply("wedge", a, a.operand(b, "wedge")), (other, *more), self)

    # ---- linear maps of the blades

    def grade(self, *grades: int) -> "TensorMultivector":
        """Return the part of one or several grades."""
        return self._of_grades(sorted_grades(grades, self.algebra.d))

    def _of_grades(self, grades: tuple[int, ...]) -> "TensorMultivector":
        plan = part_of(self.algebra.form, grades, self.keys)
        return self.new(plan.keys, plan.apply(self.coefficients))

    def even(self) -> "TensorMultivector":
        """Return the part of even grades."""
        return self._of_grades(tuple(k for k in self.grades if k % 2 == 0))

    def odd(self) -> "TensorMultivector":
        """Return the part of odd grades."""
        return self._of_grades(tuple(k for k in self.grades if k % 2 == 1))

    involute, conjugate = _map("involute"), _map("conjugate")
    reverse = __invert__ = _map("reverse")
    left_complement, right_complement = _map("left_complement"), _map("right_complement")
    _star, _star_right, _dual, _undual = _map("star"), _map("star_right"), _map("dual"), _map("undual")

    def star(self) -> Any:
        """Return the Hodge star I ~A."""
        return self._star() if self.algebra.form.diagonal is not None else self.algebra.I * self.reverse()

    def star_right(self) -> Any:
        """Return ~A I."""
        return self._star_right() if self.algebra.form.diagonal is not None else self.reverse() * self.algebra.I

    def dual(self) -> Any:
        """Return A I⁻¹."""
        _check_dual(self.algebra)
        return self._dual() if self.algebra.form.is_unit else self * self.algebra.inverse_I

    def undual(self) -> Any:
        """Return A I."""
        _check_dual(self.algebra)
        return self._undual() if self.algebra.form.diagonal is not None else self * self.algebra.I

    # ---- functions

    norm_squared = functions.norm_squared
    norm = __abs__ = functions.norm
    normalized = functions.normalized
    inv = inverse = functions.inverse
    exp = functions.exponential
    log = functions.logarithm
    sqrt = functions.square_root

    # ---- versors and blades at work

    def sandwich(self, X: Any) -> Any:
        """Return R X R⁻¹: see `clifford_rand.tensors.functions.sandwich`."""
        return functions.sandwich(self, self.operand(X, "sandwich"))

    def __rshift__(self, X: Any) -> Any:
        B = self.coerce(X)
        return NotImplemented if B is None else functions.sandwich(self, B)

    def __rrshift__(self, R: Any) -> Any:
        B = self.coerce(R)
        return NotImplemented if B is None else functions.sandwich(B, self)

    def vector_matrix(self) -> Tensor:
        """Return the (..., d, d) matrix of x ↦ R x R⁻¹ on the components of vectors; R is taken for a versor."""
        xp, keys = namespace(self.coefficients), keys_of(self.algebra.form, (1,))
        basis = self.new(keys, xp.eye(keys.size, **beside(self.coefficients)))
        images = functions.sandwich(self.new(self.keys, self.coefficients[..., None, :]), basis).on_keys(keys)
        return xp.matrix_transpose(images.coefficients)

    def left_matrix(self) -> Tensor:
        """Return the (..., 2^d, 2^d) matrix of X ↦ A X on all components."""
        return functions.matrix(self, left=True)

    def right_matrix(self) -> Tensor:
        """Return the (..., 2^d, 2^d) matrix of X ↦ X A on all components."""
        return functions.matrix(self, left=False)

    def project(self, B: Any) -> Any:
        """Return (A ⌋ B) B⁻¹ for a blade B of one grade."""
        B = self.operand(B, "project")
        refuse_flats(self, max(B.keys.grades, default=0))
        return self.lc(B).lc(functions.blade_inverse(B, "project"))

    def reject(self, B: Any) -> Any:
        """Return (A ∧ B) B⁻¹ for a blade B of one grade."""
        B = self.operand(B, "reject")
        return self.wedge(B).rc(functions.blade_inverse(B, "reject"))

    def reflect(self, B: Any, *, inside: bool = False) -> Any:
        """Return the reflection of A in the mirror orthogonal to a blade B of one grade, or in B with ``inside``."""
        B = self.operand(B, "reflect")
        inverse = functions.blade_inverse(B, "reflect")
        A = self.involute() if (B.keys.grades[0] + inside) % 2 else self
        product = (B * A) * inverse
        return product.grade(*(k for k in product.keys.grades if k in A.keys.grades))

    # ---- what it looks like

    def __repr__(self) -> str:
        batch = "batch of " if self.ndim else "of "
        return (
            f"<TensorMultivector {batch}{self.algebra!r}: shape={self.shape}, grades={self.grades}, "
            f"dtype={self.dtype}, device={self.device}>"
        )

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    _repr_latex_ = _repr_html_ = None  # a notebook then shows what repr says


def _beside(A: Multivector, like: Tensor) -> Tensor:
    """Return the coefficients of a multivector of NumPy beside a tensor."""
    if is_torch(like) and is_compiling():
        return getattr(A.algebra.form.shelf, _kept(A, like.device, like.dtype))
    return constant(A.coefficients, like, "Multivector")


@constant_of_a_trace
def _kept(A: Multivector, device: Any, dtype: Any) -> str:
    """Put the coefficients as a tensor on the shelf, as a trace holds what it finds there."""
    array = A.coefficients
    content = hashlib.sha256(repr(array.tolist()).encode()).hexdigest()
    like = sys.modules["torch"].empty(0, device=device, dtype=dtype)
    label = f"constant {A.keys.label} {array.shape} {content} {device} {dtype}".replace(".", " ")
    return A.algebra.form.shelf.put(label, constant(array, like, "Multivector"))


@constant_of_a_trace
def _place(algebra: Any, keys: str, name: str) -> tuple[int, int]:
    """Return (position, sign) of a blade by its name."""
    found: tuple[int, int] = algebra.place(keys_labelled(keys), name)
    return found


@constant_of_a_trace
def _check_dual(algebra: Any) -> bool:
    """Refuse a degenerate metric."""
    return algebra.inverse_I is not None


def made_of(algebra: Any, keys: Keys, coefficients: Tensor) -> TensorMultivector:
    """Return a multivector of a tensor as it is, without checks."""
    made = object.__new__(TensorMultivector)
    made.algebra = algebra
    made.keys = keys
    made.coefficients = coefficients
    return made


# ---- what Multivector has and a tensor has not

SHARED = frozenset(  # attributes of Multivector that are right for tensors as they stand
    (
        "_op_priority",
        *("algebra", "keys", "coefficients", "ndim", "dtype", "grades", "values", "dense", "scalar_part", "__len__"),
        *("__copy__", "__deepcopy__", "__dir__", "__pos__", "__array_ufunc__", "__array_function__"),
        *("__module__", "__doc__", "__slots__", "__annotations__", "__firstlineno__", "__static_attributes__"),
    )
)


def _refusal(name: str) -> Callable[..., Any]:
    def method(A: Any, *args: Any, **kwargs: Any) -> Any:
        found = describe(f"a tensor of {namespace(A.coefficients).__name__.removeprefix('array_api_compat.')}")
        raise fail("A", name, "a multivector of NumPy", found, HINT)

    method.__name__, method.__doc__ = name, "Not for tensors."
    return method


REFUSED = tuple(name for name in vars(Multivector) if name not in SHARED and name not in vars(TensorMultivector))
for _name in REFUSED:
    setattr(TensorMultivector, _name, _refusal(_name))
