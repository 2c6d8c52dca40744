"""Multivectors and batches of them in files: NPZ or JSON, with their algebra, never a pickle."""

import json
import math
import os
import re
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_instance, check_path, describe, fail
from clifford_rand._files import FAULTS, damaged, read_npz, replaced
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import is_tensor
from clifford_rand.basis.keys import keys_of_grades, keys_of_masks
from clifford_rand.basis.rules import bits_of
from clifford_rand.errors import ArgumentError
from clifford_rand.multivector.multivector import Multivector

FORMAT, VERSION = "clifford-rand multivector", 1
_PRESET = re.compile(r"(pga|cga|sta)\((\d{0,7})(, null_basis=True)?\)")
_DTYPES = ("float32", "float64", "complex64", "complex128", "int64", "int8")
_EXACT = "exact"  # Python integers and fractions, as decimal text


def save(A: Multivector, /, path: str | os.PathLike[str]) -> None:
    """Write a multivector, or a batch, with its algebra to a file; `load` gives an equal one.

    The metric, the names of the basis vectors, grades, blades, dtype and batch axes are kept, and every bit of the
    coefficients. The file appears complete or not at all.

    Parameters
    ----------
    A : Multivector
        Of numbers or fractions.
    path : path that ends in .npz or .json
        NPZ is binary, for large batches: ``numpy.load`` reads its ``coefficients``. JSON is text that any language
        reads: ``coefficients`` has a flat list, complex numbers as two reals; "nan", "inf" and fractions are text.

    Raises
    ------
    ArgumentError
        If the path has another ending, or A is not a multivector of NumPy, or has symbols.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "motors.npz"
    >>> alg = cr.Algebra.pga(3)
    >>> motors = (0.5 * alg.e12 + alg.bivector(np.eye(6)[:4])).exp()
    >>> cr.save(motors, file)
    >>> cr.load(file) == motors, cr.load(file).algebra
    (array([ True,  True,  True,  True]), Algebra.pga(3))
    """
    file = _checked_path(path, "save")
    check_instance(A, Multivector, "A", "save", "a multivector")
    if is_tensor(A.coefficients):
        received = describe(type(A.coefficients).__name__)
        raise fail("A", "save", "a multivector of NumPy", received, "Save A.to_numpy().")
    record, coefficients = _record(A), A.coefficients
    with replaced(file) as new:
        if file.suffix.lower() == ".json" or coefficients.dtype == object:
            record["coefficients"] = _encoded(coefficients)
        text = json.dumps(record, allow_nan=False)
        if file.suffix.lower() == ".json":
            new.write_text(text, encoding="utf-8")
            return
        arrays: dict[str, Any] = {"meta": np.frombuffer(text.encode(), np.uint8)}
        if "coefficients" not in record:
            arrays["coefficients"] = coefficients
        with open(new, "wb") as stream:
            np.savez(stream, **arrays)


def load(path: str | os.PathLike[str]) -> Multivector:
    """Read a multivector that `save` wrote; nothing in the file is run.

    Raises
    ------
    ArgumentError
        The file is not of `save`, is damaged, or was written by a newer version; the message names it.
    FileNotFoundError
        There is no such file.
    """
    file = _checked_path(path, "load")
    what = "this file of multivectors"
    if file.suffix.lower() == ".npz":
        arrays, _ = read_npz(file, ("meta", "coefficients"), what=what, stored=True)
        data = arrays.get("meta", np.zeros(0, np.uint8)).tobytes()
    else:
        arrays, data = {}, file.read_bytes()
    try:
        record = json.loads(data)
        version = record["version"] if record["format"] == FORMAT else None
    except FAULTS:
        version = None
    if type(version) is not int or version < 1:
        raise ArgumentError(f"{os.fspath(path)}: this is not a file of multivectors, which save writes.")
    if version > VERSION:
        raise ArgumentError(f"{os.fspath(path)}: a newer version of this library wrote it. Update clifford-rand.")
    try:
        return _restored(record, arrays.get("coefficients"))
    except FAULTS as error:
        raise damaged(path, what, error) from error


def _checked_path(path: str | os.PathLike[str], owner: str) -> Any:
    rule = "a file name that ends in .npz or .json"
    if isinstance(path, Multivector):
        raise fail("path", owner, rule, describe("a multivector"), "It comes second: save(A, path).")
    file = check_path(path, "path", owner)
    if file.suffix.lower() not in (".npz", ".json"):
        raise fail("path", owner, rule, str(file))
    return file


