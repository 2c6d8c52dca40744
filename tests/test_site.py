"""The built site: search leads to names and guides, and pages fit a narrow screen in light and dark.

CLIFFORD_RAND_SITE is the folder that `sphinx-build docs FOLDER` wrote; .ci/run sets it.
"""

import os
import time
from pathlib import Path

import pytest

from support.browser import open_page, start_browser

SITE = Path(os.environ.get("CLIFFORD_RAND_SITE", "no site"))
pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="needs CLIFFORD_RAND_SITE, the folder of a built site")
PAGES = (
    "index",
    "tutorials/geometric-algebra",
    "how-to/rotate-points",
    "reference/clifford_rand",
    "reference/generated/clifford_rand.cross_log",
    "reference/command-line",
    "architecture/models",
    "architecture/infinite-gates",
    "migration",
)
# Elements of the text that end beyond the window, but for those inside a box that scrolls.
WIDE = """
const clips = e => getComputedStyle(e).overflowX !== "visible";
const hidden = e => e && e.tagName !== "ARTICLE" && (clips(e) || hidden(e.parentElement));
return [...document.querySelectorAll("article *")]
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !hidden(e))
  .map(e => e.textContent.slice(0, 60));
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = start_browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.quit()


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("cross_log", "clifford_rand.cross_log"),
        ("table_model", "clifford_rand_nn.table_model"),
        ("fit a sphere", "Fit a sphere, circle, plane or line to points"),
    ],
)
def test_search_leads_to_names_and_guides(browser, words, title):
    browser.get(f"{(SITE / 'search.html').resolve().as_uri()}?q={words.replace(' ', '+')}")
    until, titles = time.monotonic() + 60, []
    while title not in titles:
        assert time.monotonic() < until, titles
        time.sleep(0.1)
        titles = browser.execute_script(
            "return [...document.querySelectorAll('#search-results li a')].slice(0, 5).map(a => a.textContent.trim())"
        )


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("dark", [False, True])
def test_page_fits_a_narrow_screen(browser, page, dark):
    open_page(browser, (SITE / f"{page}.html").resolve(), 400, dark)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
    assert browser.execute_script(WIDE) == []
    assert browser.execute_script("return document.documentElement.dataset.theme") == ("dark" if dark else "light")


def test_options_keep_their_dashes():
    text = (SITE / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert "--shards" in text
    assert "–shards" not in text


def test_every_script_of_the_gallery_made_a_picture():
    scripts = {path.stem for path in (Path(__file__).parents[1] / "docs" / "gallery").glob("plot_*.py")}
    pictures = {path.name for path in (SITE / "_images").glob("sphx_glr_plot_*_001.png")}
    assert scripts
    if pictures:  # none where the site was built without running its code
        assert pictures == {f"sphx_glr_{stem}_001.png" for stem in scripts}
