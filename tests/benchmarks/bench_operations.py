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
from timing import alternate, chosen, machine, need, options, seconds

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
    batch = () if n == 1 else (n,)

    def three(mv):
        keys = tuple(int(mask) for mask in mv.keys.masks)
        array = np.ascontiguousarray(np.moveaxis(mv.coefficients, -1, 0))
        theirs = their.multivector(keys=keys, values=array.tolist() if n == 1 else array)
        return mv, layout.MultiVector(mv.dense().values) if n == 1 else None, theirs

    def versor():
        R = alg.scalar(np.ones(batch))
        for _ in range(2 * (alg.d // 2)):
            part = rng.standard_normal((*batch, alg.d))
            part[..., alg.d - q :] *= 0.1  # space-like, for R ~R > 0
            part[..., 1] += 3.0
            R = R * alg.vector(part)
        return R / np.sqrt((R * ~R)["1"])

    (A, Ac, Ak), (B, Bc, Bk) = (three(alg.random_multivector(rng=rng, shape=batch)) for _ in range(2))
    (R, Rc, Rk), (S, Sc, Sk) = (three(versor().even()) for _ in range(2))
    V, Vc, Vk = three(alg.random_multivector(rng=rng, shape=batch, grades=2) * 0.3)
    X, Xc, Xk = three(alg.random_multivector(rng=rng, shape=batch, grades=3 if r else 1))
    values = np.array(A.values)
    listed = values if n == 1 else list(np.moveaxis(values, -1, 0))
    keys = tuple(int(mask) for mask in A.keys.masks)

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
    if r:
        yield "dual", lambda: A.star(), None, lambda: Ak.dual()
    else:
        yield "dual", lambda: A.dual(), lambda: Ac.dual(), lambda: Ak.dual()
    yield "complement", lambda: A.left_complement(), lambda: Ac.left_complement(), lambda: Ak.unhodge()
    construct = lambda: their.multivector(keys=keys, values=listed)  # noqa: E731
    yield "construct", lambda: alg.multivector(values), lambda: layout.MultiVector(values), construct
    yield "item", lambda: A["e12"], lambda: Ac[(1, 2)], lambda: Ak.e12
    if n == 1:
        yield "alg.e12 (not counted)", lambda: alg.e12, None, lambda: their.blades.e12


def warm(work, limit=3.0):
    """Call it until what it compiles is compiled: for some seconds, at most some thousand times."""
    end = time.perf_counter() + limit
    for _ in range(5000):
        work()
        if time.perf_counter() > end:
            return


def compare(n, only, algebras, clifford, kingdon):
    """Print a line for each operation on ``n`` multivectors, and the counts."""
    calls, limit = (300, 1.5) if n == 1 else (max(1, 3000 // n), 1.2)
    print(f"\n{n} multivector{'s' if n > 1 else ''}, µs      {'':14} ours   clifford    kingdon      ours / best")
    ratios, behind = [], 0
    for label in algebras:
        components = np.moveaxis(np.ones((2 ** sum(ALGEBRAS[label]), n)), 0, -1)
        for name, ours, *peers in operations(ALGEBRAS[label], n, clifford, kingdon):
            if only and name not in only:
                continue
            if n > 1:
                peers[0] = None
            warm(ours)
            works = [ours, components.copy, *(within(peer) for peer in peers)]
            mine, copy, *theirs = alternate(works, calls=calls, repeats=9)
            ratio = mine / min((value for value in theirs if value == value), default=np.nan)
            late = ratio > limit and not (n > 1 and name in LISTS and mine <= 1.5 * copy)
            text = "".join(f"{value * 1e6:11.1f}" for value in (mine, *theirs))
            text += f"   {ratio:6.2f}" + ("   {} + {} calls".format(*calls_of(ours)) if n == 1 else "")
            print(f"  {label:<8}{name:<24}{text}{'  behind' if late else ''}", flush=True)
            if "(" not in name:
                ratios.append(ratio)
                behind += late
    ahead = int((~(np.array(ratios) >= 1)).sum())  # NaN where there is no peer
    print(f"  ahead of both, or alone: {ahead} of {len(ratios)}; more than {limit} ×: {behind}")


def main():
    only = (str, {"nargs": "+", "help": "names of operations"})
    args = options(__doc__, sizes=[1, 1000, 100_000], only=only, algebras=chosen(ALGEBRAS))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    clifford, kingdon = need("clifford", "kingdon")
    batch = cr.Algebra(3).random_multivector(rng=0, shape=10_000)
    print(f"first batches, with the load of the kernel: {200 * seconds(lambda: batch * batch, 200):.2f} s")
    for n in args.sizes:
        compare(n, args.only, args.algebras, clifford, kingdon)
    machine("clifford", "kingdon", "numba")


if __name__ == "__main__":
    main()
