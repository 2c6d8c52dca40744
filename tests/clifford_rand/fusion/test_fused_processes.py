"""Fused functions go to other processes, as plain functions do: by name, or by their code with cloudpickle."""

import copy
import importlib
import os
import pickle
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest

import clifford_rand as cr

MODULE = """
import clifford_rand as cr

alg = cr.Algebra(3)


@cr.fused
def turned(B, x, *, factor=1.0):
    return B * x * ~B * factor


def _plain(B, x):
    return B * x * ~B


renamed = cr.fused(_plain, backend="numpy")
local = (lambda: cr.fused(lambda B, x: B * x * ~B))()


class Holder:
    @staticmethod
    @cr.fused(static_argnames="power")
    def turned(B, x, power=1):
        return B**power * x * ~B


arguments = [
    (alg.random_multivector(rng=k, shape=4, grades=2), alg.random_multivector(rng=9 - k, shape=4, grades=1))
    for k in range(4)
]


def are_right(results):
    return all(found.isclose(B * x * ~B).all() for found, (B, x) in zip(results, arguments, strict=True))
"""

POOLS = {
    "multiprocessing": """
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            results = pool.starmap(function, arguments)""",
    "futures": """
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            results = list(pool.map(function, *zip(*arguments, strict=True)))""",
    "joblib": """
        results = joblib.Parallel(2)(joblib.delayed(function)(B, x) for B, x in arguments)""",
}
NAMES = {"multiprocessing": "turned renamed Holder.turned", "futures": "turned", "joblib": "turned renamed local"}


@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False], ids=["defined in the script", "imported"])
def test_pools_of_processes_take_fused_functions(own, tmp_path):
    (tmp_path / "functions.py").write_text(MODULE)
    pools = {pool: code for pool, code in POOLS.items() if pool != "joblib" or find_spec("joblib")}
    lines = [
        f"import {', '.join(['concurrent.futures', 'multiprocessing', *(['joblib'] if 'joblib' in pools else [])])}"
    ]
    lines += [MODULE if own else "from functions import *", "if __name__ == '__main__':"]
    for pool, code in pools.items():
        for name in NAMES[pool].split():
            lines += [f"    function = {name}", textwrap.indent(textwrap.dedent(code).strip("\n"), "    ")]
            lines += ["    assert are_right(results)"]
    (tmp_path / "script.py").write_text("\n".join(lines))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    subprocess.run([sys.executable, "script.py"], check=True, env=environment, cwd=tmp_path, timeout=300)


def test_pickles_and_copies(tmp_path, monkeypatch):
    (tmp_path / "functions_here.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("functions_here")
    for one in (module.turned, module.Holder.turned):
        assert pickle.loads(pickle.dumps(one)) is one
        assert copy.copy(one) is copy.deepcopy(one) is one
    twin = pickle.loads(pickle.dumps(module.renamed))
    assert (twin.function, twin.backend) == (module._plain, "numpy")
    assert pickle.loads(pickle.dumps(module.renamed)) is twin
    with pytest.raises(Exception, match=r"Can't (pickle|get) .*lambda"):  # as every local function
        pickle.dumps(module.local)
    local = cr.fused(lambda B, x, n: B * x * n, static_argnames="n")
    there = pytest.importorskip("cloudpickle").loads(pytest.importorskip("cloudpickle").dumps(local))
    B, x = module.arguments[0]
    assert there(B, x, 2).isclose(2 * B * x).all()
