"""The solvers that are compared, each called in a process of its own; ``solve_NAME(X, y, D, beta, tol, **options)``.

Every one minimizes (1/2n) ||sum_i D_i X u_i - y||^2 + beta sum_i ||u_i||_2 (`ours` other losses too) and returns a dict
of arrays with "u", (P, d). A peer may need an environment of its own, so nothing but NumPy and the peer is imported for
it; `PACKAGES` says which one. A solver of ours to compare is one line in `solve_ours`.
"""

import importlib.metadata
import math
import signal
import time

import numpy as np

PACKAGES = {"ours": "clifford-rand", "celer": "celer", "skglm": "skglm", "adelie": "adelie", "scnn": "pyscnn"}
PACKAGES["adamw"] = "torch"
# On two cores two threads took up to three times as long as one (n = 2000, d = 384, P = 50), so adelie gets one.
ADELIE_THREADS = 1


def version(name):
    """Return the package of a solver with its version, and NumPy's."""
    return f"{PACKAGES[name]} {importlib.metadata.version(PACKAGES[name])}, NumPy {np.__version__}"


def call(name, problem, reply, beta, tol, cap, warm, **options):
    """Solve the problem of a file within ``cap`` seconds, or this process ends; write the arrays, "seconds" with them.

    The clock runs from the arrays to the coefficients. Before, the same call runs with a beta near its maximum and the
    options ``warm``, so that imports and compilation are outside.
    """
    solve = globals()[f"solve_{name}"]
    with np.load(problem) as stored:
        X, y, D = (stored[key] for key in "XyD")
    largest = np.linalg.norm(X.T @ (D * y[:, None]), axis=0).max() / len(y)
    solve(X, y, D, (0.4 if options.get("loss") == "logistic" else 0.8) * largest, 1e-2, **options | warm)
    signal.alarm(math.ceil(cap))  # which ends a process that has no handler of it
    began = time.perf_counter()
    arrays = solve(X, y, D, beta, tol, **options)
    seconds = time.perf_counter() - began
    signal.alarm(0)
    np.savez(reply, **{"seconds": seconds, **arrays})


def solve_ours(X, y, D, beta, tol, loss="squared", bias=False, solver="auto", max_time=None):
    """Everything from arrays to coefficients is timed; gate biases and intercept are both free or both absent."""
    from clifford_rand_nn.problems.gated import GatedReLUProblem
    from clifford_rand_nn.solvers.dispatch import AutoSolver
    from clifford_rand_nn.solvers.fista import Fista
    from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint

    solvers = {
        "auto": lambda: AutoSolver(tol=tol, max_time=max_time, max_iter=10**6),
        "kernel": lambda: KernelInteriorPoint(tol=tol, max_time=max_time),
        "fista": lambda: Fista(tol=tol, max_time=max_time, max_iter=10**6),
    }
    began = time.perf_counter()
    problem = GatedReLUProblem(X, y, D, beta, loss=loss, bias=bias, fit_intercept=bias)
    result = solvers[solver]().solve(problem)
    before = time.perf_counter() - began - result.seconds  # building the problem; the history starts after it
    return {
        "u": result.coefficients.coef[0],
        "gate_bias": result.coefficients.gate_intercept[0],
        "intercept": result.coefficients.intercept[0],
        "theta": result.dual_point[:, 0],
        "history": np.array([(before + row.seconds, row.objective, row.relative_gap) for row in result.history]),
        "n_iter": result.n_iter,
        "status": result.status,
    }


def features(X, D):
    """Return the explicit features [D_1 X, ..., D_P X], for peers that know no gates: n × dP, by columns."""
    (n, d), P = X.shape, D.shape[1]
    F = np.empty((n, d * P), order="F")
    for i in range(P):
        np.multiply(X, D[:, i, None], out=F[:, i * d : (i + 1) * d])
    return F


def solve_celer(X, y, D, beta, tol):
    """`GroupLasso`, working sets and dual extrapolation, on the explicit features."""
    from celer import GroupLasso

    model = GroupLasso(groups=X.shape[1], alpha=beta, tol=tol, fit_intercept=False).fit(features(X, D), y)
    return {"u": model.coef_.reshape(D.shape[1], -1)}


def solve_skglm(X, y, D, beta, tol):
    """`GroupBCD`, block coordinate descent with working sets and extrapolation, on the explicit features."""
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupBCD
    from skglm.utils.data import grp_converter

    d, P = X.shape[1], D.shape[1]
    index, pointer = (part.astype(np.int32) for part in grp_converter(d, d * P))
    penalty = WeightedGroupL2(beta, np.ones(P), pointer, index)
    u = GroupBCD(tol=tol).solve(features(X, D), y, QuadraticGroup(pointer, index), penalty)[0]
    return {"u": u.reshape(P, d)}