def _record(A: Multivector) -> dict[str, Any]:
    """Return the record of a multivector for its file, without the coefficients."""
    form = A.algebra.form
    metric = form.diagonal if form.is_unit else form.gram
    assert metric is not None
    _, names, preset = A.algebra.__reduce__()[1][1:]
    is_default = names == _algebra(metric, None, "").names
    return {
        "format": FORMAT,
        "version": VERSION,
        "metric": _encoded(metric),
        "names": None if is_default else [names.vector(i) for i in range(form.d)],
        "preset": preset,
        "grades": list(A.keys.grades),
        "blades": None if A.keys.complete else [list(bits_of(int(mask))) for mask in A.keys.masks],
    }


def _restored(record: dict[str, Any], coefficients: NDArray[Any] | None) -> Multivector:
    algebra = _algebra(_decoded(record["metric"]), record["names"], record["preset"])
    d, grades, blades = algebra.d, tuple(record["grades"]), record["blades"]
    if not all(type(k) is int and 0 <= k <= d for k in grades) or sorted(set(grades)) != list(grades):
        raise ValueError(f"grades {grades}")
    keys = keys_of_grades(d, grades)
    if blades is not None:
        if not all(type(i) is int and 0 <= i < d for blade in blades for i in blade):
            raise ValueError("the blades")
        masks = tuple(sum(1 << i for i in blade) for blade in blades)
        keys = keys_of_masks(d, masks, grades)
        listed = [list(bits_of(mask)) for mask in masks]
        if len(set(masks)) < len(masks) or tuple(map(int, keys.masks)) != masks or listed != blades:
            raise ValueError("the order of the blades")
    array = _decoded(record["coefficients"]) if coefficients is None else coefficients
    if array.dtype != object and array.dtype.name not in _DTYPES:
        raise ValueError(f"coefficients of dtype {array.dtype}")
    return Multivector(algebra, keys, array)


def _algebra(metric: NDArray[Any], names: Any, preset: str) -> Algebra:
    plain = {"signature": metric.tolist()} if metric.dtype == np.int8 else {"metric": metric}
    algebra = Algebra(names=names, **plain)
    if not preset:
        return algebra
    match = _PRESET.fullmatch(preset)
    sizes = [int(n) for n in (match[2] if match else "-1",) if n]
    if match is None or max(sizes, default=0) > algebra.d:
        raise ValueError(f"an algebra {preset}")
    shown: Algebra = getattr(Algebra, match[1])(*sizes, **({"null_basis": True} if match[3] else {}))
    if shown != algebra:
        raise ValueError(f"the metric of {preset}")
    return shown


def _encoded(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as a record of JSON."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if array.dtype == object:
        dtype, values = _EXACT, [_text(value) for value in flat.tolist()]
    else:
        dtype = array.dtype.name
        reals = flat.view(flat.real.dtype) if array.dtype.kind == "c" else flat
        values = [x if math.isfinite(x) else str(x) for x in reals.tolist()]
    return {"dtype": dtype, "shape": list(array.shape), "values": values}


def _decoded(record: dict[str, Any]) -> NDArray[Any]:
    dtype, values = record["dtype"], record["values"]
    if dtype == _EXACT:
        array = np.empty(len(values), dtype=object)
        array[:] = [_number(text) for text in values]
    elif dtype not in _DTYPES:
        raise ValueError(f"dtype {dtype}")
    elif dtype.startswith("complex"):
        array = np.array([float(x) for x in values], np.empty(0, dtype).real.dtype).view(dtype)
    else:
        array = np.array([float(x) if dtype[0] == "f" else int(x) for x in values], dtype)
    return array.reshape(record["shape"])


def _text(value: Any) -> str:
    if not isinstance(value, Rational):  # those of SymPy are some, too
        hint = "Give numbers for symbols, and convert with astype(float) otherwise."
        raise fail("A", "save", "a multivector of numbers or fractions", describe(f"the coefficient {value!r}"), hint)
    return str(int(value)) if isinstance(value, Integral) else f"{int(value.numerator)}/{int(value.denominator)}"


def _number(text: str) -> int | Fraction:
    top, _, bottom = text.partition("/")
    return Fraction(int(top), int(bottom)) if bottom else int(top)
