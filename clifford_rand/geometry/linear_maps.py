"""Linear maps of vectors carried over to all grades, the map by names of basis vectors, and matrices of products."""

import functools
import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from clifford_rand._checks import as_array, check_bool, check_instance, check_tolerance, describe, fail, one_batch
from clifford_rand._typing import MV, ArrayLike, NDArray
from clifford_rand.basis.coefficients import INT, as_coefficients, in_integers, largest
from clifford_rand.basis.keys import Keys, check_size, dense_keys, keys_of_grades, keys_of_masks
from clifford_rand.basis.rules import bits_of, is_odd_swap
from clifford_rand.functions.scaling import as_multivector
from clifford_rand.plans.representation import move_components

MOST_MINORS = 2**20  # entries of compound matrices beyond which the shears of the LU factors are faster
LARGEST_SHEARS = 22  # dimensions of the 2^d array of the shears
LARGEST = 12  # dimensions: 2^24 entries of one matrix


@one_batch
def outermorphism(A: MV, F: ArrayLike, /, target: Any = None) -> MV:
    """Return F(A), the linear map F of the vectors carried over to all grades: F(A ∧ B) = F(A) ∧ F(B).

    Parameters
    ----------
    F : array_like of shape (..., d', d)
        The image of basis vector i in column i. Leading axes broadcast with the batch.
    target : Algebra, optional
        The algebra of the images, with d' basis vectors; A's own by default.

    Raises
    ------
    ArgumentError
        If the shape of F does not fit.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> F = [[1, 2], [3, 4]]
    >>> alg.e1.outermorphism(F), alg.I.outermorphism(F)  # F(I) = det(F) I
    (e1 + 3*e2, -2*e12)
    """
    target = A.algebra if target is None else target
    d = A.algebra.d
    matrix = _as_matrix(F, target, d)
    keys = A.keys
    kept = tuple(k for k in keys.grades if k <= target.d)
    minors = sum((keys.slices[k].stop - keys.slices[k].start) * math.comb(target.d, k) for k in kept)
    numeric = A.coefficients.dtype.kind in "fc" and matrix.dtype.kind == "f"
    if minors > MOST_MINORS and matrix.ndim == 2 and target.d == d <= LARGEST_SHEARS and numeric:
        return _by_shears(A, matrix, target)  # F = P L U as elementary maps, each O(2^d)
    check_size(minors, "outermorphism", "the minors of F")
    batch = np.broadcast_shapes(A.shape, matrix.shape[:-2])
    result_keys = keys_of_grades(target.d, kept)
    dtype = np.result_type(A.coefficients, matrix)
    images = _images(target, matrix, [keys.masks[keys.slices[k]] for k in kept], kept)
    parts = [np.zeros((*batch, 0), dtype=dtype)]
    for k, image in zip(kept, images, strict=True):  # image (..., n_S, C(d', k))
        values = A.coefficients[..., keys.slices[k]]
        if values.dtype == INT and image.dtype == INT:  # Python integers where int64 would wrap
            part = in_integers(_mapped, values.shape[-1] * largest(values) * largest(image), values, image)
        else:
            part = _mapped(values, image)
        parts.append(np.broadcast_to(part, (*batch, image.shape[-1])))
    return target.new(result_keys, np.concatenate(parts, axis=-1))


def _mapped(values: NDArray[Any], image: NDArray[Any]) -> NDArray[Any]:
    """Return the images of coefficients (..., n): image (..., n, n')."""
    if image.ndim == 2:
        return (values.reshape(-1, values.shape[-1]) @ image).reshape(*values.shape[:-1], image.shape[-1])
    return (values[..., None, :] @ image)[..., 0, :]


def _as_matrix(F: ArrayLike, target: Any, d: int) -> NDArray[Any]:
    if not hasattr(target, "form"):
        raise fail("target", "outermorphism", "None or the Algebra of the images", target)
    matrix = as_coefficients(F, "F", "outermorphism", rule="a matrix of numbers or symbols")
    if matrix.ndim < 2 or matrix.shape[-2:] != (target.d, d):
        rule = f"an array of shape (..., {target.d}, {d}), the image of e_i in column i"
        hint = "Name the algebra of the images with target=." if matrix.ndim >= 2 and matrix.shape[-1] == d else ""
        raise fail("F", "outermorphism", rule, describe(f"shape {matrix.shape}"), hint)
    return matrix


