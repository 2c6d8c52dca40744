"""The logarithm and the square root: of even versors by their planes, of any other multivector by `principal`.

The planes of an even versor come from closed forms up to six dimensions, and from so(G) in general.
"""

import math
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import union
from clifford_rand.functions.circular import scalar_square
from clifford_rand.functions.closed_log import closed_form, closed_root
from clifford_rand.functions.scaling import is_exact, is_exact_zero
from clifford_rand.functions.spectral import principal
from clifford_rand.functions.unit_form import (
    LARGEST_DIMENSION,
    Array,
    frame_of,
    null_exponents,
    scale_null,
    span_form,
    working_dtype,
)
from clifford_rand.functions.versor_log import log_of_one, planes_log


def log(R: MV) -> MV:
    """Return L with exp(L) = A: a bivector plus a scalar for an even versor A with A ~A > 0, else the principal value.

    For A = s (cos b + sin b N) with N² = -1 it is log s + b N; motors, boosts, null rotations and products of turns
    in several planes, of any angles, likewise, in every metric. Of the logarithms it is one of small norm: where A
    is minus the exponential of the principal logarithm of x ↦ A x A⁻¹, a full turn is added in one plane.

    Any other multivector has the logarithm of the matrix X ↦ A X, where that has no eigenvalue on the closed negative
    axis: complex, dual and hyperbolic numbers, quaternions, vectors, sums of versors. Where eigenvalues are negative,
    i π becomes J π for a J with J² = -1 that commutes with A: log(-1) = π e1 in Cl(0, 1), as for complex numbers.

    Returns
    -------
    Multivector
        Of an even versor grade 2, and a scalar if A ~A is not 1 to rounding; else of the grades that products of A
        have. The batch shape and the dtype of A.

    Raises
    ------
    ArgumentError
        If A has the eigenvalue 0, or a negative eigenvalue and no such J was found: minus a boost in Cl(1, 1), say.

    Notes
    -----
    For d ≤ 5 it is f(S) B with A = S + B, S of the grades 0 and 4, in every metric and over a batch at once; for d = 6
    by the invariant decomposition of ⟨A⟩_2/⟨A⟩_0. Where that is none (minus a boost, planes that turn equally for
    d = 6), and for d > 6, the real logarithm of the orthogonal map in so(G), improved by Gauss-Newton steps on
    exp(B) = A. Either way exp(B) is compared with A: it agrees up to rounding of A and of B, where B is large.
    Fractions and symbols: a scalar σ and a part B with B² = s a number, with the sign of s from SymPy's assumptions,
    σ > 0 where it is not -.

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> B = 0.5 * alg.e12 + 0.25 * alg.e34
    >>> B.exp().log().isclose(B)
    True
    >>> print((-2 * alg("1.0")).log().grade(2))
    -3.14159265*e12
    """
    return _exact_log(R) if is_exact(R) else _of_both(R, "log", _versor_logs)


def sqrt(R: MV) -> MV:
    """Return Q with Q² = A: exp(log(A)/2), also where A has eigenvalues 0 with a basis of eigenvectors.

    Q of a rotor turns half as far, and the root of 0 is 0. For versors with d ≤ 5 it is (n + A)/√((n + A)(n + ~A)),
    n² = A ~A, the root that of the Study number in the grades 0 and 4.

    Raises
    ------
    ArgumentError
        If none is found: see `log`, also for fractions and symbols.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> Q = (alg.e2 * (alg.e1 + 0.0)).sqrt()
    >>> (Q * Q).isclose(alg.e21), Q.isclose((1 - alg.e12) / 2**0.5)
    (True, True)
    """
    return _exact_sqrt(R) if is_exact(R) else _of_both(R, "sqrt", _versor_roots)


def _of_both(R: MV, name: str, of_versors: Any) -> MV:
    """Return the values of even versors by their planes, of the other elements of the batch by their eigenvalues."""
    dtype = working_dtype(R, name)
    # e0 ↦ e0/2^n keeps the product: log of the image is the image of log
    n = null_exponents(R)
    if n is not None:
        return scale_null(_of_both(scale_null(R, -n), name, of_versors), n)
    even, odd = R, np.zeros(R.shape, bool)
    if any(k % 2 for k in R.grades):
        even, odd = R.even(), np.asarray(R.odd().coefficients.any(axis=-1))
    if (odd.all() and odd.size) or dtype.kind == "c":
        return principal(R, name)
    # even and odd elements take two ways
    if odd.any():
        return _merged(R, odd, *(_of_both(part, name, of_versors) for part in _parted(R, odd)))
    # in the algebra of the vectors that R uses
    form = span_form(R, LARGEST_DIMENSION)
    result, right = of_versors(even if form is None else form.take(even.sparse()), dtype, name)
    result = result if form is None else form.give(result, R)
    if right.all():
        return result
    if not right.any():
        return principal(R, name)
    return _merged(R, right, principal(_parted(R, right)[0], name), _parted(result, right)[1])


