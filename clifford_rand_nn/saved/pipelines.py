"""Models of every kind as plain arrays and values, and back: estimators, searches over beta, pipelines and their steps.

Steps of scikit-learn's own are bytes in skops' format, a zip of JSON and arrays; nothing else is read.
"""

import hashlib
import io
import json
import re
import zipfile
from typing import Any, TypeAlias, cast

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import describe, fail
from clifford_rand._files import check_archive
from clifford_rand.errors import require
from clifford_rand_nn._records import Arrays, agree, plain, text, truth
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.estimators.folds import take_features
from clifford_rand_nn.saved import kernel_networks, networks, parts
from clifford_rand_nn.saved.parts import ForeignPartError
from clifford_rand_nn.tables.encoder import TableEncoder, encoder_from_plain, encoder_to_plain
from clifford_rand_nn.tables.model import TableModel

Model: TypeAlias = networks.Network | kernel_networks.Network | BetaCV | Pipeline
ARRAYS = {"meta": "u1", "search_betas": "f1", "search_scores": "f2", "search_given": "f1"} | (
    parts.ARRAYS | networks.ARRAYS | kernel_networks.ARRAYS
)
_SEARCH = ("n_betas", "eps", "cv", "scoring", "rule", "max_time", "n_jobs", "verbose")  # parameters that are kept
_OWN = ("beta", "max_time")  # parameters of the estimator of a search that differ from those of the trained one
_OUTER, _INNER = "step", "inner"  # how names of arrays begin: of a pipeline, and of one in a search
_STEP = re.compile(rf"({_OUTER}|{_INNER})\d{{1,3}}(_[a-z_]{{1,30}})?")  # bytes of a step, or an array of an encoder
# What skops does not take for granted and cannot harm: plain functions and values, whatever they are given. Sparse
# matrices, splines and trees stay refused: their indices are used unchecked by compiled code.
_TRUSTED = [
    "numpy.dtype",
    "sklearn.compose._column_transformer.make_column_selector",
    *(f"sklearn.feature_selection._univariate_selection.{name}" for name in ("chi2", "f_classif", "f_regression")),
    *(f"sklearn.feature_selection._mutual_info.mutual_info_{name}" for name in ("classif", "regression")),
]
_MEMBERS = ("schema.json", ".bin")
_ADVICE = "Leave the step out and save what it makes, or keep the whole pipeline with joblib where you trust the file."


def array_rule(name: str) -> str | None:
    """Return the kinds of dtype and numbers of axes that an array may have; None for names of none."""
    step = _STEP.fullmatch(name)
    return ARRAYS.get(name) if step is None else "f12" if step[2] else "u1"


