"""Every model file loads as the model it was, or as one that works, or is one error of one line; none takes memory."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 400  # seconds; inputs, the same ones on every machine
FILES = 10**6  # that the whole run tries at least


def run(budget):
    least, inputs = (0 if budget.seconds else FILES), (SHORT if budget.short else None)
    return Outcome(*hold("models", budget.seconds or WHOLE, budget.seed, least=least, inputs=inputs))
