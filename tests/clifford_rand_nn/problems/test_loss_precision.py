"""Losses against exact arithmetic (mpmath, 50 digits after cancellation), sizes from 1e-300 to 1e300, both signs.

Every figure is held to ``_SHARE`` of itself wherever float64 can represent it; below, it may underflow to 0. Where the
terms of a sum cancel (a conjugate with targets, a prox), the share is that of the terms: each is rounded once.
"""

import warnings

import mpmath as mp
import numpy as np
import pytest

from clifford_rand_nn.problems import loss_registry as registry

_SHARE = 1e-14
_DIGITS = 700  # log cosh of 1e-300 by its definition cancels 600 of them
_FEW_DIGITS = 60  # where every bound is a share of the largest term
_SIZES = 10.0 ** np.array([-300, -154, -100, -20, -9, -8, -5, -1, 0, 1, 9, 140, 300])
_ODD = np.array([0.3, 0.999e-3, 1.001e-3, 0.4143, 0.71, 1.001, 5.0, 19.9, 20.1, 36.0, 38.0, 300.0, 700.0])
_GRID = np.concatenate([[0.0], *(s * np.concatenate([_SIZES, _ODD]) for s in (1, -1))])
_NEAR_ONE = 1 - np.array([0.0, 1e-16, 1e-12, 1e-6, 1e-3, 0.1, 0.4, 0.6, 0.9])
_SHARES = np.concatenate([_NEAR_ONE, _SIZES[_SIZES < 1], _ODD[_ODD < 1]])  # of the domain of a dual point
_STEPS = (1e-9, 1.0, 1e4, 1e9)
_REAL = [("squared", None)] + [(name, delta) for name in ("huber", "log_cosh") for delta in (1e-150, 0.7, 1e3, 1e150)]
_LABELED = [("logistic", None), ("squared_hinge", None)]
_CASES = [pytest.param(*case, id="-".join(map(str, filter(None, case)))) for case in _REAL + _LABELED]


@pytest.fixture(autouse=True)
def _exact():
    with mp.workdps(_DIGITS), warnings.catch_warnings(), np.errstate(over="warn", divide="warn", invalid="warn"):
        warnings.simplefilter("error")
        yield


def test_every_registered_loss_is_covered():
    """Two have tests of their own, in `test_poisson` and `test_quantile`."""
    others = {"softmax", "poisson", "quantile"}
    assert {name for name, _ in _REAL + _LABELED} | others == set(registry.LOSSES)


def _loss(name, delta):
    return registry.as_loss(name, "test", delta)


def _exact_value(name, delta, f, y):
    r, m = mp.mpf(y) - mp.mpf(f), mp.mpf(y) * mp.mpf(f)
    match name:
        case "squared":
            return r**2 / 2
        case "huber":
            return r**2 / 2 if abs(r) <= delta else mp.mpf(delta) * abs(r) - mp.mpf(delta) ** 2 / 2
        case "log_cosh":
            u = abs(r) / mp.mpf(delta)
            return mp.mpf(delta) ** 2 * (u + mp.log1p(mp.exp(-2 * u)) - mp.log(2))
        case "logistic":
            return mp.log1p(mp.exp(-m)) if m > 0 else -m + mp.log1p(mp.exp(m))
        case "squared_hinge":
            return max(1 - m, 0) ** 2 / 2


def _exact_residual(name, delta, f, y):
    r, m = mp.mpf(y) - mp.mpf(f), mp.mpf(y) * mp.mpf(f)
    match name:
        case "squared":
            return r
        case "huber":
            return max(min(r, mp.mpf(delta)), -mp.mpf(delta))
        case "log_cosh":
            return mp.mpf(delta) * mp.tanh(r / mp.mpf(delta))
        case "logistic":
            return mp.mpf(y) / (1 + mp.exp(m))
        case "squared_hinge":
            return mp.mpf(y) * max(1 - m, 0)


def _entropy(p):
    return -p * mp.log(p) if p > 0 else mp.mpf(0)


def _exact_conjugate(name, delta, theta, y):
    """Return the conjugate at -theta, without its term -theta·y for real targets."""
    theta, a = mp.mpf(theta), mp.mpf(theta) * mp.mpf(y)
    match name:
        case "squared" | "huber":
            return theta**2 / 2
        case "log_cosh":
            a = theta / mp.mpf(delta)
            return -(mp.mpf(delta) ** 2) / 2 * (_entropy(1 + a) + _entropy(1 - a))
        case "logistic":
            return -_entropy(a) - _entropy(1 - a)
        case "squared_hinge":
            return a**2 / 2 - a


