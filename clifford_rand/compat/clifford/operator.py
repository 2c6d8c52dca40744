"""The products as functions, for ``functools.reduce``."""

from typing import Any


def gp(M: Any, N: Any) -> Any:
    """Return the geometric product M N."""
    return M * N


def op(M: Any, N: Any) -> Any:
    """Return the outer product M ∧ N."""
    return M ^ N


def ip(M: Any, N: Any) -> Any:
    """Return Hestenes' inner product, zero where one factor is a scalar."""
    return M | N
