"""Functions of a multivector by the eigenvalues of its matrix, and among them the principal logarithm and square root.

With the matrix M = V Λ V⁻¹ of A, see `matrix_forms`, f(M) = V f(Λ) V⁻¹. A matrix without a basis of eigenvectors, or
nearly so, is first moved by a random 1e-8 of its size, which costs half of the digits (E. B. Davies, SIAM Journal on
Matrix Analysis and Applications 29, 2007): the caller improves those by Newton's method.

log A and √A are functions of the matrix of A. For a real A with negative eigenvalues they are X + i Y with real X and
Y that commute with A, and X + J Y is a real logarithm, or root, for every J with J² = -1 that commutes with A: e1 for
complex numbers in Cl(0, 1), I in Cl(3), a plane in which A does nothing.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import Keys, keys_of_grades, union
from clifford_rand.errors import ArgumentError
from clifford_rand.functions.closed_exponential import plane_exponential
from clifford_rand.functions.exponential import exponential
from clifford_rand.functions.matrix_forms import coefficients, matrices_of
from clifford_rand.functions.orthogonal_log import principal_log, square_root
from clifford_rand.functions.scaling import as_inexact, multiplied, power_of_two, without_scalar
from clifford_rand.functions.unit_form import closed_keys, full_form, span_form, unit_form

# ---- inverse functions of a multivector: values at the eigenvalues, improved by Newton's method
#
# Y and A commute, so Newton's method on exp Y = A, sin Y = A and so on is that of numbers. The image of Y is compared
# with A before Y is returned.
Array = NDArray[np.complex128]
Pair = tuple[Any, Any]

ROUNDING = 64 * float(np.finfo(np.float64).eps)  # relative, within which an eigenvalue is at a branch point
STEPS = 8  # of Newton's method: quadratic, from half of the digits
ACCEPTED = 1e-10  # |sin Y - A| by |A|
NEAR = 0.1  # half the distance of two eigenvalues, by that of a singularity, up to which quadrature is exact
NODES = 6  # of Gauss and Legendre: the nearest singularity lies on the ellipse of ρ = 20, so an error of 20^-12
Function = Callable[[Any], Any]
MOVED = 1e-8  # of the size of a matrix: √eps
CONDITION = 1e5  # of the eigenvectors, from which the matrix is moved
REAL = 1e-6  # share of the result below which imaginary parts are round-off: half of the digits
PRECISE = 1e-13  # relative error of exp(log A) beyond which the values without eigenvectors are tried
WEDGE = 0.05  # angle to the negative axis within which eigenvalues may be negative numbers and rounding
LARGEST_FULL = 6  # basis vectors among which J is sought: all, or those of A and up to two more of each sign
TRIES = 40  # random multivectors that commute with A: if some have no real eigenvalue, one in four or more has none


class InverseFunction(NamedTuple):
    """A function of numbers, its derivative and branch points; C and S of Y, the image of Y by them, Newton's step."""

    f: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    branch_points: tuple[complex, ...]
    parts: Callable[[Any, str], Pair]
    image: Callable[[Any, Any], Any]
    step: Callable[[Any, Any, Any], Any]
    domain: str

    def at(self, z: Array) -> Array:
        """Return f at eigenvalues; what is at a branch point to rounding is there."""
        z = z + 0  # -0 is another side of a cut
        for point in self.branch_points:
            z = np.where(np.abs(z - point) <= ROUNDING, point, z)
        return np.asarray(self.f(z), dtype=np.complex128)

    def distance(self, z: Array) -> NDArray[Any]:
        """Return the distance of numbers from the nearest branch point."""
        return np.asarray(np.min([np.abs(z - point) for point in self.branch_points], axis=0))


