"""A pipeline as plain arrays and values, and back: its steps, and the estimator that it ends with."""

import hashlib
import re
from typing import Any

import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import describe, fail
from clifford_rand_nn.saved import estimator
from clifford_rand_nn.saved.parts import agree, text, truth
from clifford_rand_nn.saved.scikit import pack_step, read_step

VERSION = 8
_BYTES = re.compile(r"step\d{1,3}")


def rule(name: str) -> str | None:
    """Return the kinds of dtype and numbers of axes of an array of a step; None for names of none."""
    return "u1" if _BYTES.fullmatch(name) else None


def pack(pipeline: Pipeline) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the values of a fitted pipeline."""
    *steps, (name, last) = pipeline.steps
    arrays, meta = estimator.pack(last)
    told = [_pack(arrays, i, *step) for i, step in enumerate(steps)]
    meta["pipeline"] = {"name": name, "verbose": bool(pipeline.verbose), "steps": told}
    meta["version"] = VERSION
    return arrays, meta


def unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Pipeline:
    """Return the pipeline of arrays and values from a file."""
    told = meta["pipeline"]
    steps = [_unpack(arrays, i, one) for i, one in enumerate(told["steps"])]
    agree(not any(map(rule, arrays)), "there are arrays of other steps")
    steps.append((text(told["name"]), estimator.unpack(arrays, meta)))
    agree(len(dict(steps)) == len(steps), "two steps have one name")
    return Pipeline(steps, verbose=truth(told["verbose"]))


def _pack(arrays: dict[str, NDArray[Any]], i: int, name: str, step: Any) -> dict[str, Any]:
    """Add the arrays of a step; return the rest of it."""
    if step is None or step == "passthrough":
        return {"name": name, "kind": "passthrough"}
    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError) as error:
        raise fail("model", "save_model", f"a pipeline whose step {name!r} is fitted", describe(str(error))) from error
    blob = arrays[f"step{i}"] = pack_step(step, name)
    told = {"name": name, "kind": "scikit-learn", "class": type(step).__name__, "version": sklearn.__version__}
    return told | {"sha256": hashlib.sha256(blob.tobytes()).hexdigest()}


def _unpack(arrays: dict[str, NDArray[Any]], i: int, told: dict[str, Any]) -> tuple[str, Any]:
    """Take the arrays of a step out of the others; return its name and the step."""
    name, kind = text(told["name"]), told["kind"]
    if kind == "passthrough":
        return name, kind
    agree(kind == "scikit-learn", f"the step {name!r} is of an unknown kind")
    data = arrays.pop(f"step{i}").tobytes()
    agree(hashlib.sha256(data).hexdigest() == told["sha256"], f"the step {name!r} is another one than was saved")
    step = read_step(data, name)
    agree(type(step).__name__ == told["class"], f"the step {name!r} is another one than was saved")
    return name, step
