"""Rodrigues' rotation formula and his composition of rotations, proved by symbols from R x ~R."""

from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations
from matplotlib.figure import Figure
from numpy.typing import NDArray

import clifford_rand as cr

AXIS, ANGLE, START = np.array([1.0, 1.0, 2.0]) / np.sqrt(6), 2.0, np.array([1.2, -0.4, 0.5])


def main(folder: Path) -> dict[str, float]:
    """Save the picture; return how many coefficients of the proofs are left, and errors of the formulas in numbers."""
    alg = cr.Algebra(3)
    n, x = alg.symbols("n", 1), alg.symbols("x", 1)
    t, s = sp.symbols("t s", real=True)
    n1, n2, n3 = n.values

    # R = cos t/2 - sin t/2 I n turns by t about n; Rodrigues 1840: x cos t + n × x sin t + n (n · x)(1 - cos t)
    R = sp.cos(t / 2) - sp.sin(t / 2) * (alg.I * n)
    formula = sp.cos(t) * x + sp.sin(t) * (n ^ x).dual() + (1 - sp.cos(t)) * (n | x) * n
    left = (R * x * ~R - formula).expand().simplify(lambda value: on_sphere(value, n1, n2, n3))

    # tan of half the angles: (1 - I a)(1 - I b) = (1 - a·b) (1 - I (a + b - a × b ...)/(1 - a·b)), a = n tan t/2
    a, b = alg.symbols("a", 1), alg.symbols("b", 1)
    product = (1 - alg.I * a) * (1 - alg.I * b)
    both = a + b + (a ^ b).dual()
    rest = product - (1 - (a | b)) + alg.I * both

    # as a linear map: trace 1 + 2 cos t, the axis and the plane as eigenblades
    turned = {n1: sp.Integer(0), n2: sp.Rational(3, 5), n3: sp.Rational(4, 5), t: s}
    f = cr.LinearMap.from_function(alg, lambda u: (R * u * ~R).subs(turned).simplify())
    trace = sp.simplify(f.trace() - 1 - 2 * sp.cos(s))
    g = cr.LinearMap.from_versor((-ANGLE / 2 * alg.vector(AXIS).undual()).exp())
    axis, plane = sorted(g.eigenblades(), key=lambda one: one.blade.grades)
    numeric = formula.lambdify(t, n, x)(ANGLE, alg.vector(AXIS), alg.vector(START))
    angle = np.angle(plane.eigenvalues)
    draw(folder / "rodrigues.png", g)
    return {
        "error of Rodrigues' formula, coefficients left": float(len(left.sparse().keys.masks)),
        "error of the composition, coefficients left": float(len(rest.expand().sparse().keys.masks)),
        "error of the trace 1 + 2 cos t": float(trace),
        "error of the formula in numbers": float(abs((numeric - g(alg.vector(START))).values).max()),
        "error of axis and plane": float(
            abs(abs(axis.blade.values @ AXIS) - 1) + abs(abs(plane.blade.dual().values @ AXIS) - 1)
        ),
        "error of the angle": float(abs(angle).max() - ANGLE),
        "angle": float(abs(angle).max()),
    }


def on_sphere(value: Any, n1: Any, n2: Any, n3: Any) -> Any:
    """Return an expression with n3² = 1 - n1² - n2² put in, simplified."""
    polynomial = sp.Poly(sp.expand(sp.expand_trig(value.rewrite(sp.cos))), n3)
    reduced = sum(c * n3 ** (k % 2) * (1 - n1**2 - n2**2) ** (k // 2) for (k,), c in polynomial.terms())
    return sp.trigsimp(sp.expand(reduced))


def draw(path: Path, g: cr.LinearMap) -> None:
    """Draw the vector, its turn, and the three terms of the formula."""
    alg = g.algebra
    steps = np.linspace(0, ANGLE, 60)
    along = AXIS * (AXIS @ START)
    across, third = START - along, np.cross(AXIS, START)
    path_of = along + np.cos(steps)[:, None] * across + np.sin(steps)[:, None] * third
    end = g(alg.vector(START)).values
    figure = Figure(figsize=(7, 6.5), layout="constrained")
    ax: Any = figure.add_subplot(projection="3d")
    arrow(ax, along, 1.3 * AXIS - along, "0.4", "n")
    arrow(ax, np.zeros(3), START, "C0", "x")
    arrow(ax, np.zeros(3), end, "C3", "R x R̃")
    arrow(ax, np.zeros(3), along, "C2", "n (n·x)")
    arrow(ax, along, np.cos(ANGLE) * across, "C1", "cos t (x − n (n·x))")
    arrow(ax, along + np.cos(ANGLE) * across, np.sin(ANGLE) * third, "C4", "sin t n × x")
    ax.plot(*path_of.T, color="C3", lw=2, ls="--")
    ring = along + np.cos(np.linspace(0, 2 * np.pi, 120))[:, None] * across
    ring = ring + np.sin(np.linspace(0, 2 * np.pi, 120))[:, None] * third
    ax.plot(*ring.T, color="0.8", lw=1)
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), zlim=(-0.6, 1.8), box_aspect=(1, 1, 1), title="x turned by t about n")
    ax.legend(loc="upper left", frameon=False)
    ax.view_init(18, 5)
    figure.savefig(path, dpi=110)


def arrow(ax: Any, start: NDArray[Any], step: NDArray[Any], color: str, label: str) -> None:
    """Draw one vector with its name in the legend."""
    ax.quiver(*start, *step, color=color, lw=2, arrow_length_ratio=0.1, label=label)
