"""What every format offers: an array of rows that is somewhere else, and can be read in part."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Stored(Protocol):
    """An array (n, …) that is read by rows; it holds no rows and no open file, and can be pickled.

    Attributes
    ----------
    name : str
        For errors: a path, or what the user called it.
    shape : tuple of int
    dtype : numpy.dtype
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows ``start`` to ``stop`` as an array of their own."""
        ...

    def identity(self) -> str:
        """Return what changes when the stored numbers do: a path with size and time of change, a hash."""
        ...