def pack(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the values of a fitted model."""
    kind = type(model)
    if kind in (Pipeline, TableModel):
        arrays, meta = pack(model.steps[-1][1])
        meta["pipeline"] = _pack_steps(arrays, _OUTER, model)
        return arrays, meta
    if kind is BetaCV:
        return _pack_search(model)
    if kernel_networks.ESTIMATORS.get(kind.__name__) is kind:
        return kernel_networks.pack(model)
    if networks.ESTIMATORS.get(kind.__name__) is kind:
        return networks.pack(model)
    known = ", ".join((*networks.ESTIMATORS, *kernel_networks.ESTIMATORS, BetaCV.__name__))
    hint = "Save its best_estimator_." if hasattr(model, "best_estimator_") else ""
    rule = f"one of {known}, or a Pipeline that ends with one"
    raise fail("model", "save_model", rule, describe(kind.__name__), hint)


def unpack(arrays: Arrays, meta: dict[str, Any]) -> Model:
    """Return the model of arrays and values from a file."""
    if "pipeline" in meta:
        own = _take_steps(arrays, _OUTER)
        meta = dict(meta)
        return _read_steps(own, _OUTER, meta.pop("pipeline"), unpack(arrays, meta))
    if "search" in meta:
        return _read_search(arrays, meta)
    module: Any = kernel_networks if meta["estimator"] in kernel_networks.ESTIMATORS else networks
    return cast("Model", module.unpack(arrays, meta))


def _pack_search(search: BetaCV) -> tuple[Arrays, dict[str, Any]]:
    if not hasattr(search, "estimator_"):
        raise fail("model", "save_model", "fitted", describe("a BetaCV before fit"))
    trained, own = search.estimator_, search.estimator
    if isinstance(trained, Pipeline):
        arrays, meta = networks.pack(trained[-1])
        meta["inner"] = _pack_steps(arrays, _INNER, trained)
        own = own[-1]
    else:
        arrays, meta = networks.pack(trained)
    arrays |= {"search_betas": search.betas_, "search_scores": search.scores_}
    if search.betas is not None:
        arrays["search_given"] = np.atleast_1d(np.asarray(search.betas, dtype=np.float64))
    meta["search"] = {name: plain(getattr(search, name)) for name in _SEARCH}
    meta["search"]["own"] = {name: plain(getattr(own, name)) for name in _OWN}
    return arrays, meta


def _read_search(arrays: Arrays, meta: dict[str, Any]) -> BetaCV:
    values, inner = meta["search"], meta.get("inner")
    steps = {} if inner is None else _take_steps(arrays, _INNER)
    model: Any = networks.unpack(arrays, meta)
    trained, own = model, clone(model).set_params(**{name: values["own"][name] for name in _OWN})
    if inner is not None:
        trained = _read_steps(steps, _INNER, inner, model)
        own = clone(trained).set_params(**{inner["name"]: own})
    search = BetaCV(own, betas=arrays.get("search_given"))
    search.set_params(**{name: values[name] for name in _SEARCH})
    betas, scores = arrays["search_betas"], arrays["search_scores"]
    falling = betas.size > 0 and bool((betas > 0).all()) and bool((np.diff(betas) <= 0).all())
    agree(falling and len(scores) == betas.size and bool((betas == model.beta).any()), "the search")
    search.betas_, search.scores_, search.beta_, search.estimator_ = betas, scores, model.beta, trained
    take_features(search, search.estimator_)
    return search


def _pack_steps(arrays: Arrays, prefix: str, pipeline: Pipeline) -> dict[str, Any]:
    """Add the arrays of all steps but the last; return the rest of the pipeline, without its last step."""
    *steps, (last, _) = pipeline.steps
    packed = [{"name": name} | _pack_step(arrays, f"{prefix}{i}", name, step) for i, (name, step) in enumerate(steps)]
    return {"name": last, "verbose": bool(pipeline.verbose), "steps": packed}


def _take_steps(arrays: Arrays, prefix: str) -> Arrays:
    names = [name for name in arrays if name.startswith(prefix) and _STEP.fullmatch(name)]
    return {name: arrays.pop(name) for name in names}


def _read_steps(arrays: Arrays, prefix: str, values: dict[str, Any], estimator: Any) -> Pipeline:
    """Return the pipeline of the arrays of its steps, the rest of it, and its last step."""
    named = [(text(step["name"]), step) for step in values["steps"]]
    steps = [(name, _read_step(arrays, f"{prefix}{i}", name, step)) for i, (name, step) in enumerate(named)]
    agree(not arrays, f"there are arrays of other steps: {', '.join(arrays)}")
    steps.append((text(values["name"]), estimator))
    agree(len(dict(steps)) == len(steps), "two steps have one name")
    width = None
    for name, step in steps:
        taken = getattr(step, "n_features_in_", None)
        fits = None in (width, taken) or taken == width
        agree(fits, f"the step {name!r} takes {taken} columns, and is given {width}")
        width = width if step == "passthrough" else _output_width(step)
    kind = TableModel if type(steps[0][1]) is TableEncoder else Pipeline
    return kind(steps, verbose=truth(values["verbose"]))


def _output_width(step: Any) -> int | None:
    """Return how many columns a step makes; None where it does not say."""
    try:
        return len(step.get_feature_names_out())
    except AttributeError:  # some of scikit-learn's have no names, or steps within that have none
        return None


def _pack_step(arrays: Arrays, place: str, name: str, step: Any) -> dict[str, Any]:
    if step is None or step == "passthrough":
        return {"kind": "passthrough"}
    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError) as error:
        raise fail("model", "save_model", f"a pipeline whose step {name!r} is fitted", describe(str(error))) from error
    if type(step) is TableEncoder:
        own, values = encoder_to_plain(step)
        arrays |= {f"{place}_{key}": array for key, array in own.items()}
        return {"kind": "table", "arrays": sorted(own), "encoder": values}
    data = arrays[place] = _pack_skops(step, name)
    values = {"kind": "scikit-learn", "class": type(step).__name__, "version": sklearn.__version__}
    return values | {"sha256": hashlib.sha256(data.tobytes()).hexdigest()}


def _read_step(arrays: Arrays, place: str, name: str, values: dict[str, Any]) -> Any:
    kind = values["kind"]
    if kind == "passthrough":
        return kind
    if kind == "table":
        own = {key: arrays.pop(f"{place}_{key}") for key in values["arrays"]}
        return encoder_from_plain(own, values["encoder"])
    agree(kind == "scikit-learn", f"the step {name!r} is of an unknown kind")
    data = arrays.pop(place).tobytes()
    agree(hashlib.sha256(data).hexdigest() == values["sha256"], f"the step {name!r} is another one than was saved")
    step = _read_skops(data, name)
    agree(type(step).__name__ == values["class"], f"the step {name!r} is another one than was saved")
    return step


def _pack_skops(step: Any, name: str) -> NDArray[np.uint8]:
    """Return the bytes of a fitted step of scikit-learn; refuse one that could not be read again."""
    skops = require("skops.io", extra="skops", purpose="saving a pipeline with other steps than TableEncoder")
    try:
        _check_folders(step)
        data = skops.dumps(step)
    except (TypeError, ValueError) as error:
        rule = f"a pipeline whose step {name!r} can be written without a pickle"
        raise fail("model", "save_model", rule, describe(" ".join(str(error).split())), _ADVICE) from error
    foreign = _foreign(skops, data)
    if foreign:
        rule = f"a pipeline whose step {name!r} holds nothing but scikit-learn's own types and NumPy's functions"
        raise fail("model", "save_model", rule, describe(", ".join(foreign)), _ADVICE)
    return np.frombuffer(_in_order(data), dtype=np.uint8)


def _read_skops(data: bytes, name: str) -> Any:
    """Return the step that such bytes are, if all that they hold is scikit-learn's own.

    Raises ForeignPartError if they name another type, nothing of which was imported or run; MissingDependencyError
    without skops; or a fault of a file.
    """
    skops = require("skops.io", extra="skops", purpose="reading a pipeline with steps of scikit-learn")
    check_archive(data, _MEMBERS)
    foreign = _foreign(skops, data)
    if foreign:
        what = f"{', '.join(foreign)}, which is not scikit-learn's own; nothing of it was run."
        raise ForeignPartError(f"its step {name!r} holds {what}")
    step = skops.loads(data, trusted=_TRUSTED)
    agree(type(step).__module__.startswith("sklearn.") and hasattr(step, "transform"), f"the step {name!r}")
    _check_folders(step)
    return step


def _foreign(skops: Any, data: bytes) -> list[str]:
    return sorted(set(skops.get_untrusted_types(data=data)) - set(_TRUSTED))


def _check_folders(step: Any) -> None:
    """Refuse a pipeline within that has a folder, in which joblib would look for pickles at its next fit."""
    for name, value in step.get_params(deep=True).items():
        if name.rpartition("__")[2] == "memory" and value is not None:
            raise ValueError(f"{name}={value!r}")


def _in_order(data: bytes) -> bytes:
    """Return skops' bytes with counts instead of addresses and times: the same for the same step."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    ids: dict[int, int] = {}
    files: dict[str, str] = {}

    def settled(node: dict[str, Any]) -> dict[str, Any]:
        if isinstance(node.get("__id__"), int):
            node["__id__"] = ids.setdefault(node["__id__"], len(ids) + 1)
        if isinstance(node.get("file"), str):
            node["file"] = files.setdefault(node["file"], f"{len(files) + 1}.{node['file'].rpartition('.')[2]}")
        return node

    tree = json.loads(members["schema.json"], object_hook=settled)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for old, new in files.items():
            archive.writestr(zipfile.ZipInfo(new), members[old])
        archive.writestr(zipfile.ZipInfo("schema.json"), json.dumps(tree))
    return out.getvalue()
