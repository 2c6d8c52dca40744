"""Algebras: metrics, names, equality, and what each refuses."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from clifford_rand.basis.keys import dense_keys, keys_of_grades
from support.clock import within
from support.refusals import refused


def test_counts_and_order():
    alg = cr.Algebra(3, 1, 1)
    assert (alg.d, alg.p, alg.q, alg.r) == (5, 3, 1, 1)
    assert alg.signature == (0, 1, 1, 1, -1)
    assert [str(v) for v in alg.basis_vectors()] == ["e0", "e1", "e2", "e3", "e4"]
    assert alg.e0 * alg.e0 == 0
    assert alg.e4 * alg.e4 == -1
    assert [str(v) for v in cr.Algebra(1, 0, 2).basis_vectors()] == ["e1", "e2", "e3"]
    assert cr.Algebra(1, 0, 2).e3 ** 2 == 1
    own = cr.Algebra(signature=[1, -1, 0])
    assert own.signature == (1, -1, 0)
    assert own.e3 * own.e3 == 0


def test_the_squares_of_the_basis_are_the_metric():
    rng = np.random.default_rng(0)
    gram = rng.integers(-3, 4, (5, 5))
    gram = gram + gram.T
    for alg in (cr.Algebra(metric=gram), cr.Algebra(2, 2, 1), cr.Algebra.cga(3, null_basis=True), cr.Algebra(1)):
        frame = alg.basis_vectors()
        for i, a in enumerate(frame):
            for j, b in enumerate(frame):
                assert a * b + b * a == 2 * int(alg.metric[i, j])
                assert (a | b) == int(alg.metric[i, j])


def test_inertia_of_any_gram_matrix():
    rng = np.random.default_rng(1)
    for p, q, r in [(2, 1, 1), (0, 3, 0), (1, 1, 3), (5, 0, 0)]:
        T = rng.standard_normal((p + q + r,) * 2)
        alg = cr.Algebra(metric=T @ np.diag([1] * p + [-1] * q + [0] * r) @ T.T)
        assert (alg.p, alg.q, alg.r) == (p, q, r)
        assert alg.form.is_degenerate == (r > 0)
        scaled = cr.Algebra(metric=1e-100 * (T @ np.diag([1] * p + [-1] * q + [0] * r) @ T.T))
        assert (scaled.p, scaled.q, scaled.r) == (p, q, r)


def test_determinants_of_exact_metrics():
    rng = np.random.default_rng(2)
    for d in range(1, 6):
        gram = rng.integers(-4, 5, (d, d))
        gram = gram + gram.T
        assert cr.Algebra(metric=gram).form.determinant == round(np.linalg.det(gram))
    a, b, c = sympy.symbols("a b c")
    assert cr.Algebra(metric=sympy.Matrix([[a, b], [b, c]])).form.determinant == a * c - b**2
    assert cr.Algebra(metric=[[Fraction(1, 2), 1], [1, 2]]).form.is_degenerate


def test_large_metrics_cost_no_exact_determinant():
    gram = np.eye(60, dtype=int)
    gram[0, 1] = gram[1, 0] = 1
    with within(3.0):
        assert cr.Algebra(metric=gram).form.is_degenerate
        assert cr.Algebra(metric=2 * np.eye(60) + 1).form.counts == (60, 0, 0)
        assert cr.Algebra(metric=np.diag(np.arange(-3.0, 57))).form.counts == (56, 3, 1)


def test_equal_metrics_make_equal_algebras():
    alg = cr.Algebra(2, 1)
    others = [
        cr.Algebra(signature=[1, 1, -1]),
        cr.Algebra(metric=np.diag([1.0, 1, -1])),
        cr.Algebra(2, 1, names="x y t"),
    ]
    for other in others:
        assert other == alg
        assert hash(other) == hash(alg)
        assert alg.e12 * other.basis_vectors()[0] == -alg.e2
    assert alg != cr.Algebra(1, 2)
    assert alg != cr.Algebra(signature=[1, -1, 1])
    null = cr.Algebra.cga(1, null_basis=True)
    assert null == cr.Algebra(metric=null.metric)
    assert null != cr.Algebra.cga(1)


def test_algebras_and_multivectors_pickle():
    symbol = sympy.Symbol("a")
    for alg in (cr.Algebra(3, 0, 1), cr.Algebra.sta(), cr.Algebra(100), cr.Algebra(metric=[[symbol, 1], [1, 0]])):
        again = pickle.loads(pickle.dumps(alg))
        assert again == alg
        assert repr(again) == repr(alg)
        v = alg.basis_vectors()[1] * 2 + 1
        copy = pickle.loads(pickle.dumps(v))
        assert copy == v
        assert copy.keys is v.keys
        assert copy * v == v * v


def test_repr_makes_the_algebra_again():
    for alg in (
        cr.Algebra(3), cr.Algebra(1, 3), cr.Algebra(0, 2), cr.Algebra(3, 0, 1), cr.Algebra(2, 1, 2), cr.Algebra.sta(),
        cr.Algebra(signature=[1, -1, 0]), cr.Algebra.cga(2, null_basis=True), cr.Algebra(metric=[[2.5]]),
    ):  # fmt: skip
        again = eval(repr(alg), {"Algebra": cr.Algebra})
        assert again == alg
        assert again.names == alg.names


def test_presets_are_shown_as_such():
    for preset, other in (
        ("cga(3)", cr.Algebra(4, 1)), ("pga(3)", cr.Algebra(3, 0, 1)), ("sta()", cr.Algebra(1, 3)),
        ("cga(2, null_basis=True)", cr.Algebra(metric=cr.Algebra.cga(2, null_basis=True).metric)),
    ):  # fmt: skip
        alg = eval(f"cr.Algebra.{preset}")
        assert repr(alg) == repr(pickle.loads(pickle.dumps(alg))) == f"Algebra.{preset}"
        assert alg == other
        assert repr(other).startswith("Algebra(")
        assert repr(alg.vector(np.ones((1, alg.d)))).startswith(f"<Multivector batch of Algebra.{preset}: ")


def test_building_costs_nothing():
    with within(1.0):
        alg = cr.Algebra(40)
        assert alg.e1_40 * alg.e40 == alg.e1
        big = cr.Algebra(10**5)
        assert (big.e7 * big.e7) == 1


def test_names():
    alg = cr.Algebra(3)
    assert alg.e21 == -alg.e12
    assert alg.e312 == alg.e123
    assert alg.blades["e31"] == -alg.e13
    assert alg.e1_2 == alg.e12
    assert list(alg.blades) == ["1", "e1", "e2", "e3", "e12", "e13", "e23", "e123"]
    assert list(alg.blades.grade(2)) == ["e12", "e13", "e23"]
    wide = cr.Algebra(12)
    assert wide.e1_12 == wide.e1 ^ wide.e12
    assert wide.e12_1 == -wide.e1_12
    assert str(wide.e1_2) == "e1_2"
    own = cr.Algebra(2, 1, names=["x", "y", "t"])
    assert own.t_x == -(own.x ^ own.t)
    assert own("x + 2*x_t") == own.x + 2 * own.x_t
    assert cr.Algebra.sta().g01 == cr.Algebra.sta().g0 * cr.Algebra.sta().g1


@pytest.mark.parametrize("names", [["r", "theta"], ["q", "p"], ["p", "q", "r"], ["i", "j", "k"]])
def test_basis_vectors_take_precedence_over_attributes(names):
    made = cr.Algebra(len(names), names=names)
    for alg in (made, pickle.loads(pickle.dumps(made)), eval(repr(made), {"Algebra": cr.Algebra})):
        vectors = alg.basis_vectors()
        assert alg == cr.Algebra(len(names))
        for name, vector in zip(names, vectors, strict=True):
            assert getattr(alg, name) == getattr(alg.blades, name) == alg(name) == alg.blade(name) == vector
        pair = "_".join(made.names.vectors[:2])
        assert getattr(alg, pair) == alg(f"{names[0]}*{names[1]}") == vectors[0] * vectors[1]
        assert (alg.form.counts, alg.signature, alg.d) == ((len(names), 0, 0), (1,) * len(names), len(names))


@pytest.mark.parametrize("name", ["e4", "e11", "e", "x", "E1", "e01", ""])
def test_names_that_are_not_there(name):
    alg = cr.Algebra(3)
    for look in (
        alg.blade,
        alg.blades.__getitem__,
        (1.0 * alg.e12).__getitem__,
        lambda name: alg.e1.replace({name: 1}),
    ):
        refused(r"^The 'name' parameter .*name of a blade.*e1 to e3", look, name, error=KeyError)
        refused("name of a blade", look, name)
    assert name not in alg.blades
    if name:
        refused("no attribute or blade", getattr, alg, name, error=AttributeError)


def test_every_name_of_every_blade_is_its_own():
    for alg in (cr.Algebra(9), cr.Algebra(10), cr.Algebra(4, 0, 1), cr.Algebra(3, names="a b c")):
        masks = dense_keys(alg.d).masks.tolist()
        names = [alg.names.blade(mask) for mask in masks]
        assert len(set(names)) == len(masks)
        assert [alg.names.parse(name) for name in names] == [(mask, 1) for mask in masks]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "given alone"),
        ({"p": 2, "signature": [1, 1]}, "given alone"),
        ({"p": -1}, "'p' parameter of Algebra must be an integer ≥ 0. Got -1"),
        ({"p": 2.0}, "integer"),
        ({"p": np.eye(2)}, "integer.*metric=G"),
        ({"p": [1, 1, -1]}, r"integer.*signature=\["),
        ({"signature": [1, 2]}, "sequence of 1, -1 and 0.*metric="),
        ({"metric": [[1, 2], [3, 4]]}, r"symmetric.*\(G \+ G.T\)/2"),
        ({"metric": [1, 2]}, r"square matrix.*signature=\["),
        ({"metric": [[np.nan]]}, "finite"),
        ({"metric": [["a"]]}, "real numbers or symbols"),
        ({"metric": [[1j]]}, "real numbers or symbols"),
        ({"p": 2, "names": ["x"]}, "2 different identifiers"),
        ({"p": 2, "names": ["x", "x"]}, "2 different identifiers"),
        ({"p": 2, "names": ["x", "1y"]}, "2 different identifiers"),
        ({"p": 2, "names": ["x_1", "y"]}, "underscores"),
        ({"p": 2, "names": ["lambda", "y"]}, "2 different identifiers"),
        ({"p": 2, "names": ["None", "y"]}, "2 different identifiers"),
        *(
            ({"p": 2, "names": ["x", name]}, f"that no attribute of Algebra has. Got '{name}' instead. Choose another")
            for name in ("I", "metric", "signature", "d", "form", "names", "vector", "blades", "cga", "keys", "grade")
        ),
        ({"p": 3, "names": ["cg", "ca", "cb"]}, "that no attribute of Algebra has. Got 'cga'"),
    ],
)
def test_bad_algebras(arguments, message):
    refused(message, lambda: cr.Algebra(**arguments))


def test_bad_components():
    alg = cr.Algebra(3)
    refused(r"8 components on its last axis.*shape \(7,\)", lambda: alg.multivector(np.zeros(7)))
    refused(r"3 components on its last axis \(grades 1\)", alg.vector, [1.0, 2.0])
    refused("integer from 0 to 3", alg.multivector, [1.0], grades=4)
    refused("numbers, fractions or symbols", alg.vector, ["a", "b", "c"])
    refused("a dtype of floats or complex numbers", alg.random_multivector, rng=0, dtype=int)


def test_random_multivectors_are_seeded_and_normal():
    alg = cr.Algebra(3)
    assert alg.random_multivector(rng=3) == alg.random_multivector(rng=np.random.default_rng(3))
    assert alg.random_multivector(rng=3) != alg.random_multivector(rng=4)
    values = alg.random_multivector(rng=0, shape=(1000, 5), grades=(1, 2)).values
    assert values.shape == (1000, 5, 6)
    # 30,000 normal numbers: |mean| < 5/√30000, |variance - 1| < 5 √(2/30000); failure below 1e-6
    assert abs(values.mean()) < 0.029
    assert abs(values.var() - 1) < 0.041
    assert alg.random_multivector(rng=0, dtype=np.complex64).dtype == np.complex64


def test_positions_are_counted_as_they_are_listed():
    for keys in (keys_of_grades(18, (4, 7)), keys_of_grades(200, (2,)), dense_keys(15)):
        assert keys.size > 2**14
        for position in (0, 1, keys.size // 3, keys.size - 1):
            assert keys.find(int(keys.masks[position])) == position
    assert keys_of_grades(200, (2,)).find(7) == -1


def test_threads_may_share_an_algebra():
    """Plans are made at first use by whoever comes first: eight threads meet in a fresh metric, again and again."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal((2, 64))
    for trial in range(5):
        alg = cr.Algebra(metric=np.diag([1.0 + trial, 1, 1, -1, 1, 1]))
        with ThreadPoolExecutor(8) as pool:
            results = list(
                pool.map(lambda _, alg=alg: (alg.multivector(values[0]) * alg.multivector(values[1])).values, range(16))
            )
        assert all((result == results[0]).all() for result in results)
        assert len({id(plan) for plan in alg.form.plans.values()}) == 1


def test_the_first_product_needs_no_compiler():
    """A fresh process: import, algebra and one product load neither Numba nor SciPy nor SymPy."""
    code = (
        "import sys, time; start = time.process_time()\n"
        "import clifford_rand as cr\n"
        "alg = cr.Algebra(3); product = (alg.e1 + alg.e12) * alg('1 + e3')\n"
        "took = time.process_time() - start\n"
        "slow = {'numba', 'scipy', 'sympy', 'sklearn', 'threadpoolctl'} & set(sys.modules)\n"
        "print(took); sys.exit(', '.join(sorted(slow)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0  # 0.14 s of the processor, half of it NumPy, on a machine with nothing else to do


def test_modules_are_reached_from_the_package():
    code = (
        "import clifford_rand as cr\n"
        "alg = cr.Algebra.pga(2)\n"
        "print(cr.presets.pga.coordinates(cr.presets.pga.point(alg, [1.0, 2])).tolist(), cr.compat.Cl(2)[0].dims)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[1.0, 2.0] 2\n", done.stderr
