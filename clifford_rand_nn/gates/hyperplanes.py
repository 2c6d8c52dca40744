"""Gates: oriented hyperplanes, the sampled rows that lie on them, and the sides those rows were given.

Also what is made of gates: the ones that a user gives, those with the linear gate, those with their mirror images, and
their activation patterns on a set of rows, each pattern once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from clifford_rand._checks import as_array, as_real, check_array, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.sparse_rows import as_rows_or_csr


@dataclass(frozen=True, eq=False)
class Gates:
    r"""``m`` hyperplanes :math:`\{x : h_i^T x + c_i = 0\}`; gate i is on at x when :math:`h_i^T x + c_i \ge 0`.

    Made by `sample_gates`, `enumerate_gates` and `from_arrays`. Iterating gives ``(directions, offsets)``, so ``H, c =
    gates`` works.

    Attributes
    ----------
    directions : (d, m) float64
        One direction per column.
    offsets : (m,) float64
    incident : (m, k) int
        Rows of the training data that span each hyperplane (k = 0 for Gaussian gates); -1 where none does, for the
        linear gate among others.
    sides : (m, k) bool
        The side on which the gate puts each of its incident rows.
    n_dependent : (m,) int
        Further rows that lie on the plane because they depend on the incident ones; their side follows from theirs.
    method : str
        That of `sample_gates`; "given", "exhaustive", "enumerated" where time allowed some of those, "refined",
        "neurons" for those of a trained ReLU network, or "fitted" if some are of linear models.
    sketch_dim : int or None
        Rows of the sketch in which the cross products were taken; None if they are exact.
    notes : tuple of str
        What had to be done differently from what was asked: resampled subsets, a fall-back to the sketch.

    Raises
    ------
    ArgumentError
        The arrays do not fit each other, or are not of these types.

    Examples
    --------
    >>> gates = Gates.from_arrays(np.eye(2), np.zeros(2))
    >>> gates.activations(np.array([[1.0, -1.0]])).tolist()
    [[True, False]]
    """

    directions: NDArray[np.float64]
    offsets: NDArray[np.float64]
    incident: NDArray[np.intp]
    sides: NDArray[np.bool_]
    n_dependent: NDArray[np.intp]
    method: str
    sketch_dim: int | None = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        owner = "Gates"
        H = check_array(self.directions, "directions", owner, (None, None))
        m = check_array(self.offsets, "offsets", owner, (H.shape[1],)).size
        k = check_array(self.incident, "incident", owner, (m, None), np.intp).shape[1]
        check_array(self.sides, "sides", owner, (m, k), np.bool_)
        check_array(self.n_dependent, "n_dependent", owner, (m,), np.intp)
        if not isinstance(self.method, str):
            raise fail("method", owner, "a word", self.method)

    @classmethod
    def from_arrays(cls, directions: ArrayLike, offsets: ArrayLike | None = None) -> "Gates":
        """Wrap hyperplanes from elsewhere: ``directions`` (d, m) and ``offsets`` (m,), zero if None."""
        owner = "Gates.from_arrays"
        H = np.asarray(as_real(directions, "directions", owner), dtype=np.float64)
        if H.ndim != 2:
            raise fail("directions", owner, "of shape (d, m)", describe(f"shape {H.shape}"))
        m = H.shape[1]
        c = np.zeros(m) if offsets is None else np.asarray(as_real(offsets, "offsets", owner), dtype=np.float64)
        if c.shape != (m,):
            raise fail("offsets", owner, f"of shape ({m},), one per direction", describe(f"shape {c.shape}"))
        return gates_without_incidence(H, c, "given")

    def __len__(self) -> int:
        return int(self.offsets.size)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter((self.directions, self.offsets))

    @property
    def d(self) -> int:
        """Dimension of the data."""
        return int(self.directions.shape[0])

    def activations(self, X: Any) -> NDArray[np.bool_]:
        r"""Activation patterns :math:`1(Xh_i + c_i \ge 0)`, (n, m) bool, always decided in float64; X may be CSR."""
        rows = X if issparse(X) else np.asarray(as_real(X, "X", "Gates.activations", min_ndim=1), dtype=np.float64)
        if rows.shape[-1] != self.d:
            raise fail("X", "Gates.activations", f"of shape (n, {self.d})", describe(f"shape {rows.shape}"))
        return np.asarray(rows @ self.directions + self.offsets >= 0)

    def take(self, index: ArrayLike) -> "Gates":
        """Return the gates at ``index``, in that order."""
        i = as_array(index, "index", "Gates.take")
        if i.size and (i.dtype.kind not in "biu" or (i.dtype.kind == "b" and i.shape != self.offsets.shape)):
            rule = f"integers, or {len(self)} truth values"
            raise fail("index", "Gates.take", rule, describe(f"dtype {i.dtype}, shape {i.shape}"))
        i = np.flatnonzero(i) if i.dtype.kind == "b" else i
        if i.ndim != 1 or (i.size and not -len(self) <= int(i.min()) <= int(i.max()) < len(self)):
            raise fail("index", "Gates.take", f"a list of numbers of the {len(self)} gates", index)
        i = i.astype(np.intp)
        return replace(
            self,
            directions=np.ascontiguousarray(self.directions[:, i]),
            offsets=self.offsets[i],
            incident=self.incident[i],
            sides=self.sides[i],
            n_dependent=self.n_dependent[i],
        )

    def __repr__(self) -> str:
        sketch = "" if self.sketch_dim is None else f", sketch_dim={self.sketch_dim}"
        notes = f", notes={list(self.notes)}" if self.notes else ""
        return f"Gates(m={len(self)}, d={self.d}, method={self.method!r}{sketch}{notes})"


def gates_without_incidence(directions: NDArray[Any], offsets: NDArray[Any], method: str) -> Gates:
    """Return gates that pass through no row in particular."""
    m = offsets.size
    none = np.zeros((m, 0), dtype=np.intp)
    return Gates(directions, offsets, none, none.astype(bool), np.zeros(m, dtype=np.intp), method)


def as_gates(gates: Any, d: int, owner: str, also: str = "") -> Gates:
    """Return gates in dimension d: `Gates`, or a pair (directions (d, m), offsets (m,)).

    ``also`` names what else the caller takes, for the ArgumentError.
    """
    if isinstance(gates, Gates):
        hyperplanes = gates
    elif isinstance(gates, tuple | list) and len(gates) == 2:
        hyperplanes = Gates.from_arrays(*gates)
    else:
        rule = f"Gates{also} or a pair (directions (d, m), offsets (m,))"
        raise fail("gates", owner, rule, gates, "sample_gates makes some.")
    if hyperplanes.d != d:
        raise fail("gates", owner, f"in dimension {d}, that of X", describe(f"{hyperplanes.d} dimensions"))
    return hyperplanes


def with_linear_gate(gates: Gates) -> Gates:
    r"""Return the gates and, last, one with h = 0 and c = 1, which is on at every x.

    Its part of the network is :math:`x^TU`, the linear model, which the penalty charges like any other neuron: where
    nothing else pays, the optimum is a ridge-like linear fit. It has no incident rows: -1 stands for them.

    Examples
    --------
    >>> gates = with_linear_gate(Gates.from_arrays(np.array([[1.0]])))
    >>> gates.activations(np.array([[-2.0], [3.0]])).astype(int).tolist()
    [[0, 1], [1, 1]]
    """
    if not isinstance(gates, Gates):
        raise fail("gates", "with_linear_gate", "Gates", gates)
    linear = gates_without_incidence(np.zeros((gates.d, 1)), np.ones(1), "given")
    return joined_gates([gates, linear], known=gates)


def joined_gates(parts: Sequence[Gates], known: Gates) -> Gates:
    """Return the gates of all parts in a row; -1 where they have fewer incident rows than others have.

    What else is known of them, method, sketch and notes, is that of ``known``.
    """
    k = max(part.incident.shape[1] for part in parts)

    def widened(values: NDArray[Any], fill: int) -> NDArray[Any]:
        return np.pad(values, ((0, 0), (0, k - values.shape[1])), constant_values=fill)

    return replace(
        known,
        directions=np.concatenate([part.directions for part in parts], axis=1),
        offsets=np.concatenate([part.offsets for part in parts]),
        incident=np.concatenate([widened(part.incident, -1) for part in parts]),
        sides=np.concatenate([widened(part.sides, True) for part in parts]),
        n_dependent=np.concatenate([part.n_dependent for part in parts]),
    )


def with_mirror_images(gates: Gates) -> Gates:
    r"""Return the gates (h, c), each followed by (-h, -c): 2m gates, with the incident rows on the other sides.

    .. math:: 1(-h\cdot x - c \ge 0) = 1 - 1(h\cdot x + c \ge 0) \quad\text{unless } h\cdot x + c = 0,

    which no moved gate has on its training rows, but for a row 0 without bias: it is on for both.
    """
    both = gates.take(np.repeat(np.arange(len(gates)), 2))
    sign = np.where(np.arange(len(both)) % 2, -1.0, 1.0)
    return replace(
        both,
        directions=both.directions * sign,
        offsets=both.offsets * sign,
        sides=both.sides ^ (sign < 0)[:, None],
    )


@short_repr
class ActivationPatterns(NamedTuple):
    """Distinct patterns (n, P) bool, one per column, and the gate (of P) that makes each."""

    patterns: NDArray[np.bool_]
    gates: Gates


def checked_patterns(patterns: ArrayLike, n: int, owner: str) -> NDArray[np.bool_]:
    """Return activation patterns (n, P), one per column."""
    D = np.asarray(patterns)
    if D.dtype != np.bool_ or D.ndim != 2 or len(D) != n:
        raise fail(
            "patterns", owner, f"a boolean array of shape ({n}, P)", describe(f"dtype {D.dtype}, shape {D.shape}")
        )
    return D


def distinct_columns(on: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first of each kind of column of (n, m), in the order of their bits, and which kind each is, (m,).

    Columns are packed into one number of many bytes each: of several numbers NumPy makes records, which take ten times
    as long to compare, and it answers Ctrl-C while it does so by an error of types.
    """
    keys = np.ascontiguousarray(np.packbits(on, axis=0).T) if len(on) else np.zeros((on.shape[1], 1), np.uint8)
    # one number of many bytes for each column
    whole = keys.view(np.dtype((np.void, keys.shape[1])))[:, 0]
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    return first, which


