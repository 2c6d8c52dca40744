"""Gated-ReLU networks as scikit-learn estimators."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import UNUSED

from clifford_rand._checks import as_generator, check_choice, check_integer, check_positive
from clifford_rand._typing import Array
from clifford_rand_nn._progress import reporting
from clifford_rand_nn.certificates.claims import GatedClaim
from clifford_rand_nn.cost import Estimate
from clifford_rand_nn.estimators.gate_families import InfiniteFamily
from clifford_rand_nn.estimators.rows import gated_training_rows
from clifford_rand_nn.estimators.sharded import ShardedGatedReLU
from clifford_rand_nn.estimators.targets import LossChoosingClassifier, NetworkRegressor
from clifford_rand_nn.estimators.task import Task, WarmStart, refuse_together
from clifford_rand_nn.gate_exchange import Refinement, RefinementSettings
from clifford_rand_nn.gates.hyperplanes import ActivationPatterns, Gates, with_linear_gate
from clifford_rand_nn.kernel_network.kernel_problem import KernelProblem
from clifford_rand_nn.networks import without_feature
from clifford_rand_nn.pricing.family import gate_scope
from clifford_rand_nn.problems.gated import GATED_PENALTIES, Coefficients, GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.problems.loss_registry import loss_lines
from clifford_rand_nn.refinement import refined_gates
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.solvers.base import Result, Status, with_status
from clifford_rand_nn.solvers.dispatch import GATED_SOLVERS, AutoSolver, expected_cost, expected_seconds, gated_solver

_TOL, _SHARDS_TOL = 1e-6, 1e-3  # relative gaps to reach in memory, and on shards, where each digit takes passes
_TYPICAL, _JUDGED_TOL = 5, 1e-4  # place of the share of the largest beta that is chosen, and gap of one that is judged
_WARM = 0.5  # time of a fit from the last beta's solution on four fifths of the rows: 200 and 1000 rows
_REFINE_TOL = 1e-5  # relative gap of the iterations of a refinement, which lower the objective by much more
_LONG = 1.2  # seconds that a fit with the logistic loss is expected to take, beyond which "auto" is the squared one
_GATE_COPIES, _OUTPUT_COPIES = 8, 8  # numbers for each gate and column, and for each output too, at the peak of a fit
_BY_COLUMNS = ("auto", "kernel", "fista")  # solvers that take sparse rows column by column


class GatedReLU(ShardedGatedReLU, InfiniteFamily):
    r"""Parameters and training; `GatedReLUClassifier` and `GatedReLURegressor` add what targets need.

    .. math:: \min_{U,b,t}\ \frac1n\sum_j \ell\Big(\sum_i D_{i,jj}(x_j^TU_i+b_i)+t,\ y_j\Big)+\beta\sum_i||U_i||_F

    over the activation patterns :math:`D_i` of sampled gates (paper, eq. cvxnn:grelu and Algorithms 2 and 4), with one
    group of weights for each gate over all outputs. Features are not rescaled.

    With ``gates="infinite"`` and squared norms it is the network of all Gaussian gates at once, by their kernel: see
    `GateKernel`. It is what m sampled ones with a weight m·beta tend to. There is then no list of gates: ``network_``
    is a `KernelNetwork`, and ``coef_``, ``gate_intercept_``, ``gates_`` and ``patterns_`` are absent.

    {targets}

    Parameters
    ----------
    {gates}
    {beta}
    penalty : {"group_l2", "ridge"}, default "group_l2"
        :math:`\sum_i||U_i||_F`, the convex form of a network with weight decay, or
        :math:`\frac12\sum_i||U_i||_F^2`, which leaves no gate out: smoother with more gates, and faster to train. Its
        ``beta`` is of another scale; see `GatedRidgeProblem`.
    {loss}
    {class_weight}
    {bias}
    {intercept}
    solver : {"auto", "kernel", "gram", "fista", "cvxpy"}
        "auto" takes the one that is expected to be fastest and says so in ``result_.reason``: the kernel method
        (`KernelInteriorPoint`, or `KernelNewton` with penalty="ridge") for up to some thousand rows, sums over the rows
        (`GramNewton`) where these are many more than gates times features, else `Fista`; "cvxpy" is the reference, for
        small problems.
    {limits}
    {random_state}
    linear : bool or "auto", default "auto"
        Whether a gate that is on everywhere stands beside the ``n_gates`` others, as the last one: its part of the
        network is a linear model, whose weights the penalty charges like those of any neuron. "auto" adds it with
        "group_l2" where ``beta`` is "auto" and gates are sampled, and not where ``beta`` is a number. See
        `with_linear_gate`.
    n_refinements : int, default 0
        Iterations that exchange gates for others that lower the objective more; see `refine_gates`.

    Attributes
    ----------
    coef_ : (m, d)
        U, with an axis for the outputs in front if there are several.
    gate_intercept_ : (m,)
        Likewise.
    intercept_ : float, or (outputs,)
    gates_ : Gates
        The m hyperplanes with distinct patterns; their incident rows, and notes on what was resampled.
    patterns_ : (n, m) bool
    result_ : Result
        Objective, gap, iterations, status, history.
    certificate_ : Certificate
        What is proved; ``certificate_.verify(X, y)`` recomputes it.
    network_ : TwoLayerNetwork or, with gates="infinite", KernelNetwork
    {fitted}
    {classes_and_errors}
    """

    tol: float | str = "auto"
    linear: bool | str = "auto"
    n_refinements: int = 0

    _parts: ClassVar[dict[str, str]] = {
        "tol": """
            tol : float or "auto", default "auto"
                Relative duality gap to reach; "auto" is 1e-6, and 1e-3 with `Shards`, where each digit takes passes.
            """,
    }
    _penalties = tuple(GATED_PENALTIES)
    _solvers = GATED_SOLVERS
    _dtypes = (np.float64, np.float32)

    # of where and how a fit runs, which no search hands on
    __metadata_request__fit: ClassVar[dict[str, str]] = {"engine": UNUSED, "checkpoint": UNUSED}

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, engine: Any = None, checkpoint: Any = None
    ) -> Self:
        """Train on the rows X (n, d) with labels or targets y, or on rows beyond memory, in `Shards`.

        Rows in memory, y and weights are those of every estimator. X may be sparse: with more than 4096 columns, few of
        whose entries are not zero, it is taken as it is; else the fit works on a dense copy, and is refused where
        memory is short.

        With `Shards` only sums over the rows are made, a pass over the shards for each step of `ShardedFista`; a sample
        of the rows decides on gates, the length of steps and the start. If ``beta`` is "auto" the sample's is halved as
        long as every fourth row of the sample, left out of the passes, says that it helps (half of ``max_time`` at most
        is for that); the network that is kept is trained on all rows. The optimum is that of all rows, and
        ``certificate_`` (a `ShardCertificate`) says how near to it the network is. ``patterns_`` and what else has a
        number for each row is left out.

        Parameters
        ----------
        X : (n, d) array or Shards
        y : (n,), or (n, outputs) for regressors
            None with Shards, which have their own.
        sample_weight : (n,), optional
        engine : None, distributed.Client or "torch"
            Who makes the passes over shards: this process, the workers of a Dask cluster, or the ranks of
            ``torch.distributed``.
        checkpoint : path or Checkpoint, optional
            Where the state of a fit to shards is kept; a fit that finds one goes on from it.
        """
        with reporting(self.verbose, self.max_time):
            if self._fits_shards(X, engine, checkpoint, y=y, sample_weight=sample_weight):
                return self
        return super().fit(X, y, sample_weight)

    def _tolerance(self, shards: bool = False) -> float:
        if isinstance(self.tol, str) and self.tol == "auto":
            return _SHARDS_TOL if shards else _TOL
        return check_positive(self.tol, "tol", type(self).__name__, "Or 'auto', 1e-6 with rows in memory.")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        check_integer(self.n_refinements, "n_refinements", owner, low=0)
        check_choice(self.linear, "linear", owner, (True, False, "auto"))
        hint = "Squared norms leave no gate out that could be exchanged; take more gates, or penalty='group_l2'."
        refuse_together(
            self,
            (self.n_refinements and self.penalty == "ridge", "n_refinements", "0 with penalty='ridge'", hint),
            (self._infinite and self.linear is True, "linear", "False or 'auto' with gates='infinite'", ""),
        )
        if self._infinite:
            self._check_infinite()

    @property
    def _linear(self) -> bool:
        if self.linear == "auto":
            return self._chosen and self.penalty == "group_l2" and self._samples
        return bool(self.linear)

    def _training_rows(self, X: Any, outputs: int) -> Any:
        if self.n_refinements or self._infinite or self._exhaustive or self.solver == "cvxpy":
            return super()._training_rows(X, outputs)
        numbers = (_GATE_COPIES + _OUTPUT_COPIES * outputs) * int(self.n_gates)
        return gated_training_rows(X, type(self).__name__, self.max_memory, numbers, self.solver in _BY_COLUMNS)

    def _gate_patterns(self, X: Any, targets: NDArray[np.float64]) -> ActivationPatterns:
        patterns, gates = super()._gate_patterns(X, targets)
        if not self._linear or patterns.all(axis=0).any():  # of equal patterns one is kept
            return ActivationPatterns(patterns, gates)
        always = np.ones((X.shape[0], 1), dtype=bool)
        return ActivationPatterns(np.hstack([patterns, always]), with_linear_gate(gates))

    def _when_judged(self) -> dict[str, Any]:
        return {"n_refinements": 0}

    def _shares(self) -> Array:
        # No eigenvalue is larger than the trace that these are shares of: useful ones are a thousandth or less.
        return 0.25 ** np.arange(1.0, 14.0) if self.penalty == "ridge" else super()._shares()

    def _train(self, task: Task, warm: WarmStart | None) -> None:
        if self._infinite:
            self._train_infinite(task, warm)
            return
        ended: Result[Coefficients] | None = None  # what is left of a refinement that took all the time there is
        if self.n_refinements:
            warm = None  # every beta refines gates of its own
        if warm is not None and warm.state is not None:
            patterns, gates, problem, kernel, start = warm.state
            problem.penalty.beta = self.beta_
        else:
            patterns, gates = self._gate_patterns(task.X, task.targets)
            start = None
            if self.n_refinements:
                refined = self._refined(task, gates)
                patterns, gates, start = refined.patterns, refined.gates, refined.result.coefficients
                if task.feature is not None:  # gates on the rows [X c] as gates on X
                    directions = np.ascontiguousarray(gates.directions[:-1])
                    offsets = gates.offsets + task.feature * gates.directions[-1]
                    gates = replace(gates, directions=directions, offsets=offsets)
                ended = self._ended(refined, task)
            problem, kernel = self._problem(task, patterns), []
        self.patterns_ = patterns
        point = None if start is None else problem.point(start)
        with_kernel = (None if warm is None else kernel,) if self.solver in ("auto", "kernel", "gram") else ()
        solver = self._limited(gated_solver(self.solver, self.penalty), task)
        result: Result[Coefficients] = ended or solver.solve(problem, point, *with_kernel)
        if warm is not None:
            warm.state = patterns, gates, problem, kernel, result.coefficients
        result = without_feature(result, task.feature)
        self._set_gated(result.coefficients, gates)
        claim = GatedClaim(gates, result.coefficients, self.penalty == "ridge", task.feature)
        self._conclude(result, gate_scope(gates), len(gates), claim, task)

    def _take_from(self, there: Self, units: Units) -> None:
        super()._take_from(there, units)
        if self._infinite:
            self._forget_gates()

    def _refined(self, task: Task, gates: Gates) -> Refinement:
        rng = as_generator(self.random_state, type(self).__name__, "random_state").spawn(1)[0]  # not the first draws
        if task.feature is not None:  # gates on the rows X as gates without offset on [X c]
            directions = np.vstack([gates.directions, gates.offsets / task.feature])
            gates = replace(gates, directions=directions, offsets=np.zeros(len(gates)))
        solver = self._limited(AutoSolver, task, tol=_REFINE_TOL)
        settings = RefinementSettings(
            bias=self._free_bias,
            **self._options(task),
            method="gaussian" if self.gates == "gaussian" else "cross",
            sketch_dim=self.sketch_dim,
            max_gates=max(self.n_gates, len(gates)),
            max_iter=self.n_refinements,
            max_time=solver.max_time,
            random_state=rng,
        )
        return refined_gates(task.rows, task.targets, gates, self.beta_, settings, solver)

    def _ended(self, refined: Refinement, task: Task) -> Result[Coefficients] | None:
        """Return the last solution of a refinement that an interrupt or the time ended; None if there is time left."""
        seconds = task.seconds
        if refined.status in (Status.INTERRUPTED, Status.MAX_MEMORY):
            return with_status(refined.result, refined.status, seconds=seconds)
        if self.max_time is None or seconds < self.max_time:
            return None
        reached = refined.result.relative_gap <= self._tolerance()
        return with_status(refined.result, Status.OPTIMAL if reached else Status.MAX_TIME, seconds=seconds)

    def _beta_max(self, task: Task) -> float:
        if self._infinite:
            datafit = task.datafit(type(self).__name__, self._own_delta)
            return KernelProblem(self._kernel_matrix(task), datafit, 1.0).beta_max()  # all directions shrink by half
        return self._problem(task, self._gate_patterns(task.X, task.targets).patterns).beta_max()

    def _costs_of(self, task: Task) -> tuple[Estimate, Estimate]:
        task = self._settled(task)
        patterns = np.ones((task.X.shape[0], 1), dtype=bool)  # a kernel matrix, whatever the number of gates
        if not self._infinite:
            patterns = self._gate_patterns(task.X, task.targets).patterns
        problem = self._problem(task, patterns)
        problem.penalty.beta = self._shares()[_TYPICAL] * problem.beta_max() if self._chosen else float(self.beta)
        judged, trained = (expected_cost(problem, tol, self.max_memory) for tol in (_JUDGED_TOL, self._tolerance()))
        judged = judged._replace(seconds=_WARM * judged.seconds)
        return judged, trained._replace(seconds=(1 + self.n_refinements) * trained.seconds)

    def _problem(self, task: Task, patterns: NDArray[np.bool_]) -> GatedReLUProblem | GatedRidgeProblem:
        kind = GATED_PENALTIES[self.penalty]
        return kind(task.rows, task.targets, patterns, self.beta_, bias=self._free_bias, **self._options(task))


class GatedReLUClassifier(GatedReLU, LossChoosingClassifier):
    """Two-layer gated-ReLU classifier, trained to the optimum of a convex program.

    {family}

    Examples
    --------
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=40, beta=1e-4, random_state=0).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """

    loss: str = "auto"

    _parts: ClassVar[dict[str, str]] = {
        "loss": loss_lines("classification", "auto")
        + """    "auto": "logistic" where ``beta`` is "auto" too and gates are sampled, unless one fit with it is
    expected to take more than 1.2 seconds; else "squared". ``loss_`` says which.
"""
    }

    def _prefers_logistic(self, task: Task) -> bool:
        """Where beta is chosen and gates are sampled, unless one fit is expected to take long."""
        if not self._chosen or not self._samples:
            return False
        self.beta_ = 1.0  # a problem has one; this is ignored
        problem = self._problem(task, self._gate_patterns(task.X, task.targets).patterns)
        return expected_seconds(problem) <= _LONG


class GatedReLURegressor(GatedReLU, NetworkRegressor):
    """Two-layer gated-ReLU regressor, trained to the optimum of a convex program.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import GatedReLURegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = GatedReLURegressor(beta=1e-5, random_state=0).fit(X, np.abs(X[:, 0]))
    >>> bool(model.score(X, np.abs(X[:, 0])) > 0.99)
    True
    """
