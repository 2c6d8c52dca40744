"""Space-time algebra Cl(1, 3), `Algebra.sta`: events, observers, Lorentz transformations, electromagnetic fields.

Units have c = 1; the signature is (+, -, -, -), so that the square of a timelike vector is that of a proper time.
Coordinates are t and (..., 3) arrays x in the frame g0, g1, g2, g3: the event t g0 + x_i g_i. Its relative vectors are
σ_i = g_i g0, with σ_1 σ_2 σ_3 = I. A versor moves by ``L >> X``, L X ~L for the rotors made here. Fields are in
Heaviside–Lorentz units, without 4π and ε_0: F = E + I B, and ∇F = J holds all four equations of Maxwell.

Examples assume ``import clifford_rand as cr, numpy as np`` and ``from clifford_rand.presets import sta``.
"""

from clifford_rand.presets.sta.frames import boost as boost
from clifford_rand.presets.sta.frames import boost_and_rotation as boost_and_rotation
from clifford_rand.presets.sta.frames import boost_to as boost_to
from clifford_rand.presets.sta.frames import event as event
from clifford_rand.presets.sta.frames import four_velocity as four_velocity
from clifford_rand.presets.sta.frames import rotor as rotor
from clifford_rand.presets.sta.frames import rotor_from_lorentz_matrix as rotor_from_lorentz_matrix
from clifford_rand.presets.sta.frames import rotor_to_lorentz_matrix as rotor_to_lorentz_matrix
from clifford_rand.presets.sta.frames import spacetime_split as spacetime_split
from clifford_rand.presets.sta.frames import time_and_space as time_and_space
from clifford_rand.presets.sta.observables import add_velocities as add_velocities
from clifford_rand.presets.sta.observables import electric_and_magnetic as electric_and_magnetic
from clifford_rand.presets.sta.observables import energy_momentum as energy_momentum
from clifford_rand.presets.sta.observables import faraday as faraday
from clifford_rand.presets.sta.observables import field_invariants as field_invariants
from clifford_rand.presets.sta.observables import gamma as gamma
from clifford_rand.presets.sta.observables import interval as interval
from clifford_rand.presets.sta.observables import lorentz_force as lorentz_force
from clifford_rand.presets.sta.observables import proper_time as proper_time
from clifford_rand.presets.sta.observables import rapidity as rapidity
from clifford_rand.presets.sta.observables import stress_energy_tensor as stress_energy_tensor
from clifford_rand.presets.sta.observables import velocity as velocity
from clifford_rand.presets.sta.observables import velocity_of_rapidity as velocity_of_rapidity
