"""The package ``clifford`` by its own names: change ``import clifford`` to ``import clifford_rand.compat.clifford``."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
