"""Operations of traced multivectors: linear maps, projections, planes, logarithm, square root; those not traced.

Projections are those of `geometry.projections`, the formulas of planes those of `functions.closed_split`. A rotor is
R = n (S + B) with S = s + Q, a Study number: Q is of grade 4, Q² = t. log R = f(S) B for n = 1, and √R = √n (c + g B),
by the closed forms of `functions.study`. What the plain functions decide from values is a guard here.
"""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from clifford_rand.basis.keys import Keys
from clifford_rand.compiler.scalar import TracedScalar, TraceError
from clifford_rand.functions.study import angle_and_half
from clifford_rand.fusion.analysis import EXACT, SIMPLE, VERSOR, guard_divisor, rounding, scalar_terms
from clifford_rand.multivector import components, products
from clifford_rand.plans.linear import linear_plan

ELEMENTARY = SimpleNamespace(sqrt=np.sqrt, where=np.where)  # of traced scalars, which NumPy's functions trace
APART = Fraction(1, 100)  # (x1 - x2)² / s² from which B and B∧B alone tell two planes apart
LARGEST = 1e30  # |S| of a boost by 70, which the halvings of the argument bring near 1
LOWEST = -0.9  # S from which on 1 + S is more than round-off where there are two planes
LEAST = 1e-12  # 1 + S: half an angle within 1e-6 of π, where two logarithms meet
UNIT = 64  # units of rounding, relative to Σ R_i², within which R ~R is 1


class LinearMaps:
    """The linear maps of a traced multivector, which has ``algebra``, ``keys``, the nodes ``refs`` and `of`."""

    __slots__ = ()

    algebra: Any
    keys: Keys
    refs: list[int]
    trace: Any
    terms: Any
    of: Any

    # ---- grades and involutions

    def grade(self, *grades: int) -> Any:
        """Return the part of one or several grades."""
        if not grades or any(isinstance(k, bool) or not 0 <= k <= self.algebra.d for k in grades):
            raise TraceError(f"it takes grades {grades} of {self.algebra!r}")
        return self.part(grades)

    def part(self, grades: tuple[int, ...]) -> Any:
        """Return the part of some grades, or of none."""
        return self.of({mask: ref for mask, ref in self.terms.items() if mask.bit_count() in grades})

    even, odd = components.even, components.odd

    def image(self, name: str) -> Any:
        """Return the image under an involution, complement or star by its name."""
        plan, graph = linear_plan(self.algebra.form, name, self.keys), self.trace.graph
        places = np.arange(len(self.refs))[... if plan.places is None else plan.places]
        factors = np.ones(len(places), dtype=int) if plan.factors is None else plan.factors
        terms: dict[int, int] = {}
        for mask, place, factor in zip(plan.keys.masks.tolist(), places.tolist(), factors.tolist(), strict=True):
            ref = self.refs[place]
            terms[mask] = ref if factor == 1 else -ref if factor == -1 else graph.mul(graph.constant(factor), ref)
        return self.of(terms)

    reverse = __invert__ = products.reverse
    involute = products.involute
    conjugate = products.conjugate
    left_complement = products.left_complement
    right_complement = products.right_complement
    star = products.star
    star_right = products.star_right

    # ---- duals

    def dual(self) -> Any:
        """Return A I⁻¹."""
        return self * self.algebra.I_inv

    def undual(self) -> Any:
        """Return A I."""
        self.algebra.I_inv  # noqa: B018  # the same error as the plain one's
        return self * self.algebra.I


_BATCH = "it is about the batch, and samples are computed one by one"
_VALUES = "it tells about values, and there are none yet; use numpy.where on coefficients"
_ARRAY = "it is an array; A['e12'] is a coefficient"
_COUNT = "what it returns depends on values: how many factors there are, and of what grade"
_MATRIX = "it is a matrix; write the product itself, which becomes a matrix where that is faster"
_SYMBOLS = "it is about symbols"
_DTYPE = "the code has the dtype of the arguments; convert these, or the result"
_CIRCULAR = "its closed forms are not written as terms; those of exp, log, sqrt, sinh, cosh and tanh are"

