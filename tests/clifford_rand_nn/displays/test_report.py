"""The page of a fit: what is in it, that it is whole in one file, and that text of the table stays text."""

import base64
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
from matplotlib.figure import Figure  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, GatedReLURegressor, explain  # noqa: E402
from clifford_rand_nn.cli.app import app  # noqa: E402
from clifford_rand_nn.displays import baselines  # noqa: E402
from clifford_rand_nn.displays import page as page_of_report  # noqa: E402
from clifford_rand_nn.displays.baselines import Influence, find_influence, make_folds  # noqa: E402
from clifford_rand_nn.displays.collect import collect_facts  # noqa: E402
from clifford_rand_nn.displays.facts import Rows  # noqa: E402
from clifford_rand_nn.displays.figures import influence_bars, picture  # noqa: E402
from clifford_rand_nn.displays.page import learning_curve, report_page, write_report  # noqa: E402
from clifford_rand_nn.tables import TableEncoder  # noqa: E402
from support.browser import open_page, start_browser  # noqa: E402

NASTY = "<script>alert('x')</script> & $x^$"
LONG = "Durchschnittliche Kreditwürdigkeitsprüfungsgebühr" + "sgesellschaftsvertrag" * 8


class Page(HTMLParser):
    """Tags with their attributes, ids, words, and tags that were not closed in turn."""

    void = ("meta", "link", "img", "br", "hr")

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open, self.crossed = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def made_table(n, classes):
    rng = np.random.default_rng(0)
    kind = rng.choice(["rot", "grün", "<b>blau</b>"], n)
    frame = pandas.DataFrame({NASTY: rng.standard_normal(n), LONG: rng.standard_normal(n), "kind": kind})
    frame.loc[:2, NASTY] = np.nan
    value = frame[NASTY].fillna(0) + (kind == "rot") + 0.3 * rng.standard_normal(n)
    y = np.array(["<i>ja</i>", "nein"])[(value > 0.5).astype(int)] if classes else value.to_numpy()
    return frame, y


def rows_of(frame, y, target="ziel"):
    encoder = TableEncoder().fit(frame)
    names = {"names": tuple(encoder.get_feature_names_out()), "origin": tuple(encoder.source_columns_)}
    table = {"frame": frame, "columns": encoder.columns_, "path": "tabelle.csv", "target": target, "read": len(y)}
    return Rows(encoder.transform(frame), y, **names, **table)


@pytest.fixture(scope="module")
def classes():
    rows = rows_of(*made_table(60, True), target=NASTY)
    model = ConvexNetworkClassifier(loss="squared", max_metric_iter=0).fit(rows.X, rows.y)
    facts = collect_facts(model, rows, seconds=0.1)
    return rows, model, facts, report_page(facts, model, rows)


def test_every_section_is_there_and_the_page_is_well_formed(classes):
    page = Page(classes[3])
    assert not page.open
    assert not page.crossed
    sections = [one["id"] for one in page.of("section")]
    every = "quality mistakes calibration growth influence distributions hardest columns chosen proof"
    assert sections == every.split()
    assert [one["href"] for one in page.of("a")] == [f"#{name}" for name in sections]
    ids = [one["id"] for _, one in page.tags if "id" in one]
    assert len(ids) == len(set(ids))
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(page.of(landmark)) == 1
    assert page.of("html") == [{"lang": "en"}]
    for image in page.of("img"):
        assert len(image["alt"]) > 15
        assert int(image["width"]) > 100
    assert all(one["scope"] in ("col", "row") for one in page.of("th"))
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in page.of("div") if one.get("class") == "scroll")


def test_the_numbers_are_those_of_the_facts(classes):
    _, model, facts, text = classes
    page = Page(text)
    found = facts.left_out
    assert f"the accuracy is {100 * found.scores.accuracy:.1f}\N{NO-BREAK SPACE}%" in " ".join(page.words)
    assert "logistic regression" in page.text
    assert "initialization, learning rate and early stopping play no part" in page.text
    assert "says nothing about new rows" in page.text
    assert f"{facts.proof.objective:.6g}" in page.text
    worst = int(
        np.argmin([p[list(model.classes_).index(t)] for p, t in zip(found.probabilities, found.truth, strict=True)])
    )
    hard = text[text.index('id="hardest"') :]
    assert re.search(r'<th scope="row"[^>]* class="right">(\d+)</th>', hard)[1] == str(found.rows[worst])
    for warning in facts.warnings:
        assert warning.text[1:20] in page.text


def test_every_column_has_a_card_with_its_distribution(classes):
    _, _, facts, text = classes
    section = text[text.index('<section id="distributions"') : text.index('<section id="hardest"')]
    names = [one.name for one in facts.distributions]
    assert len(names) == 4
    assert section.count("<h3>") == 4
    assert section.count("<svg") == 2
    shown = Page(section)
    assert all(name in shown.text for name in names)
    for column in facts.distributions[1:]:
        assert f"association {column.association.value:.2f}" in shown.text
    for path in shown.of("path"):
        assert re.fullmatch(r"[MVHZ\d. ]*", path["d"])


