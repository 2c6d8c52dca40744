"""Which activation patterns do random gates find? The plane, where n rows have 2n patterns: a picture and a table.

    python examples/chambers_2d.py [PICTURE]

A pattern 1(Xu ≥ 0) is a chamber, an arc of directions u between two that are orthogonal to a row. Gaussian directions
visit a chamber in proportion to its angle, and for n random rows the smallest has about 1/(2n²) of the circle. A cross
product of one row lies on the border of two chambers; with a fair coin for its side it visits all 2n equally often.
With that row always on, as 1(0 ≥ 0) = 1 says, about a quarter of the chambers is never seen. Ten seconds on one core.
"""

import sys
from typing import Any

import numpy as np

from clifford_rand_nn import sample_gates

SAMPLERS = {
    "Gaussian directions": {"method": "gaussian"},
    "cross product, its row always on": {"method": "cross", "side": "on"},
    "cross product, random side": {"method": "cross", "side": "random"},
}
# Okabe and Ito's palette, made for colour-blind readers; markers and labels say the same.
COLOURS = dict(zip(SAMPLERS, ("#E69F00", "#CC79A7", "#0072B2"), strict=True))
NEVER = "#D55E00"
REACHED = {0: (NEVER, "never"), 1: ("#F0E442", "on one side"), 2: ("#56B4E9", "on both sides")}
SIZES, TRIALS, SHOWN, VISITS = (5, 10, 20, 40, 80), 25, 16, 8000
MOST = 2_000_000  # Gaussian draws for one X; the wait has no mean, some X would take for ever


