"""Pictures of fitted estimators in scikit-learn's display style, and reports; the only package that uses matplotlib."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