REASONS = {
    **dict.fromkeys(("shape", "ndim", "reshape", "sum", "mean", "prod"), _BATCH),
    **dict.fromkeys(("isclose", "is_zero", "is_versor", "is_blade"), _VALUES),
    **dict.fromkeys(("coefficients", "values"), _ARRAY),
    **dict.fromkeys(("factorize_blade", "factorize_versor"), _COUNT),
    **dict.fromkeys(
        ("span", "intersection"), "the grade of the result depends on values; that of A ^ B and A & B does not"
    ),
    **dict.fromkeys(("vector_matrix", "left_matrix", "right_matrix", "spinor_matrix"), _MATRIX),
    **dict.fromkeys(("symbols_used", "diff", "subs", "simplify", "expand", "factor"), _SYMBOLS),
    **dict.fromkeys(("evalf", "integrate", "lambdify", "args", "func"), _SYMBOLS),
    **dict.fromkeys(("dtype", "astype", "to_numeric"), _DTYPE),
    **dict.fromkeys(("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"), _CIRCULAR),
    "dense": "results leave out blades that are zero for all arguments; call it on the result",
    **dict.fromkeys(("sparse", "filter"), "which blades stay depends on values; call it on the result"),
}


class Untraced:
    """A multivector without comparisons, conversions to numbers, and attributes of `REASONS`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        reason = REASONS.get(name)
        raise TraceError(f"it uses .{name}, which is not traced" + (f": {reason}" if reason else ""))

    def __bool__(self) -> bool:
        raise TraceError("it branches on a multivector")

    def __float__(self) -> float:
        raise TraceError("it needs the number that a scalar is; use NumPy's functions of A['1'] instead of math's")

    __complex__ = __int__ = __float__

    def _ordered(self, other: Any) -> Any:
        raise TraceError("it compares multivectors; compare their coefficients, as in A['1'] < 2, for numpy.where")

    __lt__ = __le__ = __gt__ = __ge__ = _ordered

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        raise TraceError("it compares multivectors; compare their coefficients, as in A['e12'], for numpy.where")

    __ne__ = __eq__

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TraceError(f"it calls numpy.{function.__name__}, which is not traced")


def blade_with_inverse(B: Any, owner: str) -> tuple[int, Any, Any]:
    """Return the grade of a blade, the blade and its inverse; that it is one, and not null, are guards.

    Of grades 2 and d - 2 it is one if it or its complement, a bivector, has B ∧ B = 0; of 0, 1, d - 1 and d always.
    """
    trace, d = B.trace, B.algebra.d
    if len(B.grades) != 1:
        raise TraceError(f"it calls {owner} with a multivector of grades {B.grades}, which may be no blade")
    (grade,) = B.grades
    if 1 < grade < d - 1:
        if grade not in (2, d - 2):
            raise TraceError(f"it calls {owner} with grade {grade} in {d} dimensions, which may be no blade")
        bivector = B if grade == 2 else B.right_complement()
        sizes = [a if a.is_real else abs(a) for a in B.scalars()]
        limit = max(VERSOR, rounding(trace.precision)) * sum(size * size for size in sizes)
        for part in bivector.wedge(bivector).scalars():
            trace.require(abs(part) <= limit)
    square = B.norm_squared()
    guard_divisor(B, square, scalar_terms(B))
    return grade, B, ~B * (1 / square)


def split(B: Any, rtol: float = 1e-9) -> tuple[Any, ...]:
    """Return the one or two simple bivectors that B is the sum of, those that turn faster first.

    With s = ⟨B²⟩_0, q = B∧B, t = q² and h = ⟨qB⟩_2 the squares of the two are x1, x2 = (s ± √(s² - t))/2, and they are
    (2 x1 B - h) and (h - 2 x2 B), divided by 2 (x1 - x2). How many there are must not depend on values: that B is
    neither zero nor, for two, simple are guards.
    """
    trace = B.trace
    if B.grades != (2,) or not all(a.is_real for a in B.scalars()):
        raise TraceError(
            f"it calls bivector_split with a multivector of grades {B.grades} that may be no real bivector"
        )
    squares = sum(a * a for a in B.scalars())
    q = B.wedge(B)
    if not q.refs:
        trace.require(squares > 0)
        return (B,)
    if B.algebra.d > SIMPLE:
        raise TraceError(f"it calls bivector_split in {B.algebra.d} dimensions, where there may be three planes")
    trace.require(max(VERSOR, rounding(trace.precision)) * squares < sum(map(abs, q.scalars())))
    s, t = B.anticommutator(B)["1"], q.anticommutator(q)["1"]
    h = q.anticommutator(B).grade(2)
    discriminant = s * s - t
    trace.require(APART * (s * s) < discriminant)
    root = discriminant.sqrt()
    difference: Any = np.where(s < 0, -root, root)  # x1 - x2
    twice = s + difference  # 2 x1; 2 x2 is t / (2 x1)
    factor = 1 / (difference + difference)
    return (B * twice - h) * factor, (h - B * (t * (1 / twice))) * factor


def logarithm(R: Any) -> Any:
    """Return log R = f(S) B for R ~R = 1, which is a guard."""
    norm, B, Q, (f0, f1, *_) = _angle_and_half(R, "its logarithm", unit=True)
    R.trace.require(abs(norm - 1) <= UNIT * float(np.finfo(R.trace.precision).eps) * scalar_terms(R))
    return _times_study(B, f0, Q, f1)


def square_root(R: Any) -> Any:
    """Return √R = √n (c + g B), c = √((1 + S)/2) and g = 1/(2c)."""
    norm, B, Q, (_, _, c0, c1, g0, g1) = _angle_and_half(R, "its square root", unit=False)
    return (Q * c1 + c0 + _times_study(B, g0, Q, g1)) * norm.sqrt().sqrt()


def _angle_and_half(R: Any, what: str, *, unit: bool) -> tuple[TracedScalar, Any, Any, tuple[Any, ...]]:
    """Return n² = R ~R, B and Q of R/n, and the values of `functions.study.angle_and_half`, with their guards."""
    trace = R.trace
    if R.algebra.d > SIMPLE or any(k % 2 for k in R.grades) or not all(a.is_real for a in R.scalars()):
        raise TraceError(f"it has a multivector of grades {R.grades} in {what}, which has no closed form here")
    square = R * ~R
    norm = square["1"]
    if norm.is_zero:
        raise TraceError(f"it has a multivector without inverse in {what}")
    trace.require(norm > 0)
    limit = max(EXACT, rounding(trace.precision)) * norm
    for part in square.part(tuple(k for k in square.grades if k)).scalars():
        trace.require(abs(part) <= limit)
    if not unit:
        R = R * (1 / norm.sqrt())
    s, B, Q = R["1"], R.grade(2), R.grade(4) if R.algebra.d > 3 else R.of({})
    t, X = (Q * Q)["1"], (B * B)["1"]
    apart = R.scalar(0) if t.is_zero else abs(t).sqrt()
    if not t.is_zero:
        trace.require(s - apart > LOWEST)
    # near S = -1, 1 + S is B²/(S - 1) to the precision of B, unless that is a difference of two planes itself
    above: Any = np.where(s < 0, X / (s - 1), 1 + s)
    trace.require(above > LEAST)
    trace.require(abs(s) + apart < LARGEST)
    return norm, B, Q, angle_and_half(ELEMENTARY, s, X, 0 if t.is_zero else t, "study")


def _times_study(B: Any, x: Any, Q: Any, y: Any) -> Any:
    """Return (x + y Q) B, of grade 2."""
    return B * x + Q.anticommutator(B).grade(2) * y
