"""What is proved of a network over landmarks, and the one pass over the shards that checks it."""

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.certificates import KernelClaim
from clifford_rand_nn.infinite.network import KernelNetwork
from clifford_rand_nn.infinite.standard import Standardisation
from clifford_rand_nn.problems.duality import gap_share
from clifford_rand_nn.shards.engines.base import Engine
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.landmarks.normal import Span
from clifford_rand_nn.shards.landmarks.span import Residuals, constant_value
from clifford_rand_nn.shards.landmarks.targets import Targets
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows, ResidualSum
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.units import Units


@dataclass(frozen=True, eq=False)
class LandmarkCertificate:
    r"""A proved statement: the objective is within ``relative_gap`` of the least one over the span of the landmarks.

    The dual point has a number for each row and output, :math:`\theta_i=s\,\omega_i(y_i-f(x_i)-\bar r)` with the mean
    residual :math:`\bar r`; only s is kept, and `verify` makes the rest again, so that it needs no memory of rows.

    Attributes
    ----------
    primal, dual, relative_gap : float
    scope : str
        Over what.
    network : KernelNetwork
    scale : (C,)
        s.
    beta : float
    n_rows : int
        Rows of the training.
    classes : (C,) array or None
    factors : (C,) array or None
        Weights of classes.
    exponent : int
        Targets are taken in units of :math:`2^{\mathrm{exponent}}`, so that their squares do not overflow.
    n_patterns : int
        0: no gate is sampled.
    loss : str
    """

    primal: float
    dual: float
    relative_gap: float
    scope: str
    network: KernelNetwork
    scale: Array
    beta: float
    n_rows: int
    classes: NDArray[Any] | None = None
    factors: Array | None = None
    exponent: int = 0
    n_patterns: int = 0
    loss: str = "squared"

    @property
    def claim(self) -> KernelClaim:
        """The network, against those in the span of its rows."""
        return KernelClaim(self.network, landmarks=True)

    def verify(self, shards: Shards, engine: Engine | None = None) -> "LandmarkCertificate":
        """Recompute primal, dual and gap from the shards in one pass, in double precision.

        Parameters
        ----------
        shards : Shards
            Those of the training.
        engine : Engine, optional
            Of these shards; by default threads of this process.

        Raises
        ------
        ArgumentError
            Other numbers of rows or columns than in training. Other data of these numbers have another, larger gap.
        """
        owner = "LandmarkCertificate.verify"
        if (shards.n, shards.d) != (self.n_rows, self.network.d) or not shards.labelled:
            rule = f"those of the training, {self.n_rows} rows of {self.network.d} columns with targets"
            raise fail("shards", owner, rule, describe(f"{shards.n} of {shards.d}"))
        if engine is None:
            with LocalEngine(shards) as own:
                return self.verify(shards, own)
        units = Units(0, self.exponent)
        network: KernelNetwork = units.inverse().back(self.network)
        span = Span(network.kernel, network.rows)
        assert isinstance(network.standard, Standardisation)
        rows = LandmarkRows(network.standard, network.kernel, network.rows)
        targets = Targets(owner, self.classes, self.factors, self.exponent)
        back, sides, moments = engine.sum(ResidualSum(rows, targets, network.intercept, network.alpha, True))
        found = Residuals.of(span.whitened(back), span.whitened(sides), moments)
        loss = 0.5 * float(moments[4].sum()) / found.weight  # with the intercept of the network
        primal = loss + self.beta * network.penalty()
        dual = found.bound(self.beta, self.scale)[0]
        zero = constant_value(moments)
        gap = gap_share(primal, dual, zero)
        return replace(self, primal=units.square(primal), dual=units.square(dual), relative_gap=gap)

    def __str__(self) -> str:
        values = f"primal {self.primal:.8g}, dual {self.dual:.8g}"
        return f"within {self.relative_gap:.1e} of the optimum, {self.scope} ({values})"

    def __repr__(self) -> str:
        return f"LandmarkCertificate({self})"
