"""Samples of subspaces: all pairwise distances, the Fréchet mean, geodesic principal components; rows stay on disk."""

import math
import warnings
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_choice, check_integer, check_listed, check_positive, describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.blades.blade import Blade
from clifford_rand.blades.blocks import Dense, Rows, Stacked, blocks, combined, product, written
from clifford_rand.blades.large import LargeBlade
from clifford_rand.blades.subspace import DISTANCES, FactoredRows, exp_weights, log_weights
from clifford_rand.errors import ConvergenceWarning

_TILE = 4096  # rows of a tile: 128 MiB of products with another
_ACCURATE = 1e-13, 1e-8  # error of a distance, of rows of float64 and float32, from which on sines are computed


class Sample:
    """n subspaces of one dimension k in R^d with the products of their orthonormal bases, in blocks."""

    def __init__(self, blades: Any, name: str, owner: str) -> None:
        rule = "a batch of blades, or several Blade or LargeBlade, of one grade and dimension"
        if isinstance(blades, Blade):
            blades._check_subspace(owner, name)
            bases = blades._frame.basis.reshape(-1, blades.grade, blades.d) if blades.ndim else ()
            self.parts = [FactoredRows(Dense(basis), None) for basis in bases]
            self.first: Any = blades
        else:
            listed = check_listed(blades, name, owner, rule)
            self.parts = []
            for blade in listed:
                if isinstance(blade, Blade) and not blade.ndim:
                    blade._check_subspace(owner, name)
                    self.parts.append(FactoredRows(Dense(blade._frame.basis), None))
                elif isinstance(blade, LargeBlade):
                    self.parts.append(blade._subspace(owner, name))
                else:
                    raise fail(name, owner, rule, describe(type(blade).__name__))
            self.first = listed[0] if listed else None
        shapes = sorted({part.source.shape for part in self.parts})
        if len(shapes) != 1:
            received = ", ".join(f"grade {k} in R^{d}" for k, d in shapes[:3]) or "none"
            raise fail(name, owner, rule, describe(received))
        (self.k, self.d), self.dtype = shapes[0], np.result_type(*(part.source.dtype for part in self.parts))
        self.rows = Stacked(*(part.frame[0] for part in self.parts))
        self.inverses = np.array([part.frame[1] for part in self.parts])  # (n, k, k): times rows an orthonormal basis

    def __len__(self) -> int:
        return len(self.parts)

    def products(self, rows: Rows) -> Array:
        """Return the products (n, j, k) of rows (j, d) with the orthonormal bases."""
        return self.turned(product(rows, self.rows))

    def turned(self, products: Array) -> Array:
        """Return products (n, j, k) with the orthonormal bases, of those (j, n·k) with the rows."""
        stack = products.reshape(len(products), len(self), self.k).swapaxes(0, 1)
        return np.asarray(stack @ self.inverses.swapaxes(-1, -2))

    def combination(self, weights: Array) -> Array:
        """Return the weights (j, n·k) of the rows, of those (n, j, k) of the orthonormal bases."""
        return np.asarray((weights @ self.inverses).swapaxes(0, 1).reshape(weights.shape[1], -1))

    def blade_of(self, basis: Array) -> Any:
        """Return a blade of the kind of the first with orthonormal rows."""
        basis = basis.astype(self.dtype, copy=False)
        return self.first._make(basis, 1.0, 0.0) if isinstance(self.first, Blade) else self.first._of(Dense(basis))


def subspace_distances(blades: Any, others: Any = None, *, kind: str = "geodesic") -> Array:
    """Return the distances (n, m) of all pairs of subspaces, from products of tiles of rows in one pass over each pair.

    Parameters
    ----------
    blades : Blade or sequence of LargeBlade or Blade
        n subspaces of one dimension k: a batch of blades, or several, whose rows may be memory maps.
    others : Blade or sequence of LargeBlade or Blade, optional
        m subspaces of the same dimension; by default the same ones, each pair once.
    kind : str, default="geodesic"
        A distance of `Blade.distance`.

    Returns
    -------
    ndarray (n, m) of float64

    Notes
    -----
    Some 2 nm k² d operations and 300 MiB, whatever n and d. The error of √Σθ² from cosines is about k eps over the
    distance; the pairs for which that is above 1e-13, and 1e-8 of rows of float32, are computed from sines, one by one.

    Examples
    --------
    >>> cr.subspace_distances(cr.Blade([[[1.0, 0]], [[0, 1.0]], [[1.0, 1e-9]]])).round(6)
    array([[0.      , 1.570796, 0.      ],
           [1.570796, 0.      , 1.570796],
           [0.      , 1.570796, 0.      ]])
    """
    owner = "subspace_distances"
    check_choice(kind, "kind", owner, tuple(DISTANCES))
    first = Sample(blades, "blades", owner)
    second = first if others is None else Sample(others, "others", owner)
    if (second.k, second.d) != (first.k, first.d):
        rule = f"of grade {first.k} in R^{first.d}"
        raise fail("others", owner, rule, describe(f"grade {second.k} in R^{second.d}"))
    k, single = first.k, np.float32 in (first.dtype, second.dtype)
    near = 4 * k * float(np.finfo(np.float64).eps) / _ACCURATE[single]
    distances = np.zeros((len(first), len(second)))
    for part, others_part in _pairs_of_tiles(len(first), len(second), k, same=second is first):
        left = Stacked(*first.rows.parts[part])
        right = left if second is first and others_part == part else Stacked(*second.rows.parts[others_part])
        tile = product(left, right).reshape(-1, k, right.shape[0])
        back = second.inverses[others_part].swapaxes(-1, -2)
        with ONE_BLAS_THREAD:
            for i, products in enumerate(tile, part.start):
                stack = (first.inverses[i] @ products).reshape(k, -1, k).swapaxes(0, 1) @ back
                cosine = np.minimum(np.linalg.svd(stack, compute_uv=False), 1.0)
                angle = np.arccos(cosine)
                distances[i, others_part] = DISTANCES[kind](angle)
                for j in np.flatnonzero(DISTANCES["geodesic"](angle) < near) + others_part.start:
                    if second is not first or i < j:  # the other half is the same
                        distances[i, j] = DISTANCES[kind](first.parts[i].principal_angles(second.parts[j]))
    if second is first:
        upper = np.triu(distances, 1)
        return upper + upper.T
    return distances


