"""`explain`: what a fitted model does, over all rows or for some."""

from typing import Any, overload

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand_nn.estimators.parameters import drawn_state
from clifford_rand_nn.explanation.context import Context
from clifford_rand_nn.explanation.model_summary import ModelExplanation, explain_model
from clifford_rand_nn.explanation.prediction import PredictionExplanation, explain_rows


@overload
def explain(
    estimator: Any,
    X: None = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    n_repeats: int = 5,
    random_state: Any = 0,
) -> ModelExplanation: ...
@overload
def explain(
    estimator: Any, X: Any, *, X_train: Any = None, y_train: Any = None, output: int | None = None
) -> PredictionExplanation: ...
def explain(
    estimator: Any,
    X: Any = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    output: int | None = None,
    n_repeats: int = 5,
    random_state: Any = 0,
) -> ModelExplanation | PredictionExplanation:
    r"""Explain a fitted model: without X its parts and the importance of columns, with X its predictions of rows.

    Print what is returned; ``plot`` draws it, ``to_dict`` has it as plain values.

    Parameters
    ----------
    estimator : estimator of this library, `BetaCV`, or Pipeline that ends with one
        Fitted. Of a pipeline it is the columns of the table that are explained, as far as its steps can be followed:
        encoders that make each column of one, such as `TableEncoder`, OneHotEncoder and scalers, in a
        ColumnTransformer or alone, and linear maps after them, such as PCA; otherwise the columns that the network
        sees, and the text says so.
    X : rows as the model takes them, or one row: an array (d,), a Series or a dict
    X_train : table, optional
        The training rows, so that those of large contributions are shown, with planes and regions and, for finite
        networks, with contributions of rows; or other rows, on which the importance of columns is measured. Training
        rows are recognized by their number and, with infinitely many gates, by the rows in the network.
    y_train : (n,) array, optional
        Of ``X_train``: for permutation importance, and to be shown with them.
    output : int, optional
        Which output words and pictures are about; by default that of the predicted class, or the first. The arrays
        have all of them.
    n_repeats : int, default 5
        Permutations of every column, of up to 500 rows; 0 for none.
    random_state : int, default 0
        Of the permutations.

    Returns
    -------
    ModelExplanation, or with X PredictionExplanation

    Raises
    ------
    ArgumentError
        The model is of another kind, there is no such output, targets do not fit the rows, or rows are none that the
        model takes.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import ConvexNetworkRegressor, explain
    >>> X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    >>> model = ConvexNetworkRegressor().fit(X, np.abs(X[:, 0]))
    >>> one = explain(model, X[0], X_train=X)
    >>> bool(abs(one.base + one.columns.sum(axis=2) - one.outputs).max() < 1e-12)
    True
    >>> [column.name for column in explain(model).columns]
    ['x0', 'x1']
    """
    n_repeats = check_integer(n_repeats, "n_repeats", "explain", low=0)
    drawn_state(random_state, "explain")
    context = Context.of(estimator, X_train, y_train, X)
    outputs = len(context.network.intercept)
    if output is not None:
        output = check_integer(output, "output", "explain", low=0, high=outputs - 1)
        if X is None:
            raise fail("output", "explain", "given with X", describe("no X"))
    if X is None:
        return explain_model(context, n_repeats, random_state)
    return explain_rows(context, X, output)
