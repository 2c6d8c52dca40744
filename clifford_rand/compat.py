"""For those who come from the ``clifford`` package: ``Cl(p, q, r)`` returns a layout and a dictionary of blades.

The blades are multivectors of this library; ``docs/migration.md`` has the table of what is spelled differently.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from clifford_rand._checks import check_integer, fail
from clifford_rand._threads import cached_property
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import read_only
from clifford_rand.basis.keys import dense_keys
from clifford_rand.basis.names import default_names
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.space import squares

_LARGEST = 12  # basis vectors for which a dictionary of all 2^d blades is made


class Layout:
    """What ``clifford`` calls a layout: the algebra with the attributes of that package.

    Attributes
    ----------
    algebra : Algebra
        This library's object, with everything that is not here.
    sig : ndarray of shape (d,)
        The squares of the basis vectors.
    dims, gaDims : int
        d and 2^d.
    """

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.sig: NDArray[np.int64] = read_only(np.array(algebra.signature, dtype=np.int64))
        self.dims = algebra.d
        self.gaDims = 2**algebra.d
        self.metric: NDArray[np.float64] = read_only(algebra.metric.astype(np.float64))

    @cached_property
    def names(self) -> list[str]:
        """The names of all blades in the order of the coefficients; "" for the scalar."""
        return ["", *list(self.algebra.blades)[1:]]

    @cached_property
    def blades(self) -> Mapping[str, Multivector]:
        """All blades by name; "" is the scalar 1."""
        return MappingProxyType({name: self.algebra.blade(name or "1") for name in self.names})

    @property
    def blades_list(self) -> list[Multivector]:
        """All blades in the order of the coefficients."""
        return list(self.blades.values())

    def blades_of_grade(self, grade: int) -> list[Multivector]:
        """Return the blades of one grade."""
        return list(self.algebra.blades.grade(grade).values())

    @property
    def basis_names(self) -> list[str]:
        """The names of the basis vectors."""
        return [self.algebra.names.vector(i) for i in range(self.dims)]

    @property
    def basis_vectors(self) -> dict[str, Multivector]:
        """The basis vectors by name."""
        return dict(zip(self.basis_names, self.basis_vectors_lst, strict=True))

    @property
    def basis_vectors_lst(self) -> list[Multivector]:
        """The basis vectors."""
        return self.algebra.basis_vectors()

    @property
    def scalar(self) -> Multivector:
        """The scalar 1."""
        return self.algebra.scalar(1)

    @property
    def pseudoScalar(self) -> Multivector:
        """The pseudoscalar e1∧…∧ed."""
        return self.algebra.I

    I = pseudoScalar  # noqa: E741  # clifford has both names

    @property
    def gradeList(self) -> list[int]:
        """The grade of each coefficient."""
        return [int(k) for k in dense_keys(self.dims).grade_of]

    def grade_mask(self, grade: int) -> NDArray[np.bool_]:
        """Return where the coefficients of one grade are: (2^d,) of bool."""
        check_integer(grade, "grade", "grade_mask", low=0, high=self.dims)
        return np.asarray(dense_keys(self.dims).grade_of == grade)

    def MultiVector(self, value: ArrayLike | None = None, *, dtype: DTypeLike | None = None) -> Multivector:
        """Return a multivector of all 2^d coefficients (zeros by default); leading axes are a batch."""
        if value is None:
            return self.algebra.multivector(np.zeros(self.gaDims, dtype=dtype or np.float64))
        return self.algebra.multivector(value, dtype=dtype)

    def parse_multivector(self, text: str) -> Multivector:
        """Return the multivector of a text as ``clifford`` prints them, ``1 + (2^e1) - (3^e12)``.

        ``^`` between a number and a blade is a product there, and binds closest; it is read as ``*``.
        """
        if not isinstance(text, str):
            raise fail("text", "parse_multivector", "a string", text)
        return self.algebra(text.replace("^", "*"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.algebra == other.algebra

    def __hash__(self) -> int:
        return hash(self.algebra)

    def __repr__(self) -> str:
        return f"Layout({self.sig.tolist()}, names={self.basis_names})"


def Cl(
    p: int = 0, q: int = 0, r: int = 0, *, sig: Sequence[int] | None = None, firstIdx: int = 1
) -> tuple[Layout, dict[str, Multivector]]:
    """Return (layout, blades) as ``clifford.Cl`` does.

    Parameters
    ----------
    p, q, r : int
        Numbers of basis vectors with square 1, -1 and 0. As in clifford 1.5 the null vectors come first, then
        the positive, then the negative, and the names start with e1 even if there is one null vector,
        which `Algebra` calls e0.
    sig : sequence of {1, -1, 0}, optional
        The squares in an order of your own.
    firstIdx : int, default=1
        The index of the first basis vector.

    Returns
    -------
    layout : Layout
    blades : dict of str to Multivector
        All 2^d blades by name, "" for the scalar 1.

    Raises
    ------
    ArgumentError
        For d > 12, where a dictionary of all blades is not made: use `Algebra`.

    Examples
    --------
    >>> from clifford_rand.compat import Cl
    >>> layout, blades = Cl(3)
    >>> e1, e12 = blades["e1"], blades["e12"]
    >>> e1 * e12, ~e12, e12.inner(e12)
    (e2, -e12, 1)
    >>> Cl(2, 1, 1)[0].sig
    array([ 0,  1,  1, -1])
    """
    if sig is None:
        sig = squares(p, q, r, "Cl").tolist()
    elif p or q or r:
        raise fail("sig", "Cl", "given without p, q and r", list(sig))
    first = check_integer(firstIdx, "firstIdx", "Cl", low=0)
    if len(sig) > _LARGEST:
        raise fail(
            "p", "Cl", f"such that p + q + r ≤ {_LARGEST}", len(sig), "Use Algebra, which makes no list of blades."
        )
    algebra = Algebra(signature=list(sig))
    algebra.names = default_names(algebra.d, first)
    layout = Layout(algebra)
    return layout, dict(layout.blades)


def conformalize(layout: Layout) -> tuple[Layout, dict[str, Multivector], dict[str, Any]]:
    """Return (layout, blades, stuff) of the conformal algebra, as ``clifford.conformalize`` does.

    Two basis vectors with squares 1 and -1 are appended, ``ep`` and ``en``. ``stuff`` has them and eo = (en - ep)/2,
    einf = en + ep, E0 = einf∧eo, I_base, and the functions up(x) = eo + x + x²/2 einf, homo(X) = X/(-X·einf) and down.

    Examples
    --------
    >>> from clifford_rand.compat import Cl, conformalize
    >>> layout, blades, stuff = conformalize(Cl(2)[0])
    >>> P = stuff["up"](3 * blades["e1"] + 4 * blades["e2"])
    >>> P * P, stuff["down"](2 * P)
    (0, 3.0*e1 + 4.0*e2)
    """
    d = layout.dims
    first = int(layout.basis_names[0][1:])
    made, blades = Cl(sig=[*layout.sig.tolist(), 1, -1], firstIdx=first)
    vectors = made.basis_vectors_lst
    ep, en = vectors[d], vectors[d + 1]
    einf, eo = en + ep, (en - ep) / 2
    base = made.algebra.scalar(1)
    for vector in vectors[:d]:
        base = base ^ vector

    def up(x: Multivector) -> Multivector:
        """Return the null vector of a point, given as a vector of the base or of the conformal algebra."""
        vector = x.grade(1)
        values = vector.values
        if x.algebra != made.algebra:
            values = np.concatenate([values, np.zeros((*x.shape, 2), dtype=x.dtype)], axis=-1)
        point = made.algebra.vector(values)
        square: Multivector = (point * point).grade(0)
        kind = x.dtype if x.dtype.kind in "fcO" else np.float64  # the blades are exact: they take the precision of x
        return eo.astype(kind) + point + square * einf.astype(kind) / 2

    def homo(X: Multivector) -> Multivector:
        """Return the point with -X·einf = 1."""
        return X / -(X | einf).scalar_part()

    def down(X: Multivector) -> Multivector:
        """Return the vector of the point X."""
        return made.algebra.vector(np.where(np.arange(d + 2) < d, homo(X).grade(1).values, 0))

    stuff = {"ep": ep, "en": en, "eo": eo, "einf": einf, "E0": einf ^ eo, "I_base": base}
    return made, blades, {**stuff, "up": up, "down": down, "homo": homo}
