"""Fused functions against the plain ones, clifford and kingdon, and against what memory allows: run by hand.

    python tests/benchmarks/bench_fused.py [--n 100000] [--only NAME …]

All in this process, in turn; medians, in float64. The limit is a fused function that reads every component of the
operands and writes every component of the result once, with one addition a component read: what any kernel has to do.
kingdon has no exponential of batches of screws, clifford no batches. First calls stand apart, in processes of their
own: with an empty cache, and with what that one left. The rigid body turns and moves freely in PGA(3): Ṁ = -½ M B,
Ḃ = -½ (J B - B J) with the momentum J = RC(A B) of other weights for each component, M a motor and B its velocity.
"""

import functools
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from timing import agree, alternate, machine, need, options, report, seconds

import clifford_rand as cr

STEPS = 1000
WEIGHTS = (0.75, 0.75, 1.5, 1.25, 1.0, 0.5)  # of e01, e02, e03, e12, e13, e23


def even(alg, rng, n):
    return alg.random_multivector(rng, n, tuple(range(0, alg.d + 1, 2)))


def as_kingdon(theirs, mv):
    """Return the same batch for kingdon, one array for each component."""
    keys = tuple(int(mask) for mask in mv.keys.masks)
    return theirs.multivector(keys=keys, values=list(np.ascontiguousarray(np.moveaxis(mv.coefficients, -1, 0))))


def components(theirs_mv, keys):
    held = dict(zip(theirs_mv.keys(), theirs_mv.values(), strict=True))
    return np.stack(np.broadcast_arrays(*(held.get(int(mask), 0.0) for mask in keys.masks)), axis=-1)


def limit(inputs, result):
    """Return a call that reads and writes as much: each component of the result is a sum of some of the operands."""
    count = result.keys.size
    terms = [
        (k, name) for k, one in enumerate(inputs) for name in map(one.algebra.names.blade, map(int, one.keys.masks))
    ]
    blades = [result.algebra.blade(result.algebra.names.blade(int(mask))) for mask in result.keys.masks]

    def read_and_write(*operands):
        total = 0
        for j, blade in enumerate(blades):
            total = (
                total + functools.reduce(lambda a, b: a + b, (operands[k][name] for k, name in terms[j::count])) * blade
            )
        return total

    fused = cr.fused(read_and_write)
    return lambda: fused(*inputs)


def compare(title, function, inputs, theirs, *, registered=True, operators=True):
    """Print one line: ours fused and plain, the limit, kingdon's operators and its compiled function."""
    fused = cr.fused(function)
    want = function(*inputs)
    got = fused(*inputs)
    agree(got.values, want.grade(*got.grades).values, 1e-12, "plain")
    works = [lambda: fused(*inputs), limit(inputs, got), lambda: function(*inputs)]
    names = ["limit", "plain"]
    if operators:
        others = [as_kingdon(theirs, one) for one in inputs]
        found = function(*others)
        agree(got.values, components(found, got.keys.filled), 1e-11, "kingdon")
        works.append(lambda: function(*others))
        names.append("kingdon")
    if registered:
        made = theirs.register(function)
        agree(got.values, components(made(*others), got.keys.filled), 1e-11, "kingdon register")
        works.append(lambda: made(*others))
        names.append("register")
    times = alternate(works, 15)
    best = [min(seconds(work) for _ in range(25)) for work in works[:2]]
    report(title, times[0], **dict(zip(names, times[1:], strict=True)))
    counts = fused.operations()
    text = f"{counts.multiplications} multiplications, {counts.additions} additions, {counts.other} other"
    print(f"    {text}; {times[0] / times[1]:.2f} of the limit   (target ≤ 1.6); in a row, best of 25: ", end="")
    print(f"{best[0] * 1e3:.2f} and {best[1] * 1e3:.2f} ms, {best[0] / best[1]:.2f}")


def batches(n, kingdon):
    rng = np.random.default_rng(0)

    def sandwich(R, x):
        return R * x * ~R

    def chain(R, S, line):
        M = R * S
        return M * line * ~M

    def exponential(B, x):
        R = B.exp()
        return R * x * ~R

    for name, counts, point, line in (("PGA(3)", (3, 0, 1), 3, 2), ("CGA(3)", (4, 1, 0), 1, 3)):
        alg, theirs = cr.Algebra(*counts), kingdon.Algebra(*counts)
        R, S = even(alg, rng, n), even(alg, rng, n)
        x, bivector = alg.random_multivector(rng, n, point), alg.random_multivector(rng, n, 2)
        compare(f"R x ~R, {name}, {n} motors and points", sandwich, (R, x), theirs)
        compare(f"R S L ~S ~R, {name}, {n} lines", chain, (R, S, alg.random_multivector(rng, n, line)), theirs)
        compare(f"exp(B) x exp(-B), {name}, {n}", exponential, (bivector, x), theirs, registered=False, operators=False)
    alg, theirs = cr.Algebra(3), kingdon.Algebra(3, 0, 0)
    R, x = even(alg, rng, n), alg.random_multivector(rng, n, 1)
    compare(f"R x ~R, Cl(3), {n} rotors and vectors", sandwich, (R, x), theirs)
    compare(f"R x ~R, Cl(3), one rotor and {n} vectors", sandwich, (R[0], x), theirs)


