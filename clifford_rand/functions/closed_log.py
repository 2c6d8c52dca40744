"""log R and √R of rotors in at most five dimensions, by rows: R = S + B with S = s + Q a Study number.

~R R = S² - B² = 1 says that S = cosh F and B = sinh F for one F that commutes with both, so log R = f(S) B with
f(x) = arcosh(x)/√(x² - 1), and √R = c + B/(2c) with c = √((1 + S)/2), as (1 + R)² = 2 (1 + S) R. That holds in every
metric. It fails where S has a value at or below -1, minus a boost: R has another logarithm there, or none. The result
is compared with R, and what does not agree to the rounding is left to the general way (`logarithm`).

Sources: the split of R is the invariant decomposition of M. Roelfs and S. De Keninck, "Graded symmetry groups: plane
and simple", Advances in Applied Clifford Algebras 33, 2023, section 6, written without the two planes.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.table import StraightLine
from clifford_rand.functions.closed_exponential import CHUNK, SEPARATE, plane_exponential
from clifford_rand.functions.closed_split import AGREES, DIMENSIONS, UNIT, TangentCode, unit_versors
from clifford_rand.functions.study import angle_and_half
from clifford_rand.plans.cost_model import made_once, plan_of

MOST = 5  # dimensions in which ⟨R⟩_4 squares to a number
LOW = -0.9  # S below which B² of one of two planes is summed anew, and 1 + S cancels in Python numbers

Rows = NDArray[np.float64]


class Unit(NamedTuple):
    """A rotor's rows, brought to R ~R = 1, and what is known of them."""

    rows: Rows
    square: Rows  # ⟨B²⟩_0
    t: Rows  # Q²
    h: Any  # rows of Q B
    scale: Rows  # log of what R was divided by
    fine: NDArray[np.bool_]


