"""exp(B) = C(B²) + S(B²) B by rows, where the structure of B's blades says that B² = s + q with a number q² = t.

That is so for vectors, for bivectors of at most five dimensions, and for all that squares to a number. Then q and B
commute, h = q B has grades of B, and exp(B) = C₀ + C₁ q + S₀ B + S₁ h with the coefficients of `study`.
"""

import math
from typing import Any

import numpy as np

from clifford_rand._typing import MV
from clifford_rand.basis import layout
from clifford_rand.basis.keys import Keys, keys_of_grades, keys_of_masks, union
from clifford_rand.basis.metric import Metric
from clifford_rand.functions.straight_line import Part, StraightLine
from clifford_rand.functions.study import by_pair, cosh_and_sinhc_of, cosh_sinhc, cosh_sinhc_of_one, one_plane
from clifford_rand.plans.cost_model import keep

MOST_ROWS = 16  # blades of B for which straight-line code is written
CHUNK = 8192  # samples at a time: some fifty rows of them stay in the second-level cache
MODERATE = 9e4  # x = λ² of the largest boost or turn: e^600, and the product of two stays in range
LARGEST = 1e37  # components up to which exp(B) is in the range of float32
SEPARATE = 0.1  # √t / |q| from which J = q/√t is right to a digit less than q


class PlaneExponential:
    """The code of exp(B) for the keys of B: ``work`` holds B and h, ``keys`` the result."""

    def __init__(self, metric: Metric, keys: Keys) -> None:
        self.work = keys
        while True:
            code = StraightLine(metric)
            B = code.argument("b", self.work)
            square = code.product("x", "anticommutator", B, B)
            s, q = _split(square)
            h = code.product("h", "anticommutator", q, B)
            t = code.product("t", "anticommutator", q, q)
            together = union(self.work, h.keys)
            self.serves = 0 not in h.keys.grades and t.keys.grades in ((), (0,)) and together.size <= MOST_ROWS
            if not self.serves or together is self.work:
                break
            self.work = together
        self.planes = 2 if q.names else 1
        self.square = code.function(s.scalar(), t.scalar(), q, h.on(self.work))
        again = StraightLine(metric)
        other = again.argument("b", self.work)
        self.scalar_square = again.function(again.product("x", "anticommutator", other, other, (0,)).scalar())
        self.keys = union(union(keys_of_grades(metric.d, (0,)), self.work), q.keys)
        self.at_work = [self.keys.find(int(mask)) for mask in self.work.masks]
        self.q_keys = q.keys
        self.even_keys = union(keys_of_grades(metric.d, (0,)), q.keys)  # of C(B²)
        self.at_even = [self.even_keys.find(int(mask)) for mask in q.keys.masks]
        self.at_q = [self.keys.find(int(mask)) for mask in q.keys.masks]

    def of_one(self, b: list[float]) -> "list[float] | None":
        """Return the components of exp(B) in Python numbers, None where the rows must look."""
        s, t, q, h = self.square(b)
        if not (abs(s) < MODERATE and abs(t) < MODERATE**2):
            return None
        result = [0.0] * self.keys.size
        if self.planes == 1:
            C, S = one_plane(s)
            result[0] = C
            for i, x in zip(self.at_work, b, strict=True):
                result[i] = S * x
            return result
        found = cosh_sinhc_of_one(s, t)
        if found is None:
            return None
        C0, C1, S0, S1 = found
        result[0] = C0
        for i, x, y in zip(self.at_work, b, h, strict=True):
            result[i] = S0 * x + S1 * y
        for i, x in zip(self.at_q, q, strict=True):
            result[i] += C1 * x
        return result

    def pair_of_one(self, b: list[float], sign: int) -> "tuple[list[float], list[float]] | None":
        """Return C(±B²) on ``even_keys`` and S(±B²) B on ``work`` in Python numbers, None where the rows must look."""
        s, t, q, h = self.square(b)
        if not (abs(s) < MODERATE and abs(t) < MODERATE**2):
            return None
        if self.planes == 1:
            C, S = one_plane(sign * s)
            return [C], [S * x for x in b]
        found = cosh_sinhc_of_one(sign * s, t)
        if found is None:
            return None
        C0, C1, S0, S1 = found
        even = [0.0] * self.even_keys.size
        even[0] = C0
        for i, x in zip(self.at_even, q, strict=True):
            even[i] += sign * C1 * x
        return even, [S0 * x + sign * S1 * y for x, y in zip(b, h, strict=True)]

    def of_rows(self, b: np.ndarray, result: np.ndarray) -> bool:
        """Write exp(B) for rows (K, N) into ``result`` (M, N); False, and nothing of use there, where B is large."""
        found = self.coefficients(b)
        if found is None:
            return False
        C0, C1, S0, S1, q, h = found
        result[0] = C0
        for k, i in enumerate(self.at_work):
            np.multiply(S0, b[k], out=result[i])
            if self.planes == 2:
                result[i] += S1 * h[k]
        for k, i in enumerate(self.at_q):
            result[i] = C1 * q[k] + (result[i] if i in self.at_work else 0.0)
        return True

    def coefficients(self, b: np.ndarray, sign: int = 1) -> tuple[Any, ...] | None:
        """Return C₀, C₁, S₀, S₁, q, h for rows (K, N): C(±B²) = C₀ + C₁ q, S(±B²) B = S₀ B + S₁ h; None if B is large.

        With ``sign`` -1 these are cos B and sin B.
        """
        s, t, q, h = self.square(b)
        s, t = (np.broadcast_to(np.asarray(x, dtype=np.float64), b.shape[1:]) for x in (s, t))
        if not (np.abs(s) + np.sqrt(np.abs(t)) < MODERATE).all():
            return None
        if self.planes == 1:
            C0, S0 = cosh_and_sinhc_of(sign * s)
            return C0, 0.0, S0, 0.0, q, h
        C0, C1, S0, S1 = self._refined(b, s, t, q, h, cosh_sinhc(sign * s, t), sign)
        return C0, sign * C1, S0, sign * S1, q, h

    def _refined(self, b: np.ndarray, s: Any, t: Any, q: Any, h: Any, found: Any, sign: int) -> Any:
        """Return the coefficients with x± = 2⟨(B (1 ± J)/2)²⟩_0 for s ± √t, which cancels where planes turn equally."""
        size = np.abs(np.asarray(q)).max(axis=0)
        close = (s * s - t < 0.25 * s * s) & (np.sqrt(np.abs(t)) > SEPARATE * size) & (np.abs(s) > 1)
        if not close.any():
            return found
        part = b[:, close]
        turned = np.array([np.broadcast_to(row, b.shape[1:])[close] for row in h]) / np.sqrt(t[close])
        (plus,), (minus,) = self.scalar_square(part + turned), self.scalar_square(part - turned)
        coefficients = np.stack(found)
        if sign < 0:
            plus, minus = -minus, -plus
        coefficients[:, close] = by_pair(sign * s[close], t[close], plus / 2, minus / 2)
        return coefficients


