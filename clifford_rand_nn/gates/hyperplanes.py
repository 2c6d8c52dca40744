"""Gates: oriented hyperplanes, the sampled rows that lie on them, and the sides those rows were given."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail

__all__ = ["Gates"]


@dataclass(frozen=True, eq=False)
class Gates:
    r"""``m`` hyperplanes :math:`\{x : h_i^T x + c_i = 0\}`; gate i is on at x when :math:`h_i^T x + c_i \ge 0`.

    Iterating gives ``(directions, offsets)``, so ``H, c = gates`` works.

    Attributes
    ----------
    directions : (d, m) float64
        One direction per column.
    offsets : (m,) float64
    incident : (m, k) int
        Rows of the training data that span each hyperplane (k = 0 for Gaussian gates).
    sides : (m, k) bool
        The side on which the gate puts each of its incident rows.
    n_dependent : (m,) int
        Further rows that lie on the plane because they depend on the incident ones; their side follows from theirs.
    method : str
        "cross", "gaussian", "given", "exhaustive", or "neurons" for those of a trained ReLU network.
    sketch_dim : int or None
        Rows of the sketch in which the cross products were taken; None if they are exact.
    notes : tuple of str
        What had to be done differently from what was asked: resampled subsets, a fall-back to the sketch.

    Examples
    --------
    >>> import numpy as np
    >>> gates = Gates.given(np.eye(2), np.zeros(2))
    >>> gates.on(np.array([[1.0, -1.0]])).tolist()
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

    @classmethod
    def given(cls, directions: ArrayLike, offsets: ArrayLike | None = None) -> "Gates":
        """Wrap hyperplanes from elsewhere: ``directions`` (d, m) and ``offsets`` (m,), zero if None."""
        H = np.asarray(as_real(directions, "directions", "Gates.given"), dtype=np.float64)
        if H.ndim != 2:
            raise fail("directions", "Gates.given", "of shape (d, m)", describe(f"shape {H.shape}"))
        m = H.shape[1]
        c = np.zeros(m) if offsets is None else np.asarray(as_real(offsets, "offsets", "Gates.given"), dtype=np.float64)
        if c.shape != (m,):
            raise fail("offsets", "Gates.given", f"of shape ({m},), one per direction", describe(f"shape {c.shape}"))
        return cls.without_incidence(H, c, "given")

    @classmethod
    def without_incidence(cls, directions: NDArray[Any], offsets: NDArray[Any], method: str) -> "Gates":
        """Gates that pass through no row in particular."""
        m = offsets.size
        none = np.zeros((m, 0), dtype=np.intp)
        return cls(directions, offsets, none, none.astype(bool), np.zeros(m, dtype=np.intp), method)

    def __len__(self) -> int:
        return int(self.offsets.size)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter((self.directions, self.offsets))

    @property
    def d(self) -> int:
        """Dimension of the data."""
        return int(self.directions.shape[0])

    def on(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        r"""Activation patterns :math:`1(Xh_i + c_i \ge 0)`, (n, m) bool, always decided in float64."""
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.directions + self.offsets >= 0)

    def take(self, index: ArrayLike) -> "Gates":
        """Return the gates at ``index``, in that order."""
        i = np.asarray(index, dtype=np.intp)
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
