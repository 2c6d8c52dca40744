"""Random data of every kind through the exact estimators, each result checked by its certificate; runs until stopped.

    python tests/fuzz/fuzz_exact.py [SEED] [SECONDS]

Rows are random, integer, repeated, of low rank, or far from the origin at scales from 1e-6 to 1e6; n from 1 to 24, d up
to 3; both norms, with and without bias, squared and Huber loss, beta from 1e-5 to 1.6 times the least one without a
neuron.
Leaves with 1 if a fit misses its gap, a certificate does not verify, or an error is not about the data.
"""

import sys
import time
import traceback
import warnings

import numpy as np
from hard_rows import changed

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexReLURegressor, CrossProductLassoRegressor


def data(rng):
    n, d = int(rng.integers(1, 25)), int(rng.integers(1, 4))
    kind = rng.choice(["random", "small integers", "repeated", "flat", "scaled"])
    X = changed(rng, kind, rng.standard_normal((n, d)))
    if kind == "scaled":
        X = X * 10.0 ** rng.integers(-6, 7) + 10.0 ** rng.integers(-2, 3) * (rng.random() < 0.3)
    y = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7)
    return kind, X, np.round(y) if rng.random() < 0.2 else y


def estimator(rng, y):
    bias, p = bool(rng.random() < 0.6), int(rng.integers(1, 3))
    options = {
        "loss": "huber" if rng.random() < 0.3 else "squared",
        "huber_delta": float(np.abs(y).mean() + 1e-12),
        "bias": bias,
        "fit_intercept": bias,
        "random_state": 0,
    }
    kind = rng.choice(["all", "gates", "dictionary", "subsample"])
    if kind == "all":
        return ConvexReLURegressor(
            gates="exhaustive", penalty=f"group_l{p}", **({"beta": 1e-3, "bias": True} | options)
        )
    if kind == "gates":
        how = {"gates": str(rng.choice(["cross", "gaussian"])), "n_gates": int(rng.integers(1, 10))}
        return ConvexReLURegressor(penalty=f"group_l{p}", **how, **({"beta": 1e-3, "bias": True} | options))
    if kind == "dictionary":
        return CrossProductLassoRegressor(penalty="l1", **({"beta": 1e-3, "bias": True} | options))
    return CrossProductLassoRegressor(penalty="l2", subsample=5, **({"beta": 1e-3, "bias": True} | options))


def main(seed, seconds):
    warnings.simplefilter("ignore")  # of convergence: the gap is judged here
    rng, end, count, bad = np.random.default_rng(seed), time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        kind, X, y = data(rng)
        model, share = estimator(rng, y), 10.0 ** rng.uniform(-5, 0.2)
        words = f"{model} on {kind} rows {X.shape}, beta {share:.1e} of the largest"
        try:
            top = model.beta_max(X, y)
            model.set_params(beta=max(share * top, 1e-300) if top > 0 else 1.0).fit(X, y)
            again = model.certificate_.verify(X, y)
        except ArgumentError as error:  # too few or dependent rows for the dictionary or the gates that were asked for
            if "parameter of sample_gates" not in str(error) and "cross_product_dictionary" not in str(error):
                bad += 1
                print(f"{words}: {error}", flush=True)
            continue
        except Exception:
            bad += 1
            print(words, flush=True)
            traceback.print_exc()
            continue
        count += 1
        if not (model.result_.relative_gap <= 1e-6 and again.relative_gap <= 1e-5):
            bad += 1
            print(f"{words}: {model.result_.message}; verified {again.relative_gap:.1e}", flush=True)
    print(f"{count} fits, {bad} bad")
    return bad == 0 and count > 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    ok = main(int(arguments[0]) if arguments else 0, float(arguments[1]) if len(arguments) > 1 else 300.0)
    sys.exit(0 if ok else 1)
