"""A certificate as a picture: the objective that was reached, and what no other network can be below."""

import textwrap
from typing import Any, Self

from clifford_rand._checks import describe, fail
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.displays.style import FIRST, SECOND, axes_of, network_of
from clifford_rand_nn.shards.certificate import ShardCertificate

_WIDTH = 48  # characters of a line of the title


class CertificateDisplay:
    """Primal value, dual value and gap of a certificate as two bars, and what family the bound is over.

    It is about training alone, nothing of it is about new rows.

    Parameters
    ----------
    certificate : Certificate

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clifford_rand_nn import CertificateDisplay, GatedReLUClassifier, spiral
    >>> model = GatedReLUClassifier(n_gates=20, beta=1e-3, random_state=0).fit(*spiral())
    >>> drawn = CertificateDisplay.from_estimator(model, ax=Figure().subplots())
    >>> [bool(bar.get_width() == value) for bar, value in zip(drawn.ax_.patches, (model.certificate_.primal,
    ...     model.certificate_.dual), strict=True)]
    [True, True]
    """

    ax_: Any
    figure_: Any

    def __init__(self, certificate: Certificate | ShardCertificate) -> None:
        if not isinstance(certificate, Certificate | ShardCertificate):
            raise fail("certificate", type(self).__name__, "a Certificate", certificate)
        self.certificate = certificate

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the certificate of a fitted estimator, the last step of a pipeline, or what `BetaCV` trained.

        Raises
        ------
        ArgumentError
            It has none.
        """
        model = network_of(estimator)
        proof = getattr(model, "certificate_", None)
        if proof is None:
            found = describe(f"a {type(model).__name__} without a certificate")
            raise fail("estimator", cls.__name__, "a fitted estimator of clifford_rand_nn", found)
        return cls(proof).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot."""
        self.ax_ = ax = axes_of(ax)
        self.figure_, proof = ax.figure, self.certificate
        bars = ax.barh([1, 0], [proof.primal, proof.dual], height=0.55, color=[FIRST, SECOND])
        ax.bar_label(bars, [f"{proof.primal:.6g}", f"{proof.dual:.6g}"], padding=4, fontsize=9)
        ax.set_yticks([1, 0], ["reached by\nthis network", "no network\nis below"])
        low, high = min(proof.dual, 0.0), max(proof.primal, 0.0)
        ax.set_xlim(1.25 * low, 1.25 * high if high > 0 else 1.0)
        ax.locator_params(axis="x", nbins=5)
        ax.set_xlabel("training objective: mean loss and penalty")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        scope = proof.scope if proof.scope.startswith("over") else f"over {proof.scope}"
        words = f"gap {proof.relative_gap:.1e} of the objective, {scope}"
        ax.set_title("\n".join(textwrap.wrap(words, _WIDTH)), fontsize=8)
        return self
