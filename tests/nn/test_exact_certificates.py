"""Certificates in 60-digit arithmetic on the stored numbers: targets with offsets, of all scales, with weights."""

import warnings

import mpmath as mp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from clifford_rand_nn import (
    ConvexNetworkRegressor,
    ConvexReLURegressor,
    CrossProductLassoRegressor,
    GatedReLURegressor,
)
from clifford_rand_nn.certificates import GatedClaim, KernelClaim, NetworkClaim

mp.mp.dps = 60
RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 2))
Z = np.abs(X[:, 0]) - 0.4 * X[:, 1] + 0.1 * RNG.standard_normal(16)
WEIGHTS = RNG.integers(0, 4, 16).astype(float)
OFFSETS = [0.0, 1.0, 1e3, 1e5, 1e8, 1e11, -1e12]
SCALES = [1e-9, 1e-4, 1.0, 1e9]
TOL = 1e-9  # of the objective

numbers = np.vectorize(mp.mpf, otypes=[object])


def share(name, **options):
    """A regressor as a function of the scale of the targets, of which beta of a norm and delta are proportions."""
    squared = options.get("penalty") == "ridge" or name is ConvexNetworkRegressor
    size = 1e-3 if options.get("penalty") == "ridge" else 1e-2

    def make(scale):
        own = dict(options)
        if own.get("loss", "squared") != "squared":
            own["huber_delta"] = 0.3 * scale
        if name is ConvexNetworkRegressor:
            return name(rounds=0, **own)
        return name(beta=size if squared else size * scale, **own)

    return make


FAMILIES = {
    "gated": share(GatedReLURegressor, n_gates=4, random_state=0),
    "gated, free biases": share(GatedReLURegressor, n_gates=4, random_state=0, bias="free"),
    "gated, huber": share(GatedReLURegressor, n_gates=4, random_state=0, loss="huber"),
    "gated, log-cosh": share(GatedReLURegressor, n_gates=4, random_state=0, loss="log_cosh"),
    "gated, ridge": share(GatedReLURegressor, n_gates=4, random_state=0, penalty="ridge"),
    "gated, ridge, huber": share(GatedReLURegressor, n_gates=4, random_state=0, penalty="ridge", loss="huber"),
    "gated, infinite": share(GatedReLURegressor, gates="infinite", penalty="ridge"),
    "gated, infinite, huber": share(GatedReLURegressor, gates="infinite", penalty="ridge", loss="huber"),
    "lasso": share(CrossProductLassoRegressor),
    "lasso, l2": share(CrossProductLassoRegressor, penalty="l2", subsample=20, random_state=0),
    "lasso, huber": share(CrossProductLassoRegressor, loss="huber"),
    "relu": share(ConvexReLURegressor, n_gates=4, random_state=0),
    "relu, huber": share(ConvexReLURegressor, n_gates=4, random_state=0, loss="huber"),
    "network": share(ConvexNetworkRegressor),
    "few neurons": share(ConvexNetworkRegressor, n_neurons=3),
}


def loss_of(certificate, r):
    """The loss of residuals r, of 60 digits."""
    delta = mp.mpf(certificate.huber_delta)
    if certificate.loss == "squared":
        return r * r / 2
    if certificate.loss == "huber":
        return r * r / 2 if abs(r) <= delta else delta * abs(r) - delta * delta / 2
    return delta * delta * mp.log(mp.cosh(r / delta))


def minus_conjugate(certificate, theta, y):
    """Minus the conjugate at -theta, of 60 digits."""
    delta = mp.mpf(certificate.huber_delta)
    if certificate.loss == "log_cosh":
        t = theta / delta
        entropy = ((1 + t) * mp.log(1 + t) if t > -1 else 0) + ((1 - t) * mp.log(1 - t) if t < 1 else 0)
        return theta * y - delta * delta * entropy / 2
    return theta * y - theta * theta / 2


