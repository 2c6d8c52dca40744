"""exp(B) = C(B²) + S(B²) B by rows, where the structure of B's blades says that B² = s + q with a number q² = t.

That is so for vectors, for bivectors of at most five dimensions, and for all that squares to a number. Then q and B
commute, h = q B has grades of B, and exp(B) = C₀ + C₁ q + S₀ B + S₁ h with the coefficients of `study`.
"""

import math
from operator import itemgetter
from typing import Any

import numpy as np

from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import Keys, keys_of_grades, keys_of_masks, union
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.table import Part, StraightLine
from clifford_rand.functions.study import APART, cosh_sinhc, cosh_sinhc_of_pair
from clifford_rand.plans.cost_model import made_once

MOST_ROWS = 16  # blades of B for which straight-line code is written
CHUNK = 8192  # samples at a time: some fifty rows of them stay in the second-level cache
MODERATE = 9e4  # λ² of the largest boost: e^300, and the product of two stays in range
LARGE = 1e30  # components beyond which B is scaled first, so that q² stays in range
LARGEST = 1e37  # components up to which exp(B) is in the range of float32
SEPARATE = 0.1  # √t / |q| from which J = q/√t is right to a digit less than q


class PlaneExponential:
    """The code of exp(B) for the keys of B: ``work`` holds B and h, ``keys`` the result."""

    def __init__(self, metric: Metric, keys: Keys) -> None:
        self.work = keys
        # until h = q B has no blade that the rows do not have
        while True:
            code, B = StraightLine.of(metric, b=self.work)
            square = code.product("x", "anticommutator", B, B)
            s, q = _split(square)
            h = code.product("h", "anticommutator", q, B)
            t = code.product("t", "anticommutator", q, q)
            together = union(self.work, h.keys)
            # q² must be a number, and h without a scalar, for exp(B) = C₀ + C₁ q + S₀ B + S₁ h
            self.serves = 0 not in h.keys.grades and t.keys.grades in ((), (0,)) and together.size <= MOST_ROWS
            if not self.serves or together is self.work:
                break
            self.work = together
        self.planes = 2 if q.names else 1
        self.square = code.function(s.scalar(), t.scalar(), q, h.on(self.work))
        again, b = StraightLine.of(metric, b=self.work)
        self.scalar_square = again.function(again.product("x", "anticommutator", b, b, (0,)).scalar())
        self.keys = union(union(keys_of_grades(metric.d, (0,)), self.work), q.keys)
        self.at_work = [self.keys.find(int(mask)) for mask in self.work.masks]
        self.even_keys = union(keys_of_grades(metric.d, (0,)), q.keys)  # of C(B²)
        self.at_even = [self.keys.find(int(mask)) for mask in self.even_keys.masks]
        order = np.argsort([*self.at_even, *self.at_work]).tolist()
        self.gather = itemgetter(*order) if len(order) == self.keys.size > 1 else None  # no blade is in both parts

    def of_one(self, b: list[float], sign: int = 1) -> tuple[list[float], list[float]] | None:
        """Return what `of_rows` does, of Python numbers; None where the rows must look."""
        s, t, q, h = self.square(b)
        if not (abs(s) < MODERATE and abs(t) < MODERATE**2):
            return None
        if self.planes == 1:
            C, S = cosh_sinhc(math, sign * s)
            return [C], [S * x for x in b]
        if s * s - t < APART * s * s and abs(s) > 1:  # two planes turn nearly alike
            return None
        C0, C1, S0, S1 = cosh_sinhc_of_pair(math, sign * s, t)
        C1, S1 = sign * C1, sign * S1
        return [C0, *[C1 * x for x in q]], [S0 * x + S1 * y for x, y in zip(b, h, strict=True)]

    def exp_of_one(self, b: list[float]) -> list[float] | None:
        """Return the components of exp(B) in Python numbers, None where the rows must look."""
        parts = self.of_one(b)
        if parts is None:
            return None
        if self.gather is not None:
            return list(self.gather(parts[0] + parts[1]))
        result = [0.0] * self.keys.size
        for i, x in zip(self.at_even, parts[0], strict=True):
            result[i] = x
        for i, x in zip(self.at_work, parts[1], strict=True):
            result[i] += x
        return result

    def exp_of_rows(self, b: np.ndarray, result: np.ndarray) -> bool:
        """Write exp(B) for rows (K, N) into ``result`` (M, N); False, and nothing there, where B is large."""
        parts = self.of_rows(b)
        if parts is None:
            return False
        result[self.at_work] = parts[1]
        if self.planes == 1 and 0 not in self.at_work:
            result[0] = parts[0][0]
        else:
            absent = [i for i in self.at_even if i not in self.at_work]
            result[absent] = 0
            result[self.at_even] += parts[0]
        return True

    def of_rows(self, b: np.ndarray, sign: int = 1) -> tuple[np.ndarray, np.ndarray] | None:
        """Return C(±B²) = C₀ + C₁ q on ``even_keys``, S(±B²) B = S₀ B + S₁ h on ``work``, for rows (K, N).

        With ``sign`` -1 these are cos B and sin B. None where a boost is large.
        """
        c: Any = 1.0
        largest = np.abs(b).max(axis=0, initial=0.0)
        if largest.max(initial=0.0) > LARGE:
            c = np.exp2(np.frexp(largest)[1].astype(np.float64))
            # a power of two: exact
            b = b / c
        s, t, q, h = self.square(b)
        s, t = (np.broadcast_to(np.asarray(x, dtype=b.dtype), b.shape[1:]) for x in (s, t))
        root = np.sqrt(np.abs(t))
        boost = (np.abs(s) if sign < 0 or b.dtype.kind == "c" else s) + root
        if not (c * np.sqrt(np.maximum(boost, 0.0)) < MODERATE**0.5).all():
            return None
        if self.planes == 1:
            C, S = cosh_sinhc(np, sign * s, c)
            return C[None], S * b
        q, h = (np.stack([np.broadcast_to(np.asarray(row, dtype=b.dtype), s.shape) for row in x]) for x in (q, h))
        # C(X) = C₀ + C₁ q and S(X) B = S₀ B + S₁ q B at X = ±B²
        C0, C1, S0, S1 = cosh_sinhc_of_pair(np, sign * s, t, c)
        even, odd = np.concatenate([C0[None], sign * C1 * q]), S0 * b + sign * S1 * h
        if b.dtype.kind == "f":
            close = (s * s - t < APART * s * s) & (root > SEPARATE * np.abs(q).max(axis=0)) & (c * c * np.abs(s) > 1)
            if close.any():
                scale = c if c.__class__ is float else c[close]
                even[:, close], odd[:, close] = self._by_planes(
                    b[:, close], root[close], q[:, close], h[:, close], scale, sign
                )
        return even, odd

    def _by_planes(
        self, b: np.ndarray, rho: np.ndarray, q: np.ndarray, h: np.ndarray, c: Any, sign: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ± C(x±) (1 ± J)/2 and Σ± S(x±) B (1 ± J)/2, J = q/√t, where planes turn nearly alike.

        There s - √t cancels, and so do S₀ B and S₁ h; x± = 2⟨(B (1 ± J)/2)²⟩_0 does not.
        """
        # J² = 1, so (1 ± J)/2 are projectors on the two planes
        J, turned = q / rho, h / rho
        even, odd = np.zeros((len(q) + 1, len(rho))), np.zeros_like(b)
        for side in (0.5, -0.5):
            part = 0.5 * b + side * turned
            # x± / 2: half of the square is of grade 4
            (square,) = self.scalar_square(part)
            C, S = cosh_sinhc(np, 2 * sign * square, c)
            even[0] += 0.5 * C
            even[1:] += side * C * J
            odd += S * part
        return even, odd


def _split(square: Part) -> tuple[Part, Part]:
    """Return the scalar and the rest."""
    first = int(square.keys.find(0) >= 0)
    d = square.keys.d
    rest = keys_of_masks(d, tuple(int(mask) for mask in square.keys.masks[first:]))
    return Part(keys_of_grades(d, (0,)), square.names[:first]), Part(rest, square.names[first:])


def plane_exponential(metric: Metric, keys: Keys) -> PlaneExponential | None:
    """Return the code for B of ``keys``, None where B² may be more than s + q."""
    code: PlaneExponential | None = made_once(metric, ("exp", keys), _plane_exponential, metric, keys)
    return code


def _plane_exponential(metric: Metric, keys: Keys) -> PlaneExponential | None:
    if not (0 < keys.size <= MOST_ROWS and keys.grades[0] and metric.is_numeric):
        return None
    candidate = PlaneExponential(metric, keys)
    return candidate if candidate.serves else None


def exponential_of_one(A: MV) -> MV | None:
    """Return exp(A) of one real A without a scalar part, by Python numbers; None where the rest must look."""
    code = plane_exponential(A.algebra.form, A.keys)
    if code is None:
        return None
    components = code.exp_of_one((A if code.work is A.keys else A.on_keys(code.work)).coefficients.tolist())
    if components is None or not math.isfinite(sum(components)):
        return None
    dtype = A.coefficients.dtype
    if dtype != np.float64 and max(max(components), -min(components)) > LARGEST:
        return None
    return A.new(code.keys, np.array(components, dtype=dtype))


def closed_exponential(sigma: Any, B: MV) -> MV | None:
    """Return exp(σ + B) for B and σ of moderate size, None where the general way must look."""
    dtype = B.dtype
    code = plane_exponential(B.algebra.form, B.keys)
    if code is None or not np.all(np.abs(sigma) < 300.0):
        return None
    work = np.result_type(dtype, np.float64)
    if not B.ndim and dtype.kind == "f":
        image = exponential_of_one(B)
        if image is not None:
            return image * math.exp(sigma)
    parts = as_components(B.on_keys(code.work).coefficients)
    count = parts.shape[1]
    result = np.empty((code.keys.size, count), dtype=dtype)
    factor = None if not np.any(sigma) else np.exp(np.asarray(sigma, dtype=work)).ravel()
    for start in range(0, count, CHUNK):
        part = slice(start, start + CHUNK)
        b = parts[:, part].astype(work, copy=False)
        out = result[:, part] if dtype == work else np.empty((len(result), b.shape[1]), work)
        if not code.exp_of_rows(b, out):
            return None
        if factor is not None:
            # e^σ commutes with all
            out *= factor[part]
        if out.dtype != dtype:
            result[:, part] = out
    return B.new(code.keys, from_components(result, B.shape))
