"""Parameters of estimators, declared as fields, and the parts of docstrings that they share."""

import re
from dataclasses import dataclass, field
from inspect import cleandoc
from textwrap import indent
from typing import Any, ClassVar, cast, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from clifford_rand._checks import fail
from clifford_rand_nn.export.methods import Exported

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
