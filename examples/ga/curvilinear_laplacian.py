"""Hydrogen in three systems of coordinates: the Laplacian of each gives the same energy, by symbols."""

from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations
from matplotlib.figure import Figure

import clifford_rand as cr


def main(folder: Path) -> dict[str, float]:
    """Save the picture; return the energy -1/8 and what is left of Schrödinger's equation in each chart.

    The state (2 - r + z) exp(-r/2), of the second level in a weak electric field (L. Landau and E. Lifshitz, "Quantum
    Mechanics", 3rd ed., section 37): -½ ∇²ψ - ψ/r = E ψ in atomic units, the charge at a focus of the spheroids.
    """
    figures: dict[str, float] = {}
    spherical, parabolic = (cr.Coordinates.named(name) for name in ("spherical", "paraboloidal"))
    prolate = cr.Coordinates.named("prolate_spheroidal", simplify=lambda value: value)  # long: put in numbers instead
    a = sp.Symbol("a", positive=True)
    r, theta, _ = spherical.symbols
    sigma, tau, _ = parabolic.symbols
    mu, nu, _ = prolate.symbols
    charts = {  # with the distance from the charge and the height above it
        "spherical": (spherical, r, r * sp.cos(theta)),
        "paraboloidal": (parabolic, (sigma**2 + tau**2) / 2, (sigma**2 - tau**2) / 2),
        "prolate spheroidal": (prolate, a * (sp.cosh(mu) - sp.cos(nu)), a * sp.cosh(mu) * sp.cos(nu) - a),
    }
    energies = []
    for name, (chart, distance, z) in charts.items():
        psi = (2 - distance + z) * sp.exp(-distance / 2)
        laplacian = chart.laplacian(psi)["1"]
        left = -laplacian / 2 - psi / distance + psi / 8
        if chart is not prolate:
            left = sp.simplify(left / sp.exp(-distance / 2))
            figures[f"error of Schrödinger's equation, {name}"] = 0.0 if left == 0 else 1.0
        energy = sp.lambdify([*chart.symbols, a], left / psi - sp.Rational(1, 8), "numpy")
        energies.append(energy(*np.random.default_rng(0).uniform(0.3, 1.2, (3, 20)), 1.5) * np.ones(20))
    figures["energy"] = float(np.mean(energies))
    figures["error of the energies at 60 points"] = float(np.abs(np.array(energies) + 1 / 8).max())
    # the probability's flow of a turning state, J = Im ψ* ∇ψ: divergence 0, by the same operators
    amplitude = r * sp.exp(-r / 2) * sp.sin(theta)
    flow = amplitude**2 * (spherical.grad * spherical.symbols[2])
    figures["error of the divergence of the flow"] = float(sp.simplify(spherical.divergence(flow)["1"]))
    whirl = spherical.vector_curl(flow).simplify()
    figures["error of its whirl at r = 1"] = float(-whirl["etheta"].subs({r: 1, theta: sp.pi / 2})) - np.exp(-1)
    draw(folder / "curvilinear_laplacian.png")
    return figures


def draw(path: Path) -> None:
    """Draw the density in a plane through the axis, under the lines of each system of coordinates."""
    x, z = np.meshgrid(np.linspace(-9, 9, 361), np.linspace(-9, 9, 361))
    r = np.hypot(x, z)
    density = ((2 - r + z) * np.exp(-r / 2)) ** 2
    turn = np.linspace(0, 2 * np.pi, 200)
    line = np.linspace(-4.5, 4.5, 200)
    nets: dict[str, list[tuple[Any, Any]]] = {
        "spherical": [(k * np.sin(turn), k * np.cos(turn)) for k in range(1, 13)]
        + [(np.array([0, 13]) * np.sin(t), np.array([0, 13]) * np.cos(t)) for t in np.linspace(0, 2 * np.pi, 25)],
        "paraboloidal": [(s * line, (s**2 - line**2) / 2) for s in np.linspace(0.5, 4.5, 9)]
        + [(line * t, (line**2 - t**2) / 2) for t in np.linspace(0.5, 4.5, 9)],
        "prolate spheroidal": [
            (2 * np.sinh(m) * np.sin(turn), 2 * np.cosh(m) * np.cos(turn) - 2) for m in np.linspace(0.2, 2.4, 12)
        ]
        + [(2 * np.sinh(line) * np.sin(n), 2 * np.cosh(line) * np.cos(n) - 2) for n in np.linspace(0, np.pi, 13)],
    }
    figure = Figure(figsize=(12, 5), layout="constrained")
    for ax, (name, net) in zip(figure.subplots(1, 3, sharey=True), nets.items(), strict=True):
        ax.imshow(np.sqrt(density), extent=(-9, 9, -9, 9), origin="lower", cmap="magma", interpolation="bilinear")
        for one in net:
            ax.plot(*one, color="w", lw=0.6, alpha=0.55)
        ax.plot(0, 0, "o", color="c", ms=4)
        ax.set(xlim=(-9, 9), ylim=(-9, 9), title=name, xlabel="x (Bohr radii)")
    figure.axes[0].set_ylabel("z (Bohr radii)")
    figure.suptitle("|ψ|, ψ = (2 − r + z) exp(−r/2), E = −1/8 in all three coordinates")
    figure.savefig(path, dpi=110)
