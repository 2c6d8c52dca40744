"""Fused functions against the plain ones: in several metrics, dtypes and batch shapes; counts, guards, the cache."""

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand._threads import for_each_slice
from clifford_rand.basis.keys import keys_of_masks
from clifford_rand.compiler import loops
from clifford_rand.fusion import kernel
from clifford_rand.fusion.multivector import TracedMultivector
from clifford_rand.fusion.operations import REASONS
from clifford_rand.multivector.base import INTERNAL, BladeAttributes
from support.refusals import refused

ALGEBRAS = {
    "Cl(1)": cr.Algebra(1),
    "Cl(3)": cr.Algebra(3),
    "PGA": cr.Algebra.pga(3),
    "CGA": cr.Algebra.cga(3),
    "STA": cr.Algebra.sta(),
    "Cl(2,0,1)": cr.Algebra(2, 0, 1),
    "Cl(4)": cr.Algebra(4),
    "Cl(0,4)": cr.Algebra(0, 4),
    "PGA(4)": cr.Algebra.pga(4),
    "null basis": cr.Algebra.cga(2, null_basis=True),
    "not diagonal": cr.Algebra(metric=[[2.0, 0.5, 0], [0.5, -1.0, 0.25], [0, 0.25, 0.5]]),
}


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def _some(alg, rng, grades, shape=(), dtype=np.float64):
    return alg.random_multivector(rng=rng, shape=shape, grades=grades, dtype=dtype)


def _even(alg, rng, shape=(), dtype=np.float64):
    return _some(alg, rng, tuple(range(0, alg.d + 1, 2)), shape, dtype)


def _is_same(got, want, rtol=1e-12):
    if isinstance(want, tuple):
        return len(got) == len(want) and all(_is_same(a, b, rtol) for a, b in zip(got, want, strict=True))
    if not hasattr(want, "keys"):
        return np.shape(got) == np.shape(want) and np.allclose(got, want, rtol, rtol * np.abs(want).max(initial=0))
    scale = np.abs(want.coefficients).max(initial=0)
    return got.shape == want.shape and np.abs((got - want).coefficients).max(initial=0) <= rtol * scale


def _agrees(function, *arguments, rtol=1e-12, **options):
    """Return the fused function, which gives what the plain one does, compiled."""
    fused = cr.fused(function, **({"backend": "numpy"} | options))
    assert _is_same(fused(*arguments), function(*arguments), rtol)
    assert fused.fallback_reason is None
    return fused


class Pair(NamedTuple):
    first: object
    second: object


def _products(a, b):
    total = (a ^ b) + (a | b) - (a << b) + a.rc(b) * 2.5 - b / 2 + 1 + (a & b) + a.inner(b) + 3 * a.scalar_product(b)
    return total + a.commutator(b) + a.anticommutator(b) - a.hestenes(b) + a.wedge(b, a), a["1"] * b, 2 - a


def _linear(a, b):
    total = a.reverse() + b.involute() + a.conjugate() + b.star() + a.star_right() - a.left_complement()
    return total + b.right_complement() + a.grade(0) + a.even() + b.odd(), (+a).scalar_part(), a.grade(0, 1)


def _norms(a, b):
    return b.norm_squared(), b.norm(), abs(b) * a, b.normalized()


FUNCTIONS = {
    "sandwich": lambda a, b: a * b * ~a,
    "products": _products,
    "linear": _linear,
    "norms": _norms,
    "inverse": lambda a, b: (a.inv(), 2 / b, b / a, a**-2, a**3),
    "exp": lambda a, b: (b.exp(), np.exp(a.even() - a.scalar_part() + 0.25)),
}


class TestAgreement:
    @pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
    @pytest.mark.parametrize("alg", ALGEBRAS.values(), ids=ALGEBRAS)
    def test_the_code_computes_what_the_plain_function_does(self, alg, function):
        rng = np.random.default_rng(0)
        for shape in ((), (5,)):
            a, b = _even(alg, rng, shape), _some(alg, rng, 1, shape)
            _agrees(function, a.grade(0, 2) if function is FUNCTIONS["exp"] and alg.d > 3 else a, b)

    @pytest.mark.parametrize("backend", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])
    @pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
    def test_dtypes(self, dtype, backend):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(2)
        fused = cr.fused(lambda R, x, t: (R * x * ~R * t, R.grade(2).exp(), x.norm()), backend=backend)
        R, x = _even(alg, rng, 9, dtype), _some(alg, rng, 1, 9, dtype)
        got, want = fused(R, x, 0.5), fused.function(R, x, 0.5)
        assert [one.dtype for one in got] == [one.dtype for one in want]
        assert _is_same(got, want, 50 * float(np.finfo(dtype).eps))

    def test_integers_one_dtype_beside_another_and_grades_that_are_stored_in_part(self):
        alg, pga = ALGEBRAS["Cl(3)"], ALGEBRAS["PGA"]
        fused = cr.fused(lambda a, b: a * b, backend="numpy")
        single = alg.vector(np.array([1, 2, 3], dtype=np.float32))
        assert fused(alg.e1, alg("e1 + 2*e23")) == alg("1 + 2*e123")
        assert fused(single, alg.e1).dtype == np.float32
        assert fused(single, alg.vector([1.0, 0, 0])).dtype == np.float64
        a, b = pga("1.5 + 2*e12"), pga("e1 - 3*e012")
        assert fused(a, b) == a * b
        assert fused(a, b).keys is (a * b).keys


