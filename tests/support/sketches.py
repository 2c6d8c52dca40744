"""Every kind of sketch that there is, and one made as docs/contributing.md says; the laws run on each of them."""

import math
from functools import cache

import numpy as np

from clifford_rand import SJLT, SRHT, GaussianSketch, LeverageSampling, SparseSign
from clifford_rand._checks import check_integer
from clifford_rand.sketch.base import Sketch, drawn_seed, log_falling, own_stream

__all__ = ["MAKERS", "RandomSigns", "drawn"]


class RandomSigns(Sketch):
    """Independent entries ±1/√r."""

    has_exchangeable_rows = True
    _arguments = ("r", "d")

    def __init__(self, r, d, *, rng=None):
        self.r, self.d = check_integer(r, "r", "RandomSigns"), check_integer(d, "d", "RandomSigns")
        self.shape = (self.r, self.d)
        self.seed, _ = drawn_seed(rng, "RandomSigns")
        self._matrix = own_stream(self.seed).choice([-1.0, 1.0], size=self.shape) / math.sqrt(self.r)

    def _apply(self, x):
        return self._matrix.astype(x.dtype) @ x

    def _apply_transposed(self, v):
        return self._matrix.T.astype(v.dtype) @ v

    def log_minor_constant(self, k):
        return log_falling(self.r, k) - k * math.log(self.r)


MAKERS = {
    "SJLT": lambda r, d, rng: SJLT(r, d, 1, rng=rng),
    "SJLT2": lambda r, d, rng: SJLT(r, d, min(2, r), rng=rng),
    "SparseSign": lambda r, d, rng: SparseSign(r, d, min(2, r), rng=rng),
    "SRHT": lambda r, d, rng: SRHT(r, d, rng=rng),
    "Gaussian": lambda r, d, rng: GaussianSketch(r, d, rng=rng),
    "Leverage": lambda r, d, rng: LeverageSampling(np.arange(1.0, d + 1), r, rng=rng),
    "RandomSigns": lambda r, d, rng: RandomSigns(r, d, rng=rng),
}


@cache
def drawn(kind, r, d, n):
    """The matrices (n, r, d) of n independent sketches of one kind."""
    return np.stack([MAKERS[kind](r, d, seed).toarray() for seed in range(n)])
