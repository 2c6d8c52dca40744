"""The rotor that takes one vector, or one subspace, to another."""

from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail, one_batch
from clifford_rand.basis.coefficients import ROUNDING
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.matrix_forms import is_closed, square_and_rest
from clifford_rand.functions.norms import norm_squared
from clifford_rand.functions.scaling import (
    as_inexact,
    as_multivector,
    check_same_algebra,
    expand,
    homogeneous,
    is_exact,
    unit_scale,
)
from clifford_rand.geometry.subspaces import span_of, wedge_rows

OWNER = "rotor_between"


@one_batch
def rotor_between(a: Any, b: Any, /) -> Any:
    """Return a rotor R with R a R⁻¹ = b for two vectors, or two blades of one grade, whose squares have the same sign.

    Lengths do not count: R takes a to the direction of b. For vectors R = (a + b) a⁻¹ (lengths made equal), in their
    plane, divided by √|⟨R ~R⟩_0|. Where a + b is zero or null, R = (a - b) m with a vector m orthogonal to a, the same
    at every call. For blades R is the product of the rotors between their principal vectors, in orthogonal planes.

    Parameters
    ----------
    a, b : Multivector
        Vectors in any metric; blades of a definite metric, or of grade d - 1 in a non-degenerate one.

    Returns
    -------
    Multivector
        An even versor with R ~R = 1, or -1 in an indefinite metric if a and b lie on opposite sides of the cone. For
        fractions and symbols R = a² + b a, without a root.

    Raises
    ------
    ArgumentError
        If a or b is null, their squares differ in sign, or no rotor exists (b = -a in one dimension, I to -I).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> R = cr.rotor_between(alg.e1, 5.0 * alg.e2)
    >>> (R >> alg.e1).isclose(alg.e2)
    True
    >>> (cr.rotor_between(alg.e12, alg.e23) >> alg.e12).isclose(alg.e23)
    True
    """
    a, b = as_multivector(a, "a", OWNER), as_multivector(b, "b", OWNER)
    check_same_algebra(a, b, "b", OWNER)
    k, a = homogeneous(a, "a", OWNER)
    k_b, b = homogeneous(b, "b", OWNER)
    if k != k_b:
        raise fail("b", OWNER, f"of the grade of a, {k}", describe(f"grade {k_b}"))
    if is_exact(a, b):
        return _exact(a, b, k)
    a, b = as_inexact(a.on_keys(a.keys.filled)), as_inexact(b.on_keys(b.keys.filled))
    a = a.new(a.keys, unit_scale(a.coefficients, OWNER, "a")[0])
    b = b.new(b.keys, unit_scale(b.coefficients, OWNER, "b")[0])
    if k == 1:
        return _between_vectors(a, b)
    return _between_blades(a, b, k)


def _scalar(a: Any, b: Any) -> NDArray[Any]:
    """Return the inner product of two vectors (..., 1)."""
    product = a.inner(b)
    return np.asarray(product.on_keys(keys_of_grades(a.algebra.d, (0,))).coefficients)


def _euclidean(values: NDArray[Any]) -> NDArray[Any]:
    return np.sqrt(np.square(np.abs(values)).sum(axis=-1, keepdims=True))


def _between_vectors(a: Any, b: Any) -> Any:
    """Return the rotor of vectors."""
    metric = a.algebra.form
    lowest = ROUNDING * np.finfo(a.coefficients.dtype).eps * float(np.abs(metric.gram).max())
    squares = [_scalar(x, x) for x in (a, b)]
    for name, x, square in (("a", a, squares[0]), ("b", b, squares[1])):
        if (np.abs(square) <= lowest * _euclidean(x.coefficients) ** 2).any():
            raise fail(name, OWNER, "a vector with a² ≠ 0", describe("a null vector"))
    ratio = squares[0] / squares[1]  # a²/b²
    if ratio.dtype.kind != "c" and (ratio < 0).any():
        raise fail("b", OWNER, "a vector whose square has the sign of a²", describe("squares of opposite signs"))
    x = a.coefficients
    y = b.coefficients * np.sqrt(ratio)  # b with the length of a
    x, y = np.broadcast_arrays(x, y)
    a, b = a.new(a.keys, x), b.new(a.keys, y)
    square = _scalar(a, a)
    cosine = _scalar(a, b) / square  # a·b/a²
    near = cosine.real >= 0  # there (a + b) has no cancellation; beyond, (a - b) m with m in the plane has none
    if near.all():
        return _normalized((a + b) * a)  # R = b a + a², up to the length: half the turn from a to b
    m = y - cosine * x  # the part of b orthogonal to a
    size = _euclidean(m)
    m_square = _scalar(a.new(a.keys, m), a.new(a.keys, m))  # null where b - a·b/a² a is: any other m serves
    noise = 4 * np.finfo(x.dtype).eps
    flat = (size <= noise * _euclidean(y)) | (np.abs(m_square) <= lowest * size**2)
    if (flat & ~near).any():
        m = np.where(flat, _any_orthogonal(a, lowest, flat & ~near), m)
    m = m / np.where(_euclidean(m) > 0, _euclidean(m), 1)
    for _ in range(2):  # m from nearly opposite vectors is orthogonal to a only to a few digits
        m = m - _scalar(a, a.new(a.keys, m)) / square * x  # Gram and Schmidt once more
    turned = _normalized((a - b) * a.new(a.keys, m), unused=near)
    if not near.any():
        return turned
    first = _normalized((a + b) * a, unused=~near)
    return first.new(first.keys, np.where(near, first.coefficients, turned.coefficients))