def _exact_curvature(name, delta, theta, y):
    a = mp.mpf(theta) * mp.mpf(y)
    match name:
        case "log_cosh":
            return 1 - (mp.mpf(theta) / mp.mpf(delta)) ** 2
        case "logistic":
            return a * (1 - a)
        case _:
            return mp.mpf(1)


def _points(name):
    """Predictions and targets (n, 1)."""
    targets = (0.0, 3.0, -1e9) if registry.LOSSES[name].labels is None else (1.0, -1.0)
    f = np.concatenate([y * (registry.LOSSES[name].labels is None) + _GRID for y in targets])
    return f[:, None], np.repeat(targets, _GRID.size)[:, None]


def _dual_points(name, delta):
    """Dual points in the domain, ends included, and their targets (n, 1)."""
    real = registry.LOSSES[name].labels is None
    sizes = _SHARES * delta if delta else _SHARES if name == "logistic" else np.concatenate([_SHARES, np.abs(_GRID)])
    pairs = [(s * a, y) for s in (1, -1) for a in sizes for y in ((0.0, 3.0, -1e9) if real else (float(s),))]
    theta, y = np.array(pairs).T
    return theta[:, None], y[:, None]


def _hold(found, exact, terms=None, share=_SHARE):
    """Check numbers against exact ones, to a share of the larger of the exact one and its terms."""
    for k, (value, right) in enumerate(zip(np.ravel(found), exact, strict=True)):
        size = abs(right) if terms is None else max(abs(right), terms[k])
        if size < np.finfo(float).max:
            assert np.isfinite(value), (k, value, mp.nstr(right))
            assert abs(mp.mpf(float(value)) - right) <= share * size + 4e-308, (k, value, mp.nstr(right, 20))


@pytest.mark.parametrize(("name", "delta"), _CASES)
def test_value_and_gradient(name, delta):
    loss, (f, y) = _loss(name, delta), _points(name)
    at = list(zip(f.ravel(), y.ravel(), strict=True))
    value = [_exact_value(name, delta, *point) for point in at]
    kept = np.array([v < np.finfo(float).max for v in value])  # the others are beyond float64
    f, y = f[kept], y[kept]
    at, value = ([v for v, k in zip(some, kept, strict=True) if k] for some in (at, value))
    _hold(loss.value(f, y), value)
    _hold(loss.stated_value(f, y), value)
    _hold(loss.residual(f, y), [_exact_residual(name, delta, *point) for point in at])


@pytest.mark.parametrize(("name", "delta"), _CASES)
def test_conjugate_and_curvature_up_to_the_end_of_the_domain(name, delta):
    loss, (theta, y) = _loss(name, delta), _dual_points(name, delta)
    real = loss.labels is None
    at = list(zip(theta.ravel(), y.ravel(), strict=True))
    conjugate = [_exact_conjugate(name, delta, *point) for point in at]
    exact = [real * mp.mpf(t) * mp.mpf(v) - c for (t, v), c in zip(at, conjugate, strict=True)]
    kept = np.array([abs(v) < np.finfo(float).max for v in conjugate])
    theta, y, at = theta[kept], y[kept], [point for point, k in zip(at, kept, strict=True) if k]
    exact, terms = ([v for v, k in zip(some, kept, strict=True) if k] for some in (exact, conjugate))
    terms = terms if name == "log_cosh" else None  # of the others theta (y - theta/2) cancels no digits
    _hold(loss.dual_value(theta, y), exact, terms)
    _hold(loss.stated_dual_value(theta, y), exact, terms)
    _hold(loss.curvature_at(theta, y), [_exact_curvature(name, delta, *point) for point in at])


