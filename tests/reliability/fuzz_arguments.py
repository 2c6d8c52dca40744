"""Every list of arguments is a command that does its work, or is refused by a sentence and a status of 1 or 2."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 8  # seconds


def run(budget):
    return Outcome(*hold("arguments", budget.seconds or (SHORT if budget.short else WHOLE), budget.seed))
