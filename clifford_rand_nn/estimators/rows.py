"""Rows on their way into an estimator: numbers without gaps, dense or sparse; refusals that name the remedy."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from clifford_rand._checks import as_array, as_real, check_fits, check_length, describe, fail, quantity, refuse_unreal
from clifford_rand._typing import Array
from clifford_rand.errors import ArgumentError
from clifford_rand_nn import sparse_rows
from clifford_rand_nn.cost import memory_limit
from clifford_rand_nn.kernel_network.standardization import by_products
from clifford_rand_nn.problems.coordinates import MOST
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.sparse_rows import as_rows_or_csr, by_content

_ENCODE = (
    "Columns of text, categories and dates are for clifford_rand_nn.table_model(frame, target), or for a pipeline with "
    "scikit-learn's OneHotEncoder in front."
)
_SHARDS = (
    "GatedReLU* and ConvexNetworkClassifier and -Regressor fit them; predict_shards and evaluate_shards ask a model of "
    "any kind about them."
)
_COPIES = 8  # of dense rows, at the peak of a fit: 7 of the gated program with 500 × 3000 rows, 4.5 of infinite gates
_FEW = 0.02  # share of entries that are not zero, below which sparse products are less work than BLAS's
_VECTORS, _SQUARES = 8, 8  # numbers for each column, and for each pair of rows, that a fit by products has at a time
_BLOCK_BYTES = 2**26  # of sparse rows that are made dense at a time


def training_data(model: Any, X: Any, y: Any, dtypes: Any = np.float64, **options: Any) -> tuple[Any, Any]:
    """Return the rows X (n, d) and targets y of a fit, checked; rows are dense, or CSR if they came sparse.

    The model gets ``n_features_in_`` and, from a frame, ``feature_names_in_``. Rows of other dtypes are converted to
    the first of ``dtypes``; ``options`` are those of `sklearn.utils.check_X_y`. Raises ArgumentError for text, dates,
    NaN or infinite entries, with their place and a remedy, and where scikit-learn refuses X or y, with its words.
    """
    X = _plain_numbers(X, type(model).__name__)
    options |= {"accept_sparse": "csr", "dtype": dtypes, "ensure_all_finite": False}
    with refused_by_scikit_learn(type(model).__name__, X, y):
        rows, targets = validate_data(model, X, y, **options)
    _refuse_gaps(rows, model)
    return rows, targets if issparse(targets) else np.asarray(targets)


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a wrong type, for which scikit-learn wants a TypeError."""


_DUMP = re.compile(r":?\s*\barray=.*?(?=Reshape your data)|\n\s*\[.*", re.DOTALL)  # entries of an array
_COUNTS = re.compile(r"inconsistent numbers of samples: \[(\d+), (\d+)\]")
_ABSENT = object()
_OF_TARGETS = re.compile(r"\by\b|label|target|class|Expected array-like")


@contextmanager
def refused_by_scikit_learn(owner: str, X: Any = _ABSENT, y: Any = _ABSENT, called: str = "") -> Iterator[None]:
    """Word what scikit-learn refuses as this library does, with its own words at the end and without the data.

    ``called`` is the owner's name of X or, without X, of y. Raises ArgumentError, a TypeError too where scikit-learn's
    is.
    """
    try:
        yield
    except ArgumentError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        said = _DUMP.sub(". ", str(error))
        if (counts := _COUNTS.search(said)) and X is not _ABSENT:
            check_length((int(counts[2]),), int(counts[1]), "y", owner, "target")
        of_targets = X is _ABSENT or (y is not _ABSENT and _OF_TARGETS.search(said) is not None)
        name, value = called or ("y" if of_targets else "X"), y if of_targets else X
        rule = "targets, one for each row" if of_targets else "rows (n, d) of numbers, with the columns of the fit"
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        kind = type(value).__name__ + (f" of shape {shape}" if shape is not None else "")
        worded = fail(name, owner, rule, describe(kind if dtype is None else f"{kind}, dtype {dtype}"), said)
        raise (ArgumentTypeError(str(worded)) if isinstance(error, TypeError) else worded) from error


