"""The estimator that the options of ``clifford-rand fit`` make, and which options go together."""

from typing import Any

from clifford_rand._checks import check_choice, check_positive, fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import joined
from clifford_rand_nn.cli.fit_options import FiniteModel, ModelChoice, as_beta, as_bytes, as_count
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.estimators.lasso import CrossProductLassoClassifier, CrossProductLassoRegressor
from clifford_rand_nn.estimators.network_classifier import ConvexNetworkClassifier
from clifford_rand_nn.estimators.network_regressor import ConvexNetworkRegressor
from clifford_rand_nn.estimators.relu import ConvexReLUClassifier, ConvexReLURegressor
from clifford_rand_nn.gates.sampling import METHODS
from clifford_rand_nn.problems.loss_registry import LOSSES, has_delta, loss_names

ESTIMATORS: dict[tuple[str, str], Any] = {
    ("network", "classification"): ConvexNetworkClassifier,
    ("network", "regression"): ConvexNetworkRegressor,
    ("gated", "classification"): GatedReLUClassifier,
    ("gated", "regression"): GatedReLURegressor,
    ("relu", "classification"): ConvexReLUClassifier,
    ("relu", "regression"): ConvexReLURegressor,
    ("lasso", "classification"): CrossProductLassoClassifier,
    ("lasso", "regression"): CrossProductLassoRegressor,
}
_REGRESSORS = {model: kind for (model, task), kind in ESTIMATORS.items() if task == "regression"}
_OWNER = "clifford-rand fit"
_SAMPLED = ("gated", "relu")  # models over activation patterns; the neurons of a lasso are its columns
_FINITE = ("gated", "relu", "lasso")
SOLVERS = {model: _REGRESSORS[model]._solvers for model in _FINITE}
# A penalty is called by its norm: group_l2 of the estimators is l2.
PENALTIES = {
    model: tuple(name.removeprefix("group_") for name in _REGRESSORS[model]._penalties if name != "auto")
    for model in _FINITE
}
GATES = (*METHODS, "exhaustive", "infinite")  # the last two are not sampled
_LOSSES = {task: loss_names(task) for task in ("classification", "regression")}
LOSS_NAMES = tuple(sorted({name for names in _LOSSES.values() for name in names}))
_OF_NETWORK = ("auto", "squared", "logistic")  # losses of a tuning-free network, for classes

_IN_ESTIMATOR = ("max_time", "max_memory", "n_refinements")  # for models whose estimators have a parameter of that name
_MODELS_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gates", "n_gates", "sketch_dim"), _SAMPLED),
    **dict.fromkeys(("huber_delta", "penalty", "bias", "tol", "max_iter", "solver", "seed"), _FINITE),
    **dict.fromkeys(("groups", "order", "n_neurons"), ("network",)),
    "subsample": ("lasso",),
    **{
        name: tuple(model for model, kind in _REGRESSORS.items() if name in kind().get_params())
        for name in _IN_ESTIMATOR
    },
}


def loss_of(choice: ModelChoice) -> str:
    """Return the name of the loss: that of the option, or the default of the model."""
    return choice.loss or ("squared" if choice.model.value == "lasso" else "auto")


def check_options(choice: ModelChoice, finite: FiniteModel, explicit: dict[str, Any]) -> None:
    """Refuse options that were given, with their values in ``explicit``, and that the model ignores.

    The ArgumentError names the option, the rule, the value and what to do.

    >>> from clifford_rand_nn.cli.options import ModelKind
    >>> check_options(ModelChoice(model=ModelKind.relu), FiniteModel(subsample="9"), {"subsample": 9})
    Traceback (most recent call last):
        ...
    clifford_rand.errors.ArgumentError: The '--subsample' parameter of clifford-rand fit must be left out with \
--model relu. Got 9 instead. It is for --model lasso.
    """
    model, gates, penalty = choice.model.value, finite.gates, finite.penalty
    for name, models in _MODELS_OF.items():
        if name in explicit and model not in models:
            raise _ignored(name, explicit, f"--model {model}", _models(models))
    check_choice(gates, "--gates", _OWNER, GATES)
    for name in ("n_gates", "n_refinements"):
        if name in explicit and gates in ("exhaustive", "infinite"):
            raise _ignored(name, explicit, f"--gates {gates}", "the other kinds of gates")
    if "sketch_dim" in explicit and gates in ("gaussian", "opposite", "orthogonal", "exhaustive", "infinite"):
        raise _ignored("sketch_dim", explicit, f"--gates {gates}", "gates through sampled rows")
    loss = loss_of(choice)
    losses = {"network": _OF_NETWORK} | dict.fromkeys(_SAMPLED, ("auto", *LOSS_NAMES))
    check_choice(loss, "--loss", _OWNER, losses.get(model, LOSS_NAMES))
    if "huber_delta" in explicit and not has_delta(loss):
        with_delta = " and ".join(f"--loss {name}" for name in LOSSES if has_delta(name))
        raise _ignored("huber_delta", explicit, f"--loss {loss}", with_delta)
    if "penalty" in explicit:
        _check_name("penalty", penalty, PENALTIES, model)
    if gates == "infinite" and model == "relu":
        raise fail("--gates", _OWNER, "another one with --model relu", gates, "--model gated has it.")
    if penalty == "ridge" and "n_refinements" in explicit:
        raise _ignored("n_refinements", explicit, "--penalty ridge", "--penalty l2")
    if "solver" in explicit:
        _check_name("solver", finite.solver, SOLVERS, model)
    if "max_time" in explicit:
        check_positive(explicit["max_time"], "--max-time", _OWNER, "These are seconds; leave it out to wait for --tol.")
    if "groups" in explicit and explicit["groups"] in (explicit.get("target"), explicit.get("weights")):
        hint = "Give the column of groups, or leave --groups out."
        raise fail("--groups", _OWNER, "another column than --target and --sample-weight", explicit["groups"], hint)
    if "weights" in explicit and explicit["weights"] == explicit.get("target"):
        hint = "Give the column with the weights of the rows, or leave --sample-weight out."
        raise fail("--sample-weight", _OWNER, "another column than --target", explicit["weights"], hint)