def test_columns_that_are_not_described_are_mentioned_where_there_are_any(classes, monkeypatch):
    for most, cut in ((2, True), (3, False)):
        monkeypatch.setattr(page_of_report, "MOST_COLUMNS", most)
        assert page_of_report._distributions(classes[2]).values["cut"] == cut


def test_text_of_the_table_stays_text_and_nothing_comes_from_elsewhere(classes):
    """Column names, labels, cells and the target hold tags; a dollar sign begins no formula."""
    page = Page(classes[3])
    assert not any(page.of(tag) for tag in ("script", "i", "b"))
    assert all(text in page.text for text in (NASTY, "<i>ja</i>", "<b>blau</b>", LONG))
    links = [one[name] for _, one in page.tags for name in ("src", "href", "srcset", "action") if name in one]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "http" not in classes[3]
    assert "url(" not in classes[3]
    assert "@import" not in classes[3]
    for image in page.of("img"):
        head, _, body = image["src"].partition(",")
        assert head == "data:image/svg+xml;base64"
        svg = base64.b64decode(body).decode()
        assert ET.fromstring(svg).tag.endswith("svg")
        assert "<script" not in svg
        assert not re.search(r'(href|src)="(?!#|data:)', svg)


def test_colours_of_pictures_follow_the_screen():
    found = picture(lambda ax: ax.plot([0, 1], color="#0072B2"), "a line")
    svg = base64.b64decode(found.uri.partition(",")[2]).decode()
    assert "stroke: var(--first)" in svg
    assert "var(--ink)" in svg
    assert "prefers-color-scheme:dark" in svg
    assert "#123457" not in svg


def test_no_text_leaves_the_picture_of_influences():
    names = tuple("od280/od315_of_diluted_wines" for _ in range(4))
    figure = Figure((5.6, 2.2), layout="constrained")
    influence_bars(Influence(names, np.ones((4, 2)), "log loss", 10, 5), 4)(axes := figure.subplots())
    figure.draw_without_rendering()
    for text in (axes.xaxis.label, *axes.get_yticklabels()):
        box = text.get_window_extent()
        assert figure.bbox.contains(box.x0, box.y0), text
        assert figure.bbox.contains(box.x1, box.y1), text


@pytest.mark.slow
def test_a_page_of_numbers(tmp_path):
    rows = rows_of(*made_table(60, False))
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(rows.X, rows.y)
    facts = collect_facts(model, rows, seconds=0.1)
    assert write_report(tmp_path / "report.html", facts, model, rows) > 0
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    names = [one["id"] for one in page.of("section")]
    assert "calibration" not in names
    assert "mistakes" in names
    assert f"R² {facts.left_out.scores.r2:.3f}" in page.text
    assert "ridge regression" in page.text
    far = np.abs(facts.left_out.predicted - facts.left_out.truth)
    assert f"within {np.median(far):.4g} of the truth" in page.text


@pytest.mark.slow
def test_the_page_has_the_leaderboard_of_a_test_set():
    rows, test = (rows_of(*made_table(n, False)) for n in (60, 40))
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(rows.X, rows.y)
    facts = collect_facts(model, rows, test=test, seconds=0.1)
    board = Page(report_page(facts, model, rows)).text.partition("Leaderboard on the test set")[2]
    for standing in facts.test.leaderboard:
        assert f"{standing.name} {standing.score:.4f}" in board


@pytest.mark.slow
def test_a_page_of_few_gates_and_arrays():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    rows = Rows(X, np.abs(X[:, 0]))
    model = GatedReLURegressor(n_gates=4, random_state=0, beta=1e-3).fit(X, rows.y)
    text = report_page(collect_facts(model, rows, seconds=0.01), model, rows)
    page = Page(text)
    assert "growth" in [one["id"] for one in page.of("section")]
    assert "the target" in page.text
    facts = collect_facts(model, rows, seconds=9.0, compare=False)
    page = Page(report_page(replace(facts, proof=replace(facts.proof, relative_gap=0.23)), model, rows))
    assert "ended early" in page.text
    assert "smaller by up to 23.0 %" in page.text
    assert "took too long, or was interrupted" in page.text
    assert "influence" not in [one["id"] for one in page.of("section")]
    assert "there is no estimate for new rows" in page.text


@pytest.mark.parametrize("classes", [True, False])
def test_the_page_and_explain_say_the_same_of_the_same_model_and_rows(classes):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 3))
    y = X[:, 0] + 0.3 * X[:, 1] + 0.2 * rng.standard_normal(80)
    y = (y > 0).astype(int) if classes else y
    kind = (
        ConvexNetworkClassifier(loss="squared", max_metric_iter=0)
        if classes
        else ConvexNetworkRegressor(max_metric_iter=0)
    )
    found = find_influence(kind.fit(X, y), Rows(X, y, names=("a", "b", "c")))
    folds = make_folds(Rows(X, y), classes=classes, count=3, only=1)
    test, train = folds.held[0], np.flatnonzero(folds.kept(folds.held[0]))
    one = baselines.settled(kind).fit(X[train], y[train])
    whole = explain(one, X_train=X[test], y_train=y[test])
    assert whole.to_dict()["permuted_measure"] == found.measure == ("log loss" if classes else "R²")
    theirs = {"abc"[int(column.name[1])]: (column.permuted, column.permuted_error) for column in whole.columns}
    for name, losses in zip(found.names, found.losses, strict=True):
        assert theirs[name] == pytest.approx((losses.mean(), losses.std()), rel=1e-9)


