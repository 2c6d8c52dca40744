"""Other versions of NumPy, SciPy, Numba, Python and BLAS, and other kernels of it, give the same objective to 1e-9.

Problems of every kind (`support.objectives`) are solved to a gap of 1e-11 in a process of its own under each of: the
newest versions, the lowest that pyproject.toml takes, one library at its lowest, a newer Python, MKL in place of
OpenBLAS, OpenBLAS's kernels for older processors, NumPy and Numba without vector instructions. Objectives and bounds
must agree to 1e-9 of the objective. Fits with the settings that estimators come with end anywhere within their gap:
there each bound must be below all other objectives, and objectives agree to the gap or 1e-9, whichever is more.
"""

import json
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from reliability.promise import Outcome
from support.environments import Environment, at_floors, declared
from support.mkl import onto_mkl
from support.objectives import problems
from support.running import answer, begin

_AGREE = 1e-9
_LIBRARIES = ("numpy", "scipy", "numba")
_KERNELS = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "SkylakeX")
_PYTHONS = ("3.15", "3.14", "3.13", "3.12")
_SHORT = ("gated squared False 1", "gated logistic True 2", "network weighted")


def run(budget):
    everything = problems()
    if budget.short:
        chosen = [next(name for name in everything if start in name) for start in _SHORT]
        everything = {name: everything[name] for name in chosen}
    told, not_had = {}, []
    for name, python, environment in (_kernels if budget.short else _all)(not_had):
        answer = _solve(python, everything, environment)
        if isinstance(answer, str):
            not_had.append(f"{name}: {answer}")
        else:
            told[name] = answer
    lacking = ("SkylakeX", "newest Python")  # instructions of a processor, and another Python
    faults = [fault for fault in not_had if not fault.startswith(lacking)]
    base = told.pop("as here" if budget.short else "newest", None)
    if base is None:
        return Outcome("not held", faults)
    worst, gaps = 0.0, 0.0
    for problem, wanted in base["values"].items():
        for name, answer in told.items():
            far, within, fault = _compare(problem, wanted, answer["values"][problem])
            worst, gaps = (max(worst, far), gaps) if within is None else (worst, max(gaps, far))
            faults += [f"{name}: {problem}: {fault}"] if fault else []
    blas = sorted({one for answer in (base, *told.values()) for one in answer["blas"]})
    versions = {name: sorted({one["versions"][name] for one in (base, *told.values())}) for name in base["versions"]}
    figure = f"{len(everything)} problems, this and {len(told)} other sets of libraries ({', '.join(told)}): "
    figure += f"objectives to {worst:.0e}"
    figure += f", to {gaps:.0e} and within the gap where a fit ends at a coarser one" if gaps else ""
    figure += f"; BLAS: {', '.join(blas)}; "
    figure += ", ".join(f"{library} {' '.join(found)}" for library, found in versions.items())
    return Outcome(figure + "".join(f"; not tried: {one}" for one in not_had), faults)


def _compare(problem, wanted, found):
    """Return how far objectives are apart, None or the gap that they may be apart, and what is wrong."""
    if isinstance(wanted, str) or isinstance(found, str) or len(wanted) != len(found):
        return 0.0, None, f"{wanted} and {found}"
    far = max(abs(a - c) / abs(a) for (a, _), (c, _) in zip(wanted, found, strict=True))
    apart = max(abs(b - d) / abs(a) for (a, b), (_, d) in zip(wanted, found, strict=True))
    over = max(max(b - c, d - a) / abs(a) for (a, b), (c, d) in zip(wanted, found, strict=True))
    gap = max(max(a - b, c - d) / abs(a) for (a, b), (c, d) in zip(wanted, found, strict=True))
    if over > _AGREE:
        return far, None, f"a bound is above the other's objective by {over:.1e}"
    if gap > _AGREE and problem.startswith("as it comes"):
        return far, gap, None
    if max(far, apart) > _AGREE:
        return far, None, f"objectives differ by {far:.1e}, bounds by {apart:.1e}, gap {gap:.1e}"
    return far, None, None


def _solve(python, everything, environment):
    """Return what a process says of problems, or in a few words why it said nothing."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    try:
        return answer(begin("support.objectives", python=python, **threads, **environment), json.dumps(everything))
    except RuntimeError as error:
        return str(error)[-300:]


def _kernels(not_had):
    """Give the kernels of this processor and of one that adds in another order, in this environment."""
    yield "as here", sys.executable, {}
    yield "Prescott kernels", sys.executable, {"OPENBLAS_CORETYPE": "Prescott"}


def _all(not_had):
    """Make the environments, one at a time, and give (name, interpreter, what the process finds in its environment)."""
    parts = declared()
    core = [str(one) for one in parts[""]]
    lowest = {line.partition("==")[0]: line for line in at_floors([], parts)}
    with tempfile.TemporaryDirectory() as folder:
        newest = _made(Path(folder) / "newest", core, not_had)
        if newest is None:
            return
        yield "newest", newest, _cache(folder, "newest")
        for kernel in _KERNELS:
            yield f"{kernel} kernels", newest, {"OPENBLAS_CORETYPE": kernel, **_cache(folder, "newest")}
        plain = {"NUMBA_CPU_NAME": "generic", "NPY_DISABLE_CPU_FEATURES": _dispatched(newest)}
        yield "no vectors", newest, {**plain, **_cache(folder, "plain")}
        others = {"lowest": list(lowest.values())}
        for library in _LIBRARIES:
            others[f"lowest {library}"] = [one for one in core if not one.startswith(library)] + [lowest[library]]
        for name, lines in others.items():
            yield from _once(folder, name, lines, not_had)
        for python in filter(_runs, map("python{}".format, _PYTHONS)):
            yield from _once(folder, f"newest on {python}", core, not_had, python)
            break
        else:
            not_had.append("newest Python: none beside this one")
        if platform.machine() in ("x86_64", "AMD64") and shutil.which("cc") and shutil.which("nm"):
            yield from _once(folder, "MKL", [*core, "mkl"], not_had)


def _once(folder, name, lines, not_had, base=sys.executable):
    """Give one environment and remove it again."""
    place = Path(folder) / name.replace(" ", "_")
    python = _made(place, lines, not_had, base)
    if python:
        if name == "MKL":
            onto_mkl(next(place.glob("lib/python*/site-packages")))
            for kind in ("AUTO", "COMPATIBLE"):  # its kernels for this processor, and those for any
                yield f"MKL {kind}", python, {"MKL_CBWR": kind, **_cache(folder, name)}
        else:
            yield name, python, _cache(folder, name)
    shutil.rmtree(place, ignore_errors=True)


def _made(place, lines, not_had, base=sys.executable):
    made = Environment(place, base)
    said = made.install(*lines)
    if said:
        not_had.append(f"{place.name}: {said[-1]}")
    return None if said and said[-1].startswith("pip") else made.python


def _cache(folder, name):
    """Return what keeps what Numba compiles under one set of versions away from the others."""
    return {"NUMBA_CACHE_DIR": str(Path(folder) / "numba" / name)}


def _dispatched(python):
    """Return the instructions that a NumPy chooses among when it is loaded."""
    asked = "from numpy._core._multiarray_umath import __cpu_dispatch__ as names; print(*names)"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def _runs(python):
    asked = tuple(map(int, python.removeprefix("python").split(".")))
    if sys.version_info[:2] >= asked or not shutil.which(python):
        return False
    return not subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode
