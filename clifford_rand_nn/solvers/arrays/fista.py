"""FISTA for the gated problem on arrays of any library; nothing waits for the device but the checks of the gap."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from clifford_rand._checks import check_choice, fail
from clifford_rand_nn.datafits.choice import as_loss
from clifford_rand_nn.datafits.functions import cast
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.problems.gated import Coefficients, Point
from clifford_rand_nn.solvers.arrays.kernel import run_kernel
from clifford_rand_nn.solvers.arrays.problem import ArrayProblem, constant
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result, Status
from clifford_rand_nn.solvers.fista import GROW, NOISE, RELAX, rounded
from clifford_rand_nn.solvers.interrupts import handed_over
from clifford_rand_nn.solvers.watch import Watch

_CHECK_EVERY = 10


@dataclass(frozen=True, eq=False, repr=False)
class ArrayResult(Result[Coefficients]):
    """`Result` whose arrays (coefficients, fitted, dual_point) are in the library, and on the device, of the data."""

    fitted: Any
    dual_point: Any


@handed_over
def solve_array(
    X: Any,
    y: Any,
    patterns: Any,
    beta: float,
    *,
    loss: str | Loss = "squared",
    bias: bool = True,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    huber_delta: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 20_000,
    max_time: float | None = None,
    max_memory: float | None = None,
    solver: str = "fista",
    callback: Callable[[HistoryRow], object] | None = None,
) -> ArrayResult:
    r"""Solve `GatedReLUProblem` on arrays of any library with the array API, on the device where they are.

    .. math:: \min_{U,b,t}\ \frac1n\sum_{j=1}^n \ell\Big(\sum_{i=1}^P D_{i,jj}(x_j^TU_i + b_i) + t,\ y_j\Big)
              + \beta\sum_{i=1}^P ||U_i||_F

    The iteration of "fista" is that of `Fista`. What it decides, it decides on the device: a step that proves too long
    is undone there and counts as an iteration, so that the host waits only for checks of the gap.

    Data in float32 are multiplied in float32 until the gap is 1e-4, or no longer falls, and then in float64; sums,
    objectives and bounds are in float64 throughout. On a device without float64 (Apple's MPS) all is in float32: the
    bound then holds to its rounding only, and a ``tol`` below 1e-5 may not be met.

    Parameters
    ----------
    X : (n, d) array in float32 or float64
        Of NumPy, torch, CuPy or another library that `array_api_compat` knows.
    y : (n,) or (n, C) array
        In the library and on the device of X, as all arrays.
    patterns : (n, P) bool array
    beta : float > 0
        In the 1/n scale.
    loss : str or Loss
        A name in `clifford_rand_nn.datafits.choice.LOSSES`, or a record.
    bias, fit_intercept : bool
    sample_weight : (n,) array of numbers > 0, optional
    huber_delta, tol : float > 0
    max_iter : int
    max_time, max_memory : float or None
        Seconds and bytes, as in `Limits`.
    solver : {"fista", "kernel"}
        "kernel" (squared loss only) is `KernelInteriorPoint`: some 5 steps of one Cholesky factorisation of order n,
        in float64, and room for five matrices of n² numbers.
    callback : callable or None
        Called with each `HistoryRow`.

    Returns
    -------
    ArrayResult
        Numbers are Python floats; ``coefficients.coef`` (C, P, d), ``gate_intercept`` (C, P), ``intercept`` (C,),
        ``fitted`` and ``dual_point`` (n, C) are arrays of the library, on the device of X. No gradient of torch flows
        through them.

    Raises
    ------
    ArgumentError
        Arrays of different libraries or devices, shapes that do not fit, values that are not finite, targets outside
        their range, beta ≤ 0, weights ≤ 0.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> result = solve_array(X, np.array([0.0, 1.0, 2.0]), X >= 0, beta=0.01, tol=1e-8)
    >>> result.converged, result.coefficients.coef.shape
    (True, (1, 1, 1))
    """
    owner = "solve_array"
    limits = Limits.of(owner, tol=tol, max_iter=max_iter, max_time=max_time, max_memory=max_memory, callback=callback)
    check_choice(solver, "solver", owner, ("fista", "kernel"))
    if solver == "kernel" and not as_loss(loss, owner, huber_delta).is_quadratic:
        raise fail("solver", owner, f"'fista' for loss={loss!r}", solver, "The kernel knows the squared loss only.")
    problem = ArrayProblem(
        X,
        y,
        patterns,
        beta,
        loss=loss,
        bias=bias,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        huber_delta=huber_delta,
        owner=owner,
    )
    gates = problem.map.n_patterns * int(X.shape[1]) * problem.outputs
    needed = 8.0 * (5 * problem.n**2 if solver == "kernel" else 8 * (gates + problem.n * problem.outputs))
    limits.admit_memory(needed, f"solver={solver!r} and this problem", "Take fewer rows, or gates.")
    watch = Watch[Point](limits, problem.relative_gap, "try a larger tol, or solver='fista'")
    with watch:
        if solver == "kernel":
            run_kernel(problem, watch, tol)
        else:
            _run_fista(problem, watch)
    found = watch.result(f"{solver} on arrays", problem.coefficients(watch.point))
    return ArrayResult(**{field.name: getattr(found, field.name) for field in fields(found)})


def _run_fista(problem: ArrayProblem, watch: Watch[Point]) -> None:
    """Iterate until the watch ends it."""
    narrow = problem.map.narrows
    z = problem.null_point()
    state = _State.at(z, problem.predictions(z), problem.lipschitz())
    watch.check(0, problem.objective(z, state.f), problem.dual_bound(state.f), z, state.f)
    k, next_check = 0, _CHECK_EVERY
    while watch.status is None:
        k += 1
        state = state.stepped(problem, narrow)
        if k >= next_check or watch.last(k):
            next_check = k + max(_CHECK_EVERY, k // 10)
            z = state.z
            f = problem.predictions(z) if narrow else state.f  # a gap is proved in double precision
            watch.check(k, problem.objective(z, f), problem.dual_bound(f), z, f)
            if watch.status is None and not math.isfinite(float(state.L)):
                watch.stop(Status.NOT_FINITE)
            if narrow and rounded(watch.history):
                narrow, state = False, _State.at(z, f, float(state.L))


@dataclass(frozen=True)
class _State:
    """Iterate z with its predictions, the extrapolated y with its own, the step 1/L and the momentum, on the device."""

    z: Point
    f: Any
    y: Point
    f_y: Any
    L: Any
    t: Any

    @classmethod
    def at(cls, z: Point, f: Any, L: float) -> "_State":
        return cls(z, f, z, f, constant(f, L), constant(f, 1.0))

    def stepped(self, problem: ArrayProblem, narrow: bool) -> "_State":
        """One iteration: restart or momentum after a step short enough, or else the same point with a larger L."""
        xp, z, y, L, datafit = problem.xp, self.z, self.y, self.L, problem.datafit
        kappa, largest = datafit.row_curvature / problem.n, datafit.curvature / problem.n
        dtype, wide = problem.X.dtype if narrow else self.f.dtype, self.f.dtype
        noise = NOISE * float(xp.finfo(dtype).eps)
        gU, gc = problem.map.adjoint(cast(-datafit.residual(self.f_y) / problem.n, dtype))
        new = Point(problem.penalty.prox(y.U - cast(gU, wide) / L, 1 / L), y.c - cast(gc, wide) / L)
        f_new = cast(problem.map.forward(cast(new.U, dtype), new.c), wide)
        move = Point(new.U - y.U, new.c - y.c)
        square, change = _dot(xp, move, move), f_new - self.f_y
        needed = xp.sum(kappa * change * change)
        fits = needed <= L * square + (largest * noise**2) * xp.sum(f_new * f_new)
        moved = square > 0
        wanted = needed / xp.where(moved, square, xp.ones_like(square))
        grown = xp.where(moved, xp.maximum(GROW * L, xp.minimum(wanted, 2 * L)), 2 * L)

        ahead = Point(new.U - z.U, new.c - z.c)
        t = xp.where(_dot(xp, move, ahead) < 0, xp.ones_like(L), self.t)  # the step points against the momentum
        t_new = (1 + xp.sqrt(1 + 4 * t * t)) / 2
        m = (t - 1) / t_new
        return _State(
            Point(xp.where(fits, new.U, z.U), xp.where(fits, new.c, z.c)),
            xp.where(fits, f_new, self.f),
            Point(xp.where(fits, new.U + m * ahead.U, y.U), xp.where(fits, new.c + m * ahead.c, y.c)),
            xp.where(fits, f_new + m * (f_new - self.f), self.f_y),
            xp.where(fits, RELAX * L, grown),
            xp.where(fits, t_new, self.t),
        )


def _dot(xp: Any, a: Point, b: Point) -> Any:
    """Inner product, without axes."""
    return xp.sum(a.U * b.U) + xp.sum(a.c * b.c)
