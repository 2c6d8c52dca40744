"""Print options of multivectors, and numbers, vectors and texts in HTML tables by them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_bool, check_integer
from clifford_rand._typing import Array

_ALL_DIGITS = 17  # of float64
_NOISE = 100  # eps: the round-off that a few hundred operations leave, relative to the largest coefficient


class PrintOptions(NamedTuple):
    """Print options of multivectors, as `set_printoptions` takes them."""

    precision: int | str = "numpy"
    suppress: bool = True
    max_terms: int = 64


_CURRENT: ContextVar[PrintOptions] = ContextVar("print_options", default=PrintOptions())  # noqa: B039  # immutable


def current_options() -> PrintOptions:
    """Return the options of this thread or task."""
    return _CURRENT.get()


def record_text(record: Any) -> str:
    """Return the text of a named tuple, whose numbers are shown as Python's: 0.5, not np.float64(0.5)."""
    return f"{type(record).__name__}({', '.join(f'{name}={value}' for name, value in record._asdict().items())})"


def set_printoptions(
    *, precision: int | str | None = None, suppress: bool | None = None, max_terms: int | None = None
) -> None:
    """Set how multivectors are displayed by ``repr``, ``print`` and notebooks; computation is not affected.

    Parameters
    ----------
    precision : int or "numpy", optional
        Digits after the point; from 17 on, all that it takes to read the number back. Default: "numpy", the precision
        that `numpy.set_printoptions` sets, whose ``suppress`` (no exponents) and ``formatter`` hold here too.
    suppress : bool, optional
        Hide rounding noise. Default: True. A coefficient of a float or complex multivector is noise if it is at most
        100 eps of the largest one of the same multivector, and below √eps (eps = 2.2e-16 in float64, 1.2e-7 in
        float32). Anything above is displayed, with an exponent where it is small, so that a grade never looks absent
        that is not noise. A coefficient 1 is left out as in ``e2`` only where it is 1 up to noise; one that was rounded
        is displayed as ``1.0*e2``. Integers, fractions and expressions are displayed as they are, and where a
        coefficient is infinite or NaN nothing is hidden.
    max_terms : int, optional
        The most terms of a line; more are counted. Default: 64. Arrays of multivectors are abridged as NumPy's are.

    Raises
    ------
    ArgumentError
        For a precision that is neither an integer from 0 on nor "numpy", fewer than 1 term, or suppress other than
        True and False.

    See Also
    --------
    printoptions : The same inside a ``with`` block.
    get_printoptions : The options that are set.

    Notes
    -----
    ``repr`` and ``str`` are the same for one multivector. Of a batch ``repr`` shows the shape and the first values,
    ``str`` a line for each multivector, abridged by NumPy's ``threshold`` and ``edgeitems``. As NumPy's options, these
    belong to the thread or asynchronous task that sets them.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> R = (-np.pi / 4 * alg.e12).exp()
    >>> R >> alg.e1
    e2
    >>> cr.set_printoptions(precision=3)
    >>> R
    0.707 - 0.707*e12
    >>> cr.set_printoptions(precision="numpy")

    All that is stored, in digits that read back exactly:

    >>> with cr.printoptions(precision=17, suppress=False):
    ...     print(R)
    0.7071067811865476 - 0.7071067811865475*e12
    """
    changes: dict[str, Any] = {}
    if precision is not None:
        if not (isinstance(precision, str) and precision == "numpy"):
            precision = check_integer(precision, "precision", "set_printoptions", low=0)
        changes["precision"] = precision
    if suppress is not None:
        changes["suppress"] = check_bool(suppress, "suppress", "set_printoptions")
    if max_terms is not None:
        changes["max_terms"] = check_integer(max_terms, "max_terms", "set_printoptions")
    _CURRENT.set(_CURRENT.get()._replace(**changes))


def get_printoptions() -> dict[str, Any]:
    """Return the print options of multivectors as a dictionary.

    Examples
    --------
    >>> cr.get_printoptions()
    {'precision': 'numpy', 'suppress': True, 'max_terms': 64}
    """
    return _CURRENT.get()._asdict()


@contextmanager
def printoptions(
    *, precision: int | str | None = None, suppress: bool | None = None, max_terms: int | None = None
) -> Iterator[dict[str, Any]]:
    """Set print options inside a ``with`` block, as `set_printoptions` does; afterwards the former ones hold again.

    Examples
    --------
    >>> with cr.printoptions(precision=2):
    ...     print(cr.Algebra(2).vector([1 / 3, 2 / 3]))
    0.33*e1 + 0.67*e2
    """
    former = _CURRENT.get()
    set_printoptions(precision=precision, suppress=suppress, max_terms=max_terms)
    try:
        yield get_printoptions()
    finally:
        _CURRENT.set(former)


def rounded(value: Any) -> str:
    """Write a real number to the precision of the print options."""
    if isinstance(value, int):
        return str(value)
    options = np.get_printoptions()
    own = _CURRENT.get().precision
    precision = options["precision"] if isinstance(own, str) else own
    if precision >= _ALL_DIGITS:
        return repr(value)
    formatter = (options["formatter"] or {}).get("float_kind") or (options["formatter"] or {}).get("float")
    if formatter is not None:
        return str(formatter(value))
    if not np.isfinite(value) or value == 0 or 1e-4 <= abs(value) < 1e8 or options["suppress"]:
        return np.format_float_positional(value, precision=precision, trim="0")
    return np.format_float_scientific(value, precision=precision, trim="0")


def without_noise(array: NDArray[Any]) -> NDArray[Any]:
    """Return the coefficients of one multivector, noise put to 0 and to ±1, if `suppress` is set."""
    if array.dtype.kind not in "fc" or not array.size or not _CURRENT.get().suppress:
        return array
    parts = np.ascontiguousarray(array).view(array.real.dtype)
    size = np.abs(parts)
    largest = float(size.max())
    if not np.isfinite(largest):
        return array
    eps = float(np.finfo(parts.dtype).eps)
    noise = min(_NOISE * eps * largest, eps**0.5)
    cleaned = np.where(size <= noise, 0, np.where(np.abs(size - 1) <= noise, np.copysign(1, parts), parts))
    return cleaned.astype(parts.dtype, copy=False).view(array.dtype)


ROWS, COLUMNS = 5, 8  # of a matrix, that a table shows


def html_table(rows: Iterable[Sequence[str]], headings: Sequence[str] = (), note: str = "") -> str:
    """Return an HTML table of texts, which are escaped, with a note below it.

    Examples
    --------
    >>> html_table([["a<b"]])
    '<table><tbody><tr><td>a&lt;b</td></tr></tbody></table>'
    """

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head = f"<thead>{line(headings, 'th')}</thead>" if headings else ""
    body = "".join(line(row, "td") for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>" + (f"<p>{escape(note)}</p>" if note else "")


def html_of_vectors(corner: Array, shape: tuple[int, ...], headings: Sequence[str], note: str) -> str:
    """Return the first vectors and components of a matrix of this shape as a table, a heading for each component."""
    dots = ["…"] * (shape[-1] > len(headings))
    rows = [[*(rounded(float(value)) for value in vector), *dots] for vector in corner]
    if shape[-2] > len(rows):
        rows.append(["…"] * (len(headings) + len(dots)))
    return html_table(rows, [*headings, *dots], note)


def text_html(text: str) -> str:
    """Return a text as HTML, escaped, its lines as they are."""
    return f'<pre style="white-space: pre-wrap">{escape(text)}</pre>'
