"""What the benchmarks of the algebra share: timing in turn, peak memory, agreement with a peer, the last line."""

import importlib
import importlib.metadata
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import clifford_rand as cr

__all__ = ["agree", "alternate", "machine", "need", "peak_mib", "report", "seconds", "steady"]


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


def steady(work: Callable[[], Any], repeats: int = 7, calls: int = 1) -> float:
    """Return the median time after one warm-up."""
    work()
    return float(np.median([seconds(work, calls) for _ in range(repeats)]))


def alternate(
    works: list[Callable[[], Any]], repeats: int = 7, calls: int = 1, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the median times of several works, run in turn after one warm-up of each."""
    for work in works:
        work()
    rows = [[seconds(work, calls, clock) for work in works] for _ in range(repeats)]
    return [float(value) for value in np.median(rows, axis=0)]


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
