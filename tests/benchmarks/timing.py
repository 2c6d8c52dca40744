"""What the benchmarks share: options, parts, timing in turn, new processes, peak memory, agreement, printed lines."""

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import clifford_rand as cr

HERE = Path(__file__).resolve().parent


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


def chosen(parts: Iterable[str]) -> tuple[list[str], dict[str, Any]]:
    """Return the option ``--only`` of a script that has these parts, all by default."""
    return list(parts), {"choices": list(parts)}


def run_parts(text: str | None, parts: dict[str, Callable[[], Any]], *packages: str) -> None:
    """Run the parts that ``--only`` names, then print the machine."""
    for name in options(text, only=chosen(parts)).only:
        parts[name]()
    machine(*packages)


def need(*names: str) -> list[ModuleType]:
    """Import the peers, or say which are missing and leave with 1."""
    modules, missing = [], []
    for name in names:
        try:
            modules.append(importlib.import_module(name))
        except ImportError:
            missing.append(name)
    if missing:
        sys.exit(f'not installed: {", ".join(missing)}. The peers come with pip install ".[bench]".')
    return modules


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


def least(work: Callable[[], Any], repeats: int = 3, calls: int = 1) -> tuple[float, float]:
    """Return the least seconds, and seconds of the processor, of some calls: other processes only ever add time."""

    def several() -> None:
        for _ in range(calls):
            work()

    wall, cpu = np.min([timed(several)[1:] for _ in range(repeats)], axis=0) / calls
    return float(wall), float(cpu)


def steady(work: Callable[[], Any], repeats: int = 7, calls: int = 1) -> float:
    """Return the median time after one warm-up."""
    return alternate([work], repeats, calls)[0]


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


def fresh(code: str, *arguments: str, repeats: int = 1) -> list[list[str]]:
    """Return the words that a program prints in each of some new processes, which share a cache that starts empty."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", code, *arguments]
        return [subprocess.check_output(command, env=environment, text=True).split() for _ in range(repeats)]


_CALL = """
import importlib, json, sys
module, name, asked = sys.argv[1:]
arguments, options = json.loads(asked)
print(json.dumps(getattr(importlib.import_module(module), name)(*arguments, **options)))
"""


def in_process(
    work: Callable[..., Any], *arguments: Any, limit: float | None = None, python: str = sys.executable, **options: Any
) -> Any:
    """Return what a function of a benchmark returns in a new process, whose peak memory is its own; JSON both ways.

    RuntimeError if it ends otherwise, or not within ``limit`` seconds. ``python`` is the interpreter.
    """
    file = Path(sys.modules[work.__module__].__file__ or "").resolve()
    module = ".".join(file.relative_to(HERE).with_suffix("").parts)
    search = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    command = [python, "-c", _CALL, module, work.__name__, json.dumps([arguments, options])]
    environment = {**os.environ, "PYTHONPATH": search, "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done within {limit:.0f} s") from None
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise RuntimeError(f"{words[:300]} (exit {done.returncode})")
    return json.loads(done.stdout.splitlines()[-1])


def peak_bytes() -> float:
    """Return the largest memory that this process had so far.

    Linux hands ``ru_maxrss`` on from the parent by exec, so the address space's own is taken.
    """
    status = Path("/proc/self/status")
    if status.exists() and (line := re.search(r"VmHWM:\s*(\d+) kB", status.read_text())):
        return int(line[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def peak_mib(work: Callable[[], Any]) -> float:
    """Return the largest memory that one call adds, its result included, in MiB (by tracemalloc, which NumPy tells)."""
    tracemalloc.start()
    try:
        result = work()
        del result
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def agree(ours: np.ndarray, theirs: np.ndarray, rtol: float, what: str) -> None:
    """Leave with 1 if a peer does other work than we do."""
    error = np.abs(ours - theirs).max() / np.abs(ours).max()
    hold(error <= rtol, f"{what}: the peer's result within {rtol:.0e} of the largest component, it is {error:.1e}")


def hold(statement: Any, words: str) -> None:
    """Leave with 1 if a statement does not hold."""
    if not statement:
        sys.exit(f"this does not hold: {words}")


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
