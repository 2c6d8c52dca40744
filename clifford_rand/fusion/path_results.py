"""Results of the paths of one function: joined to one batch, and compared in form."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand.basis.arrays import is_tensor, of_one_library
from clifford_rand.fusion.kernel import fields_of, of_fields
from clifford_rand.fusion.path import NotSpecializedError
from clifford_rand.multivector.multivector import Multivector


def joined(xp: Any, results: Sequence[Any], order: Any, shape: tuple[int, ...]) -> Any:
    """Return the results of several paths, each a batch, as one: the elements in an order, with the axes of a shape."""
    first = results[0]
    parts = fields_of(first)
    if parts is not None:
        columns = zip(*(fields_of(result) or [] for result in results), strict=True)
        return of_fields(type(first), [joined(xp, column, order, shape) for column in columns])
    if isinstance(first, Multivector):
        if any(A.keys is not first.keys for A in results):
            raise NotSpecializedError("elements of several kinds")
        new = first.algebra.new if xp is np else first.algebra.new_tensor
        return new(first.keys, joined(xp, [A.coefficients for A in results], order, shape))
    if any(map(is_tensor, results)):  # what is constant along one path need not be along another
        rows = xp.take(xp.concat(of_one_library(results), axis=0), xp.asarray(order), axis=0)
        return xp.reshape(rows, (*shape, *rows.shape[1:]))
    if isinstance(first, np.ndarray):
        rows = np.concatenate(results)[order]
        return rows.reshape(*shape, *rows.shape[1:])
    if any(result != first for result in results):
        raise NotSpecializedError("elements of several kinds")
    return first


def same_form(a: Any, b: Any) -> bool:
    """Tell whether two results have the same structure, keys, shapes and kinds of numbers."""
    parts = fields_of(a)
    if parts is not None:
        return all(map(same_form, parts, fields_of(b) or [None] * len(parts)))
    if isinstance(a, Multivector):
        return a.keys is b.keys and a.shape == b.shape
    kinds = [getattr(x, "dtype", np.dtype(object)) for x in (a, b)]
    return np.shape(a) == np.shape(b) and (kinds[0] == kinds[1] or kinds[0].kind == kinds[1].kind == "U")
