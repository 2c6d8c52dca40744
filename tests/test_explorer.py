"""The explorer in docs/explorer: its optimum is that of the library, and the page is whole at every width."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

from clifford_rand import Algebra
from clifford_rand_nn import CrossProductLassoRegressor
from support.browser import open_page, start_browser

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "explorer"
ADD = "const e = explorer; e.state.points = arguments[0]; e.state.labels = arguments[1]; e.solve(false);"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = start_browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.quit()


def points(n, kind):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 2))
    if kind == "grid":  # collinear points, ties and dependent columns
        X = np.round(X)
    y = np.where(X[:, 0] * X[:, 1] > 0.1, 1.0, -1.0)
    y[:2] = 1, -1
    return X, y


@pytest.mark.parametrize("kind", ["random", "grid"])
@pytest.mark.parametrize("n", [2, 9, 40])
def test_optimum_is_that_of_the_lasso_over_cross_products(browser, n, kind):
    open_page(browser, FOLDER / "explorer.html", 1280)
    X, y = points(n, kind)
    browser.execute_script(ADD, X.tolist(), y.tolist())
    most = browser.execute_script("return explorer.state.path.betaMax")
    for beta in (0.5 * most, 0.05 * most, 0.005 * most):
        network = browser.execute_script("return explorer.state.path.at(arguments[0])", beta)
        reference = CrossProductLassoRegressor(penalty="l1", beta=beta, tol=1e-12).fit(X, y)
        assert network["primal"] == pytest.approx(reference.result_.objective, rel=1e-9)
        assert network["gap"] < 1e-9
        features = np.c_[X, np.full(n, network["c"])] @ np.array([a["v"] for a in network["neurons"]]).T
        f = np.maximum(features, 0) @ [a["z"] for a in network["neurons"]] + network["intercept"]
        np.testing.assert_allclose(f, reference.predict(X), atol=1e-7)


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_page_fits_and_says_nothing_wrong(browser, width, dark):
    open_page(browser, FOLDER / "explorer.html", width, dark)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert "below 1e-9" in browser.execute_script("return document.getElementById('gap').textContent")
    browser.execute_script("explorer.descent.running = false; document.getElementById('clear').click()")
    assert "both classes" in browser.execute_script("return document.getElementById('neurons').textContent")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_gradient_descent_is_never_below_the_optimum(browser):
    open_page(browser, FOLDER / "explorer.html", 1280)
    script = "const e = explorer; return [e.descent.steps, e.descent.objective, e.state.network.primal]"
    until = time.monotonic() + 60
    while (values := browser.execute_script(script))[0] < 2000:
        assert time.monotonic() < until, "gradient descent does not run"
    _, objective, primal = values
    assert primal * (1 - 1e-12) <= objective < 1.1 * primal


def test_page_needs_no_network_and_is_small():
    files = [path for path in FOLDER.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 500_000
    for path in files:
        assert not re.search(
            r"(?:src|href)=\"https?:|fetch\(|XMLHttpRequest|import\(", path.read_text(encoding="utf-8")
        ), path


EXPRESSIONS = [
    "(2*e1 + e2)*(e1 - 3*e3)",
    "e1 ^ e2 + e3",
    "(e1 + 2*e12) | (e3 + e123)",
    "e12 & (e23 + e13) + e123",
    "(e1 + e2) << (e12 + e123)",
    "~(1 + e12 - e123) * e31",
    "(e1 + 2*e3)**-1 + (1 + e12)**3",
    "(1 + 2*e1 + e23) / (e2 + 0.5)",
    "(1 - e12 + 0.3*e23) >> (e1 + e2)",
    "-e1**2 - -e3",
]
METHODS = {
    "exp(0.3*e1 - 2*e23 + 0.7)": lambda A: A("0.3*e1 - 2*e23 + 0.7").exp(),
    "log((1 - e12 + 0.3*e23) / 2)": lambda A: A("0.5 - 0.5*e12 + 0.15*e23").log(),
    "star(e1 + 2*e12 + 3)": lambda A: A("e1 + 2*e12 + 3").star(),
    "norm(e1 + 2*e12)": lambda A: A.scalar(A("e1 + 2*e12").norm()),
    "involute(1 + e1 + e12)": lambda A: A("1 + e1 + e12").involute(),
    "project(e1 + e3, e1 ^ (e2 + e3))": lambda A: A("e1 + e3").project(A("e12 + e13")),
    "reject(e1 + e3, e1 ^ (e2 + e3))": lambda A: A("e1 + e3").reject(A("e12 + e13")),
    "grade(1 + e1 + e12, 2)": lambda A: A("e12"),
}


def test_expressions_have_the_values_of_the_library(browser):
    open_page(browser, FOLDER / "algebra.html", 1280)
    alg = Algebra(3)
    cases = {text: alg(text) for text in EXPRESSIONS} | {text: value(alg) for text, value in METHODS.items()}
    for text, value in cases.items():
        found = np.array(browser.execute_script("return Array.from(GA.evaluate(arguments[0]))", text))
        order = [0, 1, 2, 4, 3, 5, 6, 7]  # masks by grade
        np.testing.assert_allclose(found[order], value.dense().values, atol=1e-12, err_msg=text)


@pytest.mark.parametrize(
    ("text", "words"),
    {
        "e1 +": "ends too early",
        "(e1": "missing",
        "foo(e1)": "no function foo",
        "q": "there is no q",
        "1/(1+e1)": "no inverse",
        "e1 e2": "operator",
        "e1 $ e2": "$",
    }.items(),
)
def test_mistakes_are_named(browser, text, words):
    open_page(browser, FOLDER / "algebra.html", 400)
    browser.execute_script("document.getElementById('text').value = arguments[0]; algebra.evaluate()", text)
    assert words in browser.execute_script("return document.getElementById('values').textContent")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
