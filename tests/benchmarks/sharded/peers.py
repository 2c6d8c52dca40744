"""What a user would take instead, on the same shards: accuracy and log loss on test rows after so many seconds.

Every peer returns points (seconds, accuracy, log loss) of training alone, without the time to judge them, and says how
many rows it could take. Its settings are chosen from `GRIDS`, as ours are: by trials on the first shards, judged by
training rows of the last one (``held``).
"""

import time

import numpy as np
from timing import peak_bytes, timed

from sharded.fits import dask_client
from sharded.made import files, first_rows, judged, judges


class Curve:
    """Points over seconds of work; the clock stands still while a point is judged."""

    def __init__(self, folder, held):
        self._X, self._y = judges(folder, held)
        self.points, self._spent, self._since = [], 0.0, time.perf_counter()

    @property
    def seconds(self):
        return self._spent + time.perf_counter() - self._since

    def judge(self, predict):
        self._spent = self.seconds
        self.points.append((round(self._spent, 3), *judged(predict(self._X), self._y)))
        self._since = time.perf_counter()

    def result(self, rows, **more):
        return {"points": self.points, "peak": peak_bytes(), "rows": rows, **more}


def _shards(folder, rows):
    for X, y in zip(*files(folder, rows), strict=True):
        yield np.load(X).astype(np.float32), np.load(y).astype(np.int32)


def sgd(folder, rows=None, limit=120.0, held=False, seed=0, eta0=0.01, power_t=0.25):
    """`SGDClassifier.partial_fit`, epoch after epoch, on columns scaled by a first pass, averaged.

    Its steps are eta0 t^(-power_t).
    """
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    curve = Curve(folder, held)
    scaler, n = StandardScaler(), 0
    for X, _ in _shards(folder, rows):
        scaler.partial_fit(X)
        n += len(X)
    steps = {"learning_rate": "invscaling", "eta0": eta0, "power_t": power_t}
    model = SGDClassifier(loss="log_loss", average=True, random_state=seed, **steps)
    rng = np.random.default_rng(seed)
    while curve.seconds < limit and len(curve.points) < 10:
        for X, y in _shards(folder, rows):
            order = rng.permutation(len(y))
            model.partial_fit(scaler.transform(X)[order], y[order], classes=[0, 1])
        curve.judge(lambda test: model.predict_proba(scaler.transform(test))[:, 1])
    return curve.result(n)


def saga(folder, rows=None, limit=120.0, held=False, most=0.4e9, C=1.0):
    """`LogisticRegression(solver="saga")`, on as many rows as take 0.4 GB in float32: it copies them."""
    from sklearn.linear_model import LogisticRegression

    curve = Curve(folder, held)
    d = np.load(files(folder)[0][0], mmap_mode="r").shape[1]
    X, y = first_rows(folder, rows, int(most / (4 * d)))
    steps = 1
    model = LogisticRegression(C=C, solver="saga", warm_start=True, max_iter=steps, random_state=0)
    while curve.seconds < limit and len(curve.points) < 8:
        model.max_iter = steps
        model.fit(X, y)
        curve.judge(lambda test: model.predict_proba(test)[:, 1])
        steps = min(2 * steps, 8)
    return curve.result(len(y))


def _judged_after(trees):
    return trees in (5, 10) or trees % 25 == 0


def lightgbm(folder, rows=None, limit=120.0, held=False, **settings):
    """LightGBM, rows of the shards as `lightgbm.Sequence`; points after 5, 10, 25, 50, … trees."""
    import lightgbm

    class Rows(lightgbm.Sequence):
        batch_size = 4096

        def __init__(self, path):
            self._rows = np.load(path, mmap_mode="r")

        def __len__(self):
            return len(self._rows)

        def __getitem__(self, index):
            return np.asarray(self._rows[index], dtype=np.float64)

    curve = Curve(folder, held)
    paths, labels = files(folder, rows)
    y = np.concatenate([np.load(path) for path in labels])
    data = lightgbm.Dataset([Rows(path) for path in paths], y, params={"verbose": -1})
    parameters = {"objective": "binary", "verbose": -1, "num_threads": 2, "seed": 0, **settings}

    def watch(env):
        late = curve.seconds > limit
        if late or _judged_after(env.iteration + 1):
            curve.judge(env.model.predict)
        if late:
            raise lightgbm.callback.EarlyStopException(env.iteration, [])

    lightgbm.train(parameters, data, num_boost_round=400, callbacks=[watch])
    return curve.result(len(y))


