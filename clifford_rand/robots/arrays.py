"""Kinematics and dynamics on arrays of any library, with its gradients: the formulas on numbers of shape (...).

`clifford_rand.robots.loops` computes the same for NumPy's float64. Constants that are zero are left out of products.
"""

from collections.abc import Sequence
from typing import Any

from clifford_rand.robots.formulas import (
    Numbers,
    added,
    frame_of,
    joint_motor,
    motor_product,
    moved,
    net_wrench,
    power,
    twist_in_child,
    twist_in_parent,
    wrench_in_parent,
)
from clifford_rand.robots.tree import ONE, Tree


class _Zero:
    """The number zero, which leaves no operation behind."""

    __array_ufunc__ = None

    def __mul__(self, other: Any) -> Any:
        return self

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return other if other is self else -other

    def __rsub__(self, other: Any) -> Any:
        return other

    def __neg__(self) -> Any:
        return self


ZERO: Any = _Zero()
_NO_TWIST = (ZERO,) * 6


def _pruned(values: Any) -> Numbers:
    return tuple(float(x) if x else ZERO for x in values)


def _stack(xp: Any, values: Sequence[Any], like: Any) -> Any:
    """Return numbers of shape (...) as an array (..., n); constants take the shape of ``like``."""
    return xp.stack(
        [(like * 0 + (0.0 if x is ZERO else x)) if isinstance(x, int | float | _Zero) else x for x in values], -1
    )


class ArrayRobot:
    """The functions of a tree on arrays of one library, ``xp``."""

    def __init__(self, tree: Tree, xp: Any) -> None:
        self._tree, self._xp = tree, xp
        self._first, self._leading = (8, 6) if tree.is_floating else (0, 0)
        table = tree.joints.T
        self._constants = [(_pruned(row[:32]), float(row[32]), _pruned(row[33:39]), _pruned(row[39:])) for row in table]
        self._homes = [_pruned(home) for home in tree.homes.T]
        self._parent = tree.parent.tolist()

    def _joint(self, i: int, q: Any) -> Numbers:
        K, rate, _, _ = self._constants[i]
        x = q[..., self._first + i - 1]
        cosine, sine = (self._xp.cos(x * rate), self._xp.sin(x * rate)) if rate else (1.0, ZERO)
        return joint_motor(K, x, cosine, sine)

    def _base(self, q: Any) -> Numbers:
        return tuple(q[..., k] for k in range(8)) if self._first else _pruned(ONE)

    def _motors(self, q: Any) -> list[Numbers]:
        motors = [self._base(q)]
        for i, before in enumerate(self._parent[1:], 1):
            motors.append(motor_product(motors[before], self._joint(i, q)))
        return motors

    def link_motors(self, q: Any, links: Sequence[int]) -> Any:
        """Return motors (..., links, 8) from configurations."""
        motors, like = self._motors(q), q[..., 0]
        parts = [motor_product(motors[int(self._tree.places[k])], self._homes[k]) for k in links]
        return self._xp.stack([_stack(self._xp, part, like) for part in parts], -2)

    def body_motors(self, q: Any) -> Any:
        """Return motors (..., bodies, 8)."""
        return self._xp.stack([_stack(self._xp, part, q[..., 0]) for part in self._motors(q)], -2)

    def jacobian(self, q: Any, link: int, view: int) -> Any:
        """Return twists (..., 6, velocities), the views those of `loops.jacobians`."""
        motors, like, body = self._motors(q), q[..., 0], int(self._tree.places[link])
        X = frame_of(motor_product(motors[body], self._homes[link]))
        if view != 1:
            X = (1.0, ZERO, ZERO, ZERO, 1.0, ZERO, ZERO, ZERO, 1.0, *(X[9:] if view == 2 else (ZERO,) * 3))
        columns = [_NO_TWIST] * (len(motors) - 1 + self._leading)
        while body > 0:
            axis = twist_in_parent(frame_of(motors[body]), self._constants[body][2])
            columns[self._leading + body - 1] = twist_in_child(X, axis)
            body = self._parent[body]
        for k in range(self._leading):
            unit = _pruned([float(j == k) for j in range(6)])
            columns[k] = twist_in_child(X, twist_in_parent(frame_of(motors[0]), unit))
        return self._xp.stack([_stack(self._xp, column, like) for column in columns], -1)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, gravity: Sequence[float]) -> Any:
        """Return generalized forces (..., velocities); v and a may be None, for zero."""
        ahead = self._leading
        at_rest = _pruned([0, 0, 0, *(-g for g in gravity)])
        twists, rises, frames = [_NO_TWIST], [at_rest], [frame_of(self._base(q))]
        if ahead:
            rises = [added(_columns(a, range(6)), twist_in_child(frames[0], at_rest))]
            twists = [_columns(v, range(6))]
        forces = [net_wrench(self._constants[0][3], twists[0], rises[0]) if ahead else _NO_TWIST]
        for i, before in enumerate(self._parent[1:], 1):
            _, _, S, H = self._constants[i]
            speed, rise = _columns(v, [ahead + i - 1])[0], _columns(a, [ahead + i - 1])[0]
            frames.append(frame_of(self._joint(i, q)))
            twist, acceleration = moved(frames[i], S, speed, rise, twists[before], rises[before])
            twists.append(twist)
            rises.append(acceleration)
            forces.append(net_wrench(H, twist, acceleration))
        torques: list[Any] = []
        for i in range(len(forces) - 1, 0, -1):
            torques.append(power(self._constants[i][2], forces[i]))
            before = self._parent[i]
            forces[before] = added(forces[before], wrench_in_parent(frames[i], forces[i]))
        like = sum((x[..., 0] for x in (v, a) if x is not None), q[..., 0])
        return _stack(self._xp, [*(forces[0] if ahead else ()), *reversed(torques)], like)

    def mass_matrix(self, q: Any) -> Any:
        """Return mass matrices (..., velocities, velocities): the forces of unit accelerations, without gravity."""
        n = q.shape[-1] - self._first + self._leading
        unit = q[..., None, :1] * 0 + self._xp.eye(n, dtype=q.dtype)
        return self.inverse_dynamics(q[..., None, :], None, unit, (0.0, 0.0, 0.0))


def _columns(x: Any, places: Any) -> Numbers:
    return tuple(ZERO if x is None else x[..., k] for k in places)
