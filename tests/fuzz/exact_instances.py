"""Fits in extreme scales, and what the exact proof of a certificate says against the certificate."""

import numpy as np

from fuzz import gap_instances, proof_instances

FAMILIES = ("gated", "relu", "lasso", "network", "infinite")
_GAP = 1e-9  # by which the exact gap may be above the stated one, and the objective below the bound
_VALUES = ("objective", "lower_bound")
_SQUARED_ROUNDING = 2.0**-100  # of the squared targets: an interpolating network predicts no digit of less


def instance(seed, k):
    """Draw instance number k: words, model, X, y, weights; None where targets are constant or a class is empty."""
    rng, family = np.random.default_rng([seed, k, 2]), FAMILIES[k % len(FAMILIES)]
    if k // len(FAMILIES) % 2 or family == "infinite":
        place = gap_instances.FAMILIES.index(family) + len(gap_instances.FAMILIES) * (k // len(FAMILIES))
        case = gap_instances.instance(seed, place)
    else:
        case = proof_instances.instance(rng, family)
    if case is None:
        return None
    model, X, weights, twist = case.model, case.X.copy(), case.weights, ""
    match rng.integers(8):
        case 0:
            weights, twist = np.where(rng.random(len(X)) < 0.3, 0.0, rng.uniform(0.1, 3, len(X))), "zero weights"
        case 1:
            X[:, 0], twist = 10.0 ** rng.integers(-9, 10) * rng.choice([0, 1, -1]), "constant column"
        case 2 if model.beta != "auto":
            size = 10.0 ** rng.integers(-9, 10)
            model, twist = model.set_params(beta=model.beta * size), f"beta x {size:g}"
        case 3:
            X, twist = X + 10.0 ** rng.integers(0, 10), "rows far from 0"
        case 4:
            X[1::2] = X[: len(X) // 2 * 2 : 2] * (1 + 10.0 ** rng.integers(-16, -7))
            twist = "near copies"
        case 5:
            weights, twist = 10.0 ** rng.uniform(-9, 9, len(X)), "weights of all sizes"
    return f"{case.words} {twist}", model, X, case.y, weights


def judged(case):
    """Fit and prove; return what the exact proof says against the certificate."""
    _, model, X, y, weights = case
    stated = model.fit(*((X, y) if weights is None else (X, y, weights))).certificate_
    exact = stated.verify(X, y, weights, exact=True)
    faults, size = [], np.max(np.abs(y)) if np.asarray(y).dtype.kind == "f" else 1.0
    values = ", ".join(f"{name} {getattr(exact, name):.15g} of {getattr(stated, name):.15g}" for name in _VALUES)
    if exact.objective < stated.lower_bound * (1 - _GAP):
        faults.append(f"the objective is below the stated bound: {values}")
    if exact.relative_gap > stated.relative_gap + _GAP and exact.objective > _SQUARED_ROUNDING * size**2:
        faults.append(f"the gap is {exact.relative_gap:.3g}, stated {stated.relative_gap:.3g}: {values}")
    return faults
