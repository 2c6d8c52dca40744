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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis import layout
from clifford_rand.basis.keys import Keys
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import reverse_is_negative
from clifford_rand.functions.closed_exponential import CHUNK
from clifford_rand.functions.norms import eps_of
from clifford_rand.functions.straight_line import StraightLine
from clifford_rand.functions.unit_form import used_vectors
from clifford_rand.plans.choice import keep

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector

MOST = 5  # basis vectors that occur
VERSOR = 64  # units of rounding, relative to the scalar, that the rest of A ~A may have: some rotors have 8
# |adj| / |A|^(n-1) from which the rounding of the polynomials of degree n is a few times that of the inverse
WELL = {2: 0.0, 4: 0.05, 8: 0.2}
CLEAR = 1e-6  # reciprocal condition number above which its own rounding decides nothing
RANGE = 1e25  # |A| whose eighth power, and that of 1/|A|, is in range


class InverseCode:
    """The code of the inverse for one key set: A ~A, and N and adj."""

    def __init__(self, metric: Metric, keys: Keys) -> None:
        code = StraightLine(metric)
        A = code.argument("a", keys)
        product = code.product("p", "gp", A, A.negated(reverse_is_negative))
        numbers = [name for name, k in zip(product.names, product.keys.grade_of.tolist(), strict=True) if k == 0]
        rest = [name for name, k in zip(product.names, product.keys.grade_of.tolist(), strict=True) if k]
        self.by_reverse = code.function(*(numbers or ["0.0"]), f"[{', '.join(rest)}]")
        self.reverse = tuple(-1.0 if reverse_is_negative(k) else 1.0 for k in keys.grade_of.tolist())
        self.keys = keys
        self.always = not rest
        self.degree, self.adjugate, self.adjugate_keys = _adjugate(metric, keys)


def _adjugate(metric: Metric, keys: Keys) -> tuple[int, Any, Keys]:
    d = used_vectors(keys).bit_count()
    code = StraightLine(metric)
    A = code.argument("a", keys)
    conjugate = A.negated(lambda k: k % 4 in (1, 2))
    P = code.product("p", "gp", A, conjugate)
    if d <= 2:
        return 2, code.function(P.scalar(), conjugate), keys
    if d <= 4:
        G = P.negated(lambda k: k in (3, 4))
        number, adjugate = code.product("n", "gp", P, G, (0,)), code.product("x", "gp", conjugate, G)
        return 4, code.function(number.scalar(), adjugate), adjugate.keys
    Q = P.negated(lambda k: k % 2 == 1)
    H = code.product("h", "gp", P, Q)
    G = H.negated(lambda k: k in (1, 4))
    number, K = code.product("n", "gp", H, G, (0,)), code.product("k", "gp", Q, G)
    adjugate = code.product("x", "gp", conjugate, K)
    return 8, code.function(number.scalar(), adjugate), adjugate.keys


def inverse_code(metric: Metric, keys: Keys) -> InverseCode | None:
    """Return the code for A of ``keys``, None where more than five vectors occur or no component is a length."""
    found: Any = metric.plans.get(("inv", keys), False)
    if found is False:
        small = keys.size and used_vectors(keys).bit_count() <= MOST and metric.is_numeric
        lengths = small and (metric.is_unit or (metric.diagonal is None and _is_orthogonal(metric)))
        found = InverseCode(metric, keys) if lengths else None
        keep(metric, ("inv", keys), found)
    return found


def _is_orthogonal(metric: Metric) -> bool:
    """Tell whether the orthonormal basis is made by an orthogonal matrix, as that of a pair of null vectors."""
    return bool(np.abs(np.abs(np.linalg.eigvalsh(metric.gram.astype(np.float64))) - 1).max() < 1e-12)


def inverse_of_one(A: "Multivector", rtol: float | None) -> "Multivector | None":
    """Return the inverse of one multivector, by Python numbers; None where the general way must look."""
    code = inverse_code(A.algebra.form, A.keys)
    if code is None:
        return None
    limit = _limit(A, rtol)
    a = A.coefficients.tolist()
    size = math.hypot(*map(abs, a))
    if not 1 / RANGE < size < RANGE:
        return None
    scalar, rest = code.by_reverse(a)
    number = abs(scalar)
    if code.always or max(map(abs, rest)) <= VERSOR * eps_of(A.dtype) * number:
        if not number > limit * size * size:
            return None
        factor = 1 / scalar
        values = [x * (s * factor) for x, s in zip(a, code.reverse, strict=True)]
        return A._make(code.keys, np.array(values, dtype=A.dtype))
    N, adjugate = code.adjugate(a)
    length = math.hypot(*map(abs, adjugate))
    if not abs(N) > max(CLEAR, limit) * size * length:
        return None
    factor = 1 / N
    x = np.array([x * factor for x in adjugate], dtype=A.dtype)
    if not length > WELL[code.degree] * size ** (code.degree - 1):
        x, done = _improved(A, A.coefficients, code.adjugate_keys, x)
        if not done:
            return None
    return A._make(code.adjugate_keys, x)


