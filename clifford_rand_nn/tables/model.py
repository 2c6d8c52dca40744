"""table_model: from a data frame with a target column to a fitted pipeline, and the summary of its encoder."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import as_array, check_length, describe, fail
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn._records import TextShown
from clifford_rand_nn._words import aligned, shortened
from clifford_rand_nn.tables.arrays import column_target, column_weights
from clifford_rand_nn.tables.cells import as_frame, distinct, is_rare, numbers, without_marks
from clifford_rand_nn.tables.column_readers import DateReader
from clifford_rand_nn.tables.column_types import MOST_CLASSES, ColumnKind, choose_task
from clifford_rand_nn.tables.dates import date_formats
from clifford_rand_nn.tables.encoded_rows import TableWarning, column_names
from clifford_rand_nn.tables.encoder import TableEncoder, fitted_encoder
from clifford_rand_nn.tables.encodings import Encoding, Filled, HashedWords, MissingMark, OneHot, TargetMeans
from clifford_rand_nn.tables.writers import listed

_LONGEST = 100  # characters of a name that is not there
_SEVERAL = "For several targets: make_pipeline(TableEncoder(), ConvexNetworkRegressor()).fit(features, targets)."
_NAME, _ENCODING, _WHY = 24, 48, 60  # characters of a cell of the table


class ColumnSummary(NamedTuple):
    """A column of a table, as a fitted encoder takes it."""

    name: str
    kind: str  # as of `ColumnKind`; "dropped" of columns that are not used
    features: int  # columns of numbers that it becomes
    n_missing: int  # cells without a value in the training set
    encoding: str  # in words, empty of columns that are left out
    reason: str  # the reason for its kind


@dataclass(frozen=True, repr=False)
class TableSummary(TextShown):
    """The columns of a table, in its order, and those of them that are left out; shown as a table, these last."""

    columns: tuple[ColumnSummary, ...]

    @property
    def left_out(self) -> tuple[ColumnSummary, ...]:
        """Columns that the model does not use, with the reason in ``why``."""
        return tuple(column for column in self.columns if not column.features)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("column", "type", "features", "missing", "encoding", "why")]
        rows += [_cells(column) for column in sorted(self.columns, key=lambda column: not column.features)]
        used, features = len(self.columns) - len(self.left_out), sum(column.features for column in self.columns)
        head = f"{used} of {len(self.columns)} columns used, {features} features"
        return "\n".join([head, *aligned(rows, right=(), indent="")])


def _cells(column: ColumnSummary) -> tuple[str, ...]:
    texts = [(column.name, _NAME), (column.encoding, _ENCODING), (column.reason, _WHY)]
    name, encoding, why = (shortened(text, most) for text, most in texts)
    return name, column.kind, f"{column.features or ''}", f"{column.n_missing or ''}", encoding, why


def summarize(encoder: Any) -> TableSummary:
    """Return the summary of a fitted `TableEncoder`."""
    columns = []
    for kind in encoder.columns_:
        own = [encoding for encoding in encoder.encodings_ if encoding.column == kind.name]
        words = ", ".join(dict.fromkeys(_words(part, kind) for part in own))
        features = sum(len(part.names) for part in own)
        columns.append(ColumnSummary(kind.name, kind.kind, features, kind.n_missing, words, kind.reason))
    return TableSummary(tuple(columns))


def _words(part: Encoding, kind: ColumnKind) -> str:
    """Return an encoding in words."""
    match part:
        case Filled() if kind.kind == "date":
            name = part.cells.removeprefix(part.column).strip(" ()")
            return name.removesuffix(" sin").removesuffix(" cos")
        case Filled():
            fill = f", {part.fill:.4g} where missing" if kind.n_missing else ""
            return f"{'0 and 1' if part.is_truth else 'number'}{fill}"
        case MissingMark():
            return "mark of missing cells"
        case OneHot():
            rare = f", {sum(part.rare)} of them rare" if any(part.rare) else ""
            return "weekday" if kind.kind == "date" else f"{len(part.known_words)} categories one-hot{rare}"
        case TargetMeans():
            return f"target means of {len(part.known_words)} categories"
        case HashedWords():
            return f"words hashed to {part.features} columns"
    return type(part).__name__


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features, target, weights, groups and times that a model is fitted to."""

    features: Any  # data frame
    target: NDArray[Any]  # (n,) of bool, int, float or str
    weights: NDArray[np.float64] | None = None
    groups: NDArray[Any] | None = None
    order: NDArray[Any] | None = None  # (n,) numbers or datetime64
    left_out: int = 0  # rows of the table that have no target


