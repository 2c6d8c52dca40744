"""Between rotors: slerp, which is ScLERP for motors, and splines that are smooth and interpolate."""

from typing import Any

import numpy as np

from clifford_rand._checks import as_real, check_bool, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.basis.coefficients import is_tensor
from clifford_rand.functions.scaling import as_multivector, check_same_algebra


def slerp(A: Any, B: Any, t: ArrayLike, /, *, shortest: bool = True) -> Any:
    """Return A exp(t log(~A B)), from A at t = 0 to B at t = 1 with constant velocity: spherical linear interpolation.

    For rotors, motors of projective and conformal algebras and boosts of space-time alike, in every metric in which
    ~A B has a logarithm. Between motors it is the screw motion from one to the other (ScLERP, `presets.pga.sclerp`).

    Parameters
    ----------
    A, B : Multivector
        Even versors with A ~A = 1; batches broadcast, with ``t`` too.
    t : float or array_like
        Beyond 0 and 1 the motion goes on.
    shortest : bool, default=True
        Whether -B, the same motion as B, is taken where it is nearer: ⟨~A B⟩_0 < 0.

    Raises
    ------
    ArgumentError
        If A or B is not a unit rotor.

    References
    ----------
    K. Shoemake, "Animating rotation with quaternion curves", SIGGRAPH 1985; L. Kavan, S. Collins, C. O'Sullivan and J.
    Zara, "Dual quaternions for rigid transformation blending", 2006.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> screw = pga.motor(alg, alg.e12, np.pi / 2, 4.0)
    >>> cr.slerp(alg.scalar(1.0), screw, 0.5).isclose(pga.motor(alg, alg.e12, np.pi / 4, 2.0))
    True
    """
    A, B = _unit(A, "A", "slerp"), _unit(B, "B", "slerp")
    check_same_algebra(A, B, "B", "slerp")
    s: Any = as_real(t, "t", "slerp")
    if type(t) in (int, float):  # a Python number leaves float32 as it is
        s = float(s)
    return A * (s * _step(A, B, shortest)).exp()  # A exp(t log(~A B))


def _unit(A: Any, name: str, owner: str) -> Any:
    """Return an even multivector with ⟨A ~A⟩_0 = 1, to half the digits."""
    A = as_multivector(A, name, owner)
    if is_tensor(A.coefficients):
        raise fail(name, owner, "a multivector of NumPy arrays", describe("one of tensors"), "A.to_numpy() is one.")
    if A.dtype.kind not in "if":
        raise fail(name, owner, "a rotor with real coefficients", describe(f"dtype {A.dtype}"))
    A = A.astype(np.float64) if A.dtype.kind == "i" else A
    rest = np.abs(A.norm_squared() - 1).max(initial=0)  # ⟨A ~A⟩_0 = 1
    if not rest <= np.sqrt(np.finfo(A.dtype).eps):
        hint = "normalized() makes one of a rotor, pga.normalized of a motor."
        raise fail(name, owner, "a unit rotor, A ~A = 1", describe(f"A ~A off by {rest:.3g}"), hint)
    return A


def _step(A: Any, B: Any, shortest: bool = True) -> Any:
    """Return log(~A B) without a scalar part; with ``shortest`` of the nearer of B and -B."""
    between = ~A * B
    if check_bool(shortest, "shortest", "slerp"):
        # -B moves as B does: the nearer has ⟨~A B⟩_0 ≥ 0
        between = between * np.where(np.asarray(between.scalar_part()) < 0, -1, 1).astype(between.dtype)
    return between.log().grade(2)  # a bivector: its scalar part is rounding


