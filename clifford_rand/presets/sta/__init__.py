"""Space-time algebra Cl(1, 3), `Algebra.sta`: events, observers, Lorentz transformations, electromagnetic fields.

Units have c = 1; the signature is (+, -, -, -), so that the square of a timelike vector is that of a proper time.
Coordinates are t and (..., 3) arrays x in the frame g0, g1, g2, g3: the event t g0 + x_i g_i. Its relative vectors are
σ_i = g_i g0, with σ_1 σ_2 σ_3 = I. A versor moves by ``L >> X``, L X ~L for the rotors made here. Fields are in
Heaviside–Lorentz units, without 4π and ε_0: F = E + I B, and ∇F = J holds all four equations of Maxwell.

Examples assume ``import clifford_rand as cr, numpy as np`` and ``from clifford_rand.presets import sta``.
"""

from clifford_rand.presets.sta.frames import (
    boost,
    boost_and_rotation,
    boost_to,
    event,
    four_velocity,
    rotor,
    rotor_from_lorentz_matrix,
    rotor_to_lorentz_matrix,
    spacetime_split,
    time_and_space,
)
from clifford_rand.presets.sta.observables import (
    add_velocities,
    electric_and_magnetic,
    energy_momentum,
    faraday,
    field_invariants,
    gamma,
    interval,
    lorentz_force,
    proper_time,
    rapidity,
    stress_energy_tensor,
    velocity,
    velocity_of_rapidity,
)

__all__ = [
    "add_velocities", "boost", "boost_and_rotation", "boost_to", "electric_and_magnetic", "energy_momentum", "event",
    "faraday", "field_invariants", "four_velocity", "gamma", "interval", "lorentz_force", "proper_time", "rapidity",
    "rotor", "rotor_from_lorentz_matrix", "rotor_to_lorentz_matrix", "spacetime_split", "stress_energy_tensor",
    "time_and_space", "velocity", "velocity_of_rapidity",
]  # fmt: skip
