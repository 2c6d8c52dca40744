"""The steps of a pipeline before its estimator as plain arrays and values, and back."""

import hashlib
import re
from typing import Any

import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import describe, fail
from clifford_rand_nn.saved.parts import agree, text, truth
from clifford_rand_nn.saved.scikit import pack_step, read_step
from clifford_rand_nn.tables.encoder import TableEncoder

VERSION = 8  # of the format, which older readers do not know
OUTER, INNER = "step", "inner"  # how names of arrays begin: of a pipeline, and of one in a search
_NAME = re.compile(rf"({OUTER}|{INNER})\d{{1,3}}(_[a-z_]{{1,30}})?")  # bytes of a step, or an array of a TableEncoder


def rule(name: str) -> str | None:
    """Return the kinds of dtype and numbers of axes of an array of a step; None for names of none."""
    found = _NAME.fullmatch(name)
    return None if found is None else "f12" if found[2] else "u1"


def pack_pipeline(arrays: dict[str, NDArray[Any]], prefix: str, pipeline: Pipeline) -> dict[str, Any]:
    """Add the arrays of all steps but the last; return the rest of the pipeline, without its last step."""
    *steps, (last, _) = pipeline.steps
    told = [{"name": name} | _pack(arrays, f"{prefix}{i}", name, step) for i, (name, step) in enumerate(steps)]
    return {"name": last, "verbose": bool(pipeline.verbose), "steps": told}


def take_steps(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Take the arrays of steps out of the others."""
    return {name: arrays.pop(name) for name in list(arrays) if name.startswith(prefix) and rule(name)}


def read_pipeline(parts: dict[str, NDArray[Any]], prefix: str, told: dict[str, Any], estimator: Any) -> Pipeline:
    """Return the pipeline of the arrays of its steps, the rest of it, and its last step."""
    steps: list[tuple[str, Any]] = []
    for i, one in enumerate(told["steps"]):
        name = text(one["name"])
        steps.append((name, _read(parts, f"{prefix}{i}", name, one)))
    agree(not parts, f"there are arrays of other steps: {', '.join(parts)}")
    steps.append((text(told["name"]), estimator))
    agree(len(dict(steps)) == len(steps), "two steps have one name")
    width = None
    for name, step in steps:
        taken = getattr(step, "n_features_in_", None)
        agree(
            None in (width, taken) or taken == width, f"the step {name!r} takes {taken} columns, and is given {width}"
        )
        width = width if step == "passthrough" else _columns_made(step)
    return Pipeline(steps, verbose=truth(told["verbose"]))


def _columns_made(step: Any) -> int | None:
    """Return how many columns a step makes; None where it does not say."""
    try:
        return len(step.get_feature_names_out())
    except AttributeError:  # some of scikit-learn's have no names, or steps within that have none
        return None


def _pack(arrays: dict[str, NDArray[Any]], place: str, name: str, step: Any) -> dict[str, Any]:
    if step is None or step == "passthrough":
        return {"kind": "passthrough"}
    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError) as error:
        raise fail("model", "save_model", f"a pipeline whose step {name!r} is fitted", describe(str(error))) from error
    if type(step) is TableEncoder:
        own, values = step.to_plain()
        arrays |= {f"{place}_{key}": array for key, array in own.items()}
        return {"kind": "table", "arrays": sorted(own), "encoder": values}
    blob = arrays[place] = pack_step(step, name)
    told = {"kind": "scikit-learn", "class": type(step).__name__, "version": sklearn.__version__}
    return told | {"sha256": hashlib.sha256(blob.tobytes()).hexdigest()}


def _read(arrays: dict[str, NDArray[Any]], place: str, name: str, told: dict[str, Any]) -> Any:
    kind = told["kind"]
    if kind == "passthrough":
        return kind
    if kind == "table":
        return TableEncoder.from_plain({key: arrays.pop(f"{place}_{key}") for key in told["arrays"]}, told["encoder"])
    agree(kind == "scikit-learn", f"the step {name!r} is of an unknown kind")
    data = arrays.pop(place).tobytes()
    agree(hashlib.sha256(data).hexdigest() == told["sha256"], f"the step {name!r} is another one than was saved")
    step = read_step(data, name)
    agree(type(step).__name__ == told["class"], f"the step {name!r} is another one than was saved")
    return step
