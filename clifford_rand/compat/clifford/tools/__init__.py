"""Tools of ``clifford`` on this library's multivectors: `classify` for blades of the conformal model, `g3c`."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, submodules=["classify", "g3c"])