def test_influence_is_that_of_the_table_column():
    """The label is one category of a column, or noise: all the codes of the column are shuffled together."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"noise": rng.standard_normal(90), "kind": rng.choice(["a", "b", "c"], 90)})
    y = np.where(frame["kind"] == "a", "yes", "no")
    rows = rows_of(frame, y)
    found = find_influence(ConvexNetworkClassifier(loss="squared", max_metric_iter=0).fit(rows.X, y), rows)
    assert found.names == ("kind", "noise")
    assert found.losses[0].mean() > 0.5
    assert abs(found.losses[1].mean()) < 0.05
    assert (found.n_train, found.n_test) == (60, 30)
    copies = rows_of(pandas.concat([frame.iloc[:2]] * 30, ignore_index=True), np.tile(y[:2], 30))
    assert find_influence(ConvexNetworkClassifier(), copies) is None  # two rows that differ


@pytest.mark.slow
def test_the_fit_of_influences_is_a_part_of_the_learning_curve():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    rows = Rows(X, X[:, 0] + 0.1 * rng.standard_normal(120))
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, rows.y)
    found = find_influence(model, rows)
    curve, _ = learning_curve(model, rows, found)
    assert curve.train_sizes.tolist() == [30, found.n_train, 120]
    assert curve.test_scores[1].tolist() == [found.left_out_score]
    assert curve.train_scores[1].tolist() == [found.train_score]
    assert found.train_score > found.left_out_score > 0.9
    by_groups = replace(rows, groups=np.arange(120) // 2)
    assert learning_curve(model, by_groups, found)[0].train_sizes.tolist() == [30, 60, 120]


@pytest.mark.slow
def test_the_command_writes_the_page(tmp_path):
    frame, y = made_table(70, True)
    frame.assign(ziel=y).to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "report.html"
    asked = ["fit", str(tmp_path / "t.csv"), "--target", "ziel", "--report", str(page)]
    page.write_text("old")
    found = CliRunner().invoke(app, [*asked, "--force", "--json"])
    assert found.exit_code == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["report_file"] == str(page)
    text = Page(page.read_text(encoding="utf-8")).text
    assert "70 rows of t.csv" in text
    assert f"{100 * told['left_out']['scores']['accuracy']:.1f}" in text


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = start_browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.quit()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_the_page_in_a_browser(classes, browser, tmp_path, width, dark):
    """No overflow but in boxes of their own, no message, no request, every picture there, text that can be read."""
    file = tmp_path / "report.html"
    file.write_text(classes[3], encoding="utf-8")
    browser.get_log("performance")
    browser.get_log("browser")
    open_page(browser, file, width, dark)
    assert browser.execute_script("return innerWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wide = "return [...document.querySelectorAll('main *, header *')].filter(e => !e.closest('.scroll')"
    assert (
        browser.execute_script(f"{wide} && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)")
        == []
    )
    clipped = "return [...document.querySelectorAll('.scroll, th, td')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert browser.execute_script(f"{clipped}.map(e => [e.scrollWidth, e.outerHTML])") == []
    cells = browser.execute_script(
        "return [...document.querySelectorAll('.stack td')].map(e => [e.dataset.name, "
        "getComputedStyle(e, '::before').content, e.checkVisibility()])"
    )
    shows_names = width == 400  # beside each cell, since the header is hidden there
    assert cells
    assert all((content == f'"{name}"') == shows_names and visible for name, content, visible in cells)
    images = browser.execute_script("return [...document.images].map(i => [i.complete, i.naturalWidth])")
    assert len(images) >= 7
    assert all(complete and width > 0 for complete, width in images)
    assert browser.get_log("browser") == []
    sent = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
    asked = [one["params"] for one in sent if one["method"] == "Network.requestWillBeSent"]
    urls = [one["request"]["url"] for one in asked if one["documentURL"] == file.as_uri()]  # not the first empty page
    assert urls.count(file.as_uri()) == 1
    assert all(url == file.as_uri() or url.startswith("data:") for url in urls)
    contrast = """
      const of = c => c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
        .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
      const ground = e => { while (e && getComputedStyle(e).backgroundColor == 'rgba(0, 0, 0, 0)') e = e.parentElement;
        return getComputedStyle(e || document.body).backgroundColor };
      return [...document.querySelectorAll('p, a, th, td, caption, li, h1, h2')].map(e => {
        const [a, b] = [of(getComputedStyle(e).color), of(ground(e))];
        return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) })"""
    assert min(browser.execute_script(contrast)) >= 4.5  # WCAG 2.2, level AA
    shown = browser.execute_script("return document.body.innerText")
    assert NASTY in " ".join(shown.split())
