"""The data of the paper: the spiral, which is made, and six real sets, read from where their users get them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