def _split(square: Part) -> tuple[Part, Part]:
    """Return the scalar and the rest."""
    first = int(square.keys.find(0) >= 0)
    d = square.keys.d
    rest = keys_of_masks(d, tuple(int(mask) for mask in square.keys.masks[first:]))
    return Part(keys_of_grades(d, (0,)), square.names[:first]), Part(rest, square.names[first:])


def plane_exponential(metric: Metric, keys: Keys) -> PlaneExponential | None:
    """Return the code for B of ``keys``, None where B² may be more than s + q."""
    found: Any = metric.plans.get(("exp", keys), False)
    if found is False:
        found = None
        if 0 < keys.size <= MOST_ROWS and keys.grades[0] and metric.is_numeric:
            made = PlaneExponential(metric, keys)
            found = made if made.serves else None
        keep(metric, ("exp", keys), found)
    return found


def exponential_of_one(A: MV) -> MV | None:
    """Return exp(A) of one real A without a scalar part, by Python numbers; None where the rest must look."""
    code = plane_exponential(A.algebra.form, A.keys)
    if code is None:
        return None
    found = code.of_one((A if code.work is A.keys else A.on_keys(code.work)).coefficients.tolist())
    if found is None or not math.isfinite(sum(found)):
        return None
    dtype = A.coefficients.dtype
    if dtype != np.float64 and max(max(found), -min(found)) > LARGEST:
        return None
    return A.new(code.keys, np.array(found, dtype=dtype))


def closed_exponential(sigma: Any, B: MV) -> MV | None:
    """Return exp(σ + B) for real B and σ of moderate size, None where the general way must look."""
    dtype = B.dtype
    code = plane_exponential(B.algebra.form, B.keys) if dtype.kind == "f" else None
    if code is None or not np.all(np.abs(sigma) < 300.0):
        return None
    if not B.ndim:
        one = exponential_of_one(B)
        if one is not None:
            return one * math.exp(sigma)
    parts = layout.components(B.on_keys(code.work).coefficients)
    count = parts.shape[1]
    result = np.empty((code.keys.size, count), dtype=dtype)
    factor = None if not np.any(sigma) else np.exp(np.asarray(sigma, dtype=np.float64)).ravel()
    for start in range(0, count, CHUNK):
        part = slice(start, start + CHUNK)
        b = parts[:, part].astype(np.float64, copy=False)
        out = result[:, part] if dtype == np.float64 else np.empty((len(result), b.shape[1]))
        if not code.of_rows(b, out):
            return None
        if factor is not None:
            out *= factor[part]
        if out.dtype != dtype:
            result[:, part] = out
    return B.new(code.keys, layout.coefficients(result, B.shape))
