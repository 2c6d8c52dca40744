"""What clifford's names mean here: laws in several metrics, against this library's own methods."""

import copy
import functools
import itertools
import math
import pickle

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.compat import clifford
from clifford_rand.compat.clifford import (
    BasisBladeOrder,
    BasisVectorIds,
    BladeMap,
    Cl,
    ConformalLayout,
    Frame,
    Layout,
    MultiVector,
    MVArray,
    conformalize,
    randomMV,
    transformations,
)
from clifford_rand.compat.clifford.io import read_ga_file, read_json_file, write_ga_file, write_json_file
from clifford_rand.compat.clifford.tools.classify import Circle, DualFlat, Flat, Plane, Point, Round, Tangent, classify
from clifford_rand.presets import cga
from support.refusals import refused

METRICS = [(2,), (3,), (1, 3), (3, 0, 1), (4, 1), (1, 1, 1)]


@pytest.fixture(params=METRICS, ids=str)
def layout(request):
    return Cl(*request.param)[0]


def _two(layout):
    return (randomMV(layout, rng=np.random.default_rng(seed)) for seed in (1, 2))


def test_products_are_those_of_the_library_but_for_the_dot(layout):
    A, B = _two(layout)
    a, b = (cr.Algebra(signature=layout.sig.tolist()).multivector(X.value) for X in (A, B))
    for found, wanted in [
        (A * B, a * b),
        (A ^ B, a ^ b),
        (A & B, a & b),
        (A << B, a << b),
        (A | B, a.hestenes(b)),
        (2 | A, a * 0),
        (A.x(B), a.commutator(b)),
        (A.gradeInvol(), a.involute()),
        (A(1, 2), a.grade(1, 2)),
        (A.even, a.even()),
        (A.odd(), a.odd()),
    ]:
        assert isinstance(found, MultiVector)
        assert np.allclose(found.value, wanted.dense().coefficients, atol=1e-14)
        assert layout.MultiVector(found.value) == found
    assert math.isclose(A.mag2(), a.norm_squared())
    assert isinstance(a + A, MultiVector)
    assert (a + A).isclose(2 * A)


def test_dual_is_defined_in_every_metric(layout):
    (A, _) = _two(layout)
    assert A.dual() == (A.right_complement() if 0 in layout.sig else A * layout.I.inv())
    if 0 not in layout.sig:
        assert A.dual(layout.I) == A.dual()


def test_coefficients_by_name_tuple_blade_and_place(layout):
    A, _ = _two(layout)
    for i, (name, ids) in enumerate(zip(layout.names, layout.bladeTupList, strict=True)):
        assert A[name or "1"] == A[ids] == A[layout.blades[name]] == A[i] == A.value[i]
        if len(ids) > 1:
            assert A[(ids[1], ids[0], *ids[2:])] == -A.value[i]
    refused("a single basis blade", lambda: A[layout.blades_list[1] + layout.blades_list[2]])
    refused("without a repeated", lambda: A[1, 1])
    with pytest.raises(ValueError, match="read-only"):
        A.value[0] = 1
    assert sum(A.blades_list) == A


def test_equality_has_a_tolerance_and_so_no_hash(layout):
    e = layout.basis_vectors_lst[0]
    assert e == e + 1e-13
    assert e != e + 1e-11
    assert 1e9 * e == 1e9 * e + 1e-4  # relative above 1
    assert e != 1e9
    assert bool(e)
    assert not bool(1e-13 * e)
    assert (e.astype(np.float32) * np.int8(2)).dtype == np.float32
    refused("unhashable", hash, e, error=TypeError)
    assert clifford.eps() == 1e-12
    refused("left out", clifford.eps, 1e-3)


def test_powers_and_exponentials_of_numbers(layout):
    B = layout.blades_of_grade(2)[-1] * 0.7
    assert np.e**B == B.exp() == np.exp(B)
    assert (math.log(2) * B).exp() == 2.0**B
    assert (1 + B) ** 2.0 == (1 + B) * (1 + B)
    refused("a number > 0", lambda: (-2.0) ** B)


