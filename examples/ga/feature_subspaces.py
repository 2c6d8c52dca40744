"""Subspaces of features in 50,000 dimensions: how far they turn from layer to layer, what stays, and what a text uses.

Each layer of a network has twenty features, here directions over a vocabulary of 50,000 words. Five are in every
layer, the others drift, each at its own speed, so that all angles between layers are known; the rows that are stored
are mixtures of them, which show none of this. They lie in a file of float32, as weights do, and are read in blocks.
Topics are sparse rows.
"""

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import csr_array

import clifford_rand as cr

WORDS, FEATURES, LAYERS, KEPT = 50_000, 20, 6, 5
SPEEDS = np.concatenate([np.zeros(KEPT), np.linspace(0.02, 0.3, FEATURES - KEPT)])  # radians from layer to layer
TOPIC, SHARED = 200, np.array([200, 150, 100, 50, 0])  # words of a topic, and how many two topics have in common


def main(folder: Path) -> dict[str, float]:
    """Save the picture; return how far angles, volumes and intersections are from what is known."""
    rng = np.random.default_rng(0)
    layers, basis = drifting_layers(rng)
    known = np.sort(np.abs(np.arange(LAYERS)[:, None, None] - np.arange(LAYERS)[:, None]) * SPEEDS)
    blades = [cr.LargeBlade(rows) for rows in layers]
    angles = np.zeros_like(known)
    for i, j in itertools.combinations(range(LAYERS), 2):
        angles[i, j] = angles[j, i] = blades[i].principal_angles(blades[j])
    kept = blades[0].intersection(blades[1]).intersection(blades[-1])
    log_cosines = [A.log_inner(B)[1] - A.log_norm() - B.log_norm() for A, B in itertools.pairwise(blades)]

    with tempfile.TemporaryDirectory() as name:
        stored = np.lib.format.open_memmap(Path(name) / "layers.npy", "w+", np.float32, layers.shape)
        stored[:] = layers
        on_disk = [cr.LargeBlade(rows) for rows in stored]
        rounded = np.array([on_disk[0].principal_angles(B) for B in on_disk])
        text = 4 * rng.standard_normal(FEATURES) @ layers[3] + rng.standard_normal(WORDS)  # one that speaks as layer 3
        shares = np.array([(A.coordinates(text[None]) ** 2).sum() for A in on_disk]) / (text @ text)
        del stored, on_disk

    first, second = topics()
    overlap = np.cos(cr.LargeBlade(first).principal_angles(cr.LargeBlade(second)))
    draw(folder / "feature_subspaces.png", angles, known, shares)
    return {
        "directions in every layer": kept.grade,
        "error of the angles": float(abs(angles - known).max()),
        "error of the directions kept": float(abs(kept.principal_angles(cr.LargeBlade(basis[:KEPT]))).max()),
        "error of the log-inner products": float(abs(log_cosines - np.log(np.cos(SPEEDS)).sum()).max()),
        "error of the topics' cosines": float(abs(overlap - SHARED / TOPIC).max()),
        "angles by float32, largest difference": float(abs(rounded - known[0]).max()),
        "share of the text in layer 3": float(shares[3]),
        "in layer 0": float(shares[0]),
    }


def drifting_layers(rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows (layers, features, words) that are mixtures, and the directions from which they drift."""
    Q = np.linalg.qr(rng.standard_normal((WORDS, 2 * FEATURES)))[0].T
    here, there = Q[:FEATURES], Q[FEATURES:]
    layers = np.empty((LAYERS, FEATURES, WORDS))
    for i in range(LAYERS):
        turned = np.cos(i * SPEEDS)[:, None] * here + np.sin(i * SPEEDS)[:, None] * there
        layers[i] = rng.standard_normal((FEATURES, FEATURES)) @ turned
    return layers, here


def topics() -> tuple[csr_array, csr_array]:
    """Return two sets of five topics, lists of words; topic i shares ``SHARED[i]`` of them with that of the other."""
    starts = 2 * TOPIC * np.arange(len(SHARED))[:, None] + np.arange(TOPIC)
    indptr = TOPIC * np.arange(len(SHARED) + 1)
    sets = [
        csr_array((np.ones(starts.size), words.ravel(), indptr), shape=(len(SHARED), WORDS))
        for words in (starts, starts + (TOPIC - SHARED)[:, None])
    ]
    return sets[0], sets[1]


def draw(path: Path, angles: NDArray[Any], known: NDArray[Any], shares: NDArray[Any]) -> None:
    """Draw how much of each layer is in each other, the angles to the first layer, and the text's shares."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    image = left.imshow((np.cos(angles) ** 2).mean(axis=-1), vmin=0, vmax=1, cmap="viridis")
    left.set(title="mean cos² of the angles", xlabel="layer", ylabel="layer")
    figure.colorbar(image, ax=left)
    middle.plot(np.degrees(known[0]), color="tab:orange", lw=1)
    middle.plot(np.degrees(angles[0]), ".", color="black")
    middle.set(title="angles to layer 0: computed (dots), known (lines)", xlabel="layer", ylabel="degrees")
    right.bar(np.arange(LAYERS), 100 * shares, color="tab:blue")
    right.axhline(100 * FEATURES / WORDS, color="black", lw=1, ls="--", label="by chance")
    right.set(title="share of a text in each layer's span", xlabel="layer", ylabel="%")
    right.legend()
    figure.savefig(path, dpi=90)
