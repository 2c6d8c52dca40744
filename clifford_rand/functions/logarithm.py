"""The logarithm and the square root of even versors: closed forms up to six dimensions, so(G) in general."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis import layout
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.closed_log import closed_bivector, closed_form, closed_root
from clifford_rand.functions.exact_log import exact_log, exact_sqrt
from clifford_rand.functions.exponential import exponential
from clifford_rand.functions.frame import (
    LARGEST_DIMENSION,
    Array,
    Frame,
    frame_of,
    null_exponents,
    scale_null,
    working_dtype,
)
from clifford_rand.functions.norms import is_exact
from clifford_rand.functions.orthogonal_log import commuting_turn, orthogonal_log, rotation_planes
from clifford_rand.functions.planes_log import planes_log
from clifford_rand.functions.unit_form import span_form

if TYPE_CHECKING:
    from clifford_rand.errors import ArgumentError
    from clifford_rand.multivector.multivector import Multivector

_EPS = float(np.finfo(np.float64).eps)
_STEP = 1e-8  # relative: of difference quotients
LARGEST_ERROR = 1e-4  # relative error of exp(log A) that is accepted where rounding of log A causes it
_STEPS = 6  # Newton: quadratic, and exact after three in null directions


def log(R: "Multivector", owner: str = "log") -> "Multivector":
    """Return a bivector B, plus log s, with s exp(B) = A: the logarithm of an even versor A with A ~A = s² > 0.

    For A = s (cos b + sin b N) with N² = -1 it is log s + b N; motors, boosts, null rotations and products of turns
    in several planes, of any angles, likewise, in every metric. Of the logarithms it is one of small norm: where A
    is minus the exponential of the principal logarithm of x ↦ A x A⁻¹, a full turn is added in one plane.

    Returns
    -------
    Multivector
        Grade 2, and a scalar if A ~A is not 1 to rounding. The batch shape and the dtype of A.

    Raises
    ------
    ArgumentError
        If A is not an even versor with A ~A > 0, or has no real bivector logarithm: minus a boost in Cl(1, 1), say.

    Notes
    -----
    For d ≤ 5 it is f(S) B with A = S + B, S of the grades 0 and 4, in every metric and over a batch at once; for d = 6
    by the invariant decomposition of ⟨A⟩_2/⟨A⟩_0. Where that is none (minus a boost, planes that turn equally for
    d = 6), and for d > 6, the real logarithm of the orthogonal map in so(G), improved by Gauss-Newton steps on
    exp(B) = A. Either way exp(B) is compared with A. Complex A: only where one plane turns. Fractions and symbols: a
    scalar σ and a bivector of one plane, with the sign of its square from SymPy's assumptions, σ > 0 where it is not -.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(4)
    >>> B = 0.5 * alg.e12 + 0.25 * alg.e34
    >>> B.exp().log().isclose(B)
    True
    >>> print((-2 * alg("1.0")).log().grade(2))
    -3.14159265*e12
    """
    if is_exact(R):
        return exact_log(R, owner)
    dtype = working_dtype(R, owner)
    n = null_exponents(R)
    if n is not None:
        return scale_null(log(scale_null(R, -n), owner), n)
    form = span_form(R, LARGEST_DIMENSION)
    if form is not None:
        return form.give(log(form.take(R.sparse()), owner), R)
    kept = R.dtype if R.dtype.kind in "fc" else dtype
    even = _even(R, owner)
    result, done = closed_form(even, dtype, kept)
    if result is not None and done.all():
        return result
    frame = frame_of(R, owner)
    start = frame.enter(even, frame.even, dtype)
    flat = start.coefficients.reshape(math.prod(R.shape), frame.even.size)
    scalars = np.zeros(len(flat), dtype=dtype)
    parts = np.zeros((len(flat), frame.bivectors.size), dtype=dtype)
    left = np.flatnonzero(~done.reshape(-1))
    if frame.d > 1 and (frame.signs == frame.signs[0]).all() and frame.signs[0] and dtype.kind == "f" and len(left):
        scalars[left], parts[left], found = planes_log(frame, flat[left], float(np.finfo(kept).eps))
        left = left[~found]
    # minus one is often there many times; in the order of the batch, for the error that names what is met first
    different, first, same = np.unique(flat[left], axis=0, return_index=True, return_inverse=True)
    logs = np.zeros(len(different), dtype=dtype)
    turns = np.zeros((len(different), frame.bivectors.size), dtype=dtype)
    for i in np.argsort(first):
        logs[i], turns[i] = _log_of_one(frame, different[i], float(np.finfo(kept).eps), owner)
    scalars[left], parts[left] = logs[same.reshape(-1)], turns[same.reshape(-1)]
    made = frame.leave(frame.bivector(parts.reshape(*R.shape, frame.bivectors.size)), R, dtype).coefficients
    return _joined(R, scalars.reshape(R.shape), made, kept, result, done)


def sqrt(R: "Multivector") -> "Multivector":
    """Return an even versor Q with Q² = A, for an even versor A with A ~A > 0: exp(log(A)/2).

    Q of a rotor turns half as far, and the root of 0 is 0. For d ≤ 5 it is (n + A)/√((n + A)(n + ~A)), n² = A ~A, the
    root that of the Study number in the grades 0 and 4.

    Raises
    ------
    ArgumentError
        If A has no real logarithm: see `log`, also for fractions and symbols.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> Q = (alg.e2 * (alg.e1 + 0.0)).sqrt()
    >>> (Q * Q).isclose(alg.e21), Q.isclose((1 - alg.e12) / 2**0.5)
    (True, True)
    """
    if is_exact(R):
        return exact_sqrt(R)
    dtype = working_dtype(R, "sqrt")
    n = null_exponents(R)
    if n is not None:
        return scale_null(sqrt(scale_null(R, -n)), n)
    form = span_form(R, LARGEST_DIMENSION)
    if form is not None:
        return form.give(sqrt(form.take(R.sparse())), R)
    kept = R.dtype if R.dtype.kind in "fc" else dtype
    even = _even(R, "sqrt")
    result, done = (None, np.zeros(R.shape, dtype=bool)) if dtype.kind == "c" else closed_root(even, kept)
    if result is not None and done.all():
        return result
    flat = even.coefficients.reshape(math.prod(R.shape), even.keys.size)
    left = np.flatnonzero(~done.reshape(-1) & flat.any(axis=1))  # zero is its own root, without a logarithm
    others = (log(even._make(even.keys, flat[left]), "sqrt") / 2).exp()
    keys = others.keys if result is None else result.keys
    parts = np.zeros((keys.size, len(flat)), dtype=kept)
    if result is not None:
        parts[:, done.reshape(-1)] = layout.components(result.coefficients)[:, done.reshape(-1)]
    parts[:, left] = layout.components(others._on(keys).coefficients)
    return R._make(keys, layout.coefficients(parts, R.shape))


def _even(R: "Multivector", owner: str) -> "Multivector":
    """Return R without grades that are odd and zero."""
    if not any(k % 2 for k in R.grades):
        return R
    if R.odd().coefficients.any():
        raise fail("A", owner, "an even versor", describe(f"grades {R.grades}"), "It has components of odd grade.")
    return R.even()


def _joined(
    R: "Multivector", scalars: Array, parts: Array, dtype: Any, closed: "Multivector | None", done: Array
) -> "Multivector":
    """Return log s + B, without a scalar where every s is 1, from both ways."""
    d = R.algebra.d
    if closed is not None:
        parts = np.where(done[..., None], closed.grade(2).values, parts)
        if 0 in closed.grades:
            scalars = np.where(done, closed.grade(0).values[..., 0], scalars)
    if scalars.any() or d < 2:
        both = np.concatenate([scalars[..., None], parts], axis=-1)
        return R._make(keys_of_grades(d, (0, 2) if d > 1 else (0,)), both.astype(dtype))
    return R._make(keys_of_grades(d, (2,)), parts.astype(dtype))


def _log_of_one(frame: Frame, values: Array, eps: float, owner: str) -> tuple[Any, Array]:
    """Return log s and B for one even element, given by its coefficients in an orthonormal frame."""
    largest = np.abs(values).max(initial=0.0)
    R = frame.algebra._new(frame.even, values / largest if largest else values)
    square = (R * ~R).coefficients
    size = float((np.abs(R.coefficients) ** 2).sum())
    squared = square[0].real
    if not largest or squared <= 64 * eps * size or np.abs(square[1:]).max(initial=0.0) > _loose(eps) * size:
        raise _no_versor(owner, squared, np.abs(square[1:]).max(initial=0.0))
    # within the rounding of A ~A no scale is seen, and to divide by it would only spoil a large boost
    unit = bool(largest < 1e100 and abs(squared * largest**2 - 1) <= 64 * eps * size * largest**2)
    R = R * largest if unit else R / np.sqrt(squared)
    if R.dtype.kind == "c":
        if R.coefficients.imag.any():
            hint = "Only d ≤ 3 and R = s + B with B simple have a logarithm for complex numbers here."
            raise fail("A", owner, "real where more than one plane turns", describe("complex coefficients"), hint)
        R = R.astype(np.float64)
    scale = float(np.abs(R.coefficients).max())
    best: Any = None
    least = np.inf
    for B in _candidates(frame, R, eps, owner):
        *found, residual = _polished(frame, R, 0.0, B, unit)
        if residual < least:
            best, least = found, residual
        if least <= 500 * eps * scale:
            break
    limit = _loose(eps) * scale
    if best is not None and limit < least <= LARGEST_ERROR * scale:
        limit = _rounding(frame, best[1], eps)
    if best is None or not least <= limit:
        rule = "a versor s exp(B) with a real bivector B"
        hint = "It may be minus a boost or a null rotation. Its negative, or the square of it, has a logarithm."
        raise fail("A", owner, rule, describe("a versor for which none was found"), hint)
    shift, B = best
    return (0.0 if unit else float(np.log(largest) + np.log(squared) / 2) + shift), B


def _loose(eps: float) -> float:
    """Return how far, relative to max|R|, R may be from a versor and exp(log R) from R: nothing worse is returned."""
    return max(1e-9, 500 * eps)  # 6e-5 for float32


def _rounding(frame: Frame, B: Array, eps: float) -> float:
    """Return the change of exp(B) by rounding of B's components: 16 times the largest of eight random directions."""
    signs = np.random.default_rng(0).choice([-_STEP, _STEP], (8, len(B)))
    images = exponential(frame.bivector(B + B * np.concatenate([signs, 0 * signs[:1]])))._on(frame.even).coefficients
    return float(16 * eps / _STEP * np.abs(images[:-1] - images[-1]).max())