def _pairs_of_tiles(n: int, m: int, k: int, *, same: bool) -> Iterable[tuple[slice, slice]]:
    """Return pairs of parts of n and m subspaces of k rows, of nearly equal size; of the ``same`` ones once."""
    parts = []
    for count in (n, m):
        tiles = math.ceil(count * max(k, 1) / _TILE)
        edges = np.linspace(0, count, tiles + 1).astype(int).tolist()
        parts.append([slice(*edge) for edge in pairwise(edges)])
    return ((one, two) for one in parts[0] for two in parts[1] if not same or one.start <= two.start)


def subspace_mean(
    blades: Any, *, weights: ArrayLike | None = None, tol: float = 1e-9, max_iter: int = 100
) -> Blade | LargeBlade:
    r"""Return the Fréchet mean of subspaces: the one with the least sum of squared geodesic distances.

    .. math:: \min_M \sum_i w_i\, d(M, A_i)^2, \qquad \sum_i w_i \log_M(A_i) = 0.

    Each iteration moves M along the mean of the logarithms, from the first subspace on, in one pass over all rows.

    Parameters
    ----------
    blades : Blade or sequence of LargeBlade or Blade
        n subspaces of one dimension k: a batch of blades, or several, whose rows may be memory maps.
    weights : array_like of shape (n,), optional
        Not negative, and not all zero; equal by default.
    tol : float, default=1e-9
        Length of the gradient, in radians, at which the iteration ends.
    max_iter : int, default=100
        A `ConvergenceWarning` is issued where the gradient is longer after these iterations.

    Returns
    -------
    Blade or LargeBlade
        Of length 1 and of no particular orientation, of the kind and dtype of the first blade. Two arrays (k, d) of
        float64 are held.

    Notes
    -----
    The mean is unique where all subspaces lie within π/4 of one another; of subspaces that are spread more widely there
    may be several local minima, and this is one.

    References
    ----------
    Karcher, "Riemannian center of mass and mollifier smoothing", Comm. Pure Appl. Math. 30 (1977).

    Examples
    --------
    >>> A = cr.Blade([[[1.0, 0.5, 0]], [[1.0, 0, 0]], [[1.0, -0.5, 0]]])
    >>> cr.subspace_mean(A).is_parallel(A[1])
    True
    """
    owner = "subspace_mean"
    sample = Sample(blades, "blades", owner)
    check_positive(tol, "tol", owner)
    check_integer(max_iter, "max_iter", owner)
    n, k, d = len(sample), sample.k, sample.d
    share = np.ones(n) if weights is None else as_real(weights, "weights", owner).astype(np.float64)
    if share.shape != (n,) or share.min() < 0 or not share.any():
        raise fail("weights", owner, f"{n} numbers ≥ 0, not all 0", describe(f"shape {share.shape}"))
    share = share / share.sum()
    rows, inverse = sample.parts[int(share.argmax())].frame
    mean = written(combined(inverse, rows), np.zeros((k, d)), owner)
    tangent, size = np.zeros((k, d)), math.inf
    products = product(Dense(mean), sample.rows)
    for _ in range(max_iter):
        A, B = log_weights(sample.turned(products))
        weight, own = sample.combination(share[:, None, None] * A), np.tensordot(share, B, 1)
        gram, moved = np.zeros((k, k)), np.zeros_like(products)
        for columns in blocks(sample.rows.active, d, sample.rows.height + 2 * k):
            part = sample.rows.take(columns)
            step = weight @ part - own @ mean[:, columns]
            tangent[:, columns] = step
            gram += step @ step.T
            moved += step @ part.T
        size = math.sqrt(np.trace(gram))
        cosine, sine = exp_weights(gram)
        for columns in blocks(sample.rows.active, d, 4 * k):
            mean[:, columns] = cosine @ mean[:, columns] + sine @ tangent[:, columns]
        products = cosine @ products + sine @ moved
        if size <= tol:
            break
    else:
        text = f"subspace_mean: the gradient is {size:.2g} after {max_iter} iterations, above tol = {tol:g}."
        text += " The subspaces may be too far apart for a unique mean; increase max_iter."
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    blade: Blade | LargeBlade = sample.blade_of(mean)
    return blade


