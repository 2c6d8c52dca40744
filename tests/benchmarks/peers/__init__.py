"""The solvers that are compared, one file each: ``solve(X, y, D, beta, tol, **options)`` returns a dict of arrays.

Every one minimizes (1/2n) ||sum_i D_i X u_i - y||^2 + beta sum_i ||u_i||_2 (`ours` other losses too) and returns "u",
(P, d). `worker` runs one of them in a process of its own, `process` speaks with it.
"""
