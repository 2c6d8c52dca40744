"""`certify`: by how much the objective of any trained network is above the optimum at most."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clifford_rand._typing import ArrayLike
from clifford_rand.print_options import html_table
from clifford_rand_nn._records import show_options
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.verdicts.program import TrainingProgram
from clifford_rand_nn.verdicts.settings import OPTIONS, VerdictSettings

_ROUNDING = 1e-9  # a share below it is rounding noise


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Verdict:
    """By how much the training objective of a network is above the optimum of a family of networks, at most.

    No network of the family has an objective below ``lower_bound``, so the network's is at most (1 + ``excess``) times
    the optimum. It is a statement about training, and says nothing about new rows. Made by `certify`.

    Attributes
    ----------
    objective : float
        Of the network, with the least penalty that rescaling of its neurons gives.
    lower_bound : float
        No network of the family has a lower objective.
    excess : float
        ``objective / lower_bound - 1``; infinite where no bound above 0 is known.
    scope : str
        The family: "any width", or a number of activation patterns.
    best_known_objective : float
        The lowest objective of a network that is known, the given one's or that of the convex program: the optimum
        lies between ``lower_bound`` and it.
    certificate : Certificate
        The proof, which ``certificate.verify(X, y)`` checks.
    patterns : Verdict or None
        Where not every neuron can be priced, the bound of networks of any width is that of a relaxation. This is the
        verdict over activation patterns, which is sharper, and holds for fewer networks.
    """

    objective: float
    lower_bound: float
    excess: float
    scope: str
    best_known_objective: float
    certificate: Certificate
    patterns: "Verdict | None" = None

    def __str__(self) -> str:
        also = "" if self.patterns is None else f"; {self.patterns}"
        if not np.isfinite(self.excess):
            return f"no lower bound above 0 of the best network {self.scope}: try a larger max_time or beta{also}"
        return f"at most {percentage(self.excess)} above the best network {self.scope}{also}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        proof = self.certificate
        values = {
            "training objective": f"{self.objective:.8g}",
            "above the optimum": f"at most {percentage(self.excess)}",
            "lower bound": f"{self.lower_bound:.8g}",
            "lowest objective known": f"{self.best_known_objective:.8g}",
            "family": self.scope,
            "loss, beta": f"{proof.loss}, {proof.beta:.4g}",
        }
        note = f"the network's training objective is {self}; this says nothing about new rows"
        return html_table(list(values.items()), note=note)


def percentage(share: float) -> str:
    """Return a share in per cent, of three digits, never below it.

    >>> percentage(0.13201), percentage(0.0), percentage(12.345)
    ('13.3 %', '0 %', '1,240 %')
    """
    if not 0 < share < np.inf:
        return f"{100 * share:g} %"
    share = max(share, _ROUNDING)
    unit = 10.0 ** (np.floor(np.log10(share)) - 2)
    above = 100 * unit * np.ceil(share / unit * (1 - 1e-12))
    return f"{above:,.0f} %" if above >= 1000 else f"{above:.3g} %"


def certify(network: Any, X: ArrayLike, y: ArrayLike, **options: Any) -> Verdict:
    r"""State by how much the objective of any trained two-layer ReLU network is above the optimum at most.

    .. math:: F = \frac1n\sum_i\ell(f(x_i), y_i) + \beta\sum_j||W_j||_p||\alpha_j||_2,\qquad
              f(x) = \sum_j\alpha_j(W_j\cdot x+b_j)_+ + c

    The penalty is the least of :math:`\frac12\sum_j(||W_j||_p^2+||\alpha_j||_2^2)` over rescalings of the neurons,
    which change no prediction. The convex program of the same problem is trained from the network's neurons. Its dual
    point bounds the objective of every network of a family from below: of all networks of any width, where every
    neuron there is can be priced in time; else of all whose neurons have the activation patterns of the network, of
    linear models or of sampled hyperplanes. Then networks of any width are bounded by a semidefinite relaxation.

    Parameters
    ----------
    network : network
        A ``torch.nn.Sequential(Linear, ReLU, Linear)`` or its ``state_dict()``; a fitted ``MLPClassifier`` or
        ``MLPRegressor`` with one hidden layer of ReLU neurons; arrays (W1 (m, d), b1 (m,) or None, w2 (m, C), b2 (C,)
        or None); a `TwoLayerNetwork`; or a fitted estimator with one.
    X : (n, d) array
        The training rows, scaled as the network takes them.
    y : (n,) or (n, C) array
        The targets: labels, or for "logistic" a multilabel matrix of 0 and 1.
    {shared}

    Returns
    -------
    Verdict

    Raises
    ------
    ArgumentError
        The network has another form, or rows, targets and options do not fit it; all neurons are asked for and are
        too many to be priced.

    References
    ----------
    Pilanci and Ergen, "Neural networks are convex regularizers", ICML 2020.

    Examples
    --------
    >>> from clifford_rand_nn import certify
    >>> x = np.linspace(-1, 1, 21)[:, None]
    >>> arrays = np.array([[1.0], [-1.0]]), np.zeros(2), np.array([0.9, 0.9]), 0.05
    >>> verdict = certify(arrays, x, np.abs(x[:, 0]), loss="squared", beta=1e-2)
    >>> print(verdict)
    at most 3.55 % above the best network of any width
    >>> bool(verdict.certificate.verify(x, np.abs(x[:, 0])).lower_bound <= verdict.objective)
    True
    """
    program = TrainingProgram.of(network, X, y, VerdictSettings(**options), "certify")
    solution = program.solve()
    verdict = verdict_of(solution.certificate, solution.objective)
    if program.is_sampled:
        every = verdict_of(program.of_any_width(solution.certificate), solution.objective)
        return replace(every, patterns=verdict)
    return verdict


def verdict_of(certificate: Certificate, lowest: float) -> Verdict:
    """Return the verdict of a network's certificate, with the lowest objective that is known."""
    primal, dual = certificate.objective, certificate.lower_bound
    excess = max(primal / dual - 1, 0.0) if dual > 0 else float("inf")
    scope = certificate.scope
    words = "of any width" if scope.startswith("global") else scope
    return Verdict(
        objective=primal,
        lower_bound=dual,
        excess=excess,
        scope=words,
        best_known_objective=min(primal, lowest),
        certificate=certificate,
    )


show_options(certify, VerdictSettings, OPTIONS)
