"""Clifford (geometric) algebra: cross products in any dimension, exact and randomized by sketching."""

import lazy_loader as lazy

__version__ = "1.0.0rc1"
_load, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__ or name.startswith("_"):
        return _load(name)
    from clifford_rand.errors import OF_PACKAGE, suggestion

    raise AttributeError(f"module 'clifford_rand' has no attribute {name!r}.{suggestion(OF_PACKAGE, name, __all__)}")