def test_inverses(layout):
    (A, _) = _two(layout)
    for name in ("inv", "leftLaInv", "rightInv", "hitzer_inverse", "shirokov_inverse"):
        assert (A * getattr(A, name)()).isclose(1, atol=1e-8)
    v = 2 * layout.basis_vectors_lst[-1]
    assert v.normalInv() == v.inv() == 1 / v
    assert (v * 1e-7).inv().isclose(v.inv() * 1e7)  # clifford: not invertible
    for bad in (0 * v, 1 + v):
        refused("A ~A is a number", bad.normalInv)
    assert (1 + v).normalInv(check=False) == (1 + ~v) / ((1 + v) * (1 + ~v))[()]


def test_subspaces():
    layout = Cl(4)[0]
    e1, e2, e3, e4 = layout.basis_vectors_lst
    B = (e1 + e2) ^ (e3 - e4)
    assert B.project(e1 + 5 * e3) == (e1 + 5 * e3)(B) == (e1 + e2) / 2 + 5 * (e3 - e4) / 2
    vectors, scale = B.factorise()
    assert scale * (vectors[0] ^ vectors[1]) == B
    assert (B ^ B.basis()[0]) == 0
    assert (e1 ^ e2).join(e2 ^ e3) == e1 ^ e2 ^ e3
    assert (e1 ^ e2).meet(e2 ^ e3) == -e2  # in this library's own classes +e2
    assert (3 * e1).join(2 * e2) == e1 ^ e2
    assert (3 * e1).meet(2 * e1) / e1 == 6
    assert (e1 ^ e2).meet(e2 ^ e3, e1 ^ e2 ^ e3) == ((e1 ^ e2) << (e1 ^ e2 ^ e3).inv()) << (e2 ^ e3)
    assert B.isBlade()
    assert not (B + (e2 ^ e4)).isBlade()
    assert (1 + e1 * e2).isVersor()
    assert not (1 + e1).isVersor()
    assert (1e-13 * e1 + e2).clean() == e2
    assert (1.23456 * e1).round(2) == 1.23 * e1


def test_texts_go_round(layout):
    A, _ = _two(layout)
    assert layout.parse_multivector(repr(A)).value.tolist() == A.value.tolist()
    assert np.allclose(layout.parse_multivector(str(A)).value, A.value, atol=1e-5)
    assert layout.MultiVector(string=f"{A:.2f}") == A.round(2)


def test_texts():
    layout, blades = Cl(2)
    e1, e2, e12 = blades["e1"], blades["e2"], blades["e12"]
    assert str(1 - 2 * e1 + 0.1234567 * e12) == "1.0 - (2.0^e1) + (0.12346^e12)"
    assert str(0 * e1) == "0"
    assert layout.parse_multivector("2^(e1 + 1)^e2 - e1*e2*3") == 2 * e2 - e12
    assert layout.parse_multivector("-.5e+1^e2 + 2.5e4") == 25000 - 5 * e2
    assert [layout.parse_multivector(text) for text in ("e1^e1", "e1*e1", "(e1 + e2)^e2")] == [0, 1, e12]
    assert layout.parse_multivector("2j ^ e1") == 2j * e1
    bad = [("1 + e4", 5), ("(1 + e1", 8), ("2 $ e1", 3), ("3 ^ ", 3), ("e1*" + "9" * 5000, 4), ("1 + 0.5e12", 5)]
    for text, column in bad:
        with pytest.raises(SyntaxError, match="expected") as found:
            layout.parse_multivector(text)
        assert (found.value.lineno, found.value.offset) == (1, column)
    refused("parentheses", layout.parse_multivector, "(" * 5000, error=SyntaxError)
    refused("range", layout.parse_multivector, "1.5*" + "9" * 400, error=SyntaxError)
    longest = "9" * 4300  # digits that Python writes
    assert str(layout.parse_multivector(f"(1^e1)*{longest}")) == f"({longest}^e1)"
    for text in (f"{longest} + 1", "7" * 3000 + "*" + "3" * 3000, "e1*-" + "7" * 3000 + "*" + "3" * 3000):
        refused("fewer digits", layout.parse_multivector, text, error=SyntaxError)


