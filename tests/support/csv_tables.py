"""CSV tables as dicts of words, and by pandas with decimals as they are written."""

import csv


def read_rows(path):
    """Return a dict of words for each line below the head."""
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def read_csv(file, **options):
    """Return the frame of pandas, which reads decimals as they are written by itself from 3.1 on only."""
    import pandas as pd

    exact = {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
    return pd.read_csv(file, **exact, **options)
