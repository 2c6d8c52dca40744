"""Point groups of molecules: all mirrors that keep the atoms, what they generate as versors, axes as eigenblades."""

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

import clifford_rand as cr

Atoms = dict[str, NDArray[Any]]
KNOWN = {"ammonia, C3v": 6, "methane, Td": 24, "benzene, D6h": 24, "SF6, Oh": 48, "B12H12, Ih": 120}  # Schoenflies
COLORS = {2: "C0", 3: "C1", 4: "C2", 5: "C3", 6: "C4"}


def main(folder: Path) -> dict[str, float]:
    """Save the picture; return the order of each group, and errors against a count by permutations of atoms."""
    figures: dict[str, float] = {}
    found: dict[str, tuple[Atoms, list[tuple[int, NDArray[Any]]], int]] = {}
    wrong = 0
    for name, atoms in molecules().items():
        mirrors = mirrors_of(atoms)
        group = generated(mirrors)
        kept = group.is_isometry() and all(
            same(points, F @ points.T) for points in atoms.values() for F in group.matrix
        )
        order = len(group.matrix)
        wrong += (order != count_by_matching(atoms)) + (order != KNOWN[name]) + (not kept)
        found[name] = atoms, axes_of(group), len(mirrors)
        figures[f"{name}: order"] = float(order)
        figures[f"{name}: mirrors"] = float(len(mirrors))
    figures["error of the orders"] = float(wrong)
    orders = [n for n, _ in found["B12H12, Ih"][1]]
    wanted = {5: 6, 3: 10, 2: 15}  # of the icosahedron: corners, faces, edges, in pairs
    figures["error of the icosahedron's axes"] = float(sum(abs(orders.count(n) - k) for n, k in wanted.items()))
    draw(folder / "molecule_symmetry.png", found)
    return figures


def molecules() -> dict[str, Atoms]:
    """Return positions of the atoms of each kind, any lengths, the center at 0."""
    ring = np.array([[np.cos(t), np.sin(t), 0] for t in np.arange(6) * np.pi / 3])
    golden = (1 + np.sqrt(5)) / 2
    ico = np.array([np.roll([0, s, t * golden], k) for k in range(3) for s in (1, -1) for t in (1, -1)])
    cube = np.array([[i, j, k] for i in (1, -1) for j in (1, -1) for k in (1, -1)])
    octahedron = np.concatenate([np.eye(3), -np.eye(3)])
    return {
        "ammonia, C3v": {"N": np.array([[0, 0, 0.4]]), "H": 0.9 * ring[::2] - [0, 0, 0.1]},
        "methane, Td": {"C": np.zeros((1, 3)), "H": 0.65 * cube[cube.prod(1) > 0]},
        "benzene, D6h": {"C": 0.7 * ring, "H": 1.25 * ring},
        "SF6, Oh": {"S": np.zeros((1, 3)), "F": 1.1 * octahedron},
        "B12H12, Ih": {"B": ico / 2.2, "H": ico / 1.5},
    }


def same(points: NDArray[Any], moved: NDArray[Any]) -> bool:
    """Tell whether moved points (3, n) are the points (n, 3) in another order."""
    return bool((np.abs(points[:, :, None] - moved[None]).max(axis=1).min(axis=0) < 1e-9).all())


def mirrors_of(atoms: Atoms) -> list[cr.Multivector]:
    """Return unit normals of the planes through 0 in which the molecule is its own image.

    A mirror swaps two equal atoms, or holds all: its normal is a difference of equal atoms, or normal to two atoms.
    """
    alg = cr.Algebra(3)
    places = [alg.vector(x) for points in atoms.values() for x in points]
    found: list[cr.Multivector] = []
    candidates = [alg.vector(x - y) for points in atoms.values() for x, y in combinations(points, 2)]
    candidates += [(x ^ y).dual() for x, y in combinations(places, 2)]
    for normal in candidates:
        if normal.norm() < 1e-6 or any((normal ^ one).norm() < 1e-9 for one in found):
            continue
        unit = normal.normalized()
        images = {kind: (-unit * alg.vector(points) * unit).grade(1).values.T for kind, points in atoms.items()}
        if all(same(points, images[kind]) for kind, points in atoms.items()):
            found.append(unit)
    return found


