"""Every public name of geometric algebra has an example, a line in the page of those who move over, and a test."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import clifford_rand as cr
import clifford_rand_nn as nn
from clifford_rand.calculus.operators import DifferentialOperator
from clifford_rand.multivector.base import INTERNAL, BladeAttributes
from clifford_rand.presets import cga, pga, sta
from support.public_api import FILE

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = ["stack", "concatenate", "slerp", "rotor_from_matrix", "rotor_between", "rotor_from_points"]
FUNCTIONS += ["motor_from_points", "robust_motor_from_points", "gradient", "geometric_derivative", "fused"]
CLASSES = [cr.Algebra, cr.Multivector, cr.LinearMap, cr.Coordinates, cr.SimplicialChain, DifferentialOperator]
CLASSES += [cr.LargeBlade, cr.LargeVersor, cr.RotorSpline, cr.RobustMotorResult, cga.ConformalObject, cga.VersorParts]
CLASSES += [pga.Screw, pga.Robot]
RECORDS = {
    "InverseKinematicsResult",
    "Screw",
    "VersorParts",
    "RobustMotorResult",
    "DifferentialOperator",
}  # what functions return


def public_names():
    """(where, name, docstring) of functions, classes, and their methods and properties; fields have their class's."""
    found = [(f"cr.{name}", name, getattr(cr, name)) for name in FUNCTIONS]
    found += [(f"cr.{one.__name__}", one.__name__, one) for one in CLASSES if one.__name__ not in RECORDS]
    for preset in (pga, cga, sta):
        short = preset.__name__.rpartition(".")[2]
        found += [(f"{short}.{k}", k, v) for k, v in vars(preset).items() if k[0] != "_" and not inspect.ismodule(v)]
    for owner in CLASSES:
        fields = {"count", "index", *getattr(owner, "_fields", ())}  # of named tuples
        for name in dir(owner):
            if (
                name[0] == "_"
                or name in fields | INTERNAL
                or (owner is cr.Multivector and name in vars(BladeAttributes))
            ):
                continue
            held = inspect.getattr_static(owner, name)
            if inspect.isroutine(held) or isinstance(held, property) or hasattr(held, "__set_name__"):
                found.append((f"{owner.__name__}.{name}", name, getattr(owner, name)))
    return [(where, name, inspect.getdoc(held) or "") for where, name, held in found]


def test_every_name_has_an_example():
    names = public_names()
    assert len(names) > 300
    assert [where for where, _, text in names if ">>>" not in text] == []


@pytest.mark.parametrize("place", ["migration", "tests"])
def test_every_name_stands_where_it_is_looked_for(place):
    files = [ROOT / "docs" / "migration.md"] if place == "migration" else Path(__file__).parent.rglob("*.py")
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if file != Path(__file__))
    known = set(re.findall(r"[A-Za-z_]\w*", text)) | (RECORDS if place == "tests" else set())
    assert [where for where, name, _ in public_names() if name not in known] == []


@pytest.mark.parametrize("module", [cr, nn, cga, pga, sta], ids=lambda module: module.__name__)
def test_signatures_name_what_numpy_takes_instead_of_expanding_it(module):
    texts = []
    for name in dir(module):
        try:
            value = getattr(module, name)
        except cr.MissingDependencyError:
            continue
        if inspect.isclass(value) and issubclass(value, Exception):
            continue  # Python has no signatures of some
        members = inspect.getmembers(value) if inspect.isclass(value) else []
        for one in [value, *(member for part, member in members if part[0] != "_")] if name[0] != "_" else []:
            if callable(one) and str(getattr(one, "__module__", "")).startswith("clifford_rand"):
                texts.append(str(inspect.signature(one)))
    assert len(texts) > 20
    assert any("numpy.typing.ArrayLike" in text for text in texts)
    assert [text for text in texts if "numpy._typing" in text] == []


# sizes and places, whose letters are those of the docs
SIZES = {"d", "i", "j", "k", "n", "p", "q", "r", "s"}
OPTIONS = {"rtol", "atol", "weights", "rng", "kind", "which", "basis", "frame", "out", "callback", "n_repeats", "dual"}


def arguments_of_lines():
    for line in FILE.read_text(encoding="utf-8").splitlines():
        name, opened, rest = line.partition("(")
        if opened and re.match(r"clifford_rand\.(?!compat|layers)", name):
            yield name, ast.parse(f"def f({rest}: ...").body[0].args


def test_operands_are_positional_only_and_options_keyword_only():
    parsed = list(arguments_of_lines())
    assert len(parsed) > 300
    letters = [f"{name}: {one.arg}" for name, held in parsed for one in held.args if re.fullmatch("other|.", one.arg)]
    assert [text for text in letters if text[-1] not in SIZES or text.endswith("other")] == []
    by_place = [(name, one.arg) for name, held in parsed for one in [*held.posonlyargs, *held.args]]
    assert [(name, one) for name, one in by_place if one in OPTIONS] == []
    assert [(name, one) for name, one in by_place if one == "alg"] == []
