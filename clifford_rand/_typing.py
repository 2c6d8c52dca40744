"""Names of array types that every file shares."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""An array of doubles."""
