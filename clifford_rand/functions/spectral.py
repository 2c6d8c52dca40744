"""Functions of a multivector by the eigenvalues of its matrix, over a batch at once, in any metric.

A goes to complex matrices of rows 2^{r + ⌊(d-r)/2⌋}, r null vectors: Pauli matrices where squares are 1 and -1, and
P + e0 Q ↦ [[P, 0], [Q, P̂]] for a null vector, P̂ the grade involution. With M = V Λ V⁻¹, f(M) = V f(Λ) V⁻¹. A matrix
without a basis of eigenvectors, or nearly so, is first moved by a random 1e-8 of its size, which costs half of the
digits (E. B. Davies, SIAM Journal on Matrix Analysis and Applications 29, 2007): the caller improves those by Newton's
method.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._typing import MV
from clifford_rand.basis import layout
from clifford_rand.basis.keys import Keys, keys_of_grades, union
from clifford_rand.errors import ArgumentError
from clifford_rand.functions.closed_exponential import plane_exponential
from clifford_rand.functions.exponential import without_scalar
from clifford_rand.kernels.representation import from_matrices, representation_of, to_matrices

# ---- inverse functions of a multivector: values at the eigenvalues, improved by Newton's method
#
# Y and A commute, so Newton's method on exp Y = A, sin Y = A and so on is that of numbers. The image of Y is compared
# with A before Y is returned.
Array = NDArray[np.complex128]
Pair = tuple[Any, Any]

ROUNDING = 64 * float(np.finfo(np.float64).eps)  # relative, within which an eigenvalue is at a branch point
STEPS = 8  # of Newton's method: quadratic, from half of the digits
ACCEPTED = 1e-10  # |sin Y - A| by |A|


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


def closed_keys(U: MV) -> Keys:
    """Return the keys of functions of U: all blades, or the even ones."""
    d = U.algebra.d
    return keys_of_grades(d, tuple(range(0, d + 1, 2 if all(k % 2 == 0 for k in U.grades) else 1)))


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

NEAR = 0.1  # half the distance of two eigenvalues, by that of a singularity, up to which quadrature is exact
NODES = 6  # of Gauss and Legendre: the nearest singularity lies on the ellipse of ρ = 20, so an error of 20^-12

Function = Callable[[Any], Any]


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
    b = layout.components(B.coefficients)
    s = np.zeros(b.shape[1]) if code is None else np.broadcast_to(np.asarray(code.square(b)[0]), b.shape[1:])
    h, centre = np.sqrt(s.astype(np.complex128)), np.ravel(np.broadcast_to(sigma, A.shape)).astype(np.complex128)
    # f(σ + B) = (f(σ + h) + f(σ - h))/2 + B (f(σ + h) - f(σ - h))/(2h), h = √s
    plus, minus = f(centre + h), f(centre - h)
    near = np.abs(h) <= NEAR * distance(centre)
    odd = np.asarray((plus - minus) / (2 * np.where(near, 1, h)))
    if near.any():  # the mean of the derivative between them, unless they lie on two sides of a branch cut
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        mean = np.where(near, 0, odd)
        mean[near] = derivative(centre[near, None] + h[near, None] * nodes) @ weights / 2
        step = 2 * h * mean
        rounding = np.abs(plus) + np.abs(minus) + np.abs(centre * mean)
        jump = np.abs(plus - minus - step) > np.abs(step) + ROUNDING * rounding
        odd = np.where(near & jump, (plus - minus) / (2 * np.where(h, h, 1)), mean)
    values = layout.coefficients(np.concatenate([((plus + minus) / 2)[None], odd * b]), A.shape)
    return union(keys_of_grades(A.keys.d, (0,)), B.keys), values


MOVED = 1e-8  # of the size of a matrix: √eps
CONDITION = 1e5  # of the eigenvectors, from which the matrix is moved


def matrices(values: NDArray[Any], signature: tuple[int, ...]) -> Array:
    """Return matrices (..., blocks, n, n) of coefficients (..., 2^d), by their masks, null vectors first."""
    if not signature or signature[0]:
        return np.asarray(to_matrices(values.astype(np.complex128), representation_of(signature)), np.complex128)
    P, Q = values[..., 0::2], values[..., 1::2]
    odd = np.bitwise_count(np.arange(P.shape[-1])) % 2 == 1
    # P + e0 Q ↦ [[P, 0], [Q, P̂]]
    corner, lower, involuted = (matrices(part, signature[1:]) for part in (P, Q, np.where(odd, -P, P)))
    n = corner.shape[-1]
    M = np.zeros((*corner.shape[:-2], 2 * n, 2 * n), dtype=np.complex128)
    M[..., :n, :n], M[..., n:, :n], M[..., n:, n:] = corner, lower, involuted
    return M


def coefficients(M: Array, signature: tuple[int, ...]) -> Array:
    """Return the coefficients (..., 2^d) of what `matrices` made."""
    if not signature or signature[0]:
        return np.asarray(from_matrices(M, representation_of(signature)), dtype=np.complex128)
    n = M.shape[-1] // 2
    P, Q = (coefficients(M[..., rows, :n], signature[1:]) for rows in (slice(None, n), slice(n, None)))
    values = np.empty((*P.shape[:-1], 2 * P.shape[-1]), dtype=np.complex128)
    values[..., 0::2], values[..., 1::2] = P, Q
    return values


def matrices_of(U: MV) -> Array:
    """Return the matrices of a U of a unit algebra with the null vectors first."""
    signature = tuple(U.algebra.signature)
    dense = np.zeros((*U.shape, 1 << len(signature)), dtype=np.complex128)
    dense[..., U.keys.masks] = U.coefficients
    return matrices(dense, signature)


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
