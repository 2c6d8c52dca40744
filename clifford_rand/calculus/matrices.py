"""Matrices (..., m, n) of numbers, fractions or symbols: products, inverses, characteristic coefficients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import INT, exact_quotient, in_integers, largest, narrowed

_EPS = float(np.finfo(np.float64).eps)


def multiplied(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """Return the matrix product, in Python integers where int64 would wrap."""
    if A.dtype == INT and B.dtype == INT:
        return in_integers(np.matmul, A.shape[-1] * largest(A) * largest(B), A, B)
    return np.asarray(np.matmul(A, B))


def each_matrix(function: Any, M: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return ``function`` of every matrix of a batch as an object array with the last axes ``shape``."""
    batch = M.shape[:-2]
    result = np.empty((*batch, *shape), dtype=object)
    for place in np.ndindex(*batch):
        result[place] = function(M[place])
    return result


def inverted(M: NDArray[Any], name: str, owner: str, rule: str) -> NDArray[Any]:
    """Return the inverse, exact for fractions and symbols; an error by ``rule`` where there is none."""
    if M.dtype == object:
        from clifford_rand.symbolic import inverse_matrix, is_zero

        for determinant in characteristic_coefficients(M)[..., -1].ravel().tolist():
            if is_zero(determinant):
                raise fail(name, owner, rule, describe("a determinant of zero"))
        return each_matrix(inverse_matrix, M, M.shape[-2:])
    values = M.astype(np.float64) if M.dtype == INT else M
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.inv(values)
        except np.linalg.LinAlgError:
            raise fail(name, owner, rule, describe("a determinant of zero")) from None
        condition = np.linalg.norm(values, axis=(-1, -2)) * np.linalg.norm(inverse, axis=(-1, -2))
    eps = _EPS if values.dtype in (np.float64, np.complex128) else float(np.finfo(np.float32).eps)
    if not np.all(condition * eps < 1):
        raise fail(name, owner, rule, describe(f"a condition number of {float(np.max(condition)):.1e}"))
    return np.asarray(inverse)


def characteristic_coefficients(M: NDArray[Any]) -> NDArray[Any]:
    """Return c_0 = 1, c_1 = tr M, …, c_d = det M with det(λ - M) = Σ_k (-1)^k c_k λ^{d-k}, as (..., d + 1).

    Exact for integers, fractions and symbols (Faddeev–LeVerrier); of floats by their eigenvalues.
    """
    d = M.shape[-1]
    if M.dtype.kind in "fc":
        if not np.isfinite(M).all():
            raise fail("matrix", "characteristic_coefficients", "finite", describe("NaN or infinite entries"))
        roots = np.linalg.eigvals(M)
        found = np.zeros((*M.shape[:-2], d + 1), dtype=roots.dtype)
        found[..., 0] = 1
        for k in range(d):
            found[..., 1:] = found[..., 1:] + roots[..., k, None] * found[..., :-1]
        return found.real.copy() if M.dtype.kind == "f" else found
    exact = each_matrix(_faddeev_leverrier, M, (d + 1,))
    return narrowed(exact) if M.dtype == INT else exact


def _faddeev_leverrier(M: NDArray[Any]) -> NDArray[Any]:
    d = len(M)
    F = M.astype(object)
    found = np.empty(d + 1, dtype=object)
    found[0] = 1
    power = np.zeros((d, d), dtype=object)
    for k in range(1, d + 1):
        inner = power.copy()
        inner[np.diag_indices(d)] += found[k - 1] * (-1) ** (k - 1)
        power = _expanded(F.dot(inner))
        trace = exact_quotient(np.asarray(power.trace(), dtype=object), k)[()]
        value = (-1) ** (k - 1) * trace
        found[k] = int(value) if getattr(value, "denominator", 0) == 1 else value
    return found


def _expanded(M: NDArray[Any]) -> NDArray[Any]:
    if not any(hasattr(value, "expand") for value in M.ravel().tolist()):
        return M
    return np.asarray(np.frompyfunc(lambda value: value.expand() if hasattr(value, "expand") else value, 1, 1)(M))
