"""CSV tables read by pandas with decimals as they are written, which it does by itself from 3.1 on only."""


def read_csv(file, **options):
    import pandas as pd

    exact = {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
    return pd.read_csv(file, **exact, **options)
