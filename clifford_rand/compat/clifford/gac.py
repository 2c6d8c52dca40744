"""Cl(5, 3), the algebra of conics with their axes along e1 and e2: ``up``, ``down`` and three null pairs.

A point (x, y) is x e1 + y e2 + x²/2 n1 + y²/2 n2 + x y n3 + n1b + n2b (Hrdina, Návrat and Vašík, Advances in Applied
Clifford Algebras 28, 66, 2018).
"""

from typing import Any

from clifford_rand.compat.clifford.layout import Cl
from clifford_rand.compat.clifford.multivector import MultiVector

layout, blades = Cl(5, 3)
globals().update({name: blade for name, blade in blades.items() if name})

n1, n2, n3 = (blades[f"e{i}"] + blades[f"e{i + 3}"] for i in (3, 4, 5))
n1b, n2b, n3b = ((blades[f"e{i + 3}"] - blades[f"e{i}"]) / 2 for i in (3, 4, 5))


def up(x: MultiVector) -> Any:
    """Return the null vector of the point x, a vector of e1 and e2."""
    a, b = x["e1"], x["e2"]
    return a * blades["e1"] + b * blades["e2"] + a**2 / 2 * n1 + b**2 / 2 * n2 + a * b * n3 + n1b + n2b


def down(X: MultiVector) -> Any:
    """Return the vector of e1 and e2 of a point."""
    return X["e1"] * blades["e1"] + X["e2"] * blades["e2"]
