"""Accuracy of `table_model` on tables of classes, beside logistic regression on the same encoded columns.

    python tests/benchmarks/bench_tables.py FOLDER [--tables german crx] [--splits 10] [--held 0.3]

FOLDER holds FILES such as german.csv whose last column is the class. Each split is stratified, and its number is the
seed; encoder, network and logistic regression (standardized, C of ten by five folds) see the rows of training alone.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from timing import options

import clifford_rand as cr
from clifford_rand_nn.tables import read_frame, table_model, training_rows


def main() -> None:
    """Print a block for every table."""
    asked = options(__doc__, ("folder", {"type": Path}), tables=["german", "crx"], splits=10, held=0.3)
    print(f"clifford-rand {cr.__version__}, scikit-learn {sklearn.__version__}, numpy {np.__version__}")
    for name in asked.tables:
        compare(asked.folder / f"{name}.csv", asked.splits, asked.held)


def compare(path: Path, splits: int, held: float) -> None:
    """Print accuracy and log loss of the test rows, the mean over the splits and each of them."""
    frame = read_frame(path)
    target = frame.columns[-1]
    y = training_rows(frame, target, what=str(path)).target
    frame = frame[frame[target].notna()]
    scores: dict[str, list[tuple[float, float]]] = {"network": [], "logistic": [], "majority": []}
    began = time.process_time()
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(y)), test_size=held, stratify=y, random_state=seed)
        network = table_model(frame.iloc[train], target)
        rows = frame.iloc[test].drop(columns=target)
        encoded, truth = network[0].encode(frame.iloc[train])[0], y[test]
        linear = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=10, cv=5, max_iter=5000))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            linear.fit(encoded, y[train])
        seen = network[0].encode(rows)[0]
        for one, model in (("network", network[1]), ("logistic", linear)):
            told = model.predict_proba(seen)
            scores[one].append((model.score(seen, truth), log_loss(truth, told, labels=model.classes_)))
        labels, counts = np.unique(y[train], return_counts=True)
        least = np.tile(counts / counts.sum(), (len(test), 1))
        scores["majority"].append((float(np.mean(truth == labels[counts.argmax()])), log_loss(truth, least)))
    print(f"\n{path.name}: {len(y)} rows, {frame.shape[1] - 1} columns, {encoded.shape[1]} encoded, {splits} splits")
    for one, pairs in scores.items():
        accuracy, loss = np.mean(pairs, axis=0)
        print(f"  {one:9} accuracy {accuracy:.4f}, log loss {loss:.4f}   {' '.join(f'{a:.3f}' for a, _ in pairs)}")
    gained = np.subtract(scores["network"], scores["logistic"])
    mean, error = gained.mean(axis=0), gained.std(axis=0, ddof=1) / np.sqrt(splits)
    print(f"  network - logistic: accuracy {mean[0]:+.4f} ± {error[0]:.4f}, log loss {mean[1]:+.4f} ± {error[1]:.4f}")
    print("  (standard error over splits of the same rows; of one split it is some 2.5 points)")
    print(f"  {time.process_time() - began:.0f} s of CPU")


if __name__ == "__main__":
    main()
