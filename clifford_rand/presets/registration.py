"""Rotors and motors that take points nearest to others: least squares with weights, in one pass, in any dimension."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_bool, describe, fail, one_batch
from clifford_rand.algebra import Algebra
from clifford_rand.geometry.procrustes import Moments, moments, nearest_rotation
from clifford_rand.geometry.rotation_matrix import rotor_of
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets import cga, pga
from clifford_rand.presets.cga.measures import model_of
from clifford_rand.presets.pga.conversions import lifted, moved_rotor


@one_batch
def rotor_from_points(
    alg: Algebra, X: ArrayLike | Multivector, Y: ArrayLike | Multivector, *, weights: ArrayLike | None = None
) -> Multivector:
    """Return the rotors R that minimize Σ w_i |y_i - R x_i ~R|²: the turn about the origin that takes X nearest to Y.

    By the singular value decomposition of Σ w y xᵀ; in space R is also the eigenvector of the largest eigenvalue of the
    quadratic form R ↦ Σ w y_i · (R x_i ~R) on even multivectors (Horn). One pass over the points.

    Parameters
    ----------
    alg : Algebra
        Euclidean, ``Algebra(n)``, projective or conformal.
    X, Y : array_like of shape (..., N, n), or Multivector of shape (..., N)
        Vectors that correspond, row by row, as coordinates or as elements of ``alg``; batch axes broadcast.
    weights : array_like of shape (..., N), optional
        Not negative; 1 by default. A weight of 2 counts as the same pair twice.

    Returns
    -------
    Multivector
        R ~R = 1 and ⟨R⟩_0 ≥ 0. Where the points leave a turn open (they span less than n - 1 dimensions), that of least
        angle of those that are optimal.

    Raises
    ------
    ArgumentError
        For shapes that do not fit, negative weights, or none that is positive.

    References
    ----------
    W. Kabsch, Acta Crystallographica A32, 1976; B. K. P. Horn, "Closed-form solution of absolute orientation using unit
    quaternions", JOSA A 4, 1987; S. Umeyama, IEEE PAMI 13, 1991.

    Examples
    --------
    >>> import clifford_rand as cr, numpy as np
    >>> alg = cr.Algebra(3)
    >>> X = np.eye(3)
    >>> R = cr.rotor_from_points(alg, X, X[[1, 2, 0]])
    >>> (R >> alg.e1).isclose(alg.e2), (R >> alg.e2).isclose(alg.e3)
    (True, True)
    """
    owner = "rotor_from_points"
    x, y, w = pairs_of(alg, X, Y, weights, owner)
    found = moments(x, y, w, about_origin=True)
    Q = nearest_rotation(found.cross, np.sqrt(found.square_x) * np.sqrt(found.square_y)).astype(x.dtype)
    return lifted(alg, rotor_of(Algebra(x.shape[-1]), Q), _model(alg, owner)[1])


@one_batch
def motor_from_points(
    alg: Algebra,
    X: ArrayLike | Multivector,
    Y: ArrayLike | Multivector,
    *,
    weights: ArrayLike | None = None,
    scale: bool = False,
) -> Any:
    """Return the motors M that minimize Σ w_i |y_i - M(x_i)|²: the rigid motion that takes X nearest to Y.

    M is the translator of the centroids' difference after the rotor of `rotor_from_points` for the points about their
    centroids. With ``scale`` also the factor s of y ≈ s F x + t, s = tr(Fᵀ Σ w y xᵀ) / Σ w |x|².

    Parameters
    ----------
    alg : Algebra
        ``Algebra.pga(n)`` or ``Algebra.cga(n)``.
    X, Y : array_like of shape (..., N, n), or Multivector of shape (..., N)
        Points that correspond, as coordinates or as points of ``alg``; batch axes broadcast.
    weights : array_like of shape (..., N), optional
        Not negative; 1 by default.
    scale : bool, default=False
        Whether lengths may change. The projective model has no versor for that: (M, s) is returned, and M moves s x.
        In the conformal one M is motor times dilator, and moves x itself.

    Returns
    -------
    Multivector, or (Multivector, factors) with ``scale``
        M ~M = 1. Never a reflection. Where the points leave a turn open (fewer than n of them, or all on a line of
        space), that of least angle.

    Raises
    ------
    ArgumentError
        For shapes that do not fit, negative weights, none that is positive; with ``scale`` if all X are one point.

    References
    ----------
    S. Umeyama, "Least-squares estimation of transformation parameters between two point patterns", IEEE PAMI 13, 1991.

    Examples
    --------
    >>> import clifford_rand as cr, numpy as np
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> X = np.random.default_rng(0).standard_normal((5, 3))
    >>> M = pga.motor(alg, pga.line(alg, [0, 1, 0], [1, 1, 0]), 0.5, 2.0)
    >>> Y = pga.coordinates(M >> pga.point(alg, X))
    >>> cr.motor_from_points(alg, X, Y).isclose(M, rtol=1e-12)
    True
    """
    owner = "motor_from_points"
    kind = model_with_motors(alg, owner)
    x, y, w = pairs_of(alg, X, Y, weights, owner)
    Q, t, s = fitted(moments(x, y, w), scale, owner)
    M = made(alg, kind, Q.astype(x.dtype), t.astype(x.dtype), s.astype(x.dtype) if scale else None)
    return (M, s.astype(x.dtype)[()]) if scale else M


def fitted(found: Moments, scale: bool, owner: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return F, t and s of the best y = s F x + t."""
    Q = nearest_rotation(found.cross, np.sqrt(found.square_x) * np.sqrt(found.square_y))
    s = np.ones(Q.shape[:-2])
    if check_bool(scale, "scale", owner):
        if (found.square_x == 0).any():
            raise fail("X", owner, "of several points where scale is asked for", describe("one point"))
        s = (Q * found.cross).sum(axis=(-1, -2)) / found.square_x
        if (s <= 0).any():
            raise fail("Y", owner, "such that a scale > 0 is best", describe("points that shrink to one, or turn over"))
    t = found.mean_y - s[..., None] * (Q @ found.mean_x[..., None])[..., 0]
    return Q, t, s


