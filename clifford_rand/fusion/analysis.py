"""Norm, inverse, sandwich and exponential of traced multivectors, each without a branch.

What the plain functions decide from values is decided here from what vanishes for all arguments. What is left becomes a
guard: a condition that the compiled code checks in every sample, and where it does not hold the plain function is run,
which then finds another way or raises its error.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand.compiler.scalar import TracedScalar, TraceError
from clifford_rand.functions.norms import LARGEST_STUDY
from clifford_rand.fusion.elementary import NEAR, SLOPE, cosh_and_sinhc, grown, polynomial, sinhc_derivative

VERSOR = 1e-9  # the rest of R ~R relative to its scalar, as in Multivector.sandwich
EXACT = 1e-12  # the same where it enters the result to first order
ROUNDING = 256  # units of rounding that neither is below
SIMPLE = 5  # dimensions up to which R ~R scalar, R even or odd, makes R x ~R a vector
LARGEST_ANGLE = {np.float32: 1e4, np.float64: 1e6}  # that is reduced by π to the rounding of the angle itself
LARGEST_GROWTH = {np.float32: 40.0, np.float64: 300.0}  # exponents of which two together are within range


def norm(A: Any) -> TracedScalar:
    """Return √|⟨A ~A⟩_0|."""
    _guard_range(A)
    return abs(A.norm_squared()).call("sqrt")


def normalized(A: Any) -> Any:
    """Return (A ~A)^{-1/2} A for even and odd A with A ~A = s + q, q² = t < s²; else A / √|⟨A ~A⟩_0|."""
    trace, graph = A.trace, A.trace.graph
    square = A.norm_squared().ref
    if not square:
        raise TraceError("it normalizes a multivector whose norm is zero")
    guard_divisor(A, square, scalar_terms(A))
    product = A * ~A if len(A.refs) <= LARGEST_STUDY else A.of({})
    q = product.grade(*(k for k in product.grades if k and k % 4 == 0))
    if not q.refs:
        return A.times(graph.call("reciprocal", graph.call("sqrt", graph.call("abs", square))))
    if product.grade(*(k for k in product.grades if k % 4 == 1)).refs:
        raise TraceError("it normalizes a multivector of even and odd grades, and values decide how")
    s, q, t = _split_square(q + product.grade(0), "its norm")
    n_squared = graph.add(graph.mul(s, s), -t)
    trace.need("lt", graph.mul(graph.constant(EXACT), graph.mul(s, s)), n_squared)
    root = graph.call("sqrt", n_squared)
    c = graph.call("sqrt", graph.mul(graph.constant(Fraction(1, 2)), graph.add(graph.call("abs", s), root)))
    sign = graph.call("where", graph.call("lt", s, 0), graph.constant(2), graph.constant(-2))
    part = graph.call("reciprocal", graph.mul(sign, graph.mul(c, root)))
    scalar = graph.mul(c, graph.call("reciprocal", root))
    return (q.times(part) + A.scalar(scalar)) * A


def inverse(A: Any) -> Any:
    """Return A⁻¹ = ~A N⁻¹ for N = A ~A = s + q with q² a scalar t: N⁻¹ = (s - q) / (s² - t)."""
    graph = A.trace.graph
    reverse, terms = ~A, scalar_terms(A)
    s, q, t = _split_square(A * reverse, "its inverse")
    if not q.refs:
        divisor, result = s, reverse
    else:
        divisor = graph.add(graph.mul(s, s), -t)
        result, terms = reverse * (q.of({0: s}) - q), graph.mul(terms, terms)
    guard_divisor(A, divisor, terms)
    return result.times(graph.call("reciprocal", divisor))


def sandwich(R: Any, X: Any) -> Any:
    """Return R X R⁻¹ = R X ~R / ⟨R ~R⟩_0 for a versor R, of the grades of X; that R is one is a guard.

    With R ~R = n + q it is R X ~R (n - q) / n² to second order in q.
    """
    trace, graph, d = R.trace, R.trace.graph, R.algebra.d
    parities = {k % 2 for k in R.grades}
    if len(parities) != 1 or (d > SIMPLE and max(R.grades) > 2):
        raise TraceError("it has R >> X for an R that may be no versor; write R * X * R.inv()")
    squared = (R * ~R).terms
    n = squared.pop(0, 0)
    guard_divisor(R, n, scalar_terms(R))
    product = R * X * ~R
    if squared:
        changes = (product * R.of(squared)).grade(*X.grades).refs
        tolerance = max(EXACT if changes else VERSOR, ROUNDING * float(np.finfo(trace.precision).eps))
        size = graph.mul(graph.constant(tolerance), graph.call("abs", n))
        for ref in squared.values():
            trace.need("le", graph.call("abs", ref), size)
    return product.grade(*X.grades).times(graph.call("reciprocal", n))


def exponential(A: Any) -> Any:
    """Return exp(A): σ + B with B² = s + q, q² a scalar t; q commutes with B."""
    trace, graph = A.trace, A.trace.graph
    terms = A.terms
    sigma = terms.pop(0, 0)
    B = A.of(terms)
    s, q, t = _split_square(B * B, "its exponential")
    size = graph.call("abs", s)
    if t:
        size = graph.add(size, graph.call("sqrt", graph.call("abs", t)))
    turns = graph.real[abs(s)] and graph.sign_of(s) < 0  # in all its planes
    limit = (LARGEST_ANGLE if turns else LARGEST_GROWTH)[trace.precision.type]
    trace.need("lt", size, graph.constant(limit**2))
    if not q.refs:
        C, S = cosh_and_sinhc(graph, s, trace.precision)
        result = B.times(S) + B.scalar(C)
    elif not t:
        C, S = cosh_and_sinhc(graph, s, trace.precision)
        D = sinhc_derivative(graph, s, C, S, trace.precision)
        half = graph.mul(graph.constant(Fraction(1, 2)), S)
        result = B.times(S) + B.scalar(C) + q.times(half) + (q * B).times(D)
    else:
        result = _of_two_planes(B, s, q, t)
    if sigma:
        trace.need("lt", graph.call("abs", sigma), graph.constant(LARGEST_GROWTH[trace.precision.type]))
        result = result.times(grown(graph, sigma, trace.precision))
    return result


def _of_two_planes(B: Any, s: int, q: Any, t: int) -> Any:
    """Return C(P)C(M) + ½S(P)S(M) q + S₀ B + S₁ qB for P + M = s, 4PM = t: the squares of the two planes of B.

    C = cosh √, S = sinh √/√; S₁ = (C(P)S(M) - S(P)C(M)) / (2(P - M)), S₀ = ½(S(P)C(M) + C(P)S(M)) - s S₁; where P and
    M are close, S₁ is the divided difference (S(x₊) - S(x₋)) / (x₊ - x₋) of x± = s ± √t, and where both are small the
    first terms of its series.
    """
    trace, graph, algebra = B.trace, B.trace.graph, B.algebra
    p, negative, _ = algebra.form.counts
    if B.grades != (2,) or not algebra.form.is_numeric or (p >= 2 and negative >= 2) or not graph.real[abs(s)]:
        raise TraceError("it has the exponential of a multivector whose planes may be complex")
    if graph.whole:
        raise TraceError("it has the exponential of two planes, which does not differentiate where they meet")

    def constant(number: Any) -> int:
        return graph.constant(number)

    def times(*refs: int) -> int:
        product = constant(1)
        for ref in refs:
            product = graph.mul(product, ref)
        return product

    half = Fraction(1, 2)
    discriminant = graph.add(times(s, s), -t)
    delta = graph.call("sqrt", graph.call("abs", discriminant))  # real planes: a negative one is rounding
    falls = graph.call("lt", s, 0)
    first = times(constant(half), graph.add(s, graph.call("where", falls, -delta, delta)))  # the larger in size
    safe = graph.call("where", graph.call("eq", first, 0), constant(1), first)
    other = times(constant(Fraction(1, 4)), t, graph.call("reciprocal", safe))
    # P ≥ M, and at most one plane is hyperbolic: M ≤ 0, and P ≤ 0 where no vector squares to another sign
    P = graph.call("where", falls, other, first)
    M = -graph.call("abs", graph.call("where", falls, first, other))
    if graph.sign_of(t) < 0:
        P = graph.call("abs", P)
    elif not p or not negative:
        P = -graph.call("abs", P)
    CP, SP = cosh_and_sinhc(graph, P, trace.precision)
    CM, SM = cosh_and_sinhc(graph, M, trace.precision)
    apart, rho = graph.add(P, -M), graph.call("sqrt", graph.call("abs", t))
    difference, divisor = graph.add(times(CP, SM), -times(SP, CM)), apart
    if graph.sign_of(t) >= 0:  # x± are far apart where two planes turn alike
        alike = graph.call("and", graph.call("lt", 0, t), graph.call("lt", apart, rho))
        plus, minus = (
            cosh_and_sinhc(graph, -graph.call("abs", graph.add(s, root)), trace.precision)[1] for root in (rho, -rho)
        )
        difference = graph.call("where", alike, graph.add(plus, -minus), difference)
        divisor = graph.call("where", alike, rho, apart)
    small = graph.call("lt", graph.add(graph.call("abs", s), rho), constant(NEAR[trace.precision.type]))
    divisor = graph.call("where", small, constant(1), divisor)
    quotient = times(constant(half), difference, graph.call("reciprocal", divisor))
    S1 = graph.call("where", small, polynomial(graph, s, SLOPE), quotient)
    mean = times(constant(half), graph.add(times(SP, CM), times(CP, SM)))
    S0 = graph.add(mean, -times(s, S1))  # symmetric in P and M, whose difference has lost digits where it is small
    result = B.times(S0) + B.scalar(times(CP, CM)) + q.times(times(constant(half), SP, SM))
    return result + (q * B).times(S1)


def outer_exponential(A: Any) -> tuple[Any, Any]:
    """Return the even and the odd terms of Σ A^∧k / k!, which ends where A has no scalar part."""
    if 0 in A.grades:
        raise TraceError("it has the outer exponential of a multivector with a scalar part, a series that does not end")
    parts = [A.of({0: A.trace.graph.constant(1)}), A.of({})]
    power, k = parts[0], 0
    while power.refs:
        k += 1
        power = power.wedge(A).times(A.trace.graph.constant(Fraction(1, k)))
        parts[k % 2] = parts[k % 2] + power
    return parts[0], parts[1]


# ---- guards and parts


def _split_square(square: Any, what: str) -> tuple[int, Any, int]:
    """Return s, q and t of N = s + q with q² = t, for which there are closed forms."""
    terms = square.terms
    s = terms.pop(0, 0)
    q = square.of(terms)
    second = (q * q).terms
    t = second.pop(0, 0)
    if second:
        raise TraceError(f"it has a multivector of grades {square.grades} in {what}, which has no closed form here")
    return s, q, t


def _safe_range(precision: np.dtype) -> tuple[float, float]:
    info = np.finfo(precision)
    return float(info.tiny / info.eps**2), float(info.max * info.eps)


def scalar_terms(A: Any) -> int:
    """Return Σ |w_S| a_S², the sum of the absolute terms of ⟨A ~A⟩_0 in an orthogonal basis."""
    graph, form = A.trace.graph, A.algebra.form
    weights = [1] * len(A.refs) if form.diagonal is None else form.weight(A.keys.masks).tolist()
    sizes = [ref if graph.real[abs(ref)] else graph.call("abs", ref) for ref in A.refs]
    squares = (graph.mul(graph.constant(abs(w)), graph.mul(a, a)) for w, a in zip(weights, sizes, strict=True) if w)
    return graph.sum(squares)


def _guard_range(A: Any) -> None:
    """Demand that no square over- or underflows; a multivector that is zero may."""
    graph, trace = A.trace.graph, A.trace
    terms = scalar_terms(A)
    if not terms:
        return
    low, high = (graph.constant(limit) for limit in _safe_range(trace.precision))
    total = graph.sum(graph.call("abs", ref) for ref in A.refs)
    trace.guard(graph.call("or", graph.call("lt", low, terms), graph.call("eq", total, 0)))
    trace.need("lt", terms, high)


def guard_divisor(A: Any, divisor: int, terms: int) -> None:
    """Demand a divisor within range that is more than rounding of its terms."""
    graph, trace = A.trace.graph, A.trace
    if not divisor:
        raise TraceError("it divides by a multivector that has no inverse")
    size = graph.call("abs", divisor)
    low, high = _safe_range(trace.precision)
    trace.need("lt", graph.constant(low), size)
    trace.need("lt", size, graph.constant(high))
    if terms != size:
        eps = 2 * float(np.finfo(trace.precision).eps) * len(A.refs)
        trace.need("lt", graph.mul(graph.constant(4 * eps), terms), size)