class RotorSpline:
    """A curve of rotors through given ones at given times, once continuously differentiable.

    Between t_i and t_{i+1}, u = (t - t_i)/(t_{i+1} - t_i), it is the cubic Bézier curve of Kim, Kim and Shin,

        R(t) = R_i exp(β₁ w₁) exp(β₂ w₂) exp(β₃ w₃),  β₁ = 1 - (1-u)³, β₂ = 3u² - 2u³, β₃ = u³,

    with w₁ = h v_i/3 and w₃ = h v_{i+1}/3 from the velocities at its ends, and w₂ from R(t_{i+1}) = R_{i+1}. Velocities
    are bivectors Ω = ~R dR/dt, those of the moving body; the motion of a point turns twice as fast. Given are none by
    default: each is that of the parabola through three neighbors (Catmull and Rom), log(~R_{i-1} R_i) and log(~R_i
    R_{i+1}) over their times, weighted by the other's time. Rotors of constant velocity make a spline of constant
    velocity, a screw for motors. A motion applied to all rotors moves the curve, and the error of a smooth curve's
    spline falls with the third power of the times between.

    Parameters
    ----------
    times : array_like of shape (k,)
        k ≥ 2, increasing.
    rotors : Multivector of shape (k, ...)
        Even versors with R ~R = 1, motors of PGA and CGA among them. Each is taken with the sign that is nearer to the
        one before it.
    velocities : Multivector of shape (k, ...), optional
        Bivectors Ω.

    Raises
    ------
    ArgumentError
        For times that do not increase, or shapes that do not fit.

    References
    ----------
    M.-J. Kim, M.-S. Kim and S. Y. Shin, "A general construction scheme for unit quaternion curves with simple high
    order derivatives", SIGGRAPH 1995, sections 4.1 and 4.2.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> spline = cr.RotorSpline([0, 1, 2, 3], pga.translator(alg, [[0, 0], [1, 1], [2, 0], [3, 1]]))
    >>> pga.coordinates(spline([0.5, 1.0]) >> pga.point(alg, [0, 0])).round(12)
    array([[0.5 , 0.75],
           [1.  , 1.  ]])
    """

    def __init__(self, times: ArrayLike, rotors: Any, velocities: Any = None) -> None:
        rotors = _unit(rotors, "rotors", "RotorSpline")
        self.times: NDArray[np.float64] = np.array(as_real(times, "times", "RotorSpline"), dtype=np.float64)
        k = len(self.times) if self.times.ndim == 1 else 0
        if k < 2 or not (np.diff(self.times) > 0).all():
            raise fail("times", "RotorSpline", "two or more increasing numbers", describe(f"{times!r}"))
        if not rotors.ndim or len(rotors) != k:
            raise fail("rotors", "RotorSpline", f"a batch of {k}, one a time", describe(f"shape {rotors.shape}"))
        near = np.asarray((~rotors[:-1] * rotors[1:]).scalar_part())  # the sign of each against the rotor before it
        signs = np.cumprod(np.where(near < 0, -1, 1), axis=0)  # signs multiply along the curve
        self.rotors = rotors * np.concatenate([np.ones_like(signs[:1]), signs]).astype(rotors.dtype)
        h = np.diff(self.times).reshape(-1, *[1] * (rotors.ndim - 1)).astype(rotors.dtype)
        steps = _step(self.rotors[:-1], self.rotors[1:])
        if velocities is None:
            velocities = _three_point(steps * (1 / h), h)  # bivectors per unit of time
        elif velocities.grades != (2,) or velocities.shape != rotors.shape:
            received = describe(f"grades {velocities.grades}, shape {velocities.shape}")
            raise fail("velocities", "RotorSpline", f"bivectors of shape {rotors.shape}", received)
        self.velocities = velocities
        first, last = velocities[:-1] * (h / 3), velocities[1:] * (h / 3)  # w₁ = h v_i/3 and w₃ = h v_{i+1}/3
        # exp(w₂) = exp(-w₁) ~R_i R_{i+1} exp(-w₃)
        between = ~first.exp() * (~self.rotors[:-1] * self.rotors[1:]) * ~last.exp()
        self._parts = first, between.log().grade(2), last

    def __call__(self, t: ArrayLike, /) -> Any:
        """Return the rotors at times of shape (m...), of shape (m..., ...)."""
        at, u, _ = self._place(t)
        R = self.rotors[at]
        for w, beta in zip(self._parts, (1 - (1 - u) ** 3, u * u * (3 - 2 * u), u**3), strict=True):
            R = R * (beta * w[at]).exp()  # R_i exp(β₁ w₁) exp(β₂ w₂) exp(β₃ w₃)
        return R

    def velocity(self, t: ArrayLike, /) -> Any:
        """Return Ω = ~R dR/dt at times of shape (m...): bivectors of shape (m..., ...).

        Examples
        --------
        >>> alg = cr.Algebra(2)
        >>> spline = cr.RotorSpline([0, 1, 3], (alg.scalar([0.0, 0.2, 0.6]) * alg.e12).exp())  # evenly turning
        >>> float(spline.velocity(1.7)["e12"].round(9))
        0.2
        """
        at, u, h = self._place(t)
        rates = 3 * (1 - u) ** 2 / h, 6 * u * (1 - u) / h, 3 * u * u / h  # dβ/dt
        values = 1 - (1 - u) ** 3, u * u * (3 - 2 * u), u**3  # β₁, β₂, β₃
        total: Any = None
        for w, beta, rate in zip(self._parts, values, rates, strict=True):
            own = w[at]
            E = (beta * own).exp()
            # Ω ↦ ~E Ω E + β̇ w, factor by factor
            total = rate * own if total is None else (~E * total * E).grade(2) + rate * own
        return total

    def _place(self, t: ArrayLike) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[Any]]:
        """Return the pieces, and u and h that broadcast with the rotors' other axes."""
        s = np.asarray(as_real(t, "t", "RotorSpline"), dtype=np.float64)
        low, high = self.times[[0, -1]]
        if ((s < low) | (s > high)).any():
            rule = f"between {low:g} and {high:g}, the first and the last time"
            raise fail("t", "RotorSpline", rule, describe(f"{s.min():g} to {s.max():g}"))
        # the last time belongs to the last piece
        at = np.clip(np.searchsorted(self.times, s, side="right") - 1, 0, len(self.times) - 2)
        h = np.diff(self.times)[at]
        shape = (*s.shape, *[1] * (self.rotors.ndim - 1))
        dtype = self.rotors.dtype
        return at, ((s - self.times[at]) / h).reshape(shape).astype(dtype), h.reshape(shape).astype(dtype)

    def __repr__(self) -> str:
        low, high = self.times[[0, -1]]
        return f"<RotorSpline of {self.rotors.algebra!r}: {len(self.times)} rotors, {low:g} ≤ t ≤ {high:g}>"


def _three_point(rate: Any, h: NDArray[Any]) -> Any:
    """Return the velocities of parabolas through three neighbors; at the ends those of the parabolas there."""
    values = rate.coefficients
    result = np.empty((len(values) + 1, *values.shape[1:]), dtype=values.dtype)
    if len(values) == 1:
        result[:] = values
    else:
        # the slope of the parabola through three points: each rate weighted by the time of the other
        share = (h[:-1] / (h[:-1] + h[1:]))[..., None]
        result[1:-1] = (1 - share) * values[:-1] + share * values[1:]
        result[0] = values[0] + share[0] * (values[0] - values[1])  # the same parabola at its end
        result[-1] = values[-1] + (1 - share[-1]) * (values[-1] - values[-2])
    return rate.new(rate.keys, result)
