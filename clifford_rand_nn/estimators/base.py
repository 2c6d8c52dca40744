"""What the gated-ReLU estimators share: gates, patterns, problem, solve, decode."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from clifford_rand._checks import check_choice, check_integer, check_positive, fail
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.estimators.progress import progress_line
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.gates.sampling import sample_gates
from clifford_rand_nn.networks import TwoLayerNetwork, gated_predictions
from clifford_rand_nn.patterns import activation_patterns
from clifford_rand_nn.problems.problem import Coefficients, GatedReLUProblem
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.fista import Fista

__all__ = ["GatedReLU"]


class GatedReLU(BaseEstimator):
    """Parameters, fit and outputs; `GatedReLUClassifier` and `GatedReLURegressor` add what targets need."""

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
    ) -> None:
        self.n_gates = n_gates
        self.gates = gates
        self.sketch_dim = sketch_dim
        self.beta = beta
        self.penalty = penalty
        self.loss = loss
        self.bias = bias
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self, losses: tuple[str, ...]) -> None:
        owner = type(self).__name__
        check_integer(self.n_gates, "n_gates", owner)
        check_positive(self.beta, "beta", owner)
        check_positive(self.tol, "tol", owner)
        check_integer(self.max_iter, "max_iter", owner)
        check_choice(self.penalty, "penalty", owner, ("group_l2",))
        check_choice(self.loss, "loss", owner, losses)
        check_choice(self.solver, "solver", owner, ("auto", "fista", "cvxpy"))
        check_choice(self.bias, "bias", owner, (True, False))
        check_choice(self.fit_intercept, "fit_intercept", owner, (True, False))
        if isinstance(self.gates, str):
            check_choice(self.gates, "gates", owner, ("cross", "gaussian"))

    def _make_gates(self, X: NDArray[np.float64]) -> Gates:
        if isinstance(self.gates, Gates):
            return self.gates
        if isinstance(self.gates, str):
            rng = _generator(self.random_state)
            return sample_gates(X, self.n_gates, self.gates, self.sketch_dim, self.bias, rng)
        try:
            directions, offsets = self.gates
        except (TypeError, ValueError):
            rule = "'cross', 'gaussian', Gates or a pair (directions (d, m), offsets (m,))"
            raise fail("gates", type(self).__name__, rule, self.gates) from None
        return Gates.given(directions, offsets)

    def _solve(self, X: NDArray[np.float64], targets: NDArray[np.float64], loss: str, classes: Any) -> None:
        self.patterns_, self.gates_ = activation_patterns(X, self._make_gates(X))
        problem = GatedReLUProblem(
            X, targets, self.patterns_, self.beta, loss=loss, bias=self.bias, fit_intercept=self.fit_intercept
        )
        self.result_ = result = self._minimise(problem)
        if not result.converged:
            warnings.warn(f"{type(self).__name__}: {result.status}.", ConvergenceWarning, stacklevel=3)
        coefficients = result.coefficients
        single = problem.outputs == 1
        self.coef_ = coefficients.coef[0] if single else coefficients.coef
        self.gate_intercept_ = coefficients.gate_intercept[0] if single else coefficients.gate_intercept
        self.intercept_ = float(coefficients.intercept[0]) if single else coefficients.intercept
        self.n_iter_ = max(1, result.n_iter)
        self.network_ = TwoLayerNetwork.from_gated(coefficients, self.gates_)
        P = len(self.gates_)
        self.certificate_ = Certificate(
            primal=result.objective,
            dual=result.objective - result.duality_gap,
            relative_gap=result.relative_gap,
            n_patterns=P,
            scope=f"over the {P} given patterns" if self.gates_.method == "given" else f"over the {P} sampled patterns",
            dual_point=result.dual_point,
            loss=self.loss,
            beta=self.beta,
            bias=self.bias,
            fit_intercept=self.fit_intercept,
            gates=self.gates_,
            coefficients=coefficients,
            classes=classes,
        )

    def _minimise(self, problem: GatedReLUProblem) -> Result:
        if self.solver == "cvxpy":
            from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference  # cvxpy takes a second to import

            return CvxpyReference(tol=self.tol).solve(problem)
        with progress_line(self.verbose, self.tol) as callback:
            return Fista(tol=self.tol, max_iter=self.max_iter, callback=callback).solve(problem)

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "coef_")
        data = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        intercept = np.atleast_1d(self.intercept_)
        C, P = len(intercept), len(self.gates_)
        coefficients = Coefficients(
            self.coef_.reshape(C, P, self.n_features_in_), self.gate_intercept_.reshape(C, P), intercept
        )
        return gated_predictions(data, self.gates_, coefficients)


def _generator(random_state: Any) -> np.random.Generator:
    """Turn a random_state of scikit-learn's kind, or a Generator, into a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))
