"""Every public function of the models, `pga`, `cga` and `sta`: one object, a batch, and the first call: run by hand.

    python tests/benchmarks/bench_presets.py [--n 100000] [--only pga cga sta] [--first] [--pairs]

Steady CPU times in µs: one object, and one element of a batch of n. ``--first`` adds the first call of each function in
a process of its own, with an empty cache of compiled code and with what that one left. ``--pairs`` prints the times of
functions of two conformal objects for every two kinds instead, and of `pga.join` beside them; then of `cga.intersect`
for objects in special position, by its path and by itself. The script leaves with 1 if a public function is missing.
"""

import functools
import itertools
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from timing import chosen, fresh, hold, machine, options, seconds

import clifford_rand as cr
from clifford_rand.presets import cga, pga, sta

HERE = Path(__file__).resolve().parent
MODELS = {"pga": pga, "cga": cga, "sta": sta}
SEARCHES = ("fit_", "sample")  # of iterations, or of as many results as asked for
HEAVY = 1000  # of a batch of those, and of what takes more than 0.1 ms an element
LIMIT = 1e-4

FIRST = """
import sys, time
sys.path.insert(0, sys.argv[1])
import bench_presets as bench
work = bench.calls((), sys.argv[2])[sys.argv[3]]
start = time.perf_counter()
work()
print(time.perf_counter() - start, "numba" in sys.modules)
"""


def calls(shape: tuple[int, ...], model: str, seed: int = 0, dtype: Any = float) -> dict[str, Callable[[], Any]]:
    """Return a call of each public function of a model, for one object or a batch."""
    rng = np.random.default_rng(seed)

    def x(*size: int) -> np.ndarray:
        return rng.standard_normal((*shape, *size)).astype(dtype)

    table = {"pga": _pga, "cga": _cga, "sta": _sta}[model](x, x() if shape else float(x()), shape)
    functions = {name: getattr(MODELS[model], name) for name in table}
    return {
        name: functools.partial(functions[name], *given) if isinstance(given, tuple) else given
        for name, given in table.items()
    }