def _images(target: Any, F: NDArray[Any], wanted: list[Any], grades: tuple[int, ...]) -> list[NDArray[Any]]:
    """Return F(e_S), (..., n, C(d', k)), for the masks S of each grade.

    F(e_S) = F(e_i) ∧ F(e_{S without i}) with i the lowest of S.
    """
    columns = np.swapaxes(F, -1, -2)
    needed: dict[int, set[int]] = {k: set(masks.tolist()) for k, masks in zip(grades, wanted, strict=True)}
    for k in range(max(grades, default=0), 1, -1):
        # those of the grade below that the recursion asks for
        needed.setdefault(k - 1, set()).update(mask & (mask - 1) for mask in needed.get(k, ()))
    images: dict[int, NDArray[Any]] = {0: np.ones((*F.shape[:-2], 1, 1), dtype=F.dtype)}
    order: dict[int, dict[int, int]] = {0: {0: 0}}
    for k in range(1, max(grades, default=0) + 1):
        masks = sorted(needed[k])
        order[k] = {mask: n for n, mask in enumerate(masks)}
        low = [(mask & -mask).bit_length() - 1 for mask in masks]  # i, the lowest vector of each S
        first = target.vector(np.ascontiguousarray(columns[..., low, :]))
        if k == 1:
            images[k] = first.coefficients
            continue
        rest = images[k - 1][..., [order[k - 1][mask & (mask - 1)] for mask in masks], :]
        wedge = first.wedge(target.multivector(np.ascontiguousarray(rest), k - 1))  # F(e_i) ∧ F(e_{S without i})
        images[k] = wedge.on_keys(keys_of_grades(target.d, (k,))).coefficients
    return [images[k][..., [order[k][int(mask)] for mask in masks], :] for k, masks in zip(grades, wanted, strict=True)]


def _by_shears(A: Any, F: NDArray[Any], target: Any) -> Any:
    keys: Keys = A.keys.filled
    dtype = np.result_type(A.coefficients, F)
    values = move_components(A.coefficients.astype(dtype, copy=False), A.keys.masks, F, keys.masks)
    return target.multivector(values.astype(dtype, copy=False), keys.grades)


def _check_dimension(d: int, owner: str) -> None:
    if d > LARGEST:
        hint = "Use the products, which need no matrix."
        raise fail("A", owner, f"of an algebra with d ≤ {LARGEST}", describe(f"d = {d}"), hint)


def left_matrix(A: MV) -> NDArray[Any]:
    """Return the matrix of X ↦ A X on all components: left_matrix(A) @ X.dense().values is (A X).dense().values.

    (..., 2^d, 2^d), for d ≤ 12. It is a representation: left_matrix(A B) = left_matrix(A) @ left_matrix(B).

    Examples
    --------
    >>> cr.Algebra(0, 1).e1.left_matrix()  # i as a real matrix
    array([[ 0, -1],
           [ 1,  0]])
    """
    return _matrix(A, "left_matrix", left=True)


def right_matrix(A: MV) -> NDArray[Any]:
    """Return the matrix of X ↦ X A on all components, (..., 2^d, 2^d), for d ≤ 12.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> alg.e12.right_matrix()[:, 1]  # e1 e12 = e2
    array([0, 0, 1, 0])
    """
    return _matrix(A, "right_matrix", left=False)


