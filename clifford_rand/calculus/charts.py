"""Charts: a table of well-known coordinates, and position, metric and frame from the arguments of `Coordinates`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import as_array, check_choice, check_listed, describe, fail, is_whole
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.multivector.multivector import Multivector

_ROUND = ("cos(phi)", "sin(phi)")

_APART = "(cosh(tau) - cos(sigma))"
_PARABOLA, _ELLIPSE, _OVAL = "sqrt(sigma**2 + tau**2)", "a*sqrt(sinh(mu)**2 + sin(nu)**2)", f"a/{_APART}"


def _turned(radius: str) -> tuple[str, str]:
    """Return a distance from the axis as x and y."""
    return f"{radius}*cos(phi)", f"{radius}*sin(phi)"


CHARTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    # coordinates (the positive ones with +), position, lengths of ∂x/∂u^i
    "polar": ("+r theta", ("r*cos(theta)", "r*sin(theta)"), ("1", "r")),
    "elliptic": ("+mu nu", ("a*cosh(mu)*cos(nu)", "a*sinh(mu)*sin(nu)"), (_ELLIPSE, _ELLIPSE)),
    "parabolic": ("sigma +tau", ("sigma*tau", "(tau**2 - sigma**2)/2"), (_PARABOLA, _PARABOLA)),
    "bipolar": ("sigma tau", (f"a*sinh(tau)/{_APART}", f"a*sin(sigma)/{_APART}"), (_OVAL, _OVAL)),
    "cylindrical": ("+rho phi z", (*_turned("rho"), "z"), ("1", "rho", "1")),
    "spherical": ("+r theta phi", (*_turned("r*sin(theta)"), "r*cos(theta)"), ("1", "r", "r*sin(theta)")),
    "paraboloidal": (
        "+sigma +tau phi",
        (*_turned("sigma*tau"), "(sigma**2 - tau**2)/2"),
        (_PARABOLA, _PARABOLA, "sigma*tau"),
    ),
    "prolate_spheroidal": (
        "+mu nu phi",
        (*_turned("a*sinh(mu)*sin(nu)"), "a*cosh(mu)*cos(nu)"),
        (_ELLIPSE, _ELLIPSE, "a*sinh(mu)*sin(nu)"),
    ),
    "oblate_spheroidal": (
        "+mu nu phi",
        (*_turned("a*cosh(mu)*sin(nu)"), "a*sinh(mu)*cos(nu)"),
        (*2 * ("a*sqrt(sinh(mu)**2 + cos(nu)**2)",), "a*cosh(mu)*sin(nu)"),
    ),
    "toroidal": (
        "+tau sigma phi",
        (*_turned(f"a*sinh(tau)/{_APART}"), f"a*sin(sigma)/{_APART}"),
        (_OVAL, _OVAL, f"a*sinh(tau)/{_APART}"),
    ),
    "bispherical": (
        "sigma tau phi",
        (*_turned(f"a*sin(sigma)/{_APART}"), f"a*sinh(tau)/{_APART}"),
        (_OVAL, _OVAL, f"a*sin(sigma)/{_APART}"),
    ),
    "sphere": ("theta phi", (*_turned("R*sin(theta)"), "R*cos(theta)"), ("R", "R*sin(theta)")),
    "torus": ("theta phi", (*_turned("(R + a*cos(theta))"), "a*sin(theta)"), ("a", "R + a*cos(theta)")),
}
for _plane in ("elliptic", "parabolic", "bipolar"):
    _names, _position, _lengths = CHARTS[_plane]
    CHARTS[f"{_plane}_cylindrical"] = (_names + " z", (*_position, "z"), (*_lengths, "1"))


def named(name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the symbols, the position and the lengths of a chart of the table."""
    from clifford_rand.symbolic.coefficients import coordinate_symbols, expressions

    words, place, lengths = CHARTS[name]
    positive = [word[1:] for word in words.split() if word[0] == "+"]
    symbols = coordinate_symbols(words.replace("+", ""), positive, "Coordinates.named")
    read = expressions((*place, *lengths), symbols, "position", "Coordinates.named").tolist()
    return symbols, read[: len(place)], read[len(place) :]


def position(components: Sequence[Any] | Multivector | None, symbols: Sequence[Any]) -> Multivector:
    """Return the point as a vector of the ambient algebra."""
    from clifford_rand.symbolic.coefficients import expressions

    if isinstance(components, Multivector):
        if components.grades != (1,) or components.ndim:
            raise fail("position", "Coordinates", "a vector, or the components of one", components)
        point = components
    else:
        values = expressions(components or (), symbols, "position", "Coordinates")
        if len(values) < len(symbols):
            rule = f"at least {len(symbols)} expressions, one a Cartesian coordinate"
            raise fail("position", "Coordinates", rule, list(components or ()))
        point = Algebra(len(values)).vector(values)
    if point.algebra.d < len(symbols):
        raise fail("position", "Coordinates", f"in at least {len(symbols)} dimensions", components)
    return point


def position_of(chart: Any, owner: str) -> Multivector:
    """Return the position of coordinates that have one, or the error that ``owner`` needs it."""
    if chart.position is None:
        rule = "given, the point as a function of the coordinates"
        raise fail("position", owner, rule, describe("a metric only"))
    return chart.position


def metric_of(
    chart: Any, metric: ArrayLike | None, lengths: Sequence[Any] | None, signs: Sequence[int] | None
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return g_ij, and the lengths √|g_ii| where they are known."""
    from clifford_rand.symbolic.coefficients import expressions, positive_root, sign_of, simplified

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
        gram = simplified(_diagonal(read) if read.ndim == 1 else read, chart.simplifier)
        if not np.all(gram == gram.T):
            raise fail("metric", "Coordinates", "symmetric", describe("g with g_ij ≠ g_ji"))
    else:
        outside = position_of(chart, "Coordinates").algebra
        free = {symbol for value in outside.form.gram.ravel().tolist() for symbol in getattr(value, "free_symbols", ())}
        if free & set(chart.symbols):
            hint = "Give the symbols as a list, and the matrix as metric=."
            received = describe(f"entries that depend on {', '.join(sorted(map(str, free & set(chart.symbols))))}")
            raise fail("metric", "Coordinates", "constant", received, hint)
        product = chart.tangents.T.dot(outside.form.gram.astype(object)).dot(chart.tangents)  # g_ij = ∂_i x · ∂_j x
        gram = mirrored(simplified(product, chart.simplifier))
        if outside.form.is_unit and outside.signature == (1,) * outside.d:
            signs = [1] * d
    known = [sign_of(gram[i, i]) if signs is None else signs[i] for i in range(d)]
    if None in known:
        return gram, None
    return gram, np.array([positive_root(sign * gram[i, i]) for i, sign in enumerate(known)], dtype=object)


def frame_of(chart: Any, frame: Any, lengths: NDArray[Any] | None) -> NDArray[Any]:
    """Return E, basis vector a of the algebra being Σ_i E_ia e_i."""
    from clifford_rand.symbolic.coefficients import expressions

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
    return _diagonal(np.array([1 / h for h in lengths.tolist()], dtype=object))


def _diagonal(entries: NDArray[Any]) -> NDArray[Any]:
    matrix = np.zeros((len(entries), len(entries)), dtype=object)
    matrix[np.diag_indices(len(entries))] = entries
    return matrix


def mirrored(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a symmetric matrix, equal entries written alike."""
    lower = np.tril_indices(len(matrix), -1)
    matrix[lower] = matrix.T[lower]
    return matrix
