"""Names of types that every file shares."""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray as NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import DTypeLike as DTypeLike
else:  # names, as NumPy's are unions that fill half a page of help() for each argument
    ArrayLike, DTypeLike = (type(name, (), {"__module__": "numpy.typing"}) for name in ("ArrayLike", "DTypeLike"))

Array = NDArray[np.float64]
"""An array of doubles."""
MV = TypeVar("MV", bound=Any)
"""A multivector of any kind: of NumPy, of tensors, traced, of a compatibility class; functions return the same kind."""
