"""Which estimator the options of ``clifford-rand fit`` make, and which options go together."""

from collections.abc import Mapping
from typing import Any

from clifford_rand._checks import check_choice, check_positive, fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import joined
from clifford_rand_nn.datafits.registry import LOSSES, has_delta, loss_names
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.estimators.lasso import CrossProductLassoClassifier, CrossProductLassoRegressor
from clifford_rand_nn.estimators.network.classifier import ConvexNetworkClassifier
from clifford_rand_nn.estimators.network.regressor import ConvexNetworkRegressor
from clifford_rand_nn.estimators.relu import ConvexReLUClassifier, ConvexReLURegressor

_ESTIMATORS: dict[tuple[str, str], Any] = {
    ("network", "classification"): ConvexNetworkClassifier,
    ("network", "regression"): ConvexNetworkRegressor,
    ("gated", "classification"): GatedReLUClassifier,
    ("gated", "regression"): GatedReLURegressor,
    ("relu", "classification"): ConvexReLUClassifier,
    ("relu", "regression"): ConvexReLURegressor,
    ("lasso", "classification"): CrossProductLassoClassifier,
    ("lasso", "regression"): CrossProductLassoRegressor,
}
_REGRESSORS = {model: kind for (model, task), kind in _ESTIMATORS.items() if task == "regression"}
_LOSSES = {task: loss_names(task) for task in ("classification", "regression")}
_OWNER = "clifford-rand fit"
_SAMPLED = ("gated", "relu")  # models whose gates are sampled or listed; the neurons of a lasso are its columns
_FINITE = ("gated", "relu", "lasso")  # models of a number of neurons, whose problem is as it is given
_MODELS_OF = {"gates": _SAMPLED, "n_gates": _SAMPLED, "sketch_dim": _SAMPLED, "subsample": ("lasso",)}
_MODELS_OF |= dict.fromkeys(("huber_delta", "penalty", "bias", "no_bias", "tol", "max_iter", "solver", "seed"), _FINITE)
_MODELS_OF |= {"groups": ("network",), "neurons": ("network",)}
_OF_NETWORK = ("auto", "squared", "logistic")  # losses of a tuning-free network, for classes
_WHERE_THERE = ("max_time", "max_memory", "refine")  # options of whichever estimators have a parameter of that name


