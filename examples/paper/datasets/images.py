"""Features of images: rows of pixels, from arrays or files, or what a frozen torch module makes of them."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.errors import ArgumentError, require

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
_DEEP = ("I", "F")  # modes of Pillow with more than 8 bits a pixel: "I", "I;16", "F"


def image_features(
    images: NDArray[Any] | str | Path | Sequence[str | Path], normalize: str | tuple[ArrayLike, ArrayLike] | None = None
) -> NDArray[np.float32]:
    r"""Return images as rows of pixels (n, h·w·c), float32: :math:`x/255`, or :math:`(x/255 - \mu)/\sigma`.

    Parameters
    ----------
    images : array (n, h, w) or (n, h, w, c), or folder, or list of image files
        uint8 or booleans, or floats from 0 to 1 already, which are not divided. Files are read by `read_images`.
    normalize : (mean, std), "channel" or None
        Mean and standard deviation on the scale from 0 to 1, numbers or one per channel; the paper's MNIST has
        (0.1307, 0.3081). "channel" takes those of these images, so it is for one set of images, not for a test set
        beside a training set. None leaves the pixels in [0, 1].

    Raises
    ------
    ArgumentError
        Images differ in size or in color, floats are outside [0, 1], or a standard deviation is not positive.
    MissingDependencyError
        Files need Pillow.

    Examples
    --------
    >>> white = np.full((1, 2, 2), 255, dtype=np.uint8)
    >>> image_features(white).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    >>> image_features(white, (0.1307, 0.3081)).round(3)[0, 0]
    np.float32(2.821)
    """
    pixels = _unit(images if isinstance(images, np.ndarray) else read_images(images))
    if normalize is not None:
        mean, std = _moments(pixels, normalize)
        pixels = (pixels - mean) / std
    return pixels.reshape(len(pixels), -1).astype(np.float32, copy=False)


def read_images(source: str | Path | Sequence[str | Path]) -> NDArray[np.uint8]:
    """Read images of one size, all grey (n, h, w) or all in color (n, h, w, 3), from a folder or a list of files.

    Of a folder, the files that end like an image are read in the order of their names. Pixels with an alpha channel
    lose it; palettes become colors.

    Raises
    ------
    ArgumentError
        There are no images, one is damaged or has more than 8 bits a pixel, or they differ in size or color.
    MissingDependencyError
        Pillow is not installed.
    """
    library = require("PIL.Image", extra="app", purpose="reading image files")
    arrays: list[NDArray[np.uint8]] = []
    paths = _paths(source)
    for path in paths:
        try:
            with library.open(path) as image:
                if image.mode.startswith(_DEEP):
                    raise ArgumentError(f"{path}: this image has more than 8 bits a pixel; convert it to 8.")
                array = np.asarray(image.convert("L" if image.mode in ("1", "L", "LA") else "RGB"), dtype=np.uint8)
        except library.UnidentifiedImageError as error:
            raise ArgumentError(f"{path}: this is not a readable image.") from error
        except OSError as error:
            if error.errno is not None:  # no such file, no permission: raised unchanged
                raise
            raise ArgumentError(f"{path}: this image is damaged: {error}.") from error
        if arrays and array.shape != arrays[0].shape:
            what = f"{path} is {_shown(array)}, {paths[0]} is {_shown(arrays[0])}"
            raise ArgumentError(f"{what}; bring all images to one size, all grey or all in color.")
        arrays.append(array)
    return np.stack(arrays)


def _paths(source: str | Path | Sequence[str | Path]) -> list[Path]:
    if not isinstance(source, str | Path):
        paths = [Path(one) for one in source]
    elif Path(source).is_dir():
        paths = sorted(path for path in Path(source).iterdir() if path.suffix.lower() in _ENDINGS)
    else:
        paths = [Path(source)]
    if not paths:
        where = "an empty list" if not isinstance(source, str | Path) else f"{source}, where no file is one"
        raise fail("images", "image_features", f"image files ({', '.join(_ENDINGS)})", describe(where))
    return paths


def _shown(array: NDArray[np.uint8]) -> str:
    return f"{array.shape[0]} × {array.shape[1]} and {'grey' if array.ndim == 2 else 'in color'}"


def _unit(images: NDArray[Any]) -> NDArray[Any]:
    if images.ndim not in (3, 4) or 0 in images.shape:
        rule = "of shape (n, h, w) or (n, h, w, c), with images of one size"
        raise fail("images", "image_features", rule, describe(f"shape {images.shape}, dtype {images.dtype}"))
    if images.dtype == np.uint8:
        return images.astype(np.float32) / np.float32(255)
    if images.dtype.kind not in "bf":
        raise fail("images", "image_features", "of uint8, or floats from 0 to 1", describe(f"dtype {images.dtype}"))
    pixels = images.astype(np.float32) if images.dtype.kind == "b" else as_real(images, "images", "image_features")
    low, high = float(pixels.min()), float(pixels.max())
    if low < 0 or high > 1:
        what = describe(f"values from {low:g} to {high:g}")
        raise fail("images", "image_features", "of uint8, or floats from 0 to 1", what, "Divide them by their largest.")
    return pixels


def _moments(pixels: NDArray[Any], normalize: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    channels = 1 if pixels.ndim == 3 else pixels.shape[3]
    if isinstance(normalize, str) and normalize == "channel":
        axes = (0, 1, 2)
        std = np.asarray(pixels.std(axis=axes, dtype=np.float64) if channels > 1 else pixels.std(dtype=np.float64))
        mean = np.asarray(pixels.mean(axis=axes, dtype=np.float64) if channels > 1 else pixels.mean(dtype=np.float64))
        if (std == 0).any():
            raise fail("images", "image_features", "of more than one grey to be normalized", describe("a constant"))
        return mean, std
    if not isinstance(normalize, tuple | list) or len(normalize) != 2:
        raise fail("normalize", "image_features", 'a pair (mean, std), "channel" or None', normalize)
    mean, std = (as_real(one, "normalize", "image_features") for one in normalize)
    if any(one.shape not in ((), (channels,)) for one in (mean, std)) or (std <= 0).any():
        rule = f"a mean and a positive standard deviation, numbers or {channels} of them"
        raise fail("normalize", "image_features", rule, normalize)
    return mean, std


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
