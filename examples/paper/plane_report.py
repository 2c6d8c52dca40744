"""Results in the plane: tests of the laws, and waits against theory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from examples.paper.plots.panels import Waits

__all__ = ["plane_report", "wait_lines"]

_REJECTED = 0.01  # p-value; a true law is rejected once in a hundred rows of the table

Rows = Sequence[Mapping[str, str]]


def plane_report(rows: Rows) -> list[str]:
    """Return the lines of ``plane.md``: one row for each kind of rows, n and sampler."""
    lines = [
        "| rows | n | sampler | patterns | never seen | uniform: χ² a degree | rejected | its law: χ² a degree "
        "| rejected | mean draws until all | expected | measured / expected |",
        "|" + "---|" * 12,
    ]
    for data, n, sampler in dict.fromkeys((row["data"], row["n"], row["sampler"]) for row in rows):
        of = [row for row in rows if (row["data"], row["n"], row["sampler"]) == (data, n, sampler)]
        lines.append(f"| {data} | {n} | {sampler} | {' | '.join(_cells(of))} |")
    return [
        *lines,
        "",
        "Over the matrices X of each line: medians, but means of 'never seen' and of 'measured / expected', which is "
        "given with its standard error.",
        f"χ² of a true law is 1 on average; rejected: X with a p-value below {_REJECTED:g}. Matrices whose expected "
        "wait is too long to draw are in the expected median alone.",
    ]


def _cells(of: Rows) -> list[str]:
    never = float(np.mean(_numbers(of, "never") / _numbers(of, "patterns")))
    measured = [row for row in of if row["wait"] != ""]
    cells = [of[0]["patterns"], f"{never:.0%}" if never else "0"]
    for test in ("uniform", "law"):
        chi2, p = _numbers(of, f"{test}_chi2"), _numbers(of, f"{test}_p")
        cells += [f"{np.median(chi2):.3g}", f"{np.count_nonzero(p < _REJECTED)} of {len(p)}"]
    wait = f"{np.median(_numbers(measured, 'wait')):,.0f}" if measured else "–"
    if 0 < len(measured) < len(of):
        wait += f" ({len(measured)} of {len(of)} X)"
    return [*cells, wait, f"{np.median(_numbers(of, 'expected_wait')):,.0f}", _share(measured)]


def _share(measured: Rows) -> str:
    """Return measured over expected waits: a mean over the matrices, each with the error of its repeats."""
    if not measured:
        return "–"
    expected, repeats = _numbers(measured, "expected_wait"), _numbers(measured, "repeats")
    share = _numbers(measured, "wait") / expected
    errors = _numbers(measured, "wait_deviation") / expected / np.sqrt(repeats)
    return f"{share.mean():.3f} ± {np.sqrt((errors**2).sum()) / len(errors):.3f}"


def _numbers(rows: Rows, column: str) -> NDArray[np.float64]:
    return np.array([float(row[column]) for row in rows])


def wait_lines(rows: Rows) -> "list[Waits]":
    """Return for each kind of rows and sampler the waits against n, those of matrices that were measured."""
    from examples.paper.plots.panels import Waits

    found: list[Any] = []
    for data, sampler in dict.fromkeys((row["data"], row["sampler"]) for row in rows):
        if sampler == "cross" and any(line.label.startswith("cross") for line in found):
            continue  # its wait does not depend on the rows
        of = [row for row in rows if (row["data"], row["sampler"]) == (data, sampler) and row["wait"] != ""]
        sizes = sorted({int(row["n"]) for row in of})
        if not sizes:
            continue
        waits = [_numbers([row for row in of if int(row["n"]) == n], "wait") for n in sizes]
        expected = [np.median(_numbers([row for row in of if int(row["n"]) == n], "expected_wait")) for n in sizes]
        found.append(
            Waits(
                "cross product, any rows" if sampler == "cross" else f"Gaussian, {data} rows",
                np.array(sizes, dtype=np.float64),
                np.array([np.median(values) for values in waits]),
                np.array([values.min() for values in waits]),
                np.array([values.max() for values in waits]),
                np.array(expected),
            )
        )
    return found
