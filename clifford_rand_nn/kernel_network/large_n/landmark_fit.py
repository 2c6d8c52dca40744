r"""Kernel regression in the span of landmarks: normal equations of every beta in one pass over the rows."""

import numpy as np

from clifford_rand_nn.datafits.registry import as_loss
from clifford_rand_nn.kernel_network.landmarks.judge import SpanProblem
from clifford_rand_nn.kernel_network.landmarks.newton import NewtonSteps, State
from clifford_rand_nn.kernel_network.landmarks.normal_equations import RADII, SINGLE, Normal, NormalSum
from clifford_rand_nn.kernel_network.landmarks.span import LandmarkRows, LandmarkSpan, independent
from clifford_rand_nn.kernel_network.large_n.problem import Found, ManyRows, Tried
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles
from clifford_rand_nn.kernel_network.leave_one_out import KernelFit
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.row_sums.engine import MemoryEngine
from clifford_rand_nn.row_sums.sums import Block, Targets
from clifford_rand_nn.solvers.base import Limits

_HELD = 2000  # held-out rows to compare betas, or a tenth
_ROUND_OFF = 1e-6  # of normal equations in single precision, as a share of the kernel's diagonal


def by_landmarks(problem: ManyRows, limits: Limits, began: float, beta: float | None, landmarks: int) -> Found:
    r"""Solve :math:`\min_{a,t}\frac1n\sum_i\omega_i\ell(K_{im}a+t, y_i)+\frac\beta2a^TK_{mm}a`, as rows of shards.

    With beta None it is the best of a grid by the last rows, held out. The normal equations of the others are in single
    precision where that is safe; they precondition the steps in double precision that solve and certify it.
    """
    n, X, kernel = problem.n, np.asarray(problem.X, dtype=np.float64), problem.kernel
    tried: list[Tried] = []
    unseen, best_beta = problem.targets[:0], beta or 1.0
    with problem.watch(limits, began) as watch:
        centers, least = independent(kernel, X[:landmarks])
        Z, held = X[centers], min(_HELD, n // 10)
        double, span = LandmarkRows(kernel, Z), LandmarkSpan(kernel, Z)
        engine = MemoryEngine(Block(X, problem.targets, problem.weights, 0))
        targets = Targets(as_loss("squared", "solve_many"), None)
        diagonal = float(np.mean(kernel.diagonal(X)))
        # round-off of the sums, over the least pivot, is small beside the regularization
        is_single = least > SINGLE and (beta is None or least * n * beta > _ROUND_OFF * diagonal)
        rows = LandmarkRows(kernel, Z, dtype=np.float32) if is_single else double
        K, learn = double.kernel(X[n - held :]), slice(0, n - held)
        center_k = K.mean(axis=0)
        center_y = np.average(problem.targets[learn], axis=0, weights=problem.weights[learn])
        sums = engine.sum(NormalSum(rows, targets._replace(left_out=np.arange(n - held, n)), center_k, center_y))
        normal = Normal(span, sums, center_k, center_y)
        del sums
        radii = np.array([n * beta]) if beta is not None else RADII * diagonal
        for radius, outputs in zip(radii, normal.predictions(K, radii), strict=True):
            tried.append(Tried(float(radius) / n, problem.loss(outputs), held, "held-out rows"))
            if tried[-1].loss == min(trial.loss for trial in tried):
                unseen, best_beta = outputs, tried[-1].beta
        span_problem = SpanProblem(double, span, targets, float(problem.weights.sum()), center_y)
        steps = NewtonSteps(engine, span_problem, best_beta, normal)
        state, status = steps.solve(State.at_first(*normal.fit(n * best_beta)), limits, began, lambda _: None)
        assert state.best is not None
        u, t = state.best.u, state.best.intercept
        a = span.coefficients(u)
        fitted = KernelTiles(kernel, Z).multiply_from(X, a) + t
        theta = state.best.scale * problem.weights[:, None] * (problem.targets - fitted)
        watch.history += state.history
        bound = DualBound(state.best.dual, theta - theta.mean(axis=0))
        watch.judge(state.n_iter, state.best.primal, bound, KernelFit(a, t), fitted)
        watch.stop(status)
    scope = f"over functions in the span of {len(centers)} landmarks, and an intercept"
    remark = f"an approximation: functions in the span of {len(centers)} of {n} rows"
    return Found(watch, best_beta, tuple(tried), len(unseen), unseen, centers, scope, remark)
