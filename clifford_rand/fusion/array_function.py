"""A fused function of plain coefficient arrays, of whatever library: to be compiled and differentiated there."""

import sys
from collections.abc import Sequence
from typing import Any

import array_api_compat

from clifford_rand.compiler.scalar import TraceError
from clifford_rand.compiler.source import tensor_source
from clifford_rand.fusion.kernel import Traced


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
        if not all(graph.real[abs(ref)] for one in program.outputs for ref in one.refs):
            raise TraceError("an argument is complex")
        self.source, self.keys = tensor_source(program, traced.title), [one.keys for one in results]
        self._build, self._scalar = traced.build, [one.keys is None for one in results]
        namespace: dict[str, Any] = {}
        exec(compile(self.source, "<fused>", "exec"), namespace)  # generated here, from names made here
        self._function = namespace["kernel"]

    def __call__(self, *arrays: Any) -> Any:
        """Return the coefficients of the results."""
        xp = _namespace(arrays)
        like = next(array for array in arrays if not isinstance(array, int | float))
        given = (
            xp.asarray(one, dtype=like.dtype, device=like.device) if isinstance(one, int | float) else one
            for one in arrays
        )
        found = self._function(xp, *given)
        return self._build([one[..., 0] if scalar else one for one, scalar in zip(found, self._scalar, strict=True)])


def _namespace(arrays: Sequence[Any]) -> Any:
    """Return the functions of the arrays' library; numbers have none."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(array, torch.Tensor) for array in arrays):
        import array_api_compat.torch as functions  # torch.compile follows it without a warning

        return functions
    return array_api_compat.array_namespace(*(array for array in arrays if not isinstance(array, int | float)))