class TestBatches:
    @pytest.mark.parametrize("backend", ["numba", "numpy"])
    def test_batch_axes_broadcast(self, backend):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(3)
        fused = cr.fused(lambda R, x, t: (R * x * ~R * t, R * t, x.norm_squared()), backend=backend)
        shapes = [
            ((), (4,), ()),
            ((4,), (), (4,)),
            ((3, 1), (4,), ()),
            ((2, 3, 4), (3, 1), (4,)),
            ((1,), (), (5,)),
            ((0,),) * 3,
        ]
        for first, second, third in shapes:
            R, x, t = (_even(alg, rng, first), _some(alg, rng, 1, second), rng.standard_normal(third))
            assert _is_same(fused(R, x, t), fused.function(R, x, t)), (first, second, third)

    def test_every_number_of_samples(self):
        """Whole registers, two of them side by side, and what is left of one."""
        alg, rng = ALGEBRAS["PGA"], np.random.default_rng(23)
        fused = cr.fused(lambda B, x: (B.exp() >> x, x * x))
        for dtype in (np.float64, np.float32):
            for count in (1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65):
                B, x = (_some(alg, rng, k, count, dtype) for k in (2, 1))
                assert _is_same(fused(B, x), fused.function(B, x), 100 * float(np.finfo(dtype).eps))
                assert fused.fallback_reason is None

    def test_many_samples_run_on_threads(self, monkeypatch):
        monkeypatch.setattr(kernel, "THREADS_FROM", 2**11)
        monkeypatch.setattr("clifford_rand._threads.cpu_count", lambda: 3)
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(4)
        slices = []
        monkeypatch.setattr(loops, "for_each_slice", lambda work, *a, **k: slices.append(for_each_slice(work, *a, **k)))
        fused = cr.fused(lambda R, x: R * x * ~R)
        R, x = _even(alg, rng, 1001), _some(alg, rng, 1, 1001)
        assert _is_same(fused(R, x), R * x * ~R)
        assert len(slices) == 1

    def test_what_one_multivector_decides_is_computed_before_the_loop(self):
        alg, rng = ALGEBRAS["PGA"], np.random.default_rng(5)
        B, x = _some(alg, rng, 2), _some(alg, rng, 3, 9)
        fused = _agrees(lambda B, x: (B.exp() * x * ~B.exp(), B * B), B, x, backend="numba")
        head, loop = fused.source().split("    for _i in")
        assert "_np.rint" in head
        assert "_np.rint" not in loop

    def test_no_array_is_copied_that_lies_component_by_component(self):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(6)
        result = cr.fused(lambda a: 2 * a)(_some(alg, rng, 1, 8))
        assert result.coefficients.T.flags.c_contiguous
        assert not result.coefficients.flags.writeable

    @pytest.mark.parametrize("name", ["Cl(3)", "CGA", "PGA"])
    def test_the_matrix_of_one_versor_is_computed_before_the_loop(self, name):
        alg, rng = ALGEBRAS[name], np.random.default_rng(17)
        R, x, t = _even(alg, rng), _some(alg, rng, 1, 5), rng.standard_normal(5)
        _agrees(lambda R, x, t: (R * x * ~R * t + R, x * x + t), R, x, t)
        moved = cr.fused(lambda R, x: R * x * ~R)
        rows = (R * x * ~R).grade(1, *(5,) * (alg.d == 5)).keys.size
        assert moved.source(R, x).split("    for _i in")[1].count("*") <= rows * alg.d
        assert moved.operations(_even(alg, rng, 5), x)[0] > rows * alg.d


