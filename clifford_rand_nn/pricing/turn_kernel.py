"""Turning a line about many pivots: the Numba kernel, arrays in, arrays out; `turn` says what it computes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler.cache import compiled


@compiled()
def _value(S: NDArray[Any], x: float, y: float) -> Any:
    """Return Sᵀ(x, y): itself for C = 1, else its norm."""
    C = S.shape[1]
    if C == 1:
        return x * S[0, 0] + y * S[1, 0]
    total = 0.0
    for c in range(C):
        term = x * S[0, c] + y * S[1, c]
        total += term * term
    return np.sqrt(total)


@compiled()
def _keep(slot: int, value: float, x: float, y: float, item: int, kept: tuple[Any, Any, Any]) -> None:
    """Keep ``value`` in the slot of the largest, or, if negative, the next one, of the least values."""
    values, at, items = kept
    if value < 0:
        slot += 1
    if abs(value) > abs(values[slot]):
        values[slot], at[slot, 0], at[slot, 1], items[slot] = value, x, y, item


@compiled()
def _add(S: NDArray[Any], error: NDArray[Any], x: float, y: float, theta: NDArray[Any]) -> None:
    """Add (x, y) θᵀ to S and the rounding errors of the additions to ``error``."""
    for i in range(2):
        z = x if i == 0 else y
        for c in range(theta.size):
            # two-sum: total + error is the exact sum
            term = z * theta[c]
            total = S[i, c] + term
            added = total - S[i, c]
            error[i, c] += (S[i, c] - (total - added)) + (term - added)
            S[i, c] = total


@compiled()
def turn_about(
    X: NDArray[Any],
    pivots: NDArray[Any],
    theta: NDArray[Any],
    order: NDArray[Any],
    p: int,
    candidates: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
) -> None:
    """Write the candidates of the pivots (m, 2), by the `edge_order` (m, n) of the rows X (n, 2), for theta (n, C).

    ``candidates`` are the fields of `Turned`, which are zero, zero and n at the start.
    """
    values, directions, items = candidates
    n, C = theta.shape
    q = np.empty((n, 2))
    running, error = np.empty((2, C)), np.empty((2, C))
    S, opposite, everything = np.empty((2, C)), np.empty((2, C)), np.empty((2, C))
    for m in range(order.shape[0]):
        value, at, item = values[m], directions[m], items[m]
        kept = (value, at, item)
        px, py = pivots[m, 0], pivots[m, 1]
        # S of v and S of -v together, each sum with the rounding errors of its additions
        running[:], error[:] = 0.0, 0.0
        for i in range(n):
            x, y = X[i, 0] - px, X[i, 1] - py
            _add(running, error, x, y, theta[i])
        everything[:] = running + error
        running[:], error[:] = 0.0, 0.0
        count = 0
        for k in range(n):
            i = order[m, k]
            x, y = X[i, 0] - px, X[i, 1] - py
            if x > 0 or (x == 0 and y < 0):
                _add(running, error, x, y, theta[i])
                q[k, 0], q[k, 1] = x, y
            else:
                q[k, 0], q[k, 1] = -x, -y
            if x != 0 or y != 0:
                count += 1
        # invariant: behind edge k, S = running + error, and the other side has everything less S
        for k in range(count):  # rows at the pivot come last in the order
            i = order[m, k]
            _add(running, error, -q[k, 0], -q[k, 1], theta[i])
            for axis in range(2):
                for c in range(C):
                    S[axis, c] = running[axis, c] + error[axis, c]
                    opposite[axis, c] = everything[axis, c] - S[axis, c]
            # the edge is the normal of q, of p-norm 1
            ex, ey = -q[k, 1], q[k, 0]
            size = abs(ex) + abs(ey) if p == 1 else np.hypot(ex, ey)
            ex, ey = ex / size, ey / size
            _keep(0, _value(S, ex, ey), ex, ey, i, kept)
            _keep(2, _value(opposite, -ex, -ey), -ex, -ey, i, kept)
            if p == 2:
                if k + 1 < count:
                    fx, fy = -q[k + 1, 1], q[k + 1, 0]
                else:
                    fx, fy = q[0, 1], -q[0, 0]
                for half in range(2):
                    part = S if half == 0 else opposite
                    a, b, c2 = 0.0, 0.0, 0.0
                    for c in range(C):
                        a += part[0, c] * part[0, c]
                        b += part[0, c] * part[1, c]
                        c2 += part[1, c] * part[1, c]
                    # the largest singular value of S, reached at the stationary point w of the sector
                    big = np.sqrt(0.5 * (a + c2 + np.hypot(a - c2, 2 * b)))
                    slot = 4 + 2 * half
                    # a kept value that is larger in both slots spares the angle
                    if big <= abs(value[slot]) and (C > 1 or big <= abs(value[slot + 1])):
                        continue
                    angle = 0.5 * np.arctan2(2 * b, a - c2)
                    wx, wy = np.cos(angle), np.sin(angle)
                    left, right = ex * wy - ey * wx, wx * fy - wy * fx
                    middle = wx * ex + wy * ey + (wx * fx + wy * fy) / np.hypot(fx, fy)
                    sign = 0.0
                    if left >= 0 and right >= 0 and middle > -1:
                        sign = 1.0
                    elif left <= 0 and right <= 0 and middle < 1:
                        sign = -1.0
                    if half == 1:
                        sign = -sign
                    if sign != 0:
                        _keep(slot, _value(part, sign * wx, sign * wy), sign * wx, sign * wy, n, kept)
        if p == 1:
            for axis in range(2):
                for half in range(2):
                    sign = 1.0 - 2.0 * half
                    S[0], error[0] = 0.0, 0.0
                    for i in range(n):
                        z = sign * (X[i, axis] - pivots[m, axis])
                        if z > 0:
                            for c in range(C):
                                S[0, c] += z * theta[i, c]
                    slot = 4 + 2 * axis + half
                    value[slot] = _value(S, 1.0, 0.0) if C == 1 else np.sqrt(np.sum(S[0] * S[0]))
                    at[slot, axis] = sign
                    item[slot] = n + 2 - axis