def _no_versor(owner: str, scalar: Any, other: Any) -> "ArgumentError":
    found = f"A ~A with scalar part {scalar:.3g} and {other:.3g} in other grades, for A scaled to components ≤ 1"
    hint = "Only products of an even number of vectors have one."
    return fail("A", owner, "an even versor with A ~A a positive scalar", describe(found), hint)


def _candidates(frame: Frame, R: "Multivector", eps: float, owner: str) -> Any:
    """Yield bivectors B with exp(B) = R but for rounding; first without, then with a full turn added."""
    d, live, null = frame.d, frame.live, frame.null
    closed = closed_bivector(R, eps)
    if closed is not None:
        yield closed
    vectors = frame.algebra.vector(np.eye(d))
    moved = R * vectors * ~R
    if np.abs(moved.coefficients).max() and moved.keys.grades != (1,):
        outside = [k for k in moved.grades if k != 1]
        wrong = np.abs(moved.grade(*outside).coefficients).max(initial=0.0)
        if wrong > _loose(eps) * float((np.abs(R.coefficients) ** 2).sum()):
            raise _no_versor(owner, (R * ~R).coefficients[0], wrong)
    M = moved._select(vectors.keys).coefficients.T
    M0, T = M[np.ix_(live, live)], M[np.ix_(null, live)]
    g = frame.signs[live]
    definite = bool((g > 0).all() or (g < 0).all())
    if definite:
        yield from _definite(frame, R, M0, T)
        return
    L0 = orthogonal_log(M0, g, eps)
    if L0 is None:
        return
    B, L = _assembled(frame, L0, T)
    if _nearer(frame, R, B):
        yield B
        return
    J = commuting_turn(L, frame.signs, eps)
    if J is None:
        return
    sign = -1.0 if np.abs(L - 2 * np.pi * J).max() <= np.abs(L + 2 * np.pi * J).max() else 1.0
    yield frame.from_action(L + sign * 2 * np.pi * J)
    yield frame.from_action(L - sign * 2 * np.pi * J)