def chambers(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return borders (2n,), angles (2n,) and patterns (2n, n) of the chambers of X (n, 2), in order of angle."""
    angle = np.arctan2(X[:, 1], X[:, 0])
    border = np.sort(np.concatenate([angle + np.pi / 2, angle - np.pi / 2]) % (2 * np.pi))
    width = np.diff(border, append=border[0] + 2 * np.pi)
    middle = border + width / 2
    return border, width, np.stack([np.cos(middle), np.sin(middle)], axis=1) @ X.T >= 0


def visits(X: np.ndarray, n_gates: int, rng: Any, **sampler: str) -> np.ndarray:
    """Return the chamber (n_gates,) of every sampled gate."""
    on = sample_gates(X, n_gates, bias=False, rng=rng, **sampler).on(X)  # (n, n_gates)
    key = {pattern.tobytes(): i for i, pattern in enumerate(np.packbits(chambers(X)[2], axis=1))}
    return np.array([key[pattern.tobytes()] for pattern in np.packbits(on, axis=0).T])


def reached_with_all_on(X: np.ndarray) -> np.ndarray:
    """Return how many of its two borders (2n,) each chamber is entered from when the row on the border is on."""
    _, _, patterns = chambers(X)
    changes = patterns != np.roll(patterns, 1, axis=0)  # the row of the border before each chamber
    before = (patterns & changes).any(axis=1)
    after = (patterns & np.roll(changes, -1, axis=0)).any(axis=1)
    return before.astype(int) + after


def wait(X: np.ndarray, rng: Any, **sampler: str) -> int:
    """Return how many gates are drawn until all 2n patterns were seen; MOST if more."""
    first = np.full(2 * len(X), -1)
    drawn, batch = 0, 8 * len(X)
    while (first < 0).any() and drawn < MOST:
        chamber, index = np.unique(visits(X, batch, rng, **sampler), return_index=True)
        new = first[chamber] < 0
        first[chamber[new]] = drawn + index[new]
        drawn, batch = drawn + batch, min(2 * batch, 200_000)
    return int(first.max()) + 1 if (first >= 0).all() else MOST


def expected_wait(probability: np.ndarray) -> float:
    """Return the mean wait for all outcomes, ∫ 1 - Π (1 - exp(-p_i t)) dt (Flajolet, Gardy and Thimonier 1992)."""
    s = np.linspace(-5, np.log(50 / probability.min()), 4000)  # t = exp(s)
    missing = -np.expm1(np.log1p(-np.exp(-probability[:, None] * np.exp(s))).sum(axis=0))
    return float(np.trapezoid(missing * np.exp(s), s) + np.exp(-5))


def measure(sizes: tuple[int, ...] = SIZES, trials: int = TRIALS) -> dict[str, np.ndarray]:
    """Return, for each of ``sizes`` and of ``trials`` Gaussian X, waits and smallest chambers, (sizes, trials)."""
    names = ("smallest", "gaussian", "gaussian expected", "cross", "missed")
    found = {name: np.empty((len(sizes), trials)) for name in names}
    for i, n in enumerate(sizes):
        for t in range(trials):
            rng = np.random.default_rng([n, t])
            X = rng.standard_normal((n, 2))
            probability = chambers(X)[1] / (2 * np.pi)
            found["smallest"][i, t] = probability.min()
            found["gaussian"][i, t] = wait(X, rng, method="gaussian")
            found["gaussian expected"][i, t] = expected_wait(probability)
            found["cross"][i, t] = wait(X, rng, method="cross", side="random")
            found["missed"][i, t] = np.mean(reached_with_all_on(X) == 0)
    return found


def uniform_wait(n: int) -> float:
    """Return the mean wait for 2n equally likely patterns, 2n (1 + 1/2 + … + 1/(2n))."""
    return 2 * n * float(np.sum(1 / np.arange(1, 2 * n + 1)))


def print_table(found: dict[str, np.ndarray], sizes: tuple[int, ...] = SIZES) -> None:
    """Print medians over X (means for the cross product, whose wait does not depend on X)."""
    print(f"Gates drawn until all 2n patterns were seen; {found['cross'].shape[1]} Gaussian X (n, 2) each")
    head = ("n", "2n", "smallest·2n²", "Gaussian", "its law", "/ n²", "cross", "its law", "gain", "missed, all on")
    print("".join(f"{name:>15}" if i in (2, 9) else f"{name:>10}" for i, name in enumerate(head)))
    for i, n in enumerate(sizes):
        middle = {name: float(np.median(values[i])) for name, values in found.items()}
        cross = found["cross"][i].mean()
        print(
            f"{n:10d}{2 * n:10d}{np.mean(found['smallest'][i]) * 2 * n**2:15.2f}{middle['gaussian']:10.0f}"
            f"{middle['gaussian expected']:10.0f}{middle['gaussian'] / n**2:10.1f}{cross:10.0f}{uniform_wait(n):10.0f}"
            f"{middle['gaussian'] / cross:10.1f}{found['missed'][i].mean():15.0%}"
        )


def picture(X: np.ndarray, found: dict[str, np.ndarray], sizes: tuple[int, ...] = SIZES) -> Any:
    """Return the figure: visits of three samplers, the chambers of X, and the waits."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 8.2), layout="constrained")
    figure.get_layout_engine().set(hspace=0.08)
    grid = figure.add_gridspec(2, 6, height_ratios=(1, 1.15))
    n, width = len(X), chambers(X)[1]
    reached = reached_with_all_on(X)
    laws = (width / (2 * np.pi), reached / (2 * n), np.full(2 * n, 1 / (2 * n)))
    first = None
    for i, (name, sampler) in enumerate(SAMPLERS.items()):
        ax = figure.add_subplot(grid[0, 2 * i : 2 * i + 2], sharey=first)
        first = first or ax
        share = np.bincount(visits(X, VISITS, i, **sampler), minlength=2 * n) / VISITS
        ax.bar(np.arange(2 * n), 100 * share, color=COLOURS[name], width=0.8, label="visited")
        ax.plot(np.arange(2 * n), 100 * laws[i], "k_", ms=7, mew=1.4, label="theory")
        never = np.flatnonzero(share == 0)
        title = f"{name}\n{np.count_nonzero(share)} of {2 * n} patterns in {VISITS} draws"
        if len(never):
            ax.plot(never, np.full(len(never), 0.3), "x", color=NEVER, ms=6, mew=1.8, label="never visited")
        ax.set_title(title, fontsize=10.5)
        ax.set_xlabel("chamber, in order of angle")
        ax.legend(frameon=False, fontsize=8.5, loc="upper right")
        ax.spines[["top", "right"]].set_visible(False)
        if i == 0:
            ax.set_ylabel("share of draws (%)")
    _draw_circle(figure.add_subplot(grid[1, :3], projection="polar"), X, reached)
    _draw_waits(figure.add_subplot(grid[1, 3:]), found, np.array(sizes))
    return figure


def _draw_circle(ax: Any, X: np.ndarray, reached: np.ndarray) -> None:
    border, width, _ = chambers(X)
    for ways, (colour, label) in REACHED.items():
        part = reached == ways
        hatch = "///" if ways == 0 else None
        ax.bar(
            border[part],
            1,
            width[part],
            align="edge",
            color=colour,
            edgecolor="white",
            lw=0.6,
            hatch=hatch,
            label=label,
        )
    ax.set(ylim=(0, 1), yticks=[], xticks=[])
    ax.spines["polar"].set_visible(False)
    ax.set_title(f"The {len(border)} chambers of {len(X)} rows: arcs of directions", fontsize=10.5)
    ax.legend(
        title="entered with its\nborder row on",
        frameon=False,
        fontsize=8.5,
        loc="center left",
        bbox_to_anchor=(1.02, 0.5),
    )


def _draw_waits(ax: Any, found: dict[str, np.ndarray], n: np.ndarray) -> None:
    names = ("Gaussian directions", "cross product, random side")
    for name, values, marker in zip(names, (found["gaussian"], found["cross"]), "os", strict=True):
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
        ax.errorbar(
            n, middle, (middle - low, high - middle), fmt=marker, color=COLOURS[name], ms=6, capsize=3, label=name
        )
    scale = float(np.median(found["gaussian"] / n[:, None] ** 2))
    fine = np.geomspace(n[0], n[-1], 50)
    ax.plot(fine, scale * fine**2, "--", color="0.35", lw=1.2, label=f"{scale:.1f} n²")
    ax.plot(n, [uniform_wait(int(i)) for i in n], "-", color="0.35", lw=1.2, label="2n (1 + 1/2 + … + 1/2n)")
    ax.set(xscale="log", yscale="log", xlabel="rows n", ylabel="draws until all 2n patterns were seen")
    ax.set_xticks(n, [str(i) for i in n])
    ax.minorticks_off()
    ax.set_title("Median and 10–90 % range over random data", fontsize=10.5)
    ax.legend(frameon=False, fontsize=8.5, loc="upper left")
    ax.spines[["top", "right"]].set_visible(False)


def main(path: str = "chambers.png") -> None:
    """Print the table and write the picture."""
    found = measure()
    print_table(found)
    X = np.random.default_rng(1).standard_normal((SHOWN, 2))
    picture(X, found).savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
