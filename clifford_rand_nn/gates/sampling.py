"""The sampler of gates: planes by a rule; those through rows, exact or in a sketch, moved into a chamber."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import hstack, issparse

from clifford_rand._checks import as_generator, check_choice, check_fits, check_integer, check_squares, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.sketch.base import Sketch
from clifford_rand.sketch.dense import SRHT, GaussianSketch
from clifford_rand.sketch.products import is_deficient
from clifford_rand.sketch.sparse import SJLT, SparseSign
from clifford_rand_nn.gates.chamber import Move, Samples
from clifford_rand_nn.gates.hyperplanes import Gates, with_mirror_images
from clifford_rand_nn.gates.rules import PLANE_RULES, ROW_RULES, target_codes
from clifford_rand_nn.sparse_rows import ShiftedRows, as_rows_or_csr, distinct_rows

SKETCHES: dict[str, type[SJLT | SparseSign | SRHT | GaussianSketch]] = {
    "sjlt": SJLT,
    "sparse_sign": SparseSign,
    "srht": SRHT,
    "gaussian": GaussianSketch,
}

_PAPER_SKETCH_DIM = 100  # section 4.2 of the paper: r = 100 for d = 384 … 1536
_INCIDENT_SHARE = 4  # a sketch that was not asked for lets at most n/4 rows lie on a plane
_ROUNDS = 32  # how often unusable planes are drawn again before the sketch is made smaller
_SHORT = 0.05  # of the length √(d/r) that Sᵀ gives a unit vector on average: below it the rank of S is looked at
_MOST_GATES = 2**16  # that side="all" may make
METHODS = ("cross", "gaussian", *(name for name in (*ROW_RULES, *PLANE_RULES) if name not in ("cross", "gaussian")))


def auto_sketch_dim(n: int, d: int) -> int | None:
    """Sketch size for n rows in dimension d: None (exact) if d ≤ 100 and n ≥ 4d, else min(100, d, n/4), at least 1."""
    if d <= _PAPER_SKETCH_DIM and n >= _INCIDENT_SHARE * d:
        return None
    return max(1, min(_PAPER_SKETCH_DIM, d, n // _INCIDENT_SHARE))


class _Placed(NamedTuple):
    """A gate with the rows on its plane and the side that each was given."""

    move: Move
    rows: NDArray[np.intp]
    sides: NDArray[np.bool_]


def gates_through_rows(draw: "_Draw", n_gates: int, sketch_dim: int | None) -> Gates:
    r"""Gates through rows of X (n, d), array or `ShiftedRows`, that a rule selects, moved into a chamber next to them.

    Without bias, d-1 rows and :math:`v = \times(x_{j_1}, …, x_{j_{d-1}})`; with bias, d rows,
    :math:`v = \times(x_{j_1}-x_{j_d}, …, x_{j_{d-1}}-x_{j_d})` and :math:`b = -v^Tx_{j_d}`. In a sketch of dimension r,
    r takes the place of d, the rows are :math:`Sx_j`, and :math:`v = S^T\tilde v`; the offset uses v, so that the plane
    passes through the sampled rows themselves. Unless the rule orients v, its sign is drawn at random. Where X is
    rank-deficient or has too few rows, a smaller sketch is used, and the notes say so.
    """
    X, bias, method = draw.samples.X, draw.samples.bias, draw.method
    n, d = X.shape
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
        for _ in range(_ROUNDS):
            placed_planes = self._within(None if sketch_dim is None else self._made(sketch_dim), n_gates)
            if placed_planes is not None:
                return placed_planes
            if isinstance(self.sketch, Sketch):
                hint = "The direction orthogonal to sketched rows is 0 in the space of the rows. Draw another."
                raise fail("sketch", "sample_gates", f"of rank r = {self.sketch.shape[0]}", self.sketch, hint)
        return [], 0, 0

    def _within(self, sketch: Sketch | None, n_gates: int) -> tuple[list[_Placed], int, int] | None:
        """Place planes by a sketch, or exactly; None for a sketch of a lower rank, which takes normals to noise."""
        X, bias, rng = self.samples.X, self.samples.bias, self.rng
        data = X
        if sketch is not None:
            data = X.sketched(sketch) if isinstance(X, ShiftedRows) else np.asarray(X @ sketch.T)
        k = data.shape[1] - 1 + bias
        if self.side == "all" and n_gates * 2.0**k > _MOST_GATES:
            value = describe(f"'all' for {n_gates} planes through {k} rows, {n_gates} * 2^{k} gates")
            hint = "Use side='random', fewer gates or a smaller sketch_dim."
            raise fail("side", "sample_gates", f"such that at most {_MOST_GATES} gates result", value, hint)
        placed: list[_Placed] = []
        n_planes = n_dependent = n_close = 0
        for _ in range(_ROUNDS):
            index, V, oriented = ROW_RULES[self.method](data, k, n_gates - n_planes, bias, rng)
            n_dependent += n_gates - n_planes - len(index)
            if len(index) == 0:
                if n_planes == 0:
                    break  # not one of a whole round: a lower rank, not bad luck
                continue
            # v = Sᵀ ṽ passes exactly through the sampled points
            directions = V.T if sketch is None else np.asarray(sketch.T @ V.T)
            if sketch is not None and _loses(sketch, directions):
                return None
            if not oriented:
                # a cross product has no orientation of its own
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

    def refuse_smaller(self, placed_planes: str) -> None:
        """Raise where the caller's own sketch would have to be replaced by a smaller one."""
        if isinstance(self.sketch, Sketch):
            rule = "small enough that cross products of sketched rows do not vanish"
            hint = f"There are {placed_planes}: give a sketch with fewer rows, or its kind by name."
            raise fail("sketch", "sample_gates", rule, self.sketch, hint)


