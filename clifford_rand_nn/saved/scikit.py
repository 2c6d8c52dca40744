"""Steps of scikit-learn's own as bytes in skops' format, a zip of JSON and arrays, and back; nothing else is read."""

import io
import json
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand_nn._archives import check_archive
from clifford_rand_nn.saved.parts import ForeignPartError, agree

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


def pack_step(step: Any, name: str) -> NDArray[np.uint8]:
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


def read_step(data: bytes, name: str) -> Any:
    """Return the step that such bytes are, if all that they hold is scikit-learn's own.

    Raises
    ------
    ForeignPartError
        They name another type; nothing of it was imported or run.
    MissingDependencyError
        skops is not installed.
    ValueError, or another fault of a file
    """
    skops = require("skops.io", extra="skops", purpose="reading a pipeline with steps of scikit-learn")
    check_archive(data, _MEMBERS)
    foreign = _foreign(skops, data)
    if foreign:
        raise ForeignPartError(
            f"its step {name!r} holds {', '.join(foreign)}, which is not scikit-learn's own; nothing of it was run."
        )
    step = skops.loads(data, trusted=_TRUSTED)
    agree(type(step).__module__.startswith("sklearn.") and hasattr(step, "transform"), f"the step {name!r}")
    _check_folders(step)
    return step


def _foreign(skops: Any, data: bytes) -> list[str]:
    """Return the names of the types in skops' bytes that are not trusted."""
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
