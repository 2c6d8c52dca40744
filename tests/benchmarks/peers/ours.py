"""This library: `GatedReLUProblem` and the solver that is named. Everything from arrays to coefficients is timed."""

import time

import numpy as np

import clifford_rand
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.kernel.interior_point import KernelInteriorPoint

# A solver to compare is one line here: of a tolerance and a time, an object with solve(problem).
SOLVERS = {
    "auto": lambda tol, max_time: AutoSolver(tol=tol, max_time=max_time, max_iter=10**6),
    "kernel": lambda tol, max_time: KernelInteriorPoint(tol=tol, max_time=max_time),
    "fista": lambda tol, max_time: Fista(tol=tol, max_time=max_time, max_iter=10**6),
}


def version():
    return f"clifford-rand {clifford_rand.__version__}"


def ours(X, y, D, beta, loss, bias, tol, solver="auto", max_time=None):
    """Return the Result of the gated problem, gate biases and intercept both free or both absent."""
    problem = GatedReLUProblem(X, y, D, beta, loss=loss, bias=bias, fit_intercept=bias)
    return SOLVERS[solver](tol, max_time).solve(problem)


def solve(X, y, D, beta, tol, loss="squared", bias=False, solver="auto", max_time=None):
    began = time.perf_counter()
    result = ours(X, y, D, beta, loss, bias, tol, solver, max_time)
    before = time.perf_counter() - began - result.seconds  # building the problem; the history starts after it
    found = result.coefficients
    return {
        "u": found.coef[0],
        "gate_bias": found.gate_intercept[0],
        "intercept": found.intercept[0],
        "theta": result.dual_point[:, 0],
        "history": np.array([(before + row.seconds, row.objective, row.relative_gap) for row in result.history]),
        "n_iter": result.n_iter,
        "status": result.status,
    }
