"""A promise of docs/reliability.md: what is tried for it, for how long, and what was found."""

import importlib
import pkgutil
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Budget:
    """How much is tried: all that the promise states (`short` is False) or what continuous integration has time for.

    A promise of a number of trials makes that number, and `seconds` is None; one of a time, such as fuzzing, tries for
    `seconds`, and its module says in `SECONDS` what (whole, short) are when the command does not. Of a promise about
    commands, kinds of work or cases, those named in `only` are tried if any are.
    """

    short: bool = False
    seconds: float | None = None
    seed: int = 0
    only: tuple[str, ...] = ()

    def named(self, every, *others):
        """Return those of `every`, and of each of `others`, that are tried; `SystemExit` of a name that none has."""
        unknown = {*self.only}.difference(every, *others)
        if unknown:
            there = [name for some in (every, *others) for name in some]
            raise SystemExit(f"nothing is called {sorted(unknown)} here; there are {there}")
        kept = [[name for name in some if not self.only or name in self.only] for some in (every, *others)]
        return kept if others else kept[0]


@dataclass
class Outcome:
    """What the trials of a promise found: a line with its figures, and every fault, one line each."""

    figure: str
    faults: list[str] = field(default_factory=list)


def names():
    """Name the promises: modules here with a `run(budget)`, whose docstrings begin with what is promised."""
    here = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    return sorted(name for name in here if hasattr(_module(name), "run"))


def sentence(name):
    return _module(name).__doc__.splitlines()[0]


def hold(name, budget):
    """Try what the promise says and return its `Outcome`."""
    return _module(name).run(budget)


def _module(name):
    return importlib.import_module(f"reliability.{name}")
