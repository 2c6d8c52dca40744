"""Every text is a multivector, which its own text gives again, or one error of one line."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 8  # seconds


def run(budget):
    return Outcome(*hold("parser", budget.seconds or (SHORT if budget.short else WHOLE), budget.seed))
