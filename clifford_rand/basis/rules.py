"""The products as grade rules: each keeps ⟨A_r B_s⟩_t for some (r, s, t), some with a sign.

A new product is one line in `RULES`, and a method. It is then computed by its table, or not at all where that would be
too large; the sets below name the rules for which there is a faster way, and none of them is assumed of a new one. The
commutator needs no second product: ⟨BA⟩_t = ρ_r ρ_s ρ_t ⟨AB⟩_t for A of grade r and B of grade s, ρ_k =
(-1)^{k(k-1)/2} the sign of the reverse.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.bits import reverse_is_negative

Rule = Callable[[Any, Any, Any], NDArray[np.int8]]


def _sign(grade: Any) -> Any:
    return np.where(reverse_is_negative(grade), -1, 1)


def _keep(condition: Any) -> NDArray[np.int8]:
    return np.asarray(condition, dtype=np.int8)


RULES: dict[str, Rule] = {
    "gp": lambda r, s, t: _keep((r >= 0) & (s >= 0) & (t >= 0)),
    "wedge": lambda r, s, t: _keep(t == r + s),
    "fat_dot": lambda r, s, t: _keep(t == abs(r - s)),
    "hestenes": lambda r, s, t: _keep((t == abs(r - s)) & (r > 0) & (s > 0)),
    "lc": lambda r, s, t: _keep(t == s - r),
    "rc": lambda r, s, t: _keep(t == r - s),
    "scalar_product": lambda r, s, t: _keep((t == 0) & (r == s)),
    "inner": lambda r, s, t: _keep(((t == 0) & (r == s)) * _sign(s)),
    "commutator": lambda r, s, t: _keep(_sign(r) * _sign(s) * _sign(t) < 0),
    "anticommutator": lambda r, s, t: _keep(_sign(r) * _sign(s) * _sign(t) > 0),
    "vee": lambda r, s, t: _keep((r >= 0) & (s >= 0) & (t >= 0)),  # the wedge of the complements, see table.py
}

METRIC_FREE = frozenset({"wedge", "vee"})  # computed from disjoint masks, of the blades or of their complements
SCALAR = frozenset({"scalar_product", "inner"})  # only equal blades count where the metric is diagonal
BY_TRANSFORM = frozenset({"gp", "commutator", "anticommutator"})
BY_SUBSETS = frozenset({"wedge", "vee", "lc", "rc", "fat_dot", "hestenes"})
