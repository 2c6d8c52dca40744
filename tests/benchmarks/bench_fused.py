"""Fused functions against the plain ones, clifford and kingdon, and against what memory allows: run by hand.

    python tests/benchmarks/bench_fused.py [--n 100000] [--only first batches body]

All in this process, in turn; medians, in float64. The limit is a fused function that reads every component of the
operands and writes every component of the result once, with one addition a component read: what any kernel has to do.
kingdon has no exponential of batches of screws, clifford no batches. First calls stand apart, in processes of their
own: with an empty cache, and with what that one left. The rigid body turns and moves freely in PGA(3): Ṁ = -½ M B,
Ḃ = -½ (J B - B J) with the momentum J = RC(A B) of other weights for each component, M a motor and B its velocity.
"""

import time
import warnings
from functools import partial, reduce

import numpy as np
from timing import agree, alternate, chosen, fresh, machine, need, options, report, seconds

import clifford_rand as cr

STEPS = 1000
WEIGHTS = {"e01": 0.75, "e02": 0.75, "e03": 1.5, "e12": 1.25, "e13": 1.0, "e23": 0.5}
MASKS = (0b11, 0b101, 0b1001, 0b110, 0b1010, 0b1100)  # of the same blades

FIRST_CALL = """
import sys, time
import numpy as np
import clifford_rand as cr
def sandwich(R, x): return R * x * ~R
def exponential(R, x):
    S = R.grade(2).exp()
    return S * x * ~S
alg, rng = {"PGA": cr.Algebra.pga(3), "CGA": cr.Algebra.cga(3)}[sys.argv[1]], np.random.default_rng(0)
R = alg.random_multivector(rng=rng, shape=1000, grades=tuple(range(0, alg.d + 1, 2)))
x = alg.random_multivector(rng=rng, shape=1000, grades=1)
start = time.process_time()
fused = cr.fused(globals()[sys.argv[2]])
fused(R, x)
print(time.process_time() - start, "numba" in sys.modules)
"""


def even(alg, rng, n):
    return alg.random_multivector(rng=rng, shape=n, grades=tuple(range(0, alg.d + 1, 2)))


def as_kingdon(theirs, mv):
    """Return the same batch for kingdon, one array for each component."""
    keys = tuple(int(mask) for mask in mv.keys.masks)
    return theirs.multivector(keys=keys, values=list(np.ascontiguousarray(np.moveaxis(mv.coefficients, -1, 0))))


def components(theirs, keys):
    parts = dict(zip(theirs.keys(), theirs.values(), strict=True))
    return np.stack(np.broadcast_arrays(*(parts.get(int(mask), 0.0) for mask in keys.masks)), axis=-1)


def limit(inputs, result):
    """Return a call that reads and writes as much: each component of the result is a sum of some of the operands."""
    count, name = result.keys.size, result.algebra.names.blade
    terms = [(k, name(int(mask))) for k, mv in enumerate(inputs) for mask in mv.keys.masks]
    blades = [result.algebra.blade(name(int(mask))) for mask in result.keys.masks]

    def read_and_write(*operands):
        total = 0
        for j, blade in enumerate(blades):
            parts = (operands[k][blade_name] for k, blade_name in terms[j::count])
            total = total + reduce(lambda a, b: a + b, parts) * blade
        return total

    fused = cr.fused(read_and_write)
    return lambda: fused(*inputs)


def compare(title, function, inputs, theirs=None):
    """Print one line: ours fused and plain, the limit, kingdon's operators and its compiled function."""
    fused, plain = cr.fused(function), function(*inputs)
    result = fused(*inputs)
    agree(result.values, plain.grade(*result.grades).values, 1e-12, "plain")
    works = {"ours": lambda: fused(*inputs), "limit": limit(inputs, result), "plain": lambda: function(*inputs)}
    if theirs is not None:
        others, registered = [as_kingdon(theirs, mv) for mv in inputs], theirs.register(function)
        works |= {"kingdon": lambda: function(*others), "register": lambda: registered(*others)}
        for name in ("kingdon", "register"):
            agree(result.values, components(works[name](), result.keys.filled), 1e-11, name)
    times = dict(zip(works, alternate(list(works.values()), 15), strict=True))
    best, least = (min(seconds(works[name]) for _ in range(25)) for name in ("ours", "limit"))
    share = times["ours"] / times["limit"]
    report(title, times.pop("ours"), **times)
    counts = fused.operations()
    print(f"    {counts.multiplications} multiplications, {counts.additions} additions, {counts.other} other; ", end="")
    print(f"{share:.2f} of the limit   (target ≤ 1.6); in a row, best of 25: ", end="")
    print(f"{best * 1e3:.2f} and {least * 1e3:.2f} ms, {best / least:.2f}")


def sandwich(R, x):
    return R * x * ~R


def chain(R, S, line):
    M = R * S
    return M * line * ~M


def exponential(B, x):
    R = B.exp()
    return R * x * ~R


