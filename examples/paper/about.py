"""The text beside the results: the command that makes them again, versions, machine, seconds."""

import os
import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import scipy

import clifford_rand
from examples.paper.settings import Settings

__all__ = ["write_about"]

_OTHERS = ("scikit-learn", "torch", "matplotlib")


def write_about(settings: Settings, name: str, seconds: float, facts: Mapping[str, object] | None = None) -> Path:
    """Write ``NAME.txt`` into the folder of results, and return its path.

    Parameters
    ----------
    settings : Settings
    name : str
        Of the experiment.
    seconds : float
        That this run took.
    facts : mapping, optional
        More lines.

    Examples
    --------
    >>> import tempfile
    >>> path = write_about(Settings(Path(tempfile.mkdtemp()), command="make it"), "made", 1.5, {"rows": 3})
    >>> path.name, path.read_text().splitlines()[0]
    ('made.txt', 'command: make it')
    """
    lines: dict[str, object] = {
        "command": settings.command or "not from the command line",
        "finished": time.strftime("%Y-%m-%d %H:%M:%S"),
        "seconds of the last run": f"{seconds:.1f}",
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, {platform.system()}",
        "threads": ", ".join(
            f"{name}={os.environ[name]}" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name in os.environ
        )
        or "not limited",
        "Python": platform.python_version(),
        "clifford-rand": clifford_rand.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    for library in _OTHERS:
        try:
            lines[library] = version(library)
        except PackageNotFoundError:
            lines[library] = "not installed"
    lines.update(facts or {})
    settings.out.mkdir(parents=True, exist_ok=True)
    path = settings.out / f"{name}.txt"
    path.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()), encoding="utf-8")
    return path
