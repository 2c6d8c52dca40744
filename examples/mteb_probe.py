"""The tuning-free network as the probe of MTEB's classification tasks, beside the logistic regression that they have.

    python -m examples.mteb_probe --model sentence-transformers/all-MiniLM-L6-v2 --task Banking77Classification
    python -m examples.mteb_probe --features FOLDER [--samples 8 16]

A task of MTEB encodes its texts with a frozen model, draws 8 rows of each label ten times, fits a scikit-learn
classifier to each draw, and scores it on the test split (Muennighoff et al., "MTEB", EACL 2023, section 3.2). That
classifier is `AbsTaskClassification.evaluator_model`, and one line gives it another:

    task.evaluator_model = ConvexNetworkClassifier(max_metric_iter=0)

From so few rows the gate distribution is not learned (``max_metric_iter=0``). MTEB's folder of results knows the model
and the task, not the probe: it is not used here, and results of another probe must not be handed in as the model's.

With ``--features`` the tasks are frozen features of one's own, NPZ files of ``X`` (n, d), ``y`` and ``split``, true for
rows of training: MTEB runs on them without its data sets and without a network.
"""

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks.classification import AbsTaskClassification
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.cache_wrappers import CachedEmbeddingWrapper
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from clifford_rand_nn import ConvexNetworkClassifier
from examples.paper.datasets.feature_files import load_feature_folder

PROBES = {"logistic": LogisticRegression(max_iter=100), "network": ConvexNetworkClassifier(max_metric_iter=0)}


def compare(encoder: Any, task: Any, probes: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Run a classification task of MTEB once for each probe; return its scores on the test split by their names.

    ``scores_per_experiment`` has those of each draw, which are the same rows for all probes.
    """
    found = {}
    for name, probe in (PROBES if probes is None else probes).items():
        task.evaluator_model = clone(probe)
        result = mteb.evaluate(encoder, task, cache=None, show_progress_bar=False, co2_tracker=False)
        (found[name],) = result.task_results[0].scores["test"]
    return found


def report(scores: dict[str, dict[str, Any]]) -> str:
    """Return a line with the accuracy of each probe, and its difference to the first one with a standard error."""
    parts, first = [], None
    for name, one in scores.items():
        draws = np.array([draw["accuracy"] for draw in one["scores_per_experiment"]])
        text = f"{name} {draws.mean():.4f}"
        if first is None:
            first = draws
        else:
            apart = draws - first
            text += f" ({apart.mean():+.4f} ± {apart.std(ddof=1) / np.sqrt(len(apart)):.4f})"
        parts.append(text)
    return ", ".join(parts)


class FeatureTask(AbsTaskClassification):
    """A classification task on frozen features: its texts are the numbers of the rows.

    Parameters
    ----------
    name : str
    y : (n,) array of integers
    split : (n,) array of bool
        True for rows of training.
    samples_per_label : int
    """

    def __init__(self, name: str, y: NDArray[Any], split: NDArray[np.bool_], samples_per_label: int = 8) -> None:
        self.metadata = _about(name)
        super().__init__()
        self.samples_per_label = samples_per_label
        self.dataset = DatasetDict(
            {
                part: Dataset.from_dict({"text": [str(i) for i in rows], "label": y[rows].tolist()})
                for part, rows in (("train", np.flatnonzero(split)), ("test", np.flatnonzero(~split)))
            }
        )
        self.data_loaded = True

    def load_data(self, **options: Any) -> None:
        """There is nothing to load."""


class FeatureEncoder:
    """The encoder of `FeatureTask`: row i of X for the text i, in the precision that X has."""

    def __init__(self, X: NDArray[np.floating]) -> None:
        self.X = X
        self.mteb_model_meta = ModelMeta.create_empty({"name": "local/features", "revision": "none"})

    def encode(self, inputs: Iterable[dict[str, Any]], **about: Any) -> NDArray[np.floating]:
        """Return the features of batches of texts."""
        return self.X[[int(text) for batch in inputs for text in batch["text"]]]

    def similarity(self, one: NDArray[np.floating], two: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return inner products, which MTEB asks of every encoder; classification does not use them."""
        return one @ two.T

    def similarity_pairwise(self, one: NDArray[np.floating], two: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return inner products of rows one by one."""
        return np.asarray((one * two).sum(axis=1))


def _about(name: str) -> Any:
    return TaskMetadata(
        name=name,
        description="Frozen features of a file, with labels.",
        dataset={"path": "local/features", "revision": "none"},
        type="Classification",
        category="t2c",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="accuracy",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each task."""
    parser = argparse.ArgumentParser(prog="python -m examples.mteb_probe", description=__doc__.partition("\n")[0])
    parser.add_argument("--model", help="a model that mteb knows")
    parser.add_argument("--task", nargs="+", default=[], help="names of classification tasks")
    parser.add_argument("--features", type=Path, help="a folder of NPZ files")
    parser.add_argument("--samples", nargs="+", type=int, default=[8], help="rows of each label that are drawn")
    options = parser.parse_args(arguments)
    if (options.features is None) == (options.model is None):
        parser.error("give --features, or --model with --task")
    if options.model is not None:
        with tempfile.TemporaryDirectory() as folder:
            encoder = CachedEmbeddingWrapper(mteb.get_model(options.model), folder)  # so that texts are encoded once
            for task in mteb.get_tasks(tasks=options.task):
                print(f"{task.metadata.name}: {report(compare(encoder, task))}", flush=True)
        return
    for name, data in load_feature_folder(options.features).items():
        for samples in options.samples:
            task = FeatureTask(name, data.y, data.split, samples)
            print(f"{name}, {samples} a label: {report(compare(FeatureEncoder(data.X), task))}", flush=True)


if __name__ == "__main__":
    main()
