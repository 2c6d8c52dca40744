"""The package ``galgebra`` by its own names: change ``from galgebra.`` to ``from clifford_rand.compat.galgebra.``."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, submodules=["dop", "ga", "lt", "mv"])
