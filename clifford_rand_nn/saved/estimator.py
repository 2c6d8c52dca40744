"""One estimator, or a search around one, as plain arrays and values, and back: by its kind."""

from typing import Any

from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.saved import finite, infinite, kernel, search

Estimator = finite.Network | infinite.Network | BetaCV
ARRAYS = finite.ARRAYS | infinite.ARRAYS | kernel.ARRAYS | search.ARRAYS


def pack(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the values of a fitted estimator or search."""
    kind = type(model)
    if kind is BetaCV:
        return search.pack(model)
    if infinite.ESTIMATORS.get(kind.__name__) is kind:
        return infinite.pack(model)
    if finite.ESTIMATORS.get(kind.__name__) is kind:
        return finite.pack(model)
    known = ", ".join((*finite.ESTIMATORS, *infinite.ESTIMATORS, BetaCV.__name__))
    hint = "Save its best_estimator_." if hasattr(model, "best_estimator_") else ""
    rule = f"one of {known}, or a Pipeline that ends with one"
    raise fail("model", "save_model", rule, describe(kind.__name__), hint)


def unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Estimator:
    """Return the estimator or search of arrays and values from a file."""
    if "search" in meta:
        return search.unpack(arrays, meta)
    if meta["estimator"] in infinite.ESTIMATORS:
        return infinite.unpack(arrays, meta)
    return finite.unpack(arrays, meta)