def _pga(x: Callable[..., np.ndarray], t: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the arguments of each function, or its call."""
    alg = cr.Algebra.pga(3)
    P, Q = pga.point(alg, x(3)), pga.point(alg, x(3))
    L, K = pga.line(alg, x(3), x(3)), pga.line(alg, x(3), x(3))
    p = pga.plane(alg, x(3), t)
    M, N = pga.motor(alg, L, t, t), pga.motor(alg, K, 0.3 * t, t)
    u, v, q, step = x(3), x(3), x(4), x(3)
    dual, matrix = pga.motor_to_dual_quaternion(M), pga.motor_to_matrix(M)
    rotation, _ = pga.motor_to_rotation(M)
    return {
        "point": (alg, u), "direction": (alg, u), "plane": (alg, u, t), "line": (alg, u, v), "coordinates": (P,),
        "translator": (alg, u), "rotor": (alg, L, t), "motor": (alg, L, t, t), "sclerp": (M, N, 0.3), "norm": (L,),
        "ideal_norm": (L,), "distance": (L, K), "is_incident": (P, L), "angle": (L, p), "project": (P, L),
        "reject": (P, p), "meet": (L, p), "join": (P, Q), "normalized": (M,), "screw": (M,),
        "motor_from_matrix": (alg, matrix), "motor_to_matrix": (M,), "motor_from_quaternion": (alg, q, step),
        "motor_to_quaternion": (M,), "motor_from_dual_quaternion": (alg, dual), "motor_to_dual_quaternion": (M,),
        "motor_from_rotation": (alg, rotation, step), "motor_to_rotation": (M,), "screw_axis": (alg, L, 0.1),
        "slide_axis": (alg, u),
    }  # fmt: skip


def _cga(x: Callable[..., np.ndarray], t: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    alg = cr.Algebra.cga(3)
    u, v, w, r = x(3), x(3), x(3), 1 + abs(t)
    P, line, plane = cga.up(alg, u), cga.line(alg, u, direction=w), cga.plane(alg, w, t)
    S, R, circle = cga.sphere(alg, u, r), cga.sphere(alg, u + 0.5, r), cga.circle(alg, u, r, w)
    pair, two = cga.point_pair(alg, u, v), np.stack([v, w], axis=-2)
    B = alg.multivector(np.broadcast_to(alg.e12.values.astype(u.dtype), (*shape, 10)), grades=2)
    V = cga.translator(alg, u) * cga.rotor(alg, B, t) * cga.dilator(alg, r, v)
    points = 2 * x(12, 3)
    points /= np.linalg.norm(points, axis=-1, keepdims=True)
    flat, thin = (points * np.array(size, points.dtype) for size in ([1, 1, 1e-3], [1, 1e-3, 1e-3]))
    return {
        "up": (alg, u), "point": (alg, u), "down": (P,), "origin": (alg,), "infinity": (alg,), "sphere": (alg, u, r),
        "plane": (alg, w, t), "circle": (alg, u, r, w), "line": functools.partial(cga.line, alg, u, direction=w),
        "point_pair": (alg, u, v), "flat": (alg, u, two), "round_about": (alg, u, r, two), "sample": (circle, 16),
        "contains_point": (S, P), "meet": (S, R), "center": (circle,), "radius": (circle,), "radius_squared": (S,),
        "carrier": (circle,), "normal": (circle,), "split_point_pair": (pair,), "classify": (circle,),
        "angle": (S, plane), "inversive_product": (S, R), "intersect": (S, R), "distance": (line, S),
        "closest_points": (P, plane), "translator": (alg, u), "rotor": (alg, B, t), "motor": (alg, line, t, t),
        "dilator": (alg, r, u), "inversion": (alg, u, r), "transversion": (alg, u), "decompose": (V,),
        "fit_sphere": (alg, points), "fit_circle": (alg, flat), "fit_plane": (alg, flat), "fit_line": (alg, thin),
        "fit_flat": (alg, flat, 2), "fit_round": (alg, points, 2),
    }  # fmt: skip


def _sta(x: Callable[..., np.ndarray], t: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    alg = cr.Algebra.sta()
    u, v, w = (np.tanh(y) / 2 for y in (x(3), x(3), x(3)))
    E, B, p = x(3), x(3), sta.four_velocity(alg, u)
    event, other, observer = sta.event(alg, t, E), sta.event(alg, t, B), sta.four_velocity(alg, v)
    F, path = sta.faraday(alg, E, B), sta.event(alg, 10 * np.arange(4, dtype=E.dtype), x(4, 3))
    V = sta.boost(alg, u) * sta.rotor(alg, B, t)
    matrix = sta.rotor_to_lorentz_matrix(V)
    return {
        "event": (alg, t, E), "four_velocity": (alg, u), "velocity": (p,), "gamma": (u,), "rapidity": (u,),
        "velocity_of_rapidity": (w,), "add_velocities": (u, v), "boost": (alg, u), "boost_to": (p,),
        "rotor": (alg, E, t), "boost_and_rotation": (V,), "rotor_to_lorentz_matrix": (V,),
        "rotor_from_lorentz_matrix": (alg, matrix), "spacetime_split": (event, observer),
        "time_and_space": (event, observer), "interval": (event, other), "proper_time": (path,),
        "faraday": (alg, E, B), "electric_and_magnetic": (F, observer), "field_invariants": (F,),
        "energy_momentum": (F, p), "stress_energy_tensor": (F,), "lorentz_force": (F, p, 2.0),
    }  # fmt: skip


def pairs() -> None:
    """Print the µs of functions of two conformal objects, for every two kinds."""
    alg, rng = cr.Algebra.cga(3), np.random.default_rng(0)
    x = rng.standard_normal
    kinds = [
        {
            "point": cga.up(alg, x(3)),
            "point pair": cga.point_pair(alg, x(3), x(3)),
            "line": cga.line(alg, x(3), direction=x(3)),
            "plane": cga.plane(alg, x(3), x()),
            "circle": cga.circle(alg, x(3), 1 + x() ** 2, x(3)),
            "sphere": cga.sphere(alg, x(3), 1 + x() ** 2),
        }
        for _ in range(2)
    ]
    functions, join = (cga.distance, cga.closest_points, cga.intersect, cga.angle), calls((), "pga")["join"]
    print(f"{'':<24} {'distance':>10} {'closest':>9} {'intersect':>9} {'angle':>9} {'pga.join':>9}")
    for (name, A), (other, B) in itertools.product(*(kind.items() for kind in kinds)):
        row = ""
        for function in functions:
            is_undefined = function is cga.angle and "point" in (name, other)
            row += f"{'':>9}" if is_undefined else f"{steady(functools.partial(function, A, B)):>9.1f}"
        print(f"{name + ', ' + other:<24} {row} {steady(join):>9.1f}", flush=True)
    print(f"\n{'in special position':<24} {'intersect':>30} {'by an SVD':>13}")
    for name, (A, B) in special(alg, x).items():
        times = [steady(functools.partial(f, A, B)) for f in (cga.intersect, cga.intersect.specialization.function)]
        print(f"{name:<24} {times[0]:>30.1f} {times[1]:>13.1f}", flush=True)


def special(alg: cr.Algebra, x: Callable[..., Any]) -> dict[str, tuple[cr.Multivector, cr.Multivector]]:
    """Return pairs of objects that lie together in less than the whole conformal space."""
    (u, v, n), o = np.linalg.qr(x((3, 3)))[0], x(3)
    circle, plane = cga.circle(alg, o, 2, n), cga.plane(alg, n, n @ o)
    line, other, third = (cga.line(alg, o + p, direction=w) for p, w in ((u, u + v), (u, u - v), (v, u + v)))
    return {
        "circles of one plane": (circle, cga.circle(alg, o + 1.5 * u, 1.7, n)), "lines that cross": (line, other),
        "concentric circles": (circle, cga.circle(alg, o, 1, n)), "circle in a plane": (circle, plane),
        "equal circles": (circle, -3 * circle), "parallel lines": (line, third), "line in a plane": (line, plane),
        "line and circle": (line, circle), "point of a circle": (cga.up(alg, o + 2 * v), circle),
        "parallel planes": (plane, cga.plane(alg, n, n @ o + 1)),
    }  # fmt: skip


def public(model: types.ModuleType) -> set[str]:
    """Return the names of the public functions of a model, classes left out."""
    return {name for name, value in vars(model).items() if callable(value) and not isinstance(value, type)}


def steady(work: Callable[[], Any], n: int = 1) -> float:
    """Return the µs of a call, by element, the least of several repeats."""
    for _ in range(2):
        once = seconds(work, clock=time.process_time)
    if n == 1:
        for _ in range(1000):
            if work() is None or once > 1e-3:  # what is compiled after some calls is compiled now
                break
    count = max(1, min(2000, int(2e-2 / max(once, 1e-7))))
    return min(seconds(work, count, time.process_time) for _ in range(15 if once < 0.02 else 3)) / n * 1e6


def main() -> None:
    asked = options(__doc__, n=100_000, only=chosen(MODELS), first=False, pairs=False)
    if asked.pairs:
        pairs()
        return
    print(f"{'function':<32} {'one object':>12} {f'batch of {asked.n}, each':>24}" + "   first call" * asked.first)
    for name in asked.only:
        one, few = calls((), name), calls((HEAVY,), name)
        missing = public(MODELS[name]) - set(one)
        hold(not missing, f"the table has every function, {', '.join(sorted(missing))} of {name} among them")
        many = calls((asked.n,), name)
        for function, work in one.items():
            single = steady(work)
            rough = steady(few[function], HEAVY)
            heavy = rough > 1e6 * LIMIT or function.startswith(SEARCHES)
            each = rough if heavy else steady(many[function], asked.n)
            marks = f" (batch of {HEAVY})" * heavy
            line = f"{name + '.' + function:<32} {single:>9.1f} µs {each:>21.3f} µs"
            if asked.first:
                times = fresh(FIRST, str(HERE), name, function, repeats=2)
                line += "   " + ", ".join(f"{float(t):.3f} s" for t, _ in times)
            print(line + marks, flush=True)
    machine("numba")


if __name__ == "__main__":
    main()
