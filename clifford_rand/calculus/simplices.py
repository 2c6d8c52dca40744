"""Simplices with orientation: directed measure, boundary, integrals of fields."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np

from clifford_rand._checks import (
    as_array,
    as_real,
    check_choice,
    check_fits,
    check_instance,
    check_integer,
    describe,
    fail,
)
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import is_scalar
from clifford_rand.multivector.multivector import Multivector

_POINTS = 2**14  # at which a field is evaluated together

Field = Callable[[Multivector], Any]


class SimplicialChain:
    """Oriented k-simplices with whole weights, Σ w_i [x_0 … x_k]_i: a curve, a surface, a body in pieces, a boundary.

    Parameters
    ----------
    algebra : Algebra
        Of any metric; the points are its vectors.
    points : array_like of shape (n, d), or vectors
        Real.
    simplices : array_like of int of shape (m, k + 1), optional
        Vertices by their places among the points; the order is the orientation. By default all points make one simplex.
    weights : array_like of int of shape (m,), optional
        1 by default; -1 turns a simplex around.

    Notes
    -----
    The directed measure of a simplex is the k-vector (x_1 - x_0) ∧ … ∧ (x_k - x_0)/k!, and its boundary is
    Σ (-1)^i [… without x_i …]. The fundamental theorem of calculus then reads, dS being of the boundary,

        ∮ L dS R = ∫ L̇ (∇̇ · dX) R + (-1)^{k-1} ∫ L (dX · ∇) R

    where k = d the dots are geometric products. For a body whose measure is a positive multiple of I, dS I⁻¹ = n |dS|
    with the outward normal n. D. Hestenes and G. Sobczyk, "Clifford Algebra to Geometric Calculus", 1984, section 7-3;
    for simplices G. Sobczyk and O. Sánchez, Advances in Applied Clifford Algebras 21, 2011.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> triangle = cr.SimplicialChain(alg, [[0, 0], [2, 0], [0, 1]])
    >>> triangle.directed_measure().sum(), triangle.boundary().simplices.tolist()
    (e12, [[0, 1], [0, 2], [1, 2]])
    >>> triangle.boundary().weights.tolist()
    [1, -1, 1]
    >>> triangle.boundary().integrate(lambda x: x)  # ∮ dS x, twice the area with the orientation of I
    -2.0*e12
    """

    def __init__(
        self,
        algebra: Algebra,
        points: ArrayLike | Multivector,
        simplices: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
    ) -> None:
        if not isinstance(algebra, Algebra):
            raise fail("algebra", "SimplicialChain", "an Algebra", algebra)
        self.algebra = algebra
        coordinates = points.values if isinstance(points, Multivector) and points.grades == (1,) else points
        self.points: NDArray[Any] = as_real(coordinates, "points", "SimplicialChain")
        if self.points.ndim != 2 or self.points.shape[1] != algebra.d:
            rule = f"an array of shape (n, {algebra.d}), or vectors"
            raise fail("points", "SimplicialChain", rule, describe(f"shape {self.points.shape}"))
        n = len(self.points)
        self.simplices = _whole(np.arange(n)[None] if simplices is None else simplices, "simplices", 2)
        self.weights = _whole(np.ones(len(self.simplices), int) if weights is None else weights, "weights", 1)
        if self.simplices.size and not 0 <= self.simplices.min() <= self.simplices.max() < n:
            what = describe(f"{self.simplices.min()} to {self.simplices.max()}")
            raise fail("simplices", "SimplicialChain", f"places from 0 to {n - 1}", what)
        if len(self.weights) != len(self.simplices) or not 1 <= self.simplices.shape[1] <= algebra.d + 1:
            rule = f"of shape (m, k + 1) with k ≤ {algebra.d}, and m weights"
            what = describe(f"shape {self.simplices.shape} and {len(self.weights)} weights")
            raise fail("simplices", "SimplicialChain", rule, what)

    @classmethod
    def box(
        cls, algebra: Algebra, lower: Sequence[float], upper: Sequence[float], *, n_cells: int | Sequence[int] = 1
    ) -> "SimplicialChain":
        """Return a box with edges along the basis vectors, cut into k! simplices a cell, its measure a multiple of I.

        Freudenthal's triangulation: one simplex for each order of the axes.

        Parameters
        ----------
        lower, upper : sequence of d numbers
        n_cells : int or sequence of d int
            Cells along each axis.

        Examples
        --------
        >>> cube = cr.SimplicialChain.box(cr.Algebra(3), [0, 0, 0], [1, 2, 3], n_cells=2)
        >>> cube.simplices.shape, cube.directed_measure().sum().isclose(6 * cr.Algebra(3).I)
        ((48, 4), True)
        """
        check_instance(algebra, Algebra, "algebra", "box", "an Algebra")
        d = algebra.d
        cells = [check_integer(n, "n_cells", "box") for n in ([n_cells] * d if np.ndim(n_cells) == 0 else n_cells)]  # type: ignore[union-attr]
        low, high = (as_real(corner, name, "box") for corner, name in ((lower, "lower"), (upper, "upper")))
        if len(cells) != d or low.shape != (d,) or high.shape != (d,):
            raise fail("lower", "box", f"with upper and n_cells {d} numbers each", describe(f"shape {low.shape}"))
        needed = math.factorial(d) * math.prod(cells) * (d + 1) * 8
        check_fits(needed, "n_cells", "box", hint="Take fewer cells.")
        axes = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, cells, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
        strides = np.cumprod([1, *[n + 1 for n in cells[:0:-1]]])[::-1]
        corner = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), axis=-1).reshape(-1, d) @ strides
        simplices, weights = [], []
        for order in permutations(range(d)):
            steps = np.cumsum([0, *[strides[i] for i in order]])
            simplices.append(corner[:, None] + steps)
            swaps = sum(order[i] > order[j] for i in range(d) for j in range(i + 1, d))
            weights.append(np.full(len(corner), (-1) ** swaps))
        return cls(algebra, points, np.concatenate(simplices), weights=np.concatenate(weights))

    @property
    def k(self) -> int:
        """The dimension of the simplices.

        Examples
        --------
        >>> cr.SimplicialChain.box(cr.Algebra(2), [0, 0], [1, 1]).k
        2
        """
        return int(self.simplices.shape[1]) - 1

    def map(self, function: Field) -> "SimplicialChain":
        """Return the chain whose points are the images of these, vectors of whatever algebra: bend a flat mesh.

        Examples
        --------
        >>> plane, space = cr.Algebra(2), cr.Algebra(3)
        >>> square = cr.SimplicialChain.box(plane, [0, 0], [1, 1])
        >>> tilted = square.map(cr.LinearMap(plane, [[1, 0], [0, 1], [1, 0]], space))
        >>> tilted.directed_measure().sum().isclose(space.e12 - space.e23)
        True
        """
        check_instance(function, Callable, "function", "map", "a function of vectors whose values are vectors")
        images = function(self.algebra.vector(self.points))
        if not isinstance(images, Multivector) or images.grades != (1,) or images.shape != (len(self.points),):
            raise fail("function", "map", "one of vectors whose values are vectors", describe(repr(images)))
        return SimplicialChain(images.algebra, images, self.simplices, weights=self.weights)

    def boundary(self) -> "SimplicialChain":
        """Return the chain of (k-1)-simplices that bounds this one: inner faces cancel.

        Raises
        ------
        ArgumentError
            For points, which have no boundary.

        Examples
        --------
        >>> square = cr.SimplicialChain.box(cr.Algebra(2), [0, 0], [1, 1])
        >>> len(square.simplices), len(square.boundary().simplices)  # the diagonal cancels
        (2, 4)
        >>> len(square.boundary().boundary().simplices)
        0
        """
        if self.k < 1:
            raise fail("k", "boundary", "at least 1", self.k)
        faces, weights = [], []
        for i in range(self.k + 1):
            faces.append(np.delete(self.simplices, i, axis=1))
            weights.append((-1) ** i * self.weights)
        vertices = np.concatenate(faces)
        order = np.argsort(vertices, axis=1)
        sorted_faces = np.take_along_axis(vertices, order, axis=1)
        # the sign of sorting each face
        signs = np.prod([np.sign(order[:, j] - order[:, i]) for j in range(self.k) for i in range(j)], axis=0)
        unique, place = np.unique(sorted_faces, axis=0, return_inverse=True)
        total = np.zeros(len(unique), dtype=np.int64)
        np.add.at(total, place.reshape(-1), signs * np.concatenate(weights))
        return SimplicialChain(self.algebra, self.points, unique[total != 0], weights=total[total != 0])

    def directed_measure(self) -> Multivector:
        """Return w (x_1 - x_0) ∧ … ∧ (x_k - x_0)/k! of every simplex: a batch (m,) of k-vectors.

        Examples
        --------
        >>> corner = cr.SimplicialChain(cr.Algebra(3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> corner.directed_measure().sum()
        0.5*e12 - 0.5*e13 + 0.5*e23
        """
        corners = self.points[self.simplices]
        measure = self.algebra.scalar(self.weights / math.factorial(self.k))
        for i in range(1, self.k + 1):
            # (x_1 - x_0) ∧ … ∧ (x_k - x_0)/k!
            measure = measure.wedge(self.algebra.vector(corners[:, i] - corners[:, 0]))
        return measure

    def integrate(self, right: Any = 1, left: Any = 1, *, degree: int = 5, measure: str = "directed") -> Multivector:
        """Return ∫ left(x) dX right(x).

        Parameters
        ----------
        right, left : callable, multivector or number
            Of the algebra. A function takes a batch of vectors and returns as many multivectors or numbers: a symbolic
            field F of the coordinates x is ``F.lambdify(x)``.
        degree : int, default=5
            A polynomial of this degree is integrated exactly; with (⌊degree/2⌋ + 1)^k points a simplex.
        measure : {"directed", "volume"}
            dX the k-vector times the weight, or its norm in the metric of the algebra: |dX|, never negative.

        Examples
        --------
        >>> alg = cr.Algebra(3)
        >>> ball = cr.SimplicialChain.box(alg, [-1, -1, -1], [1, 1, 1], n_cells=2)
        >>> float(ball.integrate(lambda x: x | x, measure="volume")["1"].round(12))  # ∫ x² over the cube
        8.0
        """
        degree = check_integer(degree, "degree", "integrate", low=0)
        check_choice(measure, "measure", "integrate", ("directed", "volume"))
        bary, weights = simplex_rule(self.k, degree)
        dX = self.directed_measure()
        if measure == "volume":
            dX = self.algebra.scalar(dX.norm())
        total: Any = self.algebra.scalar(0.0)
        step = max(1, _POINTS // len(weights))
        for start in range(0, len(self.simplices), step):
            block = slice(start, start + step)
            x = self.algebra.vector(np.einsum("qk,mkd->mqd", bary, self.points[self.simplices[block]]))
            parts = (self._values(left, x, "left"), dX[block][:, None] * weights, self._values(right, x, "right"))
            total = total + (parts[0] * parts[1] * parts[2]).sum()  # Σ weight · left dX right over points and simplices
        return total

    def _values(self, field: Any, x: Multivector, name: str) -> Any:
        value = field(x) if callable(field) and not isinstance(field, Multivector) else field
        if isinstance(value, Multivector):
            fits = value.algebra == self.algebra and value.shape in ((), x.shape)
        elif isinstance(value, np.ndarray):
            fits = value.shape in ((), x.shape)
            value = self.algebra.scalar(value)
        else:
            fits = is_scalar(value)
            value = self.algebra.scalar(value) if fits else value
        if not fits or value.dtype.kind == "O":
            rule = f"numeric, of {self.algebra!r}, its values of the batch shape of the points"
            raise fail(name, "integrate", rule, describe(repr(value)), "Make a symbolic field numeric with lambdify.")
        return value

    def __repr__(self) -> str:
        sizes = f"{len(self.simplices)} {self.k}-simplices, {len(self.points)} points"
        return f"<SimplicialChain of {self.algebra!r}: {sizes}>"


def _whole(value: ArrayLike, name: str, ndim: int) -> NDArray[np.int64]:
    array = as_array(value, name, "SimplicialChain")
    if array.ndim != ndim or (array.size and array.dtype.kind not in "iu"):
        what = describe(f"shape {array.shape}, dtype {array.dtype}")
        raise fail(name, "SimplicialChain", f"integers with {ndim} axes", what)
    return array.astype(np.int64)


@lru_cache(maxsize=64)
def simplex_rule(k: int, degree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return barycentric coordinates (q, k + 1) and positive weights (q,) of sum 1, exact for polynomials of a degree.

    The conical product of Gauss–Jacobi rules (A. Stroud, "Approximate Calculation of Multiple Integrals", 1971, section
    2.4): the simplex as a collapsed cube, x_i = t_i Π_{j<i} (1 - t_j), with q = (⌊degree/2⌋ + 1)^k points.
    """
    from scipy.special import roots_jacobi

    count = degree // 2 + 1
    check_fits(16 * (k + 2) * count**k, "degree", "integrate", hint="Take a smaller degree on more simplices.")
    points, weights = np.ones((1, 1)), np.ones(1)  # the part that is left of 1, last
    for i in range(k):
        nodes, own = roots_jacobi(count, k - 1 - i, 0)
        share = (1 + nodes) / 2  # from [-1, 1] to [0, 1]
        left = points[:, None, -1]
        points = np.concatenate(
            [
                np.broadcast_to(points[:, None, :-1], (len(points), count, i)),
                (left * share)[..., None],
                (left * (1 - share))[..., None],
            ],
            axis=-1,
        ).reshape(-1, i + 2)
        weights = (weights[:, None] * (own / own.sum())).reshape(-1)
    return points, weights