@pytest.mark.parametrize(("name", "delta"), _CASES)
def test_predictions_have_the_dual_point_as_their_residual(name, delta):
    loss, (theta, y), mp.mp.dps = _loss(name, delta), _dual_points(name, delta), _FEW_DIGITS
    low, high = (np.broadcast_to(bound, theta.shape) for bound in loss.domain(y))
    inside = ((theta > low) & (theta < high))[:, 0]
    theta, y = theta[inside], y[inside]
    for t, v, f in zip(theta.ravel(), y.ravel(), loss.prediction(theta, y).ravel(), strict=True):
        wide = _SHARE * max(abs(f), abs(v) if loss.labels is None or name == "squared_hinge" else 0, abs(t)) + 4e-308
        if name == "logistic":  # the argument of the logarithm is rounded once
            wide += _SHARE
        ends = [_exact_residual(name, delta, mp.mpf(f) + s * wide, v) for s in (1, -1)]
        assert ends[0] <= t <= ends[1], (t, v, f)


@pytest.mark.parametrize(("name", "delta"), _CASES)
def test_prox_over_steps_of_any_size(name, delta):
    """The root of f - v - step·θ(f), which increases, lies within the rounding of the terms about what is returned."""
    loss, (v, y), mp.mp.dps = _loss(name, delta), _points(name), _FEW_DIGITS
    for step in _STEPS:
        found = loss.prox(v, step, y)
        assert np.isfinite(found).all()
        for f, a, b in zip(found.ravel(), v.ravel(), y.ravel(), strict=True):
            theta = _exact_residual(name, delta, f, b)
            bend = _exact_curvature(name, delta, theta, b) if name in ("log_cosh", "logistic") else mp.mpf(0)
            if name not in ("log_cosh", "logistic") and abs(theta) < (delta or np.inf):
                bend = mp.mpf(theta != 0 or name != "squared_hinge")
            noise = (abs(a) + step * abs(theta) + step * bend * abs(b)) / (1 + step * bend)
            wide = 2 * _SHARE * max(abs(f), noise) + 4e-308
            ends = [
                mp.mpf(f) + s * wide - a - step * _exact_residual(name, delta, mp.mpf(f) + s * wide, b) for s in (-1, 1)
            ]
            assert ends[0] <= 0 <= ends[1], (step, a, b, f)


@pytest.mark.parametrize(("name", "delta"), _CASES)
def test_fenchel_young_gap_is_not_negative(name, delta):
    """value(f) + conjugate(-θ) + θ·f ≥ 0 for every pair, and 0 for the residual of f, but for the rounding of terms."""
    loss, (theta, y) = _loss(name, delta), _dual_points(name, delta)
    largest = 1e150 if delta is None else 1e300 / max(delta, 1.0)
    for size in [0.0, *(s * a for a in (1e-300, 1e-9, 1e-3, 1.0, 30.0, 1e9, 1e140) for s in (1, -1)), None]:
        with np.errstate(divide="ignore"):  # at the ends of a domain predictions are infinite
            f = loss.prediction(theta, y) if size is None else y + size
        inside = (np.isfinite(f) & (np.abs(theta) < 1e150) & (np.abs(f) < min(largest, 1e150)))[:, 0]
        f, t, v = f[inside], theta[inside], y[inside]
        parts = loss.value(f, v), -loss.dual_value(t, v), t * f
        noise = _SHARE * (np.abs(parts[0]) + np.abs(parts[1]) + np.abs(parts[2]) + np.abs(t * v)) + 4e-308
        assert (sum(parts) >= -noise).all()


def _softmax_points():
    """Rows of three predictions, true class at any place, margins of every size."""
    sizes = _GRID[np.abs(_GRID) < 1e200]
    rows = [(0.0, -a, -b) for a in sizes for b in (0.0, 1e-9, a, 2.0, -3e-3)]
    rows = [np.roll(row, k % 3) for k, row in enumerate(rows)]
    return np.array(rows), np.eye(3)[np.arange(len(rows)) % 3]


def _exact_softmax(f):
    with mp.workdps(360):
        terms = [mp.exp(mp.mpf(a) - mp.mpf(max(f))) for a in f]
        return [term / mp.fsum(terms) for term in terms]


