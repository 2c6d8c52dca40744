"""A GIF of the explorer: a point is dragged, then the slider of beta moves; headless Chromium draws it.

``python docs/explorer/record.py`` writes docs/images/explorer.gif; it needs Chromium, chromedriver, selenium, pillow.
"""

import io
import math
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver

FOLDER = Path(__file__).resolve().parent
OUT = FOLDER.parent / "images" / "explorer.gif"
WIDTH, HEIGHT = 660, 510  # pixels of the GIF
MILLISECONDS, DRAG, SLIDE = 100, 34, 26  # of a frame; frames of each motion
MOVE = "const s = explorer.state; s.points[0] = [arguments[0], arguments[1]]; explorer.solve(false);"
SLIDER = "const b = document.getElementById('beta'); b.value = arguments[0]; b.dispatchEvent(new Event('input'));"


def frame(browser):
    """Return what the browser shows, in the pixels of the GIF."""
    return Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB").crop((0, 0, WIDTH, HEIGHT))


def frames(browser):
    """Drag the first point along a closed curve, then move the slider down and up again."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.get((FOLDER / "explorer.html").as_uri())
    browser.execute_script(
        "document.head.insertAdjacentHTML('beforeend', '<style>.panels { grid-template-columns: 1fr 1fr !important }"
        " h1, p, #curve, .controls:nth-of-type(1) { display: none }</style>')"
    )
    x, y = browser.execute_script("return explorer.state.points[0]")
    for k in range(DRAG):
        turn = 2 * math.pi * k / DRAG
        browser.execute_script(MOVE, x - 1.3 * (1 - math.cos(turn)) / 2, y + 1.1 * math.sin(turn))
        yield frame(browser)
    for k in range(SLIDE):
        browser.execute_script(SLIDER, 0.5 + 0.38 * math.sin(2 * math.pi * k / SLIDE))
        yield frame(browser)


def main():
    """Record and write the GIF."""
    options = webdriver.ChromeOptions()
    for option in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(option)
    with tempfile.TemporaryDirectory() as profile:
        options.add_argument(f"--user-data-dir={profile}")
        browser = webdriver.Chrome(options=options)
        try:
            pictures = list(frames(browser))
        finally:
            browser.quit()
    palette = pictures[0].quantize(48)  # one for all, so that unchanged pixels stay equal
    small = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    small[0].save(OUT, save_all=True, append_images=small[1:], duration=MILLISECONDS, loop=0, optimize=True)
    print(f"{OUT}: {len(small)} frames, {OUT.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
