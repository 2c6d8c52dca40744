"""ReLU networks trained as a Lasso over a dictionary of cross products, as scikit-learn estimators."""

from typing import Any

import numpy as np
from sklearn.linear_model import enet_path

from clifford_rand._checks import as_generator, check_integer, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.bias import with_feature
from clifford_rand_nn.certificates import NetworkClaim
from clifford_rand_nn.dictionaries.dictionary import CrossProductDictionary, cross_product_dictionary
from clifford_rand_nn.dictionaries.subsets import count_subsets
from clifford_rand_nn.estimators.base import ConvexNetwork, Task
from clifford_rand_nn.estimators.targets import NetworkClassifier, NetworkRegressor
from clifford_rand_nn.networks import TwoLayerNetwork, without_feature
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.paths.relu import beta_max_over
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.blocks import BlockPricer
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import Limits, Result, check_memory
from clifford_rand_nn.solvers.lasso.interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso.path import solution_at
from clifford_rand_nn.solvers.lasso.path_following import MAX_BREAKPOINTS, homotopy
from clifford_rand_nn.solvers.lasso.proximal_newton import ProximalNewton
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet

# Measured on one core, on 60 rows in R^3 and on iris: planes are made and evaluated at some 3e7 entries a second, a fit
# takes some 12 rounds; and a matrix of columns priced in memory instead takes a third to a tenth of that time.
_ENTRIES_A_SECOND = 3e7
_ROUNDS = 12
_LONG = 30.0  # seconds of work that nobody should wait for without having asked
_HELD_BYTES = 2**29
_JUDGED_TOL, _JUDGED_STEPS = 1e-4, 300  # gap as a share of the squared targets, passes over the columns
_ALL_ENTRIES = 5e6  # of the matrix of all columns, up to which "auto" takes them all
_PLANE_ENTRIES = 1e9  # the same in the plane, where they are not held
_ENTRIES, _PLANES = 1.5e6, 1000  # of the matrix of those that it draws times outputs, and hyperplanes at most
_CROSS = 3e9  # operations of their cross products, d³ each
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
    penalty : {"l1", "l2"}, default "l1"
        Norm in which directions have length 1. "l1": the exact dictionary, of subsets of the rows of [X; I]. "l2": the
        paper's, of subsets of the rows of X, which bounds the optimum but does not reach it.
    subsample : int, "auto" or None, default "auto"
        Number of hyperplanes to draw from the dictionary, each with both sides; None takes all of them. "auto" takes
        all where they are few (five million entries of the matrix of columns), and else as many as take some seconds:
        the columns of X themselves, then planes through one row of data in half of the cases, two in a quarter, and so
        on; the certificate says so.
    {loss}
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

    Attributes
    ----------
    {neurons}
    rows_ : (m, k) int
        The rows of [X; I] that span each neuron's hyperplane: below n a row of X, n + i the basis vector :math:`e_i`.
        With penalised biases they span it in the space of [X c], whose last basis vector is :math:`e_d`.
    dictionary_ : CrossProductDictionary
        Of the rows X, or [X c].
    {relu}
    {fitted}
    {classes}

    Raises
    ------
    {errors}
    """

    penalty: str = "l1"
    subsample: int | str | None = "auto"

    _penalties = ("l1", "l2")
    _solvers = ("auto", "working_set", "interior_point", "homotopy", "cvxpy")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._require_intercept()
        if self.subsample is not None and self.subsample != "auto":
            check_integer(self.subsample, "subsample", type(self).__name__)

    def _train(self, task: Task, shared: list[Any] | None) -> None:
        X = task.rows
        self.dictionary_, family, pricer = self._family(task)
        kept = shared.pop() if shared else None
        if self._holds(pricer):
            atoms, K = kept or self._columns(X)
            result = self._solve_columns(task, LassoProblem(K, task.targets, self.beta_, **self._options(task)))
            columns, values, intercept = result.coefficients
            found = WeightedNeurons(atoms.take(columns), values, intercept)
            kept = atoms, K
        else:
            with self._limited(WorkingSet, task) as solver:
                result = solver.solve(X, task.targets, self.beta_, pricer, start=kept, **self._options(task))
            found = result.coefficients
            kept = found.neurons
        if shared is not None:
            shared.append(kept)
        network = without_feature(TwoLayerNetwork.from_neurons(found, self.dictionary_.p), task.feature)
        self._set_network(network, "cross")
        self.rows_ = found.neurons.take(np.flatnonzero(found.values.any(axis=1))).rows
        self.patterns_ = self.gates_.on(task.X)
        self._conclude(
            without_feature(result, task.feature),
            pricer.scope,
            pricer.n_atoms,
            NetworkClaim(network, family),
            task.classes,
        )

    def _judged(self, task: Task, shared: list[Any], X: Array) -> tuple[Array, float]:
        """Follow the Lasso by coordinate descent where its columns are held and the loss is squared."""
        if self.loss != "squared" or self.solver != "auto":
            return super()._judged(task, shared, X)
        if not shared:
            self.dictionary_, _, pricer = self._family(task)
            if not self._holds(pricer):
                return super()._judged(task, shared, X)
            atoms, K = self._columns(task.rows)
            shared.append(_Followed(atoms, K, task, self.fit_intercept))
        if not isinstance(shared[0], _Followed):
            return super()._judged(task, shared, X)
        followed: _Followed = shared[0]
        values, intercept = followed.at(self.beta_)
        some = np.flatnonzero(values.any(axis=1))
        columns = followed.atoms.take(some).columns(with_feature(X, task.feature))
        return np.asarray(columns @ values[some] + intercept), len(some)

    def _family(self, task: Task) -> tuple[CrossProductDictionary, Family, Pricer]:
        """Return the dictionary, what it stands for and its pricer; ask for a limit where that takes long."""
        owner, X = type(self).__name__, task.rows
        rng = as_generator(self.random_state, owner, "random_state")
        graded = self.subsample == "auto"
        subsample = self._few(X, task.targets.shape[1]) if isinstance(self.subsample, str) else self.subsample
        dictionary = cross_product_dictionary(
            X, self.penalty, bias=self._free_bias, subsample=subsample, rng=rng, graded=graded
        )
        family = Family.of(dictionary, task.feature)
        pricer = family.pricer(task.X)
        seconds = len(X) * pricer.n_atoms / _ENTRIES_A_SECOND
        listed = isinstance(pricer, BlockPricer) and not self._holds(pricer)
        if listed and self.max_time is None and _ROUNDS * seconds > _LONG:
            much = f"{pricer.n_atoms:,} columns on {len(X):,} rows"
            rule = f"given for {much}, which take some {seconds:.0f} s a round and some {_ROUNDS} rounds"
            hint = "It cuts rounds short, which then prove nothing; or draw some columns with subsample=…."
            raise fail("max_time", owner, rule, None, hint)
        return dictionary, family, pricer

    def _few(self, X: Array, outputs: int) -> int | None:
        """Return the number of hyperplanes that "auto" draws, or None for all of them."""
        n, d = X.shape
        total = 2 * count_subsets(n, d, "mixed" if self.penalty == "l1" else "rows", self._free_bias)
        if n * total <= _ALL_ENTRIES or (d <= 2 and n * total <= _PLANE_ENTRIES):
            return None
        least = 2 * d if self.penalty == "l1" else 50
        most = _PLANES if self.penalty == "l1" else max(50, min(_PLANES, int(_CROSS // d**3)))
        return min(total // 2, max(least, min(most, int(_ENTRIES // (2 * n * outputs)))))

    def _holds(self, pricer: Pricer) -> bool:
        """Tell whether the columns are held as a matrix: always by some solvers, by "auto" where that is faster."""
        if self.solver != "auto":
            return self.solver != "working_set"
        most = min(_HELD_BYTES, np.inf if self.max_memory is None else self.max_memory)
        return isinstance(pricer, BlockPricer) and 8.0 * len(pricer.X) * pricer.n_atoms <= most

    def _columns(self, X: Array) -> tuple[Neurons, Array]:
        n = self.dictionary_.n_columns
        needed, hint = 8.0 * len(X) * n, "Use solver='working_set', or a subsample."
        check_memory(type(self).__name__, self.max_memory, needed, f"{n} columns", hint)
        atoms = self.dictionary_.neurons()
        return atoms, atoms.training_columns(X)

    def _beta_max(self, task: Task) -> float:
        pricer = self._family(task)[2]
        return beta_max_over(task.rows, task.targets, pricer, owner=type(self).__name__, **self._options(task))

    def _solve_columns(self, task: Task, problem: LassoProblem) -> Result[Weights]:
        if self.solver == "homotopy":
            return self._follow(task, problem)
        result: Result[Weights]
        columns = problem.K.shape[1]
        few = columns <= min(_FEWER * problem.n, _MOST)
        if self.solver == "auto" and few and ProximalNewton.suits(problem):
            with self._limited(ProximalNewton, task) as solver:
                result = solver.solve(problem)
        elif self.solver == "auto" and (problem.outputs > 1 or columns > _FEW * problem.n):
            with self._limited(WorkingSet, task) as solver:
                result = solver.solve_columns(problem)
        else:
            with self._limited("cvxpy" if self.solver == "cvxpy" else InteriorPoint, task) as solver:
                result = solver.solve(problem)
        return result

    def _follow(self, task: Task, problem: LassoProblem) -> Result[Weights]:
        """Read the solution at beta from the exact path."""
        if not problem.datafit.loss.is_quadratic or problem.outputs > 1:
            rule = "'homotopy' only for loss='squared' and one output"
            value = describe(f"loss={problem.loss!r}, {problem.outputs} outputs")
            raise fail("solver", type(self).__name__, rule, value, "Use solver='auto'.")
        path = homotopy(
            problem.K,
            problem.datafit.y,
            beta_min=self.beta_,
            max_breakpoints=self.max_iter or MAX_BREAKPOINTS,
            max_time=Limits(max_time=self.max_time).after(task.seconds).max_time,
            fit_intercept=problem.fit_intercept,
            sample_weight=problem.datafit.sample_weight,
        )
        return solution_at(path, problem, self.tol)


class _Followed:
    """Lasso weights of columns K (n, m) from beta to beta, each from the last ones, to a gap enough to judge."""

    def __init__(self, atoms: Neurons, K: Array, task: Task, fit_intercept: bool) -> None:
        self.atoms = atoms
        root = np.ones(len(K)) if task.weights is None else np.sqrt(task.weights)
        share = root**2 / (root @ root) if fit_intercept else np.zeros(len(K))
        self._mean, self._target = share @ K, share @ task.targets
        self._K = np.asfortranarray(root[:, None] * (K - self._mean))
        self._y = np.asfortranarray(root[:, None] * (task.targets - self._target))
        self._values: Array = np.zeros((K.shape[1], task.targets.shape[1]))

    def at(self, beta: float) -> tuple[Array, Array]:
        """Return the weights (m, C) and the intercept (C,)."""
        if self._K.shape[1]:
            found = enet_path(
                self._K,
                self._y,
                l1_ratio=1.0,
                alphas=[beta],
                coef_init=np.asfortranarray(self._values.T),
                tol=_JUDGED_TOL,
                max_iter=_JUDGED_STEPS,
                check_input=False,
            )[1]
            self._values = np.ascontiguousarray(found[:, :, 0].T)
        return self._values, np.asarray(self._target - self._mean @ self._values)


class CrossProductLassoClassifier(CrossProductLasso, NetworkClassifier):
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
