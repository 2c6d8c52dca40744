"""The problem of functions in the span of landmarks in sixty digits."""

import mpmath as mp

_DIGITS = 60


def exact_kernel(kernel, X, Z):
    """Return K(X, Z), of the features as they are in double precision; gates see what is in the kernel."""
    with mp.workdps(_DIGITS):
        x, z = ([[mp.mpf(v) for v in row] for row in kernel.features(rows).tolist()] for rows in (X, Z))
        sizes = [[mp.sqrt(mp.fdot(row, row)) for row in rows] for rows in (x, z)]
        out = mp.matrix(len(x), len(z))
        for i, a in enumerate(x):
            for j, b in enumerate(z):
                size = sizes[0][i] * sizes[1][j]
                cosine = max(min(mp.fdot(a, b) / size, mp.mpf(1)), mp.mpf(-1)) if size else mp.mpf(1)
                out[i, j] = mp.fdot(a, b) * (mp.pi - mp.acos(cosine)) / (2 * mp.pi)
        return out


def exact_form(kernel, X, Z, theta):
    """Return theta^T K_nm K_mm^-1 K_mn theta."""
    with mp.workdps(_DIGITS):
        b = exact_kernel(kernel, X, Z).T * mp.matrix(theta.tolist())
        return float(mp.fdot(b, mp.lu_solve(exact_kernel(kernel, Z, Z), b)))


def least_squares(kernel, X, Z, y, beta):
    """Return the least mean of (y - f - t)²/2, plus beta/2 of the squared norm of f, over the span of Z and t."""
    with mp.workdps(_DIGITS):
        n, y = len(X), mp.matrix(y.tolist())
        V = _with_ones(exact_kernel(kernel, X, Z))
        a = mp.lu_solve(V.T * V / n + _penalty(kernel, Z, beta), V.T * y / n)
        left = y - V * a
        return float((mp.fdot(left, left) / n + mp.fdot(a, _penalty(kernel, Z, beta) * a)) / 2)


def least_logistic(kernel, X, Z, signs, beta):
    """Return the least mean of log(1 + exp(-y (f + t))), plus beta/2 of the squared norm of f, by Newton's method."""
    with mp.workdps(_DIGITS):
        n, m = len(X), len(Z)
        signs = [mp.mpf(s) for s in signs.tolist()]
        V, R = _with_ones(exact_kernel(kernel, X, Z)), _penalty(kernel, Z, beta)
        a = mp.zeros(m + 1, 1)

        def value(a):
            margins = V * a
            loss = mp.fsum(mp.log1p(mp.exp(-s * margins[i])) for i, s in enumerate(signs)) / n
            return loss + mp.fdot(a, R * a) / 2

        now = value(a)
        for _ in range(100):
            margins = V * a
            miss = [1 / (1 + mp.exp(s * margins[i])) for i, s in enumerate(signs)]
            slope = R * a - V.T * mp.matrix([s * p for s, p in zip(signs, miss, strict=True)]) / n
            bend = V.copy()
            for i, p in enumerate(miss):
                bend[i, :] = bend[i, :] * (p * (1 - p) / n)
            step = -mp.lu_solve(V.T * bend + R, slope)
            decrease, size = -mp.fdot(step, slope), mp.mpf(1)
            if decrease < now * mp.mpf(10) ** -20:
                return float(now)
            while (new := value(a + size * step)) > now - size * decrease / 4:
                size /= 2
            a, now = a + size * step, new
        raise AssertionError("Newton's method did not end")


def _with_ones(K):
    out = mp.ones(K.rows, K.cols + 1)
    out[:, : K.cols] = K
    return out


def _penalty(kernel, Z, beta):
    out = mp.zeros(len(Z) + 1, len(Z) + 1)
    out[: len(Z), : len(Z)] = beta * exact_kernel(kernel, Z, Z)
    return out
