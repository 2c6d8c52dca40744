"""Passes over shards: moments, targets and classes of all rows."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand.compiler.decorator import compiled
from clifford_rand_nn.row_sums import Block, Engine, Part, PartWork
from clifford_rand_nn.shards.source import Shards, shard_blocks

_BEYOND_HALF = 65536.0  # what `lifted` makes of what is not finite in half precision, or more
_MOST_CLASSES = 10_000  # more different labels are most likely real targets
_REGRESSOR = "Real targets are for a regressor."


class Sample(NamedTuple):
    """Rows drawn from all rows, each as likely as any other, in the order in which they are stored."""

    rows: NDArray[np.int64]
    X: NDArray[Any]
    y: NDArray[Any] | None
    weights: Array | None


class Facts(NamedTuple):
    """Facts of all rows, from one pass."""

    n: int  # rows of weight > 0; others count nowhere
    weight: float  # sum of the weights
    sums: Array  # (d,): weighted sums of the columns and of their squares
    squares: Array
    labels: dict[Any, float]  # weight of each label, of classifiers; empty for regressors
    energies: dict[Any, float]  # weighted sum of the squared lengths of the rows of each label
    bounds: Array  # (2, C): least and largest real targets of the rows that count; (2, 0) of classifiers
    sample: Sample

    @property
    def mean_weight(self) -> float:
        """Mean weight of the rows that count."""
        return self.weight / self.n

    def feature(self, factors: Array | None = None) -> float:
        """Return the root mean square of all entries, the constant of `bias_feature`; 1 if all are 0.

        ``factors`` (n_classes,) are those of the weights of the rows of each label.
        """
        weight, total = self.weight, math.fsum(self.squares)
        if factors is not None:
            weight = float(factors @ np.array(list(self.labels.values())))
            total = float(factors @ np.array(list(self.energies.values())))
        return math.sqrt(total / (weight * len(self.squares))) if total > 0 else 1.0


class _Scan(PartWork):
    def __init__(self, chosen: NDArray[np.int64], classify: bool, owner: str) -> None:
        self.chosen, self.classify, self.owner = chosen, classify, owner

    def of(self, shards: Shards, part: Part) -> Facts:
        d = shards.n_features
        n = 0
        weight: list[float] = []
        sums, squares = np.zeros(d), np.zeros(d)
        labels: dict[Any, float] = defaultdict(float)
        energies: dict[Any, float] = defaultdict(float)
        picked: list[Sample] = []
        ranges: list[Array] = []
        for block in shard_blocks(shards, part, self.rows):
            w = np.ones(len(block.X)) if block.weights is None else np.ascontiguousarray(block.weights)
            lengths = np.empty(len(w))
            _add_moments(_floats(block.X), w, sums, squares, lengths)
            self._check(block, lengths, shards.shards[part.shard])
            n, weight = n + int(np.count_nonzero(w)), [*weight, float(w.sum())]
            if self.classify and block.y is not None:
                values, where = np.unique(block.y[w > 0], return_inverse=True)
                self._check_labels(values, shards.shards[part.shard])
                where, shares = where.ravel(), w[w > 0]
                # squared lengths of the rows of each label: class weights change the constant feature
                energy = np.bincount(where, shares * lengths[w > 0])
                for label, count, square in zip(values.tolist(), np.bincount(where, shares), energy, strict=True):
                    labels[label] += float(count)
                    energies[label] += float(square)
                _check_classes(labels, "in one part", self.owner)
            elif block.y is not None and block.y.dtype.kind in "fiub" and w.any():
                reals = np.asarray(block.y[w > 0], dtype=np.float64).reshape(np.count_nonzero(w), -1)
                ranges += [reals.min(axis=0), reals.max(axis=0)]
            index = self.chosen[slice(*np.searchsorted(self.chosen, [block.first, block.first + len(w)]))]
            picked.append(Sample(index, *(None if a is None else a[index - block.first] for a in block[:3])))  # type: ignore[arg-type]
        sample = _joined(picked, d, shards.dtype)
        return Facts(n, math.fsum(weight), sums, squares, dict(labels), dict(energies), _bounds(ranges), sample)

    def _check_labels(self, labels: NDArray[Any], shard: Any) -> None:
        if labels.dtype.kind == "f" and (labels % 1 != 0).any():
            received = describe(f"{labels[labels % 1 != 0][0]:g} in {shard.y.name}")
            raise fail("y", self.owner, "labels: texts, integers or truth values", received, _REGRESSOR)

    def _check(self, block: Block, lengths: Array, shard: Any) -> None:
        small = float(lengths.max()) < (_BEYOND_HALF**2 if block.X.dtype == np.float16 else np.inf)
        for name, values, stored in (
            ("X", None if small else block.X, shard.X),
            ("y", block.y, shard.y),
            ("sample_weight", block.weights, shard.weights),
        ):
            if values is None or values.dtype.kind not in "fc" or np.isfinite(values).all():
                continue
            row = block.first + int(np.argwhere(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0, 0])
            received = describe(f"one that is not, in row {row} of all, in {stored.name}")
            hint = "Fill or drop such rows when the shards are written."
            raise fail(name, self.owner, "finite numbers", received, hint)
        if block.weights is not None and (block.weights < 0).any():
            row = block.first + int(np.argmax(block.weights < 0))
            received = describe(f"one < 0, row {row}, {shard.weights.name}")
            raise fail("sample_weight", self.owner, "numbers ≥ 0", received)


def _check_classes(labels: Mapping[Any, float], where: str, owner: str) -> None:
    if len(labels) > _MOST_CLASSES:
        rule = f"labels of at most {_MOST_CLASSES} classes"
        raise fail("y", owner, rule, describe(f"{len(labels)} {where}"), _REGRESSOR)


def _floats(X: NDArray[Any]) -> NDArray[Any]:
    if X.dtype == np.float16:
        return lifted(X)
    return np.ascontiguousarray(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)


def _add_moments_by_numpy(X: Any, w: Any, sums: Any, squares: Any, lengths: Any) -> None:
    X = X.astype(np.float64, copy=False)
    sums += w @ X
    squares += w @ X**2
    np.sum(X**2, axis=1, out=lengths)


@compiled(plain=_add_moments_by_numpy, error_model="numpy", fastmath={"reassoc", "contract"})
def _add_moments(X: Any, w: Any, sums: Any, squares: Any, lengths: Any) -> None:
    """Add weighted sums of columns and of their squares, reading X once; ``lengths`` are those of the rows, squared."""
    for i in range(X.shape[0]):
        length = 0.0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            sums[j] += w[i] * x
            squares[j] += w[i] * x * x
            length += x * x
        lengths[i] = length


def _bounds(ranges: list[Array]) -> Array:
    """Return the least and the largest of rows (C,), or (2, 0) of none."""
    return np.stack([np.min(ranges, axis=0), np.max(ranges, axis=0)]) if ranges else np.zeros((2, 0))


def _joined(samples: list[Sample], d: int, dtype: Any) -> Sample:
    """Return several samples as one."""
    samples = [sample for sample in samples if len(sample.X)]
    if not samples:
        return Sample(np.zeros(0, dtype=np.int64), np.zeros((0, d), dtype), None, None)
    fields = zip(*samples, strict=True)
    return Sample(*(None if values[0] is None else np.concatenate(values) for values in fields))  # type: ignore[arg-type]


def scan(engine: Engine, size: int, seed: Any, classify: bool, owner: str) -> Facts:
    """Read all rows once.

    ``size``: rows of the sample; all, where there are no more. ``seed``: draws them. ``classify``: whether targets are
    labels. ``owner``: whose errors these are. Raises ArgumentError: numbers that are not finite, weights < 0 or all 0,
    no targets; of classifiers multilabel targets, labels that are real numbers, one class, more classes than a
    classifier has.
    """
    shards = engine.shards
    if not shards.has_targets:
        raise fail("shards", owner, "shards with targets", describe("without y"), "Give y, or y-00000.npy, … beside X.")
    y: Any = shards.shards[0].y
    if classify and y.shape[1:] not in ((), (1,)):
        raise fail("y", owner, "one label a row with Shards", describe(f"{y.shape[1]} columns"))
    chosen = np.sort(seed.choice(shards.n_rows, min(size, shards.n_rows), replace=False))
    facts = _together(list(engine.each(_Scan(chosen, classify, owner))))
    if facts.weight <= 0:
        raise fail("sample_weight", owner, "not all 0", describe("only zeros"))
    if classify:
        _check_classes(facts.labels, "in all", owner)
    if classify and len(facts.labels) < 2:
        raise fail("y", owner, "labels of at least two classes", describe(f"one class, {next(iter(facts.labels))!r}"))
    return facts


def _together(parts: Iterable[Facts]) -> Facts:
    facts = list(parts)
    labels: Counter[Any] = Counter()
    energies: Counter[Any] = Counter()
    for part in facts:
        labels.update(part.labels)
        energies.update(part.energies)
    return Facts(
        sum(part.n for part in facts),
        math.fsum(part.weight for part in facts),
        np.sum([part.sums for part in facts], axis=0),
        np.sum([part.squares for part in facts], axis=0),
        dict(sorted(labels.items())),
        dict(sorted(energies.items())),
        _bounds([row for part in facts if part.bounds.size for row in part.bounds]),
        _joined([part.sample for part in facts], len(facts[0].sums), np.float64),
    )


_LIFT = np.float32(2.0**112)  # single precision has 127 where half has 15


def _spread_bits_by_numpy(bits: Any, last: Any, out: Any) -> None:
    out[:, : bits.shape[1]], out[:, bits.shape[1] :] = bits.view(np.float16), last


@compiled(plain=_spread_bits_by_numpy, error_model="numpy")
def _spread_bits(bits: Any, last: Any, out: Any) -> None:
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            h = np.uint32(bits[i, j])
            moved = ((h & np.uint32(0x8000)) << np.uint32(16)) | ((h & np.uint32(0x7FFF)) << np.uint32(13))
            out[i, j] = np.uint32(moved).view(np.float32) * _LIFT
        for j in range(bits.shape[1], out.shape[1]):
            out[i, j] = last


def lifted(X: NDArray[Any], dtype: Any = np.float32, feature: float | None = None) -> NDArray[Any]:
    """Return finite rows (k, d) in a precision, an array of their own, with a column beside them that is ``feature``.

    >>> lifted(np.array([[1.5, -6e-8]], np.float16), feature=1.0).tolist()
    [[1.5, -5.960464477539063e-08, 1.0]]
    """
    (k, d), last = X.shape, 0.0 if feature is None else feature
    out = np.empty((k, d + (feature is not None)), dtype=dtype)
    if X.dtype == np.float16:
        bits = np.ascontiguousarray(X).view(np.uint16)  # whole rows: with strides it would not be vectorized
        _spread_bits(bits, last, out)
    else:
        out[:, :d], out[:, d:] = X, last
    return out


def masked_sums(Z: NDArray[Any], on: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the sums over p of on[j, p] Z[j, p], (k,), added up in double precision."""
    out = np.empty(len(Z))
    _sums(Z, on, out)
    return out


def masked(on: NDArray[np.uint8], theta: NDArray[np.float64], dtype: Any) -> NDArray[Any]:
    """Return on[j, p] theta[j], (k, P), in a precision."""
    out = np.empty(on.shape, dtype)
    _spread_mask(on, theta, out)
    return out


@compiled(
    plain=lambda Z, on, out: np.einsum("jp,jp->j", Z, on, out=out),
    error_model="numpy",
    fastmath={"reassoc", "contract"},
)
def _sums(Z: Any, on: Any, out: Any) -> None:
    for j in range(Z.shape[0]):
        total = 0.0
        for p in range(Z.shape[1]):
            total += Z[j, p] * on[j, p]
        out[j] = total


@compiled(plain=lambda on, theta, out: np.multiply(on, theta[:, None], out=out, casting="unsafe"), error_model="numpy")
def _spread_mask(on: Any, theta: Any, out: Any) -> None:
    for j in range(on.shape[0]):
        for p in range(on.shape[1]):
            out[j, p] = theta[j] * on[j, p]
