"""The preprocessing steps of a pipeline, fitted once for every model that is tried behind them."""

from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.pipeline import Pipeline


class PipelinePrefix(NamedTuple):
    """Steps before an estimator; none, where it stands alone."""

    pipeline: Pipeline | None  # whose last step is the estimator

    @classmethod
    def of(cls, estimator: Any) -> tuple["PipelinePrefix", Any]:
        """Return the steps before an estimator, and the estimator."""
        if type(estimator) is not Pipeline:
            return cls(None), estimator
        return cls(estimator), estimator.steps[-1][1]

    def fit(self, X: Any, y: Any) -> tuple["PipelinePrefix", Any]:
        """Return the steps fitted to X and y, and what they make of X."""
        if self.pipeline is None or len(self.pipeline.steps) == 1:
            return self, X
        fitted = clone(self.pipeline)
        rows = fitted[:-1].fit_transform(X, y)  # a slice shares its steps
        return PipelinePrefix(fitted), rows

    def transform(self, X: Any) -> Any:
        """Return what the fitted steps make of other rows."""
        return X if self.pipeline is None or len(self.pipeline.steps) == 1 else self.pipeline[:-1].transform(X)

    def joined(self, estimator: Any) -> Any:
        """Return the fitted steps with a fitted estimator behind them."""
        if self.pipeline is None:
            return estimator
        *steps, (name, _) = self.pipeline.steps
        return Pipeline([*steps, (name, estimator)], memory=self.pipeline.memory, verbose=self.pipeline.verbose)