def training_rows(
    frame: Any,
    target: Any,
    *,
    weights: Any = None,
    groups: Any = None,
    order: Any = None,
    dates: Any = None,
    what: str = "the table",
) -> TrainingRows:
    """Split a data frame into features, target, weights, groups and times; rows without a target are left out.

    ``target``, ``weights``, ``groups`` and ``order`` are names of columns or arrays (n,); that of ``order`` stays a
    feature, and is read by its format of ``dates``, if these are formats; ``what`` is the name of the table in errors.
    """
    frame, _ = as_frame(frame)
    taken = [name for name in (target, weights, groups) if isinstance(name, str)]
    there = [str(name) for name in frame.columns]
    for name in (*taken, *([order] if isinstance(order, str) else [])):
        if name not in there:
            shown = repr(shortened(name, _LONGEST))
            raise ArgumentError(f"{what}: there is no column {shown}; the columns are {listed(there, name)}.")
    y = _column(frame, target, "target", "target")
    y = _without_bad_cells(y, what)
    known = y.notna()
    if not known.any():
        raise ArgumentError(f"{what}: the target {y.name!r} has no value at all; name another column.")
    features = frame.drop(columns=taken)[known.to_numpy()]
    if features.shape[1] == 0:
        raise ArgumentError(f"{what}: there is no feature column beside {listed(taken)}.")
    w = g = t = None
    if weights is not None:
        column = _column(frame, weights, "sample_weight", "weights")[known]
        w = column_weights(what, str(column.name), column.to_frame())
    if groups is not None:
        column = _column(frame, groups, "groups", "groups")[known]
        g = column_target(what, str(column.name), column, "column of groups")
    if order is not None:
        column = _column(frame, order, "order", "order")[known]
        t = column_times(column, what, dates.get(str(column.name)) if isinstance(dates, Mapping) else None)
    return TrainingRows(features, column_target(what, str(y.name), y[known]), w, g, t, int((~known).sum()))


def column_times(column: Any, what: str, format: str | None = None) -> NDArray[Any]:
    """Return a column of numbers or dates (n,) as float64 or datetime64.

    Raises ArgumentError, which names the table by ``what``, if a cell is missing or cannot be read.
    """
    form = format or next(iter(date_formats(column)), None)
    try:
        reader = None if form is None else DateReader.of(str(column.name), column, format)
        times = numbers(column)[0] if reader is None else reader.moments(column, {})
    except ArgumentError as error:
        raise ArgumentError(f"{what}: {error}") from error
    gone = int(np.count_nonzero(np.isnan(times) if reader is None else np.isnat(times)))
    if gone:
        some = f"has {gone} of {len(column)} cells that are missing, or are neither numbers nor dates"
        raise ArgumentError(f"{what}: the column of order {str(column.name)!r} {some}; fill them or drop those rows.")
    return times


