"""Every list of arguments is a command that does its work, or is refused by a sentence and a status of 1 or 2."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 20  # seconds; inputs, the same ones on every machine


def run(budget):
    inputs = SHORT if budget.short else None
    return Outcome(*hold("arguments", budget.seconds or WHOLE, budget.seed, inputs=inputs))
