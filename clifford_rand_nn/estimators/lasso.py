"""ReLU networks trained as a Lasso over a dictionary of cross products, as scikit-learn estimators."""

from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from clifford_rand._checks import as_generator, check_choice, check_integer, fail
from clifford_rand._typing import Array
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.cost import Estimate, slowdown
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.estimators.held_out import n_folds
from clifford_rand_nn.estimators.lasso_paths import LassoCoordinateDescent, on_exact_path
from clifford_rand_nn.estimators.targets import LossChoosingClassifier, NetworkRegressor
from clifford_rand_nn.estimators.task import Task, WarmStart
from clifford_rand_nn.gates.dictionary import CrossProductDictionary, cross_product_dictionary
from clifford_rand_nn.gates.hyperplanes import fitted_gates, fitted_neurons
from clifford_rand_nn.gates.subsets import count_subsets
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.networks import balanced_network, without_feature
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.base import BlockPricer, Pricer
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.problems.loss_registry import loss_lines
from clifford_rand_nn.relu_paths import beta_max_over
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.solvers.base import SOONEST, Limits, Result, check_memory
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_proximal_newton import ProximalNewton
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet
from clifford_rand_nn.sparse_rows import distinct_rows, with_feature

# Measured on one core, on 60 rows in R^3 and on iris: planes are made and evaluated at some 3e7 entries a second, a fit
# takes some 12 rounds; and a matrix of columns priced in memory instead takes a third to a tenth of that time.
_ENTRIES_A_SECOND = 3e7
_ROUNDS = 12
_JUDGED = 0.12  # of that time, a fit that judges a beta: 200 and 1000 rows
_LONG = 30.0  # seconds of work that nobody should wait for without having asked
_HELD_BYTES = 2**29
_ALL_ENTRIES = 5e6  # of the matrix of all columns, up to which "auto" takes them all
_PLANE_ENTRIES = 1e9  # the same in the plane, where they are not held
_ENTRIES, _PLANES = 1.5e6, 1000  # of the matrix of those that it draws times outputs, and hyperplanes at most
_COPIES = 10  # of each row on average, up to which weights instead of them make no difference to what is drawn
_LARGE = 0.5 ** np.array([0.25, 0.5])  # shares of the largest beta, where there are linear models
_STRENGTHS = (0.1, 1.0, 10.0)  # of the squares of linear models, as shares of the mean variance of the columns
_DRAWN = 0.2  # of the time that is left, for drawing columns
_FEWER, _MOST = 4, 2000  # columns a row, and columns, up to which the same is true of several outputs
_FEW = 16  # columns a row up to which all at once are faster than a working set: 8 took 0.4 of its time, 150 twice it