def runge_kutta(derivative):
    """Return one step of the classical method for a state of two parts."""

    def step(M, B, h):
        m1, b1 = derivative(M, B)
        m2, b2 = derivative(M + m1 * (h / 2), B + b1 * (h / 2))
        m3, b3 = derivative(M + m2 * (h / 2), B + b2 * (h / 2))
        m4, b4 = derivative(M + m3 * h, B + b3 * h)
        return M + (m1 + m2 * 2 + m3 * 2 + m4) * (h / 6), B + (b1 + b2 * 2 + b3 * 2 + b4) * (h / 6)

    return step


def body(weighted):
    """Return the derivative of motor and velocity, ``weighted`` the momentum."""

    def derivative(M, B):
        J = weighted(B)
        return M * B * -0.5, (J * B - B * J) * -0.5

    return derivative


def rigid_body(kingdon, clifford):
    rng = np.random.default_rng(1)
    alg, theirs = cr.Algebra.pga(3), kingdon.Algebra(3, 0, 1)
    names = ("e01", "e02", "e03", "e12", "e13", "e23")
    duals = [weight * alg.blade(name).right_complement() for name, weight in zip(names, WEIGHTS, strict=True)]

    def ours(B):
        return sum((B[name] * blade for name, blade in zip(names, duals, strict=True)), 0)

    layout, _ = clifford.Cl(sig=[0, 1, 1, 1])
    matrix = np.zeros((16, 16))
    position = {name: 5 + k for k, name in enumerate(names)}  # after the scalar and four vectors
    for name, blade in zip(names, duals, strict=True):
        matrix[:, position[name]] = blade.dense().values

    def of_clifford(B):
        return layout.MultiVector(matrix @ B.value)

    masks = (0b11, 0b101, 0b1001, 0b110, 0b1010, 0b1100)

    def of_kingdon(B):
        values = [weight * getattr(B, name) for name, weight in zip(names, WEIGHTS, strict=True)]
        return theirs.multivector(keys=masks, values=values).hodge()

    steps = {"ours": runge_kutta(body(ours)), "kingdon": runge_kutta(body(of_kingdon))}
    steps["clifford"] = runge_kutta(body(of_clifford))
    for count in ((), (1000,)):
        M = alg.scalar(np.ones(count)) + 0 * even(alg, rng, ())
        B = alg.random_multivector(rng, count, 2)
        fused = cr.fused(steps["ours"])
        starts = {"fused": (fused, M, B), "plain": (steps["ours"], M, B)}
        starts["kingdon"] = steps["kingdon"], as_kingdon(theirs, M), as_kingdon(theirs, B)
        if not count:
            first = (layout.MultiVector(one.dense().values) for one in (M, B))
            starts["clifford"] = steps["clifford"], *first
        want = run(*starts["plain"])[0].values
        agree(want, run(*starts["fused"])[0].values, 1e-11, "fused")
        agree(want, components(run(*starts["kingdon"])[0], M.keys), 1e-11, "kingdon")
        if not count:
            agree(want, run(*starts["clifford"])[0].value[[0, *range(5, 11), 15]], 1e-11, "clifford")
        times = dict(
            zip(starts, alternate([functools.partial(run, *start) for start in starts.values()], 3), strict=True)
        )
        title = f"rigid body by RK4, {STEPS} steps, {count[0] if count else 1} bodies"
        report(title, times.pop("fused"), "≥ 5 × kingdon" if count else "≥ clifford", **times)
        print(f"    one step: {fused.operations()}")


def run(step, *state, h=1e-3):
    """Return the state after all steps."""
    for _ in range(STEPS):
        state = step(*state, h)
    return state


def first_calls():
    """The first fused call in a new process, processor time: with an empty cache, and with what that left."""
    code = """
import sys, time
import numpy as np
import clifford_rand as cr
def sandwich(R, x): return R * x * ~R
def exponential(R, x):
    S = R.grade(2).exp()
    return S * x * ~S
alg, rng = {"PGA": cr.Algebra.pga(3), "CGA": cr.Algebra.cga(3)}[sys.argv[1]], np.random.default_rng(0)
R = alg.random_multivector(rng, 1000, tuple(range(0, alg.d + 1, 2)))
x = alg.random_multivector(rng, 1000, 1)
start = time.process_time()
fused = cr.fused(globals()[sys.argv[2]])
fused(R, x)
print(time.process_time() - start, "numba" in sys.modules)
"""
    for name in ("PGA", "CGA"):
        for function in ("sandwich", "exponential"):
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
                found = []
                for _ in range(3):
                    call = [sys.executable, "-c", code, name, function]
                    found.append(
                        subprocess.run(call, env=environment, check=True, capture_output=True, text=True).stdout
                    )
            (first, loaded), *others = (one.split() for one in found)
            later = min(float(value) for value, _ in others)
            print(f"first call, {function}, {name}: {float(first):.3f} s compiled (target ≤ 1), ", end="")
            print(f"{later:.3f} s from the cache (target ≤ 0.1), all it loads included; Numba loaded: {loaded}")


def main():
    asked = options(__doc__, n=100_000, only=(["batches", "body", "first"], {"nargs": "*"}))
    clifford, kingdon = need("clifford", "kingdon")
    warnings.simplefilter("ignore")
    start = time.process_time()
    if "first" in asked.only:
        first_calls()
    if "batches" in asked.only:
        batches(asked.n, kingdon)
    if "body" in asked.only:
        rigid_body(kingdon, clifford)
    print(f"{time.process_time() - start:.0f} s of processor time")
    machine("clifford", "kingdon", "numba")


if __name__ == "__main__":
    main()
