"""The inverse by involutions, in rows: adj(A)/N(A) of polynomials of degree 2, 4 or 8 where up to five vectors occur.

With the conjugate Ā, the involute Â and m_jk(P), P with its grades j and k negated (E. Hitzer and S. Sangwine,
"Multivector and multivector matrix inverses in real Clifford algebras", Applied Mathematics and Computation 311, 2017):

    d ≤ 2    N = A Ā                                 adj = Ā
    d ≤ 4    P = A Ā,  N = P m34(P)                  adj = Ā m34(P)
    d = 5    P = A Ā,  H = P P̂,  N = H m14(H)        adj = Ā P̂ m14(H)

They hold in every metric, as identities between polynomials. Their rounding is that of |A|^(n-1) beside |adj|, so each
element is looked at: what is ill conditioned is left to the general way (`inverse`).
"""

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import Keys
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import reverse_is_negative
from clifford_rand.basis.table import StraightLine
from clifford_rand.compiler.loops import RowFunction, Rows, total
from clifford_rand.compiler.scalar import Trace, TracedScalar
from clifford_rand.functions.matrix_forms import CLEAR, RANGE, components_are_lengths, one_by_matrix
from clifford_rand.functions.scaling import eps_of
from clifford_rand.functions.unit_form import used_vectors
from clifford_rand.plans.cost_model import made_once, plan_of

FEW = 8  # samples that are looked at before the others
MOST = 5  # basis vectors that occur
VERSOR = 64  # units of rounding, relative to the scalar, that the rest of A ~A may have: some rotors have 8
# |adj| / |A|^(n-1) from which the rounding of the polynomials of degree n is a few times that of the inverse
WELL = {2: 0.0, 4: 0.05, 8: 0.2}
BY_MATRIX = 400  # terms of the code that take longer than the two maps and LAPACK


class InverseCode:
    """The code of the inverse for one key set: A ~A, and N and adj."""

    def __init__(self, metric: Metric, keys: Keys) -> None:
        code, A = StraightLine.of(metric, a=keys)
        # A ~A
        product = code.product("p", "gp", A, A.negated(reverse_is_negative))
        numbers = [name for name, k in zip(product.names, product.keys.grade_of.tolist(), strict=True) if k == 0]
        rest = [name for name, k in zip(product.names, product.keys.grade_of.tolist(), strict=True) if k]
        self.by_reverse = code.function(*(numbers or ["0.0"]), f"[{', '.join(rest)}]")
        self.reverse = tuple(-1.0 if reverse_is_negative(k) else 1.0 for k in keys.grade_of.tolist())
        self.keys = keys
        self.definite = metric.is_unit and bool(np.all(metric.weight(keys.masks) == 1))  # A ~A holds Σ |a|²
        self.always = not rest
        self.invertible = bool(numbers)
        self.degree, self.adjugate, self.adjugate_keys, terms = _adjugate(metric, keys)
        self.terms = code.terms + terms
        self._functions: dict[np.dtype, tuple[RowFunction, RowFunction]] = {}

    def functions(self, dtype: np.dtype) -> tuple[RowFunction, RowFunction]:
        """Return ~A / (A ~A), and adj / N with its mark, of rows in float64, to the rounding of a dtype."""
        if dtype not in self._functions:
            limit, eps = limit_of(self.keys, eps_of(dtype)), eps_of(dtype)
            writers = partial(self._versors, limit=limit, eps=eps), partial(self._adjugates, limit=limit)
            self._functions[dtype] = RowFunction(writers[0], self.keys.size), RowFunction(writers[1], self.keys.size)
        return self._functions[dtype]

    def _versors(self, trace: Trace, rows: Rows, limit: float, eps: float) -> list[TracedScalar]:
        """Return ~A / (A ~A) of rows, which holds where that is the inverse beyond doubt."""
        scalar, rest = self.by_reverse(rows)
        number = abs(trace.scalar(scalar))
        square = number if self.definite else total(trace, [a * a for a in rows])
        trace.require(square > RANGE**-2)
        trace.require(square <= RANGE**2)
        if not self.definite:
            trace.require(number > square * limit)
        for row in rest:
            trace.require(abs(row) <= number * (VERSOR * eps))
        factor = 1.0 / trace.scalar(scalar)
        return [row * (factor * sign) for row, sign in zip(rows, self.reverse, strict=True)]

    def _adjugates(self, trace: Trace, rows: Rows, limit: float) -> list[TracedScalar]:
        """Return adj / N of rows, which holds where N is clear, and a row that is positive where no step is due."""
        N, parts = self.adjugate(rows)
        adjugate = [trace.scalar(part) for part in parts]
        size, length = (total(trace, [a * a for a in part]).sqrt() for part in (rows, adjugate))
        trace.require(size > 1 / RANGE)
        trace.require(size <= RANGE)
        trace.require(abs(trace.scalar(N)) > size * length * max(CLEAR, limit))
        power = size
        for _ in range(self.degree - 2):
            power = power * size
        factor = 1.0 / trace.scalar(N)
        return [*(row * factor for row in adjugate), length - power * WELL[self.degree]]


