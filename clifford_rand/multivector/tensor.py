"""The class `TensorMultivector`: the operations of multivectors that tensors have, and a refusal of every other."""

from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import (
    Tensor,
    as_tensor,
    beside,
    constant,
    is_scalar,
    is_tensor,
    namespace,
    number,
    promoted,
    values_of,
)
from clifford_rand.basis.keys import Keys, sorted_grades
from clifford_rand.geometry.projections import refuse_flats
from clifford_rand.multivector import tensor_functions, tensor_operations
from clifford_rand.multivector.base import of_another_algebra
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.plans.tensors import (
    check_dual,
    coefficients_beside,
    keys_of,
    map_of,
    part_of,
    placed_on,
    tensor_plan,
)

HINT = "A.to_numpy() is the same multivector of NumPy, without a gradient."


class TensorMultivector(Multivector):
    """A multivector, or a batch, whose coefficients are a tensor: of torch, JAX, CuPy, or by the array API.

    ``alg.vector(t)`` and ``alg.multivector(t, grades)`` keep the tensor: no copy, its device, dtype and gradient. NumPy
    multivectors, numbers and arrays beside it become constants of its library, device and dtype. No value is looked at
    and nothing is written in place, so every operation here differentiates, compiles and runs on an accelerator; what
    has no inverse gives infinite or NaN coefficients, and `==` a tensor of truth values. Other operations are refused.

    Examples
    --------
    >>> import torch
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
                raise of_another_algebra(self, other)
            if isinstance(other, TensorMultivector):
                return other
            return self.new(other.keys, coefficients_beside(other, self.coefficients))
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
        A: Multivector = Multivector(self.algebra, self.keys, values_of(self.coefficients))
        return A

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

    # ---- batch axes, comparison, sums

    __getitem__ = tensor_operations.item
    reshape = tensor_operations.reshape
    sum = tensor_operations.total
    mean = tensor_operations.mean
    __eq__ = tensor_operations.equal
    __ne__ = tensor_operations.unequal
    __hash__ = None
    isclose = tensor_operations.isclose
    is_zero = tensor_operations.is_zero
    __add__ = __radd__ = tensor_operations.add
    __sub__ = tensor_operations.subtract
    __rsub__ = tensor_operations.subtract_from
    __mul__ = tensor_operations.times
    __rmul__ = tensor_operations.times_from
    __truediv__ = tensor_operations.divide

    # ---- products

    def multiply(self, rule: str, B: Any) -> "TensorMultivector":
        """Return one product, by the name of its rule."""
        B = self.coerce(B)
        plan = tensor_plan(self.algebra.form, rule, self.keys, B.keys)
        a, b = self.coefficients, B.coefficients
        if a.dtype != b.dtype:
            a, b = promoted(namespace(a), a, b)
        return self.new(plan.keys, plan.apply(a, b))

    # ---- linear maps of the blades

    def image(self, name: str) -> "TensorMultivector":
        """Return the image under an involution, complement or dual by its name."""
        plan = map_of(self.algebra.form, name, self.keys)
        return self.new(plan.keys, plan.apply(self.coefficients))

    def part(self, grades: tuple[int, ...]) -> "TensorMultivector":
        """Return the part of some grades, which ascend."""
        plan = part_of(self.algebra.form, grades, self.keys)
        return self.new(plan.keys, plan.apply(self.coefficients))

    def grade(self, *grades: int) -> "TensorMultivector":
        """Return the part of one or several grades."""
        return self.part(sorted_grades(grades, self.algebra.d))

    def dual(self) -> Any:
        """Return A I⁻¹."""
        check_dual(self.algebra)
        return self.image("dual") if self.algebra.form.is_unit else self * self.algebra.I_inv

    def undual(self) -> Any:
        """Return A I."""
        check_dual(self.algebra)
        return self.image("undual") if self.algebra.form.diagonal is not None else self * self.algebra.I

    # ---- functions

    norm_squared = tensor_functions.norm_squared
    norm = __abs__ = tensor_functions.norm
    normalized = tensor_functions.normalized
    inv = tensor_functions.inverse
    exp = tensor_functions.exponential
    log = tensor_functions.logarithm
    sqrt = tensor_functions.square_root

    # ---- versors and blades at work

    def sandwich(self, X: Any) -> Any:
        """Return R X R⁻¹: see `clifford_rand.multivector.tensor_functions.sandwich`."""
        return tensor_functions.sandwich(self, self.operand(X, "sandwich"))

    def vector_matrix(self) -> Tensor:
        """Return the (..., d, d) matrix of x ↦ R x R⁻¹ on the components of vectors; R is taken for a versor."""
        xp, keys = namespace(self.coefficients), keys_of(self.algebra.form, (1,))
        basis = self.new(keys, xp.eye(keys.size, **beside(self.coefficients)))
        images = tensor_functions.sandwich(self.new(self.keys, self.coefficients[..., None, :]), basis).on_keys(keys)
        return xp.matrix_transpose(images.coefficients)

    def left_matrix(self) -> Tensor:
        """Return the (..., 2^d, 2^d) matrix of X ↦ A X on all components."""
        return tensor_functions.matrix(self, left=True)

    def right_matrix(self) -> Tensor:
        """Return the (..., 2^d, 2^d) matrix of X ↦ X A on all components."""
        return tensor_functions.matrix(self, left=False)

    def project(self, B: Any) -> Any:
        """Return (A ⌋ B) B⁻¹ for a blade B of one grade."""
        B = self.operand(B, "project")
        refuse_flats(self, max(B.keys.grades, default=0))
        return self.lc(B).lc(tensor_functions.blade_inverse(B, "project"))

    def reject(self, B: Any) -> Any:
        """Return (A ∧ B) B⁻¹ for a blade B of one grade."""
        B = self.operand(B, "reject")
        return self.wedge(B).rc(tensor_functions.blade_inverse(B, "reject"))

    def reflect(self, B: Any, *, inside: bool = False) -> Any:
        """Return the reflection of A in the mirror orthogonal to a blade B of one grade, or in B with ``inside``."""
        B = self.operand(B, "reflect")
        inverse = tensor_functions.blade_inverse(B, "reflect")
        A = self.involute() if (B.keys.grades[0] + inside) % 2 else self
        product = (B * A) * inverse
        return product.part(tuple(k for k in product.keys.grades if k in A.keys.grades))

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


def made_of(algebra: Any, keys: Keys, coefficients: Tensor) -> TensorMultivector:
    """Return a multivector of a tensor as it is, without checks."""
    A = object.__new__(TensorMultivector)
    A.algebra = algebra
    A.keys = keys
    A.coefficients = coefficients
    return A


# ---- what Multivector has and a tensor has not

SHARED = frozenset(  # attributes of Multivector that are right for tensors as they stand
    (
        *("_op_priority", "algebra", "keys", "coefficients", "ndim", "dtype", "grades", "values", "dense"),
        *("image", "part", "even", "odd", "reverse", "__invert__", "involute", "conjugate", "star", "star_right"),
        *("left_complement", "right_complement", "gp", "wedge", "vee", "fat_dot", "hestenes", "lc", "rc", "inner"),
        *("scalar_product", "commutator", "anticommutator", "multiply", "__pow__", "__rtruediv__", "__pos__"),
        *("__xor__", "__rxor__", "__or__", "__ror__", "__and__", "__rand__", "__lshift__", "__rlshift__", "__len__"),
        *("__rshift__", "__rrshift__", "__iter__", "prod", "__neg__"),
        *("__float__", "__int__", "__complex__", "__bool__"),
        *("__lt__", "__le__", "__gt__", "__ge__"),
        *("scalar_part", "__copy__", "__deepcopy__", "__dir__", "__array_ufunc__", "__array_function__"),
        *("__module__", "__doc__", "__slots__", "__annotations__", "__firstlineno__", "__static_attributes__"),
    )
)


def _refusal(name: str) -> Callable[..., Any]:
    def method(A: Any, *args: Any, **kwargs: Any) -> Any:
        received = describe(f"a tensor of {namespace(A.coefficients).__name__.removeprefix('array_api_compat.')}")
        raise fail("A", name, "a multivector of NumPy", received, HINT)

    method.__name__, method.__doc__ = name, "Not for tensors."
    return method


REFUSED = tuple(name for name in vars(Multivector) if name not in SHARED and name not in vars(TensorMultivector))
for _name in REFUSED:
    setattr(TensorMultivector, _name, _refusal(_name))
