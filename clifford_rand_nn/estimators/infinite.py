"""What the classifier and the regressor without knobs share: checks, choice by leave-one-out, fit and certificate."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from clifford_rand._checks import check_integer, check_positive, describe, fail, refuse_unreal
from clifford_rand._typing import Array
from clifford_rand_nn.certificates import Certificate, KernelClaim
from clifford_rand_nn.datafits.choice import check_weights, make_datafit, normalised
from clifford_rand_nn.estimators.parameters import Parameters
from clifford_rand_nn.gates.sampling import merged_rows
from clifford_rand_nn.infinite.choice import Compared, Problem, choose, compare
from clifford_rand_nn.infinite.learned import KernelRidge, LearnedGates, learn_frame
from clifford_rand_nn.infinite.network import KernelNetwork
from clifford_rand_nn.infinite.rounds import LearnedRounds, learned_rounds
from clifford_rand_nn.infinite.variance import PredictiveVariance

_ROUNDS = 3
_COMPARED = 1000  # rows on which candidates are compared, if there are more
_SCOPE = "all gated networks of any width whose gates follow the kernel's law, in the limit of infinitely many"


class Data(NamedTuple):
    """Checked rows that count (n, d), targets (n, C), weights with mean 1 or None, groups from 0 or None."""

    X: Array
    targets: Array
    weights: Array | None
    groups: NDArray[np.intp] | None


class LeftOut(NamedTuple):
    """What was said of rows by fits without them.

    Attributes
    ----------
    place : (n,) int
        Of each row among the distinct ones.
    outputs : (m, C)
        Of the distinct rows.
    variance : (m,) or None
    honest : (m,) bool
        For which of them the final choice was judged. With learned gates these are rows that were held out of all; the
        outputs of the others are those of leave-one-out before gates were learned.
    """

    place: NDArray[np.intp]
    outputs: Array
    variance: Array | None
    honest: NDArray[np.bool_]


class InfiniteNetwork(Parameters):
    r"""Parameters and training; `ConvexNetworkClassifier` and `ConvexNetworkRegressor` add what targets need.

    .. math:: \min_{f,t}\ \frac1n\sum_i\omega_i\tfrac12||y_i-f(x_i)-t||^2+\frac\beta2||f||_K^2,\qquad
              K(x,x')=z\cdot z'\,\frac{\pi-\angle(z,z')}{2\pi},\quad z=(x,c)

    It is the gated network with squared norms in the limit of infinitely many Gaussian gates, whose biases are inside
    the norm by the constant feature c; see `GateKernel`. Nothing is drawn, and no learning rate or stopping rule is
    there. Rows are standardised, and how, c, and β are chosen by leave-one-out in closed form (`LeaveOneOut`):
    predictions of every row by a fit without it, for every β from one eigendecomposition. Copies of a row are left out
    together, so that whole weights are as good as so many copies.

    {targets}

    Parameters
    ----------
    beta : "auto" or float > 0, default "auto"
        Weight of the squared norm in the 1/n scale, on standardised rows; "auto" is the one with the least squared
        error by leave-one-out.
    rounds : "auto" or int from 0 to 3, default "auto"
        Most rounds in which the law of the gates is learned, see `learn_frame`: gates :math:`w\sim N(0,M)`, M the
        average outer product of the gradients of the network before. How many of them, and whether any, is settled by
        held-out rows (`learned_rounds`), for leave-one-out cannot judge a metric that has seen the row.
    {class_weight}
    verbose : int, default 0
        1 shows one line with what was chosen.

    Attributes
    ----------
    network_ : KernelNetwork
    beta_ : float
    loo_score_ : float
        What `score` promises for new rows of the same kind, by leave-one-out (leave-one-group-out with ``groups``); if
        gates were learned, by the rows that were held out, of fits to fewer rows. It was the best of ``candidates_``,
        so it may flatter a little.
    loo_predictions_ : (n, …)
        What `predict` would say of each row without it, in the order of the rows that were given; NaN, or the label
        that is most frequent, for rows of weight zero. If gates were learned, rows that were not held out are
        predicted as before learning.
    candidates_ : list of Candidate
        What was compared, best first.
    rounds_ : LearnedRounds or None
        What held-out rows said of learned gates.
    metric_ : (d, d) array or None
        M, if gates were learned: which standardised columns, and which combinations of them, matter.
    certificate_ : Certificate
        What is proved of the training; ``certificate_.verify(X, y)`` recomputes it. It says nothing of new rows;
        ``loo_score_`` does.
    {classes}

    Raises
    ------
    {errors}
    """

    beta: float | str = "auto"
    rounds: int | str = "auto"
    verbose: int = 0

    _parts: ClassVar[dict[str, str]] = {}

    def _check_parameters(self) -> None:
        if not (isinstance(self.beta, str) and self.beta == "auto"):
            check_positive(self.beta, "beta", type(self).__name__, "Or 'auto'.")
        if not (isinstance(self.rounds, str) and self.rounds == "auto"):
            check_integer(self.rounds, "rounds", type(self).__name__, low=0, high=_ROUNDS)

    def _weighted(self, X: Array, sample_weight: Any) -> tuple[NDArray[np.bool_], Array | None]:
        """Return which rows count, and the weights of these with mean 1, or None if they are equal."""
        owner = type(self).__name__
        self._sample_weight = None
        if sample_weight is None:
            return np.ones(len(X), dtype=bool), None
        w = check_weights(sample_weight, len(X), owner)
        kept = w > 0
        weights = normalised(w[kept], int(kept.sum()), owner)
        if weights is not None or not kept.all():
            self._sample_weight = np.zeros(len(X))
            self._sample_weight[kept] = 1.0 if weights is None else weights
        return kept, weights

    def _grouped(self, groups: Any, kept: NDArray[np.bool_]) -> NDArray[np.intp] | None:
        """Return the groups of the rows that count as integers from 0."""
        if groups is None:
            return None
        labels = np.asarray(groups)
        if labels.shape != kept.shape:
            rule = f"of shape ({len(kept)},), one label per row"
            raise fail("groups", type(self).__name__, rule, describe(f"shape {labels.shape}"))
        return np.unique(labels[kept], return_inverse=True)[1].astype(np.intp)

    def _train(self, data: Data, classes: NDArray[Any] | None) -> LeftOut:
        """Choose, solve and certify."""
        owner = type(self).__name__
        n = len(data.X)
        keys = data.X if data.groups is None else np.column_stack([data.X, data.groups])
        first, place = merged_rows(keys)
        own = np.ones(n) if data.weights is None else data.weights
        mass = np.bincount(place, own)
        targets = np.stack([np.bincount(place, own * column) for column in data.targets.T], axis=1) / mass[:, None]
        weights = None if (mass == mass[0]).all() else mass / mass.mean()
        groups = None if data.groups is None else data.groups[first]
        if len(first) < 2:
            raise fail("X", owner, "at least two rows that differ, so that one can be left out", describe("one sample"))
        if groups is not None and groups.max() == 0:
            raise fail("groups", owner, "at least two groups, so that one can be left out", describe("one group"))
        problem = Problem(data.X[first], targets, weights, groups)
        best, self.candidates_ = self._chosen(problem)
        outputs = best.loo.predictions(np.array([best.candidate.beta]))[0]
        self.rounds_, learned = self._learned(best, problem)
        if self.rounds_ is None or learned is None:
            kernel, self.beta_, honest = best.kernel, best.candidate.beta, np.ones(len(first), dtype=bool)
            (alpha, intercept), fitted = best.loo.fit(self.beta_), best.loo.fitted(self.beta_)
        else:
            kernel, self.beta_ = learned.kernel, learned.beta
            K = kernel(best.rows)
            alpha, intercept = KernelRidge(K, weights).fit(targets, len(first) * self.beta_)
            fitted = K @ alpha + intercept
            honest = np.zeros(len(first), dtype=bool)
            honest[self.rounds_.rows] = True
            outputs[self.rounds_.rows] = self.rounds_.predictions
        self.metric_ = None if learned is None else learned.metric
        self.network_ = KernelNetwork(best.standard, kernel, best.rows, alpha, intercept)
        self._certify(data, fitted[place], 0.5 * float((alpha * (fitted - intercept)).sum()), classes)
        self._noise = len(first) * self.beta_ / (np.ones(len(first)) if weights is None else weights)
        plain = learned is None and groups is None
        return LeftOut(place, outputs, best.loo.variances(self.beta_) if plain else None, honest)

    def _learned(self, best: Compared, problem: Problem) -> tuple[LearnedRounds | None, LearnedGates | None]:
        """Return what rows that were held out say of learned gates, and these if they serve."""
        most = _ROUNDS if isinstance(self.rounds, str) else int(self.rounds)
        if not most:
            return None, None
        beta, w = best.candidate.beta, problem.weights
        found = learned_rounds(
            best.kernel, best.rows, problem.targets, beta, weights=w, groups=problem.groups, rounds=most
        )
        if not found.rounds:
            return found, None
        learned = learn_frame(
            best.kernel,
            best.rows,
            problem.targets,
            beta,
            rounds=found.rounds,
            shape=found.shape,
            factors=found.factors if isinstance(self.beta, str) else None,
            weights=w,
        )
        return found, learned

    def _chosen(self, problem: Problem) -> tuple[Compared, list[Any]]:
        beta = None if isinstance(self.beta, str) else float(self.beta)
        n = len(problem.X)
        if n <= _COMPARED:
            return choose(problem, beta)
        few = np.sort(np.random.default_rng(0).choice(n, _COMPARED, replace=False))  # of rows in an order of their own
        table = choose(problem.take(few), beta)[1]
        best = compare(problem, table[0].scaling, table[0].bias, beta)
        return best, [best.candidate, *table]

    def _certify(self, data: Data, fitted: Array, half: float, classes: NDArray[Any] | None) -> None:
        r"""Set ``certificate_`` from the predictions (n, C) of the training rows and :math:`\frac12||f||_K^2`."""
        datafit = make_datafit("squared", data.targets, len(fitted), type(self).__name__, sample_weight=data.weights)
        theta = datafit.residual(fitted)
        theta -= theta.mean(axis=0)
        primal = datafit.value(fitted) + self.beta_ * half
        dual = datafit.dual_value(theta) - self.beta_ * half
        self.certificate_ = Certificate(
            primal=primal,
            dual=dual,
            relative_gap=max(primal - dual, 0.0) / primal if primal > 0 else 0.0,
            n_patterns=0,
            scope=_SCOPE,
            dual_point=theta,
            loss="squared",
            beta=self.beta_,
            bias=False,
            fit_intercept=True,
            claim=KernelClaim(self.network_),
            classes=classes,
            sample_weight=self._sample_weight,
        )

    def _open(self) -> PredictiveVariance:
        """Return the variance of the network at new rows."""
        return PredictiveVariance(self.network_.kernel, self.network_.rows, self._noise)

    def _rows(self, X: Any) -> Array:
        """Return new rows, checked."""
        check_is_fitted(self, "network_")
        refuse_unreal(X, "X", type(self).__name__)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