def generated(mirrors: list[cr.Multivector]) -> cr.LinearMap:
    """Return the group that reflections generate, as a batch of maps: ± V x V⁻¹ with + for even versors."""
    alg = mirrors[0].algebra
    group = [alg.scalar(1.0).dense()]
    seen = {key(group[0])}
    for versor in group:  # it grows while it is read
        for normal in mirrors:
            turned = (versor * normal).dense()
            if key(turned) not in seen:
                seen.add(key(turned))
                group.append(turned)
    even = [V.even().norm() > 0.5 for V in group]
    maps = cr.LinearMap.from_versor(alg.multivector(np.stack([V.values for V in group])))
    signed: cr.LinearMap = maps * np.where(even, 1.0, -1.0)
    return signed


def key(V: cr.Multivector) -> tuple[float, ...]:
    """Return rounded components, the same for V and -V."""
    values = np.round(V.values, 6)
    first = values[np.flatnonzero(values)[0]]
    return tuple((values * np.sign(first) + 0.0).tolist())


def count_by_matching(atoms: Atoms) -> int:
    """Return the order another way: maps of two atoms to two of their kinds, and of their normal to ± the images'."""
    places = [(kind, x) for kind, points in atoms.items() for x in points]
    frame = next(two for two in combinations(places, 2) if np.linalg.norm(np.cross(two[0][1], two[1][1])) > 1e-6)
    x, y = (place for _, place in frame)
    base = np.linalg.inv(np.stack([x, y, np.cross(x, y)], axis=1))
    count = 0
    for u, v, sign in product(*(atoms[kind] for kind, _ in frame), (1, -1)):
        F = np.stack([u, v, sign * np.cross(u, v)], axis=1) @ base
        if np.abs(F.T @ F - np.eye(3)).max() < 1e-9:
            count += all(same(points, F @ points.T) for points in atoms.values())
    return count


def axes_of(group: cr.LinearMap) -> list[tuple[int, NDArray[Any]]]:
    """Return (n, direction) of the axes of n-fold turns: eigenvectors to 1 of the maps with determinant 1."""
    lines: list[NDArray[Any]] = []
    counts: list[int] = []
    for i, (det, trace) in enumerate(zip(group.det(), group.trace(), strict=True)):
        if det < 0 or trace > 3 - 1e-6:
            continue
        found = [one for one in group[i].eigenblades() if one.blade.grades == (1,)]
        (axis,) = (one.blade.values for one in found if abs(one.factor - 1) < 1e-6)
        place = next((k for k, line in enumerate(lines) if abs(abs(line @ axis) - 1) < 1e-6), None)
        if place is None:
            lines.append(axis)
            counts.append(2)
        else:
            counts[place] += 1
    return list(zip(counts, lines, strict=True))


def draw(path: Path, found: dict[str, tuple[Atoms, list[tuple[int, NDArray[Any]]], int]]) -> None:
    """Draw the atoms and the axes of each molecule."""
    figure = Figure(figsize=(15, 4.4), layout="constrained")
    for place, (name, (atoms, axes, mirrors)) in enumerate(found.items()):
        ax: Any = figure.add_subplot(1, 5, place + 1, projection="3d")
        for n, line in axes:
            ends = np.outer([-1.5, 1.5], line)
            ax.plot(*ends.T, color=COLORS[n], lw=1.4 if n > 2 else 0.9)
        for points, color, size in zip(atoms.values(), ("0.2", "0.85"), (120, 45), strict=False):
            ax.scatter(*points.T, c=color, s=size, edgecolors="k", depthshade=False)
        counts = ", ".join(f"{[m for m, _ in axes].count(n)} C{n}" for n in sorted({m for m, _ in axes}, reverse=True))
        ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), box_aspect=(1, 1, 1))
        ax.set_title(f"{name}\n{counts}; {mirrors} mirrors", fontsize=10)
        ax.view_init(20, 25)
        ax.set_axis_off()
    marks = [Line2D([], [], color=color, label=f"{n}-fold axis") for n, color in COLORS.items()]
    figure.legend(handles=marks, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=110)
