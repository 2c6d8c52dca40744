"""The methods that are compared, each an estimator that chooses its own parameters by the rows it is fitted to."""

from examples.accuracy.methods.base import Method
from examples.accuracy.methods.classifiers import CLASSIFIERS
from examples.accuracy.methods.ours import OURS
from examples.accuracy.methods.outside import OUTSIDE
from examples.accuracy.methods.regressors import REGRESSORS

__all__ = ["METHODS"]

METHODS: tuple[Method, ...] = (*OURS, *CLASSIFIERS, *REGRESSORS, *OUTSIDE)
