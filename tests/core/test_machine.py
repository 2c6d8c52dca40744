"""Machine code on other processors: shorter registers, no features; and where none can be compiled."""

import sys

import llvmlite.binding as llvm
import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.fusion import kernel
from clifford_rand.fusion.loops import CompiledLoop, MachineLoop
from clifford_rand.kernels import row_code
from clifford_rand.kernels.row_code import Rented, RowFunction, Writer
from clifford_rand.machine import compiled
from clifford_rand.machine.compiled import Target


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    yield
    compiled.target.cache_clear()


def processor(register, features=None):
    own = Target()
    own.register = register
    if features is not None:
        own.cpu, own.features = "", features
        own.identity += " none"
    return own


PROCESSORS = [(16, None), (32, None), (64, None), (16, ""), (32, "")]


def write(own, dtype):
    code = Writer(own, dtype, 2, 1)
    (a, b), (c,) = code.operands
    for row in (a * b - c, (a * a + 1.0).sqrt() / (1.5 + abs(c))):
        code.store(row)
    c.require_at_most(5.0)
    return code


@pytest.mark.parametrize(("register", "features"), PROCESSORS)
def test_rows_in_registers_of_every_length(register, features):
    own, rng = processor(register, features), np.random.default_rng(0)
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        function = RowFunction(write(own, dtype))
        assert function.width == register // dtype.itemsize
        for n in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33):
            a, b, c = rows = rng.standard_normal((3, n)).astype(dtype)
            got = function.all(rows[:2], rows[2:])
            want = np.array([a * b - c, np.sqrt(a * a + 1) / (1.5 + abs(c))])
            np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)
            c[n - 1] = 6
            assert function.all(rows[:2], rows[2:]) is None
            np.testing.assert_array_equal(np.flatnonzero(~function.marked(rows[:2], rows[2:])[1]), n - 1)


@pytest.mark.parametrize(("register", "features"), PROCESSORS)
def test_a_fused_function_in_registers_of_every_length(register, features, monkeypatch):
    monkeypatch.setattr(kernel, "target", lambda: processor(register, features))
    alg, rng = cr.Algebra.pga(3), np.random.default_rng(1)
    fused = cr.fused(lambda B, x, t: ((B * t).exp() >> x, x.norm()))
    for n in (1, 3, 4, 5, 9, 17):
        B, x = alg.random_multivector(rng, n, 2), alg.random_multivector(rng, n, 1)
        got, want = fused(B, x, 0.5), fused.function(B, x, 0.5)
        assert isinstance(fused._latest.function, MachineLoop)
        assert got[0].isclose(want[0], rtol=1e-12, atol=1e-12).all()
        np.testing.assert_allclose(got[1], want[1], rtol=1e-14)
        values = np.array(x.values)
        values[n - 1] *= 1e-170  # a guard fails: the norm is taken by the plain function
        x = alg.multivector(values, 1)
        np.testing.assert_allclose(fused(B, x, 0.5)[1], x.norm(), rtol=1e-14)


def test_without_features_registers_are_the_shortest(monkeypatch):
    def unknown():
        raise RuntimeError("unknown")

    monkeypatch.setattr(llvm, "get_host_cpu_features", unknown)
    assert Target().register == 16
    monkeypatch.setattr(llvm, "get_host_cpu_features", llvm.FeatureMap)
    assert Target().register == 16


def broken(monkeypatch, how):
    if how == "LLVM":
        monkeypatch.setattr(llvm, "initialize_native_target", lambda: (_ for _ in ()).throw(RuntimeError("no target")))
        return "no target"
    if how == "llvmlite":
        monkeypatch.setitem(sys.modules, "llvmlite", None)
        return "llvmlite"
    if how == "layout":
        wrong = compiled._TRIAL.replace(f"%array, {compiled.HEAD}\n", f"%array, {compiled.HEAD + 16}\n")
        monkeypatch.setattr(compiled, "_TRIAL", wrong)
        return "laid out"
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    return "CPython"


@pytest.mark.parametrize("how", ["LLVM", "llvmlite", "layout", "implementation"])
def test_where_none_can_be_compiled_it_says_why(how, monkeypatch):
    compiled.target.cache_clear()
    reason = broken(monkeypatch, how)
    for name in ("LOAD", "COMPILE", "COMPILE_PRODUCT"):
        monkeypatch.setattr(row_code, name, 0)
    with pytest.warns(RuntimeWarning, match=reason):
        assert Rented(write, 10).function(np.dtype(float), 100) is None
    alg, rng = cr.Algebra(3), np.random.default_rng(2)
    R, x = alg.random_multivector(rng, 50, (0, 2)), alg.random_multivector(rng, 50, 1)
    assert (R >> x).isclose(R * x * R.inv(), rtol=1e-12, atol=1e-12).all()  # and does not say it again
    np.testing.assert_allclose(R.normalized().norm(), 1, rtol=1e-14)


@pytest.mark.slow
def test_fused_functions_are_then_compiled_by_numba(monkeypatch):
    compiled.target.cache_clear()
    broken(monkeypatch, "layout")
    alg = cr.Algebra(3)
    x = alg.random_multivector(3, 5, 1)
    fused = cr.fused(lambda x: x * x * 3)
    with pytest.warns(RuntimeWarning, match="NumPy and Numba"):
        got = fused(x)
    assert got.isclose(x * x * 3).all()
    assert isinstance(fused._latest.function, CompiledLoop)
