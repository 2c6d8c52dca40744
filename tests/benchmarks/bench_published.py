"""Average precision of the default classifier on UCI tables, and its rank among models with published scores.

    python tests/benchmarks/bench_published.py FOLDER [--most 2600] [--tables wilt eeg-eye-state]

FOLDER holds tables.zip, ARFF files whose target is ``Class``, and published.csv: table, model, fold0 to fold3, seconds.
Labels are sorted texts; a column of texts of which more than 90 % are numbers is one of numbers; four stratified folds,
shuffled with the seed 0; average precision, weighted by classes. Tables with all scores of all models are compared.
"""

import io
import warnings
import zipfile
from pathlib import Path

import arff  # pip install liac-arff
import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from timing import machine, options, timed

from clifford_rand_nn import ConvexNetworkClassifier, TableEncoder

FOLDS = [f"fold{k}" for k in range(4)]


def table(file):
    """Return the columns and the numbers of the classes of an ARFF file."""
    stated = arff.load(io.StringIO(file.decode()))
    frame = pd.DataFrame(stated["data"], columns=[name for name, _ in stated["attributes"]])
    y = np.unique(frame.pop("Class").astype(str), return_inverse=True)[1]
    for name in frame.select_dtypes(object):
        numbers, present = pd.to_numeric(frame[name], errors="coerce"), frame[name].notna()
        if numbers[present].notna().mean() > 0.9:
            frame[name] = numbers
    return frame, y


def score(frame, y):
    """Return the mean average precision of the folds."""
    scores = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(frame, y):
        model = make_pipeline(TableEncoder(), ConvexNetworkClassifier()).fit(frame.iloc[train], y[train])
        given = model.predict_proba(frame.iloc[test])
        p = np.zeros((len(test), y.max() + 1))
        p[:, model.classes_] = given
        truth, p = (y[test], p[:, 1]) if p.shape[1] == 2 else (np.eye(p.shape[1])[y[test]], p)
        scores.append(average_precision_score(truth, p, average="weighted"))
    return np.mean(scores)


def main():
    args = options(__doc__, ("folder", {"type": Path}), most=10**9, tables=["all"])
    machine("scikit-learn", "pandas")
    published = pd.read_csv(args.folder / "published.csv")
    published["score"] = published[FOLDS].mean(axis=1, skipna=False)
    scores, cpu_seconds = published.pivot(index="table", columns="model", values="score").dropna(), 0.0
    with zipfile.ZipFile(args.folder / "tables.zip") as archive:
        for file in archive.namelist():
            name = Path(file).stem
            if name not in scores.index or not {name, "all"} & set(args.tables):
                continue
            frame, y = table(archive.read(file))
            if len(frame) > args.most:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores.loc[name, "this library"], _, cpu = timed(lambda frame=frame, y=y: score(frame, y))
            cpu_seconds += cpu
            ours = scores.loc[name, "this library"]
            print(f"{name:40} {len(frame):6} rows  {ours:.4f}  {cpu:6.1f} CPU s", flush=True)
    scores = scores.dropna()
    summary = pd.DataFrame({"mean": scores.mean(), "rank": scores.rank(axis=1, ascending=False).mean()})
    print(summary.sort_values("rank").round(3).to_string())
    print(f"{len(scores)} tables, {cpu_seconds / 3600:.2f} CPU hours")


if __name__ == "__main__":
    main()
