"""The notebooks as a browser runs them: a JSON line for each, and a last one of warnings and errors."""

import contextlib
import io
import json
import os
import tempfile
import time
import warnings
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"


def code_of(notebook):
    """Return the code cells of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def error_of(function):
    """Return the name and the text of what a call raises."""
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main():
    """Run all notebooks in one folder, and what needs a compiler or CVXPY."""
    import support.no_compilers  # noqa: F401

    with warnings.catch_warnings(record=True) as caught, tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("always")
        os.chdir(folder)
        for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
            begin, namespace = time.process_time(), {"__name__": "notebook"}
            for k, code in enumerate(code_of(notebook)):
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(code, f"{notebook.name}[{k}]", "exec"), namespace)
            print(json.dumps([notebook.stem, time.process_time() - begin]), flush=True)
        os.chdir("/")
        import numpy as np

        import clifford_rand as cr
        from clifford_rand_nn import ConvexReLURegressor, CrossProductLassoRegressor, GatedReLURegressor

        X = np.random.default_rng(0).standard_normal((30, 2))
        y = np.maximum(X[:, 0] - 0.3 * X[:, 1], 0)
        kinds = (GatedReLURegressor, ConvexReLURegressor, CrossProductLassoRegressor)
        gaps = [kind(beta=1e-3).fit(X, y).certificate_.relative_gap for kind in kinds]
        errors = [error_of(lambda kind=kind: kind(beta=1e-3, solver="cvxpy").fit(X, y)) for kind in kinds]
        a = cr.Algebra(2).symbols("a")
        errors.append(error_of(lambda: (a * a).lambdify(a, backend="numba")))
        R = cr.Algebra(3).vector(np.ones((100, 3)))
        values = cr.fused(lambda v: (v * v).exp())(R).scalar_part().tolist()[:1]
    told = [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    print(json.dumps({"gaps": gaps, "errors": errors, "warnings": told, "fused": values}))


if __name__ == "__main__":
    main()
