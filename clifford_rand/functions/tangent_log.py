"""log R and √R of rotors in six dimensions, by rows: R = s (1 + T1)(1 + T2)(1 + T3) with commuting simple T_i.

T = ⟨R⟩_2/s is the sum of T_i = tanh F_i, which its invariant decomposition (`closed_split`) gives, and log R = Σ F_i,
F_i = f(y_i) T_i with y_i = T_i² and f(y) = artanh √y / √y; where s < 0 a full turn is added in the plane that turns
most. As the T_i are simple, R = s (1 + T + T∧T/2 + T∧T∧T/6). Source: M. Roelfs and S. De Keninck, "Graded symmetry
groups: plane and simple", Advances in Applied Clifford Algebras 33, 2023, section 6.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis import layout
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.functions.closed_split import split_code
from clifford_rand.functions.straight_line import StraightLine
from clifford_rand.plans.cost_model import keep, plan_of

DIMENSIONS = 6
AGREES = 500  # units of rounding, relative to max|R|, by which exp(log R) and (√R)² may differ from R
UNIT = 64  # units of rounding, relative to Σ R_i², within which R ~R is 1
SMALL = 1e-3  # |s| / max|R| below which T has lost too many digits

Rows = NDArray[Any]


class TangentCode:
    """The code for the even elements of one metric of six dimensions."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.even, self.bivectors = (keys_of_grades(metric.d, grades) for grades in ((0, 2, 4, 6), (2,)))
        code = StraightLine(metric)
        R = code.argument("r", self.even)
        self.number = code.function(code.product("n", "inner", R, R).scalar())
        code = StraightLine(metric)
        T = code.argument("t", self.bivectors)
        q = code.product("q", "wedge", T, T)
        self.powers = code.function(q, code.product("p", "wedge", q, T))

    def tangents(self, rows: Rows, eps: float) -> Any:
        """Return the unit rows, the log of their scale, the T_i, their squares, where a turn is added, and a mask."""
        largest = np.abs(rows).max(axis=0)
        fine = largest > 0
        largest = np.where(fine, largest, 1.0)
        rows = rows / largest
        size = (rows * rows).sum(axis=0)
        (total,) = self.number(rows)
        fine &= total > UNIT * eps * size
        inside = np.where((largest < 1e87) & (largest > 1e-87), largest, 0.0) ** 2
        unit = np.abs(total * inside - 1) <= UNIT * eps * size * inside
        n = np.where(unit, 1 / largest, np.sqrt(np.where(fine, total, 1.0)))
        rows = rows / n
        scale = np.where(unit, 0.0, np.log(largest) + np.log(n))
        s = rows[0]
        fine &= np.abs(s) > SMALL * np.abs(rows).max(axis=0)
        parts, split = split_code(self.metric).split(rows[1:16] / np.where(fine, s, 1.0))
        fine &= split
        y = np.stack([np.broadcast_to(split_code(self.metric).square(part)[0], s.shape) for part in parts])
        if y.dtype.kind == "c" and not y.imag.any():
            y = y.real
        turning = np.where(y.imag == 0, -y.real, 0.0)
        turned = (np.arange(len(y))[:, None] == turning.argmax(axis=0)) & (s < 0)
        fine &= (s > 0) | (turning.max(axis=0) > 0)
        return rows, scale, parts, y, turned, fine

    def log(self, rows: Rows, eps: float, like: MV) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the rows of scales and bivectors, and where exp of these agrees with R."""
        rows, scale, parts, y, turned, fine = self.tangents(rows, eps)
        z = np.sqrt(np.abs(y.real))
        boost, turn = np.arctanh(np.where(y.real > 0, z, 0.0)), np.arctan(z)
        angle = np.where(y.real > 0, boost, np.where(turned, turn - np.pi, turn))
        f = np.where(z == 0, 1.0, angle / np.where(z == 0, 1.0, z))
        if y.dtype.kind == "c":
            root = np.sqrt(y)
            f = np.where(y.imag != 0, np.arctanh(root) / root, f)
        F = (f[:, None] * parts).sum(axis=0).real
        fine &= np.isfinite(F).all(axis=0) & np.isfinite(scale)
        F = np.where(fine, F, 0.0)
        B = like.new(self.bivectors, layout.coefficients(F, (F.shape[1],)))
        image = layout.components(B.exp().on_keys(self.even).coefficients)
        return np.concatenate([scale[None], F]), fine & self._agrees(image, rows, eps)

    def sqrt(self, rows: Rows, eps: float, like: MV) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the rows of the roots, and where their squares agree with R."""
        rows, scale, parts, y, turned, fine = self.tangents(rows, eps)
        half = 1 + np.sqrt(1 - y)
        factor = np.where(turned, half / np.where(turned, y, 1.0), 1 / half)  # tanh F/2, and of a turn more
        T = (factor[:, None] * parts).sum(axis=0).real
        c = np.prod(1 / np.sqrt(1 - factor**2 * y), axis=0).real
        q, p = self.powers(T)
        root = c * np.concatenate([np.ones((1, len(c))), T, np.array(q) / 2, np.array(p) / 6])
        fine &= np.isfinite(root).all(axis=0)
        root = np.where(fine, root, 0.0)
        plan = plan_of(self.metric, "gp", self.even, self.even)
        squared = np.zeros_like(root)
        squared[self.even.place(plan.keys)] = plan(root.T, root.T).T
        return root * np.exp(scale / 2), fine & self._agrees(squared, rows, eps)

    def _agrees(self, image: Rows, rows: Rows, eps: float) -> NDArray[np.bool_]:
        return np.asarray(np.abs(image - rows).max(axis=0) <= AGREES * eps * np.abs(rows).max(axis=0))


def tangent_code(metric: Metric) -> TangentCode:
    """Return the code of a metric, made once."""
    found: Any = metric.plans.get("tangents")
    return keep(metric, "tangents", TangentCode(metric)) if found is None else found
