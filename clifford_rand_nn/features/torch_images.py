"""Features of images by a frozen torch module."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand._threads import cached_property


class TorchImageEncoder:
    """Encoder of images by a torch module, in evaluation mode and without gradients; for `embed`.

    Parameters
    ----------
    module : torch.nn.Module
        From a batch (b, …) to features (b, …), which are flattened to (b, k). It is moved to ``device``, and left in
        evaluation mode.
    transform : callable, optional
        From one image to the array or tensor that the module takes; without it an image goes in as it is, but
        uint8 (h, w) or (h, w, c) becomes float32 (c, h, w) in [0, 1].
    device : str, optional
        "cpu" if None.
    cache_key : str, optional
        Name for a cache. Without a ``transform`` it is made of the module's printed form and the hash of its weights;
        give one where a module's code changes and these do not.

    Raises
    ------
    ArgumentError
        The module is not one of torch, or images differ in shape.
    MissingDependencyError
        torch is not installed.
    """

    def __init__(
        self,
        module: Any,
        transform: Callable[[Any], Any] | None = None,
        device: str | None = None,
        cache_key: str | None = None,
    ) -> None:
        torch = require("torch", extra="torch", purpose="features by a torch module")
        if not isinstance(module, torch.nn.Module):
            raise fail("module", "TorchImageEncoder", "a torch.nn.Module", module)
        self.device = device or "cpu"
        self.module, self.transform = module.eval().to(self.device), transform
        self._given_key = cache_key

    @cached_property
    def cache_key(self) -> str | None:
        """The key that was given, or one made of the module; None with a transform and no key."""
        if self._given_key is not None or self.transform is not None:
            return self._given_key
        digest = hashlib.sha256(f"{type(self.module).__module__}.{self.module!r}".encode())
        for name, value in sorted(self.module.state_dict().items()):
            array = value.detach().cpu().numpy()
            digest.update(f"{name}{array.dtype.str}{array.shape}".encode() + array.tobytes())
        return f"torch:{type(self.module).__name__} sha256 {digest.hexdigest()[:32]}"

    def __call__(self, images: Sequence[Any] | NDArray[Any]) -> NDArray[np.float32]:
        """Return the features (n, k) of n images."""
        torch = require("torch", extra="torch", purpose="features by a torch module")
        prepare = self.transform or _channels_first
        rows = [torch.as_tensor(prepare(image)) for image in images]
        shapes = sorted({tuple(row.shape) for row in rows})
        if len(shapes) != 1:
            raise fail("images", "TorchImageEncoder", "images of one shape", describe(f"shapes {shapes}"))
        self.module.eval()  # whoever trained it since
        with torch.no_grad():
            features = self.module(torch.stack(rows).to(self.device))
        return np.asarray(features.reshape(len(rows), -1).float().cpu().numpy())


def _channels_first(image: Any) -> Any:
    array = np.asarray(image)
    if array.dtype != np.uint8:
        return array
    pixels = array.astype(np.float32) / np.float32(255)
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(np.moveaxis(pixels, -1, 0))
