"""Gated-ReLU networks as scikit-learn estimators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from clifford_rand._checks import describe, fail
from clifford_rand_nn.estimators.base import GatedReLU
from clifford_rand_nn.problems.targets import encode_labels

__all__ = ["GatedReLUClassifier", "GatedReLURegressor"]


class GatedReLUClassifier(ClassifierMixin, GatedReLU):
    r"""Two-layer gated-ReLU classifier, trained to the optimum of a convex program.

    .. math:: \min_{U,b,t}\ \frac1n\sum_j \ell\Big(\sum_i D_{i,jj}(x_j^TU_i+b_i)+t,\ y_j\Big)+\beta\sum_i||U_i||_F

    over the activation patterns :math:`D_i` of sampled gates (paper, eq. cvxnn:grelu and Algorithms 2 and 4). Labels
    may be anything that scikit-learn takes; two classes are -1 and 1, more are one output each, with one group of
    weights for each gate over all outputs. Features are used as they come: nothing is rescaled.

    Parameters
    ----------
    n_gates : int, default 50
        Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
    gates : {"cross", "gaussian"} or (directions (d, m), offsets (m,))
        How they are chosen; see `sample_gates`.
    sketch_dim : int, "auto" or None, default "auto"
        Sketch size of the cross products.
    beta : float > 0, default 1e-3
        Weight of the penalty, in the 1/n scale: it means the same for every n.
    penalty : {"group_l2"}
        :math:`\sum_i||U_i||_F`.
    loss : {"squared", "logistic"}, default "squared"
        "logistic" is the softmax cross-entropy for more than two classes.
    bias : bool, default True
        Whether gates and neurons have one; a neuron's is not penalised.
    fit_intercept : bool, default True
        Whether the output has an intercept; it is not penalised.
    solver : {"auto", "fista", "cvxpy"}
        "auto" is FISTA; "cvxpy" the reference, for small problems.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 20000
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 shows one line with the iteration and the gap.

    Attributes
    ----------
    coef_ : (m, d)
        U, with an axis for the outputs in front if there are several.
    gate_intercept_ : (m,)
        Likewise.
    intercept_ : float, or (outputs,)
    gates_ : Gates
        The m hyperplanes with distinct patterns; their incident rows, and notes on what was resampled.
    patterns_ : (n, m) bool
    result_ : Result
        Objective, gap, iterations, status, history.
    certificate_ : Certificate
        What is proved; ``certificate_.verify(X, y)`` recomputes it.
    network_ : TwoLayerNetwork
    n_iter_ : int
    classes_ : (n_classes,)

    Raises
    ------
    ArgumentError
        A parameter breaks its rule; a ValueError of scikit-learn for data it refuses (NaN, shapes, one class).

    Examples
    --------
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=40, beta=1e-4, random_state=0).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """

    def fit(self, X: Any, y: Any) -> "GatedReLUClassifier":
        """Sample gates on the rows X (n, d) and minimise over them for the labels y (n,)."""
        self._check_parameters(("squared", "logistic"))
        data, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, index = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            rule = "labels of at least two classes"
            raise fail("y", type(self).__name__, rule, describe(f"one class, {self.classes_.tolist()[0]!r}"))
        targets, loss = encode_labels(index, len(self.classes_), self.loss)
        self._solve(data, targets, loss, self.classes_)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Network outputs: (n,) for two classes, where > 0 means ``classes_[1]``, else (n, n_classes)."""
        out = self._outputs(X)
        return out[:, 0] if out.shape[1] == 1 else out

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels (n,)."""
        out = self.decision_function(X)
        return np.asarray(self.classes_[(out > 0).astype(int) if out.ndim == 1 else out.argmax(axis=1)])

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, n_classes); only for loss="logistic"."""
        out = self.decision_function(X)
        if out.ndim == 1:
            return np.stack([expit(-out), expit(out)], axis=1)
        return np.asarray(softmax(out, axis=1))


class GatedReLURegressor(RegressorMixin, GatedReLU):
    r"""Two-layer gated-ReLU regressor, trained to the optimum of a convex program.

    .. math:: \min_{U,b,t}\ \frac1{2n}\sum_j \Big\|\sum_i D_{i,jj}(x_j^TU_i+b_i)+t-y_j\Big\|^2+\beta\sum_i||U_i||_F

    over the activation patterns :math:`D_i` of sampled gates (paper, eq. cvxnn:grelu). Several targets are several
    outputs, with one group of weights for each gate over all of them. Nothing is rescaled.

    Parameters
    ----------
    n_gates : int, default 50
        Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
    gates : {"cross", "gaussian"} or (directions (d, m), offsets (m,))
        How they are chosen; see `sample_gates`.
    sketch_dim : int, "auto" or None, default "auto"
        Sketch size of the cross products.
    beta : float > 0, default 1e-3
        Weight of the penalty, in the 1/n scale: it means the same for every n.
    penalty : {"group_l2"}
        :math:`\sum_i||U_i||_F`.
    loss : {"squared"}
    bias : bool, default True
        Whether gates and neurons have one; a neuron's is not penalised.
    fit_intercept : bool, default True
        Whether the output has an intercept; it is not penalised.
    solver : {"auto", "fista", "cvxpy"}
        "auto" is FISTA; "cvxpy" the reference, for small problems.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 20000
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 shows one line with the iteration and the gap.

    Attributes
    ----------
    coef_ : (m, d)
        U, with an axis for the outputs in front if there are several.
    gate_intercept_ : (m,)
        Likewise.
    intercept_ : float, or (outputs,)
    gates_ : Gates
        The m hyperplanes with distinct patterns; their incident rows, and notes on what was resampled.
    patterns_ : (n, m) bool
    result_ : Result
        Objective, gap, iterations, status, history.
    certificate_ : Certificate
        What is proved; ``certificate_.verify(X, y)`` recomputes it.
    network_ : TwoLayerNetwork
    n_iter_ : int

    Raises
    ------
    ArgumentError
        A parameter breaks its rule; a ValueError of scikit-learn for data it refuses (NaN, shapes).

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import GatedReLURegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = GatedReLURegressor(beta=1e-5, random_state=0).fit(X, np.abs(X[:, 0]))
    >>> bool(model.score(X, np.abs(X[:, 0])) > 0.99)
    True
    """

    def fit(self, X: Any, y: Any) -> "GatedReLURegressor":
        """Sample gates on the rows X (n, d) and minimise over them for the targets y (n,) or (n, outputs)."""
        self._check_parameters(("squared",))
        data, targets = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        self._target_ndim = targets.ndim
        targets = np.asarray(targets, dtype=np.float64).reshape(len(data), -1)
        self._solve(data, targets, "squared", None)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted targets, (n,) or (n, outputs) as in `fit`."""
        out = self._outputs(X)
        return out[:, 0] if self._target_ndim == 1 else out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
