"""Every public name of both packages with its parameters, as one line of text each.

``PYTHONPATH=.:tests python -m support.public_api`` writes ``docs/reference/public-api.txt``, which a test compares with
the code. Annotations are left out, so that the text is the same for every version of Python, and so is what classes
inherit from other libraries. `clifford_rand.compat` has the names of its peers: its modules and members are not listed.
"""

import enum
import importlib
import inspect
from pathlib import Path

from clifford_rand.multivector.base import INTERNAL, BladeAttributes

FILE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "public-api.txt"
MODULES = (
    "clifford_rand",
    "clifford_rand.presets.pga",
    "clifford_rand.presets.cga",
    "clifford_rand.presets.sta",
    "clifford_rand.layers",  # needs torch
    "clifford_rand.draw",
    "clifford_rand.compat",
    "clifford_rand_nn",
    "clifford_rand_nn.features",
    "clifford_rand_nn.datasets",
    "clifford_rand_nn.displays",
)
_EMPTY = inspect.Parameter.empty


def lines(module):
    """Return a line for each name of a module, and for each method and property of its classes."""
    holder = importlib.import_module(module)
    names = sorted(getattr(holder, "__all__", dir(holder)))
    values = [(name, getattr(holder, name)) for name in names if not name.startswith("_")]
    return [line for name, value in values if is_ours(value) for line in described(f"{module}.{name}", value)]


def is_ours(value):
    return not inspect.ismodule(value) and (getattr(value, "__module__", None) or "").startswith("clifford_rand")


def described(name, value):
    if not inspect.isclass(value):
        return [name + (parameters(value) if callable(value) else "")]
    if issubclass(value, enum.Enum):
        return [name, *(f"{name}.{member}" for member in value.__members__)]
    result = [name + constructor(value)]
    if name.startswith("clifford_rand.compat."):
        return result
    fields = () if result[0] != name else getattr(value, "__dataclass_fields__", ())  # else they are parameters
    result += [f"{name}.{field}" for field in sorted(fields)]
    for member in sorted(set(dir(value)) - INTERNAL):
        owner = next((owner for owner in value.__mro__ if member in vars(owner)), None)
        is_generated = member.startswith("set_") and member.endswith("_request")  # by scikit-learn
        if not member.startswith("_") and not is_generated and owner not in (None, BladeAttributes) and is_ours(owner):
            result += of_member(f"{name}.{member}", value, member, vars(owner)[member])
    return result


def of_member(name, value, member, stored):
    called = getattr(value, member, None)
    if callable(called):
        return [name + parameters(called, of_instance=not isinstance(stored, staticmethod | classmethod))]
    is_parameter = member in getattr(value, "__dataclass_fields__", {})
    return [] if is_parameter else [name]


def constructor(value):
    """Return the parameters of a class; nothing where its objects are made by another function, Python or a library."""
    if "Made by " in (value.__doc__ or ""):
        return ""
    made_by = [getattr(value, "__init__", None), getattr(value, "__new__", None)]
    is_own = any((getattr(maker, "__module__", None) or "").startswith("clifford_rand") for maker in made_by)
    return parameters(value) if is_own else ""


class _Default:
    """A default shown by its name, or without its address."""

    def __init__(self, value):
        shown = getattr(value, "__name__", None) or (value.name if isinstance(value, enum.Enum) else repr(value))
        self.text = f"<{type(value).__name__}>" if " at 0x" in shown else shown

    def __repr__(self):
        return self.text


def parameters(function, *, of_instance=False):
    """Return the signature as text, without annotations and without ``self``."""
    shown = [
        one.replace(annotation=_EMPTY, default=_EMPTY if one.default is _EMPTY else _Default(one.default))
        for one in list(inspect.signature(function).parameters.values())[of_instance:]
    ]
    return str(inspect.Signature(shown))


def text():
    return "\n\n".join("\n".join(lines(module)) for module in MODULES) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8", newline="\n")