class RotorCode:
    """The code for the even elements of one metric of at most five dimensions."""

    def __init__(self, metric: Metric) -> None:
        d = metric.d
        self.metric = metric
        self.even = keys_of_grades(d, tuple(range(0, d + 1, 2)))
        self.bivectors = keys_of_grades(d, (2,) if d > 1 else ())
        self.n = 1 + self.bivectors.size  # rows of grades 0 and 2
        code, R = StraightLine.of(metric, r=self.even)
        number = code.product("n", "inner", R, R)
        self.number = code.function(number.scalar())
        self.quartic = keys_of_grades(d, (4,) if d > 3 else ())
        code, B = StraightLine.of(metric, b=self.bivectors)
        square, area = code.product("x", "anticommutator", B, B, (0,)), code.product("a", "anticommutator", B, B, (4,))
        self.square = code.function(square.scalar())
        self.square_and_area = code.function(square.scalar(), area.on(self.quartic))
        code, B, Q = StraightLine.of(metric, b=self.bivectors, q=self.quartic)
        self.turn = code.function(code.product("c", "commutator", B, Q, (4,)).on(self.quartic))
        code, B, Q = StraightLine.of(metric, b=self.bivectors, q=self.quartic)
        t, h = code.product("t", "anticommutator", Q, Q, (0,)), code.product("h", "anticommutator", Q, B, (2,))
        self.of_both = code.function(t.scalar(), h.on(self.bivectors))
        code, R = StraightLine.of(metric, r=self.even)
        self.squared = code.function(code.product("s", "anticommutator", R, R).on(self.even))
        self.exponential = plane_exponential(metric, self.bivectors) if d > 1 else None

    def unit(self, rows: Rows, eps: float) -> Unit:
        """Return the rows (M, N) of versors brought to R ~R = 1, their scale apart."""
        # R ~R is 1 + m then, m of grade 4 alone
        rows, size, scale, fine = unit_versors(rows, lambda rows: self.number(rows)[0], eps)
        # ⟨B²⟩_0 and B∧B; R ~R = 1 asks for s² + Q² - ⟨B²⟩_0 = 1 and B∧B = 2 s Q
        square, area = self._square_and_area(rows)
        if self.quartic.size:
            for _ in range(2):  # R ~R = 1 + m: R ← (1 + m)^{-1/2} R, to the second order each time
                m = (
                    2 * (rows[0] * rows[self.n :] + self._rows(self.turn(rows[1 : self.n], rows[self.n :])[0], rows))
                    - area
                )
                far = np.abs(m).max(axis=0)
                wrong = (far > UNIT * eps * size) & fine
                if not wrong.any():
                    break
                fine &= far <= max(1e-9, AGREES * eps) * size
                rows[:, wrong] -= 0.5 * self._times(m[:, wrong], rows[:, wrong])
                square, area = self._square_and_area(rows)
            better = (np.abs(rows[0]) > 0.5) & (np.abs(rows[1 : self.n]).max(axis=0) <= 1)
            rows[self.n :] = np.where(better, area / (2 * np.where(better, rows[0], 1.0)), rows[self.n :])
        t, h = self.of_both(rows[1 : self.n], rows[self.n :])
        return Unit(rows, square, self._row(t, rows), h, scale, fine)

    def _square_and_area(self, rows: Rows) -> tuple[Rows, Rows]:
        square, area = self.square_and_area(rows[1 : self.n])
        return self._row(square, rows), self._rows(area, rows)

    def _times(self, m: Rows, rows: Rows) -> Rows:
        """Return m R for rows of grade 4 and even rows."""
        plan = plan_of(self.metric, "gp", self.quartic, self.even)
        product = np.zeros_like(rows)
        product[self.even.place(plan.keys)] = plan(m.T, rows.T).T
        return product

    def _row(self, value: Any, rows: Rows) -> Rows:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), rows.shape[1:])

    def _rows(self, values: Any, rows: Rows) -> Rows:
        return np.array([self._row(value, rows) for value in values]).reshape(-1, rows.shape[1])

    def functions(self, u: Unit) -> Rows:
        """Return f₀, f₁ and c₀, c₁, g₀, g₁ of `angle_and_half` for each rotor, as rows (6, N)."""
        rows = u.rows
        s, b, q = rows[0], rows[1 : self.n], rows[self.n :]
        if not len(q):
            return np.array(angle_and_half(np, s, u.square, u.t, "one"))
        # Q = 0 is one plane; Q² > 0 two real ones, Q² < 0 complex ones; else Q is null or nearly so
        size = np.abs(q).max(axis=0)
        rho = np.sqrt(np.abs(u.t))
        single = size <= 4e-16 * np.abs(b).max(axis=0) ** 2
        clear = ~single & (rho > SEPARATE * size)
        result = np.empty((6, rows.shape[1]))
        ways = {"one": single, "real": clear & (u.t > 0), "complex": clear & (u.t < 0), "study": ~(single | clear)}
        for way, where in ways.items():
            if where.any():
                at: Any = slice(None) if where.all() else where
                pairs = self._pairs(b, u.h, rho, at) if way == "real" else None
                result[:, at] = angle_and_half(np, s[at], u.square[at], u.t[at], way, pairs)
        return result

    def _pairs(self, b: Rows, h: Any, rho: Rows, at: Any) -> Any:
        def corrected(ends: tuple[Rows, Rows], squares: tuple[Rows, Rows]) -> Rows:
            """Return B² on Q = ±√t, from B (1 ± Q/√t)/2 itself where S is near -1 and both together cancel."""
            S, X = np.stack(ends), np.stack(squares)
            size = np.abs(X)  # where both are alike there is no cancellation, and Q may be but rounding
            low = np.flatnonzero((S.min(axis=0) < LOW) & (size.min(axis=0) < 0.25 * size.max(axis=0)))
            if len(low):
                part = b[:, at][:, low]
                turned = np.array([self._row(row, b)[at][low] for row in h]) / rho[at][low]
                for k, sign in enumerate((1.0, -1.0)):
                    X[k, low] = self.square(part + sign * turned)[0] / 2
            return X

        return corrected

    def log(self, rows: Rows, eps: float, like: MV) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the rows of scales and bivectors, and where exp of these agrees with R."""
        u = self.unit(rows, eps)
        f = self.functions(u)
        result = np.empty((self.n, rows.shape[1]))
        result[0] = u.scale
        # log R = f₀ B + f₁ Q B
        np.multiply(f[0], u.rows[1 : self.n], out=result[1:])
        if len(u.rows) > self.n:
            for k, row in enumerate(u.h, start=1):
                result[k] += f[1] * row
        fine = u.fine & np.isfinite(result).all(axis=0)
        result = np.where(fine, result, 0.0)
        if self.exponential is None:  # no bivectors
            return result, fine & (u.rows[0] > 0)
        image = np.empty_like(u.rows)
        if not self.exponential.exp_of_rows(result[1:], image):
            return result, np.zeros_like(fine)
        return result, fine & self._agrees(image, u, eps, np.abs(result[1:]).max(axis=0))

    def sqrt(self, rows: Rows, eps: float, like: MV) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the rows of the roots, and where their squares agree with R."""
        u = self.unit(rows, eps)
        _, _, c0, c1, g0, g1 = self.functions(u)
        root = np.empty_like(u.rows)
        # √R = c + g B with c = c₀ + c₁ Q, g = g₀ + g₁ Q
        root[0] = c0
        root[1 : self.n] = g0 * u.rows[1 : self.n]
        if len(u.rows) > self.n:
            root[self.n :] = c1 * u.rows[self.n :]
            for k, row in enumerate(u.h, start=1):
                root[k] += g1 * row
        fine = u.fine & np.isfinite(root).all(axis=0)
        root = np.where(fine, root, 0.0)
        (squared,) = self.squared(root)
        fine &= self._agrees(self._rows(squared, root), u, eps, 0.0)
        return root * np.exp(u.scale / 2), fine

    # ---- one rotor, in Python numbers; None where the way of the batches must look

    def of_one(self, r: list[float], eps: float, root: bool) -> tuple[list[float], float] | None:
        """Return the rows of log R, or of √R, and what is to be added, or multiplied, for the scale of R."""
        n = self.n
        (total,) = self.number(r)
        size = sum([x * x for x in r])
        if not (1e-60 < size < 1e60 and total > UNIT * eps * size):
            return None
        scale = 1.0
        if abs(total - 1) > UNIT * eps * size:
            scale = math.sqrt(total)
            r = [x / scale for x in r]
            size /= total
        s, b, q = r[0], r[1:n], r[n:]
        square, area = self.square_and_area(b)
        t, h, way = 0.0, b, "one"
        if q:
            (turn,) = self.turn(b, q)
            # R ~R has the grade 4 part 2 (s Q + ½[B, Q]) - B∧B, which must be round-off
            for x, y, z in zip(q, turn, area, strict=True):
                if not abs(2 * (s * x + y) - z) <= UNIT * eps * size:
                    return None
            largest = max(max(b), -min(b))
            if abs(s) > 0.5 and largest <= 1:
                q = [z / (2 * s) for z in area]
            t, h = self.of_both(b, q)
            far = max(max(q), -min(q))
            if far > 4e-16 * largest * largest:
                way = "study" if t * t <= (SEPARATE * far) ** 4 else "real" if t > 0 else "complex"
        lowest = s - math.sqrt(t) if way == "real" else s
        if lowest < LOW:
            return None
        try:
            f0, f1, c0, c1, g0, g1 = angle_and_half(math, s, square, t, way)
        except (ValueError, ZeroDivisionError):  # minus a boost
            return None
        if root:
            result = [c0, *[g0 * x + g1 * y for x, y in zip(b, h, strict=True)], *[c1 * x for x in q]]
            (image,) = self.squared(result)
        else:
            result = [f0 * x + f1 * y for x, y in zip(b, h, strict=True)]
            image = self.exponential.exp_of_one(result) if self.exponential else None
            if image is None:
                return None
        error = max([abs(x - y) for x, y in zip(image, r, strict=True)])
        if not error <= self._limit(max(max(r), -min(r)), 0.0 if root else max(map(abs, result)), eps):
            return None
        return result, scale

    def _agrees(self, image: Rows, u: Unit, eps: float, largest: Any) -> NDArray[np.bool_]:
        error = np.abs(image - u.rows).max(axis=0)
        return np.asarray(error <= self._limit(np.abs(u.rows).max(axis=0), largest, eps))

    @staticmethod
    def _limit(of_rotor: Any, of_bivector: Any, eps: float) -> Any:
        """Return the accepted error, given max|R| and max|log R|, whose own rounding moves exp(log R)."""
        most = max(eps, 1e-12) / eps  # a null direction has components far above its effect
        return eps * (AGREES * of_rotor + np.minimum(UNIT * of_bivector, AGREES * most * of_rotor))