def _adjugate(metric: Metric, keys: Keys) -> tuple[int, Any, Keys, int]:
    d = used_vectors(keys).bit_count()
    code, A = StraightLine.of(metric, a=keys)
    conjugate = A.negated(lambda k: k % 4 in (1, 2))
    # A times its Clifford conjugate, which is its own: of the grades 0, 3 and 4 (Hitzer and Sangwine 2017)
    P = code.product("p", "gp", A, conjugate)
    if d <= 2:
        return 2, code.function(P.scalar(), conjugate), keys, code.terms
    if d <= 4:
        # P = s + g with g of the grades 3 and 4: P (s - g) = s² - g² is a number for d ≤ 4
        G = P.negated(lambda k: k in (3, 4))
        number, adjugate = code.product("n", "gp", P, G, (0,)), code.product("x", "gp", conjugate, G)
        return 4, code.function(number.scalar(), adjugate), adjugate.keys, code.terms
    # d = 5: P times its involution has the grades 0, 1 and 4 alone
    Q = P.negated(lambda k: k % 2 == 1)
    H = code.product("h", "gp", P, Q)
    G = H.negated(lambda k: k in (1, 4))
    number, K = code.product("n", "gp", H, G, (0,)), code.product("k", "gp", Q, G)
    adjugate = code.product("x", "gp", conjugate, K)
    return 8, code.function(number.scalar(), adjugate), adjugate.keys, code.terms


def inverse_code(metric: Metric, keys: Keys) -> InverseCode | None:
    """Return the code for A of ``keys``, None where more than five vectors occur or no component is a length."""
    code: InverseCode | None = made_once(metric, ("inv", keys), _inverse_code, metric, keys)
    return code


def _inverse_code(metric: Metric, keys: Keys) -> InverseCode | None:
    small = keys.size and used_vectors(keys).bit_count() <= MOST
    return InverseCode(metric, keys) if small and components_are_lengths(metric) else None


def inverse_of_one(A: MV, rtol: float | None) -> MV | None:
    """Return the inverse of one multivector, by Python numbers; None where the general way must look."""
    code = inverse_code(A.algebra.form, A.keys)
    limit = limit_of(A.keys, eps_of(A.coefficients.dtype)) if rtol is None else rtol
    if code is None or code.terms > BY_MATRIX:
        by_matrix = one_by_matrix(A, limit)
        if by_matrix is not None or code is None:
            return by_matrix
    a = A.coefficients.tolist()
    size = math.hypot(*map(abs, a))
    if not 1 / RANGE < size < RANGE:
        return None
    scalar, rest = code.by_reverse(a)
    # in Python numbers: the size of ⟨A ~A⟩_0 decides whether A is singular
    number = abs(scalar)
    if code.always or max(map(abs, rest)) <= VERSOR * eps_of(A.dtype) * number:
        if not number > max(limit, 1 / RANGE) * size * size:
            return None
        factor = 1 / scalar
        values = [x * (s * factor) for x, s in zip(a, code.reverse, strict=True)]
        return A.new(code.keys, np.array(values, dtype=A.dtype))
    N, adjugate = code.adjugate(a)
    length = math.hypot(*map(abs, adjugate))
    if not abs(N) > max(CLEAR, limit) * size * length:
        return None
    factor = 1 / N
    x = np.array([x * factor for x in adjugate], dtype=A.dtype)
    if not length > WELL[code.degree] * size ** (code.degree - 1):
        x, done = newton_step(A.algebra.form, A.keys, code.adjugate_keys)(A.coefficients, x)
        if not done:
            return None
    return A.new(code.adjugate_keys, x)