def made(alg: Algebra, kind: str, Q: NDArray[Any], t: NDArray[Any], s: NDArray[Any] | None) -> Multivector:
    """Return the motors of rotations and translations; in the conformal model after dilators, if there are factors."""
    if kind == "projective":
        return moved_rotor(alg, Q, t, "X", "motor_from_points")
    M = cga.translator(alg, t) * lifted(alg, rotor_of(Algebra(Q.shape[-1]), Q), 0)
    return M if s is None else M * cga.dilator(alg, s)


def _model(alg: Any, owner: str) -> tuple[int, int, str]:
    """Return n, the number of the basis vector e1, and the name of the model."""
    form = getattr(alg, "form", None)
    if form is not None and form.is_unit and form.counts == (form.d, 0, 0):
        return form.d, 0, "Euclidean"
    if form is not None and form.is_unit and form.counts == (form.d - 1, 0, 1) and form.diagonal[0] == 0:
        return form.d - 1, 1, "projective"
    if form is not None and form.counts == (form.d - 1, 1, 0):
        return model_of(alg, owner)[0], 0, "conformal"
    hint = "Algebra(n), Algebra.pga(n) and Algebra.cga(n) are."
    raise fail("alg", owner, "a Euclidean, projective or conformal algebra", alg, hint)


def model_with_motors(alg: Any, owner: str) -> str:
    """Return "projective" or "conformal"."""
    kind = _model(alg, owner)[2]
    if kind == "Euclidean":
        rule = "a projective or conformal algebra, which have translations"
        raise fail("alg", owner, rule, alg, "Use Algebra.pga(n), or rotor_from_points.")
    return kind


def pairs_of(
    alg: Any, X: Any, Y: Any, weights: ArrayLike | None, owner: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return coordinates (..., N, n) of one dtype, and weights."""
    n, _, kind = _model(alg, owner)
    x, y = (_coordinates(alg, P, n, kind, name, owner) for name, P in (("X", X), ("Y", Y)))
    if y.shape[-2] != x.shape[-2]:
        raise fail("Y", owner, f"of as many points as X, {x.shape[-2]}", describe(f"{y.shape[-2]}"))
    dtype = np.result_type(x, y)
    x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
    if weights is None:
        return x, y, None
    w = as_real(weights, "weights", owner)
    if w.ndim == 0 or w.shape[-1] != x.shape[-2]:
        raise fail("weights", owner, f"an array of shape (..., {x.shape[-2]})", describe(f"shape {w.shape}"))
    if (w < 0).any() or not (w.sum(axis=-1) > 0).all():
        raise fail("weights", owner, "not negative, and not all zero", describe("negative weights, or zeros only"))
    return x, y, w.astype(dtype, copy=False)


_LARGEST = 1e152


def _coordinates(alg: Any, X: Any, n: int, kind: str, name: str, owner: str) -> NDArray[Any]:
    if isinstance(X, Multivector):
        if X.algebra != alg:
            raise fail(name, owner, f"coordinates, or elements of {alg!r}", describe(f"those of {X.algebra!r}"))
        if kind == "Euclidean":
            if X.grades != (1,):
                raise fail(name, owner, "vectors", describe(f"grades {X.grades}"))
            X = X.values
        else:
            X = pga.coordinates(X) if kind == "projective" else cga.down(X)
    array = as_real(X, name, owner)
    if array.size and float(np.abs(array).max()) > _LARGEST:
        rule = f"of a size whose squares float64 holds, up to {_LARGEST:g}"
        raise fail(name, owner, rule, describe("larger entries"))
    if array.ndim < 2 or array.shape[-1] != n or array.shape[-2] == 0:
        raise fail(name, owner, f"an array of shape (..., N, {n}), N ≥ 1", describe(f"shape {array.shape}"))
    return array
