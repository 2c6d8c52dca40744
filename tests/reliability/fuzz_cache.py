"""Every vector that a damaged cache of embeddings gives was put in, and what is put in is there; or one error."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 8  # seconds


def run(budget):
    return Outcome(*hold("cache", budget.seconds or (SHORT if budget.short else WHOLE), budget.seed))
