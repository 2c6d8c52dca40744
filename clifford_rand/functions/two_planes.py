"""exp(B) where B² = s + q and q² = t is a scalar: bivectors of four and five dimensions, which are two planes.

With ρ = √t, x± = s ± ρ and J = q/ρ, J² = 1, the two planes are B (1 ± J)/2, and each has its own cosine and sine. Where
ρ is small beside q (a screw: q ≠ 0, ρ = 0) there is no J, but f(B²) = f₀ + f₁ q, f₀ the mean and f₁ the divided
difference of f(x+), f(x-). For C = cosh √ and S = sinh √/√, and u, v = (√x+ ± √x-)/2, so that ρ = 2uv, with
sinhc z = sinh z / z:

    C₀ = cosh u cosh v      C₁ = ½ sinhc u sinhc v      S₁ = (cosh u sinhc v - sinhc u cosh v) / (2(u² - v²))
                                                           = ½ ∫₀¹ τ² sinhc(τu) sinhc(τv) dτ
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.functions.frame import Array
from clifford_rand.functions.norms import times_power

NODES = 20  # Gauss–Legendre: the integrand has exponential type |u| + |v| ≤ 8 there, and 16 nodes leave 7e-17
SEPARATE = 0.1  # |ρ| / |q| from which J = q/ρ is right to a digit less than q
NEAR = 4.0  # |u| up to which the integral is used, where |u² - v²| < 1


def cosh_and_sinhc(sigma: Any, s: Any, exponent: Array) -> tuple[Array, Array]:
    """Return e^σ cosh z and 2^n e^σ sinh z / z for z = 2^n √s."""
    sigma, s = np.asarray(sigma), np.asarray(s)
    if s.dtype.kind == "c":
        return _hyperbolic(sigma, times_power(np.sqrt(s)[..., None], exponent)[..., 0], exponent)
    z = times_power(np.sqrt(np.abs(s))[..., None], exponent)[..., 0]
    if (s >= 0).all():
        return _hyperbolic(sigma, z, exponent)
    factor = np.exp(sigma)
    turn = np.where(s < 0, z, 0)
    cosine, sine = factor * np.cos(turn), factor * _scaled_quotient(np.sin(turn), turn, exponent)
    if (s < 0).all():
        return cosine, sine
    boost = _hyperbolic(sigma, np.where(s < 0, 0, z), exponent)
    return np.where(s < 0, cosine, boost[0]), np.where(s < 0, sine, boost[1])


def _hyperbolic(sigma: Array, z: Array, exponent: Array) -> tuple[Array, Array]:
    """Return e^σ cosh z and 2^n e^σ sinh z / z for Re z ≥ 0, the large exponents added before they are raised."""
    grown = np.exp(sigma + z)
    return grown * (1 + np.exp(-2 * z)) / 2, grown * _scaled_quotient(-np.expm1(-2 * z), 2 * z, exponent, 2.0)


def _scaled_quotient(top: Array, bottom: Array, exponent: Array, factor: float = 1.0) -> Array:
    """Return 2^n top/bottom, 2^n where both are zero."""
    quotient = np.where(bottom == 0, 1, top / np.where(bottom == 0, 1, bottom))
    return times_power(quotient[..., None], exponent)[..., 0]


def exponential_of_two_planes(sigma: Any, B: MV, exponent: Array, s: Any, q: MV, t: Any) -> MV:
    """Return exp(σ + 2^n B) from s, q, t of B² = s + q, q² = t; q and B commute."""
    third = B.anticommutator(q)
    s, t = np.asarray(s), np.asarray(t)
    separate = np.sqrt(np.abs(t)) > SEPARATE * np.abs(q.coefficients).max(axis=-1)
    if separate.all():
        return _by_planes(sigma, B, exponent, q, t, third)
    close = _by_differences(sigma, B, exponent, s, q, t, third)
    if not separate.any():
        return close
    planes = _by_planes(sigma, B, exponent, q, np.where(separate, t, 1), third)
    return close.new(close.keys, np.where(separate[..., None], planes.coefficients, close.coefficients))


def _by_planes(sigma: Any, B: MV, exponent: Array, q: MV, t: Array, third: MV) -> MV:
    """Return Σ± C(x±) P± + S(x±) B P±, P± = (1 ± q/ρ)/2, with x± = 2⟨(B P±)²⟩_0 instead of s ± ρ, which cancels."""
    real = B.dtype.kind != "c"
    complex_type = np.result_type(B.dtype, np.complex64)
    rho = np.sqrt(t) if real and (t > 0).all() else np.sqrt(t.astype(complex_type))
    J = q.new(q.keys, q.coefficients / rho[..., None])
    turned = third.new(third.keys, third.coefficients / rho[..., None])
    total: Any = None
    for sign in (1, -1):
        part = B * 0.5 + turned * (0.5 * sign)
        x = 2 * part.anticommutator(part).coefficients[..., 0]
        C, S = cosh_and_sinhc(sigma, x, exponent)
        term = part.new(part.keys, part.coefficients * S[..., None])
        term = term + J.new(J.keys, J.coefficients * (0.5 * sign * C)[..., None]) + 0.5 * C
        total = term if total is None else total + term
    return total.new(total.keys, total.coefficients.real.astype(B.dtype) if real else total.coefficients)


def _by_differences(sigma: Any, B: MV, exponent: Array, s: Array, q: MV, t: Array, third: MV) -> MV:
    """Return C₀ + C₁ q + (S₀ + S₁ q) B."""
    real = B.dtype.kind != "c"
    rho = np.sqrt(t.astype(np.complex128))
    scale = np.exp2(exponent.astype(np.float64))
    growth = np.exp(np.asarray(sigma, dtype=np.complex128))
    with np.errstate(all="ignore"):
        parts = [part * growth for part in _coefficients(np.sqrt(s + rho), np.sqrt(s - rho), rho, scale)]
    C0, C1, S0, S1 = ((part.real if real else part).astype(B.dtype) for part in parts)
    once = B.new(B.keys, B.coefficients * S0[..., None])
    twice = q.new(q.keys, q.coefficients * C1[..., None])
    return twice + C0 + once + third.new(third.keys, third.coefficients * S1[..., None])


def _coefficients(a: Array, b: Array, rho: Array, scale: NDArray[np.float64]) -> tuple[Array, ...]:
    """Return C₀, c² C₁, c S₀, c³ S₁ for c B, c the scale: c is spread over the factors, whose product is in range."""
    u, v = (a + b) / 2, (a - b) / 2
    u, v = np.where(np.abs(u) >= np.abs(v), u, v), np.where(np.abs(u) >= np.abs(v), v, u)
    small = np.abs(v) < np.abs(u) / 2
    v = np.where(small, rho / np.where(small, 2 * u, 1), v)  # without the cancellation of a - b
    product = u * u - v * v  # = ± √(x+ x-)
    U, V = scale * u, scale * v
    cosh_u, cosh_v = np.cosh(U), np.cosh(V)
    sinhc_u, sinhc_v = scale * _sinhc(U), scale * _sinhc(V)
    C0, C1 = cosh_u * cosh_v, sinhc_u * sinhc_v / 2
    plus, minus = scale * _sinhc(U + V), scale * _sinhc(U - V)
    S0 = (plus + minus) / 2
    safe = np.where(product == 0, 1, product)
    S1 = (cosh_u * sinhc_v - sinhc_u * cosh_v) / (2 * safe)
    # The angles of a large B are rounded by much, so that all four coefficients must come from the same two of them:
    # from u ± v where ρ = 2uv is large while u² - v² may vanish, from u and v otherwise.
    large = np.abs(U) > NEAR
    apart = large & (np.abs(v) > np.abs(u) / 2)
    S0 = np.where(large & ~apart, (u * u * sinhc_u * cosh_v - v * v * cosh_u * sinhc_v) / safe, S0)
    cosh_plus, cosh_minus = np.cosh(U + V), np.cosh(U - V)
    C0 = np.where(apart, (cosh_plus + cosh_minus) / 2, C0)
    twice = np.where(apart, 4 * u * v, 1)
    C1 = np.where(apart, (cosh_plus - cosh_minus) / twice, C1)
    S1 = np.where(apart, (plus - minus) / twice, S1)
    near = ~large & (np.abs(product) * scale**2 < 1)
    if near.any():
        S1 = np.where(near, scale**3 * _integral(np.where(near, U, 0), np.where(near, V, 0)), S1)
    return C0, C1, S0, S1


def _sinhc(z: Array) -> Array:
    safe = np.where(z == 0, 1, z)
    return np.where(z == 0, 1, np.sinh(safe) / safe)


@lru_cache(maxsize=1)
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, w = np.polynomial.legendre.leggauss(NODES)
    tau = (x + 1) / 2
    return tau, w / 4 * tau**2  # ½ of the integral, and ½ of the interval's length


def _integral(U: Array, V: Array) -> Array:
    """Return ½ ∫₀¹ τ² sinhc(τU) sinhc(τV) dτ."""
    tau, weight = _nodes()
    return (_sinhc(U[..., None] * tau) * _sinhc(V[..., None] * tau)) @ weight
