"""The public sampler of gates: checks its arguments and chooses the method."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_generator, as_rows, check_choice, check_fits, check_integer, describe, fail
from clifford_rand.sketch.base import Sketch
from clifford_rand_nn.gates.hyperplanes import Gates, with_mirror_images
from clifford_rand_nn.gates.rules import PLANE_RULES, ROW_RULES, target_codes
from clifford_rand_nn.gates.through_rows import SKETCHES, auto_sketch_dim, gates_through_rows

METHODS = ("cross", "gaussian", *(name for name in (*ROW_RULES, *PLANE_RULES) if name not in ("cross", "gaussian")))


def sample_gates(
    X: ArrayLike,
    n_gates: int,
    method: str = "cross",
    sketch_dim: int | str | None = None,
    bias: bool = True,
    rng: np.random.Generator | int | None = None,
    side: str = "random",
    *,
    y: ArrayLike | None = None,
    sketch: str | Sketch = "sjlt",
    mirror: bool = False,
) -> Gates:
    r"""Sample hyperplanes that gate the neurons of a two-layer network.

    They are drawn for the distinct rows of X in lexicographic order: for one seed they are the same whatever the order
    of the rows, and however often one occurs.

    Parameters
    ----------
    X : (n, d) array of real numbers
        Training rows; the decision is taken in float64 whatever the dtype.
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
    rng : Generator, int or None
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
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> gates = sample_gates(X, 5, rng=1)
    >>> gates.directions.shape, gates.offsets.shape, gates.incident.shape
    ((3, 5), (5,), (5, 3))
    >>> bool((np.take_along_axis(gates.on(X), gates.incident.T, axis=0).T == gates.sides).all())
    True
    """
    owner = "sample_gates"
    data: Any = as_rows(X, owner)
    check_integer(n_gates, "n_gates", owner)
    check_choice(method, "method", owner, METHODS)
    check_choice(bias, "bias", owner, (True, False))
    check_choice(side, "side", owner, ("random", "on", "off", "all"))
    check_choice(mirror, "mirror", owner, (True, False))
    generator = as_generator(rng, owner)
    unique = distinct_rows(data if method != "opposite" or y is None else np.hstack([data, target_codes(y, len(data))]))
    if y is not None:
        y = np.asarray(y)[unique]
    data = data[unique]
    n, d = data.shape
    # Directions as drawn, as moved, and as kept, and a pattern on the rows.
    check_fits(n_gates * (24 * d + n), "n_gates", owner, hint="Take fewer gates.")
    if sketch_dim is not None and sketch_dim != "auto":
        if isinstance(sketch_dim, str):
            raise fail("sketch_dim", owner, "an integer, 'auto' or None", sketch_dim)
        check_integer(sketch_dim, "sketch_dim", owner, low=1, high=d, hint="A sketch is not larger than the data.")
    if method in PLANE_RULES:
        gates = PLANE_RULES[method](data, n_gates, y, bias, generator)
    else:
        r = _sketch_rows(n, d, sketch_dim, sketch)
        gates = gates_through_rows(data, n_gates, method, r, sketch, bias, side, generator)
        gates = replace(gates, incident=unique[gates.incident])
    return with_mirror_images(gates) if mirror else gates


def distinct_rows(X: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the first index of each distinct row of X (n, d), in lexicographic order of the rows.

    What is drawn from these rows depends neither on the order of the rows nor on how often one occurs.

    Examples
    --------
    >>> distinct_rows(np.array([[2.0, 0.0], [-1.0, 5.0], [2.0, 0.0], [2.0, -1.0]])).tolist()
    [1, 3, 0]
    """
    bits = (np.ascontiguousarray(X, dtype=np.float64) + 0.0).view(np.int64)  # + 0.0 turns -0 to 0
    # The bits of floats as unsigned integers of the same order, with the highest byte first: rows compare as bytes do.
    keys = (bits ^ (bits >> 63 | np.int64(-(2**63)))).astype(">i8")
    return np.unique(keys.view(f"V{8 * X.shape[1]}").ravel(), return_index=True)[1]


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
