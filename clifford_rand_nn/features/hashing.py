"""Texts as hashed counts of their words and word pairs: no model, no download, a baseline for any embedding."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from clifford_rand._checks import check_integer, describe, fail


class HashingEncoder:
    r"""Encoder of texts: signed counts of n-grams of words, hashed to ``dim`` places, of unit norm.

    With :math:`h` and :math:`s` the hash and its sign, feature :math:`j` is :math:`\sum_{g:\,h(g)=j} s(g)` over the
    n-grams :math:`g` of the text, then divided by the norm; a text without a word of two letters is zero. Inner
    products of such vectors are those of the n-gram counts on average (Weinberger et al. 2009).

    Parameters
    ----------
    dim : int
        Length k of the vectors; 2^10 and more keep collisions of common words rare.
    ngram_range : (int, int), default (1, 2)
        Shortest and longest n-gram.

    References
    ----------
    Weinberger, Dasgupta, Langford, Smola, Attenberg, "Feature Hashing for Large Scale Multitask Learning", ICML 2009;
    computed by scikit-learn's HashingVectorizer.

    Examples
    --------
    >>> vectors = HashingEncoder(1024)(["a good film", "a good movie", "heavy rain"])
    >>> vectors.shape, [round(float(one), 2) for one in vectors @ vectors[0]]
    ((3, 1024), [1.0, 0.33, 0.0])
    """

    def __init__(self, dim: int, ngram_range: tuple[int, int] = (1, 2)) -> None:
        check_integer(dim, "dim", "HashingEncoder", high=2**31 - 1)  # of scikit-learn
        if not (isinstance(ngram_range, Sequence) and len(ngram_range) == 2):
            raise fail("ngram_range", "HashingEncoder", "two integers, shortest and longest", ngram_range)
        low, high = (check_integer(one, "ngram_range", "HashingEncoder") for one in ngram_range)
        if low > high:
            raise fail("ngram_range", "HashingEncoder", "two integers, the shortest first", ngram_range)
        self.dim, self.ngram_range = dim, (low, high)
        self._vectorizer = HashingVectorizer(n_features=dim, ngram_range=(low, high), norm="l2", dtype=np.float32)

    def __repr__(self) -> str:
        return f"HashingEncoder({self.dim}, ngram_range={self.ngram_range})"

    @property
    def cache_key(self) -> str:
        """Name and settings: all that the vectors depend on."""
        return f"hashing:{self.dim}, words {self.ngram_range[0]}-{self.ngram_range[1]}"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors (n, dim) of n texts."""
        wrong = next((text for text in texts if not isinstance(text, str)), None)
        if wrong is not None or isinstance(texts, str):
            raise fail("texts", "HashingEncoder", "a list of texts", wrong if wrong is not None else describe("a text"))
        return np.asarray(self._vectorizer.transform(texts).toarray(), dtype=np.float32)
