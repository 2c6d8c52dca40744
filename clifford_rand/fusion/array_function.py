"""Fused functions of coefficient arrays of any library, and the functions that their code calls."""

import math
import sys
from collections.abc import Sequence
from typing import Any

import array_api_compat

from clifford_rand.compiler.scalar import TraceError
from clifford_rand.compiler.source import tensor_source
from clifford_rand.fusion.kernel import Traced

NEAR = 1.0  # |s| up to which the functions are their series
TERMS = 11  # of the series: 1/23! is below the rounding


class ArrayFunction:
    """A fused function of coefficient arrays (..., components) of NumPy, torch, JAX or another library: see `fused`.

    Attributes
    ----------
    source : str
        The code.
    keys : list of Keys or None
        The blades of each result, None for a scalar.
    """

    def __init__(self, traced: Traced) -> None:
        program, results = traced.program, traced.results
        graph = program.graph
        if not all(graph.real[abs(ref)] for output in program.outputs for ref in output.refs):
            raise TraceError("an argument is complex")
        self.source, self.keys = tensor_source(program, traced.title), [result.keys for result in results]
        self._build, self._scalar = traced.build, [result.keys is None for result in results]
        namespace: dict[str, Any] = {}
        exec(compile(self.source, "<fused>", "exec"), namespace)  # generated here, from names made here
        self._function = namespace["kernel"]

    def __call__(self, *arrays: Any) -> Any:
        """Return the coefficients of the results."""
        xp = _namespace(arrays)
        like = next(array for array in arrays if not isinstance(array, int | float))
        inputs = (
            xp.asarray(x, dtype=like.dtype, device=like.device) if isinstance(x, int | float) else x for x in arrays
        )
        parts = self._function(xp, *inputs)
        return self._build([part[..., 0] if scalar else part for part, scalar in zip(parts, self._scalar, strict=True)])


def _namespace(arrays: Sequence[Any]) -> Any:
    """Return the functions of the arrays' library; numbers have none."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(array, torch.Tensor) for array in arrays):
        import array_api_compat.torch as functions  # torch.compile follows it without a warning

        return functions
    return array_api_compat.array_namespace(*(array for array in arrays if not isinstance(array, int | float)))


# ---- what the code calls, ``xp`` being the namespace of a library by the names of the array API: functions of s = B²
# that differentiate everywhere. Nothing is written into an array, and no value decides what is computed, so that
# `torch.compile` and `jax.jit` take the code.


def cosh_root(xp: Any, s: Any) -> Any:
    """Return cosh √s, which is cos √-s for s < 0."""
    series, outside, z, growth = _parts(xp, s)
    far = xp.where(s < 0, xp.cos(z), xp.cosh(growth))
    return xp.where(outside, far, _series(series, [1 / math.factorial(2 * k) for k in range(TERMS)]))


def sinhc_root(xp: Any, s: Any) -> Any:
    """Return sinh √s / √s."""
    series, outside, z, growth = _parts(xp, s)
    far = xp.where(s < 0, xp.sin(z) / z, xp.sinh(growth) / growth)
    return xp.where(outside, far, _series(series, [1 / math.factorial(2 * k + 1) for k in range(TERMS)]))


def sinhc_root_slope(xp: Any, s: Any) -> Any:
    """Return d/ds (sinh √s / √s) = (cosh √s - sinh √s / √s) / (2 s)."""
    series, outside, _, _ = _parts(xp, s)
    safe = xp.where(outside, s, xp.ones_like(s))
    far = (cosh_root(xp, safe) - sinhc_root(xp, safe)) / (2 * safe)
    return xp.where(outside, far, _series(series, [k / math.factorial(2 * k + 1) for k in range(1, TERMS + 1)]))


def _parts(xp: Any, s: Any) -> tuple[Any, Any, Any, Any]:
    """Return s near 0, where it is not near, and √|s| where it is not: for all s, and for s > 0."""
    one = xp.ones_like(s)
    outside = abs(s) > NEAR
    z = xp.sqrt(xp.where(outside, abs(s), one))
    return xp.where(outside, 0 * one, s), outside, z, xp.where(s < 0, one, z)


def _series(x: Any, coefficients: list[float]) -> Any:
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def pow2(k: Any) -> Any:
    """Return 2^k."""
    return 2.0**k


def where(xp: Any, condition: Any, a: Any, b: Any, like: Any) -> Any:
    """Return a or b, which may be Python numbers: they are as the array ``like``."""
    a, b = (xp.asarray(x, dtype=like.dtype, device=like.device) if isinstance(x, float) else x for x in (a, b))
    return xp.where(condition, a, b)


def stack(xp: Any, parts: list[Any], like: Any) -> Any:
    """Return components on a last axis; numbers among them are as the array ``like``."""
    if not parts:
        return xp.zeros((*like.shape, 0), dtype=like.dtype, device=like.device)
    zero = xp.zeros_like(like)
    arrays = [part + zero if isinstance(part, float) else part for part in parts]
    return xp.stack(list(xp.broadcast_arrays(*arrays)), axis=-1)
