"""A program as the text of a Python module that needs NumPy alone."""

import hashlib
import keyword
import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._checks import check_path, describe, fail
from clifford_rand._files import replaced
from clifford_rand.errors import printable
from clifford_rand_nn.export.program import COLUMNS, OPERATIONS, Program, Value, ordered

LONGEST = 4_000_000  # characters of a text that an editor still opens
_DIGITS, _SHORT = 22, 64  # characters of a number; numbers that stay in the text
_WIDTH = 116
_BINDS = {"less": 1, "equals": 1, "add": 2, "subtract": 2, "multiply": 3, "divide": 3, "matmul": 3, "matmul_t": 3}
_CALL = 5  # how closely a call, an index or a name binds
_TEMPLATES = {op: re.sub(r"\b[abc]\b", "{}", text.partition(";")[0]) for op, text in OPERATIONS.items()}
_TEMPLATES |= {op: f"_{op}(X, {{}})" for op in COLUMNS}

_KEY = "of this module"  # no name of Python's, which those of arrays are
_HEAD = """\
_ARRAYS = np.load(Path(__file__).with_name({file!r}))
if {key!r} not in _ARRAYS or str(_ARRAYS[{key!r}]) != {digest!r}:
    raise ValueError("{file} is of another module than this one: export both again.")"""
_TAKEN = {"X", "np", "Path", "CLASSES", "blocks"}
_COLUMN_FUNCTIONS = '''\
def _numbers(X, name):
    """Return a column of a table as numbers (n, 1), NaN where they are missing (None or NaN)."""
    return np.asarray(X[name], dtype=np.float64).reshape(-1, 1)


def _words(X, name):
    """Return a column of a table as texts (n, 1), empty where they are missing (None or NaN)."""
    return np.array([_word(cell) for cell in X[name]], dtype=object).reshape(-1, 1)


def _word(cell):
    if cell is None or cell != cell:
        return ""
    whole = isinstance(cell, (float, np.floating)) and float(cell).is_integer()
    return str(int(cell)) if whole else str(cell)


def _days(X, name):
    """Return a column of dates (of datetime, of NumPy, or texts as 2020-01-31) as days (n, 1) since 1970."""
    times = np.asarray(X[name], dtype="datetime64[us]").reshape(-1, 1)
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / 86400e6)'''
# The functions of a module, what they return, and their results; those with an underline are called by others.
_FUNCTIONS = {
    "_outputs": ("outputs of the network (n, C)", "outputs"),
    "_scores": ("scores of the classes (n, classes)", "scores"),
    "decision_function": ("decision function", "decision_function"),
    "predict_proba": ("probabilities (n, classes) of CLASSES", "predict_proba"),
    "predict": ("predictions", "predict"),
    "predict_interval": ("the ends (low, high) of intervals", "low", "high"),
}


def write_source(program: Program, path: str | os.PathLike[str] | None = None) -> str:
    """Return the text, and write it to ``path``, if there is one, with its arrays beside it if these are large."""
    if path is not None and check_path(path, "path", "to_source").suffix != ".py":
        raise fail("path", "to_source", "a file name that ends in .py", str(path))
    names = _names(_constants(program))
    arrays = {names[value]: value.data for value in names if value.data is not None}
    length = sum(_DIGITS * array.size for array in arrays.values())
    if path is None and length > LONGEST:
        rule = f"given where the text is longer than {LONGEST / 1e6:g} MB"
        need = describe(f"a need of some {length / 1e6:.0f} MB")
        raise fail("path", "to_source", rule, need, "Arrays are then written beside it.")
    beside = {name: array for name, array in arrays.items() if array.size > _SHORT and array.dtype == np.float64}
    literals = {name: _literal(array) for name, array in arrays.items() if length <= LONGEST or name not in beside}
    if path is None or length <= LONGEST:
        text = _text(program, literals)
        if path is not None:
            with replaced(path) as new:
                new.write_text(text, encoding="utf-8")
        return text
    file, digest = arrays_beside(path), _digest(beside)
    head = _HEAD.format(file=file.name, key=_KEY, digest=digest)
    text = _text(program, literals | {name: f"_ARRAYS[{name!r}]" for name in beside}, head)
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8")
        with replaced(file) as arrays_file, open(arrays_file, "wb") as stream:  # the text is on the disk by then
            np.savez(stream, **cast("Any", beside | {_KEY: np.array(digest)}))
    return text


