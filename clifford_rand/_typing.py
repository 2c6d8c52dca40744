"""Names of types that every file shares."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""An array of doubles."""
MV = TypeVar("MV", bound=Any)
"""A multivector of any kind: of NumPy, of tensors, traced, of a compatibility class; functions return the same kind."""