def _definite(frame: Frame, R: "Multivector", M0: Array, T: Array) -> Any:
    """Yield the candidates where the metric is definite but for null vectors: M0 is a rotation, a few planes turn."""
    n = len(M0)
    U, angles, order = rotation_planes(M0)
    B, _ = _assembled(frame, _turned(U, angles), T)
    if n < 2 or _nearer(frame, R, B):
        yield B
        return
    if len(order) and abs(angles[order[0]]) > 0.1:
        largest = order[0]
        angles = angles.copy()
        angles[largest] -= 2 * np.pi * (np.sign(angles[largest]) or 1.0)
        yield _assembled(frame, _turned(U, angles), T)[0]
        return
    # nearly no rotation: a full turn in a plane that neither turns nor is shifted, else in the one that turns most
    L0 = _turned(U, angles)
    both = np.concatenate([L0, T])
    plain = np.flatnonzero(np.abs(both).max(axis=0) <= 1e-14)
    _, sizes, V = np.linalg.svd(both)
    sizes = np.concatenate([sizes, np.zeros(n - len(sizes))])
    still = V[sizes <= 1e-14 * max(1.0, sizes.max(initial=0.0))]
    if len(plain) >= 2 or len(still) >= 2:
        b, a = np.eye(n)[plain[:2]] if len(plain) >= 2 else still[-2:]
        yield _assembled(frame, L0 + 2 * np.pi * (np.outer(a, b) - np.outer(b, a)), T)[0]
    for largest in order:
        if angles[largest]:
            turned = angles.copy()
            turned[largest] -= 2 * np.pi * np.sign(angles[largest])
            yield _assembled(frame, _turned(U, turned), T)[0]


