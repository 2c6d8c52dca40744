"""The turn of a Lasso path at a breakpoint: which columns are active on the next piece."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.solvers.lasso.active_columns import ActiveColumns


def turn(active: ActiveColumns, index: NDArray[np.intp], signs: Array, slack: Array) -> bool:
    r"""Choose the columns of the next piece, and say whether the choice was proved right.

    At a breakpoint let A be the columns with a weight that is not 0 and E those with :math:`|k_j^T\theta| = \lambda`,
    of sign s. When λ falls at unit speed the weights move along the solution of

    .. math:: \min_\delta\ \tfrac12||K_E\delta||^2-s_E^T\delta\quad\text{s.t.}\quad s_j\delta_j\ge0,\ j\in E\setminus A:

    the KKT conditions of the Lasso, differentiated. :math:`K_E\delta` is unique; δ is made so by keeping the columns
    in use independent. The method is that of Lawson and Hanson for nonnegative least squares (1974, ch. 23): add the
    column whose condition :math:`s_jk_j^TK\delta\ge1` is violated most, solve, and step back to where the first weight
    would turn negative. The objective falls every time, so no set of columns comes back. A column that depends on
    those in use has :math:`s_jk_j^TK\delta = 1` and is never added.

    Parameters
    ----------
    active : ActiveColumns
        The columns A; on return those of the next piece.
    index, signs : (c,)
        The columns of E that are not in A, with their signs.
    slack : (c,)
        How far each condition may be violated by rounding.
    """
    sign_of = dict(zip(index.tolist(), signs.tolist(), strict=True))
    matrix = active.columns.take(index)
    open_ = np.ones(index.size, dtype=bool)  # not in use and not found to be dependent
    weight: dict[int, float] = {}  # δ of the columns of E∖A in use
    d, g = active.direction()
    for _ in range(10 * (index.size + 10)):  # in practice one or two a column
        violation = np.where(open_, 1 - signs * (matrix.T @ g) - slack, -np.inf)
        worst = int(np.argmax(violation)) if index.size else 0
        if index.size == 0 or violation[worst] <= 0:
            return True
        open_[worst] = False
        j = int(index[worst])
        if not active.append(j, sign_of[j]):
            continue
        weight[j] = 0.0
        while True:
            d, g = active.direction()
            new = {i: float(d[place]) for place, i in enumerate(active.index) if i in weight}
            back = [i for i, value in new.items() if sign_of[i] * value <= 0]
            if not back:
                weight = new
                break
            # Of two that block at the same length the one with the smaller index goes: Bland's rule.
            length, first = min((abs(weight[i]) / max(abs(weight[i] - new[i]), 1e-300), i) for i in back)
            weight = {i: weight[i] + length * (new[i] - weight[i]) for i in new if i != first}
            active.remove(first)
            if first != j:  # a column that cannot move at all is not tried again at this breakpoint
                open_[np.flatnonzero(index == first)[0]] = True
    return False