def _loses(sketch: Sketch, directions: NDArray[np.float64]) -> bool:
    """Tell whether directions (d, m) = Sᵀ · unit vectors are rounding noise, since the rank of S is below r."""
    r, d = sketch.shape
    shortest = float(np.linalg.norm(directions, axis=0).min())
    return shortest < _SHORT * (d / r) ** 0.5 and is_deficient(sketch, directions.dtype)


def _sides(side: str, k: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sides for k incident rows: one row of them, or all 2^k."""
    if side == "all":
        return np.array(list(product([False, True], repeat=k)), dtype=bool).reshape(-1, k)
    if side == "random":
        return rng.random((1, k)) < 0.5
    return np.full((1, k), side == "on")


def _smaller(X: NDArray[np.float64], sketch_dim: int | None, bias: bool) -> int:
    """Next sketch size to try: the rank of the (centered) rows after an exact failure, then three quarters."""
    if sketch_dim is not None:
        return max(1, 3 * sketch_dim // 4)
    rank = int(np.linalg.matrix_rank(X - X.mean(axis=0) if bias else X))
    return max(1, min(rank, _PAPER_SKETCH_DIM, int(X.shape[1]) - 1))


def _words(sketch_dim: int | None, d: int) -> str:
    return f"an exact cross product in R^{d}" if sketch_dim is None else f"a sketch of dimension r = {sketch_dim}"


def sample_gates(
    X: ArrayLike,
    n_gates: int,
    method: str = "cross",
    *,
    sketch_dim: int | str | None = None,
    bias: bool = True,
    random_state: np.random.Generator | int | None = None,
    side: str = "random",
    y: ArrayLike | None = None,
    sketch: str | Sketch = "sjlt",
    mirror: bool = False,
) -> Gates:
    r"""Sample hyperplanes that gate the neurons of a two-layer network.

    They are drawn for the distinct rows of X in lexicographic order: for one seed they are the same whatever the order
    of the rows, and however often one occurs.

    Parameters
    ----------
    X : (n, d) array of real numbers, or sparse
        Training rows; of sparse ones only some are dense at a time, unless cross products are exact. The decision is
        taken in float64 whatever the dtype.
    n_gates : int
        Number of hyperplanes m.
    method : {"cross", "gaussian", "leverage", "volume", "simplex", "polished", "opposite", "orthogonal"}
        "cross": planes through sampled rows, :math:`v = \times(x_{j_1}, …, x_{j_{d-1}})`, or, with bias,
        :math:`v = \times(x_{j_1}-x_{j_d}, …, x_{j_{d-1}}-x_{j_d})`, :math:`b = -v^Tx_{j_d}`, of random orientation.
        "gaussian": :math:`w \sim N(0, I)`, :math:`b = -w^T\bar x + \sigma\xi` with σ the spread of Xw, ξ ~ N(0, 1).
        "leverage", "volume": cross products of rows drawn by leverage scores, of subsets by squared volume.
        "simplex": all facets of random simplices, many planes from one matrix inverse, dependent among themselves.
        "polished": the cross product of the rows nearest to a Gaussian plane.
        "opposite": :math:`w = x_i - x_j` for rows with different ``y``, through their midpoint, or 0 without bias.
        "orthogonal": "gaussian" with directions that are orthogonal to each other in groups of d.
    sketch_dim : int, "auto" or None
        None: exact cross products. r: taken in a sketch :math:`S \in R^{r\times d}` shared by all gates (SJLT, one
        non-zero per column), :math:`v = S^T\times(Sx_{j_1}, …)`, of r rows with bias and r-1 without. "auto": exact if
        d ≤ 100 and n ≥ 4d, else r = min(100, d, n/4). Only for methods with cross products, which are all but
        "gaussian", "opposite" and "orthogonal".
    bias : bool
        Whether hyperplanes have an offset.
    random_state : Generator, int or None
        Source of randomness, or its seed.
    side : {"random", "on", "off", "all"}
        On which side of its plane each incident row is put. "random": a fair coin each. "all": every plane gives
        :math:`2^k` gates, one for each choice.
    y : (n,) or (n, C) array, optional
        Targets, for method="opposite" only: integers, booleans and text are classes, real numbers are distances apart.
    sketch : {"sjlt", "sparse_sign", "srht", "gaussian"} or Sketch
        The kind of S, or S (r, d) itself; ``sketch_dim`` may then be left out.
    mirror : bool
        Add to every gate its mirror image, the other side of the same plane: 2 ``n_gates`` gates, pair by pair.

    Returns
    -------
    Gates
        ``directions`` (d, m), ``offsets`` (m,), the incident rows and their sides, and ``notes`` that say what was done
        differently: n < d, repeated and collinear rows are drawn again or sketched to a smaller r.

    Raises
    ------
    ArgumentError
        X is not a finite (n, d) array with n, d ≥ 1, or another argument breaks its rule.

    References
    ----------
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, Algorithms 1 to 4,
    equations (optimal:vb) and (optimal:sketch_vb). There the offset of a sketched gate is :math:`-\tilde v^TSx`, equal
    to ours. Sides: with 1(0 ≥ 0) = 1 for every incident row, as the paper prints it, its 2D theorem fails.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> gates = sample_gates(X, 5, random_state=1)
    >>> gates.directions.shape, gates.offsets.shape, gates.incident.shape
    ((3, 5), (5,), (5, 3))
    >>> bool((np.take_along_axis(gates.activations(X), gates.incident.T, axis=0).T == gates.sides).all())
    True
    """
    owner = "sample_gates"
    data = as_rows_or_csr(X, owner)
    check_squares(data if isinstance(data, np.ndarray) else data.data, "X", owner)
    n_gates = check_integer(n_gates, "n_gates", owner)
    check_choice(method, "method", owner, METHODS)
    check_choice(bias, "bias", owner, (True, False))
    check_choice(side, "side", owner, ("random", "on", "off", "all"))
    check_choice(mirror, "mirror", owner, (True, False))
    generator = as_generator(random_state, owner, "random_state")
    # the same gates whatever the order of the rows, and however often one occurs
    unique = distinct_rows(data if method != "opposite" or y is None else _beside(data, y))
    if y is not None:
        y = np.asarray(y)[unique]
    data = data[unique]
    n, d = data.shape
    # Directions as drawn, as moved, and as kept, and a pattern on the rows.
    check_fits(n_gates * (24 * d + n), "n_gates", owner, hint="Take fewer gates.")
    if isinstance(sketch_dim, str) and sketch_dim != "auto":
        raise fail("sketch_dim", owner, "an integer, 'auto' or None", sketch_dim)
    if sketch_dim is not None and not isinstance(sketch_dim, str):
        sketch_dim = check_integer(
            sketch_dim, "sketch_dim", owner, low=1, high=d, hint="A sketch is not larger than the data."
        )
    if method in PLANE_RULES:
        gates = PLANE_RULES[method](ShiftedRows(data) if issparse(data) else data, n_gates, y, bias, generator)
    else:
        r = _sketch_rows(n, d, sketch_dim, sketch)
        if issparse(data):
            if r is None:  # exact cross products take an array
                hint = "Give sketch_dim='auto': in a sketch only some rows are dense."
                check_fits(16 * n * d, "X", owner, hint=hint)
            data = data.toarray() if r is None else ShiftedRows(data)
        gates = gates_through_rows(_Draw(Samples(data, bias), method, sketch, side, generator), n_gates, r)
        gates = replace(gates, incident=unique[gates.incident])
    return with_mirror_images(gates) if mirror else gates


def _beside(X: Any, y: ArrayLike) -> Any:
    """Return the rows [X Y], Y the targets as `target_codes`."""
    codes = target_codes(y, X.shape[0])
    return hstack([X, codes], format="csr") if issparse(X) else np.hstack([X, codes])


def _sketch_rows(n: int, d: int, sketch_dim: int | str | None, sketch: str | Sketch) -> int | None:
    """Return r, or None for exact products; a sketch that is given decides it."""
    owner = "sample_gates"
    if not isinstance(sketch, Sketch):
        check_choice(sketch, "sketch", owner, tuple(SKETCHES))
        r = auto_sketch_dim(n, d) if sketch_dim == "auto" else sketch_dim
        assert not isinstance(r, str)
        return r
    own = sketch.shape[0]
    if sketch.shape[1] != d or own > d:
        raise fail("sketch", owner, f"of shape (r, {d}), r ≤ {d}, to fit X", describe(f"shape {sketch.shape}"))
    if sketch_dim not in (None, "auto", own):
        raise fail("sketch_dim", owner, f"{own}, 'auto' or None for a sketch of {own} rows", sketch_dim)
    return own
