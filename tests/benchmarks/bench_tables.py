"""Accuracy of `table_model` on tables of classes, beside logistic regression on the same encoded columns.

    python tests/benchmarks/bench_tables.py FOLDER [--tables german crx] [--splits 10] [--held 0.3]

FOLDER holds FILES such as german.csv whose last column is the class. Each split is stratified, and its number is the
seed; encoder, network and logistic regression (standardized, C of ten by five folds) see the rows of training alone.
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from timing import machine, options, timed

from clifford_rand_nn.tables import read_frame, table_model
from clifford_rand_nn.tables.encoded_rows import encode
from clifford_rand_nn.tables.model import training_rows


def scores(frame, target, y, train, test):
    """Return accuracy and log loss of each model on the test rows, and the number of encoded columns."""
    network = table_model(frame.iloc[train], target)
    encoded, truth = encode(network[0], frame.iloc[train])[0], y[test]
    linear = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=10, cv=5, max_iter=5000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        linear.fit(encoded, y[train])
    rows = encode(network[0], frame.iloc[test].drop(columns=target))[0]
    found = {}
    for name, model in (("network", network[1]), ("logistic", linear)):
        loss = log_loss(truth, model.predict_proba(rows), labels=model.classes_)
        found[name] = (model.score(rows, truth), loss)
    labels, counts = np.unique(y[train], return_counts=True)
    frequencies = np.tile(counts / counts.sum(), (len(test), 1))
    found["majority"] = (float(np.mean(truth == labels[counts.argmax()])), log_loss(truth, frequencies))
    return found, encoded.shape[1]


def compare(path, splits, held):
    """Print accuracy and log loss of the test rows, the mean over the splits and each of them."""
    frame = read_frame(path)
    target = frame.columns[-1]
    y = training_rows(frame, target, what=str(path)).target
    frame = frame[frame[target].notna()]
    runs = []
    for seed in range(splits):
        parts = train_test_split(np.arange(len(y)), test_size=held, stratify=y, random_state=seed)
        found, columns = scores(frame, target, y, *parts)
        runs.append(found)
    print(f"\n{path.name}: {len(y)} rows, {frame.shape[1] - 1} columns, {columns} encoded, {splits} splits")
    values = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    for name, pairs in values.items():
        accuracy, loss = pairs.mean(axis=0)
        print(f"  {name:9} accuracy {accuracy:.4f}, log loss {loss:.4f}   {' '.join(f'{a:.3f}' for a, _ in pairs)}")
    gained = values["network"] - values["logistic"]
    mean, error = gained.mean(axis=0), gained.std(axis=0, ddof=1) / np.sqrt(splits)
    print(f"  network - logistic: accuracy {mean[0]:+.4f} ± {error[0]:.4f}, log loss {mean[1]:+.4f} ± {error[1]:.4f}")
    print("  (standard error over splits of the same rows; of one split it is some 2.5 points)")


def main():
    args = options(__doc__, ("folder", {"type": Path}), tables=["german", "crx"], splits=10, held=0.3)
    machine("scikit-learn")
    for name in args.tables:
        _, _, cpu = timed(lambda name=name: compare(args.folder / f"{name}.csv", args.splits, args.held))
        print(f"  {cpu:.0f} s of CPU")


if __name__ == "__main__":
    main()