def kernel_matrix(network, rows, others):
    """The gate kernel of standardized rows, of 60 digits."""
    kernel = network.kernel
    lift = [[*map(mp.mpf, row), mp.mpf(kernel.bias)] for row in rows.tolist()]
    with_ = [[*map(mp.mpf, row), mp.mpf(kernel.bias)] for row in others.tolist()]
    K = mp.matrix(len(lift), len(with_))
    for i, a in enumerate(lift):
        for j, b in enumerate(with_):
            dot, size = mp.fdot(a, b), mp.sqrt(mp.fdot(a, a) * mp.fdot(b, b))
            angle = mp.acos(max(min(dot / size, mp.mpf(1)), mp.mpf(-1))) if size else mp.mpf(0)
            K[i, j] = dot * (mp.pi - angle) / (2 * mp.pi)
    return K


def exact_values(model, X, y):
    """Objective of the stored network and dual value of the stored dual point, both of 60 digits."""
    c = model.certificate_
    claim, weights = c.claim, np.ones(len(y)) if c.sample_weight is None else c.sample_weight
    kept = weights > 0
    X, targets, omega = X[kept], numbers(y[kept]), numbers(weights[kept] / 1.0)
    omega = omega * len(omega) / omega.sum()
    theta = numbers(c.dual_point[:, 0])
    theta, n = theta - theta.sum() / len(theta) if c.fit_intercept else theta, len(X)
    beta, forms, largest = mp.mpf(c.beta), mp.mpf(0), mp.mpf(0)
    if isinstance(claim, KernelClaim):
        network = claim.network
        rows, alpha = network.standard.rows(X), numbers(network.alpha[:, 0])
        K = kernel_matrix(network, rows, network.rows)
        f = np.array([mp.fdot(K[i, :], alpha) for i in range(n)]) + mp.mpf(network.intercept[0])
        own = kernel_matrix(network, network.rows, network.rows)
        penalty = sum(a * mp.fdot(own[i, :], alpha) for i, a in enumerate(alpha)) / 2
        K = kernel_matrix(network, rows, rows)
        forms = sum(t * mp.fdot(K[i, :], theta) for i, t in enumerate(theta)) / 2
    elif isinstance(claim, GatedClaim):
        on, A = claim.gates.on(X), numbers(X)
        U, b, t = (numbers(part[0]) for part in claim.coefficients)
        f = (on * (A @ U.T + b)).sum(axis=1) + t
        lifted = A if claim.feature is None else np.column_stack([A, numbers(np.full(n, claim.feature))])
        W = U if claim.feature is None else np.column_stack([U, b / mp.mpf(claim.feature)])
        norms = [mp.norm(list(w)) for w in W]
        duals = [mp.norm(list(lifted.T @ (theta * gate))) for gate in on.T]
        penalty = sum(v * v for v in norms) / 2 if claim.squared else sum(norms)
        forms, largest = (sum(v * v for v in duals) / 2, 0) if claim.squared else (0, max(duals))
    else:
        assert isinstance(claim, NetworkClaim)
        network, family = claim.network, claim.family
        W1, b1, w2 = numbers(network.W1), numbers(network.b1), numbers(network.w2[:, 0])
        inside = numbers(claim.rows(X)) @ W1.T + b1
        f = np.where(inside > 0, inside, mp.mpf(0)) @ w2 + mp.mpf(network.b2[0])
        if family.feature is not None:
            W1 = np.column_stack([W1, b1 / mp.mpf(family.feature)])
        penalty = sum(mp.norm(list(w), family.p) * abs(a) for w, a in zip(W1, w2, strict=True))
        largest = mp.mpf(claim.dual_norm(X, c.dual_point))
    primal = sum(w * loss_of(c, r) for w, r in zip(omega, f - targets, strict=True)) / n + beta * penalty
    if c.bias == "free" and isinstance(claim, GatedClaim):
        return primal, None  # whose equalities are those of all gates
    theta = theta * min(1, n * beta / largest) if largest else theta
    gains = [w * minus_conjugate(c, t / w, v) for w, t, v in zip(omega, theta, targets, strict=True)]
    return primal, sum(gains) / n - forms / (n * n * beta)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_certificate_is_exact_for_targets_of_any_offset_and_scale(name, weights):
    for scale in SCALES:
        for offset in OFFSETS:
            y = scale * Z + offset
            if np.ptp(y) == 0:
                continue
            model = FAMILIES[name](scale).fit(X, y, weights)
            c = model.certificate_
            primal, dual = exact_values(model, X, y)
            where = f"scale {scale:g}, offset {offset:g}"
            assert abs(c.primal - primal) <= TOL * primal, where
            again = c.verify(X, y)
            assert again.primal == pytest.approx(c.primal, rel=TOL), where
            if dual is not None:
                assert max(c.dual, again.dual) <= max(dual, 0) + TOL * primal, where
                assert min(c.relative_gap, again.relative_gap) >= 1 - max(dual, 0) / primal - 2 * TOL, where
                if np.ptp(y) > 1e6 * np.spacing(np.abs(y).max()):
                    assert max(c.relative_gap, again.relative_gap) <= 1e-4, where


