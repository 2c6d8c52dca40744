"""Models on an algebra: `pga` (projective, planes are vectors), `cga` (conformal) and `sta` (space-time).

Examples assume ``import clifford_rand as cr, numpy as np`` and ``from clifford_rand.presets import cga, pga, sta``.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, submodules=["pga", "cga", "sta"])
