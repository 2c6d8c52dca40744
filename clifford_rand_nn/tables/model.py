"""table_model: from a data frame with a target column to a fitted pipeline."""

from typing import Any

import numpy as np

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables.arrays import column_target
from clifford_rand_nn.tables.encoder import TableEncoder
from clifford_rand_nn.tables.files import listed
from clifford_rand_nn.tables.task import choose_task


def table_model(
    frame: Any,
    target: str,
    *,
    model: Any = None,
    sample_weight: str | Any = None,
    groups: str | Any = None,
    leave_out: tuple[str, ...] = (),
    **kinds: Any,
) -> Any:
    """Fit a pipeline of `TableEncoder` and a network to a data frame.

    Parameters
    ----------
    frame : DataFrame
    target : str
        Column to predict.
    model : estimator or None
        None is `ConvexNetworkClassifier` or `ConvexNetworkRegressor`, as the target is.
    sample_weight, groups : str or (n,) array, optional
        A column, or numbers.
    leave_out : sequence of str
        Columns that the model must not use, such as identifiers.
    kinds
        Parameters of `TableEncoder`, such as ``categorical=["zip"]``.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps "table" and "model".

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"city": ["Oslo", "Bergen"] * 10, "age": range(20), "buys": ["no", "yes"] * 10})
    >>> table_model(frame, "buys").predict(frame.head(2)).tolist()
    ['no', 'yes']
    """
    from sklearn.pipeline import Pipeline

    from clifford_rand_nn.estimators.network.classifier import ConvexNetworkClassifier
    from clifford_rand_nn.estimators.network.regressor import ConvexNetworkRegressor

    there = [str(name) for name in frame.columns]
    taken = [target, *(name for name in (sample_weight, groups) if isinstance(name, str))]
    for name in taken:
        if name not in there:
            raise ArgumentError(f"there is no column {name!r}; the columns are {listed(there, name)}.")
    y = column_target("the table", target, frame[target])
    if model is None:
        model = ConvexNetworkClassifier() if choose_task(y)[0] == "classification" else ConvexNetworkRegressor()
    given = {"sample_weight": sample_weight, "groups": groups}
    extra = {
        f"model__{name}": np.asarray(frame[value] if isinstance(value, str) else value)
        for name, value in given.items()
        if value is not None
    }
    pipeline = Pipeline([("table", TableEncoder(leave_out=leave_out, **kinds)), ("model", model)])
    return pipeline.fit(frame.drop(columns=taken), y, **extra)
