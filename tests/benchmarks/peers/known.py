"""Cases of the peers' test suites that do not pass on `clifford_rand.compat`, each with its reason."""

VALUE = "A multivector is a value: its coefficients are not assigned; A.replace({…}) makes another."
INT32 = "Integers are int64 and never wrap; repr is exact, no switch for all of the program makes it an expression."
PRECEDENCE = "Parentheses in a text mean what they mean in mathematics; clifford leaves them out, with a warning."
INTERNAL = "A function inside the peer's package that no user calls."
NUMBA = "Numba compiles loops on coefficients or cr.fused functions, not code that has multivectors as its values."

CLIFFORD = {
    "test_bit_helpers.py::test_count_bits": INTERNAL,
    "test_bit_helpers.py::test_bit_indices": INTERNAL,
    "test_function_cache.py::(its import)": NUMBA,
    "test_clifford.py::TestClifford::test_mv_str": VALUE,
    "test_clifford.py::TestClifford::test_nonzero": VALUE,
    "test_clifford.py::TestPrettyRepr::test_multivector": INT32,
    "test_clifford.py::TestPrettyRepr::test_multivector_predefined": INT32,
    "test_parser.py::TestParser::test_parentheses": PRECEDENCE,
}
KINGDON: dict[str, str] = {}
GALGEBRA: dict[str, str] = {}