def _matrix(A: Any, owner: str, *, left: bool) -> NDArray[Any]:
    metric = A.algebra.form
    d = metric.d
    _check_dimension(d, owner)
    keys = dense_keys(d)
    check_size(keys.size**2 * max(1, A.coefficients[..., 0].size if A.keys.size else 1), owner, "the matrix")
    if metric.diagonal is None:
        element = A[..., None] if A.ndim else A
        exact = A.coefficients.dtype == object
        basis = A.new(keys, np.eye(keys.size, dtype=np.int64 if exact else A.coefficients.dtype))
        images = (element * basis if left else basis * element).on_keys(keys).coefficients  # row S: the image of e_S
        return np.swapaxes(images.copy(), -1, -2)
    masks = np.asarray(A.keys.masks)[:, None]
    basis_masks = np.asarray(keys.masks)[None, :]
    # the sign of e_A e_S, then ∏ e_i² over common vectors
    swaps = is_odd_swap(masks, basis_masks, d) if left else is_odd_swap(basis_masks, masks, d)
    factor = np.where(swaps, -1, 1).astype(np.int8) * metric.weight(masks & basis_masks)
    place = np.empty(keys.size, dtype=np.int64)
    place[keys.masks] = np.arange(keys.size)
    # e_A e_S is ± e_{A xor S}: one entry a column
    rows, columns = place[masks ^ basis_masks], np.broadcast_to(np.arange(keys.size), factor.shape)
    dtype = A.coefficients.dtype
    if dtype.kind == "i" or factor.dtype == object:
        dtype = np.result_type(dtype, factor)
    matrix = np.zeros((*A.shape, keys.size, keys.size), dtype=dtype)
    values = A.coefficients[..., :, None]
    if dtype == INT:
        bound = largest(values) * largest(factor.astype(np.int64))
        terms = in_integers(np.multiply, bound, values, factor)
        matrix = matrix.astype(terms.dtype, copy=False)
    else:
        terms = values * factor
    matrix[..., rows, columns] = terms
    return matrix


def from_left_matrix(algebra: Any, M: ArrayLike, /, *, rtol: float = 1e-9) -> Any:
    """Return A with ``A.left_matrix()`` equal to M (..., 2^d, 2^d), to ``rtol`` of its largest entry.

    Raises
    ------
    ArgumentError
        If M is not the matrix of a product X ↦ A X.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.from_left_matrix((2 * alg.e12).left_matrix()).sparse()
    2*e12
    """
    return _from_matrix(algebra, M, rtol, "from_left_matrix", left_matrix, "X ↦ A X")


def from_right_matrix(algebra: Any, M: ArrayLike, /, *, rtol: float = 1e-9) -> Any:
    """Return A with ``A.right_matrix()`` equal to M, of X ↦ X A: see `from_left_matrix`.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> alg.from_right_matrix(alg("1 + 2*e12").right_matrix())
    1 + 2*e12
    """
    return _from_matrix(algebra, M, rtol, "from_right_matrix", right_matrix, "X ↦ X A")


def _from_matrix(algebra: Any, M: ArrayLike, rtol: float, owner: str, matrix: Any, product: str) -> Any:
    _check_dimension(algebra.d, owner)
    rtol = check_tolerance(rtol, 1e-9, owner)
    array = as_array(M, "M", owner)
    size = 1 << algebra.d
    if array.ndim < 2 or array.shape[-2:] != (size, size):
        raise fail("M", owner, f"an array of shape (..., {size}, {size})", describe(f"shape {array.shape}"))
    A = algebra.multivector(array[..., :, 0].copy())  # A 1 = A: the first column
    again = matrix(A)
    if array.dtype == object:
        same = bool(np.all(again == array))
    else:
        eps = float(np.finfo(array.dtype).eps) if array.dtype.kind in "fc" else 0.0
        # relative to the largest entry of each matrix
        limit = max(rtol, 256 * eps) * np.abs(array).max(axis=(-1, -2), keepdims=True)
        same = bool((np.abs(again - array) <= limit).all())
    if not same:
        raise fail("M", owner, f"the matrix of a product {product}", describe("another matrix"))
    return A


def _position(algebra: Any, name: object) -> int | None:
    """Return the index of the basis vector of that name, None if there is none."""
    position = algebra.names.parse(name) if isinstance(name, str) else None
    return None if position is None or position[0].bit_count() != 1 else position[0].bit_length() - 1


