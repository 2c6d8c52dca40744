"""A headless browser that knows no network, for tests of pages."""

import os
import shutil
import time
from pathlib import Path

import pytest

# Names of the browser and its driver: Debian's, then others.
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # it runs as root in containers; the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--hide-scrollbars",
)


def start_browser(folder: Path):
    """Return a driver of a browser with a fresh profile in a folder.

    Without a browser, or selenium, the test is skipped; with CLIFFORD_RAND_NEEDS_BROWSER, as in .ci/run, it fails.
    """
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        webdriver = None
    if found is None or driver is None or webdriver is None:
        missing = "selenium" if webdriver is None else "chromium and chromedriver"
        if os.environ.get("CLIFFORD_RAND_NEEDS_BROWSER"):
            pytest.fail(f"there is no {missing}, without which the page is not tested")
        pytest.skip(f"needs {missing}")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for option in (*_OPTIONS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def open_page(browser, path: Path, width: int, dark: bool = False):
    """Show a file in a window of so many pixels across, and wait until it is there."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get(path.as_uri())
    until = time.monotonic() + 60
    while browser.execute_script("return document.readyState") != "complete":
        assert time.monotonic() < until, "the page is not there after 60 s"
        time.sleep(0.05)
