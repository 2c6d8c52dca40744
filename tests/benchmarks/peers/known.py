"""Cases of the peers' test suites that do not pass on `clifford_rand.compat`, each with its reason."""

VALUE = "A multivector is a value: its coefficients are not assigned; A.replace({…}) makes another."
INT32 = "Integers are int64 and never wrap; repr is exact, no switch for all of the program makes it an expression."
PRECEDENCE = "Parentheses in a text mean what they mean in mathematics; clifford leaves them out, with a warning."
AMBIGUOUS = "1.0e2 is refused beside a blade e2, which a text may mean as well; 1.0e+2 is a number."
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
    "test_parser.py::TestParser::test_valid": AMBIGUOUS,
}

ZERO = "Zero is zero, whether its blade is stored or not."
ROUNDING = "A batch and a single multivector are summed in different orders: equal to rounding, not to the last bit."
NESTED = "Coefficients are numbers or expressions, no multivectors of another algebra."

KINGDON = {
    "test_kingdon.py::test_broadcasting": ROUNDING,
    "test_kingdon.py::test_getattr_setattr": VALUE,
    "test_kingdon.py::test_setitem": VALUE,
    "test_kingdon.py::test_shallow_copy_multivector": VALUE,
    "test_kingdon.py::test_deep_copy_multivector": VALUE,
    "test_kingdon.py::test_value_31": ZERO,
    "test_kingdon.py::test_nested_algebra_print": NESTED,
    "test_kingdon.py::test_hitzer_inv": INTERNAL,  # its class of rational functions
    "test_kingdon.py::test_fromkeysvalues": INTERNAL,  # the list that it was given is kept
    "test_kingdon.py::test_swap_blades": INTERNAL,
    "test_kingdon.py::test_numregister_operator_existence": INTERNAL,  # the table of its generated code
    "test_kingdon.py::test_large": INTERNAL,  # the same
}

WEDGES = "Multivectors have one form, sums of wedge products, in every metric; there is no other to change to."
EXACT = "The multivector is no blade, as is_blade says; galgebra's test holds its known wrong answer."
DEPRECATED = "Attributes that galgebra warns of."

GALGEBRA = {
    "test_mv.py::TestMv::test_rep_switching": WEDGES,
    "test_mv.py::TestMv::test_is_blade_grade3_known_limitation": EXACT,
    "test_mv.py::TestMv::test_is_blade_result_cached": INTERNAL,
    "test_lt.py::TestLt::test_deprecations": DEPRECATED,
    "test_lt.py::TestMlt::test_deprecations": DEPRECATED,
    "test_differential_ops.py::TestSdop::test_deprecation": DEPRECATED,
    "test_differential_ops.py::TestPdop::test_deprecation": DEPRECATED,
}