def _turned(U: Array, angles: Array) -> Array:
    """Return the matrix that turns the plane of the columns 2k, 2k+1 of U by angles[k]."""
    first, second = U[:, 0 : 2 * len(angles) : 2], U[:, 1 : 2 * len(angles) : 2]
    half = (second * angles) @ first.T
    return half - half.T


def _assembled(frame: Frame, L0: Array, T: Array) -> tuple[Array, Array]:
    """Return the bivector and its action L = [[0, t], [0, L0]] with exp(L) = [[1, T], [0, exp(L0)]]: t φ1(L0) = T."""
    L = np.zeros((frame.d, frame.d))
    L[np.ix_(frame.live, frame.live)] = L0
    if T.size:
        t, *_ = np.linalg.lstsq(_phi1(L0).T, T.T, rcond=_EPS)
        L[np.ix_(frame.null, frame.live)] = t.T
    return frame.from_action(L), L


def _phi1(X: Array) -> Array:
    """Return (e^X - 1)/X = Σ X^k/(k+1)!, from the exponential of [[X, 1], [0, 0]]."""
    from scipy.linalg import expm

    n = len(X)
    block = np.zeros((2 * n, 2 * n))
    block[:n, :n], block[:n, n:] = X, np.eye(n)
    return np.asarray(expm(block)[:n, n:])