class TestCode:
    def test_the_operations_of_a_rotor_and_a_vector(self):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(7)
        fused = cr.fused(lambda R, x: R * x * ~R, backend="numpy")
        # R x: four components of three products each; times ~R: three of four each, as the fourth vanishes
        assert fused.operations(_even(alg, rng), alg.e1 + alg.e2 + alg.e3) == (24, 17, 0)
        # a rotor in the plane e12 and a vector in it: 4 and 2 products, 4 and 2 of them once more
        plane = alg.new(keys_of_masks(3, (0, 3)), np.array([0.5, 2.0]))
        assert fused(plane, alg.e1 + alg.e2) == (plane * (alg.e1 + alg.e2) * ~plane).sparse()
        assert fused.operations(plane, alg.e1 + alg.e2) == (8, 4, 0)

    def test_terms_that_are_equal_are_computed_once_and_zeros_not_at_all(self):
        alg, rng = ALGEBRAS["STA"], np.random.default_rng(8)
        a, b = (_some(alg, rng, None) for _ in range(2))
        fused = cr.fused(lambda a, b: (a * b) * a - a * (b * a) + a.scalar_part() * b.scalar_part(), backend="numpy")
        assert fused.operations(a, b) == (1, 0, 0)
        assert fused(a, b).grades == (0,)
        twice = cr.fused(lambda a, b: (a + b) * (a + b) - a * a - b * b - b * a, backend="numpy")
        once = cr.fused(lambda a, b: a * b, backend="numpy")
        assert twice.operations(a, b)[2] == 0
        assert _is_same(twice(a, b), a * b)
        assert once.operations(a, b)[0] == 256

    def test_results_that_vanish_and_arguments_without_blades(self):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(21)
        nothing = alg.e12.grade(1)
        for backend in ("numba", "numpy"):
            zero = cr.fused(lambda a, b: (a - a, a.norm_squared() * 0, b * a, 1.5), backend=backend)
            for shape in ((), (3,), (2, 1)):
                a = _some(alg, rng, 1, shape)
                got, number, product, constant = zero(a, nothing)
                assert got.shape == product.shape == np.shape(number) == shape
                assert got.keys.size == product.keys.size == 0
                assert not np.any(number)
                assert constant == 1.5

    def test_the_source_is_the_code(self):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(9)
        fused = cr.fused(lambda a, t: (a + 1) * np.sin(t), backend="numpy")
        a = _some(alg, rng, 1)
        text = fused.source(a, 0.25)
        assert "a_e1" in text
        assert "_np.sin(t)" in text
        namespace = {}
        exec(text, namespace)
        out = np.empty((4, 1))
        namespace["kernel"](a.coefficients.reshape(-1, 1), 0.25, out)
        assert np.array_equal(out[:, 0], fused(a, 0.25).coefficients)

    def test_names_that_the_code_uses_itself(self):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(10)
        a, b = (_some(alg, rng, 1, 3) for _ in range(2))
        fused = cr.fused(lambda _0, _i, _0_e1: _0 * _i + _0_e1)
        assert _is_same(fused(a, b, 2.0), a * b + 2.0)


class TestScalars:
    def test_functions_of_scalars(self):
        def function(t, x):
            smooth = np.sqrt(abs(t)) + np.exp(-t) * np.cos(t) + np.hypot(t, 2.0) + t**3 + t**-2 + abs(t) ** 0.5 + 2.0**t
            return (
                smooth + np.arctan2(t, 2) + np.where((t > 0) & (t < 1), t, np.square(t)),
                np.sinh(t) * x,
                t / 3 - 1 / t,
            )

        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(11)
        t, x = rng.standard_normal(50), _some(alg, rng, 1, 50)
        for backend in ("numba", "numpy"):
            assert _is_same(cr.fused(function, backend=backend)(t, x), function(t, x))

    def test_constants_of_the_function(self):
        alg = ALGEBRAS["PGA"]
        axis = alg("e12 + 0.5*e01")
        x = alg("e123 + 0.5*e012")
        _agrees(lambda t, x: (axis * t).exp() * x * 2j.real + t * alg.e1 + np.float64(2) * x, 0.3, x)
        _agrees(lambda x: ((x - x) + 0.25 * alg.e12 + 2 * alg.e03).exp() * x * 2.0, x)
        for chosen in (1.0, 3.0):

            def pick(t, x, chosen=chosen):
                return np.where((t * 0 + chosen > 2) | (t > 9), x["e123"], t)

            assert cr.fused(pick, backend="numpy")(0.3, x) == pick(0.3, x)

    def test_static_arguments_are_part_of_the_code(self):
        alg = ALGEBRAS["Cl(3)"]
        fused = cr.fused(lambda a, n, flag=True: a**n if flag else a, backend="numpy", static_argnames="n")
        a = alg("1.0 + 2*e12")
        assert _is_same(fused(a, 3), a**3)
        assert _is_same(fused(a, n=2), a**2)
        assert _is_same(fused(a, 2, flag=False), a)
        assert len(fused.compiled_for) == 3

    def test_arguments_of_every_kind(self):
        def function(a, /, b, *more, scale=2.0, **named):
            return sum(more, a * b) * scale + named.get("last", 0)

        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(15)
        a, b, c, d = (_some(alg, rng, 1, 4) for _ in range(4))
        fused = cr.fused(function, backend="numpy")
        for args, named in (
            ((a, b), {}),
            ((a, b, c, d), {}),
            ((a,), {"b": b, "scale": 3.0, "last": c}),
            ((a, b, c, 2.0), {}),
        ):
            assert _is_same(fused(*args, **named), function(*args, **named))
            assert fused.fallback_reason is None
        assert _is_same(fused(a, b, last=d), a * b * 2.0 + d)

    def test_a_method(self):
        class Motion:
            def __init__(self, factor):
                self.factor = factor

            @cr.fused
            def __call__(self, x):
                return x * self.factor

        x = ALGEBRAS["Cl(3)"].e1 * 1.5
        assert [Motion(factor)(x) for factor in (2, 3)] == [2 * x, 3 * x]

    def test_tuples(self):
        alg = ALGEBRAS["Cl(3)"]
        fused = cr.fused(lambda state, dt: Pair(state[0] + dt * state[1], [state[1], 1.5]), backend="numpy")
        pair = fused((alg("1.0*e1"), alg("2.0*e2")), 0.5)
        assert isinstance(pair, Pair)
        first, (second, number) = pair
        assert (first, second, number) == (alg("e1 + e2"), alg("2*e2"), 1.5)


