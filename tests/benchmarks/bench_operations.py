"""Eighteen operations on one multivector and on batches, against clifford and kingdon: run by hand.

    python tests/benchmarks/bench_operations.py [--sizes 1 1000 100000] [--only NAME …]

Cl(3), PGA(3) and CGA(3); all in one process, in turn, medians, float64. Columns: seconds of ours, of each peer, and
ours divided by the faster of them. A peer that has no such operation, or whose first call takes over a minute (kingdon
writes code then), has no figure. clifford has no batches. Motors and points are what these words mean in the algebra:
a product of vectors, and in the projective algebra a trivector. kingdon's batches are lists of arrays, of which
reverse, duals, complements and the constructor copy some or nothing: ours counts as behind there only if it also takes
more than 1.5 times one copy of the components. Ends with the counts that matter.
"""

import signal
import sys
import time
import warnings

import numpy as np
from timing import alternate, machine, need, options

import clifford_rand as cr

ALGEBRAS = {"Cl(3)": (3, 0, 0), "PGA(3)": (3, 0, 1), "CGA(3)": (4, 1, 0)}
LISTS = ("reverse", "dual", "complement", "construct")  # of which a list of arrays needs no copy, or a part
LIMIT = 60  # seconds for the first call of a peer


def within(work):
    """Run a peer's first call; None where it fails or takes too long."""

    def stop(*_):
        raise TimeoutError

    if work is None:
        return None
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        work()
    except Exception:
        return None
    finally:
        signal.alarm(0)
    return work


def calls_of(work):
    """Return how many calls of Python functions and of C functions one run of it makes."""
    counts = {"call": 0, "c_call": 0}

    def count(frame, event, argument):
        if event in counts:
            counts[event] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts["call"] - 1, counts["c_call"] - 1  # the work itself, and setprofile


