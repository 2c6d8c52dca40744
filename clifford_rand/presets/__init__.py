"""Models of Euclidean geometry on an algebra: `pga` (projective, planes are vectors) and `cga` (conformal)."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, submodules=["pga", "cga"])
