"""All rows that a folder of shards says it has are read, each once; or it is one error of one line."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 8  # seconds


def run(budget):
    return Outcome(*hold("folders", budget.seconds or (SHORT if budget.short else WHOLE), budget.seed))