def _normalized(R: Any, unused: NDArray[np.bool_] | None = None) -> Any:
    """Return R / √|⟨R ~R⟩_0| with a scalar part ≥ 0, on grades 0 and 2; elements in ``unused`` may be anything."""
    d = R.algebra.d
    R = R.on_keys(keys_of_grades(d, (0, 2) if d > 1 else (0,)))
    norm = np.asarray(square_and_rest(R)[0] if is_closed(R) else norm_squared(R))[..., None]
    if unused is not None:
        norm = np.where(unused | (norm == 0), 1, norm)
    if norm.dtype.kind == "c":
        return R.new(R.keys, R.coefficients / np.sqrt(norm))
    root = np.where(R.coefficients[..., :1] < 0, -1, 1).astype(norm.dtype) * np.sqrt(np.abs(norm))  # scalar part ≥ 0
    return R.new(R.keys, R.coefficients / root)


def _any_orthogonal(a: Any, lowest: float, wanted: NDArray[np.bool_]) -> NDArray[Any]:
    """Return for each a the projection of e_i or e_i ± e_j orthogonal to a that is farthest from null."""
    d, dtype = a.algebra.d, a.coefficients.dtype
    free = np.eye(d, dtype=dtype)  # candidates e_i
    if not (a.algebra.form.diagonal is not None and d > 2):
        i, j = np.triu_indices(d, 1)
        free = np.concatenate([free, free[i] + free[j], free[i] - free[j]])
    x = a.coefficients[..., None, :]
    gram = np.asarray(a.algebra.form.gram).astype(dtype)
    square = ((x @ gram) * x).sum(axis=-1, keepdims=True)
    m = free - ((free @ gram) * x).sum(axis=-1, keepdims=True) / square * x  # projected orthogonal to a
    size = np.square(np.abs(m)).sum(axis=-1)
    share = np.abs(((m @ gram) * m).sum(axis=-1)) / np.where(size > 0, size, 1)  # |m²|/|m|²: how far from null
    share = np.where(size > 1e-6, share, 0)  # e_i nearly along a: what is left of it is rounding noise
    best = np.argmax(share >= share.max(axis=-1, keepdims=True, initial=0) * 0.999, axis=-1)[..., None]
    farthest = np.take_along_axis(share, best, axis=-1)
    if (wanted & (farthest <= lowest)).any():
        rule = "such that a + b is not null, as no vector with a square ≠ 0 is orthogonal to a"
        raise fail("b", OWNER, rule, describe(f"{a.algebra!r}"))
    return np.take_along_axis(m, best[..., None], axis=-2)[..., 0, :]