def training_labels(y: Any, owner: str, several: bool = False, name: str = "y") -> NDArray[Any]:
    """Return labels (n,) or, with ``several``, also multilabel marks (n, L) of 0 and 1.

    Raises ArgumentError if y has several columns of another meaning, or is not a target of a classifier.
    """
    dtype = y.dtype if hasattr(y, "dtype") else np.asarray(y).dtype
    if dtype.kind == "V":
        raise fail(name, owner, "labels", describe("records"))
    if dtype.kind == "f" and not issparse(y):
        as_real(y, name, owner)  # of NaN scikit-learn warns before it refuses it
    with refused_by_scikit_learn(owner, y=y, called=name):
        kind = type_of_target(y, input_name=name)
    if kind == "multilabel-indicator" and several:
        return np.asarray(y.toarray() if issparse(y) else y).astype(np.intp)
    if kind in ("multilabel-indicator", "multiclass-multioutput"):
        hint = f"For several a row, a network of each: sklearn.multioutput.MultiOutputClassifier({owner}())."
        raise fail(name, owner, "one label a row", describe(f"{y.shape[1]} columns"), hint)
    with refused_by_scikit_learn(owner, y=y, called=name):
        check_classification_targets(y)
        return np.asarray(column_or_1d(y, warn=True))


def given_targets(y: Any, n: int, classify: bool, owner: str, name: str = "y") -> NDArray[Any]:
    """Return targets that are given beside a fitted model: labels as by `training_labels`, or finite numbers."""
    targets = as_array(y.toarray() if issparse(y) else y, name, owner)
    check_length(targets.shape, n, name, owner, "target")
    if targets.ndim > 2:
        raise fail(name, owner, "of shape (n,) or (n, C)", describe(f"shape {targets.shape}"))
    if classify:
        return training_labels(targets, owner, several=True, name=name)
    refuse_unreal(targets, name, owner)
    with refused_by_scikit_learn(owner, y=targets, called=name):
        targets = targets.astype(np.float64) if targets.dtype.kind == "O" else targets
    return np.asarray(as_real(targets, name, owner), dtype=np.float64)


def new_rows(model: Any, X: Any, dtypes: Any = np.float64, *, name: str = "X", owner: str = "") -> Any:
    """Return rows (n, d) to predict, checked against those of the fit: their number of columns, their names.

    Errors call them ``name`` of ``owner``, by default of the model's class.
    """
    owner = owner or type(model).__name__
    X = _plain_numbers(X, owner, name)
    with refused_by_scikit_learn(owner, X, called=name):
        rows = validate_data(model, X, reset=False, accept_sparse="csr", dtype=dtypes, ensure_all_finite=False)
    _refuse_gaps(rows, model, name, owner)
    return rows


def dense_training_rows(X: Any, owner: str, max_memory: float | None) -> NDArray[Any]:
    """Return rows as a dense array; raise ArgumentError where the copies of sparse ones exceed the memory."""
    if not issparse(X):
        return np.asarray(X)
    needed = _COPIES * X.shape[0] * X.shape[1] * X.dtype.itemsize
    kept = X.nnz / max(1, X.shape[0] * X.shape[1])
    hint = (
        f"This fit works on dense rows; of these {X.shape[0]} × {X.shape[1]} entries {kept:.2g} are not zero. "
        "ConvexNetwork* and, with sampled gates, GatedReLU* take wide sparse rows as they are. "
        "Or take fewer columns (TruncatedSVD, SelectKBest, or min_df of a vectoriser in a pipeline)"
        + ("." if max_memory is None else f", or a max_memory above {quantity(needed)}.")
    )
    check_fits(needed, "X", owner, limit=memory_limit(max_memory), hint=hint)
    return np.asarray(X.toarray())


def gated_training_rows(X: Any, owner: str, max_memory: float | None, numbers: int, by_columns: bool) -> Any:
    """Return rows of a fit with finitely many gates: CSR, which it takes without a dense copy, or dense ones.

    CSR are, however they came, mostly zero rows of more than 4096 columns: at most 4000 of them, fewer than columns,
    are known by their products (`CsrRows`), others, with a fiftieth of entries, used column by column, as are any
    sparse ones of which a dense copy is too large. ``numbers`` are those for each column at the peak of the fit;
    ``by_columns`` tells whether the solver takes rows column by column.
    """
    n, d = X.shape
    limit = memory_limit(max_memory)
    rows = by_content(X) if d > sparse_rows.WIDE else X
    if issparse(rows) and d > sparse_rows.WIDE:
        spanned = n < d and n <= MOST
        if spanned or (by_columns and rows.nnz <= _FEW * n * d):
            hint = "Take fewer gates or fewer columns (SelectKBest, or min_df of a vectoriser in a pipeline)."
            check_fits(8 * (numbers * d + (_SQUARES * n * n if spanned else 0)), "X", owner, limit=limit, hint=hint)
            return rows
    if issparse(X) and by_columns and _COPIES * n * d * X.dtype.itemsize > limit >= 8 * numbers * d:
        return as_rows_or_csr(X, owner)
    return dense_training_rows(X, owner, max_memory)


