"""The gated problem on arrays of any library: what of `GatedReLUProblem`, its map and penalty differs between them."""

import math
from collections.abc import Iterator
from typing import Any

from array_api_compat import array_namespace, is_torch_array
from array_api_compat import device as device_of

from clifford_rand._checks import check_positive, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand_nn.datafits.choice import as_loss, check_targets, mean_one
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.datafits.functions import cast, library, solve, zeros
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.problems.coordinates import coordinates, row_tiles, unpenalised_basis
from clifford_rand_nn.problems.gated import GatedReLUProblem, Point
from clifford_rand_nn.problems.maps import GatedMap
from clifford_rand_nn.problems.penalties import GroupL2

# Entries of a tile of a masked product. On a processor it should stay in a cache; an accelerator wants few launches.
_TILE_HOST, _TILE_ACCELERATOR = 2**18, 2**26
_ROWS = 1024  # least rows of a tile, so that adding up parts costs little beside making them
_POWER_STEPS = 30
_POWER_SAFETY = 1.05  # as in `problems.maps`
# Newton steps of the prox, a fixed number so that nothing waits for the device. In a million random groups of up to 27
# levels, squares from 1e-8 to 1e8, five steps left tau wrong by 3e-4, six by 3e-8, seven to ten by 5e-8.
_NEWTON_STEPS = 7


def common_namespace(owner: str, **arrays: Any) -> Any:
    """Return the array-API namespace that all arrays share.

    Raises
    ------
    ArgumentError
        Something is no array with the array API, or of another library or on another device than X.
    """
    first: Any = None
    place: Any = None
    hint = "Give every array in the library, and on the device, of X: torch.as_tensor(y, device=X.device), for example."
    for name, array in arrays.items():
        try:
            found = array_namespace(array)
        except TypeError:
            rule = "an array of a library with the array API (NumPy, torch, CuPy)"
            raise fail(name, owner, rule, describe(type(array).__name__), hint) from None
        if first is None:
            first, place = found, device_of(array)
        elif found is not first:
            rule = f"an array of the library of X, {_library(first)}"
            raise fail(name, owner, rule, describe(f"one of {_library(found)}"), hint)
        elif device_of(array) != place:
            raise fail(name, owner, f"on the device of X, {place}", describe(str(device_of(array))), hint)
    return first


def _library(xp: Any) -> str:
    return str(xp.__name__).removeprefix("array_api_compat.")


def detached(array: Any) -> Any:
    """Return the array without the graph that torch would grow behind it."""
    return array.detach() if is_torch_array(array) else array


def wide_dtype(xp: Any, device: Any) -> Any:
    """Return float64, or float32 on a device that has none (Apple's MPS)."""
    known = xp.__array_namespace_info__().dtypes(device=device, kind="real floating")
    return known.get("float64", xp.float32)


def check_finite(xp: Any, array: Any, name: str, owner: str) -> None:
    """Raise unless every entry is finite."""
    finite = xp.isfinite(array)
    if not bool(xp.all(finite)):
        size = array.shape[0] * (array.shape[1] if array.ndim > 1 else 1)
        bad = size - int(xp.count_nonzero(finite))
        raise fail(name, owner, "finite", describe(f"{bad} NaN or infinite of {size} entries"))


def constant(like: Any, value: float, dtype: Any = None) -> Any:
    """Return a number as an array without axes, beside ``like`` and of its dtype unless told."""
    xp = array_namespace(like)
    return xp.asarray(value, dtype=like.dtype if dtype is None else dtype, device=device_of(like))


def tiles(array: Any, width: int) -> list[slice]:
    """Cut rows into tiles whose product with ``width`` columns has a bounded number of entries."""
    limit = _TILE_HOST if "cpu" in str(device_of(array)).lower() else _TILE_ACCELERATOR
    return row_tiles(int(array.shape[0]), max(_ROWS, limit // max(1, width)))


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


class ArrayProblem(GatedReLUProblem):
    """`GatedReLUProblem` on arrays of one library and device; parameters and shapes are the same.

    X is float32 or float64, patterns bool. What is added up, and every bound, is in float64 where the device has it.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        patterns: Any,
        beta: float,
        *,
        loss: str | Loss = "squared",
        bias: bool = True,
        fit_intercept: bool = True,
        sample_weight: Any = None,
        huber_delta: float | None = None,
        owner: str = "solve_array",
    ) -> None:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        xp = common_namespace(owner, X=X, y=y, patterns=patterns, **weights)
        X, y = detached(X), detached(y)
        if X.ndim != 2 or 0 in X.shape:
            raise fail("X", owner, "an (n, d) array with n ≥ 1 and d ≥ 1", describe(f"shape {tuple(X.shape)}"))
        if X.dtype not in (xp.float32, xp.float64):
            raise fail("X", owner, "an array in float32 or float64", describe(f"dtype {X.dtype}"))
        check_finite(xp, X, "X", owner)
        n, wide = int(X.shape[0]), wide_dtype(xp, device_of(X))
        if not xp.isdtype(patterns.dtype, "bool") or patterns.ndim != 2 or patterns.shape[0] != n:
            said = describe(f"dtype {patterns.dtype}, shape {tuple(patterns.shape)}")
            raise fail("patterns", owner, f"a boolean array of shape ({n}, P)", said)
        check_positive(beta, "beta", owner)
        kind = as_loss(loss, owner, huber_delta)
        if not xp.isdtype(y.dtype, ("real floating", "integral", "bool")):
            raise fail("y", owner, "an array of real numbers", describe(f"dtype {y.dtype}"))
        y = cast(y, wide)
        check_finite(xp, y, "y", owner)
        self.xp, self.X = xp, X
        self.datafit = Datafit(kind, check_targets(kind, y, n, owner), self._weights(sample_weight, n, owner, wide))
        self.map: ArrayMap = ArrayMap(X, patterns, bool(bias), bool(fit_intercept), wide)
        self.penalty = ArrayGroupL2(float(beta), self.map.weights)

    @cached_property
    def reach(self) -> Any:
        """Lengths of the rows, (n,), in double precision."""
        return self.xp.linalg.vector_norm(cast(self.X, self.datafit.y.dtype), axis=1)

    def _weights(self, sample_weight: Any, n: int, owner: str, wide: Any) -> Any:
        if sample_weight is None:
            return None
        if tuple(sample_weight.shape) != (n,):
            said = describe(f"shape {tuple(sample_weight.shape)}")
            raise fail("sample_weight", owner, f"of shape ({n},), one weight per row", said)
        w = cast(detached(sample_weight), wide)
        check_finite(self.xp, w, "sample_weight", owner)
        return mean_one(w, owner)

    def null_point(self) -> Point:
        """Return zero with the best intercept and biases of the squared loss where targets are real, else with none."""
        datafit, Q = self.datafit, self.map.Q
        z = self.start()
        if datafit.loss.labels is not None or not Q.shape[1]:
            return z
        w = datafit.weights
        return Point(z.U, solve(Q.T @ (w * Q), Q.T @ (w * datafit.y)) / self.map.sigma)