def test_names_ids_and_orders():
    layout = Layout([1, 1, -1], ids=BasisVectorIds(["x", "y", "t"]), names="g")
    assert layout.basis_names == ["gx", "gy", "gt"]
    gx, _, gt = layout.basis_vectors_lst
    assert (gx * gt)["t", "x"] == -1
    own = Layout([1, -1], order=BasisBladeOrder([0b11, 0b00, 0b10, 0b01]), names=["I", "", "b", "a"])
    assert repr(own.order) == "BasisBladeOrder([0b11, 0b00, 0b10, 0b01])"
    A, B = own.MultiVector([1.0, 2, 3, 4]), own.MultiVector([5.0, 7, 11, 13])
    a, b = own.basis_vectors_lst
    assert 2 + 4 * a + 3 * b + (a ^ b) == A
    assert np.allclose(own.get_left_gmt_matrix(A) @ B.value, (A * B).value)
    assert np.allclose(own.get_right_gmt_matrix(A) @ B.value, (B * A).value)
    assert np.allclose(own.get_grade_projection_matrix(1) @ A.value, A(1).value)
    products = {"gmt": A * B, "imt": A | B, "omt": A ^ B, "lcmt": A << B, "vee": A & B}
    maps = {"adjoint": ~A, "dual": A.dual(), "inv": A.inv()}
    maps |= {f"{side}_complement": getattr(A, f"{side}_complement")() for side in ("left", "right")}
    for name, expected in products.items():
        assert getattr(own, f"{name}_func")(A.value, B.value).tolist() == expected.value.tolist()
    for name, expected in maps.items():
        assert getattr(own, f"{name}_func")(A.value).tolist() == expected.value.tolist()
    assert own.gmt_func_generator([1], [0, 2])(A.value, B.value).tolist() == (A(1) * B(0, 2)).value.tolist()
    assert repr(A) == "2.0 + (4.0^a) + (3.0^b) + (1.0^I)"
    refused("all 4 blades", Layout, [1, 1], order=BasisBladeOrder([0, 1]))
    refused("8 names", Layout, [1, 1, 1], names=["a"])
    refused("one name", Layout, [1, 1], ids=BasisVectorIds(["1", 1]))


def test_pickles_and_copies(layout):
    A, _ = _two(layout)
    for made in (pickle.loads(pickle.dumps(A)), copy.deepcopy(A)):
        assert made.value.tolist() == A.value.tolist()
        assert made.layout == layout
        assert made.layout.names == layout.names
    conformal, _, stuff = conformalize(layout) if 0 not in layout.sig else conformalize(Cl(2)[0])
    back = pickle.loads(pickle.dumps(stuff["einf"]))
    assert isinstance(back.layout, ConformalLayout)
    assert back.layout.einf == back == conformal.einf


def test_arrays_of_objects_and_batches(layout):
    values = np.random.default_rng(3).standard_normal((2, 3, layout.gaDims))
    A = MVArray.from_value_array(layout, values)
    B = A[::-1]
    assert A.shape == (2, 3)
    assert A.value.tolist() == values.tolist()
    batch = A.batch()
    assert batch.shape == (2, 3)
    assert np.allclose((A * B).value, (batch * B.batch()).value)
    e = layout.basis_vectors_lst[0]
    numbers = np.array([1.0, 2, 3])
    for found, wanted in [(numbers * e, [n * e for n in numbers]), (e - numbers, [e - n for n in numbers])]:
        assert isinstance(found, MVArray)
        assert list(found) == wanted
    assert (A * e).value.tolist() == [[(a * e).value.tolist() for a in row] for row in A]
    assert A(1)[1, 2] == A[1, 2](1)
    assert A[0].gp() == A[0, 0] * A[0, 1] * A[0, 2]
    assert A[0].op() == A[0, 0] ^ A[0, 1] ^ A[0, 2]
    refused("nested evenly", MVArray, [[e, e], [e]])


