"""Transformations of positive targets, and the means and quantiles of targets by outputs of a network."""

from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.export.program import Value, apply, maximum

TARGET_TRANSFORMS = ("none", "log", "log1p", "sqrt")
_FAR = 700.0  # of an exponential, beyond which it is infinite
_BEYOND = 0.5  # of the range of transformed targets, by which an output may be above all of them


class TargetTransform(NamedTuple):
    r"""Transformation of targets y ≥ 0: y itself, :math:`\log(y/u)`, :math:`\log(1+y/u)` or :math:`\sqrt{y/u}`.

    A network f of transformed targets predicts the mean of y by :math:`u\max(s\,h(f)+a-b,0)`, with :math:`h(f)=e^f`, or
    :math:`\max(f,0)^2` of the root, and b = 1 of "log1p", else 0. s, or of the root a, is such that out-of-sample
    outputs of the training rows have the mean of their targets: the inverse alone would make of the mean of log y the
    median of y. It is the smearing estimate of Duan, :math:`s=\sum_iw_ie^{r_i}`, with out-of-sample residuals r and
    weights w proportional to :math:`e^{f_i}`. Increasing maps keep quantiles, and s and a are not in theirs. Outputs
    that are above all transformed targets by more than half of their range count as that: an exponential of a network
    that is linear beyond its rows has no bound.

    Attributes
    ----------
    name : {"none", "log", "log1p", "sqrt"}
    unit : float
        u, the mean of the targets: what is predicted is equivariant to their unit.
    most : float
        The largest output.
    factor, shift : float
        s and a.

    References
    ----------
    Duan, "Smearing estimate: a nonparametric retransformation method", J. Amer. Statist. Assoc. 78 (1983).

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> transform = TargetTransform.of("log", y)
    >>> transform.quantile(transform.forward(y)).round(12).tolist()
    [1.0, 2.0, 6.0]
    """

    name: str = "none"
    unit: float = 1.0
    most: float = _FAR
    factor: float = 1.0
    shift: float = 0.0

    @classmethod
    def of(cls, name: str, y: Array, weights: Array | None = None) -> "TargetTransform":
        """Return a transformation of targets y (n,)."""
        if name == "none":
            return cls()
        transform = cls(name, float(np.average(y, weights=weights)))
        targets = transform.forward(y)
        return transform._replace(most=min(float(targets.max() + _BEYOND * np.ptp(targets)), _FAR))

    @property
    def formula(self) -> str:
        """What is fitted, as text."""
        u = f"{self.unit:.4g}"
        return {"none": "y", "log": f"log(y/{u})", "log1p": f"log(1 + y/{u})", "sqrt": f"sqrt(y/{u})"}[self.name]

    def forward(self, y: Array) -> Array:
        """Return the transformed targets."""
        if self.name == "none":
            return y
        return np.asarray({"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}[self.name](y / self.unit))

    def mean(self, f: Any) -> Any:
        """Return the mean target by outputs, arrays or a value of a program."""
        return self._back(f, self.factor, self.shift)

    def quantile(self, f: Any) -> Any:
        """Return the quantile of the target by that of its transformation: the inverse of `forward`, at least 0."""
        return self._back(f, 1.0, 0.0)

    def fitted(self, f: Array, y: Array, weights: Array | None) -> "TargetTransform":
        """Return it with s or a by out-of-sample outputs f (n,) and targets y (n,)."""
        if self.name == "none":
            return self
        mine, truth = (float(np.average(part, weights=weights)) for part in (self._h(f), y / self.unit))
        if self.name == "sqrt":
            return self._replace(shift=truth - mine)
        return self._replace(factor=(truth + self._offset) / mine)

    @property
    def _offset(self) -> float:
        return float(self.name == "log1p")

    def _back(self, f: Any, factor: float, shift: float) -> Any:
        if self.name == "none":
            return f
        larger = maximum if isinstance(f, Value) else np.maximum
        return larger(self._h(f) * factor + (shift - self._offset), 0.0) * self.unit

    def _h(self, f: Any) -> Any:
        is_value = isinstance(f, Value)
        f = 0.0 - maximum(0.0 - f, -self.most) if is_value else np.minimum(f, self.most)
        if self.name == "sqrt":
            root = maximum(f, 0.0) if is_value else np.maximum(f, 0.0)
            return root * root
        return apply("exp", f) if is_value else np.exp(f)


NO_TRANSFORM = TargetTransform()
