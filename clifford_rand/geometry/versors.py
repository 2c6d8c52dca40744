"""Which multivectors are versors: products of invertible vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.norms import expand, is_exact
from clifford_rand.geometry.coordinates import ROUNDING, blade_weights, relative, scaled

RTOL = 1e-9  # default tolerance of is_versor
ALWAYS = 5  # dimensions up to which R ~R scalar, R even or odd, makes R x ~R a vector: see inspect_versor


def inspect_versor(U: Any, rtol: float, *, twisted: bool = False) -> tuple[NDArray[Any], Any, NDArray[np.bool_]]:
    """Return (n, rest, accepted): n = ⟨U ~U⟩_0, rest = U ~U / n where that is not 1 to rounding (else None).

    ``accepted`` tells which elements of the batch are invertible with U x U⁻¹ a vector for every vector x. R x ~R is
    its own reverse; for R even or odd it has grades 1, 5, 9, …, and for d ≤ 5 the part of grade 5 vanishes too, since
    ⟨R x ~R⟩_5 = ⟨~R R x⟩_5. Neither do vectors and R = s + B need more: R ~R scalar means B ∧ B = 0. All others need
    the images of the basis. ``twisted`` asks for even or odd elements as well.
    """
    keys = U.keys
    weights = blade_weights(U.algebra.form, keys)
    weighted = U.coefficients if weights is None else U.coefficients * weights
    size = np.square(np.abs(weighted)).sum(axis=-1)
    eps = float(np.finfo(U.coefficients.dtype).eps)
    limit = relative(U.coefficients.dtype, rtol)
    square = U * ~U
    place = square.keys.find(0)
    norm = square.coefficients[..., place] if place >= 0 else np.zeros(U.shape, dtype=U.coefficients.dtype)
    accepted = np.asarray(np.abs(norm) > ROUNDING * eps * size)
    rest = None
    if square.keys.size > (place >= 0):
        other = square.coefficients * (np.arange(square.keys.size) != place)
        if weights is not None:
            other = other * blade_weights(U.algebra.form, square.keys)
        excess = np.abs(other).max(axis=-1)
        accepted &= excess <= limit * size
        if accepted.all() and (excess > ROUNDING * eps * size).any():
            rest = square._make(square.keys, square.coefficients / norm[..., None])
    odd = {k % 2 for k in keys.grades}
    if twisted and len(odd) == 2:
        parts = [np.abs(weighted[..., keys.grade_of % 2 == parity]).max(axis=-1, initial=0) for parity in (0, 1)]
        accepted &= np.minimum(*parts) <= limit * np.maximum(*parts)
    simple = U.algebra.d <= ALWAYS or max(keys.grades, default=0) <= 2
    if (not simple or len(odd) == 2) and accepted.any():
        accepted &= _keeps_vectors(U, limit, size)
    return norm, rest, np.asarray(accepted)


def _keeps_vectors(U: Any, limit: float, size: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell whether U e_i ~U is a vector for all i, to ``limit`` relative to |U|²."""
    metric = U.algebra.form
    keys = keys_of_grades(metric.d, (1,))
    basis = U._make(keys, np.eye(metric.d, dtype=U.coefficients.dtype))
    weights = blade_weights(metric, keys)
    if weights is not None:
        basis = basis._make(keys, basis.coefficients / weights[:, None])
    one = U[..., None] if U.ndim else U
    images = (one * basis) * ~one
    other = images.coefficients
    out = blade_weights(metric, images.keys)
    if out is not None:
        other = other * out
    other = other[..., images.keys.grade_of != 1]
    close: NDArray[np.bool_] = np.asarray(np.abs(other).max(axis=(-1, -2), initial=0) <= limit * size)
    return close


def is_versor(A: Any, rtol: float = RTOL) -> Any:
    """Tell whether A is even or odd, invertible, and A x A⁻¹ a vector for all x: a bool, or an array of them."""
    if is_exact(A):
        return _is_exact_versor(A)
    if not A.keys.size:
        return np.zeros(A.shape, dtype=bool) if A.ndim else False
    accepted = inspect_versor(scaled(A, "is_versor"), rtol, twisted=True)[2]
    return bool(accepted) if accepted.ndim == 0 else accepted


def _is_exact_versor(A: Any) -> Any:
    A = expand(A)

    def vanishes(X: Any, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        nonzero: NDArray[np.bool_] = np.asarray(expand(X).coefficients[..., kept] != 0, dtype=bool)
        return np.asarray(~nonzero.any(axis=-1))

    square = expand(A * ~A)
    accepted = vanishes(square, square.keys.grade_of > 0) & np.asarray(np.asarray(square["1"]) != 0, dtype=bool)
    accepted &= vanishes(A, A.keys.grade_of % 2 == 0) | vanishes(A, A.keys.grade_of % 2 == 1)
    for i in range(A.algebra.d):
        image = (A * A._make(keys_of_grades(A.algebra.d, (1,)), np.eye(A.algebra.d, dtype=np.int64)[i])) * ~A
        accepted &= vanishes(image, image.keys.grade_of != 1)
    return bool(accepted) if accepted.ndim == 0 else accepted