class TestExponential:
    @pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-3, 0.3, 3.0, 40.0])
    @pytest.mark.parametrize("name", ["Cl(3)", "PGA", "CGA", "STA", "Cl(4)"])
    def test_of_every_size(self, name, scale):
        """exp(B) for B and for planes that turn equally fast; exp(B) exp(-B) = 1."""
        alg, rng = ALGEBRAS[name], np.random.default_rng(12)
        if name in ("CGA", "STA"):
            scale = min(scale, 5.0)  # boosts grow
        B = _some(alg, rng, 2, 64) * scale
        fused = cr.fused(lambda B: (B.exp(), B.exp() * (-B).exp()), backend="numpy")
        got, one = fused(B)
        size = np.abs(got.coefficients).max()
        assert np.abs((got - B.exp()).coefficients).max() <= 2e-14 * (1 + scale) * size
        assert np.abs((one - 1).coefficients).max() <= 1e-13 * (1 + scale) * size**2
        assert fused.fallback_reason is None

    @pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
    @pytest.mark.parametrize("size", [1e-2, 0.4, 2.0, 9.0])
    def test_of_planes_that_turn_almost_equally_fast(self, size, gap):
        alg = ALGEBRAS["Cl(4)"]
        fused = cr.fused(lambda B: B.exp(), backend="numpy")
        for sign in (1, -1):
            B = size * (alg.e12 + sign * (1 + gap) * alg.e34)
            a, b = size, sign * size * (1 + gap)
            want = (np.cos(a) + np.sin(a) * alg.e12) * (np.cos(b) + np.sin(b) * alg.e34)
            assert np.abs((fused(B) - want).coefficients).max() < 2e-15 * (1 + size)


class TestLogarithm:
    @pytest.mark.one_seed("at scale 1 some rotors are near -1, whose roots have fewer digits")
    @pytest.mark.parametrize("scale", [1e-9, 0.1, 1.0])
    @pytest.mark.parametrize("name", ["Cl(3)", "PGA", "CGA", "STA", "Cl(2,0,1)", "PGA(4)"])
    def test_of_rotors(self, name, scale):
        """exp(log R) = R = (√R)², and log and sqrt as the plain ones; for scale 1 also where 1 + ⟨R⟩_0 is small."""
        alg, rng = ALGEBRAS[name], np.random.default_rng(16)
        if alg.d > 3 and name != "PGA":
            scale = min(scale, 0.2)  # turns in two planes by more are left to the plain function
        R = (scale * _some(alg, rng, 2, 100)).exp()
        fused = cr.fused(lambda R: (R.log(), R.sqrt(), np.log(R).exp(), np.sqrt(R) * R.sqrt()), backend="numpy")
        log, root, back, square = fused(R)
        assert fused.fallback_reason is None
        assert _is_same(back, R)
        assert _is_same(square, R)
        assert _is_same(log, R.log())
        assert _is_same(root, R.sqrt())
        doubled = cr.fused(lambda R: (4 * R).sqrt(), backend="numpy")
        assert _is_same(doubled(R), 2 * R.sqrt())

    def test_of_what_is_left_to_the_plain_function(self):
        alg = ALGEBRAS["Cl(3)"]
        log = cr.fused(lambda R: R.log(), backend="numpy")
        for R in (2 * (alg.e12 * 0.5).exp(), (np.pi * alg.e12).exp()):
            assert _is_same(log(R), R.log())
            assert log.fallback_reason
        with pytest.warns(cr.FusionWarning, match="grades"):
            assert cr.fused(lambda R: R.log(), backend="numpy")(alg.e1 + 2.0) == (alg.e1 + 2.0).log()


