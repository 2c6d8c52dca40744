"""Every CSV, TSV, ARFF, NPZ and Parquet file is a table, by blocks of as many rows, or is one error of one line."""

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE, SHORT = 1200, 8  # seconds


def run(budget):
    return Outcome(*hold("tables", budget.seconds or (SHORT if budget.short else WHOLE), budget.seed))