def test_softmax():
    """Value and gradient, to their share and the rounding of differences of predictions, conjugate and curvature."""
    loss, (f, y) = registry.as_loss("softmax", "test"), _softmax_points()
    with mp.workdps(360):
        others = [
            [mp.mpf(a) - mp.mpf(row[k]) for c, a in enumerate(row) if c != k]
            for row, k in zip(f, y.argmax(1), strict=True)
        ]
        far = [max(map(abs, row)) for row in others]
        value = [
            mp.log1p(mp.fsum(map(mp.exp, row)))
            if max(row) < 1e4
            else max(row) + mp.log1p(mp.exp(max(min(row) - max(row), -1e3)))
            for row in others
        ]
        terms = [v * (1 + (a if a < 800 else 0)) for v, a in zip(value, far, strict=True)]
        _hold(loss.value(f, y), value, terms)
        _hold(loss.stated_value(f, y), value, terms)
        p = [_exact_softmax(row) for row in f]
        gradient = [
            [-q if c != k else mp.fsum(row[:k] + row[k + 1 :]) for c, q in enumerate(row)]
            for row, k in zip(p, y.argmax(1), strict=True)
        ]
        terms = [abs(g) * (1 + min(a, 800)) for row, a in zip(gradient, far, strict=True) for g in row]
        theta = loss.residual(f, y)
        _hold(theta, [g for row in gradient for g in row], terms)
        q = [[mp.mpf(b) - mp.mpf(a) for a, b in zip(*row, strict=True)] for row in zip(theta, y, strict=True)]
        _hold(loss.dual_value(theta, y), [_entropy(a) for row in q for a in row])
        _hold(loss.stated_dual_value(theta, y), [mp.fsum(map(_entropy, row)) for row in q])
        _hold(loss.row_curvature_at(theta, y), [2 * max(a * (1 - a) for a in row) for row in q])
        v = np.random.default_rng(0).standard_normal(f.shape)
        exact = [
            [
                a * mp.fsum(b * (mp.mpf(s) - mp.mpf(t)) for b, t in zip(row, w, strict=True))
                for a, s in zip(row, w, strict=True)
            ]
            for row, w in zip(q, v, strict=True)
        ]
        size = [
            a * mp.fsum(b * abs(mp.mpf(s) - mp.mpf(t)) for b, t in zip(row, w, strict=True))
            for row, w in zip(q, v, strict=True)
            for a, s in zip(row, w, strict=True)
        ]
        # What an almost certain, wrong class leaves to the others is below the rounding of 1.
        lost = [
            float(a) * np.abs(w).max() * (row[k] < 0.5)
            for row, w, k in zip(q, v, y.argmax(1), strict=True)
            for a in row
        ]
        size = [2 * max(size[k - k % 3 : k - k % 3 + 3]) + lost[k] for k in range(3 * len(v))]
        _hold(loss.hessian_product(theta, y, v), [a for row in exact for a in row], size)
    gap = loss.value(f, y)[:, 0] - loss.stated_dual_value(theta, y) + np.sum(theta * f, axis=1)
    assert (gap >= -_SHARE * (np.abs(theta * f).sum(axis=1) + loss.value(f, y)[:, 0])).all()


@pytest.mark.parametrize("step", _STEPS)
def test_softmax_prox_over_steps_of_any_size(step):
    loss, (v, y) = registry.as_loss("softmax", "test"), _softmax_points()
    f = loss.prox(v, step, y)
    assert np.isfinite(f).all()
    for row, a, k in zip(f, v, y.argmax(1), strict=True):
        p = _exact_softmax(row)
        miss = [
            mp.mpf(s) - mp.mpf(t) + step * (q - (c == k)) for c, (s, t, q) in enumerate(zip(row, a, p, strict=True))
        ]
        assert max(map(abs, miss)) <= 1e-12 * (np.abs(a).max() + step * (1 - p[k])), (row, a, k)


def test_sums_of_logistic_losses_and_entropies_along_rays():
    """Row by row, so that small ones do not hide behind large ones."""
    loss, (f, y), scales = registry.as_loss("logistic", "test"), _points("logistic"), np.array([0.3, 0.97, 1.0])
    for k in range(len(f)):
        value, theta, duals = loss.along_rays(f[[k]], y[[k]], 1.0, scales)
        plain = loss.residual(f[[k]], y[[k]])
        np.testing.assert_allclose(theta, plain, rtol=1e-14, atol=4e-308)
        np.testing.assert_allclose(value, loss.value(f[[k]], y[[k]]).sum(), rtol=1e-14, atol=4e-308)
        expected = [loss.dual_value(s * theta, y[[k]]).sum() for s in scales]
        noise = 4e-16 * (np.abs(theta).max() > 0.5) + 4e-308  # that of the dual point itself where 1 - a is small
        np.testing.assert_allclose(duals, expected, rtol=2e-14, atol=noise)
