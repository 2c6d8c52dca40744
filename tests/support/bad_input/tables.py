"""Good calls of tables, shards and what reads and writes them."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import clifford_rand_nn as nn
from support.bad_input.good import *
from support.bad_input.models import LABELS, NEW, W, X, Y, made

SHARDS = Made(lambda: nn.Shards([X[:10], X[10:]], [Y[:10], Y[10:]]))
CLASS_SHARDS = Made(lambda: nn.Shards([X[:10], X[10:]], [LABELS[:10], LABELS[10:]]))


@cache
def _frame():
    import pandas as pd

    city, day = np.where(X[:, 1] > 0, "Oslo", "Bergen"), pd.date_range("2020", periods=24)
    return pd.DataFrame({"age": X[:, 0], "city": city, "day": day, "buys": LABELS})


def _column(name):
    """Return a function of a column's cells that makes a model of a table with it and predicts."""

    def run(cells):
        frame = _frame().copy()
        try:
            frame[name] = cells
        except Exception:  # it is pandas that refuses the cells
            return None
        model = nn.table_model(frame, "buys", estimator=_quick())
        return model.predict(frame.drop(columns="buys"))

    return run


def _quick():
    return nn.GatedReLUClassifier(n_gates=3, beta=0.05, loss="squared", random_state=0)


@cache
def _csv():
    where = Path(tempfile.mkdtemp()) / "table.csv"
    _frame().to_csv(where, index=False)
    return str(where)


@cache
def _folder():
    where = Path(tempfile.mkdtemp())
    np.save(where / "X-00000.npy", X)
    np.save(where / "y-00000.npy", Y)
    return str(where)


FRAME = Made(_frame)
ENCODER = Made(lambda: nn.TableEncoder().fit(_frame().drop(columns="buys")))
FEATURES = Made(lambda: _frame().drop(columns="buys"))
_features = thing(FEATURES, an_array="right")  # whose columns are called x0, x1, …


def _shards_fit(X, y, sample_weight=None):
    shards = nn.Shards([X], [y], sample_weight=None if sample_weight is None else [sample_weight])
    # a gap of 1e-8 fixes predictions to its root; what none is proved for (nearly equal columns) is tried for so long
    model = nn.GatedReLURegressor(n_gates=3, beta=0.05, random_state=0, tol=1e-8, max_iter=300)
    return model.fit(shards).predict(NEW)


_arrays = {"nested_lists": "right"}  # a shard is an array


_COLUMNS = {"numeric": "age", "categorical": "city", "date": "day", "drop": "city"}


def _encoded(method):
    return through(lambda frame: getattr(nn.TableEncoder(), method)(frame), _features)


CALLS = catalogue({
    "nn.Shards": [
        through(
            lambda *a, **o: nn.Shards(*a, **o).n_rows, thing([X[:10], X[10:]], an_array="right"),
            thing([Y[:10], Y[10:]], missing="right", an_array="refused"), part_rows=count(5, missing="right")),
        through(lambda X: nn.Shards([X], [Y]).dtype, rows(X, every="right")),  # whose entries a fit looks at
        through(_shards_fit, rows(X, a_frame="right", **_arrays), targets(Y, **_arrays), weights(W, **_arrays)),
        through(lambda where: nn.Shards(where).n_rows, path(Made(_folder)))],
    "nn.evaluate_shards": [
        good(thing(made("GatedReLURegressor")), thing(SHARDS)),
        good(made("GatedReLUClassifier"), CLASS_SHARDS, engine=thing(None, missing="right"))],
    "nn.predict_shards": through(
        lambda model, shards, where="out", **o: len(
            nn.predict_shards(model, shards, where, **({"if_exists": "replace"} | o))),
        thing(made("GatedReLURegressor")), thing(SHARDS),
        path("out", a_folder="left out", not_there="left out"),  # which it would make
        method=word("predict"), file_format=word("npy"), if_exists=word("replace")),
    "nn.read_frame": good(
        path(Made(_csv)), verbatim=names(["city"], empty_list="right"),
        string_columns=names(["city"], empty_list="right"),
        separator=word(",", missing="right"), decimal=word(".", missing="right"), header=flag(True),
        encoding=word("utf-8", missing="right", with_a_space="right"),  # Python knows it with a space, too
    ),
    "nn.table_model": [
        good(thing(FRAME), word("buys", an_array="refused"), estimator=thing(Made(_quick), missing="left out"),
             sample_weight=weights(W)),
        through(_column("age"), vector(X[:, 0], every="right")),
        through(_column("city"), labels(LABELS, every="right")),
        through(_column("buys"), labels(LABELS, every="right", one_class="refused"))],
    "nn.TableEncoder": [
        through(
            lambda **o: nn.TableEncoder(**o).fit_transform(FEATURES.make()), min_frequency=count(5),
            max_categories=count(100), n_text_features=count(64), other_text=word("drop")),
        *(through(lambda columns, kind=kind: nn.TableEncoder(**{kind: columns}).fit_transform(FEATURES.make()),
                  names([column], empty_list="right")) for kind, column in _COLUMNS.items())],
    "nn.TableEncoder.fit": through(lambda frame: nn.TableEncoder().fit(frame).transform(frame), _features),
    "nn.TableEncoder.fit_transform": _encoded("fit_transform"),
    "nn.TableEncoder.transform": good(ENCODER, thing(FEATURES)),
    "nn.TableEncoder.get_feature_names_out": good(ENCODER, names(None, missing="right", every="right")),
    "nn.export_torch": good(thing(made("GatedReLURegressor")), path("e.pt2")),
})  # fmt: skip
