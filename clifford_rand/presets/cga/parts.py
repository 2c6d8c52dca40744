"""Conformal blades as four Euclidean ones, X = A + n_o ∧ O + n_∞ ∧ I + n_o ∧ n_∞ ∧ M, and from their parameters.

A blade counts as flat where X ∧ n_∞ is at most ``rtol`` times X, by their largest components: 64 eps by default.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_bool, check_dtype, check_tolerance, describe, fail, wrong_algebra
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import copy_by_component
from clifford_rand.basis.keys import Keys, keys_of_grades, keys_of_masks
from clifford_rand.fusion.specialization import specialized
from clifford_rand.fusion.traced_array import decided, zeros
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import blade_of, euclidean, halved, largest, lengths, unit_scale
from clifford_rand.space import has_null_basis

ROUND, TANGENT, FLAT, FREE, DUAL_FLAT = "round", "tangent", "flat", "free", "dual flat"
DROP = {ROUND: 1, TANGENT: 1, FLAT: 2, FREE: 1, DUAL_FLAT: 0}  # grade of X less the grade of E
_ROUNDING = 4  # units of rounding of the largest component, X²/2: its own, and those of the sums that cancel it
_CLEAR = 1e3  # units of rounding of c² in a weight, from which a power of two is not by chance
_CHANCE = 16  # factor for a single component, which may be small by chance


def is_dual(dual: object) -> bool:
    """Return ``dual``, whether objects are vectors of the orthogonal complement of their points, checked."""
    return check_bool(dual, "dual", "clifford_rand.presets.cga")


def as_dual(X: Any, dual: object) -> Any:
    """Return the dual of a direct object if ``dual`` asks for it."""
    return X.dual() if is_dual(dual) else X


def model_of(A: object, owner: str, name: str = "algebra") -> tuple[int, bool]:
    """Return n, and whether the last two basis vectors of an algebra, or of A's, are n_o and n_∞ themselves."""
    alg = A if name == "algebra" else getattr(A, "algebra", A)
    null = has_null_basis(alg) if isinstance(alg, Algebra) else None
    if isinstance(alg, Algebra) and null is not None:
        return alg.d - 2, null
    raise wrong_algebra(alg, owner, name, "a conformal algebra", "Algebra.cga(n)")


def from_parts(algebra: Algebra, null: bool, E: NDArray[Any], o: NDArray[Any], i: NDArray[Any]) -> Multivector:
    """Return E + o n_o + i n_∞."""
    i = i if null else np.asanyarray(i + halved(o))
    pair = (o, i) if null else (np.asanyarray(i - o), i)  # they differ by exactly o, or far away a weight of 1 is lost
    batch = np.broadcast_shapes(E.shape[:-1], o.shape, i.shape)
    dtype = np.result_type(E, o, i)
    columns = [np.broadcast_to(E, (*batch, E.shape[-1])), *(np.broadcast_to(x, batch)[..., None] for x in pair)]
    return algebra.vector(np.concatenate(columns, axis=-1).astype(dtype, copy=False))


