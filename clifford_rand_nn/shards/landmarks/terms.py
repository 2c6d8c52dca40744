"""The two sums over rows that functions in the span of landmarks need: normal equations, and a function's residuals."""

import itertools
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.row_sums.sums import Block, Kept, RowSum, Sums
from clifford_rand_nn.row_sums.targets import Targets

_HEIGHT, _WIDTH = 256, 1024  # entries of a tile, see `KernelTiles`
_PANELS = 8  # of columns: a triangle of panels takes 9/16 of the square's numbers, and as much of its products


class LandmarkRows:
    """The kernel of rows as they come with m landmarks, in one thread, for all that happens in a pass.

    Parameters
    ----------
    standard : Standardization
    kernel : GateKernel
    Z : (m, d) array
        The landmarks, as ``standard`` makes them.
    dtype : float64 or float32
    """

    def __init__(self, standard: Standardization, kernel: GateKernel, Z: Array, dtype: Any = np.float64) -> None:
        self.standard, self.tiles = standard, KernelTiles(kernel, Z, dtype)

    @property
    def m(self) -> int:
        """Number of landmarks."""
        return self.tiles.n

    def diagonal(self, X: NDArray[Any]) -> Array:
        """Return K(x, x) of rows (k, d), (k,)."""
        return self.tiles.kernel.diagonal(self.standard.rows(X.astype(np.float64)))

    def kernel(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return K (k, m) of rows (k, d), in the type of the tiles."""
        tiles = self.tiles
        new = KernelTiles(tiles.kernel, self.standard.rows(X.astype(np.float64)), tiles.dtype)
        out = np.empty((new.n, tiles.n), dtype=tiles.dtype)
        for i in range(0, new.n, _HEIGHT):
            for j in range(0, tiles.n, _WIDTH):
                out[i : i + _HEIGHT, j : j + _WIDTH] = new.tile(
                    slice(i, min(i + _HEIGHT, new.n)), slice(j, min(j + _WIDTH, tiles.n)), tiles
                )
        return out


class NormalSum(RowSum):
    r"""Sums of :math:`\omega\,(k, y, 1)(k, y, 1)^T`, k the kernel of a row with the landmarks, less a centre.

    The centres keep what single precision rounds small; the exact ones are subtracted from the sums. Of the symmetric
    (m, m) sum there are `_PANELS` panels, each from its diagonal on.

    Parameters
    ----------
    rows : LandmarkRows
        Products are of the type of its tiles.
    targets : Targets
    centre, centre_y : (m,), (C,)
        Subtracted from k and y.
    left_out : (h,) array of int
        Rows, by their index among all, that are held out; rising.
    """

    def __init__(
        self,
        rows: LandmarkRows,
        targets: Targets,
        centre: Array,
        centre_y: Array,
        left_out: NDArray[np.int64],
    ) -> None:
        self.landmarks, self.targets = rows, targets
        self.centre, self.centre_y, self.left_out = centre.astype(rows.tiles.dtype), centre_y, left_out

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return panels of the sum over k, (m, C + 1) of k with y and 1, and (2, C + 1) of y and its squares, and 1."""
        K = self.landmarks.kernel(block.X)
        y, w = self._sides(block, K)
        K -= self.centre
        right = np.column_stack([y - self.centre_y, np.ones(len(K))])
        if not (w == 1).all():
            root = np.sqrt(w)[:, None]
            K *= root.astype(K.dtype)
            right *= root
        else:
            root = np.ones((len(K), 1))
        panels = [(K[:, cut].T @ K[:, cut.start :]).astype(np.float64) for cut in panel_slices(K.shape[1])]
        cross = (K.T @ right.astype(K.dtype)).astype(np.float64)
        moments = np.stack([(right * root).sum(axis=0), (right * right).sum(axis=0)])
        return (*panels, cross, moments)

    def of_all(self) -> Self:
        """Return the same sums with no row left out."""
        found = copy(self)
        found.left_out = self.left_out[:0]
        return found

    def _sides(self, block: Block, K: NDArray[Any]) -> tuple[Array, Array]:
        """Return the targets (k, C) and the weights (k,) of the rows of a block."""
        return self.targets.of(block), self._weights(block)

    def _weights(self, block: Block) -> Array:
        first, last = np.searchsorted(self.left_out, [block.first, block.first + len(block.X)])
        w = row_weights(self.targets, block)
        if first < last:
            w[self.left_out[first:last] - block.first] = 0.0
        return w


def row_weights(targets: Targets, block: Block) -> Array:
    """Return the weights (k,) of the rows of a block, an array of its own."""
    return np.array(np.broadcast_to(targets.weights(block), (len(block.X), 1))[:, 0], dtype=np.float64)


def panel_slices(m: int) -> list[slice]:
    """Return slices of m columns: the panels of `NormalSum`."""
    cuts = [m * i // _PANELS for i in range(_PANELS + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(cuts) if b > a]


def square_of(panels: Sums) -> Array:
    """Return the symmetric (m, m) matrix of its panels."""
    m = panels[0].shape[1]
    out = np.empty((m, m))
    for cut, panel in zip(panel_slices(m), panels, strict=True):
        out[cut, cut.start :] = panel
        out[cut.start :, cut] = panel.T
    return out


class ResidualSum(RowSum):
    r"""What judges :math:`f=\sum_jK(\cdot,z_j)a_j+t`: :math:`K^T\Omega(r, y, 1)` and moments, r = y - f, in float64.

    The first is summed as it is: as a difference of two sums it would have their rounding.

    Parameters
    ----------
    rows : LandmarkRows
        In double precision.
    targets : Targets
    centre_y : (C,)
        Subtracted from y.
    a : (m, C) array
        Coefficients.
    t : (C,) array or None
        Without it f is not judged: only :math:`K^T\Omega f` is made.
    """

    def __init__(self, rows: LandmarkRows, targets: Targets, centre_y: Array, a: Array, t: Array | None) -> None:
        self.landmarks, self.targets, self.centre_y, self.a, self.t = rows, targets, centre_y, a, t

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return (m, C) and, to judge f, (m, C + 1) with y and 1, and (7, C): ω, ωK(x, x), ωy, ωy², ωr, ωr², ωry.

        Strips of rows are as low as tiles: their kernel, of which two products are made, is still in the cache.
        """
        w = row_weights(self.targets, block)[:, None]
        y = self.targets.of(block) - self.centre_y
        C = y.shape[1]
        back = np.zeros((self.landmarks.m, C if self.t is None else 2 * C + 1))
        moments = np.zeros((7, C))
        for start in range(0, len(y), _HEIGHT):
            part = slice(start, start + _HEIGHT)
            K = self.landmarks.kernel(block.X[part])
            f = K @ self.a
            if self.t is None:
                back += K.T @ (w[part] * f)
                continue
            left = y[part] - f - self.t
            back += K.T @ np.hstack([w[part] * left, w[part] * y[part], w[part]])
            own = np.broadcast_to(self.landmarks.diagonal(block.X[part])[:, None], left.shape)
            each = (np.ones_like(left), own, y[part], y[part] ** 2, left, left**2, left * y[part])
            moments += np.stack([(w[part] * one).sum(axis=0) for one in each])
        return (back,) if self.t is None else (back[:, :C].copy(), back[:, C:].copy(), moments)