def test_frames():
    layout = Cl(3)[0]
    A = Frame(layout.randomV(3, rng=0))
    gram = np.array([[float((a | b)[()]) for b in A.inv] for a in A])
    assert np.allclose(gram, np.eye(3), atol=1e-12)
    R = layout.randomRotor(rng=1)
    assert A.is_innermorphic_to(Frame([R * a * ~R for a in A]))
    assert not A.is_innermorphic_to(Frame([2 * a for a in A]))
    E = Frame(layout.basis_vectors_lst)
    assert not E.is_innermorphic_to(Frame([2 * e for e in E]))  # lengths count, too
    refused("vectors", Frame, [layout.scalar], error=TypeError)


def test_linear_maps():
    layout, target = Cl(3)[0], Cl(2, 2)[0]
    F = np.random.default_rng(0).standard_normal((4, 3))
    f = transformations.OutermorphismMatrix(F, layout, target)
    a, b, c = layout.randomV(3, rng=0)
    assert f(a ^ b ^ c) == f(a) ^ f(b) ^ f(c)
    assert f(layout.scalar) == 1
    assert np.allclose(f.adjoint(target.randomMV(rng=2)).value.shape, 8)
    R = layout.randomRotor(rng=4)
    turn = transformations.LinearMatrix.from_rotor(R)
    assert turn(a * b) == R * a * b * ~R  # clifford's has the transposed matrix, the inverse rotation
    swap = transformations.between_basis_vectors(layout, layout, {1: 2, 2: 1, 3: 3})
    assert swap(layout.blades["e12"]) == -layout.blades["e12"]
    refused("ids in", transformations.between_basis_vectors, layout, target, {9: 1})
    with pytest.raises(cr.ArgumentError, match="an image in"):
        transformations.LinearMatrix.from_function(lambda A: A if A == 1 else target.scalar, layout, layout)


def test_blade_map():
    d, p = Cl(1, 3, names="d", firstIdx=0)[1], Cl(3, names="p")[1]
    split = BladeMap([(d["d01"], p["p1"]), (d["d02"], p["p2"])])
    assert split(1 + 2 * d["d01"] + 9 * d["d03"]) == 1 + 2 * p["p1"]
    assert split(p["p2"]) == d["d02"]
    refused("one of the two algebras", split, Cl(2)[0].scalar)


@pytest.mark.parametrize("base", [(2,), (3,), (4,), (1, 1), (0, 2), (1, 3)])
def test_blades_of_the_conformal_model_are_told_by_their_parameters(base):
    """Over every metric, as clifford does; `presets.cga.classify` is for the Euclidean one."""
    layout, n = conformalize(Cl(*base)[0])[0], sum(base)
    rng = np.random.default_rng(5)

    def vector():
        return layout.algebra.vector(np.concatenate([rng.standard_normal(n), [0, 0]]))

    for k, _ in itertools.product(range(n + 1), range(3)):
        E = functools.reduce(clifford.op, [vector() for _ in range(k)], layout.scalar)
        p, radius = vector(), rng.choice([0, 1.5, 0.7j])
        flat = Flat(direction=E, location=p)
        round_ = Round[k + 1](direction=E, location=p, radius=radius) if radius else Tangent(direction=E, location=p)
        for kind, name, made in (
            (Round, "round" if radius else "tangent", round_),
            (Flat, "flat", flat),
            (DualFlat, "dual flat", DualFlat(flat=flat)),
        ):
            found = classify(made.mv)
            assert isinstance(found, kind)
            assert isinstance(found, Tangent) == isinstance(made, Tangent)
            assert np.allclose(found.mv.value, made.mv.value, atol=1e-9)
            if kind is Round:
                assert np.allclose(found.location.value, p.value, atol=1e-9)
                assert np.isclose(found.radius, radius)
                assert found.direction.isclose(E, rtol=1e-9)
            assert type(pickle.loads(pickle.dumps(found))) is type(found)
            if len(base) == 1:
                same = cga.classify(made.mv)
                assert same.kind == name
                if kind is not DualFlat:
                    assert np.allclose(same.location, found.location.value[1 : n + 1], atol=1e-9)


