"""The algebras that ``clifford`` has as modules, ``g3``, ``g3c``, ``pga``, ``sta`` and others, made on import."""

from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        from clifford_rand.compat.clifford.constructors import Cl

        layout, blades = Cl(*counts, **options)
        return {"layout": layout, "blades": blades, **_named(blades)}

    build.__doc__ = f"Cl{counts}: ``layout``, ``blades``, and each blade by its name."
    return build


def _conformal(n: int) -> Callable[[], Names]:
    def build() -> Names:
        from clifford_rand.compat.clifford.constructors import Cl, conformalize

        base, base_blades = Cl(n)
        layout, blades, stuff = conformalize(base)
        names = {"layout_orig": base, "blades_orig": base_blades, "layout": layout, "blades": blades, "stuff": stuff}
        return {**names, **_named(blades), **stuff}

    build.__doc__ = f"The conformal algebra of {n}-space: blades by their names, ``eo``, ``einf``, ``up``, ``down``."
    return build


def _space_time() -> Names:
    """Space-time algebra Cl(1, 3), blades ``d0`` to ``d0123``, and the algebra of space, ``p1`` to ``p123``."""
    from clifford_rand.compat.clifford.constructors import Cl
    from clifford_rand.compat.clifford.transformations import BladeMap

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
    from clifford_rand.compat.clifford.layout import Layout
    from clifford_rand.compat.clifford.order import BasisVectorIds

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
