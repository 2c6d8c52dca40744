"""The whole catalogue, and the table of its rows as a process makes it."""

from support.bad_input import algebra, commands, models, names, pictures, presets, sketches, tables
from support.bad_input.trial import Table

PARTS = (algebra, presets, sketches, models, pictures, tables)
CALLS = {name: calls for part in PARTS for name, calls in part.CALLS.items()}


class WholeTable(Table):
    """Rows of calls and of commands."""

    def fault(self, row):
        return commands.fault(row) if row.name.startswith("command ") else super().fault(row)


def table():
    return WholeTable(CALLS, names.resolve)


def rows():
    """Return every row: of every public name, then of every command."""
    calls = Table(CALLS, names.resolve)
    found = [row for name in CALLS for row in calls.rows(name)]
    return found + [row for name in names.commands() for row in commands.rows(name)]
