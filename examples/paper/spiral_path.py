"""The film of the spiral: the whole regularization path of the pairs' Lasso, of all pairs and of a sample of them.

``spiral_path.csv`` has a row for each picture: dictionary, frame, beta and objective in our scale, paper_beta and
paper_objective in the paper's (both times 2n), neurons, gap (the certified relative one), train_accuracy.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer
from clifford_rand_nn import RegularizationPath, TwoLayerNetwork, lasso_path
from clifford_rand_nn.cli.demo_spiral import PAPER_BETA

__all__ = ["PATH_COLUMNS", "LabelsOf", "film_frames", "pairs_path", "path_rows", "save_path_rows"]

Array = NDArray[np.float64]

PATH_COLUMNS = (
    "dictionary",
    "frame",
    "beta",
    "paper_beta",
    "objective",
    "paper_objective",
    "neurons",
    "gap",
    "train_accuracy",
)


class LabelsOf:
    """The classifier of a network with labels -1 and 1: the sign of its output, 1 for 0."""

    def __init__(self, network: TwoLayerNetwork) -> None:
        self.network = network

    def predict(self, X: Array) -> NDArray[np.int64]:
        """Return a label for each row."""
        return np.where(self.network.predict(X) >= 0, 1, -1)


def pairs_path(
    X: Array, y: NDArray[Any], n_frames: int, *, subsample: int | None = None, seed: int = 0
) -> RegularizationPath:
    """Return the Lasso's networks at ``n_frames`` beta, from the least without a neuron to the paper's, evenly in log.

    The path is followed through all of its breakpoints; between two of them the weights are linear in beta, so that
    what is read there is exact, and certified at each beta on its own.

    Examples
    --------
    >>> from clifford_rand_nn import spiral
    >>> path = pairs_path(*spiral(20), 4)
    >>> len(path), path.n_neurons[0], bool(path.relative_gaps.max() < 1e-9)
    (4, np.int64(0), True)
    """
    check_integer(n_frames, "n_frames", "pairs_path", low=2)
    options: dict[str, Any] = {"penalty": "l2", "subsample": subsample, "random_state": seed}
    top = lasso_path(
        X, y, betas=[float(np.abs(y).sum())], **options
    ).beta_max  # above any beta_max: nothing is followed
    return lasso_path(X, y, betas=np.geomspace(top, PAPER_BETA / (2 * len(X)), n_frames), **options)


def path_rows(name: str, path: RegularizationPath, X: Array, y: NDArray[Any]) -> list[dict[str, Any]]:
    """Return the rows of the CSV for one path."""
    scale = 2 * len(X)
    return [
        {
            "dictionary": name,
            "frame": k,
            "beta": float(path.betas[k]),
            "paper_beta": float(scale * path.betas[k]),
            "objective": float(path.objectives[k]),
            "paper_objective": float(scale * path.objectives[k]),
            "neurons": int(path.n_neurons[k]),
            "gap": float(path.relative_gaps[k]),
            "train_accuracy": float(np.mean(LabelsOf(path.networks[k]).predict(X) == y)),
        }
        for k in range(len(path))
    ]


def save_path_rows(file: Path, rows: list[dict[str, Any]]) -> None:
    """Write the CSV of both paths."""
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, PATH_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def film_frames(name: str, path: RegularizationPath, rows: list[dict[str, Any]]) -> list[tuple[str, LabelsOf]]:
    """Return a title and a classifier for each picture."""
    frames = []
    for row, network in zip(rows, path.networks, strict=True):
        gap = "a proof" if row["gap"] == 0 else f"gap {row['gap']:.0e}"
        title = (
            f"{name}: beta = {row['paper_beta']:.2e} (sum of squares)\n"
            f"{row['neurons']} neurons, train accuracy {row['train_accuracy']:.3f}, certified {gap}"
        )
        frames.append((title, LabelsOf(network)))
    return frames
