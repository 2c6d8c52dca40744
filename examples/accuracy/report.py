"""The tables of the page, in Markdown: what was measured, ranks, paired differences, and counts."""

from collections.abc import Sequence

import numpy as np

from examples.accuracy.methods.ours import NAME
from examples.accuracy.tally import Row, Values, difference, mean_ranks, names, values
from examples.paper.summary import mean_and_deviation, plus_minus, table_head, table_row

__all__ = ["report"]

_PROBABLE = ("svc", "mlp")  # whose probabilities the network's are to be better than


def report(rows: Sequence[Row]) -> str:
    """Return every table that the rows fill; sections have the headings that a page has places for."""
    parts = ["# The default network and its peers\n"]
    classes = [row for row in rows if row["task"] == "classification"]
    targets = [row for row in rows if row["task"] == "regression"]
    if classes:
        parts += [
            _sets("Tables with classes", classes),
            _means("Accuracy in %", classes, "score", percent=True),
            _differences("Network minus peers, in points", classes),
            _means("Negative log-likelihood", classes, "nll"),
            _means("Calibration error in %", classes, "ece", percent=True),
            _seconds("Seconds of one processor", classes),
            _ranks("Mean ranks", classes, {"accuracy": ("score", True), "log-likelihood": ("nll", False),
                                           "calibration": ("ece", False)}),
            _counts("Counts", classes),
            _promises("Leave-one-out estimates", classes),
        ]  # fmt: skip
    if targets:
        parts += [
            _sets("Tables with real targets", targets),
            _means("R²", targets, "score"),
            _seconds("Seconds of one processor, real targets", targets),
            _ranks("Mean ranks, real targets", targets, {"R²": ("score", True)}),
            _intervals("Intervals", targets),
        ]
    return "\n".join(part for part in parts if part)


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {title}\n", *lines]) + "\n"


def _sets(title: str, rows: Sequence[Row]) -> str:
    lines = table_head(["set", "rows fitted", "columns", "classes", "rows tested"])
    for name in names(rows, "set"):
        row = next(row for row in rows if row["set"] == name)
        classes = row["classes"] if row["task"] == "classification" else "–"
        lines.append(table_row([name, row["n"], row["d"], classes, row["n_test"]]))
    return _section(title, lines)


def _means(title: str, rows: Sequence[Row], column: str, *, percent: bool = False) -> str:
    """Return means and deviations over trials; the number of trials in brackets where it is below the most."""
    found = values(rows, column)
    methods = [m for m in names(rows, "method") if any(m in of for of in found.values())]
    if not methods:
        return ""
    lines = table_head(["set", *methods])
    for name, of in found.items():
        most = max(len(trials) for trials in of.values())
        cells = []
        for method in methods:
            trials = list(of.get(method, {}).values())
            if not trials:
                cells.append("")
                continue
            mean, deviation = mean_and_deviation(trials)
            shown = plus_minus(mean, deviation) if percent else _plain(mean, deviation)
            cells.append(shown if len(trials) == most else f"{shown} ({len(trials)})")
        lines.append(table_row([name, *cells]))
    return _section(title, lines)


def _plain(mean: float, deviation: float) -> str:
    return f"{mean:.3f}" if np.isnan(deviation) else f"{mean:.3f} ± {deviation:.3f}"


def _differences(title: str, rows: Sequence[Row]) -> str:
    """Return the network's accuracy minus each peer's on the same trials, mean and standard error."""
    found = values(rows, "score")
    peers = [method for method in names(rows, "method") if method != NAME]
    if not peers or not any(NAME in of for of in found.values()):
        return ""
    lines = table_head(["set", *peers])
    for name, of in found.items():
        pairs = [difference(of, NAME, peer) for peer in peers]
        lines.append(table_row([name, *(plus_minus(pair.mean, pair.error, sign=True) for pair in pairs)]))
    return _section(title, lines)


def _seconds(title: str, rows: Sequence[Row]) -> str:
    """Return mean seconds of processors for choice and fit, and the sum of the means."""
    found = values(rows, "cpu_seconds")
    methods = names(rows, "method")
    lines = table_head(["set", *methods])
    sums = dict.fromkeys(methods, 0.0)
    for name, of in found.items():
        means = {method: float(np.mean(list(trials.values()))) for method, trials in of.items()}
        for method, mean in means.items():
            sums[method] += mean
        lines.append(table_row([name, *(f"{means[m]:.2f}" if m in means else "" for m in methods)]))
    lines.append(table_row(["all", *(f"{sums[method]:.0f}" for method in methods)]))
    return _section(title, lines)


