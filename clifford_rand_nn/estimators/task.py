"""Fits: parameters of estimators, declared as fields; the task; what one leaves for the next; data far from size 1."""

import copy
import re
import time
from dataclasses import dataclass, field, replace
from inspect import cleandoc
from textwrap import indent
from typing import Any, ClassVar, cast, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from clifford_rand._checks import fail
from clifford_rand._typing import Array
from clifford_rand_nn._records import as_table
from clifford_rand_nn.certificates.claims import Claim, GatedClaim, NetworkClaim
from clifford_rand_nn.certificates.values import rescaled
from clifford_rand_nn.export.methods import Exported
from clifford_rand_nn.gates.hyperplanes import as_gates
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import as_loss, make_datafit
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.solvers.base import Result

_FELT = 1e-12  # of the objective: one that rounding of coefficients moves by more is computed again from the network


_PARTS = {
    "gates": r"""
        n_gates : int, default 50
            Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
        gates : a method of `sample_gates`, "exhaustive", Gates or (directions (d, m), offsets (m,))
            How they are chosen; see `sample_gates`. "exhaustive" takes one gate of every activation pattern there is,
            for small d; see `enumerate_gates`.
        sketch_dim : int, "auto" or None, default "auto"
            Sketch size of the cross products.
        """,
    "beta": r"""
        beta : float > 0 or "auto", default "auto"
            Weight of the penalty, in the 1/n scale: it means the same for every n. "auto" takes the one with the least
            loss on held-out rows, for labels of those that are within half a standard error of the fewest wrong ones: a
            path is trained on four fifths of the rows and judged on the other fifth, in as many of five such folds as
            hold out some 500 rows. The folds are stratified and depend neither on a seed nor on the order of the rows.
            Half of ``max_time`` is for that.
        """,
    "tol": """
        tol : float, default 1e-6
            Relative duality gap to reach.
        """,
    "limits": r"""
        {tol}
        max_iter : int or None
            Most iterations of the solver; None for as many as it takes by itself.
        max_time : float or None
            Seconds after which the best network so far is kept, with its gap. Ctrl-C does the same.
        max_memory : float or None
            Bytes that the solver may take beside the data; None for no limit, with solver="auto" of gated networks for
            half of the machine's memory. One that knows beforehand that it takes more refuses to begin.
        """,
    "intercept": r"""
        fit_intercept : bool, default True
            Whether the output has an intercept; it is not penalized. ReLU neurons with free biases need one: with w = 0
            they are one.
        """,
    "bias": r"""
        bias : {"penalized", "free"} or bool, default "penalized"
            Whether gates and neurons have one. "penalized": inside the norm of a neuron's weights, as the weight of a
            constant feature c, the root mean square of the entries of X, so that nothing depends on units: all that
            holds without biases holds for the rows [X c]. "free" or True, as in the paper: not penalized; as many gates
            as rows then fit anything by biases alone, which no ``beta`` prevents. False: none.
        """,
    "fitted": r"""
        beta_ : float
            The one that was given or chosen.
        candidates_ : list of BetaScore, or None
            What was compared: beta, mean loss of the held-out rows, its standard error, number of neurons, share of
            wrong labels. None if ``beta`` was given.
        loss_ : str
            The one that was given, or that "auto" came to.
        bias_feature_ : float or None
            c, where biases are penalized.
        """,
    "class_weight": "",  # of classifiers, as are classes_ and its like
    "classes_and_errors": """
        {classes}

        Raises
        ------
        ArgumentError
            A parameter breaks its rule, or data do (NaN, shapes, labels of one class).
        """,
    "random_state": r"""
        random_state : int, RandomState, Generator or None
            An integer gives the same gates or columns each time, whatever the order of the rows, and however often a
            row occurs.
        verbose : int, default 0
            1 shows the phases of the fit on stderr, with the iterations and the gap; a bar on terminals.
        """,
    "neurons": r"""
        coef_ : (m, d)
            Output weight times input weights of each neuron, with an axis for the outputs in front if there are
            several: on the training rows :math:`f = \sum_j\mathrm{patterns\_}_{:,j}(X\,\mathrm{coef\_}_j+b_j)+t`.
        gate_intercept_ : (m,)
            Likewise; b.
        intercept_ : float, or (outputs,)
        gates_ : Gates
            The hyperplane of each neuron.
        patterns_ : (n, m) bool
            Of each neuron on the training rows.
        """,
    "relu": r"""
        network_ : TwoLayerNetwork
            Balanced, with ReLU neurons.
        result_ : Result
            Objective, gap, iterations, status, history, in the solver's variables.
        certificate_ : Certificate
            What is proved; ``certificate_.verify(X, y)`` recomputes it, ``certificate_.over_all_neurons(X, y)`` extends
            it to every two-layer network.
        """,
}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Parameters(Exported, BaseEstimator):
    """An estimator whose annotated class attributes are its parameters, as in a dataclass.

    The docstring of a subclass is put together from parts: a line that holds nothing but ``{name}`` is replaced by the
    part of that name, from `_parts` of the class and its bases, or by the shared one; ``{family}`` by all but the
    first paragraph of the docstring of the base class that trains.
    """

    _parts: ClassVar[dict[str, str]] = {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        if cls.__doc__ and "{family}" in cls.__doc__:
            cls.__doc__ = _put_together(cls)


def _put_together(cls: type[Parameters]) -> str:
    parts = dict(_PARTS)
    for base in reversed(cls.__mro__):
        parts.update(vars(base).get("_parts", {}))
    trains = next(base for base in cls.__mro__ if "_train" in vars(base))
    parts["family"] = cleandoc(trains.__doc__ or "").split("\n\n", 1)[1]
    text, count = cleandoc(cls.__doc__ or ""), 1
    while count:
        text, count = re.subn(r"^( *)\{(\w+)\}$", lambda at: indent(cleandoc(parts[at[2]]), at[1]), text, flags=re.M)
    return text


def refuse_together(model: Any, *rules: tuple[object, str, str, str]) -> None:
    """Raise for the first rule that is broken, of (whether it is broken, parameter, rule, hint)."""
    for is_broken, name, rule, hint in rules:
        if is_broken:
            raise fail(name, type(model).__name__, rule, getattr(model, name), hint)


def drawn_state(random_state: Any, owner: str) -> np.random.RandomState:
    """Return scikit-learn's kind of generator for a seed."""
    rule = "None, a RandomState or an integer from 0 to 2^32 - 1"
    if isinstance(random_state, bool | np.bool_):  # which are integers of scikit-learn
        raise fail("random_state", owner, rule, random_state)
    try:
        return cast(np.random.RandomState, check_random_state(random_state))
    except (TypeError, ValueError):
        raise fail("random_state", owner, rule, random_state) from None


@dataclass
class WarmStart:
    """The state that a fit leaves for the next one on the same rows, which only its family knows; None at first."""

    state: Any = None


@dataclass(frozen=True, eq=False)
class Task:
    """Checked rows, targets (n, C), their loss, the classes, weights or None if equal.

    Rows are dense, or CSR where the estimator takes them so. ``began`` is the start of the fit, of `time.perf_counter`.
    With a ``feature`` c, where biases are penalized, the problem is one without biases for ``rows``, [X c].
    """

    X: Any
    targets: Array
    loss: str | Loss
    classes: NDArray[Any] | None
    weights: Array | None
    began: float
    feature: float | None = None
    lifted: Any = None

    @property
    def rows(self) -> Any:
        """Rows of the convex problem, `CsrRows` if X is CSR."""
        return self.X if self.lifted is None else self.lifted

    @property
    def has_units(self) -> bool:
        """Whether targets may be divided by a unit."""
        return self.classes is None and as_loss(self.loss, "Task").has_units

    @property
    def seconds(self) -> float:
        """Seconds since the fit began."""
        return time.perf_counter() - self.began

    def datafit(self, owner: str, huber_delta: float | None) -> Datafit:
        """Return the mean loss of outputs for the rows."""
        return make_datafit(self.loss, self.targets, len(self.targets), owner, huber_delta, self.weights)

    def in_units(self, units: Units) -> "Task":
        """Return the same data in units."""
        targets = units.targets(self.targets) if self.has_units else self.targets
        return replace(self, X=units.rows(self.X), targets=targets)

    def loses_objective(self, claim: Claim, result: Result[Any]) -> bool:
        """Whether rounding e of weights and residuals r = f - y moves the objective, by the mean of e(|r| + e)."""
        if not isinstance(claim, GatedClaim):
            return isinstance(claim, NetworkClaim)
        e = claim.rounding_of_predictions(self.X) + np.finfo(np.float64).eps * np.abs(self.targets).max(initial=0.0)
        return bool(e * (np.abs(result.fitted - self.targets).mean() + e) > _FELT * result.objective)


class RescaledFit(Parameters):
    """An estimator whose fit is the same in all units of rows and targets."""

    def _units(self: Any, task: Task) -> Units:
        targets = task.targets if task.has_units else None
        return Units.of(task.X, targets, type(self).__name__, bool(self.fit_intercept))

    def _in(self: Any, units: Units) -> Any:
        """Return this estimator for the same data in units, its parameters of beta, delta and gates with them."""
        scaled = copy.copy(self)
        owner = type(self).__name__
        if not isinstance(self.beta, str):
            scaled.beta = units.beta(self.beta, self.penalty == "ridge", owner)
        if hasattr(self, "huber_delta"):
            scaled.huber_delta = units.inverse().size(self._delta)
        gates = getattr(self, "gates", "")
        if not isinstance(gates, str):
            scaled.gates = units.inverse().back(as_gates(gates, self.n_features_in_, owner))
        return scaled

    def _take_from(self: Any, scaled: Any, units: Units) -> None:
        slope = units.y - units.x
        exponents = {"coef_": slope, "gate_intercept_": units.y}
        drawn = scaled._drawing_units(units)
        self.bias_feature_ = drawn.back(scaled.bias_feature_)
        back, squared, owner = drawn.inverse(), self.penalty == "ridge", type(self).__name__
        self.beta_ = back.beta(scaled.beta_, squared, owner)

        def scaled_back(score: Any) -> Any:
            losses = {name: units.square(getattr(score, name)) for name in ("mean_loss", "loss_std_error")}
            return score._replace(beta=back.beta(score.beta, squared, owner), **losses)

        self.candidates_ = scaled.candidates_ and as_table(list(map(scaled_back, scaled.candidates_)))
        for name, value in vars(scaled).items():
            own = name in ("bias_feature_", "beta_", "candidates_")
            if not name.endswith("_") or own or vars(self).get(name) is value:  # what the data said is of no unit
                continue
            if name in exponents:
                value = np.ldexp(value, exponents[name])
            elif name == "intercept_":
                value = units.level(value)
            elif name == "certificate_":
                value = rescaled(value, units)
            elif not isinstance(value, int | str | np.ndarray | None):  # steps, patterns, rows
                value = (drawn if name == "dictionary_" else units).back(value)
            setattr(self, name, value)

    def _drawing_units(self, units: Units) -> Units:
        """Return the units of the rows that neurons are sought for, see `_drawing_rows`."""
        return units

    def _drawing_rows(self, task: Task) -> Task:
        """Return the task on the rows that neurons are sought for: those that were given, unless a family says."""
        return task

    def beta_max(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Least beta with which `fit` finds a network without neurons."""
        scaled = model = clone(self).set_params(max_time=None)
        task = model._task(X, y, sample_weight)
        units = model._units(task)
        if not units.plain:
            scaled, task = model._in(units), task.in_units(units)
        top = float(scaled._top(scaled._drawing_rows(scaled._with_feature(task))))
        if units.plain or not top > 0:
            return top
        back = scaled._drawing_units(units).inverse()
        return float(back.beta(top, model.penalty == "ridge", type(model).__name__))
