"""Fitted models as programs: what each operation means, and the NumPy source that is written from them."""

import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from scipy.special import log_softmax as scipy_log_softmax
from sklearn.exceptions import NotFittedError

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, GatedReLURegressor, TwoLayerNetwork
from clifford_rand_nn.export import numpy_source
from clifford_rand_nn.export.program import OPERATIONS, Program, Value, constant, ordered, rows, softplus
from clifford_rand_nn.kernel_network.calibration import Calibration
from clifford_rand_nn.kernel_network.intervals import Intervals
from support.exported import KINDS, fitted, kernel_network, rows_of


def computed(program, X, name="predict"):
    """Return a result by what `OPERATIONS` says that each operation means."""
    found = {}
    for value in ordered([program.results[name]]):
        if value.op in ("rows", "constant"):
            found[value] = X if value.op == "rows" else value.data
        else:
            names = dict(zip("abc", (found.get(one, one) for one in value.operands), strict=False))
            found[value] = eval(OPERATIONS[value.op].partition(";")[0], {"np": np}, names)
    return found[program.results[name]]


def run_source(text, folder=None):
    module = {"__file__": str(folder / "model.py")} if folder else {}
    exec(text, module)
    return module


@pytest.mark.kept("gated, two numbers")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_source_says_what_the_model_says(kind):
    """Also far from training: from 1e150 on predictions were those of clipped rows, and exports of neither."""
    model, X = fitted(kind), rows_of(kind)
    module = run_source(model.to_source())
    assert {name for name in module if not name.startswith("_")} >= {"predict", "np"}
    names = {"predict", "predict_proba", "decision_function", "predict_interval"}
    assert {name for name in names if hasattr(model, name)} == names & set(module)
    said, far = module["predict"](X), np.random.default_rng(0).normal(size=(7, model.n_features_in_))
    if hasattr(model, "classes_"):
        assert said.dtype == model.classes_.dtype
        assert (said == model.predict(X)).all()
        np.testing.assert_allclose(module["decision_function"](X), model.decision_function(X), rtol=1e-9, atol=1e-11)
    else:
        np.testing.assert_allclose(said, model.predict(X), rtol=1e-9, atol=1e-11)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(module["predict_proba"](X), model.predict_proba(X), rtol=1e-9)
    if hasattr(model, "predict_interval"):
        found = run_source(model.to_source(coverage=0.5))["predict_interval"](X)
        np.testing.assert_allclose(found, model.predict_interval(X, coverage=0.5), rtol=1e-9, atol=1e-11)
        assert "predict_interval" not in run_source(model.to_source(coverage=None))
    for Z in (scale * far for scale in (1e100, 1e150, 1e160, 1e200, -1e250)):
        if "predict_proba" in module:
            np.testing.assert_allclose(module["predict_proba"](Z), model.predict_proba(Z), rtol=1e-8)
        said, wanted = module["predict"](Z), model.predict(Z)
        assert (said == wanted).all() if "CLASSES" in module else np.allclose(said, wanted, rtol=1e-8)


