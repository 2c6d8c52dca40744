"""Circles and spheres through noisy points by eigenvectors of conformal space, beside other least-squares fits."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import least_squares

import clifford_rand as cr
from clifford_rand.presets import cga

NOISE = 0.02
ARCS = np.radians([25, 30, 40, 60, 90, 135, 180, 270, 360])
DRAWS = 200


def main(folder: Path) -> dict[str, float]:
    """Save the picture; return radii found, and errors on exact points."""
    rng = np.random.default_rng(0)
    alg = cr.Algebra.cga(3, null_basis=True)
    ring = on_circle(rng, 60)
    ball = np.array([-0.5, 0.4, 1.2]) + 1.5 * unit(rng.standard_normal((80, 3)))
    exact = cga.classify(cga.fit_circle(alg, ring)), cga.classify(cga.fit_sphere(alg, ball))
    noisy = [X + NOISE * rng.standard_normal(X.shape) for X in (ring, ball)]
    circle, sphere = cga.fit_circle(alg, noisy[0]), cga.fit_sphere(alg, noisy[1])
    bias = arcs(rng)
    draw(folder / "conformal_fit.png", noisy, (circle, sphere), bias)
    X = noisy[1]
    best = least_squares(lambda z: np.linalg.norm(X - z[:3], axis=1) - z[3], [0.0, 0, 1, 1]).x
    return {
        "error of the circle's radius on exact points": float(exact[0].radius - 2),
        "error of the sphere's radius on exact points": float(exact[1].radius - 1.5),
        "radius of the circle, 2 but for noise": float(cga.radius(circle)),
        "radius of the sphere, 1.5 but for noise": float(cga.radius(sphere)),
        "radius of the sphere by SciPy from distances": float(best[3]),
        "radius from arcs of 25 degrees, 1 but for noise": float(bias[0, 0]),
        "the same by linear least squares": float(bias[1, 0]),
    }


def unit(X: NDArray[Any]) -> NDArray[Any]:
    """Return unit vectors."""
    return np.asarray(X / np.linalg.norm(X, axis=-1, keepdims=True))


def on_circle(rng: np.random.Generator, count: int) -> NDArray[Any]:
    """Return points of a circle of radius 2 in a tilted plane."""
    angle = rng.uniform(0, 2 * np.pi, count)
    frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    return np.asarray(
        np.array([1.0, 0, 0]) + 2 * (np.cos(angle)[:, None] * frame[0] + np.sin(angle)[:, None] * frame[1])
    )


def arcs(rng: np.random.Generator) -> NDArray[Any]:
    """Return median radii (2, arcs) found from arcs of the unit circle: by conformal and by linear least squares."""
    alg = cr.Algebra.cga(2, null_basis=True)
    angle = rng.uniform(-0.5, 0.5, (DRAWS, 40)) * ARCS[:, None, None]
    X = np.stack([np.cos(angle), np.sin(angle)], axis=-1) + NOISE * rng.standard_normal((*angle.shape, 2))
    fitted = cga.classify(cga.fit_circle(alg, X)).radius
    rows = np.concatenate([2 * X, np.ones((*angle.shape, 1))], axis=-1)  # |x|² = 2 c·x + (r² - c²), linear in c
    solved = np.linalg.pinv(rows) @ (X**2).sum(axis=-1)[..., None]
    linear = np.sqrt(solved[..., 2, 0] + (solved[..., :2, 0] ** 2).sum(axis=-1))
    return np.stack([np.nanmedian(fitted, axis=-1), np.median(linear, axis=-1)])


def draw(path: Path, points: list[NDArray[Any]], fits: tuple[Any, Any], bias: NDArray[Any]) -> None:
    """Draw both fits in space, and radii from arcs."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    space: Any = figure.add_subplot(1, 2, 1, projection="3d")
    for X, color in zip(points, ("tab:red", "tab:blue"), strict=True):
        space.scatter(*X.T, s=8, color=color)
    space.plot(*cga.sample(fits[0], 200).T, color="tab:red")
    space.plot_wireframe(*np.moveaxis(cga.sample(fits[1], (13, 25)), -1, 0), color="tab:blue", lw=0.4)
    space.set(title="a circle and a sphere fitted to points")
    space.set_aspect("equal")
    space.locator_params(nbins=4)
    axes = figure.add_subplot(1, 2, 2)
    axes.axhline(1, color="gray", lw=0.8)
    for row, label, marker in zip(bias, ("conformal eigenvectors", "linear least squares"), ("o-", "s--"), strict=True):
        axes.plot(np.degrees(ARCS), row, marker, label=label)
    axes.set(xlabel="arc (degrees)", ylabel="radius found (median)", title=f"40 points of a unit circle, noise {NOISE}")
    axes.legend()
    figure.savefig(path, dpi=90)