def _exp_times(frame: Frame, B: Array, X: "Multivector | None" = None) -> "Multivector":
    """Return exp(B) X, or exp(B): the planes of B in turn in a definite metric, else as `Multivector.exp` does."""
    if (frame.signs == frame.signs[0]).all() and frame.signs[0] and frame.d > 1:
        return _turns_times(frame, B, X)
    E = exponential(frame.bivector(B))._on(frame.even)
    return E if X is None else (E * X)._on(frame.even)


def _turns_times(frame: Frame, B: Array, X: "Multivector | None") -> "Multivector":
    """Return exp(B) X = Π (cos θ_k + sin θ_k P_k) X of the orthogonal unit planes P_k of B, in a definite metric.

    With b w = -iθ w for the antisymmetric matrix b of B and w = (y + ix)/√2, x ∧ y is a plane, turned by θ. Every basis
    bivector squares to -1, whether vectors square to 1 or -1.
    """
    values, vectors = np.linalg.eigh(1j * frame.matrix(B))
    turning = values > 0
    x, y = np.sqrt(2) * vectors.imag[:, turning], np.sqrt(2) * vectors.real[:, turning]
    i, j = frame.upper
    planes = x[i] * y[j] - x[j] * y[i]  # (d(d-1)/2, m)
    keys = keys_of_grades(frame.d, (0, 2))
    for angle, plane in zip(values[turning], planes.T, strict=True):
        turn = frame.algebra._new(keys, np.concatenate([[np.cos(angle)], np.sin(angle) * plane]))
        X = turn._on(frame.even) if X is None else (turn * X)._on(frame.even)
    return frame.algebra.scalar(1.0)._on(frame.even) if X is None else X


def _nearer(frame: Frame, R: "Multivector", B: Array) -> bool:
    """Tell whether exp(B) is nearer to R than to -R, in the blades without null vectors, where both are exact."""
    image = _exp_times(frame, B).coefficients
    null = sum(1 << int(i) for i in frame.null)
    kept = (frame.even.masks & null) == 0
    return float(np.abs((image - R.coefficients)[kept]).max()) <= float(np.abs((image + R.coefficients)[kept]).max())


def _polished(frame: Frame, R: "Multivector", scalar: float, B: Array, unit: bool) -> tuple[float, Array, float]:
    """Return log s and B after Gauss-Newton steps, as long as they help, and max|s exp(B) - R|.

    exp(B + δ) = exp(B) exp(φ1(-ad B) δ + O(δ²)), so the step is the least-squares solution of exp(B) φ1(-ad B) δ =
    R - exp(B). (Solving for δ in exp(-B) R = 1 + … instead would multiply rounding by |R|² for large boosts.)
    """
    basis = frame.bivector(np.eye(frame.bivectors.size))
    scale = float(np.abs(R.coefficients).max())

    def image(scalar: float, B: Array) -> tuple["Multivector", Array, float]:
        E = _exp_times(frame, B) * np.exp(scalar)
        F = R.coefficients - E.coefficients
        return E, F, float(np.abs(F).max())

    between_null = np.isin(frame.upper, frame.null).all(axis=0)
    if between_null.any():  # no vector sees these blades, and they commute with all: exact, and first, as no other
        place = frame.even.place(frame.bivectors)  # component should take their part of the residual
        B = B + between_null * (_exp_times(frame, -B, R).coefficients[place])
    E, F, now = image(scalar, B)
    for _ in range(_STEPS):
        if not now or (now <= 2 * _EPS * scale and np.abs(B).max() > 1e-3):
            break
        ad = 2 * frame.bivector(B).commutator(basis)._select(frame.bivectors).coefficients.T
        columns = (E * basis)._on(frame.even).coefficients.T @ _phi1(-ad)
        if not unit:
            columns = np.concatenate([columns, E.coefficients[:, None]], axis=1)
        step, *_ = np.linalg.lstsq(columns, F, rcond=1e-10)
        new = scalar if unit else scalar + step[-1], B + step[: len(B)]
        E, F, after = image(*new)
        if not after < now:
            break
        done = after > now / 4
        (scalar, B), now = new, after
        if done:
            break
    return scalar, B, now
