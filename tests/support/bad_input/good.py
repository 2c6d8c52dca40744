"""A good call of a public name: its arguments, each with its kind, so that others of that kind can take its place."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Argument:
    """A good value, the kind that it is of, and where this argument differs from its kind: {odd value: expected}.

    A value that costs something to make comes as `Made`, and is made where the row is tried.
    """

    kind: str
    value: Any
    own: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """How a value is made: what `make()` returns is the argument."""

    make: Callable[[], Any]


@dataclass(frozen=True)
class Good:
    """A call that works. ``run`` is None where the public name itself is called."""

    arguments: tuple[Any, ...]
    options: dict[str, Any]
    run: Callable[..., Any] | None = None

    def attacked(self):
        """(place, argument) of every argument that has a kind; a place is an index or a name."""
        given = [*enumerate(self.arguments), *self.options.items()]
        return [(place, argument) for place, argument in given if isinstance(argument, Argument)]

    def filled(self, place=None, value=None):
        """Arguments and options as they are, with ``value`` at ``place``."""
        arguments = [value if i == place else plain(one) for i, one in enumerate(self.arguments)]
        options = {name: value if name == place else plain(one) for name, one in self.options.items()}
        return arguments, options


def plain(argument):
    value = argument.value if isinstance(argument, Argument) else argument
    return value.make() if isinstance(value, Made) else value


def good(*arguments, **options):
    """Return a call of the public name that it is listed under."""
    return Good(arguments, options)


def through(run, *arguments, **options):
    """Return a call of ``run``, which calls the public name that it is listed under."""
    return Good(arguments, options, run)


def catalogue(table):
    """Return {name: list of calls} of a table {names: a call, a list of calls, or a function of the name}.

    Names are separated by spaces; calls take the place of those of an earlier entry, or with a "+" come after them.
    """
    calls = {}
    for key, entry in table.items():
        names = key.split()
        for name in names[names[0] == "+" :]:
            made = entry(name) if callable(entry) else entry
            calls[name] = (calls[name] if names[0] == "+" else []) + (made if isinstance(made, list) else [made])
    return calls


def each(owner, names, first=""):
    """Return the methods ``names`` of a class as one key of a table."""
    return first + " ".join(f"{owner}.{name}" for name in (names.split() if isinstance(names, str) else names))


def get(value, name):
    """Return an attribute by the last part of a name; of a method what it returns."""
    found = getattr(value, name.rpartition(".")[2])
    return found() if callable(found) and not hasattr(found, "leftward") else found


def _kind(name):
    def argument(value=None, /, **own):
        return Argument(name, value, {_named(key): expected for key, expected in own.items()})

    return argument


def _named(key):
    return "None" if key == "missing" else key.replace("_", " ")


rows = _kind("rows")  # (n, d) or (…, k, d) real numbers
vector = _kind("vector")  # (n,) real numbers
numbers = _kind("numbers")  # real or complex numbers, fractions, symbols
index = _kind("index")  # integers that number rows
labels = _kind("labels")
targets = _kind("targets")
weights = _kind("weights")
groups = _kind("groups")
count = _kind("count")
number = _kind("number")  # a real number that may be 0 and negative
positive = _kind("positive")
share = _kind("share")  # in (0, 1)
tolerance = _kind("tolerance")  # in [0, 1)
word = _kind("word")
flag = _kind("flag")
rng = _kind("rng")
shape = _kind("shape")
function = _kind("function")
path = _kind("path")
element = _kind("element")  # a multivector
owner = _kind("owner")  # a multivector whose method is called
dtype = _kind("dtype")  # of numbers
limit = _kind("limit")  # None or a number > 0, perhaps infinite: seconds, bytes
sequence = _kind("sequence")  # of numbers > 0
thing = _kind("thing")  # any other object of the library, or of one that it knows
names = _kind("names")  # a sequence of words
text = _kind("text")  # an expression or a name that is parsed

RTOL = {"rtol": tolerance(1e-9)}
DUAL = {"dual": flag(False)}