def activation_patterns(X: ArrayLike, gates: Gates | tuple[ArrayLike, ArrayLike]) -> ActivationPatterns:
    r"""Return the distinct patterns :math:`D_i = 1(Xh_i + c_i \ge 0)`, without the all-off one, each with its gate.

    Of several gates with the same pattern the first is kept, in the order of ``gates``.

    Parameters
    ----------
    X : (n, d) array, or sparse
    gates : Gates
        Or a pair ``(directions (d, m), offsets (m,))``.

    Raises
    ------
    ArgumentError
        X is not a finite (n, d) array with the d of the gates.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> gates = Gates.from_arrays(np.array([[1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]]))
    >>> patterns, kept = activation_patterns(X, gates)
    >>> patterns.T.tolist(), len(kept)
    ([[True, False]], 1)
    """
    owner = "activation_patterns"
    data: Any = as_rows_or_csr(X, owner) if issparse(X) else as_real(X, "X", owner, min_ndim=1)
    hyperplanes = as_gates(gates, data.shape[-1], owner)
    if data.ndim != 2:
        raise fail("X", owner, f"of shape (n, {hyperplanes.d}), the d of the gates", describe(f"shape {data.shape}"))
    on = hyperplanes.activations(data)
    keep = np.sort(distinct_columns(on)[0])
    # a gate that is off everywhere has no neuron
    keep = keep[on[:, keep].any(axis=0)]
    return ActivationPatterns(np.ascontiguousarray(on[:, keep]), hyperplanes.take(keep))


