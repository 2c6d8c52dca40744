"""What the benchmarks share: options, tables, timing in turn, peak memory, agreement with a peer, the last line."""

import argparse
import importlib
import importlib.metadata
import os
import platform
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import clifford_rand as cr


def options(text: str | None, *positional: tuple[str, dict[str, Any]], **defaults: Any) -> argparse.Namespace:
    """Return what the command line says: of each option a default, or ``(default, help or settings of argparse)``.

    The default's type is the option's; a list takes several words, False is a flag, and a type has no default.
    """
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, settings in positional:
        parser.add_argument(name, **settings)
    for name, default in defaults.items():
        default, more = default if isinstance(default, tuple) else (default, {})
        settings = {"help": more} if isinstance(more, str) else more
        if default is False:
            settings = {"action": "store_true"} | settings
        elif isinstance(default, type):
            settings = {"type": default} | settings
        elif isinstance(default, list):
            settings = {"nargs": "+", "type": type(default[0]), "default": default} | settings
        else:
            settings = {"type": type(default), "default": default} | settings
        parser.add_argument(f"--{name.replace('_', '-')}", **settings)
    return parser.parse_args()


def table(path: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, targets and the marks of training rows of an NPZ file; bytes are divided by 255."""
    with np.load(path) as data:
        X, y, split = data["X"], data["y"], data["split"].astype(bool)
    return X / 255.0 if X.dtype == np.uint8 else X.astype(np.float64), y, split


def need(*names: str) -> list[ModuleType]:
    """Import the peers, or say which are missing and leave with 1."""
    found, missing = [], []
    for name in names:
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            missing.append(name)
    if missing:
        sys.exit(f'not installed: {", ".join(missing)}. The peers come with pip install "clifford-rand[bench]".')
    return found


def seconds(work: Callable[[], Any], calls: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the time of one call, the mean over ``calls`` of them."""
    start = clock()
    for _ in range(calls):
        work()
    return (clock() - start) / calls


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result of one call, its seconds, and those of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def least(work: Callable[[], Any], repeats: int = 3) -> tuple[float, float]:
    """Return the least seconds, and seconds of the processor, of some calls: other processes only ever add time."""
    wall, cpu = np.min([timed(work)[1:] for _ in range(repeats)], axis=0)
    return float(wall), float(cpu)


def steady(work: Callable[[], Any], repeats: int = 7, calls: int = 1) -> float:
    """Return the median time after one warm-up."""
    work()
    return float(np.median([seconds(work, calls) for _ in range(repeats)]))


def alternate(
    works: list[Callable[[], Any] | None],
    repeats: int = 7,
    calls: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    middle: Callable[..., Any] = np.median,
) -> list[float]:
    """Return the median times of several works, run in turn after one warm-up of each; NaN for None."""
    for work in works:
        if work is not None:
            work()
    rows = [[np.nan if work is None else seconds(work, calls, clock) for work in works] for _ in range(repeats)]
    return [float(value) for value in middle(rows, axis=0)]


def peak_bytes() -> float:
    """Return the largest memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def peak_mib(work: Callable[[], Any]) -> float:
    """Return the largest memory that one call adds, its result included, in MiB (by tracemalloc, which NumPy tells)."""
    tracemalloc.start()
    try:
        held = work()
        del held
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def agree(ours: np.ndarray, theirs: np.ndarray, rtol: float, what: str) -> None:
    """Leave with 1 if a peer does other work than we do."""
    error = np.abs(ours - theirs).max() / np.abs(ours).max()
    if not error <= rtol:
        sys.exit(f"{what}: the peer's result differs by {error:.1e} of the largest component; nothing is compared")


def report(title: str, ours: float, target: str = "", **peers: float) -> None:
    """Print one line: our time, each peer's, and the ratios."""
    others = "".join(f"  {name} {_time(value)} = {value / ours:5.1f} ×" for name, value in peers.items())
    print(f"{title:<52} {_time(ours)}{others}" + (f"   (target {target})" if target else ""), flush=True)


def _time(value: float) -> str:
    unit, factor = ("s ", 1) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("µs", 1e6)
    return f"{value * factor:7.2f} {unit}"


def machine(*packages: str) -> None:
    """Print the machine and the versions of installed packages."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", *packages))
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, OpenBLAS threads {threads}, ", end="")
    print(f"Python {platform.python_version()}, {versions}, clifford-rand {cr.__version__}")