@pytest.mark.parametrize("rounds", [0, 3])
@pytest.mark.parametrize("seed", [2, 24, 54])
def test_a_kernel_of_low_rank_has_no_part_of_alpha_that_only_rounds(seed, rounds):
    """In one column without a constant feature the kernel has rank 2: the residual over n beta would be most of it."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((14, 1))
    y = np.abs(rows[:, 0]) + 0.1 * rng.standard_normal(14)
    model = ConvexNetworkRegressor(rounds=rounds).fit(rows, y)
    primal, dual = exact_values(model, rows, y)
    assert abs(model.certificate_.primal - primal) <= TOL * primal
    assert model.certificate_.dual <= dual + TOL * primal
    assert np.abs(model.network_.alpha).max() < 100


@pytest.mark.parametrize("seed", range(6))
def test_objectives_of_relu_networks_are_exact_where_predictions_cancel_targets(seed):
    """Targets of 1e7 without an intercept leave residuals of 1: their sums in double precision are off by 1e-9."""
    rng = np.random.default_rng(seed)
    rows, z = rng.standard_normal((13, 2)), rng.standard_normal(13)
    y = 1e7 * (np.abs(rows @ [1.0, 2.0]) + np.abs(rows @ [3.0, -1.0])) + z
    options = {"penalty": "l2", "fit_intercept": False, "bias": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CrossProductLassoRegressor(beta=1e-9, **options).fit(rows, y)
    primal, _ = exact_values(model, rows, y)
    assert abs(model.certificate_.verify(rows, y).primal - primal) <= 0.1 * TOL * primal


@pytest.mark.parametrize("seed", [2, 13, 18])
def test_a_fit_states_no_better_bound_than_verify_where_rounding_of_norms_is_felt(seed):
    """Without an intercept an offset of the targets stays: correlations of 1e12 are to vanish up to n beta."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((16, 1))
    y = np.abs(rows[:, 0]) + 0.1 * rng.standard_normal(16) - 1e12
    options = {"subsample": 40, "penalty": "l1", "fit_intercept": False, "bias": False, "random_state": 0}
    c = CrossProductLassoRegressor(beta=1.7e-3, **options).fit(rows, y).certificate_
    assert c.dual <= c.verify(rows, y).dual + 1e-3 * c.primal


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_objectives_of_rounding_size_are_exact(offset):
    """As many free biases as rows fit the targets to rounding: the objective is that of the sums of the biases."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows, z = rng.standard_normal((6, 2)), rng.standard_normal(6)
        model = GatedReLURegressor(30, beta=1.0, bias="free", random_state=0).fit(rows, z + offset)
        primal, _ = exact_values(model, rows, z + offset)
        again = model.certificate_.verify(rows, z + offset)
        assert abs(model.certificate_.primal - primal) <= TOL * primal
        assert abs(again.primal - primal) <= TOL * primal