def kernel_training_rows(X: Any, owner: str, max_memory: float | None) -> Any:
    """Return rows that are known by their products, CSR if most entries are zero, or else dense ones."""
    n, d = X.shape
    if not by_products(n, d):
        return dense_training_rows(X, owner, max_memory)
    needed, hint = 8 * (_VECTORS * d + _SQUARES * n * n), "Take fewer rows or columns."
    check_fits(needed, "X", owner, limit=memory_limit(max_memory), hint=hint)
    return by_content(X)


def by_blocks(predict: Any, X: Any, products: bool = False) -> Array:
    """Return predict(rows) of dense rows at once; of sparse ones, made dense, or those by products, some at a time."""
    if not issparse(X) and not products:
        return np.asarray(predict(X))
    step = max(1, _BLOCK_BYTES // (8 * max(1, X.shape[1])))
    some = (X[start : start + step] for start in range(0, max(X.shape[0], 1), step))
    return np.concatenate([np.asarray(predict(rows if products else rows.toarray())) for rows in some])


def with_class_weight(class_weight: Any, labels: NDArray[Any], sample_weight: Any, owner: str) -> Any:
    """Return the weights of rows (n,), times those of their classes (`class_factors`)."""
    if class_weight is None:
        return sample_weight
    if labels.ndim == 2:
        raise fail("class_weight", owner, "None for multilabel targets", class_weight)
    own: Any = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if own.shape != (len(labels),):
        return sample_weight  # refused by name, where weights are checked
    classes, index = np.unique(labels, return_inverse=True)
    mass = np.bincount(index, own).astype(np.float64)
    return own * class_factors(class_weight, classes.tolist(), mass, owner)[index]


def class_factors(class_weight: Any, classes: list[Any], mass: Array, owner: str, sign: str = "≥") -> Array:
    r"""Return the factors of the weights of rows of each class, from the sums of weights of classes.

    "balanced" gives every class the same sum of weights, :math:`w_i/\sum_{j:y_j=y_i}w_j`, so that a whole number is as
    good as so many duplicates; a dict gives each class its factor, as in scikit-learn. Raises ArgumentError if
    ``class_weight`` is something else, or names a class that there is not.
    """
    if isinstance(class_weight, dict):
        unknown = [name for name in class_weight if name not in classes]
        if unknown:
            raise fail("class_weight", owner, "a dict whose keys are classes of y", describe(f"the key {unknown[0]!r}"))
        return np.array([class_weight.get(label, 1.0) for label in classes], dtype=np.float64)
    if not (isinstance(class_weight, str) and class_weight == "balanced"):
        rule = f"None, 'balanced' or a dict with a number {sign} 0 for classes"
        raise fail("class_weight", owner, rule, class_weight)
    return np.asarray(mass.sum() / len(mass) / np.where(mass > 0, mass, 1.0))


def _plain_numbers(X: Any, owner: str, name: str = "X") -> Any:
    """Return rows in the byte order of the machine, in which scikit-learn knows single precision; refuse words."""
    if isinstance(X, Shards):
        raise fail(name, owner, "rows in memory", describe("Shards"), _SHARDS)
    if issparse(X):
        if X.dtype.kind not in "biuf":
            raise fail(name, owner, "real numbers", describe(f"dtype {X.dtype}"))
        return X
    refuse_unreal(X, name, owner, _ENCODE)
    return as_array(X, name, owner) if isinstance(X, np.ndarray) else X


def _refuse_gaps(rows: Any, model: Any, name: str = "X", owner: str = "") -> None:
    values = rows.data if issparse(rows) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):  # a finite sum has finite terms, and needs no second array
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    missing = int(np.isnan(values).sum())
    word = "NaN" if missing else "infinity"
    columns = np.unique(rows.indices[bad] if issparse(rows) else np.nonzero(bad)[1])
    names = getattr(model, "feature_names_in_", None)
    which = ", ".join(str(j) if names is None else repr(str(names[j])) for j in columns[:3])
    which += f" and {len(columns) - 3} more" if len(columns) > 3 else ""
    many = missing or int(bad.sum())
    value = describe(f"{many} {word} in column{'s' if len(columns) > 1 else ''} {which}")
    hint = (
        f"Fill them in a pipeline, make_pipeline(SimpleImputer(), {type(model).__name__}()), or fit the frame by "
        "clifford_rand_nn.table_model(frame, target), which does."
        if missing
        else "Bring the columns to numbers that float64 holds."
    )
    raise fail(name, owner or type(model).__name__, "without NaN and infinity", value, hint)


def note_columns(model: Any, shards: Any) -> None:
    """Set how many columns a model was trained on and, where they have any, their names; shards are not a frame."""
    model.n_features_in_ = shards.n_features
    if shards.feature_names is not None:
        model.feature_names_in_ = np.array(shards.feature_names, dtype=object)
    else:
        vars(model).pop("feature_names_in_", None)
