"""A circle by three points, and what it has in common with lines and other circles: real, touching or imaginary."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import clifford_rand as cr
from clifford_rand.presets import cga

POINTS = np.array([[-1.0, 0.5], [2.0, 2.5], [3.0, -1.0]])
CENTERS = np.array([[3.8, 1.6], [-1.2, -1.6], [-3.2, 2.9]])
RADII = np.array([1.5, 1.1, 0.8])
START, DIRECTION = np.array([0.0, 0.0]), np.array([2.0, 1.0])


def main(folder: Path) -> dict[str, float]:
    """Save the picture; return the circle's radius and how far all is from coordinate geometry."""
    alg = cr.Algebra.cga(2)
    A, B, C = (cga.up(alg, x) for x in POINTS)
    circle, line = A ^ B ^ C, cga.line(alg, START, direction=DIRECTION)
    tangent = (B << circle) ^ cga.infinity(alg)
    others = cga.circle(alg, CENTERS, RADII)
    found, hits, meets = cga.classify(circle), cga.intersect(circle, line), cga.intersect(circle, others)
    touch = cga.intersect(circle, tangent)
    draw(folder / "circle_by_three_points.png", found, hits, meets, touch, (line, tangent, others))
    center, radius = circumcircle(POINTS)
    apart = np.linalg.norm(CENTERS - center, axis=1)
    along = (apart**2 + radius**2 - RADII**2) / (2 * apart)
    ends = np.stack([cga.down(P) for P in cga.split_point_pair(hits.blade())])
    return {
        "radius": float(found.radius),
        "error of center and radius": float(abs(found.location - center).max() + abs(found.radius - radius)),
        "error of the points on the line": float(abs(np.sort(ends, axis=0) - roots(center, radius)).max()),
        "error of the meets' radii²": float(abs(meets.radius_squared - radius**2 + along**2).max()),
        "error of the point of the tangent": float(abs(touch.location - POINTS[1]).max()),
        "radius² of the imaginary meet": float(meets.radius_squared[2]),
        "angle with the first circle, degrees": float(np.degrees(cga.angle(circle, others[0]))),
    }


def circumcircle(X: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """Return center and radius from |x|² - 2 c·x + c² = r²."""
    c = np.linalg.solve(2 * (X[1:] - X[0]), (X[1:] ** 2).sum(1) - (X[0] ** 2).sum())
    return c, float(np.linalg.norm(X[0] - c))


def roots(center: NDArray[Any], radius: float) -> NDArray[Any]:
    """Return where the line meets the circle, by the quadratic equation, in ascending order."""
    apart = START - center
    t = np.roots([DIRECTION @ DIRECTION, 2 * DIRECTION @ apart, apart @ apart - radius**2])
    return np.asarray(START + np.sort(t)[:, None] * DIRECTION)


def draw(path: Path, found: cga.ConformalObject, hits: Any, meets: Any, touch: Any, objects: Any) -> None:
    """Draw the circle, what meets it, and common points; what is imaginary is dashed."""
    line, tangent, others = objects
    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.subplots()
    axes.plot(*cga.sample(found, 200).T, color="black", lw=2)
    axes.plot(*POINTS.T, "o", color="black", ms=8)
    axes.plot(*cga.sample(line, 2, extent=6).T, color="tab:blue")
    axes.plot(*cga.sample(tangent, 2, extent=6, around=POINTS[1]).T, color="tab:green")
    for other, meet in zip(others, meets, strict=True):
        axes.plot(*cga.sample(other, 100).T, color="tab:orange")
        if meet.has_points:
            axes.plot(*cga.sample(meet, 1).T, "D", color="tab:red")
            continue
        U = meet.directions()[0]  # an imaginary pair: center ± i r
        half = np.sqrt(-meet.radius_squared) * U
        axes.plot(*np.stack([meet.location - half, meet.location + half]).T, "--D", mfc="none", color="tab:purple")
        axes.annotate(str(meet.name), meet.location + half, xytext=(6, 6), textcoords="offset points")
    axes.plot(*cga.sample(hits, 1).T, "s", color="tab:blue")
    axes.annotate(str(hits.name), cga.sample(hits, 1)[0], xytext=(8, -12), textcoords="offset points")
    axes.annotate(str(touch.name), touch.location, xytext=(8, 6), textcoords="offset points")
    axes.plot(*found.location, "+", color="black")
    axes.set(xlim=(-5, 6), ylim=(-4, 5), aspect="equal", title="A ∧ B ∧ C, and what it meets")
    figure.savefig(path, dpi=90)
