"""The table of bad input has rows for whatever is public, and its judge sees what is wrong."""

import warnings

import numpy as np
import pytest

from clifford_rand._checks import as_real, fail
from support.bad_input import good, names
from support.bad_input.trial import Row, Table


def test_every_public_name_and_command_has_rows():
    from support.bad_input import catalogue

    public, rows = names.public_names(), catalogue.rows()
    assert [name for name in public if name not in catalogue.CALLS and name not in names.EXEMPT] == []
    assert [name for name in names.EXEMPT if name not in public or name in catalogue.CALLS] == []
    attacked = {row.name for row in rows if row.place is not None}
    commands = {row.name.removeprefix("command ") for row in rows if row.name.startswith("command ")}
    assert commands == set(names.commands())
    assert {name for name, calls in catalogue.CALLS.items() if any(call.attacked() for call in calls)} <= attacked
    assert len(rows) > 40_000


A = np.arange(6.0).reshape(2, 3)


def _good(X):
    return as_real(X, "X", "f").sum(axis=0)


def _changes(X):
    X = np.asarray(X)
    X[0] += 1
    return X.sum()


def _warns(X):
    warnings.warn("overflow", RuntimeWarning, stacklevel=2)


JUDGED = {  # function, odd value, what is said of it
    "right": (_good, "Fortran order", None),
    "one sentence": (_good, "NaN", None),
    "taken": (lambda X: np.asarray(X).sum(), "NaN", "taken"),
    "raw": (lambda X: np.linalg.inv(X), "as it is", "the good call fails"),
    "raw of a dependency": (lambda X: float(X.ravel()[0]), "nested lists", "raw AttributeError"),
    "changed": (_changes, "scale 1e150", "an argument was changed"),
    "warns": (_warns, "zeros", "RuntimeWarning"),
    "other bits": (lambda X: as_real(X, "X", "f").sum() + np.isfortran(X), "Fortran order", "not the same bits"),
    "NaN": (lambda X: as_real(X, "X", "f") / 0.0 if np.all(X == 1.5) else 1.0, "all equal", None),
    "NaN out of numbers": (lambda X: np.full(3, np.nan) if np.all(X == 1.5) else 1.0, "all equal", "NaN"),
    "another sentence": (lambda X: _raise(X), "zeros", "another sentence"),
}


def _raise(X):
    if not np.any(X):
        error = fail("X", "f", "something", 3)
        raise type(error)("that is wrong")


@pytest.mark.parametrize("case", JUDGED)
def test_the_judge(case):
    run, odd, said = JUDGED[case]
    table = Table({"f": [good.through(run, good.rows(A))]}, None)
    found = next(row for row in table.rows("f") if row.odd == odd)
    with np.errstate(all="ignore"):
        fault = table.fault(found)
    assert (fault is None) if said is None else said in str(fault), fault
    assert isinstance(found, Row)
