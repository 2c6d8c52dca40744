"""Formulas of rigid bodies on tuples of numbers: for compiled loops, and for arrays and tensors of any library.

A motor is a tuple of eight, the coefficients of 1, e01, e02, e03, e12, e13, e23, e0123. A frame is its matrix: R (9,
by rows) and p, x ↦ R x + p. A twist is (w, v), angular before linear: v is the velocity of the point of the body that
is at the origin of the frame, and the bivector is w1 e23 - w2 e13 + w3 e12 + v1 e01 + v2 e02 + v3 e03. A wrench is
(moment about the origin, force). An inertia is (m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) about the origin, c the center.

References: R. Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 2 and 5.
"""

from typing import Any

Numbers = tuple[Any, ...]


def motor_product(a: Numbers, b: Numbers) -> Numbers:
    """Return the product of two motors."""
    return (
        a[0] * b[0] - a[4] * b[4] - a[5] * b[5] - a[6] * b[6],
        a[0] * b[1] + a[1] * b[0] - a[2] * b[4] - a[3] * b[5] + a[4] * b[2] + a[5] * b[3] - a[6] * b[7] - a[7] * b[6],
        a[0] * b[2] + a[1] * b[4] + a[2] * b[0] - a[3] * b[6] - a[4] * b[1] + a[5] * b[7] + a[6] * b[3] + a[7] * b[5],
        a[0] * b[3] + a[1] * b[5] + a[2] * b[6] + a[3] * b[0] - a[4] * b[7] - a[5] * b[1] - a[6] * b[2] - a[7] * b[4],
        a[0] * b[4] + a[4] * b[0] - a[5] * b[6] + a[6] * b[5],
        a[0] * b[5] + a[4] * b[6] + a[5] * b[0] - a[6] * b[4],
        a[0] * b[6] - a[4] * b[5] + a[5] * b[4] + a[6] * b[0],
        a[0] * b[7] + a[1] * b[6] - a[2] * b[5] + a[3] * b[4] + a[4] * b[3] - a[5] * b[2] + a[6] * b[1] + a[7] * b[0],
    )


def reverse(M: Numbers) -> Numbers:
    """Return the reverse of a motor, the inverse if its length is 1."""
    return (M[0], -M[1], -M[2], -M[3], -M[4], -M[5], -M[6], M[7])


def joint_motor(K: Numbers, q: Any, c: Any, s: Any) -> Numbers:
    """Return c K0 + s K1 + q (c K2 + s K3), the motor of a joint from the frame before it; K has 4 × 8 constants.

    T exp(-q S/2), S = a (L + h e0 u) with L a line of norm 1 along u: K0 = T, K1 = -T L, K2 = -½ a h T e0 u,
    K3 = ½ a h T L e0 u, c = cos(a q/2), s = sin(a q/2). A joint that slides, S = e0 v, has c = 1, K2 = -½ T e0 v.
    """
    x, y = q * c, q * s
    return (
        c * K[0] + s * K[8] + x * K[16] + y * K[24],
        c * K[1] + s * K[9] + x * K[17] + y * K[25],
        c * K[2] + s * K[10] + x * K[18] + y * K[26],
        c * K[3] + s * K[11] + x * K[19] + y * K[27],
        c * K[4] + s * K[12] + x * K[20] + y * K[28],
        c * K[5] + s * K[13] + x * K[21] + y * K[29],
        c * K[6] + s * K[14] + x * K[22] + y * K[30],
        c * K[7] + s * K[15] + x * K[23] + y * K[31],
    )


def frame_of(M: Numbers) -> Numbers:
    """Return R by rows and p of a unit motor: with the quaternion (w, u) and the dual part d, p = 2 (w d - d0 u + u×d).

    (w, u) = (M0, -M6, M5, -M4), (d0, d) = (-M7, -M1, -M2, -M3).
    """
    w, x, y, z = M[0], -M[6], M[5], -M[4]
    a, d, e, f = -M[7], -M[1], -M[2], -M[3]
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return (
        1 - (yy + zz),
        xy - wz,
        xz + wy,
        xy + wz,
        1 - (xx + zz),
        yz - wx,
        xz - wy,
        yz + wx,
        1 - (xx + yy),
        2 * (w * d - a * x + y * f - z * e),
        2 * (w * e - a * y + z * d - x * f),
        2 * (w * f - a * z + x * e - y * d),
    )


