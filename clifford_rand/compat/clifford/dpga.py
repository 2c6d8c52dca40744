"""Cl(4, 4): points and dual points of projective space by eight null vectors.

Goldman and Mann, "R(4, 4) as a computational framework for 3-dimensional computer graphics", 2015.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compat.clifford.layout import Layout
from clifford_rand.compat.clifford.multivector import MultiVector
from clifford_rand.compat.clifford.order import BasisVectorIds

layout = Layout([1] * 4 + [-1] * 4, ids=BasisVectorIds([*"0123", "0b", "1b", "2b", "3b"]))
blades = layout.bases()
globals().update({name: blade for name, blade in blades.items() if name})

w0, w1, w2, w3 = ((blades[f"e{i}"] + blades[f"e{i}b"]) / 2 for i in range(4))
w0s, w1s, w2s, w3s = ((blades[f"e{i}"] - blades[f"e{i}b"]) / 2 for i in range(4))
wlist, wslist = [w1, w2, w3, w0], [w1s, w2s, w3s, w0s]
wbasis = wlist + wslist


def up(point: Sequence[float]) -> Any:
    """Return x w1 + y w2 + z w3 + w0."""
    x, y, z = point
    return x * w1 + y * w2 + z * w3 + w0


def down(P: MultiVector) -> NDArray[Any]:
    """Return the coordinates (3,) of a point of any weight."""
    return np.array([(P | one)[()] for one in (w1s, w2s, w3s)]) / (P | w0s)[()]


def dual_point(P: MultiVector) -> Any:
    """Return x w1s + y w2s + z w3s + w0s of a point."""
    x, y, z = down(P)
    return x * w1s + y * w2s + z * w3s + w0s