def operations(counts, n, clifford, kingdon):
    """Yield (name, ours, clifford's, kingdon's) for one algebra and batch size."""
    p, q, r = counts
    rng = np.random.default_rng(0)
    alg, their = cr.Algebra(p, q, r), kingdon.Algebra(p, q, r)
    layout = clifford.Cl(sig=list(alg.signature))[0] if n == 1 else None
    d = alg.d
    batch = () if n == 1 else (n,)

    def as_kingdon(mv):
        keys = tuple(int(mask) for mask in mv.keys.masks)
        array = np.ascontiguousarray(np.moveaxis(mv.coefficients, -1, 0))
        return their.multivector(keys=keys, values=array.tolist() if n == 1 else array)

    def three(mv):
        return mv, layout.MultiVector(mv.dense().values) if n == 1 else None, as_kingdon(mv)

    def versor():
        R = alg.scalar(np.ones(batch))
        for _ in range(2 * (d // 2)):
            part = rng.standard_normal((*batch, d))
            part[..., d - q :] *= 0.1  # space-like, for R ~R > 0
            part[..., 1] += 3.0
            R = R * alg.vector(part)
        return R / np.sqrt((R * ~R)["1"])

    full = [three(alg.random_multivector(rng, batch)) for _ in range(2)]
    motors = [three(versor().even()) for _ in range(2)]
    bivector = three(alg.random_multivector(rng, batch, grades=2) * 0.3)
    point = three(alg.random_multivector(rng, batch, grades=3 if r else 1))
    (A, Ac, Ak), (B, Bc, Bk) = full
    (R, Rc, Rk), (S, Sc, Sk) = motors
    (V, Vc, Vk), (X, Xc, Xk) = bivector, point
    values = np.array(A.values)
    listed = list(np.moveaxis(values, -1, 0))
    keys = tuple(int(mask) for mask in A.keys.masks)
    one, some = n == 1, r == 0

    yield "product, full", lambda: A * B, lambda: Ac * Bc, lambda: Ak * Bk
    yield "product of motors", lambda: R * S, lambda: Rc * Sc, lambda: Rk * Sk
    yield "wedge", lambda: A ^ B, lambda: Ac ^ Bc, lambda: Ak ^ Bk
    yield "inner", lambda: A | B, lambda: Ac | Bc, lambda: Ak | Bk
    yield ">>", lambda: R >> X, None, lambda: Rk >> Xk
    yield "R*x*~R", lambda: R * X * ~R, lambda: Rc * Xc * ~Rc, lambda: Rk * Xk * ~Rk
    yield "inverse, full", lambda: A.inv(), lambda: Ac.inv(), lambda: Ak.inv()
    yield "inverse, motor", lambda: R.inv(), lambda: Rc.inv(), lambda: Rk.inv()
    yield "exp", lambda: V.exp(), lambda: Vc.exp(), lambda: Vk.exp()
    yield "log", lambda: R.log(), None, None
    yield "grade", lambda: A.grade(2), lambda: Ac(2), lambda: Ak.grade(2)
    yield "reverse", lambda: ~A, lambda: ~Ac, lambda: ~Ak
    yield "norm", lambda: A.norm(), lambda: abs(Ac), lambda: Ak.norm()
    yield "normalized", lambda: R.normalized(), lambda: Rc.normal(), lambda: Rk.normalized()
    if some:
        yield "dual", lambda: A.dual(), lambda: Ac.dual(), lambda: Ak.dual()
    else:
        yield "dual", lambda: A.star(), None, lambda: Ak.dual()
    yield "complement", lambda: A.left_complement(), lambda: Ac.left_complement(), lambda: Ak.unhodge()
    construct = (
        (lambda: their.multivector(keys=keys, values=listed))
        if n > 1
        else (lambda: their.multivector(keys=keys, values=values))
    )
    yield "construct", lambda: alg.multivector(values), lambda: layout.MultiVector(values), construct
    yield "item", lambda: A["e12"], lambda: Ac[(1, 2)], lambda: Ak.e12
    if one:
        yield "alg.e12 (not counted)", lambda: alg.e12, None, lambda: their.blades.e12


def warm(work, limit=3.0):
    """Call it until what it compiles is compiled: for some seconds, at most some thousand times."""
    end = time.perf_counter() + limit
    for _ in range(5000):
        work()
        if time.perf_counter() > end:
            return


def main():
    args = options(
        __doc__,
        sizes=[1, 1000, 100_000],
        only=(str, {"nargs": "+", "help": "names of operations"}),
        algebras=(list(ALGEBRAS), {"choices": list(ALGEBRAS)}),
    )
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    clifford, kingdon = need("clifford", "kingdon")
    batch = cr.Algebra(3).random_multivector(0, 10_000)
    start = time.perf_counter()
    for _ in range(200):
        batch * batch
    print(f"first batches, with the load of the kernel: {time.perf_counter() - start:.2f} s")
    for n in args.sizes:
        calls = 300 if n == 1 else max(1, 3000 // n)
        limit = 1.5 if n == 1 else 1.2
        print(f"\n{n} multivector{'s' if n > 1 else ''}, µs      {'':14} ours   clifford    kingdon      ours / best")
        ratios, behind = [], []
        for label in args.algebras:
            for name, ours, *peers in operations(ALGEBRAS[label], n, clifford, kingdon):
                if args.only and name not in args.only:
                    continue
                if n > 1:
                    peers[0] = None
                whole = np.moveaxis(np.ones((2 ** sum(ALGEBRAS[label]), n)), 0, -1)
                works = [ours, whole.copy, *(within(peer) for peer in peers)]
                warm(ours)
                mine, copy, *theirs = alternate(works, calls=calls, repeats=9)
                best = min((value for value in theirs if value == value), default=np.nan)
                ratio = mine / best
                late = ratio > limit and not (n > 1 and name in LISTS and mine <= 1.5 * copy)
                text = "".join(f"{value * 1e6:11.1f}" for value in (mine, *theirs))
                text += f"   {ratio:6.2f}" + ("   {} + {} calls".format(*calls_of(ours)) if n == 1 else "")
                print(f"  {label:<8}{name:<24}{text}{'  behind' if late else ''}", flush=True)
                if "(" not in name:
                    ratios.append(ratio)
                    behind += [f"{label} {name}"] if late else []
        known = np.array(ratios)
        ahead = int((known < 1).sum() + np.isnan(known).sum())
        print(f"  ahead of both, or alone: {ahead} of {len(known)}; more than {limit} ×: {len(behind)}")
    machine("clifford", "kingdon", "numba")


if __name__ == "__main__":
    main()
