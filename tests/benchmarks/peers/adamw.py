"""AdamW (PyTorch) on the non-convex network: x -> sum_i 1[gate i is on] (w_i^T x) a_i, in float32, its default.

Its objective is the one whose optimum the convex program finds: (1/2n) sum_j (f_j - y_j)^2 + (beta/2) sum_i (||w_i||^2
+ a_i^2). The decay is in the loss, so that this is what is minimized; AdamW's own decay is off. The clock stands still
while the objective is evaluated, once an epoch.
"""

import time

import numpy as np
import torch


def version():
    return f"torch {torch.__version__}"


def solve(X, y, D, beta, tol, rate=1e-3, batch=20, epochs=20, decay=False, seed=0):
    """Return the parameters of the best epoch, "best_seconds" until then, "run_seconds" in all. ``tol`` is unused."""
    torch.manual_seed(seed)
    inputs, on, targets = (torch.as_tensor(array, dtype=torch.float32) for array in (X, D, y))
    n, d = X.shape
    P = D.shape[1]
    W = torch.empty(P, d).uniform_(-1, 1).div_(d**0.5).requires_grad_()  # as torch.nn.Linear starts
    alpha = torch.empty(P).uniform_(-1, 1).div_(P**0.5).requires_grad_()
    optimizer = torch.optim.AdamW([W, alpha], lr=rate, weight_decay=0.0)
    steps = epochs * -(-n // batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps) if decay else None

    def objective(rows):
        f = (on[rows] * (inputs[rows] @ W.T)) @ alpha
        return (f - targets[rows]).square().mean() / 2 + beta / 2 * (W.square().sum() + alpha.square().sum())

    clock, best, everything = 0.0, (np.inf, 0.0, None, None), slice(None)
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
            value = float(objective(everything))
        if value < best[0]:
            best = (value, clock, W.detach().double().numpy().copy(), alpha.detach().double().numpy().copy())
    if best[2] is None:
        return {"W": np.zeros((P, d)), "alpha": np.zeros(P), "best_seconds": clock, "run_seconds": clock}  # diverged
    return {"W": best[2], "alpha": best[3], "best_seconds": best[1], "run_seconds": clock}
