"""The layers of `clifford_rand.compat` beside the packages themselves: one program, two imports, equal results."""

import warnings
from math import comb, sqrt

import numpy as np
import pytest
import sympy as sp

from clifford_rand.compat import clifford as our_clifford
from clifford_rand.compat import kingdon as our_kingdon
from clifford_rand.compat.galgebra import ga as our_ga
from clifford_rand.compat.galgebra import mv as our_mv
from support.interpreted import interpreted

pytestmark = pytest.mark.filterwarnings("ignore")


def _clifford(package, counts):
    layout = package.Cl(*counts)[0]
    rng = np.random.default_rng(0)
    A, B, D = (layout.MultiVector(rng.standard_normal(layout.gaDims)) for _ in range(3))
    u, v, w = A(1), B(1), D(1)
    blade = u ^ v
    found = {
        "gp": A * B, "op": A ^ B, "ip": A | B, "ip0": 3 | A, "vee": A & B, "lc": A << B, "rev": ~A, "inv": A.inv(),
        "dual": A.dual(), "right": A.right_complement(), "left": A.left_complement(), "normal": A.normal(),
        "even": A.even, "odd": A.odd, "involute": A.gradeInvol(), "conjugate": A.conjugate(), "x": A.x(B),
        "anti": A.anticommutator(B), "project": blade.project(A), "call": w(blade), "exp": np.e ** (0.3 * blade),
        "power": 2.0**blade, "cube": A**3, "over": A / B, "under": 2 / A, "sin": np.sin(0.1 * A),
        "tan": np.tan(0.1 * A), "some": A(0, 2), "dual I": A.dual(blade), "join": blade.join(v ^ w),
        "join inside": u.join(blade), "meet": blade.meet(v ^ w), "meet inside": blade.meet(u), "ninv": u.normalInv(),
        "times": np.float64(2) * A, "array": np.array([1.0, 2]) * A,
    }  # fmt: skip
    numbers = {
        "mag2": A.mag2(), "abs": abs(A), "index": A[1, 2], "swapped": A[2, 1],
        "left m": layout.get_left_gmt_matrix(A),
    }  # fmt: skip
    texts = {"text": str(2 - u), "names": layout.names, "grades": sorted(A(1, 2).grades()), "sig": layout.sig.tolist()}
    kinds = [blade.isBlade(), A.isBlade(), (u * v).isVersor(), A.isVersor(), bool(A * 0), A == A + 1e-13]
    frame = package.Frame([u, v]).inv.value
    return {key: value.value for key, value in found.items()} | numbers | {"frame": frame}, texts | {"kinds": kinds}


def _clifford_products(package, counts):
    layout = package.Cl(*counts)[0]
    A, B = map(layout.MultiVector, np.random.default_rng(0).standard_normal((2, layout.gaDims)))
    found = {"gp": A * B, "op": A ^ B, "rev": ~A, "lc": A << B} | {f"grade {k}": A(k) for k in range(layout.dims + 1)}
    return {key: value.value for key, value in found.items()}, None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "counts"),
    [(_clifford, (1, 3)), (_clifford, (3, 0, 1)), *((_clifford_products, c) for c in ((4, 1), (0, 2, 1), (2, 0, 1)))],
)
def test_clifford(work, counts):
    with interpreted("clifford", "sparse") as package:
        theirs = work(package, counts)
    ours = work(our_clifford, counts)
    for name, value in theirs[0].items():
        np.testing.assert_allclose(ours[0][name], value, atol=1e-9, err_msg=name)
    assert ours[1] == theirs[1]


