"""Ctrl-C in a fit that is a step of a longer computation ends the computation."""

from typing import Any

from clifford_rand_nn.solvers.base import Status


def raise_if_interrupted(model: Any) -> Any:
    """Return a fitted estimator or pipeline; raise KeyboardInterrupt where Ctrl-C left the best that it had."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    result = getattr(last, "result_", None)
    status = getattr(last, "status_", None) if result is None else result.status
    if status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return model
