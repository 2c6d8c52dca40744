"""A promise of docs/reliability.md: what is tried for it, for how long, and what was found."""

import importlib
import pkgutil
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clifford_rand.errors import ArgumentError


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


@dataclass
class Trial:
    """Instance number k, what `attempt` returned of it (None if it raised), its warnings, its faults; or a refusal."""

    k: int
    instance: Any
    result: Any = None
    warnings: list = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    refusal: str = ""


def trials(budget, wanted, draw, attempt):
    """Yield trials, one for each k from 0, until ``wanted`` were neither refused nor None from ``draw(k)``."""
    began, done = time.monotonic(), 0
    for k in range(10 * wanted):
        if done >= wanted or (budget.seconds and time.monotonic() - began > budget.seconds):
            return
        trial = Trial(k, draw(k))
        if trial.instance is not None:
            with warnings.catch_warnings(record=True) as trial.warnings:
                warnings.simplefilter("always")
                try:
                    trial.result = attempt(trial.instance)
                except ArgumentError as error:
                    trial.refusal = str(error)
                except Exception as error:
                    trial.faults.append(f"{type(error).__name__}: {error}")
            done += not trial.refusal
        yield trial


def names():
    """Name the promises: modules here with a `run(budget)`, whose docstrings begin with what is promised; fuzzing."""
    here = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    return sorted([name for name in here if hasattr(_module(name), "run")] + list(_fuzzed()))


def sentence(name):
    fuzzed = _fuzzed().get(name)
    return fuzzed.promise if fuzzed else _module(name).__doc__.splitlines()[0]


def hold(name, budget):
    """Try what the promise says and return its `Outcome`."""
    return (_fuzzed().get(name) or _module(name)).run(budget)


def _fuzzed():
    return _module("fuzzing").PROMISES


def _module(name):
    return importlib.import_module(f"reliability.{name}")
