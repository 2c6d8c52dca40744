"""Products as functions, small functions of the top level of ``clifford``, and its arrays of multivectors (objects)."""

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from clifford_rand._checks import as_generator, check_integer, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.compat.clifford.io import write_ga_file
from clifford_rand.compat.clifford.multivector import EPS, MultiVector
from clifford_rand.compat.clifford.order import _powerset


def gp(M: Any, N: Any) -> Any:
    """Return the geometric product M N."""
    return M * N


def op(M: Any, N: Any) -> Any:
    """Return the outer product M ∧ N."""
    return M ^ N


def ip(M: Any, N: Any) -> Any:
    """Return Hestenes' inner product, zero where one factor is a scalar."""
    return M | N


def bases(layout: Any, **keywords: Any) -> dict[str, MultiVector]:
    """Return ``layout.bases()``."""
    return layout.bases(**keywords)


def basis_vectors(layout: Any) -> dict[str, MultiVector]:
    """Return ``layout.basis_vectors``."""
    return layout.basis_vectors


def elements(dims: int, firstIdx: int = 0) -> list[tuple[int, ...]]:
    """Return all blades as tuples of indices, by grade and then lexicographically."""
    return list(_powerset(range(firstIdx, firstIdx + dims)))


def eps(newEps: float | None = None) -> float:
    """Return the tolerance of ``==`` for coefficients, which is the same for all and cannot be set."""
    if newEps is not None:
        raise fail("newEps", "eps", "left out", newEps, "Use A.isclose(B, rtol, atol), A.grades(eps), A.clean(eps).")
    return EPS


def grade_obj(objin: MultiVector, threshold: float = 0.0000001) -> int:
    """Return the grade that most of the coefficients above a threshold have."""
    nonzero = np.abs(objin.coefficients) > threshold
    return int(np.argmax(np.bincount(objin.keys.grade_of[nonzero], minlength=1)))


def linear_operator_as_matrix(
    func: Callable[[MultiVector], MultiVector],
    input_blades: Sequence[MultiVector],
    output_blades: Sequence[MultiVector],
) -> NDArray[Any]:
    """Return the matrix of a linear map from the span of some blades to that of others."""
    images = [func(blade) for blade in input_blades]
    return np.array([[image[blade] for image in images] for blade in output_blades])


def randomMV(
    layout: Any,
    min: float = -2.0,
    max: float = 2.0,
    grades: int | Iterable[int] | None = None,
    uniform: Callable[..., Any] | None = None,
    n: int = 1,
    normed: bool = False,
    rng: np.random.Generator | int | None = None,
) -> Any:
    """Return a multivector with uniform coefficients, or a list of n > 1.

    Parameters
    ----------
    layout : Layout
    min, max : float
        The limits of the coefficients.
    grades : int or iterable of int, optional
        The grades that are not zero; all by default.
    uniform : callable, optional
        ``uniform(low, high, shape)``, NumPy's by default.
    n : int, default=1
    normed : bool, default=False
        Divide by the norm.
    rng : Generator, int or None

    Examples
    --------
    >>> from clifford_rand.compat.clifford import Cl, randomMV
    >>> randomMV(Cl(3)[0], grades=[1], normed=True, rng=0).mag2().round(12)
    np.float64(1.0)
    """
    n = check_integer(n, "n", "randomMV")
    draw = as_generator(rng, "randomMV").uniform if uniform is None else uniform
    chosen = None if grades is None else {grades} if isinstance(grades, int | np.integer) else set(grades)
    places = np.flatnonzero([chosen is None or k in chosen for k in layout.gradeList])
    values = np.zeros((n, layout.gaDims))
    for row in values:
        row[places] = draw(min, max, (len(places),))
    multivectors = [layout.MultiVector(row) for row in values]
    multivectors = [A.normal() for A in multivectors] if normed else multivectors
    return multivectors[0] if n == 1 else multivectors


