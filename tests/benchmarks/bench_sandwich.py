"""One rotor on a million vectors: run by hand, ``python tests/benchmarks/bench_sandwich.py``.

R X R⁻¹ by ``R >> X``, in Cl(3) and Cl(4,1), against kingdon's ``>>``, which is R X ~R, the same for the unit rotor
taken here. In turn; medians; the first call, with plans and generated code, apart.
"""

import numpy as np
from timing import agree, alternate, machine, need, peak_mib, report, seconds

import clifford_rand as cr


def one(p: int, q: int, n: int, kingdon: object) -> None:
    rng = np.random.default_rng(0)
    alg = cr.Algebra(p, q)
    other = kingdon.Algebra(p, q, 0)  # type: ignore[attr-defined]
    d = p + q
    X = rng.standard_normal((n, d))
    R = alg.scalar(1.0)
    for _ in range(2 * (d // 2)):
        u = alg.vector(np.concatenate([rng.standard_normal(p), 0.1 * rng.standard_normal(q)]))
        R = R * u
    R = R / np.sqrt(float((R * ~R)["1"]))
    V, even = alg.vector(X), R.even().values
    keys = tuple(int(mask) for mask in R.even().keys.filled.masks)  # masks name the blades there too
    theirs_R = other.multivector(values=even.tolist(), keys=keys)
    theirs_V = other.vector(list(np.ascontiguousarray(X.T)))

    def ours() -> object:
        return R >> V

    def theirs() -> object:
        return theirs_R >> theirs_V

    first, first_theirs = seconds(ours), seconds(theirs)
    moved = theirs_R >> theirs_V
    held = dict(zip(moved.keys(), moved.values(), strict=True))
    # the coordinates of the result; grades that vanish, kingdon may keep them, are not compared
    agree((R >> V).grade(1).values, np.stack([held[1 << i] for i in range(d)], axis=-1), 1e-11, "sandwich")
    a, b = alternate([ours, theirs])
    title = f"R >> X, Cl({p},{q}), {n} vectors"
    report(title, a, "≥ 10 ×", kingdon=b)
    print(f"    first call {first:.3f} s, kingdon {first_theirs:.3f} s", end="")
    print(f"; peak {peak_mib(ours):.0f} MiB, kingdon {peak_mib(theirs):.0f} MiB; the vectors are {X.nbytes >> 20} MiB")


def main(n: int = 1_000_000) -> None:
    (kingdon,) = need("kingdon")
    one(3, 0, n, kingdon)
    one(4, 1, n, kingdon)
    machine("kingdon", "numba")


if __name__ == "__main__":
    main()
