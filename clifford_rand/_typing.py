"""Names of types that every file shares."""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray as NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import DTypeLike as DTypeLike
else:  # names, as NumPy's are unions that fill half a page of help() for each argument

    class ArrayLike:
        """What numpy.asarray takes."""

        __module__ = "numpy.typing"

    class DTypeLike:
        """What numpy.dtype takes."""

        __module__ = "numpy.typing"


Array = NDArray[np.float64]
"""An array of doubles."""
MV = TypeVar("MV", bound=Any)
"""A multivector of any kind: of NumPy, of tensors, traced, of a compatibility class; functions return the same kind."""
