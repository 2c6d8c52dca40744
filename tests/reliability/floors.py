"""Every lower bound in pyproject.toml is true: with all libraries at it the library installs and its tests pass.

The whole run makes an environment with every direct dependency, of every installation and of each extra that a user may
choose, at exactly its lower bound (of this Python), and runs there the tests that use them; a bound that was withdrawn
from the index, or a test that is skipped for want of a library, is a fault like one that fails. The short form needs no
network: every requirement has a lower bound, every module that the packages import belongs to a requirement of where it
is needed, and what is installed here satisfies all bounds.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from packaging.utils import canonicalize_name

from reliability.promise import Outcome
from support.environments import NAME, ROOT, Environment, at_floors, declared, floor, needed

_PACKAGES = ("clifford_rand", "clifford_rand_nn")
_EXTRAS = ("app", "torch", "onnx", "skops", "dask", "shards", "text", "mteb", "ecg", "ga", "paper", "notebook", "test")
# Distributions of modules that are not named alike, for extras that are not installed here.
_NAMES = {"PIL": "pillow", "arff": "liac-arff", "sklearn": "scikit-learn", "IPython": "ipython"}
_OF_EXTRA = {  # whole modules and folders
    "clifford_rand_nn/cli": "app",
    "clifford_rand/layers/equivariant.py": "torch",
    "clifford_rand_nn/export/torch_module.py": "torch",
}
_TESTS = {  # what uses the libraries, of every part
    "clifford_rand": (
        "array_functions", "blas", "compat_clifford", "cross_many", "display", "fused", "layers", "public_names",
        "symbolic", "threads",
    ),
    "clifford_rand_nn": (
        "cli", "cli_embed", "cli_export", "cli_network", "cli_shards", "cv", "cvxpy_programs", "displays",
        "estimators", "export", "export_onnx", "export_pipelines", "export_skops", "export_torch",
        "features_models", "model_file_golden", "network", "report", "shards_engines",
        "shards_formats", "tables", "tables_files", "tables_model",
    ),
    "paper": ("images", "signals"),
}  # fmt: skip


def run(budget):
    parts = declared()
    faults = [*_without_bound(parts), *_not_declared(parts), *_not_satisfied(parts)]
    count = sum(map(len, parts.values()))
    figure = f"{count} requirements with a lower bound, every import of {' and '.join(_PACKAGES)} declared"
    if not budget.short:
        with tempfile.TemporaryDirectory() as folder:
            said, found = _at_floors(folder, parts)
        figure, faults = f"{figure}; {said}", faults + found
    return Outcome(figure, faults)


def _without_bound(parts):
    """Return the requirements without a lower bound, but for this project's own extras."""
    every = [(part, one) for part, several in parts.items() for one in several]
    return [
        f"{one.name} of {part or 'every installation'} has no lower bound"
        for part, one in every
        if canonicalize_name(one.name) != NAME and floor(one) is None
    ]


def _not_declared(parts):
    """Return the imports of modules that no requirement brings: of the extra that `require` names, or of any."""
    own = packages_distributions()
    always, anywhere = set(needed([], parts)), set(needed(parts, parts))
    brought = {extra: set(needed([extra], parts)) for extra in parts}
    faults = []
    for file, module, extra, at_import in _imports():
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or top in _PACKAGES:
            continue
        names = {canonicalize_name(one) for one in own.get(top, [_NAMES.get(top, top)])}
        extra = extra or _OF_EXTRA.get(file.as_posix()) or _OF_EXTRA.get(file.parent.as_posix())
        there = brought[extra] if extra else always if at_import else anywhere
        if not names & there:
            where = f"the extra {extra}" if extra else "every installation" if at_import else "any extra"
            faults.append(f"{file} imports {module}, which no requirement of {where} brings")
    return faults


def _imports():
    """Yield (file, module, extra or None, whether importing the file imports it) of all that the packages import."""
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield from _within(path.relative_to(ROOT), ast.parse(path.read_text()))


def _within(file, tree):
    waiting = [(tree, True)]
    while waiting:
        node, at_import = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((file, one.name, None, at_import) for one in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield file, node.module, None, at_import
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require" and node.args:
            extra = [word.value.value for word in node.keywords if word.arg == "extra" and hasattr(word.value, "value")]
            if extra and isinstance(node.args[0], ast.Constant):
                yield file, node.args[0].value, extra[0], False
        now = at_import and not _later(node)
        waiting += [(one, now) for one in ast.iter_child_nodes(node)]


def _later(node):
    """Tell whether what stands in a node waits for a call, or is for type checkers."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Try)


def _not_satisfied(parts):
    """Return the installed libraries that are older than a bound."""
    faults = []
    for name, several in needed(_EXTRAS, parts).items():
        try:
            there = version(name)
        except PackageNotFoundError:
            continue
        faults += [f"{name} {there} is installed, {one} is required" for one in several if there not in one.specifier]
    return faults


def _at_floors(folder, parts):
    """Make the environment and run the tests there; return what was done, and the faults."""
    made = Environment(Path(folder) / "floors")
    lines = at_floors(_EXTRAS, parts)
    faults = made.install(*lines) or made.install("--no-deps", str(ROOT))
    if faults:
        return f"an environment of {len(lines)} libraries at their lower bounds", faults
    files = [
        str(path.relative_to(ROOT))
        for folder, names in _TESTS.items()
        for name in names
        for path in (ROOT / "tests" / folder).rglob(f"test_{name}.py")
    ]
    command = [made.python, "-m", "pytest", "-n", "0", "-q", "--tb=line", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=_alone(folder), check=False)
    told = re.findall(r"^(?:FAILED|ERROR) .*|^SKIPPED .*could not import.*", done.stdout, re.MULTILINE)
    if done.returncode and not told:
        told = [done.stdout[-2000:] + done.stderr[-2000:]]
    (last,) = re.findall(r"^.*\d+ passed.*$", done.stdout, re.MULTILINE)[-1:] or ["nothing passed"]
    return f"{len(lines)} libraries at their lower bounds: {last.strip('= ')} of {len(files)} files", told


def _alone(folder):
    """Return the environment of the tests: nothing of this one's Numba, one thread of BLAS."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTEST_ADDOPTS", "PYTHONPATH")}
    # scikit-learn below 1.8 takes arrays of other libraries only where SciPy is told so as well
    own = {"NUMBA_CACHE_DIR": str(Path(folder) / "numba"), "OPENBLAS_NUM_THREADS": "1", "SCIPY_ARRAY_API": "1"}
    return {**kept, **own}
