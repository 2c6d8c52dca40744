"""Versors, subspaces, frames, and linear maps of multivectors."""

import lazy_loader as lazy

_MODULES = "factors linear_maps projections spinors subspaces versors"  # loaded on first use

__getattr__, __dir__, __all__ = lazy.attach(__name__, submodules=_MODULES.split())
