"""Names that the examples of docstrings use without importing them, as the docstring of their package says."""

from importlib import import_module

MODULES = {
    "np": "numpy",
    "cr": "clifford_rand",
    "math": "math",
    "cga": "clifford_rand.presets.cga",
    "pga": "clifford_rand.presets.pga",
    "sta": "clifford_rand.presets.sta",
}


def names():
    """Return the modules by these names."""
    return {name: import_module(module) for name, module in MODULES.items()}
