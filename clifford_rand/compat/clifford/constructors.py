"""`Cl`, which makes a layout, and conformal layouts: two more basis vectors, their null vectors, ``up``, ``down``."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand.compat.clifford.layout import Layout
from clifford_rand.compat.clifford.multivector import MultiVector
from clifford_rand.compat.clifford.operator import op
from clifford_rand.compat.clifford.order import BasisVectorIds
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.space import squares


def Cl(
    p: int = 0,
    q: int = 0,
    r: int = 0,
    *,
    sig: Sequence[int] | None = None,
    names: str | Sequence[str] | None = None,
    firstIdx: int = 1,
) -> tuple[Layout, dict[str, MultiVector]]:
    """Return (layout, blades) as ``clifford.Cl`` does.

    Parameters
    ----------
    p, q, r : int
        Numbers of basis vectors with square 1, -1 and 0. As in clifford 1.5 the null vectors come first, then
        the positive, then the negative, and the names start with e1 even if there is one null vector,
        which `Algebra` calls e0.
    sig : sequence of {1, -1, 0}, optional
        The squares in an order of your own.
    names : str or list of str, optional
        The prefix of the names, or the names of all 2^d blades, "" for the scalar.
    firstIdx : int, default=1
        The index of the first basis vector.

    Returns
    -------
    layout : Layout
    blades : dict of str to MultiVector
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
    ((1^e2), -(1^e12), 1)
    >>> Cl(2, 1, 1)[0].sig, Cl(1, 3, names="d", firstIdx=0)[0].basis_names
    (array([ 0,  1,  1, -1]), ['d0', 'd1', 'd2', 'd3'])
    """
    if sig is None:
        sig = squares(p, q, r, "Cl").tolist()
    elif p or q or r:
        raise fail("sig", "Cl", "given without p, q and r", list(sig))
    firstIdx = check_integer(firstIdx, "firstIdx", "Cl", low=0)
    ids = BasisVectorIds.ordered_integers(len(sig), first_index=firstIdx)
    layout = Layout(sig, ids=ids, names=names)
    return layout, layout.blades


class ConformalLayout(Layout):
    """A layout whose last two basis vectors, ep and en, square to 1 and -1, with the conformal model's constants.

    Attributes
    ----------
    ep, en, eo, einf, E0, I_base : MultiVector
        eo = (en - ep)/2, einf = en + ep, E0 = einf ∧ eo, and the wedge of the other basis vectors.
    """

    def __init__(self, *arguments: Any, layout: Layout | None = None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._base_layout = layout
        *vectors, ep, en = self.basis_vectors_lst
        self.ep, self.en = ep, en
        self.einf, self.eo = en + ep, (en - ep) / 2
        self.E0 = self.einf ^ self.eo
        self.I_base = functools.reduce(op, vectors, self.scalar)

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "layout": self._base_layout}

    def up(self, x: Any) -> MultiVector:
        """Return eo + x + x²/2 einf, the null vector of a point, of a vector of the base or of this algebra."""
        vector = x.grade(1) if isinstance(x, Multivector) else self.scalar.grade(1) * x
        values = vector.values
        if vector.algebra != self.algebra:  # of the base: ep and en are appended
            values = np.concatenate([values, np.zeros((*values.shape[:-1], 2), dtype=values.dtype)], axis=-1)
        point: Any = self.algebra.vector(values)
        # blades are exact: they take the precision of x
        kind = point.dtype if point.dtype.kind in "fcO" else np.float64
        square = (point * point).grade(0)
        return self.eo.astype(kind) + point + square * self.einf.astype(kind) / 2

    def homo(self, X: Any) -> Any:
        """Return the multiple of X with -X·einf = 1."""
        return X / -(X | self.einf).scalar_part()

    def down(self, X: Any) -> MultiVector:
        """Return the vector of the point X, in this algebra."""
        return self.euclidean_vector(self.homo(X))

    def euclidean_vector(self, A: Any) -> Any:
        """Return the part of a multivector in the span of the basis vectors of the base."""
        return self.algebra.vector(np.where(np.arange(self.dims) < self.dims - 2, A.grade(1).values, 0))


def conformalize(
    layout: Layout, added_sig: Sequence[int] = (1, -1), *, names: str | Sequence[str] | None = None
) -> tuple[ConformalLayout, dict[str, MultiVector], dict[str, Any]]:
    """Return (layout, blades, stuff) of the conformal algebra, as ``clifford.conformalize`` does.

    Two basis vectors with squares 1 and -1 are appended, ``ep`` and ``en``. ``stuff`` has them and eo = (en - ep)/2,
    einf = en + ep, E0 = einf∧eo, I_base, and the functions up(x) = eo + x + x²/2 einf, homo(X) = X/(-X·einf) and down.

    Examples
    --------
    >>> from clifford_rand.compat import Cl, conformalize
    >>> layout, blades, stuff = conformalize(Cl(2)[0])
    >>> P = stuff["up"](3 * blades["e1"] + 4 * blades["e2"])
    >>> P * P, stuff["down"](2 * P)
    (0, (3.0^e1) + (4.0^e2))
    """
    if sorted(added_sig) != [-1, 1]:
        raise fail("added_sig", "conformalize", "the squares 1 and -1", describe(f"{list(added_sig)}"))
    ids = layout.ids.augmented_with(2)
    conformal = ConformalLayout([*layout.sig.tolist(), *added_sig], ids=ids, names=names, layout=layout)
    stuff = {
        name: getattr(conformal, name) for name in ("ep", "en", "eo", "einf", "E0", "up", "down", "homo", "I_base")
    }
    return conformal, conformal.blades, stuff
