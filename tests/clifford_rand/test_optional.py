"""Without the optional libraries both packages are listed, documented and starred; errors name the command."""

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from clifford_rand.errors import install_command

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
CALLS = sorted(
    {
        call
        for package in ("clifford_rand", "clifford_rand_nn")
        for file in (ROOT / package).rglob("*.py")
        for call in re.findall(r'\brequire\("([\w.]+)", extra="(\w+)"', file.read_text(encoding="utf-8"))
        if call[0] != "no_such_library"
    }
)

# in a process that has none of the optional libraries: every package is listed, starred and documented
WITHOUT = """
import importlib.machinery, inspect, json, pydoc, sys

BLOCKED = set(json.loads(sys.argv[1]))
search = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = classmethod(
    lambda cls, name, *rest: None if name.partition(".")[0] in BLOCKED else search(name, *rest)
)
import clifford_rand as cr

counts = {}
for name in sys.argv[2:]:
    package, names = __import__(name, fromlist=["x"]), {}
    exec(f"from {name} import *", names)
    counts[name] = [
        len(names) - 1, len(inspect.getmembers(package)), len(pydoc.render_doc(package, renderer=pydoc.plaintext))
    ]
assert not BLOCKED & set(sys.modules)
try:
    cr.layers.GradeNorm(cr.Algebra(3), 4)
except cr.MissingDependencyError as error:
    counts["error"] = str(error)
print(json.dumps(counts))
"""


@pytest.mark.slow
def test_packages_are_listed_starred_and_documented_without_optional_libraries():
    blocked = ["torch", "matplotlib", "pandas", "pyarrow", "arff", "PIL", "openpyxl", "onnx", "onnxruntime", "skl2onnx"]
    blocked += ["skops", "dask", "distributed", "zarr", "sentence_transformers", "openai", "wfdb", "h5py", "IPython"]
    blocked += ["k3d", "clifford", "kingdon", "galgebra", "jax"]
    packages = [f"clifford_rand{part}" for part in ("", ".draw", ".presets", ".compat", "_nn")]
    arguments = [sys.executable, "-c", WITHOUT, json.dumps(blocked), *packages]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert re.fullmatch(r'clifford_rand.layers needs torch: pip install "torch>=[\d.]+"', counts.pop("error"))
    for name, (starred, members, characters) in counts.items():
        exported = __import__(name, fromlist=["__all__"]).__all__
        assert starred == len(exported) <= members, name
        assert characters > 500


def requirements(extra):
    """The requirements of an extra as the metadata of an installed distribution have them."""
    inner = re.compile(r"clifford-rand\[(.*)\]")
    for one in EXTRAS[extra]:
        match = inner.fullmatch(one)
        yield from (r for part in match[1].split(",") for r in requirements(part)) if match else [one]


@pytest.mark.parametrize(("module", "extra"), CALLS)
def test_the_command_names_the_library_in_a_version_that_the_extra_asks_for(module, extra, monkeypatch):
    metadata = [*PROJECT["dependencies"]]
    metadata += [f"{one}; extra == '{name}'" for name in EXTRAS for one in requirements(name)]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: metadata)
    library = re.fullmatch('pip install "(.*)"', install_command(module, extra))[1]
    assert library in EXTRAS[extra]
    name = re.match(r"[\w-]+", library)[0]
    top = module.partition(".")[0]
    assert name == {"PIL": "pillow", "arff": "liac-arff"}.get(top, top.lower().replace("_", "-"))


def test_sources_that_were_never_installed_have_a_command(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", missing)
    assert install_command("sentence_transformers", "text") == "pip install sentence-transformers"