def _versor_logs(even: MV, dtype: Any, owner: str, stored: Any = None) -> tuple[MV, Array]:
    """Return log s and B of even versors, in the dtype ``stored``, and a mask of where s exp(B) is the element."""
    kept = even.dtype if even.dtype.kind in "fc" else dtype
    result, done = closed_form(even, kept)
    if result is not None and done.all():
        return result, done
    frame, d = frame_of(even, owner), even.algebra.d
    start = frame.enter(even, frame.even, dtype)
    flat = start.coefficients.reshape(math.prod(even.shape), frame.even.size)
    scalars = np.zeros(len(flat), dtype=dtype)
    parts = np.zeros((len(flat), frame.bivectors.size), dtype=dtype)
    right = np.ones(len(flat), dtype=bool)
    left = np.flatnonzero(~done.reshape(-1))
    if frame.d > 1 and (frame.signs == frame.signs[0]).all() and frame.signs[0] and len(left):
        scalars[left], parts[left], is_done = planes_log(frame, flat[left], float(np.finfo(kept).eps))
        left = left[~is_done]
    # a batch often has -1 many times
    different, same = np.unique(flat[left], axis=0, return_inverse=True)
    logs = [log_of_one(frame, values, float(np.finfo(kept).eps)) for values in different]
    for i, k in zip(left, same.reshape(-1), strict=True):
        pair = logs[k]
        if pair is None:
            right[i] = False
        else:
            scalars[i], parts[i] = pair
    stored = stored or kept
    B = frame.leave(frame.bivector(parts.reshape(*even.shape, frame.bivectors.size)), even, stored)
    logarithms = B if d > 1 and not scalars.any() else B + scalars.reshape(even.shape).astype(stored)
    if result is not None:
        logarithms = _merged(even, done, _parted(logarithms, done)[0], _parted(result, done)[1])
    return logarithms, right.reshape(even.shape)


def _versor_roots(even: MV, dtype: Any, owner: str) -> tuple[MV, Array]:
    """Return the roots of even versors and of zero, and a mask of where their squares are the elements."""
    kept = even.dtype if even.dtype.kind in "fc" else dtype
    result, done = closed_root(even, kept)
    if result is not None and done.all():
        return result, done
    flat = even.coefficients.reshape(math.prod(even.shape), even.keys.size)
    left = np.flatnonzero(~done.reshape(-1) & flat.any(axis=1))  # zero is its own root, without a logarithm
    # in double precision: half of a large logarithm near -1 would lose the digits of float32
    logs, has_log = _versor_logs(even.new(even.keys, flat[left]), dtype, owner, dtype)
    right = np.ones(len(flat), dtype=bool)
    right[left] = has_log
    # √A = exp(log(A)/2)
    roots = (logs / 2).exp()
    keys = roots.keys if result is None else result.keys
    parts = np.zeros((keys.size, len(flat)), dtype=kept)
    if result is not None:
        parts[:, done.reshape(-1)] = as_components(result.coefficients)[:, done.reshape(-1)]
    parts[:, left] = as_components(roots.on_keys(keys).coefficients)
    return even.new(keys, from_components(parts, even.shape)), right.reshape(even.shape)


def _parted(A: MV, where: Array) -> tuple[MV, MV]:
    """Return the elements of a batch where the mask is False, and where it is True."""
    flat = A.coefficients.reshape(-1, A.keys.size)
    return A.new(A.keys, flat[~where.reshape(-1)]), A.new(A.keys, flat[where.reshape(-1)])


def _merged(R: MV, where: Array, unmasked: MV, masked: MV) -> MV:
    """Return a batch of the shape of R of ``those`` where the mask is True, of ``others`` elsewhere."""
    keys = union(unmasked.keys, masked.keys)
    parts = np.zeros((where.size, keys.size), dtype=np.result_type(unmasked.dtype, masked.dtype))
    parts[~where.reshape(-1)] = unmasked.on_keys(keys).coefficients
    parts[where.reshape(-1)] = masked.on_keys(keys).coefficients
    return R.new(keys, parts.reshape(*R.shape, keys.size))


# ---- the logarithm and the square root of σ + B with B² a number, of fractions or symbols


def _exact_log(R: MV) -> MV:
    """Return log n + f B for R = σ + B, B² = s a number and n² = σ² - s; f = atan2(√-s, σ)/√-s and its kin."""
    from clifford_rand.symbolic.closed_forms import logarithm_of_rotor

    sigma, B, s = scalar_square(R.sparse(), "log")
    scalar, factor = (np.asarray(x, dtype=object) for x in np.frompyfunc(logarithm_of_rotor, 2, 2)(sigma, s))
    result = _times_factor(B, factor, "log", "with a principal logarithm")
    return result if _all_zero(np.ravel(scalar)) else result + scalar


def _exact_sqrt(R: MV) -> MV:
    """Return (n + R)/√(2(n + σ)), whose square is R as R² = 2σR - n²."""
    from clifford_rand.symbolic.closed_forms import root_of_rotor

    sigma, B, s = scalar_square(R.sparse(), "sqrt")
    scalar, factor = (np.asarray(x, dtype=object) for x in np.frompyfunc(root_of_rotor, 2, 2)(sigma, s))
    is_zero = _all_zero(sigma[..., None]) & _all_zero(B.coefficients)  # zero is its own root
    scalar, factor = (np.where(is_zero, 0, x) for x in (scalar, factor))
    return _times_factor(B, factor, "sqrt", "zero, or with a principal logarithm") + scalar


def _times_factor(B: MV, factor: Array, owner: str, rule: str) -> MV:
    """Return factor B; a factor of None says that there is no principal logarithm."""
    if any(x is None for x in np.ravel(factor)):
        raise fail("A", owner, rule, describe("minus one, or σ + B with an eigenvalue σ - √(B²) ≤ 0"))
    return B.new(B.keys, np.asarray(B.coefficients * factor[..., None], dtype=object))


def _all_zero(entries: Any) -> Any:
    return np.array(np.frompyfunc(is_exact_zero, 1, 1)(entries), dtype=bool).all(axis=-1)
