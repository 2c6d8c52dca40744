"""Names of parameters in model files of older versions, as they are called now."""

from typing import Any

RENAMED_VERSION = 17  # the first whose files have the names of today
_NAMES = {"rounds": "max_metric_iter", "refine": "n_refinements"}
_CACHE = "_every"  # of a fit, which was a parameter by mistake in versions 12 to 16
_VALUES: dict[str, dict[str, str]] = {"bias": {"penalised": "penalized"}}
_GATES = {"free": "optimized", "cross": "row_spanned"}  # of tuning-free networks


def with_new_names(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a model file with the names of today.

    >>> with_new_names({"version": 16, "estimator": "GatedReLURegressor", "params": {"refine": 2}})["params"]
    {'n_refinements': 2}
    """
    if meta["version"] >= RENAMED_VERSION:
        return meta
    params = {_NAMES.get(name, name): value for name, value in meta["params"].items() if name != _CACHE}
    gates = {"gates": _GATES} if meta["estimator"].startswith("ConvexNetwork") else {}
    for name, values in (_VALUES | gates).items():
        if isinstance(params.get(name), str):
            params[name] = values.get(params[name], params[name])
    return meta | {"params": params}
