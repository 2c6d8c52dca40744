"""The library's one way in for arguments: what is refused, in which words, and what is as good as Python's own."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import clifford_rand as cr
from clifford_rand import _checks
from clifford_rand._checks import (
    as_array,
    as_generator,
    as_real,
    check_bool,
    check_choice,
    check_fits,
    check_integer,
    check_positive,
    check_tolerance,
    quantity,
    refuse_unreal,
)
from clifford_rand.errors import ArgumentError
from support.bad_input import algebra, names, sketches
from support.bad_input.kinds import NOT_NUMBERS, SAME_LAYOUTS
from support.bad_input.trial import Table
from support.refusals import refused

ROWS = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]])
MASKED = np.ma.array(ROWS, mask=[[0, 0, 1], [0, 0, 0]])
WRONG = {
    "masked": (MASKED, "without masked entries"),
    "masked rows": (list(MASKED), "without masked entries"),
    "a masked entry": ([[1.0, 2.0, np.ma.masked], [0.0, 1.0, 2.0]], "without masked entries"),
    "dates": (np.zeros((2, 3), "M8[D]"), "dtype datetime64"),
    "durations": (np.zeros((2, 3), "m8[s]"), "dtype timedelta64"),
    "text": (ROWS.astype(str), "dtype <U"),
    "lists of text": ([["1", "0", "2"], ["0", "1", "3"]], "dtype <U"),
    "ragged": ([[1.0, 2.0, 3.0], [1.0]], "rows of one length"),
    "objects": (np.array([[1.0, None, 2.0], [0.0, 1.0, 2.0]]), "dtype object"),
    "records": (np.zeros(2, [("a", float), ("b", float)]), "dtype"),
}
S = cr.SJLT(3, 3, rng=0)


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_an_array_of_real_numbers_is_refused(wrong):
    value, words = WRONG[wrong]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(rf"^The 'X' parameter of f .*{words}", as_real, value, "X", "f")


# The table of bad input has good calls of every function of arrays; these are its odd dtypes, layouts and types. They
# are refused in one sentence, which names the parameter, or give what the plain value does, to the last bit.
ODD = {*SAME_LAYOUTS, *NOT_NUMBERS, "None", "text", "an object", "complex", "big-endian float32"}
CALLS = {name: calls for name, calls in (algebra.CALLS | sketches.CALLS).items() if not name.startswith("cr.Coord")}
TABLE = Table(CALLS, names.resolve)
OWNERS = ("cr", "Algebra", "Blade", *sketches.SKETCHES)
ARRAYS = ("rows", "numbers", "index", "vector")


def _takes_arrays(name):
    return any(argument.kind in ARRAYS for call in CALLS[name] for _, argument in call.attacked())


@pytest.mark.parametrize("name", [name for name in CALLS if name.split(".")[0] in OWNERS and _takes_arrays(name)])
def test_arrays_of_every_function(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    for row in TABLE.rows(name):
        if row.place is None or row.odd in ODD:
            assert TABLE.fault(row) in (None, "does not apply"), row


@pytest.mark.parametrize(
    "name", [name for name in sketches.CALLS if name.startswith("cr.") and name != "cr.sketch_rows"]
)
def test_a_refusal_names_the_parameter(name):
    for call in sketches.CALLS[name]:
        if call.run is None and call.attacked()[0][1].kind == "rows":
            function, (arguments, options) = names.resolve(name), call.filled(0, MASKED)
            first, *_ = inspect.signature(function).parameters
            refused(f"^The '{first}' parameter of .* without masked entries", function, *arguments, **options)


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i8", ">c16"])
def test_numbers_of_the_other_byte_order_get_the_dtype_itself(dtype):
    """Code that asks by `is` takes one way for both."""
    other, plain = np.arange(3).astype(dtype), np.arange(3).astype(dtype[1:])
    found = as_array(other, "X", "f")
    assert found.dtype is plain.dtype
    assert found.tolist() == [0, 1, 2]
    assert (cr.Algebra(3).vector(other) - cr.Algebra(3).vector(plain)).is_zero()


def test_big_endian_indices_and_sparse_factors():
    np.testing.assert_array_equal(cr.cross_many(ROWS, np.array([[0, 1]], ">i4")), cr.cross_many(ROWS, [[0, 1]]))
    X = csr_array(ROWS)
    X.data = X.data.astype(">f8")
    np.testing.assert_array_equal((X @ S.T).toarray(), ROWS @ S.T)


def test_numpy_words_and_truth_values_are_words_and_truth_values():
    assert type(check_choice(np.str_("l1"), "penalty", "f", ("l1", "l2"))) is str
    assert check_choice(np.bool_(True), "bias", "f", (True, False)) is True
    assert check_choice(np.int64(2), "p", "f", (1, 2)) == 2
    for wrong in (np.str_("l3"), np.bool_(True), 1, None, b"l1"):
        refused("The 'p' parameter of f must be one of 'l1', 'l2'", check_choice, wrong, "p", "f", ("l1", "l2"))
    for value in (True, False, np.True_, np.False_):
        assert check_bool(value, "bias", "f") is bool(value)
    for wrong in (1, 0, "yes", None, 1.0, np.array([True])):
        refused(r"The 'bias' parameter of f must be one of True, False", check_bool, wrong, "bias", "f")
    assert cr.volume_sample(ROWS, 1, rng=0, method=np.str_("exact"), bias=np.False_).shape == (1, 1)
    assert cr.Blade(ROWS).distance(cr.Blade(ROWS), kind=np.str_("chordal")) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("wrong", [-1, np.int64(-3), True, "0", 1.0, [1]])
def test_seeds_are_whole_numbers(wrong):
    for call in (lambda: cr.SJLT(2, 4, rng=wrong), lambda: cr.haar_blade(1, 3, rng=wrong)):
        refused(r"The 'rng' parameter of (SJLT|haar_blade) must be", call)
    refused(r"The 'random_state' parameter of Model must be", as_generator, wrong, "Model", "random_state")


def test_a_random_state_draws_the_generator():
    one, other = (as_generator(np.random.RandomState(3), "f").random() for _ in range(2))
    assert one == other


def test_numbers():
    assert check_positive(np.float32(0.5), "tol", "f") == 0.5
    assert check_tolerance(None, 0.25, "f") == 0.25
    assert check_tolerance(np.float64(0), 0.25, "f") == 0.0
    for wrong in (10**400, float("nan"), "1", True, -1.0, 1j):
        refused("'tol' parameter of f must be a finite number > 0", check_positive, wrong, "tol", "f")
        refused("'rtol' parameter of f must be None or a number in", check_tolerance, wrong, 0.25, "f")
    refused(r"from 1 to 3\. Got 10\^5000 instead", check_integer, 10**5000, "n", "f", high=3)


def test_counts_in_words():
    bytes_of = {1023: "1023 bytes", 2**30: "1 GiB", 3 * 2**49: "1.5 PiB", 10**30: "1e+30 bytes"}
    assert {count: quantity(count) for count in bytes_of} == bytes_of
    rows_of = {7: "7 rows", 10**5000: "10^5000 rows", np.inf: "infinitely many rows"}
    assert {count: quantity(count, "rows") for count in rows_of} == rows_of
    text, limits = r"that 9 gates are enough\. Got a need of 10 gates instead\. Fewer\.$", {"unit": "gates", "limit": 9}
    refused(text, check_fits, 10, "n_gates", "f", **limits, hint="Fewer.")
    check_fits(9, "n_gates", "f", **limits)


HUGE = 10**13
ABSURD = {
    "SJLT": (lambda: cr.SJLT(HUGE, HUGE), "d"),
    "SparseSign": (lambda: cr.SparseSign(10, HUGE), "d"),
    "SRHT": (lambda: cr.SRHT(10, HUGE), "d"),
    "GaussianSketch of long rows": (lambda: cr.GaussianSketch(1, HUGE), "d"),
    "LeverageSampling": (lambda: cr.LeverageSampling(np.ones(3), HUGE), "r"),
    "toarray": (lambda: cr.GaussianSketch(10**5, 10**7).toarray(), "S"),
    "haar_blade": (lambda: cr.haar_blade(HUGE, HUGE), "d"),
    "haar_blade of one vector": (lambda: cr.haar_blade(1, HUGE), "d"),
    "haar_blade, many": (lambda: cr.haar_blade(2, 3, shape=(10**7, 10**7)), "shape"),
    "random_rotation": (lambda: cr.random_rotation(10**7), "d"),
    "volume_sample": (lambda: cr.volume_sample(ROWS, 1, size=HUGE), "size"),
    "cross_all in one chunk": (lambda: cr.cross_all(np.ones((400, 9)), batch_size=HUGE), "batch_size"),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_sizes_say_what_they_would_take(name, monkeypatch):
    call, parameter = ABSURD[name]
    monkeypatch.setattr(_checks, "machine_memory", lambda: float(2**33))  # 8 GiB, on whatever machine
    rule = rf"^The '{parameter}' parameter of .* must be such that 8 GiB, the memory of this machine, are enough\. "
    refused(rule + r"Got a need of .*(iB|bytes) instead", call)


def test_more_numbers_than_anyone_draws_or_walks_through():
    refused(r"The 'r' parameter of GaussianSketch .* a need of 1e\+18 entries", cr.GaussianSketch, 10**9, 10**9)
    refused(r"'X' parameter of cross_all .* C\(4000, 1999\) = 10\^1202 ", cr.cross_all, np.ones((4000, 2000)))


def test_the_machine_tells_its_memory():
    assert 2**28 < _checks.machine_memory() < 2**60


def test_booleans_and_callbacks_of_cross_products_are_checked():
    calls = {
        "normalize": [
            lambda: cr.cross_many(ROWS, [[0, 1]], normalize="no"),
            lambda: cr.cross_all(ROWS, normalize=1),
            lambda: cr.sketched_cross(ROWS, S, normalize=None),
        ],
        "bias": [lambda: cr.cross_simplex(ROWS, [[0, 1, 1]], bias="free"), lambda: cr.leverage_scores(ROWS, bias=1)],
        "callback": [lambda: cr.cross_all(ROWS, callback="bar")],
    }
    for name, each in calls.items():
        for call in each:
            refused(f"The '{name}' parameter of", call)


def test_what_another_library_converts_is_looked_at_first():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2]}, dtype="Int64")
    for fine in (ROWS, ROWS.tolist(), ROWS.astype(object), pd.DataFrame(ROWS), frame):
        refuse_unreal(fine, "X", "Model")
    text, records = pd.DataFrame({"a": [1.0, 2.0], "b": ["1", "2"]}), np.zeros(3, [("a", float), ("b", int)])
    dates, mixed = pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), np.array([[1.0, "2"]], dtype=object)
    for wrong in (MASKED, ROWS.astype(str), ROWS.astype("M8[D]"), text, dates, mixed, records):
        refused(r"The 'X' parameter of Model must be", refuse_unreal, wrong, "X", "Model")


def test_arrays_pass_uncopied():
    assert as_array(ROWS, "X", "f") is ROWS
    assert as_real(ROWS, "X", "f") is ROWS


ALG = cr.Algebra(3)
V = ALG.vector([1.0, 2, 3])
OF_WRONG_TYPES = [
    (lambda x: V.is_blade(rtol=x), "rtol", "is_blade"),
    (lambda x: V.isclose(V, rtol=x), "rtol", "isclose"),
    (lambda x: V.isclose(V, atol=x), "atol", "isclose"),
    (lambda x: V.inv(rtol=x), "rtol", "inv"),
    (lambda x: V.astype(x), "dtype", "astype"),
    (lambda x: V.map(x), "function", "map"),
    (lambda x: V.reflect(V, inside=x), "inside", "reflect"),
    (lambda x: cr.stack([V, V]).sum(x), "axis", "sum, mean and prod"),
    (lambda x: cr.stack([V, V]).sum(0, keepdims=x), "keepdims", "sum"),
    (lambda x: cr.stack([V, V], x), "axis", "stack"),
    (lambda x: cr.LinearMap.from_images(x, [V, V, V]), "algebra", "LinearMap"),
    (lambda x: cr.LinearMap.from_versor(x), "V", "LinearMap.from_versor"),
    (lambda x: ALG.random_multivector(rng=0, shape=x), "shape", "random_multivector"),
    (lambda x: ALG.multivector([1.0, 2, 3], x), "grades", "multivector"),
    (lambda x: ALG.multivector({"e1": x}), "other", "(gp|Multivector)"),
    (lambda x: ALG.convert(cr.Algebra(2).e1, x), "mapping", "convert"),
    (lambda x: cr.Multivector(x, V.keys, [1.0, 2, 3]), "algebra", "Multivector"),
    (lambda x: cr.fused(lambda a: a, static_argnames=x), "static_argnames", "fused"),
    (lambda x: cr.SJLT(2, 3, rng=0).toarray(x), "dtype", "toarray"),
]


@pytest.mark.parametrize("call", OF_WRONG_TYPES, ids=lambda call: f"{call[2]} {call[1]}")
def test_what_is_of_no_type_that_has_a_meaning_is_refused_by_name(call):
    run, parameter, owner = call
    for wrong in (object(), np.timedelta64(1, "D"), 2 + 1j):
        if parameter == "other" and isinstance(wrong, complex):
            continue  # a coefficient
        refused(rf"^The '{parameter}' parameter of {owner}.* must be", run, wrong)


def test_an_error_is_one_line_that_prints():
    told = str(ArgumentError("a.csv: no column 'b\nc\u2028\ud800\x1b[2J'. " + "x" * 10_000 + " Name one of é, ×."))
    assert told.isprintable()
    assert told.startswith("a.csv: no column 'b c \\ud800\\x1b[2J'. ")
    assert told.endswith(" Name one of é, ×.")
    assert len(told) == 2000
    assert str(pickle.loads(pickle.dumps(ArgumentError("a\nb")))) == "a b"