class TestArrayFunction:
    @staticmethod
    def _move(B, x, t, half=0.5):
        R = (B * t * half).exp()
        return R * x * ~R, (x.norm_squared() + np.where(t > 0, t, 1.0), (R.log() * 2).exp(), R.sqrt())

    @pytest.mark.parametrize(
        "library",
        ["numpy", "array_api_strict", *(pytest.param(one, marks=pytest.mark.slow) for one in ("torch", "jax.numpy"))],
    )
    @pytest.mark.parametrize("name", ["Cl(3)", "PGA", "Cl(2,0,1)"])
    def test_arrays_of_every_library(self, name, library):
        xp = pytest.importorskip(library)
        alg, rng = ALGEBRAS[name], np.random.default_rng(18)
        B, x, t = (_some(alg, rng, 2, 6) * 0.5, _some(alg, rng, 1, 6), rng.standard_normal(6))
        function = cr.fused(self._move).array_function(B, x, t, half=0.25)
        arrays = [xp.asarray(np.array(one, dtype=np.float32)) for one in (B.coefficients, x.coefficients, t)]
        moved, (number, twice, root) = function(*arrays, 0.25)
        want = self._move(B, x, t, 0.25)
        assert str(moved.dtype).endswith("float32")
        assert np.allclose(np.asarray(number), want[1][0], rtol=1e-5)
        for got, exact, k in zip((moved, twice, root), (want[0], *want[1][1:]), (0, 2, 3), strict=True):
            keys = function.keys[k]
            assert _is_same(alg.new(keys, np.array(np.asarray(got), dtype=np.float64)), exact, 1e-5)

    @pytest.mark.parametrize("name", [pytest.param("Cl(3)", marks=pytest.mark.slow), "PGA"])
    def test_gradients(self, name):
        """By finite differences, for ordinary and for tiny bivectors; at B = 0 they are finite."""
        torch = pytest.importorskip("torch")
        alg, rng = ALGEBRAS[name], np.random.default_rng(19)
        B, x, t = (_some(alg, rng, 2, 3), _some(alg, rng, 1, 3), 0.5 + rng.random(3))
        function = cr.fused(self._move).array_function(B, x, t)

        def flat(*arrays):
            first, rest = function(*arrays, 0.5)
            return first, *rest

        for scale in (1.0, 1e-3):
            values = scale * B.coefficients, x.coefficients, t
            arrays = [torch.tensor(np.array(one), requires_grad=True) for one in values]
            assert torch.autograd.gradcheck(flat, arrays)
        zero = torch.zeros_like(arrays[0], requires_grad=True)
        sum(one.sum() for one in flat(zero, *arrays[1:])).backward()
        assert torch.isfinite(zero.grad).all()

    def test_tensors_describe_the_arguments_as_arrays_do(self):
        torch = pytest.importorskip("torch")
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(22)
        a, b = torch.tensor(rng.standard_normal((2, 4, 3)), requires_grad=True)
        w = torch.tensor(rng.random(4))
        area = cr.fused(lambda a, b, w: w * (a ^ b).norm())
        result = area.array_function(alg.vector(a), alg.vector(b), w)(a, b, w)
        assert torch.allclose(result, w * torch.linalg.cross(a, b).norm(dim=1))
        assert torch.autograd.grad(result.sum(), a)[0].shape == (4, 3)

    @pytest.mark.slow
    def test_torch_compiles_the_whole(self):
        torch = pytest.importorskip("torch")
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(20)
        B, x = _some(alg, rng, 2, 5), _some(alg, rng, 1, 5)
        function = cr.fused(self._move).array_function(B, x, 0.5)
        arrays = [torch.tensor(np.array(one.coefficients)) for one in (B, x)]
        compiled = torch.compile(lambda *arrays: function(*arrays, 0.5, 0.5)[0], fullgraph=True, backend="aot_eager")
        assert torch.allclose(compiled(*arrays), function(*arrays, 0.5, 0.5)[0])

    def test_what_cannot_be_emitted(self):
        alg = ALGEBRAS["CGA"]
        refused(
            "function must be one that can be traced",
            lambda: cr.fused(lambda B: B.exp()).array_function(alg.random_multivector(rng=0, shape=(), grades=2)),
        )
        refused("complex", lambda: cr.fused(lambda B: B * 2).array_function(alg.e12 * 1j))


