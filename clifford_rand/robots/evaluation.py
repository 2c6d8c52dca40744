"""The functions of a tree of joints on configurations: compiled loops for NumPy's arrays, formulas for tensors."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._threads import for_each_slice
from clifford_rand._typing import NDArray
from clifford_rand.basis.arrays import as_tensor, constant, is_tensor, namespace
from clifford_rand.compiler.decorator import has_compiler
from clifford_rand.robots.arrays import ArrayRobot
from clifford_rand.robots.tree import ONE, Tree

_THREAD = 20_000  # joints × configurations that are worth a thread: a millisecond
_FLOAT = np.dtype(np.float64)
_PIVOT = 16 * np.finfo(np.float64).eps  # times n; over the diagonal, pivots of singular matrices are 2 eps at most


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