def _digest(arrays: dict[str, NDArray[Any]]) -> str:
    """Return what tells these arrays from those of another module, which may stand under the same name."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()[:16]


def arrays_beside(path: str | os.PathLike[str]) -> Path:
    """Return the file for large arrays of a module: no name that a model file has, which may stand there."""
    return Path(path).with_suffix(".arrays.npz")


def _constants(program: Program) -> list[Value]:
    ends = [*program.results.values(), *([] if program.rows is None else [program.rows])]
    return [value for value in ordered(ends) if value.op == "constant"]


def _names(constants: list[Value]) -> dict[Value, str]:
    """Return a name of Python for each array, its own one where that is possible."""
    names: dict[Value, str] = {}
    for value in constants:
        name = re.sub(r"\W", "_", value.name)
        name = name if name.isidentifier() and not keyword.iskeyword(name) else f"_{name}"
        while name in names.values() or name in _TAKEN:
            name += "_"
        names[value] = name
    return names


def _text(program: Program, literals: dict[str, str], head: str = "") -> str:
    functions = {
        name: [program.results[result] for result in results]
        for name, (_, *results) in _FUNCTIONS.items()
        if all(result in program.results for result in results)
    }
    if "_scores" in functions:
        functions.pop("_outputs", None)
    if "index" in program.results:
        functions["predict"] = [program.results["index"]]
    lines = [f'"""{program.model} of clifford-rand {__version__}, which this module does not need: NumPy is enough.']
    lines += ["", *(_escaped(line) for line in _described(program)), '"""', ""]
    lines += ["from pathlib import Path", ""] if head else []
    lines += ["import numpy as np", ""]
    lines += [head, ""] if head else []
    lines += [f"{name} = {literal}" for name, literal in literals.items()]
    if program.classes is not None:
        lines.append(f"CLASSES = {_literal(program.classes)}")
    names = _names(_constants(program))
    if program.rows is None:
        parts = ["\n".join(lines), _rows_function(program.d, program.missing)]
    else:
        body = "\n".join(f"    {line}" for line in _Body([program.rows], {}, names).lines())
        said = f'    """Return the columns of a table as numbers (n, {program.d})."""'
        parts = ["\n".join(lines), _COLUMN_FUNCTIONS, f"def _rows(X):\n{said}\n{body}"]
    order = [name for name in _FUNCTIONS if name in functions and _needed(name, functions)]
    parts += [_function(name, order, functions, program, names) for name in order]
    return "\n\n\n".join(parts) + "\n"


def _needed(name: str, functions: dict[str, list[Value]]) -> bool:
    """Whether a function is one of those that are for users, or shared by some of these."""
    if not name.startswith("_"):
        return True
    users = [ends for user, ends in functions.items() if user != name and not user.startswith("_")]
    return sum(functions[name][0] in ordered(ends) for ends in users) > 1


def _described(program: Program) -> list[str]:
    """Return what rows are, and what there is to say of the model."""
    if program.rows is not None:
        kinds = {"numbers": "numbers", "words": "texts", "days": "dates"}
        rows = ["X is a table, a dict of columns or a data frame, in which cells may be missing, with the columns"]
        rows += [f"* {value.name}: {kinds[value.op]}" for value in program.table]
    else:
        names = "." if program.columns is None else ": " + ", ".join(program.columns) + "."
        rows = [f"Rows X have {program.d} columns{names}"]
    return [*rows, "", *(f"{name}: {text}" for name, text in program.notes.items())]


