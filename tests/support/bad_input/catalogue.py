"""The whole catalogue, and the table of its rows as a process makes it."""

from support.bad_input import algebra, commands, models, names, pictures, presets, sketches, tables
from support.bad_input.trial import Table

_PARTS = (algebra, presets, sketches, models, pictures, tables)
CALLS = {name: calls if isinstance(calls, list) else [calls] for part in _PARTS for name, calls in part.CALLS.items()}


class WholeTable(Table):
    """Rows of calls and of commands."""

    def fault(self, row):
        return commands.fault(row) if row.name.startswith("command ") else super().fault(row)


def table():
    return WholeTable(CALLS, names.resolve)


def rows(short=False):
    """Return every row: of every public name, then of every command."""
    calls = Table(CALLS, names.resolve)
    found = [row for name in CALLS for row in calls.rows(name, short)]
    return found + [row for name in names.commands() for row in commands.rows(name, short)]


def covered():
    """Return the public names that have rows; several entries may be for one name, told apart by spaces at the end."""
    return {name.strip() for name in CALLS}