def twist_in_parent(X: Numbers, s: Numbers) -> Numbers:
    """Return a twist in the coordinates of the frame in which X = (R, p) is: (R w, R v + p × R w)."""
    a = X[0] * s[0] + X[1] * s[1] + X[2] * s[2]
    b = X[3] * s[0] + X[4] * s[1] + X[5] * s[2]
    c = X[6] * s[0] + X[7] * s[1] + X[8] * s[2]
    return (
        a,
        b,
        c,
        X[0] * s[3] + X[1] * s[4] + X[2] * s[5] + (X[10] * c - X[11] * b),
        X[3] * s[3] + X[4] * s[4] + X[5] * s[5] + (X[11] * a - X[9] * c),
        X[6] * s[3] + X[7] * s[4] + X[8] * s[5] + (X[9] * b - X[10] * a),
    )


def twist_in_child(X: Numbers, s: Numbers) -> Numbers:
    """Return a twist in the coordinates of the frame X = (R, p): (Rᵀ w, Rᵀ (v + w × p))."""
    a = s[3] + (s[1] * X[11] - s[2] * X[10])
    b = s[4] + (s[2] * X[9] - s[0] * X[11])
    c = s[5] + (s[0] * X[10] - s[1] * X[9])
    return (
        X[0] * s[0] + X[3] * s[1] + X[6] * s[2],
        X[1] * s[0] + X[4] * s[1] + X[7] * s[2],
        X[2] * s[0] + X[5] * s[1] + X[8] * s[2],
        X[0] * a + X[3] * b + X[6] * c,
        X[1] * a + X[4] * b + X[7] * c,
        X[2] * a + X[5] * b + X[8] * c,
    )


def wrench_in_parent(X: Numbers, f: Numbers) -> Numbers:
    """Return a wrench in the coordinates of the frame in which X = (R, p) is: (R n + p × R l, R l).

    As of a twist with its halves exchanged.
    """
    g = twist_in_parent(X, (f[3], f[4], f[5], f[0], f[1], f[2]))
    return (g[3], g[4], g[5], g[0], g[1], g[2])


def cross_twist(a: Numbers, b: Numbers) -> Numbers:
    """Return the Lie bracket of two twists: (w × w', w × v' + v × w')."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
        a[1] * b[5] - a[2] * b[4] + a[4] * b[2] - a[5] * b[1],
        a[2] * b[3] - a[0] * b[5] + a[5] * b[0] - a[3] * b[2],
        a[0] * b[4] - a[1] * b[3] + a[3] * b[1] - a[4] * b[0],
    )


def momentum(H: Numbers, s: Numbers) -> Numbers:
    """Return the wrench of an inertia times a twist: (I w + h × v, m v - h × w), h = m c."""
    return (
        H[4] * s[0] + H[5] * s[1] + H[6] * s[2] + (H[2] * s[5] - H[3] * s[4]),
        H[5] * s[0] + H[7] * s[1] + H[8] * s[2] + (H[3] * s[3] - H[1] * s[5]),
        H[6] * s[0] + H[8] * s[1] + H[9] * s[2] + (H[1] * s[4] - H[2] * s[3]),
        H[0] * s[3] - (H[2] * s[2] - H[3] * s[1]),
        H[0] * s[4] - (H[3] * s[0] - H[1] * s[2]),
        H[0] * s[5] - (H[1] * s[1] - H[2] * s[0]),
    )


def net_wrench(H: Numbers, s: Numbers, a: Numbers) -> Numbers:
    """Return the wrench of Newton and Euler, H a + s ×* H s: (…) + (w × n + v × l, w × l)."""
    f, g = momentum(H, a), momentum(H, s)
    return (
        f[0] + s[1] * g[2] - s[2] * g[1] + s[4] * g[5] - s[5] * g[4],
        f[1] + s[2] * g[0] - s[0] * g[2] + s[5] * g[3] - s[3] * g[5],
        f[2] + s[0] * g[1] - s[1] * g[0] + s[3] * g[4] - s[4] * g[3],
        f[3] + s[1] * g[5] - s[2] * g[4],
        f[4] + s[2] * g[3] - s[0] * g[5],
        f[5] + s[0] * g[4] - s[1] * g[3],
    )


def moved(X: Numbers, S: Numbers, qd: Any, qdd: Any, V: Numbers, A: Numbers) -> tuple[Numbers, Numbers]:
    """Return twist and acceleration of a body behind a joint: V' + S q̇ and A' + S q̈ + V × S q̇, in its own frame."""
    v, a = twist_in_child(X, V), twist_in_child(X, A)
    s = (S[0] * qd, S[1] * qd, S[2] * qd, S[3] * qd, S[4] * qd, S[5] * qd)
    v = added(v, s)
    b = cross_twist(v, s)
    t = (S[0] * qdd, S[1] * qdd, S[2] * qdd, S[3] * qdd, S[4] * qdd, S[5] * qdd)
    return v, added(added(a, t), b)


def added(a: Numbers, b: Numbers) -> Numbers:
    """Return the sum of two twists or two wrenches."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


