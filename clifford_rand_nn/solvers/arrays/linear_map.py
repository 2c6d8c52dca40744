"""The linear map and the penalty of a gated network on arrays of any library, on their device."""

import math
from collections.abc import Iterator
from typing import Any

from array_api_compat import device as device_of

from clifford_rand._threads import cached_property
from clifford_rand_nn.datafits.functions import cast, library, zeros
from clifford_rand_nn.problems.coordinates import coordinates, unpenalised_basis
from clifford_rand_nn.problems.maps import GatedMap
from clifford_rand_nn.problems.penalties import GroupL2
from clifford_rand_nn.solvers.arrays.namespace import tiles

_POWER_STEPS = 30
_POWER_SAFETY = 1.05  # as in `problems.maps`
# Newton steps of the prox, a fixed number so that nothing waits for the device. In a million random groups of up to 27
# levels, squares from 1e-8 to 1e8, five steps left tau wrong by 3e-4, six by 3e-8, seven to ten by 5e-8.
_NEWTON_STEPS = 7


class ArrayMap(GatedMap):
    """`GatedMap` with products and their adjoints in the library of X; ``wide`` is its double precision.

    Wide products of narrower X convert its rows tile by tile. Masks stay one byte an entry.
    """

    def __init__(self, X: Any, patterns: Any, bias: bool, fit_intercept: bool, wide: Any) -> None:
        self.patterns, self.bias, self.fit_intercept, self._X = patterns, bias, fit_intercept, X
        self.basis, self.weights = coordinates(X, bias, wide)
        self._Y = self._rotated(X.dtype)
        self.Q, self._pseudo_inverse = unpenalised_basis(patterns.T, bias, fit_intercept, wide)
        self._Q_single = None

    @property
    def narrows(self) -> bool:
        """Whether X is in single precision, and the rest in double."""
        return bool(self._X.dtype != self.Q.dtype)

    @cached_property
    def wide_rows(self) -> Any:
        """Rotated and weighted rows in double precision."""
        return cast(self._X, self.Q.dtype) @ (self.basis * self.weights) if self.narrows else self._Y

    def _tiles(self, width: int, dtype: Any) -> Iterator[tuple[slice, Any]]:
        """Rows for products in a precision: the rotated ones, or for wide ones of narrow X those of X, converted."""
        source = self._Y if dtype == self._Y.dtype else self._X
        for tile in tiles(source, width):
            yield tile, cast(source[tile, :], dtype)

    def gated(self, U: Any) -> Any:
        r"""Return :math:`FU = \sum_i D_i X U_i`, (r, P, C) to (n, C), in the precision of U."""
        xp = library(U)
        r, P, C = U.shape
        W = xp.reshape(U, (r, P * C))
        if U.dtype != self._Y.dtype:
            W = (self.basis * self.weights) @ W
        zero = zeros(U, (), U.dtype)
        parts = []
        for tile, rows in self._tiles(P * C, U.dtype):
            Z = xp.reshape(rows @ W, (rows.shape[0], P, C))
            parts.append(xp.sum(xp.where(self.patterns[tile, :, None], Z, zero), axis=1))
        return xp.concat(parts, axis=0)

    def gated_adjoint(self, R: Any) -> Any:
        r"""Return :math:`F^TR`, whose block i is :math:`X^TD_iR`: (n, C) to (r, P, C), in the precision of R."""
        xp, C, P = library(R), R.shape[1], self.n_patterns
        zero = zeros(R, (), R.dtype)
        total: Any = None
        for tile, rows in self._tiles(P * C, R.dtype):
            Z = xp.where(self.patterns[tile, :, None], R[tile, None, :], zero)
            product = rows.T @ xp.reshape(Z, (Z.shape[0], P * C))
            total = product if total is None else total + product
        if R.dtype != self._Y.dtype:
            total = (self.basis * self.weights).T @ total
        return xp.reshape(total, (self.d, P, C))

    def _norm(self, metric: Any = None) -> float:
        """Estimate ||MF|| by power iteration; 1 for a zero map."""
        xp, n = library(self._Y), self.n
        if self.n_patterns == 0:
            return 1.0
        # A start without a random generator, which the standard lacks, that no symmetry of rows makes orthogonal.
        angle = cast(xp.arange(1, n + 1, device=device_of(self._X)), self._Y.dtype)
        v = self.remove_unpenalised((xp.cos(angle * math.sqrt(2)) + xp.sin(angle * angle) + 0.5)[:, None])
        size = xp.linalg.vector_norm(v)
        for _ in range(_POWER_STEPS):
            v = v / xp.where(size > 0, size, xp.ones_like(size))
            v = self.remove_unpenalised(self.gated(self.gated_adjoint(v)))
            size = xp.linalg.vector_norm(v)
        # M F = 0, where biases explain everything, comes out as rounding of F F^T, whose norm is at most P |rows|^2.
        squares = float(xp.sum(cast(self._Y, self.Q.dtype) ** 2))
        noise = float(xp.finfo(self._Y.dtype).eps) * self.n_patterns * squares
        return 1.0 if float(size) <= noise else math.sqrt(_POWER_SAFETY * float(size))


class ArrayGroupL2(GroupL2):
    """`GroupL2` whose prox waits for nothing: the step may be an array without axes."""

    def __init__(self, beta: float, weights: Any) -> None:
        self.beta, self.weights = beta, weights
        self.level_weights = library(weights).unique_values(weights)
        self._marks = cast(self.level_weights[:, None] == weights[None, :], weights.dtype)

    def _squares(self, U: Any) -> Any:
        return self._marks @ library(U).sum(U * U, axis=2)

    def prox(self, U: Any, step: Any, out: Any = None) -> Any:
        """Return the minimiser of `GroupL2.prox` after a fixed number of Newton steps."""
        xp = library(U)
        radius, h = step * self.beta, self.level_weights[:, None] ** -2.0
        relative = self._squares(U) * h / (radius * radius)
        active = xp.sum(relative, axis=0, keepdims=True) > 1
        # Idle groups get squares whose root is at zero, so that no step divides by nothing.
        relative = xp.where(active, relative, xp.ones_like(relative) / max(1, h.shape[0]))
        tau = xp.sum(xp.zeros_like(relative), axis=0, keepdims=True)
        for _ in range(_NEWTON_STEPS if h.shape[0] else 0):  # tau in units of the radius
            inverse = 1 / (h * tau + 1)
            terms = relative * inverse * inverse
            phi = xp.sum(terms, axis=0, keepdims=True)
            slope = xp.sum(terms * (h * inverse), axis=0, keepdims=True)
            tau = tau + phi / slope * (xp.sqrt(phi) - 1)
        shrink = xp.where(active, h * tau / (h * tau + 1), xp.zeros_like(relative))
        return U * (self._marks.T @ shrink)[:, :, None]