def test_source_runs_where_there_is_nothing_but_numpy(tmp_path):
    model = fitted("network, two classes")
    model.to_source(tmp_path / "model.py")
    np.save(tmp_path / "X.npy", rows_of("network, two classes"))
    code = (
        "import sys, numpy as np; from model import predict, predict_proba; X = np.load('X.npy')\n"
        "np.savez('out.npz', labels=predict(X), p=predict_proba(X))\n"
        "assert not {'clifford_rand', 'clifford_rand_nn', 'scipy', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, check=True)
    out, X = np.load(tmp_path / "out.npz"), rows_of("network, two classes")
    assert (out["labels"] == model.predict(X)).all()
    np.testing.assert_allclose(out["p"], model.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(("frame", "bias"), [(True, True), (False, True), (True, False), (False, False)])
def test_networks_state_themselves(frame, bias):
    network, X = kernel_network(frame, bias), rows_of("network, a number")
    X[0, :2] = [1.0, 50.0]  # the row of zeros
    np.testing.assert_allclose(run_source(network.to_source())["predict"](X), network.predict(X), rtol=1e-9, atol=1e-11)
    finite = fitted("gated, two numbers").network_
    Z = rows_of("gated, two numbers")
    np.testing.assert_allclose(run_source(finite.to_source())["predict"](Z), finite.predict(Z), rtol=1e-10, atol=1e-12)


def test_rows_are_taken_in_blocks_of_every_size(monkeypatch):
    network = kernel_network()
    monkeypatch.setattr(Program, "block", lambda self: 4)
    predict, X = run_source(network.to_source())["predict"], rows_of("network, a number")
    for n in (0, 1, 3, 4, 5, 8, len(X)):
        np.testing.assert_allclose(predict(X[:n]), network.predict(X[:n]), rtol=1e-9, atol=1e-11)


def test_large_arrays_are_written_beside_the_text(tmp_path, monkeypatch):
    model, X = fitted("network, a number"), rows_of("network, a number")
    monkeypatch.setattr(numpy_source, "LONGEST", 1000)
    with pytest.raises(ArgumentError, match="'path' parameter of to_source must be given where the text is longer"):
        model.to_source()
    (tmp_path / "model.npz").write_bytes(b"a model file")
    text = model.to_source(tmp_path / "model.py")
    assert (tmp_path / "model.npz").read_bytes() == b"a model file"
    assert text == (tmp_path / "model.py").read_text()
    assert len(text) < 6000
    assert sorted(one.name for one in tmp_path.iterdir()) == ["model.arrays.npz", "model.npz", "model.py"]
    np.testing.assert_allclose(run_source(text, tmp_path)["predict"](X), model.predict(X), rtol=1e-9)


def test_a_module_and_its_arrays_are_of_one_export(tmp_path, monkeypatch):
    model, other, X = fitted("network, a number"), kernel_network(), rows_of("network, a number")
    monkeypatch.setattr(numpy_source, "LONGEST", 1000)
    old = model.to_source(tmp_path / "model.py")
    said = run_source(old, tmp_path)["predict"](X)
    full = OSError(28, "No space left on device")
    with mock.patch.object(Path, "write_text", side_effect=full), pytest.raises(OSError, match=r"model\.py"):
        other.to_source(tmp_path / "model.py")
    np.testing.assert_array_equal(run_source(old, tmp_path)["predict"](X), said)
    new = other.to_source(tmp_path / "model.py")
    with pytest.raises(ValueError, match=r"model\.arrays\.npz is of another module"):
        run_source(old, tmp_path)
    assert len(run_source(new, tmp_path)["predict"](X)) == len(X)


def test_numbers_are_read_back_exactly():
    for array in (
        np.array([1 / 3, -0.0, 5e-324, np.pi * 1e300, np.inf, -np.inf]),
        np.random.default_rng(0).standard_normal((7, 9)),
        np.zeros((0, 3)),
        np.array(["a b", "c\"d'", "é\n"], dtype=object),
        np.array(["x" * 200, "y  z"]),
        np.array([True, False]),
        np.arange(300),
    ):
        found = eval(numpy_source._literal(array), {"np": np})
        assert found.dtype == array.dtype
        assert found.shape == array.shape
        assert found.tobytes() == array.tobytes() or (found == array).all()


def test_what_is_wrong_is_refused(tmp_path):
    model = fitted("relu, a number")
    predict = run_source(model.to_source())["predict"]
    with pytest.raises(ValueError, match=r"of shape \(n, 3\), not \(2, 4\)"):
        predict(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="missing or infinite"):
        predict([[0.0, np.nan, 1.0]])
    for unfitted in (ConvexNetworkClassifier(), GatedReLURegressor()):
        with pytest.raises(NotFittedError):
            unfitted.to_source()
    with pytest.raises(ArgumentError, match=r"'path' parameter of to_source must be a file name that ends in .py"):
        model.to_source(tmp_path / "model.txt")


@pytest.mark.parametrize("C", [2, 4])
@pytest.mark.parametrize("slopes", [(1.3, 0.0, 0.0), (0.7, 0.2, 0.0), (0.7, 0.0, 3.1), (0.0, 0.0, 0.0)])
def test_calibration_states_itself(C, slopes):
    rng = np.random.default_rng(3)
    found = Calibration(np.array(slopes), rng.standard_normal(C), share=0.3, scale=0.7)
    F = np.vstack([rng.standard_normal((20, C)), np.array([[-200.0], [-9.0], [-4.0], [200.0]]) * np.ones(C)])
    F = F[:, :1] if C == 2 else F
    v = rng.uniform(0, 5, size=len(F))
    v[-4:] = 0
    width = F.shape[1]
    own, rest = np.split(np.eye(width + 1), [width], axis=1)
    scores = found.stated(rows() @ constant(own, "F"), rows() @ constant(rest, "v"))
    said = computed(Program("Calibration", width + 1, {"predict": scores}), np.c_[F, v])
    np.testing.assert_allclose(scipy_log_softmax(said, axis=1), found.log_probabilities(F, v), rtol=1e-10, atol=1e-10)


def test_softplus_has_all_its_digits():
    a = np.array([[-800.0], [-40.0], [-1e-9], [0.0], [3.0], [800.0]])
    said = computed(Program("softplus", 1, {"predict": softplus(rows())}), a)
    np.testing.assert_allclose(said, np.logaddexp(0, a), rtol=1e-15)


def test_intervals_that_are_infinite_stay_so():
    found = Intervals(np.ones((3, 1)), np.array([[0.25], [0.5], [0.75]]), np.zeros(1))
    low, high = found.stated(rows(), None, 0.9)
    text = numpy_source.write_source(Program("Intervals", 1, {"low": low, "high": high}))
    assert [end.tolist() for end in run_source(text)["predict_interval"]([[1.0]])] == [[[-np.inf]], [[np.inf]]]


def test_a_value_is_computed_once_and_after_its_operands():
    x = rows()
    twice = x + x
    end = twice * twice
    assert [value.op for value in ordered([end, twice])] == ["rows", "add", "multiply"]
    assert isinstance(2.0 - x, Value)
    network = TwoLayerNetwork(np.eye(2), np.zeros(2), np.ones((2, 1)), np.zeros(1))
    assert [one.name for one in network._program(None).constants()][:4] == ["W1", "b1", "w2", "b2"]