def _ranks(title: str, rows: Sequence[Row], by: dict[str, tuple[str, bool]]) -> str:
    """Return the mean rank of each method by each measure."""
    heads, columns = [], []
    for label, (column, high) in by.items():
        ranks, sets = mean_ranks(values(rows, column), high=high)
        if ranks:
            heads.append(f"{label}, {sets} sets")
            columns.append(ranks)
    methods = names(rows, "method")
    if columns:
        methods.sort(key=lambda method: columns[0].get(method, np.inf))
    lines = table_head(["method", *heads])
    lines += [table_row([m, *(f"{ranks[m]:.2f}" if m in ranks else "" for ranks in columns)]) for m in methods]
    return _section(title, lines)


def _counts(title: str, rows: Sequence[Row]) -> str:
    """Return in one line for each peer on how many sets the network is ahead, and by how much."""
    scores, losses, seconds = (values(rows, column) for column in ("score", "nll", "cpu_seconds"))
    heads = ["against", "sets", "least", "0.6 below", "as high", "2 above", "log-likelihood below", "seconds, share"]
    lines = table_head(heads)
    for peer in (method for method in names(rows, "method") if method != NAME):
        means = _pairs(scores, peer)
        if not means:
            continue
        points = 100 * np.array(means)
        nll = _pairs(losses, peer)
        ours, theirs = _sums(seconds, peer)
        cells = [
            str(len(points)), f"{points.min():+.2f}", str(int((points < -0.6).sum())), str(int((points >= 0).sum())),
            str(int((points >= 2).sum())), f"{sum(x < 0 for x in nll)} of {len(nll)}" if nll else "",
            f"{ours / theirs:.2f}" if theirs else "",
        ]  # fmt: skip
        lines.append(table_row([peer, *cells]))
    both = [
        all(difference(of, NAME, peer).mean < 0 for peer in _PROBABLE)
        for of in losses.values()
        if all(difference(of, NAME, peer).trials for peer in _PROBABLE)
    ]
    if both:
        lines.append(f"\nLog-likelihood below {' and '.join(_PROBABLE)} at once: {sum(both)} of {len(both)} sets.")
    return _section(title, lines) if len(lines) > 2 else ""


def _pairs(found: Values, peer: str) -> list[float]:
    """Return the network's mean minus the peer's on each set where both have a trial in common."""
    pairs = [difference(of, NAME, peer) for of in found.values()]
    return [pair.mean for pair in pairs if pair.trials]


def _sums(found: Values, peer: str) -> tuple[float, float]:
    """Return the seconds of the network and of the peer over all trials that both have."""
    both = [(of[NAME][trial], of[peer][trial]) for of in found.values() for trial in
            of.get(NAME, {}).keys() & of.get(peer, {}).keys()]  # fmt: skip
    ours, theirs = np.sum(both, axis=0) if both else (np.nan, np.nan)
    return float(ours), float(theirs)


def _promises(title: str, rows: Sequence[Row]) -> str:
    """Return the score that leave-one-out gave beside that of the test rows."""
    estimates, scores = values(rows, "promised"), values(rows, "score")
    lines = table_head(["set", "leave-one-out %", "test %", "difference"])
    for name in estimates:
        first, second = estimates[name][NAME], scores[name][NAME]
        apart = mean_and_deviation([first[trial] - second[trial] for trial in first])
        cells = [plus_minus(*mean_and_deviation(list(side.values()))) for side in (first, second)]
        lines.append(table_row([name, *cells, plus_minus(*apart, sign=True)]))
    return _section(title, lines) if estimates else ""


def _intervals(title: str, rows: Sequence[Row]) -> str:
    """Return coverage and mean width of the 90 % intervals, in deviations of the target."""
    inside, widths = values(rows, "coverage"), values(rows, "width")
    lines = table_head(["set", "covered %", "width"])
    for name, of in inside.items():
        width = mean_and_deviation(list(widths[name][NAME].values()))
        lines.append(table_row([name, plus_minus(*mean_and_deviation(list(of[NAME].values()))), _plain(*width)]))
    return _section(title, lines) if inside else ""
