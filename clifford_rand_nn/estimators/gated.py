"""Gated-ReLU networks as scikit-learn estimators."""

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, check_positive, fail
from clifford_rand_nn.claims import GatedClaim
from clifford_rand_nn.estimators.candidates import GatedFamily, as_numpy_generator
from clifford_rand_nn.estimators.progress import progress_line
from clifford_rand_nn.estimators.targets import NetworkClassifier, NetworkRegressor
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.pricing.family import gate_scope
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem
from clifford_rand_nn.problems.ridge import GatedRidgeProblem
from clifford_rand_nn.refinement import Refinement, refine_gates
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.choice import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.kernel.interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel.newton import KernelNewton

__all__ = ["GatedReLUClassifier", "GatedReLURegressor"]

Array = NDArray[np.float64]

_REFINE_TOL = 1e-5  # relative gap of the rounds of a refinement, which lower the objective by much more


class _Fitted(NamedTuple):
    """What a fit leaves to the next one on the same rows: another beta needs no new gates, rotation or kernel."""

    patterns: NDArray[np.bool_]
    gates: Gates
    problem: GatedReLUProblem | GatedRidgeProblem
    kernel: list[Any]
    coefficients: Coefficients


class GatedReLU(GatedFamily):
    """Parameters and training; `GatedReLUClassifier` and `GatedReLURegressor` add what targets need."""

    _penalties = ("group_l2", "ridge")
    _solvers = ("auto", "kernel", "fista", "cvxpy")
    _dtypes = (np.float64, np.float32)

    def __init__(
        self,
        n_gates: int = 50,
        gates: Any = "cross",
        sketch_dim: int | str | None = "auto",
        beta: float = 1e-3,
        penalty: str = "group_l2",
        loss: str = "squared",
        bias: bool = True,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 20_000,
        random_state: Any = None,
        verbose: int = 0,
        huber_delta: float = 1.0,
        max_time: float | None = None,
        max_memory: float | None = None,
        refine: int = 0,
    ) -> None:
        super().__init__(
            n_gates, gates, sketch_dim, beta, penalty, loss, bias, fit_intercept, solver, tol, max_iter, random_state,
            verbose, huber_delta,
        )  # fmt: skip
        self.max_time = max_time
        self.max_memory = max_memory
        self.refine = refine

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        for name in ("max_time", "max_memory"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name, owner)
        check_integer(self.refine, "refine", owner, low=0)
        if self.refine and self.penalty == "ridge":
            hint = "Squared norms leave no gate out that could be exchanged; take more gates, or penalty='group_l2'."
            raise fail("refine", owner, "0 with penalty='ridge'", self.refine, hint)

    def _train(self, X: Array, targets: Array, loss: str, classes: Any, weights: Array | None) -> None:
        began = time.perf_counter()
        warm: _Fitted | None = self._warm
        ended: Result[Coefficients] | None = None  # what is left of a refinement that took all the time there is
        if warm is None:
            patterns, gates = self._gate_patterns(X, targets)
            start: Coefficients | None = None
            if self.refine:
                found = self._refined(X, targets, loss, weights, gates)
                patterns, gates, start = found.patterns, found.gates, found.result.coefficients
                ended = self._ended(found, began)
            problem = self._problem(X, targets, loss, patterns, weights)
            kernel: list[Any] = []
        else:
            patterns, gates, problem, kernel, start = warm
            problem.penalty.beta = float(self.beta)
        self.patterns_ = patterns
        left = None if self.max_time is None else max(self.max_time - (time.perf_counter() - began), 1e-9)
        self.result_ = result = (
            self._minimise(problem, start, kernel if self._shares else None, left) if ended is None else ended
        )
        if self._shares:
            self._solution = _Fitted(patterns, gates, problem, kernel, result.coefficients)
        self._warn(result)
        self.n_iter_ = max(1, result.n_iter)
        self._set_gated(result.coefficients, gates)
        claim = GatedClaim(gates, result.coefficients, self.penalty == "ridge")
        self._certify_result(result, gate_scope(gates), len(gates), claim, classes)

    def _refined(self, X: Array, targets: Array, loss: str, weights: Array | None, gates: Gates) -> Refinement:
        """Exchange gates for better ones, as many rounds as asked for."""
        seeded = isinstance(self.random_state, int | np.integer)  # draws of their own, not those of the first gates
        rng = np.random.default_rng([self.random_state, 1]) if seeded else as_numpy_generator(self.random_state)
        with progress_line(self.verbose, _REFINE_TOL, self.max_time) as callback:
            return refine_gates(
                X,
                targets,
                gates,
                beta=self.beta,
                loss=loss,
                bias=self.bias,
                fit_intercept=self.fit_intercept,
                huber_delta=self.huber_delta,
                sample_weight=weights,
                candidates="gaussian" if self.gates == "gaussian" else "cross",
                sketch_dim=self.sketch_dim,
                max_gates=max(self.n_gates, len(gates)),
                max_rounds=self.refine,
                max_time=self.max_time,
                rng=rng,
                solver=AutoSolver(
                    tol=_REFINE_TOL, max_iter=self.max_iter, max_memory=self.max_memory, callback=callback
                ),
            )

    def _ended(self, found: Refinement, began: float) -> Result[Coefficients] | None:
        """Return the last solution of a refinement that an interrupt or the time ended; None if there is time left."""
        result, gap = found.result, f"at a relative gap of {found.result.relative_gap:.1e}"
        seconds = time.perf_counter() - began
        if found.interrupted:
            status = f"stopped by an interrupt after {seconds:.1f} s {gap}: this is the best point so far"
            return replace(result, status=status)
        if self.max_time is None or seconds < self.max_time:
            return None
        if result.relative_gap <= self.tol:
            return replace(result, status="optimal")
        return replace(result, status=f"stopped after {seconds:.1f} s {gap}: try a larger max_time")

    def _least_empty_beta(self, X: Array, targets: Array, loss: str, weights: Array | None) -> float:
        return self._problem(X, targets, loss, self._gate_patterns(X, targets).patterns, weights).beta_max()

    def _problem(
        self, X: Array, targets: Array, loss: str, patterns: NDArray[np.bool_], weights: Array | None
    ) -> GatedReLUProblem | GatedRidgeProblem:
        kind = GatedRidgeProblem if self.penalty == "ridge" else GatedReLUProblem
        return kind(
            X,
            targets,
            patterns,
            self.beta,
            loss=loss,
            bias=self.bias,
            fit_intercept=self.fit_intercept,
            huber_delta=self.huber_delta,
            sample_weight=weights,
        )

    def _minimise(
        self,
        problem: GatedReLUProblem | GatedRidgeProblem,
        start: Coefficients | None,
        kernel: list[Any] | None,
        max_time: float | None,
    ) -> Result[Coefficients]:
        if self.solver == "cvxpy":
            from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference  # cvxpy takes a second to import

            return CvxpyReference(tol=self.tol).solve(problem)
        point = None if start is None else problem.point(start)
        with progress_line(self.verbose, self.tol, max_time) as callback:
            if self.solver == "fista":
                fista = Fista(tol=self.tol, max_iter=self.max_iter, max_time=max_time, callback=callback)
                return fista.solve(problem, point)
            method: Any = AutoSolver
            if self.solver == "kernel":
                method = KernelNewton if self.penalty == "ridge" else KernelInteriorPoint
            chosen = method(
                tol=self.tol,
                max_iter=self.max_iter,
                max_time=max_time,
                max_memory=self.max_memory,
                callback=callback,
            )
            result: Result[Coefficients] = chosen.solve(problem, point, kernel)
            return result


