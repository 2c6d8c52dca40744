"""Every model file loads as the model it was, or as one that works, or is one error of one line; none takes memory."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 8  # seconds
FILES = 10**6  # that the whole run tries at least


def run(budget):
    seconds = budget.seconds or (SHORT if budget.short else WHOLE)
    return Outcome(*hold("models", seconds, budget.seed, least=0 if budget.short or budget.seconds else FILES))
