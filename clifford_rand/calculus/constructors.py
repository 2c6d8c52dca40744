"""Ways to make a linear map: from images of the basis vectors, a function, a versor, or symbols."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import check_instance, check_listed, describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.scaling import is_exact
from clifford_rand.multivector.multivector import Multivector


def identity(cls: Any, algebra: Algebra) -> Any:
    """Return the map a ↦ a.

    Examples
    --------
    >>> import clifford_rand as cr
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
    >>> import clifford_rand as cr
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
    >>> import clifford_rand as cr
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


def from_versor(cls: Any, V: Multivector) -> Any:
    """Return the map a ↦ V a V⁻¹, as ``V >> a``.

    Examples
    --------
    >>> import clifford_rand as cr
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
    >>> import clifford_rand as cr
    >>> cr.LinearMap.from_symbols(cr.Algebra(2), "f").determinant()
    f_11*f_22 - f_12*f_21
    """
    from clifford_rand.symbolic.matrices import matrix_symbols

    checked_algebra(algebra if target is None else target, "algebra" if target is None else "target")
    checked_algebra(algebra, "algebra")
    return cls(algebra, matrix_symbols(name, (target or algebra).d, algebra.d, assumptions), target)


def checked_algebra(algebra: Any, name: str) -> Any:
    """Return an algebra, or the error that another object is not one."""
    if not isinstance(algebra, Algebra):
        raise fail(name, "LinearMap", "an Algebra", algebra)
    return algebra