class GatedReLUClassifier(NetworkClassifier, GatedReLU):
    r"""Two-layer gated-ReLU classifier, trained to the optimum of a convex program.

    .. math:: \min_{U,b,t}\ \frac1n\sum_j \ell\Big(\sum_i D_{i,jj}(x_j^TU_i+b_i)+t,\ y_j\Big)+\beta\sum_i||U_i||_F

    over the activation patterns :math:`D_i` of sampled gates (paper, eq. cvxnn:grelu and Algorithms 2 and 4). Labels
    may be anything that scikit-learn takes; two classes are -1 and 1, more are one output each, with one group of
    weights for each gate over all outputs. Features are used as they come: nothing is rescaled.

    Parameters
    ----------
    n_gates : int, default 50
        Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
    gates : a method of `sample_gates`, "exhaustive" or (directions (d, m), offsets (m,))
        How they are chosen; see `sample_gates`. "exhaustive" takes one gate of every activation pattern there is, for
        small d; see `exhaustive_gates`.
    sketch_dim : int, "auto" or None, default "auto"
        Sketch size of the cross products.
    beta : float > 0, default 1e-3
        Weight of the penalty, in the 1/n scale: it means the same for every n.
    penalty : {"group_l2", "ridge"}, default "group_l2"
        :math:`\sum_i||U_i||_F`, the convex form of a network with weight decay, or
        :math:`\frac12\sum_i||U_i||_F^2`, which leaves no gate out: smoother with more gates, and faster to train. Its
        ``beta`` is of another scale; see `GatedRidgeProblem`.
    loss : {"squared", "logistic", "squared_hinge"}, default "squared"
        "logistic" is the softmax cross-entropy for more than two classes, "squared_hinge" one margin per class.
    bias : bool, default True
        Whether gates and neurons have one; a neuron's is not penalised.
    fit_intercept : bool, default True
        Whether the output has an intercept; it is not penalised.
    solver : {"auto", "kernel", "fista", "cvxpy"}
        "auto" takes the one that is expected to be fastest and says so in ``result_.reason``: the kernel method
        (`KernelInteriorPoint`, or `KernelNewton` with penalty="ridge") for up to some thousand rows, else `Fista`;
        "cvxpy" is the reference, for small problems.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 20000
        Iterations of FISTA, or steps of the kernel method, which takes at most 100.
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 shows one line with the iteration and the gap.
    huber_delta : float
        Of no use here; it belongs to the losses of regressors.
    max_time : float or None
        Seconds after which the best network so far is kept, with its gap. Ctrl-C does the same.
    max_memory : float or None
        Bytes that the solver may take beside the data; None for half of the machine's memory.
    refine : int, default 0
        Rounds in which gates are exchanged for others that lower the objective more; see `refine_gates`.

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
    network_ : TwoLayerNetwork
    n_iter_ : int
    classes_ : (n_classes,)

    Raises
    ------
    ArgumentError
        A parameter breaks its rule; a ValueError of scikit-learn for data it refuses (NaN, shapes, one class).

    Examples
    --------
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=40, beta=1e-4, random_state=0).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """


