"""Base of the tuning-free classifier and regressor: checks, selection by leave-one-out, fit and certificate."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import check_choice, check_integer, check_number, describe, fail
from clifford_rand._typing import Array
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._progress import check_verbose, phase
from clifford_rand_nn._records import as_table
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import KernelClaim, NetworkClaim
from clifford_rand_nn.certificates.values import rescaled, with_felt_rounding
from clifford_rand_nn.cost import Estimate
from clifford_rand_nn.estimators.folds import group_numbers, later_blocks, order_numbers
from clifford_rand_nn.estimators.network_fit import NetworkFit, network_costs, network_result
from clifford_rand_nn.estimators.rows import (
    by_blocks,
    dense_training_rows,
    kernel_training_rows,
    new_rows,
    training_data,
)
from clifford_rand_nn.estimators.sparse_network import (
    NeuronScore,
    Proved,
    SparseNetworkChoices,
    TrainedSparseNetwork,
    train_sparse_network,
)
from clifford_rand_nn.estimators.targets import NetworkProgram
from clifford_rand_nn.estimators.task import Parameters
from clifford_rand_nn.estimators.unique_rows import Data, LeftOut, UniqueRows
from clifford_rand_nn.export.program import Value
from clifford_rand_nn.kernel_network.candidates import Compared
from clifford_rand_nn.kernel_network.intervals import Noise, PredictiveVariance, fit_noise
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut, predictive_variances
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.newton_path import BetaChoice, BetaTask, choose_beta, choose_by_holdout
from clifford_rand_nn.kernel_network.standardization import RowSpan, Standardization
from clifford_rand_nn.kernel_network.training import Choices, Mistakes, Trained, train
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import split_weights
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.solvers.base import SOONEST, HistoryRow, Status, check_limits, with_status
from clifford_rand_nn.solvers.stopping import Interrupts
from clifford_rand_nn.sparse_rows import merged_rows

_MAX_METRIC_ITER = 3
_NOTHING = 1e-9  # share of the loss of the network without neurons, a gap below which is none
_LEAST_FOR_NOISE, _MOST_FOR_NOISE = 50, 1000  # rows; the decomposition of so many takes a quarter of a second
_OF_ALL_ROWS = ("loo_predictions_", "loo_probabilities_", "loo_mask_")


class BaseConvexNetwork(NetworkFit, Parameters):
    r"""Parameters and training; `ConvexNetworkClassifier` and `ConvexNetworkRegressor` add what targets need.

    .. math:: \min_{f,t}\ \frac1n\sum_i\omega_i\tfrac12||y_i-f(x_i)-t||^2+\frac\beta2||f||_K^2,\qquad
              K(x,x')=z\cdot z'\,\frac{\pi-\angle(z,z')}{2\pi},\quad z=(x,c)

    It is the gated network with squared norms in the limit of infinitely many Gaussian gates, whose biases are inside
    the norm by the constant feature c; see `GateKernel`. Nothing is drawn, and no learning rate or stopping rule is
    there. Standardization, c and β are selected by leave-one-out in closed form (`LeaveOneOut`). Duplicates of a row
    are left out together, so that whole weights are as good as so many duplicates. Four scalings are compared
    (`Candidate`): columns standardized ("column"), with outliers clipped ("soft"), all over one deviation ("common"),
    or mapped to normal scores of their ranks ("rank"), where values beyond the training range count as its ends. With
    the best of them gates in single columns are compared, which cut as trees
    do: a weight s > 0 (``steps`` of `Candidate`) adds :math:`s(1-\frac1d\sum_j|F_j(x_j)-F_j(x'_j)|)` to K, with the
    ranks F of the values. So are gates in boxes, as the leaves of trees are: with γ > 0 (``decay``) what is added is
    :math:`s\exp(-\frac\gamma d\sum_j|F_j(x_j)-F_j(x'_j)|)`.

    **Few neurons.** With ``n_neurons`` or ``gates="row_spanned"`` the network is finite, W1, b1, w2, b2 of ``network_``
    are those of a plain ReLU network for unscaled X, and it is trained by the convex program with norms,

    .. math:: \min_{Z,t}\ \frac1n\sum_i\omega_i\tfrac12\Big|\Big|\sum_jZ_j(z_i\cdot v_j)_++t-y_i\Big|\Big|^2
              +\beta\sum_j||Z_j||_2,

    over a list of neurons of norm 1: with "row_spanned" those whose hyperplanes are spanned by training rows, with
    "optimized" some of these and others that climb to where they serve most. Held-out rows choose beta and, of the best
    ``n_neurons`` of its solution, by elimination, the smaller beta of the same program over them alone
    (`NeuronScore`), of which ``certificate_`` is. That these neurons are the best ones is not proved; what is, of the
    program over the whole list, is ``selection_certificate_``. With more than 5000 distinct rows neurons are looked
    for on so many.

    {targets}

    **Rows beyond memory.** ``fit(Shards(...))`` takes functions in the span of at most 2500 landmarks: a sample of some
    thousand rows chooses scaling, constant feature and gates as above, one pass sums normal equations, β is the best on
    4000 held-out rows, and ``certificate_.verify(shards)`` checks the bound over that span in one pass. Of the held-out
    rows are ``loo_score_``, probabilities, intervals, and the betas that ``candidates_`` begins with (with the logistic
    loss by their mean loss); ``loo_predictions_`` is not there. Ctrl-C leaves the best network so far: in the pass for
    the normal equations that of the sample, later that of all rows; one more pass says how near to the optimum it is.

    Parameters
    ----------
    beta : "auto" or float > 0, default "auto"
        Weight of the squared norm in the 1/n scale, on standardized rows; "auto" is the one with the least squared
        error by leave-one-out. Of finite networks it is the weight of the norms by which neurons are chosen, and "auto"
        the best one on held-out rows.
    gates : {"auto", "infinite", "optimized", "row_spanned"}, default "auto"
        "auto" is "infinite", and "optimized" where ``n_neurons`` is given. "optimized" and "row_spanned" are finite
        networks, see above.
    n_neurons : int or None
        Most neurons of a finite network; None for as many as serve, up to some hundred.
    max_metric_iter : "auto" or int from 0 to 3, default "auto"
        Most iterations that learn the metric M of the gates :math:`w\sim N(0,M)`, the average outer product of the
        gradients of the network before (`learn_frame`). Held-out rows select their number, which may be 0
        (`select_metric`), for leave-one-out cannot judge a metric that has seen the row. With 0 the rates of boxes are
        not learned either.
    {class_weight}
    max_time : float or None
        Seconds. With more than 3000 distinct rows the network that is best by then is kept, with its gap, and a way is
        taken that is expected to end in time; up to there a fit takes seconds, and is finished. With ``order`` the fits
        to earlier rows have as long again.
    max_memory : float or None
        Bytes beside the data; None is half of the machine's. As ``max_time`` it decides how many rows are solved for:
        all of them, or landmarks. What is chosen on at most 2,000 rows takes up to 150 MB, whatever the limit is.
    verbose : int, default 0
        1 shows the phases of the fit on stderr, with what was chosen; a bar on terminals.

    Attributes
    ----------
    network_ : KernelNetwork, or TwoLayerNetwork
    support_ : (k,) array of int, or None
        The row of X that each row of a KernelNetwork is, of copies the first one; None for finite networks.
    beta_ : float
    loo_score_ : float
        `score` by leave-one-out (leave-one-group-out with ``groups``), by held-out rows if gates were learned or with
        shards, or by blocks of later rows with ``order``. It was the best of ``candidates_``, so it may flatter a
        little. Held-out rows score a fit to fewer rows. Each later block is predicted by a fit to the rows before it,
        and R² is about the mean of each block, as `score` of later rows is; the choices are still by leave-one-out.
    loo_predictions_ : (n, …)
        Prediction of each row without it, in the order of the rows that were given; NaN, or the label that is most
        frequent, for rows of weight zero. If gates were learned, rows that were not held out are predicted as before
        learning. With ``order`` the rows of the blocks are predicted from the rows before.
    n_order_blocks_ : int
        Number of blocks of later rows that ``loo_score_`` is of; 0 without ``order``.
    loo_mask_ : (n,) bool array, or None
        The rows that ``loo_score_`` is of. With many rows these are some, and ``loo_predictions_`` of the others are of
        a fit that has seen them.
    candidates_ : list of Candidate
        What was compared, best first; for finite networks too, infinitely many gates with each scaling and constant
        feature.
    neuron_scores_ : list of NeuronScore, or None
        Held-out scores of beta and refits of a finite network, best first.
    spanning_rows_ : list of arrays of int, or None
        With ``gates="row_spanned"`` the rows of X that lie on the hyperplane of each neuron and span it, if need be
        together with directions along columns in which the neuron is constant; none, where it is one of those of the
        columns alone, through the mean.
    selection_certificate_ : Certificate or None
        Of the program by which the neurons of a finite network were chosen; ``certificate_`` itself where nothing
        was left out or refitted. It is not in model files.
    metric_selection_ : MetricSelection or None
        Held-out scores of learned gates; ``metric_`` tells whether they were taken.
    metric_ : (d, d) array or None
        M, if gates were learned: which standardized columns, and which combinations of them, matter. It is the identity
        if only the rates of boxes were, which are ``network_.kernel.rates``.
    result_ : Result
        How the fit ended: ``status`` is "optimal", or "interrupted", "max_time", … with the best network so far;
        ``reason`` says how the problem was solved and what is approximated; ``history`` has objective and gap against
        the seconds of the solver, in two rows where one decomposition solves the problem: the best constant and the
        solution. ``coefficients`` is ``network_``; ``certificate_`` has the dual point.
    n_iter_ : int
        Iterations of the solver, at least 1.
    certificate_ : Certificate
        What is proved of the training; ``certificate_.verify(X, y)`` recomputes it. It says nothing of new rows;
        ``loo_score_`` does.
    {classes_and_errors}
    """

    beta: float | str = "auto"
    gates: str = "auto"
    n_neurons: int | None = None
    max_metric_iter: int | str = "auto"
    max_time: float | None = None
    max_memory: float | None = None
    verbose: int = 0

    _parts: ClassVar[dict[str, str]] = {}
    # of shards, which no search or pipeline routes
    __metadata_request__fit: ClassVar[dict[str, str]] = {"engine": UNUSED, "checkpoint": UNUSED}

    def _check_parameters(self) -> None:
        if not (isinstance(self.beta, str) and self.beta == "auto"):
            rule = "a number from 1e-150 to 1e150, or 'auto'"
            check_number(self.beta, "beta", type(self).__name__, rule, lambda value: 1e-150 <= value <= 1e150)
        if not (isinstance(self.max_metric_iter, str) and self.max_metric_iter == "auto"):
            check_integer(self.max_metric_iter, "max_metric_iter", type(self).__name__, low=0, high=_MAX_METRIC_ITER)
        self._check_gates()
        check_limits(type(self).__name__, 1.0, 1, self.max_time, self.max_memory)
        check_verbose(self.verbose, type(self).__name__)

    def __getattr__(self, name: str) -> Any:
        """Say why an attribute is not there: after a fit to shards, or as the property or method says itself."""
        if name in _OF_ALL_ROWS and isinstance(vars(self).get("certificate_"), ShardCertificate):
            reason = f"{type(self).__name__} was fitted to shards, and {name} has a number for each row"
            raise AttributeError(f"{reason}; loo_score_ and candidates_ are of held-out rows.")
        return object.__getattribute__(self, name)  # raises again, with the reason that a method was left out for

    def _check_gates(self) -> None:
        owner = type(self).__name__
        check_choice(self.gates, "gates", owner, ("auto", "infinite", "optimized", "row_spanned"))
        if self.n_neurons is not None:
            check_integer(self.n_neurons, "n_neurons", owner)
            if self.gates == "infinite":
                hint = "Infinitely many gates have no such number; leave gates out, or take 'row_spanned'."
                raise fail("n_neurons", owner, "None with gates='infinite'", self.n_neurons, hint)
        if self._finite and not isinstance(self.max_metric_iter, str) and self.max_metric_iter:
            hint = "Only the gate distribution of the infinite-width network is learned."
            raise fail("max_metric_iter", owner, "'auto' or 0 for a finite network", self.max_metric_iter, hint)

    @property
    def _finite(self) -> bool:
        return self.gates in ("optimized", "row_spanned") or self.n_neurons is not None

    @property
    def _given_beta(self) -> float | None:
        return None if isinstance(self.beta, str) else float(self.beta)

    @property
    def _metric_iterations(self) -> int:
        return _MAX_METRIC_ITER if isinstance(self.max_metric_iter, str) else int(self.max_metric_iter)

    def _training_rows(self, X: Any) -> Any:
        way = dense_training_rows if self._finite else kernel_training_rows
        return way(X, type(self).__name__, self.max_memory)

    def _weighted(self, X: Any, sample_weight: Any) -> tuple[NDArray[np.bool_], Array | None]:
        """Return which rows count, and the weights of these with mean 1, or None if they are equal."""
        kept, weights, self._sample_weight = split_weights(sample_weight, X.shape[0], type(self).__name__)
        self._places = np.flatnonzero(kept)
        return kept, weights

    def _grouped(self, groups: Any, kept: NDArray[np.bool_]) -> NDArray[np.intp] | None:
        if groups is None:
            return None
        return np.unique(group_numbers(groups, len(kept), type(self).__name__)[kept], return_inverse=True)[1]

    def _ranked(self, order: Any, kept: NDArray[np.bool_]) -> NDArray[np.intp] | None:
        """Return the ranks in time of the rows that count."""
        self.n_order_blocks_ = 0
        if order is None:
            return None
        ranks = np.unique(order_numbers(order, len(kept), type(self).__name__)[kept], return_inverse=True)[1]
        if ranks.max(initial=0) == 0:
            hint = "Without an order rows are left out one at a time."
            raise fail("order", type(self).__name__, "of two values or more", describe("one"), hint)
        return ranks

    def _fits_before(
        self, kept: NDArray[np.bool_], rows: Any, targets: NDArray[Any], beside: dict[str, Any], ranks: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], Any, Any]]:
        """Yield places and rows of blocks of later rows, with a model fitted to the rows before, none of their groups.

        Blocks before which there is too little for a fit, such as one class, are passed over. An interrupt ends them.
        """
        splits, error = later_blocks(ranks), None
        rows, targets = rows[kept], targets[kept]
        beside = {name: None if part is None else np.asarray(part)[kept] for name, part in beside.items()}
        fresh = clone(settled(self)).set_params(verbose=0)
        if self.max_time is not None:
            fresh.set_params(max_time=self.max_time / len(splits))
        for k, (before, block) in enumerate(splits, 1):
            phase(f"predicting block {k} of {len(splits)} of later rows")
            if beside["groups"] is not None:
                before = before[~np.isin(beside["groups"][before], beside["groups"][block])]
            own = {name: None if part is None else part[before] for name, part in beside.items()}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model = clone(fresh).fit(rows[before], targets[before], **own)
            except ArgumentError as refusal:
                error = refusal
                continue
            interrupts = Interrupts.current()
            if model.result_.interrupted or (interrupts is not None and interrupts.held):
                self.result_ = with_status(self.result_, Status.INTERRUPTED)
                return
            self.n_order_blocks_ += 1
            yield block, rows[block], model
        if self.n_order_blocks_ == 0:
            rule = "of rows that can be fitted without the last ones"
            raise fail("order", type(self).__name__, rule, describe(f"{ranks.max() + 1} values"), str(error))

    def _costs(self, X: Any, y: Any) -> tuple[tuple[int, int], dict[str, Estimate]]:
        self._check_parameters()
        rows, targets = training_data(self, X, y, multi_output=True)
        n, columns = merged_rows(rows)[0].size, 1 if targets.ndim == 1 else targets.shape[1]
        return rows.shape, self._costs_of(n, rows.shape[1], columns, len(np.unique(targets)))

    def _costs_of(self, n: int, d: int, outputs: int, n_values: int) -> dict[str, Estimate]:
        """Return the estimates of the parts of a fit to n unique rows, with so many values of the target."""
        limits = {"max_time": self.max_time, "max_memory": self.max_memory}
        return network_costs(n, d, outputs, metric_iter=self._metric_iterations, finite=self._finite, **limits)

    def _admit(self, n: int) -> None:
        """Refuse n distinct rows, if they are too many for the parameters."""

    def _train(self, data: Data, classes: NDArray[Any] | None, mistakes: Mistakes | None = None) -> LeftOut:
        owner = type(self).__name__
        unique = UniqueRows.of(data)
        problem = unique.problem
        self._admit(len(unique))
        if len(unique) < 2:
            raise fail("X", owner, "at least two unique rows, so that one can be left out", describe("one sample"))
        if not Standardization.of(problem.X, "column").rate.any():
            hint = "Subtract the means of the columns in higher precision first."
            raise fail("X", owner, "of a column that varies by more than rounding", describe("constant columns"), hint)
        if problem.groups is not None and problem.groups.max() == 0:
            raise fail("groups", owner, "at least two groups, so that one can be left out", describe("one group"))
        self.network_: Any = None  # a KernelNetwork or a TwoLayerNetwork
        self.support_: NDArray[np.intp] | None = None
        self.neuron_scores_: list[NeuronScore] | None = None
        self.spanning_rows_: list[NDArray[np.intp]] | None = None
        self.selection_certificate_: Certificate | None = None
        beta = self._given_beta
        trained: Trained | TrainedSparseNetwork
        if self._finite:
            gates = "row_spanned" if self.gates == "row_spanned" else "optimized"
            limits = self.max_time, self.max_memory
            choices = SparseNetworkChoices(gates, self.n_neurons, beta, classes is not None, *limits)
            trained = train_sparse_network(problem, choices)
            proved, compared = trained.proved, None
            self.network_, self.neuron_scores_ = proved.claim.network_on_rows(), as_table(trained.path)
            if gates == "row_spanned":
                places = self._places[unique.first]
                self.spanning_rows_ = [places[rows[rows < len(unique)]] for rows in trained.rows]
        else:
            trained = train(problem, Choices(beta, self._metric_iterations, mistakes, self.max_time, self.max_memory))
            claim = KernelClaim(trained.network, trained.landmarks)
            proved = Proved(claim, trained.beta, trained.primal, trained.dual, trained.dual_point, trained.scope, 0)
            compared, self.network_ = trained.compared, trained.network
            self.support_ = self._places[unique.first[trained.rows]]
        phase("computing the certificate")
        self.certificate_ = unique.certificate(proved, classes, self._sample_weight)
        if isinstance(trained, TrainedSparseNetwork):
            self.selection_certificate_ = self.certificate_
            if trained.selection is not trained.proved:
                self.selection_certificate_ = unique.certificate(trained.selection, classes, self._sample_weight)
        raised = self.certificate_.objective - proved.objective
        self.beta_, self.candidates_ = trained.beta, as_table(trained.candidates)
        self.metric_selection_, self.metric_ = trained.metric_selection, trained.metric
        self._set_result(tuple(_raised(row, raised) for row in trained.history), trained.status, trained.reason)
        weights = np.ones(len(unique)) if problem.weights is None else problem.weights
        self._noise = len(unique) * self.beta_ / weights
        known = compared is not None and trained.metric is None and problem.groups is None
        rows, left = (trained.rows, trained.left) if isinstance(trained, Trained) else (None, np.ones(len(unique)))
        outputs = unique.left_out(trained.outputs, left)
        variance = unique.left_out_variance(predictive_variances(left, self._noise), left) if known else None
        judged = outputs, variance, trained.out_of_sample[unique.place]
        return LeftOut(unique, *judged, compared, trained.message, rows)

    def _beta_task(
        self, targets: Array, loss: Loss, beta: float, weights: Array | None, groups: Any, began: float
    ) -> BetaTask:
        """Return the search for beta of a loss from a first one, the only one if it is given."""
        time_left = None if self.max_time is None else max(self.max_time - (time.perf_counter() - began), SOONEST)
        return BetaTask(targets, loss, beta, weights, groups, time_left, not isinstance(self.beta, str))

    def _choose_on_gates(
        self, compared: Compared, place: NDArray[np.intp], task: BetaTask, required: bool
    ) -> BetaChoice | None:
        """Return the best fit of a loss on the gates that squares chose, of rows with a ``place`` among those compared.

        Where learned gates take too long it is None, or with other gates if it is ``required``.
        """
        rows, kernel = compared.rows[place], compared.kernel
        if self.metric_ is not None and self.metric_selection_ is not None:
            chosen = choose_by_holdout(self.network_.kernel, self.metric_selection_.folds, rows, place, task)
            if chosen is not None or not required:
                return chosen
            reason = f"{self.result_.reason}; gates not learned, for want of time"
            self.metric_, self.result_ = None, replace(self.result_, reason=reason)
        return choose_beta(np.asarray(kernel(rows), dtype=np.float64), task)._replace(kernel=kernel)

    def _keep(self, chosen: BetaChoice, rows: Array, theta: Array, loss: str, zero: float) -> str:
        """Keep the network over rows and its certificate; return why it is inexact, if it is.

        ``theta`` (n, C) is the dual point of all rows, ``zero`` the loss of a network without neurons.
        """
        fit, kernel = chosen.fit, chosen.kernel
        assert kernel is not None
        self.beta_ = float(fit.beta)
        self.network_ = KernelNetwork(self.network_.standard, kernel, rows, fit.alpha, fit.intercept)
        self.certificate_ = replace(
            self.certificate_,
            objective=fit.objective,
            lower_bound=fit.objective - fit.duality_gap,
            relative_gap=fit.relative_gap,
            dual_point=theta,
            loss=loss,
            beta=self.beta_,
            claim=KernelClaim(self.network_),
        )
        self._set_result(fit.history, fit.status, self.result_.reason)
        if fit.status is Status.OPTIMAL or fit.duality_gap <= _NOTHING * zero:
            return ""
        return f"the {loss} fit ended {fit.status.value!r} with a relative gap of {fit.relative_gap:.1e}"

    def _noise_of(
        self, left: LeftOut, residuals: Array, weights: Array | None
    ) -> tuple[NDArray[np.bool_], Noise | None]:
        """Return the noise level by out-of-sample residuals (n, C), and the rows (n,) that it was fitted to.

        It is smoothed by the kernel of the network, over at most 1000 rows of it where that takes a decomposition.
        """
        unique, chosen = left.unique, np.zeros(0, dtype=np.intp)
        if left.rows is not None:
            chosen = np.flatnonzero(left.out_of_sample[unique.first[left.rows]])
        if left.rows is None or len(chosen) < _LEAST_FOR_NOISE:
            return np.zeros(len(residuals), dtype=bool), None
        if left.compared is not None and self.metric_ is None and len(chosen) == len(left.rows) <= _MOST_FOR_NOISE:
            loo = left.compared.loo
        else:
            chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, _MOST_FOR_NOISE).astype(np.intp))]
            part, rows = unique.problem.take(left.rows[chosen]), self.network_.rows[chosen]
            loo = LeaveOneOut(self.network_.kernel(rows), part.targets, part.weights, part.groups)
        index = np.full(len(unique), -1)
        index[left.rows[chosen]] = np.arange(len(chosen))
        place = index[unique.place]
        taken = place >= 0
        own = None if weights is None else weights[taken] / weights[taken].mean()
        noise = fit_noise(residuals[taken], loo, place[taken], own)
        if noise is None:
            return taken, None
        scattered = np.zeros((len(left.rows), residuals.shape[1]))
        scattered[chosen] = noise.weights
        return taken, noise._replace(weights=scattered)

    def _count_rounding(self, data: Data) -> None:
        """State the objective with the rounding of the network and of its predictions, where it is felt."""
        self._set_certificates(lambda proof: with_felt_rounding(proof, data.X, data.targets, data.weights))
        self._set_result(self.result_.history, self.result_.status, self.result_.reason)

    def _rescale(self, units: Units) -> None:
        """Map network and certificates from targets in units back to the data, where the intercept is rounded."""
        self._set_certificates(lambda certificate: rescaled(certificate, units))
        claim = self.certificate_.claim
        if isinstance(claim, NetworkClaim):
            self.network_, self.beta_ = claim.network_on_rows(), self.certificate_.beta
        else:
            self.network_ = units.back(self.network_)
        history = tuple(row._replace(objective=units.square(row.objective)) for row in self.result_.history)
        self._set_result(history, self.result_.status, self.result_.reason)

    def _set_certificates(self, change: Callable[[Certificate], Certificate]) -> None:
        """Change the certificates, of which both may be one."""
        same, selection = self.selection_certificate_ is self.certificate_, self.selection_certificate_
        self.certificate_ = change(self.certificate_)
        if selection is not None:
            self.selection_certificate_ = self.certificate_ if same else change(selection)

    def _set_result(self, history: tuple[HistoryRow, ...], status: Status, reason: str) -> None:
        self.result_ = network_result(self.network_, self.certificate_, history, status, reason)
        self.n_iter_ = max(1, self.result_.n_iter)

    def _set_left_out(self, kept: NDArray[np.bool_], judged: NDArray[np.bool_]) -> None:
        """Keep which of all rows were judged, of those that count."""
        self.loo_mask_: NDArray[np.bool_] | None = np.zeros(len(kept), dtype=bool)
        self.loo_mask_[kept] = judged

    def _outputs(self, rows: Any) -> Array:
        return by_blocks(lambda X: self.network_.predict(X).reshape(X.shape[0], -1), rows, self._by_products)

    def _keep_variance(self, needed: bool) -> None:
        """Keep what gives the variance of the network at new rows, where it is needed."""
        self._variance = PredictiveVariance(self.network_.kernel, self.network_.rows, self._noise) if needed else None

    def _variance_at(self, rows: Any) -> Array | None:
        """Return the variance (n,) at new unscaled rows, or None where it is not needed."""
        variance = self._variance
        if variance is None:
            return None
        return by_blocks(lambda X: variance(self.network_.standard.rows(X)), rows, self._by_products)

    @property
    def _by_products(self) -> bool:
        return isinstance(getattr(self.network_, "standard", None), RowSpan)

    def _stated_variance(self, network: NetworkProgram) -> Value | None:
        """Return that variance (n, 1) as operations of a program."""
        if self._variance is None:
            return None
        assert network.kernel is not None
        return self._variance.stated(network.kernel)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "network_")
        return new_rows(self, X)


def settled(model: Any) -> Any:
    """Return an unfitted model without the options that the fit to all rows has decided."""
    fresh = clone(model)
    if hasattr(model, "target_transform_"):
        fresh.set_params(target_transform=model.target_transform_.name)
    if getattr(model, "metric_", True) is None and not model._finite:
        fresh.set_params(max_metric_iter=0, **({"loss": model.loss_} if hasattr(model, "loss_") else {}))
    return fresh


def _raised(row: HistoryRow, by: float) -> HistoryRow:
    """Return the row with the same gap on top of what duplicate rows, whose targets differ, cost in any case."""
    objective = row.objective + by
    return row._replace(objective=objective, relative_gap=row.relative_gap * row.objective / objective) if by else row