def _limit(A: "Multivector", rtol: float | None) -> float:
    return 4 * eps_of(A.coefficients.dtype) * 2 ** ((A.keys.d + 1) // 2) if rtol is None else rtol


def versors_of_rows(rows: NDArray[Any], code: InverseCode, limit: float, eps: float) -> tuple[Any, Any]:
    """Return ~A / (A ~A) for rows (K, N), and where that is the inverse."""
    size = _length(rows)
    scalar, rest = code.by_reverse(rows)
    number = np.abs(scalar)
    fine = (size > 1 / RANGE) & (size < RANGE) & (number > limit * size * size)
    for row in rest:
        fine &= np.abs(row) <= VERSOR * eps * number
    values = rows / np.where(fine, scalar, 1.0)
    for k, sign in enumerate(code.reverse):
        if sign < 0:
            np.negative(values[k], out=values[k])
    return values, fine


def inverse_of_rows(rows: NDArray[Any], code: InverseCode, limit: float) -> tuple[Any, Any, Any]:
    """Return adj / N for rows (K, N), where it is the inverse, and where it is after a step of Newton's."""
    size = _length(rows)
    N, adjugate = code.adjugate(rows)
    adjugate = np.array(adjugate)
    length = _length(adjugate)
    clear = (size > 1 / RANGE) & (size < RANGE) & (np.abs(N) > max(CLEAR, limit) * size * length)
    well = length > WELL[code.degree] * size ** (code.degree - 1)
    return adjugate / np.where(clear, N, 1.0), clear & well, clear & ~well


def _length(rows: NDArray[Any]) -> NDArray[np.float64]:
    square = rows.real**2 + rows.imag**2 if rows.dtype.kind == "c" else rows * rows
    return np.asarray(np.sqrt(square.sum(axis=0)))


def closed_inverse(A: "Multivector", rtol: float | None) -> "tuple[Multivector | None, NDArray[np.bool_]]":
    """Return the inverses that have a closed form, and where they hold; None where there is no formula."""
    code = inverse_code(A.algebra.form, A.keys)
    if code is None or not A.ndim:
        return None, np.zeros(A.shape, dtype=bool)
    eps = eps_of(A.dtype)
    limit = _limit(A, rtol)
    with np.errstate(all="ignore"):
        parts = layout.components(A.coefficients)
        parts = parts.astype(np.complex128 if A.dtype.kind == "c" else np.float64, copy=False)
        count = parts.shape[1]
        chunks = [slice(start, start + CHUNK) for start in range(0, count, CHUNK)]
        values, done = np.empty(parts.shape, dtype=parts.dtype), np.empty(count, dtype=bool)
        keys, general = code.keys, False
        for part in chunks:
            values[:, part], done[part] = versors_of_rows(parts[:, part], code, limit, eps)
            if not (code.always or done[part].all()):
                keys, general = code.adjugate_keys, True
                break
        if general:
            values, more = np.empty((keys.size, count), dtype=parts.dtype), np.empty(count, dtype=bool)
            for part in chunks:
                values[:, part], done[part], more[part] = inverse_of_rows(parts[:, part], code, limit)
            if more.any():
                chosen = [layout.coefficients(array[:, more], (int(more.sum()),)) for array in (parts, values)]
                better, done[more] = _improved(A, chosen[0], keys, chosen[1])
                values[:, more] = layout.components(better)
    X = A._make(keys, layout.coefficients(values.astype(A.dtype, copy=False), A.shape))
    return X, done.reshape(A.shape)


def _improved(A: "Multivector", a: Any, keys: Keys, x: Any) -> tuple[Any, Any]:
    """Return X after a step of Newton's iteration, X ← 2X - X A X, and where A X is 1 to rounding of |A| |X|.

    ``a`` and ``x`` are coefficients (…, K) of A and X.
    """
    B, X = A._make(A.keys, a), A._make(keys, x)
    X = (X * 2.0 - X * (B * X))._select(keys)
    error = B * X - 1.0
    bound = 16 * eps_of(X.dtype) * _length(np.moveaxis(a, -1, 0)) * _length(np.moveaxis(X.coefficients, -1, 0))
    return X.coefficients, _length(np.moveaxis(error.coefficients, -1, 0)) <= bound
