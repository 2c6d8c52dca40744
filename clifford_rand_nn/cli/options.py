"""Which estimator the options of ``clifford-rand fit`` make, and which options go together."""

from collections.abc import Mapping
from typing import Any

from clifford_rand._checks import fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.estimators.lasso import CrossProductLassoClassifier, CrossProductLassoRegressor
from clifford_rand_nn.estimators.relu import ConvexReLUClassifier, ConvexReLURegressor

__all__ = ["check_options", "make_model"]

_ESTIMATORS: dict[tuple[str, str], Any] = {
    ("gated", "classification"): GatedReLUClassifier,
    ("gated", "regression"): GatedReLURegressor,
    ("relu", "classification"): ConvexReLUClassifier,
    ("relu", "regression"): ConvexReLURegressor,
    ("lasso", "classification"): CrossProductLassoClassifier,
    ("lasso", "regression"): CrossProductLassoRegressor,
}
_LOSSES = {
    "classification": ("squared", "logistic", "squared_hinge"),
    "regression": ("squared", "huber"),
}
_SAMPLED = ("gated", "relu")  # models whose gates are sampled or listed; the neurons of a lasso are its columns
_MODELS_OF = {
    "gates": _SAMPLED,
    "n_gates": _SAMPLED,
    "sketch_dim": _SAMPLED,
    "max_iter": _SAMPLED,  # the lasso is solved by column generation, which ends by itself
    "subsample": ("lasso",),
}


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
    for name, models in _MODELS_OF.items():
        if name in given and model not in models:
            raise _useless(name, given, f"--model {model}", " and ".join(f"--model {other}" for other in models))
    if "n_gates" in given and gates == "exhaustive":
        raise _useless("n_gates", given, "--gates exhaustive", "--gates cross and --gates gaussian")
    if "sketch_dim" in given and gates != "cross":
        raise _useless("sketch_dim", given, f"--gates {gates}", "--gates cross")
    if "huber_delta" in given and loss != "huber":
        raise _useless("huber_delta", given, f"--loss {loss}", "--loss huber")
    if model == "gated" and options["penalty"] == "l1":
        hint = "--model relu and --model lasso have both."
        raise fail("--penalty", "clifford-rand fit", "'l2' with --model gated", "l1", hint)


def make_model(task: str, options: Mapping[str, Any], verbose: int) -> Any:
    """Return the estimator for a task, not fitted.

    Raises
    ------
    ArgumentError
        The loss is not one for the task.

    Examples
    --------
    >>> options = {"model": "lasso", "penalty": None, "loss": "huber", "huber_delta": 0.5, "subsample": None}
    >>> options |= {"beta": 0.1, "bias": True, "tol": 1e-6, "random_state": 0}
    >>> make_model("regression", options, 0)
    CrossProductLassoRegressor(beta=0.1, huber_delta=0.5, loss='huber',
                               random_state=0)
    """
    model, loss = options["model"], options["loss"]
    if loss not in _LOSSES[task]:
        rule = f"{_listed(_LOSSES[task])} for {task}"
        other = next(name for name, losses in _LOSSES.items() if loss in losses)
        raise fail("--loss", "clifford-rand fit", rule, loss, f"If the target is one for {other}, give --task {other}.")
    params = {name: options[name] for name in ("beta", "loss", "bias", "tol", "random_state", "huber_delta")}
    params["verbose"] = verbose
    if model == "lasso":
        params |= {"penalty": options["penalty"] or "l1", "subsample": options["subsample"]}
    else:
        params |= {name: options[name] for name in ("gates", "n_gates", "sketch_dim", "max_iter")}
        params["penalty"] = f"group_{options['penalty'] or 'l2'}"
    return _ESTIMATORS[model, task](**params)


def _useless(name: str, given: Mapping[str, Any], choice: str, use: str) -> ArgumentError:
    option = "--" + name.replace("_", "-")
    return fail(option, "clifford-rand fit", f"left out with {choice}", given[name], f"It is for {use}.")


def _listed(values: tuple[str, ...]) -> str:
    return ", ".join(map(repr, values[:-1])) + f" or {values[-1]!r}"
