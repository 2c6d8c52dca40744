"""Checks of scikit-learn that our estimators cannot pass, and why."""

_REASON = "repeated rows change which gates or columns are drawn; test_weights has the equivalence for given ones"


def expected_failures(estimator):
    """Return the names of these checks with the reason."""
    return {"check_sample_weight_equivalence_on_dense_data": _REASON}
