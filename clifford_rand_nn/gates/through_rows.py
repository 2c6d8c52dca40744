"""Gates through rows of the data, exact or in a sketch: planes by a rule, moved into a chamber, drawn until enough."""

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.sketch.base import Sketch
from clifford_rand.sketch.gaussian import GaussianSketch
from clifford_rand.sketch.sparse import SJLT, SparseSign
from clifford_rand.sketch.srht import SRHT
from clifford_rand_nn.gates.chamber import Move, Samples
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.gates.rules import ROW_RULES

SKETCHES: dict[str, type[SJLT | SparseSign | SRHT | GaussianSketch]] = {
    "sjlt": SJLT,
    "sparse_sign": SparseSign,
    "srht": SRHT,
    "gaussian": GaussianSketch,
}

_PAPER_SKETCH_DIM = 100  # section 4.2 of the paper: r = 100 for d = 384 … 1536
_INCIDENT_SHARE = 4  # a sketch that was not asked for lets at most n/4 rows lie on a plane
_ROUNDS = 32  # how often unusable planes are drawn again before the sketch is made smaller
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


def gates_through_rows(
    X: NDArray[np.float64],
    n_gates: int,
    method: str,
    sketch_dim: int | None,
    sketch: str | Sketch,
    bias: bool,
    side: str,
    rng: np.random.Generator,
) -> Gates:
    r"""Gates through rows of X (n, d) that a rule chooses, moved into a chamber next to them.

    Without bias, d-1 rows and :math:`v = \times(x_{j_1}, …, x_{j_{d-1}})`; with bias, d rows,
    :math:`v = \times(x_{j_1}-x_{j_d}, …, x_{j_{d-1}}-x_{j_d})` and :math:`b = -v^Tx_{j_d}`. In a sketch of dimension r,
    r takes the place of d, the rows are :math:`Sx_j`, and :math:`v = S^T\tilde v`; the offset uses v, so that the plane
    passes through the sampled rows themselves. Unless the rule orients v, its sign is drawn at random. Where X is
    rank-deficient or has too few rows, a smaller sketch is used, and the notes say so.
    """
    n, d = X.shape
    draw = _Draw(Samples(X, bias), method, sketch, side, rng)
    notes: list[str] = []
    if (d if sketch_dim is None else sketch_dim) - 1 + bias + (method == "simplex") > n:
        draw.refuse_smaller(f"{n} rows")
        asked, sketch_dim = sketch_dim, max(1, min(_PAPER_SKETCH_DIM, d, n // _INCIDENT_SHARE))
        notes.append(f"{n} rows are too few for {_words(asked, d)}: sketched to r = {sketch_dim}")
    while True:
        placed, n_dependent, n_close = draw(n_gates, sketch_dim)
        if placed:
            break
        draw.refuse_smaller("only dependent rows, or rows closer than rounding")
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
        method=method,
        sketch_dim=sketch_dim,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Draw:
    """Draws planes for one call: the rows, the rule, the kind of sketch, the sides."""

    samples: Samples
    method: str
    sketch: str | Sketch
    side: str
    rng: np.random.Generator

    def __call__(self, n_gates: int, sketch_dim: int | None) -> tuple[list[_Placed], int, int]:
        """Place ``n_gates`` planes, or return an empty list; with the numbers of dependent and of too close samples."""
        X, bias, rng = self.samples.X, self.samples.bias, self.rng
        sketch = None if sketch_dim is None else self._made(sketch_dim)
        data = X if sketch is None else np.asarray(X @ sketch.T)
        k = data.shape[1] - 1 + bias
        _check_side(self.side, k, n_gates)
        placed: list[_Placed] = []
        n_planes = n_dependent = n_close = 0
        for _ in range(_ROUNDS):
            index, V, oriented = ROW_RULES[self.method](data, k, n_gates - n_planes, bias, rng)
            n_dependent += n_gates - n_planes - len(index)
            if len(index) == 0:
                if n_planes == 0:
                    break  # not one of a whole round: a lower rank, not bad luck
                continue
            directions = V.T if sketch is None else np.asarray(sketch.T @ V.T)
            if not oriented:
                directions = directions * rng.choice([-1.0, 1.0], size=len(index))
            choices = [_sides(self.side, k, rng) for _ in index]
            each = len(choices[0])
            moves = self.samples.moves(
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

    def _made(self, r: int) -> Sketch:
        if isinstance(self.sketch, Sketch):
            return self.sketch
        return SKETCHES[self.sketch](r, self.samples.X.shape[1], rng=self.rng)

    def refuse_smaller(self, found: str) -> None:
        """Raise where the caller's own sketch would have to be replaced by a smaller one."""
        if isinstance(self.sketch, Sketch):
            rule = "small enough that cross products of sketched rows do not vanish"
            hint = f"There are {found}: give a sketch with fewer rows, or its kind by name."
            raise fail("sketch", "sample_gates", rule, self.sketch, hint)


def _sides(side: str, k: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sides for k incident rows: one row of them, or all 2^k."""
    if side == "all":
        return np.array(list(product([False, True], repeat=k)), dtype=bool).reshape(-1, k)
    if side == "random":
        return rng.random((1, k)) < 0.5
    return np.full((1, k), side == "on")


def _check_side(side: str, k: int, n_gates: int) -> None:
    if side == "all" and n_gates * 2.0**k > _MOST_GATES:
        found = describe(f"'all' for {n_gates} planes through {k} rows, {n_gates} * 2^{k} gates")
        hint = "Use side='random', fewer gates or a smaller sketch_dim."
        raise fail("side", "sample_gates", f"such that at most {_MOST_GATES} gates result", found, hint)


def _smaller(X: NDArray[np.float64], sketch_dim: int | None, bias: bool) -> int:
    """Next sketch size to try: the rank of the (centred) rows after an exact failure, then three quarters."""
    if sketch_dim is not None:
        return max(1, 3 * sketch_dim // 4)
    rank = int(np.linalg.matrix_rank(X - X.mean(axis=0) if bias else X))
    return max(1, min(rank, _PAPER_SKETCH_DIM, int(X.shape[1]) - 1))


def _words(sketch_dim: int | None, d: int) -> str:
    return f"an exact cross product in R^{d}" if sketch_dim is None else f"a sketch of dimension r = {sketch_dim}"
