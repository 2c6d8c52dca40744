"""The class `MultiVector` of ``kingdon``, around one of this library: keys are masks, components come first."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import fail
from clifford_rand.basis.coefficients import is_scalar
from clifford_rand.basis.keys import keys_of_masks
from clifford_rand.compat.kingdon import coefficients
from clifford_rand.compat.kingdon.coefficients import BLADE, coefficients_of, masks_and_values, resolved, values_by_mask
from clifford_rand.multivector.base import binary, both, unary
from clifford_rand.multivector.components import takes_two
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.symbolic.coefficients import numpy_function, shortened, symbols


def of(algebra: Any, inner: Any, keys: tuple[int, ...] | None = None) -> "MultiVector":
    """Return the multivector around one of this library; symbols are simplified, and what is zero left out."""
    if isinstance(inner, Multivector):
        if inner.dtype == object:
            inner = inner.new(inner.keys, shortened(inner.coefficients)).sparse()
        if algebra.graded:
            inner = inner.on_keys(inner.keys.filled)
    A = object.__new__(MultiVector)
    A.algebra, A.inner, A.stored_keys = algebra, inner, keys
    return A


def _filled(algebra: Any, masks: tuple[int, ...], array: NDArray[Any]) -> "MultiVector":
    """Return the multivector of coefficients (..., K) of blades in any order."""
    if len(set(masks)) < len(masks):
        raise fail("keys", "MultiVector", "distinct", masks)
    keys = keys_of_masks(algebra.d, masks)
    signs = np.array([algebra.sign_of(mask) for mask in masks], dtype=np.int64)
    placed = np.empty(array.shape, dtype=array.dtype)
    placed[..., keys.positions(np.array(masks, dtype=keys.masks.dtype))] = array * signs if (signs < 0).any() else array
    return of(algebra, Multivector(algebra.own, keys, placed), masks)


class MultiVector:
    """A multivector as ``kingdon`` has it, around `inner`, a multivector of this library.

    Parameters
    ----------
    algebra : Algebra
    values : sequence, mapping or ndarray, optional
        A value for each key: numbers, symbols, texts of expressions, arrays; an array has components first.
    keys : sequence of int or str, optional
        Masks or names of blades; by default all of the grades.
    name : str, optional
        Of symbols, one for each key.
    grades : tuple of int, optional
        All by default.
    symbolcls : callable, optional
        What makes a symbol of a name.
    **items
        Values by the names of blades.

    Notes
    -----
    Operators are kingdon's: ``x >> y`` is x y ~x for x ~x = 1, ``x @ y`` is (x | y) ~y, and a list is taken one by one.
    A multivector is a value: coefficients are not assigned. Equal multivectors have equal coefficients, whether zeros
    are stored or not.

    Examples
    --------
    >>> from clifford_rand.compat.kingdon import Algebra
    >>> alg = Algebra(2)
    >>> u = alg.vector(name="u")
    >>> (u * u).e, (u * u).keys(), int(alg.multivector(e=1, e12=2).e21)
    (u1**2 + u2**2, (0,), -2)
    >>> X = alg.vector([[1.0, 2, 3], [4, 5, 6]])  # three vectors
    >>> (X * alg.blades.e1).e12, len(X), X.inner.shape
    (array([-4., -5., -6.]), 3, (3,))
    """

    __slots__ = ("algebra", "inner", "stored_keys")
    __array_ufunc__ = None  # a NumPy array beside a multivector is a coefficient

    algebra: Any
    inner: Any
    stored_keys: tuple[int, ...] | None

    def __init__(
        self,
        algebra: Any,
        values: Any = None,
        keys: Iterable[Any] | None = None,
        *,
        name: str | None = None,
        grades: tuple[int, ...] | None = None,
        symbolcls: Callable[[str], Any] = symbols,
        _fill: bool = False,
        **items: Any,
    ) -> None:
        if items:
            if values is not None or keys is not None:
                raise TypeError("blades by name are given without values and keys")
            values = values_by_mask(algebra, items)
        masks, values = masks_and_values(algebra, values, keys, name, grades, symbolcls)
        A = _filled(algebra, masks, coefficients_of(values))
        if algebra.graded and not _fill and A.inner.keys.size != len(masks):
            raise fail("keys", "MultiVector", "all blades of their grades, as the algebra is graded", masks)
        self.algebra, self.inner, self.stored_keys = algebra, A.inner, None if _fill else A.stored_keys

    def wrap(self, inner: Any) -> "MultiVector":
        """Return the multivector of the same algebra around one of this library."""
        return of(self.algebra, inner)

    def with_operand(self, operand: Any, function: Callable[["MultiVector"], Any]) -> Any:
        """Return ``function`` of a multivector or number; of each entry of a list, and of the value of a function."""
        operand = resolved(operand)
        if isinstance(operand, list | tuple):
            return type(operand)(self.with_operand(entry, function) for entry in operand)
        if isinstance(operand, MultiVector):
            return function(operand)
        number = is_scalar(operand) or isinstance(operand, np.ndarray)
        return function(self.wrap(self.algebra.own.scalar(operand))) if number else NotImplemented

    # ---- stored coefficients

    def keys(self) -> tuple[int, ...]:
        """Return the masks of the blades that are stored."""
        masks = tuple(int(mask) for mask in self.inner.keys.masks) if self.inner.keys.size else ()
        return self.stored_keys if self.stored_keys is not None and len(self.stored_keys) == len(masks) else masks

    def values(self) -> Any:
        """Return the coefficients in the order of the keys: a list, or an array (K, …) of a batch."""
        masks = np.array(self.keys(), dtype=self.inner.keys.masks.dtype if self.inner.keys.size else np.int64)
        signs = [self.algebra.sign_of(int(mask)) for mask in masks]
        array = self.inner.coefficients
        array = array[..., self.inner.keys.positions(masks)] if len(masks) else array
        array = array * np.array(signs) if -1 in signs else array
        return np.moveaxis(array, -1, 0) if self.inner.ndim else array.tolist()

    def items(self) -> Iterator[tuple[int, Any]]:
        """Return the pairs of masks and values."""
        return zip(self.keys(), self.values(), strict=True)

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades of the keys."""
        return tuple(sorted({mask.bit_count() for mask in self.keys()}))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of keys, and the axes of a batch."""
        return (self.inner.keys.size, *self.inner.shape)

    @property
    def type_number(self) -> int:
        """The number whose bits are the stored blades."""
        masks = set(self.keys())
        return sum(1 << i for i, mask in enumerate(self.algebra.canon2bin.values()) if mask in masks)

    @property
    def issymbolic(self) -> bool:
        """Whether coefficients are expressions."""
        return bool(self.inner.dtype == object)

    @property
    def free_symbols(self) -> set[Any]:
        """The symbols of the coefficients."""
        return set(self.inner.symbols_used()) if self.issymbolic else set()

    def __getattr__(self, name: str) -> Any:
        if not BLADE.fullmatch(name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute or blade {name!r}")
        mask_and_sign = self.algebra.find(name)
        if mask_and_sign is None:
            return 0
        mask, sign = mask_and_sign
        if not isinstance(self.inner, Multivector):  # traced
            value = self.inner[self.algebra.own.names.blade(mask)]
        elif (place := self.inner.keys.find(mask)) < 0:
            return 0
        else:
            value = self.inner.coefficients[..., place][()]
        return value if sign * self.algebra.sign_of(mask) > 0 else -value

    def __contains__(self, key: Any) -> bool:
        return self.algebra.mask(key) in self.keys()

    def __bool__(self) -> bool:
        return self.inner.keys.size > 0

    def __len__(self) -> int:
        return self.inner.shape[0] if self.inner.ndim else 0

    def __iter__(self) -> "Iterator[MultiVector]":
        return (self[i] for i in range(len(self)))

    def itermv(self) -> "Iterator[MultiVector]":
        """Return ``iter(self)``."""
        warnings.warn("itermv is deprecated: iterate over the multivector.", DeprecationWarning, stacklevel=2)
        return iter(self)

    def __getitem__(self, index: Any) -> "MultiVector":
        if not self.inner.ndim:
            raise IndexError("a single multivector has no batch axis to index; use A.e12 or A.values()")
        return of(self.algebra, self.inner[index], self.stored_keys)

    def grade(self, *grades: Any) -> "MultiVector":
        """Return the part of some grades."""
        listed = grades[0] if len(grades) == 1 and isinstance(grades[0], tuple) else grades
        if not isinstance(self.inner, Multivector):  # traced
            return self.wrap(self.inner.grade(*listed) if listed else self.inner.part(()))
        return self._chosen([mask for mask in self.keys() if mask.bit_count() in listed])

    def _chosen(self, masks: list[int]) -> "MultiVector":
        inner = self.inner.select_keys(keys_of_masks(self.algebra.d, tuple(masks)))
        return of(self.algebra, inner, tuple(masks))

    def asfullmv(self, canonical: bool = True) -> "MultiVector":
        """Return the multivector with all blades: by grade, or by mask with ``canonical=False``."""
        dense = self.inner.dense()
        return of(self.algebra, dense, None if canonical else tuple(range(len(self.algebra))))

    def map(self, func: Callable[..., Any]) -> "MultiVector":
        """Return the multivector of ``func(value)``, or ``func(key, value)`` of a function of two arguments."""
        pairs = self.items()
        two = takes_two(func)
        return _filled(self.algebra, self.keys(), coefficients_of([func(k, v) if two else func(v) for k, v in pairs]))

    def filter(self, func: Callable[..., Any] | None = None) -> "MultiVector":
        """Return the blades for which ``func(value)``, or ``func(key, value)``, is true; those not zero by default."""
        chosen: Callable[..., Any] = func or (lambda value: np.any(np.asarray(value) != 0))
        two = takes_two(chosen)
        return self._chosen([k for k, v in self.items() if (chosen(k, v) if two else chosen(v))])

    def __call__(self, *values: Any, **named: Any) -> "MultiVector":
        """Return the multivector with numbers or arrays for its symbols, in the order of their names or by name."""
        unknowns = sorted(self.free_symbols, key=str)
        if not unknowns:
            return self
        if values and named:
            raise TypeError("values are given in order or by name, not both")
        numbers = [named[str(symbol)] for symbol in unknowns] if named else list(values)
        if len(numbers) != len(unknowns):
            names = ", ".join(map(str, unknowns))
            raise TypeError(f"a value for each of {names} is needed. Got {len(numbers)} instead.")
        evaluated = numpy_function(unknowns, self.inner.coefficients.tolist())(*numbers)
        return _filled(self.algebra, tuple(int(mask) for mask in self.inner.keys.masks), coefficients_of(evaluated))

    # ---- operations

    @property
    def orientation(self) -> int:
        """The sign of the pseudoscalar of the basis."""
        return self.algebra.sign_of(len(self.algebra) - 1)

    add, __radd__ = both("__add__")
    sub, __rsub__ = both("__sub__")
    gp, __rmul__ = both("gp")
    ip, __ror__ = both("fat_dot")
    op, __rxor__ = both("wedge")
    rp, __rand__ = both(lambda A, B: A.inner.vee(B.inner) * A.orientation)
    sw, __rrshift__ = both(coefficients.sandwich)
    proj, __rmatmul__ = both(coefficients.projection)
    div, __rtruediv__ = both(lambda A, B: A.inner * B.inv().inner)
    lc = binary("lc")
    rc = binary("rc")
    sp = binary("scalar_product")
    cp = binary("commutator")
    acp = binary("anticommutator")
    __add__, __sub__, __mul__, __or__, __xor__, __and__ = add, sub, gp, ip, op, rp
    __rshift__, __matmul__, __truediv__ = sw, proj, div

    neg = __neg__ = unary("__neg__", "Return -A.")
    reverse = __invert__ = unary("reverse", "Return ~A.")
    involute = unary("involute", "Return the grade involution.")
    conjugate = unary("conjugate", "Return the Clifford conjugate.")
    inv = unary("inv", "Return the inverse.")
    outerexp = unary("outerexp", "Return Σ A^∧k / k!.")
    outersin = unary("outersin", "Return the terms of odd k of `outerexp`; no sign alternates.")
    outercos = unary("outercos", "Return the terms of even k of `outerexp`.")
    outertan = unary("outertan", "Return outersin(A) outercos(A)⁻¹.")

    def hodge(self) -> "MultiVector":
        """Return the right complement: A ∧ hodge(A) = I on blades."""
        return self.wrap(self.inner.right_complement() * self.orientation)

    def unhodge(self) -> "MultiVector":
        """Return what `hodge` was taken of."""
        return self.wrap(self.inner.left_complement() * self.orientation)

    def polarity(self) -> "MultiVector":
        """Return A I⁻¹; a `ZeroDivisionError` where I has no inverse."""
        if self.algebra.r:
            raise ZeroDivisionError("I has no inverse in a degenerate metric: dual() is the Hodge dual there.")
        return self.wrap(self.inner.dual() * self.orientation)

    def unpolarity(self) -> "MultiVector":
        """Return A I."""
        return self.wrap(self.inner * self.algebra.own.I * self.orientation)

    def _by_kind(self, kind: str, metric: Callable[[], Any], complement: Callable[[], Any]) -> Any:
        if kind not in ("auto", "polarity", "hodge"):
            raise fail("kind", "dual", '"auto", "polarity" or "hodge"', kind)
        return metric() if kind == "polarity" or (kind == "auto" and not self.algebra.r) else complement()

    def dual(self, kind: str = "auto") -> Any:
        """Return `polarity`, or `hodge` where the metric is degenerate."""
        return self._by_kind(kind, self.polarity, self.hodge)

    def undual(self, kind: str = "auto") -> Any:
        """Return what `dual` was taken of."""
        return self._by_kind(kind, self.unpolarity, self.unhodge)

    def normsq(self) -> "MultiVector":
        """Return A ~A, which is its own reverse: grades 2, 3, 6, 7, … vanish, and so does their rounding."""
        square = self.inner * ~self.inner
        return of(self.algebra, square.part(tuple(k for k in square.grades if k % 4 < 2)))

    def norm(self) -> "MultiVector":
        """Return the square root of A ~A."""
        return self.normsq().sqrt()

    def normalized(self) -> "MultiVector":
        """Return A over its norm, which need not be a number: a motor is brought to A ~A = 1."""
        return self / self.norm()

    sqrt, exp = coefficients.sqrt, coefficients.exp

    def __pow__(self, exponent: Any) -> "MultiVector":
        base = self if exponent >= 0 else self.inv()
        return base.sqrt() if abs(exponent) == 0.5 else self.wrap(base.inner ** abs(exponent))

    def __eq__(self, other: object) -> Any:
        number = not isinstance(other, MultiVector) and is_scalar(other)
        same: Any = self.wrap(self.algebra.own.scalar(other)) if number else other
        if not isinstance(same, MultiVector) or same.algebra != self.algebra:
            return NotImplemented
        if self.issymbolic or same.issymbolic:
            return not (self - same).filter()
        return bool(np.all(self.inner == same.inner))

    __hash__ = None  # as kingdon's

    def __repr__(self) -> str:
        names = self.algebra.name_of
        terms = [f"{v}" if not k else f"({v}) {names(k)}" for k, v in self.items() if np.any(np.asarray(v) != 0)]
        return " + ".join(terms) or "0"
