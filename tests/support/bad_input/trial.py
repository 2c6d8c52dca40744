"""Try a row: one call with one argument replaced, and say what is wrong with what came of it."""

import re
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

from numpy.exceptions import ComplexWarning

from support.bad_input import kinds
from support.bad_input.leaves import differ, fingerprint, has_nan, leaves

SENTENCE = re.compile(r"The '?(?P<name>[^']*?)'? parameter of .+ must .+\. Got .* instead\.", re.DOTALL)
# of the cells of a table: the column in place of a parameter, the rule and what it has, the remedy after a semicolon
CELLS = re.compile(
    r"\b((column|target|weights|groups) '[^']*' (must|has|have|is|are) .+|no column '[^']*'); .+\.$", re.DOTALL
)
LONGEST = 1500  # characters of a sentence: more is a flood
MOST_WARNINGS = 5  # that differ
_NEVER = (RuntimeWarning, ComplexWarning, DeprecationWarning, FutureWarning, ResourceWarning)
_ENDS = (SystemExit, KeyboardInterrupt)
_NO_NEIGHBOR = (kinds.DoesNotApply, IndexError, ValueError, TypeError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Row:
    """A public name, which of its good calls, the place of the argument, its odd value, and what is expected."""

    name: str
    call: int
    place: Any
    odd: str
    expected: str

    def __str__(self):
        return f"{self.name}[{self.call}] {self.place} = {self.odd} ({self.expected})"


class Table:
    """The rows of a catalogue {public name: [Good, …]}; good results are kept, as every row is compared with them."""

    def __init__(self, catalogue, resolve):
        self._catalogue, self._resolve, self._kept = catalogue, resolve, {}

    def rows(self, name):
        """Return the rows of a name; the good call itself is one, with no place."""
        found = []
        for number, call in enumerate(self._catalogue[name]):
            found.append(Row(name, number, None, "as it is", "good"))
            for place, argument in call.attacked():
                own = argument.own
                for odd, (expected, _) in kinds.KINDS[argument.kind].items():
                    expected = own.get(odd, own.get("every", expected))
                    if expected != "left out":
                        found.append(Row(name, number, place, odd, expected))
        return found

    def fault(self, row):
        """Try a row; return what is wrong, or None; "does not apply" where the good value has no such neighbor."""
        call = self._catalogue[row.name][row.call]
        run = self._resolve(row.name) if call.run is None else call.run
        if row.place is None:
            outcome = _outcome(run, *call.filled())
            return outcome.as_good()
        argument = dict(call.attacked())[row.place]
        arguments, options = call.filled()
        value = (options if isinstance(row.place, str) else arguments)[row.place]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                odd = kinds.KINDS[argument.kind][row.odd][1](value)
        except _NO_NEIGHBOR:  # a number has no rows, for one
            return "does not apply"
        arguments, options = call.filled(row.place, odd.value)
        outcome = _outcome(run, arguments, options)
        wrong = outcome.always(row.expected == kinds.OTHER, argument.kind == "path")
        if wrong is None and outcome.error is None:
            wrong = self._judge(row, call, run, odd, outcome)
        elif wrong is None and row.expected in (kinds.SAME, kinds.EQUAL):
            known = self._expected(row, call, run, odd)  # what is refused plain is refused
            wrong = None if known.error is not None else f"refused: {str(outcome.error)[:300]}"
        return wrong

    def _judge(self, row, call, run, odd, outcome):
        if row.expected == kinds.REFUSED:
            return f"taken: {_short(outcome.leaves)}"
        if row.expected in (kinds.SAME, kinds.EQUAL, kinds.EQUAL + " or refused"):
            known = self._expected(row, call, run, odd)
            if known.error is not None:
                return f"taken, while the plain value is refused: {str(known.error)[:200]}"
            return differ(outcome.leaves, known.leaves, exact=row.expected == kinds.SAME)
        if row.expected == kinds.RIGHT and has_nan(outcome.leaves):
            return f"NaN: {_short(outcome.leaves)}"
        return None

    def _expected(self, row, call, run, odd):
        if odd.plain is not None:
            return _outcome(run, *call.filled(row.place, odd.plain))
        key = (row.name, row.call)
        if key not in self._kept:
            self._kept[key] = _outcome(run, *call.filled())
        return self._kept[key]


@dataclass
class _Outcome:
    """What came of a call."""

    leaves: list
    error: Any
    told: list
    changed: bool

    def as_good(self):
        if self.error is not None:
            where = "".join(traceback.format_exception(self.error)[-4:])
            return f"the good call fails: {type(self.error).__name__}: {str(self.error)[:300]} {where}"
        return self.always()

    def always(self, beyond=False, path=False):
        """Say what no call may do. ``beyond``: values are NaN or too large, of which NumPy may warn as ever."""
        from clifford_rand.errors import ArgumentError, MissingDependencyError

        if self.changed:
            return "an argument was changed"
        allowed = (RuntimeWarning, ComplexWarning) if beyond else ()
        never = [w for w in self.told if issubclass(w.category, _NEVER) and not issubclass(w.category, allowed)]
        if never:
            one = never[0]
            return f"{one.category.__name__}: {str(one.message)[:120]} ({one.filename}:{one.lineno})"
        different = {str(w.message) for w in self.told}
        if len(different) > MOST_WARNINGS:
            return f"{len(different)} warnings: {str(self.told[0].message)[:120]}"
        if self.error is None or isinstance(self.error, MissingDependencyError):
            return None
        if path and isinstance(self.error, OSError | ArgumentError):  # what a file system says of a file
            return None
        asked = isinstance(self.error, KeyError) and SENTENCE.search(str(self.error.args[0]))  # of a dict of blades
        if not isinstance(self.error, ArgumentError) and not asked:
            last = traceback.extract_tb(self.error.__traceback__)[-1]
            ours = [f for f in traceback.extract_tb(self.error.__traceback__) if "/clifford_rand" in f.filename]
            place = f"{ours[-1].filename.rpartition('clifford_rand')[2]}:{ours[-1].lineno}" if ours else ""
            said = f"{type(self.error).__name__}: {str(self.error)[:200]}"
            return f"raw {said} ({last.name}, last of ours {place})"
        if not asked and not SENTENCE.search(str(self.error)) and not CELLS.search(str(self.error)):
            return f"another sentence: {str(self.error)[:300]}"
        if len(str(self.error)) > LONGEST:
            return f"a sentence of {len(str(self.error))} characters: {str(self.error)[:200]}"
        return None


def _outcome(run, arguments, options):
    before = fingerprint((arguments, options)) if _fixed(arguments, options) else None
    found, error = [], None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = leaves(run(*arguments, **options))
        except _ENDS:
            raise
        except BaseException as raised:  # whatever it is, it is what the row is about
            error = raised
    changed = before is not None and fingerprint((arguments, options)) != before
    return _Outcome(found, error, told, changed)


def _fixed(arguments, options):
    """Tell whether arguments can be looked at without being used up."""
    return not any(hasattr(value, "__next__") or hasattr(value, "random") for value in (*arguments, *options.values()))


def _short(found):
    return "; ".join(str(leaf).replace("\n", " ")[:60] for leaf in found[:3])[:150]
