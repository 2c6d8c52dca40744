"""`Cl`, which makes a layout, conformal layouts, and the algebras ``g3``, ``g3c``, ``pga``, … made on import."""

import functools
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand.compat.clifford.layout import Layout
from clifford_rand.compat.clifford.multivector import MultiVector
from clifford_rand.compat.clifford.operator import op
from clifford_rand.compat.clifford.order import BasisVectorIds
from clifford_rand.compat.clifford.transformations import BladeMap
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
    constants = ("ep", "en", "eo", "einf", "E0", "up", "down", "homo", "I_base")
    return conformal, conformal.blades, {name: getattr(conformal, name) for name in constants}


Names = dict[str, Any]


class AlgebraFinder(MetaPathFinder, Loader):
    """The finder and loader of the modules: ``import clifford_rand.compat.clifford.g3c`` makes the algebra."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the specification of a module with a predefined algebra, None for other modules."""
        package, _, name = fullname.rpartition(".")
        return ModuleSpec(fullname, self) if package == __package__ and name in BUILDERS else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the names of the algebra into its module."""
        build = BUILDERS[module.__name__.rpartition(".")[2]]
        module.__doc__ = build.__doc__
        module.__dict__.update(build())


def _named(blades: Names) -> Names:
    return {name: blade for name, blade in blades.items() if name}


def _plain(*counts: int, **options: Any) -> Callable[[], Names]:
    def build() -> Names:
        layout, blades = Cl(*counts, **options)
        return {"layout": layout, "blades": blades, **_named(blades)}

    build.__doc__ = f"Cl{counts}: ``layout``, ``blades``, and each blade by its name."
    return build


def _conformal(n: int) -> Callable[[], Names]:
    def build() -> Names:
        base, base_blades = Cl(n)
        layout, blades, stuff = conformalize(base)
        names = {"layout_orig": base, "blades_orig": base_blades, "layout": layout, "blades": blades, "stuff": stuff}
        return {**names, **_named(blades), **stuff}

    build.__doc__ = f"The conformal algebra of {n}-space: blades by their names, ``eo``, ``einf``, ``up``, ``down``."
    return build


def _space_time() -> Names:
    """Space-time algebra Cl(1, 3), blades ``d0`` to ``d0123``, and the algebra of space, ``p1`` to ``p123``."""
    (D, d), (P, p) = Cl(1, 3, firstIdx=0, names="d"), Cl(3, names="p")
    relative = {"d01": "p1", "d02": "p2", "d03": "p3", "d12": "p12", "d23": "p23", "d13": "p13", "d0123": "p123"}
    # p_i stands for d_0 d_i as in clifford, where texts have p_i = d_i d_0: the map reverses the order of factors
    bm = BladeMap([(d[source], p[image]) for source, image in relative.items()])

    def split(X: Any) -> Any:
        """Return the space-time split of a multivector, ``X.odd * d0 + X.even`` by ``bm``, as clifford has it."""
        return bm(X.odd * d["d0"] + X.even)

    return {"D": D, "D_blades": d, "P": P, "P_blades": p, **_named(d), **_named(p), "bm": bm, "split": split}


def _conics() -> Names:
    """Cl(5, 3), the algebra of conics with their axes along e1 and e2: ``up``, ``down`` and three null pairs.

    A point (x, y) is x e1 + y e2 + x²/2 n1 + y²/2 n2 + x y n3 + n1b + n2b (Hrdina, Návrat and Vašík, Advances in
    Applied Clifford Algebras 28, 66, 2018).
    """
    names = _plain(5, 3)()
    blades = names["blades"]
    n1, n2, n3 = (blades[f"e{i}"] + blades[f"e{i + 3}"] for i in (3, 4, 5))
    n1b, n2b, n3b = ((blades[f"e{i + 3}"] - blades[f"e{i}"]) / 2 for i in (3, 4, 5))

    def up(x: Any) -> Any:
        """Return the null vector of the point x, a vector of e1 and e2."""
        a, b = x["e1"], x["e2"]
        return a * blades["e1"] + b * blades["e2"] + a**2 / 2 * n1 + b**2 / 2 * n2 + a * b * n3 + n1b + n2b

    def down(X: Any) -> Any:
        """Return the vector of e1 and e2 of a point."""
        return X["e1"] * blades["e1"] + X["e2"] * blades["e2"]

    return {**names, "n1": n1, "n2": n2, "n3": n3, "n1b": n1b, "n2b": n2b, "n3b": n3b, "up": up, "down": down}


def _double_projective() -> Names:
    """Cl(4, 4): points and dual points of projective space by eight null vectors.

    Goldman and Mann, "R(4, 4) as a computational framework for 3-dimensional computer graphics", 2015.
    """
    layout = Layout([1] * 4 + [-1] * 4, ids=BasisVectorIds([*"0123", "0b", "1b", "2b", "3b"]))
    blades = layout.bases()
    w = [(blades[f"e{i}"] + blades[f"e{i}b"]) / 2 for i in range(4)]
    ws = [(blades[f"e{i}"] - blades[f"e{i}b"]) / 2 for i in range(4)]
    lists = {"wlist": [*w[1:], w[0]], "wslist": [*ws[1:], ws[0]], "wbasis": [*w[1:], w[0], *ws[1:], ws[0]]}

    def up(point: Sequence[float]) -> Any:
        """Return x w1 + y w2 + z w3 + w0."""
        x, y, z = point
        return x * w[1] + y * w[2] + z * w[3] + w[0]

    def down(P: Any) -> NDArray[Any]:
        """Return the coordinates (3,) of a point of any weight."""
        return np.array([(P | vector)[()] for vector in ws[1:]]) / (P | ws[0])[()]

    def dual_point(P: Any) -> Any:
        """Return x w1s + y w2s + z w3s + w0s of a point."""
        x, y, z = down(P)
        return x * ws[1] + y * ws[2] + z * ws[3] + ws[0]

    null = {f"w{i}": w[i] for i in range(4)} | {f"w{i}s": ws[i] for i in range(4)}
    functions = {"up": up, "down": down, "dual_point": dual_point}
    return {"layout": layout, "blades": blades, **_named(blades), **null, **lists, **functions}


BUILDERS: dict[str, Callable[[], Names]] = {
    "g2": _plain(2),
    "g3": _plain(3),
    "g4": _plain(4),
    "g3_1": _plain(3, 1),
    "pga": _plain(3, 0, 1, firstIdx=0),
    "pga2d": _plain(2, 0, 1, firstIdx=0),
    "g2c": _conformal(2),
    "g3c": _conformal(3),
    "sta": _space_time,
    "gac": _conics,
    "dpga": _double_projective,
}
