"""Files of multivectors: every kind comes back bit for bit, other files and other things are refused."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from support.refusals import refused

ENDINGS = ("npz", "json")
ALGEBRAS = {
    "scalars": cr.Algebra(0),
    "euclidean": cr.Algebra(3),
    "signature": cr.Algebra(signature=[1, -1, 0, 1]),
    "pga": cr.Algebra.pga(3),
    "cga": cr.Algebra.cga(2),
    "null basis": cr.Algebra.cga(2, null_basis=True),
    "sta": cr.Algebra.sta(),
    "own names": cr.Algebra(2, names=["x", "y"]),
    "floats": cr.Algebra(metric=[[1.5, 0.25], [0.25, -1 / 3]]),
    "diagonal": cr.Algebra(metric=np.diag([2, 3])),
    "fractions": cr.Algebra(metric=[[Fraction(1, 3), 0], [0, 1]]),
}
SPECIAL = np.array([[0.1, -0.0, np.nan, np.inf], [5e-324, -1.7e308, -np.inf, 1 / 3]])


def again(A, folder, ending):
    file = folder / f"file.{ending}"
    cr.save(A, file)
    return cr.load(file)


def assert_same(B, A):
    assert B.algebra == A.algebra
    assert repr(B.algebra) == repr(A.algebra)
    assert B.algebra.names == A.algebra.names
    assert B.keys is A.keys
    assert (B.dtype, B.shape) == (A.dtype, A.shape)
    if A.dtype == object:
        assert B.coefficients.tolist() == A.coefficients.tolist()
        assert [type(x) for x in B.coefficients.flat] == [type(x) for x in A.coefficients.flat]
    else:
        assert B.coefficients.tobytes() == A.coefficients.tobytes()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ALGEBRAS)
def test_metric_names_and_preset_travel_along(name, ending, tmp_path):
    alg = ALGEBRAS[name]
    for A in (alg.random_multivector(rng=0, shape=(2, 3)), alg.scalar(2), alg.I, alg.scalar(0) * 0):
        assert_same(again(A, tmp_path, ending), A)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i8"])
def test_every_dtype_and_shape(dtype, ending, tmp_path):
    rng = np.random.default_rng(0)
    for shape in ((), (0,), (5,), (2, 0, 3), (2, 3)):
        A = cr.Algebra(3).bivector((100 * rng.standard_normal((*shape, 3))).astype(dtype))
        assert_same(again(A, tmp_path, ending), A)


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_bit_of_floats(ending, tmp_path):
    alg = cr.Algebra(2)
    with np.errstate(over="ignore"):
        single = SPECIAL.astype(np.float32)
    for values in (SPECIAL, single, np.stack([SPECIAL, SPECIAL[::-1]], axis=-1).view(complex)[..., 0]):
        A = alg.multivector(values)
        assert_same(again(A, tmp_path, ending), A)
    A = alg.vector([2**63 - 1, -(2**63) + 1])
    assert_same(again(A, tmp_path, ending), A)


@pytest.mark.parametrize("ending", ENDINGS)
def test_exact_coefficients_and_few_blades_in_many_dimensions(ending, tmp_path):
    exact = cr.Algebra(2).vector(np.array([[Fraction(1, 3), 10**40], [Fraction(-4, 1), 0]], dtype=object))
    for A in (exact, cr.Algebra(500)("2*e3_7 + e1 - e499_500"), cr.Algebra(100_000)("e1_99999")):
        assert_same(again(A, tmp_path, ending), A)
    B = cr.Algebra(2).vector([sp.Rational(1, 3), sp.Integer(2)])
    assert again(B, tmp_path, ending) == B


def test_numpy_and_json_read_the_files(tmp_path):
    A = cr.Algebra.pga(3).vector([[1.0, 2, 3, 4]])
    cr.save(A, tmp_path / "a.npz")
    cr.save(A, tmp_path / "a.json")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert archive["coefficients"].tolist() == [[1, 2, 3, 4]]
    record = json.loads((tmp_path / "a.json").read_text())
    assert record["metric"]["values"] == [0, 1, 1, 1]
    assert record["coefficients"] == {"dtype": "float64", "shape": [1, 4], "values": [1, 2, 3, 4]}
    assert (record["grades"], record["blades"]) == ([1], None)


def written(folder, **changes):
    """Return a file of a bivector with some entries of its record changed; ``None`` leaves one out."""
    file = folder / "changed.json"
    cr.save(cr.Algebra.pga(2)("e01 + 2*e12"), file)
    record = json.loads(file.read_text()) | changes
    file.write_text(json.dumps(record))
    return file


NUMBERS = {"dtype": "float64", "shape": [2], "values": [1, 2]}


@pytest.mark.parametrize(
    "changes",
    [
        {"grades": [4]}, {"grades": [True, 2]}, {"grades": 2},
        {"blades": [[1, 2], [0, 1]]}, {"blades": [[0, 1], [0, 1]]}, {"blades": [[0, 1], [10**12]]},
        {"blades": [[1, 0], [1, 2]]}, {"blades": None}, {"metric": NUMBERS | {"values": [1, 1], "dtype": "int8"}},
        {"metric": {"dtype": "exact", "shape": [1, 1], "values": ["__import__('os')"]}},
        {"names": ["a", "a", "b"], "preset": ""}, {"preset": "pga(1)"}, {"preset": "pga(9999999)"},
        {"preset": "vars()"}, {"preset": None, "names": 3}, {"coefficients": NUMBERS | {"dtype": "object"}},
        {"coefficients": NUMBERS | {"values": [1]}}, {"coefficients": NUMBERS | {"values": [1, [2]]}},
        {"coefficients": NUMBERS | {"shape": [2, 1]}}, {"coefficients": 1},
        {"coefficients": NUMBERS | {"dtype": "exact", "values": ["1/0", "2"]}},
    ],
)  # fmt: skip
def test_damaged_records(changes, tmp_path):
    refused(r"changed\.json: this file of multivectors is damaged", cr.load, written(tmp_path, **changes))


def test_newer_versions_and_foreign_files(tmp_path):
    refused("a newer version of this library wrote it", cr.load, written(tmp_path, version=2))
    foreign = "this is not a file of multivectors, which save writes"
    for changes in ({"version": 0}, {"version": "1"}, {"version": True}, {"format": "other"}):
        refused(foreign, cr.load, written(tmp_path, **changes))
    texts = {"a.json": b"{}", "b.json": b"\xff\xfe", "c.json": b"[" * 100_000, "d.json": b"", "e.json": b"3"}
    for name, data in texts.items():
        (tmp_path / name).write_bytes(data)
        refused(foreign, cr.load, tmp_path / name)
    np.savez(tmp_path / "f.npz", X=np.eye(2))
    refused(foreign, cr.load, tmp_path / "f.npz")
    np.savez(tmp_path / "g.npz", coefficients=np.array([None]))
    refused("object arrays, which are not read", cr.load, tmp_path / "g.npz")
    (tmp_path / "h.npz").write_bytes(pickle.dumps(3))
    refused(r"h\.npz: this file of multivectors is damaged", cr.load, tmp_path / "h.npz")
    with pytest.raises(FileNotFoundError):
        cr.load(tmp_path / "none.npz")


def test_every_truncation_and_flip_is_one_error_or_a_multivector(tmp_path):
    cr.save(cr.Algebra(2).vector([1.5, 2]), tmp_path / "a.npz")
    data, rng = (tmp_path / "a.npz").read_bytes(), np.random.default_rng(0)
    for place in rng.integers(len(data), size=150).tolist():
        for changed in (data[:place], data[:place] + bytes([data[place] ^ 64]) + data[place + 1 :]):
            (tmp_path / "b.npz").write_bytes(changed)
            try:
                assert isinstance(cr.load(tmp_path / "b.npz"), cr.Multivector)
            except cr.ArgumentError as error:
                assert "b.npz" in str(error)  # noqa: PT017


def test_refusals(tmp_path):
    A, x = cr.Algebra(2).e1, sp.Symbol("x")
    refused(r"a file name that ends in \.npz or \.json\. Got .*a\.pkl", cr.save, A, tmp_path / "a.pkl")
    refused("It comes second", cr.save, tmp_path / "a.npz", A)
    refused("'A' parameter of save must be a multivector", cr.save, np.eye(2), tmp_path / "a.npz")
    refused("numbers or fractions. Got the coefficient x", cr.save, x * A, tmp_path / "a.npz")
    symbolic = cr.Algebra(metric=[[x]])
    refused("numbers or fractions", cr.save, symbolic.e1, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []
    torch = pytest.importorskip("torch")
    refused(r"Save A\.to_numpy\(\)", cr.save, cr.Algebra(2).vector(torch.ones(2)), tmp_path / "a.npz")
