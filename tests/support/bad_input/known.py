"""Names whose rows are not clean yet: none may be added, and one that is mended is taken off.

`FOUND` have a row that fails, listed by `python -m tests.reliability bad_input`; `UNTRIED` were never tried to the end.
A command is called "command fit".
"""

FOUND: list[str] = []

UNTRIED: list[str] = []

OPEN = frozenset(FOUND) | frozenset(UNTRIED)


def is_open(name):
    return name.strip() in OPEN
