"""The dtype of a result."""

import numpy as np

__all__ = ["common_dtype"]


def common_dtype(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return NumPy's common dtype, but for integers beside floating numbers that of the latter.

    Basis blades have integer coefficients; a float32 vector times ``alg.e1`` stays float32.
    """
    if a is b:
        return a
    if a.kind == "i" and b.kind in "fc":
        return b
    if b.kind == "i" and a.kind in "fc":
        return a
    return np.result_type(a, b)
