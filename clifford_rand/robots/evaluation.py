"""The functions of a tree of joints on configurations: compiled loops for NumPy's arrays, formulas for tensors."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._threads import for_each_slice
from clifford_rand._typing import NDArray
from clifford_rand.basis.arrays import as_tensor, is_tensor, namespace
from clifford_rand.compiler.decorator import has_compiler
from clifford_rand.robots.arrays import ArrayRobot
from clifford_rand.robots.tree import ONE, Tree

_THREAD = 20_000  # joints × configurations that are worth a thread: a millisecond


class Evaluation:
    """The functions of one tree; ``owner`` is the name of the public function in errors.

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
        self._least = max(1, _THREAD // (n + 1))
        self._links = [(tree.places[k : k + 1], tree.homes[:, k : k + 1].copy()) for k in range(len(tree.link_names))]
        self._by_library: dict[str, ArrayRobot] = {}

    def __reduce__(self) -> Any:
        return Evaluation, (self.tree,)

    def array(self, value: Any, name: str, owner: str) -> Any:
        """Return a configuration ("q"), or velocities, as a float64 array or the tensor that it is."""
        if type(value) is np.ndarray and value.dtype == np.float64:
            array: Any = value
        elif is_tensor(value):
            array = as_tensor(value, name, owner)
        else:
            array = np.asarray(as_real(value, name, owner, finite=False), dtype=np.float64)
        size = self._size if name == "q" else self.velocities
        if array.ndim == 0 or array.shape[-1] != size:
            raise fail(name, owner, f"of shape (..., {size})", describe(f"shape {tuple(array.shape)}"))
        if array.__class__ is np.ndarray and not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():
            raise fail(name, owner, "finite", describe("NaN or infinite entries"))
        return array

    def motors(self, q: Any, link: int | None, owner: str) -> Any:
        """Return motors (..., 1, 8) of a link, (..., links, 8) of all for None."""
        tree = self.tree
        if not _by_loops(q):
            links = range(len(self._links)) if link is None else [link]
            return self._arrays(q).link_motors(self.array(q, "q", owner), links)
        places, homes = (tree.places, tree.homes) if link is None else self._links[link]
        return self._motor_rows(q, places, homes, owner)

    def body_motors(self, q: Any, owner: str) -> Any:
        """Return motors (..., bodies, 8)."""
        if not _by_loops(q):
            return self._arrays(q).body_motors(self.array(q, "q", owner))
        n = len(self.tree.parent)
        return self._motor_rows(q, np.arange(n), np.tile(np.array([ONE]).T, n), owner)

    def jacobian(self, q: Any, link: int, view: int, owner: str) -> Any:
        """Return twists (..., 6, velocities), the views those of `loops.jacobians`."""
        if not _by_loops(q):
            return self._arrays(q).jacobian(self.array(q, "q", owner), link, view)
        tree, place = self.tree, (int(self.tree.places[link]), link)

        def fill(loops: Any, rows: Any, part: Any, out: Any) -> None:
            loops.jacobians(tree.joints, tree.parent, self.first, place, tree.homes, view, *rows, part, out)

        return self._run(fill, {"q": q}, (6, self.velocities), owner)

    def forces(self, q: Any, v: Any, a: Any, gravity: Sequence[float], owner: str) -> Any:
        """Return generalized forces (..., velocities)."""
        if not _by_loops(q, v, a):
            like = next((x for x in (q, v, a) if is_tensor(x)), q)
            q, v, a = (self.array(x, name, owner) for x, name in ((q, "q"), (v, "v"), (a, "a")))
            return self._arrays(like).inverse_dynamics(q, v, a, gravity)
        tree = self.tree

        def fill(loops: Any, rows: Any, part: Any, out: Any) -> None:
            loops.inverse_dynamics(tree.joints, tree.parent, self.first, gravity, *rows, part, out)

        return self._run(fill, {"q": q, "v": v, "a": a}, (self.velocities,), owner)

    def mass_matrix(self, q: Any, owner: str) -> Any:
        """Return mass matrices (..., velocities, velocities)."""
        if not _by_loops(q):
            return self._arrays(q).mass_matrix(self.array(q, "q", owner))
        tree = self.tree

        def fill(loops: Any, rows: Any, part: Any, out: Any) -> None:
            loops.mass_matrices(tree.joints, tree.parent, self.first, *rows, part, out)

        return self._run(fill, {"q": q}, (self.velocities,) * 2, owner)

    def _arrays(self, q: Any) -> ArrayRobot:
        xp = namespace(q) if is_tensor(q) else np
        robot = self._by_library.get(xp.__name__)
        return self._by_library.setdefault(xp.__name__, ArrayRobot(self.tree, xp)) if robot is None else robot

    def _motor_rows(self, q: Any, places: NDArray[Any], homes: NDArray[Any], owner: str) -> NDArray[Any]:
        tree = self.tree

        def fill(loops: Any, rows: Any, part: Any, out: Any) -> None:
            loops.link_motors(tree.joints, tree.parent, self.first, places, homes, *rows, part, out)

        return self._run(fill, {"q": q}, (len(places), 8), owner)

    def _run(
        self, fill: Callable[..., None], named: dict[str, Any], shape: tuple[int, ...], owner: str
    ) -> NDArray[Any]:
        """Return an array (..., *shape) that a loop fills, in threads where there is much to do."""
        from clifford_rand.robots import loops

        arrays = [self.array(value, name, owner) for name, value in named.items()]
        batch = arrays[0].shape[:-1]
        for array in arrays:
            if array.shape[:-1] != batch:
                batch = np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
                arrays = [np.broadcast_to(array, (*batch, array.shape[-1])) for array in arrays]
                break
        count = math.prod(batch)
        rows = []
        for array in arrays:
            flags = array.flags
            if not (flags.c_contiguous and flags.writeable):  # of one kind: there is one machine code
                array = np.array(array, order="C")
            rows.append(array.reshape(count, array.shape[-1]))
        out = np.empty((count, *shape))
        if count < 2 * self._least:
            if count:
                fill(loops, rows, (0, count), out)
        else:
            for_each_slice(lambda part: fill(loops, rows, (part.start, part.stop), out), count, least=self._least)
        return out[0] if not batch else out.reshape(*batch, *shape)


def _by_loops(*arguments: Any) -> bool:
    return has_compiler() and not any(x.__class__ is not np.ndarray and is_tensor(x) for x in arguments)
