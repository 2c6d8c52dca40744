"""The class `Algebra` of ``kingdon``: keys are masks or names of blades, in an order and with signs of one's own."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import clifford_rand.algebra as own
from clifford_rand._checks import check_integer, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.basis.rules import parity
from clifford_rand.compat.kingdon.coefficients import BLADE, resolved
from clifford_rand.compat.kingdon.multivector import MultiVector, of
from clifford_rand.fusion.function import fused

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # kingdon's indices of basis vectors, one character each
LARGE = 6  # basis vectors up to which all blades are made beforehand

_BASES = {
    "2DPGA": (2, 0, 1, "e e1 e2 e0 e20 e01 e12 e012"),
    "3DPGA": (3, 0, 1, "e e1 e2 e3 e0 e01 e02 e03 e12 e31 e23 e032 e013 e021 e123 e0123"),
    "STAP": (
        *(3, 1, 1),
        "e e0 e1 e2 e3 e4 e01 e02 e03 e40 e12 e31 e23 e41 e42 e43 e234 e314 e124 e123 e014 e024 e034 e032 e013 e021 "
        "e0324 e0134 e0214 e0123 e1234 e01234",
    ),
}


def _of_grade(name: str, grade: Callable[[int], int]) -> Any:
    def method(self: "Algebra", *arguments: Any, **keywords: Any) -> MultiVector:
        return self.purevector(*arguments, grade=grade(self.d), **keywords)

    method.__name__, method.__doc__ = name, f"Return a {name}: see `multivector`."
    return method


def _operation(name: str) -> Any:
    def method(self: "Algebra", first: Any, *operands: Any) -> Any:
        first = resolved(first)
        if isinstance(first, list | tuple):
            return type(first)(getattr(A, name)(*operands) for A in first)
        return getattr(first, name)(*operands)

    method.__name__, method.__doc__ = name, f"Return ``A.{name}(…)``; of a list, that of each."
    return method


@dataclass(eq=False)
class Algebra:
    """A Clifford algebra as ``kingdon`` has it; `own` is the one of this library on which it computes.

    Parameters
    ----------
    p, q, r : int
        Numbers of basis vectors with square 1, -1 and 0. A single null vector comes first, several come last.
    signature : list of {1, -1, 0}, optional
        The squares in an order of your own.
    start_index : int, optional
        The index of the first basis vector: 0 where one vector is null, else 1.
    basis : list of str, optional
        The names of all blades by grade, ``["e", "e1", "e2", "e0", "e20", "e01", "e12", "e012"]``: their order, and
        with the order of a blade's vectors its sign.
    graded : bool, default=False
        Results have all blades of their grades.
    large : bool, optional
        Blades are made when they are asked for; by default for more than six basis vectors.

    Examples
    --------
    >>> from clifford_rand.compat.kingdon import Algebra
    >>> alg = Algebra(3, 0, 1)
    >>> x, P = alg.vector([1, 2, 3, 4]), alg.blades.e123
    >>> (x | P).grades, dict((x ^ P).items()), alg.vector(name="a").e2
    ((2,), {15: 1}, a2)
    """

    p: int = 0
    q: int = 0
    r: int = 0
    signature: list[int] | None = None
    start_index: int | None = None
    basis: list[str] = field(default_factory=list)
    graded: bool = False
    large: bool | None = None

    def __post_init__(self) -> None:
        if self.signature is None:
            null = [0] * self.r
            self.signature = (null if self.r == 1 else []) + [1] * self.p + [-1] * self.q + (null if self.r > 1 else [])
        self.signature = list(self.signature)
        if not set(self.signature) <= {1, -1, 0}:
            raise TypeError(f"a signature is made of 1, -1 and 0. Got {self.signature} instead.")
        self.p, self.q, self.r = (self.signature.count(square) for square in (1, -1, 0))
        self.d = len(self.signature)
        if self.start_index is None:
            self.start_index = 0 if self.r == 1 else 1
        if self.d + self.start_index > len(DIGITS):
            rule = f"such that indices are below {len(DIGITS)}"
            raise fail("p", "Algebra", rule, self.d, "Use clifford_rand.Algebra.")
        self.large = self.d > LARGE if self.large is None else self.large
        if self.basis:
            self._set_basis(list(self.basis))
        else:
            self._labels = DIGITS[self.start_index : self.start_index + self.d]
            self._signs: dict[int, int] = {}
            self.own = own.Algebra(signature=self.signature)
        self.blades = BladeDict(self)
        self.pss = self.blades[self.name_of(2**self.d - 1)]

    def _set_basis(self, basis: list[str]) -> None:
        """Take names, their order and their signs; vectors count in the order in which their names stand."""
        assert self.signature is not None
        vectors = [name[1:] for name in basis if len(name) == 2]
        self.start_index = min((DIGITS.find(label) for label in vectors), default=0)
        places = {label: i for i, label in enumerate(vectors)}
        masks = [sum(1 << places.get(label, self.d) for label in name[1:]) for name in basis]
        if sorted(masks) != list(range(2**self.d)) or [len(name) for name in basis] != sorted(map(len, basis)):
            raise fail("basis", "Algebra", f"the names of all {2**self.d} blades, by grade", basis)
        self.basis, self._labels = basis, "".join(vectors)
        self._signs = {mask: parity([places[c] for c in name[1:]]) for name, mask in zip(basis, masks, strict=True)}
        self._named = dict(zip(basis, masks, strict=True))
        squares = [self.signature[DIGITS.index(label) - self.start_index] for label in vectors]
        self.own = own.Algebra(signature=squares)

    @classmethod
    def fromname(cls, name: str, **options: Any) -> "Algebra":
        """Return an algebra with a well-known basis: "2DPGA", "3DPGA" or "STAP"."""
        if name not in _BASES:
            raise fail("name", "Algebra.fromname", f"one of {', '.join(_BASES)}", name)
        p, q, r, basis = _BASES[name]
        return cls(p, q, r, basis=basis.split(), **options)

    def __len__(self) -> int:
        return 2**self.d

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Algebra) and (self.signature, self.graded) == (other.signature, other.graded)
        return same and (self._labels, self._signs) == (other._labels, other._signs)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((tuple(self.signature or ()), self._labels, self.graded))

    # ---- names and masks

    def name_of(self, mask: int) -> str:
        """Return the name of a blade by its mask."""
        return self.bin2canon[mask] if self._signs else self._plain_name(mask)

    def _plain_name(self, mask: int) -> str:
        return "e" + "".join(self._labels[i] for i in range(self.d) if mask >> i & 1)

    def sign_of(self, mask: int) -> int:
        """Return the sign of a blade of the basis against the wedge of its vectors in ascending order."""
        return self._signs.get(mask, 1)

    def find(self, name: str) -> tuple[int, int] | None:
        """Return (mask, sign against the blade of the basis) of a name in any order; None outside of the algebra."""
        places = [self._labels.find(label) for label in name[1:]]
        if -1 in places or len(set(places)) < len(places):
            return None
        mask = sum(1 << place for place in places)
        return mask, parity(places) * self.sign_of(mask)

    def mask(self, key: Any) -> int:
        """Return the mask of a key, which is one already or the name of a blade of the basis."""
        if isinstance(key, int):
            return key
        if not isinstance(key, str) or key not in self.canon2bin:
            example = self.name_of(2**self.d - 1)
            raise KeyError(f"{key!r} is neither a mask nor the name of a blade, such as {example!r}")
        return self.canon2bin[key]

    @cached_property
    def canon2bin(self) -> dict[str, int]:
        """The masks by name, in the order of the basis."""
        if self._signs:
            return dict(self._named)
        masks = keys_of_grades(self.d, tuple(range(self.d + 1))).masks.tolist()
        return {self._plain_name(mask): mask for mask in masks}

    @cached_property
    def bin2canon(self) -> dict[int, str]:
        """The names by mask."""
        return dict(sorted((mask, name) for name, mask in self.canon2bin.items()))

    def indices_for_grade(self, grade: int) -> Iterator[int]:
        """Return the masks of a grade, in the order of the basis."""
        if self._signs:
            return (mask for mask in self.canon2bin.values() if mask.bit_count() == grade)
        return (sum(1 << i for i in chosen) for chosen in itertools.combinations(range(self.d), grade))

    def indices_for_grades(self, grades: Iterable[int]) -> Iterator[int]:
        """Return the masks of some grades, which are put in order."""
        return itertools.chain.from_iterable(self.indices_for_grade(grade) for grade in sorted(grades))

    @cached_property
    def cayley(self) -> dict[tuple[str, str], str]:
        """The table of products of blades: ``cayley["e1", "e12"]`` is "e2"."""
        table = {}
        for a, b in itertools.product(self.canon2bin, repeat=2):
            ((key, value),) = list((self.blades[a] * self.blades[b]).filter(lambda v: v != 0).items()) or [(0, 0)]
            table[a, b] = ("-" if value < 0 else "") + self.name_of(key) if value else "0"
        return table

    @cached_property
    def frame(self) -> list[MultiVector]:
        """The basis vectors."""
        return [self.blades[f"e{label}"] for label in self._labels]

    @cached_property
    def reciprocal_frame(self) -> list[MultiVector]:
        """The vectors e^i with e^i · e_j = δ_ij."""
        return [vector.inv() for vector in self.frame]

    # ---- multivectors

    def multivector(self, *arguments: Any, **keywords: Any) -> MultiVector:
        """Return a `MultiVector`: of values, of ``name="x"`` with a symbol for each blade, or of blades by name."""
        return MultiVector(self, *arguments, **keywords)

    def purevector(self, *arguments: Any, grade: int, **keywords: Any) -> MultiVector:
        """Return a multivector of one grade."""
        return MultiVector(self, *arguments, grades=(grade,), **keywords)

    def evenmv(self, *arguments: Any, **keywords: Any) -> MultiVector:
        """Return a multivector of even grades."""
        return MultiVector(self, *arguments, grades=tuple(range(0, self.d + 1, 2)), **keywords)

    def oddmv(self, *arguments: Any, **keywords: Any) -> MultiVector:
        """Return a multivector of odd grades."""
        return MultiVector(self, *arguments, grades=tuple(range(1, self.d + 1, 2)), **keywords)

    scalar = _of_grade("scalar", lambda d: 0)
    vector = _of_grade("vector", lambda d: 1)
    bivector = _of_grade("bivector", lambda d: 2)
    trivector = _of_grade("trivector", lambda d: 3)
    quadvector = _of_grade("quadvector", lambda d: 4)
    pseudoscalar = _of_grade("pseudoscalar", lambda d: d)
    pseudovector = _of_grade("pseudovector", lambda d: d - 1)
    pseudobivector = _of_grade("pseudobivector", lambda d: d - 2)
    pseudotrivector = _of_grade("pseudotrivector", lambda d: d - 3)
    pseudoquadvector = _of_grade("pseudoquadvector", lambda d: d - 4)

    # ---- operations as functions, and functions that are compiled

    gp, sw, cp, acp, ip, sp = map(_operation, ("gp", "sw", "cp", "acp", "ip", "sp"))
    lc, rc, op, rp, proj = map(_operation, ("lc", "rc", "op", "rp", "proj"))
    add, sub, div, inv, neg = map(_operation, ("add", "sub", "div", "inv", "neg"))
    reverse, involute, conjugate, sqrt = map(_operation, ("reverse", "involute", "conjugate", "sqrt"))
    polarity, unpolarity, hodge, unhodge = map(_operation, ("polarity", "unpolarity", "hodge", "unhodge"))
    normsq, outerexp, outersin, outercos = map(_operation, ("normsq", "outerexp", "outersin", "outercos"))
    outertan = _operation("outertan")

    def register(self, expr: Any = None, /, *, name: str | None = None, symbolic: bool = False) -> Any:
        """Return a function of multivectors that is compiled by `clifford_rand.fused`; ``@alg.register``.

        Batches are one loop over the samples. A single multivector, and one with symbols, takes the plain function,
        ``f.codegen``.
        """
        if expr is None:
            return lambda function: Registered(function, name)
        return Registered(expr, name)


class BladeDict(Mapping[str, MultiVector]):
    """The blades by name, in any order of their vectors: ``blades["e12"]``, ``blades.e12``, ``blades.grade(2)``."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra, self.lazy = algebra, bool(algebra.large)
        self._blades: dict[str, MultiVector] = {}
        if not self.lazy:
            for name in algebra.canon2bin:
                self[name]

    def __getitem__(self, name: str) -> MultiVector:
        mask_and_sign = self.algebra.find(name) if BLADE.fullmatch(name) else None
        if mask_and_sign is None:
            raise AttributeError(f"{name!r} is not a blade of {self.algebra!r}")
        mask, sign = mask_and_sign
        own_name = self.algebra.name_of(mask)
        if own_name not in self._blades:
            self._blades[own_name] = MultiVector(self.algebra, keys=(mask,), values=[1], _fill=True)
        return self._blades[own_name] if sign > 0 else -self._blades[own_name]

    def __getattr__(self, name: str) -> MultiVector:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blades)

    def __len__(self) -> int:
        return len(self._blades)

    def grade(self, *grades: Any) -> dict[str, MultiVector]:
        """Return the blades of some grades by name."""
        listed = grades[0] if len(grades) == 1 and isinstance(grades[0], tuple) else grades
        for k in listed:
            check_integer(k, "grades", "blades.grade", low=0)
        return {name: self[name] for name in map(self.algebra.name_of, self.algebra.indices_for_grades(listed))}

    def __repr__(self) -> str:
        return describe(f"<blades of {self.algebra!r}>")


