"""Frames per second of pages of ``draw.save`` in headless Chromium, which draws them by software.

python tests/benchmarks/bench_viewer.py [points]

Beside the frames: the processor time of the browser for one frame, which other programs on the machine change less. One
core can draw 1000 / renderer frames a second; the GPU process, here software, runs beside it.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from timing import machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import clifford_rand as cr
from clifford_rand import draw
from clifford_rand.presets import cga, pga
from support.browser import open_page, start_browser

WINDOWS, SECONDS = 8, 2  # other programs slow some of the windows; the best shows what the page needs


def scenes(n):
    """Return the scenes: n points that move in one of them, n at rest among moving objects in another."""
    rng, times = np.random.default_rng(0), np.linspace(0, 4, 41)
    space, conformal = cr.Algebra.pga(3), cr.Algebra.cga(3)
    X = rng.standard_normal((n, 3))
    turns = pga.rotor(space, pga.line(space, [0, 0, 0], [0, 0, 1]), times * np.pi / 2)
    points = pga.point(space, X * (1 + 0.2 * np.sin(np.pi * times / 2))[:, None, None])
    centers = np.stack([np.cos(times), np.sin(times), 0 * times], axis=-1)
    ball = cga.sphere(conformal, centers, 1.0)
    circle = cga.meet(ball, cga.plane(conformal, [0, 0, 1], 0.3))
    objects = {
        f"{n} moving points": [points, turns],
        f"{n} points at rest, a sphere and a circle move": [cga.up(conformal, X[None]), ball, circle],
        "a motor and a plane": [turns, pga.plane(space, [0, 0, 1], 0)],
    }
    return {name: draw.scene(several, times=times) for name, several in objects.items()}


def processor_time(driver):
    """Return the seconds of each kind of process of the browser."""
    total = {}
    for process in psutil.Process(driver.service.process.pid).children(recursive=True):
        try:
            kind = next((a[7:] for a in process.cmdline() if a.startswith("--type=")), "browser")
            used = process.cpu_times()
        except psutil.Error:
            continue
        total[kind] = total.get(kind, 0.0) + used.user + used.system
    return total


def main(n):
    machine("k3d")
    with tempfile.TemporaryDirectory() as folder:
        browser = start_browser(Path(folder))
        try:
            for name, scene in scenes(n).items():
                page = Path(folder) / "scene.html"
                scene.save(page)
                open_page(browser, page, 900)
                browser.set_script_timeout(60)
                browser.execute_async_script(
                    "const done = arguments[0], wait = () => window.K3DInstance && K3DInstance.then ? "
                    "K3DInstance.then(k => {window.n = 0; k.on(k.events.RENDERED, () => {window.n += 1}); done()}) : "
                    "setTimeout(wait, 100); wait()"
                )
                time.sleep(2)
                rates, costs = [], []
                for _ in range(WINDOWS):
                    before, first = processor_time(browser), browser.execute_script("return [n, performance.now()]")
                    time.sleep(SECONDS)
                    last, after = browser.execute_script("return [n, performance.now()]"), processor_time(browser)
                    frames = max(last[0] - first[0], 1)
                    rates.append(1e3 * frames / (last[1] - first[1]))
                    costs.append([1e3 * (after[k] - before[k]) / frames for k in ("renderer", "gpu-process")])
                best, cost = max(rates), np.median(costs, axis=0)
                size = page.stat().st_size / 1e6
                print(
                    f"{name:50} {best:5.1f} frames/s at best, median {np.median(rates):5.1f}   "
                    f"renderer {cost[0]:.0f}, GPU process {cost[1]:.0f} ms a frame   page {size:.1f} MB"
                )
        finally:
            browser.quit()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