_SHARES = (0.1,)  # of the mean variance of the columns: the weight of the squares
_CLEAR = 1e-9  # of |x||w| + |c|: nearer rows have no side, and w of this share of what it could be is rounding


def fitted_gates(
    X: Array, targets: Array, bias: bool, weights: Array | None = None, shares: Sequence[float] = _SHARES
) -> Gates:
    r"""Gates (w, c) and (-w, -c) of linear least-squares fits of every output, up to 2C of them for each share.

    .. math:: \min_{w,t}\ \sum_i\omega_i(w\cdot x_i+t-y_i)^2+\lambda\sum_i\omega_i\,||w||^2,\qquad c=-w\cdot\bar x,

    for X (n, d), targets (n, C) and weights :math:`\omega` (n,), :math:`\lambda` a share, one tenth, of the mean
    variance of the columns: planes through the mean row, or the origin, and t = 0, without bias. As :math:`z =
    (z)_+-(-z)_+`, ReLU neurons of two patterns make this linear model. A plane without a direction, or through a row,
    is left out.
    """
    d = X.shape[1]
    share = np.full(len(X), 1.0 / len(X)) if weights is None else weights / weights.sum()
    mean, level = (share @ X, share @ targets) if bias else (np.zeros(d), np.zeros(targets.shape[1]))
    Z, T = X - mean, targets - level
    C = Z.T @ (share[:, None] * Z)
    size = float(np.trace(C)) / d
    if size == 0:
        return gates_without_incidence(np.zeros((d, 0)), np.zeros(0), "fitted")
    towards = Z.T @ (share[:, None] * T)
    # (C + s tr(C)/d I) w = Zᵀ diag(ω) T
    W = np.hstack([np.linalg.solve(C + s * size * np.eye(d), towards) for s in shares])
    return planes_of(X, W, bias, weights, np.tile(np.sqrt(share @ T**2), len(shares)))


