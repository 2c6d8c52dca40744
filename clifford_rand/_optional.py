"""Optional libraries: imported where they are first needed, with one clear sentence where they are missing."""

import importlib
import importlib.util
from types import ModuleType

from clifford_rand.errors import MissingDependencyError


def available(module: str) -> bool:
    """Tell whether ``module`` could be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import ``module`` or say which extra of this project brings it.

    Examples
    --------
    >>> require("no_such_library", extra="app", purpose="drawing")
    Traceback (most recent call last):
    ...
    clifford_rand.errors.MissingDependencyError: drawing needs no_such_library: pip install "clifford-rand[app]"
    """
    if not available(module.partition(".")[0]):
        raise MissingDependencyError(f'{purpose} needs {module}: pip install "clifford-rand[{extra}]"')
    return importlib.import_module(module)
