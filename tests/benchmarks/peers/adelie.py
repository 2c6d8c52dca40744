"""adelie: `grpnet`, group coordinate descent, on its own matrix class of the gated problem."""

import adelie
import numpy as np

# On two cores two threads took up to three times as long as one (n = 2000, d = 384, P = 50), so it gets one.
THREADS = 1


def version():
    return f"adelie {adelie.__version__}, NumPy {np.__version__}"


def solve(X, y, D, beta, tol):
    d, P = X.shape[1], D.shape[1]
    features = adelie.matrix.convex_relu(np.asfortranarray(X), np.asfortranarray(D), gated=True, n_threads=THREADS)
    state = adelie.grpnet(
        features,
        adelie.glm.gaussian(y),  # weights 1/n
        groups=d * np.arange(P),
        penalty=np.ones(P),  # its default is the root of the group's size
        lmda_path=np.array([beta]),
        intercept=False,
        early_exit=False,
        tol=tol,
        n_threads=THREADS,
        progress_bar=False,
    )
    return {"u": state.betas[-1].toarray().reshape(P, d)}
