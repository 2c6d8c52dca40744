"""The methods of the comparison by name."""

from collections.abc import Callable, Sequence
from typing import Any

from clifford_rand._checks import check_choice
from clifford_rand.errors import install_command
from examples.paper.methods.adamw import AdamW
from examples.paper.methods.base import Method
from examples.paper.methods.convex import ConvexGated
from examples.paper.methods.peers import Lasso, gradient_boosting, logistic, mlp, svc_rbf

__all__ = ["NAMES", "make_methods"]

# Relative gaps: below the first, in the grid, accuracies do not change; the second is certified of the model.
_GRID_TOL, _TOL = 1e-2, 1e-4


# Many gates, as they cost little with squared norms: twice as many change no accuracy significantly.
_MANY_GATES = 500


def _convex(gates: str, max_time: float, **options: Any) -> ConvexGated:
    return ConvexGated(gates, loss="logistic", grid_tol=_GRID_TOL, tol=_TOL, max_time=max_time, **options)


_MAKERS: dict[str, Callable[[float], Method]] = {
    "convex": lambda max_time: _convex("cross", max_time, linear=True, name="convex"),
    "convex-cross": lambda max_time: _convex("cross", max_time),
    "convex-gaussian": lambda max_time: _convex("gaussian", max_time),
    "convex-ridge": lambda max_time: _convex(
        "gaussian", max_time, n_gates=_MANY_GATES, penalty="ridge", name="convex-ridge"
    ),
    "adamw": lambda max_time: AdamW(),
    "logistic": lambda max_time: logistic(),
    "lasso": lambda max_time: Lasso(),
    "svc-rbf": lambda max_time: svc_rbf(),
    "gradient-boosting": lambda max_time: gradient_boosting(),
    "mlp": lambda max_time: mlp(),
}
NAMES = tuple(_MAKERS)


def make_methods(names: Sequence[str], max_time: float, say: Callable[[str], None], owner: str) -> list[Method]:
    """Return the methods, and say which are left out since their library is missing.

    Raises
    ------
    ArgumentError
        There is no method of that name.
    """
    found = []
    for name in dict.fromkeys(names):
        check_choice(name, "methods", owner, NAMES)
        method = _MAKERS[name](max_time)
        if method.available:
            found.append(method)
        else:
            say(f"{name} is left out, it needs {method.library}: {install_command(method.library, method.extra)}")
    return found
