"""Functions of one multivector: norms, inverses, exponentials, logarithms, roots."""

import lazy_loader as lazy

_MODULES = "bivector_split compiled exponential inverse logarithm norms"  # loaded on first use

__getattr__, __dir__, __all__ = lazy.attach(__name__, submodules=_MODULES.split())
