"""The names of other packages on this library's multivectors: a module each for clifford, kingdon and galgebra."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
