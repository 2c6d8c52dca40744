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


@pytest.fixture(autouse=True, scope="session")
def doctest_names(doctest_namespace: dict[str, Any]) -> None:
    """Add the modules by these names to the namespace of every example."""
    doctest_namespace.update({name: import_module(module) for name, module in MODULES.items()})
