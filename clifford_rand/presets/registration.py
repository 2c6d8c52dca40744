"""Rotors and motors between corresponding points: weighted and robust least squares, in any dimension."""

from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import (
    as_real,
    check_bool,
    check_choice,
    check_integer,
    check_number,
    describe,
    fail,
    one_batch,
)
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.geometry.matrices import Moments, moments, nearest_rotation, rotor_of
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets import cga, pga
from clifford_rand.presets.cga.parts import model_of
from clifford_rand.presets.inputs import Vectors, euclidean
from clifford_rand.presets.pga.conversions import lifted, moved_rotor

_LARGEST = 1e152
INLIERS = 0.99  # share of Gaussian residuals that Geman's and McClure's loss takes as such: the bound of Yang et al.
HUBER = 0.8214  # share whose residuals Huber's loss squares: |z| < 1.345, which keeps 95 % of the efficiency
QUARTILE = 0.25  # of the residuals, which tells the noise: the median is no inlier's where half of the pairs are wrong
GROWTH = 1.4  # by which the loss becomes less convex in each step: Yang et al., remark 5
ROUNDING = 64  # units, relative to the spread of the points, below which residuals are rounding


@one_batch
def rotor_from_points(algebra: Algebra, X: Vectors, Y: Vectors, /, *, weights: ArrayLike | None = None) -> Multivector:
    """Return the rotors R that minimize Σ w_i |y_i - R x_i ~R|²: the turn about the origin that takes X nearest to Y.

    By the singular value decomposition of Σ w y xᵀ; in space R is also the eigenvector of the largest eigenvalue of the
    quadratic form R ↦ Σ w y_i · (R x_i ~R) on even multivectors (Horn). One pass over the points.

    Parameters
    ----------
    algebra : Algebra
        Euclidean, ``Algebra(n)``, projective or conformal.
    X, Y : array_like of shape (..., N, n), or Multivector of shape (..., N)
        Vectors that correspond, row by row, as coordinates or as elements of ``algebra``; batch axes broadcast.
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
    >>> alg = cr.Algebra(3)
    >>> X = np.eye(3)
    >>> R = cr.rotor_from_points(alg, X, X[[1, 2, 0]])
    >>> (R >> alg.e1).isclose(alg.e2), (R >> alg.e2).isclose(alg.e3)
    (True, True)
    """
    owner = "rotor_from_points"
    x, y, w = pairs_of(algebra, X, Y, weights, owner)
    sums = moments(x, y, w, about_origin=True)
    Q = nearest_rotation(sums.cross, np.sqrt(sums.square_x) * np.sqrt(sums.square_y)).astype(x.dtype)
    return lifted(algebra, rotor_of(euclidean(x.shape[-1]), Q), _model(algebra, owner)[1])


@one_batch
def motor_from_points(
    algebra: Algebra,
    X: Vectors,
    Y: Vectors,
    /,
    *,
    weights: ArrayLike | None = None,
    scale: bool = False,
) -> Any:
    """Return the motors M that minimize Σ w_i |y_i - M(x_i)|²: the rigid motion that takes X nearest to Y.

    M is the translator of the centroids' difference after the rotor of `rotor_from_points` for the points about their
    centroids. With ``scale`` also the factor s of y ≈ s F x + t, s = tr(Fᵀ Σ w y xᵀ) / Σ w |x|².

    Parameters
    ----------
    algebra : Algebra
        ``Algebra.pga(n)`` or ``Algebra.cga(n)``.
    X, Y : array_like of shape (..., N, n), or Multivector of shape (..., N)
        Points that correspond, as coordinates or as points of ``algebra``; batch axes broadcast.
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
    >>> alg = cr.Algebra.pga(3)
    >>> X = np.random.default_rng(0).standard_normal((5, 3))
    >>> M = pga.motor(alg, pga.line(alg, [0, 1, 0], [1, 1, 0]), 0.5, 2.0)
    >>> Y = pga.coordinates(M >> pga.point(alg, X))
    >>> cr.motor_from_points(alg, X, Y).isclose(M, rtol=1e-12)
    True
    """
    owner = "motor_from_points"
    kind = model_with_motors(algebra, owner)
    x, y, w = pairs_of(algebra, X, Y, weights, owner)
    Q, t, s = fitted(moments(x, y, w), scale, owner)
    M = made(algebra, kind, Q.astype(x.dtype), t.astype(x.dtype), s.astype(x.dtype) if scale else None)
    return (M, s.astype(x.dtype)[()]) if scale else M