def limit_of(keys: Keys, eps: float) -> float:
    """Return the reciprocal condition number up to which a multivector is singular."""
    return 4 * eps * 2 ** ((keys.d + 1) // 2)


def closed_inverse(A: MV) -> tuple[MV | None, NDArray[np.bool_]]:
    """Return the inverses of real A that have a closed form, and where they hold; None where there is no formula."""
    code = inverse_code(A.algebra.form, A.keys)
    # the general way raises for what has no inverse
    if code is None or not code.invertible or not A.ndim or A.dtype.kind == "c":
        return None, np.zeros(A.shape, dtype=bool)
    versors, adjugates = code.functions(A.dtype)
    parts = as_components(A.coefficients).astype(np.float64, copy=False)
    keys, values, done = code.keys, parts, np.zeros(parts.shape[1], dtype=bool)
    # a look at a few spares the rest where they are not versors
    if code.always or versors.all(parts[:, :FEW]) is not None:
        values, done = versors.marked(parts)
    if not (code.always or done.all()):
        keys = code.adjugate_keys
        rows, clear = adjugates.marked(parts)
        values, well = rows[:-1], rows[-1] > 0
        done, more = clear & well, clear & ~well
        if more.any():
            step = newton_step(A.algebra.form, A.keys, keys)
            better, done[more] = step(parts[:, more].T, values[:, more].T)
            values[:, more] = better.T
    X = A.new(keys, from_components(values.astype(A.dtype, copy=False), A.shape))
    return X, done.reshape(A.shape)


class NewtonStep:
    """X ← X + X (1 - A X) for keys of A and X."""

    def __init__(self, metric: Metric, a: Keys, x: Keys) -> None:
        self.first = plan_of(metric, "gp", a, x)
        self.second = plan_of(metric, "gp", x, self.first.keys)
        self.other = plan_of(metric, "gp", x, a)
        at = {int(mask): i for i, mask in enumerate(self.second.keys.masks)}
        self.places = None if self.second.keys is x else np.array([at.get(int(mask), -1) for mask in x.masks])

    def __call__(self, a: NDArray[Any], x: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        """Return coefficients (…, K) of the better X, and where A X and X A are 1 to rounding of |A| |X|.

        The step leaves |A|² |X|² units of rounding, so a badly conditioned A is better served by matrices.
        """
        # X (1 - A X)
        more = self.second(x, self._left(self.first, a, x))
        if self.places is not None:
            more = np.where(self.places >= 0, more[..., self.places], 0)
        x = x + more
        # squares of the sizes are compared: no roots
        bound = (16 * eps_of(x.dtype)) ** 2 * _size(a) * _size(x)
        return x, (_size(self._left(self.first, a, x)) <= bound) & (_size(self._left(self.other, x, a)) <= bound)

    def _left(self, plan: Any, a: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
        """Return 1 - a x."""
        rest: NDArray[Any] = -plan(a, x)
        rest[..., plan.keys.find(0)] += 1
        return rest


def _size(a: NDArray[Any]) -> Any:
    return (np.abs(a) ** 2).sum(axis=-1)


def newton_step(metric: Metric, a: Keys, x: Keys) -> NewtonStep:
    """Return the step for these keys, made once."""
    step: NewtonStep = made_once(metric, ("newton", a, x), NewtonStep, metric, a, x)
    return step
