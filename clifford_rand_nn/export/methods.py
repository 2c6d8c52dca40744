"""The methods with which every fitted model leaves for another library."""

import os
from pathlib import Path
from typing import Any

from clifford_rand._checks import check_number
from clifford_rand_nn.export.program import Program


def check_coverage(coverage: object, owner: str) -> float | None:
    """Return the share of new targets that intervals are to cover, or None for none."""
    if coverage is None:
        return None
    return check_number(coverage, "coverage", owner, "None or a number between 0 and 1", lambda share: 0 < share < 1)


def program_of(model: "Exported", coverage: float | None = 0.9) -> Program:
    """Return the program of a fitted model; intervals are to cover a share ``coverage`` of new targets."""
    return model._program(coverage)


class Exported:
    """Methods `to_torch`, `to_onnx` and `to_source` of what states itself as a `Program`."""

    def _program(self, coverage: float | None) -> Program:
        """Return what the fitted model computes; intervals are to cover a share ``coverage`` of new targets."""
        raise NotImplementedError

    def to_torch(self, *, coverage: float | None = 0.9) -> Any:
        """Return the model as a `torch.nn.Module` of float64, which can be trained on; needs the extra "torch".

        After ``.float()``, ``.half()`` or ``.to(dtype)`` the results are of that precision, computed in float64.

        Called with rows (n, d) it gives what `decision_function` of a classifier, and `predict` of a regressor or a
        network gives; ``module.probabilities(x)`` gives what `predict_proba` gives, ``module.labels(x)`` the index of
        the label in ``module.classes``, ``module.outputs(x)`` the outputs (n, C) of the network before calibration. Its
        parameters are the variables of the problem that was solved, and ``module.penalty()`` is what beta weighs there:
        so ``loss(module.outputs(x), targets) + beta_ * module.penalty()`` goes on from the optimum. Standardization,
        gates, calibration and the rows of a kernel are buffers, which are not trained. ``module.interval(x)`` gives the
        ends of intervals where the model has some.

        Parameters
        ----------
        coverage : float between 0 and 1, or None, default 0.9
            That of the intervals, where there are some; None leaves them out.

        Returns
        -------
        ProgramModule

        Raises
        ------
        MissingDependencyError
            PyTorch is not installed.

        Examples
        --------
        >>> import numpy as np, torch
        >>> from clifford_rand_nn import CrossProductLassoRegressor
        >>> X = np.linspace(-1, 1, 21)[:, None]
        >>> model = CrossProductLassoRegressor(beta=1e-4).fit(X, np.abs(X[:, 0]))
        >>> module = model.to_torch()
        >>> bool(np.allclose(module(torch.tensor(X)).detach(), model.predict(X)))
        True
        """
        from clifford_rand_nn.export.torch_module import ProgramModule  # which imports torch

        return ProgramModule(self._program(check_coverage(coverage, "to_torch")))

    def to_onnx(self, path: str | os.PathLike[str], *, dtype: Any = "float32", coverage: float | None = 0.9) -> Path:
        """Write the model as an ONNX file, opset 19; needs the extra "onnx".

        The input ``X`` has any number of rows (n, d), raw as in `predict`: scaling is inside. Outputs have the names
        that skl2onnx gives: of a classifier ``label`` (n,) and ``probabilities`` (n, classes), or ``scores`` where the
        model has no probabilities; else ``variable`` (n, outputs), with ``low`` and ``high`` where the model has
        intervals. All is computed in double precision, whatever the input, so that gates open for the same rows.

        Parameters
        ----------
        path : path that ends in .onnx
        dtype : "float32" or "float64", default "float32"
            Of the input, and of the outputs that are numbers.
        coverage : float between 0 and 1, or None, default 0.9
            That of the intervals, where there are some; None leaves them out, as they may take longer than the rest.

        Returns
        -------
        Path
            That was written; the file appears complete or not at all.

        Raises
        ------
        ArgumentError
            The path ends otherwise, labels are of mixed kinds, or the file would be larger than 2 GiB.
        MissingDependencyError
            The library onnx is not installed.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np, onnxruntime
        >>> from clifford_rand_nn import CrossProductLassoRegressor
        >>> X = np.linspace(-1, 1, 21, dtype=np.float32)[:, None]
        >>> model = CrossProductLassoRegressor(beta=1e-4).fit(X, np.abs(X[:, 0]))
        >>> session = onnxruntime.InferenceSession(model.to_onnx(Path(tempfile.mkdtemp()) / "model.onnx"))
        >>> (variable,) = session.run(["variable"], {"X": X})
        >>> bool(np.allclose(variable[:, 0], model.predict(X), atol=1e-5))
        True
        """
        from clifford_rand_nn.export.onnx_file import onnx_model, save_onnx

        return save_onnx(onnx_model(self._program(check_coverage(coverage, "to_onnx")), dtype), path)

    def to_source(self, path: str | os.PathLike[str] | None = None, *, coverage: float | None = 0.9) -> str:
        """Return the model as the text of a Python module that needs NumPy alone.

        It has ``predict(X)`` and, where the model has them, ``decision_function``, ``predict_proba`` and
        ``predict_interval``. Every number is written so that it is read back exactly.

        Parameters
        ----------
        path : path that ends in .py, optional
            Where to write the text, too. Arrays that would make it longer than 4 MB are then written beside it, for
            model.py into model.arrays.npz, which the module loads.
        coverage : float between 0 and 1, or None, default 0.9
            That of the intervals, where there are some; None leaves them out, as they may take longer than the rest.

        Raises
        ------
        ArgumentError
            The path ends otherwise, or there is none and the text would be longer than 4 MB.

        Examples
        --------
        >>> import numpy as np
        >>> from clifford_rand_nn import CrossProductLassoRegressor
        >>> X = np.linspace(-1, 1, 21)[:, None]
        >>> model = CrossProductLassoRegressor(beta=1e-4).fit(X, np.abs(X[:, 0]))
        >>> module = {}
        >>> exec(model.to_source(), module)
        >>> bool(np.allclose(module["predict"](X), model.predict(X)))
        True
        """
        from clifford_rand_nn.export.numpy_source import write_source

        return write_source(self._program(check_coverage(coverage, "to_source")), path)
