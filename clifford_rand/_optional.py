"""Optional libraries: imported where they are first needed, with one clear sentence where they are missing."""

import importlib
import importlib.util
import re
from types import ModuleType

from clifford_rand.errors import MissingDependencyError

_DISTRIBUTIONS = {"PIL": "pillow", "arff": "liac-arff"}  # import names that are not those of the package index


def available(module: str) -> bool:
    """Tell whether ``module`` could be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # of an import hook that refuses it
        return False


def install_command(module: str, extra: str = "") -> str:
    """Return the command that installs the library of ``module``, in the versions of an extra of this project.

    Without an extra it is one that the project itself requires.
    """
    import importlib.metadata  # only where an error is made: 20 ms at start-up

    top = module.partition(".")[0]
    name = _DISTRIBUTIONS.get(top, top).replace("_", "-").lower()
    try:
        requirements = importlib.metadata.requires("clifford-rand") or []
    except importlib.metadata.PackageNotFoundError:  # a copy of the sources
        requirements = []
    for requirement in requirements:
        library, _, marker = requirement.partition(";")
        is_of_extra = re.search(rf"extra == ['\"]{extra}['\"]", marker) if extra else not marker
        if is_of_extra and re.fullmatch(rf"{name}\b(?!-).*", library.strip()):
            return f'pip install "{library.strip()}"'
    return f"pip install {name}"


def require(module: str, *, extra: str = "", purpose: str) -> ModuleType:
    """Import ``module`` or say how to install the library, which the extra of this project brings, or the project.

    Examples
    --------
    >>> require("no_such_library", extra="app", purpose="drawing")
    Traceback (most recent call last):
    ...
    clifford_rand.errors.MissingDependencyError: drawing needs no_such_library: pip install no-such-library
    """
    if not available(module.partition(".")[0]):
        raise MissingDependencyError(f"{purpose} needs {module}: {install_command(module, extra)}")
    return importlib.import_module(module)
