"""A metric with names: what an algebra is before there are multivectors."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from clifford_rand._checks import check_bool, check_integer, check_listed, describe, fail, is_whole, quantity
from clifford_rand._threads import cached_property
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.basis.coefficients import constant_of_a_trace
from clifford_rand.basis.keys import Keys, check_size, dense_keys, keys_of_grades
from clifford_rand.basis.metric import Metric, metric_of_gram, metric_of_signature
from clifford_rand.basis.rules import Names, custom_names, default_names
from clifford_rand.errors import BladeNameError

CONFORMAL = ("eo", "einf")  # the origin n_o and infinity n_∞ of a conformal algebra
MOST_NAMES = 4096  # blades whose places, or multivectors, an algebra remembers
LARGEST_DIMENSION = 10**7  # basis vectors: a mask of 1.2 MB for each blade, and 240 MB for the metric


class Space:
    """Basis vectors with a metric and names, equal where the metrics are; `Algebra` makes multivectors on top."""

    _preset = ""  # the call that made it, where repr shows that instead of the metric

    def __init__(
        self,
        p: int | None = None,
        q: int = 0,
        r: int = 0,
        *,
        signature: Sequence[int] | None = None,
        metric: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        ways = [name for name, value in (("p", p), ("signature", signature), ("metric", metric)) if value is not None]
        if len(ways) != 1 or (p is None and (q or r)):
            raise fail(
                "p", "Algebra", "given alone, or else signature or metric", describe(" and ".join(ways) or "nothing")
            )
        if metric is not None:
            self.form: Metric = metric_of_gram(metric)
        elif signature is not None:
            self.form = metric_of_signature(signature)
        else:
            self.form = Metric(squares(p, q, r, "Algebra"), None)
        self.d: int = self.form.d
        if names is not None:
            self.names: Names = custom_names(names, self.d)
            self._check_attributes()
        else:
            self.names = default_names(self.d, 0 if self._first_is_the_null_vector() else 1)

    def _first_is_the_null_vector(self) -> bool:
        diagonal = self.form.diagonal
        return (
            diagonal is not None
            and bool(self.d)
            and diagonal[0] == 0
            and sum(1 for value in diagonal.tolist() if value == 0) == 1
        )

    def _check_attributes(self) -> None:
        """Refuse blades named like attributes, which would hide them; p, q and r give way to blades."""
        for name in {*dir(type(self)), "d", "form", "names", "keys", "items", "grade"} - {"p", "q", "r"}:
            if not name.startswith("_") and self.names.parse(name) is not None:
                hint = f"Choose another name, as e{name}."
                raise fail("names", "Algebra", "names of blades that no attribute of Algebra has", name, hint)

    # ---- the metric

    def _count(self, name: str, index: int) -> Any:
        """Return p, q or r of the metric, or the basis blade of that name; the library itself reads `form.counts`."""
        return self.form.counts[index] if self.names.parse(name) is None else self.__getattr__(name)  # type: ignore[attr-defined]

    @property
    def p(self) -> Any:
        """The number of positive directions of the metric; the basis vector where one is named p, as for q and r.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> alg.p, alg.q, alg.r
        (3, 0, 1)
        """
        return self._count("p", 0)

    @property
    def q(self) -> Any:
        """The number of negative directions of the metric.

        Examples
        --------
        >>> cr.Algebra.sta().q, cr.Algebra(metric=[[0, 1], [1, 0]]).q
        (3, 1)
        """
        return self._count("q", 1)

    @property
    def r(self) -> Any:
        """The number of null directions of the metric.

        Examples
        --------
        >>> cr.Algebra(metric=[[1, 1], [1, 1]]).r
        1
        """
        return self._count("r", 2)

    @property
    def signature(self) -> tuple[int, ...]:
        """The squares of the basis vectors (1, -1, 0) if these are all; else the signs of the metric's eigenvalues.

        Examples
        --------
        >>> cr.Algebra.pga(2).signature, cr.Algebra(metric=[[0, 1], [1, 0]]).signature
        ((0, 1, 1), (1, -1))
        """
        if self.form.is_unit:
            assert self.form.diagonal is not None
            return tuple(self.form.diagonal.tolist())
        p, q, r = self.form.counts
        return (0,) * r + (1,) * p + (-1,) * q

    @property
    def metric(self) -> NDArray[Any]:
        """The Gram matrix e_i·e_j of the basis vectors (d, d), read-only.

        Examples
        --------
        >>> cr.Algebra.cga(1, null_basis=True).metric
        array([[ 1,  0,  0],
               [ 0,  0, -1],
               [ 0, -1,  0]])
        """
        return self.form.gram

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Space) and self.form == other.form)

    def __hash__(self) -> int:
        return hash(self.form)

    def __reduce__(self) -> Any:
        return _restore, (type(self), self.form, self.names, self._preset)

    def __repr__(self) -> str:
        if self._preset:
            return f"Algebra.{self._preset}"
        first = 0 if self._first_is_the_null_vector() else 1
        own = "" if self.names == default_names(self.d, first) else f", names={list(self.names.vectors)!r}"
        if self.form.is_unit:
            p, q, r = self.form.counts
            assert self.form.diagonal is not None
            if self.signature == (0,) * r + (1,) * p + (-1,) * q:
                return f"Algebra({', '.join(map(str, (p, q, r) if r else (p, q) if q else (p,)))}{own})"
            return f"Algebra(signature={list(self.signature)}{own})"
        return f"Algebra(metric={self.form.gram.tolist()}{own})"

    # ---- presets

    def _shown_as(self, preset: str) -> Self:
        self._preset = preset
        return self

    @classmethod
    def vga(cls, n: int) -> Self:
        """Return the algebra of Euclidean n-space, Cl(n).

        Examples
        --------
        >>> cr.Algebra.vga(3)
        Algebra(3)
        """
        return cls(check_integer(n, "n", "Algebra.vga"))

    @classmethod
    def pga(cls, n: int) -> Self:
        """Return the plane-based projective algebra of n-space, Cl(n, 0, 1): e0² = 0, then e1 to en.

        Examples
        --------
        >>> alg = cr.Algebra.pga(2)
        >>> alg.basis_vectors(), alg.e0 * alg.e0
        ([e0, e1, e2], 0)
        """
        return cls(check_integer(n, "n", "Algebra.pga"), 0, 1)._shown_as(f"pga({n})")

    @classmethod
    def cga(cls, n: int, *, null_basis: bool = False) -> Self:
        """Return the conformal algebra of n-space, Cl(n+1, 1).

        The last two basis vectors square to 1 and -1; with ``null_basis=True`` they are the origin ``eo`` and infinity
        ``ei`` with eo·ei = -1 and both squares 0. In either basis ``eo`` and ``einf`` are the origin and infinity.

        Examples
        --------
        >>> alg = cr.Algebra.cga(2, null_basis=True)
        >>> alg.eo * alg.eo, alg.eo | alg.ei, cr.Algebra.cga(2)
        (0, -1, Algebra.cga(2))
        >>> cr.Algebra.cga(3).eo, cr.Algebra.cga(3).einf
        (-0.5*e4 + 0.5*e5, e4 + e5)
        """
        n = check_integer(n, "n", "Algebra.cga")
        check_dimension(n, "Algebra.cga")
        if not check_bool(null_basis, "null_basis", "Algebra.cga"):
            return cls(n + 1, 1)._shown_as(f"cga({n})")
        check_size((n + 2) ** 2, "Algebra.cga", "the metric as a matrix")
        names = [*(f"e{i + 1}" for i in range(n)), "eo", "ei"]
        return cls(metric=conformal_gram(n), names=names)._shown_as(f"cga({n}, null_basis=True)")

    @classmethod
    def sta(cls) -> Self:
        """Return the space-time algebra Cl(1, 3), basis vectors g0 (square 1), g1, g2, g3 (square -1).

        Examples
        --------
        >>> alg = cr.Algebra.sta()
        >>> alg.g0 * alg.g0, alg.g1 * alg.g1
        (1, -1)
        """
        return cls(1, 3, names=["g0", "g1", "g2", "g3"])._shown_as("sta()")

    # ---- names and grades

    def parse_blade(self, name: str) -> tuple[int, int]:
        """Return (mask, sign) of a blade's name: bit i of the mask is basis vector i.

        Examples
        --------
        >>> cr.Algebra(3).parse_blade("e31")
        (5, -1)
        """
        place = self.names.parse(name) if isinstance(name, str) else None
        if place is None:
            raise BladeNameError(str(fail("name", "Algebra", "the name of a blade", name, self.names.hint)))
        return place

    @cached_property
    def _places(self) -> dict[tuple[Keys, str], tuple[int, int]]:
        return {}

    def _keys_of_tensor(self, grades: Any, owner: str, name: str) -> Keys:
        """Return what `_keys` does, for a tensor."""
        listed = grades if grades is None or isinstance(grades, int) else tuple(grades)
        keys_of_label: Keys = getattr(self.form.shelf, self._label_of(listed, owner, name))
        return keys_of_label

    @constant_of_a_trace
    def _label_of(self, grades: Any, owner: str, name: str) -> str:
        keys = self.keys_of(grades, owner, name)
        return self.form.shelf.put(keys.label, keys)

    def place(self, keys: Keys, name: str) -> tuple[int, int]:
        """Return (position, sign) of a blade, by its name, among the components of ``keys``; position -1 for none.

        Examples
        --------
        >>> alg = cr.Algebra(3)
        >>> A = alg("2*e1 + 3*e13")
        >>> alg.place(A.keys, "e31"), alg.place(A.keys, "e2")
        ((1, -1), (-1, 1))
        """
        try:
            return self._places[keys, name]
        except (KeyError, TypeError):
            mask, sign = self.parse_blade(name)
            if len(self._places) >= MOST_NAMES:
                self._places.clear()
            return self._places.setdefault((keys, name), (keys.find(mask), sign))

    def keys_of(self, grades: int | Iterable[int] | None, owner: str, name: str) -> Keys:
        """Return all blades of these grades, or the error that ``name`` asks for too many."""
        if grades is None:
            keys = dense_keys(self.d)
        else:
            rule = f"None, an integer from 0 to {self.d}, or several"
            single = is_whole(grades)
            listed = [grades] if single else check_listed(grades, "grades", owner, rule)
            wanted = sorted({check_integer(k, "grades", owner, low=0, high=self.d) for k in listed})
            keys = keys_of_grades(self.d, tuple(wanted))
        check_size(keys.size, owner, name)
        return keys


def squares(p: object, q: object, r: object, owner: str) -> NDArray[np.int8]:
    """Return the squares of the basis vectors: r null ones first, then p positive, then q negative."""
    hint = "Inner products of the basis vectors are metric=G, their squares signature=[1, 1, -1]."
    counts = [check_integer(value, name, owner, low=0, hint=hint) for name, value in (("p", p), ("q", q), ("r", r))]
    check_dimension(sum(counts), owner)
    return np.repeat(np.array([0, 1, -1], dtype=np.int8), [counts[2], counts[0], counts[1]])


def conformal_gram(n: int) -> NDArray[np.int64]:
    """Return the metric of the conformal algebra of n-space in its null basis: e1, …, en, n_o, n_∞."""
    gram = np.eye(n + 2, dtype=np.int64)
    gram[n:, n:] = [[0, -1], [-1, 0]]
    return gram


def has_null_basis(space: Space) -> bool | None:
    """Tell whether the last two basis vectors of a conformal algebra are n_o and n_∞; None for other algebras.

    Else they square to 1 and -1.
    """
    diagonal = space.form.diagonal
    if space.d < 3:
        return None
    if diagonal is None:
        return True if np.array_equal(space.metric, conformal_gram(space.d - 2)) else None
    return False if space.form.is_unit and (diagonal[:-1] == 1).all() and diagonal[-1] == -1 else None


def conformal_vector(algebra: Any, name: str) -> Any:
    """Return n_o or n_∞, in either basis, by its name; None for other names and algebras."""
    null = has_null_basis(algebra) if name in CONFORMAL else None
    if null is None:
        return None
    plus, minus = (algebra.blade(algebra.names.vector(i)) for i in (algebra.d - 2, algebra.d - 1))
    if null:
        return plus if name == "eo" else minus
    return (minus - plus) / 2 if name == "eo" else minus + plus


def check_dimension(d: int, owner: str) -> None:
    """Refuse more basis vectors than there is any use for, and say what they would take."""
    if d > LARGEST_DIMENSION:
        needed = quantity(24 * d)
        what = describe(f"d = {quantity(d, '')}, whose metric alone takes {needed}")
        raise fail("p", owner, f"such that d ≤ {LARGEST_DIMENSION}", what)


def _restore(kind: type[Space], form: Metric, names: Names, preset: str = "") -> Space:
    space = object.__new__(kind)
    space.form, space.d, space.names, space._preset = form, form.d, names, preset
    return space
