"""Fitted estimators in the files of skops: all types that have to be trusted are of this library."""

import numpy as np
import pytest

from support.exported import KINDS, fitted, rows_of, training

skops = pytest.importorskip("skops.io")


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimator_comes_back_from_a_skops_file(kind):
    model, X = fitted(kind), rows_of(kind)
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    assert types
    assert all(one.startswith("clifford_rand_nn.") for one in types)
    again = skops.loads(data, trusted=types)
    assert type(again) is type(model)
    assert again.get_params().keys() == model.get_params().keys()
    for method in ("predict", "predict_proba", "decision_function", "predict_interval"):
        if hasattr(model, method):
            found, wanted = (np.asarray(getattr(one, method)(X)) for one in (again, model))
            assert (found == wanted).all()
    inner, old = (getattr(one, "estimator_", one).certificate_.verify(*training(kind)) for one in (again, model))
    assert (inner.objective, inner.lower_bound, inner.scope) == (old.objective, old.lower_bound, old.scope)
