"""Rows on disk, made block by block: a teacher network with noise, in features whose spectrum falls."""

from pathlib import Path

import numpy as np

_SHARDS = 16  # the growth takes 1, 4 and all of them
_TEST = 20_000
_NEURONS = 24
_SIGNAL = 3.0  # standard deviation of the teacher's log-odds: some 12 % of labels are noise to everyone


class Teacher:
    """Rows x = Q diag(s) z of normal z, s_k = k^(-1/4), and labels of log-odds that a ReLU network gives."""

    def __init__(self, d, seed=0):
        rng = np.random.default_rng([seed, d])
        self.d, self.seed = d, seed
        self.rotation = np.linalg.qr(rng.standard_normal((d, d)))[0].astype(np.float32)
        self.scale = (np.arange(1, d + 1) ** -0.25).astype(np.float32)
        leading = np.minimum(1.0, 8 / np.arange(1, d + 1))  # neurons look at the leading directions above all
        self.W = (rng.standard_normal((d, _NEURONS)) * leading[:, None]).astype(np.float32)
        self.W /= np.linalg.norm(self.W, axis=0)
        self.c = (0.5 * rng.standard_normal(_NEURONS)).astype(np.float32)
        self.a = rng.choice([-1.0, 1.0], _NEURONS).astype(np.float32)
        f = self._odds(rng.standard_normal((20_000, d), dtype=np.float32))
        self.mean, self.std = float(f.mean()), float(f.std())

    def _odds(self, Z):
        return np.maximum(Z @ self.W + self.c, 0) @ self.a

    def rows(self, number, size):
        """Rows in float16 and labels 0, 1 of a shard, by its number."""
        rng = np.random.default_rng([self.seed, self.d, number])
        Z = rng.standard_normal((size, self.d), dtype=np.float32)
        odds = _SIGNAL * (self._odds(Z) - self.mean) / self.std + rng.logistic(size=size)
        return ((Z * self.scale) @ self.rotation.T).astype(np.float16), (odds > 0).astype(np.int8)


def made(folder, n, d, seed=0):
    """Write n rows, in shards, if they are not there; return the folder."""
    folder = Path(folder) / f"{n}x{d}"
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "whole").exists():
        return folder
    teacher, size = Teacher(d, seed), -(-n // _SHARDS)
    for number, start in enumerate(range(0, n, size)):
        X, y = teacher.rows(number, min(size, n - start))
        np.save(folder / f"X-{number:05d}.npy", X)
        np.save(folder / f"y-{number:05d}.npy", y)
    X, y = teacher.rows(10**6, _TEST)
    np.savez(folder / "test.npz", X=X, y=y)
    (folder / "whole").touch()
    return folder


def files(folder, rows=None):
    """Paths of X and of y of the first rows, whole shards."""
    folder = Path(folder)
    share = 1.0 if rows is None else rows / int(folder.name.split("x")[0])
    every = [sorted(str(path) for path in folder.glob(f"{name}-*.npy")) for name in "Xy"]
    return tuple(paths[: max(1, round(share * len(paths)))] for paths in every)


def first_rows(folder, rows, most, dtype=np.float32):
    """The first ``most`` rows and labels of the shards, in memory."""
    X, y, count = [], [], 0
    for path, label in zip(*files(folder, rows), strict=True):
        X.append(np.load(path).astype(dtype))
        y.append(np.load(label).astype(np.int32))
        count += len(y[-1])
        if count >= most:
            break
    return np.concatenate(X)[:most], np.concatenate(y)[:most]


def judges(folder, held=False):
    """Rows that judge, in float32: those that no fit sees, or training rows, of the last shard, for trials."""
    if held:
        X, y = (np.load(paths[-1], mmap_mode="r")[:_TEST] for paths in files(folder))
        return X.astype(np.float32), y.astype(int)
    with np.load(Path(folder) / "test.npz") as found:
        return found["X"].astype(np.float32), found["y"].astype(int)


def judged(probabilities, y):
    """Accuracy and mean log loss of probabilities of class 1."""
    p = np.clip(probabilities, 1e-7, 1 - 1e-7)
    return float(np.mean((p > 0.5) == y)), float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))
