"""Metric and frame of coordinates from what is given of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_array, check_choice, check_listed, describe, fail, is_whole

if TYPE_CHECKING:
    from clifford_rand.calculus.coordinates import Coordinates


def metric_of(
    chart: "Coordinates", metric: ArrayLike | None, lengths: Sequence[Any] | None, signs: Sequence[int] | None
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return g_ij, and the lengths √|g_ii| where they are known."""
    from clifford_rand.symbolic import expressions, positive_root, sign_of, simplified

    d = len(chart.symbols)
    if signs is not None:
        rule = f"{d} numbers 1 or -1"
        signs = check_listed(signs, "signs", "Coordinates", rule)
        if len(signs) != d or any(not is_whole(sign) or sign not in (1, -1) for sign in signs):
            raise fail("signs", "Coordinates", rule, signs)
    if lengths is not None:
        h = expressions(lengths, chart.symbols, "lengths", "Coordinates")
        if len(h) != d:
            raise fail("lengths", "Coordinates", f"{d} expressions, one a coordinate", lengths)
        return _diagonal(h * h * np.array([1] * d if signs is None else list(signs))), h
    if metric is not None:
        array = as_array(metric, "metric", "Coordinates").astype(object)
        if array.shape not in ((d,), (d, d)):
            raise fail("metric", "Coordinates", f"of shape ({d}, {d}) or ({d},)", describe(f"shape {array.shape}"))
        read = expressions(array.ravel().tolist(), chart.symbols, "metric", "Coordinates").reshape(array.shape)
        gram = simplified(_diagonal(read) if read.ndim == 1 else read, chart._simplify)
        if not np.all(gram == gram.T):
            raise fail("metric", "Coordinates", "symmetric", describe("g with g_ij ≠ g_ji"))
    else:
        outside = chart._ambient("Coordinates").algebra
        held = {one for value in outside.form.gram.ravel().tolist() for one in getattr(value, "free_symbols", ())}
        if held & set(chart.symbols):
            hint = "Give the symbols as a list, and the matrix as metric=."
            found = describe(f"entries that depend on {', '.join(sorted(map(str, held & set(chart.symbols))))}")
            raise fail("metric", "Coordinates", "constant", found, hint)
        product = chart.tangents.T.dot(outside.form.gram.astype(object)).dot(chart.tangents)
        gram = mirrored(simplified(product, chart._simplify))
        if outside.form.is_unit and outside.signature == (1,) * outside.d:
            signs = [1] * d
    known = [sign_of(gram[i, i]) if signs is None else signs[i] for i in range(d)]
    if None in known:
        return gram, None
    return gram, np.array([positive_root(sign * gram[i, i]) for i, sign in enumerate(known)], dtype=object)


def frame_of(chart: "Coordinates", frame: Any, lengths: NDArray[Any] | None) -> NDArray[Any]:
    """Return E, basis vector a of the algebra being Σ_i E_ia e_i."""
    from clifford_rand.symbolic import expressions

    d = len(chart.symbols)
    if not isinstance(frame, str):
        array = np.array(frame, dtype=object)
        if array.shape != (d, d):
            raise fail("frame", "Coordinates", f"of shape ({d}, {d})", describe(f"shape {array.shape}"))
        return expressions(array.ravel().tolist(), chart.symbols, "frame", "Coordinates").reshape(d, d)
    if check_choice(frame, "frame", "Coordinates", ("coordinate", "unit")) == "coordinate":
        return _diagonal(np.ones(d, dtype=int).astype(object))
    if lengths is None:
        rule = "such that the sign of every g_ii is known, for unit vectors"
        hint = "Give signs=[1, -1, …], or symbols with assumptions such as positive=True."
        raise fail("metric", "Coordinates", rule, describe(f"g_ii = {chart.gram.diagonal().tolist()}"), hint)
    return _diagonal(np.array([1 / one for one in lengths.tolist()], dtype=object))


def _diagonal(entries: NDArray[Any]) -> NDArray[Any]:
    matrix = np.zeros((len(entries), len(entries)), dtype=object)
    matrix[np.diag_indices(len(entries))] = entries
    return matrix


def mirrored(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a symmetric matrix, equal entries written alike."""
    lower = np.tril_indices(len(matrix), -1)
    matrix[lower] = matrix.T[lower]
    return matrix