def make_estimator(task: str, choice: ModelChoice, finite: FiniteModel, verbose: int = 0) -> Any:
    """Return the estimator for a task, not fitted.

    Raises ArgumentError if the loss is not one for the task.
    typer.BadParameter
        A number is not one.

    >>> from clifford_rand_nn.cli.options import ModelKind
    >>> choice = ModelChoice(model=ModelKind.lasso, loss="huber", beta="0.1")
    >>> make_estimator("regression", choice, FiniteModel(huber_delta=0.5, subsample="all"))
    CrossProductLassoRegressor(beta=0.1, huber_delta=0.5, loss='huber',
                               random_state=0, subsample=None)
    """
    model, loss = choice.model.value, loss_of(choice)
    if loss not in (*_LOSSES[task], "auto"):
        rule = f"{joined(list(map(repr, _LOSSES[task])), 'or')} for {task}"
        of_task = next(name for name, losses in _LOSSES.items() if loss in losses)
        raise fail("--loss", _OWNER, rule, loss, f"If the target is one for {of_task}, give --task {of_task}.")
    shared = {
        "max_time": choice.max_time,
        "max_memory": as_bytes(choice.max_memory),
        "n_refinements": finite.n_refinements,
    }
    params: dict[str, Any] = {name: value for name, value in shared.items() if model in _MODELS_OF[name]}
    params["verbose"] = verbose
    if (beta := as_beta(choice.beta)) is not None:
        params["beta"] = beta
    if model == "network":
        params |= {"loss": loss} if task == "classification" else {}
        return ESTIMATORS[model, task](n_neurons=choice.n_neurons, **params)
    params |= {"bias": finite.bias_parameter, "max_iter": finite.max_iter}
    params |= {"random_state": finite.seed, "solver": finite.solver}
    if finite.tol is not None:
        params["tol"] = finite.tol
    if loss != "auto":
        params["loss"] = loss
    if task == "regression":
        params["huber_delta"] = finite.huber_delta
    if model == "lasso":
        subsample = as_count(finite.subsample, "subsample", "all")
        params |= {"penalty": finite.penalty or "auto", "subsample": subsample}
    else:
        penalty = finite.penalty or "l2"
        params |= {"gates": finite.gates, "n_gates": finite.n_gates}
        params["sketch_dim"] = as_count(finite.sketch_dim, "sketch_dim", "exact")
        params["penalty"] = penalty if penalty == "ridge" else f"group_{penalty}"
    return ESTIMATORS[model, task](**params)


def _check_name(name: str, value: Any, names: dict[str, tuple[str, ...]], model: str) -> None:
    """Refuse the name of a penalty or solver that the model does not have; the models that have it are a hint."""
    if value in names[model]:
        return
    models = tuple(with_it for with_it, known in names.items() if value in known)
    rule = f"{joined(list(map(repr, names[model])), 'or')} with --model {model}"
    raise fail(f"--{name}", _OWNER, rule, value, f"It is for {_models(models)}." if models else "")


def _ignored(name: str, explicit: dict[str, Any], choice: str, use: str) -> ArgumentError:
    option = "--" + name.replace("_", "-")
    return fail(option, _OWNER, f"left out with {choice}", explicit[name], f"It is for {use}.")


def _models(models: tuple[str, ...]) -> str:
    return joined([f"--model {model}" for model in models])