class SubspacePCA(NamedTuple):
    """Geodesic principal components of subspaces, see `subspace_pca`.

    Attributes
    ----------
    mean : Blade or LargeBlade
    components : ndarray (m, k, d)
        Orthonormal tangents at the mean, for its ``exp``.
    variances : ndarray (m,)
        Mean squared scores, largest first.
    scores : ndarray (n, m)
        Coordinates of the subspaces' logarithms, in radians.
    total_variance : float
        Mean squared distance to the mean.
    """

    mean: Blade | LargeBlade
    components: NDArray[Any]
    variances: Array
    scores: Array
    total_variance: float


def subspace_pca(blades: Any, n_components: int = 2, *, mean: Blade | LargeBlade | None = None) -> SubspacePCA:
    """Return the principal components of the logarithms of subspaces at their Fréchet mean: geodesic PCA.

    Parameters
    ----------
    blades : Blade or sequence of LargeBlade or Blade
        n subspaces of one dimension k.
    n_components : int, default=2
        m, at most n.
    mean : Blade or LargeBlade, optional
        Another base point; by default `subspace_mean` of the blades.

    Returns
    -------
    SubspacePCA
        mean, components, variances, scores, total_variance. Components beyond the rank of the logarithms are 0, and so
        are their variances and scores.

    Notes
    -----
    The eigenvalues of the logarithms' products tell components of a standard deviation above 8√(n eps) of the largest,
    2e-7 for n = 3, from rounding; those below count as beyond the rank.

    One pass over the rows for the products of the n logarithms, 2 n² k d operations, and one for the components.

    References
    ----------
    Fletcher, Lu, Pizer and Joshi, "Principal geodesic analysis for the study of nonlinear statistics of shape", 2004.

    Examples
    --------
    >>> turns = np.linspace(-0.5, 0.5, 5)
    >>> lines = cr.Blade(np.stack([np.cos(turns), np.sin(turns), 0 * turns], axis=-1)[:, None])
    >>> pca = cr.subspace_pca(lines, 1)
    >>> np.abs(pca.scores[:, 0]).round(6), round(float(pca.variances[0] / pca.total_variance), 6)
    (array([0.5 , 0.25, 0.  , 0.25, 0.5 ]), 1.0)
    """
    owner = "subspace_pca"
    sample = Sample(blades, "blades", owner)
    n, k, d = len(sample), sample.k, sample.d
    m = check_integer(n_components, "n_components", owner, high=n)
    base = Sample([subspace_mean(blades) if mean is None else mean], "mean", owner)
    if (base.k, base.d) != (k, d):
        raise fail("mean", owner, f"of grade {k} in R^{d}", describe(f"grade {base.k} in R^{base.d}"))
    rows, inverse = base.parts[0].frame
    A, B = log_weights(inverse @ sample.products(rows))
    weights, own = A @ sample.inverses, B @ inverse
    gram = np.zeros((n, n))
    for columns in blocks(sample.rows.active, d, 2 * sample.rows.height):
        part = sample.rows.take(columns).reshape(n, k, -1)
        logs = (weights @ part - own @ rows.take(columns)).reshape(n, -1)
        gram += logs @ logs.T
    squares, vectors = (values[..., ::-1][..., :m] for values in np.linalg.eigh(gram))
    vectors = vectors * np.where(np.take_along_axis(vectors, abs(vectors).argmax(axis=0)[None], 0) < 0, -1.0, 1.0)
    # rounding: n eps of the largest square by the products and their eigenvalues, n k eps² by the logarithms
    eps = float(np.finfo(np.float64).eps)
    known = squares > 64 * n * eps * max(squares[0], 4 * k * eps)
    squares = np.where(known, squares, 0.0)
    size = np.sqrt(squares)
    mix = np.where(known, vectors / np.where(known, size, 1.0), 0.0)  # (n, m)
    turned = np.concatenate([sample.combination(mix[:, j, None, None] * A) for j in range(m)])
    inside = -np.tensordot(mix.T, own, 1).reshape(m * k, -1)
    components = written(
        combined(np.concatenate([turned, inside], axis=1), Stacked(sample.rows, rows)),
        np.zeros((m * k, d), sample.dtype), owner,
    )  # fmt: skip
    return SubspacePCA(base.first, components.reshape(m, k, d), squares / n, vectors * size, float(np.trace(gram)) / n)
