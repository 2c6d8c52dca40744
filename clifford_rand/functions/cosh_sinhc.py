"""e^σ cosh √x and e^σ sinh √x / √x for x of either sign and every size: σ and √x meet before they are raised."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.functions.norms import times_power


def cosh_and_sinhc(sigma: Any, s: Any, exponent: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
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


def _hyperbolic(sigma: NDArray[Any], z: NDArray[Any], exponent: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return e^σ cosh z and 2^n e^σ sinh z / z for Re z ≥ 0, the large exponents added before they are raised."""
    grown = np.exp(sigma + z)
    return grown * (1 + np.exp(-2 * z)) / 2, grown * _scaled_quotient(-np.expm1(-2 * z), 2 * z, exponent, 2.0)


def _scaled_quotient(
    top: NDArray[Any], bottom: NDArray[Any], exponent: NDArray[np.int64], factor: float = 1.0
) -> NDArray[Any]:
    """Return 2^n top/bottom, 2^n where both are zero."""
    quotient = np.where(bottom == 0, 1, top / np.where(bottom == 0, 1, bottom))
    return times_power(quotient[..., None], exponent)[..., 0]