def fitted(sums: Moments, scale: bool, owner: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return F, t and s of the best y = s F x + t."""
    Q = nearest_rotation(sums.cross, np.sqrt(sums.square_x) * np.sqrt(sums.square_y))
    s = np.ones(Q.shape[:-2])
    if check_bool(scale, "scale", owner):
        if (sums.square_x == 0).any():
            raise fail("X", owner, "of several points where scale is asked for", describe("one point"))
        s = (Q * sums.cross).sum(axis=(-1, -2)) / sums.square_x
        if (s <= 0).any():
            raise fail("Y", owner, "such that a scale > 0 is best", describe("points that shrink to one, or turn over"))
    t = sums.mean_y - s[..., None] * (Q @ sums.mean_x[..., None])[..., 0]
    return Q, t, s


def made(algebra: Algebra, kind: str, Q: NDArray[Any], t: NDArray[Any], s: NDArray[Any] | None) -> Multivector:
    """Return the motors of rotations and translations; in the conformal model after dilators, if there are factors."""
    if kind == "projective":
        return moved_rotor(algebra, Q, t, "X", "motor_from_points")
    M = cga.translator(algebra, t) * lifted(algebra, rotor_of(Algebra(Q.shape[-1]), Q), 0)
    return M if s is None else M * cga.dilator(algebra, s)


def _model(algebra: Any, owner: str) -> tuple[int, int, str]:
    """Return n, the number of the basis vector e1, and the name of the model."""
    form = getattr(algebra, "form", None)
    if form is not None and form.is_unit and form.counts == (form.d, 0, 0):
        return form.d, 0, "Euclidean"
    if form is not None and form.is_unit and form.counts == (form.d - 1, 0, 1) and form.diagonal[0] == 0:
        return form.d - 1, 1, "projective"
    if form is not None and form.counts == (form.d - 1, 1, 0):
        return model_of(algebra, owner)[0], 0, "conformal"
    hint = "Algebra(n), Algebra.pga(n) and Algebra.cga(n) are."
    raise fail("algebra", owner, "a Euclidean, projective or conformal algebra", algebra, hint)


def model_with_motors(algebra: Any, owner: str) -> str:
    """Return "projective" or "conformal"."""
    kind = _model(algebra, owner)[2]
    if kind == "Euclidean":
        rule = "a projective or conformal algebra, which have translations"
        raise fail("algebra", owner, rule, algebra, "Use Algebra.pga(n), or rotor_from_points.")
    return kind


def pairs_of(
    algebra: Any, X: Any, Y: Any, weights: ArrayLike | None, owner: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return coordinates (..., N, n) of one dtype, and weights."""
    n, _, kind = _model(algebra, owner)
    x, y = (_coordinates(algebra, P, n, kind, name, owner) for name, P in (("X", X), ("Y", Y)))
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


def _coordinates(algebra: Any, X: Any, n: int, kind: str, name: str, owner: str) -> NDArray[Any]:
    if isinstance(X, Multivector):
        if X.algebra != algebra:
            raise fail(name, owner, f"coordinates, or elements of {algebra!r}", describe(f"those of {X.algebra!r}"))
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


class RobustMotorResult(NamedTuple):
    """A motor with the weights of the pairs, the result of `robust_motor_from_points`.

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 3.0], [4.0, 1.0]]
    >>> Y = [[1.0, 0.0], [2.0, 0.0], [1.0, 1.0], [3.0, 3.0], [9.0, 9.0]]  # moved by e1, and one wrong pair
    >>> found = cr.robust_motor_from_points(cr.Algebra.pga(2), X, Y)
    >>> found.weights.round(2)
    array([1., 1., 1., 1., 0.])
    """

    motor: Multivector
    scale: NDArray[Any]
    """The factors of lengths, 1 unless asked for."""
    weights: NDArray[Any]
    """(..., N), between 0 and 1 times those given: near 0 for outliers."""
    noise: NDArray[Any]
    """The standard deviations of a coordinate of an inlier that the weights go by."""
    n_iter: int
    converged: NDArray[np.bool_]
    """Whether the weights stood still before ``max_iter``."""


@one_batch
def robust_motor_from_points(
    algebra: Algebra,
    X: Vectors,
    Y: Vectors,
    /,
    *,
    weights: ArrayLike | None = None,
    scale: bool = False,
    loss: str = "geman-mcclure",
    noise: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> RobustMotorResult:
    """Return the motors of `motor_from_points` for data with outliers, by least squares that are reweighted.

    ``"geman-mcclure"``: Σ r² c²/(c² + r²), by graduated non-convexity: weights (μ c²/(r² + μ c²))², where μ falls by
    1.4 a step, from a convex problem to μ = 1. Bears a majority of outliers that are scattered about the images; of
    wrong pairs that agree on another motion, as those that all lie far away do, it bears fewer. ``"huber"``: weights
    min(1, c/r), a convex loss of r, for heavy tails rather than wrong pairs.

    Parameters
    ----------
    algebra, X, Y, weights, scale
        As for `motor_from_points`.
    loss : {"geman-mcclure", "huber"}
    noise : float or array_like, optional
        The standard deviation of each coordinate of an inlier of Y. By default from the lower quartile of the
        residuals in every step. c is the distance within which 99 % (Huber: 82 %) of Gaussian residuals stay.
    tol : float, default=1e-6
        Weights that change by no more, of 1, have converged.
    max_iter : int, default=100

    Raises
    ------
    ArgumentError
        As `motor_from_points`; for noise that is not positive.

    References
    ----------
    H. Yang, P. Antonante, V. Tzoumas and L. Carlone, "Graduated non-convexity for robust spatial perception", IEEE RA-L
    5, 2020, eq. 12 and algorithm 1; P. J. Huber, Annals of Mathematical Statistics 35, 1964.

    Examples
    --------
    >>> alg, rng = cr.Algebra.pga(3), np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 3))
    >>> Y = X + [1.0, 2.0, 3.0]
    >>> Y[:40] = 5 * rng.standard_normal((40, 3))  # wrong pairs
    >>> found = cr.robust_motor_from_points(alg, X, Y)
    >>> found.motor.isclose(cr.presets.pga.translator(alg, [1, 2, 3]), rtol=1e-9)
    True
    """
    from scipy.special import gammaincinv

    owner = "robust_motor_from_points"
    kind = model_with_motors(algebra, owner)
    check_choice(loss, "loss", owner, ("geman-mcclure", "huber"))
    tol = check_number(tol, "tol", owner, "a number in [0, 1)", lambda value: 0 <= value < 1)
    max_iter = check_integer(max_iter, "max_iter", owner)
    x, y, pair_weights = pairs_of(algebra, X, Y, weights, owner)
    n = x.shape[-1]
    share = INLIERS if loss == "geman-mcclure" else HUBER
    quartile, bound = (float(np.sqrt(2 * gammaincinv(n / 2, q))) for q in (QUARTILE, share))  # r²/σ² has the law χ²_n
    known = None if noise is None else np.asarray(as_real(noise, "noise", owner), dtype=np.float64)
    if known is not None and (known <= 0).any():
        raise fail("noise", owner, "positive", known, "None estimates it.")
    first = moments(x, y, pair_weights)
    least = ROUNDING * float(np.finfo(x.dtype).eps) * np.sqrt((first.square_x + first.square_y) / first.weight)
    least = np.where(least > 0, least, 1.0)  # one point each: any will do
    now = np.ones(np.broadcast_shapes(x.shape[:-1], y.shape[:-1], () if pair_weights is None else pair_weights.shape))
    mu: NDArray[Any] | None = None
    n_iter = 0
    while True:
        Q, t, s = fitted(moments(x, y, now if pair_weights is None else now * pair_weights), scale, owner)
        square = np.square(y - (s[..., None, None] * x) @ np.swapaxes(Q, -1, -2) - t[..., None, :]).sum(axis=-1)
        sigma = np.sqrt(np.quantile(square, QUARTILE, axis=-1)) / quartile if known is None else known
        sigma = np.maximum(sigma, least)
        c = np.square(bound * sigma)
        if mu is None:
            mu = np.maximum(2 * square.max(axis=-1) / c, 1)  # the loss is convex at first: remark 5
        if loss == "huber":
            new, mu = np.sqrt(c[..., None] / np.maximum(square, c[..., None])), np.ones_like(mu)
        else:
            new = np.square((mu * c)[..., None] / (square + (mu * c)[..., None]))  # (μ c²/(r² + μ c²))², eq. 12
        change = np.abs(new - now).max(axis=-1)
        converged = (change <= tol) & (mu == 1)
        now, n_iter = new, n_iter + 1
        if converged.all() or n_iter >= max_iter:
            break
        mu = np.maximum(mu / GROWTH, 1)  # less convex in every step
    M = made(algebra, kind, Q.astype(x.dtype), t.astype(x.dtype), s.astype(x.dtype) if scale else None)
    total = now if pair_weights is None else now * pair_weights
    factor, total = s.astype(x.dtype)[()], total.astype(x.dtype)
    return RobustMotorResult(M, factor, total, sigma[()], n_iter, np.asarray(converged)[()])
