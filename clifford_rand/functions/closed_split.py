"""The split B = Σ F_i into commuting simple bivectors, by rows, in four to six dimensions and every metric.

With x_i = F_i², q = B∧B, h = ⟨q B⟩_2, P = B∧B∧B/6 = F1 F2 F3 and E = ⟨P q⟩_2/2: the x_i are the roots of
x³ - s x² + e x - P² with s = ⟨B²⟩_0 and 4e = ⟨q²⟩_0, and as B, h and E are combinations of the F_i,

    F_i = (E + x_i² B - x_i h/2) / ((x_i - x_j)(x_i - x_k)),

in five dimensions or less, where P = 0: F2 = (h - 2 x2 B)/(2 (x1 - x2)) and F1 = B - F2. This is the invariant
decomposition of M. Roelfs and S. De Keninck, "Graded symmetry groups: plane and simple", Advances in Applied Clifford
Algebras 33, 2023, section 5. Planes that turn equally fast are separated by J = q/√q²: B = B+ + B- with
B± = B (1 ± J)/2, and F1 - F2 = r B+ + B-/r with r² = B-²/B+². What has no such split to the rounding is left to the
general way (`bivector_split`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.table import StraightLine
from clifford_rand.functions.closed_exponential import SEPARATE
from clifford_rand.plans.cost_model import made_once, plan_of

MOST = 6  # dimensions
SIMPLE = 1e-12  # B∧B, relative to B², below which B is one plane
EXACT = 1e-12  # how far, relative to B, parts may be from simple and from commuting
APART = 0.01  # (x1 - x2)² / s² from which q and B alone tell two planes apart
NOTHING = 1e-14  # a part, relative to B, that is rounding
UNSIGNED = 1e-20  # r² below which it is rounding that decides its sign

Rows = NDArray[Any]
DIMENSIONS = 6
AGREES = 500  # units of rounding, relative to max|R|, by which exp(log R) and (√R)² may differ from R
UNIT = 64  # units of rounding, relative to Σ R_i², within which R ~R is 1
SMALL = 1e-3  # |s| / max|R| below which T has lost too many digits


class SplitCode:
    """The code for the bivectors of one metric of four to six dimensions."""

    def __init__(self, metric: Metric) -> None:
        d = metric.d
        self.bivectors = keys_of_grades(d, (2,))
        code, B = StraightLine.of(metric, b=self.bivectors)
        s, q = code.product("s", "anticommutator", B, B, (0,)), code.product("q", "wedge", B, B)
        t, h = code.product("t", "anticommutator", q, q, (0,)), code.product("h", "anticommutator", q, B, (2,))
        self.three = d > 5
        more: tuple[Any, ...] = ()
        if self.three:
            P = code.product("p", "wedge", q, B)
            E = code.product("e", "gp", P, q, (2,))
            more = (code.product("n", "gp", P, P, (0,)).scalar(), E.on(self.bivectors))
        self.parts = code.function(s.scalar(), q, t.scalar(), h.on(self.bivectors), *more)
        code, B = StraightLine.of(metric, b=self.bivectors)
        self.square = code.function(code.product("s", "anticommutator", B, B, (0,)).scalar())
        code, B = StraightLine.of(metric, b=self.bivectors)
        self.area = code.function(code.product("q", "wedge", B, B))
        code, B, C = StraightLine.of(metric, b=self.bivectors, c=self.bivectors)
        scalar, rest = code.product("s", "anticommutator", B, C, (0,)), code.product("x", "commutator", B, C)
        self.overlap = code.function(scalar, rest)

    def split(self, b: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the parts (m, K, N) of real rows (K, N), fastest first, and where they are a split."""
        with np.errstate(all="ignore"):
            size = np.abs(b).max(axis=0)
            b = b / np.where(size > 0, size, 1.0)
            s, q, t, h, *more = self.parts(b)
            s, t = (np.broadcast_to(np.asarray(x, dtype=float), size.shape) for x in (s, t))
            q, h = _filled(q, size), _filled(h, size)
            wide = np.abs(q).max(axis=0, initial=0.0)
            several = np.flatnonzero(wide > SIMPLE)
            planes = np.zeros((3 if self.three else 2, *b.shape))
            planes[0] = b
            fine = np.ones(size.shape, dtype=bool)
            if len(several):
                b, s, t, h = b[:, several], s[several], t[several], h[:, several]
                parts = self._three(b, s, t, h, more, several) if self.three else self._two(b, s, wide[several], t, h)
                parts = np.where(np.abs(parts).max(axis=1, keepdims=True) > NOTHING, parts, 0.0)
                fine[several] = self._is_split(parts, b)
                parts = np.where(fine[several], parts, 0.0)
                if parts.dtype.kind == "c" and not parts.imag.any():
                    parts = parts.real
                planes = planes.astype(parts.dtype, copy=False)
                planes[:, :, several] = parts
            used = np.abs(planes).reshape(len(planes), -1).any(axis=1)
            return planes[: max(1, int(used.sum()))] * size, fine

    def _two(self, b: Rows, s: Rows, wide: Rows, t: Rows, h: Rows) -> Rows:
        root = np.sqrt(np.abs(t))
        square = s * s - t  # (x1 - x2)²
        by_pair = (t > 0) & (root > SEPARATE * wide) & (square < APART * s * s)
        difference = np.copysign(np.sqrt(np.maximum(square, 0.0)), s)
        if (square[~by_pair] < 0).any():
            difference = np.where(square < 0, np.sqrt(square.astype(complex)), difference)
        x1 = (s + difference) / 2
        first, second = (2 * x1 * b - h) / (2 * difference), (h - t / (2 * x1) * b) / (2 * difference)
        if by_pair.any():
            part, turned = b[:, by_pair], h[:, by_pair] / root[by_pair]
            plus, minus = (part + turned) / 2, (part - turned) / 2
            ((x,), (y,)) = self.square(plus), self.square(minus)
            swap = np.abs(x) < np.abs(y)
            x, y = np.where(swap, y, x), np.where(swap, x, y)
            plus, minus = np.where(swap, minus, plus), np.where(swap, plus, minus)
            ratio = y / x
            ratio = np.where(np.abs(ratio) > UNSIGNED, ratio, np.nan)
            r = np.sqrt(ratio.astype(complex)) if (ratio < 0).any() else np.sqrt(ratio)
            apart = r * plus + minus / r  # F1 - F2
            first, second = (part.astype(np.result_type(part, apart), copy=False) for part in (first, second))
            first[:, by_pair], second[:, by_pair] = (b[:, by_pair] + apart) / 2, (b[:, by_pair] - apart) / 2
        return np.stack([first, second])

    def _three(self, b: Rows, s: Rows, t: Rows, h: Rows, more: list[Any], several: Rows) -> Rows:
        number, E = more
        n = len(several)
        number = np.broadcast_to(np.asarray(number, dtype=float), (n,)) if np.ndim(number) == 0 else number[several]
        E = np.stack([np.broadcast_to(row, (n,)) if np.ndim(row) == 0 else row[several] for row in E])
        # of x³ - s x² + e x - P², e = t/4
        companion = np.zeros((n, 3, 3))
        companion[:, 0] = np.stack([s, -t / 4, number / 36], axis=1)
        companion[:, 1, 0] = companion[:, 2, 1] = 1
        x: Rows = np.linalg.eigvals(np.where(np.isfinite(companion), companion, 0.0)).T
        x = np.take_along_axis(x, np.argsort(-np.abs(x), axis=0), axis=0)
        if x.dtype.kind == "c":
            near = (np.abs(x.imag) < UNSIGNED**0.25 * np.abs(x[0])) & (x.imag != 0)  # a double root, by its rounding
            x = np.where(near.any(axis=0), np.nan, x) if x.imag.any() else x.real
        planes = []
        for i in range(3):
            y, z = x[(i + 1) % 3], x[(i + 2) % 3]
            planes.append((E / 12 + x[i] ** 2 * b - x[i] * h / 2) / ((x[i] - y) * (x[i] - z)))
        return np.stack(planes)

    def _is_split(self, parts: Rows, b: Rows) -> NDArray[np.bool_]:
        sizes = np.abs(parts).max(axis=1)
        whole = np.maximum(sizes.max(axis=0), 1.0)
        fine = np.abs(parts.sum(axis=0) - b).max(axis=0) <= EXACT * whole
        for i, part in enumerate(parts):
            fine &= _largest(self.area(part)[0], whole) <= EXACT * sizes[i] * whole
            for k in range(i):
                cross = np.maximum(*(_largest(rows, whole) for rows in self.overlap(part, parts[k])))
                fine &= cross <= EXACT * np.maximum(sizes[i], sizes[k]) * whole
        return np.asarray(fine)


