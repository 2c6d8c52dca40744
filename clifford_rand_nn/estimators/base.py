"""Base of all estimators by convex programs: parameter checks, `fit`, fitted attributes, and prediction."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import as_generator, check_bool, check_choice, check_positive, fail
from clifford_rand._threads import cpu_count
from clifford_rand._typing import Array
from clifford_rand.errors import require
from clifford_rand_nn._progress import check_verbose, phase, reporting, step_callback
from clifford_rand_nn._records import as_table
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import Claim, GatedClaim, KernelClaim, NetworkClaim
from clifford_rand_nn.certificates.values import proved, with_network_values
from clifford_rand_nn.cost import Estimate, RowPlanning, slowdown
from clifford_rand_nn.estimators.held_out import HeldOut, chosen_beta, n_folds
from clifford_rand_nn.estimators.rows import by_blocks, dense_training_rows, new_rows
from clifford_rand_nn.estimators.task import RescaledFit, Task, WarmStart
from clifford_rand_nn.gates.enumeration import deadline
from clifford_rand_nn.gates.hyperplanes import Gates, gates_without_incidence
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.networks import TwoLayerNetwork, balanced_gated, gated_predictions
from clifford_rand_nn.problems.coordinates import CsrRows
from clifford_rand_nn.problems.duality import DualBound, relative_gap
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.problems.loss_registry import as_loss, has_delta, split_weights
from clifford_rand_nn.relu_paths import FIRST_SHARE
from clifford_rand_nn.solvers.base import Limits, Result, Status, check_limits, sure_result, with_status
from clifford_rand_nn.solvers.stopping import Interrupts, unless_interrupted
from clifford_rand_nn.sparse_rows import Bias, bias_feature, check_bias, is_wide_sparse, with_feature

_TRIED = 6, 9  # betas of a fit that selects one, by squares more; 200 and 1000 rows
_LOST = 1e-9  # of the objective: a bound that rounding may have moved by more is computed again
_ROUNDED = 10.0  # times the gap that was asked for, beyond which a network's own is reported


class ConvexNetwork(RowPlanning, RescaledFit):
    """A two-layer network that is trained by a convex program.

    A family of estimators (gated, constrained, dictionary) gives parameters and `_train`; the mix-ins
    `NetworkClassifier` and `NetworkRegressor` give `predict` and the losses that fit their targets.
    """

    beta: float | str = "auto"
    penalty: str = ""
    loss: str = "squared"
    bias: bool | str = "penalized"
    fit_intercept: bool = True
    solver: str = "auto"
    tol: float | str = 1e-6
    max_iter: int | None = None
    max_time: float | None = None
    max_memory: float | None = None
    random_state: Any = None
    verbose: int = 0

    _losses: ClassVar[tuple[str, ...]] = ()
    _penalties: ClassVar[tuple[str, ...]] = ()
    _solvers: ClassVar[tuple[str, ...]] = ()
    _dtypes: ClassVar[Any] = np.float64  # of rows that are used without a copy; others are converted

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows X (n, d) with labels or targets y and, if given, weights (n,) ≥ 0 of the rows.

        X may be sparse. `GatedReLUClassifier` and `GatedReLURegressor` take rows of more than 4096 columns, few of
        whose entries are not zero, as they are, and nothing then has a number for each row and column. Every other fit
        works on a dense copy, and is refused where memory is short of some of these. NaN and text are refused by name
        of the step that takes them.

        y is (n,), or (n, outputs) for regressors. Loss and objective are means with these weights, of which only the
        ratios matter: ``beta`` means what it means without weights, and a whole number is as good as so many copies of
        a row. Rows of weight zero are left out before anything else, so ``patterns_``, ``result_`` and indices of rows
        are those of the others.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, warm: WarmStart | None = None) -> Self:
        """Fit from what the last fit on the same rows left, and leave the same for the next one."""
        task = self._task(X, y, sample_weight)
        units = self._units(task)
        with Interrupts() as interrupts, reporting(self.verbose, self.max_time):
            if units.plain:
                self._choose_and_train(task, warm)
            else:
                scaled = self._in(units)
                scaled._choose_and_train(task.in_units(units), warm)
                self._take_from(scaled, units)
                if units.offset:  # the intercept was rounded
                    proof: Certificate = vars(self)["certificate_"]
                    self.certificate_ = with_network_values(proof, task.X, task.targets, task.weights)
        if interrupts.held:
            self._end(Status.INTERRUPTED)
        return self

    def _costs(self, X: Any, y: Any) -> tuple[tuple[int, int], dict[str, Estimate]]:
        task = self._with_feature(self._task(X, y))
        n, parts = task.X.shape[0], dict[str, Estimate]()
        self.beta_, self.loss_ = 1.0, self.loss
        judged, trained = self._costs_of(task)
        pace = slowdown() * 2 / min(cpu_count(), 2)  # the cost models are of two cores
        if isinstance(self.beta, str):
            fits = _TRIED[self.loss_ == "squared"] * n_folds(n) * len(self._alternatives())
            parts["selection of beta"] = Estimate(fits * pace * judged.seconds, judged.bytes)
        parts["training"] = Estimate(pace * trained.seconds, trained.bytes)
        return task.X.shape, parts

    def _costs_of(self, task: Task) -> tuple[Estimate, Estimate]:
        """Return the estimates of a fit that judges one beta on held-out rows, and of the fit to all rows."""
        raise NotImplementedError

    def _choose_and_train(self, task: Task, warm: WarmStart | None) -> None:
        """Train with the beta that is given, or with the one that held-out rows choose."""
        self.candidates_, held_out = None, None
        task = self._settled(self._with_feature(task))
        if isinstance(self.beta, str):
            self.beta_, scores, settings, held_out = chosen_beta(self, task)
            self.candidates_ = as_table(scores)
            for name, value in settings.items():
                setattr(self, name, value)
        else:
            self.beta_ = float(self.beta)
        phase(f"training with beta {self.beta_:.3g}")
        self._train(task, warm)
        self._calibrate_on(held_out, task)

    def _calibrate_on(self, held_out: HeldOut | None, task: Task) -> None:
        """Keep what probabilities are calibrated on; of classifiers."""

    def _settled(self, task: Task) -> Task:
        """Settle parameters that are "auto" beside beta: set ``loss_``, and return the task with that loss."""
        self.loss_ = self.loss
        return task

    def _with_feature(self, task: Task) -> Task:
        """Add the feature in whose place biases are penalized, where they are."""
        self.bias_feature_ = bias_feature(task.X, task.weights) if self._bias == "penalized" else None
        lifted = with_feature(task.X, self.bias_feature_)
        if issparse(task.X):
            lifted = CsrRows(lifted)  # what problems on them share is kept there
        return replace(task, feature=self.bias_feature_, lifted=lifted)

    @property
    def _bias(self) -> Bias:
        """What ``bias`` says: "penalized", True if they are free, or False."""
        return check_bias(self.bias, type(self).__name__)

    @property
    def _free_bias(self) -> bool:
        return self._bias is True

    @property
    def _offset(self) -> bool:
        """Whether hyperplanes have an offset, and neurons a bias of one sort or the other."""
        return self._bias is not False

    def _top(self, task: Task) -> float:
        """Return the beta of which those that are tried are shares."""
        self.beta_ = 1.0  # a problem has one; this is ignored
        return float(self._beta_max(task))

    def _late(self, task: Task) -> Callable[[], bool] | None:
        """Return whether the largest beta has had its share of ``max_time``, as a function; or None."""
        return deadline(self.max_time, FIRST_SHARE, task.began)

    def _task(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        raise NotImplementedError

    def _training_rows(self, X: Any, outputs: int) -> Any:
        return dense_training_rows(X, type(self).__name__, self.max_memory)

    def _train(self, task: Task, warm: WarmStart | None) -> None:
        raise NotImplementedError

    def _beta_max(self, task: Task) -> float:
        raise NotImplementedError

    def _options(self, task: Task) -> dict[str, Any]:
        """Return what every problem of this estimator is made with, beside rows, targets, columns and beta."""
        return {
            "loss": task.loss,
            "fit_intercept": self.fit_intercept,
            "huber_delta": self._own_delta,
            "sample_weight": task.weights,
        }

    def _limited(self, method: Any, task: Task, **own: Any) -> Any:
        """Return a solver within this estimator's limits, on the clock of the fit; ``own`` are other fields of it.

        ``method`` is "cvxpy" or a class of `Limits`, whose own ``max_iter`` counts where the estimator has none.
        """
        if method == "cvxpy":
            require("cvxpy", purpose="solver='cvxpy'")
            from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference  # takes a second to import

            method = CvxpyReference
        limits = {"tol": self._tolerance(), "max_time": self.max_time, "max_memory": self.max_memory}
        solver = method(**limits | {"max_iter": self.max_iter or method.max_iter} | own).after(task.seconds)
        return solver.after(0.0, callback=step_callback(solver.tol))

    def _tolerance(self, shards: bool = False) -> float:
        """Return the relative gap to reach with rows in memory, or in shards."""
        return check_positive(self.tol, "tol", type(self).__name__)

    @property
    def _delta(self) -> float:
        return float(getattr(self, "huber_delta", 1.0))

    @property
    def _own_delta(self) -> float | None:
        return self._delta if has_delta(self.loss) else None

    def _shares(self) -> Array:
        """Shares of the largest beta, falling, of which one is chosen."""
        return 0.5 ** np.arange(1.0, 15.0)

    def _alternatives(self) -> list[dict[str, Any]]:
        """Return the settings, attributes of this estimator, that are compared on held-out rows next to beta."""
        return [{}]

    def _judged(self, task: Task, warm: WarmStart, X: Array) -> tuple[Array, float]:
        """Train at ``beta_``, from where the last one ended; return outputs for X and the neurons' count."""
        self._train(task, warm)
        unless_interrupted(self.result_)
        network = self.network_
        return self._predicted(X), network.n_neurons if isinstance(network, TwoLayerNetwork) else np.inf

    def _when_judged(self) -> dict[str, Any]:
        """Return the parameters with which the estimator is fitted where it is only judged, for the choice of beta."""
        return {}

    def _check_parameters(self) -> None:
        """Check the parameters that every estimator has; families add their own."""
        owner = type(self).__name__
        if not (isinstance(self.beta, str) and self.beta == "auto"):
            check_positive(self.beta, "beta", owner, "Or 'auto', which chooses it from the data.")
        max_iter = Limits.max_iter if self.max_iter is None else self.max_iter
        check_limits(owner, self._tolerance(), max_iter, self.max_time, self.max_memory)
        check_choice(self.penalty, "penalty", owner, self._penalties)
        check_choice(self.loss, "loss", owner, self._losses)
        check_choice(self.solver, "solver", owner, self._solvers)
        if self.solver == "cvxpy" and self.max_memory is not None:
            hint = "It cannot be held to one; the other solvers keep to it."
            raise fail("max_memory", owner, "None with solver='cvxpy'", self.max_memory, hint)
        check_bias(self.bias, owner)
        check_bool(self.fit_intercept, "fit_intercept", owner)
        check_verbose(self.verbose, owner)
        if not isinstance(self.random_state, np.random.RandomState):  # to make a generator of one draws from it
            as_generator(self.random_state, owner, "random_state")

    def _require_intercept(self) -> None:
        """Refuse a bias without an intercept where a neuron with w = 0 is one for free."""
        if self._free_bias and not self.fit_intercept:
            hint = "A neuron with w = 0 and an unpenalized bias is a free constant; or use bias='penalized' or False."
            raise fail("fit_intercept", type(self).__name__, "True if biases are free", self.fit_intercept, hint)

    def _weighted_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
        """Leave out rows of weight zero; return the others with their weights, or None if these are equal."""
        kept, weights, self._sample_weight = split_weights(sample_weight, X.shape[0], type(self).__name__)
        return (X, y, weights) if kept.all() else (X[kept], y[kept], weights)

    def _set_gated(self, coefficients: Coefficients, gates: Gates) -> None:
        self.gates_ = gates
        self._set_weights(balanced_gated(coefficients, gates, self.bias_feature_), *coefficients)

    def _set_network(self, network: TwoLayerNetwork, method: str) -> None:
        """Set what describes a ReLU network: each neuron is a gate of its own."""
        self.gates_ = gates_without_incidence(np.ascontiguousarray(network.W1.T), network.b1, method)
        coef = np.einsum("mc,md->cmd", network.w2, network.W1)
        self._set_weights(network, coef, network.w2.T * network.b1, network.b2)

    def _set_weights(self, network: TwoLayerNetwork, coef: Array, gate_intercept: Array, intercept: Array) -> None:
        single = len(intercept) == 1
        self.network_: TwoLayerNetwork | KernelNetwork = network
        self.coef_: Array = coef[0] if single else coef
        self.gate_intercept_: Array = gate_intercept[0] if single else gate_intercept
        self.intercept_ = float(intercept[0]) if single else intercept

    def _set_kernel(self, network: KernelNetwork) -> None:
        self.network_ = network
        self.intercept_ = float(network.intercept[0]) if len(network.intercept) == 1 else network.intercept

    def _certify(self, claim: Claim, classes: Any, **proof: Any) -> None:
        """Set ``certificate_``; used after a fit and when a model is loaded."""
        self.certificate_ = Certificate(
            claim=claim,
            classes=classes,
            bias=self.bias,
            fit_intercept=self.fit_intercept,
            loss=self.loss_,
            beta=self.beta_,
            huber_delta=self._delta,
            sample_weight=self._sample_weight,
            **proof,
        )

    def _conclude(
        self, result: Result[Any], scope: str, n_patterns: int, claim: Claim, task: Task, norm: float | None = None
    ) -> None:
        """Set what every fit ends with; warn of a solver that did not end with the optimum, or a network off it."""
        self.result_, self.n_iter_ = result, max(1, result.n_iter)
        datafit, squares = task.datafit(type(self).__name__, self._own_delta), n_patterns * (self.penalty == "ridge")
        prices = np.ptp(task.targets, axis=0) if datafit.loss.separable else np.abs(claim.intercept)
        rows, free = with_feature(task.X, task.feature), prices * self.fit_intercept
        sure = sure_result(result, datafit, rows, self.beta_, squares, free, norm)
        self._certify(claim, task.classes, scope=scope, n_patterns=n_patterns, **self._proof(sure, task))
        message = "" if result.converged else result.message
        lost = sure.duality_gap - result.duality_gap > _LOST * result.objective
        if lost or task.loses_objective(claim, result):
            self.certificate_ = with_network_values(self.certificate_, task.X, task.targets, task.weights, lost)
            gap = relative_gap(datafit, self.certificate_.objective, self.certificate_.lower_bound)
            if not message and gap > _ROUNDED * max(self._tolerance(), result.relative_gap):
                message = (
                    f"its weights, rounded to double precision, have a relative gap of {gap:.1e}; "
                    "subtract the means of the columns and of the targets to lose less"
                )
        if message:
            self._warn(message, 6)

    def _proof(self, result: Result[Any], task: Task) -> dict[str, Any]:
        bound = DualBound(result.objective - result.duality_gap, result.dual_point)
        return proved(result.objective, bound, self.fit_intercept and as_loss(task.loss, type(self).__name__).separable)

    def _end(self, status: Status) -> None:
        """Take another status, which came after the solver's end."""
        self.result_ = with_status(self.result_, status)
        self._warn(self.result_.message, 4)

    def _warn(self, message: str, level: int) -> None:
        warnings.warn(f"{type(self).__name__}: {message}.", ConvergenceWarning, stacklevel=level + 1)

    def _outputs(self, X: Any) -> Array:
        check_is_fitted(self, "network_")
        rows = new_rows(self, X, (np.float64, np.float32))
        if isinstance(self.certificate_.claim, GatedClaim) and is_wide_sparse(rows):
            return self._predicted(rows)
        return by_blocks(self._predicted, rows)

    def _predicted(self, data: Any) -> Array:
        """Return the outputs (n, C) for rows that were checked; a gated network takes CSR too."""
        if isinstance(self.certificate_.claim, NetworkClaim | KernelClaim):
            return np.asarray(self.network_.predict(data)).reshape(len(data), -1)
        assert isinstance(self.certificate_.claim, GatedClaim)
        return gated_predictions(data, self.gates_, self.certificate_.claim.coefficients)
