"""Attributes of a multivector that fused functions do not trace, each with its reason."""

_BATCH = "it is about the batch, and samples are computed one by one"
_VALUES = "it tells about values, and there are none yet; use numpy.where on coefficients"
_ARRAY = "it is an array; A['e12'] is a coefficient"
_COUNT = "what it returns depends on values: how many factors there are, and of what grade"
_MATRIX = "it is a matrix; write the product itself, which becomes a matrix where that is faster"
_SYMBOLS = "it is about symbols"
_DTYPE = "the code has the dtype of the arguments; convert these, or the result"
_CIRCULAR = "its closed forms are not written as terms; those of exp, log, sqrt, sinh, cosh and tanh are"

REASONS = {
    **dict.fromkeys(("shape", "ndim", "reshape", "sum", "mean", "prod"), _BATCH),
    **dict.fromkeys(("isclose", "is_zero", "is_versor", "is_blade"), _VALUES),
    **dict.fromkeys(("coefficients", "values"), _ARRAY),
    **dict.fromkeys(("factorize", "factorize_blade", "factorize_versor"), _COUNT),
    **dict.fromkeys(("join", "meet"), "the grade of the result depends on values; that of A ^ B and A & B does not"),
    **dict.fromkeys(("vector_matrix", "left_matrix", "right_matrix", "spinor_matrix"), _MATRIX),
    **dict.fromkeys(("symbols_used", "diff", "subs", "simplify", "expand", "factor"), _SYMBOLS),
    **dict.fromkeys(("evalf", "integrate", "lambdify", "args", "func"), _SYMBOLS),
    **dict.fromkeys(("dtype", "astype", "to_numeric"), _DTYPE),
    **dict.fromkeys(("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"), _CIRCULAR),
    "dense": "results leave out blades that are zero for all arguments; call it on the result",
    **dict.fromkeys(("sparse", "filter"), "which blades stay depends on values; call it on the result"),
}