def _filled(rows: Any, like: Rows) -> Rows:
    return np.array([np.broadcast_to(row, like.shape) for row in rows]).reshape(-1, *like.shape)


def _largest(rows: Any, like: Rows) -> Rows:
    return np.abs(_filled(rows, like)).max(axis=0, initial=0.0)


def split_code(metric: Metric) -> SplitCode:
    """Return the code of a metric, made once."""
    code: SplitCode = made_once(metric, "split", SplitCode, metric)
    return code


# ---- log R and √R of rotors in six dimensions: R = s (1 + T1)(1 + T2)(1 + T3) with commuting simple T_i
#
# T = ⟨R⟩_2/s is the sum of T_i = tanh F_i, which its invariant decomposition (`closed_split`) gives, and log R = Σ F_i,
# F_i = f(y_i) T_i with y_i = T_i² and f(y) = artanh √y / √y; where s < 0 a full turn is added in the plane that turns
# most. As the T_i are simple, R = s (1 + T + T∧T/2 + T∧T∧T/6). Source: M. Roelfs and S. De Keninck, "Graded symmetry
# groups: plane and simple", Advances in Applied Clifford Algebras 33, 2023, section 6.


def unit_versors(rows: Rows, number: Callable[[Rows], Any], eps: float) -> tuple[Rows, Rows, Rows, NDArray[np.bool_]]:
    """Return rows (M, N) of versors divided to ⟨R ~R⟩_0 = 1, Σ R_i² of these, the log of the divisor, and a mask.

    ``number`` returns ⟨R ~R⟩_0 of rows; the mask is False where that is not above the rounding of its terms.
    """
    largest = np.abs(rows).max(axis=0)
    fine = largest > 0
    largest = np.where(fine, largest, 1.0)
    rows = rows / largest
    size = (rows * rows).sum(axis=0)
    total = np.broadcast_to(np.asarray(number(rows), dtype=np.float64), size.shape)
    fine &= total > UNIT * eps * size
    # within the rounding of R ~R no scale is seen, and to divide by it would only spoil a large boost
    inside = np.where((largest < 1e87) & (largest > 1e-87), largest, 0.0) ** 2
    unit = np.abs(total * inside - 1) <= UNIT * eps * size * inside
    n = np.where(unit, 1 / largest, np.sqrt(np.where(fine, total, 1.0)))
    return rows / n, size / (n * n), np.where(unit, 0.0, np.log(largest) + np.log(n)), fine


class TangentCode:
    """The code for the even elements of one metric of six dimensions."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.even, self.bivectors = (keys_of_grades(metric.d, grades) for grades in ((0, 2, 4, 6), (2,)))
        code, R = StraightLine.of(metric, r=self.even)
        self.number = code.function(code.product("n", "inner", R, R).scalar())
        code, T = StraightLine.of(metric, t=self.bivectors)
        q = code.product("q", "wedge", T, T)
        self.powers = code.function(q, code.product("p", "wedge", q, T))

    def tangents(self, rows: Rows, eps: float) -> Any:
        """Return the unit rows, the log of their scale, the T_i, their squares, where a turn is added, and a mask."""
        rows, _, scale, fine = unit_versors(rows, lambda rows: self.number(rows)[0], eps)
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
        B = like.new(self.bivectors, from_components(F, (F.shape[1],)))
        image = as_components(B.exp().on_keys(self.even).coefficients)
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
