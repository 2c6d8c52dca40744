"""Kinematics and dynamics of configurations: compiled for arrays of NumPy, formulas for tensors, with gradients."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._threads import for_each_slice
from clifford_rand._typing import NDArray
from clifford_rand.basis.coefficients import as_tensor, constant, is_tensor, namespace
from clifford_rand.compiler.decorator import has_compiler
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

_THREAD = 20_000  # joints × configurations that are worth a thread: a millisecond
_FLOAT = np.dtype(np.float64)
_PIVOT = 16 * np.finfo(np.float64).eps  # times n; over the diagonal, pivots of singular matrices are 2 eps at most


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


_ZERO: Any = _Zero()
_NO_TWIST = (_ZERO,) * 6


def _pruned(values: Any) -> Numbers:
    return tuple(float(x) if x else _ZERO for x in values)


def _stack(xp: Any, values: Sequence[Any], like: Any) -> Any:
    """Return numbers of shape (...) as an array (..., n); constants take the shape of ``like``."""
    return xp.stack(
        [(like * 0 + (0.0 if x is _ZERO else x)) if isinstance(x, int | float | _Zero) else x for x in values], -1
    )


class ArrayRobot:
    """The functions of a tree on arrays of one library, ``xp``; products leave out constants that are zero."""

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
        cosine, sine = (self._xp.cos(x * rate), self._xp.sin(x * rate)) if rate else (1.0, _ZERO)
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
            X = (1.0, _ZERO, _ZERO, _ZERO, 1.0, _ZERO, _ZERO, _ZERO, 1.0, *(X[9:] if view == 2 else (_ZERO,) * 3))
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
    return tuple(_ZERO if x is None else x[..., k] for k in places)


class Evaluation:
    """The functions of one tree, on what `arrays` returns.

    Attributes
    ----------
    first : int
        The column of q with the value of the first joint: 8 behind the motor of a floating base, else 0.
    velocities : int
        The number of velocities of a configuration.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        n = len(tree.joint_names)
        self.first, self.velocities = 8 * tree.is_floating, n + 6 * tree.is_floating
        self._size = n + self.first
        self._constants = tree.joints, tree.parent, self.first
        self._zero = np.zeros(self.velocities)
        self._least = max(1, _THREAD // (n + 1))
        self._bodies = tree.places.tolist()
        self._links = [(tree.places[k : k + 1], tree.homes[:, k : k + 1].copy()) for k in range(len(tree.link_names))]
        self._by_library: dict[str, ArrayRobot] = {}

    def __reduce__(self) -> Any:
        return Evaluation, (self.tree,)

    def arrays(self, owner: str, /, **values: Any) -> list[Any]:
        """Return a configuration ``q``, and velocities of any other name, as float64 arrays; as tensors if one is."""
        like = None
        for value in values.values():
            if value.__class__ is not np.ndarray and is_tensor(value):
                like = value
        return [self._array(value, name, owner, like) for name, value in values.items()]

    def _array(self, value: Any, name: str, owner: str, like: Any) -> Any:
        if value.__class__ is np.ndarray and value.dtype is _FLOAT:
            array: Any = value
        elif like is not None and is_tensor(value):
            array = as_tensor(value, name, owner)
        else:
            array = np.asarray(as_real(value, name, owner, finite=False), dtype=_FLOAT)
        size = self._size if name == "q" else self.velocities
        if array.ndim == 0 or array.shape[-1] != size:
            raise fail(name, owner, f"of shape (..., {size})", describe(f"shape {tuple(array.shape)}"))
        if array.__class__ is np.ndarray:
            if not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():
                raise fail(name, owner, "finite", describe("NaN or infinite entries"))
            return array if like is None else constant(array, like, owner)
        return array

    def motors(self, q: Any, link: int | None) -> Any:
        """Return motors (..., 1, 8) of a link, (..., links, 8) of all for None."""
        if not _by_loops(q):
            return self._formulas(q).link_motors(q, range(len(self._links)) if link is None else [link])
        return self._motor_rows(q, *((self.tree.places, self.tree.homes) if link is None else self._links[link]))

    def body_motors(self, q: Any) -> Any:
        """Return motors (..., bodies, 8)."""
        if not _by_loops(q):
            return self._formulas(q).body_motors(q)
        n = len(self.tree.parent)
        return self._motor_rows(q, np.arange(n), np.tile(np.array([ONE]).T, n))

    def jacobian(self, q: Any, link: int, view: int) -> Any:
        """Return twists (..., 6, velocities), the views those of `loops.jacobians`."""
        if not _by_loops(q):
            return self._formulas(q).jacobian(q, link, view)
        place = self._bodies[link], link
        return self._run(_loops().jacobians, (place, self.tree.homes, view), [q], (6, self.velocities))

    def forces(self, q: Any, v: Any, a: Any, gravity: Sequence[float]) -> Any:
        """Return generalized forces (..., velocities); v and a may be None, for zero."""
        if not _by_loops(q):
            return self._formulas(q).inverse_dynamics(q, v, a, gravity)
        rows = [q, *(self._zero if x is None else x for x in (v, a))]
        return self._run(_loops().inverse_dynamics, (gravity,), rows, (self.velocities,))

    def mass_matrix(self, q: Any) -> Any:
        """Return mass matrices (..., velocities, velocities)."""
        if not _by_loops(q):
            return self._formulas(q).mass_matrix(q)
        return self._run(_loops().mass_matrices, (), [q], (self.velocities,) * 2)

    def _formulas(self, q: Any) -> ArrayRobot:
        xp = namespace(q) if is_tensor(q) else np
        robot = self._by_library.get(xp.__name__)
        return self._by_library.setdefault(xp.__name__, ArrayRobot(self.tree, xp)) if robot is None else robot

    def _motor_rows(self, q: Any, places: NDArray[Any], homes: NDArray[Any]) -> NDArray[Any]:
        return self._run(_loops().link_motors, (places, homes), [q], (len(places), 8))

    def _run(self, loop: Any, constants: tuple[Any, ...], arrays: list[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Return an array (..., *shape) that a loop fills, in threads where there is much to do."""
        batch = arrays[0].shape[:-1]
        for array in arrays:
            if array.shape[:-1] != batch:
                batch = np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
                arrays = [np.broadcast_to(array, (*batch, array.shape[-1])) for array in arrays]
                break
        rows = []
        for array in arrays:
            flags = array.flags
            if not (flags.c_contiguous and flags.writeable):  # of one kind: there is one machine code
                array = np.array(array, order="C")
            rows.append(array.reshape(-1, array.shape[-1]) if batch else array[None])
        count = math.prod(batch)
        out = np.empty((count, *shape))
        arguments = self._constants, *constants, *rows
        if count >= 2 * self._least:
            for_each_slice(lambda part: loop(*arguments, (part.start, part.stop), out), count, least=self._least)
        elif count:
            loop(*arguments, (0, count), out)
        return out.reshape(*batch, *shape) if batch else out[0]


@functools.cache
def _loops() -> Any:
    from clifford_rand.robots import loops

    return loops


def _by_loops(q: Any) -> bool:
    return q.__class__ is np.ndarray and has_compiler()


def check_regular(M: NDArray[Any]) -> None:
    """Raise LinAlgError if one of the mass matrices (..., n, n) is singular to rounding.

    The pivots of M = L Lᵀ are to be more than rounding of the diagonal: L_kk²/M_kk is the share of the kinetic energy
    of joint k that the joints before it cannot take from it, whatever the units of the joints are.
    """
    pivots = np.diagonal(np.linalg.cholesky(M), axis1=-2, axis2=-1) ** 2
    if (pivots <= M.shape[-1] * _PIVOT * np.diagonal(M, axis1=-2, axis2=-1)).any():
        raise np.linalg.LinAlgError("a pivot is zero to rounding")
