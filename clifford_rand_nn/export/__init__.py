"""Fitted models as programs of array operations, written for PyTorch, for ONNX and as NumPy source."""