def improved(
    U: MV, keys: Keys, start: NDArray[Any], inverse: InverseFunction, owner: str
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return Y (n, K) after Newton's method from ``start`` for the elements of U, and max|image - U| / max|U|."""
    target = U.on_keys(keys).coefficients.reshape(-1, keys.size)
    best = start.reshape(-1, keys.size).copy()
    now, error = best.copy(), np.full(len(best), np.inf)
    scale = np.abs(target).max(axis=-1)
    if inverse.f is np.arccosh:
        scale = np.maximum(scale, 1.0)
    active = np.flatnonzero(np.isfinite(now).all(axis=-1))
    for step in range(STEPS):
        if not active.size:
            break
        Y, wanted = U.new(keys, now[active]), U.new(keys, target[active])
        try:
            C, S = inverse.parts(Y, owner)
            distance = np.abs((wanted - inverse.image(C, S)).on_keys(keys).coefficients).max(axis=-1)
            better = distance < error[active]
            best[active[better]], error[active[better]] = now[active[better]], distance[better]
            continued = better & ~(distance <= ROUNDING / 16 * scale[active])
            if not continued.any() or step == STEPS - 1:
                break
            active = active[continued]
            W, C, S = (part.on_keys(keys) for part in (wanted, C, S))
            move = inverse.step(*(part.new(keys, part.coefficients[continued].copy()) for part in (W, C, S)))
        except ArgumentError:
            break  # a singular derivative, or no value there: the best value is returned with its error
        now[active] = now[active] + move.on_keys(keys).coefficients
    return best, error / np.where(scale > 0, scale, 1)


# ---- f(σ + B) for B² = s a number: the mean of f at the eigenvalues σ ± √s, and B times the divided difference


def by_two_eigenvalues(A: MV, f: Function, derivative: Function, distance: Function) -> tuple[Keys, Array] | None:
    """Return keys, the scalar first, and the complex coefficients of f(A); None where they do not say that B² = s.

    ``distance`` is that of a number from the nearest singularity of f. On a branch cut ``derivative`` is of f's side.
    """
    sigma, B = without_scalar(A)
    code = plane_exponential(A.algebra.form, B.keys) if B.keys.size else None
    if B.keys.size and (code is None or code.planes == 2):
        return None
    if code is not None:
        B = B.on_keys(code.work)
    b = as_components(B.coefficients)
    s = np.zeros(b.shape[1]) if code is None else np.broadcast_to(np.asarray(code.square(b)[0]), b.shape[1:])
    h, center = np.sqrt(s.astype(np.complex128)), np.ravel(np.broadcast_to(sigma, A.shape)).astype(np.complex128)
    # f(σ + B) = (f(σ + h) + f(σ - h))/2 + B (f(σ + h) - f(σ - h))/(2h), h = √s
    plus, minus = f(center + h), f(center - h)
    near = np.abs(h) <= NEAR * distance(center)
    odd = np.asarray((plus - minus) / (2 * np.where(near, 1, h)))
    if near.any():  # the mean of the derivative between them, unless they lie on two sides of a branch cut
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        mean = np.where(near, 0, odd)
        mean[near] = derivative(center[near, None] + h[near, None] * nodes) @ weights / 2
        step = 2 * h * mean
        rounding = np.abs(plus) + np.abs(minus) + np.abs(center * mean)
        jump = np.abs(plus - minus - step) > np.abs(step) + ROUNDING * rounding
        odd = np.where(near & jump, (plus - minus) / (2 * np.where(h, h, 1)), mean)
    values = from_components(np.concatenate([((plus + minus) / 2)[None], odd * b]), A.shape)
    return union(keys_of_grades(A.keys.d, (0,)), B.keys), values


@ONE_BLAS_THREAD
def of_eigenvalues(U: MV, keys: Keys, f: Callable[[Array], Array]) -> Array:
    """Return the complex coefficients, on ``keys``, of f(U) for a U of a unit algebra with the null vectors first.

    ``f`` takes eigenvalues, with real or imaginary parts of rounding alone put to +0, so that what lies on a branch cut
    is decided alike for all; not of a matrix that was moved, whose vectors would multiply the change.
    """
    M, signature = matrices_of(U), tuple(U.algebra.signature)
    size = np.abs(M).max(axis=(-1, -2), keepdims=True)
    values, vectors = np.linalg.eig(M)
    with np.errstate(all="ignore"):
        # defective, or nearly
        moved = ~(np.linalg.cond(vectors) < CONDITION)
    if moved.any():
        rng = np.random.default_rng(0)
        noise = rng.standard_normal((*M.shape[-2:], 2)) @ np.array([1, 1j])
        values[moved], vectors[moved] = np.linalg.eig(M[moved] + MOVED * size[moved] * noise)
    tiny = np.where(moved[..., None], 0.0, 64 * np.finfo(np.float64).eps) * size[..., 0]
    real, imag = (np.where(np.abs(part) <= tiny, 0.0, part) for part in (values.real, values.imag))
    with np.errstate(all="ignore"):
        images = f(real + 1j * imag)
        result = (vectors * images[..., None, :]) @ np.linalg.inv(vectors)
    return coefficients(result, signature)[..., keys.masks]


_FUNCTIONS = {
    "log": InverseFunction(
        np.log,
        lambda z: 1 / z,
        (0,),
        lambda Y, owner: (exponential(Y), exponential(-Y)),
        lambda E, F: E,
        lambda A, E, F: A * F - 1,
        "without the eigenvalue 0",
    ),
    "sqrt": InverseFunction(
        np.sqrt,
        lambda z: 0.5 / np.sqrt(z),
        (0,),
        lambda Y, owner: (Y, Y),
        lambda Y, Z: Y * Z,
        lambda A, Y, Z: (A * Y.inv() - Y) / 2,
        "whose eigenvalue 0 has a basis of eigenvectors",
    ),
}


def principal(A: MV, name: str) -> MV:
    """Return the logarithms, or the roots, of a batch of multivectors in numbers; an error where one has none."""
    A = as_inexact(A) if A.keys.size else as_inexact(A).on_keys(keys_of_grades(A.algebra.d, (0,)))
    inverse, exponent = _FUNCTIONS[name], power_of_two(A.coefficients)
    # √(2^n A) = 2^(n/2) √A for even n
    exponent += exponent & 1  # a power of 4
    scaled = multiplied(A.astype(np.complex128 if A.dtype.kind == "c" else np.float64), -exponent)
    with np.errstate(all="ignore"):
        result = _of_batch(scaled, inverse, name)
    if name == "sqrt":
        result = multiplied(result, exponent // 2)
    elif exponent.any():
        # log(2^n A) = log A + n log 2
        result = result + exponent * np.log(2.0)
    return result.astype(A.dtype)


def _of_batch(A: MV, inverse: InverseFunction, owner: str) -> MV:
    form = unit_form(A, owner)
    U = form.take(A)
    keys = closed_keys(U)
    closed = by_two_eigenvalues(U, inverse.at, inverse.derivative, inverse.distance)
    values = of_eigenvalues(U, keys, inverse.at) if closed is None else U.new(*closed).on_keys(keys).coefficients
    values = values.reshape(-1, keys.size)
    right = np.ones(len(values), dtype=bool)
    if A.dtype.kind != "c":
        # a real A off the cut has a real value
        right = np.abs(values.imag).max(axis=-1, initial=0) <= REAL * np.abs(values).max(axis=-1, initial=0)
        values = values.real
    best, error = improved(U, keys, values, inverse, owner)
    result = form.give(U.new(keys, best.reshape(*A.shape, keys.size)), A)
    left = np.flatnonzero(~(right & (error <= PRECISE)))
    if not left.size:
        return result
    flat = A.new(A.keys, A.coefficients.reshape(-1, A.keys.size))
    singles = [_of_one(flat[int(i)], inverse, owner) for i in left]
    keys = keys_of_grades(A.algebra.d, tuple(sorted({k for B in (*singles, result) for k in B.grades})))
    parts = result.on_keys(keys).coefficients.reshape(-1, keys.size).copy()
    parts[left] = [B.on_keys(keys).coefficients for B in singles]
    return A.new(keys, parts.reshape(*A.shape, keys.size))


def _of_one(A: MV, inverse: InverseFunction, owner: str) -> MV:
    """Return f(A) without eigenvectors; X + J Y where f is that of e^{-iθ} A, whose eigenvalues are off the cut."""
    form = full_form(A) if A.algebra.d <= LARGEST_FULL else span_form(A, LARGEST_FULL) or unit_form(A, owner)
    U = form.take(A)
    M, signature = matrices_of(U), tuple(U.algebra.signature)
    values = np.linalg.eigvals(M).ravel()
    if not (root := inverse.f is np.sqrt) and np.abs(values).min() <= ROUNDING * np.abs(values).max():
        raise _undefined(A, values, inverse, owner)
    # angles of the eigenvalues to the negative axis, where the cut is
    away = np.pi - np.abs(np.angle(values))
    turns = [0.0, float(away[away > WEDGE].min(initial=np.pi)) / 2] if away.min() <= WEDGE else [0.0]
    for keys, turn in itertools.product((closed_keys(U), keys_of_grades(U.algebra.d, range(U.algebra.d + 1))), turns):
        try:
            images = [(_root if root else principal_log)(np.exp(-1j * turn) * block) for block in M]
        except np.linalg.LinAlgError:  # an eigenvalue 0, or one on the cut
            continue
        L = coefficients(np.array(images), signature)[keys.masks]
        if root:
            # √A = e^{iθ/2} √(e^{-iθ} A), log A = iθ + log(e^{-iθ} A)
            L = L * np.exp(0.5j * turn)
        else:
            L[0] += 1j * turn
        for start in [L] if A.dtype.kind == "c" else _real_values(U, keys, L):
            best, error = improved(U, keys, start, inverse, owner)
            if error.max() <= ACCEPTED:
                return form.give(U.new(keys, best[0]), A)
    raise _undefined(A, values, inverse, owner)


def _root(M: Array) -> Array:
    """Return √M; on the null space of M, where it has a complement that M keeps, it is 0."""
    left, sizes, right = np.linalg.svd(M)
    null = sizes <= ROUNDING * sizes[0]
    V, W = right[null].conj().T, left[:, null].conj().T
    # the spectral projector on the null space: M + P is invertible, and √M = √(M + P) - P
    P = V @ np.linalg.solve(W @ V, W)
    return np.asarray(square_root(M + P) - P)


def _real_values(U: MV, keys: Keys, values: Array) -> Iterator[NDArray[Any]]:
    """Yield X for X + i Y with Y = 0, else X + J Y for a J with J² = -1 that commutes with U, a blade if one does."""
    if not np.isfinite(values).all():
        return
    X, Y = values.real, U.new(keys, values.imag.copy())
    if np.abs(values.imag).max() <= REAL * np.abs(values).max():
        yield X
        return
    basis = U.new(keys, np.eye(keys.size))
    # J commutes with U where Σ J_k (e_k U - U e_k) = 0: the left null space
    commutators = (basis * U - U * basis).coefficients
    off = np.abs(commutators).max(axis=-1)
    squares = (basis * basis).select_keys(keys_of_grades(keys.d, (0,))).coefficients[:, 0]
    for i in np.flatnonzero((off <= ROUNDING) & (squares < 0)):
        yield X + (basis[int(i)] * Y).on_keys(keys).coefficients
        return
    left, sizes, _ = np.linalg.svd(commutators)
    sizes = np.concatenate([sizes, np.zeros(len(left) - len(sizes))])
    commuting = left[:, sizes <= 1e-9].T
    rng = np.random.default_rng(0)
    for _ in range(TRIES):
        Z = U.new(keys, rng.standard_normal(len(commuting)) @ commuting)
        # the sign function of ZY, i above the real axis and -i below, 0 at 0: so J² = -1
        sign = of_eigenvalues(Z * Y, keys, lambda z: 1j * np.sign(np.where(np.abs(z) > REAL, z.imag, 0)))
        J = U.new(keys, sign.real)
        if (J * J * Y + Y).isclose(0, atol=1e-6):
            yield X + (J * Y).on_keys(keys).coefficients
            return


def _undefined(A: MV, z: NDArray[Any], inverse: InverseFunction, owner: str) -> Exception:
    small, size = np.abs(z).min(), np.abs(z).max()
    if small <= 1e-7 * size or not size:
        received = describe(f"a multivector with an eigenvalue of size {small:.1g} beside one of {size:.3g}")
        return fail("A", owner, f"a multivector {inverse.domain}", received)
    if (np.pi - np.abs(np.angle(z)) <= WEDGE).any() and A.dtype.kind != "c":
        rule = "a multivector without negative eigenvalues, unless a root of -1 commutes with it"
        hint = f"A.astype(complex).{owner}() is defined."
        return fail("A", owner, rule, describe("a multivector with a negative eigenvalue"), hint)
    return fail("A", owner, "a multivector with an accurate value", describe(f"one with an error above {ACCEPTED:g}"))
