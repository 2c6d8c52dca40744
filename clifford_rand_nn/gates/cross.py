"""Cross-product gates: hyperplanes through sampled rows, exact or in a sketch (Algorithms 2 and 4 of the paper)."""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.crossproduct.exact import cross_log
from clifford_rand.sketch.maps import SJLT
from clifford_rand_nn.gates.chamber import Move, Samples
from clifford_rand_nn.gates.hyperplanes import Gates

__all__ = ["auto_sketch_dim", "cross_gates"]

_PAPER_SKETCH_DIM = 100  # section 4.2 of the paper: r = 100 for d = 384 … 1536
_INCIDENT_SHARE = 4  # "auto" lets at most n/4 rows lie on a plane: their sides are coin flips, the other rows' are not
_ROUNDS = 32  # how often unusable planes are drawn again before the sketch is made smaller
_BLOCK_BYTES = 64 * 2**20  # of sampled rows held at a time
_MOST_GATES = 2**16  # that side="all" may make


def auto_sketch_dim(n: int, d: int) -> int | None:
    """Sketch size for n rows in dimension d: None (exact) if d ≤ 100 and n ≥ 4d, else min(100, d, n/4), at least 1.

    Examples
    --------
    >>> auto_sketch_dim(160, 2), auto_sketch_dim(2000, 384), auto_sketch_dim(200, 384)
    (None, 100, 50)
    """
    if d <= _PAPER_SKETCH_DIM and n >= _INCIDENT_SHARE * d:
        return None
    return max(1, min(_PAPER_SKETCH_DIM, d, n // _INCIDENT_SHARE))


class _Placed(NamedTuple):
    """A gate with the rows on its plane and the side that each was given."""

    move: Move
    rows: NDArray[np.intp]
    sides: NDArray[np.bool_]


def cross_gates(
    X: NDArray[np.float64], n_gates: int, sketch_dim: int | None, bias: bool, side: str, rng: np.random.Generator
) -> Gates:
    r"""Gates through sampled rows of X (n, d), moved into a chamber next to them.

    Without bias, d-1 rows and :math:`v = \times(x_{j_1}, …, x_{j_{d-1}})`; with bias, d rows,
    :math:`v = \times(x_{j_1}-x_{j_d}, …, x_{j_{d-1}}-x_{j_d})` and :math:`b = -v^Tx_{j_d}`. In a sketch of dimension r,
    r takes the place of d, the rows are :math:`Sx_j`, and :math:`v = S^T\tilde v`; the offset uses v, so that the plane
    passes through the sampled rows themselves. The orientation of v is drawn at random. Where X is rank-deficient or
    has too few rows, a smaller sketch is used, and the notes say so.
    """
    n, d = X.shape
    notes: list[str] = []
    if (d if sketch_dim is None else sketch_dim) - 1 + bias > n:
        asked, sketch_dim = sketch_dim, max(1, min(_PAPER_SKETCH_DIM, d, n // _INCIDENT_SHARE))
        notes.append(f"{n} rows are too few for {_words(asked, d)}: sketched to r = {sketch_dim}")
    samples = Samples(X, bias)
    while True:
        placed, n_dependent, n_close = _draw(samples, n_gates, sketch_dim, side, rng)
        if placed:
            break
        if sketch_dim == 1:
            rule = "rows that a hyperplane can separate in double precision"
            raise fail("X", "sample_gates", rule, describe(f"{n} rows, some closer than rounding"), "Scale or round X.")
        asked, sketch_dim = sketch_dim, _smaller(X, sketch_dim, bias)
        notes.append(f"all samples for {_words(asked, d)} were degenerate: sketched to r = {sketch_dim}")
    if n_dependent:
        notes.append(f"{n_dependent} linearly dependent samples were drawn again")
    if n_close:
        notes.append(f"{n_close} planes that left a row within rounding were drawn again")
    return Gates(
        directions=np.stack([p.move.direction for p in placed], axis=1),
        offsets=np.array([p.move.offset for p in placed]),
        incident=np.stack([p.rows for p in placed]),
        sides=np.stack([p.sides for p in placed]),
        n_dependent=np.array([p.move.n_dependent for p in placed], dtype=np.intp),
        method="cross",
        sketch_dim=sketch_dim,
        notes=tuple(notes),
    )


def _draw(
    samples: Samples, n_gates: int, sketch_dim: int | None, side: str, rng: np.random.Generator
) -> tuple[list[_Placed], int, int]:
    """Place ``n_gates`` planes, or return an empty list; with the numbers of dependent and of too close samples."""
    X, bias = samples.X, samples.bias
    r = X.shape[1] if sketch_dim is None else sketch_dim
    sketch = None if sketch_dim is None else SJLT(r, X.shape[1], rng=rng)
    data = X if sketch is None else X @ sketch.T
    k = r - 1 + bias
    _check_side(side, k, n_gates)
    placed: list[_Placed] = []
    n_planes = n_dependent = n_close = 0
    for _ in range(_ROUNDS):
        index, V = _planes(data, n_gates - n_planes, k, bias, rng)
        n_dependent += n_gates - n_planes - len(index)
        if len(index) == 0:
            if n_planes == 0:
                break  # not one of a whole round: a lower rank, not bad luck
            continue
        directions = (V.T if sketch is None else sketch.T @ V.T) * rng.choice([-1.0, 1.0], size=len(index))
        choices = [_sides(side, k, rng) for _ in index]
        each = len(choices[0])
        moves = samples.moves(
            np.repeat(index, each, axis=0), np.repeat(directions, each, axis=1), np.concatenate(choices), rng
        )
        for i, rows in enumerate(index):
            mine = moves[i * each : (i + 1) * each]
            if all(move.safe for move in mine):
                placed += [_Placed(move, rows, sides) for move, sides in zip(mine, choices[i], strict=True)]
                n_planes += 1
            else:
                n_close += 1
        if n_planes == n_gates:
            return placed, n_dependent, n_close
    return [], n_dependent, n_close


def _planes(
    data: NDArray[np.float64], m: int, k: int, bias: bool, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw k of the rows of ``data`` (n, r), m times; return those that are independent and their unit products."""
    n, r = data.shape
    index = np.array([rng.choice(n, size=k, replace=False) for _ in range(m)], dtype=np.intp)
    V = np.empty((m, r))
    block = max(1, _BLOCK_BYTES // (8 * max(1, k) * r))
    for start in range(0, m, block):
        rows = data[index[start : start + block]]  # (·, k, r)
        V[start : start + block] = cross_log(rows[:, :-1] - rows[:, -1:] if bias else rows).direction
    independent = V.any(axis=1)
    return index[independent], V[independent]


def _sides(side: str, k: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sides for k incident rows: one row of them, or all 2^k."""
    if side == "all":
        return np.array(list(product([False, True], repeat=k)), dtype=bool).reshape(-1, k)
    if side == "random":
        return rng.random((1, k)) < 0.5
    return np.full((1, k), side == "on")


def _check_side(side: str, k: int, n_gates: int) -> None:
    if side == "all" and n_gates * 2.0**k > _MOST_GATES:
        raise fail(
            "side",
            "sample_gates",
            f"such that at most {_MOST_GATES} gates result",
            describe(f"'all' for {n_gates} planes through {k} rows, {n_gates} * 2^{k} gates"),
            "Use side='random', fewer gates or a smaller sketch_dim.",
        )


def _smaller(X: NDArray[np.float64], sketch_dim: int | None, bias: bool) -> int:
    """Next sketch size to try: the rank of the (centred) rows after an exact failure, then three quarters."""
    if sketch_dim is not None:
        return max(1, 3 * sketch_dim // 4)
    rank = int(np.linalg.matrix_rank(X - X.mean(axis=0) if bias else X))
    return max(1, min(rank, _PAPER_SKETCH_DIM, int(X.shape[1]) - 1))


def _words(sketch_dim: int | None, d: int) -> str:
    return f"an exact cross product in R^{d}" if sketch_dim is None else f"a sketch of dimension r = {sketch_dim}"