class CrossProductLasso(ConvexNetwork):
    r"""Parameters and training; `CrossProductLassoClassifier` and `CrossProductLassoRegressor` add targets.

    .. math:: \min_{Z,t}\ \frac1n\sum_i\ell\Big(\sum_jK_{ij}Z_j+t,\ y_i\Big)+\beta\sum_j||Z_j||_2

    over the columns :math:`K_j = (Xv_j+b_j)_+`, with :math:`v_j` cross products of rows (paper, eq. cvxnn:lasso). With
    "l1" and no subsample it has the optimum of every two-layer ReLU network with the penalty
    :math:`\frac\beta2\sum_j(||w_j||_1^2+||\alpha_j||_2^2)`.

    {targets}

    Parameters
    ----------
    {beta}
        The paper's figures use :math:`\sum_i(f_i-y_i)^2+\beta_p||z||_1`, which is :math:`\beta=\beta_p/(2n)`.
    penalty : {"auto", "l1", "l2"}, default "auto"
        Norm in which directions have length 1. "l1": the exact dictionary, of subsets of the rows of [X; I]. "l2": the
        paper's, of subsets of the rows of X, which bounds the optimum but does not reach it. "auto" is "l1", unless
        ``beta`` is "auto" and columns are drawn: then nothing is exact, "l2" suits many weak features too, features are
        standardized, and the certificate is of the standardized rows.
    subsample : int, "auto" or None, default "auto"
        Number of hyperplanes to draw from the dictionary, each with both sides; None takes all of them, and so does
        "auto" where they are few (five million entries of the matrix of columns). Else it draws as many of the rows of
        [X; I] as take some seconds: the columns of X themselves, where they are at most half of all, then planes
        through one row of data in half of the cases, two in a quarter, and so on; a number has these shares where
        ``beta`` and ``penalty`` are "auto", and is lowered to what ``max_time`` suffices for. The certificate says so.
    {loss}
    {class_weight}
    {bias}
    {intercept}
    solver : {"auto", "working_set", "interior_point", "homotopy", "cvxpy"}
        "working_set" prices the dictionary in blocks and never holds it; "interior_point" and "cvxpy" hold the matrix;
        "homotopy" follows the exact path down to ``beta`` (squared loss, one output). "auto" is the fastest: in the
        plane with "l1" "working_set"; else over the columns in memory, by working sets or, if they are few,
        "interior_point", or proximal Newton steps for the squared loss of several outputs; "working_set" where the
        matrix would take more than 512 MiB or ``max_memory``. One that would take more than half a minute needs
        ``max_time``.
    {limits}
    {random_state}
    linear : bool or "auto", default "auto"
        Whether the hyperplanes of linear least-squares fits of the outputs, from both sides, stand beside columns that
        are drawn; see `fitted_gates`, here with a tenth, once and ten times the mean variance as the weight of the
        squares. As :math:`w\cdot x=(w\cdot x)_+-(-w\cdot x)_+`, two such neurons are a linear model. "auto" adds them
        where "auto" for ``penalty`` comes to "l2", unless held-out rows are better off without them. With "l1" a linear
        model costs the same as the columns of X that it is a sum of.

    Attributes
    ----------
    {neurons}
    spanning_rows_ : (m, k) int
        The rows of [X; I] that span each neuron's hyperplane: below n a row of X, n + i the basis vector :math:`e_i`.
        With penalized biases they span it in the space of [X c], whose last basis vector is :math:`e_d`. -1 throughout
        for a neuron of a linear model, whose hyperplane no rows span.
    penalty_ : {"l1", "l2"}
        The one that was given, or that "auto" came to.
    dictionary_ : CrossProductDictionary
        Of the rows X, or [X c].
    {relu}
    {fitted}
    {classes_and_errors}
    """

    penalty: str = "auto"
    subsample: int | str | None = "auto"
    linear: bool | str = "auto"

    _chosen = False  # whether this fit began with beta="auto"
    _beside = False  # whether linear models stand beside columns, where "auto" decides
    _standard = cast(Standardization | None, None)  # of the rows that columns are drawn from
    _draws = False  # whether columns are drawn for it, in the norm that is not exact
    _penalties = ("auto", "l1", "l2")
    _solvers = ("auto", "working_set", "interior_point", "homotopy", "cvxpy")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._require_intercept()
        if self.subsample is not None and not (isinstance(self.subsample, str) and self.subsample == "auto"):
            check_integer(self.subsample, "subsample", type(self).__name__)
        check_choice(self.linear, "linear", type(self).__name__, (True, False, "auto"))

    @property
    def _norm(self) -> str:
        return self.penalty if self.penalty != "auto" else "l2" if self._draws else "l1"

    def _settled(self, task: Task) -> Task:
        return super()._settled(self._drawing_rows(task))

    def _drawing_units(self, units: Units) -> Units:
        return units if self._standard is None else units._replace(x=0)  # standardized rows have no units

    def _drawing_rows(self, task: Task) -> Task:
        self._chosen, self._draws, self._beside = isinstance(self.beta, str), False, False
        if self._chosen and self.penalty == "auto" and self.subsample is not None:
            self._draws = self._drawn(task.rows, task.targets.shape[1]) is not None
        self.penalty_, self._standard = self._norm, None
        if self._draws:  # no column is of the exact dictionary, so the unit of length is a convention
            self._standard = Standardization.of(task.X, "column", task.weights)
            task = self._with_feature(replace(task, X=self._standard.rows(task.X)))
        return task

    def _choose_and_train(self, task: Task, warm: WarmStart | None) -> None:
        super()._choose_and_train(task, warm)
        if self._standard is not None:
            claim = replace(cast(NetworkClaim, self.certificate_.claim), standard=self._standard)
            self.certificate_ = replace(self.certificate_, claim=claim)
            self._set_network(claim.network_on_rows(), "cross")

    def _train(self, task: Task, warm: WarmStart | None) -> None:
        X = task.rows
        self.dictionary_, family, pricer = self._family(task)
        known = None if warm is None else warm.state
        if self._holds(pricer):
            atoms, K = known or self._columns(X, family)
            result = self._solve_columns(task, LassoProblem(K, task.targets, self.beta_, **self._options(task)))
            columns, values, intercept = result.coefficients
            solution = WeightedNeurons(atoms.take(columns), values, intercept)
            state: Any = atoms, K
        else:
            solver = self._limited(WorkingSet, task)
            result = solver.solve(X, task.targets, self.beta_, pricer, start=known, **self._options(task))
            solution, state = result.coefficients, result.coefficients.neurons
        if warm is not None:
            warm.state = state
        network = without_feature(balanced_network(solution, self.dictionary_.p), task.feature)
        self._set_network(network, "cross")
        self.spanning_rows_ = solution.neurons.take(np.flatnonzero(solution.values.any(axis=1))).rows
        self.patterns_ = self.gates_.activations(task.X)
        claim = NetworkClaim(network, family)
        # columns that are held lack planes that agree with others to 1e-10
        norm = family.dual_norm(task.X, result.dual_point) if self._holds(pricer) else None
        self._conclude(without_feature(result, task.feature), pricer.scope, pricer.n_atoms, claim, task, norm)

    def _shares(self) -> Array:
        # A linear model has seen the targets, so it takes half of them up at once: larger betas are compared too.
        shares = super()._shares()
        return np.concatenate([_LARGE, shares]) if self._linear else shares

    def _judged(self, task: Task, warm: WarmStart, X: Array) -> tuple[Array, float]:
        """Follow the Lasso by coordinate descent where its columns are held, for the losses that this is for."""
        if warm.state is None and self.loss_ in ("squared", "logistic") and self.solver == "auto":
            self.dictionary_, family, pricer = self._family(task)
            if self._holds(pricer):
                atoms, K = self._columns(task.rows, family)
                datafit = task.datafit(type(self).__name__, None)
                warm.state = LassoCoordinateDescent(atoms, K, datafit, self.fit_intercept)
        followed = warm.state
        if not isinstance(followed, LassoCoordinateDescent):
            return super()._judged(task, warm, X)
        values, intercept = followed.at(self.beta_)
        active = np.flatnonzero(values.any(axis=1))
        columns = followed.atoms.take(active).columns(with_feature(X, task.feature))
        return np.asarray(columns @ values[active] + intercept), len(active)

    def _family(self, task: Task) -> tuple[CrossProductDictionary, Family, Pricer]:
        """Return the dictionary, what it stands for and its pricer; ask for a limit where that takes long."""
        owner, X = type(self).__name__, task.rows
        rng = as_generator(self.random_state, owner, "random_state")
        drawn = self._drawn(X, task.targets.shape[1])
        left = Limits(max_time=self.max_time).after(task.seconds).max_time
        # columns that are drawn are then made again, and solved for
        time_to_draw = None if drawn is None or left is None else max(_DRAWN * left, SOONEST)
        graded = drawn is not None and (self._draws or isinstance(self.subsample, str))
        order: dict[str, Any] = {"family": "mixed", "sparse_first": True} if graded else {}
        dictionary = cross_product_dictionary(
            X, self._norm, bias=self._free_bias, subsample=drawn, random_state=rng, max_time=time_to_draw, **order
        )
        if drawn is not None and isinstance(self.subsample, (int, np.integer)) and drawn < self.subsample:
            dictionary.notes += (f"{drawn:,} of {self.subsample:,} subsets: more would take longer than max_time",)
        family = Family.of(dictionary, task.feature, self._linear_models(task, dictionary))
        pricer = family.pricer(task.X)
        seconds = len(X) * pricer.n_atoms / _ENTRIES_A_SECOND
        listed = isinstance(pricer, BlockPricer) and not self._holds(pricer)
        if listed and self.max_time is None and _ROUNDS * seconds > _LONG:
            much = f"{pricer.n_atoms:,} columns on {len(X):,} rows"
            rule = f"given for {much}, which take some {seconds:.0f} s a round and some {_ROUNDS} rounds"
            hint = "It cuts rounds short, which then prove nothing; or draw some columns with subsample=…."
            raise fail("max_time", owner, rule, None, hint)
        return dictionary, family, pricer

    @property
    def _linear(self) -> bool:
        return self._beside if self.linear == "auto" else bool(self.linear)

    def _alternatives(self) -> list[dict[str, Any]]:
        return [{"_beside": True}, {"_beside": False}] if self._draws and self.linear == "auto" else [{}]

    def _linear_models(self, task: Task, dictionary: CrossProductDictionary) -> Neurons | None:
        if not self._linear:
            return None
        gates = fitted_gates(task.X, task.targets, self._offset, task.weights, _STRENGTHS)
        return fitted_neurons(gates, dictionary.p, task.feature, self._free_bias, dictionary.neurons().rows.shape[1])

    def _drawn(self, X: Array, outputs: int) -> int | None:
        """Return the number of hyperplanes to draw, or None for all of them."""
        n_distinct, d = len(distinct_rows(X)), X.shape[1]
        mixed = 2 * count_subsets(n_distinct, d, "mixed", self._free_bias)
        if not isinstance(self.subsample, str):
            if self.subsample is None or (self._chosen and 2 * self.subsample >= mixed):
                return None
            return int(min(self.subsample, max(self._entries_in_time / (2 * len(X) * outputs), 1)))
        n, rows = max(n_distinct, len(X) // _COPIES), 2 * count_subsets(n_distinct, d, "rows", self._free_bias)
        total = mixed if self._draws or self._norm == "l1" else rows
        if not self._draws and (n * total <= _ALL_ENTRIES or (d <= 2 and n * total <= _PLANE_ENTRIES)):
            return None
        least, most = 2 * d if self._norm == "l1" else 50, min(_PLANES, int(_ENTRIES // (2 * n * outputs)))
        return min(mixed // 2, max(least, most))

    @property
    def _entries_in_time(self) -> float:
        return np.inf if self.max_time is None else self.max_time / slowdown() * _ENTRIES_A_SECOND / _ROUNDS

    def _costs_of(self, task: Task) -> tuple[Estimate, Estimate]:
        task = self._settled(task)
        n, outputs = len(task.rows), task.targets.shape[1]
        drawn = self._drawn(task.rows, outputs)
        n_distinct, family = len(distinct_rows(task.rows)), "mixed" if self._norm == "l1" else "rows"
        every = count_subsets(n_distinct, task.rows.shape[1], family, self._free_bias)
        entries = float(n) * 2.0 * float(every if drawn is None else drawn) * outputs
        seconds = _ROUNDS * entries / _ENTRIES_A_SECOND
        held = min(8.0 * entries, _HELD_BYTES)
        return Estimate(_JUDGED * seconds, held * (1 + n_folds(n))), Estimate(seconds, 3.0 * held)

    def _holds(self, pricer: Pricer) -> bool:
        """Tell whether the columns are held as a matrix: always by some solvers, by "auto" where that is faster."""
        if self.solver != "auto":
            return self.solver != "working_set"
        most = min(_HELD_BYTES, self.max_memory or np.inf, 8.0 * self._entries_in_time)  # it takes some five passes
        return isinstance(pricer, BlockPricer) and 8.0 * len(pricer.X) * pricer.n_atoms <= most

    def _columns(self, X: Array, family: Family) -> tuple[Neurons, Array]:
        members, dictionary = family.members, self.dictionary_
        n = len(members) if isinstance(members, Neurons) else dictionary.n_columns
        needed, hint = 8.0 * len(X) * n, "Use solver='working_set', or a subsample."
        check_memory(type(self).__name__, self.max_memory, needed, f"{n} columns", hint)
        atoms = members if isinstance(members, Neurons) else dictionary.neurons()
        return atoms, atoms.training_columns(X)

    def _beta_max(self, task: Task) -> float:
        pricer = self._family(task)[2]
        datafit = task.datafit(type(self).__name__, self._own_delta)
        return beta_max_over(task.rows, datafit, pricer, self.fit_intercept, self._late(task))

    def _solve_columns(self, task: Task, problem: LassoProblem) -> Result[Weights]:
        if self.solver == "homotopy":
            return on_exact_path(self, task, problem)
        columns = problem.K.shape[1]
        few = columns <= min(_FEWER * problem.n, _MOST)
        method: Any = "cvxpy" if self.solver == "cvxpy" else InteriorPoint
        if self.solver == "auto" and few and ProximalNewton.suits(problem):
            method = ProximalNewton
        elif self.solver == "auto" and (problem.outputs > 1 or columns > _FEW * problem.n):
            method = WorkingSet
        solver = self._limited(method, task)
        return cast(Result[Weights], (solver.solve_columns if method is WorkingSet else solver.solve)(problem))


class CrossProductLassoClassifier(CrossProductLasso, LossChoosingClassifier):
    """Two-layer ReLU classifier, trained as a Lasso over a dictionary of cross products.

    {family}

    Examples
    --------
    >>> from clifford_rand_nn import CrossProductLassoClassifier, spiral
    >>> X, y = spiral(20)
    >>> model = CrossProductLassoClassifier(bias="free", beta=1e-3).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6, model.certificate_.scope
    (True, 'global: all 1,562 patterns')
    """

    loss: str = "auto"

    _parts: ClassVar[dict[str, str]] = {
        "loss": loss_lines("classification", "auto")
        + """    "auto": "logistic" for two classes where ``beta`` is "auto" too; else "squared". ``loss_`` says which.
"""
    }

    def _prefers_logistic(self, task: Task) -> bool:
        """Where beta is chosen, for two classes: the softmax takes five times as long to choose beta by."""
        return isinstance(self.beta, str) and self.solver != "homotopy" and task.targets.shape[1] == 1


class CrossProductLassoRegressor(CrossProductLasso, NetworkRegressor):
    """Two-layer ReLU regressor, trained as a Lasso over a dictionary of cross products.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import CrossProductLassoRegressor
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> model = CrossProductLassoRegressor(beta=1e-4, solver="homotopy").fit(X, np.abs(X[:, 0]))
    >>> model.network_.n_neurons, bool(model.score(X, np.abs(X[:, 0])) > 0.999)
    (2, True)
    """