class GatedReLURegressor(NetworkRegressor, GatedReLU):
    r"""Two-layer gated-ReLU regressor, trained to the optimum of a convex program.

    .. math:: \min_{U,b,t}\ \frac1{2n}\sum_j \Big\|\sum_i D_{i,jj}(x_j^TU_i+b_i)+t-y_j\Big\|^2+\beta\sum_i||U_i||_F

    over the activation patterns :math:`D_i` of sampled gates (paper, eq. cvxnn:grelu). Several targets are several
    outputs, with one group of weights for each gate over all of them. Nothing is rescaled.

    Parameters
    ----------
    n_gates : int, default 50
        Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
    gates : a method of `sample_gates`, "exhaustive" or (directions (d, m), offsets (m,))
        How they are chosen; see `sample_gates`. "exhaustive" takes one gate of every activation pattern there is, for
        small d; see `exhaustive_gates`.
    sketch_dim : int, "auto" or None, default "auto"
        Sketch size of the cross products.
    beta : float > 0, default 1e-3
        Weight of the penalty, in the 1/n scale: it means the same for every n.
    penalty : {"group_l2", "ridge"}, default "group_l2"
        :math:`\sum_i||U_i||_F`, the convex form of a network with weight decay, or
        :math:`\frac12\sum_i||U_i||_F^2`, which leaves no gate out: smoother with more gates, and faster to train. Its
        ``beta`` is of another scale; see `GatedRidgeProblem`.
    loss : {"squared", "huber"}
    bias : bool, default True
        Whether gates and neurons have one; a neuron's is not penalised.
    fit_intercept : bool, default True
        Whether the output has an intercept; it is not penalised.
    solver : {"auto", "kernel", "fista", "cvxpy"}
        "auto" takes the one that is expected to be fastest and says so in ``result_.reason``: the kernel method
        (`KernelInteriorPoint`, or `KernelNewton` with penalty="ridge") for up to some thousand rows, else `Fista`;
        "cvxpy" is the reference, for small problems.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 20000
        Iterations of FISTA, or steps of the kernel method, which takes at most 100.
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 shows one line with the iteration and the gap.
    huber_delta : float > 0, default 1.0
        Residual at which the Huber loss turns from square to line.
    max_time : float or None
        Seconds after which the best network so far is kept, with its gap. Ctrl-C does the same.
    max_memory : float or None
        Bytes that the solver may take beside the data; None for half of the machine's memory.
    refine : int, default 0
        Rounds in which gates are exchanged for others that lower the objective more; see `refine_gates`.

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
    network_ : TwoLayerNetwork
    n_iter_ : int

    Raises
    ------
    ArgumentError
        A parameter breaks its rule; a ValueError of scikit-learn for data it refuses (NaN, shapes).

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import GatedReLURegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = GatedReLURegressor(beta=1e-5, random_state=0).fit(X, np.abs(X[:, 0]))
    >>> bool(model.score(X, np.abs(X[:, 0])) > 0.99)
    True
    """
