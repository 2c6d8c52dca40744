"""The options of `certify` and `polish`, with their documentation."""

from dataclasses import dataclass
from typing import Any

from clifford_rand._typing import ArrayLike

OPTIONS = """
loss : str or None
    "squared", "huber", "log_cosh", "logistic" (the softmax cross-entropy for several classes), "squared_hinge" or
    "softmax"; None for that of the MLP or the estimator.
beta : float > 0 or None
    For SGD with the mean loss it is ``weight_decay``. None: that of the estimator, or of the MLP's steps, ``alpha``
    over the batch size, which is n for L-BFGS. AdamW's decay is not a penalty: its strength depends on the learning
    rate and on Adam's scaling.
penalty : {"group_l2", "group_l1"} or None
    p = 2, also for None, or 1.
bias : {"penalized", "free", False} or None
    "penalized": the norm is that of :math:`(W_j, b_j/c)`, as weight decay charges biases, too. "free": no penalty, as
    in scikit-learn's MLP. False: neurons have none. None: as the estimator says, "free" for an MLP, False for a layer
    without biases, else "penalized". The output's bias is never penalized.
bias_feature : float or None
    c, 1 unless it is given or the estimator's.
fit_intercept : bool or None
    Whether the output has a bias; None for what the network has.
huber_delta : float or None
    Of "huber" and "log_cosh", 1 if None.
sample_weight : (n,) array or None
gates : "auto", "network", "exhaustive", Gates or (directions (d, m), offsets (m,))
    "auto": every neuron, where all can be priced in half of ``max_time``; else those of the activation patterns of the
    network, of linear models, and of as many sampled hyperplanes as time allows, and for `certify` beside them every
    neuron by a relaxation. "network": of the network's patterns
    alone. "exhaustive": every neuron. Gates: of their patterns and the network's.
n_gates : int
    At most so many sampled patterns.
tol : float > 0
    Relative gap to which the convex program is solved.
max_time : float or None
    Seconds for the program, which proves a bound wherever it ends; `polish` may solve two.
random_state : int, Generator or None
"""


@dataclass(frozen=True, kw_only=True)
class VerdictSettings:
    """Options of `certify` and `polish`: see `OPTIONS`."""

    loss: Any = None
    beta: Any = None
    penalty: Any = None
    bias: Any = None
    bias_feature: Any = None
    fit_intercept: Any = None
    huber_delta: Any = None
    sample_weight: ArrayLike | None = None
    gates: Any = "auto"
    n_gates: int = 50
    tol: float = 1e-3
    max_time: float | None = 30.0
    random_state: Any = 0
