"""Every vector that a damaged cache of embeddings gives was put in, and what is put in is there; or one error."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 500  # seconds; inputs, the same ones on every machine


def run(budget):
    inputs = SHORT if budget.short else None
    return Outcome(*hold("cache", budget.seconds or WHOLE, budget.seed, inputs=inputs))
