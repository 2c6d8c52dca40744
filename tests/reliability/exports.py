"""ONNX files, PyTorch modules and source predict as the model does, for missing cells, unseen categories, extremes too.

Random tables with columns of every kind, a model on each, exported in three ways. New rows have missing cells,
categories that were not in training, dates of other centuries and numbers up to 1e30. Outputs agree to 1e-8 of the
size of the model's.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np

from clifford_rand_nn import (
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    ConvexReLURegressor,
    CrossProductLassoRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    export_onnx,
    export_source,
    table_model,
)
from reliability.promise import Outcome
from support.exported import onnx_inputs

_TABLES, _ROWS, _NEW = 60, 90, 60
_TOL = 1e-8
_MODELS = {
    "network, classes": lambda: ConvexNetworkClassifier(max_metric_iter=0),
    "network, logistic": lambda: ConvexNetworkClassifier(max_metric_iter=0, loss="logistic"),
    "gated, classes": lambda: GatedReLUClassifier(8, beta=1e-2, loss="logistic", random_state=0),
    "network, a number": lambda: ConvexNetworkRegressor(max_metric_iter=0),
    "gated, a number": lambda: GatedReLURegressor(8, beta=1e-2, random_state=0),
    "relu, a number": lambda: ConvexReLURegressor(6, beta=1e-2, random_state=0),
    "lasso, a number": lambda: CrossProductLassoRegressor(beta=1e-2, subsample=40, random_state=0),
}


def run(budget):
    faults, compared = [], 0
    kinds = budget.named(list(_MODELS))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notes on what is new in a table, and convergence of small fits
        for number in range(len(kinds) if budget.short else _TABLES):
            kind, rng = kinds[number % len(kinds)], np.random.default_rng([budget.seed, number])
            where = f"table {number} (seed {budget.seed}), {kind}"
            frame, new = _table(rng, _ROWS, "classes" in kind or "logistic" in kind), _new(rng)
            model = table_model(frame, "target", estimator=_MODELS[kind]())
            for name, export in (("ONNX", _onnx), ("source", _source), ("torch", _torch)):
                try:
                    pairs = export(model, new, Path(folder))
                except Exception as error:  # an export that fails is the fault, whatever it raises
                    faults.append(f"{where}, {name}: {type(error).__name__}: {error}")
                    continue
                for what, exported, wanted in pairs:
                    compared += 1
                    faults += _compared(f"{where}, {name}, {what}", exported, wanted)
    return Outcome(f"{compared} outputs of {min(number + 1, _TABLES)} tables compared", faults)


def _compared(where, exported, wanted):
    exported, wanted = np.asarray(exported), np.asarray(wanted)
    if wanted.dtype.kind not in "fc":
        wrong = np.flatnonzero(exported.astype(str).ravel() != wanted.astype(str).ravel())[:1]
        return [f"{where}: row {i} is {exported.ravel()[i]!r}, not {wanted.ravel()[i]!r}" for i in wrong]
    exported, wanted = exported.reshape(len(wanted), -1).astype(float), wanted.reshape(len(wanted), -1)
    size = np.maximum(np.abs(wanted), 1.0)  # row by row: extreme rows have extreme outputs
    with np.errstate(invalid="ignore"):
        same = (np.abs(exported - wanted) <= _TOL * size) | (exported == wanted)
    same |= np.isnan(exported) & np.isnan(wanted)
    rows = np.flatnonzero(~same.all(axis=1))
    return [f"{where}: row {i} is {exported[i]}, not {wanted[i]} ({len(rows)} rows)" for i in rows[:1]]


# ---- tables


def _table(rng, n, classes):
    import pandas as pd

    frame = _columns(rng, n)
    score = np.nan_to_num(frame["number"] / 30) + (frame["city"] == "Oslo") + 0.3 * rng.standard_normal(n)
    cuts = np.quantile(score, [0.5] if rng.random() < 0.5 else [0.3, 0.7])
    frame["target"] = np.array(["low", "middle", "high"])[np.digitize(score, cuts)] if classes else score
    for name in ("number", "city", "answer", "when"):
        if rng.random() < 0.7:
            frame.loc[frame.index[rng.random(n) < 0.1], name] = None
    return pd.DataFrame(frame)


def _columns(rng, n):
    import pandas as pd

    days = rng.uniform(0, 900, n)
    return pd.DataFrame(
        {
            "number": rng.standard_normal(n) * 30 + 100,
            "heavy": rng.standard_cauchy(n),
            "city": rng.choice(["Oslo", "Bergen", "Å", "2.0"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "few values": rng.choice([1, 2, 7], n).astype(float),
            "answer": rng.choice(["Yes", "no"], n),
            "flag": rng.random(n) < 0.4,
            "when": np.datetime64("2019-11-03T05:00") + (days * 86400e6).astype("timedelta64[us]"),
        }
    )


def _new(rng):
    """Return new rows with all that may happen."""
    import pandas as pd

    frame = _columns(rng, _NEW).astype({"city": object, "answer": object})
    for column, name in enumerate(("number", "heavy", "city", "few values", "answer", "when")):
        frame.loc[frame.index[column], name] = None
    frame.loc[frame.index[6:9], "city"] = ["Reykjavik", "", " Oslo "]
    extremes = [1e30, -1e30, 1e-300, -0.0, 1e12, -5e-324]
    frame.loc[frame.index[9 : 9 + len(extremes)], "number"] = extremes
    frame.loc[frame.index[20 : 20 + len(extremes)], "heavy"] = extremes
    frame.loc[frame.index[30], "few values"] = 4.5
    ends = pd.to_datetime(["1900-02-28", "2100-12-31T23:59:59", "2020-02-29", "1970-01-01"], format="ISO8601")
    frame.loc[frame.index[40 : 40 + len(ends)], "when"] = ends
    return frame


# ---- exports: what each says, beside what the model says


def _onnx(model, new, folder):
    import onnxruntime

    path = str(export_onnx(model, folder / "model.onnx", dtype="float64"))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    out = dict(zip(names, session.run(names, onnx_inputs(session, new)), strict=True))
    if "label" not in out:
        return [("predictions", out["variable"], model.predict(new))]
    return _of_classes(model, new, out["label"], out["probabilities"])


def _of_classes(model, new, labels, probabilities):
    return [("labels", labels, model.predict(new)), ("probabilities", probabilities, model.predict_proba(new))]


def _source(model, new, _):
    module = {}
    exec(export_source(model), module)
    if "predict_proba" not in module:
        return [("predictions", module["predict"](new), model.predict(new))]
    return _of_classes(model, new, module["predict"](new), module["predict_proba"](new))


def _torch(model, new, _):
    import torch

    rows = model[0].transform(new)
    module, x = model[-1].to_torch(), torch.tensor(rows)
    if not hasattr(model, "classes_"):
        return [("predictions", module(x).detach().numpy(), model[-1].predict(rows))]
    labels = np.array(module.classes)[module.labels(x).numpy()]
    return _of_classes(model, new, labels, module.probabilities(x).detach().numpy())
