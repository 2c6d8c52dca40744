"""Two-layer ReLU networks trained to the global optimum of a convex program, with a duality gap as certificate."""

import lazy_loader as lazy

from clifford_rand import __version__ as __version__

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
