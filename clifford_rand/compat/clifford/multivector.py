"""The class `MultiVector`: this library's multivector with the names and the operators of ``clifford``."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import ArrayLike, DTypeLike, NDArray
from clifford_rand.basis.coefficients import as_coefficients, copy_by_component, read_only
from clifford_rand.basis.keys import Keys, dense_keys
from clifford_rand.geometry import projections
from clifford_rand.multivector import arithmetic, comparison, components, display, numpy_functions, products
from clifford_rand.multivector.multivector import Multivector

EPS = 1e-12  # clifford's default: the largest difference of coefficients that `==` ignores


class Grades(tuple[int, ...]):
    """The grades that are stored, as everywhere here; called, ``A.grades()``, the set of those that are not zero."""

    owner: Multivector

    def __call__(self, eps: float = EPS) -> set[int]:
        """Return the grades that have a coefficient above ``eps``."""
        A = self.owner
        nonzero = (np.abs(A.coefficients) > eps).any(axis=tuple(range(A.ndim)))
        return {int(k) for k in A.keys.grade_of[nonzero]}


def _binary(operation: Any, reflected: bool = False) -> Any:
    """Return the method of an operator: of one multivector and an array it is an `MVArray`, as in clifford."""

    def method(A: "MultiVector", other: Any) -> Any:
        if other.__class__ is not MultiVector and isinstance(other, np.ndarray) and not A.ndim:
            return A.layout.elementwise(lambda x: operation(A, x), other) if other.ndim else operation(A, other[()])
        return operation(A, other)

    method.__name__ = method.__qualname__ = f"{'r' if reflected else ''}{getattr(operation, '__name__', 'product')}"
    return method


class MultiVector(Multivector):
    """A multivector of a `Layout`, with clifford's names beside those of `clifford_rand.Multivector`.

    Parameters
    ----------
    layout : Layout
    value : array_like of shape (..., 2^d), optional
        Coefficients in the order of the layout; zeros by default.
    string : str, optional
        A text instead, as `Layout.parse_multivector` reads it.
    dtype : default float64
        Of the zeros.

    Notes
    -----
    ``|`` is Hestenes' product (zero for scalars), ``B.project(A)`` puts A on B, ``A.dual()`` is the right complement
    where the metric has no inverse, and ``==`` allows `EPS` times the larger of 1 and the largest coefficient. A
    multivector is a value: ``A.replace({"e1": 3.0})`` makes another, and ``A.value`` is read-only.

    Examples
    --------
    >>> from clifford_rand.compat.clifford import Cl
    >>> layout, blades = Cl(3)
    >>> e1, e2 = blades["e1"], blades["e2"]
    >>> A = 1 + 2 * e1 + 3 * e1 * e2
    >>> A(2), int(A[1, 2]), int(A[e1]), A.value.tolist()
    ((3^e12), 3, 2, [1, 2, 0, 0, 3, 0, 0, 0])
    >>> A.even, A.grades(), 2 | e1
    (1 + (3^e12), {0, 1, 2}, 0)
    """

    __slots__ = ()
    __array_priority__ = 100

    def __init__(
        self, layout: Any, value: ArrayLike | None = None, string: str | None = None, *, dtype: DTypeLike = np.float64
    ) -> None:
        self.algebra = layout.algebra
        if value is None and string is not None:
            parsed = layout.parse_multivector(string)
            self.keys, self.coefficients = parsed.keys, parsed.coefficients
            return
        value = np.zeros(layout.gaDims, dtype=dtype) if value is None else value
        array = as_coefficients(value, "value", "MultiVector")
        if array.ndim == 0 or array.shape[-1] != layout.gaDims:
            rule = f"a sequence of {layout.gaDims} components on its last axis"
            raise fail("value", "MultiVector", rule, describe(f"shape {array.shape}"))
        self.keys = dense_keys(layout.dims)
        self.coefficients = read_only(copy_by_component(layout.stored(array)))

    def new(self, keys: Keys, coefficients: NDArray[Any]) -> "MultiVector":
        """Return a multivector of the same layout without checks."""
        return multivector_of(self.algebra, keys, coefficients)

    def coerce(self, other: object, *, keep: bool = True) -> Any:
        """Return ``other`` as a multivector of the layout; None if it is neither that nor a scalar."""
        operand = super().coerce(other, keep=keep)
        if operand.__class__ is Multivector:
            return self.new(operand.keys, operand.coefficients)
        return operand

    def __reduce__(self) -> Any:
        return multivector_of, (self.algebra, self.keys, self.coefficients)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return self.layout.array(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        values = [x[()] if isinstance(x, np.ndarray) and x.dtype == object and not x.ndim else x for x in inputs]
        arrays = any(isinstance(x, np.ndarray) and x.ndim for x in values)
        if arrays and method == "__call__" and not any(x.ndim for x in values if isinstance(x, MultiVector)):
            return ufunc(*(self.layout.array(x) if isinstance(x, MultiVector) else x for x in values), **kwargs)
        return numpy_functions.by_ufunc(self, ufunc, method, *values, **kwargs)

    # ---- stored coefficients

    layout = property(lambda self: self.algebra.layout, doc="The layout.")

    @property
    def value(self) -> NDArray[Any]:
        """The 2^d coefficients in the order of the layout, read-only."""
        return self.layout.listed(self.dense().coefficients)

    def as_array(self) -> NDArray[Any]:
        """Return `value`."""
        return self.value

    @property
    def grades(self) -> Grades:
        """The grades that are stored; ``A.grades()`` is the set of those that are not zero."""
        grades = Grades(self.keys.grades)
        grades.owner = self
        return grades

    @property
    def blades_list(self) -> "list[MultiVector]":
        """The blades that are not zero, each with its coefficient."""
        return [c * b for c, b in zip(self.value, self.layout.blades_list, strict=True) if not abs(c) < EPS]

    I = pseudoScalar = property(lambda self: self.layout.pseudoScalar, doc="The pseudoscalar.")  # noqa: E741, N815

    def invPS(self) -> "MultiVector":
        """Return the inverse of the pseudoscalar."""
        return self.pseudoScalar.inv()

    def __getitem__(self, index: Any) -> Any:
        """Return a coefficient, by a name, a tuple of ids, a basis blade or its place; of a batch, a part."""
        if isinstance(index, str):
            mask = self.layout.mask_of_name(index)
            return super().__getitem__(index) if mask is None else self._at(mask)
        if isinstance(index, MultiVector) and not index.ndim:
            (places,) = np.nonzero(index.coefficients)
            if len(places) != 1:
                raise fail("index", "MultiVector", "a single basis blade", describe(f"{index}"))
            return self._at(int(index.keys.masks[places[0]]))
        if self.ndim:
            return super().__getitem__(index)
        if isinstance(index, tuple):
            sign, mask = self.layout.ids.tuple_as_sign_and_bitmap(index)
            return sign * self._at(mask)
        return self.value[index]

    def _at(self, mask: int) -> Any:
        place = self.keys.find(mask)
        return np.zeros(self.shape, dtype=self.dtype)[()] if place < 0 else self.coefficients[..., place][()]

    def __call__(self, *what: Any) -> "MultiVector":
        """Return the part of some grades, ``A(0, 2)``, or the projection on a blade, ``A(B)``."""
        if len(what) == 1 and isinstance(what[0], Multivector):
            return self.coerce(what[0]).project(self)
        if any(isinstance(k, bool) or not isinstance(k, int | np.integer) for k in what):
            raise fail("grades", "MultiVector", "integers, or one blade", what)
        if not what:
            return self  # A.even() is A.even, where code for `clifford_rand.Multivector` is run
        return components.part(self, tuple(sorted({int(k) for k in what if 0 <= k <= self.layout.dims})))

    even = property(components.even, doc="The part of even grades.")
    odd = property(components.odd, doc="The part of odd grades.")

    # ---- operators

    __add__ = __radd__ = _binary(arithmetic.add)
    __sub__ = _binary(arithmetic.subtract)
    __rsub__ = _binary(arithmetic.subtract_from, reflected=True)
    __mul__ = _binary(arithmetic.times)
    __rmul__ = _binary(arithmetic.scale, reflected=True)
    __truediv__ = _binary(arithmetic.divide)
    __rtruediv__ = _binary(arithmetic.divide_into, reflected=True)
    __xor__, __rxor__ = map(_binary, products.operators("wedge"))
    __or__, __ror__ = map(_binary, products.operators("hestenes"))
    __and__, __rand__ = map(_binary, products.operators("vee"))
    __lshift__, __rlshift__ = map(_binary, products.operators("lc"))
    __hash__ = None  # as == is not exact

    def __pow__(self, exponent: Any) -> Any:
        whole = isinstance(exponent, float) and exponent.is_integer()
        return arithmetic.power(self, int(exponent) if whole else exponent)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Multivector) and other.algebra != self.algebra:
            return False
        same = self.coerce(other, keep=False)
        if same is None:
            return NotImplemented
        a, b = comparison.aligned(self, same)
        if "O" in (a.dtype.kind, b.dtype.kind):
            return comparison.equal(self, same)
        apart, size = comparison.apart_and_scale(a, b)
        close = apart <= EPS * np.maximum(size, 1)
        return bool(close) if close.ndim == 0 else close

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same if isinstance(same, bool) else ~same

    def __bool__(self) -> bool:
        if self.ndim:
            return super().__bool__()
        return not bool((np.abs(self.coefficients) < EPS).all())

    def __iter__(self) -> "Iterator[Any]":
        return super().__iter__() if self.ndim else iter(self.value)

    # ---- clifford's names

    adjoint = products.reverse
    gradeInvol = products.involute  # noqa: N815  # clifford's name
    x = products.commutator
    mag2 = Multivector.norm_squared
    normal = Multivector.normalized
    leftLaInv = leftInv = rightInv = hitzer_inverse = shirokov_inverse = Multivector.inv  # noqa: N815

    def normalInv(self, check: bool = True) -> "MultiVector":
        """Return ~A / (A ~A), for A ~A a number other than zero; with ``check=False`` ~A / ⟨A ~A⟩_0."""
        square = self * ~self
        if check and (not square.isScalar() or square[()] == 0):
            raise fail("A", "normalInv", "such that A ~A is a number other than zero", describe(f"A ~A = {square}"))
        return ~self / square[()]

    def dual(self, I: Multivector | None = None) -> "MultiVector":  # noqa: E741  # clifford's name
        """Return A I⁻¹, by default with the pseudoscalar; the right complement where that has no inverse."""
        if I is not None:
            return self * I.inv()
        return products.right_complement(self) if self.algebra.form.is_degenerate else products.dual(self)

    def project(self, other: Any) -> "MultiVector":
        """Return (B ⌋ A) A⁻¹: ``other`` on this blade A. `clifford_rand.Multivector.project` has it the other way."""
        return projections.project(self.operand(other, "project"), self)

    def factorise(self) -> "tuple[list[MultiVector], Any]":
        """Return (vectors, scale) of a blade: A = scale v1 ∧ … ∧ vk."""
        scale, vectors = self.factorize_blade()
        return vectors, scale

    def basis(self) -> "list[MultiVector]":
        """Return vectors that span the subspace of a blade, orthonormal in coordinates."""
        return self.factorize_blade()[1]

    def isScalar(self) -> bool:
        """Tell whether all coefficients above grade 0 are below `EPS`."""
        return bool((np.abs(self.coefficients[..., self.keys.grade_of > 0]) < EPS).all())

    def isVersor(self) -> bool:
        """Tell whether A is a product of vectors that have inverses."""
        return bool(self.is_versor())

    def isBlade(self) -> bool:
        """Tell whether A is a blade that has an inverse; `is_blade` accepts null blades too."""
        return bool(self.is_blade()) and self.isVersor()

    def join(self, other: Any, **options: Any) -> "MultiVector":
        """Return the span of two blades, of norm 1: A ∧ B, or A (A ∨ B)⁻¹ ∧ B, or the larger and vectors of the other.

        Null blades and batches have that of `Multivector.span`.
        """
        if isinstance(other, Multivector) and not (self.ndim or other.ndim or options):
            J, common = self ^ other, self & other
            if J == 0 and _is_regular(common):
                J = self * common.normal().inv() ^ other
            elif J == 0:
                swapped = max(self.sparse().keys.grades, default=0) < max(other.sparse().keys.grades, default=0)
                J, smaller = (other, self) if swapped else (self, other)
                for vector in self.layout.basis_vectors_lst if _is_regular(smaller) else ():
                    projected = vector.lc(smaller) * smaller.inv()
                    J = J if (J ^ projected) == 0 else J ^ projected
            if _is_regular(J):
                return J.normal()
        return super().span(other, **options)

    def meet(self, other: Any, subspace: Any = None) -> "MultiVector":
        """Return the meet of two blades, (A ⌋ S⁻¹) ⌋ B for ``subspace`` S, by default their join."""
        if subspace is None:
            subspace = self.join(other)
            if self.ndim or not _is_regular(subspace):
                return super().intersection(other)
        return self.lc(subspace.inv()).lc(other)

    def clean(self, eps: float = EPS) -> "MultiVector":
        """Return A with the coefficients that are at most ``eps`` in size put to 0."""
        return self.new(self.keys, np.where(np.abs(self.coefficients) > eps, self.coefficients, 0))

    def round(self, eps: int = 12) -> "MultiVector":
        """Return A with its coefficients rounded to so many digits after the point."""
        return self.new(self.keys, np.around(self.coefficients, eps))

    # ---- text: 1 - (2^e12)

    def __str__(self) -> str:
        return display.full_text(self) if self.ndim else _text(self.clean(), _rounded)

    def __repr__(self) -> str:
        return display.short_text(self) if self.ndim else _text(self, repr)

    def __format__(self, specification: str) -> str:
        if not specification or self.ndim:
            return display.formatted_text(self, specification) if self.ndim else str(self)
        return _text(self, lambda value: format(value, specification))


def multivector_of(algebra: Any, keys: Keys, coefficients: NDArray[Any]) -> MultiVector:
    """Return the multivector of keys and coefficients that nobody else holds, without checks."""
    coefficients.setflags(False)  # type: ignore[call-arg]
    A = object.__new__(MultiVector)
    A.algebra, A.keys, A.coefficients = algebra, keys, coefficients
    return A


def _rounded(value: Any) -> str:
    return str(round(value, 5)) if isinstance(value, float) else str(value)


def _text(A: MultiVector, number: Any) -> str:
    """Return clifford's text of one multivector, which `Layout.parse_multivector` reads."""
    pieces: list[str] = []
    for mask, value in display.terms_of(A):
        negative, size, compound = display.sign_and_size(value, number)
        size = f"({size})" if compound else size
        lead = (" - " if negative else " + ") if pieces else "-" if negative else ""
        pieces.append(lead + (f"({size}^{A.layout.name_of_mask(mask)})" if mask else size))
    return "".join(pieces) or "0"


def _is_regular(blade: MultiVector) -> bool:
    """Tell whether a blade is neither zero nor null."""
    return bool(blade != 0) and abs(blade.mag2()) > EPS
