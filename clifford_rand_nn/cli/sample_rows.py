"""Rows to compare an exported model on, where no table is given: drawn around those of training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from clifford_rand._optional import require
from clifford_rand_nn.claims import KernelClaim, NetworkClaim
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.tables import TableEncoder
from clifford_rand_nn.tables.column_readers import BooleanReader, CategoryReader, DateReader, NumberReader, TextReader
from clifford_rand_nn.tables.encodings import words_of

_ROWS = 200
_GONE = 0.05  # share of cells that are missing, and of categories that are new


def sample_rows(model: Any, dtype: str, n: int = _ROWS) -> Any:
    """Return rows (n, d), of numbers that ``dtype`` holds, or a table as the encoder of a pipeline takes it."""
    rng = np.random.default_rng(0)
    if not isinstance(model, Pipeline):
        return _around(model, rng, n).astype(dtype)
    first = model.steps[0][1]
    if isinstance(first, TableEncoder):
        return _table(first, _around(model.steps[-1][1], rng, n), rng)
    return rng.standard_normal((n, first.n_features_in_)).astype(np.float32)


def _around(model: Any, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Return rows with the mean and the deviation of those of training, as far as the model knows them."""
    claim = model.certificate_.claim
    standard = claim.network.standard if isinstance(claim, KernelClaim) else None
    if isinstance(claim, NetworkClaim):
        standard = claim.standard
    drawn = rng.standard_normal((n, model.n_features_in_))
    if not isinstance(standard, Standardization):
        return drawn
    size = np.divide(1.0, standard.rate, out=np.zeros_like(standard.rate), where=standard.rate > 0)
    return np.asarray(standard.mean + size * drawn)


def _table(encoder: TableEncoder, rows: NDArray[np.float64], rng: np.random.Generator) -> Any:
    """Return a table whose numbers are those of encoded rows; categories are drawn, and some cells are missing."""
    pandas = require("pandas", extra="app", purpose="tables")
    made = dict(zip(encoder.get_feature_names_out(), rows.T, strict=True))
    columns, words = {}, words_of(encoder.transformer_)
    for reader in encoder.readers_:
        name, gone = reader.name, rng.random(len(rows)) < _GONE
        if isinstance(reader, CategoryReader):
            cells = rng.choice(np.array([*words[name], "new"], dtype=object), len(rows))
            if reader.numeric:
                cells = np.array([-1.0 if cell == "new" else float(cell) for cell in cells], dtype=object)
        elif isinstance(reader, BooleanReader):
            cells = rng.choice(np.array(["yes", "no"] if reader.words else [1.0, 0.0], dtype=object), len(rows))
        elif isinstance(reader, DateReader):
            ticks = reader.start + made[reader.part("days")] * 86_400e6
            column = pandas.Series(ticks.astype("int64").astype("datetime64[us]"))
            columns[name] = column.mask(gone)
            continue
        elif isinstance(reader, TextReader):
            cells = rng.choice(np.array(["a few words", "some others", "few others"], dtype=object), len(rows))
        else:
            assert isinstance(reader, NumberReader)
            cells = np.array([reader.written(value) for value in made[name].tolist()], dtype=object)
        cells[gone] = None
        texts = any(isinstance(cell, str) for cell in cells)
        columns[name] = pandas.Series(cells, dtype=object if texts else np.float64)
    return pandas.DataFrame(columns)
