"""Base classes of traced multivectors: linear maps, and the operations that are not traced."""

from typing import Any

import numpy as np

from clifford_rand.basis.keys import Keys
from clifford_rand.compiler.scalar import TraceError
from clifford_rand.multivector import linear
from clifford_rand.plans.linear import linear_plan


class LinearMaps:
    """The linear maps of a traced multivector, which has ``algebra``, ``keys``, the nodes ``refs`` and `of`."""

    __slots__ = ()

    algebra: Any
    keys: Keys
    refs: list[int]
    trace: Any
    terms: Any
    of: Any

    # ---- grades and involutions

    def grade(self, *grades: int) -> Any:
        """Return the part of one or several grades."""
        if not grades or any(isinstance(k, bool) or not 0 <= k <= self.algebra.d for k in grades):
            raise TraceError(f"it takes grades {grades} of {self.algebra!r}")
        return self.part(grades)

    def part(self, grades: tuple[int, ...]) -> Any:
        """Return the part of some grades, or of none."""
        return self.of({mask: ref for mask, ref in self.terms.items() if mask.bit_count() in grades})

    even, odd = linear.even, linear.odd

    def image(self, name: str) -> Any:
        """Return the image under an involution, complement or star by its name."""
        plan, graph = linear_plan(self.algebra.form, name, self.keys), self.trace.graph
        places = np.arange(len(self.refs))[... if plan.places is None else plan.places]
        factors = np.ones(len(places), dtype=int) if plan.factors is None else plan.factors
        terms: dict[int, int] = {}
        for mask, place, factor in zip(plan.keys.masks.tolist(), places.tolist(), factors.tolist(), strict=True):
            ref = self.refs[place]
            terms[mask] = ref if factor == 1 else -ref if factor == -1 else graph.mul(graph.constant(factor), ref)
        return self.of(terms)

    reverse = __invert__ = linear.reverse
    involute = linear.involute
    conjugate = linear.conjugate
    left_complement = linear.left_complement
    right_complement = linear.right_complement
    star = linear.star
    star_right = linear.star_right

    # ---- duals

    def dual(self) -> Any:
        """Return A I⁻¹."""
        return self * self.algebra.I_inv

    def undual(self) -> Any:
        """Return A I."""
        self.algebra.I_inv  # noqa: B018  # the same error as the plain one's
        return self * self.algebra.I


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
    **dict.fromkeys(("factorize_blade", "factorize_versor"), _COUNT),
    **dict.fromkeys(
        ("span", "intersection"), "the grade of the result depends on values; that of A ^ B and A & B does not"
    ),
    **dict.fromkeys(("vector_matrix", "left_matrix", "right_matrix", "spinor_matrix"), _MATRIX),
    **dict.fromkeys(("symbols_used", "diff", "subs", "simplify", "expand", "factor"), _SYMBOLS),
    **dict.fromkeys(("evalf", "integrate", "lambdify", "args", "func"), _SYMBOLS),
    **dict.fromkeys(("dtype", "astype", "to_numeric"), _DTYPE),
    **dict.fromkeys(("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"), _CIRCULAR),
    "dense": "results leave out blades that are zero for all arguments; call it on the result",
    **dict.fromkeys(("sparse", "filter"), "which blades stay depends on values; call it on the result"),
}


class Untraced:
    """A multivector without comparisons, conversions to numbers, and attributes of `REASONS`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        reason = REASONS.get(name)
        raise TraceError(f"it uses .{name}, which is not traced" + (f": {reason}" if reason else ""))

    def __bool__(self) -> bool:
        raise TraceError("it branches on a multivector")

    def __float__(self) -> float:
        raise TraceError("it needs the number that a scalar is; use NumPy's functions of A['1'] instead of math's")

    __complex__ = __int__ = __float__

    def _ordered(self, other: Any) -> Any:
        raise TraceError("it compares multivectors; compare their coefficients, as in A['1'] < 2, for numpy.where")

    __lt__ = __le__ = __gt__ = __ge__ = _ordered

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        raise TraceError("it compares multivectors; compare their coefficients, as in A['e12'], for numpy.where")

    __ne__ = __eq__

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TraceError(f"it calls numpy.{function.__name__}, which is not traced")