def solve_adelie(X, y, D, beta, tol):
    """`grpnet`, group coordinate descent, on its own matrix class of the gated problem."""
    import adelie

    d, P = X.shape[1], D.shape[1]
    arrays = np.asfortranarray(X), np.asfortranarray(D)
    state = adelie.grpnet(
        adelie.matrix.convex_relu(*arrays, gated=True, n_threads=ADELIE_THREADS),
        adelie.glm.gaussian(y),  # weights 1/n
        groups=d * np.arange(P),
        penalty=np.ones(P),  # its default is the root of the group's size
        lmda_path=np.array([beta]),
        intercept=False,
        early_exit=False,
        tol=tol,
        n_threads=ADELIE_THREADS,
        progress_bar=False,
    )
    return {"u": state.betas[-1].toarray().reshape(P, d)}


def solve_scnn(X, y, D, beta, tol, dtype="float64"):
    """R-FISTA on the gated problem; its objective has the same scale.

    Two things are set apart from its defaults, or it would solve another problem. Columns are not rescaled
    (``unitize_data=False``): rescaling changes what the penalty charges. And it makes patterns from gates through the
    origin with a strict inequality, so the function that makes them is replaced by one that returns the given patterns.
    """
    from scnn.metrics import Metrics
    from scnn.models import ConvexGatedReLU
    from scnn.optimize import optimize_model
    from scnn.private.interface import models
    from scnn.regularizers import NeuronGL1
    from scnn.solvers import RFISTA

    gates = np.zeros((X.shape[1], D.shape[1]))  # only their number is used
    models.compute_activation_patterns = lambda *_, **__: (D.astype(dtype), gates)
    model = ConvexGatedReLU(gates)
    settings = {"regularizer": NeuronGL1(beta), "return_convex": True, "unitize_data": False, "dtype": dtype}
    fitted, metrics = optimize_model(model, RFISTA(model, tol=tol), Metrics(), X, y, **settings)
    u = np.asarray(fitted.parameters[0][0], dtype=np.float64)
    # The objective that it says it reached is that of the weights it returns, in our units.
    f = np.sum(D * (X @ u.T), axis=1)
    reported, value = float(metrics.objective[-1]), np.mean((f - y) ** 2) / 2 + beta * np.linalg.norm(u, axis=1).sum()
    assert abs(reported - value) <= 1e-4 * value, f"scnn reports {reported}, its weights give {value}"
    return {"u": u}


def solve_adamw(X, y, D, beta, tol, rate=1e-3, batch=20, epochs=20, decay=False, seed=0):
    """AdamW (PyTorch) on the non-convex network: x -> sum_i 1[gate i is on] (w_i^T x) a_i, in float32, its default.

    Its objective is the one whose optimum the convex program finds: (1/2n) sum_j (f_j - y_j)^2 + (beta/2) sum_i
    (||w_i||^2 + a_i^2). The decay is in the loss, so that this is what is minimized; AdamW's own decay is off. The
    clock stands still while the objective is evaluated, once an epoch. Returns the parameters of the best epoch,
    "best_seconds" until then, "run_seconds" in all. ``tol`` is unused.
    """
    import torch

    torch.manual_seed(seed)
    inputs, on, targets = (torch.as_tensor(array, dtype=torch.float32) for array in (X, D, y))
    (n, d), P = X.shape, D.shape[1]
    W = torch.empty(P, d).uniform_(-1, 1).div_(d**0.5).requires_grad_()  # as torch.nn.Linear starts
    alpha = torch.empty(P).uniform_(-1, 1).div_(P**0.5).requires_grad_()
    optimizer = torch.optim.AdamW([W, alpha], lr=rate, weight_decay=0.0)
    steps = epochs * -(-n // batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps) if decay else None

    def objective(rows):
        f = (on[rows] * (inputs[rows] @ W.T)) @ alpha
        return (f - targets[rows]).square().mean() / 2 + beta / 2 * (W.square().sum() + alpha.square().sum())

    clock, value, best = 0.0, np.inf, {"W": np.zeros((P, d)), "alpha": np.zeros(P)}  # if it diverges
    best["best_seconds"] = np.inf
    for _ in range(epochs):
        began = time.perf_counter()
        for rows in torch.randperm(n).split(batch):
            optimizer.zero_grad()
            objective(rows).backward()
            optimizer.step()
            if schedule is not None:
                schedule.step()
        clock += time.perf_counter() - began
        with torch.no_grad():
            now = float(objective(slice(None)))
        if now < value:
            value = now
            arrays = {"W": W, "alpha": alpha}
            best = {name: array.detach().double().numpy().copy() for name, array in arrays.items()}
            best["best_seconds"] = clock
    return {**best, "best_seconds": min(best["best_seconds"], clock), "run_seconds": clock}
