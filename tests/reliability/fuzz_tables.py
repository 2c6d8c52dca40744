"""Every CSV, TSV, ARFF, NPZ and Parquet file is a table, by blocks of as many rows, or is one error of one line."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 150  # seconds; inputs, the same ones on every machine


def run(budget):
    inputs = SHORT if budget.short else None
    return Outcome(*hold("tables", budget.seconds or WHOLE, budget.seed, inputs=inputs))
