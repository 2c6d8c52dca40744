"""All rows that a folder of shards says it has are read, each once; or it is one error of one line."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 500  # seconds; inputs, the same ones on every machine


def run(budget):
    inputs = SHORT if budget.short else None
    return Outcome(*hold("folders", budget.seconds or WHOLE, budget.seed, inputs=inputs))