def check_options(options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse options that were given, with their values in ``given``, and of which the model has no use.

    Raises
    ------
    ArgumentError
        It names the option, the rule, the value and what to do.

    Examples
    --------
    >>> check_options({"model": "relu", "gates": "cross", "loss": "squared", "penalty": None}, {"subsample": 9})
    Traceback (most recent call last):
        ...
    clifford_rand.errors.ArgumentError: The '--subsample' parameter of clifford-rand fit must be left out with \
--model relu. Got 9 instead. It is for --model lasso.
    """
    model, gates, loss = options["model"], options["gates"], options["loss"]
    for name, models in (_MODELS_OF | {name: _having(name) for name in _WHERE_THERE}).items():
        if name in given and model not in models:
            raise _useless(name, given, f"--model {model}", _models(models))
    for name in ("n_gates", "refine"):
        if name in given and gates in ("exhaustive", "infinite"):
            raise _useless(name, given, f"--gates {gates}", "the other kinds of gates")
    if "sketch_dim" in given and gates in ("gaussian", "opposite", "exhaustive", "infinite"):
        raise _useless("sketch_dim", given, f"--gates {gates}", "gates through sampled rows")
    known = sorted({name for names in _LOSSES.values() for name in names})
    own = {"network": _OF_NETWORK} | dict.fromkeys(_SAMPLED, ("auto", *known))
    check_choice(loss, "--loss", _OWNER, own.get(model, known))
    if "huber_delta" in given and not has_delta(loss):
        losses = " and ".join(f"--loss {name}" for name in LOSSES if has_delta(name))
        raise _useless("huber_delta", given, f"--loss {loss}", losses)
    if model == "gated" and options["penalty"] == "l1":
        hint = "--model relu and --model lasso have it."
        raise fail("--penalty", _OWNER, "'l2' or 'ridge' with --model gated", "l1", hint)
    if model != "gated" and options["penalty"] == "ridge":
        hint = "--model gated has it."
        raise fail("--penalty", _OWNER, f"'l1' or 'l2' with --model {model}", "ridge", hint)
    if gates == "infinite" and model == "relu":
        raise fail("--gates", _OWNER, "another one with --model relu", gates, "--model gated has it.")
    if options["penalty"] == "ridge" and "refine" in given:
        raise _useless("refine", given, "--penalty ridge", "--penalty l2")
    if "solver" in given:
        _check_solver(model, given["solver"])
    if "max_time" in given:
        check_positive(given["max_time"], "--max-time", _OWNER, "These are seconds; leave it out to wait for --tol.")
    if "no_bias" in given and given.get("bias", "none") != "none":
        raise _useless("bias", given, "--no-bias", "models with biases")
    if "groups" in given and given["groups"] in (given.get("target"), given.get("weights")):
        hint = "Give the column that says which rows belong together, or leave --groups out."
        raise fail("--groups", _OWNER, "another column than --target and --weights", given["groups"], hint)
    if "weights" in given and given["weights"] == given.get("target"):
        hint = "Give the column with the weights of the rows, or leave --weights out."
        raise fail("--weights", _OWNER, "another column than --target", given["weights"], hint)


def make_model(task: str, options: Mapping[str, Any], verbose: int) -> Any:
    """Return the estimator for a task, not fitted.

    Raises
    ------
    ArgumentError
        The loss is not one for the task.

    Examples
    --------
    >>> options = {"model": "lasso", "penalty": None, "loss": "huber", "huber_delta": 0.5, "subsample": None}
    >>> options |= {"beta": 0.1, "bias": True, "tol": 1e-6, "random_state": 0, "solver": "auto"}
    >>> options |= {"max_time": None, "max_memory": None, "max_iter": None, "refine": 0}
    >>> make_model("regression", options, 0)
    CrossProductLassoRegressor(beta=0.1, bias=True, huber_delta=0.5, loss='huber',
                               random_state=0, subsample=None)
    """
    model, loss = options["model"], options["loss"]
    if loss not in (*_LOSSES[task], "auto"):
        rule = f"{joined(list(map(repr, _LOSSES[task])), 'or')} for {task}"
        other = next(name for name, losses in _LOSSES.items() if loss in losses)
        raise fail("--loss", _OWNER, rule, loss, f"If the target is one for {other}, give --task {other}.")
    params = {name: options[name] for name in _WHERE_THERE if model in _having(name)} | {"verbose": verbose}
    if options["beta"] is not None:
        params["beta"] = options["beta"]
    if model == "network":
        params |= {"loss": loss} if task == "classification" else {}
        return _ESTIMATORS[model, task](n_neurons=options["neurons"], **params)
    params |= {name: options[name] for name in ("bias", "max_iter", "random_state", "solver")}
    if options["tol"] is not None:
        params["tol"] = options["tol"]
    if loss != "auto":
        params["loss"] = loss
    if task == "regression":
        params["huber_delta"] = options["huber_delta"]
    if model == "lasso":
        params |= {"penalty": options["penalty"] or "auto", "subsample": options["subsample"]}
    else:
        params |= {name: options[name] for name in ("gates", "n_gates", "sketch_dim")}
        penalty = options["penalty"] or "l2"
        params["penalty"] = penalty if penalty == "ridge" else f"group_{penalty}"
    return _ESTIMATORS[model, task](**params)


def _having(name: str) -> tuple[str, ...]:
    """Return the models whose estimators have a parameter of this name."""
    return tuple(model for model, kind in _REGRESSORS.items() if name in kind().get_params())


def _check_solver(model: str, solver: str) -> None:
    solvers = {other: _REGRESSORS[other]._solvers for other in _FINITE}
    if solver not in solvers[model]:
        use = _models(tuple(other for other, names in solvers.items() if solver in names))
        rule = f"{joined(list(map(repr, solvers[model])), 'or')} with --model {model}"
        raise fail("--solver", _OWNER, rule, solver, f"It is for {use}.")


def _useless(name: str, given: Mapping[str, Any], choice: str, use: str) -> ArgumentError:
    option = "--" + name.replace("_", "-")
    return fail(option, _OWNER, f"left out with {choice}", given[name], f"It is for {use}.")


def _models(models: tuple[str, ...]) -> str:
    return joined([f"--model {model}" for model in models])