class Registered:
    """A function of multivectors; ``codegen`` is the plain one, ``fused`` the compiled one of this library's."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        functools.update_wrapper(self, function)
        self.codegen = function
        self.__name__ = name or function.__name__
        self._fused: dict[Any, Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's value."""
        multivectors = [A for A in arguments if isinstance(A, MultiVector)]
        batches = any(A.inner.ndim for A in multivectors) and not any(A.issymbolic for A in multivectors)
        if not batches:
            return self.codegen(*arguments)
        algebra = multivectors[0].algebra
        places = tuple(isinstance(A, MultiVector) for A in arguments)
        if (algebra, places) not in self._fused:
            self._fused[algebra, places] = fused(self._inner(algebra, places))
        values = self._fused[algebra, places](*(A.inner if isinstance(A, MultiVector) else A for A in arguments))
        return _outer(algebra, values)

    def _inner(self, algebra: Any, places: tuple[bool, ...]) -> Callable[..., Any]:
        def function(*inner: Any) -> Any:
            pairs = zip(inner, places, strict=True)
            return _bare(self.codegen(*(of(algebra, A) if wrapped else A for A, wrapped in pairs)))

        return function


def _bare(value: Any) -> Any:
    if isinstance(value, MultiVector):
        return value.inner
    return type(value)(map(_bare, value)) if isinstance(value, list | tuple) else value


def _outer(algebra: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_outer(algebra, entry) for entry in value)
    return of(algebra, value) if hasattr(value, "keys") and hasattr(value, "algebra") else value