def parts_of(V: Any, null: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return E, o, i of a vector E + o n_o + i n_∞."""
    E, a, b = V.coefficients[..., :-2], V.coefficients[..., -2], V.coefficients[..., -1]
    return (E, a, b) if null else (E, np.asanyarray(b - a), halved(np.asanyarray(a + b)))


@specialized()
def infinity(algebra: Algebra, /, *, dtype: Any = np.float64) -> Multivector:
    """Return n_∞, with n_o·n_∞ = -1.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.origin(alg) | cga.infinity(alg)
    -1.0
    """
    _, null = model_of(algebra, "infinity")
    components = [0] * (algebra.d - 2) + ([0, 1] if null else [1, 1])
    return algebra.vector(np.array(components).astype(check_dtype(dtype, "dtype", "infinity")))


def squared(E: NDArray[Any], name: str, owner: str) -> NDArray[Any]:
    """Return the squares of vectors (..., n), or the error that they overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.asanyarray((E * E).sum(axis=-1))
    if square.dtype != object and not np.isfinite(square).all():
        received = describe(f"{E.dtype} that overflows")
        raise fail(name, owner, "small enough for its square", received, "Change the unit.")
    return square


def half_power(c: NDArray[Any], r: NDArray[Any], owner: str) -> NDArray[Any]:
    """Return (c² - r²)/2 of centers (..., n), refused where 1 or r² would be lost in the rounding of c²."""
    square, power = squared(c, "center", owner), np.asanyarray(r * r)
    if square.dtype.kind == power.dtype.kind == "f":
        least, hint = rounding(None, square.dtype), "Take coordinates about a local origin."
        if (square > 1 / least).any():
            rule = f"within {np.sqrt(1 / least):.1e} of the origin, as 1 beside larger squares is taken for rounding"
            raise fail("center", owner, rule, describe(f"one at {np.sqrt(square.max()):.1e}"), hint)
        if ((power < least * square) & (power > 0)).any():
            rule = f"at least {np.sqrt(least):.2g} of the distance of the center from the origin"
            raise fail("radius", owner, rule, describe("a smaller one"), hint)
    return halved(np.asanyarray(square - power))


def rounding(rtol: float | None, dtype: np.dtype) -> float:
    """Return ``rtol``, by default 64 eps: rounding and no more."""
    return check_tolerance(rtol, 64 * float(np.finfo(dtype).eps), "clifford_rand.presets")


def direct_blade(X: Any, owner: str, dual: bool, rtol: float | None = None) -> tuple[Any, Any, NDArray[np.bool_]]:
    """Return the direct blade, X ∧ n_∞, and where that vanishes: the flats.

    ``rtol`` bounds the largest component of X ∧ n_∞ relative to that of X. The default is 64 eps: only rounding,
    as a sphere at a distance c has only 2/c² there.
    """
    model_of(X, owner, "X")
    X = blade_of(X, "X", owner, "a blade")
    X = unit_scale(X.undual() if is_dual(dual) else X)
    carrier = X ^ infinity(X.algebra, dtype=X.dtype)
    return X, carrier, np.asanyarray(largest(carrier.coefficients) <= rounding(rtol, X.dtype))


class Parts(NamedTuple):
    """The Euclidean parts of X = A + n_o ∧ O + n_∞ ∧ I + n_o ∧ n_∞ ∧ M, multivectors of Algebra(n)."""

    A: Multivector
    O: Multivector  # noqa: E741  # the part with the origin
    I: Multivector  # noqa: E741  # the part with infinity
    M: Multivector


@lru_cache(maxsize=32)
def null_space(n: int) -> Algebra:
    """Return the conformal algebra in the basis of n_o and n_∞, which does not add 1 and X²/2, the same every time."""
    return Algebra.cga(n, null_basis=True)


@lru_cache(maxsize=256)
def _blades(n: int, k: int) -> Keys:
    return keys_of_grades(n, (k,)) if 0 <= k <= n else keys_of_masks(n, ())


@lru_cache(maxsize=256)
def _places(n: int, k: int) -> tuple[NDArray[np.int64], ...]:
    """Return where E, E ∧ e_{n+1}, E ∧ e_{n+2}, E ∧ e_{n+1} ∧ e_{n+2} are stored in grade k of Cl(n+1, 1)."""
    whole, first, second = keys_of_grades(n + 2, (k,)), 1 << n, 1 << n + 1
    pairs = ((k, 0), (k - 1, first), (k - 1, second), (k - 2, first | second))
    return tuple(
        np.array([whole.find(int(mask) | bits) for mask in _blades(n, g).masks], dtype=np.int64) for g, bits in pairs
    )


def split(X: Any, null: bool) -> Parts:
    """Return the parts of a multivector that has all components of one grade."""
    n, k = X.algebra.d - 2, X.grades[0]
    alg, sign = euclidean(n), -1 if k % 2 == 0 else 1  # E ∧ e = (-1)^(k-1) e ∧ E
    a, o, i, m = (X.coefficients[..., place] for place in _places(n, k))
    if not null:  # e_{n+1} = n_∞/2 - n_o and e_{n+2} = n_∞/2 + n_o
        o, i, m = i - o, (o + i) / 2, -m
    grades = ((a, k), (sign * o, k - 1), (sign * i, k - 1), (m, k - 2))
    return Parts(*(alg.new(_blades(n, g), copy_by_component(values)) for values, g in grades))


def joined(algebra: Algebra, null: bool, k: int, parts: Parts) -> Multivector:
    """Return the multivector of grade k with these parts."""
    n, sign = algebra.d - 2, -1 if k % 2 == 0 else 1
    values = [P.select_keys(_blades(n, g)).coefficients for P, g in zip(parts, (k, k - 1, k - 1, k - 2), strict=True)]
    a, o, i, m = values[0], sign * values[1], sign * values[2], values[3]
    if not null:
        i = i + o / 2
        o, i, m = i - o, i, -m  # their difference is exactly o, see `from_parts`
    shape = np.broadcast_shapes(*(value.shape[:-1] for value in values))
    columns = [np.broadcast_to(value, (*shape, value.shape[-1])) for value in (a, o, i, m)]
    order = np.argsort(np.concatenate(_places(n, k)))
    return algebra.new(keys_of_grades(n + 2, (k,)), copy_by_component(np.concatenate(columns, axis=-1)[..., order]))


def round_parts(E: Any, c: Any, rho: Any, null: bool) -> Parts:
    """Return the round of direction E, center c (a vector) and radius² rho: T_c[(n_o + rho n_∞/2) ∧ E].

    It is n_o∧E + n_o∧n_∞∧(c⌋E) + c∧E + n_∞∧((rho + c²)/2 E - c∧(c⌋E)). Far from the origin E is rounded to what the
    sums of both coefficients in the basis of e_{n+1} and e_{n+2} can hold, so that c and rho are those of that E.
    """
    half = halved(np.asanyarray(rho + (c.coefficients**2).sum(axis=-1)))  # (rho + c²)/2, the coefficient of n_∞
    if not null and E.dtype.kind == half.dtype.kind == "f":
        size = largest(E.coefficients) * (abs(half) + (c.coefficients**2).sum(axis=-1))
        power = np.exp2(np.floor(np.log2(np.where(size > 0, size, 1)) + 1e-9) + 2)  # 2 to 4 times the size
        grid = (float(np.finfo(E.dtype).eps) * power)[..., None].astype(E.dtype)
        far = (size > 64 * largest(E.coefficients))[..., None]
        E = E.new(E.keys, np.where(far, np.rint(E.coefficients / np.where(far, grid, 1)) * grid, E.coefficients))
    along = c << E
    return Parts(c ^ E, E, E.new(E.keys, E.coefficients * half[..., None]) - (c ^ along), along)


def flat_parts(E: Any, c: Any, k: int) -> Parts:
    """Return the flat up(c) ∧ E ∧ n_∞ of grade k: (-1)^k n_o∧n_∞∧E - (-1)^k n_∞∧(c∧E)."""
    sign = -1 if k % 2 else 1
    nothing = E.new(keys_of_masks(E.algebra.d, ()), np.zeros((*E.shape, 0), dtype=E.dtype))
    return Parts(nothing, nothing, (c ^ E) * -sign, E * sign)


class Round(NamedTuple):
    """Rounds by their parameters, c the center, and how well their coefficients determine these."""

    E: Multivector
    c: NDArray[Any]
    radius_squared: NDArray[Any]
    weight: NDArray[Any]
    top: NDArray[Any]
    """The largest component of weight 1, about c²/2."""
    excess: NDArray[Any]
    """Error of radius² by the grades of X ~X that vanish for a blade."""

    def is_known(self, tangent: Any = False, *, rounding: float = _ROUNDING) -> NDArray[np.bool_]:
        """Tell whether the radius is known to 5e-9 of the distance from the origin, or to 6e-6 of itself."""
        eps = float(np.finfo(self.c.dtype).eps)
        far, near = 4 * eps ** (4 / 7), eps ** (1 / 3)  # these for float64, 4e-4 and 5e-3 for float32
        square = abs(self.radius_squared)
        limit = 2 * np.maximum(far * np.sqrt(self.top * square), near * square)
        error = rounding * eps * self.top + self.excess
        return np.asanyarray(np.where(tangent, self.excess <= far * self.top, error <= limit))


def imprecise(owner: str) -> Exception:
    """Return the error of rounds whose coefficients do not determine the radius."""
    hint = "Subtract the center of the data from the points first, or fit them with fit_round."
    received = "a round so far from the origin that rounding hides them"
    return fail("X", owner, "a round with a known center and radius", describe(received), hint)


def round_of(X: Any, parts: Parts, null: bool, factor: Any) -> Round:
    """Return factor X with O ≠ 0: radius² = 2 I·E + |c_∥|² - |c_⊥|², c = (A + M)/E, |c_∥| = |M| and |c_⊥| = |A|."""
    n, k = X.algebra.d - 2, X.grades[0]
    weight = np.asanyarray(lengths(parts.O.coefficients))  # |O|: E is of length 1
    E, parts = parts.O / weight, Parts(*(P / weight for P in parts))
    c = np.asanyarray(((parts.A + parts.M) * ~E).select_keys(keys_of_grades(n, (1,))).coefficients)
    inside, outside = ((P.coefficients**2).sum(axis=-1) for P in (parts.M, parts.A))
    # differences of squares of lengths, which keep their digits
    rho = np.asanyarray(2 * (parts.I.coefficients * E.coefficients).sum(axis=-1) + inside - outside)
    eps = float(np.finfo(c.dtype).eps)
    top = np.maximum(largest(parts.I.coefficients), (c * c).sum(axis=-1))
    if 1 < k <= n:
        Y = joined(null_space(n), True, k, parts)
        square = Y * ~Y
        masks = np.asanyarray(square.keys.masks)
        neutral = (masks != 0) & ((masks >> n & 1) == (masks >> n + 1 & 1))  # of the dimension of radius²
        ratio = np.sqrt(np.minimum(1, abs(rho) / np.where(top > 0, top, 1)))  # radius/distance
        excess = largest(square.coefficients[..., neutral]) * (ratio if k > 2 else 1 if neutral.sum() > 1 else _CHANCE)
        if not null:  # beyond the rounding of the constructors, sums of products of X²/2 have lost the weight
            lost = _ROUNDING * eps * top * (1 + top) / np.maximum(ratio, 1e-3)
            excess = np.where(excess > _CHANCE * _ROUNDING * eps * top, np.maximum(excess, lost), excess)
        # in a plane of k - 1 axes X is the dual of a vector, whose square is a number whatever has been lost
        in_plane = decided(_axes(parts) < k)
        if in_plane.any():
            excess = np.where(in_plane, _excess_of_vectors(k, null, weight * factor, rho, top), excess)
    else:
        excess = _excess_of_vectors(k, null, weight * factor, rho, top)
    return Round(E, c, rho, weight * factor, top, excess)


def _axes(parts: Parts) -> NDArray[np.int64]:
    """Return how many Euclidean basis vectors the parts of each element contain."""
    n = parts.O.algebra.d
    squares = [
        sum((P.coefficients[..., (P.keys.masks >> i & 1) == 1] ** 2).sum(axis=-1) for P in parts) for i in range(n)
    ]
    return np.asanyarray(sum(np.where(square > 0, 1, 0) for square in squares))


def _excess_of_vectors(k: int, null: bool, weight: Any, rho: Any, top: Any) -> Any:
    """Return a bound on the error of radius² of points and spheres, of which X ~X is a number in any case.

    Points have (1 + c²/2)² units of rounding in the basis of e_{n+1} and e_{n+2}, where components are 1/2 at least.
    A weight of 1 as the constructors give it, or near a power of two, shows its own error δ, and c² has 2 δ c². Any
    other is that of the wedge of n + 1 points, of the order distance/radius more than its rounding. In the basis of
    e_{n+1} and e_{n+2} a weight of few units of rounding of c² is often a power of two by chance.
    """
    eps = float(np.finfo(np.asanyarray(rho).dtype).eps)
    once = _ROUNDING * eps * top * (1 if null else 1 + top)
    if k == 1:
        return _ROUNDING * eps * (1 + top) ** 2 * (not null)
    delta = abs(weight / np.exp2(np.rint(np.log2(weight))) - 1)
    ratio = np.sqrt(top / np.maximum(abs(rho), np.where(top > 0, 1e-6 * top, 1)))
    clean = (delta <= 1e-7) & (null | (_CLEAR * eps * top <= 1))
    return np.where(clean, 4 * delta * top, once * ratio)


def assemble(described: Any, algebra: Algebra) -> Multivector:
    """Return the blades with the parameters of a `ConformalObject` in ``algebra``, of the same n and either basis."""
    n, null = model_of(algebra, "blade")
    shape, count = described.shape, math.prod(described.shape)
    grade, kind, rho, weight = (
        np.broadcast_to(x, shape).reshape(-1)
        for x in (described.grade, described.kind, described.radius_squared, described.weight)
    )
    keys = keys_of_grades(n + 2, tuple(int(k) for k in np.unique(grade)) or (1,))
    E = described.direction
    rows, centers = E.coefficients.reshape(count, E.keys.size), described.location.reshape(count, n)
    array = zeros((count, keys.size), rows)
    for k in keys.grades:
        for name in np.unique(kind[grade == k]).tolist():
            at = np.flatnonzero((grade == k) & (kind == name))
            part = E.new(E.keys, rows[at] * weight[at, None]).select_keys(keys_of_grades(n, (k - DROP[name],)))
            parts = _with_parameters(name, k, part, centers[at], rho[at], null)
            array[at] += joined(algebra, null, k, parts).on_keys(keys).coefficients
    return algebra.new(keys, copy_by_component(array.reshape(*shape, keys.size)))


def _with_parameters(kind: str, k: int, E: Any, center: NDArray[Any], rho: NDArray[Any], null: bool) -> Parts:
    nothing = E * 0
    if kind == FREE:
        return Parts(nothing, nothing, E * (1 if k % 2 else -1), nothing)
    c = E.algebra.vector(center)
    if kind == DUAL_FLAT:
        return Parts(E, nothing, c << E, nothing)
    return flat_parts(E, c, k) if kind == FLAT else round_parts(E, c, rho, null)
