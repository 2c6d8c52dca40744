"""report_page: the facts of a fit as one HTML file, with pictures, for people who know no mathematics of it."""

import time
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from clifford_rand import __version__
from clifford_rand._files import replaced
from clifford_rand._optional import require
from clifford_rand_nn._words import printable_lines
from clifford_rand_nn.reporting.facts import Facts, Rows
from clifford_rand_nn.reporting.influence import find_influence
from clifford_rand_nn.reporting.page_columns import columns_section, hardest_section, influence_section
from clifford_rand_nn.reporting.page_quality import calibration_section, mistakes_section, quality_section, verdict
from clifford_rand_nn.reporting.page_training import affords_fits, chosen_section, growth_section, proof_section
from clifford_rand_nn.reporting.sections import Section


def report_page(facts: Facts, model: Any, rows: Rows) -> str:
    """Return one self-contained HTML page about a fitted model: no script, no font, nothing from a network.

    It fits the model again to some of the rows, for the learning curve and the influence of columns: with 1000 rows a
    few seconds. Of more than 2000 rows it takes some, and says so.

    Parameters
    ----------
    facts : Facts
        Of `collect_facts`.
    model : the estimator, fitted to ``rows.X``
    rows : Rows
        Of training.

    Raises
    ------
    MissingDependencyError
        matplotlib or jinja2 is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clifford_rand_nn import ConvexNetworkClassifier
    >>> from clifford_rand_nn.reporting.collect import collect_facts
    >>> data = load_iris(as_frame=True)
    >>> rows = Rows(data.data.to_numpy(), data.target.to_numpy(), names=tuple(data.data.columns), target="species")
    >>> model = ConvexNetworkClassifier(loss="squared", rounds=0).fit(rows.X, rows.y)
    >>> page = report_page(collect_facts(model, rows), model, rows)
    >>> "<h1>What this model can do: species</h1>" in page, "http" in page
    (True, False)
    """
    check_libraries()
    jinja2 = require("jinja2", extra="app", purpose="a report")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fits to some rows, that are only looked at
        found = _sections(facts, model, rows)
    template = files("clifford_rand_nn.reporting").joinpath("report.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_visible)
    return str(
        environment.from_string(template).render(
            title=f"What this model can do: {facts.target or 'the target'}",
            facts=facts,
            table=Path(facts.path).name,
            verdict=verdict(facts),
            sections=[section for section in found if section is not None],
            version=__version__,
        )
    )


def _visible(value: Any) -> Any:
    """Return a text of the page, which may quote names and cells, with control characters escaped."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\xa0".join(map(printable_lines, value.split("\xa0")))  # the space between a number and its unit


def _sections(facts: Facts, model: Any, rows: Rows) -> list[Section | None]:
    influence = find_influence(model, rows) if affords_fits(model, facts.seconds) else None
    return [
        quality_section(facts),
        mistakes_section(facts),
        calibration_section(facts, model),
        growth_section(facts, model, rows),
        None if influence is None else influence_section(influence),
        hardest_section(facts, model, rows, () if influence is None else influence.names),
        columns_section(facts),
        chosen_section(facts, model, rows),
        proof_section(facts, model),
    ]


def check_libraries() -> None:
    """Raise before any work if a library is missing."""
    for name in ("matplotlib", "jinja2"):
        require(name, extra="app", purpose="a report")


def write_report(path: str | Path, facts: Facts, model: Any, rows: Rows) -> float:
    """Write the page to a file, whole or not at all, and return the seconds that it took."""
    began = time.perf_counter()
    text = report_page(facts, model, rows)
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8")
    return time.perf_counter() - began
