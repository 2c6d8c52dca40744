"""Images as rows of pixels, from arrays and files, and by a torch module."""

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.features.embedding import embed
from examples.paper.datasets.images import TorchImageEncoder, image_features, read_images
from support.refusals import refused

rng = np.random.default_rng(3)
GREY = rng.integers(0, 256, (5, 4, 6), dtype=np.uint8)
COLOUR = rng.integers(0, 256, (5, 4, 6, 3), dtype=np.uint8)


@pytest.mark.parametrize("images", [GREY, COLOUR])
def test_pixels_lie_between_zero_and_one_row_by_row(images):
    rows = image_features(images)
    assert rows.dtype == np.float32
    assert rows.shape == (5, images[0].size)
    np.testing.assert_allclose(rows[2], images[2].ravel() / 255, rtol=1e-6)
    np.testing.assert_allclose(image_features(images / 255), rows, rtol=1e-6)
    np.testing.assert_array_equal(image_features(images > 99), (images > 99).reshape(5, -1))


def test_normalisation_by_given_numbers_and_by_channel():
    for images, mean, std in ((GREY, 0.1307, 0.3081), (COLOUR, np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 4.0]))):
        expected = ((images / 255 - mean) / std).reshape(5, -1)
        np.testing.assert_allclose(image_features(images, (mean, std)), expected, rtol=1e-4, atol=1e-6)
    own = image_features(COLOUR, "channel").reshape(COLOUR.shape)
    np.testing.assert_allclose(own.mean(axis=(0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(own.std(axis=(0, 1, 2)), 1, rtol=1e-5)
    assert image_features(GREY, "channel").std() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize(
    ("images", "normalize", "message"),
    [
        (GREY[0], None, r"of shape \(n, h, w\) or \(n, h, w, c\).*Got shape \(4, 6\)"),
        (np.array([GREY[0], GREY[0, 1:]], dtype=object), None, r"with images of one size\. Got shape \(2,\)"),
        (GREY.astype(np.int64), None, r"of uint8, or floats from 0 to 1\. Got dtype int64"),
        (GREY.astype(float), None, r"Got values from 0 to 25\d instead\. Divide them"),
        (GREY / 255 * np.nan, None, "must be finite"),
        (COLOUR, (0.1, [1.0, 2.0]), "a mean and a positive standard deviation, numbers or 3 of them"),
        (GREY, (0.1, 0.0), "a positive standard deviation"),
        (GREY, "pixel", r'a pair \(mean, std\), "channel" or None\. Got \'pixel\''),
        (GREY * 0, "channel", r"of more than one grey to be normalized\. Got a constant"),
    ],
)
def test_arrays_are_checked(images, normalize, message):
    refused(message, image_features, images, normalize)


def test_files(tmp_path):
    library = pytest.importorskip("PIL.Image")
    for i, image in enumerate(GREY):
        library.fromarray(image).save(tmp_path / f"{i}.png")
    (tmp_path / "notes.txt").write_text("no image")
    np.testing.assert_array_equal(read_images(tmp_path), GREY)
    np.testing.assert_array_equal(image_features(tmp_path), image_features(GREY))
    np.testing.assert_array_equal(read_images([tmp_path / "3.png", tmp_path / "1.png"]), GREY[[3, 1]])
    np.testing.assert_array_equal(read_images(tmp_path / "2.png"), GREY[2:3])

    def named(message, source=tmp_path / "9.png", error=ArgumentError):
        refused(message, read_images, source, error=error)

    library.fromarray(COLOUR[0]).save(tmp_path / "9.png")
    named(r"9\.png is 4 × 6 and in color, .*0\.png is 4 × 6 and grey; bring all", tmp_path)
    library.fromarray(COLOUR[0]).convert("RGBA").save(tmp_path / "a.PNG")
    np.testing.assert_array_equal(read_images([tmp_path / "9.png", tmp_path / "a.PNG"]), COLOUR[[0, 0]])
    library.fromarray(GREY[0, 1:]).save(tmp_path / "9.png")
    named(r"9\.png is 3 × 6 and grey", [tmp_path / "0.png", tmp_path / "9.png"])
    library.fromarray(GREY[0].astype(np.uint16)).save(tmp_path / "9.png")
    named(r"9\.png: this image has more than 8 bits")
    (tmp_path / "9.png").write_bytes(b"nothing")
    named(r"9\.png: this is not a readable image")
    (tmp_path / "9.png").write_bytes((tmp_path / "0.png").read_bytes()[:60])
    named(r"9\.png: this image is damaged")
    named(r"8\.png", tmp_path / "8.png", FileNotFoundError)
    (tmp_path / "empty").mkdir()
    named(r"image files \(\.png.*empty, where no file is one", tmp_path / "empty")
    named("Got an empty list", [])


def test_a_torch_module_is_frozen_and_keyed_by_its_weights(tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.Dropout(0.5), torch.nn.BatchNorm2d(2))
    encoder = TorchImageEncoder(module)
    rows = embed(COLOUR, encoder, batch_size=2, cache=tmp_path)
    assert rows.shape == (5, 2 * 2 * 4)
    assert not module.training
    module.train()  # someone goes on training; then features are still those of a frozen module
    np.testing.assert_array_equal(encoder(list(COLOUR)), encoder(list(COLOUR)))
    with torch.no_grad():
        inputs = torch.as_tensor(np.moveaxis(COLOUR, -1, 1) / np.float32(255))
        np.testing.assert_allclose(rows, module.eval()(inputs).reshape(5, -1).numpy(), rtol=1e-5, atol=1e-6)
    key = TorchImageEncoder(module).cache_key
    assert key == encoder.cache_key
    module[0].weight.data += 1
    assert TorchImageEncoder(module).cache_key != key
    half = TorchImageEncoder(torch.nn.Flatten(), transform=lambda image: torch.as_tensor(image[:2]).float() / 2)
    np.testing.assert_array_equal(half(list(GREY)), GREY[:, :2].reshape(5, -1) / np.float32(2))
    refused("Give cache_key=", embed, GREY, half, cache=tmp_path)
    assert TorchImageEncoder(torch.nn.Flatten(), transform=np.asarray, cache_key="mine").cache_key == "mine"
    flat = TorchImageEncoder(torch.nn.Flatten())
    refused(r"images of one shape\. Got shapes \[\(1, 3, 6\), \(1, 4, 6\)\]", flat, [GREY[0], GREY[0, 1:]])
    refused(r"a torch\.nn\.Module\. Got 3", TorchImageEncoder, 3)