def _objects(items: Any) -> NDArray[Any]:
    """Return the object array of a multivector, a batch of them, or nested sequences."""
    if isinstance(items, np.ndarray) and items.dtype == object:
        return items
    if isinstance(items, MultiVector) and not items.ndim:
        array = np.empty((), dtype=object)
        array[()] = items
        return array
    rows = [_objects(item) for item in items]
    if len({row.shape for row in rows}) != 1:
        raise fail("input_array", "MVArray", "multivectors, nested evenly and at least one", items)
    array = np.empty((len(rows), *rows[0].shape), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row[()]
    return array


class MVArray(np.ndarray):
    """A NumPy array whose entries are multivectors: operators work entry by entry, in Python.

    ``A.batch()`` is one multivector with batch axes, which computes 10³ products in the time of one here.

    Examples
    --------
    >>> from clifford_rand.compat.clifford import Cl, MVArray
    >>> layout, blades = Cl(2)
    >>> A = MVArray([blades["e1"], blades["e2"]])
    >>> (A * blades["e1"]).value.tolist(), (A.batch() * blades["e1"]).shape
    ([[1, 0, 0, 0], [0, 0, 0, -1]], (2,))
    """

    def __new__(cls, input_array: Any) -> Self:  # noqa: D102  # described by the class
        return _objects(input_array).view(cls)

    @staticmethod
    def from_value_array(layout: Any, value_array: ArrayLike) -> "MVArray":
        """Return the array of multivectors of coefficients (..., 2^d)."""
        values = np.asarray(value_array)
        array = np.empty(values.shape[:-1], dtype=object)
        for index in np.ndindex(array.shape):
            array[index] = layout.MultiVector(values[index])
        return array.view(MVArray)

    @property
    def value(self) -> NDArray[Any]:
        """The coefficients (..., 2^d)."""
        rows = [entry.value for entry in self.ravel()]
        return np.array(rows).reshape(*self.shape, -1)

    def batch(self) -> MultiVector:
        """Return one multivector whose batch axes are those of this array."""
        return self.ravel()[0].layout.MultiVector(self.value)

    def normal(self) -> "MVArray":
        """Return every entry over its norm."""
        return elementwise(MultiVector.normal, self)

    def dual(self) -> "MVArray":
        """Return the dual of every entry."""
        return elementwise(MultiVector.dual, self)

    def __call__(self, *what: Any) -> "MVArray":
        """Return the part of some grades of every entry."""
        return elementwise(lambda A: A(*what), self)

    def gp(self) -> MultiVector:
        """Return the geometric product of all entries in their order."""
        return functools.reduce(lambda a, b: a * b, self)

    def op(self) -> MultiVector:
        """Return the outer product of all entries in their order."""
        return functools.reduce(lambda a, b: a ^ b, self)

    def save(self, filename: str, **options: Any) -> None:
        """Write the coefficients to a file of ``clifford``: see `io.write_ga_file`."""
        layout = self.ravel()[0].layout
        write_ga_file(filename, self.value, layout.metric, layout.basis_names, **options)


def array(obj: Any) -> MVArray:
    """Return the `MVArray` of a multivector or of a sequence of them."""
    return MVArray(obj)


def elementwise(operation: Callable[[Any], Any], entries: NDArray[Any]) -> MVArray:
    """Return the array of ``operation(entry)`` for all entries of an array of numbers or multivectors."""
    results = np.empty(entries.shape, dtype=object)
    for index in np.ndindex(entries.shape):
        results[index] = operation(entries[index])
    return results.view(MVArray)


class Frame(MVArray):
    """An array of vectors.

    Examples
    --------
    >>> from clifford_rand.compat.clifford import Cl, Frame
    >>> e1, e2 = Cl(2)[0].basis_vectors_lst
    >>> A = Frame([e1, e1 + 2 * e2])
    >>> A.inv[0] | A[0], A.inv[0] | A[1]
    (1.0, 0)
    """

    def __new__(cls, input_array: Sequence[MultiVector]) -> Self:  # noqa: D102  # described by the class
        if not all(vector.grades() == {1} for vector in input_array):
            raise TypeError("A frame is made of vectors.")
        return super().__new__(cls, input_array)

    @property
    def En(self) -> MultiVector:
        """The wedge of all vectors."""
        return self.op()

    @property
    def inv(self) -> "Frame":
        """The reciprocal frame: a^i · a_j = δ_ij."""
        vectors: Any = [vector(1) for vector in self]
        return Frame(self[0].algebra.reciprocal_frame(vectors))

    def is_innermorphic_to(self, other: "Frame", eps: float = EPS) -> bool:
        """Tell whether all inner products of two vectors are those of the other frame, to ``eps``."""
        pairs = itertools.combinations_with_replacement(range(len(self)), 2)
        return all(abs(((self[i] | self[j]) - (other[i] | other[j]))[()]) < eps for i, j in pairs)