def batches(n, kingdon):
    rng = np.random.default_rng(0)
    for name, counts, point, line in (("PGA(3)", (3, 0, 1), 3, 2), ("CGA(3)", (4, 1, 0), 1, 3)):
        alg, theirs = cr.Algebra(*counts), kingdon.Algebra(*counts)
        R, S = even(alg, rng, n), even(alg, rng, n)
        x, bivector, L = (alg.random_multivector(rng=rng, shape=n, grades=k) for k in (point, 2, line))
        compare(f"R x ~R, {name}, {n} motors and points", sandwich, (R, x), theirs)
        compare(f"R S L ~S ~R, {name}, {n} lines", chain, (R, S, L), theirs)
        compare(f"exp(B) x exp(-B), {name}, {n}", exponential, (bivector, x))
    alg, theirs = cr.Algebra(3), kingdon.Algebra(3, 0, 0)
    R, x = even(alg, rng, n), alg.random_multivector(rng=rng, shape=n, grades=1)
    compare(f"R x ~R, Cl(3), {n} rotors and vectors", sandwich, (R, x), theirs)
    compare(f"R x ~R, Cl(3), one rotor and {n} vectors", sandwich, (R[0], x), theirs)


def step_of(momentum):
    """Return one step of the classical Runge-Kutta method for motor and velocity of a body with this momentum."""

    def derivative(M, B):
        J = momentum(B)
        return M * B * -0.5, (J * B - B * J) * -0.5

    def step(M, B, h):
        m1, b1 = derivative(M, B)
        m2, b2 = derivative(M + m1 * (h / 2), B + b1 * (h / 2))
        m3, b3 = derivative(M + m2 * (h / 2), B + b2 * (h / 2))
        m4, b4 = derivative(M + m3 * h, B + b3 * h)
        return M + (m1 + m2 * 2 + m3 * 2 + m4) * (h / 6), B + (b1 + b2 * 2 + b3 * 2 + b4) * (h / 6)

    return step


def run(step, *state, h=1e-3):
    """Return the state after all steps."""
    for _ in range(STEPS):
        state = step(*state, h)
    return state


def rigid_body(kingdon, clifford):
    rng = np.random.default_rng(1)
    alg, theirs, layout = cr.Algebra.pga(3), kingdon.Algebra(3, 0, 1), clifford.Cl(sig=[0, 1, 1, 1])[0]
    duals = {name: weight * alg.blade(name).right_complement() for name, weight in WEIGHTS.items()}
    matrix = np.zeros((16, 16))
    for column, blade in enumerate(duals.values()):
        matrix[:, 5 + column] = blade.dense().values  # after the scalar and four vectors

    def of_kingdon(B):
        values = [weight * getattr(B, name) for name, weight in WEIGHTS.items()]
        return theirs.multivector(keys=MASKS, values=values).hodge()

    ours = step_of(lambda B: sum((B[name] * blade for name, blade in duals.items()), 0))
    for count in ((), (1000,)):
        M = alg.scalar(np.ones(count)) + 0 * even(alg, rng, ())
        B = alg.random_multivector(rng=rng, shape=count, grades=2)
        fused = cr.fused(ours)
        starts = {"fused": (fused, M, B), "plain": (ours, M, B)}
        starts["kingdon"] = step_of(of_kingdon), as_kingdon(theirs, M), as_kingdon(theirs, B)
        expected = run(*starts["plain"])[0].values
        agree(expected, run(*starts["fused"])[0].values, 1e-11, "fused")
        agree(expected, components(run(*starts["kingdon"])[0], M.keys), 1e-11, "kingdon")
        if not count:
            step = step_of(lambda B: layout.MultiVector(matrix @ B.value))
            starts["clifford"] = step, *(layout.MultiVector(mv.dense().values) for mv in (M, B))
            agree(expected, run(*starts["clifford"])[0].value[[0, *range(5, 11), 15]], 1e-11, "clifford")
        works = [partial(run, *start) for start in starts.values()]
        times = dict(zip(starts, alternate(works, 3), strict=True))
        title = f"rigid body by RK4, {STEPS} steps, {count[0] if count else 1} bodies"
        report(title, times.pop("fused"), "≥ 5 × kingdon" if count else "≥ clifford", **times)
        print(f"    one step: {fused.operations()}")


def first_calls():
    """The first fused call in a new process, processor time: with an empty cache, and with what that left."""
    for name in ("PGA", "CGA"):
        for function in ("sandwich", "exponential"):
            (first, loaded), *others = fresh(FIRST_CALL, name, function, repeats=3)
            later = min(float(value) for value, _ in others)
            print(f"first call, {function}, {name}: {float(first):.3f} s compiled (target ≤ 1), ", end="")
            print(f"{later:.3f} s from the cache (target ≤ 0.1), all it loads included; Numba loaded: {loaded}")


def main():
    clifford, kingdon = need("clifford", "kingdon")
    warnings.simplefilter("ignore")
    start = time.process_time()
    args = options(__doc__, n=100_000, only=chosen(["first", "batches", "body"]))
    body, some = partial(rigid_body, kingdon, clifford), partial(batches, args.n, kingdon)
    for name in args.only:
        {"first": first_calls, "batches": some, "body": body}[name]()
    print(f"{time.process_time() - start:.0f} s of processor time")
    machine("clifford", "kingdon", "numba")


if __name__ == "__main__":
    main()