def _between_blades(a: Any, b: Any, k: int) -> Any:
    algebra, d = a.algebra, a.algebra.d
    p, q, r = algebra.form.counts
    definite = r == 0 and (p == 0 or q == 0)
    if k == 0:
        if (np.sign(a.coefficients.real) != np.sign(b.coefficients.real)).any():
            raise fail("b", OWNER, "of the sign of a: rotors leave scalars as they are", describe("opposite signs"))
        return a.new(a.keys, np.ones_like(a.coefficients + b.coefficients))
    if k == d - 1 and r == 0 and not definite:
        return rotor_between(a.dual(), b.dual())  # R is even, so it commutes with I
    if not definite or np.result_type(a.coefficients, b.coefficients).kind == "c":
        rule = "vectors, or blades of a real algebra with a definite metric"
        raise fail("a", OWNER, rule, describe(f"blades of grade {k} of {algebra!r}"))
    shape = np.broadcast_shapes(a.shape, b.shape)
    dtype = np.result_type(a.coefficients, b.coefficients)
    sign = 1 if q == 0 else -1
    lower = np.linalg.cholesky(sign * np.asarray(algebra.form.gram, dtype=np.float64)).astype(
        dtype
    )  # x·y = ±(Lᵀx)·(Lᵀy)
    bases = []
    for name, x in (("a", a), ("b", b)):
        Q, rest = span_of(x.coefficients, d, k)
        if (np.abs(x.coefficients).max(axis=-1) == 0).any() or (rest > 1e-9 + ROUNDING * np.finfo(dtype).eps).any():
            raise fail(name, OWNER, "a blade, a wedge of vectors, other than zero", describe("another multivector"))
        Q = np.linalg.qr((Q @ lower).swapaxes(-1, -2))[0].swapaxes(-1, -2)  # orthonormal rows in that basis
        bases.append(np.broadcast_to(Q, (*shape, k, d)))
    left, _, right = np.linalg.svd(bases[0] @ bases[1].swapaxes(-1, -2))  # cosines of the principal angles
    P, Q = left.swapaxes(-1, -2) @ bases[0], right @ bases[1]  # principal vectors, pair by pair in orthogonal planes
    back = np.linalg.inv(lower)
    P, Q = P @ back, Q @ back  # back to components
    # orientations of the blades against those of the principal vectors
    turned = (wedge_rows(P) * a.coefficients).sum(axis=-1) * (wedge_rows(Q) * b.coefficients).sum(axis=-1) < 0
    if k == d and turned.any():
        raise fail("b", OWNER, "of the orientation of a: rotors leave I as it is", describe("opposite orientations"))
    factors = [
        _between_vectors(algebra.vector(P[..., i, :].copy()), algebra.vector(Q[..., i, :].copy())) for i in range(k)
    ]
    if turned.any():
        half = _half_turn(algebra, P @ lower, Q @ lower, back, turned)
        factors[-1] = _normalized((factors[-1] * half).grade(0, 2))
    return reduce(mul, factors)


def _half_turn(algebra: Any, P: NDArray[Any], Q: NDArray[Any], back: NDArray[Any], turned: NDArray[np.bool_]) -> Any:
    """Return n p_k, which takes the blade of P to its negative, where it has to be ``turned``, and 1 elsewhere.

    n is orthogonal to the subspace of P: in the plane of the last pair, which has the largest angle, and where that is
    no plane to half the digits the direction least within both subspaces. So n is exact whatever basis of equal
    principal directions the SVD has chosen.
    """
    p = P[..., -1, :]
    cosine = (p * Q[..., -1, :]).sum(axis=-1, keepdims=True)
    n = Q[..., -1, :] - cosine * p  # in the plane of the pair with the largest angle
    free = np.linalg.svd(np.concatenate([P, Q], axis=-2))[2][..., -1, :]
    n = np.where(_euclidean(n) > np.sqrt(np.finfo(n.dtype).eps), n, free)
    for _ in range(2):
        n = n / _euclidean(n)
        n = n - ((n[..., None, :] @ P.swapaxes(-1, -2)) @ P)[..., 0, :]
    R = algebra.vector(n @ back) * algebra.vector(p @ back)
    identity = R.keys.masks == 0
    return R.new(R.keys, np.where(turned[..., None], R.coefficients, identity.astype(n.dtype)))


def _exact(a: Any, b: Any, k: int) -> Any:
    """Return a² + b a for vectors of fractions or symbols with a² = b²."""
    if k != 1:
        raise fail("a", OWNER, "a vector if it has fractions or symbols", describe(f"grade {k}"), "Use astype(float).")
    square, square_b = expand(a * a)["1"], expand(b * b)["1"]
    if not np.all(expand(a * a) == expand(b * b)):
        rule = "of the square of a where there are fractions or symbols"
        raise fail("b", OWNER, rule, describe(f"{square_b}, not {square}"))
    R = expand(square + b * a)
    if np.any((R * ~R)["1"] == 0) if a.coefficients.dtype == object else False:
        raise fail("b", OWNER, "such that a + b is not null", describe(f"{b!r}"), "Convert with astype(float).")
    return R
