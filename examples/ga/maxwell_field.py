"""The field of a moving charge, F = x ∧ u / 4π|x ∧ u|³: one bivector that solves ∇F = 0 and holds E and B."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import clifford_rand as cr
from clifford_rand.presets import sta

SPEEDS = (0.0, 0.6, 0.95)
STA = cr.Algebra.sta()


def main(folder: Path) -> dict[str, float]:
    """Save the picture; return errors of Maxwell's equations, of B = v × E, and how the field is flattened."""
    v = np.array([SPEEDS[-1], 0, 0])
    x = sta.event(STA, 0.3, np.random.default_rng(0).standard_normal((50, 3)))
    F = field(x, v)
    E, B = sta.electric_and_magnetic(F)
    at_rest = sta.electric_and_magnetic(F, sta.four_velocity(STA, v))[1]
    aside, ahead = (np.linalg.norm(electric(v, np.array(place))) for place in ([0.0, 1, 0], [1.0, 0, 0]))
    draw(folder / "maxwell_field.png")
    density = sta.energy_momentum(F, STA.g0)
    poynting = sta.time_and_space(density)[1]
    return {
        "error of Maxwell's equations": maxwell(v),
        "error of Gauss's law": flux(v) - 1,
        "error of B = v × E": float(abs(B - np.cross(v, E)).max() / abs(E).max()),
        "error of B in the frame of the charge": float(abs(at_rest).max() / abs(E).max()),
        "error of E·B, an invariant": float(abs(sta.field_invariants(F)[1]).max() / abs(E).max() ** 2),
        "error of Poynting's vector E × B": float(abs(poynting - np.cross(E, B)).max() / abs(E).max() ** 2),
        "field beside the charge over that ahead": float(aside / ahead),
        "error of that from γ³": float(aside / ahead / sta.gamma(v) ** 3 - 1),
    }


def field(x: Any, v: NDArray[Any]) -> Any:
    """Return F at events of a unit charge that is at the origin at time 0."""
    W = x ^ sta.four_velocity(STA, v)
    return W * ((W * W).scalar_part() ** -1.5 / (4 * np.pi))


def electric(v: NDArray[Any], place: NDArray[Any]) -> NDArray[Any]:
    """Return E at places, at time 0."""
    return sta.electric_and_magnetic(field(sta.event(STA, 0.0, place), v))[0]


def maxwell(v: NDArray[Any]) -> float:
    """Return the largest component of ∇F = g^μ ∂_μ F at random events, relative to those of the ∂_μ F.

    By a complex step, ∂_μ F = Im F(x + i h g_μ)/h, exact to rounding: F is analytic in x.
    """
    x = np.random.default_rng(1).standard_normal((20, 4))
    step = 1e-30
    F = field(STA.vector(x[:, None, :] + 1j * step * np.eye(4)), v)
    slopes = STA.bivector(F.grade(2).values.imag / step)
    frame = STA.reciprocal_frame(STA.basis_vectors())
    gradient = frame[0] * slopes[:, 0] + frame[1] * slopes[:, 1] + frame[2] * slopes[:, 2] + frame[3] * slopes[:, 3]
    return float((abs(gradient.coefficients).max(-1) / abs(slopes.coefficients).max((-1, -2))).max())


def flux(v: NDArray[Any]) -> float:
    """Return the flux of E through the unit sphere about the charge, which moves along its axis: the charge, 1."""
    along, weights = np.polynomial.legendre.leggauss(64)
    normals = np.stack([along, np.sqrt(1 - along**2), 0 * along], axis=-1)
    return float(2 * np.pi * weights @ (electric(v, normals) * normals).sum(axis=-1))


def draw(path: Path) -> None:
    """Draw field lines and the density of energy in a plane with the velocity, for three speeds."""
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    side = np.linspace(-2, 2, 81)
    X, Y = np.meshgrid(side, side)
    places = np.stack([X, Y, np.full_like(X, 0.15)], axis=-1)
    for axes, speed in zip(figure.subplots(1, 3), SPEEDS, strict=True):
        F = field(sta.event(STA, 0.0, places), np.array([speed, 0, 0]))
        E, _ = sta.electric_and_magnetic(F)
        density = sta.time_and_space(sta.energy_momentum(F, STA.g0))[0]
        shown = axes.pcolormesh(X, Y, np.log10(density), cmap="magma", vmin=-6, vmax=0.5, shading="gouraud")
        angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        start = np.stack([np.cos(angle) / sta.gamma([speed, 0, 0]), np.sin(angle)], axis=-1) * 0.5
        axes.streamplot(X, Y, E[..., 0], E[..., 1], color="white", linewidth=0.8, start_points=start, density=3)
        axes.set(aspect="equal", title=f"v = {speed:g}", xlabel="x, along the velocity", ylabel="y")
    figure.colorbar(shown, label="log10 of the energy density (E² + B²)/2")
    figure.savefig(path, dpi=90)
