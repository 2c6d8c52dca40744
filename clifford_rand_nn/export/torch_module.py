"""A program as a module of PyTorch, which can be trained on."""

import io
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._files import replaced
from clifford_rand.errors import require
from clifford_rand_nn.export.program import Program, Value, ordered

require("torch", extra="torch", purpose="to_torch")

import torch  # noqa: E402  # after the sentence for those who have none
from torch import Tensor, nn  # noqa: E402


def _arcsin(a: Tensor) -> Tensor:
    inside = a.abs() < 1
    return torch.where(inside, torch.where(inside, a, 0.0).arcsin(), a.detach().arcsin())


_CALLS: dict[str, Callable[..., Tensor]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "matmul": lambda a, b: a @ b,
    "matmul_t": lambda a, b: a @ b.T,
    "maximum": lambda a, b: torch.relu(a) if isinstance(b, float) and b == 0 else torch.clamp(a, min=b),
    "less": lambda a, b: a < b,
    "equals": lambda a, b: a == b,
    "where": torch.where,
    **{op: getattr(torch, op) for op in ("abs", "sign", "floor", "sin", "cos", "sqrt", "exp", "log", "log1p")},
    "arcsin": _arcsin,
    "row_sums": lambda a: a.sum(dim=1, keepdim=True),
    "row_largest": lambda a: a.amax(dim=1, keepdim=True),
    "layers": lambda a: a.T[:, :, None],
    "layer_sums": lambda a: a.sum(dim=0),
    "total": torch.sum,
    "first": lambda a: a[:, 0],
    "argmax": lambda a: a.argmax(dim=1),
    "whole": lambda a: a.long(),
    "beside": lambda *parts: torch.cat(parts, dim=1),
}


class ProgramModule(nn.Module):
    """A fitted model as a module; see `to_torch` of the models.

    The constants stay in float64, as sums over the rows of a kernel lose four digits in float32: ``.float()`` and
    ``.half()`` change the precision of the results alone.

    Attributes
    ----------
    classes : list, or None
        Labels of a classifier.
    columns : tuple of str, or None
        Names of the columns of the rows, if the model knew them.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program, self._dtype = program, torch.float64  # of the results
        self.classes = None if program.classes is None else program.classes.tolist()
        self.columns = program.columns
        self._steps = {name: _steps(end) for name, end in program.results.items()}
        self._penalty = None if program.penalty is None else _steps(program.penalty)
        for value in program.constants():
            assert value.data is not None
            tensor = torch.tensor(np.asarray(value.data))
            if value.trained:
                self.register_parameter(value.name, nn.Parameter(tensor))
            else:
                self.register_buffer(value.name, tensor)

    def forward(self, x: Tensor) -> Tensor:
        """Return the decision function of a classifier, else predictions, for rows x (n, d)."""
        return self._result("predict" if "predict" in self.program.results else "decision_function", x)

    def outputs(self, x: Tensor) -> Tensor:
        """Return the outputs (n, C) of the network for rows x (n, d), before any calibration: what training is for."""
        return self._result("outputs", x)

    def probabilities(self, x: Tensor) -> Tensor:
        """Return the probabilities (n, classes) of ``classes`` for rows x (n, d)."""
        return self._result("predict_proba", x)

    def labels(self, x: Tensor) -> Tensor:
        """Return the place in ``classes`` of the label of every row x (n, d); of several which are there, (n, L)."""
        return self._result("index", x)

    def interval(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the ends (low, high) of intervals for rows x (n, d), of the ``coverage`` of `to_torch`."""
        return self._result("low", x), self._result("high", x)

    def penalty(self) -> Tensor:
        """Return what beta weighs in the objective that was minimized."""
        assert self._penalty is not None
        return self._evaluated(self._penalty, None)

    def _result(self, name: str, x: Tensor) -> Tensor:
        if name not in self.program.results:
            received = describe(f"a {self.program.model} without it")
            raise fail("module", name, f"of a model with the result {name!r}", received)
        if x.ndim != 2 or x.shape[1] != self.program.d:
            rule = f"of shape (n, {self.program.d})"
            raise fail("x", self.program.model, rule, describe(f"shape {tuple(x.shape)}"))
        end, block = self._steps[name], self.program.block()
        if block is None or torch.is_grad_enabled() or torch.compiler.is_exporting():
            return self._evaluated(end, x)
        return torch.cat([self._evaluated(end, part) for part in torch.split(x, block)])

    def _evaluated(self, steps: "list[_Step]", x: Tensor | None) -> Tensor:
        values: list[Any] = []
        for op, name, operands in steps:
            if op == "rows":
                assert x is not None
                values.append(x.to(torch.float64))
            elif op == "constant":
                values.append(getattr(self, name))
            else:
                values.append(_CALLS[op](*[values[part] if isinstance(part, int) else part for part in operands]))
        result: Tensor = values[-1]
        return result.to(self._dtype) if result.is_floating_point() else result

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        def keep_precision(tensor: Tensor) -> Tensor:
            self._dtype = fn(torch.zeros(1, dtype=self._dtype, device=tensor.device)).dtype
            moved = fn(torch.zeros(1, dtype=tensor.dtype, device=tensor.device))
            return fn(tensor) if moved.dtype == tensor.dtype else tensor.to(moved.device)

        return super()._apply(keep_precision, recurse)  # type: ignore[no-untyped-call]


_Step = tuple[str, str, list[int | float]]
"""An operation, its name, and its operands: numbers of steps before it (int), or numbers (float)."""


def _steps(end: Value) -> list[_Step]:
    """Return the operations that lead to a value, in order: words and numbers, which torch.export follows."""
    values = ordered([end])
    place = {id(value): number for number, value in enumerate(values)}
    return [
        (value.op, value.name, [place[id(part)] if isinstance(part, Value) else float(part) for part in value.operands])
        for value in values
    ]


class _Results(nn.Module):
    """The results of a module under the names that ONNX files give them."""

    def __init__(self, module: ProgramModule) -> None:
        super().__init__()
        self.model = module

    def forward(self, X: Tensor) -> dict[str, Tensor]:
        model, results = self.model, self.model.program.results
        if "index" not in results:
            ends = dict(zip(("low", "high"), model.interval(X), strict=True)) if "low" in results else {}
            return {"variable": model(X)} | ends
        if "predict_proba" in results:
            return {"label": model.labels(X), "probabilities": model.probabilities(X)}
        return {"label": model.labels(X), "scores": model(X)}


def save_program(program: Program, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write a program as an exported program of PyTorch, for any number of rows; return what comes out of it."""
    module = _Results(ProgramModule(program)).eval()
    rows = torch.zeros(2, program.d, dtype=torch.float64)
    dynamic = {"X": {0: torch.export.Dim("rows", min=1)}}
    exported = torch.export.export(module, (rows,), dynamic_shapes=dynamic)
    whole = io.BytesIO()  # PyTorch's own writer of files ends the process when the disk is full
    torch.export.save(exported, whole)
    with replaced(path) as new:
        new.write_bytes(whole.getvalue())
    kinds = {name: str(result.dtype).removeprefix("torch.") for name, result in module(rows).items()}
    classes = "" if program.classes is None else f", the place in {program.classes.tolist()[:10]}"
    return {name: f"{kind} (rows, …)" + (classes if name == "label" else "") for name, kind in kinds.items()}
