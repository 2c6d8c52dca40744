"""Motors that take points nearest to others although some pairs are wrong: least squares that are reweighted."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_choice, check_integer, check_number, fail, one_batch
from clifford_rand.algebra import Algebra
from clifford_rand.geometry.procrustes import moments
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.registration import fitted, made, model_with_motors, pairs_of

INLIERS = 0.99  # share of Gaussian residuals that Geman's and McClure's loss takes as such: the bound of Yang et al.
HUBER = 0.8214  # share whose residuals Huber's loss squares: |z| < 1.345, which keeps 95 % of the efficiency
QUARTILE = 0.25  # of the residuals, which tells the noise: the median is no inlier's where half of the pairs are wrong
GROWTH = 1.4  # by which the loss becomes less convex in each step: Yang et al., remark 5
ROUNDING = 64  # units, relative to the spread of the points, below which residuals are rounding


class RobustMotor(NamedTuple):
    """What `robust_motor_from_points` has found.

    Examples
    --------
    >>> import clifford_rand as cr
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
    steps: int
    converged: NDArray[np.bool_]
    """Whether the weights stood still before ``max_steps``."""


@one_batch
def robust_motor_from_points(
    alg: Algebra,
    X: ArrayLike | Multivector,
    Y: ArrayLike | Multivector,
    *,
    weights: ArrayLike | None = None,
    scale: bool = False,
    loss: str = "geman-mcclure",
    noise: ArrayLike | None = None,
    rtol: float = 1e-6,
    max_steps: int = 100,
) -> RobustMotor:
    """Return the motors of `motor_from_points` for data with outliers, by least squares that are reweighted.

    ``"geman-mcclure"``: Σ r² c²/(c² + r²), by graduated non-convexity: weights (μ c²/(r² + μ c²))², where μ falls by
    1.4 a step, from a convex problem to μ = 1. Bears a majority of outliers that are scattered about the images; of
    wrong pairs that agree on another motion, as those that all lie far away do, it bears fewer. ``"huber"``: weights
    min(1, c/r), a convex loss of r, for heavy tails rather than wrong pairs.

    Parameters
    ----------
    alg, X, Y, weights, scale
        As for `motor_from_points`.
    loss : {"geman-mcclure", "huber"}
    noise : float or array_like, optional
        The standard deviation of each coordinate of an inlier of Y. By default from the lower quartile of the
        residuals in every step. c is the distance within which 99 % (Huber: 82 %) of Gaussian residuals stay.
    rtol : float, default=1e-6
        Weights that change by no more, of 1, have converged.
    max_steps : int, default=100

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
    >>> import clifford_rand as cr, numpy as np
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
    kind = model_with_motors(alg, owner)
    check_choice(loss, "loss", owner, ("geman-mcclure", "huber"))
    rtol = check_number(rtol, "rtol", owner, "a number in [0, 1)", lambda value: 0 <= value < 1)
    max_steps = check_integer(max_steps, "max_steps", owner)
    x, y, given = pairs_of(alg, X, Y, weights, owner)
    n = x.shape[-1]
    share = INLIERS if loss == "geman-mcclure" else HUBER
    quartile, bound = (float(np.sqrt(2 * gammaincinv(n / 2, q))) for q in (QUARTILE, share))  # r²/σ² has the law χ²_n
    known = None if noise is None else np.asarray(as_real(noise, "noise", owner), dtype=np.float64)
    if known is not None and (known <= 0).any():
        raise fail("noise", owner, "positive", known, "None estimates it.")
    first = moments(x, y, given)
    least = ROUNDING * float(np.finfo(x.dtype).eps) * np.sqrt((first.square_x + first.square_y) / first.weight)
    least = np.where(least > 0, least, 1.0)  # one point each: any will do
    now = np.ones(np.broadcast_shapes(x.shape[:-1], y.shape[:-1], () if given is None else given.shape))
    mu: NDArray[Any] | None = None
    steps = 0
    while True:
        Q, t, s = fitted(moments(x, y, now if given is None else now * given), scale, owner)
        square = np.square(y - (s[..., None, None] * x) @ np.swapaxes(Q, -1, -2) - t[..., None, :]).sum(axis=-1)
        sigma = np.sqrt(np.quantile(square, QUARTILE, axis=-1)) / quartile if known is None else known
        sigma = np.maximum(sigma, least)
        c = np.square(bound * sigma)
        if mu is None:
            mu = np.maximum(2 * square.max(axis=-1) / c, 1)
        if loss == "huber":
            new, mu = np.sqrt(c[..., None] / np.maximum(square, c[..., None])), np.ones_like(mu)
        else:
            new = np.square((mu * c)[..., None] / (square + (mu * c)[..., None]))
        change = np.abs(new - now).max(axis=-1)
        converged = (change <= rtol) & (mu == 1)
        now, steps = new, steps + 1
        if converged.all() or steps >= max_steps:
            break
        mu = np.maximum(mu / GROWTH, 1)
    M = made(alg, kind, Q.astype(x.dtype), t.astype(x.dtype), s.astype(x.dtype) if scale else None)
    total = now if given is None else now * given
    return RobustMotor(M, s.astype(x.dtype)[()], total.astype(x.dtype), sigma[()], steps, np.asarray(converged)[()])