def _kingdon(package, make):
    alg = make(package)
    rng = np.random.default_rng(0)
    A, B = (alg.multivector(list(rng.standard_normal(len(alg)))) for _ in range(2))
    vectors = [alg.vector(list(rng.standard_normal(alg.d))) for _ in range(2)]
    u, v = (x * (1 / sqrt(abs(float((x * x).e)))) for x in vectors)
    R, F = u * v, alg.bivector(list(rng.standard_normal(comb(alg.d, 2))))
    found = {
        "gp": A * B, "op": A ^ B, "ip": A | B, "rp": A & B, "lc": A.lc(B), "rc": A.rc(B), "sp": A.sp(B),
        "cp": A.cp(B), "acp": A.acp(B), "sub": 2 - A, "rev": ~A, "inv": A.inv(), "involute": A.involute(),
        "conj": A.conjugate(), "sw": R >> A, "sw1": u >> A, "proj": A @ R, "proj1": A @ u, "hodge": A.hodge(),
        "unhodge": A.unhodge(), "dual": A.dual(), "undual": A.undual(), "normsq": F.normsq(),
        "outerexp": F.outerexp(), "sin": F.outersin(), "over": A / R, "cube": A**3, "grades": A.grade(1, 2),
        "full": u.asfullmv(), "frame": sum(alg.frame), "root": R.normalized().sqrt(),
    }  # fmt: skip
    values = {key: {int(k): v for k, v in value.items() if abs(v) > 1e-12} for key, value in found.items()}
    return values, [alg.canon2bin, alg.bin2canon, u.type_number, list(A.keys()), getattr(A, "e21", 0), alg.basis[:1]]


def _kingdon_products(package, counts):
    alg = package.Algebra(*counts)
    A, B = (alg.multivector(list(x)) for x in np.random.default_rng(1).standard_normal((2, len(alg))))
    found = {"gp": A * B, "op": A ^ B, "rev": ~A, "ip": A | B, "rp": A & B}
    found |= {f"grade {k}": A.grade(k) for k in range(alg.d + 1)}
    return {key: dict(value.items()) for key, value in found.items()}, [alg.signature, list(A.keys())]


def _same(theirs, ours):
    for key, wanted in theirs.items():
        for mask in {*wanted, *ours[key]}:
            assert ours[key].get(mask, 0) == pytest.approx(wanted.get(mask, 0), abs=1e-9), (key, mask)


MAKERS = {f"{counts}": lambda package, counts=counts: package.Algebra(*counts) for counts in ((2,), (3,), (3, 0, 1))}
MAKERS |= {name: lambda package, name=name: package.Algebra.fromname(name) for name in ("2DPGA", "3DPGA")}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_kingdon(name):
    package = pytest.importorskip("kingdon")
    theirs, ours = _kingdon(package, MAKERS[name]), _kingdon(our_kingdon, MAKERS[name])
    _same(theirs[0], ours[0])
    assert ours[1][:4] == theirs[1][:4]
    assert ours[1][4] == pytest.approx(theirs[1][4])


@pytest.mark.parametrize("counts", [(1, 3), (2, 0, 1), (4, 1), (0, 2, 1)], ids=str)
def test_products_of_kingdon(counts):
    package = pytest.importorskip("kingdon")
    theirs, ours = _kingdon_products(package, counts), _kingdon_products(our_kingdon, counts)
    _same(theirs[0], ours[0])
    assert [list(map(int, values)) for values in ours[1]] == [list(map(int, values)) for values in theirs[1]]


def _galgebra(ga, mv, g):
    made, e1, e2, _ = ga.Ga.build("e*1|2|3", g=g)
    A, v = made.mv("A", "mv"), made.mv("v", "vector")
    found = [
        *(A * v, A ^ v, A | v, 2 | v, v > A, v < A, A >> v, A << v),
        *(A.rev(), A.ccon(), A.g_invol(), A.dual(), A.undual()),
        *(made.I(), made.E(), v.reflect_in_blade(e1 ^ e2), A.reflect_in_blade(e1), v.project_in_blade(e1 ^ e2)),
        *(mv.cross(e1, e2), mv.rot(sp.pi / 2 * (e1 ^ e2), e1), *made.mvr(), mv.refl(e1 ^ e2, v), A.get_grade(2)),
        *(made.lt([[1, 2, 0], [3, 4, 0], [0, 0, 1]])(e1), made.lt(sp.Matrix([[1, 2, 0], [3, 4, 0], [0, 0, 1]]))(e1)),
    ]
    w = 3 * e1 + 5 * e2
    numbers = [A.qform(), w.norm(), (w + (e1 ^ e2)).mag2(), A.blade_coefs(), v.get_coefs(1)]
    return [str(sp.expand(one.obj)) for one in found], [str(one) for one in numbers]


@pytest.mark.slow
@pytest.mark.parametrize("g", [[1, 1, 1], [1, -1, -1], [2, 3, -1]], ids=str)
def test_galgebra(g):
    pytest.importorskip("galgebra")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import galgebra.ga
        import galgebra.mv

    assert _galgebra(our_ga, our_mv, g) == _galgebra(galgebra.ga, galgebra.mv, g)
