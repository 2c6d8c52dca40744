"""Tables as people have them: read from disk, turned into numbers, and the model that does both."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
