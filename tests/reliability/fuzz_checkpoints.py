"""A fit goes on from a checkpoint that was changed to the same bits, or it is one error of one line."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 8  # seconds


def run(budget):
    return Outcome(*hold("checkpoints", budget.seconds or (SHORT if budget.short else WHOLE), budget.seed))