def xgboost(folder, rows=None, limit=120.0, held=False, **settings):
    """XGBoost, histograms in external memory, shard by shard; points after 5, 10, 25, 50, … trees."""
    import tempfile

    import xgboost

    class Shards(xgboost.DataIter):
        def __init__(self, cache):
            self._paths, self._at = list(zip(*files(folder, rows), strict=True)), 0
            super().__init__(cache_prefix=f"{cache}/rows")

        def next(self, input_data):
            if self._at == len(self._paths):
                return False
            X, y = self._paths[self._at]
            input_data(data=np.load(X).astype(np.float32), label=np.load(y))
            self._at += 1
            return True

        def reset(self):
            self._at = 0

    curve = Curve(folder, held)

    class Watch(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            late = curve.seconds > limit
            if late or _judged_after(epoch + 1):
                curve.judge(lambda test: model.predict(xgboost.DMatrix(test)))
            return late

    with tempfile.TemporaryDirectory() as cache:
        data = xgboost.ExtMemQuantileDMatrix(Shards(cache), max_bin=256)
        parameters = {"objective": "binary:logistic", "nthread": 2, "tree_method": "hist", "seed": 0, **settings}
        xgboost.train(parameters, data, num_boost_round=400, callbacks=[Watch()])
        n = data.num_row()
    return curve.result(n)


def dask_ml(folder, rows=None, limit=120.0, held=False, C=1.0):
    """dask-ml's `LogisticRegression` (L-BFGS of dask-glm) on two worker processes; a point for each number of steps."""
    import dask.array as da
    from dask import delayed
    from dask_ml.linear_model import LogisticRegression

    paths, labels = files(folder, rows)
    test, labelled = judges(folder, held)
    shapes, labels = [np.load(path, mmap_mode="r").shape for path in paths], [np.load(path) for path in labels]
    with dask_client(2, "4GB") as client:
        parts = zip(paths, shapes, strict=True)
        X = da.concatenate([da.from_delayed(delayed(_read)(path), shape, np.float32) for path, shape in parts])
        y = da.concatenate([da.from_array(label.astype(np.int32), chunks=len(label)) for label in labels])
        points, seconds = [], 0.0
        for steps in (2, 5, 10, 25):
            if seconds > limit / 2:
                break
            model = LogisticRegression(solver="lbfgs", max_iter=steps, C=C)
            _, seconds, _ = timed(lambda model=model: model.fit(X, y))
            points.append((round(seconds, 3), *judged(model.predict_proba(test)[:, 1], labelled)))
        memory = max(client.run(peak_bytes).values())
    return {"points": points, "peak": memory, "rows": sum(len(label) for label in labels)}


def _read(path):
    return np.load(path).astype(np.float32)


GRIDS = {
    "gated": [{"beta": beta} for beta in (3e-3, 1e-3, 3e-4, 1e-4)],
    "sgd": [{"eta0": eta, "power_t": power} for eta, power in ((0.1, 0.5), (0.03, 0.25), (0.01, 0.25), (0.001, 0.0))],
    "saga": [{"C": C} for C in (1e-4, 1e-3, 1e-2, 1.0)],
    "lightgbm": [{"learning_rate": rate, "num_leaves": n} for rate in (0.1, 0.3) for n in (31, 127)],
    "xgboost": [{"learning_rate": rate, "max_depth": n} for rate in (0.1, 0.3) for n in (6, 9)],
    "dask_ml": [{"C": C} for C in (1e-3, 1e-1, 10.0, 1e3)],
}
PEERS = {"sgd": sgd, "saga": saga, "lightgbm": lightgbm, "xgboost": xgboost, "dask_ml": dask_ml}


def run(name, folder, seconds, **options):
    """Run a peer by its name, until so many seconds of training."""
    return PEERS[name](folder, limit=seconds, **options)
