"""The gated problem on arrays of any library: what of `GatedReLUProblem` is not the same for all."""

from typing import Any

from array_api_compat import device as device_of

from clifford_rand._checks import check_positive, describe, fail
from clifford_rand_nn.datafits.choice import as_loss, check_targets, mean_one
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.datafits.functions import cast, solve
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.problems.gated import GatedReLUProblem, Point
from clifford_rand_nn.solvers.arrays.linear_map import ArrayGroupL2, ArrayMap
from clifford_rand_nn.solvers.arrays.namespace import check_finite, common_namespace, detached, wide_dtype


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
