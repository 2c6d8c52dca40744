"""A search over beta as plain arrays and values: the estimator that it trained, and around it the search."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.saved import finite
from clifford_rand_nn.saved.parts import agree, plain, require_fitted

ARRAYS = {"search_betas": "f1", "search_scores": "f2", "search_given": "f1"}
VERSION = 4
_PARAMETERS = ("n_betas", "eps", "cv", "scoring", "rule", "max_time", "n_jobs", "verbose")
_OWN = ("beta", "max_time")  # parameters of its estimator that differ from those of the one that was trained


def pack(search: BetaCV) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the values of a fitted search."""
    require_fitted(search, "estimator_")
    arrays, meta = finite.pack(search.estimator_)
    arrays |= {"search_betas": search.betas_, "search_scores": search.scores_}
    if search.betas is not None:
        arrays["search_given"] = np.atleast_1d(np.asarray(search.betas, dtype=np.float64))
    meta["version"] = VERSION
    meta["search"] = {name: plain(getattr(search, name)) for name in _PARAMETERS} | {
        "own": {name: plain(getattr(search.estimator, name)) for name in _OWN}
    }
    return arrays, meta


def unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> BetaCV:
    """Return the search of arrays and values from a file."""
    model: Any = finite.unpack(arrays, meta)
    told = meta["search"]
    search = BetaCV(clone(model).set_params(**{name: told["own"][name] for name in _OWN}))
    search.set_params(**{name: told[name] for name in _PARAMETERS}, betas=arrays.get("search_given"))
    betas, scores = arrays["search_betas"], arrays["search_scores"]
    agree(len(scores) == betas.size > 0 and bool((betas > 0).all()) and bool((np.diff(betas) <= 0).all()), "the search")
    search.betas_, search.scores_, search.beta_, search.estimator_ = betas, scores, model.beta, model
    agree(bool((betas == model.beta).any()), "the search")
    search.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        search.feature_names_in_ = model.feature_names_in_
    return search