def test_classes_of_grades():
    layout = conformalize(Cl(3)[0])[0]
    up, einf = layout.up, layout.einf
    e1, e2, e3 = layout.basis_vectors_lst[:3]
    circle = classify(up(e1) ^ up(e2) ^ up(-e1))
    assert isinstance(circle, Circle)
    assert np.isclose(circle.radius, 1)
    assert isinstance(classify(up(e1)), Point)
    assert isinstance(classify(up(e1) ^ up(e2) ^ up(e3) ^ einf), Plane)
    refused("grade 3", Circle, location=e1, direction=e1 ^ e2 ^ e3, radius=1, error=ValueError)
    refused("conformal layout", classify, Cl(3)[0].scalar)


def test_ga_files(tmp_path):
    pytest.importorskip("h5py")
    layout, file = Cl(3)[0], str(tmp_path / "a")
    A = MVArray(layout.randomMV(4, rng=0))
    for transpose in (False, True):
        A.save(file, transpose=transpose)
        assert layout.load_ga_file(file).value.tolist() == A.value.tolist()
        for write, read in ((write_ga_file, read_ga_file), (write_json_file, read_json_file)):
            write(file, A.value, layout.metric, layout.basis_names, transpose=transpose)
            found, metric, names, support = read(file)
            assert (found.tolist(), support) == (A.value.tolist(), None)
            assert metric.tolist() == np.eye(3).tolist()
            assert names.tolist() == ["e1", "e2", "e3"]
            refused("where sparse", write, file, A.value, layout.metric, layout.basis_names, sparse=True)
    A.save(file)
    refused("of signature", Cl(2, 1)[0].load_ga_file, file)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    layout, (A, B) = Cl(3)[0], np.random.default_rng(0).standard_normal((2, 5, 8))
    ga, plain = str(tmp_path / "a.ga"), str(tmp_path / "a.json")
    write_ga_file(ga, A, layout.metric, layout.basis_names)
    write_json_file(plain, A, layout.metric, layout.basis_names)

    def full(*_, **__):
        raise OSError("no space left on device")

    with pytest.raises(TypeError):  # after the coefficients
        write_ga_file(ga, B, np.array([object()]), layout.basis_names)
    monkeypatch.setattr("clifford_rand._files.os.fsync", full)
    refused("no space", write_json_file, plain, B, layout.metric, layout.basis_names, error=OSError)
    assert h5py.is_hdf5(ga)
    for read, file in ((read_ga_file, ga), (read_json_file, plain)):
        assert read(file)[0].tolist() == A.tolist()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["g2", "g3", "g4", "g3_1", "g2c", "g3c", "gac", "pga", "pga2d", "sta", "dpga"])
def test_algebras_that_are_there(name):
    module = __import__(f"clifford_rand.compat.clifford.{name}", fromlist=["layout"])
    layout = getattr(module, "layout", None) or module.D
    for blade, made in layout.blades.items():
        assert not blade or getattr(module, blade) == made
    rng = np.random.default_rng(0)
    if name == "gac":  # points are null, and conics that hold them are orthogonal to them
        P = module.up(2 * module.e1 + 3 * module.e2)
        assert P * P == 0
        assert module.down(P) == 2 * module.e1 + 3 * module.e2
    if name == "dpga":
        assert np.allclose(module.down(5 * module.up([1.0, 2, 3])), [1, 2, 3])
        assert (module.up([1.0, 2, 3]) | module.dual_point(module.up([1.0, 2, 3])))[()] == (1 + 14) / 2
    if name == "sta":
        X = layout.randomV(rng=rng)
        assert math.isclose(X.mag2(), (module.split(X)(0) ** 2 - module.split(X)(1) ** 2)[()], rel_tol=1e-9)
