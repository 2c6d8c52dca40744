"""Geodesics of the Grassmannian: logarithm and exponential of subspaces by orthonormal rows, none of d × d numbers."""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array, NDArray
from clifford_rand.blades.blocks import Combined, Rows, Stacked, finite_peaks, product, written
from clifford_rand.blades.factored_rows import FactoredRows
from clifford_rand.blades.rows import relative

_INSIDE = 1e-6  # of a tangent's length: what of it may lie in the subspace, where others have another base
_NOISE = 64  # times eps, in radians: the same of a tangent that is nothing but rounding


def log_weights(cosines: Array) -> tuple[Array, Array]:
    """Return A and B (..., k, k) with log = A Q - B P, of products P Qᵀ of orthonormal rows.

    With P Qᵀ = U cos(θ) Vᵀ they are A = U θ/sin(θ) Vᵀ and B = U θ cos(θ)/sin(θ) Uᵀ. Both are as exact as the products:
    θ/sin θ of a small θ is 1 to θ², and 1 is the sine at the cut locus θ = π/2.
    """
    U, cosine, V = np.linalg.svd(cosines)
    cosine = np.minimum(cosine, 1.0)
    left = U / np.sinc(np.arccos(cosine) / np.pi)[..., None, :]
    return left @ V, (left * cosine[..., None, :]) @ U.swapaxes(-1, -2)


def exp_weights(gram: Array) -> tuple[Array, Array]:
    """Return cos √K and sin √K / √K (..., k, k) of K = Δ Δᵀ: exp(Δ) is spanned by cos(√K) P + sin(√K)/√K Δ."""
    square, U = np.linalg.eigh(gram)
    angle = np.sqrt(np.maximum(square, 0.0))[..., None, :]
    back = U.swapaxes(-1, -2)
    return (U * np.cos(angle)) @ back, (U * np.sinc(angle / np.pi)) @ back


def check_tangent(inside: Array, gram: Array, dtype: Any) -> None:
    """Refuse rows Δ that are not orthogonal to the subspace; ``inside`` are their products Δ Pᵀ."""
    with np.errstate(over="ignore"):
        length = np.sqrt(np.trace(gram, axis1=-2, axis2=-1))
        rest = np.linalg.norm(inside, axis=(-2, -1))
    if np.any(rest > relative(dtype, _INSIDE) * length + _NOISE * np.finfo(dtype).eps):
        received = describe(f"a share of {float((rest / np.where(length > 0, length, 1)).max()):.2g} inside it")
        hint = "A tangent belongs to the blade whose log gave it."
        raise fail("tangent", "exp", "of rows orthogonal to the subspace", received, hint)


def log_of_rows(P: FactoredRows, Q: FactoredRows, out: NDArray[Any] | None) -> NDArray[Any]:
    """Return the tangent (k, d) at P whose exponential is Q."""
    (p, V), (q, W) = P.frame, Q.frame
    A, B = log_weights(P.cosines(Q))
    both = Stacked(q, p)
    tangent = Combined(np.concatenate([A @ W, -B @ V], axis=1), both)
    inside = P.coordinates(tangent)  # what rounding left
    return written(Combined(np.concatenate([A @ W, -(B + inside) @ V], axis=1), both), out, "log")


def exp_of_rows(P: FactoredRows, tangent: Rows) -> Rows:
    """Return orthonormal rows that span the exponential of a tangent at P."""
    rows, inverse = P.frame
    gram = product(tangent, tangent)
    if not np.isfinite(gram).all():
        finite_peaks(tangent, "tangent", "exp")
    check_tangent(P.coordinates(tangent), gram, tangent.dtype)
    cosine, sine = exp_weights(gram)
    return Combined(np.concatenate([cosine @ inverse, sine], axis=1), Stacked(rows, tangent))
