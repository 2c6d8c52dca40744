"""A search over beta as plain arrays and values: the estimator that it trained, and around it the search."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.saved import finite, steps
from clifford_rand_nn.saved.parts import agree, plain, require_fitted

ARRAYS = {"search_betas": "f1", "search_scores": "f2", "search_given": "f1"}
VERSION = 4
_PARAMETERS = ("n_betas", "eps", "cv", "scoring", "rule", "max_time", "n_jobs", "verbose")
_OWN = ("beta", "max_time")  # parameters of its estimator that differ from those of the one that was trained


def pack(search: BetaCV) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the values of a fitted search."""
    require_fitted(search, "estimator_")
    found, given = search.estimator_, search.estimator
    if type(found) is Pipeline:
        arrays, meta = finite.pack(found[-1])
        meta["inner"] = steps.pack_pipeline(arrays, steps.INNER, found)
        given = given[-1]
    else:
        arrays, meta = finite.pack(found)
    arrays |= {"search_betas": search.betas_, "search_scores": search.scores_}
    if search.betas is not None:
        arrays["search_given"] = np.atleast_1d(np.asarray(search.betas, dtype=np.float64))
    meta["version"] = max(meta["version"], steps.VERSION if "inner" in meta else VERSION)
    meta["search"] = {name: plain(getattr(search, name)) for name in _PARAMETERS} | {
        "own": {name: plain(getattr(given, name)) for name in _OWN}
    }
    return arrays, meta


def unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> BetaCV:
    """Return the search of arrays and values from a file."""
    told = meta["search"]
    model: Any = finite.unpack(arrays, meta)
    given = clone(model).set_params(**{name: told["own"][name] for name in _OWN})
    found, beta = model, model.beta
    if "inner" in meta:
        parts = steps.take_steps(arrays, steps.INNER)
        found = steps.read_pipeline(parts, steps.INNER, meta["inner"], model)
        given = clone(found).set_params(**{meta["inner"]["name"]: given})
    search = BetaCV(given)
    search.set_params(**{name: told[name] for name in _PARAMETERS}, betas=arrays.get("search_given"))
    betas, scores = arrays["search_betas"], arrays["search_scores"]
    agree(len(scores) == betas.size > 0 and bool((betas > 0).all()) and bool((np.diff(betas) <= 0).all()), "the search")
    search.betas_, search.scores_, search.beta_, search.estimator_ = betas, scores, beta, found
    agree(bool((betas == beta).any()), "the search")
    search._set_features()
    return search
