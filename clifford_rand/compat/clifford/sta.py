"""Space-time algebra Cl(1, 3), blades ``d0`` to ``d0123``, and the algebra of space, ``p1`` to ``p123``."""

from typing import Any

from clifford_rand.compat.clifford.blademap import BladeMap
from clifford_rand.compat.clifford.layout import Cl
from clifford_rand.compat.clifford.multivector import MultiVector

D, D_blades = Cl(1, 3, firstIdx=0, names="d")
P, P_blades = Cl(3, names="p")
globals().update({name: blade for blades in (D_blades, P_blades) for name, blade in blades.items() if name})

_relative = {"d01": "p1", "d02": "p2", "d03": "p3", "d12": "p12", "d23": "p23", "d13": "p13", "d0123": "p123"}
# p_i stands for d_0 d_i here, as in clifford, where texts have p_i = d_i d_0: the map turns the order of factors around
bm = BladeMap([(D_blades[source], P_blades[image]) for source, image in _relative.items()])


def split(X: MultiVector) -> Any:
    """Return the space-time split of a multivector, ``X.odd * d0 + X.even`` by `bm`, as clifford has it."""
    return bm(X.odd * D_blades["d0"] + X.even)