def planes_of(
    X: Array, W: Array, bias: bool, weights: Array | None = None, spread: Array | float | None = None
) -> Gates:
    """Gates (w, c) and (-w, -c) of the columns w of W (d, C), through the mean row or, without bias, the origin.

    A plane through a row is left out, and one whose w changes predictions by a rounding of the ``spread`` of targets.
    """
    d = X.shape[1]
    share = np.full(len(X), 1.0 / len(X)) if weights is None else weights / weights.sum()
    mean = share @ X if bias else np.zeros(d)
    size = float(share @ ((X - mean) ** 2).sum(axis=1)) / d
    c = -mean @ W
    lengths = np.linalg.norm(W, axis=0)
    least = lengths.max(initial=0.0) * np.sqrt(size) if spread is None else spread
    some = lengths * np.sqrt(size) > _CLEAR * least
    # a margin below rounding has no side
    near = np.linalg.norm(X, axis=1)[:, None] * lengths + np.abs(c)
    exact = (near == 0) & (not bias)  # a row 0 is on a central plane, however it is summed
    some &= ((np.abs(X @ W + c) > _CLEAR * near) | exact).all(axis=0)
    W, c = W[:, some], c[some]
    return gates_without_incidence(np.hstack([W, -W]), np.concatenate([c, -c]), "fitted")


def fitted_neurons(gates: Gates, p: int, feature: float | None, bias: bool, k: int) -> Neurons:
    r"""Neurons :math:`(v\cdot x+b)_+` of gates, :math:`||v||_p=1`; no rows span them, which k times -1 stands for.

    With a ``feature`` c they are of the rows [X c], the offset over c among the weights; else b is there with ``bias``.
    """
    V, b = gates.directions, gates.offsets
    if feature is not None:
        V = np.vstack([V, b / feature])
    lengths = np.linalg.norm(V, ord=p, axis=0)
    offsets = b / lengths if bias and feature is None else np.zeros(len(gates))
    return Neurons(np.ascontiguousarray(V / lengths), offsets, np.full((len(gates), k), -1, dtype=np.intp))


def with_fitted(gates: Gates, fitted: Gates) -> Gates:
    """Return the fitted gates and, after them, the others with what is known of them; their incident rows are -1."""
    return replace(joined_gates([fitted, gates], known=gates), method="fitted")
