"""Every text is a multivector, which its own text gives again, or one error of one line."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 5000  # seconds; inputs, the same ones on every machine


def run(budget):
    inputs = SHORT if budget.short else None
    return Outcome(*hold("parser", budget.seconds or WHOLE, budget.seed, inputs=inputs))