def _code(metric: Metric) -> Any:
    """Return the code of a metric, made once."""
    name, kind = ("rotors", RotorCode) if metric.d <= MOST else ("tangents", TangentCode)
    return made_once(metric, name, kind, metric)


def _closed_rows(R: MV, kept: Any, root: bool) -> tuple[Rows | None, NDArray[np.bool_]]:
    """Return the rows (M, N) of log s and the bivectors, or of the roots, and where they hold; None for no formula."""
    d = R.algebra.d
    if d > DIMENSIONS or not R.algebra.form.is_numeric:
        return None, np.zeros(R.shape, dtype=bool)
    code, eps = _code(R.algebra.form), float(np.finfo(kept).eps)
    even = R.on_keys(code.even).coefficients
    if not R.ndim and 1 < d <= MOST:
        values_and_scale = code.of_one(even.tolist(), eps, root)
        if values_and_scale is not None:
            values, scale = values_and_scale
            rows = [x * math.sqrt(scale) for x in values] if root else [math.log(scale), *values]
            return np.array(rows, dtype=kept)[:, None], np.ones((), dtype=bool)
    parts = as_components(even)
    result = np.empty((code.even.size if root else 1 + code.bivectors.size, parts.shape[1]), dtype=kept)
    fine = np.empty(parts.shape[1], dtype=bool)
    work = code.sqrt if root else code.log
    with np.errstate(all="ignore"):
        for start in range(0, len(fine), CHUNK):
            part = slice(start, start + CHUNK)
            result[:, part], fine[part] = work(parts[:, part].astype(np.float64), eps, R)
    return result if fine.any() or not len(fine) else None, fine.reshape(R.shape)