class TestFallback:
    @staticmethod
    def _reason(function, *args, backend="numpy", **options):
        fused = cr.fused(function, backend=backend, **options)
        with pytest.warns(cr.FusionWarning, match="runs as it is, not fused") as caught:
            got = fused(*args)
        again = fused(*args)  # without a second warning
        want = function(*args)
        assert len(caught) == 1
        for result in (got, again):
            numeric = isinstance(want, cr.Multivector) and want.dtype != object
            assert _is_same(result, want) if numeric else result == want
        assert str(caught[0].message).endswith(f": {fused.fallback_reason.rstrip('.')}.")
        return fused.fallback_reason

    def test_an_error_of_the_plain_function_says_why_it_is_not_fused(self):
        shorter = cr.fused(lambda a: a if a.norm() < 1 else a.normalized())
        with pytest.raises(ValueError, match="truth value") as caught:
            shorter(ALGEBRAS["Cl(3)"].random_multivector(rng=0, shape=5, grades=1))
        (note,) = caught.value.__notes__
        assert "not fused: it branches on a value" in note
        assert "numpy.where" in note

    def test_reasons(self):
        for reason, function, more in [
            ('static_argnames="n"', lambda a, n: a**n, [3]),
            ("numpy.stack", lambda a: np.stack([a, 2 * a]).sum(), []),
            ("number that a scalar is", lambda a: a * float(a | a), []),
            ("compares multivectors", lambda a: a if (a | a) < 1 else 2 * a, []),
            ("branches on a value", lambda a: a if a.norm() > 1 else -a, []),
            ("float of an argument's value", lambda a: a * float(a["e1"]), []),
            ("pass it as one", lambda a: a * ALGEBRAS["Cl(3)"].vector(np.eye(3)), []),
            ("name that argument in `static_argnames`", lambda a, n: ([a] * n)[0], [2]),
            ("uses .vector_matrix", lambda a: a * a.vector_matrix()[0, 0], []),
            ("returns a dict", lambda a: {"a": a}, []),
            ("takes a part of the batch", lambda a, b: b[0], [ALGEBRAS["Cl(3)"].vector(np.eye(3))]),
            ("may be no versor", lambda a: (1 + a + ALGEBRAS["Cl(3)"].e12) >> a, []),
            ("fractions or symbols", lambda a, b: b * b, [ALGEBRAS["Cl(3)"].symbols("a", grades=1)]),
            ("may be complex", lambda a, B: B.exp(), [cr.Algebra(2, 2)("e12 + 2.0*e34 + e13")]),
        ]:
            assert reason in self._reason(function, ALGEBRAS["Cl(3)"]("1.0*e1 + 2*e2"), *more)

    def test_tensors_run_the_plain_function(self):
        """Which the compilers of their libraries fuse: without a warning."""
        torch = pytest.importorskip("torch")
        alg = ALGEBRAS["Cl(3)"]
        fused = cr.fused(lambda a: a)
        tensor = object.__new__(cr.Multivector)
        tensor.algebra, tensor.keys, tensor.coefficients = alg, alg.e1.keys, torch.ones(3, 1)
        assert fused(tensor) is tensor
        assert "array_function" in fused.fallback_reason

    def test_an_error_of_the_plain_function_is_its_error(self):
        refused("integers from 0 to 3", lambda: cr.fused(lambda a: a.grade(7), backend="numpy")(ALGEBRAS["Cl(3)"].e1))

    @pytest.mark.parametrize("backend", [pytest.param("numba", marks=pytest.mark.slow), "numpy"])
    def test_guards(self, backend):
        """Where the compiled code would not be right the plain function is run, with its result or its error."""
        alg, rng = ALGEBRAS["STA"], np.random.default_rng(13)
        sandwich = cr.fused(lambda R, x: R >> x, backend=backend)
        R, x = _even(alg, rng, 4), _some(alg, rng, 1, 4)
        assert _is_same(sandwich(R, x), R >> x)  # no versors
        assert "out of the range" in sandwich.fallback_reason
        versors = _some(alg, rng, 1, 4) * _some(alg, rng, 1, 4)
        assert _is_same(sandwich(versors, x), versors >> x)
        assert sandwich.fallback_reason is None
        norms = cr.fused(lambda x: (x.normalized(), x.norm()), backend=backend)
        assert _is_same(norms(x * 1e-170), ((x * 1e-170).normalized(), (x * 1e-170).norm()))
        grown = cr.fused(lambda B: B.exp(), backend=backend)
        assert _is_same(grown(400.0 * alg.g0 ^ alg.g1), (400.0 * alg.g0 ^ alg.g1).exp())
        assert grown.fallback_reason
        refused("out of range", grown, 1e5 * alg.g0 ^ alg.g1)
        refused("finite", grown, np.nan * alg.g0 ^ alg.g1)
        refused("of non-zero norm", lambda: norms(alg("g0 + g1")))
        refused("invertible", lambda: cr.fused(lambda x: x.inv(), backend=backend)(alg("1.0*g0 + g1")))

    @pytest.mark.parametrize("backend", ["numba", "numpy"])
    def test_only_samples_whose_guard_fails_run_plainly(self, backend):
        alg, rng = ALGEBRAS["STA"], np.random.default_rng(22)
        given = []

        def function(pair, t, x):
            R, scale = pair
            given.append(R)
            return R >> x, [(x * scale).norm() * t, R * t, R.normalized()]

        fused = cr.fused(function, backend=backend)
        for shapes in (((9,), (), (9,)), ((3, 1), (4,), ()), ((133,), (133,), (133,))):
            first, second, third = shapes
            R = _some(alg, rng, 1, first) * _some(alg, rng, 1, first)
            values = np.array(R.coefficients)
            values[len(values) // 2] = rng.standard_normal(R.keys.size)  # no versor, so that the result has grade 3
            R, x, t = (alg.new(R.keys, values), _some(alg, rng, 1, third), rng.standard_normal(second))
            shape = np.broadcast_shapes(*shapes)
            given.clear()
            got = fused((R, 2.0), t, x)
            count = 4 if len(shape) == 2 else 1
            assert [one.shape for one in given if isinstance(one, cr.Multivector)] == [(count,)]
            moved, (size, turned, unit) = function((R, 2.0), t, x)
            assert got[0].grades == (1, 3)
            assert _is_same(got[0], moved)
            assert _is_same(got[1][0], size)
            assert _is_same(got[1][1], turned)
            assert _is_same(got[1][2], unit)
            assert fused.fallback_reason.startswith(f"{count} of {np.prod(shape)} samples")

    def test_an_error_in_some_samples_names_them(self):
        alg = ALGEBRAS["STA"]
        x = alg.vector([[1.0, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0]])
        fused = cr.fused(lambda x: x.inv(), backend="numpy")
        with pytest.raises(cr.ArgumentError) as got:
            fused(x)
        with pytest.raises(cr.ArgumentError) as want:
            x.inv()
        assert str(got.value) == str(want.value)

    def test_arguments(self):
        refused(
            "'backend' parameter of fused must be one of 'numba', 'numpy'", lambda: cr.fused(lambda a: a, backend="c")
        )
        refused(
            "'static_argnames' parameter of fused must be among the arguments a",
            lambda: cr.fused(lambda a: a, static_argnames="b"),
        )
        refused("not called yet", lambda: cr.fused(lambda a: a).source())
        refused("missing a required argument", lambda: cr.fused(lambda a: a)(), error=TypeError)


def _calls(names, *more):
    """Return functions that call methods of A, with ``more`` arguments made of x."""
    return {
        name: lambda A, R, B, x, name=name: tuple(getattr(A, name)(one(x)) for one in more) for name in names.split()
    }


def _axis(x):
    return x.algebra.e12


# Every public name of a multivector: what is traced, for A of all grades, a rotor R, a bivector B and a vector x; for
# all others `REASONS` has the reason
TRACED = {
    "algebra": lambda A, R, B, x: A + A.algebra.e12,
    "keys": lambda A, R, B, x: A * A.keys.size,
    "grades": lambda A, R, B, x: sum((A.grade(k) for k in A.grades if k), 0),
    "grade": lambda A, R, B, x: A.grade(1, 2),
    "exp": lambda A, R, B, x: B.exp(),
    "bivector_split": lambda A, R, B, x: sum((part * (k + 1) for k, part in enumerate(B.bivector_split())), 0),
    "sandwich": lambda A, R, B, x: (R.sandwich(x), _axis(x).sandwich(x)),
    "replace": lambda A, R, B, x: A.replace({"e12": 2.0, "1": x["e1"]}),
    "map": lambda A, R, B, x: (x.map(lambda c: c * c), x.map(lambda name, c: c * len(name))),
    "outermorphism": lambda A, R, B, x: A.outermorphism(np.diag(np.arange(A.algebra.d) + 2.0)),
    **_calls("gp wedge vee fat_dot hestenes lc rc scalar_product inner commutator anticommutator", _axis, lambda x: x),
    **_calls("project reject reflect", _axis, lambda x: x),
}
_OF_ROTORS = ("normalized", "inv", "log", "sqrt", "norm", "norm_squared")
_OF_ALL = ("reverse", "involute", "conjugate", "even", "odd", "scalar_part", "copy", "star", "star_right")
TRACED |= {name: lambda A, R, B, x, name=name: getattr(R, name)() for name in _OF_ROTORS}
for _name in (*_OF_ALL, "left_complement", "right_complement"):
    TRACED[_name] = lambda A, R, B, x, name=_name: getattr(A, name)()
for _name in ("cosh", "sinh", "tanh", "outerexp", "outersin", "outercos", "outertan"):
    TRACED[_name] = lambda A, R, B, x, name=_name: tuple(getattr(one, name)() for one in (B, x))
for _name in ("dual", "undual"):
    TRACED[_name] = lambda A, R, B, x, name=_name: getattr(A, name)() if not A.algebra.form.counts[2] else A


class TestMethods:
    """What of a multivector is traced, and what is not and why, is a list that is complete, true, and in the docs."""

    def test_the_list_is_complete(self):
        names = (
            {name for name in dir(cr.Multivector) if not name.startswith("_")} - set(dir(BladeAttributes)) - INTERNAL
        )
        assert sorted([*TRACED, *REASONS]) == sorted(names)
        assert not [name for name in REASONS if name in vars(TracedMultivector)]

    def test_the_docs_have_it(self):
        text = (Path(__file__).parents[3] / "docs" / "architecture" / "fused.md").read_text(encoding="utf-8")
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        for reason in set(REASONS.values()):
            (row,) = [row for row in rows if row.endswith(f"| {reason} |")]
            assert row.split("|")[1].split() == [f"`{name}`" for name in REASONS if REASONS[name] == reason]
        assert len(rows) == len(set(REASONS.values()))

    @pytest.mark.parametrize("name", TRACED)
    def test_traced(self, name):
        """As the plain function, of a batch and of one; a left factor may be a constant."""
        for alg in (ALGEBRAS["Cl(4)"], ALGEBRAS["PGA"]):
            rng = np.random.default_rng(24)
            for shape in ((4,), ()):
                A, x, B = (_some(alg, rng, k, shape) for k in (tuple(range(alg.d + 1)), 1, 2))
                R = (0.2 * B).exp()
                _agrees(TRACED[name], A, R, B, x, rtol=1e-11)

    @pytest.mark.parametrize("name", REASONS)
    def test_not_traced(self, name):
        alg = ALGEBRAS["Cl(3)"]

        def function(A):
            assert getattr(A, name) is not None
            return A

        fused = cr.fused(function, backend="numpy")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cr.FusionWarning)
            fused(alg.vector([[1.0, 2, 3]] * 3))
        assert fused.fallback_reason == f"it uses .{name}, which is not traced: {REASONS[name]}"

    @pytest.mark.parametrize("name", ["inner", "wedge", "gp", "lc", "project", "reject", "reflect", "sandwich"])
    def test_a_constant_as_the_left_factor(self, name):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(25)
        x, t = _some(alg, rng, 1, 4), rng.random(4) + 0.5
        _agrees(lambda x, t: (getattr(alg.e12 * 2.0, name)(x), getattr(alg.e1, name)(t)), x, t)
        _agrees(lambda x: alg.e1.wedge(x, alg.e2, x["e1"]), x)

    def test_blades_that_are_none_or_null(self):
        """These are given to the plain function, which refuses them."""
        for alg in (ALGEBRAS["Cl(4)"], ALGEBRAS["CGA"]):
            x = alg.random_multivector(rng=26, shape=3, grades=1)
            for k in (2, alg.d - 2):
                B = alg.random_multivector(rng=27, shape=3, grades=k)
                for name in ("project", "reject", "reflect"):
                    fused = cr.fused(lambda x, B, name=name: getattr(x, name)(B), backend="numpy")
                    refused("must be a blade, a wedge of vectors", fused, x, B)
                    a, b, c = (alg.random_multivector(rng=28 + i, shape=3, grades=1) for i in range(3))
                    blade = a ^ b if k == 2 else a ^ b ^ c
                    _agrees(fused.function, x, blade, rtol=1e-11)
        null = ALGEBRAS["PGA"]("1.0*e01")
        refused("not null", lambda: cr.fused(lambda x: x.reject(null), backend="numpy")(ALGEBRAS["PGA"].e1))

    @pytest.mark.parametrize("name", ["Cl(4)", "STA", "CGA", "PGA", "Cl(0,4)"])
    def test_bivector_split(self, name):
        """Parts are simple, commute and have the sum B; of a sample that is simple the second vanishes."""
        alg = ALGEBRAS[name]
        fused = cr.fused(lambda B: tuple(B.bivector_split()), backend="numpy")
        B = alg.random_multivector(rng=29, shape=20, grades=2)
        first, second = fused(B)
        assert fused.fallback_reason is None
        size = float((B.coefficients**2).max())
        for vanishes in (first + second - B, first ^ first, second ^ second, first.commutator(second)):
            assert np.abs(vanishes.coefficients).max(initial=0) <= 1e-12 * size
        assert _is_same((first, second), B.bivector_split(), 1e-11)
        values = np.array(B.coefficients)
        values[3, 1:] = 0
        mixed = alg.new(B.keys, values)
        assert _is_same(fused(mixed), mixed.bivector_split(), 1e-11)
        assert fused.fallback_reason


