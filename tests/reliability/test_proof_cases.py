"""Instances of the promises `proofs` and `gaps` that were once wrong."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from clifford_rand_nn.estimators.any_width_bound import of_any_width
from fuzz import exact_instances, gap_instances
from fuzz.proof_instances import FAMILIES, attack, instance

CASES = [
    *[(11, 376), (11, 671), (11, 1209), (13, 443), (17, 1639), (17, 1609), (17, 1761)],
    *[(18, 121), (18, 1675), (18, 2483)],
]


@pytest.mark.kept("case9")
@pytest.mark.one_seed("stored cases")
@pytest.mark.parametrize("case", CASES)
def test_what_was_wrong_is_right(case):
    """Each is a mechanism, and warns of nothing but of its end.

    (11, 376): rows at 4e7, where what sums over rows lose was in no bound of squared norms.
    (11, 671), (13, 443): of near copies with other labels or targets at a beta of 1e-13, K / (n beta) is rounding.
    (11, 1209): neurons beside a column of 1e8 were off the rows whose entries in their columns were called zero.
    (17, 1639): of near copies an outer product of gradients had a negative diagonal, by rounding, and its root was NaN.
    (17, 1609), (17, 1761): of units between near copies, 1e-12 outside their cones, the objective was below the bound.
    (18, 121): rows that are zeros have no width, and neither have the systems of an interior-point method.
    (18, 1675): of near copies of columns, a penalty below rounding leaves squares singular.
    (18, 2483): what an eigendecomposition of K loses was in the certificate, and K alpha itself is what predicts.
    """
    rng = np.random.default_rng(case)
    one = instance(rng, FAMILIES[case[1] % len(FAMILIES)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found, *_ = attack(rng, one, starts=4)
    assert not found


# All are of targets far from 0: gated networks of squared norms, norms and Huber's loss; a Lasso; constrained networks
# of free biases, of a bound above the network and of an objective that was off; kernel networks, whose bound was 40
# times the exact one; gates that are infinitely many; and shards of either kind, of all losses.
GAPS = [0, 21, 7, 2, 65, 92, 134, 162, 17, 31, 66, 4, 18, 32, 5, 19, 26, 33, 68, 6, 27]


@pytest.mark.one_seed("stored cases")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("k", GAPS)
def test_what_was_reported_is_exact(k):
    one = gap_instances.instance(0, k)
    assert not gap_instances.judged(one)[0], one.words


@pytest.mark.one_seed("stored cases")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case",
    [(0, 414), (0, 834), (101, 324), (102, 137)]
    + [pytest.param(case, marks=pytest.mark.slow) for case in [(0, 334), (102, 485), (102, 940)]],
)
def test_what_the_exact_proof_contradicted_agrees(case):
    """Each is a mechanism.

    (0, 334), (0, 414), (0, 834), (101, 324): of rows 1e9 from 0 rounding of K alpha is felt, and was in no objective.
    (102, 137): planes that rows 1e6 from 0 span are not at 0 on these rows, and were priced as if they were.
    (102, 485): the sums of a gated network were in double precision where its biases cancel them.
    (102, 940): curvatures that are not numbers differ from themselves.
    """
    assert not exact_instances.judged(exact_instances.instance(*case))


@pytest.mark.one_seed("stored cases")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [(5, 151), (5, 446), (5, 481)])
def test_bounds_of_any_width_are_proved_as_they_are_stated(case):
    """Bounds of quadratic functions were stated below them, and raised by 1e-12 of terms that cancel."""
    _, model, X, y, weights = exact_instances.instance(*case)
    certificate = model.fit(X, y, sample_weight=weights).certificate_
    data, targets, own = certificate._training(X, y, weights, "test")
    wide = of_any_width(certificate, data, targets, own / own.mean(), most_cells=6)
    exact = wide.verify(X, y, weights, exact=True)
    assert exact.relative_gap <= wide.relative_gap + 1e-10
