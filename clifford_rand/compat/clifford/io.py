"""Files of coefficients in the formats of ``clifford``, version 0.0.1: ``.ga`` (HDF5, by h5py) and JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import fail
from clifford_rand._files import replaced
from clifford_rand._optional import require

VERSION = "0.0.1"

Read = tuple[NDArray[Any], NDArray[Any], NDArray[Any], Any]


def _check(version: object, file_name: str, owner: str) -> None:
    if version != VERSION:
        raise fail("file_name", owner, f"a file of version {VERSION}", f"{file_name}: {version}")


def _stored(mv_array: ArrayLike, transpose: bool, sparse: bool, support: Any, owner: str) -> NDArray[Any]:
    if sparse and (support is None or support is False):
        raise fail("support", owner, "the places of the stored coefficients, where sparse", support)
    values = np.asarray(mv_array)
    return values.T if transpose else values


def write_ga_file(
    file_name: str,
    mv_array: ArrayLike,
    metric: ArrayLike,
    basis_names: Sequence[str],
    compression: bool = True,
    transpose: bool = False,
    sparse: bool = False,
    support: Any = None,
    compression_opts: int = 1,
) -> None:
    """Write coefficients (n, 2^d) with the metric and the names of the basis vectors to an HDF5 file.

    Parameters
    ----------
    file_name : str
    mv_array : array_like
    metric : array_like of shape (d, d)
    basis_names : sequence of str
    compression, compression_opts : bool, int
        Whether, and how much, gzip is used.
    transpose : bool
        Store components first.
    sparse : bool
        Only some coefficients are stored, at the places ``support``.
    """
    h5py = require("h5py", extra="ga", purpose="a .ga file")
    values = _stored(mv_array, transpose, sparse, support, "write_ga_file")
    packed = {"compression": "gzip", "compression_opts": compression_opts} if compression else {}
    with replaced(file_name) as new, h5py.File(new, "w") as file:
        file.attrs["version"] = VERSION
        data = file.create_dataset("data", data=values, **packed)
        data.attrs["transpose"], data.attrs["sparse"] = transpose, sparse
        file.create_dataset("support", data=np.asarray(support if sparse else [], dtype=np.uint64))
        file.create_dataset("metric", data=np.asarray(metric))
        file.create_dataset("basis_names", data=np.asarray(basis_names, dtype=h5py.string_dtype()))


def read_ga_file(file_name: str) -> Read:
    """Return (coefficients, metric, names of the basis vectors, support or None) of an HDF5 file."""
    h5py = require("h5py", extra="ga", purpose="a .ga file")
    with h5py.File(file_name, "r") as file:
        _check(file.attrs["version"], file_name, "read_ga_file")
        data = file["data"]
        values = data[:].T if data.attrs["transpose"] else data[:]
        support = file["support"][:] if data.attrs["sparse"] else None
        return values, file["metric"][:], file["basis_names"].asstr()[:], support


def write_json_file(
    file_name: str,
    mv_array: ArrayLike,
    metric: ArrayLike,
    basis_names: Sequence[str],
    compression: bool = True,
    transpose: bool = False,
    sparse: bool = False,
    support: Any = None,
    compression_opts: int = 1,
) -> None:
    """Write what `write_ga_file` does as JSON, which is never compressed."""
    data = {
        "data": _stored(mv_array, transpose, sparse, support, "write_json_file").tolist(),
        "transpose": bool(transpose),
        "sparse": bool(sparse),
        "support": np.asarray(support).tolist() if sparse else [],
    }
    names = [str(name) for name in basis_names]
    contents = {"version": VERSION, "dataset": data, "metric": np.asarray(metric).tolist(), "basis_names": names}
    with replaced(file_name) as new:
        new.write_text(json.dumps(contents))


def read_json_file(file_name: str) -> Read:
    """Return what `read_ga_file` does, of a JSON file."""
    contents = json.loads(Path(file_name).read_text())
    _check(contents["version"], file_name, "read_json_file")
    data = contents["dataset"]
    values = np.array(data["data"])
    support = np.array(data["support"]) if data["sparse"] else None
    return (
        values.T if data["transpose"] else values,
        np.array(contents["metric"]),
        np.array(contents["basis_names"]),
        support,
    )