class TableModel(Pipeline):
    """Pipeline of a `TableEncoder` and a model, as `table_model` returns it."""

    def summary(self) -> TableSummary:
        """Return the columns of the table: type, encoding, missing cells, and why some are left out.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"id": range(40), "city": ["Oslo", "Rome"] * 20, "buys": [0, 1] * 20})
        >>> with warnings.catch_warnings(action="ignore"):
        ...     model = table_model(frame, "buys")
        >>> model.summary()
        1 of 2 columns used, 2 features
        column  type         features  missing  encoding              why
        city    categorical  2                  2 categories one-hot  2 different texts
        id      dropped                                               whole numbers 0 to 39, each once: an identifier
        >>> [column.name for column in model.summary().left_out]
        ['id']
        """
        check_is_fitted(self)
        return summarize(self[0])

    def plan(self, frame: Any, y: Any = None) -> Any:
        """Return the `FitPlan` of the last step for the features of a frame, which a copy of the encoder makes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            return self[-1].plan(fitted_encoder(self[0], frame, y)[1], y)


def table_model(
    frame: Any,
    target: Any,
    *,
    estimator: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    order: Any = None,
    encoder: TableEncoder | None = None,
) -> Any:
    """Fit a pipeline of `TableEncoder` and a network to a data frame.

    The same in two lines: ``pipeline = make_pipeline(TableEncoder(), ConvexNetworkClassifier())`` and
    ``pipeline.fit(frame.drop(columns=target), frame[target])``.

    Parameters
    ----------
    frame : DataFrame
        As `read_frame` or pandas read it; numbers, categories, booleans and dates, and cells may be missing.
    target : name of a column, or (n,) array
        Rows in which it is missing are left out, and a warning says so.
    estimator : estimator or None
        None is `ConvexNetworkClassifier` or `ConvexNetworkRegressor`, as the target is; see `choose_task`.
    sample_weight, groups : name of a column, or (n,) array, optional
        As in ``fit`` of the networks. These columns are not features.
    order : name of a column, or (n,) array, optional
        Times of the rows, numbers or dates, as in ``fit`` of the networks: ``loo_score_`` and intervals are those of
        later rows. The column is a feature too, unless the encoder drops it. Without an order a `TableWarning` says
        that dates are features.
    encoder : TableEncoder, optional
        Such as ``TableEncoder(categorical=["zip"], drop=["name"])``; a copy of it is fitted.

    Returns
    -------
    TableModel
        Fitted, a Pipeline of steps "table" and "model"; it takes data frames that have the columns of this one, and its
        ``summary()`` says what was made of them.

    Raises
    ------
    ArgumentError
        As `TableEncoder` and the model do; a column is missing, or no row has a target, or some cell of the order is
        neither a number nor a date.

    Examples
    --------
    >>> import pandas as pd
    >>> cities, ages = ["Oslo", "Bergen"] * 20, [30, 40, None, 50, 60] * 8
    >>> frame = pd.DataFrame({"city": cities, "age": ages, "buys": ["no", "yes"] * 20})
    >>> model = table_model(frame, "buys")
    >>> model.predict(pd.DataFrame({"age": [44.0, None], "city": ["Oslo", "Bergen"]})).tolist()
    ['no', 'yes']

    A random walk: between known days it is known, not so after them.

    >>> walk = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=120)})
    >>> walk["level"] = np.random.default_rng(0).standard_normal(120).cumsum()
    >>> bool(table_model(walk, "level", order="day")[-1].loo_score_ < 0.5)
    True
    """
    from clifford_rand_nn.estimators.network_classifier import ConvexNetworkClassifier
    from clifford_rand_nn.estimators.network_regressor import ConvexNetworkRegressor

    encoder = TableEncoder() if encoder is None else encoder
    if not isinstance(encoder, TableEncoder):
        raise fail("encoder", "table_model", "a TableEncoder, or None", encoder)
    marks = column_names(encoder.missing_values, "missing_values", "TableEncoder", "marks of missing cells")
    frame = without_marks(as_frame(frame)[0], marks, target if isinstance(target, str) else None)
    rows = training_rows(frame, target, weights=sample_weight, groups=groups, order=order, dates=encoder.date)
    if rows.left_out:
        some = f"{rows.left_out} of {rows.left_out + len(rows.target)} rows"
        warnings.warn(f"the target is missing in {some}; they are left out", TableWarning, stacklevel=2)
    if estimator is not None and (isinstance(estimator, type) or not hasattr(estimator, "fit")):
        raise fail("estimator", "table_model", "an estimator, or None", estimator)
    if estimator is None:
        task, _ = choose_task(rows.target)
        estimator = ConvexNetworkClassifier() if task == "classification" else ConvexNetworkRegressor()
    pipeline = TableModel([("table", clone(encoder)), ("model", estimator)])
    beside = {"sample_weight": rows.weights, "groups": rows.groups, "order": rows.order}
    options = {f"model__{name}": value for name, value in beside.items() if value is not None}
    pipeline.fit(rows.features, rows.target, **options)
    dates = [column.name for column in pipeline[0].columns_ if column.kind == "date"]
    if dates and order is None:
        note = f"{date_note(dates)}; give order={dates[0]!r} if new rows will be later"
        warnings.warn(note, TableWarning, stacklevel=2)
    return pipeline


def date_note(dates: Sequence[str]) -> str:
    """Return why leave-one-out flatters later rows, where columns of dates are features."""
    shown = f"{listed(dates)} {'are dates' if len(dates) > 1 else 'is a date'}"
    return f"{shown}, and rows are left out whatever their time: scores and intervals are those of rows between others"


def _without_bad_cells(y: Any, what: str) -> Any:
    """Return a target of texts as numbers where rare cells are none: a `TableWarning` says that these are missing."""
    counts = distinct(y)
    if counts is None or len(counts) <= MOST_CLASSES or not isinstance(counts[0], str):
        return y
    values, odd = numbers(y)
    bad = y.isin(odd).to_numpy()
    if not odd or not is_rare(int(bad.sum()), len(y)):
        return y
    note = f"{int(bad.sum())} of {len(y)} cells could not be read (such as {shortened(odd[0], _LONGEST)!r} in row "
    warnings.warn(f"{what}: the target {y.name!r}: {note}{y.index[bad][0]}); they count as missing", TableWarning, 3)
    return require("pandas", extra="app", purpose="encoding a table").Series(values, index=y.index, name=y.name)


def _column(frame: Any, column: Any, parameter: str, default_name: str) -> Any:
    """Return a column of a frame, or an array as one."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if isinstance(column, str):
        return frame[column]
    values, rule = as_array(column, parameter, "table_model"), f"the name of a column, or an array ({len(frame)},)"
    short = values.ndim == 1 and len(values) < len(frame)
    if values.ndim > 1 or (short and all(isinstance(name, str) and name in frame for name in values.tolist())):
        hint = _SEVERAL if parameter == "target" else ""
        raise fail(parameter, "table_model", rule, describe(f"shape {values.shape}"), hint)
    check_length(values.shape, len(frame), parameter, "table_model", "value")
    if values.dtype.kind == "V":
        raise fail(parameter, "table_model", rule, describe("records"))
    name = str(getattr(column, "name", None) or default_name)
    return pandas.Series(values, index=frame.index, name=name)
