"""Names that the examples of docstrings use without importing them, for ``pytest --doctest-modules``."""

from importlib import import_module
from typing import Any

import pytest

MODULES = {
    "np": "numpy",
    "cr": "clifford_rand",
    "math": "math",
    "cga": "clifford_rand.presets.cga",
    "pga": "clifford_rand.presets.pga",
    "sta": "clifford_rand.presets.sta",
}


@pytest.fixture(scope="session")
def doctest_namespace() -> dict[str, Any]:
    """Return the modules by these names, which pytest adds to the namespace of every example."""
    return {name: import_module(module) for name, module in MODULES.items()}
