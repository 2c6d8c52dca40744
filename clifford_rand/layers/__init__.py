"""Layers of Clifford-equivariant networks for PyTorch, which is imported when a layer is first used."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
