"""Kinematics and dynamics of many configurations, compiled: a loop over bodies, in it one over some configurations.

Body 0 is the base; body i > 0 hangs on joint i - 1, and its parent comes before it. ``joints`` (49, bodies) has for
each body the 32 numbers of `joint_motor`, half the angle for a unit of q, the twist of the joint in the frame of the
body (6), and the inertia (10). A floating base has its motor in the first 8 numbers of a configuration, and its twist,
in its own frame, in the first 6 of a velocity. Configurations are rows of q (N, …) and of the results. ``tree`` has the
joints, the parent of each body, and the column of q with the value of the first joint: 8 behind a floating base, or 0.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler import machine_code
from clifford_rand.compiler.decorator import compiled, inline
from clifford_rand.robots import formulas
from clifford_rand.robots.formulas import (
    added,
    frame_of,
    inertia_in_parent,
    joint_motor,
    momentum,
    motor_product,
    moved,
    net_wrench,
    power,
    twist_in_child,
    twist_in_parent,
    wrench_in_parent,
)

inline(formulas)

LANES = 16  # configurations of the innermost loop: whole registers, and the state of seven bodies fits the cache
# Rows of the state of a body, with a column for each configuration: motor (8) or frame (12), twist (6), acceleration
# (6), wrench (6), cosine, sine, value, velocity and acceleration of the joint.


# angles are reduced by multiples of π in three parts (Cody and Waite 1980, chapter 8), up to 2^20 of them
_PI_1, _PI_2, _PI_3 = 3.1415926534682512, 1.21542009963449e-10, 1.6667485837041758e-19
_LARGEST_ANGLE = 3e6
_SIN = tuple((-1) ** j / math.factorial(2 * j + 1) for j in range(11))
_COS = tuple((-1) ** j / math.factorial(2 * j) for j in range(11))

Array = NDArray[Any]
TreeArrays = tuple[Array, Array, int]
load_rows: Any = machine_code.load_rows
store_rows: Any = machine_code.store_rows


@compiled(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _cos_sin(z: float) -> tuple[float, float]:
    """Return cos z and sin z without a branch, by Taylor polynomials on [-π/2, π/2]."""
    k = math.floor(z * (1 / math.pi) + 0.5)
    r = ((z - k * _PI_1) - k * _PI_2) - k * _PI_3
    x = r * r
    sine, cosine = _SIN[10], _COS[10]
    for j in range(9, -1, -1):
        sine = sine * x + _SIN[j]
        cosine = cosine * x + _COS[j]
    sign = 1 - 2 * (k - 2 * math.floor(k * 0.5))
    return sign * cosine, sign * r * sine


@compiled(fastmath={"contract"}, error_model="numpy")
def _set_joints(joints: Array, q: Array, first: int, low: int, state: Array) -> None:
    """Write cosines, sines and values of all joints, whose first is a column of q, from row ``low`` on."""
    for i in range(1, joints.shape[1]):
        rate = joints[32, i]
        own = state[i]
        cosines, sines, values = own[30], own[31], own[32]
        largest = 0.0
        for t in range(values.size):
            values[t] = q[low + t, first + i - 1]
            largest = max(largest, abs(values[t] * rate))
        if largest < _LARGEST_ANGLE:
            for t in range(values.size):
                cosines[t], sines[t] = _cos_sin(values[t] * rate)
        else:
            for t in range(values.size):
                cosines[t], sines[t] = math.cos(values[t] * rate), math.sin(values[t] * rate)


@compiled(fastmath={"contract"}, error_model="numpy")
def _set_motors(tree: TreeArrays, q: Array, low: int, at_base: bool, state: Array) -> None:
    """Write the motors of all bodies, from the world or from the base, for the configurations from row ``low`` on."""
    joints, parent, first = tree
    _set_joints(joints, q, first, low, state)
    lanes = state.shape[2]
    for t in range(lanes):
        for k in range(8):
            state[0, k, t] = q[low + t, k] if first and not at_base else 1.0 * (k == 0)
    for i in range(1, joints.shape[1]):
        K = load_rows(joints, 0, 32, i)
        before, own = state[parent[i]], state[i]
        for t in range(lanes):
            c, s, x = load_rows(own, 30, 3, t)
            store_rows(own, 0, 35, t, motor_product(load_rows(before, 0, 8, t), joint_motor(K, x, c, s)))


@compiled(fastmath={"contract"}, error_model="numpy")
def link_motors(tree: TreeArrays, places: Array, homes: Array, q: Array, rows: tuple[int, int], out: Array) -> None:
    """Write the motors of links to ``out`` (N, links, 8): those of the bodies ``places`` times ``homes`` (8, links)."""
    start, stop = rows
    lanes = min(LANES, stop - start)
    state, moved_homes = np.empty((tree[0].shape[1], 35, lanes)), np.empty((8, lanes))
    for tile in range(start, stop, lanes):
        low = min(tile, stop - lanes)  # the last tile has some configurations again
        _set_motors(tree, q, low, False, state)
        for k in range(len(places)):
            home, body = load_rows(homes, 0, 8, k), state[places[k]]
            for t in range(lanes):
                store_rows(moved_homes, 0, 35, t, motor_product(load_rows(body, 0, 8, t), home))
            for t in range(lanes):
                for j in range(8):
                    out[low + t, k, j] = moved_homes[j, t]


@compiled(fastmath={"contract"}, error_model="numpy")
def jacobians(
    tree: TreeArrays,
    place: tuple[int, int],
    homes: Array,
    view: int,
    q: Array,
    rows: tuple[int, int],
    out: Array,
) -> None:
    """Write the twists of a link, (body, column of ``homes``), for unit velocities to ``out`` (N, 6, velocities).

    ``view`` 0: in the frame of the base, 1: in that of the link, 2: at the link's origin along the axes of the base.
    """
    (joints, parent, first), (start, stop) = tree, rows
    lanes = min(LANES, stop - start)
    bodies, leading = joints.shape[1], 6 if first else 0
    state, tool = np.empty((bodies, 35, lanes)), np.empty((12, lanes))
    columns = np.zeros((bodies - 1 + leading, 6, lanes))
    home = load_rows(homes, 0, 8, place[1])
    for tile in range(start, stop, lanes):
        low = min(tile, stop - lanes)
        _set_motors(tree, q, low, False, state)
        body = state[place[0]]
        for t in range(lanes):
            store_rows(tool, 0, 35, t, frame_of(motor_product(load_rows(body, 0, 8, t), home)))
        if view != 1:
            for k in range(9 if view == 2 else 12):
                tool[k] = 1.0 if k in (0, 4, 8) else 0.0
        i = place[0]
        while i > 0:
            S, column, own = load_rows(joints, 33, 6, i), columns[leading + i - 1], state[i]
            for t in range(lanes):
                axis = twist_in_parent(frame_of(load_rows(own, 0, 8, t)), S)
                store_rows(column, 0, 35, t, twist_in_child(load_rows(tool, 0, 12, t), axis))
            i = parent[i]
        for k in range(leading):
            unit = (1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2), 1.0 * (k == 3), 1.0 * (k == 4), 1.0 * (k == 5))
            column, own = columns[k], state[0]
            for t in range(lanes):
                axis = twist_in_parent(frame_of(load_rows(own, 0, 8, t)), unit)
                store_rows(column, 0, 35, t, twist_in_child(load_rows(tool, 0, 12, t), axis))
        for t in range(lanes):
            for k in range(6):
                for j in range(len(columns)):
                    out[low + t, k, j] = columns[j, k, t]


@compiled(fastmath={"contract"}, error_model="numpy")
def inverse_dynamics(
    tree: TreeArrays,
    gravity: tuple[float, float, float],
    q: Array,
    v: Array,
    a: Array,
    rows: tuple[int, int],
    out: Array,
) -> None:
    """Write generalized forces to ``out`` (N, velocities), by the recursion of Newton and Euler."""
    (joints, parent, first), (start, stop) = tree, rows
    lanes = min(LANES, stop - start)
    bodies, leading = joints.shape[1], 6 if first else 0
    state = np.empty((bodies, 35, lanes))
    base, at_rest = state[0], (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    for tile in range(start, stop, lanes):
        low = min(tile, stop - lanes)
        _set_joints(joints, q, first, low, state)
        H = load_rows(joints, 39, 10, 0)
        for t in range(lanes):
            V, A = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), at_rest
            if first:
                x, y, z = q[low + t], v[low + t], a[low + t]
                A = twist_in_child(frame_of((x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])), at_rest)
                A = added((z[0], z[1], z[2], z[3], z[4], z[5]), A)
                V = (y[0], y[1], y[2], y[3], y[4], y[5])
            store_rows(base, 12, 35, t, V)
            store_rows(base, 18, 35, t, A)
            store_rows(base, 24, 35, t, net_wrench(H, V, A))
        for i in range(1, bodies):
            K, S, H = load_rows(joints, 0, 32, i), load_rows(joints, 33, 6, i), load_rows(joints, 39, 10, i)
            before, own, j = state[parent[i]], state[i], leading + i - 1
            speeds, rises = own[33], own[34]
            for t in range(lanes):
                speeds[t], rises[t] = v[low + t, j], a[low + t, j]
            for t in range(lanes):
                c, s, x, speed, rise = load_rows(own, 30, 5, t)
                X = frame_of(joint_motor(K, x, c, s))
                V, A = moved(X, S, speed, rise, load_rows(before, 12, 6, t), load_rows(before, 18, 6, t))
                store_rows(own, 0, 35, t, X)
                store_rows(own, 12, 35, t, V)
                store_rows(own, 18, 35, t, A)
                store_rows(own, 24, 35, t, net_wrench(H, V, A))
        for i in range(bodies - 1, 0, -1):
            S, before, own = load_rows(joints, 33, 6, i), state[parent[i]], state[i]
            for t in range(lanes):
                f = load_rows(own, 24, 6, t)
                store_rows(own, 30, 35, t, (power(S, f),))
                f = added(load_rows(before, 24, 6, t), wrench_in_parent(load_rows(own, 0, 12, t), f))
                store_rows(before, 24, 35, t, f)
        for t in range(lanes):
            for k in range(leading):
                out[low + t, k] = base[24 + k, t]
            for i in range(1, bodies):
                out[low + t, leading + i - 1] = state[i, 30, t]


@compiled(fastmath={"contract"}, error_model="numpy")
def mass_matrices(tree: TreeArrays, q: Array, rows: tuple[int, int], out: Array) -> None:
    """Write mass matrices to ``out`` (N, velocities, velocities), by composite bodies in the frame of the base.

    The entry of joints i and j, j on the way from i to the base, is the pairing of S_j with the momentum of all bodies
    behind i that move by S_i.
    """
    (joints, parent, first), (start, stop) = tree, rows
    lanes = min(LANES, stop - start)
    bodies, leading = joints.shape[1], 6 if first else 0
    state, composites = np.empty((bodies, 35, lanes)), np.empty((bodies, 10, lanes))
    axes, wrench = np.zeros((bodies - 1 + leading, 6, lanes)), np.empty((6, lanes))
    for k in range(leading):
        axes[k, k] = 1.0
    for tile in range(start, stop, lanes):
        low = min(tile, stop - lanes)
        out[low : low + lanes] = 0.0
        _set_motors(tree, q, low, True, state)
        for i in range(bodies):
            S, H = load_rows(joints, 33, 6, i), load_rows(joints, 39, 10, i)
            own, composite, axis = state[i], composites[i], axes[max(0, leading + i - 1)]
            for t in range(lanes):
                X = frame_of(load_rows(own, 0, 8, t))
                store_rows(composite, 0, 35, t, inertia_in_parent(X, H))
                if i > 0:
                    store_rows(axis, 0, 35, t, twist_in_parent(X, S))
        for i in range(bodies - 1, 0, -1):
            for k in range(10):
                for t in range(lanes):
                    composites[parent[i], k, t] += composites[i, k, t]
        for j in range(leading + bodies - 1):
            i = max(0, j - leading + 1)
            composite, axis = composites[i], axes[j]
            for t in range(lanes):
                store_rows(wrench, 0, 35, t, momentum(load_rows(composite, 0, 10, t), load_rows(axis, 0, 6, t)))
            while i >= 0:
                for k in range(1 if i else leading):
                    other = leading + i - 1 if i else k
                    for t in range(lanes):
                        entry = power(load_rows(axes[other], 0, 6, t), load_rows(wrench, 0, 6, t))
                        out[low + t, j, other] = entry
                        out[low + t, other, j] = entry
                i = parent[i]
