"""The package ``clifford`` by its own names: change ``import clifford`` to ``import clifford_rand.compat.clifford``."""

import sys

import lazy_loader as lazy

from clifford_rand.compat.clifford.constructors import AlgebraFinder

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
sys.meta_path.append(AlgebraFinder())
