"""Properties of linear maps: adjoint, symmetric and skew parts, isometry by the metric; invariant blades."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import is_symbolic
from clifford_rand.calculus import matrices
from clifford_rand.multivector.multivector import Multivector


def check_endomorphism(f: Any, owner: str) -> None:
    """Refuse a map into another algebra."""
    if f.algebra != f.target:
        raise fail("f", owner, "a map of an algebra into itself", describe(repr(f)))


def adjoint(f: Any) -> Any:
    """Return f̄, of the target's vectors, with a · f̄(b) = f(a) · b; F̄ = G⁻¹ Fᵀ G' for Gram matrices G and G'.

    Raises
    ------
    ArgumentError
        If the metric of the arguments is degenerate: f̄(b) is then not determined by its inner products.

    Examples
    --------
    >>> sta = cr.Algebra(1, 1)
    >>> cr.LinearMap(sta, [[1, 2], [3, 4]]).adjoint().matrix
    array([[ 1, -3],
           [-2,  4]])
    """
    transposed = np.swapaxes(f.matrix, -1, -2)
    product = matrices.multiplied(transposed, f.target.form.gram)
    matrix = matrices.multiplied(inverse_gram(f.algebra, "adjoint", f.matrix.dtype), product)
    return type(f)(f.target, matrix, f.algebra)


def symmetric_part(f: Any) -> Any:
    """Return (f + f̄)/2.

    Examples
    --------
    >>> f = cr.LinearMap(cr.Algebra(2), [[1, 2], [4, 3]])
    >>> f.symmetric_part().matrix, f.skew_part().matrix
    (array([[1., 3.],
           [3., 3.]]), array([[ 0., -1.],
           [ 1.,  0.]]))
    """
    check_endomorphism(f, "symmetric_part")
    return (f + f.adjoint()) / 2


def skew_part(f: Any) -> Any:
    """Return (f - f̄)/2.

    Examples
    --------
    >>> f = cr.LinearMap(cr.Algebra(2), [[1, 2], [4, 3]])
    >>> f.skew_part().matrix, f.symmetric_part() + f.skew_part() == f
    (array([[ 0., -1.],
           [ 1.,  0.]]), True)
    """
    check_endomorphism(f, "skew_part")
    return (f - f.adjoint()) / 2


def bivector(f: Any) -> Multivector:
    """Return B = ½ Σ eⁱ ∧ f(e_i), for which the skew part of f is a ↦ a ⌋ B.

    Hestenes and Sobczyk, section 3-4.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> f = cr.LinearMap.from_function(alg, lambda a: a << (2 * alg.e12 + alg.e23))
    >>> f.bivector()
    2.0*e12 + e23
    """
    check_endomorphism(f, "bivector")
    product = matrices.multiplied(inverse_gram(f.algebra, "bivector", f.matrix.dtype), np.swapaxes(f.matrix, -1, -2))
    skew = product - np.swapaxes(product, -1, -2)
    if f.algebra.d < 2:
        return f.algebra.scalar(skew[..., 0, 0])
    upper = np.triu_indices(f.algebra.d, 1)
    return f.algebra.multivector(np.ascontiguousarray(skew[..., upper[0], upper[1]]), 2) / 2


def is_symmetric(f: Any, *, rtol: float = 1e-9) -> bool:
    """Tell whether f̄ = f for all maps of the batch, to rounding for floats.

    Examples
    --------
    >>> matrix = [[1, 2], [-2, 3]]
    >>> cr.LinearMap(cr.Algebra(2), matrix).is_symmetric(), cr.LinearMap(cr.Algebra(1, 1), matrix).is_symmetric()
    (False, True)
    """
    check_endomorphism(f, "is_symmetric")
    return _near(f.matrix, adjoint(f).matrix, rtol, "is_symmetric")


def is_skew(f: Any, *, rtol: float = 1e-9) -> bool:
    """Tell whether f̄ = -f for all maps of the batch, to rounding for floats.

    Examples
    --------
    >>> boost = [[0, 1], [1, 0]]
    >>> cr.LinearMap(cr.Algebra(1, 1), boost).is_skew(), cr.LinearMap(cr.Algebra(2), boost).is_skew()
    (True, False)
    """
    check_endomorphism(f, "is_skew")
    return _near(f.matrix, -adjoint(f).matrix, rtol, "is_skew")


def is_isometry(f: Any, *, rtol: float = 1e-9) -> bool:
    """Tell whether f(a) · f(b) = a · b for all maps of the batch, in any metric: Fᵀ G' F = G.

    Examples
    --------
    >>> sta = cr.Algebra.sta()
    >>> boost = cr.LinearMap.from_versor((0.3 * sta.blade("g1_g0")).exp())
    >>> boost.is_isometry(), (2 * boost).is_isometry()
    (True, False)
    """
    product = matrices.multiplied(f.target.form.gram, f.matrix)
    pulled = matrices.multiplied(np.swapaxes(f.matrix, -1, -2), product)
    return _near(pulled, f.algebra.form.gram, rtol, "is_isometry")


def inverse_gram(
    algebra: Algebra, owner: str, dtype: Any, hint: str = "Transpose the matrix, or use the dual space."
) -> NDArray[Any]:
    """Return G⁻¹, exact where it is beside exact entries or made of 1 and -1; an error if the metric is degenerate."""
    metric = algebra.form
    if metric.is_degenerate:
        raise fail("metric", owner, "non-degenerate, to have reciprocal vectors", describe(repr(algebra)), hint)
    if metric.is_unit:
        return metric.gram
    gram = metric.gram.astype(object) if metric.is_exact and dtype.kind == "O" else metric.gram
    return matrices.inverted(gram, "metric", owner, "non-degenerate")


def _near(a: NDArray[Any], b: NDArray[Any], rtol: float, owner: str) -> bool:
    rtol = check_tolerance(rtol, 1e-9, owner)
    if "O" in (a.dtype.kind, b.dtype.kind):
        from clifford_rand.symbolic.coefficients import is_zero

        return all(is_zero(value) for value in np.asarray(a - b).ravel().tolist())
    size = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    return bool(np.abs(a - b).max(initial=0) <= rtol * size)


_RTOL = 1e-5  # a Jordan block of size 3 scatters its eigenvalue by eps^(1/3) = 6e-6


@dataclass(frozen=True)
class Eigenblade:
    """A blade with f(blade) = factor · blade, and the eigenvalues of f on its vectors.

    Attributes
    ----------
    blade : Multivector
        Of grade 1 for a simple real eigenvalue, 2 for a complex pair, m for an eigenvalue of multiplicity m.
    factor : number or expression
        The product of ``eigenvalues``: the determinant of f on the blade's subspace.
    eigenvalues : tuple
        One for each dimension of the blade, conjugate pairs side by side; empty where they are roots of an irreducible
        polynomial of the third degree or more.

    Examples
    --------
    >>> turn = cr.LinearMap(cr.Algebra(3), [[0, -1, 0], [1, 0, 0], [0, 0, 2]])
    >>> sorted((one.blade.grades, round(float(one.factor), 9)) for one in turn.eigenblades())
    [((1,), 2.0), ((2,), 1.0)]
    """

    blade: Multivector
    factor: Any
    eigenvalues: tuple[Any, ...]


def eigenblades(f: Any, *, rtol: float | None = None) -> list[Eigenblade]:
    """Return blades B_1, …, B_m with f(B_i) = factor_i B_i, which together span the space: their wedge is not zero.

    Parameters
    ----------
    rtol : float, default=1e-5
        Floats: eigenvalues nearer than this, relative to the largest singular value, share a blade. Any clusters give
        invariant blades; close ones apart would give nearly parallel blades.

    Returns
    -------
    list of Eigenblade
        One for each distinct eigenvalue, or complex pair, by its generalized eigenspace: an eigenvalue of
        multiplicity m has a blade of grade m, whether it has m eigenvectors or not. The largest come first.

    Raises
    ------
    ArgumentError
        For a batch, a map into another algebra, and complex entries.

    Notes
    -----
    Floats: an ordered real Schur form for each cluster, which gives an orthonormal basis of the invariant subspace.
    Exact and symbolic entries: the primary decomposition, ker p(f)^m for the irreducible factors p^m of the
    characteristic polynomial, quadratic ones split where their roots are known to be real.
    Doran and Lasenby, section 4.4: the plane of a complex pair is a real eigenbivector, f(B) = |λ|² B.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> turn = cr.LinearMap(alg, [[0, -2, 0], [2, 0, 0], [0, 0, 5]])
    >>> [(one.blade, one.factor) for one in turn.astype(object).eigenblades()]
    [(e3, 5), (e12, 4)]
    """
    if f.algebra != f.target or f.shape or f.matrix.dtype.kind == "c":
        rule = "one map of an algebra into itself, its entries real"
        raise fail("f", "eigenblades", rule, describe(repr(f)), "Take f[i] of a batch.")
    limit = check_tolerance(rtol, _RTOL, "eigenblades")
    entries = f.matrix.ravel().tolist()
    if f.matrix.dtype == object and any(isinstance(entry, float) for entry in entries):
        if not any(map(is_symbolic, entries)):
            return eigenblades(f.astype(np.float64), rtol=rtol)
        hint = "Write them as fractions, as sympy.nsimplify does."
        raise fail("f", "eigenblades", "a map of exact numbers and symbols", describe("floats beside symbols"), hint)
    if f.matrix.dtype == object:
        from clifford_rand.symbolic.coefficients import primary_decomposition

        return [
            Eigenblade(_blade(f, basis), factor, tuple(roots))
            for basis, factor, roots in primary_decomposition(f.matrix)
        ]
    F = f.matrix.astype(np.float64)
    if not np.isfinite(F).all():
        raise fail("f", "eigenblades", "finite", describe("NaN or infinite entries"))
    return [
        Eigenblade(_blade(f, basis), float(np.prod(values).real), tuple(values.tolist()))
        for values, basis in _clusters(F, limit)
    ]


def _blade(f: Any, basis: NDArray[Any]) -> Any:
    """Return the wedge of the columns."""
    first, *factors = [f.algebra.vector(column) for column in basis.T]
    return first.wedge(*factors) if factors else first


def _clusters(F: NDArray[np.float64], limit: float) -> list[tuple[NDArray[Any], NDArray[np.float64]]]:
    """Return (eigenvalues, orthonormal basis of their invariant subspace), the largest eigenvalues first."""
    from scipy.linalg import schur
    from scipy.sparse.csgraph import connected_components

    values = np.linalg.eigvals(F)
    near = limit * np.linalg.norm(F, 2)
    upper = values[values.imag >= 0]  # one of each conjugate pair
    upper = upper[np.lexsort((upper.imag, upper.real, -np.abs(upper)))]
    _, label = connected_components(np.abs(upper - upper[:, None]) <= near)  # single linkage
    centers = {int(k): upper[label == k] for k in dict.fromkeys(label.tolist())}
    owners = list(centers)
    clusters = []
    for k in owners:

        def chosen(real: float, imaginary: float, k: int = k) -> bool:
            distance = [np.abs(centers[j] - complex(real, abs(imaginary))).min() for j in owners]
            return owners[int(np.argmin(distance))] == k

        # the chosen eigenvalues first: Z spans their invariant subspace
        T, Z, size = schur(F, output="real", sort=chosen)
        inside = np.linalg.eigvals(T[:size, :size])
        clusters.append((inside if inside.imag.any() else inside.real, Z[:, :size]))  # complex from NumPy 2.5 on
    return clusters