def closed_form(R: MV, kept: Any) -> tuple[MV | None, NDArray[np.bool_]]:
    """Return the logarithms that have a closed form, and a mask of where they hold; None for no formula."""
    rows, fine = _closed_rows(R, kept, root=False)
    if rows is None:
        return None, fine
    d = R.algebra.d
    has_scale = bool(d < 2 or rows[0][fine.reshape(-1)].any())
    keys = keys_of_grades(d, (0,) * has_scale + ((2,) if d > 1 else ()))
    return R.new(keys, from_components(rows if has_scale else rows[1:], R.shape)), fine


def closed_root(R: MV, kept: Any) -> tuple[MV | None, NDArray[np.bool_]]:
    """Return the roots of real even R, d ≤ 6, in ``kept``, and a mask of where they hold; None for no formula."""
    rows, fine = _closed_rows(R, kept, root=True)
    if rows is None:
        return None, fine
    return R.new(_code(R.algebra.form).even, from_components(rows, R.shape)), fine


def closed_bivector(R: MV, eps: float) -> Rows | None:
    """Return B of the closed form for one unit even versor, however far exp(B) is from it; None if infinite."""
    if not 1 < R.algebra.d <= DIMENSIONS:
        return None
    code = _code(R.algebra.form)
    with np.errstate(all="ignore"):
        rows, _ = code.log(R.on_keys(code.even).coefficients[:, None].copy(), eps, R)
    return np.asarray(rows[1:, 0]) if np.isfinite(rows).all() and rows[1:].any() else None
