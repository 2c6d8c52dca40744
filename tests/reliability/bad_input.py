"""Bad and odd input gets the right answer or one sentence: in every parameter of every public name, in every command.

A row is a good call with one argument replaced: by NaN, another layout, scale, rank or type, an absurd size, an unknown
word, a damaged file. What is right is known from the same values given plainly; the sentence names parameter, rule,
value and remedy. No row may raise what a dependency raised, warn of arithmetic, take 10 s of CPU time or more memory
than the machine is said to have, end its process, or change what it was given. `support.bad_input` has the catalogue.
"""

from collections import Counter

from reliability.promise import Outcome
from support.bad_input import catalogue, worker

SECONDS, ROWS = 12, 400  # of CPU time, and rows at most, in the short form: none that a slower machine never tried
_STEP = 97  # prime to the numbers of rows: the short form takes rows of all names


def run(budget):
    """Try every row; in the short form `ROWS` from all over the table, or as many as `SECONDS` allow."""
    rows = catalogue.rows()
    if budget.short:
        first = budget.seed % _STEP
        rows = [row for start in range(_STEP) for row in rows[(first + start * 31) % _STEP :: _STEP]]
        rows = rows if budget.seconds else rows[:ROWS]
    seconds = budget.seconds if budget.seconds is not None or not budget.short else SECONDS
    counts, faults = Counter(), []
    for row, verdict, text in worker.try_rows(catalogue.table, rows, seconds):
        counts[verdict] += 1
        if verdict == worker.FAULT:
            faults.append(f"{row}: {' '.join(text.split())[:300]}")
    tried = counts[worker.DONE] + counts[worker.FAULT]
    names = len({row.name for row in rows})
    return Outcome(f"{tried:,} rows of {names} names and commands, {len(faults)} faults", faults)