def convert(algebra: Any, A: Any, /, mapping: Mapping[str, str] | None = None, *, drop: bool = False) -> Any:
    """Return a multivector of another algebra in this one, matching basis vectors by name.

    It is a homomorphism: the basis vectors that A has need the same inner products here.

    Parameters
    ----------
    A : Multivector
        Of any algebra.
    mapping : dict of str to str, optional
        Names here for basis vectors there, ``{"e1": "e2"}``; the others keep their names.
    drop : bool, default=False
        Leave out the blades with a basis vector that is not here; otherwise they are an error unless zero.

    Raises
    ------
    ArgumentError
        If inner products differ, or a coefficient has no place here.

    Examples
    --------
    >>> vga, pga = cr.Algebra.vga(3), cr.Algebra.pga(3)
    >>> pga.convert(vga.e12) * pga.e0
    e012
    >>> vga.convert(pga("e12 + 3*e01"), drop=True)
    e12
    """
    A = as_multivector(A, "A", "convert")
    source = A.algebra
    chosen = _check_mapping(algebra, source, {} if mapping is None else mapping)
    check_bool(drop, "drop", "convert")
    masks = A.keys.masks.tolist()
    flat = np.asarray(A.coefficients != 0, dtype=bool).reshape(-1, A.keys.size)
    nonzero = [bool(column.any()) for column in flat.T]
    places: dict[int, int | None] = {}
    for mask in masks:
        for i in bits_of(mask):
            if i not in places:
                places[i] = _position(algebra, chosen.get(i, source.names.vector(i)))
    kept = [n for n, mask in enumerate(masks) if all(places[i] is not None for i in places if mask >> i & 1)]
    lost = [n for n in range(len(masks)) if n not in set(kept) and nonzero[n]]
    if lost and not drop:
        rule = f"a multivector whose blades are all in {algebra!r}"
        hint = "Name a basis vector for each in mapping=, or use drop=True to leave them out."
        raise fail("A", "convert", rule, describe(f"a coefficient on {source.names.blade(masks[lost[0]])}"), hint)
    used = functools.reduce(operator.or_, (masks[n] for n in kept if nonzero[n]), 0)
    positions = {i: j for i, j in places.items() if j is not None}
    _check_metric(algebra, source, {i: j for i, j in positions.items() if used >> i & 1})
    images, signs = [], []
    for n in kept:
        indices = [positions[i] for i in bits_of(masks[n])]
        swaps = sum(int(a > b) for at, a in enumerate(indices) for b in indices[at + 1 :])
        collides = len(set(indices)) < len(indices)  # only where the coefficient is zero: _check_metric refuses others
        images.append(-1 if collides else sum(1 << i for i in indices))
        signs.append(-1 if swaps % 2 else 1)
    keys = keys_of_masks(algebra.d, tuple({image for image in images if image >= 0}))
    values = np.zeros((*A.shape, keys.size), dtype=A.coefficients.dtype)
    for n, image, sign in zip(kept, images, signs, strict=True):
        if image >= 0:  # zeros of vectors that are not used may come to lie on a blade that is
            values[..., keys.find(image)] += sign * A.coefficients[..., n]
    return type(A)(algebra, keys, values)


def _check_mapping(algebra: Any, source: Any, mapping: Mapping[str, str]) -> dict[int, str]:
    chosen: dict[int, str] = {}
    check_instance(mapping, Mapping, "mapping", "convert", "a dict of names of basis vectors, to names here")
    for name, image in mapping.items():
        place = _position(source, name)
        if place is None:
            raise fail("mapping", "convert", f"from basis vectors of {source!r}", name, source.names.hint)
        if _position(algebra, image) is None:
            raise fail("mapping", "convert", f"to basis vectors of {algebra!r}", image, algebra.names.hint)
        chosen[place] = image
    return chosen


def _check_metric(algebra: Any, source: Any, places: dict[int, int]) -> None:
    """Refuse two vectors with one image, and inner products that differ."""
    if len(set(places.values())) < len(places):
        pairs = ", ".join(f"{source.names.vector(i)} → {algebra.names.vector(j)}" for i, j in places.items())
        raise fail("mapping", "convert", "to different basis vectors", describe(pairs))
    for i, image_i in places.items():
        for j, image_j in places.items():
            here, there = _product(source.form, i, j), _product(algebra.form, image_i, image_j)
            if i <= j and here != there:
                rule = "of an algebra with the same inner products of the basis vectors it has"
                received = f"{source.names.vector(i)}·{source.names.vector(j)} = {here} and "
                received += f"{algebra.names.vector(image_i)}·{algebra.names.vector(image_j)} = {there}"
                raise fail("A", "convert", rule, describe(received), "Name other basis vectors in mapping=.")


def _product(metric: Any, i: int, j: int) -> Any:
    """Return e_i · e_j without the d × d matrix of a diagonal metric."""
    if metric.diagonal is not None and i != j:
        return 0
    entry = metric.gram[i, j] if metric.diagonal is None else metric.diagonal[i]
    return entry.item() if hasattr(entry, "item") else entry
