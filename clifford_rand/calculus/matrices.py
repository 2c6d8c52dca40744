"""Matrices of linear maps: read, checked, and made of images, vectors and rotations."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_instance, check_listed, describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import INT, exact_quotient, in_integers, largest, narrowed
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.scaling import expanded_entries, is_exact
from clifford_rand.multivector.multivector import Multivector

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
        from clifford_rand.symbolic.coefficients import inverse_matrix, is_zero

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
        c = np.zeros((*M.shape[:-2], d + 1), dtype=roots.dtype)
        c[..., 0] = 1
        for k in range(d):  # Π (1 + λ_k x) = Σ c_k x^k
            c[..., 1:] = c[..., 1:] + roots[..., k, None] * c[..., :-1]
        return c.real.copy() if M.dtype.kind == "f" else c
    exact = each_matrix(_faddeev_leverrier, M, (d + 1,))
    return narrowed(exact) if M.dtype == INT else exact


def _faddeev_leverrier(M: NDArray[Any]) -> NDArray[Any]:
    d = len(M)
    F = M.astype(object)
    c = np.empty(d + 1, dtype=object)
    c[0] = 1
    power = np.zeros((d, d), dtype=object)
    for k in range(1, d + 1):  # P_k = M (P_{k-1} + (-1)^{k-1} c_{k-1}), c_k = (-1)^{k-1} tr(P_k)/k
        inner = power.copy()
        inner[np.diag_indices(d)] += c[k - 1] * (-1) ** (k - 1)
        power = np.asarray(expanded_entries(F.dot(inner)), dtype=object)
        value = (-1) ** (k - 1) * exact_quotient(np.asarray(power.trace(), dtype=object), k)[()]
        c[k] = int(value) if getattr(value, "denominator", 0) == 1 else value
    return c


_euclidean = lru_cache(maxsize=32)(Algebra)  # by its dimension; it keeps the plans of its products


def derivation(F: NDArray[Any], A: Any) -> Any:
    """Return D(A), D(A ∧ B) = D(A) ∧ B + A ∧ D(B) and D(e_i) = Σ_j F_ji e_j: (..., d, d) on a multivector, no metric.

    D(A) = Σ_i f(e_i) ∧ (eⁱ ⌋ A), with components as in a Euclidean algebra.
    """
    is_exact(A)  # refuses tensors
    plain = _euclidean(A.algebra.d)
    B = plain.new(A.keys, A.coefficients)
    images = (plain.vector(F[..., i]) ^ (e << B) for i, e in enumerate(plain.basis_vectors()))
    total: Any = sum(images, B.part(()))
    return A.algebra.new(total.keys, total.coefficients)


def identity(cls: Any, algebra: Algebra) -> Any:
    """Return the map a ↦ a.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> cr.LinearMap.identity(alg)
    <LinearMap of Algebra(2): e1 -> e1, e2 -> e2>
    >>> cr.LinearMap.identity(alg)(alg.e12)
    e12
    """
    return cls(algebra, np.eye(checked_algebra(algebra, "algebra").d, dtype=np.int64))


def from_images(cls: Any, algebra: Algebra, images: Sequence[Multivector]) -> Any:
    """Return the map that takes the basis vectors to these vectors, of one algebra.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> cr.LinearMap.from_images(alg, [alg.e2, -alg.e1]).matrix
    array([[ 0, -1],
           [ 1,  0]])
    """
    checked_algebra(algebra, "algebra")
    owner, rule = "LinearMap.from_images", f"{algebra.d} vectors, one a basis vector"
    listed = check_listed(images, "images", owner, rule)
    if len(listed) != algebra.d or not all(isinstance(image, Multivector) for image in listed):
        raise fail("images", owner, rule, describe(f"{len(listed)} entries"))
    target = listed[0].algebra
    is_exact(*listed)  # refuses tensors
    columns = []
    for image in listed:
        vector = image.on_keys(keys_of_grades(target.d, (1,))) if image.grades == (1,) else image.grade(1)
        if image.algebra != target or not np.all((image - vector).is_zero()):
            raise fail("images", owner, f"vectors of {target!r}", describe(repr(image)))
        columns.append(vector.values)
    return cls(algebra, np.stack(np.broadcast_arrays(*columns), axis=-1), target)


def from_function(cls: Any, algebra: Algebra, function: Callable[[Multivector], Any]) -> Any:
    """Return the map that a function of vectors computes.

    Raises
    ------
    ArgumentError
        If an image is not a vector, or the function is not linear at one more vector.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.LinearMap.from_function(alg, lambda a: a - 2 * (a | alg.e1) * alg.e1).matrix.diagonal()
    array([-1,  1,  1])
    """
    owner = "LinearMap.from_function"
    checked_algebra(algebra, "algebra")
    check_instance(function, Callable, "function", owner, "a function of vectors whose values are vectors")
    try:
        f = cls.from_images(algebra, [function(e) for e in algebra.basis_vectors()])
    except ValueError as error:
        raise fail("function", owner, "one of vectors whose values are vectors", function, str(error)) from error
    probe = algebra.vector([(2 * i + 3) * (-1) ** i for i in range(algebra.d)])
    value, expected = function(probe), f(probe)
    exact = "O" in (value.dtype.kind, expected.dtype.kind)
    if not ((value - expected).simplify().is_zero() if exact else np.all(value.isclose(expected, rtol=1e-6))):
        received = describe(f"f({probe}) = {value}, by its images of the basis {expected}")
        raise fail("function", owner, "linear", received)
    return f


def from_versor(cls: Any, V: Multivector, /) -> Any:
    """Return the map a ↦ V a V⁻¹, as ``V >> a``.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> cr.LinearMap.from_versor(1 - alg.e12).matrix  # a quarter turn, e1 to e2
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    check_instance(V, Multivector, "V", "LinearMap.from_versor", "a multivector")
    return cls(V.algebra, V.vector_matrix())


def from_symbols(cls: Any, /, algebra: Algebra, name: str, target: Algebra | None = None, **assumptions: Any) -> Any:
    """Return the general map: real symbols name_11, name_12, … (row, column) unless ``assumptions`` say otherwise.

    Examples
    --------
    >>> cr.LinearMap.from_symbols(cr.Algebra(2), "f").det()
    f_11*f_22 - f_12*f_21
    """
    from clifford_rand.symbolic.coefficients import matrix_symbols

    checked_algebra(algebra if target is None else target, "algebra" if target is None else "target")
    checked_algebra(algebra, "algebra")
    return cls(algebra, matrix_symbols(name, (target or algebra).d, algebra.d, assumptions), target)


def checked_algebra(algebra: Any, name: str) -> Any:
    """Return an algebra, or the error that another object is not one."""
    if not isinstance(algebra, Algebra):
        raise fail(name, "LinearMap", "an Algebra", algebra)
    return algebra
