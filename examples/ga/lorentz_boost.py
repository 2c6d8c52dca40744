"""A boost in space-time: the moving observer's axes, the twins' clocks, and how the stars crowd ahead."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import clifford_rand as cr
from clifford_rand.presets import sta

STA = cr.Algebra.sta()
SPEED = 0.6


def main(folder: Path) -> dict[str, float]:
    """Save the picture; return clock readings and errors against textbook formulas."""
    v, w = np.array([SPEED, 0, 0]), np.array([0, 0.7, 0.2])
    L = sta.boost(STA, v)
    twin = sta.event(STA, [0, 5, 10], np.array([[0, 0, 0], [0.8 * 5, 0, 0], [0, 0, 0]]))
    light = STA.g0 - STA.g1  # from ahead
    seen, _ = sta.time_and_space(light * 1.0, sta.four_velocity(STA, v))
    turn = sta.boost_and_rotation(L * sta.boost(STA, w))[1]
    sky = stars(4000)
    aimed, pitch = aberrated(sky, v)
    draw(folder / "lorentz_boost.png", L, twin, aimed, pitch)
    g, h, k = sta.gamma(v), sta.gamma(w), sta.gamma(sta.add_velocities(v, w))
    cosine = (1 + g + h + k) ** 2 / ((1 + g) * (1 + h) * (1 + k)) - 1  # of Wigner's angle
    cosines = (sky[:, 0] + SPEED) / (1 + SPEED * sky[:, 0])
    return {
        "years of the twin who stayed": float(sta.proper_time(twin[[0, 2]])),
        "years of the twin who travelled": float(sta.proper_time(twin)),
        "error of Doppler's factor": float(seen - np.sqrt((1 + SPEED) / (1 - SPEED))),
        "error of the added velocities": float(
            abs(sta.add_velocities(v, w) - sta.velocity((L >> sta.four_velocity(STA, w)).grade(1))).max()
        ),
        "Wigner's rotation, degrees": float(np.degrees(2 * np.arccos(turn["1"]))),
        "error of Wigner's angle": float(2 * turn["1"] ** 2 - 1 - cosine),
        "error of the aberration": float(abs(aimed[:, 0] - cosines).max()),
        "share of the stars ahead by less than 60 degrees, at rest": float((sky[:, 0] > 0.5).mean()),
        "the same for the traveller": float((aimed[:, 0] > 0.5).mean()),
    }


def stars(count: int) -> NDArray[Any]:
    """Return directions (count, 3), evenly spread: a Fibonacci lattice."""
    i = np.arange(count) + 0.5
    z, angle = 1 - 2 * i / count, np.pi * (1 + 5**0.5) * i
    r = np.sqrt(1 - z * z)
    return np.stack([z, r * np.cos(angle), r * np.sin(angle)], axis=-1)


def aberrated(sky: NDArray[Any], v: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where an observer of velocity v sees stars, and by which factor their frequencies grow."""
    light = sta.event(STA, 1.0, -sky)  # light comes from where a star is
    t, x = sta.time_and_space(light, sta.four_velocity(STA, v))
    return -x / t[:, None], t


def draw(path: Path, L: Any, twin: Any, aimed: NDArray[Any], pitch: NDArray[Any]) -> None:
    """Draw Minkowski's diagram with the boosted grid and the twins, and the sky of the traveller."""
    figure = Figure(figsize=(12, 6), layout="constrained")
    plane, sky = figure.subplots(1, 2)
    ends = np.array([-20.0, 20.0])
    for i in range(-12, 13):
        for t, x in ((ends, np.full(2, i)), (np.full(2, i), ends)):
            image = (L >> sta.event(STA, t, x[:, None] * [1.0, 0, 0])).grade(1)
            times, places = sta.time_and_space(image)
            plane.plot(places[:, 0], times, color="tab:blue", lw=0.5 if i else 2, alpha=0.7)
    plane.plot(ends, ends, color="goldenrod", lw=1.5, label="light")
    plane.plot(-ends, ends, color="goldenrod", lw=1.5)
    w = np.linspace(-2.2, 2.2, 100)
    for s in (2, 4, 6):
        plane.plot(s * np.sinh(w), s * np.cosh(w), ":", color="gray", label="equal proper time" if s == 2 else None)
    times, places = sta.time_and_space(twin)
    plane.plot([0, 0], [0, 10], "o-", color="black", label=f"stays: {sta.proper_time(twin[[0, 2]]):g} years")
    plane.plot(places[:, 0], times, "o-", color="tab:red", label=f"travels: {sta.proper_time(twin):g} years")
    plane.set(xlim=(-3, 8), ylim=(-1, 10.5), aspect="equal", xlabel="x", ylabel="t", title=f"axes of v = {SPEED:g}")
    plane.legend(loc="lower right", fontsize=8)
    shown = sky.scatter(*angles(aimed).T, c=np.log2(pitch), s=4, cmap="coolwarm_r", vmin=-1, vmax=1)
    sky.set(aspect="equal", title="the sky of the traveller, ahead in the middle", xlabel="degrees", ylabel="degrees")
    figure.colorbar(shown, label="log2 of Doppler's factor", shrink=0.8)
    figure.savefig(path, dpi=90)


def angles(sky: NDArray[Any]) -> NDArray[Any]:
    """Return an equidistant map of directions: their angle from ahead, in degrees."""
    size = np.linalg.norm(sky[:, 1:], axis=1)
    return np.asarray(np.degrees(np.arctan2(size, sky[:, 0]))[:, None] * sky[:, 1:] / np.maximum(size, 1e-300)[:, None])