def _escaped(text: str) -> str:
    """Return a text as it may stand in a docstring, on one line, NUL and others not printable escaped."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def _rows_function(d: int, missing: bool) -> str:
    test, said = ("np.isinf(X).any()", "infinite") if missing else ("not np.isfinite(X).all()", "missing or infinite")
    return textwrap.dedent(f'''\
        def _rows(X):
            """Return rows (n, {d}) as float64, checked."""
            X = np.asarray(X, dtype=np.float64)
            if X.ndim != 2 or X.shape[1] != {d}:
                raise ValueError(f"X must be of shape (n, {d}), not {{X.shape}}.")
            if {test}:
                raise ValueError("X has entries that are {said}.")
            return X''')


def _function(
    name: str, order: list[str], functions: dict[str, list[Value]], program: Program, names: dict[Value, str]
) -> str:
    """Return the text of a function; values of functions before it are calls of these."""
    ends = functions[name]
    before = [function for function in order[: order.index(name)] if len(functions[function]) == 1]
    known = {functions[function][0]: f"{function}(X)" for function in before}
    known = {value: call for value, call in known.items() if value not in ends}
    calls = any(value in known for value in _reached(ends, known))
    body = _Body(ends, known, names).lines()
    if name == "predict" and program.classes is not None:
        body[-1] = f"return CLASSES[{body[-1].removeprefix('return ')}]"
    block = None if calls else program.block()
    opening = [f"def {name}(X):", f'    """Return {_FUNCTIONS[name][0]} for rows X (n, {program.d})."""']
    if block is None:
        return "\n".join([*opening, *([] if calls else ["    X = _rows(X)"]), *(f"    {line}" for line in body)])
    part = f"_{name.strip('_')}_of_block"
    inside = [f"def {part}(X):", *(f"    {line}" for line in body)]
    blocks = f"    blocks = [{part}(X[i : i + {block}]) for i in range(0, max(len(X), 1), {block})]"
    joined = "np.concatenate(blocks)" if len(ends) == 1 else "tuple(np.concatenate(part) for part in zip(*blocks))"
    return "\n".join([*inside, "", "", *opening, "    X = _rows(X)", blocks, f"    return {joined}"])


def _reached(ends: list[Value], known: dict[Value, str]) -> list[Value]:
    """Return the values that ends are made of, but for what those are made of that are known."""
    reached: dict[Value, None] = {}
    stack = list(ends)
    while stack:
        value = stack.pop()
        if value not in reached:
            reached[value] = None
            stack += [] if value in known else value.values
    return list(reached)


class _Body:
    """The lines of a function: values with a name, or used twice, have one of their own."""

    def __init__(self, ends: list[Value], known: dict[Value, str], constants: dict[Value, str]) -> None:
        self._ends, self._known = ends, known
        reached = set(_reached(ends, known))
        self._values = [value for value in ordered(ends) if value in reached]
        self._uses = Counter(operand for value in self._values if value not in known for operand in value.values)
        self._texts = dict(constants)
        self._names = set(constants.values())

    def lines(self) -> list[str]:
        """Return them, the last one with what is returned."""
        out = []
        for value in self._values:
            if value.op == "rows":
                self._texts[value] = "X"
            if value in self._texts:
                continue
            text = self._known.get(value) or self._expression(value)
            last = value in self._ends and len(self._ends) == 1
            if not last and (value.name or self._uses[value] > 1):
                name = self._fresh("column" if value.op in COLUMNS else value.name or "part")
                out.append(f"{name} = {text}")
                self._texts[value] = name
            else:
                self._texts[value] = text
        out.append("return " + ", ".join(self._texts[end] for end in self._ends))
        return out

    def _fresh(self, name: str) -> str:
        """Return a name that no other value has."""
        fresh, k = name, 1
        while fresh in self._names or fresh in _TAKEN:
            k += 1
            fresh = f"{name}{k}"
        self._names.add(fresh)
        return fresh

    def _expression(self, value: Value) -> str:
        template = _TEMPLATES[value.op]
        if value.op in COLUMNS:
            return template.format(repr(value.name))
        if value.op == "beside":
            parts = "".join(f"\n            {self._operand(operand, 0)}," for operand in value.operands)
            return f"np.concatenate(\n        [{parts}\n        ],\n        axis=1,\n    )"
        if value.op in _BINDS and value.op != "matmul_t":
            left, right = value.operands
            binds = _BINDS[value.op]
            return template.format(self._operand(left, binds), self._operand(right, binds + 1))
        binds = 0 if template.startswith("np.") else _CALL
        return template.format(*(self._operand(operand, binds) for operand in value.operands))

    def _operand(self, operand: Any, binds: int) -> str:
        """Return an operand, in parentheses where what it stands in binds closer than it."""
        if not isinstance(operand, Value):
            return _number(float(operand))
        text = self._texts[operand]
        alone = text.isidentifier() or operand in self._known
        own = _CALL if alone else _BINDS.get(operand.op, _CALL)
        return f"({text})" if own < binds else text


def _literal(array: NDArray[Any]) -> str:
    """Return an array as Python reads it back exactly."""
    text = _nested(array.tolist(), _number if array.dtype.kind == "f" else repr)
    dtype = ", dtype=object" if array.dtype.kind == "O" else ""
    shape = f".reshape{array.shape}" if array.size == 0 and array.ndim > 1 else ""
    if len(text) <= _WIDTH or array.dtype.kind not in "fiub":  # text may hold spaces
        return f"np.array({text}{dtype}){shape}"
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "np.array(\n" + "\n".join(f"    {line}" for line in lines) + f"\n){shape}"


def _nested(entries: Any, write: Callable[[Any], str]) -> str:
    texts = (_nested(entry, write) if isinstance(entry, list) else write(entry) for entry in entries)
    return "[" + ", ".join(texts) + "]"


def _number(value: float) -> str:
    return repr(value) if np.isfinite(value) else f"float('{value}')"
