"""A fit goes on from a checkpoint that was changed to the same bits, or it is one error of one line."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 100  # seconds; inputs, the same ones on every machine


def run(budget):
    inputs = SHORT if budget.short else None
    return Outcome(*hold("checkpoints", budget.seconds or WHOLE, budget.seed, inputs=inputs))
