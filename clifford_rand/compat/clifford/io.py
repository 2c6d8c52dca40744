"""Text and files of multivectors in clifford's formats."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._checks import fail
from clifford_rand._files import replaced
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.errors import require
from clifford_rand.multivector.parse import AMBIGUOUS

_TOO_LONG = 10**4300  # Python writes no integers of so many digits (sys.set_int_max_str_digits)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?|nan\b|inf\b)|(?P<name>[^\W\d]\w*)|(?P<mark>[-+*^()]))"
)


def parse(text: str, masks: Mapping[str, int], blade: Callable[[int], Any]) -> Any:
    """Return the number or multivector of a text; ``^`` and ``*`` bind closer than ``+`` and ``-``.

    Raises
    ------
    SyntaxError
        With the line and the column of what cannot be read.
    """
    reader = _Reader(text, masks, blade)
    try:
        value = reader.sum()
    except RecursionError:
        raise reader.error("fewer parentheses within each other") from None
    except OverflowError:
        raise reader.error("numbers within the range of float64") from None
    if reader.kind:
        raise reader.error("a sign between terms, or ^ or * between factors")
    numbers = value.coefficients if hasattr(value, "coefficients") else np.array([value], dtype=object)
    if any(isinstance(number, int) and abs(number) >= _TOO_LONG for number in numbers.flat):
        raise reader.error("integers of fewer digits", 0)
    return value


def pretty_call(printer: Any, name: str, *parts: Any) -> None:
    """Write ``name(part, part)`` with IPython's printer; a part is text, or (text before it, object)."""
    with printer.group(len(name) + 1, f"{name}(", ")"):
        for i, part in enumerate(parts):
            if i:
                printer.text(",")
                printer.breakable()
            lead, value = part if isinstance(part, tuple) else (part, None)
            with printer.group(len(lead) if value is not None else 0, lead, ""):
                if value is not None:
                    printer.pretty(value)


class _Reader:
    """A text and the token where the reading stands: its kind (None at the end), its text and its place."""

    def __init__(self, text: str, masks: Mapping[str, int], blade: Callable[[int], Any]) -> None:
        self.text, self.masks, self.blade = text, masks, blade
        self.end = 0
        self.kind: str | None = None
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            rest = self.text[self.end :]
            self.kind, self.token = ("other", rest.strip()) if rest.strip() else (None, "")
            self.place = self.end + len(rest) - len(rest.lstrip()) if rest.strip() else len(self.text)
            return
        self.kind, self.token = match.lastgroup, match[match.lastgroup or 0]
        self.place, self.end = match.start(match.lastgroup or 0), match.end()

    def error(self, wanted: str, place: int | None = None) -> SyntaxError:
        at = self.place if place is None else place
        before = self.text[:at].split("\n")
        line = self.text.split("\n")[len(before) - 1]
        received = f"{self.text[at]!r}" if at < len(self.text) else "the end"
        position = ("<multivector>", len(before), len(before[-1]) + 1, line)
        return SyntaxError(f"expected {wanted}, got {received}", position)

    def sum(self) -> Any:
        total = self.product()
        while self.kind == "mark" and self.token in "+-":
            sign = self.token
            self.advance()
            term = self.product()
            total = total + term if sign == "+" else total - term
        return total

    def product(self) -> Any:
        result = self.factor()
        while self.kind == "mark" and self.token in "*^":
            mark, place = self.token, self.place
            self.advance()
            if self.kind is None:
                raise self.error("an operand of the product", place)
            factor = self.factor()
            scalar = isinstance(result, int | float | complex) or isinstance(factor, int | float | complex)
            result = result * factor if mark == "*" or scalar else result ^ factor
        return result

    def factor(self) -> Any:
        if self.kind == "mark" and self.token in "+-":
            sign = -1 if self.token == "-" else 1
            self.advance()
            return sign * self.factor()
        if self.kind == "mark" and self.token == "(":
            self.advance()
            inner = self.sum()
            if self.token != ")":
                raise self.error("a closing parenthesis")
            self.advance()
            return inner
        if self.kind == "number":
            number = self.number()
            self.advance()
            return number
        if self.kind == "name" and self.token in self.masks:
            name = self.token
            self.advance()
            return self.blade(self.masks[name])
        raise self.error("a number or the name of a blade")

    def number(self) -> complex:
        match = AMBIGUOUS.fullmatch(self.token)
        if match is not None and match[2] in self.masks:
            raise self.error(f"{match[1]}*{match[2]} for the blade or {match[1]}e+{match[2][1:]} for the number")
        if self.token.endswith("j"):
            return complex(self.token)
        try:
            return int(self.token) if self.token.isdigit() else float(self.token)
        except ValueError:  # Python reads no integers of more than 4300 digits
            raise self.error("a number of fewer digits") from None


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
    values, support = values.T if data["transpose"] else values, np.array(data["support"]) if data["sparse"] else None
    return values, np.array(contents["metric"]), np.array(contents["basis_names"]), support