def power(S: Numbers, f: Numbers) -> Any:
    """Return the pairing of a twist and a wrench."""
    return S[0] * f[0] + S[1] * f[1] + S[2] * f[2] + S[3] * f[3] + S[4] * f[4] + S[5] * f[5]


def inertia_in_parent(X: Numbers, H: Numbers) -> Numbers:
    """Return an inertia in the coordinates of the frame in which X = (R, p) is.

    With g = R h: m, g + m p and R I Rᵀ - [g]×[p]× - [p]×[g]× - m [p]×².
    """
    m = H[0]
    g1 = X[0] * H[1] + X[1] * H[2] + X[2] * H[3]
    g2 = X[3] * H[1] + X[4] * H[2] + X[5] * H[3]
    g3 = X[6] * H[1] + X[7] * H[2] + X[8] * H[3]
    p1, p2, p3 = X[9], X[10], X[11]
    a1 = X[0] * H[4] + X[1] * H[5] + X[2] * H[6]
    a2 = X[3] * H[4] + X[4] * H[5] + X[5] * H[6]
    a3 = X[6] * H[4] + X[7] * H[5] + X[8] * H[6]
    b1 = X[0] * H[5] + X[1] * H[7] + X[2] * H[8]
    b2 = X[3] * H[5] + X[4] * H[7] + X[5] * H[8]
    b3 = X[6] * H[5] + X[7] * H[7] + X[8] * H[8]
    c1 = X[0] * H[6] + X[1] * H[8] + X[2] * H[9]
    c2 = X[3] * H[6] + X[4] * H[8] + X[5] * H[9]
    c3 = X[6] * H[6] + X[7] * H[8] + X[8] * H[9]
    k1, k2, k3 = g1 + m * p1, g2 + m * p2, g3 + m * p3
    d1, d2, d3 = p1 * (g1 + k1), p2 * (g2 + k2), p3 * (g3 + k3)
    return (
        m,
        k1,
        k2,
        k3,
        a1 * X[0] + b1 * X[1] + c1 * X[2] + (d2 + d3),
        a1 * X[3] + b1 * X[4] + c1 * X[5] - (p1 * k2 + g1 * p2),
        a1 * X[6] + b1 * X[7] + c1 * X[8] - (p1 * k3 + g1 * p3),
        a2 * X[3] + b2 * X[4] + c2 * X[5] + (d1 + d3),
        a2 * X[6] + b2 * X[7] + c2 * X[8] - (p2 * k3 + g2 * p3),
        a3 * X[6] + b3 * X[7] + c3 * X[8] + (d1 + d2),
    )
