"""Names of parameters in model files of older versions, as they are called now."""

from typing import Any

RENAMED_VERSION = 18  # the first whose files have the names of today
_NAMES = {"rounds": "max_metric_iter", "refine": "n_refinements"}
_CACHE = "_every"  # of a fit, which was a parameter by mistake in versions 12 to 16
_VALUES: dict[str, dict[str, str]] = {"bias": {"penalised": "penalized"}}
_GATES = {"free": "optimized", "cross": "row_spanned"}  # of tuning-free networks
_CERTIFICATE = {"primal": "objective", "dual": "lower_bound"}
_PIPELINES = ("pipeline", "inner")  # parts with steps, one of which may be a `TableEncoder`
_PARAMETERS = {"dates": "date", "textual": "text", "leave_out": "drop", "missing": "missing_values"}
_PARAMETERS |= {"text": "other_text", "text_features": "n_text_features"}
_KINDS = {"number": "numeric", "category": "categorical", "left out": "dropped"}
_COLUMN = {"why": "reason", "missing": "n_missing", "asked": "is_user_specified"}
_CANDIDATE = {"bias": "bias_feature", "score": "loss", "n": "n_rows"}
_LOSS = {"loss": "mean_loss"}
_TRIAL = {"rounds": "n_iter", "error": "mean_loss", "mistakes": "error_rate"}
_TRIAL |= {"standard_error": "gain_std_error", "factor": "beta_factor"}
_SELECTION = {"rounds": "n_iter", "factors": "beta_factors"}
_CALIBRATION = {"loss": "log_loss"}


def with_new_names(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a model file with the names of today.

    >>> with_new_names({"version": 16, "estimator": "GatedReLURegressor", "params": {"refine": 2}})["params"]
    {'n_refinements': 2}
    """
    if meta["version"] < 17:
        meta = _names_of_17(meta)
    return _names_of_18(meta) if meta["version"] < RENAMED_VERSION else meta


def _names_of_18(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the values of version 17 with the names of version 18."""
    meta = dict(meta)
    for part, names in (
        ("candidates", _LOSS),
        ("labels", _CALIBRATION),
        ("target_transform_scores", _TRIAL),
    ):
        if part in meta:
            meta[part] = [_renamed(values, names) for values in meta[part]]
    if "calibration" in meta:
        meta["calibration"] = _renamed(meta["calibration"], _CALIBRATION)
    if "few" in meta:
        meta["few"] = meta["few"] | {"path": [_renamed(values, _LOSS) for values in meta["few"]["path"]]}
    if "rounds" in meta:
        trials = [_renamed(values, _TRIAL) for values in meta["rounds"]["trials"]]
        meta["metric_selection"] = _renamed(meta.pop("rounds"), _SELECTION) | {"trials": trials}
    return meta


def _names_of_17(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an older version with the names of version 17."""
    params = _renamed({name: value for name, value in meta["params"].items() if name != _CACHE}, _NAMES)
    gates = {"gates": _GATES} if meta["estimator"].startswith("ConvexNetwork") else {}
    for name, values in (_VALUES | gates).items():
        if isinstance(params.get(name), str):
            params[name] = values.get(params[name], params[name])
    meta = meta | {"params": params}
    if "certificate" in meta:
        meta["certificate"] = _renamed(meta["certificate"], _CERTIFICATE)
    if "candidates" in meta:
        meta["candidates"] = [_renamed(values, _CANDIDATE) for values in meta["candidates"]]
    if "few" in meta:
        few = meta["few"] | {"path": [_renamed(values, _CANDIDATE) for values in meta["few"]["path"]]}
        if "selection" in few:
            few["selection"] = _renamed(few["selection"], _CERTIFICATE)
        meta["few"] = few
    for part in set(_PIPELINES) & meta.keys():
        steps = [
            step | {"encoder": _encoder(step["encoder"])} if "encoder" in step else step for step in meta[part]["steps"]
        ]
        meta[part] = meta[part] | {"steps": steps}
    return meta


def _encoder(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a `TableEncoder` of version 1 with the names of version 2."""
    params = _renamed({"missing": []} | meta["params"], _PARAMETERS)
    if params["other_text"] == "leave out":
        params["other_text"] = "drop"
    meta = meta | {"columns": [_renamed(column, _COLUMN) for column in meta["columns"]]}
    for part in ("columns", "readers"):
        meta[part] = [values | {"kind": _KINDS.get(values["kind"], values["kind"])} for values in meta[part]]
    return _renamed(meta, _PARAMETERS) | {"params": params, "version": 2}


def _renamed(values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}