_SCRIPT = """
import sys, time
import numpy as np
import clifford_rand as cr
alg = cr.Algebra(3)
fused = cr.fused(lambda R, x: (R * x * ~R, x.norm()))
R, x = alg.multivector(np.arange(8.0).reshape(2, 4) + 1, (0, 2)), alg.vector([[1.0, 2, 3]] * 2)
fused(R, x)
print("numba" in sys.modules)  # few samples are computed by NumPy
R, x = (alg.multivector(np.repeat(one.values, 1000, axis=0), one.grades) for one in (R, x))
moved, size = fused(R, x)
assert np.allclose(moved.coefficients, (R * x * ~R).grade(1).coefficients), moved
called = cr.fused(lambda x, t: x * np.sin(t))
assert np.allclose(called(x, 0.5).coefficients, np.sin(0.5) * x.coefficients)
for one in (fused, called):
    (loop,) = next(reversed(one._kernels.values()))._lazy._compiled.values()
    print(sum(loop.stats.cache_hits.values()), sum(loop.stats.cache_misses.values()))
"""


class TestCache:
    @pytest.mark.slow
    def test_a_second_process_compiles_nothing(self, tmp_path):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        found = [
            subprocess.run([sys.executable, "-c", _SCRIPT], env=environment, check=True, capture_output=True, text=True)
            for _ in range(2)
        ]
        assert [one.stdout.split() for one in found] == [["False", "0", "1", "0", "1"], ["False", "1", "0", "1", "0"]]

    def test_a_folder_that_cannot_be_written_to(self, tmp_path, monkeypatch):
        file = tmp_path / "file"
        file.write_text("")
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(file))
        alg = ALGEBRAS["Cl(3)"]
        assert cr.fused(lambda a, t: a * np.sin(t))(alg.e1, np.pi / 2) == alg.e1  # compiled, and not kept

    def test_threads(self):
        alg, rng = ALGEBRAS["Cl(3)"], np.random.default_rng(14)
        fused = cr.fused(lambda R, x: R * x * ~R + x, backend="numpy")
        inputs = [(_even(alg, rng, shape), _some(alg, rng, 1, shape)) for shape in ((), 4, 9, (2, 2)) * 4]
        failed = []

        def work(R, x):
            for _ in range(20):
                if not _is_same(fused(R, x), R * x * ~R + x):
                    failed.append(R)

        threads = [threading.Thread(target=work, args=pair) for pair in inputs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert len(fused.compiled_for) == 2
